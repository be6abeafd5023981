//! What `sprio` shows: the factors of every job that is eligible, not held, and visible to the user who asks.
//!
//! They are those that the job's priority came from, at its submission or last change or in the last cycle, whatever has changed since.
//! They come from our own state, by job id. slurmctld calls with the association manager's lock for QOS, and a thread that waited there for
//! associations could wait for a thread that waits for the QOS.

use multifactor2_core::factors::{weighted_fair_share, Evaluation};

use super::entries::Entries;
use super::evaluator::Evaluator;
use super::origins::Origins;
use super::points::PointsEntries;
use super::Plugin;
use crate::faults;
use crate::host::clock;
use crate::host::locks::{AssocLock, QosOnly};
use crate::host::panics::attempt;
use crate::host::records::{Job, Partition, PriorityFactors, Qos};
use crate::host::reply::{Reply, Request, Viewer};
use crate::host::views;

/// Jobs for which our own locks are held once.
const CHUNK: usize = 1024;

/// What the answer to one request is made with. The guard cannot take a lock, and none is taken.
struct Answering<'s, 'l> {
    evaluator: Evaluator<'s>,
    lock: &'s AssocLock<'l, QosOnly>,
    request: &'s Request,
}

impl Plugin {
    /// `priority_p_get_priority_factors_list`: the answer to a user's request, of all the jobs that there are.
    pub fn factors_list(
        &self,
        jobs: &[Job<'_>],
        lock: &AssocLock<'_, QosOnly>,
        request: &Request,
        uid: u32,
    ) -> Reply {
        let host = lock.host();
        let mut reply = Reply::new(host);
        let Some(config) = self.config() else { return reply };
        // Nothing is checked here, where no lock may be taken that it would need: a submission or the first cycle does that,
        // and until then a job is not shown.
        if self.is_passive() {
            return reply;
        }
        let is_member = |uid, account: &str| self.origins.lock().standing.has_member(uid, account);
        let viewer = Viewer::new(host, uid, is_member);
        let now = clock::now();
        let evaluator = Evaluator::new(host, &config, self.progress.times().last_ran);
        let answering = Answering { evaluator, lock, request };
        let mut tres = evaluator.core.scratch();
        // Jobs mostly come in the order of the drafts.
        let mut next = 0;
        for chunk in jobs.chunks(CHUNK) {
            let visible = viewer.visible(chunk);
            let origins = self.origins.lock();
            config.touched.walk(&visible, |_, job| {
                if !self.inspector.has_seen(job) || !is_shown(&evaluator, job, now) || !request.wants(job) {
                    return;
                }
                // A fault leaves one job out.
                attempt(|| {
                    faults::point("sprio");
                    if let Some(evaluation) = answering.evaluation(&origins, job, &mut next, &mut tres) {
                        evaluator.core.weighted_tres(&mut tres, evaluator.tres(job, job.partition()));
                        let holdings = origins.holdings_of(job);
                        let entries = Entries::of(job, lock, holdings.as_ref());
                        let now = evaluator.core.now;
                        let points =
                            if job.has_variants() { origins.points_of(lock, job, now) } else { None };
                        let shown =
                            Shown { answering: &answering, job, evaluation, entries, points, tres: &tres };
                        add(&shown, &mut reply);
                    }
                });
            });
        }
        reply
    }
}

impl Answering<'_, '_> {
    /// What the priority of a job came from. Where that is not known, as for a moment while a cycle runs, what it would come
    /// from now.
    fn evaluation(
        &self,
        origins: &Origins,
        job: Job<'_>,
        next: &mut usize,
        tres: &mut [f64],
    ) -> Option<Evaluation> {
        origins.evaluation_of(next, job.get(|job| job.job_id)).or_else(|| {
            let (address, id) = job.named_association();
            let own = || origins.standing.books_of(job).own;
            let known = if address == 0 { None } else { origins.standing.known_by_id(id, own()) };
            let facts = self.evaluator.facts(job, job.qos(self.lock).map(views::qos))?;
            let evaluation = self.evaluator.core.evaluate(&facts, known.unwrap_or_default(), tres);
            let points = origins.points_of(self.lock, job, self.evaluator.core.now);
            let site = points.map_or(evaluation.site, |points| points.site_of_job());
            Some(Evaluation { site, ..evaluation })
        })
    }
}

/// A job with what is shown of it.
struct Shown<'s, 'l> {
    answering: &'s Answering<'s, 'l>,
    job: Job<'s>,
    evaluation: Evaluation,
    /// What differs among its partitions and QOS.
    entries: Option<Entries<'s, 's>>,
    points: Option<PointsEntries<'s>>,
    /// Weighted factors by TRES; empty where TRES have no weight.
    tres: &'s [f64],
}

impl Shown<'_, '_> {
    /// Fills an entry in, with what is different in one of several partitions or QOS.
    fn fill(&self, entry: PriorityFactors<'_>, partition: Option<Partition<'_>>, qos: Option<Qos<'_>>) {
        let evaluator = &self.answering.evaluator;
        let core = &evaluator.core;
        // A job whose priority was set directly has no factors; in several partitions stock shows theirs even so.
        let has_factors = self.job.get(|job| job.direct_set_prio) == 0;
        if has_factors {
            entry.write(&self.evaluation);
            self.fill_tres(entry, self.tres);
        }
        if let Some(partition) = partition {
            entry.set(|f| f.priority_part, core.weighted_partition(&views::partition(partition)));
            if has_factors {
                let mut tres = core.scratch();
                core.weighted_tres(&mut tres, evaluator.tres(self.job, Some(partition)));
                self.fill_tres(entry, &tres);
            }
        }
        if let Some(entries) = self.entries.as_ref().filter(|_| has_factors) {
            let factor = entries.factor(partition, qos);
            entry.set(|f| f.priority_fs, weighted_fair_share(factor, core.config.weights.fair_share));
        }
        if let Some(points) = self.points.as_ref().filter(|_| has_factors) {
            entry.set(|f| f.priority_site, points.site(partition, qos));
        }
        if let Some(qos) = qos {
            let of_job = if has_factors { self.evaluation.qos } else { 0.0 };
            entry.set(|f| f.priority_qos, core.weighted_qos_of_several(&views::qos(qos), of_job));
        }
    }

    fn fill_tres(&self, entry: PriorityFactors<'_>, tres: &[f64]) {
        if let Some(weights) = &self.answering.evaluator.core.config.tres_weights {
            for (slot, value) in entry.tres_arrays(weights).iter().zip(tres) {
                slot.set(*value);
            }
        }
    }
}

fn is_shown(evaluator: &Evaluator<'_>, job: Job<'_>, now: i64) -> bool {
    let (state, flags) = (job.state(), evaluator.config.flags);
    if !(state.is_pending() || flags.calculate_running())
        || state.is_revoked()
        || job.get(|job| job.priority) == 0
    {
        return false;
    }
    let Some(details) = job.details() else { return false };
    let since =
        if flags.accrue_always() { details.get(|d| d.submit_time) } else { details.get(|d| d.begin_time) };
    since != 0 && since <= now
}

fn add(shown: &Shown<'_, '_>, reply: &mut Reply) {
    let (job, request) = (shown.job, shown.answering.request);
    // A finished job whose partition was deleted has neither.
    let Some(list) = job.partitions() else {
        if let Some(partition) = job.partition().filter(|partition| request.wants_partition(*partition)) {
            add_in(shown, reply, partition, false);
        }
        return;
    };
    list.for_each_ro(|partition| {
        if request.wants_partition(partition) {
            add_in(shown, reply, partition, true);
        }
    });
}

/// Adds the entries of a job in one partition, one per QOS.
fn add_in(shown: &Shown<'_, '_>, reply: &mut Reply, partition: Partition<'_>, several: bool) {
    let (job, lock) = (shown.job, shown.answering.lock);
    let adjusted = several.then_some(partition);
    match job.qos_list(lock) {
        Some(list) => list.for_each_ro(|qos| {
            reply.add(job, partition, Some(qos), |entry| shown.fill(entry, adjusted, Some(qos)));
        }),
        None => reply.add(job, partition, job.qos(lock), |entry| shown.fill(entry, adjusted, None)),
    }
}
