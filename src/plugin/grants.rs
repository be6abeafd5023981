//! The one answer to "what fair-share has this job, and what did its priority come from".
//!
//! A submission asks for fair-share as it is now ([`Standing::fair_share`]): the last distribution knows it, for whoever was not active as a prospective
//! value, and for an association that is newer the tree is read again. Everybody else asks what the priority that a job *has*
//! came from: its submission or last change, where that is later than the last cycle, else the drafts of that cycle.

use std::collections::HashSet;

use multifactor2_core::factors::Evaluation;
use multifactor2_core::policy::pools::JobTickets;

use super::drafts::{Drafts, Finished};
use super::set_jobs::SetJobs;
use super::standing::{Granted, Standing};
use crate::host::access::Open;
use crate::host::records::Job;

/// See the module.
#[derive(Debug, Default)]
pub struct Grants {
    /// The tree of the last distribution.
    pub standing: Standing,
    /// What the priorities of the last cycle came from; none while a cycle runs.
    pub drafts: Option<Drafts>,
    /// What the priorities came from that were set since.
    pub set: SetJobs,
    /// Lines of settings that name what there is not, as they have been warned of.
    pub unknown: HashSet<String>,
}

/// What priorities came from before the cycle that runs.
#[derive(Debug)]
pub struct Earlier {
    drafts: Option<Drafts>,
    set: SetJobs,
}

impl Grants {
    /// Forgets everything, as after a stop.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// What the priority of a job came from, which is probably the one at `next` among the drafts, which then is the place
    /// behind it; `None` where that is not known, as for a moment while a cycle runs.
    pub fn evaluation_of(&self, next: &mut usize, id: u32) -> Option<Evaluation> {
        let set = self.set.get(id).copied();
        set.or_else(|| self.drafts.as_ref()?.evaluation_after(next, id, &self.standing))
    }

    /// The tickets that the last cycle gave to a job, where pools give them to single jobs.
    pub fn tickets_of<A: Open>(&self, job: Job<'_, A>) -> Option<JobTickets> {
        self.drafts.as_ref()?.tickets_still(job.get(|job| job.job_id), job.named_association())
    }

    /// The same with what gave them; `None` for a job whose priority is newer than the last cycle.
    pub fn granted_of<A: Open>(&self, job: Job<'_, A>) -> Option<Granted<'_>> {
        let id = job.get(|job| job.job_id);
        let tickets = self.drafts.as_ref().and_then(|drafts| drafts.tickets_of(id));
        self.standing.granted(tickets.filter(|_| self.set.get(id).is_none()))
    }

    /// A cycle begins: what priorities came from until now, and the memory of the drafts where they are not needed for that.
    pub fn begin_cycle(&mut self, keep_drafts: bool) -> (Earlier, Option<Drafts>) {
        let drafts = self.drafts.take();
        let (kept, memory) = if keep_drafts { (drafts, None) } else { (None, drafts) };
        (Earlier { drafts: kept, set: std::mem::take(&mut self.set) }, memory)
    }

    /// The cycle has read all jobs: finishes their priorities, and from here on answers by them.
    pub fn finish(&mut self, mut drafts: Drafts) -> Finished {
        let finished = drafts.finish(&self.standing);
        self.drafts = Some(drafts);
        finished
    }
}

impl Earlier {
    /// What the priority of a job came from.
    pub fn evaluation_of(&self, id: u32, standing: &Standing) -> Option<Evaluation> {
        self.set.get(id).copied().or_else(|| self.drafts.as_ref()?.evaluation_of(id, standing))
    }
}
