//! What a test gives the host: settings, the tree, partitions and jobs.
//!
//! Every field is optional. A record that the host does not know yet is made with Slurm's defaults for what is
//! missing; a known one keeps what is not given.

use std::fmt::Write;

use crate::constants;
use crate::extended::Extended;

/// States of a job (`job_state`); flags are added to a base state.
pub mod state {
    /// Ended normally.
    pub use crate::constants::JOB_COMPLETE as COMPLETE;
    /// Flag: cancelled or ended, still freeing its nodes.
    pub use crate::constants::JOB_COMPLETING as COMPLETING;
    /// Flag: its nodes are being prepared; it holds them, and runs as far as usage is concerned.
    pub use crate::constants::JOB_CONFIGURING as CONFIGURING;
    /// Waiting.
    pub use crate::constants::JOB_PENDING as PENDING;
    /// Flag: its nodes are being powered up.
    pub use crate::constants::JOB_POWER_UP_NODE as POWER_UP_NODE;
    /// Flag: requeued by whomever, while slurmctld reports the end of the run.
    pub use crate::constants::JOB_REQUEUE as REQUEUE;
    /// Flag: changing its size.
    pub use crate::constants::JOB_RESIZING as RESIZING;
    /// Flag: a sibling on another cluster has started.
    pub use crate::constants::JOB_REVOKED as REVOKED;
    /// Running.
    pub use crate::constants::JOB_RUNNING as RUNNING;
    /// Suspended.
    pub use crate::constants::JOB_SUSPENDED as SUSPENDED;
}

/// Slurm stores nice values and site factors with this added.
const NICE_OFFSET: i64 = constants::NICE_OFFSET as i64;

/// A nice value or site factor as users state it; the host stores it with Slurm's offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nice(pub i64);

/// A value of the line protocol.
pub(crate) trait Argument {
    fn append(&self, line: &mut String);
}

macro_rules! plain_arguments {
    ($($number:ty),*) => {$(
        impl Argument for $number {
            fn append(&self, line: &mut String) {
                // Shortest text that reads back as the same number.
                let _ = write!(line, "{self:?}");
            }
        }
    )*};
}
plain_arguments!(u16, u32, u64, i64, f64);

impl Argument for bool {
    fn append(&self, line: &mut String) {
        line.push(if *self { '1' } else { '0' });
    }
}

impl Argument for Nice {
    fn append(&self, line: &mut String) {
        (self.0 + NICE_OFFSET).append(line);
    }
}

impl Argument for Extended {
    fn append(&self, line: &mut String) {
        let _ = write!(line, "{self}");
    }
}

impl Argument for String {
    fn append(&self, line: &mut String) {
        for byte in self.bytes() {
            if byte.is_ascii_graphic() && byte != b'%' {
                line.push(char::from(byte));
            } else {
                let _ = write!(line, "%{byte:02x}");
            }
        }
    }
}

impl Argument for Vec<String> {
    fn append(&self, line: &mut String) {
        self.join(",").append(line);
    }
}

impl Argument for Vec<u32> {
    fn append(&self, line: &mut String) {
        self.iter().map(u32::to_string).collect::<Vec<_>>().append(line);
    }
}

/// Amounts by TRES id (1 cpu, 2 memory in MiB, 3 energy, 4 node, 5 billing, …).
impl<T: Argument> Argument for Vec<(u32, T)> {
    fn append(&self, line: &mut String) {
        for (place, (id, amount)) in self.iter().enumerate() {
            let _ = write!(line, "{}{id}=", if place > 0 { "," } else { "" });
            amount.append(line);
        }
    }
}

macro_rules! request {
    (
        $(#[$about:meta])* $name:ident, $verb:literal, ($($key:ident: $key_type:ty),*);
        $($(#[$doc:meta])* $field:ident: $type:ty = $word:literal,)*
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Default)]
        #[must_use]
        pub struct $name {
            $(pub(crate) $key: $key_type,)*
            $(pub(crate) $field: Option<$type>,)*
        }

        impl $name {
            /// Nothing but what identifies the record.
            pub fn new($($key: impl Into<$key_type>),*) -> Self {
                Self { $($key: $key.into(),)* ..Self::default() }
            }

            $(
                $(#[$doc])*
                pub fn $field(mut self, value: impl Into<$type>) -> Self {
                    self.$field = Some(value.into());
                    self
                }
            )*

            pub(crate) fn line(&self) -> String {
                let mut line = String::from($verb);
                $(
                    line.push_str(concat!(" ", stringify!($key), "="));
                    self.$key.append(&mut line);
                )*
                $(
                    if let Some(value) = &self.$field {
                        line.push_str(concat!(" ", $word, "="));
                        value.append(&mut line);
                    }
                )*
                line
            }
        }
    };
}

request! {
    /// Settings of slurm.conf, and the size of the cluster. Slurm's defaults hold for what was never set.
    Conf, "conf", ();
    /// `PriorityWeightAge`.
    weight_age: u32 = "priority_weight_age",
    /// `PriorityWeightAssoc`.
    weight_association: u32 = "priority_weight_assoc",
    /// `PriorityWeightFairshare`.
    weight_fairshare: u32 = "priority_weight_fs",
    /// `PriorityWeightJobSize`.
    weight_job_size: u32 = "priority_weight_js",
    /// `PriorityWeightPartition`.
    weight_partition: u32 = "priority_weight_part",
    /// `PriorityWeightQOS`.
    weight_qos: u32 = "priority_weight_qos",
    /// `PriorityWeightTRES`, as in slurm.conf.
    weight_tres: String = "priority_weight_tres",
    /// `PriorityFlags` as Slurm's bits (`PRIORITY_FLAGS_*`; 0x20 is `FAIR_TREE`).
    flags: u16 = "priority_flags",
    /// `PriorityMaxAge` in seconds.
    max_age: u32 = "priority_max_age",
    /// `PriorityDecayHalfLife` in seconds; 0 for no decay.
    decay_half_life: u32 = "priority_decay_hl",
    /// `PriorityCalcPeriod` in seconds. Cycles come on demand while the clock is fixed.
    calc_period: u32 = "priority_calc_period",
    /// `PriorityUsageResetPeriod` as Slurm's number: none, now, daily, weekly, monthly, quarterly, yearly from 0.
    reset_period: u16 = "priority_reset_period",
    /// `PriorityFavorSmall`.
    favor_small: u16 = "priority_favor_small",
    /// `PriorityParameters`.
    parameters: String = "priority_params",
    /// `PriorityType`.
    priority_type: String = "priority_type",
    /// `FairShareDampeningFactor`.
    dampening: u16 = "fs_dampening_factor",
    /// `PrioritySiteFactorPlugin`.
    site_factor_plugin: String = "site_factor_plugin",
    /// `DebugFlags` as bits; 0x800 is `Priority`.
    debug_flags: u64 = "debug_flags",
    /// `PrivateData` as bits.
    private_data: u16 = "private_data",
    /// `StateSaveLocation`.
    state_save_location: String = "state_save_location",
    /// `AccountingStorageEnforce` as bits; 2 is `limits`, 1 `associations`.
    enforce: u16 = "enforce",
    /// Processors of the whole cluster.
    cluster_cpus: u32 = "cluster_cpus",
    /// Nodes of the whole cluster.
    nodes: u32 = "nodes",
    /// slurmctld's option `-i`.
    ignore_state_errors: bool = "ignore_state_errors",
}

request! {
    /// A QOS.
    Qos, "qos", (id: u32);
    /// Name; a new QOS needs one.
    name: String = "name",
    /// Priority.
    priority: u32 = "priority",
    /// Flags as bits; 0x100 is `NoDecay`.
    flags: u32 = "flags",
    /// `UsageFactor`.
    usage_factor: f64 = "usage_factor",
    /// `UsageThreshold`.
    usage_threshold: f64 = "usage_thres",
    /// Remove it.
    delete: bool = "delete",
}

request! {
    /// A user, needed only for administrators and coordinators.
    User, "user", (name: String);
    /// Uid; it need not exist on the machine.
    uid: u32 = "uid",
    /// 2 for an operator, 3 for an administrator.
    admin: u32 = "admin",
    /// Accounts that the user coordinates.
    coordinates: Vec<String> = "coord",
}

request! {
    /// An association: an account, or a user in an account. The root has id 1, account `root` and no parent.
    Association, "assoc", (id: u32);
    /// Id of the parent.
    parent: u32 = "parent",
    /// Name of the account.
    account: String = "acct",
    /// Name of the user.
    user: String = "user",
    /// Uid of that user.
    uid: u32 = "uid",
    /// Partition that the association is for.
    partition: String = "partition",
    /// Raw shares; `0x7fffffff` is `Fairshare=parent`.
    shares: u32 = "shares",
    /// Priority for `PriorityWeightAssoc`.
    priority: u32 = "priority",
    /// Remove it.
    delete: bool = "delete",
}

/// Amounts of usage of one record.
pub type Amounts = Vec<(u32, Extended)>;

request! {
    /// Usage of an association. Without a mode: as slurmctld loads its saved usage, added to every ancestor.
    AssociationUsage, "usage", (id: u32);
    /// Raw usage, in TRES seconds.
    raw: Extended = "raw",
    /// Used wall-clock seconds.
    wall: f64 = "wall",
    /// TRES seconds by TRES id.
    tres: Amounts = "tres",
    /// Promised TRES seconds of running jobs, by TRES id.
    run_secs: Vec<(u32, u64)> = "run_secs",
    /// `only`: this record alone. `leaf`: what an account keeps of deleted users.
    mode: String = "mode",
}

request! {
    /// Usage of a QOS.
    QosUsage, "qosusage", (id: u32);
    /// Raw usage, in TRES seconds.
    raw: Extended = "raw",
    /// Used wall-clock seconds.
    wall: f64 = "wall",
    /// TRES seconds by TRES id.
    tres: Amounts = "tres",
    /// Promised TRES seconds of running jobs, by TRES id.
    run_secs: Vec<(u32, u64)> = "run_secs",
}

request! {
    /// A partition.
    Partition, "part", (name: String);
    /// `PriorityJobFactor`.
    factor: u16 = "factor",
    /// `PriorityTier`.
    tier: u16 = "tier",
    /// Normalised priority; without it as slurmctld computes it.
    norm: f64 = "norm",
    /// `MaxTime` in minutes.
    max_time: u32 = "max_time",
    /// `PARTITION_SUBMIT`, `PARTITION_SCHED`, both for one that is up, or neither.
    state_up: u16 = "state_up",
    /// Amounts by TRES id.
    tres: Vec<(u32, u64)> = "tres",
    /// Id of the partition's QOS.
    qos: u32 = "qos",
    /// `TRESBillingWeights`, as in slurm.conf.
    billing_weights: String = "billing_weights",
    /// Remove it; no job may be in it.
    delete: bool = "delete",
}

request! {
    /// A job.
    Job, "job", (id: u32);
    /// Id of its association; 0 for none.
    association: u32 = "assoc",
    /// Uid of its owner.
    user_id: u32 = "user_id",
    /// Its Unix group.
    group_id: u32 = "group_id",
    /// Name of its account.
    account: String = "account",
    /// Id of its QOS; 0 for none.
    qos: u32 = "qos",
    /// It has the id of its QOS, and no pointer: it had ended before slurmctld started.
    qos_by_id: bool = "qos_by_id",
    /// Its partitions; the first is the one it would run in.
    partitions: Vec<String> = "partitions",
    /// State and flags, see [`state`].
    state: u32 = "state",
    /// Why it waits, by its number.
    state_reason: u32 = "state_reason",
    /// Priority; 0 is held.
    priority: u32 = "priority",
    /// Whether the priority was set directly.
    direct_set_priority: bool = "direct_set_prio",
    /// Nice value.
    nice: Nice = "nice",
    /// Site factor.
    site_factor: Nice = "site_factor",
    /// Time since which age accrues; 0 for not yet.
    accrue_time: i64 = "accrue_time",
    /// Earliest start.
    begin_time: i64 = "begin_time",
    /// Submission.
    submit_time: i64 = "submit_time",
    /// Start.
    start_time: i64 = "start_time",
    /// End.
    end_time: i64 = "end_time",
    /// Expected end; `0xfffffffe` when its end has been charged.
    end_time_expected: i64 = "end_time_exp",
    /// Last change of size.
    resize_time: i64 = "resize_time",
    /// When it was suspended or resumed last.
    suspend_time: i64 = "suspend_time",
    /// Seconds that it had run when it was suspended last.
    before_suspension: i64 = "pre_sus_time",
    /// When it was told to make way.
    preempt_time: i64 = "preempt_time",
    /// By when it has to end.
    deadline: i64 = "deadline",
    /// How often it was started again.
    restarts: u32 = "restart_cnt",
    /// The reservations that it asked for, separated by commas.
    reservations: String = "resv_name",
    /// The one that it runs in.
    reservation: String = "reservation",
    /// The id of the array that it is of.
    array_job_id: u32 = "array_job_id",
    /// Which task of it.
    array_task_id: u32 = "array_task_id",
    /// Its wckey.
    wckey: String = "wckey",
    /// Time limit in minutes.
    time_limit: u32 = "time_limit",
    /// Allocated processors.
    total_cpus: u32 = "total_cpus",
    /// Allocated nodes.
    total_nodes: u32 = "total_nodes",
    /// Most processors requested; `0xfffffffe` for unset.
    max_cpus: u32 = "max_cpus",
    /// Fewest processors requested.
    min_cpus: u32 = "min_cpus",
    /// Fewest nodes requested.
    min_nodes: u32 = "min_nodes",
    /// MB of temporary disk on each node.
    tmp_disk: u32 = "tmp_disk",
    /// Requested amounts by TRES id.
    tres_requested: Vec<(u32, u64)> = "tres_req",
    /// Allocated amounts by TRES id.
    tres_allocated: Vec<(u32, u64)> = "tres_alloc",
    /// Billing that slurmctld has cached; `0xfffffffe` for not yet.
    billable_tres: f64 = "billable_tres",
    /// MCS label.
    mcs_label: String = "mcs_label",
    /// `false`: the record has lost its details, as finished jobs do.
    details: bool = "details",
}

impl Job {
    /// The same under another id.
    pub fn with_id(self, id: u32) -> Self {
        Self { id, ..self }
    }
}

request! {
    /// A question for `sprio`'s factors.
    FactorsFilter, "factors", ();
    /// Uid of who asks.
    uid: u32 = "uid",
    /// Only these jobs.
    jobs: Vec<u32> = "jobs",
    /// Only jobs of these users.
    users: Vec<u32> = "users",
    /// Only these partitions.
    partitions: Vec<String> = "partitions",
}
