//! Points (`Component`, `Credential`, `Service`, `Target` and so on), as far as a trace has the facts for them.
//!
//! A trace has CPUs, nodes, memory, the time limit, waits, and the owner of a job. It has neither Unix groups nor disk space, nor the
//! memory and GPUs of the cluster, so processor equivalents are CPUs. Jobs that overtake others are not counted. Targets apply only if all
//! of them are of users and accounts and use the usage that slurmctld itself counts. Otherwise none applies, because targets that a replay
//! cannot measure would compete with those that it can. [`left_out`] says which of these gaps matter.

use std::collections::HashMap;

use multifactor2_core::factors::{with_points, NICE_OFFSET};
use multifactor2_core::policy::points::{PartitionAt, Points, PointsJob, QosAt, Request, TargetUsage};
use multifactor2_core::policy::pools::Names;
use multifactor2_core::settings::{Settings, TargetKind};
use multifactor2_core::{Node, ShareTree};

use crate::workload::Setup;

/// What gives points in a replay, and the order by which bypass is counted.
#[derive(Debug)]
pub struct JobPoints {
    core: Points,
    weighs: bool,
    /// By partition of the machine.
    partitions: Vec<PartitionAt>,
    /// By [`crate::workload::Job::qos`].
    qos: Vec<QosAt>,
    usage: TargetUsage,
}

impl JobPoints {
    /// Those that settings ask for; `None` where they ask for none.
    pub fn new<'n>(
        settings: &Settings,
        setup: &Setup<'_>,
        tree: &ShareTree,
        names: impl Fn(Node) -> Names<'n>,
    ) -> Option<Self> {
        let mut core = Points::configured(settings)?;
        let qos: Vec<(u32, &str)> =
            (0..).zip(setup.workload.qos.iter().map(|qos| qos.name.as_str())).collect();
        core.learn(tree, names, &qos, &HashMap::new());
        let weighs = core.needs().targets && unknown_targets(settings).is_none();
        let mut points =
            Self { core, weighs, partitions: Vec::new(), qos: Vec::new(), usage: TargetUsage::default() };
        points.find(setup);
        Some(points)
    }

    /// Places are others after every [`Points::weigh`].
    fn find(&mut self, setup: &Setup<'_>) {
        let Self { core, partitions, qos, .. } = self;
        partitions.clear();
        partitions.extend(setup.machine.partitions.iter().map(|partition| core.partition(&partition.name)));
        qos.clear();
        qos.extend((0..).zip(&setup.workload.qos).map(|(id, _)| core.qos(id)));
    }

    /// A cycle: usage is as this, by node.
    pub fn cycle(&mut self, setup: &Setup<'_>, tree: &ShareTree, usage: &[f64]) {
        if self.weighs {
            self.usage.nodes.clear();
            self.usage.nodes.extend_from_slice(usage);
            self.core.weigh(tree, &self.usage, &TargetUsage::default());
            self.find(setup);
        }
    }

    /// The site factor of a job in a partition, as slurmctld keeps it, with its points.
    pub fn site(&self, setup: &Setup<'_>, now: i64, job: u32, node: Option<Node>, partition: u16) -> u32 {
        let of = setup.job(job);
        let cpus = f64::from(of.cpus);
        let value = self.core.value(&PointsJob {
            node,
            partition: self.partitions[usize::from(partition)],
            qos: self.qos.get(usize::from(of.qos)).copied().unwrap_or_default(),
            request: Request {
                nodes: f64::from(of.nodes.max(1)),
                cpus,
                memory: number(of.memory),
                equivalents: cpus,
                metric: setup.billing(job, partition),
                disk: 0.0,
            },
            limit: seconds(setup.planned(job, partition)),
            wait: seconds(now - of.eligible),
            ..PointsJob::default()
        });
        with_points(NICE_OFFSET, value)
    }
}

#[allow(clippy::cast_precision_loss)] // megabytes of a job
fn number(count: u64) -> f64 {
    count as f64
}

#[allow(clippy::cast_precision_loss)] // seconds of a job
fn seconds(count: i64) -> f64 {
    count.max(0) as f64
}

/// Why no target holds, if so.
fn unknown_targets(settings: &Settings) -> Option<&'static str> {
    let needs = Points::configured(settings)?.needs();
    let of_others = |line: &multifactor2_core::settings::Target| {
        !matches!(line.kind, TargetKind::User | TargetKind::Account | TargetKind::Parent)
    };
    if !needs.targets {
        None
    } else if !settings.target_metric.eq_ignore_ascii_case("billing") {
        Some("all targets: TargetMetric is not billing")
    } else if needs.windows {
        Some("all targets: some use usage in windows")
    } else if needs.capacity {
        Some("all targets: some are parts of what the cluster could have delivered")
    } else if settings.targets.iter().any(of_others) {
        Some("all targets: some are of QOS, partitions or Unix groups, whose usage is not counted")
    } else {
        None
    }
}

/// What settings ask for that is left out.
pub fn left_out(settings: &Settings) -> Vec<&'static str> {
    let Some(points) = Points::configured(settings) else { return Vec::new() };
    let needs = points.needs();
    let mut left_out: Vec<&'static str> = unknown_targets(settings).into_iter().collect();
    for (asked, what) in [
        (needs.groups, "points of Unix groups: the trace has none"),
        (needs.disk, "points for disk space: the trace does not have it"),
        (
            needs.equivalents,
            "processor equivalents: they are CPUs, because memory and GPUs of the cluster are not known",
        ),
        (needs.accuracy, "points for accurate time limits (WCAccuracy): they are not counted"),
        (needs.bypass, "points for jobs that were overtaken (Bypass): they are not counted"),
        (
            needs.course,
            "points for requeues, deadlines, nice values and states: the trace does not have them",
        ),
        (needs.all_jobs(), "Component=URGENCY and WeightPercent: jobs are not compared with all others"),
        (needs.stops, "Block=yes of caps: jobs beyond one come last but can start"),
        (needs.elapsed, "points for what running jobs have used: they change no start"),
    ] {
        if asked {
            left_out.push(what);
        }
    }
    left_out
}
