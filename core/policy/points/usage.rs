//! USAGE: what a running job has used (Maui Administrator's Guide, 5.1.2.6). A waiting job has none.

use super::terms::{amount, Terms};
use super::{Component, Ground, Needs};
use crate::settings::{self, Settings};

/// USAGE on one line: Consumed Remaining Percent `ExecutionTime`.
#[derive(Clone, Debug)]
pub(super) struct Usage(Terms<4>);

impl Component for Usage {
    fn of(line: &settings::Component) -> Self {
        Self(Terms::of([line.consumed, line.remaining, line.percent, line.execution_time]))
    }

    fn needs(&self, _settings: &Settings) -> Needs {
        let counts = |parts: &[usize]| parts.iter().any(|part| self.0.counts(*part));
        Needs {
            resources: counts(&[0, 1]),
            limit: counts(&[1, 2]),
            elapsed: counts(&[0, 1, 2, 3]),
            ..Needs::default()
        }
    }

    #[inline]
    fn sum(&self, ground: &Ground<'_>) -> f64 {
        let job = ground.job;
        let Some(elapsed) = job.elapsed.map(amount) else { return 0.0 };
        let (cpus, limit) = (amount(job.request.cpus), amount(job.limit));
        self.0.sum([
            cpus * elapsed,
            cpus * (limit - elapsed).max(0.0),
            // There is at least one second to divide by.
            100.0 * elapsed / limit.max(1.0),
            elapsed,
        ])
    }
}
