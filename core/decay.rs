//! Half-life decay, in the double arithmetic of stock priority/multifactor, so that switching between the two plugins changes no usage.

/// The factor that usage loses per second: 1 − 0.693 / half-life, the first two terms of 2^(−1/half-life).
///
/// `half_life` is `PriorityDecayHalfLife` in seconds; 0 means no decay, factor 1. Whole seconds keep the
/// result between 0.307 and 1.
pub fn decay_factor(half_life: u32) -> f64 {
    if half_life == 0 {
        1.0
    } else {
        1.0 - 0.693 / f64::from(half_life)
    }
}

/// The factor for usage that is `seconds` old: `factor`^`seconds`, where `factor` is [`decay_factor`]'s.
///
/// Never below the smallest normal number: a long gap between two cycles with a short half-life must not turn
/// usage into zeros or denormals. 1 for no time or negative time, so that a clock stepped back leaves
/// usage alone.
pub fn decay_over(factor: f64, seconds: f64) -> f64 {
    if seconds > 0.0 {
        factor.powf(seconds).max(f64::MIN_POSITIVE)
    } else {
        1.0
    }
}

/// What `seconds` of running count for at their end, in seconds: all of them as old as the first.
pub fn run_decay(seconds: f64, factor: f64) -> f64 {
    seconds * factor.powf(seconds)
}

/// [`run_decay`] for many jobs, most of which ran through the same time: the last result is kept.
#[derive(Clone, Copy, Debug)]
pub struct RunDecay {
    factor: f64,
    /// Seconds, and what they count for.
    last: (f64, f64),
}

impl RunDecay {
    /// With a factor of [`decay_factor`]'s.
    pub fn new(factor: f64) -> Self {
        Self { factor, last: (0.0, 0.0) }
    }

    /// What this number of seconds counts for.
    pub fn of(&mut self, seconds: f64) -> f64 {
        #[allow(clippy::float_cmp)] // the same seconds count for the same
        if seconds != self.last.0 {
            self.last = (seconds, run_decay(seconds, self.factor));
        }
        self.last.1
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // equality to the bit is what is promised
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WEEK: u32 = 7 * 24 * 60 * 60;

    #[test]
    fn no_half_life_means_no_decay() {
        assert_eq!(decay_factor(0), 1.0);
        assert_eq!(decay_over(decay_factor(0), 1e9), 1.0);
        assert_eq!(run_decay(300.0, decay_factor(0)), 300.0);
    }

    #[test]
    fn usage_halves_in_a_half_life() {
        let factor = decay_factor(WEEK);
        assert_eq!(factor, 1.0 - 0.693 / 604_800.0);
        assert!((decay_over(factor, 604_800.0) - 0.5).abs() < 1e-4);
        assert_eq!(run_decay(300.0, factor), 300.0 * factor.powf(300.0));
        let mut decay = RunDecay::new(factor);
        for seconds in [300.0, 300.0, 7.0, 0.0, 300.0] {
            assert_eq!(decay.of(seconds), run_decay(seconds, factor));
        }
    }

    /// An ancestor's thread ended when the factor underflowed (Slurm a36fff48a4, 5d70ccce2f).
    #[test]
    fn decay_does_not_underflow_after_a_long_gap() {
        assert_eq!(decay_over(decay_factor(1), 3600.0), f64::MIN_POSITIVE);
        assert_eq!(decay_over(decay_factor(60), f64::MAX), f64::MIN_POSITIVE);
    }

    #[test]
    fn clock_stepped_back_leaves_usage_alone() {
        assert_eq!(decay_over(decay_factor(WEEK), -3600.0), 1.0);
        assert_eq!(decay_over(decay_factor(WEEK), 0.0), 1.0);
        assert_eq!(decay_over(decay_factor(WEEK), f64::NAN), 1.0);
    }

    proptest! {
        #![proptest_config(multifactor2_fixtures::seeded())]

        #[test]
        fn decay_stays_between_the_smallest_number_and_one(half_life: u32, seconds: f64) {
            let decay = decay_over(decay_factor(half_life), seconds);
            prop_assert!((f64::MIN_POSITIVE..=1.0).contains(&decay), "{}", decay);
        }

        #[test]
        fn running_counts_for_at_most_its_time(half_life: u32, seconds in 0_u32..) {
            let decayed = run_decay(f64::from(seconds), decay_factor(half_life));
            prop_assert!((0.0..=f64::from(seconds)).contains(&decayed), "{}", decayed);
        }
    }
}
