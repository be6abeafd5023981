//! Points of a job in each of its partitions and QOS.
//!
//! The job's own values are read before its partitions or QOS are walked: up to 24.11 a list of Slurm's cannot be walked from within a walk
//! over it.

use std::borrow::Cow;

use multifactor2_core::factors::with_points;
use multifactor2_core::policy::points::{number, Parts, PointsJob};

use super::PointsState;
use crate::host::access::Open;
use crate::host::constants::NO_VAL;
use crate::host::records::{Job, Partition, Qos};
use crate::host::views;

/// The points of one job in each of its partitions and QOS.
#[derive(Debug, Clone)]
pub struct PointsEntries<'s> {
    pub(super) state: &'s PointsState,
    /// In the partition and QOS that it is in or was tried in last.
    job: PointsJob<'s>,
    /// Its own site factor, shifted.
    site: u32,
    /// It has no time limit, and takes that of the partition in which it is tried.
    limit_of_partition: bool,
    /// Where there are grants.
    grants: Option<Box<OwnGrants<'s>>>,
}

/// The grants of a job but for those of QOS, and the partition and the QOS that it has.
#[derive(Debug, Clone)]
pub struct OwnGrants<'s> {
    pub places: Cow<'s, [u32]>,
    /// Empty where it does not matter.
    pub partition: String,
    pub qos: u32,
}

impl<'s> PointsEntries<'s> {
    /// Of a job with points by `points`.
    pub fn new<A: Open>(
        state: &'s PointsState,
        points: PointsJob<'s>,
        job: Job<'_, A>,
        grants: Option<Box<OwnGrants<'s>>>,
    ) -> Self {
        Self {
            state,
            job: points,
            site: job.get(|job| job.site_factor),
            limit_of_partition: job.get(|job| job.time_limit) == NO_VAL,
            grants,
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
        let qos = qos.map(|qos| qos.get(|qos| qos.id));
        with_points(self.site, self.state.core.value(&self.job_in(partition, qos)))
    }

    /// Whether it is beyond a cap that stops jobs, in a partition and under all QOS with these ids; without any, under that of the job.
    pub fn is_beyond(&self, partition: Option<Partition<'_>>, qos: &[u32]) -> bool {
        let core = &self.state.core;
        if qos.is_empty() {
            return core.is_stopped(&self.job_in(partition, None));
        }
        qos.iter().all(|id| core.is_stopped(&self.job_in(partition, Some(*id))))
    }

    /// The job in a partition and under a QOS, where `None` is the one of the job.
    fn job_in(&self, partition: Option<Partition<'_>>, qos: Option<u32>) -> PointsJob<'s> {
        let (core, mut job) = (&self.state.core, self.job);
        if let Some(qos) = qos {
            job.qos = core.qos(qos);
        }
        let name = partition.map(|partition| partition.text(|part| part.name));
        if let (Some(partition), Some(name)) = (partition, &name) {
            job.partition = core.partition(name);
            if self.limit_of_partition {
                job.limit = number(views::limit_of(partition));
            }
        }
        if let Some(grants) = &self.grants {
            let name = name.as_deref().unwrap_or(&grants.partition);
            job.granted = self.state.granted(&*grants.places, qos.unwrap_or(grants.qos), name);
        }
        job
    }
}
