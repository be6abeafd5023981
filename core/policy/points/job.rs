//! The facts of a job that points depend on, and which of them a configuration needs.

use super::terms::{amount, most};
use crate::policy::pools::Names;
use crate::rules::grants::Granted;
use crate::tree::Node;

/// The place of a partition in the tables of [`Points`](super::Points). The default is the place of a partition that no line names and
/// nobody has used. Valid until the next [`learn`](super::Points::learn) or [`weigh`](super::Points::weigh).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PartitionAt(pub(super) u32);

/// The same of a QOS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct QosAt(pub(super) u32);

/// The same of a Unix group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct GroupAt(pub(super) u32);

/// What a job requests as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Request {
    /// Nodes.
    pub nodes: f64,
    /// CPUs.
    pub cpus: f64,
    /// Memory in MB.
    pub memory: f64,
    /// Temporary disk space in MB.
    pub disk: f64,
    /// Processor equivalents, see [`processor_equivalents`](super::processor_equivalents).
    pub equivalents: f64,
    /// The count of `TargetMetric`; 0 for a job that runs, which is in the usage already.
    pub metric: f64,
}

/// A job whose points are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PointsJob<'n> {
    /// Its association, in the tree that was learnt last.
    pub node: Option<Node>,
    /// What an association is called that is newer than that tree; looked at where `node` is `None` only.
    pub newcomer: Option<Names<'n>>,
    /// Its partition.
    pub partition: PartitionAt,
    /// Its QOS.
    pub qos: QosAt,
    /// Its Unix group.
    pub group: GroupAt,
    /// What it requests.
    pub request: Request,
    /// Its time limit in seconds.
    pub limit: f64,
    /// How long it has waited, in seconds; of a running job until it started.
    pub wait: f64,
    /// How many jobs have overtaken it.
    pub bypass: u32,
    /// How long it has run, in seconds, for USAGE; `None` for a waiting job, and without `CALCULATE_RUNNING`.
    pub elapsed: Option<f64>,
    /// How well the time limits of its user fit, in percent.
    pub accuracy: f64,
    /// How often it was started before and requeued.
    pub restarts: u32,
    /// Seconds until its deadline, negative once that is over; `None` without one.
    pub deadline: Option<f64>,
    /// Its nice value.
    pub nice: f64,
    /// Whether it waits, runs or is suspended.
    pub state: JobState,
    /// What its grants do to it, in its partition.
    pub granted: Granted,
}

/// What a job does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JobState {
    /// It waits.
    #[default]
    Pending,
    /// It holds resources and uses them.
    Running,
    /// It holds resources and does not use them.
    Suspended,
}

impl JobState {
    /// All of them, with what Slurm calls them.
    pub(crate) const ALL: [(Self, &'static str); 3] =
        [(Self::Pending, "PENDING"), (Self::Running, "RUNNING"), (Self::Suspended, "SUSPENDED")];
}

/// `QueueTime`: how long a job has waited, in minutes.
#[inline]
pub(super) fn queue_time(wait: f64) -> f64 {
    amount(wait) / 60.0
}

/// `XFactor`: 1 + wait / max(limit, `XFMinLimit`), all in seconds (Maui Administrator's Guide, 5.1.2.4). The divisor is at least one
/// second.
#[inline]
pub fn expansion_factor(wait: f64, limit: f64, min_limit: f64) -> f64 {
    1.0 + amount(wait) / most(most(amount(limit), amount(min_limit)), 1.0)
}

/// Which facts of a job are worth reading, and what else is worth knowing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // each is a question of its own
pub struct Needs {
    /// Nodes, CPUs and memory of the request.
    pub resources: bool,
    /// Disk space of the request.
    pub disk: bool,
    /// Processor equivalents of the request.
    pub equivalents: bool,
    /// The time limit.
    pub limit: bool,
    /// The wait.
    pub wait: bool,
    /// How many jobs have overtaken a job.
    pub bypass: bool,
    /// How well time limits of users fit.
    pub accuracy: bool,
    /// How long a job has run.
    pub elapsed: bool,
    /// The Unix group.
    pub groups: bool,
    /// The QOS.
    pub qos: bool,
    /// `Credential` lines count.
    pub credentials: bool,
    /// `Target` lines count: [`weigh`](super::Points::weigh) has something to do.
    pub targets: bool,
    /// Half-life usage that slurmctld does not have, that of groups and partitions, is asked for.
    pub own_halflife: bool,
    /// Usage in windows is asked for.
    pub windows: bool,
    /// What was available is asked for.
    pub capacity: bool,
    /// There are caps: the metric and the time limit of a job that waits are asked for.
    pub caps: bool,
    /// There are some beyond which jobs do not start.
    pub stops: bool,
    /// What has become of a job: how often it was requeued, its deadline, its nice value, its state.
    pub course: bool,
    /// Urgencies of all jobs are compared: [`measure`](super::Points::measure) has something to do.
    pub urgency: bool,
    /// So are the sums of components.
    pub percent: bool,
    /// There are grants.
    pub grants: bool,
}

impl Needs {
    /// Something of a job itself is asked for, not only who it belongs to.
    pub fn facts(self) -> bool {
        let of_others =
            Self { grants: self.grants, qos: self.qos, credentials: self.credentials, ..Self::default() };
        self != of_others
    }

    /// Grants alone give points.
    pub fn only_grants(self) -> bool {
        self == Self { grants: true, ..Self::default() }
    }

    /// Facts of all jobs are asked for before the points of any.
    pub fn all_jobs(self) -> bool {
        self.urgency || self.percent
    }
}

impl std::ops::BitOrAssign for Needs {
    fn bitor_assign(&mut self, other: Self) {
        self.resources |= other.resources;
        self.disk |= other.disk;
        self.equivalents |= other.equivalents;
        self.limit |= other.limit;
        self.wait |= other.wait;
        self.bypass |= other.bypass;
        self.accuracy |= other.accuracy;
        self.elapsed |= other.elapsed;
        self.groups |= other.groups;
        self.qos |= other.qos;
        self.credentials |= other.credentials;
        self.targets |= other.targets;
        self.own_halflife |= other.own_halflife;
        self.windows |= other.windows;
        self.capacity |= other.capacity;
        self.caps |= other.caps;
        self.stops |= other.stops;
        self.course |= other.course;
        self.urgency |= other.urgency;
        self.percent |= other.percent;
        self.grants |= other.grants;
    }
}
