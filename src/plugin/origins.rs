//! Answers in one place which fair-share a job has, and what its priority came from.
//!
//! A submission needs the current fair-share ([`Standing::fair_share`]). The last distribution has it; for a user who was not active it is
//! a prospective value. For a newer association the tree is read again. Every other caller needs what the priority that a job *has* came
//! from: its submission or last change, if that is later than the last cycle, else the drafts of that cycle.

use std::collections::HashSet;
use std::sync::Arc;

use multifactor2_core::factors::Evaluation;
use multifactor2_core::policy::pools::JobTickets;
use rustc_hash::FxHashMap;

use super::books::{tickets, ByBook};
use super::config::Config;
use super::drafts::{Drafts, Finished};
use super::evaluator::{Evaluated, Known};
use super::last_numbers::LastNumbers;
use super::points::{LookedUp, PointsEntries, PointsQueue, PointsState};
use super::set_jobs::SetJobs;
use super::standing::{Holdings, Share, Standing};
use crate::host::access::{Open, Write};
use crate::host::locks::{AssocLock, JobLock, Levels};
use crate::host::records::Job;

/// What every priority came from: the last distribution, the drafts of the last cycle, and what was set since.
#[derive(Debug, Default)]
pub struct Origins {
    /// The settings in force, for callers that hold this lock anyway.
    pub config: Option<Arc<Config>>,
    /// The tree of the last distribution.
    pub standing: Standing,
    /// What gives points, as of the last cycle; shared, so that nobody waits for our lock while a cycle copies it; `None` where the settings asked for none.
    pub points: Option<Arc<PointsState>>,
    /// What the priorities of the last cycle came from. While a cycle runs these are those of the cycle before where pools give
    /// tickets to single jobs, because what a job has cannot be told from its association then; else none.
    pub drafts: Option<Arc<Drafts>>,
    /// What the priorities came from that were set since.
    pub set: SetJobs,
    /// Our last numbers by record, for the passive state.
    pub numbers: LastNumbers,
    /// How points were asked for of those in several partitions or QOS, by job id.
    asked: FxHashMap<u32, Asked>,
    /// Lines of settings that name what there is not, as they have been warned of.
    pub unknown: HashSet<String>,
    /// What that was found by, where associations and Unix groups alone matter.
    pub looked_up: Option<(Arc<Config>, LookedUp)>,
    /// Tickets of jobs that have begun to wait since, with their associations by address and id: they are counted once.
    since: FxHashMap<u32, (ByBook<JobTickets>, (usize, u32))>,
    /// What jobs have in each of their books that were set since, where their entries may differ, by job id.
    pub shares: FxHashMap<u32, Share>,
}

/// How points were asked for of a job that was set between two cycles.
#[derive(Debug)]
struct Asked {
    /// When.
    at: i64,
    /// User and account, where the association is newer than the last cycle.
    newcomer: Option<(String, String)>,
}

/// What priorities came from before the cycle that runs.
#[derive(Debug)]
pub struct Earlier {
    drafts: Option<Arc<Drafts>>,
    set: SetJobs,
}

impl Origins {
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

    /// Our last number for the record at an address, which is not read.
    pub fn last_number(&self, address: usize) -> Option<u32> {
        let of_cycle = || self.drafts.as_ref()?.numbers().find(|(at, _)| *at == address);
        self.numbers.get(address).or_else(|| of_cycle().map(|(_, number)| number))
    }

    /// What is known of a job that is set now.
    pub fn known<A: Open>(&mut self, job: Job<'_, A>, config: &Config) -> Known<'_> {
        let tickets = self.tickets_of(job);
        if self.points.is_none() {
            // Before the first cycle: what needs no other jobs is known already.
            self.points =
                config.points.is_some().then(|| PointsState::new(&config.settings)).flatten().map(Arc::new);
        }
        let id = job.get(|job| job.job_id);
        let was_closed = self.drafts.as_ref().is_some_and(|drafts| drafts.was_closed(id));
        Known { standing: &mut self.standing, tickets, was_closed, points: self.points.as_deref() }
    }

    /// The tickets that the last cycle, or its submission since, gave to a job, where pools give them to single jobs.
    pub fn tickets_of<A: Open>(&self, job: Job<'_, A>) -> ByBook<JobTickets> {
        let (id, association) = (job.get(|job| job.job_id), job.named_association());
        let tickets = match (self.since.get(&id), &self.drafts) {
            (Some((tickets, of)), _) => (*of == association).then(|| tickets.clone()),
            (None, drafts) => drafts.as_ref().map(|drafts| drafts.tickets_still(id, association)),
        };
        tickets.unwrap_or_default()
    }

    /// Notes what came of a job that is set between two cycles: the tickets that it has got, and what it has in each of its entries.
    pub fn note_set(
        &mut self,
        jobs: &JobLock<'_, Write>,
        job: Job<'_, Write>,
        evaluated: &mut Evaluated,
        now: i64,
    ) {
        let id = job.get(|job| job.job_id);
        self.note_evaluation(jobs, job, evaluated, now);
        if evaluated.share.joins {
            self.since.insert(id, (tickets(&evaluated.share.in_books), job.named_association()));
        }
        if job.has_variants() {
            if evaluated.share.by_entry {
                self.shares.insert(id, std::mem::take(&mut evaluated.share));
            } else {
                self.shares.remove(&id);
            }
        }
    }

    /// Notes what the priority of a job came from `now`, and of one in several partitions or QOS how its points were asked for: those of its
    /// other entries are asked for in the same way when they are shown.
    pub fn note_evaluation(
        &mut self,
        jobs: &JobLock<'_, Write>,
        job: Job<'_, Write>,
        evaluated: &mut Evaluated,
        now: i64,
    ) {
        let id = job.get(|job| job.job_id);
        if let Some(evaluation) = evaluated.evaluation {
            self.set.note(id, evaluation, |id| jobs.job(id).is_some());
        }
        if self.points.is_some() && job.has_variants() {
            self.asked.insert(id, Asked { at: now, newcomer: evaluated.newcomer.take() });
        }
    }

    /// What a job in several partitions or QOS has in each of its books; `None` for one whose entries all have the same, if its priority is newer than
    /// the last cycle, and for others with one of each.
    pub fn holdings_of<A: Open>(&self, job: Job<'_, A>) -> Option<Holdings<'_>> {
        if !job.has_variants() {
            return None;
        }
        let id = job.get(|job| job.job_id);
        if self.set.get(id).is_some() {
            return self.shares.get(&id).map(|share| self.standing.holdings(share));
        }
        match &self.drafts {
            Some(drafts) => drafts.holdings(job, &self.standing),
            None => self.standing.holdings_by_id(job.named_association().1, self.standing.books_of(job)),
        }
    }

    /// The points of a job: of when it was set since the last cycle, which ran at `now`, else of that cycle. No list of the job's may be
    /// walked at the moment.
    pub fn points_of<V: Levels<Qos: Open>>(
        &self,
        lock: &AssocLock<'_, V>,
        job: Job<'_>,
        now: i64,
    ) -> Option<PointsEntries<'_>> {
        let points = self.points.as_ref()?;
        let (mut at, mut newcomer) = (now, None);
        if let Some(asked) = self.asked.get(&job.get(|job| job.job_id)) {
            (at, newcomer) = (asked.at, asked.newcomer.as_ref());
        }
        points.entries(lock, job, (points.node(&self.standing, job), newcomer), at)
    }

    /// A cycle begins: what priorities came from until now, and the memory of the drafts where they are not needed for that.
    pub fn begin_cycle(&mut self, keep_drafts: bool) -> (Earlier, Option<Drafts>) {
        let drafts = if self.standing.pools().is_some() { self.drafts.clone() } else { self.drafts.take() };
        let (kept, memory) =
            if keep_drafts { (drafts, None) } else { (None, drafts.and_then(Arc::into_inner)) };
        self.asked.clear();
        self.shares.clear();
        (Earlier { drafts: kept, set: std::mem::take(&mut self.set) }, memory)
    }

    /// The cycle has read all jobs: finishes their priorities, and from here on answers by them.
    pub fn finish(&mut self, mut drafts: Drafts, points: Option<PointsQueue>) -> Finished {
        let finished = drafts.finish(&self.standing);
        self.points = points.map(|points| Arc::new(points.finish()));
        self.drafts = Some(Arc::new(drafts));
        self.since.clear();
        finished
    }
}

impl Earlier {
    /// The drafts before, where they are kept while a cycle runs.
    pub fn drafts(&self) -> Option<&Drafts> {
        self.drafts.as_deref()
    }

    /// What the priority of a job came from.
    pub fn evaluation_of(&self, id: u32, standing: &Standing) -> Option<Evaluation> {
        self.set.get(id).copied().or_else(|| self.drafts.as_ref()?.evaluation_of(id, standing))
    }
}
