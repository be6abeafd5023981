//! Collects by owner what one cycle adds to our own sums of usage, before any sum changes: a cycle that fails half way has charged nothing.
//!
//! Most jobs of a cycle ran through the same seconds, so how these fall into windows is computed once.

use multifactor2_core::rules::windows::{enter, plus, Windows};

/// Where a sum is kept, until sums are replaced by others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TallyPlace(pub(super) u32);

impl TallyPlace {
    /// Everything that jobs use, whatever is reset.
    pub const ALL: Self = Self(0);
    /// What the cluster could have given.
    pub const CAPACITY: Self = Self(1);
    /// The first of those that have owners.
    pub(super) const FIRST: usize = 2;

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a job, or the cluster, has used or given since it was counted last.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Charge {
    /// When that begins, seconds since 1970.
    pub start: i64,
    /// For how many seconds.
    pub run: f64,
    /// How much in each of them.
    pub rate: f64,
    /// All of it, as it counts with half-life decay at its end.
    pub decayed: f64,
}

impl Charge {
    /// All of it, without decay.
    pub(crate) fn plain(&self) -> f64 {
        self.run * self.rate
    }

    /// Numbers that are none count nothing.
    #[must_use]
    pub fn finite(self) -> Self {
        if [self.run, self.rate, self.plain(), self.decayed].into_iter().all(is_amount) {
            self
        } else {
            // It has run all the same, which counts for amounts beside.
            Self { rate: 0.0, decayed: 0.0, run: counted(self.run), ..self }
        }
    }

    /// What falls before a time, and what from it on.
    #[allow(clippy::cast_precision_loss)] // seconds
    pub(crate) fn cut(self, at: i64) -> (Self, Self) {
        let before = (at.saturating_sub(self.start) as f64).clamp(0.0, self.run.max(0.0));
        let part = if self.run > 0.0 { before / self.run } else { 1.0 };
        let (after, decayed) = (self.run - before, self.decayed * part);
        (
            Self { run: before, decayed, ..self },
            Self { start: self.start.max(at), run: after, decayed: self.decayed - decayed, ..self },
        )
    }

    /// Whether nothing is counted.
    pub fn is_empty(&self) -> bool {
        self.run <= 0.0
    }
}

/// What is added to one sum.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TallyRow {
    pub halflife: f64,
    /// In the current window.
    pub current: f64,
}

/// What a cycle is about to add, by owner.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    windows: Option<Windows>,
    pub(super) rows: Vec<TallyRow>,
    /// By place and age, the amounts in windows other than the current one, whose entry is empty. As large as the sums, however many jobs
    /// ran through however many windows.
    pub(super) older: Vec<Vec<f64>>,
    /// What is added by column, as many amounts for each place.
    columns: Vec<f64>,
    width: usize,
    /// Start and seconds of the last charge, and how they fall into windows.
    span: (i64, f64),
    parts: Vec<(usize, f64)>,
}

impl Tally {
    /// Begins a cycle, with the windows and the number of columns that there are in it.
    pub fn begin(&mut self, windows: Option<Windows>, columns: usize) {
        self.width = columns;
        self.windows = windows;
        self.rows.clear();
        self.older.clear();
        self.columns.clear();
        self.span = (0, f64::NAN);
    }

    /// Adds amounts, as they count with half-life decay, to those of an owner, from a column on. What is no number counts nothing.
    pub fn add_columns(&mut self, place: TallyPlace, from: usize, amounts: &[f64]) {
        if amounts.is_empty() {
            return;
        }
        let begin = place.index() * self.width;
        if self.columns.len() < begin + self.width {
            self.columns.resize(begin + self.width, 0.0);
        }
        let columns = self.columns[begin..begin + self.width].iter_mut().skip(from);
        for (sum, amount) in columns.zip(amounts) {
            *sum = plus(*sum, counted(*amount));
        }
    }

    /// What was added by [`Self::add_columns`], place by place.
    pub(super) fn columns(&self) -> impl Iterator<Item = &[f64]> {
        self.columns.chunks(self.width.max(1))
    }

    /// Adds a charge to those of an owner; what does not decay counts in full.
    #[inline]
    pub fn add(&mut self, place: TallyPlace, charge: &Charge, decays: bool) {
        let at = place.index();
        if self.rows.len() <= at {
            self.rows.resize(at + 1, TallyRow::default());
        }
        let row = &mut self.rows[at];
        row.halflife = plus(row.halflife, if decays { charge.decayed } else { charge.plain() });
        let Some(windows) = self.windows else { return };
        #[allow(clippy::float_cmp)] // the same seconds fall into the same windows
        if self.span != (charge.start, charge.run) {
            self.span = (charge.start, charge.run);
            self.parts.clear();
            windows.split(charge.start, charge.run, |age, seconds| self.parts.push((age, seconds)));
        }
        for (age, seconds) in &self.parts {
            let amount = seconds * charge.rate;
            if *age == 0 {
                row.current = plus(row.current, amount);
            } else {
                if self.older.len() <= at {
                    self.older.resize_with(at + 1, Vec::new);
                }
                enter(&mut self.older[at], *age, amount);
            }
        }
    }
}

/// What counts of an amount: nothing of what is less than nothing, as with negative `TRESBillingWeights`, or no number.
pub fn counted(amount: f64) -> f64 {
    if is_amount(amount) {
        amount
    } else {
        0.0
    }
}

/// Whether a number can be one of what was used.
pub(crate) fn is_amount(number: f64) -> bool {
    number.is_finite() && number >= 0.0
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // sums of whole seconds are exact
mod tests {
    use super::*;

    #[test]
    fn a_charge_is_cut_where_a_cycle_ran() {
        let charge = Charge { start: 100, run: 40.0, rate: 3.0, decayed: 60.0 };
        for (at, before, after) in [(50, 0.0, 40.0), (100, 0.0, 40.0), (130, 30.0, 10.0), (999, 40.0, 0.0)] {
            let (first, second) = charge.cut(at);
            assert_eq!((first.run, second.run, first.rate, second.rate), (before, after, 3.0, 3.0));
            assert_eq!((first.decayed, second.decayed), (1.5 * before, 1.5 * after));
            assert_eq!((first.start, second.start), (100, at.max(100)));
        }
        let nothing = Charge::default().cut(5);
        assert!(nothing.0.is_empty() && nothing.1.is_empty());
    }

    /// Found by fuzzing: a product with a negative number can be a zero.
    #[test]
    fn a_rate_below_zero_counts_nothing() {
        let charge = Charge { start: 0, run: 1e-200, rate: -1e-300, decayed: 0.0 };
        assert_eq!(charge.finite().rate, 0.0);
    }

    #[test]
    fn what_is_no_number_counts_nothing() {
        for wrong in [f64::NAN, f64::INFINITY, -1.0] {
            for charge in [
                Charge { start: 1, run: wrong, rate: 1.0, decayed: 1.0 },
                Charge { start: 1, run: 1.0, rate: wrong, decayed: 1.0 },
                Charge { start: 1, run: 1.0, rate: 1.0, decayed: wrong },
            ] {
                assert_eq!((charge.finite().plain(), charge.finite().decayed), (0.0, 0.0), "{charge:?}");
            }
        }
    }
}
