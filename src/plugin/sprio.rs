//! What `sprio` shows: the factors of every job that is eligible, not held and visible to who asks.
//!
//! They are those that the job's priority came from, at its submission or last change or in the last cycle, whatever has changed
//! since. They come from our own state, by job id: slurmctld calls with the association manager's lock for QOS, and whoever waits for
//! associations there waits for one who may be waiting for the QOS.

use std::ops::ControlFlow;

use super::draft::Drafts;
use super::fresh::Fresh;
use super::job::{write_factors, Pass};
use super::standing::{Known, Standing};
use super::Plugin;
use crate::faults;
use crate::host::locks::{AssocLevels, ListCaller, Unlocked};
use crate::host::panics::attempt;
use crate::host::records::{Job, Partition, PriorityFactors, Qos};
use crate::host::reply::{Reply, Request, RequestMessage, Viewer};
use crate::host::symbols::RawList;
use crate::host::{clock, Host};
use multifactor2_core::factors::Factors;

/// Jobs for which our own locks are held once.
const CHUNK: usize = 1024;

/// Who locks the jobs and QOS.
#[derive(Debug)]
pub enum ListAccess {
    /// We do: releases before 23.02.
    Unlocked(Unlocked),
    /// The caller has: from 23.02 on.
    Caller(ListCaller),
}

impl Plugin {
    /// `priority_p_get_priority_factors_list`. `message` is the request of releases up to 23.11, or none.
    pub fn factors_list(&self, access: ListAccess, message: RequestMessage, uid: u32) -> RawList {
        match access {
            ListAccess::Unlocked(mut unlocked) => {
                let lock = unlocked.jobs_read();
                // The partition lock is held from here on, which reading the request needs.
                let request = message.read(lock.host());
                // Before QOS: in these releases squeue has the lock of the list while it waits for associations (mcs/account), and
                // who has those may be waiting for QOS.
                let jobs = lock.all_jobs();
                let _qos = lock.associations(AssocLevels::READ_QOS);
                self.reply(lock.host(), &jobs, &request, uid)
            }
            ListAccess::Caller(caller) => {
                let request = message.read(caller.host());
                self.reply(caller.host(), &caller.all_jobs(), &request, uid)
            }
        }
    }

    fn reply(&self, host: &'static Host, jobs: &[Job<'_>], request: &Request, uid: u32) -> RawList {
        let mut reply = Reply::new(host);
        let Some(config) = self.config() else { return reply.into_raw() };
        // Nothing is checked here, where no lock may be taken that it would need: a submission or the first cycle does that,
        // and until then a job is not shown.
        // Nothing can be looked at that would tell where the fields of an entry are.
        if self.is_passive() || !host.verified {
            return reply.into_raw();
        }
        let viewer = Viewer::new(host, uid, |uid, account| self.standing.lock().has_member(uid, account));
        let now = clock::now();
        let pass = Pass::new(host, &config, self.times().last_ran);
        let mut tres = pass.scratch();
        // Jobs mostly come in the order of the drafts.
        let mut next = 0;
        for chunk in jobs.chunks(CHUNK) {
            let visible = viewer.visible(chunk);
            let (standing, drafts, fresh) = (self.standing.lock(), self.drafts.lock(), self.fresh.lock());
            config.touched.walk(&visible, |_, job| {
                if !self.inspector.has_seen(job) || !is_shown(&pass, job, now) || !request.wants(job) {
                    return;
                }
                // A fault leaves one job out.
                attempt(|| {
                    faults::point("sprio");
                    let known = factors(&pass, job, &standing, drafts.as_ref(), &fresh, &mut next, &mut tres);
                    if let Some(factors) = known {
                        pass.weighted_tres(job, job.partition(), &mut tres);
                        add(&Shown { pass, job, factors, tres: &tres }, &mut reply, request);
                    }
                });
            });
        }
        reply.into_raw()
    }
}

/// What the priority of a job came from. Where that is not known, as for a moment while a cycle runs, what it would come from
/// now. Needs no association lock.
fn factors(
    pass: &Pass<'_>,
    job: Job<'_>,
    standing: &Standing,
    drafts: Option<&Drafts>,
    fresh: &Fresh,
    next: &mut usize,
    tres: &mut [f64],
) -> Option<Factors> {
    let id = job.get(|job| job.job_id);
    let noted = fresh.get(id).copied().or_else(|| drafts?.factors_after(next, id, standing));
    noted.or_else(|| {
        let known = if job.is_accounted() { standing.known_by_id(job.named_association().1) } else { None };
        let known = known.unwrap_or(Known { assoc: 0.0, fair_share: 0.0 });
        Some(pass.weighted(job, job.details()?, job.qos(), known, tres))
    })
}

/// A job with what is shown of it.
struct Shown<'s> {
    pass: Pass<'s>,
    job: Job<'s>,
    factors: Factors,
    /// Weighted factors by TRES; empty where TRES have no weight.
    tres: &'s [f64],
}

impl Shown<'_> {
    /// Fills an entry in, with what is different in one of several partitions or QOS.
    fn fill(&self, entry: PriorityFactors<'_>, partition: Option<Partition<'_>>, qos: Option<Qos<'_>>) {
        // A job whose priority was set directly has no factors; in several partitions stock shows theirs even so.
        if self.job.get(|job| job.direct_set_prio) == 0 {
            write_factors(entry, &self.factors);
            if let Some(weights) = &self.pass.config.tres_weights {
                entry.tres_arrays(weights).copy_from_slice(self.tres);
            }
        }
        self.pass.adjust(entry, self.job, partition, qos);
    }
}

fn is_shown(pass: &Pass<'_>, job: Job<'_>, now: i64) -> bool {
    let (state, flags) = (job.state(), pass.config.flags);
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

fn add(shown: &Shown<'_>, reply: &mut Reply, request: &Request) {
    let job = shown.job;
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
        ControlFlow::Continue(())
    });
}

/// Adds the entries of a job in one partition, one per QOS.
fn add_in(shown: &Shown<'_>, reply: &mut Reply, partition: Partition<'_>, several: bool) {
    let job = shown.job;
    let adjusted = several.then_some(partition);
    match job.qos_list() {
        Some(list) => list.for_each_ro(|qos| {
            reply.add(job, partition, Some(qos), |entry| shown.fill(entry, adjusted, Some(qos)));
            ControlFlow::Continue(())
        }),
        None => reply.add(job, partition, None, |entry| shown.fill(entry, adjusted, None)),
    }
}
