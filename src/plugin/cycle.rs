//! One decay cycle: decay and charge usage, distribute tickets, give every pending job its priority.
//!
//! | phase | locks |
//! |---|---|
//! | reset, decay | associations and QOS for writing |
//! | site factors | jobs for writing |
//! | gather: read every job once, see [`super::draft`] | jobs, associations and QOS for reading |
//! | charge running jobs | jobs for reading; associations and QOS for writing |
//! | distribute: read usage, compute, write what sshare shows | associations for writing |
//! | finish the priorities | none |
//! | write them | jobs for writing; associations and QOS for reading |
//!
//! The factors that `sprio` shows are not written here: they are computed when somebody asks (see [`super::sprio`]).
//!
//! Nothing of a record is kept between phases but addresses of associations, which are only compared.

use tracing::{debug, error};

use super::config::Config;
use super::draft::{Drafts, Verdict};
use super::job::{warn_of_overflow, Pass, OVERFLOW};
use super::reset::Period as ResetPeriod;
use super::standing::{Standing, Waiting};
use super::state_file::{self, Times};
use super::{explain, usage, Plugin};
use crate::engine::charge::Period;
use crate::engine::decay::{decay_factor, decay_over};
use crate::host::ahead::Touched;
use crate::host::checks::check_job;
use crate::host::lists::{JobChunks, List};
use crate::host::locks::{AssocLevels, JobLock, Unlocked};
use crate::host::records::Job;
use crate::host::{clock, Host};

/// What the decay thread remembers between cycles.
#[derive(Debug)]
pub struct Schedule {
    period: ResetPeriod,
    /// When usage is reset next, once that has been worked out.
    next_reset: Option<i64>,
}

impl Schedule {
    /// The schedule of the current configuration.
    pub fn read(host: &'static Host) -> Self {
        Self { period: ResetPeriod::of(host.conf().get(|conf| conf.priority_reset_period)), next_reset: None }
    }

    /// Whether usage is to be reset now. `last` is moved along.
    fn is_due(&mut self, last: &mut i64, now: i64) -> bool {
        if self.period == ResetPeriod::Now {
            self.period = ResetPeriod::None;
            *last = now;
            return true;
        }
        if self.next_reset.is_none() {
            self.next_reset = self.period.next(*last, now);
        }
        match self.next_reset {
            Some(at) if now >= at => {
                *last = at;
                self.next_reset = self.period.next(at, now);
                true
            }
            _ => false,
        }
    }
}

impl Plugin {
    /// Runs one cycle at `now`, on the decay thread.
    pub(super) fn run_cycle(&self, unlocked: &mut Unlocked, schedule: &mut Schedule, now: i64) {
        let host = unlocked.host();
        let Some(config) = self.config() else { return };
        if self.is_passive() || !self.records_are_sound(unlocked) {
            return;
        }
        OVERFLOW.renew();
        usage::UNDERFLOW.renew();
        let mut times = self.times();
        if config.fair_share && schedule.is_due(&mut times.last_reset, now) {
            debug!("usage is reset");
            usage::reset(&unlocked.associations(AssocLevels::WRITE_USAGE));
        }
        let factor = decay_factor(host.conf().get(|conf| conf.priority_decay_hl));
        decay_usage(unlocked, &config, factor, times.last_ran, now);
        if times.last_ran != 0 && now > times.last_ran {
            let _jobs = unlocked.jobs_write();
            host.update_site_factors();
        }
        let (waiting, mut drafts) = self.gather(unlocked, &config, factor, times, now);
        if config.fair_share {
            let lock = unlocked.associations(AssocLevels::WRITE_ASSOC);
            let mut standing = self.standing.lock();
            standing.distribute(&lock, &waiting);
            standing.publish(&lock);
            drop(standing);
            drop(lock);
            explain::associations(&self.standing, unlocked);
            self.advise(unlocked);
        }
        let changes = drafts.finish(&self.standing.lock(), config.weights.fair_share);
        if changes {
            self.write_priorities(unlocked, &config, drafts, now);
        }
        save(host, &config, Times { last_ran: now, ..times });
    }

    /// Reads every job once: which associations have waiting jobs, what the priorities need besides fair-share, and who
    /// runs and is charged up to `now`.
    fn gather(
        &self,
        unlocked: &mut Unlocked,
        config: &Config,
        factor: f64,
        times: Times,
        now: i64,
    ) -> (Waiting, Drafts) {
        let host = unlocked.host();
        let pass = Pass::new(host, config, now);
        let period = Period { start: times.last_ran, end: now, job_ended: false };
        let mut drafts = Drafts::default();
        let mut waiting = self.standing.lock().collect();
        let mut chunks = JobChunks::new(host);
        while !chunks.is_done() {
            let jobs = unlocked.jobs_read();
            let running = self.read_jobs(&pass, &jobs, &mut chunks, &mut waiting, &mut drafts);
            if !running.is_empty() {
                let lock = jobs.associations(AssocLevels::WRITE_USAGE);
                let mut charged = self.charged.lock();
                for job in running {
                    usage::charge(&lock, job, period, factor);
                    charged.note(job, now);
                }
            }
            if chunks.is_done() {
                // Still under the job lock: a job that ends from here on is not charged for this period again.
                self.set_times(Times { last_ran: now, ..times });
                self.charged.lock().clear();
            }
        }
        (waiting, drafts)
    }

    /// Reads some jobs; returns those that are to be charged.
    fn read_jobs<'j>(
        &self,
        pass: &Pass<'_>,
        lock: &'j JobLock<'_>,
        chunks: &mut JobChunks,
        waiting: &mut Waiting,
        drafts: &mut Drafts,
    ) -> Vec<Job<'j>> {
        let mut running = Vec::new();
        let mut scratch = pass.scratch();
        let _lock = lock.associations(AssocLevels::READ);
        let standing = self.standing.lock();
        pass.touched(lock.host()).walk(
            |visit| chunks.next(lock, visit),
            |job| {
                if usage::is_chargeable(job) {
                    running.push(job);
                }
                note_waiting(&standing, waiting, pass.config, job, pass.now);
                pass.draft(job, drafts, &mut scratch);
            },
        );
        running
    }

    /// Writes the finished priorities.
    fn write_priorities(&self, unlocked: &mut Unlocked, config: &Config, mut drafts: Drafts, now: i64) {
        let host = unlocked.host();
        let layout = &host.layout.job;
        let mut touched = Touched::new();
        touched.job(layout.job_id).job(layout.job_state).job(layout.priority).job(layout.direct_set_prio);
        let mut chunks = JobChunks::new(host);
        while !chunks.is_done() {
            let jobs = unlocked.jobs_write();
            let lock = jobs.associations(AssocLevels::READ);
            let pass = Pass::new(host, config, now);
            let mut standing = self.standing.lock();
            let mut changed = false;
            let write = |job: Job<'_>| {
                if !pass.is_computed(job) || job.get(|job| job.direct_set_prio) != 0 {
                    return;
                }
                let new = match drafts.verdict(job) {
                    Verdict::Leave => return,
                    Verdict::Write(priority) => warn_of_overflow(job, priority),
                    Verdict::Evaluate => pass.evaluate(job, |job| factor_of(&mut standing, &lock, job)),
                };
                changed |= assign(job, new, config);
            };
            touched.walk(|visit| chunks.next(&jobs, visit), write);
            if changed {
                host.note_job_update(clock::now());
            }
        }
    }

    /// Evaluates every job as at its submission: without a database no cycle does it in older releases.
    pub(super) fn evaluate_all(&self, unlocked: &mut Unlocked, config: &Config, now: i64) {
        let host = unlocked.host();
        let jobs = unlocked.jobs_write();
        let lock = jobs.associations(AssocLevels::READ);
        let pass = Pass::new(host, config, now);
        let mut standing = self.standing.lock();
        for job in jobs.jobs().map_or_else(Vec::new, List::collect) {
            if pass.is_computed(job) {
                assign(job, pass.evaluate(job, |job| factor_of(&mut standing, &lock, job)), config);
            }
        }
        host.note_job_update(clock::now());
    }

    /// Checks the first job that there is; on a mismatch nothing is written any more.
    pub(super) fn records_are_sound(&self, unlocked: &mut Unlocked) -> bool {
        if self.is_checked() {
            return true;
        }
        let jobs = unlocked.jobs_read();
        let Some(job) = jobs.jobs().and_then(List::first) else { return true };
        self.check(check_job(job))
    }
}

/// Half-life decay of all usage since the last cycle.
fn decay_usage(unlocked: &mut Unlocked, config: &Config, factor: f64, last_ran: i64, now: i64) {
    if last_ran == 0 || now <= last_ran {
        return;
    }
    #[allow(clippy::cast_precision_loss)] // seconds between two cycles
    let seconds = (now - last_ran) as f64;
    let over = decay_over(factor, seconds);
    explain::decay(seconds, factor, over);
    #[allow(clippy::float_cmp)] // exactly 1 means that there is no decay
    if config.fair_share && over != 1.0 {
        usage::decay(&unlocked.associations(AssocLevels::WRITE_USAGE), over);
    }
}

/// Notes the association of a waiting job: pending and, unless `ActiveJobs=pending`, eligible, not held, not completing and
/// not running on another cluster of the federation.
fn note_waiting(standing: &Standing, waiting: &mut Waiting, config: &Config, job: Job<'_>, now: i64) {
    let state = job.state();
    if !state.is_pending() || standing.is_noted(waiting, job) {
        return;
    }
    if !config.counts_all_pending() {
        let begin = job.details().map_or(0, |details| details.get(|d| d.begin_time));
        if state.is_completing()
            || state.is_revoked()
            || job.get(|job| job.priority) == 0
            || begin == 0
            || begin > now
        {
            return;
        }
    }
    standing.note_waiting(waiting, job);
}

/// The fair-share factor of a job, 0 without an association.
pub(super) fn factor_of(
    standing: &mut Standing,
    lock: &crate::host::locks::AssocLock<'_>,
    job: Job<'_>,
) -> f64 {
    job.association().and_then(|association| standing.factor(lock, association)).unwrap_or(0.0)
}

/// Writes a priority, unless `INCR_ONLY` forbids it; true where it changed.
fn assign(job: Job<'_>, new: u32, config: &Config) -> bool {
    let old = job.get(|job| job.priority);
    let changed = new != old && !(config.flags.increase_only() && new < old);
    if changed {
        job.set(|job| job.priority, new);
    }
    changed
}

/// Writes the state file.
fn save(host: &'static Host, config: &Config, times: Times) {
    let Some(file) = &config.state_file else {
        error!("the time of the last decay cannot be saved: StateSaveLocation is /dev/null");
        return;
    };
    if let Err(problem) = host.with_state_files_locked(|| state_file::write(file, times)) {
        error!(
            "cannot save {}: {problem}. Usage is not lost while slurmctld runs; make room or mend the permissions \
             of StateSaveLocation before it restarts",
            file.display()
        );
    }
}
