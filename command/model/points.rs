//! Computes the points of jobs from a snapshot, as the plugin does.

use std::collections::{HashMap, HashSet};

use multifactor2_core::facts::TresTotal;
use multifactor2_core::policy::points::{
    Beyond, JobFacts, Listed, Parts, Points, PointsJob, Ranges, Reader, TargetUsage, LARGEST_THRESHOLD,
};
use multifactor2_core::rules::targets::KeptSteps;
use multifactor2_core::Node;
use multifactor2_snapshot::records::{Grant, Job, Partition, Qos};
use multifactor2_snapshot::Snapshot;

use super::facts::Looks;
use super::grants::{is_beyond, Grants};
use super::Tree;

/// All that gives points, taught what there is.
#[derive(Debug)]
pub(super) struct Book {
    points: Points,
    reader: Reader,
    qos: HashMap<String, u32>,
    usage: [TargetUsage; 2],
    /// The QOS in which slurmctld keeps jobs from starting.
    stopping: HashSet<String>,
    /// How well time limits fit, in percent, by user.
    accuracies: HashMap<String, f64>,
    grants: Grants,
}

impl Book {
    /// `None` if the settings ask for no points, or if what they need is unknown.
    pub fn of(looks: &Looks<'_>, notes: &mut Vec<String>) -> Option<Self> {
        let Looks { snapshot, tree, .. } = *looks;
        let settings = looks.config.settings.as_ref()?;
        let mut points = Points::configured(settings)?;
        let needs = points.needs();
        let is_billing = settings.target_metric.eq_ignore_ascii_case("billing");
        let is_counted = !snapshot.usage.is_empty() || snapshot.about.source == "plugin";
        if needs.targets
            && !is_counted
            && (!is_billing || needs.own_halflife || needs.windows || needs.capacity)
        {
            notes.push(
                "Only the plugin counts the usage for targets, so SITE is what Slurm shows. A snapshot of the plugin has it."
                    .to_owned(),
            );
            return None;
        }
        if snapshot.about.source != "plugin" && snapshot.jobs.iter().all(|job| job.points.is_empty()) {
            notes.push(
                "Slurm's commands show points and site factor as one number, so SITE is what Slurm shows. A snapshot of the plugin has both."
                    .to_owned(),
            );
            return None;
        }
        let totals: Vec<TresTotal> = snapshot.tres.iter().map(|tres| total(&tres.name, tres.count)).collect();
        let reader = Reader::new(&totals, settings);
        let qos: Vec<(u32, &str)> = snapshot.qos.iter().map(|qos| (qos.id, qos.name.as_str())).collect();
        let groups = snapshot.groups.iter().map(|group| (group.name.clone(), group.id)).collect();
        points.learn(&tree.shape, tree.names(snapshot), &qos, &groups);
        let mut usage = ["halflife", "window"].map(|model| target_usage(snapshot, tree, model));
        if is_billing {
            // What slurmctld counts itself.
            usage[0].nodes.clone_from(&tree.usage);
            usage[0].qos = snapshot.qos.iter().map(|qos| (qos.id, qos.usage.unwrap_or_default())).collect();
        }
        points.restore_steps(&kept_steps(snapshot));
        points.weigh(&tree.shape, &usage[0], &usage[1]);
        let books: Vec<TargetUsage> =
            points.target_books().map(|book| target_usage(snapshot, tree, &format!("book {book}"))).collect();
        points.weigh_books(&tree.shape, &books);
        points.restore_ranges(ranges(snapshot));
        let qos = snapshot.qos.iter().map(|qos| (qos.name.clone(), qos.id)).collect();
        let stopping = snapshot.qos.iter().filter(|qos| stops(qos)).map(|qos| qos.name.clone()).collect();
        let accuracies = snapshot.usage.iter().filter(|record| record.model == "accuracy");
        let accuracies = accuracies.map(|record| (record.key.clone(), record.amount)).collect();
        Some(Self { points, reader, qos, usage, stopping, accuracies, grants: Grants::of(snapshot, tree) })
    }

    /// A job, before its partition and QOS.
    pub fn facts(&self, looks: &Looks<'_>, job: &Job, partition: Option<&Partition>) -> JobFacts {
        self.reader.facts(self.points.needs(), job.id, &looks.request(job, partition), looks.at)
    }

    /// Whether a cap keeps a job from starting, in all of its partitions. Its QOS is the one that it names.
    pub fn is_stopped(&self, looks: &Looks<'_>, job: &Job) -> bool {
        let is_waiting = job.priority != 0 && !job.direct && self.points.needs().stops;
        if !is_waiting || !self.stopping.contains(&job.qos) {
            return false;
        }
        let node = looks.tree.by_id(job.association).and_then(|association| looks.tree.node(association));
        let own = std::slice::from_ref(&job.partition);
        let partitions = if job.partitions.is_empty() { own } else { &job.partitions };
        partitions.iter().all(|name| {
            let partition = looks.snapshot.partitions.iter().find(|partition| partition.name == *name);
            self.points.is_stopped(&self.asked(looks, (job, node), (name, partition), &job.qos))
        })
    }

    /// The caps that a job goes beyond in the partition that it is in or was tried in last.
    pub fn beyond(&self, looks: &Looks<'_>, (job, node): (&Job, Option<Node>)) -> Vec<Beyond> {
        let partition = looks.snapshot.partitions.iter().find(|partition| partition.name == job.partition);
        let asked = self.asked(looks, (job, node), (&job.partition, partition), &job.qos);
        self.points.beyond(&looks.tree.shape, self.usage.each_ref(), &asked)
    }

    /// What everybody has of the targets that hold.
    pub fn targets(&self, snapshot: &Snapshot, tree: &Tree) -> Vec<Listed> {
        listing(&self.points, self.usage.each_ref(), snapshot, tree)
    }

    /// The same of what was used in a single window, 0 for the current one: amounts and totals are right, what comes of them is not.
    pub fn targets_in_window(&self, snapshot: &Snapshot, tree: &Tree, age: usize) -> Vec<Listed> {
        // Everybody who has used something in some window is there in each.
        let all = snapshot.usage.iter().filter(|record| record.model == "window");
        let all = all.map(|record| (&record.of, &record.key, 0.0));
        let amounts = snapshot.windows.iter();
        let amounts =
            amounts.map(|row| (&row.of, &row.key, row.amounts.get(age).copied().unwrap_or_default()));
        let usage = [self.usage[0].clone(), of_records(tree, all.chain(amounts))];
        let mut points = self.points.clone();
        points.weigh(&tree.shape, &usage[0], &usage[1]);
        listing(&points, usage.each_ref(), snapshot, tree)
    }

    /// The grants that a job is beyond, by their places in the snapshot, in the partition that it is in or was tried in last.
    pub fn beyond_grants(&self, looks: &Looks<'_>, job: &Job) -> Vec<usize> {
        let grants = &looks.snapshot.grants;
        let is_of = |grant: &Grant| grant.partitions.is_empty() || grant.partitions.contains(&job.partition);
        let places = self.grants.places(job, &job.qos).map(|place| place as usize);
        places.filter(|place| is_beyond(&grants[*place]) && is_of(&grants[*place])).collect()
    }

    /// The points of a job in a partition, under a QOS.
    pub fn explain(
        &self,
        looks: &Looks<'_>,
        (job, node): (&Job, Option<Node>),
        partition: (&str, Option<&Partition>),
        qos: &str,
    ) -> Parts {
        self.points.explain(&self.asked(looks, (job, node), partition, qos))
    }

    fn asked(
        &self,
        looks: &Looks<'_>,
        (job, node): (&Job, Option<Node>),
        partition: (&str, Option<&Partition>),
        qos: &str,
    ) -> PointsJob<'static> {
        let facts = self.facts(looks, job, partition.1);
        PointsJob {
            node,
            partition: self.points.partition(partition.0),
            qos: self.qos.get(qos).map(|id| self.points.qos(*id)).unwrap_or_default(),
            group: self.points.group(facts.group),
            bypass: if self.points.needs().bypass { job.bypass } else { 0 },
            accuracy: self.accuracies.get(&job.user).copied().unwrap_or_default(),
            granted: self.grants.granted(job, partition.0, qos),
            ..facts.job()
        }
    }
}

/// Whether caps keep jobs of a QOS from starting.
pub fn stops(qos: &Qos) -> bool {
    let is_enforced = qos.flags.iter().any(|flag| flag.eq_ignore_ascii_case("EnforceUsageThreshold"));
    is_enforced
        && qos.usage_threshold.is_some_and(|threshold| threshold > 0.0 && threshold <= LARGEST_THRESHOLD)
}

fn total(name: &str, count: u64) -> TresTotal {
    let (kind, name) = name.split_once('/').unwrap_or((name, ""));
    TresTotal { kind: kind.to_owned(), name: name.to_owned(), count }
}

/// The steps that distances were in.
fn kept_steps(snapshot: &Snapshot) -> KeptSteps {
    let steps = snapshot.usage.iter().filter(|record| record.model == "step");
    #[allow(clippy::cast_possible_truncation)] // saturates
    let steps = steps.map(|record| ((record.of.clone(), record.key.clone()), record.amount as i64));
    steps.collect()
}

/// What all jobs had when the plugin compared them.
fn ranges(snapshot: &Snapshot) -> Ranges {
    let numbers = snapshot.usage.iter().filter(|record| record.model == "range");
    let numbers = numbers.map(|record| (record.of.as_str(), record.key.as_str(), record.amount));
    Ranges::of_numbers(&numbers.collect::<Vec<_>>())
}

fn listing(points: &Points, usage: [&TargetUsage; 2], snapshot: &Snapshot, tree: &Tree) -> Vec<Listed> {
    let partitions: Vec<&str> = snapshot.partitions.iter().map(|partition| partition.name.as_str()).collect();
    points.listing(&tree.shape, usage, &partitions)
}

fn target_usage(snapshot: &Snapshot, tree: &Tree, model: &str) -> TargetUsage {
    let records = snapshot.usage.iter().filter(|record| record.model == model);
    of_records(tree, records.map(|record| (&record.of, &record.key, record.amount)))
}

/// Usage by records: whose it is, the key of that, and how much.
fn of_records<'r>(tree: &Tree, records: impl Iterator<Item = (&'r String, &'r String, f64)>) -> TargetUsage {
    let mut usage = TargetUsage { nodes: vec![0.0; tree.shape.len()], ..TargetUsage::default() };
    for (of, key, amount) in records {
        let id = key.parse::<u32>();
        match (of.as_str(), id) {
            ("association", Ok(id)) => {
                let node = tree.by_id(id).and_then(|association| tree.node(association));
                if let Some(node) = node {
                    usage.nodes[node.index()] = amount;
                }
            }
            ("qos", Ok(id)) => drop(usage.qos.insert(id, amount)),
            ("group", Ok(id)) => drop(usage.groups.insert(id, amount)),
            ("partition", _) => drop(usage.partitions.insert(key.clone(), amount)),
            ("all", _) => usage.all = amount,
            ("available", _) => usage.capacity = amount,
            _ => (),
        }
    }
    usage
}
