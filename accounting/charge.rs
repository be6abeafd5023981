//! What a running job adds to the usage of its associations and QOS in one cycle, as stock priority/multifactor counts it.
//!
//! Two clocks run. Usage grows for as long as a job runs. The run-minutes that limits had reserved for it (start to time limit) are given
//! back, so a job that runs past its limit gives back no more than was taken.

use multifactor2_core::decay::RunDecay;
use multifactor2_core::facts::NO_CONSUME;
use multifactor2_core::rules::charge_rules::ChargeFactors;

/// The expected end time that marks a job whose end was already charged (`NO_VAL`).
pub const END_CHARGED: i64 = 0xffff_fffe;

/// The times of a job record, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobTimes {
    /// When it started, or was resized.
    pub start: i64,
    /// When it ended; 0 if that is not set. In the past for a job that runs past its limit.
    pub end: i64,
    /// When it is expected to end (`end_time_exp`); [`END_CHARGED`] once its end was charged.
    pub expected_end: i64,
    /// Time limit in minutes, with Slurm's special values as they are stored.
    pub limit: u32,
    /// Finished, completing or resizing: nothing of the reserved time stays reserved.
    pub over: bool,
}

/// The stretch of time to charge, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// When the last cycle ran.
    pub start: i64,
    /// Now.
    pub end: i64,
    /// The job has ended, and this is its last charge.
    pub job_ended: bool,
}

/// How long a job ran within a period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Elapsed {
    /// Begin of the charge: that of the period or of the job. The time to ask billable TRES for.
    pub start: i64,
    /// Seconds that it ran (`run_delta`), at least 0.
    pub run: f64,
    /// Seconds of its reserved run time that are used up or no longer needed (`tres_time_delta`).
    pub released: u64,
}

impl Elapsed {
    /// The time to charge; `None` if the job's end was charged before.
    ///
    /// The caller marks the job with [`END_CHARGED`] after a charge with `job_ended`.
    pub fn within(period: Period, job: &JobTimes) -> Option<Self> {
        if job.expected_end == END_CHARGED {
            return None;
        }
        let start = period.start.max(job.start);
        let end = if period.job_ended && job.end != 0 { period.end.min(job.end) } else { period.end };
        let run = difference(end, start).max(0.0);
        Some(Self { start, run, released: released(start, end, run, job) })
    }

    /// Turns time into amounts.
    ///
    /// `decay` says what the time counts for. An amount that is not finite is 0, with and without decay: `TRESBillingWeights` may say `inf`
    /// or `nan`, which would stay in the usage for ever.
    pub fn amounts(&self, decay: &mut RunDecay, rates: &Rates) -> Amounts {
        let Rates { billable, usage_factor, charge } = *rates;
        let wall_decayed = decay.of(self.run);
        let mut amounts = Amounts {
            wall_decayed,
            wall: self.run,
            usage_decayed: wall_decayed * billable,
            usage: self.run * billable,
            raw_decayed: 0.0,
            raw: 0.0,
            released: self.released,
        };
        if let Some(factor) = usage_factor.filter(|&factor| is_factor(factor)) {
            amounts.wall_decayed *= factor;
            amounts.wall *= factor;
            amounts.usage_decayed *= factor;
            amounts.usage *= factor;
            amounts.released = scaled(amounts.released, factor);
        }
        // A product with exactly 1 is the same number.
        amounts.raw_decayed = amounts.usage_decayed * charge.usage;
        amounts.raw = amounts.usage * charge.usage;
        for amount in
            [&mut amounts.wall_decayed, &mut amounts.wall, &mut amounts.usage_decayed, &mut amounts.usage]
        {
            *amount *= charge.limits;
        }
        let Amounts { wall_decayed, wall, usage_decayed, usage, raw_decayed, raw, .. } = &mut amounts;
        for (decayed, plain) in [(wall_decayed, wall), (usage_decayed, usage), (raw_decayed, raw)] {
            if !(decayed.is_finite() && plain.is_finite()) {
                (*decayed, *plain) = (0.0, 0.0);
            }
        }
        amounts
    }
}

/// What a second of a job counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// The billing weight of what the job holds (`calc_job_billable_tres`).
    pub billable: f64,
    /// That of the job's QOS, where a negative one or one that is not finite counts as none.
    pub usage_factor: Option<f64>,
    /// What charge rules say. `limits` does not concern [`Elapsed::released`], see [`super::given_back`].
    pub charge: ChargeFactors,
}

impl Rates {
    /// The factor of raw usage of associations besides the billing weight: 0 if that is not a number.
    pub fn factor(&self) -> f64 {
        let factor = self.usage_factor.filter(|&factor| is_factor(factor)).unwrap_or(1.0) * self.charge.usage;
        Some(factor).filter(|&factor| is_factor(factor)).unwrap_or_default()
    }
}

/// What one job adds in one cycle, all factors included. The decayed amounts are for associations and QOS, the others for QOS with the flag
/// `NoDecay`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Amounts {
    /// Wall clock seconds; also, times a count, what is added to the usage of a TRES.
    pub wall_decayed: f64,
    /// Wall clock seconds without decay.
    pub wall: f64,
    /// Billing seconds, the raw usage of QOS.
    pub usage_decayed: f64,
    /// Billing seconds without decay.
    pub usage: f64,
    /// Billing seconds, the raw usage of associations.
    pub raw_decayed: f64,
    /// Billing seconds of associations without decay.
    pub raw: f64,
    /// Seconds to give back from the run-minutes in use, to be multiplied with counts.
    pub released: u64,
}

impl Amounts {
    /// TRES seconds to give back for `count` of a TRES; 0 for what is not consumed.
    pub fn released_for(&self, count: u64) -> u64 {
        if count == NO_CONSUME {
            0
        } else {
            self.released.wrapping_mul(count)
        }
    }
}

/// TRES seconds that a job with `count` of a TRES had used when the last cycle ran. They are subtracted after a restart, which has added
/// its whole reservation again. 0 for a job that started later.
pub fn released_before_restart(count: u64, usage_factor: Option<f64>, start: i64, last_ran: i64) -> u64 {
    if count == NO_CONSUME || start > last_ran {
        return 0;
    }
    let factor = usage_factor.filter(|&factor| is_factor(factor)).unwrap_or(1.0);
    scaled(count, factor * difference(last_ran, start))
}

/// The part of the reserved time, start to limit, that one charge releases.
fn released(start: i64, end: i64, run: f64, job: &JobTimes) -> u64 {
    // An unlimited job's limit is a stored special value, in minutes 8000 years.
    let limit_end = job.start.saturating_add(i64::from(job.limit) * 60);
    if start >= limit_end {
        0
    } else if job.over {
        u64::try_from(limit_end.saturating_sub(start)).unwrap_or(0)
    } else if end > job.expected_end {
        // An int in Slurm; a rest that is negative or exceeds it comes out as 0.
        let rest = i32::try_from(job.expected_end.saturating_sub(start)).unwrap_or(0);
        u64::try_from(rest).unwrap_or(0)
    } else {
        truncated(run)
    }
}

/// A usage factor that can be used.
fn is_factor(factor: f64) -> bool {
    factor.is_finite() && factor >= 0.0
}

/// Seconds between two times, exact over the 285 million years around 1970.
#[allow(clippy::cast_precision_loss)]
fn difference(end: i64, start: i64) -> f64 {
    end.saturating_sub(start) as f64
}

/// An integer times a factor, rounded towards zero.
#[allow(clippy::cast_precision_loss)] // the precision of C's conversion, which the totals must equal
fn scaled(value: u64, factor: f64) -> u64 {
    truncated(value as f64 * factor)
}

/// Rounds towards zero; saturates where C leaves the result undefined.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturation is wanted
pub(super) fn truncated(value: f64) -> u64 {
    value as u64
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // equality to the bit is what is promised
mod tests {
    use super::*;
    use multifactor2_core::decay::decay_factor;
    use proptest::prelude::*;

    const HOUR: i64 = 3600;
    /// Started at 1000000 with a limit of one hour.
    const RUNNING: JobTimes = JobTimes {
        start: 1_000_000,
        end: 1_000_000 + HOUR,
        expected_end: 1_000_000 + HOUR,
        limit: 60,
        over: false,
    };

    fn rates(billable: f64, usage_factor: Option<f64>) -> Rates {
        Rates { billable, usage_factor, charge: ChargeFactors::NONE }
    }

    fn minutes(from: i64, to: i64) -> Period {
        Period { start: 1_000_000 + from * 60, end: 1_000_000 + to * 60, job_ended: false }
    }

    #[track_caller]
    fn assert_elapsed(period: Period, job: JobTimes, run: f64, released: u64) {
        let elapsed = Elapsed::within(period, &job).expect("the job's end was not charged before");
        assert_eq!((elapsed.run, elapsed.released), (run, released));
        assert_eq!(elapsed.start, period.start.max(job.start));
    }

    #[test]
    fn job_that_runs_through_the_period() {
        assert_elapsed(minutes(5, 10), RUNNING, 300.0, 300);
    }

    #[test]
    fn job_that_started_within_the_period() {
        assert_elapsed(minutes(-3, 2), RUNNING, 120.0, 120);
    }

    #[test]
    fn job_that_started_after_the_period_has_no_negative_time() {
        assert_elapsed(minutes(-10, -5), RUNNING, 0.0, 0);
    }

    #[test]
    fn job_past_its_limit_is_charged_but_gives_back_no_more_than_was_reserved() {
        assert_elapsed(minutes(58, 63), RUNNING, 300.0, 120);
        assert_elapsed(minutes(60, 65), RUNNING, 300.0, 0);
    }

    #[test]
    fn ended_job_is_charged_to_its_end_and_gives_back_the_rest() {
        let job = JobTimes { end: 1_000_000 + 12 * 60, over: true, ..RUNNING };
        assert_elapsed(Period { job_ended: true, ..minutes(10, 15) }, job, 120.0, 50 * 60);
    }

    #[test]
    fn end_in_the_past_does_not_shorten_a_running_job() {
        let job = JobTimes { end: 1_000_000 + 12 * 60, ..RUNNING };
        assert_elapsed(minutes(10, 15), job, 300.0, 300);
    }

    #[test]
    fn end_in_the_future_does_not_lengthen_an_ended_job() {
        let job = JobTimes { over: true, ..RUNNING };
        assert_elapsed(Period { job_ended: true, ..minutes(10, 15) }, job, 300.0, 50 * 60);
    }

    #[test]
    fn unset_end_does_not_shorten_an_ended_job() {
        let job = JobTimes { end: 0, over: true, ..RUNNING };
        assert_elapsed(Period { job_ended: true, ..minutes(10, 15) }, job, 300.0, 50 * 60);
    }

    /// Ancestors charged the last stretch twice around a restart (Slurm be924b88eb, 90e2347b54).
    #[test]
    fn end_is_not_charged_twice() {
        let job = JobTimes { expected_end: END_CHARGED, over: true, ..RUNNING };
        assert_eq!(Elapsed::within(minutes(10, 15), &job), None);
    }

    #[test]
    fn what_is_no_finite_number_is_not_charged() {
        let elapsed = Elapsed::within(minutes(5, 10), &RUNNING).unwrap();
        for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let amounts = elapsed.amounts(&mut RunDecay::new(0.9), &rates(wrong, None));
            assert_eq!((amounts.usage, amounts.usage_decayed, amounts.wall), (0.0, 0.0, 300.0), "{wrong}");
            assert_eq!(
                elapsed.amounts(&mut RunDecay::new(0.9), &rates(2.0, Some(wrong))),
                elapsed.amounts(&mut RunDecay::new(0.9), &rates(2.0, None)),
                "{wrong}"
            );
            assert_eq!(released_before_restart(2, Some(wrong), 0, 300), 600, "{wrong}");
        }
    }

    /// Found by fuzzing: only the amount without decay was too large for a number.
    #[test]
    fn amounts_beyond_all_numbers_are_charged_neither_with_nor_without_decay() {
        let amounts = Elapsed { start: 0, run: 1e10, released: 0 }
            .amounts(&mut RunDecay::new(1.0 - 1e-9), &rates(1.0, Some(1e300)));
        assert_eq!(
            (amounts.wall, amounts.wall_decayed, amounts.usage, amounts.usage_decayed),
            (0.0, 0.0, 0.0, 0.0)
        );
    }

    #[test]
    fn unlimited_job_gives_back_what_it_ran() {
        let job = JobTimes { limit: u32::MAX, expected_end: i64::MAX, ..RUNNING };
        assert_elapsed(minutes(5, 10), job, 300.0, 300);
        let over = JobTimes { over: true, ..job };
        assert_elapsed(minutes(5, 10), over, 300.0, u64::from(u32::MAX) * 60 - 300);
    }

    #[test]
    fn expected_end_beyond_32_bits_of_seconds_gives_nothing_back() {
        let job = JobTimes { limit: u32::MAX, expected_end: 1_000_000 + (1 << 33), ..RUNNING };
        let period = Period { start: 1_000_000, end: 1_000_000 + (1 << 34), job_ended: false };
        assert_elapsed(period, job, f64::from(2_u32.pow(17)) * f64::from(2_u32.pow(17)), 0);
    }

    #[test]
    fn amounts_multiply_in_the_order_of_stock() {
        let factor = decay_factor(604_800);
        let elapsed = Elapsed { start: 0, run: 300.0, released: 299 };
        let decayed = 300.0 * factor.powf(300.0);
        assert_eq!(
            elapsed.amounts(&mut RunDecay::new(factor), &rates(7.3, Some(0.7))),
            Amounts {
                wall_decayed: decayed * 0.7,
                wall: 300.0 * 0.7,
                usage_decayed: decayed * 7.3 * 0.7,
                usage: 300.0 * 7.3 * 0.7,
                raw_decayed: decayed * 7.3 * 0.7,
                raw: 300.0 * 7.3 * 0.7,
                released: 209, // 209.3 rounded down
            }
        );
        let plain = elapsed.amounts(&mut RunDecay::new(factor), &rates(7.3, None));
        assert_eq!((plain.wall, plain.released), (300.0, 299));
        assert_eq!(elapsed.amounts(&mut RunDecay::new(factor), &rates(7.3, Some(-1.0))), plain);
    }

    #[test]
    fn usage_factor_of_zero_charges_nothing() {
        let amounts = Elapsed { start: 0, run: 300.0, released: 300 }
            .amounts(&mut RunDecay::new(1.0), &rates(4.0, Some(0.0)));
        assert_eq!(amounts, Amounts::default());
    }

    #[test]
    fn charge_factors_ride_on_no_usage_factor() {
        let elapsed = Elapsed { start: 0, run: 100.0, released: 100 };
        let charge = ChargeFactors { usage: 0.25, limits: 0.5 };
        for (usage_factor, factor) in
            [(None, 1.0), (Some(-1.0), 1.0), (Some(f64::NAN), 1.0), (Some(4.0), 4.0)]
        {
            let found =
                elapsed.amounts(&mut RunDecay::new(1.0), &Rates { billable: 2.0, usage_factor, charge });
            assert_eq!((found.wall, found.usage, found.raw), (50.0 * factor, 100.0 * factor, 50.0 * factor));
            assert_eq!((found.wall_decayed, found.usage_decayed), (found.wall, found.usage));
            assert_eq!((found.raw_decayed, found.released_for(1)), (found.raw, scaled(100, factor)));
        }
    }

    #[test]
    fn the_factor_alone_is_that_of_raw_usage() {
        let factor = |usage_factor, usage| {
            Rates { billable: 7.0, usage_factor, charge: ChargeFactors { usage, limits: 3.0 } }.factor()
        };
        assert_eq!([factor(None, 0.5), factor(Some(4.0), 0.5), factor(Some(0.0), 2.0)], [0.5, 2.0, 0.0]);
        assert_eq!([factor(Some(-1.0), 2.0), factor(Some(f64::NAN), 2.0)], [2.0, 2.0]);
        assert_eq!([factor(Some(1e300), 1e300), factor(Some(1.0), f64::NAN)], [0.0, 0.0]);
    }

    #[test]
    fn released_tres_seconds() {
        let amounts = Elapsed { start: 0, run: 300.0, released: 300 }
            .amounts(&mut RunDecay::new(1.0), &rates(4.0, None));
        assert_eq!(amounts.released_for(4), 1200);
        assert_eq!(amounts.released_for(0), 0);
        assert_eq!(amounts.released_for(NO_CONSUME), 0);
    }

    #[test]
    fn released_at_a_restart() {
        assert_eq!(released_before_restart(4, None, 1000, 1300), 1200);
        assert_eq!(released_before_restart(4, Some(0.5), 1000, 1300), 600);
        assert_eq!(released_before_restart(4, Some(-1.0), 1000, 1300), 1200);
        assert_eq!(released_before_restart(NO_CONSUME, None, 1000, 1300), 0);
        assert_eq!(released_before_restart(4, None, 1301, 1300), 0);
    }

    proptest! {
        #![proptest_config(multifactor2_fixtures::seeded())]

        #[test]
        fn charging_in_two_cycles_gives_back_what_one_would(
            cut in 0_i64..7200, to in 0_i64..7200, limit in 0_u32..200,
        ) {
            let (cut, to) = (cut.min(to), cut.max(to));
            let start = RUNNING.start;
            let job = JobTimes { limit, expected_end: start + i64::from(limit) * 60, ..RUNNING };
            let charge = |from, to| {
                let period = Period { start: start + from, end: start + to, job_ended: false };
                Elapsed::within(period, &job).unwrap()
            };
            let (first, second, both) = (charge(0, cut), charge(cut, to), charge(0, to));
            prop_assert_eq!(first.released + second.released, both.released);
            prop_assert_eq!(first.run + second.run, both.run);
        }

        #[test]
        fn any_times_give_finite_amounts(
            start: i64, end: i64, expected_end: i64, limit: u32, over: bool,
            from: i64, to: i64, job_ended: bool, usage_factor in 0.0..1e6,
        ) {
            let job = JobTimes { start, end, expected_end, limit, over };
            if let Some(elapsed) = Elapsed::within(Period { start: from, end: to, job_ended }, &job) {
                let amounts = elapsed.amounts(&mut RunDecay::new(decay_factor(604_800)), &rates(64.0, Some(usage_factor)));
                for amount in [amounts.wall_decayed, amounts.wall, amounts.usage_decayed, amounts.usage] {
                    prop_assert!(amount.is_finite() && amount >= 0.0);
                }
            }
        }
    }
}
