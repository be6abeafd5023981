//! What a job is charged at its end if it ran less than `MinimumCharge`.

/// How a job ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// When it started, seconds since 1970.
    pub start: i64,
    /// When it ended; when it was suspended, if it ended suspended.
    pub end: i64,
    /// When it was suspended or resumed last; 0 or before the start for never.
    pub suspended: i64,
    /// Seconds that it had run when it was suspended last.
    pub before_suspension: i64,
}

impl Run {
    /// Seconds that it ran, without those in which it was suspended.
    pub fn seconds(&self) -> i64 {
        let ran = if self.suspended > self.start {
            self.end.saturating_sub(self.suspended).max(0).saturating_add(self.before_suspension.max(0))
        } else {
            self.end.saturating_sub(self.start)
        };
        ran.max(0)
    }

    /// The seconds that are missing to a minimum, where all that it ran is charged.
    pub fn missing(&self, minimum: i64) -> i64 {
        minimum.saturating_sub(self.seconds()).max(0)
    }

    /// The seconds that are missing to a minimum, where only what it ran until the last cycle is charged, and the end of a job is not;
    /// 0 if it ran that long.
    pub fn missing_since(&self, minimum: i64, last_ran: i64) -> i64 {
        let ran = self.seconds();
        if ran >= minimum {
            return 0;
        }
        minimum - last_ran.saturating_sub(self.start).clamp(0, ran)
    }

    /// Whether it ended in the cycle that runs now, of those that see it: from the second of the last cycle on, before that of
    /// this one. So each job is met by one cycle.
    pub fn ended_within(&self, last_ran: i64, now: i64) -> bool {
        last_ran > 0 && (last_ran..now).contains(&self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RUN: Run = Run { start: 1000, end: 1100, suspended: 0, before_suspension: 0 };

    #[test]
    fn what_is_missing_to_the_minimum() {
        assert_eq!((RUN.missing(600), RUN.missing(100), RUN.missing(99), RUN.missing(0)), (500, 0, 0, 0));
        assert_eq!(Run { end: 1000, ..RUN }.missing(600), 600);
        assert_eq!(Run { end: 900, ..RUN }.missing(600), 600, "the clock was set back");
    }

    #[test]
    fn suspended_time_is_not_run() {
        // Ran 60, was suspended, resumed at 1500 and ran 40 more.
        let resumed = Run { end: 1540, suspended: 1500, before_suspension: 60, ..RUN };
        assert_eq!(resumed.seconds(), 100);
        // Ended while suspended: its end is when it was suspended.
        let suspended = Run { end: 1060, suspended: 1060, before_suspension: 60, ..RUN };
        assert_eq!(suspended.seconds(), 60);
        // Of the run before this one.
        assert_eq!(Run { suspended: 900, before_suspension: 5000, ..RUN }.seconds(), 100);
    }

    #[test]
    fn where_ends_are_not_reported_cycles_have_charged_a_part() {
        assert_eq!(RUN.missing_since(600, 900), 600, "no cycle has seen it run");
        assert_eq!(RUN.missing_since(600, 1060), 540);
        assert_eq!(RUN.missing_since(600, 5000), 500);
        assert_eq!(RUN.missing_since(100, 1060), 0, "it ran that long");
    }

    #[test]
    fn one_cycle_meets_an_end() {
        let meets: Vec<bool> = [(0, 2000), (1000, 1100), (1100, 1101), (1100, 1100), (1101, 2000)]
            .map(|(last, now)| RUN.ended_within(last, now))
            .into();
        assert_eq!(meets, [false, false, true, false, false]);
    }

    proptest! {
        #[test]
        fn any_times_give_no_more_than_the_minimum(
            start: i64, end: i64, suspended: i64, before_suspension: i64, minimum in 0..i64::MAX, last_ran: i64,
        ) {
            let run = Run { start, end, suspended, before_suspension };
            prop_assert!((0..=minimum).contains(&run.missing(minimum)));
            prop_assert!((0..=minimum).contains(&run.missing_since(minimum, last_ran)));
        }

        #[test]
        fn every_end_is_met_once(end in 1_i64..1000, cycles in prop::collection::btree_set(1_i64..1000, 2..10)) {
            let cycles: Vec<i64> = cycles.into_iter().collect();
            let run = Run { end, ..RUN };
            let met = cycles.windows(2).filter(|pair| run.ended_within(pair[0], pair[1])).count();
            let expected = usize::from((cycles[0]..cycles[cycles.len() - 1]).contains(&end));
            prop_assert_eq!(met, expected);
        }
    }
}
