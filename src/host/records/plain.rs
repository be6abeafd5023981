//! Jobs as nearly all are that wait: pending and nothing else, not held, in one partition and one QOS, with a priority that is computed.
//! All that their priority needs is read at once, each field at a place that was looked up before the walk.

use multifactor2_core::facts::JobSize;

use super::{Details, Job, Partition};
use crate::host::access::Open;
use crate::host::checks::{Inspector, JobKind};
use crate::host::constants::JOB_PENDING;
use crate::host::layout::{DetailsLayout, Field, JobLayout, Ptr};
use crate::host::Host;

/// A plain job.
#[derive(Clone, Copy, Debug)]
pub struct Plain<'a> {
    /// The priority that it has.
    pub priority: u32,
    /// Site factor and nice value.
    pub offsets: (u32, u32),
    /// Since when it gains age, 0 where it does not.
    pub accrue_time: i64,
    /// Address and id of its association, which may be gone.
    pub association: (usize, u32),
    /// The same of its QOS.
    pub qos: (usize, u32),
    /// The partition that it is in.
    pub partition: Option<Partition<'a>>,
    details: Details<'a>,
}

/// Where a release keeps what makes a job plain.
#[derive(Clone, Copy, Debug)]
pub struct PlainFields {
    state: Field<JobLayout, u32>,
    priority: Field<JobLayout, u32>,
    direct: Field<JobLayout, u16>,
    site: Field<JobLayout, u32>,
    association: Field<JobLayout, Ptr>,
    association_id: Field<JobLayout, u32>,
    qos: Field<JobLayout, Ptr>,
    qos_id: Field<JobLayout, u32>,
    qos_list: Option<Field<JobLayout, Ptr>>,
    partition: Field<JobLayout, Ptr>,
    partitions: Field<JobLayout, Ptr>,
    total_cpus: Field<JobLayout, u32>,
    time_limit: Field<JobLayout, u32>,
    details: Field<JobLayout, Ptr>,
    nice: Field<DetailsLayout, u32>,
    accrue_time: Field<DetailsLayout, i64>,
    min_nodes: Field<DetailsLayout, u32>,
    min_cpus: Field<DetailsLayout, u32>,
    max_cpus: Field<DetailsLayout, u32>,
}

impl PlainFields {
    /// Those of the running release.
    pub fn of(host: &Host) -> Self {
        let (job, details) = (&host.layout.job, &host.layout.details);
        Self {
            state: job.job_state,
            priority: job.priority,
            direct: job.direct_set_prio,
            site: job.site_factor,
            association: job.assoc_ptr,
            association_id: job.assoc_id,
            qos: job.qos_ptr,
            qos_id: job.qos_id,
            qos_list: job.qos_list,
            partition: job.part_ptr,
            partitions: job.part_ptr_list,
            total_cpus: job.total_cpus,
            time_limit: job.time_limit,
            details: job.details,
            nice: details.nice,
            accrue_time: details.accrue_time,
            min_nodes: details.min_nodes,
            min_cpus: details.min_cpus,
            max_cpus: details.max_cpus,
        }
    }

    /// Reads a job; `None` where it is not plain, or too few of its kind have been checked.
    #[inline]
    pub fn read<'a, A: Open>(&self, job: Job<'a, A>, inspector: &Inspector) -> Option<Plain<'a>> {
        let job = job.read_only();
        let priority = job.get(|_| self.priority);
        let is_plain = job.get(|_| self.state) == JOB_PENDING
            && priority != 0
            && job.get(|_| self.direct) == 0
            && job.get(|_| self.partitions).is_null()
            && self.qos_list.is_none_or(|list| job.get(|_| list).is_null());
        let association = (job.get(|_| self.association) as usize, job.get(|_| self.association_id));
        let qos = (job.get(|_| self.qos) as usize, job.get(|_| self.qos_id));
        let partition: Option<Partition<'a>> = job.follow(|_| self.partition);
        let kind = JobKind::plain(association.0 != 0, qos.0 != 0, partition.is_some());
        if !is_plain || !inspector.knows_kind(kind) {
            return None;
        }
        let details: Details<'a> = job.follow(|_| self.details)?;
        Some(Plain {
            priority,
            offsets: (job.get(|_| self.site), details.get(|_| self.nice)),
            accrue_time: details.get(|_| self.accrue_time),
            association,
            qos,
            partition,
            details,
        })
    }

    /// The size of a plain job.
    #[inline]
    pub fn size<A: Open>(&self, job: Job<'_, A>, plain: &Plain<'_>) -> JobSize {
        JobSize {
            total_cpus: job.get(|_| self.total_cpus),
            max_cpus: plain.details.get(|_| self.max_cpus),
            min_cpus: plain.details.get(|_| self.min_cpus),
            min_nodes: plain.details.get(|_| self.min_nodes),
            time_limit: job.get(|_| self.time_limit),
            partition_max_time: plain.partition.map(|part| part.get(|part| part.max_time)),
        }
    }
}
