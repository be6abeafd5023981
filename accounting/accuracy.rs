//! How well time limits fit: for each user, the run time of jobs over the time requested (`WCACCURACY` of Moab). Both decay with the
//! half-life of usage.

use std::collections::BTreeMap;

use multifactor2_core::decay::decay_over;

/// Of one user.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    /// Seconds that jobs ran, as of `at`.
    pub used: f64,
    /// Seconds that they asked for.
    pub requested: f64,
    /// Up to when both have decayed.
    pub at: i64,
}

/// Of all users whose jobs have ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Accuracies(BTreeMap<String, Accuracy>);

/// What has decayed to less than a second of time that was asked for is forgotten.
const LEAST: f64 = 1.0;

impl Accuracies {
    /// What another process has kept.
    pub(crate) fn kept(users: impl IntoIterator<Item = (String, Accuracy)>) -> Self {
        Self(users.into_iter().collect())
    }

    /// All of them, by name.
    pub fn users(&self) -> impl Iterator<Item = (&str, &Accuracy)> {
        self.0.iter().map(|(user, accuracy)| (user.as_str(), accuracy))
    }

    /// A job of a user has ended at a time, after it ran for some of its requested seconds. `factor` is the decay per second. A job that
    /// never ran does not count.
    pub fn note(&mut self, user: &str, (ran, requested): (f64, f64), at: i64, factor: f64) {
        if !(requested > 0.0 && ran > 0.0 && ran.is_finite() && requested.is_finite()) {
            return;
        }
        let known = self.0.entry(user.to_owned()).or_insert(Accuracy { used: 0.0, requested: 0.0, at });
        let over = decay_over(factor, seconds(at.saturating_sub(known.at)));
        *known = Accuracy {
            used: known.used * over + ran,
            requested: known.requested * over + requested,
            at: known.at.max(at),
        };
    }

    /// Forgets those of whom next to nothing is left.
    pub fn forget(&mut self, now: i64, factor: f64) {
        self.0.retain(|_, known| {
            known.requested * decay_over(factor, seconds(now.saturating_sub(known.at))) >= LEAST
        });
    }

    /// The part that a user's jobs have run of what they asked for, in percent; 0 where nothing is known.
    pub fn percent(&self, user: &str) -> f64 {
        self.0.get(user).map_or(0.0, |known| 100.0 * known.used / known.requested)
    }
}

#[allow(clippy::cast_precision_loss)] // a difference of times
fn seconds(count: i64) -> f64 {
    count.max(0) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A half-life of 1000 seconds.
    fn factor() -> f64 {
        0.5_f64.powf(1.0 / 1000.0)
    }

    #[test]
    fn the_last_jobs_count_most() {
        let mut known = Accuracies::default();
        known.note("ann", (600.0, 3600.0), 0, factor());
        assert!((known.percent("ann") - 100.0 / 6.0).abs() < 1e-9);
        // Half of it is left when an hour of an hour comes.
        known.note("ann", (3600.0, 3600.0), 1000, factor());
        assert!((known.percent("ann") - 100.0 * (300.0 + 3600.0) / (1800.0 + 3600.0)).abs() < 1e-6);
        assert_eq!(known.percent("bob").to_bits(), 0.0_f64.to_bits());
    }

    #[test]
    fn jobs_that_never_ran_and_what_is_no_number_do_not_count() {
        let mut known = Accuracies::default();
        for pair in [(0.0, 3600.0), (60.0, 0.0), (f64::NAN, 60.0), (60.0, f64::INFINITY), (-1.0, 60.0)] {
            known.note("ann", pair, 0, factor());
        }
        assert_eq!(known, Accuracies::default());
    }

    #[test]
    fn users_of_long_ago_are_forgotten_and_the_clock_may_be_set_back() {
        let mut known = Accuracies::default();
        known.note("ann", (60.0, 60.0), 5000, factor());
        known.note("ann", (60.0, 60.0), 4000, factor());
        assert!((known.percent("ann") - 100.0).abs() < 1e-9);
        known.forget(10_000, factor());
        assert!(known.percent("ann") > 0.0);
        known.forget(20_000, factor());
        assert_eq!(known, Accuracies::default());
    }
}
