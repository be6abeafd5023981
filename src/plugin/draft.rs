//! Priorities in the making. A cycle reads each job once, under the job read lock, and keeps of it what its priority
//! needs besides fair-share; when the tickets are distributed the priorities are finished without
//! any lock, and under the job write lock only the numbers are written.
//!
//! A job may vanish or change in between. So a draft names its job by id and by the priority that it had:
//! what was set meanwhile, by a submission, a hold or an administrator, is newer and stays.

use std::collections::HashMap;

use super::standing::Standing;
use crate::engine::priority::{Factors, Priority};
use crate::host::records::Job;

/// One job.
#[derive(Debug, Clone, Copy)]
pub struct Draft {
    id: u32,
    /// The priority that the job had.
    seen: u32,
    /// Its association, by id and address; 0 for none.
    association: (u32, usize),
    /// Weighted factors before and after fair-share.
    before: f64,
    after: f64,
    /// More than a number is to be written: several partitions or QOS, or factors that the scheduler reads.
    whole: bool,
}

impl Draft {
    /// The priority, once fair-share is in.
    fn priority(&self) -> Priority {
        Priority::from_sum(self.before + self.after)
    }
}

/// All jobs of a cycle, in the order of the job list.
#[derive(Debug, Default)]
pub struct Drafts {
    jobs: Vec<Draft>,
    /// Where the next look-up begins: the list keeps its order.
    cursor: usize,
    /// By id, made when the order alone does not serve.
    by_id: Option<HashMap<u32, usize>>,
}

/// What to do with a job in the writing pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing: it is newer than the draft, or was changed since.
    Leave,
    /// Write this priority.
    Write(Priority),
    /// Evaluate it as at a submission.
    Evaluate,
}

impl Drafts {
    /// Keeps what a job's priority needs. `weighted` has no fair-share yet.
    pub fn push(&mut self, job: Job<'_>, weighted: &Factors, whole: bool) {
        self.jobs.push(Draft {
            id: job.get(|job| job.job_id),
            seen: job.get(|job| job.priority),
            association: (job.get(|job| job.assoc_id), job.get(|job| job.assoc_ptr) as usize),
            before: weighted.before_fair_share(),
            after: weighted.after_fair_share(),
            whole,
        });
    }

    /// Adds fair-share, `weight` times the factor of each job's association, and says whether anything is to be written.
    /// Needs no lock of the host.
    pub fn finish(&mut self, standing: &Standing, weight: u32) -> bool {
        let mut changes = false;
        for draft in &mut self.jobs {
            let (id, address) = draft.association;
            if weight != 0 && address != 0 {
                draft.before += standing.known_factor(address, id).unwrap_or(0.0) * f64::from(weight);
            }
            changes |= draft.whole || draft.priority().value != draft.seen;
        }
        changes
    }

    /// What becomes of a job that the writing pass meets. Jobs are met in list order.
    pub fn verdict(&mut self, job: Job<'_>) -> Verdict {
        let Some(draft) = self.find(job.get(|job| job.job_id)) else { return Verdict::Leave };
        if job.get(|job| job.priority) != draft.seen {
            Verdict::Leave
        } else if draft.whole {
            Verdict::Evaluate
        } else {
            Verdict::Write(draft.priority())
        }
    }

    fn find(&mut self, id: u32) -> Option<Draft> {
        /// Jobs that may have vanished in one place before the index is made.
        const NEAR: usize = 32;
        let rest = self.jobs.get(self.cursor..)?;
        if let Some(skipped) = rest.iter().take(NEAR).position(|draft| draft.id == id) {
            self.cursor += skipped + 1;
            return Some(rest[skipped]);
        }
        if rest.is_empty() {
            return None;
        }
        let jobs = &self.jobs;
        let by_id = self
            .by_id
            .get_or_insert_with(|| jobs.iter().enumerate().map(|(at, draft)| (draft.id, at)).collect());
        let at = *by_id.get(&id)?;
        self.cursor = at + 1;
        Some(self.jobs[at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drafts(ids: &[u32]) -> Drafts {
        let draft =
            |id: &u32| Draft { id: *id, seen: 1, association: (0, 0), before: 0.0, after: 0.0, whole: false };
        Drafts { jobs: ids.iter().map(draft).collect(), ..Drafts::default() }
    }

    fn found(drafts: &mut Drafts, ids: &[u32]) -> Vec<bool> {
        ids.iter().map(|id| drafts.find(*id).is_some_and(|draft| draft.id == *id)).collect()
    }

    #[test]
    fn jobs_are_found_in_order() {
        assert_eq!(found(&mut drafts(&[5, 3, 9]), &[5, 3, 9]), [true; 3]);
    }

    #[test]
    fn vanished_and_new_jobs_do_not_disturb_the_others() {
        let ids: Vec<u32> = (1..=1000).collect();
        let met: Vec<u32> = (1..=1000).filter(|id| !(100..400).contains(id)).collect();
        assert!(found(&mut drafts(&ids), &met).iter().all(|found| *found));
        let mut some = drafts(&ids);
        assert_eq!(
            found(&mut some, &[1, 5000, 2, 6000, 1000, 7000]),
            [true, false, true, false, true, false]
        );
    }

    #[test]
    fn another_order_is_served_by_id() {
        let ids: Vec<u32> = (1..=200).collect();
        let met: Vec<u32> = (1..=200).rev().collect();
        let mut some = drafts(&ids);
        // After the last one there is no rest to look in: the reversed walk begins there.
        assert!(found(&mut some, &met[1..]).iter().all(|found| *found));
    }
}
