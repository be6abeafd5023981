//! Points of a job in each of its partitions and QOS.
//!
//! What the job has by itself is read before its partitions or QOS are walked: up to 24.11 a list of Slurm's cannot be walked from within a
//! walk over it.

use multifactor2_core::factors::with_points;
use multifactor2_core::policy::points::{number, Parts, PointsJob};

use super::PointsState;
use crate::host::access::Open;
use crate::host::constants::NO_VAL;
use crate::host::records::{Job, Partition, Qos};
use crate::host::views;

/// The points of one job in each of its partitions and QOS.
#[derive(Debug, Clone, Copy)]
pub struct PointsEntries<'s> {
    pub(super) state: &'s PointsState,
    /// In the partition and QOS that it is in or was tried in last.
    job: PointsJob<'s>,
    /// Its own site factor, shifted.
    site: u32,
    /// It has no time limit of its own, but that of the partition that it is tried in.
    limit_of_partition: bool,
}

impl<'s> PointsEntries<'s> {
    /// Of a job whose points go by `points`.
    pub fn new<A: Open>(state: &'s PointsState, points: PointsJob<'s>, job: Job<'_, A>) -> Self {
        Self {
            state,
            job: points,
            site: job.get(|job| job.site_factor),
            limit_of_partition: job.get(|job| job.time_limit) == NO_VAL,
        }
    }

    /// Site factor and points together, shifted, in the partition and QOS that it is in or was tried in last.
    pub fn site_of_job(&self) -> u32 {
        with_points(self.site, self.state.core.value(&self.job))
    }

    /// What the points there come from.
    pub fn explain(&self) -> Parts {
        self.state.core.explain(&self.job)
    }

    /// Site factor and points together, shifted, in a partition and under a QOS; `None` is the one of the job.
    pub fn site<A: Open>(&self, partition: Option<Partition<'_>>, qos: Option<Qos<'_, A>>) -> u32 {
        let core = &self.state.core;
        let mut job = self.job_in(partition);
        if let Some(qos) = qos {
            job.qos = core.qos(qos.get(|qos| qos.id));
        }
        with_points(self.site, core.value(&job))
    }

    /// Whether it is beyond a cap that stops jobs, in a partition and under all QOS with these ids; without any, under that of the job.
    pub fn is_beyond(&self, partition: Option<Partition<'_>>, qos: &[u32]) -> bool {
        let core = &self.state.core;
        let job = self.job_in(partition);
        if qos.is_empty() {
            return core.is_stopped(&job);
        }
        qos.iter().all(|id| core.is_stopped(&PointsJob { qos: core.qos(*id), ..job }))
    }

    /// The job in a partition; `None` is the one of the job.
    fn job_in(&self, partition: Option<Partition<'_>>) -> PointsJob<'s> {
        let mut job = self.job;
        if let Some(partition) = partition {
            job.partition = self.state.core.partition(&partition.text(|part| part.name));
            if self.limit_of_partition {
                job.limit = number(views::limit_of(partition));
            }
        }
        job
    }
}
