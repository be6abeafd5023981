//! At which times a factor is computed, and how exactly a time is found.

use crate::model::Model;

/// How many half-lives are looked at; with usage divided by 4096 nothing changes any more.
pub(in crate::answers) const HALF_LIVES: i64 = 12;

/// What is looked at without decay, in seconds: a year.
const YEAR: i64 = 365 * 86_400;

/// Steps of the time that is looked at.
const STEPS: i64 = 48;

/// How exactly the time is found, in seconds.
const EXACT: i64 = 30;

/// How far it is looked with a half-life, in seconds; 0 for no decay.
pub(super) fn horizon(half_life: i64) -> i64 {
    match half_life {
        0 => YEAR,
        half_life => half_life.saturating_mul(HALF_LIVES),
    }
}

/// The times up to an end at which it is looked, each after the one before.
pub(super) fn steps(end: i64) -> impl Iterator<Item = i64> {
    let mut before = 0;
    // In 128 bits, as an unlimited half-life is long.
    let time = move |step: i64| i64::try_from(i128::from(end) * i128::from(step) / i128::from(STEPS)).unwrap_or(end);
    (1..=STEPS).map(time).filter(move |after| std::mem::replace(&mut before, *after) != *after)
}

/// The first time between two at which something is so, where it is at the later one.
pub(super) fn first_in(mut before: i64, mut after: i64, is_so: impl Fn(i64) -> bool) -> i64 {
    while after - before > EXACT {
        let middle = before + (after - before) / 2;
        if is_so(middle) {
            after = middle;
        } else {
            before = middle;
        }
    }
    after
}

/// When slurmctld calculates priorities: at the time of the snapshot, and each `PriorityCalcPeriod` after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    first: i64,
    period: i64,
}

impl Clock {
    pub fn of(model: &Model<'_>) -> Self {
        Self { first: model.snapshot.about.time, period: i64::from(model.config.calc_period.max(1)) }
    }

    /// The first calculation that is not before a time.
    pub fn next(self, time: i64) -> i64 {
        let since = time.saturating_sub(self.first);
        let passed = since.rem_euclid(self.period);
        if passed == 0 { time } else { time.saturating_add(self.period - passed) }
    }

    /// The last calculation before a time.
    pub fn last(self, time: i64) -> i64 {
        self.next(time).saturating_sub(self.period)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calculations_are_a_period_apart() {
        let clock = Clock { first: 1000, period: 300 };
        assert_eq!([999, 1000, 1001, 1300, 1301].map(|time| clock.next(time)), [1000, 1000, 1300, 1300, 1600]);
        assert_eq!([1001, 1300, 1301].map(|time| clock.last(time)), [1000, 1000, 1300]);
    }
}
