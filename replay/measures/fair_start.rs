//! Fair start times: when a job would have started if nobody had submitted anything after it (Sabin, Kochhar, Sadayappan, ICPP 2004).
//!
//! The fair start of a job is its start in a replay of the same workload that ends with this job. **Unfairness** of a job is max(0, start −
//! fair start): the delay that later jobs cause. Each fair start takes a replay, so a sample of jobs is measured.

use super::Spread;
use crate::sim::{Outcome, NEVER};
use crate::workload::Workload;

/// Unfairness over a sample of jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FairStarts {
    /// Jobs of the sample that started in both replays.
    pub jobs: usize,
    /// Those of them that started later than is fair.
    pub later: usize,
    /// Unfairness in seconds, of all of them.
    pub unfairness: Spread,
}

/// A sample of `count` jobs that were submitted at `since` or later, by a seed, in the order of submission; all if there are not more.
pub fn sample(workload: &Workload, count: usize, seed: u64, since: i64) -> Vec<u32> {
    let first = workload.jobs.partition_point(|job| job.submit < since);
    let last = u32::try_from(workload.jobs.len()).unwrap_or(u32::MAX);
    let from = u32::try_from(first).unwrap_or(u32::MAX);
    let mut jobs = fastrand::Rng::with_seed(seed).choose_multiple(from..last, count);
    jobs.sort_unstable();
    jobs
}

/// The workload up to a job, and with it. Of jobs that were submitted in the same second those behind it are left out.
#[must_use]
pub fn up_to(workload: &Workload, job: u32) -> Workload {
    let mut cut = workload.clone();
    cut.jobs.truncate(job as usize + 1);
    cut
}

/// Compares an outcome with fair starts: jobs, and when each would have started, or [`NEVER`].
#[allow(clippy::cast_precision_loss)] // seconds
pub fn fair_starts(outcome: &Outcome, fair: &[(u32, i64)]) -> FairStarts {
    let starts = fair.iter().map(|(job, fair)| (outcome.starts[*job as usize], *fair));
    let started = starts.filter(|(start, fair)| *start != NEVER && *fair != NEVER);
    let mut unfairness: Vec<f64> = started.map(|(start, fair)| (start - fair).max(0) as f64).collect();
    FairStarts {
        jobs: unfairness.len(),
        later: unfairness.iter().filter(|seconds| **seconds > 0.0).count(),
        unfairness: Spread::of(&mut unfairness),
    }
}
