//! What a test says of a QOS, a partition, an association or a job that it wants; the rest is as usual.

use crate::record::Record;

/// `NO_VAL`
pub const NO_VAL: u32 = 0xffff_fffe;

/// What is stored for a nice value or a site factor of 0.
pub const NICE_OFFSET: u32 = 0x8000_0000;

/// `JOB_PENDING`
pub const PENDING: u32 = 0;

/// `JOB_RUNNING`
pub const RUNNING: u32 = 1;

/// `JOB_COMPLETE`
pub const COMPLETE: u32 = 3;

/// A QOS.
#[derive(Debug, Clone)]
pub struct Qos {
    /// Its id.
    pub id: u32,
    /// Its name.
    pub name: &'static str,
    /// `Priority`, and normalised.
    pub priority: (u32, f64),
    /// `Flags`
    pub flags: u32,
    /// `UsageFactor`
    pub usage_factor: f64,
    /// `UsageThreshold`
    pub usage_threshold: Option<f64>,
}

impl Default for Qos {
    fn default() -> Self {
        Self { id: 1, name: "normal", priority: (0, 0.0), flags: 0, usage_factor: 1.0, usage_threshold: None }
    }
}

/// A partition.
#[derive(Debug, Clone)]
pub struct Partition {
    /// `PartitionName`
    pub name: &'static str,
    /// `PriorityJobFactor`, and normalised.
    pub priority: (u16, f64),
    /// `PriorityTier`
    pub tier: u16,
    /// `QOS`
    pub qos: Option<Record>,
    /// `MaxTime` in minutes.
    pub max_time: u32,
    /// By TRES.
    pub tres: Vec<u64>,
}

impl Default for Partition {
    fn default() -> Self {
        Self {
            name: "batch",
            priority: (1, 0.5),
            tier: 1,
            qos: None,
            max_time: 1440,
            tres: vec![100, 200_000, 0, 10, 100],
        }
    }
}

/// An account or, with a user, what belongs to it.
#[derive(Debug, Clone)]
pub struct Association {
    /// Its id.
    pub id: u32,
    /// The one above; none for the root.
    pub parent: Option<Record>,
    /// The account.
    pub account: &'static str,
    /// The user.
    pub user: Option<&'static str>,
    /// Raw shares. (The id of a user is 1000 more than that of the association.)
    pub shares: u32,
    /// Priority, and normalised.
    pub priority: (u32, f64),
    /// Raw usage.
    pub usage: f64,
    /// Usage charged to itself is in a record of its own, in the releases that have such.
    pub leaf: bool,
}

impl Default for Association {
    fn default() -> Self {
        Self {
            id: 1,
            parent: None,
            account: "root",
            user: None,
            shares: 1,
            priority: (0, 0.0),
            usage: 0.0,
            leaf: false,
        }
    }
}

/// A job.
#[derive(Debug, Clone)]
pub struct Job {
    /// Its id.
    pub id: u32,
    /// Its user.
    pub user_id: u32,
    /// Its Unix group.
    pub group_id: u32,
    /// Its account.
    pub account: &'static str,
    /// Its association.
    pub association: Option<Record>,
    /// Its partitions; the first is that of the record. Several are a list.
    pub partitions: Vec<Record>,
    /// Its QOS; the first is that of the record. Several are a list, from 24.11 on.
    pub qos: Vec<Record>,
    /// State and flags.
    pub state: u32,
    /// Priority.
    pub priority: u32,
    /// The priority was set directly.
    pub direct: bool,
    /// Start, end and expected end.
    pub times: (i64, i64, i64),
    /// Limit in minutes.
    pub limit: u32,
    /// Submission, begin and since when it gains age.
    pub waits: (i64, i64, i64),
    /// Nice value.
    pub nice: i32,
    /// Site factor.
    pub site: i32,
    /// CPUs: total, least, most.
    pub cpus: (u32, u32, u32),
    /// Nodes.
    pub nodes: u32,
    /// MB of temporary disk on each node.
    pub tmp_disk: u32,
    /// By TRES.
    pub requested: Vec<u64>,
    /// By TRES.
    pub allocated: Option<Vec<u64>>,
    /// What a second of it costs.
    pub billable: f64,
    /// Its MCS label.
    pub mcs_label: Option<&'static str>,
    /// Why it waits: a number of the release's.
    pub reason: u32,
    /// Its wckey.
    pub wckey: Option<&'static str>,
    /// `AdminComment`
    pub admin_comment: Option<&'static str>,
    /// The array that it belongs to, and its task.
    pub array: (u32, u32),
    /// The leader of its heterogeneous job.
    pub het_leader: u32,
    /// The reservations that it asked for, and whether slurmctld knows which one it runs in.
    pub reservation: (Option<&'static str>, bool),
    /// How often it was started again.
    pub restarts: u16,
    /// By when it has to end.
    pub deadline: i64,
    /// When it was suspended or resumed last, the seconds that it had run then, and when it was preempted.
    pub suspended: (i64, i64, i64),
    /// Without what it asked for.
    pub without_details: bool,
}

impl Default for Job {
    fn default() -> Self {
        Self {
            id: 101,
            user_id: 1001,
            group_id: 100,
            account: "physics",
            association: None,
            partitions: Vec::new(),
            qos: Vec::new(),
            state: PENDING,
            priority: 1,
            direct: false,
            times: (0, 0, 0),
            limit: 60,
            waits: (1_999_990_000, 1_999_990_060, 1_999_990_120),
            nice: 0,
            site: 0,
            cpus: (4, 3, 8),
            nodes: 2,
            tmp_disk: 0,
            requested: vec![4, 8_000, 0, 2, 4],
            allocated: None,
            billable: 4.0,
            mcs_label: None,
            reason: 0,
            wckey: None,
            admin_comment: None,
            array: (0, NO_VAL),
            het_leader: 0,
            reservation: (None, false),
            restarts: 0,
            deadline: 0,
            suspended: (0, 0, 0),
            without_details: false,
        }
    }
}
