//! How much of its reserved run time a job gives back in each charge if charge rules count for limits.
//!
//! slurmctld reserves run seconds for the whole time limit of a job when it starts, times the usage factor of its QOS. It asks no plugin,
//! so charge rules cannot change that. What a job gives back while it runs is multiplied by its factor, and at its end it gives back all
//! that is left. So it gives back exactly what was reserved, even if rules change meanwhile.
//!
//! Nothing of this is saved: a slurmctld that starts reserves everything anew, and subtracts what jobs have run without factors.

use rustc_hash::FxHashMap;

use super::charge::{truncated, Elapsed, JobTimes};

/// What one job has given back.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// The run that it is of.
    start: i64,
    seconds: u64,
    /// The cycle that has met it last.
    cycle: u64,
}

/// What jobs have given back, as far as it is not just the time that they ran.
#[derive(Clone, Debug, Default)]
pub struct GivenBack {
    jobs: FxHashMap<u32, Known>,
    cycle: u64,
}

impl GivenBack {
    /// The seconds that a job gives back in a charge that counts with a factor.
    pub fn charge(&mut self, job: u32, times: &JobTimes, elapsed: &Elapsed, factor: f64) -> u64 {
        let known = self.jobs.get(&job).filter(|known| known.start == times.start);
        #[allow(clippy::float_cmp)] // exactly as stock
        if known.is_none() && factor == 1.0 {
            return elapsed.released;
        }
        let reserved = u64::from(times.limit) * 60;
        let ran = u64::try_from(elapsed.start.saturating_sub(times.start)).unwrap_or(0);
        let before = known.map_or(ran, |known| known.seconds).min(reserved);
        let left = reserved - before;
        if times.over {
            self.jobs.remove(&job);
            return left;
        }
        let seconds = truncated(elapsed.run * factor).min(left);
        self.jobs.insert(job, Known { start: times.start, seconds: before + seconds, cycle: self.cycle });
        seconds
    }

    /// A cycle has charged all jobs that run: others are gone.
    pub fn end_cycle(&mut self) {
        let cycle = self.cycle;
        self.jobs.retain(|_, known| known.cycle == cycle);
        self.cycle += 1;
    }

    /// slurmctld has reserved everything again.
    pub fn clear(&mut self) {
        self.jobs.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charge::Period;
    use proptest::prelude::*;

    const START: i64 = 1_000_000;

    fn times(limit: u32, over: bool) -> JobTimes {
        JobTimes { start: START, end: 0, expected_end: START + 60 * i64::from(limit), limit, over }
    }

    fn charge(back: &mut GivenBack, from: i64, to: i64, limit: u32, over: bool, factor: f64) -> u64 {
        let times = times(limit, over);
        let period = Period { start: START + from, end: START + to, job_ended: over };
        let elapsed = Elapsed::within(period, &times).unwrap();
        back.charge(7, &times, &elapsed, factor)
    }

    #[test]
    fn a_factor_scales_what_is_given_back_and_the_end_gives_the_rest() {
        let mut back = GivenBack::default();
        assert_eq!(charge(&mut back, 0, 300, 60, false, 0.1), 30);
        assert_eq!(charge(&mut back, 300, 600, 60, false, 0.1), 30);
        assert_eq!(charge(&mut back, 600, 650, 60, true, 0.1), 3540);
        assert!(back.jobs.is_empty());
    }

    #[test]
    fn never_more_is_given_back_than_was_reserved() {
        let mut back = GivenBack::default();
        assert_eq!(charge(&mut back, 0, 300, 10, false, 10.0), 600);
        assert_eq!(charge(&mut back, 300, 600, 10, false, 10.0), 0);
        assert_eq!(charge(&mut back, 600, 700, 10, true, 10.0), 0);
    }

    #[test]
    fn a_change_of_rules_loses_nothing() {
        let mut back = GivenBack::default();
        assert_eq!(charge(&mut back, 0, 300, 60, false, 1.0), 300);
        assert_eq!(charge(&mut back, 300, 600, 60, false, 0.0), 0);
        assert_eq!(charge(&mut back, 600, 900, 60, false, 1.0), 300);
        assert_eq!(charge(&mut back, 900, 1000, 60, true, 1.0), 3000);
    }

    #[test]
    fn jobs_that_are_gone_and_other_runs_are_forgotten() {
        let mut back = GivenBack::default();
        charge(&mut back, 0, 300, 60, false, 0.0);
        back.end_cycle();
        assert_eq!(back.jobs.len(), 1);
        back.end_cycle();
        assert!(back.jobs.is_empty());
        charge(&mut back, 0, 300, 60, false, 0.0);
        let again = JobTimes { start: START + 500, over: true, ..times(60, true) };
        let elapsed =
            Elapsed::within(Period { start: START + 300, end: START + 600, job_ended: true }, &again)
                .unwrap();
        assert_eq!(back.charge(7, &again, &elapsed, 0.5), 3600);
        charge(&mut back, 0, 300, 60, false, 0.0);
        back.clear();
        assert!(back.jobs.is_empty());
    }

    proptest! {
        #![proptest_config(multifactor2_fixtures::seeded())]

        #[test]
        fn in_all_a_job_gives_back_what_was_reserved(
            charges in prop::collection::vec((0_i64..2000, 0.0..20.0), 0..10), last in 0_i64..2000, limit in 0_u32..200,
        ) {
            let mut back = GivenBack::default();
            let (mut at, mut sum) = (0, 0);
            for (seconds, factor) in charges {
                let factor = if factor > 10.0 { 1.0 } else { factor };
                sum += charge(&mut back, at, at + seconds, limit, false, factor);
                at += seconds;
            }
            sum += charge(&mut back, at, at + last, limit, true, 0.5);
            prop_assert_eq!(sum, u64::from(limit) * 60);
        }
    }
}
