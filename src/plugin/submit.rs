//! Answers a submission or a change of a job, and notes its end.
//!
//! slurmctld overwrites the job's number with our answer. It asks for a new job, for one that is released or resumed, and after every
//! change of a job that is not held. That includes `scontrol update priority=N`, which has already set N. So if nothing is computed, the
//! answer is the current number.

use std::sync::atomic::Ordering;
use std::sync::Arc;

use multifactor2_accounting::charge::Period;
use multifactor2_core::decay::decay_factor;

use super::charging::Charger;
use super::config::Config;
use super::evaluator::Evaluator;
use super::grants::Granting;
use super::origins::Origins;
use super::progress::own_usage::{since, Counting};
use super::Plugin;
use crate::host::access::{Read, Write};
use crate::host::constants::NO_VAL;
use crate::host::locks::{Explained, Factors, JobLock, Levels, Usage};
use crate::host::panics::attempt;
use crate::host::records::Job;
use crate::host::{clock, log};

/// The priority of a job that is held.
const HELD: u32 = 0;

/// The priority after that of the job before, as in priority/basic, where nothing better is known; 1 is the lowest.
pub fn after(last: u32) -> u32 {
    last.saturating_sub(1).max(1)
}

/// A job that slurmctld asks a number for.
#[derive(Clone, Copy)]
struct Submission<'s, 'l> {
    jobs: &'s JobLock<'l, Write>,
    job: Job<'s, Write>,
}

impl Plugin {
    /// `priority_p_set`: the priority of a new or changed job; the one that it has where none can be computed. A plain job has a short way;
    /// any other is admitted, then computed.
    pub fn set(&self, jobs: &JobLock<'_, Write>, last: u32, job: Job<'_, Write>) -> u32 {
        let submission = Submission { jobs, job };
        self.compute_plain(submission)
            .or_else(|| self.admit(submission).map(|config| self.compute(submission, &config)))
            .unwrap_or_else(|| self.keep(last, job))
    }

    /// The priority of a plain job, where the settings ask for nothing else of it; `None` for all others.
    fn compute_plain(&self, Submission { jobs, job }: Submission<'_, '_>) -> Option<u32> {
        let is_short =
            self.only_priorities.load(Ordering::Relaxed) && !self.has_site_factor() && !log::explains();
        if !is_short || self.is_passive() || !job.is_plain() || !self.inspector.knows(job.read_only()) {
            return None;
        }
        jobs.host().fetch_submitted(job);
        let lock = jobs.associations::<Factors>();
        let mut origins = self.origins.lock();
        // Settings that asked for more may have been taken back, and the cycle that forgets what they gave be still to come.
        let Origins { config: Some(config), points, drafts, standing, set, numbers, .. } = &mut *origins
        else {
            return None;
        };
        if !config.only_priorities || !standing.is_by_association() {
            return None;
        }
        let points = match points {
            None => None,
            // Those of its association, as the last cycle has left them.
            Some(_) if config.points_by_association => Some(drafts.as_ref()?.points_there(standing, job)?),
            Some(_) => return None,
        };
        let evaluator = Evaluator::new(jobs.host(), config, clock::now());
        let mut tres = evaluator.core.scratch();
        let (number, evaluation) = evaluator.evaluate_plain(job, &lock, &mut tres, (standing, points))?;
        set.note(job.get(|job| job.job_id), evaluation, |id| jobs.job(id).is_some());
        numbers.note(job.address(), number);
        Some(number)
    }

    /// The settings for a job whose record is as it should be; `None` where nothing is computed.
    fn admit(&self, Submission { jobs, job }: Submission<'_, '_>) -> Option<Arc<Config>> {
        // Mostly known, and then the lock is taken later and once.
        let admitted = self.inspector.knows(job.read_only())
            || self.admits(&jobs.associations::<Factors>(), job.read_only(), false);
        if self.is_passive() || !admitted {
            return None;
        }
        self.config()
    }

    /// The priority of a job by all that settings ask for.
    fn compute(&self, submission: Submission<'_, '_>, config: &Config) -> u32 {
        let Submission { jobs, job } = submission;
        if self.has_site_factor() {
            jobs.host().set_site_factor(job);
        }
        let evaluator = Evaluator::new(jobs.host(), config, clock::now());
        if evaluator.explain {
            self.evaluate::<Explained>(submission, &evaluator)
        } else {
            self.evaluate::<Factors>(submission, &evaluator)
        }
    }

    fn evaluate<V: Levels<Assoc = Read, Qos = Read>>(
        &self,
        Submission { jobs, job }: Submission<'_, '_>,
        evaluator: &Evaluator<'_>,
    ) -> u32 {
        let lock = jobs.associations::<V>();
        let mut origins = self.origins.lock();
        let mut tres = evaluator.core.scratch();
        let known = origins.known(job, evaluator.config);
        let mut evaluated = evaluator.evaluate(job, &lock, &mut tres, known);
        origins.note_set(jobs, job, &mut evaluated, evaluator.core.now);
        origins.numbers.note(job.address(), evaluated.priority);
        evaluated.priority
    }

    /// The number that a job keeps where nothing is computed. A new job, and one that is released or resumed, has none: it comes behind
    /// all others, as under priority/basic. The hold of a job that runs or waits stays.
    pub fn keep(&self, last: u32, job: Job<'_, Write>) -> u32 {
        let number = match self.inspector.priority_of(job) {
            // Whoever releases a job says so in the record first; one that is resumed is not held.
            Some(HELD) if job.get(|job| job.direct_set_prio) != 0 && !job.state().is_suspended() => {
                return HELD
            }
            Some(HELD | NO_VAL) => after(last),
            Some(number) => number,
            None => return self.keep_unread(last, job.address()),
        };
        self.origins.lock().numbers.note(job.address(), number);
        if self.is_passive() {
            self.health.remind(clock::now());
        }
        number
    }

    /// The same of a job whose record must not be read.
    pub fn keep_unread(&self, last: u32, address: usize) -> u32 {
        let mut origins = self.origins.lock();
        let number = origins.last_number(address).unwrap_or_else(|| after(last));
        origins.numbers.note(address, number);
        drop(origins);
        if self.is_passive() {
            self.health.remind(clock::now());
        }
        number
    }

    /// `priority_p_job_end`: the last charge of a job.
    pub fn job_end(&self, jobs: &JobLock<'_, Write>, job: Job<'_, Write>) {
        if self.is_passive() {
            return;
        }
        let Some(config) = self.config() else { return };
        let lock = jobs.associations::<Usage>();
        if !self.admits(&lock, job.read_only(), false) {
            return;
        }
        // Under the lock: a cycle has charged all of its period to this job, or nothing yet.
        let period = Period { start: self.progress.times().last_ran, end: clock::now(), job_ended: true };
        let factor = decay_factor(jobs.host().conf().get(|conf| conf.priority_decay_hl));
        let own = self.own_sums().map(Counting::End);
        let rules = config.charging_since(since(&own), (period.start, period.end));
        let rules = rules.within(period.start, period.end);
        let granting = if config.grants.is_empty() { Granting::Nobody } else { Granting::End(&self.grants) };
        let mut charger = Charger::new(factor, own, rules, self.noted.lock()).with_grants(granting);
        let mut batch = charger.begin(&lock);
        batch.charge(job, period);
        batch.post();
        drop(charger);
        attempt(|| self.note_end_for_points(&config, &lock, job));
    }
}
