//! Priorities in the making. A cycle reads each job once, under the job read lock, and keeps of it what its priority
//! needs besides fair-share; when the tickets are distributed the priorities are finished without
//! any lock, and under the job write lock only the numbers are written.
//!
//! A job may vanish or change in between. So a draft names its job by id and by the priority that it had:
//! what was set meanwhile, by a submission, a hold or an administrator, is newer and stays.

use super::standing::{Place, Standing, Waiting};
use crate::engine::priority::{Factors, Priority};
use crate::host::ahead::{Note, Seen};
use crate::host::records::Job;

/// One job.
#[derive(Debug, Clone, Copy)]
pub struct Draft {
    /// Where its record was.
    address: usize,
    /// Weighted factors before and after fair-share.
    before: f64,
    after: f64,
    id: u32,
    /// The priority that the job had.
    pub old: u32,
    association: Place,
    /// More than a number is to be written: several partitions or QOS, or factors that the scheduler reads. It is
    /// evaluated as at a submission.
    pub whole: bool,
}

impl Note for Draft {
    fn seen(&self) -> Seen {
        Seen { id: self.id, address: self.address }
    }
}

impl Draft {
    /// Of a job and its weighted factors, which have no fair-share yet.
    pub fn new(job: Job<'_>, association: Place, weighted: &Factors, whole: bool) -> Self {
        Self {
            address: job.address(),
            before: weighted.before_fair_share(),
            after: weighted.after_fair_share(),
            id: job.get(|job| job.job_id),
            old: job.get(|job| job.priority),
            association,
            whole,
        }
    }

    /// The priority, once fair-share is in.
    pub fn priority(&self) -> Priority {
        Priority::from_sum(self.before + self.after)
    }
}

/// Adds fair-share, `weight` times the factor of each job's association, to the drafts of a cycle, and keeps the jobs that
/// something is to be written for. Needs no lock of the host.
pub fn finish(drafts: &mut Vec<Draft>, standing: &Standing, waiting: &Waiting, weight: u32) {
    drafts.retain_mut(|draft| {
        if weight != 0 && draft.association != Place::NONE {
            let factor = standing.factor_at(waiting, draft.association).unwrap_or(0.0);
            draft.before += factor * f64::from(weight);
        }
        draft.whole || draft.priority().value != draft.old
    });
}
