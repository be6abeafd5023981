//! Points of random settings, clusters and jobs, as the model has them.
//!
//! Two readings differ on purpose. Where nothing at all was used, nobody is far from a target, also of what was available. A user whose
//! association is newer than the tree is as far from targets of parents as the account is.

use std::collections::HashMap;

use multifactor2_core::policy::points::{processor_equivalents, Points, PointsJob, Request, TargetUsage};
use multifactor2_core::policy::pools::Names;
use multifactor2_core::{Node, NodeSpec, ShareTree, USE_PARENT};
use multifactor2_fixtures::points_model::cases::{self, ModelCase, GROUPS, QOS};
use multifactor2_fixtures::points_model::{
    decayed, points, ModelAmount, ModelCluster, ModelJob, ModelKind, ModelSettings, ModelSums, ModelType,
};

use super::settings;

/// The engine for a case.
struct Engine {
    tree: ShareTree,
    /// By index of the model.
    nodes: Vec<Node>,
    points: Points,
}

fn id_of_qos(name: &str) -> u32 {
    let at = QOS.iter().position(|known| *known == name).expect("a QOS");
    u32::try_from(at).unwrap() + 10
}

/// Usage as the model counts it.
fn usage(of: &ModelSums, others: &ModelSums, nodes: &[Node], count: impl Fn(&[f64]) -> f64) -> TargetUsage {
    let mut usage = TargetUsage { nodes: vec![0.0; nodes.len()], ..TargetUsage::default() };
    for (windows, node) in of.nodes.iter().zip(nodes) {
        usage.nodes[node.index()] = count(windows);
    }
    usage.qos = of.qos.iter().map(|(name, windows)| (id_of_qos(name), count(windows))).collect();
    let gid = |name: &str| GROUPS.iter().find(|(known, _)| *known == name).expect("a group").1;
    usage.groups = others.groups.iter().map(|(name, windows)| (gid(name), count(windows))).collect();
    usage.partitions =
        others.partitions.iter().map(|(name, windows)| (name.clone(), count(windows))).collect();
    usage.all = count(&others.total);
    usage.capacity = count(&of.capacity);
    usage
}

/// Usage by half-life and in windows.
fn both(settings: &ModelSettings, cluster: &ModelCluster, nodes: &[Node]) -> [TargetUsage; 2] {
    let of = if settings.metric == "billing" { &cluster.charged } else { &cluster.own };
    let first = |windows: &[f64]| windows.first().copied().unwrap_or_default();
    let in_windows = |windows: &[f64]| decayed(windows, settings.depth, settings.decay);
    [usage(of, &cluster.own, nodes, first), usage(&cluster.windows, &cluster.windows, nodes, in_windows)]
}

impl Engine {
    /// `None` where no line asks for points.
    fn new(ModelCase { settings: model, cluster, .. }: &ModelCase) -> Option<Self> {
        let mut points = Points::configured(&settings(&model.to_string()))?;
        let specs: Vec<NodeSpec> = cluster
            .nodes
            .iter()
            .map(|node| NodeSpec {
                parent: node.parent.map(|parent| u32::try_from(parent).unwrap()),
                shares: node.shares.unwrap_or(USE_PARENT),
                user: node.user,
            })
            .collect();
        let tree = ShareTree::build(&specs);
        let nodes: Vec<Node> =
            (0..specs.len()).map(|at| tree.position(at).expect("it is in the tree")).collect();
        let mut names = vec![Names::default(); tree.len()];
        for (row, node) in cluster.nodes.iter().zip(&nodes) {
            names[node.index()] = match row.parent {
                Some(parent) if row.user => Names { user: &row.name, account: &cluster.nodes[parent].name },
                _ => Names { user: "", account: &row.name },
            };
        }
        let qos: Vec<(u32, &str)> = QOS.iter().map(|name| (id_of_qos(name), *name)).collect();
        let groups: HashMap<String, u32> =
            GROUPS.iter().map(|(name, gid)| ((*name).to_owned(), *gid)).collect();
        points.learn(&tree, |node| names[node.index()], &qos, &groups);
        let [halflife, window] = both(model, cluster, &nodes);
        points.weigh(&tree, &halflife, &window);
        Some(Self { tree, nodes, points })
    }

    fn value(&self, settings: &ModelSettings, cluster: &ModelCluster, job: &ModelJob) -> i32 {
        let counts = |tres: &str| tres == "cpu" || tres == "mem" || tres.starts_with("gres/");
        let parts = cluster.totals.iter().filter(|(tres, _)| counts(tres));
        let parts = parts.map(|(tres, total)| (job.requested(tres), *total));
        let processors = cluster.totals.get("cpu").copied().unwrap_or_default();
        let is_calculated = job.started.is_some() && cluster.calculate_running;
        let is_calculated_as_waiting = job.started.is_some() && !cluster.calculate_running;
        let job = PointsJob {
            node: job.association.map(|at| self.nodes[at]),
            newcomer: Some(Names { user: &job.user, account: &job.account }),
            partition: self.points.partition(&job.partition),
            qos: self.points.qos(id_of_qos(&job.qos)),
            group: self.points.group(job.gid),
            request: Request {
                nodes: job.requested("node"),
                cpus: job.requested("cpu"),
                memory: job.requested("mem"),
                disk: job.tmp_disk * job.requested("node"),
                equivalents: processor_equivalents(parts, processors),
                metric: if is_calculated_as_waiting { 0.0 } else { job.requested(&settings.metric) },
            },
            limit: cluster.limit(job),
            wait: job.wait(),
            bypass: job.bypass,
            elapsed: is_calculated.then(|| job.elapsed()),
            ..PointsJob::default()
        };
        assert_eq!(self.points.explain(&job).total, self.points.value(&job));
        self.points.value(&job)
    }
}

/// Whether the two readings of the module cannot matter.
fn is_comparable(case: &ModelCase, job: &ModelJob) -> bool {
    let goals = || case.settings.targets.iter().filter(|line| line.r#type != ModelType::Cap);
    let of_available = goals().any(|line| matches!(line.amount, ModelAmount::Available(_)));
    let cluster = &case.cluster;
    let all = [&cluster.charged, &cluster.own, &cluster.windows];
    let is_idle =
        all.iter().any(|sums| decayed(&sums.total, case.settings.depth, case.settings.decay) == 0.0);
    let in_tree = goals().any(|line| line.kind == ModelKind::Parent);
    !(of_available && is_idle || job.association.is_none() && in_tree)
}

#[test]
fn random_cases() {
    let mut random = multifactor2_fixtures::random();
    let (mut compared, mut left_out, mut others) = (0, 0, 0);
    for _ in 0..3_000 {
        let case = cases::case(&mut random);
        let Some(engine) = Engine::new(&case) else { continue };
        assert_eq!(engine.tree.len(), case.cluster.nodes.len());
        for job in case.jobs.iter().filter(|job| !job.direct && !job.held) {
            if !is_comparable(&case, job) {
                left_out += 1;
                continue;
            }
            let found = engine.value(&case.settings, &case.cluster, job);
            let expected = points(&case.settings, &case.cluster, job);
            assert!(
                expected.agrees(i64::from(found)),
                "{found}, not {expected:#?}\n{job:#?}\n{}\n{:#?}",
                case.settings,
                case.cluster
            );
            compared += 1;
            others += u32::from(found != 0 && i64::from(found.abs()) != case.settings.points_cap);
        }
    }
    assert!(left_out < compared / 3, "{left_out} left out, {compared} compared");
    assert!(others > compared / 3, "{others} of {compared} between the bounds");
}
