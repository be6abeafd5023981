//! Priorities into the job records, at the end of a cycle.
//!
//! Between the reading of a job and the writing of its priority others may have been there. What an administrator or a
//! submission has set meanwhile is newer and stays: a hold, a direct priority, an update. What slurmctld's schedulers have
//! written is no decision but an older number of ours: they put the priority of one of a job's partitions into the record
//! whenever they look at it there. So the number in the record does not say whether the cycle may write.

use rustc_hash::FxHashMap;

use super::books::ByBook;
use super::config::Config;
use super::drafts::{Draft, Drafts, Finished, Task};
use super::evaluator::{Evaluated, Evaluator, Known, Variants};
use super::explain::Tally;
use super::origins::Origins;
use super::points::PointsState;
use super::set_jobs::SetJobs;
use super::standing::{Share, Standing};
use super::Plugin;
use crate::faults;
use crate::host::access::Write;
use crate::host::jobs::{walk_seen, Direction, JobChunks};
use crate::host::locks::{AssocLock, Explained, Unlocked};
use crate::host::panics::attempt;
use crate::host::records::Job;
use crate::host::{clock, views};

/// Counts those that were computed, but not found any more, or do not wait any more.
fn count_gone(mut tally: Tally) -> Tally {
    let known = [tally.written, tally.same, tally.lower, tally.held, tally.direct, tally.set, tally.failed];
    tally.gone = tally.computed.saturating_sub(known.iter().sum());
    tally
}

/// What one hold of the locks gives to write with.
struct Writer<'w, 'l> {
    evaluator: &'w Evaluator<'w>,
    lock: &'w AssocLock<'l, Explained>,
    standing: &'w mut Standing,
    points: Option<&'w PointsState>,
    drafts: &'w Drafts,
    set: &'w mut SetJobs,
    shares: &'w mut FxHashMap<u32, Share>,
    tres: &'w mut Vec<f64>,
    tally: &'w mut Tally,
    /// Something was written that clients see.
    changed: bool,
}

impl Plugin {
    /// Writes the finished priorities, chunk by chunk, the last one first: they were read last.
    pub(super) fn write_priorities(
        &self,
        unlocked: &mut Unlocked,
        config: &Config,
        finished: Finished,
        now: i64,
    ) -> Tally {
        let host = unlocked.host();
        let touched = views::written_jobs(host);
        let evaluator = Evaluator::new(host, config, now);
        let mut tres = evaluator.core.scratch();
        let mut tally = Tally { computed: finished.computed, same: finished.same, ..Tally::default() };
        let count = self.origins.lock().drafts.as_ref().map_or(0, |drafts| drafts.count());
        for begin in (0..count).step_by(JobChunks::SIZE).rev() {
            let jobs = unlocked.jobs_write();
            let lock = jobs.associations::<Explained>();
            let mut origins = self.origins.lock();
            let Origins { standing, points, drafts: Some(drafts), set, shares, .. } = &mut *origins else {
                break;
            };
            let (mut held, mut direct) = (0, 0);
            let wants = |job: Job<'_, Write>, draft: &&Draft| {
                let is_direct = job.get(|job| job.direct_set_prio) != 0;
                if draft.task() == Task::Clear {
                    return is_direct;
                }
                let is_held = job.get(|job| job.priority) == 0;
                held += usize::from(is_held);
                direct += usize::from(is_direct && !is_held);
                !is_direct && evaluator.is_computed(job)
            };
            let mut writer = Writer {
                evaluator: &evaluator,
                lock: &lock,
                standing,
                points: points.as_deref(),
                drafts,
                set,
                shares,
                tres: &mut tres,
                tally: &mut tally,
                changed: false,
            };
            let chunk = &drafts.jobs()[begin..count.min(begin + JobChunks::SIZE)];
            // Once picked out, none needs to be asked again on the way.
            let wanted: Vec<&Draft> = chunk.iter().filter(|draft| draft.is_wanted()).collect();
            walk_seen(&touched, &jobs, &lock, (&wanted, Direction::Backwards), wants, |job, draft| {
                if attempt(|| writer.write(job, draft)).is_none() {
                    writer.tally.failed += 1;
                }
            });
            if writer.changed {
                host.note_job_update(&jobs, clock::now());
            }
            tally.held += held;
            tally.direct += direct;
        }
        count_gone(tally)
    }

    /// Evaluates every job as at its submission: without a database no cycle does it in older releases.
    pub(super) fn evaluate_all(&self, unlocked: &mut Unlocked, config: &Config, now: i64) {
        let host = unlocked.host();
        let jobs = unlocked.jobs_write();
        let lock = jobs.associations::<Explained>();
        let evaluator = Evaluator::new(host, config, now);
        let mut origins = self.origins.lock();
        let mut tres = evaluator.core.scratch();
        for job in jobs.all_jobs() {
            attempt(|| {
                faults::point("initial");
                if evaluator.is_computed(job) && self.admits(&lock, job.read_only(), true) {
                    let known = Known { tickets: ByBook::default(), ..origins.known(job, config) };
                    let mut evaluated = evaluator.evaluate(job, &lock, &mut tres, known);
                    assign(job, evaluated.priority, config);
                    origins.note_evaluation(&jobs, job, &mut evaluated, now);
                }
            });
        }
        host.note_job_update(&jobs, clock::now());
    }
}

impl Writer<'_, '_> {
    fn write(&mut self, job: Job<'_, Write>, draft: &Draft) {
        faults::point("write");
        if draft.task() == Task::Clear {
            self.evaluate(job);
            return;
        }
        let id = job.get(|job| job.job_id);
        if self.set.get(id).is_some() {
            self.tally.set += 1;
            return;
        }
        let new = match draft.task() {
            Task::More => self.write_more(id, job, draft),
            Task::Evaluate => self.evaluate_anew(id, job),
            _ => draft.priority(),
        };
        match assign(job, new, self.evaluator.config) {
            Assigned::Written => {
                self.changed = true;
                self.tally.written += 1;
            }
            Assigned::Same => self.tally.same += 1,
            Assigned::Lower => self.tally.lower += 1,
        }
    }

    /// Writes what there is beside the number; returns the number.
    fn write_more(&mut self, id: u32, job: Job<'_, Write>, draft: &Draft) -> u32 {
        let Some(evaluation) = self.drafts.evaluation_of(id, self.standing) else {
            return self.evaluate_anew(id, job);
        };
        let qos = job.qos(self.lock).map(views::qos);
        let now = self.evaluator.core.now;
        let is_wanted = job.has_variants() || self.evaluator.explain;
        let points = self.points.filter(|_| is_wanted);
        let points = points
            .and_then(|points| points.entries(self.lock, job, (points.node(self.standing, job), None), now));
        let variants = Variants {
            is_stopped: draft.is_stopped(),
            of_job: &evaluation,
            holdings: if is_wanted { self.drafts.holdings(job, self.standing) } else { None },
            points: points.as_ref(),
        };
        let priority = draft.priority();
        self.changed |=
            self.evaluator.write_more(job, self.lock, qos.as_ref(), &variants, self.tres, priority);
        priority
    }

    fn evaluate_anew(&mut self, id: u32, job: Job<'_, Write>) -> u32 {
        let evaluated = self.evaluate(job);
        if let Some(evaluation) = evaluated.evaluation {
            self.set.note(id, evaluation, |_| true);
            if job.has_variants() && evaluated.share.by_entry {
                self.shares.insert(id, evaluated.share);
            }
        }
        // Of its partitions and QOS perhaps; that is rare enough to tell clients without asking.
        self.changed = true;
        evaluated.priority
    }

    fn evaluate(&mut self, job: Job<'_, Write>) -> Evaluated {
        let id = job.get(|job| job.job_id);
        let tickets = self.drafts.tickets_still(id, job.named_association());
        let was_closed = self.drafts.was_closed(id);
        let known = Known { standing: &mut *self.standing, tickets, was_closed, points: self.points };
        self.evaluator.evaluate(job, self.lock, self.tres, known)
    }
}

/// What became of one priority.
enum Assigned {
    Written,
    Same,
    /// `INCR_ONLY` does not allow it.
    Lower,
}

fn assign(job: Job<'_, Write>, new: u32, config: &Config) -> Assigned {
    let old = job.get(|job| job.priority);
    if new == old {
        return Assigned::Same;
    }
    if config.flags.increase_only() && new < old {
        return Assigned::Lower;
    }
    job.set(|job| job.priority, new);
    Assigned::Written
}
