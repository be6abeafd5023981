//! What `sprio` shows: the factors of every job that is eligible, not held and visible to who asks.

use std::ops::ControlFlow;

use super::job::Pass;
use super::Plugin;
use crate::host::layout::JobLayout;
use crate::host::lists::List;
use crate::host::locks::{Caller, Unlocked};
use crate::host::records::Job;
use crate::host::reply::{Reply, Request, RequestMessage, Viewer};
use crate::host::symbols::RawList;
use crate::host::{clock, Host};

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
                let host = unlocked.host();
                let lock = unlocked.jobs_read();
                self.reply(host, lock.jobs(), message, uid)
            }
            ListAccess::Caller(caller) => self.reply(caller.host(), caller.jobs(), message, uid),
        }
    }

    fn reply(
        &self,
        host: &'static Host,
        jobs: Option<List<'_, JobLayout>>,
        message: RequestMessage,
        uid: u32,
    ) -> RawList {
        // The partition lock is held from here on, which reading the request needs.
        let request = message.read(host);
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
