//! Usage in windows of time, as Maui counts it: each window counts as a fraction of the next younger one.
//!
//! Windows are numbered from 1970 on and begin at multiples of their length, so that no restart moves them. All owners of usage have the
//! same windows. [`Windows`] knows which one is current; an owner has only its amounts, the current one first. Usage is entered in the
//! window in which it occurred, not in the one in which it was seen.

/// Which windows there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// Seconds, at least 1.
    length: i64,
    /// How many count, at least 1.
    depth: usize,
    /// The number of the current one.
    newest: i64,
    /// The clock stands before the current one: it takes everything.
    behind: bool,
}

impl Windows {
    /// The most windows that count.
    pub const MOST: usize = 100_000;

    /// Windows of `length` seconds, of which `depth` count, at a time.
    pub fn new(length: i64, depth: usize, now: i64) -> Self {
        let length = length.max(1);
        Self { length, depth: depth.clamp(1, Self::MOST), newest: now.div_euclid(length), behind: false }
    }

    /// The same with another current one, as it was saved.
    #[must_use]
    pub fn with_newest(self, newest: i64) -> Self {
        Self { newest, ..self }
    }

    /// Seconds of each.
    pub fn length(&self) -> i64 {
        self.length
    }

    /// How many count.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// The number of the current one.
    pub fn newest(&self) -> i64 {
        self.newest
    }

    /// The time is `now`. Returns by how many windows all amounts have aged (see [`roll`]).
    ///
    /// If the clock was set back, the current window continues and takes everything until the clock has caught up. If the difference
    /// exceeds all windows together, the current window takes the number of `now` instead: otherwise a clock that was once years ahead
    /// would stop the windows for years.
    pub fn advance(&mut self, now: i64) -> usize {
        let index = now.div_euclid(self.length);
        let ahead = index.saturating_sub(self.newest);
        self.behind = false;
        if ahead >= 0 {
            self.newest = index;
            return usize::try_from(ahead).unwrap_or(usize::MAX).min(self.depth);
        }
        if ahead.unsigned_abs() >= self.depth as u64 {
            self.newest = index;
        } else {
            self.behind = true;
        }
        0
    }

    /// Splits `run` seconds from `start` on by windows: calls `each` with the age of a window, 0 for the current one, and the seconds in
    /// it. Seconds older than all windows that count are left out; seconds in the future belong to the current one.
    #[allow(clippy::cast_precision_loss)] // seconds, exact over 285 million years
    pub fn split(&self, start: i64, run: f64, mut each: impl FnMut(usize, f64)) {
        if self.behind || start.div_euclid(self.length) >= self.newest {
            each(0, run);
            return;
        }
        let oldest = self.newest.saturating_sub(i64::try_from(self.depth).unwrap_or(i64::MAX) - 1);
        let mut index = start.div_euclid(self.length).max(oldest);
        loop {
            let since_start = |index: i64| index.saturating_mul(self.length).saturating_sub(start) as f64;
            let begin = since_start(index).max(0.0);
            let end = if index >= self.newest { run } else { since_start(index.saturating_add(1)).min(run) };
            if end > begin {
                let age = self.newest.saturating_sub(index);
                each(usize::try_from(age).unwrap_or(0), end - begin);
            }
            if index >= self.newest || end >= run {
                return;
            }
            index += 1;
        }
    }

    /// The windows of another length and depth that take over from these, which were filled until a time.
    #[must_use]
    pub fn replaced_by(&self, length: i64, depth: usize, until: i64) -> Self {
        Self::new(length, depth, until.max(self.newest.saturating_mul(self.length)))
    }

    /// Converts amounts in these windows, filled until a time, to other windows. A window's amount is spread evenly over its time, that of
    /// the current one over the elapsed part.
    #[allow(clippy::cast_precision_loss)] // seconds
    pub fn rebin(&self, amounts: &[f64], to: &Self, until: i64) -> Vec<f64> {
        let mut others = Vec::new();
        for (age, amount) in (0_i64..).zip(amounts) {
            let begin = self.newest.saturating_sub(age).saturating_mul(self.length);
            let passed =
                if age == 0 { until.saturating_sub(begin).clamp(1, self.length) } else { self.length };
            to.split(begin, passed as f64, |age, seconds| {
                enter(&mut others, age, amount * (seconds / passed as f64));
            });
        }
        others
    }
}

/// A sum that stays a number.
pub fn plus(sum: f64, more: f64) -> f64 {
    (sum + more).min(f64::MAX)
}

/// Adds to the amount of a window.
pub fn enter(amounts: &mut Vec<f64>, age: usize, amount: f64) {
    if amounts.len() <= age {
        amounts.resize(age + 1, 0.0);
    }
    amounts[age] = plus(amounts[age], amount);
}

/// All amounts are older by some windows of `depth`.
pub fn roll(amounts: &mut Vec<f64>, by: usize, depth: usize) {
    amounts.truncate(depth.saturating_sub(by));
    while amounts.last() == Some(&0.0) {
        amounts.pop();
    }
    if by > 0 && !amounts.is_empty() {
        amounts.splice(0..0, std::iter::repeat_n(0.0, by));
    }
}

/// What amounts count together: each as `decay` of the one before it.
pub fn usage(amounts: &[f64], decay: f64) -> f64 {
    let mut weight = 1.0;
    let mut sum = 0.0;
    for amount in amounts {
        sum = plus(sum, weight * amount);
        weight *= decay;
    }
    sum
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // sums of whole seconds are exact
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What jobs with one processor have used in windows at `now`.
    fn amounts(windows: &Windows, runs: &[(i64, i64)]) -> Vec<f64> {
        let mut amounts = Vec::new();
        for (start, run) in runs {
            #[allow(clippy::cast_precision_loss)]
            windows.split(*start, *run as f64, |age, seconds| enter(&mut amounts, age, seconds));
        }
        amounts
    }

    /// The example of Moab's guide.
    #[test]
    fn john_has_31_percent() {
        let (john, total) = (usage(&[60.0, 0.0, 10.0, 50.0], 0.5), usage(&[110.0, 125.0, 100.0, 150.0], 0.5));
        assert_eq!((john, total), (68.75, 216.25));
        assert!((john / total - 0.317_919).abs() < 1e-6);
    }

    /// The table of Maui's guide, in percent; .75 as it is and not as it is truncated there.
    #[test]
    fn windows_count_as_in_the_table() {
        let weight = |decay, age: usize| usage(&[vec![0.0; age], vec![100.0]].concat(), decay);
        for (decay, table) in [
            (1.0, [100.0; 8]),
            (0.8, [100.0, 80.0, 64.0, 51.0, 41.0, 33.0, 26.0, 21.0]),
            (0.75, [100.0, 75.0, 56.0, 42.0, 32.0, 24.0, 18.0, 13.0]),
            (0.5, [100.0, 50.0, 25.0, 13.0, 6.0, 3.0, 2.0, 1.0]),
        ] {
            for (age, percent) in table.into_iter().enumerate() {
                let found: f64 = weight(decay, age);
                assert!((found - percent).abs() <= 0.5, "{decay}, window {age}: {found}, not {percent}");
            }
        }
        assert!((weight(0.75, 7) - 13.35).abs() < 0.005);
        assert_eq!([weight(0.0, 0), weight(0.0, 1)], [100.0, 0.0]);
    }

    #[test]
    fn what_ran_is_where_it_ran() {
        // Numbers 10 and 11, current 12, of four that count.
        let windows = Windows::new(100, 4, 1250);
        assert_eq!(amounts(&windows, &[(1200, 50)]), [50.0]);
        assert_eq!(amounts(&windows, &[(1050, 200)]), [50.0, 100.0, 50.0]);
        assert_eq!(amounts(&windows, &[(1050, 20), (1100, 100)]), [0.0, 100.0, 20.0]);
        // Older than four windows, across that boundary, and ahead of the clock.
        assert_eq!(amounts(&windows, &[(100, 20), (800, 250), (1290, 500)]), [500.0, 0.0, 50.0, 100.0]);
        assert_eq!(amounts(&Windows::new(100, 2, -50), &[(-150, 120)]), [70.0, 50.0]);
    }

    #[test]
    fn windows_roll_and_the_oldest_is_gone() {
        let mut windows = Windows::new(100, 3, 1250);
        let mut amounts = vec![1.0, 2.0, 3.0];
        for (now, expected) in
            [(1299, &[1.0, 2.0, 3.0][..]), (1300, &[0.0, 1.0, 2.0]), (1550, &[0.0, 0.0, 0.0]), (99_999, &[])]
        {
            let by = windows.advance(now);
            roll(&mut amounts, by, windows.depth());
            let mut expected = expected.to_vec();
            while expected.last() == Some(&0.0) {
                expected.pop();
            }
            assert_eq!(amounts, expected, "{now}");
        }
    }

    #[test]
    fn a_clock_set_back_lets_the_newest_window_go_on_and_take_everything() {
        let mut windows = Windows::new(100, 4, 1250);
        assert_eq!(windows.advance(1050), 0);
        assert_eq!((windows.newest(), amounts(&windows, &[(950, 100)])), (12, vec![100.0]));
        assert_eq!(windows.advance(1260), 0);
        assert_eq!(amounts(&windows, &[(1150, 100)]), [50.0, 50.0]);
        // It had stood years ahead: nothing is lost that is there, and the windows do not stand still.
        let mut windows = Windows::new(100, 4, 1_000_000);
        assert_eq!((windows.advance(1250), windows.newest()), (0, 12));
        assert_eq!((windows.advance(1350), windows.newest()), (1, 13));
    }

    #[test]
    fn other_windows_get_what_overlaps() {
        let old = Windows::new(100, 4, 1250);
        let rebin = |length, depth, until| {
            let new = old.replaced_by(length, depth, until);
            (new.newest(), old.rebin(&[5.0, 20.0, 30.0, 40.0], &new, until))
        };
        assert_eq!(rebin(100, 4, 1250), (12, vec![5.0, 20.0, 30.0, 40.0]));
        assert_eq!(rebin(100, 2, 1250), (12, vec![5.0, 20.0]));
        assert_eq!(rebin(100, 9, 1250), (12, vec![5.0, 20.0, 30.0, 40.0]));
        assert_eq!(rebin(200, 4, 1250), (6, vec![5.0, 50.0, 40.0]));
        assert_eq!(rebin(50, 5, 1250), (25, vec![0.0, 5.0, 10.0, 10.0, 15.0]));
        assert_eq!(
            rebin(50, 5, 1275),
            (25, vec![5.0 * (25.0 / 75.0), 5.0 * (50.0 / 75.0), 10.0, 10.0, 15.0])
        );
        // Just begun, and the clock set back.
        assert_eq!(rebin(100, 2, 1200), (12, vec![5.0, 20.0]));
        assert_eq!(rebin(200, 2, 950), (6, vec![5.0, 50.0]));
    }

    proptest! {
        #![proptest_config(multifactor2_fixtures::seeded())]

        #[test]
        fn no_second_is_lost_or_counted_twice(
            length in 1..500_i64, depth in 1..20_usize, now in -5000..5000_i64, back in 0..3000_i64, run in 0..3000_i64,
        ) {
            let windows = Windows::new(length, depth, now);
            let (start, end) = (now - back, now - back + run);
            let found = amounts(&windows, &[(start, run)]);
            // Second by second.
            let mut expected = vec![0.0; depth];
            for second in start..end {
                let age = (windows.newest() - second.div_euclid(length)).max(0);
                if let Some(amount) = expected.get_mut(usize::try_from(age).unwrap()) {
                    *amount += 1.0;
                }
            }
            for (age, expected) in expected.iter().enumerate() {
                prop_assert_eq!(found.get(age).copied().unwrap_or(0.0), *expected, "window {}", age);
            }
            prop_assert!(found.len() <= depth);
        }

        #[test]
        fn other_windows_have_the_same_amount_as_far_as_they_reach(
            amounts in prop::collection::vec(0.0..1e6_f64, 0..10),
            length in 1..500_i64, other in 1..500_i64, until in -5000..5000_i64,
        ) {
            let old = Windows::new(length, 10, until);
            let new = old.replaced_by(other, 10_000, until);
            let found: f64 = old.rebin(&amounts, &new, until).iter().sum();
            let all: f64 = amounts.iter().sum();
            prop_assert!((found - all).abs() <= 1e-9 * all, "{} of {}", found, all);
        }

        #[test]
        fn no_times_overflow(start: i64, run in 0.0..1e19_f64, now: i64, back: i64, length: i64, depth in 0..50_usize) {
            let mut windows = Windows::new(length, depth, now);
            windows.advance(back);
            let mut all = 0.0;
            windows.split(start, run, |age, seconds| {
                assert!(age < windows.depth() && seconds >= 0.0);
                all += seconds;
            });
            prop_assert!(all <= run * 1.000_001);
            let new = windows.replaced_by(start, 7, now);
            prop_assert!(windows.rebin(&[1.0, 2.0], &new, now).len() <= 7);
        }
    }
}
