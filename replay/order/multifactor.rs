//! Computes priorities as the plugin does: usage, fair-share by a [`FairSharePolicy`], and the other factors by the engine.

use std::sync::Arc;

use multifactor2_core::books::{BookAt, BookSet};
use multifactor2_core::calendar::ResetPeriod;
use multifactor2_core::evaluator::{Evaluator, FactorConfig};
use multifactor2_core::factors::{increase_only, ClusterSize, Evaluation, Priority, NICE_OFFSET};
use multifactor2_core::facts::{self, Facts, JobSize, Tres, NO_VAL};
use multifactor2_core::policy::pools::{JobNames, Names};
use multifactor2_core::settings::Settings;
use multifactor2_core::{Node, ShareTree};
use slurm_text::dates::{TimeZone, Zone};

use super::books::{Book, Books};
use super::charges::Charges;
use super::points::JobPoints;
use super::standing::{FairSharePolicy, Ground, Queued, Running};
use super::usage::Usage;
use super::{Order, Started};
use crate::trace::config::{Config, TRES};
use crate::workload::{Job, Setup, Workload, NO_LIMIT};

/// The order by priorities that are computed as the plugin computes them.
pub struct Multifactor<'s> {
    setup: &'s Setup<'s>,
    config: FactorConfig,
    cluster: ClusterSize,
    period: u32,
    increase_only: bool,
    tree: Arc<ShareTree>,
    /// By [`Job::association`].
    nodes: Vec<Option<Node>>,
    /// Places of associations by node.
    places: Vec<u32>,
    partitions: Vec<facts::Partition>,
    qos: Vec<facts::Qos>,
    /// What each partition has of [`TRES`].
    tres: Vec<[u64; TRES.len()]>,
    charges: Charges,
    books: Books<'s>,
    /// Half-life, and the time of the first job.
    since: (u32, i64),
    /// `PriorityUsageResetPeriod`, and when usage is reset the next time.
    reset: Option<(ResetPeriod, i64)>,
    points: Option<JobPoints>,
    /// Buffers.
    usage: Vec<f64>,
    priorities: Vec<u32>,
    /// By book, of the job that is looked at.
    fair_shares: Vec<f64>,
    /// By book, how many of its waiting jobs were looked at.
    places_in_queues: Vec<usize>,
    scratch: Vec<f64>,
    /// By job, where priorities never fall.
    highest: Vec<u32>,
}

impl<'s> Multifactor<'s> {
    /// With the weights and times of the workload's slurm.conf.
    pub fn new(setup: &'s Setup<'s>, standing: Box<dyn FairSharePolicy + 's>) -> Self {
        let (workload, machine) = (setup.workload, setup.machine);
        let config: &Config = &workload.config;
        let specs = workload.node_specs();
        let tree = Arc::new(ShareTree::build(&specs));
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
        let since = (config.half_life(), start);
        Self {
            scratch: vec![0.0; factors.tres_weights.as_ref().map_or(0, Vec::len)],
            config: factors,
            cluster: ClusterSize { cpus, nodes: nodes_of_cluster },
            period: config.calc_period(),
            increase_only,
            charges: Charges::default(),
            books: Books::one(Book::new(standing, Arc::clone(&tree), since)),
            since,
            reset: config
                .get("PriorityUsageResetPeriod")
                .and_then(ResetPeriod::read)
                .and_then(|period| Some((period, period.next(start, &Zone(&TimeZone::UTC))?))),
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
            tree,
            nodes,
            places,
            usage: Vec::new(),
            priorities: Vec::new(),
            fair_shares: vec![0.0],
            places_in_queues: vec![0],
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

    /// With the books that settings ask for.
    #[must_use]
    pub fn with_books(mut self, settings: &Settings) -> Self {
        let (workload, places) = (self.setup.workload, &self.places);
        let names = |node| names(workload, places, node);
        if let Some(books) = Books::of(settings, self.setup, &self.tree, names, self.since) {
            self.fair_shares.resize(books.count(), 0.0);
            self.places_in_queues.resize(books.count(), 0);
            self.books = books;
        }
        self
    }

    /// With the windows that settings give the share tree.
    #[must_use]
    pub fn with_windows(mut self, settings: &Settings) -> Self {
        if let Some(windows) = settings.tree_windows() {
            for Book { usage, tree, .. } in self.books.iter_mut() {
                usage.go_by_windows(tree, windows);
            }
        }
        self
    }

    /// Usage of associations in the default book, which is that of all partitions without `Book` lines.
    pub fn usage(&self) -> &Usage {
        &self.books.get(BookAt::DEFAULT).usage
    }

    /// The same in all books, the default one first.
    pub fn usage_by_book(&self) -> impl Iterator<Item = &Usage> {
        self.books.iter().map(|book| &book.usage)
    }

    fn node(&self, job: u32) -> Option<Node> {
        self.nodes.get(self.setup.job(job).association as usize).copied().flatten()
    }

    /// Pushes the priorities of a job in all its partitions, with its [`Self::fair_shares`].
    fn push(&mut self, now: i64, job: u32, into: &mut Vec<u32>) {
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
        let (books, fair_shares) = (&self.books, &self.fair_shares);
        let standing = |partition: u16| facts::AssociationFactors {
            assoc: 0.0,
            fair_share: fair_shares[books.of_partition(partition).index()],
        };
        let evaluation = evaluator.evaluate(&facts, standing(first), &mut self.scratch);
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
                let (_, fair_share) = self.config.weighted_standing(standing(*partition));
                let variant = Evaluation { site: site(*partition), fair_share, ..variant };
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

    /// A job that waits, as policies see it in a book: in its first partition of that book.
    fn queued(&self, now: i64, job: u32, node: Node, book: BookAt) -> Queued<'s> {
        let partitions = self.setup.partitions(job);
        let in_book = partitions.iter().find(|partition| self.books.of_partition(**partition) == book);
        self.in_partition(now, job, node, in_book.copied().unwrap_or_default(), None)
    }

    /// A job as policies see it, in a partition.
    fn in_partition(
        &self,
        now: i64,
        job: u32,
        node: Node,
        partition: u16,
        seconds_left: Option<i64>,
    ) -> Queued<'s> {
        let setup = self.setup;
        let of = setup.job(job);
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

    /// Hands out what fair-share gives, in each book.
    fn distribute(&mut self, now: i64, waiting: &[u32]) {
        let nodes = self.tree.len();
        for book in self.books.iter_mut() {
            book.waiting.clear();
            book.waiting.resize(nodes, 0);
        }
        for job in waiting {
            let Some(node) = self.node(*job) else { continue };
            for book in self.books.of_job(self.setup, *job).iter() {
                self.books.get_mut(book).waiting[node.index()] += 1;
            }
        }
        for at in BookSet::from_numbers(0..self.books.count()).iter() {
            self.distribute_in(at, now, waiting);
        }
    }

    fn distribute_in(&mut self, at: BookAt, now: i64, waiting: &[u32]) {
        let (mut queue, mut running) = (Vec::new(), Vec::new());
        let book = self.books.get(at);
        if book.standing.looks_at_jobs() {
            for job in waiting {
                // The root stands for none, so that places are the same.
                let node = self.node(*job).or(self.tree.root());
                if let Some(node) = node.filter(|_| self.books.of_job(self.setup, *job).has(at)) {
                    queue.push(self.queued(now, *job, node, at));
                }
            }
            for (job, held) in book.usage.running() {
                let left = held.start + self.setup.planned(job, held.partition) - now;
                let job = self.in_partition(now, job, held.node, held.partition, Some(left));
                running.push(Running { job });
            }
        }
        let (workload, places) = (self.setup.workload, &self.places);
        let names = |node| names(workload, places, node);
        let Book { standing, tree, usage, waiting } = self.books.get_mut(at);
        let ground = Ground { tree, names: &names, usage: usage.counted(), waiting, now };
        standing.distribute(&ground, &queue, &running);
    }

    /// What was used in all books goes to the points.
    fn weigh(&mut self) {
        let Some(points) = &mut self.points else { return };
        self.usage.clear();
        self.usage.resize(self.tree.len(), 0.0);
        for book in self.books.iter() {
            for (sum, used) in self.usage.iter_mut().zip(book.usage.by_node()) {
                *sum += used;
            }
        }
        points.cycle(self.setup, &self.tree, &self.usage);
    }
}

impl Order for Multifactor<'_> {
    fn period(&self) -> Option<u32> {
        Some(self.period)
    }

    fn submit(&mut self, now: i64, job: u32, priorities: &mut Vec<u32>) {
        let node = self.node(job).filter(|_| self.config.weights.fair_share != 0);
        for at in self.books.of_job(self.setup, job).iter() {
            let queued = node.map(|node| self.queued(now, job, node, at));
            let Book { standing, tree, .. } = self.books.get_mut(at);
            self.fair_shares[at.index()] = queued.map_or(0.0, |queued| standing.submit(tree, &queued));
        }
        self.push(now, job, priorities);
    }

    fn start(&mut self, started: Started) {
        let Started { job, partition, at } = started;
        let Some(node) = self.node(job) else { return };
        let factor = self.setup.workload.qos[usize::from(self.setup.job(job).qos)].usage_factor;
        let rate =
            self.setup.billing(job, partition) * factor * self.charges.factor(self.setup, job, partition);
        let rate = if rate.is_finite() { rate.max(0.0) } else { 0.0 };
        let book = self.books.of_partition(partition);
        self.books.get_mut(book).usage.start(job, node, at, partition, rate);
    }

    fn end(&mut self, now: i64, job: u32) {
        let minimum = self.charges.minimum();
        for Book { usage, tree, .. } in self.books.iter_mut() {
            if usage.end(tree, now, job, minimum) {
                break;
            }
        }
    }

    fn cycle(&mut self, now: i64, waiting: &[u32], set: &mut dyn FnMut(u32, &[u32])) {
        if let Some((period, next)) = &mut self.reset {
            if now >= *next {
                self.books.iter_mut().for_each(|book| book.usage.reset());
                *next = period.next(now, &Zone(&TimeZone::UTC)).unwrap_or(i64::MAX);
            }
        }
        for Book { usage, tree, .. } in self.books.iter_mut() {
            usage.cycle(tree, now);
        }
        self.weigh();
        self.distribute(now, waiting);
        let mut priorities = std::mem::take(&mut self.priorities);
        self.places_in_queues.fill(0);
        for job in waiting {
            let node = self.node(*job);
            for book in self.books.of_job(self.setup, *job).iter() {
                let place = &mut self.places_in_queues[book.index()];
                let of_waiting = |node| self.books.get(book).standing.of_waiting(*place, node);
                self.fair_shares[book.index()] = node.map_or(0.0, of_waiting);
                *place += 1;
            }
            priorities.clear();
            self.push(now, *job, &mut priorities);
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
