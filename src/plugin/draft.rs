//! Priorities in the making. A cycle reads each job once, under the job read lock, and keeps of it what its priority
//! needs besides fair-share; when the tickets are distributed the priorities are finished without
//! any lock, and under the job write lock only the numbers are written.
//!
//! A job may vanish or change in between. So a draft names its job by id and by the priority that it had:
//! what was set meanwhile, by a submission, a hold or an administrator, is newer and stays.

use super::standing::Standing;
use crate::engine::priority::{Factors, Priority};
use crate::host::ahead::Seen;
use crate::host::records::Job;

/// One job.
#[derive(Debug, Clone, Copy)]
pub struct Draft {
    job: Seen,
    /// The priority that the job had.
    pub old: u32,
    /// Its association, by id and address; 0 for none.
    association: (u32, usize),
    /// Weighted factors before and after fair-share.
    before: f64,
    after: f64,
    /// More than a number is to be written: several partitions or QOS, or factors that the scheduler reads. It is
    /// evaluated as at a submission.
    pub whole: bool,
}

impl AsRef<Seen> for Draft {
    fn as_ref(&self) -> &Seen {
        &self.job
    }
}

impl Draft {
    /// The priority, once fair-share is in.
    pub fn priority(&self) -> Priority {
        Priority::from_sum(self.before + self.after)
    }
}

/// All jobs of a cycle, in the order of the job list.
#[derive(Debug, Default)]
pub struct Drafts(Vec<Draft>);

impl Drafts {
    /// Keeps what a job's priority needs. `weighted` has no fair-share yet.
    pub fn push(&mut self, job: Job<'_>, weighted: &Factors, whole: bool) {
        self.0.push(Draft {
            job: Seen::of(job),
            old: job.get(|job| job.priority),
            association: (job.get(|job| job.assoc_id), job.get(|job| job.assoc_ptr) as usize),
            before: weighted.before_fair_share(),
            after: weighted.after_fair_share(),
            whole,
        });
    }

    /// Adds fair-share, `weight` times the factor of each job's association, and returns the jobs that something is to be
    /// written for. Needs no lock of the host.
    pub fn finish(mut self, standing: &Standing, weight: u32) -> Vec<Draft> {
        self.0.retain_mut(|draft| {
            let (id, address) = draft.association;
            if weight != 0 && address != 0 {
                draft.before += standing.known_factor(address, id).unwrap_or(0.0) * f64::from(weight);
            }
            draft.whole || draft.priority().value != draft.old
        });
        self.0
    }
}
