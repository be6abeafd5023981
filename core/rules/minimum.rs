//! What a job is charged at its end if it ran for less than `MinimumCharge`.

use rustc_hash::FxHashSet;

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

    /// The seconds missing to a minimum, if only what the job ran until the last cycle is charged and its end is not; 0 if it ran that
    /// long.
    pub fn missing_since(&self, minimum: i64, last_ran: i64) -> i64 {
        let ran = self.seconds();
        if ran >= minimum {
            return 0;
        }
        minimum - last_ran.saturating_sub(self.start).clamp(0, ran)
    }
}

/// Whether the current cycle is the one that covers an end: from the second of the last cycle on, and before that of this one.
pub fn ended_within(end: i64, last_ran: i64, now: i64) -> bool {
    last_ran > 0 && (last_ran..now).contains(&end)
}

/// Which ended jobs a cycle charges if slurmctld reports no ends: each once, by the second of its end. No mark is needed, so a kill loses
/// none. Charged jobs are kept only if the clock was set back and seconds come twice.
#[derive(Debug, Default)]
pub struct Repeated {
    /// When such seconds are over.
    until: i64,
    /// Ids and ends of the jobs.
    ends: FxHashSet<(u32, i64)>,
}

impl Repeated {
    /// A cycle begins.
    pub fn begin(&mut self, last_ran: i64, now: i64) {
        if last_ran >= self.until {
            self.ends.clear();
        }
        if now < last_ran {
            self.until = self.until.max(last_ran);
        }
    }

    /// Whether the cycle is to charge a job that has ended; where the clock was set back, takes note of those that are charged.
    pub fn meets(&mut self, job: u32, end: i64, last_ran: i64, now: i64) -> bool {
        if (now..last_ran).contains(&end) {
            self.ends.insert((job, end));
        }
        ended_within(end, last_ran, now) && !self.has(job, end)
    }

    /// Whether a job has been charged for its end, as far as that is not clear from the time of it.
    pub fn has(&self, job: u32, end: i64) -> bool {
        self.ends.contains(&(job, end))
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
            .map(|(last, now)| ended_within(RUN.end, last, now))
            .into();
        assert_eq!(meets, [false, false, true, false, false]);
    }

    #[test]
    fn seconds_that_come_again_charge_nobody_again() {
        let mut repeated = Repeated::default();
        let mut cycle = |last_ran, now, ends: &[(u32, i64)]| -> Vec<u32> {
            repeated.begin(last_ran, now);
            let met = ends.iter().filter(|(job, end)| repeated.meets(*job, *end, last_ran, now));
            met.map(|(job, _)| *job).collect()
        };
        assert_eq!(cycle(900, 1000, &[(1, 950)]), [1]);
        // Set back, then once more.
        assert_eq!(cycle(1000, 500, &[(1, 950), (2, 400), (3, 1000)]), []);
        assert_eq!(cycle(500, 800, &[(1, 950), (4, 750)]), [4]);
        assert_eq!(cycle(800, 700, &[(1, 950), (4, 750)]), []);
        assert_eq!(cycle(700, 1300, &[(1, 950), (4, 750), (5, 950), (3, 1000)]), [5, 3]);
        assert_eq!(cycle(1300, 1600, &[(1, 950), (6, 1400)]), [6]);
        assert!(repeated.ends.is_empty());
    }

    proptest! {
        #![proptest_config(multifactor2_fixtures::seeded())]

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
            let met = cycles.windows(2).filter(|pair| ended_within(end, pair[0], pair[1])).count();
            let expected = usize::from((cycles[0]..cycles[cycles.len() - 1]).contains(&end));
            prop_assert_eq!(met, expected);
        }
    }
}
