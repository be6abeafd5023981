//! Jobs as a machine sees them: in which of its partitions, with how many CPUs, on how many nodes, for how long.

use rustc_hash::FxHashSet;

use super::{Job, Machine, Workload, NO_LIMIT};

/// What a job without any limit is planned with: a year, as in Slurm.
const YEAR: u32 = 365 * 86_400;

/// A workload on a machine.
#[derive(Debug)]
pub struct Setup<'s> {
    /// The workload.
    pub workload: &'s Workload,
    /// The machine.
    pub machine: &'s Machine,
    /// Partitions of the machine, by [`Job::partitions`].
    sets: Vec<Box<[u16]>>,
    capacities: Vec<u64>,
    on_nodes: Option<OnNodes>,
}

/// What is known where jobs run on nodes.
#[derive(Debug)]
struct OnNodes {
    /// Memory can run out (`SelectTypeParameters=…_Memory`).
    by_memory: bool,
    /// By set of generic resources of jobs: kinds of the machine, with how many.
    gres: Vec<Box<[(u16, u32)]>>,
    /// The largest node of each partition in each respect.
    largest: Vec<Largest>,
    /// Jobs that can never start in a partition.
    misfits: FxHashSet<(u32, u16)>,
}

/// The most that a node of a partition has.
#[derive(Clone, Debug, Default)]
struct Largest {
    cpus: u32,
    memory: u64,
    gres: Vec<u32>,
}

/// What a job wants of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Want {
    /// CPUs in all.
    pub cpus: i32,
    /// Nodes at least, and at most unless it spreads.
    pub nodes: i32,
    /// Any number of nodes will do.
    pub spreads: bool,
    /// Nodes of which nobody else has anything.
    pub whole: bool,
    /// CPUs on each node; 0 where it does not matter which node has how many.
    pub each: i32,
    /// MB on each node; of each CPU where it spreads. 0 where memory does not run out.
    pub memory: i64,
    /// A set of generic resources, for [`Setup::gres_each`].
    pub gres: u16,
}

impl<'s> Setup<'s> {
    /// Finds the partitions of all jobs. CPUs of a pool are alike.
    pub fn new(workload: &'s Workload, machine: &'s Machine) -> Self {
        let place = |name: &str| {
            let found = machine.partitions.iter().position(|partition| partition.name == name);
            found.and_then(|place| u16::try_from(place).ok())
        };
        let of_set = |set: &[u16]| -> Box<[u16]> {
            if machine.partitions.len() == 1 {
                return [0].into();
            }
            set.iter().filter_map(|name| place(workload.partitions.name(u32::from(*name)))).collect()
        };
        Self {
            workload,
            machine,
            sets: workload.partition_sets.iter().map(|set| of_set(set)).collect(),
            capacities: machine.partitions.iter().map(|partition| machine.cpus_of(partition)).collect(),
            on_nodes: None,
        }
    }

    /// The same where jobs run on nodes. `fits` says whether nodes of a partition that nobody else uses can take a job.
    pub fn on_nodes(
        workload: &'s Workload,
        machine: &'s Machine,
        fits: impl Fn(&Self, Want, u16) -> bool,
    ) -> Self {
        let mut setup = Self::new(workload, machine);
        let select = workload.config.get("SelectTypeParameters").unwrap_or_default().to_ascii_lowercase();
        let kind = |kind: u16| {
            let name = workload.gres.kinds.name(u32::from(kind));
            machine.gres.iter().position(|of| of == name).and_then(|place| u16::try_from(place).ok())
        };
        // What no node has is not tracked, and cannot run out.
        let set =
            |set: &[(u16, u32)]| set.iter().filter_map(|(of, count)| Some((kind(*of)?, *count))).collect();
        setup.on_nodes = Some(OnNodes {
            by_memory: select.contains("memory"),
            gres: (0..workload.gres.len())
                .map(|place| set(workload.gres.set(u16::try_from(place).unwrap_or_default())))
                .collect(),
            largest: machine.partitions.iter().map(|partition| largest(machine, &partition.pools)).collect(),
            misfits: FxHashSet::default(),
        });
        let mut known = rustc_hash::FxHashMap::default();
        let mut misfits = FxHashSet::default();
        for job in 0..u32::try_from(workload.jobs.len()).unwrap_or(u32::MAX) {
            for partition in setup.partitions(job) {
                let want = setup.want(job, *partition);
                if !*known.entry((want, *partition)).or_insert_with(|| fits(&setup, want, *partition)) {
                    misfits.insert((job, *partition));
                }
            }
        }
        if let Some(on_nodes) = &mut setup.on_nodes {
            on_nodes.misfits = misfits;
        }
        setup
    }

    /// A job.
    pub fn job(&self, job: u32) -> &'s Job {
        &self.workload.jobs[job as usize]
    }

    /// The partitions of the machine that a job asks for.
    pub fn partitions(&self, job: u32) -> &[u16] {
        &self.sets[usize::from(self.job(job).partitions)]
    }

    /// How many CPUs a job takes in a partition.
    pub fn cpus(&self, job: u32, partition: u16) -> u32 {
        let cpus = self.job(job).cpus;
        match self.machine.partitions[usize::from(partition)].grain {
            0 | 1 => cpus,
            grain => cpus.checked_next_multiple_of(grain).unwrap_or(cpus),
        }
    }

    /// Whether a job can start at all in a partition.
    pub fn fits(&self, job: u32, partition: u16) -> bool {
        match &self.on_nodes {
            Some(on_nodes) => !on_nodes.misfits.contains(&(job, partition)),
            None => u64::from(self.cpus(job, partition)) <= self.capacities[usize::from(partition)],
        }
    }

    /// What a job wants of the nodes of a partition. It ran once: where today's nodes are smaller than it needs, it takes the largest.
    pub fn want(&self, job: u32, partition: u16) -> Want {
        let job = self.job(job);
        let Some(on_nodes) = &self.on_nodes else {
            let cpus = i32::try_from(job.cpus).unwrap_or(i32::MAX);
            return Want { cpus, nodes: 1, spreads: true, whole: false, each: 0, memory: 0, gres: 0 };
        };
        let largest = &on_nodes.largest[usize::from(partition)];
        let whole = self.machine.partitions[usize::from(partition)].exclusive;
        let most = largest.cpus.max(1);
        let nodes = if job.nodes == 0 { job.cpus.div_ceil(most) } else { job.nodes };
        let nodes = nodes.clamp(1, job.cpus.max(1));
        let spreads = !whole && (job.spreads || job.cpus.div_ceil(nodes) > most);
        let each = if nodes > 1 && !spreads { job.cpus.div_ceil(nodes) } else { 0 };
        let memory = match (on_nodes.by_memory, largest.memory, spreads) {
            (false, ..) | (_, 0, _) => 0,
            (_, _, true) => job.memory / u64::from(job.cpus),
            (_, most, false) => job.memory.div_ceil(u64::from(nodes)).min(most),
        };
        let number = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
        Want {
            cpus: number(job.cpus),
            nodes: if spreads { 1 } else { number(nodes) },
            spreads,
            whole,
            each: number(each),
            memory: i64::try_from(memory).unwrap_or(i64::MAX),
            gres: job.gres,
        }
    }

    /// What a job wants of each node of generic resources: a kind of the machine, and how many of it.
    pub fn gres_each(&self, want: Want, partition: u16) -> impl Iterator<Item = (usize, i32)> + '_ {
        let on_nodes = self.on_nodes.as_ref();
        on_nodes.into_iter().flat_map(move |on_nodes| {
            let largest = &on_nodes.largest[usize::from(partition)];
            on_nodes.gres[usize::from(want.gres)].iter().map(move |(kind, count)| {
                let each =
                    count.div_ceil(want.nodes.unsigned_abs().max(1)).min(largest.gres[usize::from(*kind)]);
                (usize::from(*kind), i32::try_from(each).unwrap_or(i32::MAX))
            })
        })
    }

    /// How long a scheduler has to reckon with a job in a partition, in seconds: its limit, at most that of the partition, and never less
    /// than it runs, as the run was recorded.
    pub fn planned(&self, job: u32, partition: u16) -> i64 {
        let job = self.job(job);
        let most = self.machine.partitions[usize::from(partition)].max_time;
        let planned = match (job.limit, most) {
            (NO_LIMIT, NO_LIMIT) => YEAR,
            (limit, most) => limit.min(most),
        };
        i64::from(planned.max(job.run).max(1))
    }

    /// What a job counts per second in a partition.
    pub fn billing(&self, job: u32, partition: u16) -> f64 {
        self.machine.partitions[usize::from(partition)].billing.of(self.job(job))
    }
}

/// The most that a node in some pools has of each.
fn largest(machine: &Machine, pools: &[u16]) -> Largest {
    let mut largest = Largest { gres: vec![0; machine.gres.len()], ..Largest::default() };
    for node in machine.nodes.iter().filter(|node| pools.contains(&node.pool)) {
        largest.cpus = largest.cpus.max(node.cpus);
        largest.memory = largest.memory.max(node.memory);
        for (most, count) in largest.gres.iter_mut().zip(&node.gres) {
            *most = (*most).max(*count);
        }
    }
    largest
}
