//! A submission or a change of a job, and the end of one.

use multifactor2_core::decay::decay_factor;
use multifactor2_core::rules::charge::Period;

use super::books::tickets;
use super::charging::Charger;
use super::evaluator::Evaluator;
use super::grants::Asked;
use super::progress::own_usage::Counting;
use super::{after, Plugin};
use crate::host::access::{Read, Write};
use crate::host::clock;
use crate::host::locks::{Explained, Factors, JobLock, Levels, Usage};
use crate::host::records::Job;

impl Plugin {
    /// `priority_p_set`: the priority of a new or changed job, which gets `last` − 1 where none can be computed.
    pub fn set(&self, jobs: &JobLock<'_, Write>, last: u32, job: Job<'_, Write>) -> u32 {
        // Mostly known, and then the lock is taken later and once.
        let admitted = self.inspector.knows(job.read_only())
            || self.admits(&jobs.associations::<Factors>(), job.read_only(), false);
        if self.is_passive() || !admitted {
            return after(last);
        }
        let Some(config) = self.config() else { return after(last) };
        if self.has_site_factor() {
            jobs.host().set_site_factor(job);
        }
        let evaluator = Evaluator::new(jobs.host(), &config, clock::now());
        if evaluator.explain {
            self.evaluate_set::<Explained>(jobs, &evaluator, job)
        } else {
            self.evaluate_set::<Factors>(jobs, &evaluator, job)
        }
    }

    fn evaluate_set<V: Levels<Assoc = Read, Qos = Read>>(
        &self,
        jobs: &JobLock<'_, Write>,
        evaluator: &Evaluator<'_>,
        job: Job<'_, Write>,
    ) -> u32 {
        let lock = jobs.associations::<V>();
        let mut grants = self.grants.lock();
        let mut tres = evaluator.core.scratch();
        let known = grants.known(job, evaluator.config);
        let evaluated = evaluator.evaluate(job, &lock, &mut tres, known);
        if let Some(evaluation) = evaluated.evaluation {
            grants.set.note(job.get(|job| job.job_id), evaluation, |id| jobs.job(id).is_some());
        }
        if grants.points.is_some() && job.has_variants() {
            let asked = Asked { at: evaluator.core.now, newcomer: evaluated.newcomer };
            grants.note_asked(job.get(|job| job.job_id), asked);
        }
        if evaluated.share.joins {
            grants.note_tickets(job, tickets(&evaluated.share.in_books));
        }
        if job.has_variants() {
            grants.note_share(job.get(|job| job.job_id), evaluated.share);
        }
        evaluated.priority
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
        let own = Counting::End(&self.own_usage);
        let rules = config.charging.within(period.start, period.end);
        let mut charger = Charger::new(factor, own, rules, self.given_back.lock());
        let mut batch = charger.begin(&lock);
        batch.charge(job, period);
        batch.post();
    }
}
