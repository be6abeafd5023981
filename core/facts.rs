//! What a job, an association, a partition, a QOS is to us: plain values, read from wherever they are.
//!
//! The plugin reads them from slurmctld's records (`src/host/views.rs` says from which fields), others from files.

/// Stored in place of a 32 bit number that is not set (`NO_VAL`).
pub const NO_VAL: u32 = 0xffff_fffe;

/// What the priority of a job needs besides its size, its TRES and what others have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Id of the job.
    pub id: u32,
    /// The priority that it has; 0 for one that is held.
    pub priority: u32,
    /// The priority was set directly, by `scontrol update` or at the submission.
    pub direct: bool,
    /// Site factor, shifted by [`NICE_OFFSET`](crate::factors::NICE_OFFSET).
    pub site: u32,
    /// Nice value, shifted in the same way.
    pub nice: u32,
    /// Since when it gains age, in seconds since 1970; 0 if it does not.
    pub accrue_time: i64,
}

/// What a job asks for, as its record holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobSize {
    /// CPUs of the job, 0 until the scheduler has looked at it.
    pub total_cpus: u32,
    /// Most CPUs asked for, or [`NO_VAL`].
    pub max_cpus: u32,
    /// Fewest CPUs asked for.
    pub min_cpus: u32,
    /// Fewest nodes asked for.
    pub min_nodes: u32,
    /// Time limit in minutes, or [`NO_VAL`].
    pub time_limit: u32,
    /// Longest time limit of its partition in minutes; `None` without a partition.
    pub partition_max_time: Option<u32>,
}

impl JobSize {
    pub(crate) fn cpus(&self) -> u32 {
        if self.total_cpus != 0 {
            self.total_cpus
        } else if self.max_cpus != NO_VAL {
            self.max_cpus
        } else {
            self.min_cpus
        }
    }

    pub(crate) fn minutes(&self) -> u32 {
        if self.time_limit == NO_VAL {
            self.partition_max_time.unwrap_or(1)
        } else {
            self.time_limit
        }
    }
}

/// TRES by their positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tres<'a> {
    /// What the job has.
    pub allocated: Option<&'a [u64]>,
    /// What it asks for.
    pub requested: Option<&'a [u64]>,
    /// What its partition has.
    pub of_partition: Option<&'a [u64]>,
}

/// A partition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Partition {
    /// `PriorityJobFactor`
    pub priority_job_factor: u32,
    /// The same in parts of the highest one.
    pub norm_priority: f64,
}

/// A QOS.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Qos {
    /// Its priority.
    pub priority: u32,
    /// The same in parts of the highest one.
    pub norm_priority: f64,
    /// `UsageThreshold` as it is stored; negative or [`NO_VAL`] where it is not set.
    pub usage_threshold: f64,
}

impl Qos {
    /// `UsageThreshold` is set.
    pub fn has_threshold(&self) -> bool {
        (0.0..f64::from(NO_VAL) - 1.0).contains(&self.usage_threshold)
    }
}

/// All that the priority of a job is made of besides what its association has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Facts<'a> {
    /// The job.
    pub job: Job,
    /// Its size, where that has a weight.
    pub size: Option<JobSize>,
    /// The partition that it is in or was tried in last.
    pub partition: Option<Partition>,
    /// The QOS that it runs under.
    pub qos: Option<Qos>,
    /// Its TRES.
    pub tres: Tres<'a>,
}

/// What the association of a job is, and has in the competition.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Standing {
    /// The association factor.
    pub assoc: f64,
    /// The fair-share factor, 0 to 1.
    pub fair_share: f64,
}

/// An association, as the share tree sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Association {
    /// Its id, which is never given twice.
    pub id: u32,
    /// Raw shares.
    pub shares: u32,
    /// It is a user's, a leaf of the tree.
    pub user: bool,
}
