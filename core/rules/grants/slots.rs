//! Knows where the usage of each sequence goes, so that a cycle with thousands of grants searches for nothing: by name never, by time only
//! when a period or a day has ended. It also notes what a cycle has changed, so that [`super::Standings`] looks at that alone.

use super::ledger::{Account, Accounts};
use super::lines::Sequence;
use super::periods::Periods;

/// Where each sequence counts.
#[derive(Clone, Debug, Default)]
pub struct Slots {
    /// Where the usage of each line of each sequence is.
    of_lines: Vec<Vec<usize>>,
    /// By sequence.
    open: Vec<Open>,
}

/// Between these times all seconds of a sequence are of one line, one of its periods, and one day.
#[derive(Clone, Copy, Debug, Default)]
struct Open {
    from: i64,
    until: i64,
    /// Where the usage of the line is.
    slot: usize,
    period: usize,
    /// When the day begins.
    day: i64,
    changed: Changed,
}

/// What cycles have changed of a sequence since that was asked last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Changed {
    Nothing,
    /// The usage of this period alone, as it was counted.
    Period(usize, i128),
    /// Everything may be another one.
    #[default]
    All,
}

impl Slots {
    /// For this number of sequences, which are pushed later.
    pub(super) fn new(sequences: usize) -> Self {
        Self { of_lines: Vec::with_capacity(sequences), open: vec![Open::default(); sequences] }
    }

    /// The next sequence, with where the usage of its lines is.
    pub(super) fn push(&mut self, of_lines: Vec<usize>) {
        self.of_lines.push(of_lines);
    }

    /// Where the usage of a line of a sequence is.
    pub(super) fn of(&self, sequence: usize, line: usize) -> usize {
        self.of_lines.get(sequence).and_then(|lines| lines.get(line)).copied().unwrap_or(usize::MAX)
    }

    /// What has changed of a sequence since this was asked last.
    pub(super) fn take_changed(&mut self, sequence: usize) -> Changed {
        let open = self.open.get_mut(sequence);
        open.map_or(Changed::All, |open| std::mem::replace(&mut open.changed, Changed::Nothing))
    }

    /// Enters what was used between two times if these are in the last period and day found; otherwise returns `false` and enters nothing.
    pub(super) fn charge_open(
        &mut self,
        accounts: &mut Accounts,
        sequence: usize,
        (start, end): (i64, i64),
        amount: i128,
    ) -> bool {
        let Some(open) = self.open.get_mut(sequence) else { return false };
        if start < open.from || end > open.until {
            return false;
        }
        let Some(used) = accounts.at(open.slot).and_then(|account| open.add(account, amount)) else {
            return false;
        };
        open.changed = match open.changed {
            Changed::Period(period, _) if period != open.period => Changed::All,
            Changed::All => Changed::All,
            _ => Changed::Period(open.period, used),
        };
        true
    }

    /// What was used between two times has been entered line by line. If the time has advanced, later usage is probably in the same period
    /// and day.
    pub(super) fn note_charged(
        &mut self,
        place: usize,
        sequence: &Sequence,
        (start, end): (i64, i64),
        offset: &impl Fn(i64) -> i64,
    ) {
        let Some(mut open) = self.open.get(place).copied() else { return };
        if end > start && end > open.until {
            open = self.around(end - 1, (place, sequence), offset).unwrap_or_default();
        }
        self.open[place] = Open { changed: Changed::All, ..open };
    }

    /// Around a time; `None` where no line counts it, or several do.
    fn around(
        &self,
        at: i64,
        (place, sequence): (usize, &Sequence),
        offset: &impl Fn(i64) -> i64,
    ) -> Option<Open> {
        let mut counting = None;
        let (day, midnight) = Periods::day(at, offset);
        let (mut from, mut until) = (day, midnight);
        for (number, line) in sequence.lines.iter().enumerate() {
            let (first, last) = line.counted();
            if at < first {
                until = until.min(first);
            } else if at >= last {
                from = from.max(last);
            } else if counting.replace((number, line)).is_some() {
                return None;
            }
        }
        let (number, line) = counting?;
        let (first, last) = line.counted();
        let period = line.grant.periods.at(at)?;
        let (begin, end) = line.grant.periods.span(period)?;
        Some(Open {
            from: from.max(first).max(begin),
            until: until.min(last).min(end),
            slot: self.of(place, number),
            period,
            day,
            changed: Changed::All,
        })
    }
}

impl Open {
    /// Adds to the period and the day, which are there already; returns what is used of the period now. `None` where one is not.
    fn add(&self, account: &mut Account, amount: i128) -> Option<i128> {
        let used = account.used.get_mut(self.period.checked_sub(1)?)?;
        let (_, of_day) = account.days.back_mut().filter(|(begin, _)| *begin == self.day)?;
        *used = used.saturating_add(amount);
        *of_day = of_day.saturating_add(amount);
        Some(*used)
    }
}
