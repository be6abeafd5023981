//! What `sprio` shows: the factors of every job that is eligible, not held and visible to who asks.

use std::ops::ControlFlow;

use super::job::Pass;
use super::Plugin;
use crate::host::layout::JobLayout;
use crate::host::lists::List;
use crate::host::locks::{Caller, JobLock, Unlocked};
use crate::host::records::Job;
use crate::host::reply::{Reply, Request, Viewer};
use crate::host::symbols::RawList;
use crate::host::{clock, Host};

impl Plugin {
    /// `priority_p_get_priority_factors_list`. `message` is the request of releases up to 23.11, or null. Up to 22.05 the
    /// locks on jobs, nodes and partitions are taken here; from 23.02 on the caller holds them.
    pub fn factors_list(&self, host: &'static Host, message: *mut u8, uid: u32) -> RawList {
        // SAFETY: releases before 23.02 call without locks, later ones with the job lock.
        let (mut unlocked, caller) = unsafe { (Unlocked::new(host), Caller::new(host)) };
        let lock = (!host.list_caller_locks()).then(|| unlocked.jobs_read());
        let jobs = lock.as_ref().map_or_else(|| caller.jobs(), JobLock::jobs);
        // SAFETY: a request of the host's, with the partition lock held.
        let request = unsafe { Request::read(host, message) };
        let mut reply = Reply::new(host);
        if let Some(jobs) = jobs {
            self.fill(host, &mut reply, jobs, &request, Viewer::new(host, uid));
        }
        reply.into_raw()
    }

    fn fill(
        &self,
        host: &'static Host,
        reply: &mut Reply,
        jobs: List<'_, JobLayout>,
        request: &Request,
        viewer: Viewer,
    ) {
        let Some(config) = self.config() else { return };
        if self.is_passive() {
            return;
        }
        let pass = Pass::new(host, &config, clock::now());
        jobs.for_each_ro(|job| {
            if is_shown(&pass, job) && request.wants(job) && viewer.sees(job) {
                add(&pass, reply, job, request);
            }
            ControlFlow::Continue(())
        });
    }
}

fn is_shown(pass: &Pass<'_>, job: Job<'_>) -> bool {
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
    since != 0 && since <= pass.now
}

fn add(pass: &Pass<'_>, reply: &mut Reply, job: Job<'_>, request: &Request) {
    // A finished job whose partition was deleted has neither.
    let Some(list) = job.partitions() else {
        if let Some(partition) = job.partition().filter(|partition| request.wants_partition(*partition)) {
            add_in(pass, reply, job, partition, false);
        }
        return;
    };
    list.for_each_ro(|partition| {
        if request.wants_partition(partition) {
            add_in(pass, reply, job, partition, true);
        }
        ControlFlow::Continue(())
    });
}

/// Adds the entries of a job in one partition, one per QOS.
fn add_in(
    pass: &Pass<'_>,
    reply: &mut Reply,
    job: Job<'_>,
    partition: crate::host::records::Partition<'_>,
    several: bool,
) {
    let adjusted = several.then_some(partition);
    match job.qos_list() {
        Some(list) => list.for_each_ro(|qos| {
            reply.add(job, partition, Some(qos), |copy| pass.adjust(copy, job, adjusted, Some(qos)));
            ControlFlow::Continue(())
        }),
        None => reply.add(job, partition, None, |copy| pass.adjust(copy, job, adjusted, None)),
    }
}
