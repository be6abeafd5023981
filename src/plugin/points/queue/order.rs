//! Which jobs may be overtaken, and which have overtaken others: what `Bypass` counts.

use multifactor2_accounting::bypass::{Eligible, Started};

use super::{PointsQueue, NONE};
use crate::host::access::Open;
use crate::host::lists::List;
use crate::host::locks::{AssocLock, Levels};
use crate::host::partitions;
use crate::host::records::{Job, Partition};
use crate::plugin::waiting::is_eligible;

impl PointsQueue {
    /// Looks whether a job may be overtaken, or has overtaken others.
    pub fn note_order<V: Levels<Qos: Open>>(&mut self, lock: &AssocLock<'_, V>, job: Job<'_>) {
        if !self.state.needs.bypass {
            return;
        }
        let id = job.get(|job| job.job_id);
        if !job.state().is_pending() {
            let start = job.get(|job| job.start_time);
            if self.state.overtaken.may_count(start) && has_started(job) {
                let Some(partition) = job.partition() else { return };
                let (priority, partition) = (priority_there(lock, job, partition), self.number(partition));
                self.started.push(Started { id, start, partition, priority });
            }
            return;
        }
        let Some(details) = job.details().filter(|_| is_eligible(job, self.now)) else { return };
        let eligible = Eligible {
            id,
            submit: details.get(|d| d.submit_time),
            array: job.array().map_or(0, |(array, _)| array),
            since: details.get(|d| d.begin_time).max(details.get(|d| d.accrue_time)),
            partition: NONE,
            priority: 0,
        };
        match job.partitions() {
            None => {
                let partition = job.partition().map_or(NONE, |partition| self.number(partition));
                let priority = job.get(|job| job.priority);
                self.eligible.push(Eligible { partition, priority, ..eligible });
            }
            Some(_) => {
                for (partition, priority) in priorities(lock, job) {
                    let partition = self.number(partition);
                    self.eligible.push(Eligible { partition, priority, ..eligible });
                }
            }
        }
    }
}

/// The priority of a job in a partition, as it was written last; that of the job where it is in one alone.
pub(in crate::plugin::points) fn priority_there<V: Levels<Qos: Open>>(
    lock: &AssocLock<'_, V>,
    job: Job<'_>,
    partition: Partition<'_>,
) -> u32 {
    let found = priorities(lock, job).into_iter().find(|(of, _)| of.address() == partition.address());
    found.map_or_else(|| job.get(|job| job.priority), |(_, priority)| priority)
}

/// The partitions of a job that was submitted to several, each with its priority there: the largest of several QOS.
fn priorities<'a, V: Levels<Qos: Open>>(lock: &AssocLock<'_, V>, job: Job<'a>) -> Vec<(Partition<'a>, u32)> {
    let of_job = job.get(|job| job.priority);
    let mut all = Vec::new();
    if let Some(list) = job.partitions() {
        list.for_each_ro(|partition| all.push((partition, of_job)));
    }
    let qos = job.qos_list(lock).map_or(1, List::len);
    if let Some(written) = partitions::written(job, all.len() * qos).filter(|_| !all.is_empty() && qos > 0) {
        for ((_, priority), of_qos) in all.iter_mut().zip(written.chunks(qos)) {
            *priority = of_qos.iter().map(std::cell::Cell::get).max().unwrap_or(of_job);
        }
    }
    all
}

/// Whether a job that does not wait any more has had resources: one that was cancelled before ended when it "started".
fn has_started(job: Job<'_>) -> bool {
    job.state().holds_resources() || job.get(|job| job.end_time) > job.get(|job| job.start_time)
}
