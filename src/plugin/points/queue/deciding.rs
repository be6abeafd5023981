//! Which jobs caps keep from starting: known once usage is weighed, and before tickets are handed out.

use multifactor2_core::books::BookSet;
use multifactor2_core::policy::points::{number, PointsJob};

use super::super::stopping::qos_of;
use super::{PointsQueue, Queued};
use crate::host::access::Open;
use crate::host::constants::NO_VAL;
use crate::host::locks::{AssocLock, Levels};
use crate::host::records::Job;
use crate::host::views;
use crate::plugin::waiting::AssocPlace;

/// A job that may be kept from starting, until usage is weighed.
#[derive(Debug)]
pub(super) struct Undecided {
    /// Which of the jobs.
    at: usize,
    /// The books in which it waits; none where it does not.
    waits: BookSet,
    /// The partitions of a job in several, and its time limit in each.
    partitions: Vec<(u32, f64)>,
    /// The QOS of a job in several.
    qos: Vec<u32>,
}

/// Which jobs are kept from starting.
#[derive(Debug, Default)]
pub struct Decided {
    /// Their ids, in their order.
    pub stopped: Vec<u32>,
    /// Where the others wait that were undecided.
    pub waiting: Vec<(AssocPlace, BookSet)>,
}

impl PointsQueue {
    /// Caps may keep some of the jobs from starting: they are to be decided on before tickets are distributed.
    pub fn is_undecided(&self) -> bool {
        !self.undecided.is_empty()
    }

    /// What is to be decided of the job that is read next.
    pub(super) fn undecided<V: Levels<Qos: Open>>(
        &mut self,
        lock: &AssocLock<'_, V>,
        job: Job<'_>,
        (limit, waits): (f64, BookSet),
    ) -> Undecided {
        let mut partitions = Vec::new();
        let of_partition = job.get(|job| job.time_limit) == NO_VAL;
        if let Some(list) = job.partitions() {
            list.for_each_ro(|partition| {
                let limit = if of_partition { number(views::limit_of(partition)) } else { limit };
                partitions.push((self.number(partition), limit));
            });
        }
        Undecided { at: self.jobs.len(), waits, partitions, qos: qos_of(lock, job) }
    }

    /// Weighs the targets, and decides which jobs caps keep from starting. No lock is needed.
    pub fn decide(&mut self) -> Decided {
        let state = &mut self.state;
        state.core.weigh(&state.tree, &self.usage[0], &self.usage[1]);
        state.core.weigh_books(&state.tree, &self.usage_of_books);
        let mut decided = Decided::default();
        for undecided in &self.undecided {
            let Some(queued) = self.jobs.get(undecided.at) else { continue };
            if self.is_stopped(queued, undecided) {
                decided.stopped.push(queued.id);
            } else {
                decided.waiting.push((queued.place, undecided.waits));
            }
        }
        decided.stopped.sort_unstable();
        decided
    }

    fn is_stopped(&self, queued: &Queued, Undecided { partitions, qos, .. }: &Undecided) -> bool {
        let (core, facts) = (&self.state.core, self.facts_of(queued));
        let job = PointsJob {
            node: self.nodes.get(queued.place.index()).copied().flatten(),
            group: core.group(facts.group),
            ..facts.job()
        };
        let own = [(queued.partition, job.limit)];
        let partitions = if partitions.is_empty() { &own[..] } else { partitions };
        let own = [queued.qos];
        let qos = if qos.is_empty() { &own[..] } else { qos };
        let names = self.state.partitions.all();
        partitions.iter().all(|(partition, limit)| {
            let name = names.get(*partition as usize).map_or("", String::as_str);
            let job = PointsJob { partition: core.partition(name), limit: *limit, ..job };
            qos.iter().all(|qos| {
                let granted = self.granted_in(job.node, queued, *qos, name);
                core.is_stopped(&PointsJob { qos: core.qos(*qos), granted, ..job })
            })
        })
    }
}
