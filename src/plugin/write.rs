//! Priorities into the job records, at the end of a cycle.
//!
//! Between the reading of a job and the writing of its priority others may have been there. What an administrator or a
//! submission has set meanwhile is newer and stays: a hold, a direct priority, an update. What slurmctld's schedulers have
//! written is no decision but an older number of ours: they put the priority of one of a job's partitions into the record
//! whenever they look at it there. So the number in the record does not say whether the cycle may write.

use super::config::Config;
use super::draft::{Draft, Drafts, Finished, Task};
use super::fresh::Fresh;
use super::job::{Evaluated, Pass};
use super::standing::Standing;
use super::Plugin;
use crate::faults;
use crate::host::ahead::Touched;
use crate::host::lists::JobChunks;
use crate::host::locks::{AssocLevels, AssocLock, Unlocked};
use crate::host::panics::attempt;
use crate::host::records::Job;
use crate::host::{clock, Host};

/// What became of the priorities that a cycle has computed, in jobs.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    /// All of them.
    pub computed: usize,
    /// Written.
    pub written: usize,
    /// The same as before.
    pub same: usize,
    /// Lower, which `INCR_ONLY` does not allow.
    pub lower: usize,
    /// Held meanwhile.
    pub held: usize,
    /// Set directly meanwhile.
    pub direct: usize,
    /// Submitted or changed meanwhile.
    pub fresh: usize,
    /// Given up after a fault.
    pub failed: usize,
    /// Started, ended or gone meanwhile.
    pub gone: usize,
}

impl Tally {
    /// Computed, but neither of what is counted one by one: those that were not found any more, or do not wait any more.
    fn count_gone(mut self) -> Self {
        let known = [self.written, self.same, self.lower, self.held, self.direct, self.fresh, self.failed];
        self.gone = self.computed.saturating_sub(known.iter().sum());
        self
    }
}

/// What one hold of the locks gives to write with.
struct Writer<'w, 'l> {
    pass: &'w Pass<'w>,
    lock: &'w AssocLock<'l>,
    standing: &'w mut Standing,
    drafts: &'w Drafts,
    fresh: &'w mut Fresh,
    tres: &'w mut Vec<f64>,
    tally: &'w mut Tally,
    /// Something was written that clients see.
    changed: bool,
}

impl Plugin {
    /// Writes the finished priorities, chunk by chunk.
    pub(super) fn write_priorities(
        &self,
        unlocked: &mut Unlocked,
        config: &Config,
        finished: Finished,
        now: i64,
    ) -> Tally {
        let host = unlocked.host();
        let touched = touched(host);
        let pass = Pass::new(host, config, now);
        let mut tres = pass.scratch();
        let mut tally = Tally { computed: finished.computed, same: finished.same, ..Tally::default() };
        let count = self.drafts.lock().as_ref().map_or(0, |drafts| drafts.jobs().len());
        for begin in (0..count).step_by(JobChunks::SIZE) {
            let jobs = unlocked.jobs_write();
            let lock = jobs.associations(AssocLevels::READ);
            let mut standing = self.standing.lock();
            let drafts = self.drafts.lock();
            let Some(drafts) = drafts.as_ref() else { break };
            let mut fresh = self.fresh.lock();
            let (mut held, mut direct) = (0, 0);
            let wants = |job: Job<'_>, draft: &Draft| {
                let is_direct = job.get(|job| job.direct_set_prio) != 0;
                if draft.task() == Task::Clear {
                    return is_direct;
                }
                let is_held = job.get(|job| job.priority) == 0;
                held += usize::from(is_held);
                direct += usize::from(is_direct && !is_held);
                !is_direct && pass.is_computed(job)
            };
            let mut writer = Writer {
                pass: &pass,
                lock: &lock,
                standing: &mut standing,
                drafts,
                fresh: &mut fresh,
                tres: &mut tres,
                tally: &mut tally,
                changed: false,
            };
            let chunk = &drafts.jobs()[begin..count.min(begin + JobChunks::SIZE)];
            touched.walk_seen(&jobs, chunk, wants, |job, draft| {
                if attempt(|| writer.write(job, draft)).is_none() {
                    writer.tally.failed += 1;
                }
            });
            if writer.changed {
                host.note_job_update(clock::now());
            }
            tally.held += held;
            tally.direct += direct;
        }
        tally.count_gone()
    }

    /// Evaluates every job as at its submission: without a database no cycle does it in older releases.
    pub(super) fn evaluate_all(&self, unlocked: &mut Unlocked, config: &Config, now: i64) {
        let host = unlocked.host();
        let jobs = unlocked.jobs_write();
        let lock = jobs.associations(AssocLevels::READ);
        let pass = Pass::new(host, config, now);
        let mut standing = self.standing.lock();
        let mut fresh = self.fresh.lock();
        let mut tres = pass.scratch();
        for job in jobs.all_jobs() {
            attempt(|| {
                faults::point("initial");
                if pass.is_computed(job) && self.admits(&lock, job, true) {
                    let evaluated = pass.evaluate(job, &mut tres, |job| factor_of(&mut standing, &lock, job));
                    if let Some(factors) = evaluated.factors {
                        fresh.note(job.get(|job| job.job_id), factors, |id| jobs.job(id).is_some());
                    }
                    assign(job, evaluated.priority, config);
                }
            });
        }
        host.note_job_update(clock::now());
    }
}

impl Writer<'_, '_> {
    fn write(&mut self, job: Job<'_>, draft: &Draft) {
        faults::point("write");
        if draft.task() == Task::Clear {
            self.evaluate(job);
            return;
        }
        let id = job.get(|job| job.job_id);
        if self.fresh.get(id).is_some() {
            self.tally.fresh += 1;
            return;
        }
        let new = match draft.task() {
            Task::More => match self.drafts.factors(draft, self.standing) {
                Some(factors) => {
                    self.changed |=
                        self.pass.write_more(job, job.qos(), &factors, self.tres, draft.priority());
                    draft.priority()
                }
                None => self.evaluate_anew(id, job),
            },
            Task::Evaluate => self.evaluate_anew(id, job),
            _ => draft.priority(),
        };
        match assign(job, new, self.pass.config) {
            Assigned::Written => {
                self.changed = true;
                self.tally.written += 1;
            }
            Assigned::Same => self.tally.same += 1,
            Assigned::Lower => self.tally.lower += 1,
        }
    }

    fn evaluate_anew(&mut self, id: u32, job: Job<'_>) -> u32 {
        let evaluated = self.evaluate(job);
        if let Some(factors) = evaluated.factors {
            self.fresh.note(id, factors, |_| true);
        }
        self.changed |= evaluated.variants_changed;
        evaluated.priority
    }

    fn evaluate(&mut self, job: Job<'_>) -> Evaluated {
        self.pass.evaluate(job, self.tres, |job| factor_of(self.standing, self.lock, job))
    }
}

/// What writing touches of a job.
fn touched(host: &'static Host) -> Touched {
    let layout = &host.layout.job;
    let mut touched = Touched::new();
    touched.field(layout.job_id).field(layout.job_state).field(layout.priority).field(layout.direct_set_prio);
    touched
}

/// The fair-share factor of a job, 0 without an association.
pub fn factor_of(standing: &mut Standing, lock: &AssocLock<'_>, job: Job<'_>) -> f64 {
    // Mostly without a look at the association itself.
    let (address, id) = job.named_association();
    let factor = standing
        .known_factor(address, id)
        .or_else(|| job.association().and_then(|association| standing.factor(lock, association)));
    factor.unwrap_or(0.0)
}

/// What became of one priority.
enum Assigned {
    Written,
    Same,
    /// `INCR_ONLY` does not allow it.
    Lower,
}

fn assign(job: Job<'_>, new: u32, config: &Config) -> Assigned {
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
