//! The facts of a job, an association, a partition and a QOS as plain values, so that core need not know where they come from.
//!
//! The plugin reads them from slurmctld's records (`src/host/views.rs` says from which fields), the command and replays from files.

/// Stored in place of a 32 bit number that is not set (`NO_VAL`).
pub const NO_VAL: u32 = 0xffff_fffe;

/// Count of a TRES that a job holds without consuming it (`NO_CONSUME_VAL64`).
pub const NO_CONSUME: u64 = 0xffff_ffff_ffff_fffd;

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

/// What keeps a job from starting even if nodes are free. `ActiveJobs=startable` uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The state of a partition.
    Partition,
    /// The state of nodes, which may be reserved for maintenance.
    Nodes,
    /// A reservation that has not begun, or is full.
    Reservation,
    /// `UsageThreshold` of its QOS.
    Threshold,
    /// Anything else: somebody, another job, a time, a limit, what the job asks for.
    Other,
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
    /// CPUs that the size of the job counts with.
    pub fn cpus(&self) -> u32 {
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
    /// `UsageThreshold` as it is stored; negative or [`NO_VAL`] if it is not set.
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
pub struct AssociationFactors {
    /// The association factor.
    pub assoc: f64,
    /// The fair-share factor, 0 to 1.
    pub fair_share: f64,
}

/// Seconds that a job without any limit counts with: 365 days.
pub const UNLIMITED: u64 = 365 * 86_400;

/// What a job asks for, and since when it waits or runs, as points weigh it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// Nodes of the whole job.
    pub nodes: u64,
    /// CPUs of the whole job.
    pub cpus: u64,
    /// MB of memory of the whole job; 0 where slurmctld cannot tell.
    pub memory: u64,
    /// MB of temporary disk on each node.
    pub tmp_disk: u32,
    /// What it asks for of each TRES, by their positions, as its record has it (see [`amount`]). Empty where slurmctld has not counted.
    pub tres: &'a [u64],
    /// Its Unix group; `None` where that cannot be told.
    pub group: Option<u32>,
    /// Its time limit in seconds, that of its partition where it has none, [`UNLIMITED`] where neither has one.
    pub limit: u64,
    /// Since when it gains age, in seconds since 1970; 0 if it does not (yet).
    pub accrue_time: i64,
    /// When it was submitted.
    pub submit_time: i64,
    /// When it started, or is expected to; 0 where nobody knows.
    pub start_time: i64,
    /// It has started, and holds resources.
    pub holds: bool,
    /// The facts that only some components use.
    pub course: Course,
}

/// What has become of a job, and what it was submitted with, as only some components of points weigh it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Course {
    /// How often it was requeued.
    pub restarts: u32,
    /// By when it has to end (`sbatch --deadline`), in seconds since 1970; 0 for none.
    pub deadline: i64,
    /// Its nice value as it is, not shifted.
    pub nice: i64,
    /// It holds resources and does not use them.
    pub suspended: bool,
}

impl Request<'_> {
    /// How much it asks for of the TRES at a position.
    pub(crate) fn of_tres(&self, at: usize) -> u64 {
        self.tres.get(at).copied().map_or(0, amount)
    }
}

/// An amount of a TRES: the largest numbers stand for none, for all, and for what is not known or not consumed. They count nothing.
pub fn amount(stored: u64) -> u64 {
    if stored < NO_CONSUME {
        stored
    } else {
        0
    }
}

/// What the whole cluster has of a TRES.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TresTotal {
    /// Its type, such as `cpu` or `gres`.
    pub kind: String,
    /// Its name within the type, such as `gpu`; empty where the type is all.
    pub name: String,
    /// How much there is in all nodes, those that are down among them.
    pub count: u64,
}

impl TresTotal {
    /// Whether it is the TRES of a name, such as `cpu` or `gres/gpu`, in any case.
    pub fn is_called(&self, name: &str) -> bool {
        let (kind, name) = name.split_once('/').unwrap_or((name, ""));
        self.kind.eq_ignore_ascii_case(kind) && self.name.eq_ignore_ascii_case(name)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_for_no_number_is_no_amount() {
        let special = [u64::MAX, u64::MAX - 1, NO_CONSUME];
        assert_eq!(special.map(amount), [0; 3]);
        assert_eq!(amount(NO_CONSUME - 1), NO_CONSUME - 1);
        let request = Request {
            nodes: 1,
            cpus: 1,
            memory: 0,
            tmp_disk: 0,
            tres: &[3, NO_CONSUME],
            group: None,
            limit: UNLIMITED,
            accrue_time: 0,
            submit_time: 0,
            start_time: 0,
            holds: false,
            course: Course::default(),
        };
        assert_eq!([0, 1, 2].map(|at| request.of_tres(at)), [3, 0, 0]);
    }
}
