//! What `sprio` shows: the factors of every job that is eligible, not held and visible to who asks.
//!
//! A cycle does not store factors in job records, they are computed here when somebody asks.

use std::ops::ControlFlow;

use super::cycle::factor_of;
use super::job::{write_factors, Pass};
use super::Plugin;
use crate::engine::priority::Factors;
use crate::faults;
use crate::host::layout::JobLayout;
use crate::host::lists::List;
use crate::host::locks::{AssocLevels, AssocLock, Caller, Unlocked};
use crate::host::panics::attempt;
use crate::host::records::{Job, Partition, PriorityFactors, Qos};
use crate::host::reply::{Reply, Request, RequestMessage, Viewer};
use crate::host::symbols::RawList;
use crate::host::{clock, Host};

/// Jobs for which the association lock is held once.
const CHUNK: usize = 1024;

/// Who locks the jobs.
#[derive(Debug)]
pub enum ListAccess {
    /// We do: releases before 23.02.
    Unlocked(Unlocked),
    /// The caller has: from 23.02 on.
    Caller(Caller),
}

impl Plugin {
    /// `priority_p_get_priority_factors_list`. `message` is the request of releases up to 23.11, or none.
    pub fn factors_list(&self, access: ListAccess, message: RequestMessage, uid: u32) -> RawList {
        match access {
            ListAccess::Unlocked(mut unlocked) => {
                let lock = unlocked.jobs_read();
                self.reply(lock.host(), lock.jobs(), &|levels| lock.associations(levels), message, uid)
            }
            ListAccess::Caller(caller) => {
                self.reply(caller.host(), caller.jobs(), &|levels| caller.associations(levels), message, uid)
            }
        }
    }

    fn reply<'l>(
        &self,
        host: &'static Host,
        jobs: Option<List<'_, JobLayout>>,
        associations: &dyn Fn(AssocLevels) -> AssocLock<'l>,
        message: RequestMessage,
        uid: u32,
    ) -> RawList {
        // The partition lock is held from here on, which reading the request needs.
        let request = message.read(host);
        let mut reply = Reply::new(host);
        let Some((jobs, config)) = jobs.zip(self.config()) else { return reply.into_raw() };
        // Nothing is checked here, where no lock may be taken that it would need: a submission or the first cycle does that,
        // and until then a job is not shown.
        if self.is_passive() {
            return reply.into_raw();
        }
        let viewer = Viewer::new(host, uid);
        let now = clock::now();
        // The factors are those that a job's priority comes from: the same computation again, as of its submission or last
        // change or, where a cycle has set the priority since, as of that cycle.
        let pass = Pass::new(host, &config, self.times().last_ran);
        let mut tres = pass.scratch();
        for chunk in jobs.collect().chunks(CHUNK) {
            // Before the association lock, which the host takes to answer who sees what.
            let visible = viewer.visible(chunk);
            let lock = associations(AssocLevels::READ);
            let mut standing = self.standing.lock();
            let fresh = self.fresh.lock();
            config.touched.walk(&visible, |_, job| {
                if !self.inspector.has_seen(job) || !is_shown(&pass, job, now) || !request.wants(job) {
                    return;
                }
                // A fault leaves one job out.
                attempt(|| {
                    faults::point("sprio");
                    let moment = fresh.get(job.get(|job| job.job_id));
                    let now = moment.map_or(pass.now, |moment| moment.at);
                    let fair_share = match moment {
                        Some(moment) => moment.fair_share,
                        None => factor_of(&mut standing, &lock, job),
                    };
                    let pass = Pass { now, ..pass };
                    if let Some(factors) = pass.weighted(job, &mut tres, fair_share) {
                        add(&Shown { pass, job, factors, tres: &tres }, &mut reply, &request);
                    }
                });
            });
        }
        reply.into_raw()
    }
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
