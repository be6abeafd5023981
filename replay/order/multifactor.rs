//! Priorities as the plugin computes them: usage, fair-share by a [`Standing`], and the other factors by the engine.

use multifactor2_core::evaluator::{Evaluator, FactorConfig};
use multifactor2_core::factors::{increase_only, ClusterSize, Evaluation, Priority, NICE_OFFSET};
use multifactor2_core::facts::{self, Facts, JobSize, Tres, NO_VAL};
use multifactor2_core::policy::pools::{JobNames, Names};
use multifactor2_core::settings::Settings;
use multifactor2_core::{Node, ShareTree};

use super::calendar::ResetPeriod;
use super::charges::Charges;
use super::points::JobPoints;
use super::standing::{Ground, Queued, Running, Standing};
use super::usage::Usage;
use super::{Order, Started};
use crate::sim::Setup;
use crate::trace::config::{Config, TRES};
use crate::workload::{Job, Workload, NO_LIMIT};

/// See the module.
pub struct Multifactor<'s> {
    setup: &'s Setup<'s>,
    standing: Box<dyn Standing + 's>,
    config: FactorConfig,
    cluster: ClusterSize,
    period: u32,
    increase_only: bool,
    tree: ShareTree,
    /// By [`Job::association`].
    nodes: Vec<Option<Node>>,
    /// Places of associations by node.
    places: Vec<u32>,
    partitions: Vec<facts::Partition>,
    qos: Vec<facts::Qos>,
    /// What each partition has of [`TRES`].
    tres: Vec<[u64; TRES.len()]>,
    charges: Charges,
    usage: Usage,
    /// `PriorityUsageResetPeriod`, and the number of the one that usage is of.
    reset: Option<(ResetPeriod, i64)>,
    points: Option<JobPoints>,
    /// Buffers.
    waiting: Vec<u32>,
    priorities: Vec<u32>,
    scratch: Vec<f64>,
    /// By job, where priorities never fall.
    highest: Vec<u32>,
}

impl<'s> Multifactor<'s> {
    /// With the weights and times of the workload's slurm.conf.
    pub fn new(setup: &'s Setup<'s>, standing: Box<dyn Standing + 's>) -> Self {
        let (workload, machine) = (setup.workload, setup.machine);
        let config: &Config = &workload.config;
        let specs = workload.node_specs();
        let tree = ShareTree::build(&specs);
        let nodes: Vec<Option<Node>> = (0..specs.len()).map(|place| tree.position(place)).collect();
        let mut places = vec![0; tree.len()];
        for (place, node) in (0..).zip(&nodes) {
            if let Some(node) = node {
                places[node.index()] = place;
            }
        }
        let norm = |value: u32, most: u32| if most == 0 { 0.0 } else { f64::from(value) / f64::from(most) };
        let most_factor = machine.partitions.iter().map(|partition| partition.job_factor).max().unwrap_or(0);
        let most_priority = workload.qos.iter().map(|qos| qos.priority).max().unwrap_or(0);
        let count = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        let cpus = count(machine.cpus());
        // Where nodes are not known every CPU is one.
        let nodes_of_cluster = if machine.nodes() == 0 { cpus } else { count(machine.nodes()) };
        let start = workload.jobs.first().map_or(0, |job| job.submit);
        let factors = config.factors();
        let increase_only = config.has_flag("INCR_ONLY");
        Self {
            scratch: vec![0.0; factors.tres_weights.as_ref().map_or(0, Vec::len)],
            config: factors,
            cluster: ClusterSize { cpus, nodes: nodes_of_cluster },
            period: config.calc_period(),
            increase_only,
            charges: Charges::default(),
            usage: Usage::new(&tree, config.half_life(), start),
            reset: config
                .get("PriorityUsageResetPeriod")
                .and_then(ResetPeriod::of)
                .map(|period| (period, period.number(start))),
            points: None,
            partitions: machine
                .partitions
                .iter()
                .map(|partition| facts::Partition {
                    priority_job_factor: partition.job_factor,
                    norm_priority: norm(partition.job_factor, most_factor),
                })
                .collect(),
            qos: workload
                .qos
                .iter()
                .map(|qos| facts::Qos {
                    priority: qos.priority,
                    norm_priority: norm(qos.priority, most_priority),
                    usage_threshold: f64::from(NO_VAL),
                })
                .collect(),
            tres: machine
                .partitions
                .iter()
                .map(|partition| {
                    let nodes =
                        partition.pools.iter().map(|pool| u64::from(machine.pools[usize::from(*pool)].nodes));
                    [machine.cpus_of(partition), 0, nodes.sum(), 0]
                })
                .collect(),
            highest: if increase_only { vec![0; workload.jobs.len()] } else { Vec::new() },
            setup,
            standing,
            tree,
            nodes,
            places,
            waiting: Vec::new(),
            priorities: Vec::new(),
        }
    }

    /// With the points that settings ask for.
    #[must_use]
    pub fn with_points(mut self, settings: &Settings) -> Self {
        let (workload, places) = (self.setup.workload, &self.places);
        let names = |node| names(workload, places, node);
        self.points = JobPoints::new(settings, self.setup, &self.tree, names);
        self
    }

    /// With the charge rules and the minimum of settings.
    #[must_use]
    pub fn with_charges(mut self, settings: &Settings) -> Self {
        self.charges = Charges::of(settings, self.setup);
        self
    }

    /// Usage of associations.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    fn node(&self, job: u32) -> Option<Node> {
        self.nodes.get(self.setup.job(job).association as usize).copied().flatten()
    }

    /// Pushes the priorities of a job in all its partitions.
    fn push(&mut self, now: i64, job: u32, fair_share: f64, into: &mut Vec<u32>) {
        let setup = self.setup;
        let of = setup.job(job);
        let partitions = setup.partitions(job);
        let evaluator = Evaluator { config: &self.config, cluster: self.cluster, now };
        let Some(first) = partitions.first().copied() else { return };
        let requested = tres(of);
        let in_partition = |partition: u16| Tres {
            allocated: None,
            requested: Some(&requested),
            of_partition: Some(&self.tres[usize::from(partition)]),
        };
        let node = self.node(job);
        let points = self.points.as_ref();
        let site = |partition: u16| {
            points.map_or(NICE_OFFSET, |points| points.site(setup, now, job, node, partition))
        };
        let facts = Facts {
            job: facts::Job {
                id: id(of),
                priority: 1,
                direct: false,
                site: site(first),
                nice: NICE_OFFSET,
                // 0 stands for none.
                accrue_time: of.eligible.max(1),
            },
            size: evaluator.weighs_size().then(|| self.size(of, first)),
            partition: Some(self.partitions[usize::from(first)]),
            qos: self.qos.get(usize::from(of.qos)).copied(),
            tres: in_partition(first),
        };
        let standing = facts::Standing { assoc: 0.0, fair_share };
        let evaluation = evaluator.evaluate(&facts, standing, &mut self.scratch);
        let before = into.len();
        let value = |evaluation: &Evaluation, sum: f64| {
            debug_assert!(evaluation.age >= 0.0);
            Priority::from_sum(sum).value
        };
        if partitions.len() == 1 {
            into.push(value(&evaluation, evaluation.sum()));
        } else {
            for partition in partitions {
                let facts = self.partitions[usize::from(*partition)];
                let tres = in_partition(*partition);
                let variant = evaluator.in_partition(&evaluation, Some(&facts), tres, &mut self.scratch);
                let variant = Evaluation { site: site(*partition), ..variant };
                into.push(value(&variant, variant.sum_of_variant()));
            }
        }
        if self.increase_only {
            let highest = &mut self.highest[job as usize];
            for priority in &mut into[before..] {
                *priority = increase_only(*highest, *priority);
            }
            *highest = into[before..].iter().copied().max().unwrap_or_default();
        }
    }

    fn size(&self, job: &Job, partition: u16) -> JobSize {
        let max_time = self.setup.machine.partitions[usize::from(partition)].max_time;
        let nodes = if self.setup.machine.nodes() == 0 { job.cpus } else { job.nodes.max(1) };
        JobSize {
            total_cpus: 0,
            max_cpus: NO_VAL,
            min_cpus: job.cpus,
            min_nodes: nodes,
            time_limit: if job.limit == NO_LIMIT { NO_VAL } else { job.limit.div_ceil(60) },
            partition_max_time: Some(if max_time == NO_LIMIT { NO_VAL } else { max_time / 60 }),
        }
    }

    /// A job as policies see it.
    fn queued(&self, now: i64, job: u32, node: Node, seconds_left: Option<i64>) -> Queued<'s> {
        let setup = self.setup;
        let of = setup.job(job);
        let partition = setup.partitions(job).first().copied().unwrap_or_default();
        #[allow(clippy::cast_precision_loss)] // seconds that a job may run
        let minutes = match (of.limit, seconds_left) {
            (NO_LIMIT, _) => None,
            (_, Some(left)) => Some(left as f64 / 60.0),
            (limit, None) => Some(f64::from(limit) / 60.0),
        };
        Queued {
            node,
            names: JobNames {
                partition: &setup.machine.partitions[usize::from(partition)].name,
                qos: &setup.workload.qos[usize::from(of.qos)].name,
                wckey: "",
                id: id(of),
                array: (of.array != 0).then_some((of.array, None)),
                own: 0,
            },
            age: u32::try_from((now - of.eligible).max(0)).unwrap_or(u32::MAX),
            cpus: of.cpus,
            billing: setup.billing(job, partition),
            minutes,
        }
    }

    /// Hands out what fair-share gives.
    fn distribute(&mut self, now: i64, waiting: &[u32]) {
        self.waiting.clear();
        self.waiting.resize(self.tree.len(), 0);
        for job in waiting {
            if let Some(node) = self.node(*job) {
                self.waiting[node.index()] += 1;
            }
        }
        let (mut queue, mut running) = (Vec::new(), Vec::new());
        if self.standing.looks_at_jobs() {
            for job in waiting {
                // The root stands for none, so that places are the same.
                if let Some(node) = self.node(*job).or(self.tree.root()) {
                    queue.push(self.queued(now, *job, node, None));
                }
            }
            for (job, held) in self.usage.running() {
                let left = held.start + self.setup.planned(job, held.partition) - now;
                running.push(Running { job: self.queued(now, job, held.node, Some(left)) });
            }
        }
        let (workload, places) = (self.setup.workload, &self.places);
        let names = |node| names(workload, places, node);
        let ground = Ground {
            tree: &self.tree,
            names: &names,
            usage: self.usage.by_node(),
            waiting: &self.waiting,
            now,
        };
        self.standing.distribute(&ground, &queue, &running);
    }
}

impl Order for Multifactor<'_> {
    fn period(&self) -> Option<u32> {
        Some(self.period)
    }

    fn submit(&mut self, now: i64, job: u32, priorities: &mut Vec<u32>) {
        let fair_share = match self.node(job) {
            Some(node) if self.config.weights.fair_share != 0 => {
                let job = self.queued(now, job, node, None);
                self.standing.submit(&self.tree, &job)
            }
            _ => 0.0,
        };
        self.push(now, job, fair_share, priorities);
    }

    fn start(&mut self, started: Started) {
        let Started { job, partition, at } = started;
        let Some(node) = self.node(job) else { return };
        let factor = self.setup.workload.qos[usize::from(self.setup.job(job).qos)].usage_factor;
        let rate =
            self.setup.billing(job, partition) * factor * self.charges.factor(self.setup, job, partition);
        let rate = if rate.is_finite() { rate.max(0.0) } else { 0.0 };
        self.usage.start(job, node, at, partition, rate);
    }

    fn end(&mut self, now: i64, job: u32) {
        self.usage.end(&self.tree, now, job, self.charges.minimum());
    }

    fn cycle(&mut self, now: i64, waiting: &[u32], set: &mut dyn FnMut(u32, &[u32])) {
        if let Some((period, number)) = &mut self.reset {
            let present = period.number(now);
            if std::mem::replace(number, present) != present {
                self.usage.reset();
            }
        }
        self.usage.cycle(&self.tree, now);
        if let Some(points) = &mut self.points {
            points.cycle(self.setup, &self.tree, self.usage.by_node());
        }
        self.distribute(now, waiting);
        let mut priorities = std::mem::take(&mut self.priorities);
        for (at, job) in waiting.iter().enumerate() {
            let fair_share = self.node(*job).map_or(0.0, |node| self.standing.of_waiting(at, node));
            priorities.clear();
            self.push(now, *job, fair_share, &mut priorities);
            set(*job, &priorities);
        }
        self.priorities = priorities;
    }
}

/// What an association is called.
fn names<'w>(workload: &'w Workload, places: &[u32], node: Node) -> Names<'w> {
    let of = &workload.associations[places[node.index()] as usize];
    Names {
        user: of.user.map_or("", |user| workload.users.name(user)),
        account: workload.accounts.name(of.account),
    }
}

/// What a job asks for, in the order of [`TRES`].
fn tres(job: &Job) -> [u64; TRES.len()] {
    [u64::from(job.cpus), job.memory, u64::from(job.nodes), u64::from(job.gpus)]
}

/// The id of a job as slurmctld has it.
#[allow(clippy::cast_possible_truncation)] // ids of Slurm fit
fn id(job: &Job) -> u32 {
    job.id as u32
}
