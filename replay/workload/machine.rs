//! The machine: CPUs in pools, partitions over pools, and nodes if they are known.
//!
//! Nodes in the same partitions form one pool, whose CPUs are all alike to the schedulers of the literature. A job takes its CPUs from the
//! pools of its partition, first from those in the fewest partitions. Slurm's own scheduler uses nodes, and pools only if no source has
//! nodes.

use std::collections::HashMap;
use std::fmt;

use super::{Job, Workload, NO_TIME};

/// The most pools and partitions.
const MOST: usize = 4096;

/// Nodes that are in the same partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// CPUs of all of them.
    pub cpus: u32,
    /// How many nodes.
    pub nodes: u32,
}

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// What it is called; empty where that is not known.
    pub name: String,
    /// Its pool, a place in [`Machine::pools`].
    pub pool: u16,
    /// CPUs that jobs can have.
    pub cpus: u32,
    /// MB of memory, 0 where that is not known.
    pub memory: u64,
    /// `Weight`: nodes with a lower one are taken first.
    pub weight: u32,
    /// How many it has of each kind of generic resource, by place in [`Machine::gres`].
    pub gres: Vec<u32>,
}

/// A node as a source tells of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToldNode {
    /// What it is called.
    pub name: String,
    /// CPUs that jobs can have.
    pub cpus: u32,
    /// MB of memory, 0 where that is not known.
    pub memory: u64,
    /// `Weight`
    pub weight: u32,
    /// Generic resources, such as `gpu` and `gpu:a100`, with how many there are.
    pub gres: Vec<(String, u32)>,
    /// Partitions that it is in.
    pub partitions: Vec<String>,
}

/// `TRESBillingWeights` of a partition: what usage counts by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BillingWeights {
    /// A CPU.
    pub cpu: f64,
    /// A GB of memory.
    pub memory: f64,
    /// A GPU.
    pub gpu: f64,
    /// A node.
    pub node: f64,
    /// `PriorityFlags=MAX_TRES`: the largest term counts instead of the sum.
    pub largest: bool,
}

impl BillingWeights {
    /// Without weights: a CPU counts 1, as in Slurm.
    pub const CPUS: Self = Self { cpu: 1.0, memory: 0.0, gpu: 0.0, node: 0.0, largest: false };

    /// What a job counts per second.
    #[allow(clippy::cast_precision_loss)] // MB of a job
    pub fn of(&self, job: &Job) -> f64 {
        let terms = [
            self.cpu * f64::from(job.cpus),
            self.memory * job.memory as f64 / 1024.0,
            self.gpu * f64::from(job.gpus),
            self.node * f64::from(job.nodes),
        ];
        if self.largest {
            terms.into_iter().fold(0.0, f64::max)
        } else {
            terms.into_iter().sum()
        }
    }
}

/// A partition.
#[derive(Clone, Debug, PartialEq)]
pub struct Partition {
    /// Its name.
    pub name: String,
    /// Places in [`Machine::pools`].
    pub pools: Vec<u16>,
    /// `PriorityTier`: partitions of a higher one come first.
    pub tier: u16,
    /// `PriorityJobFactor`
    pub job_factor: u32,
    /// `MaxTime` in seconds; [`NO_LIMIT`](super::NO_LIMIT) for none.
    pub max_time: u32,
    /// CPUs that a job gets come in multiples of this: those of a node where nodes are not shared, else 1.
    pub grain: u32,
    /// Jobs have whole nodes (`OverSubscribe=EXCLUSIVE`).
    pub exclusive: bool,
    /// What usage counts by.
    pub billing: BillingWeights,
    /// Its QOS, whose limits hold for its jobs; empty for none.
    pub qos: String,
}

impl Partition {
    /// A partition of which nothing else is known.
    pub fn plain(name: &str, pools: Vec<u16>) -> Self {
        Self {
            name: name.to_owned(),
            pools,
            tier: 1,
            job_factor: 1,
            max_time: super::NO_LIMIT,
            grain: 1,
            exclusive: false,
            billing: BillingWeights::CPUS,
            qos: String::new(),
        }
    }
}

/// The machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// Disjoint.
    pub pools: Vec<Pool>,
    /// Where there is one only, it takes all jobs, whatever partition they name.
    pub partitions: Vec<Partition>,
    /// All nodes, in the order in which slurmctld has them; none where the source does not tell of them.
    pub nodes: Vec<Node>,
    /// Kinds of generic resources that nodes have.
    pub gres: Vec<String>,
}

/// What is wrong with a description of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineError(String);

impl fmt::Display for MachineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for MachineError {}

impl Machine {
    /// This number of processors in one partition.
    pub fn of_procs(cpus: u32) -> Self {
        Self {
            pools: vec![Pool { cpus, nodes: 0 }],
            partitions: vec![Partition::plain("all", vec![0])],
            ..Self::default()
        }
    }

    /// Adds a partition with separate nodes, given as `NAME=NODESxCPUS` or `NAME=CPUS`: `gpu=40x8`.
    ///
    /// # Errors
    /// It is written otherwise, has no CPUs or more than 2,147,483,647, or its name exists already.
    pub fn add_partition(&mut self, text: &str) -> Result<(), MachineError> {
        let wrong = |why: &str| {
            MachineError(format!(
                "partition {text:?}: {why}; write NAME=NODESxCPUS, such as gpu=40x8, or NAME=CPUS"
            ))
        };
        let (name, size) = text.split_once('=').ok_or_else(|| wrong("there is no ="))?;
        let name = name.trim();
        if name.is_empty() || self.partitions.iter().any(|partition| partition.name == name) {
            return Err(wrong("the name is empty or given twice"));
        }
        let (nodes, cpus) = size.split_once(['x', 'X']).map_or((None, size), |(n, c)| (Some(n), c));
        let number = |text: &str| {
            text.trim()
                .parse::<u32>()
                .ok()
                .filter(|n| *n > 0)
                .ok_or_else(|| wrong("the size is no whole number above 0"))
        };
        let nodes = nodes.map(number).transpose()?;
        let cpus = u64::from(nodes.unwrap_or(1)) * u64::from(number(cpus)?);
        let cpus = u32::try_from(cpus).map_err(|_| wrong("it has more CPUs than can be counted"))?;
        let pool = u16::try_from(self.pools.len()).ok().filter(|_| self.pools.len() < MOST);
        let pool = pool.ok_or_else(|| wrong("there are too many partitions"))?;
        self.pools.push(Pool { cpus, nodes: nodes.unwrap_or_default() });
        self.partitions.push(Partition::plain(name, vec![pool]));
        self.check()
    }

    /// All CPUs.
    pub fn cpus(&self) -> u64 {
        self.pools.iter().map(|pool| u64::from(pool.cpus)).sum()
    }

    /// All nodes; 0 where that is not known.
    pub fn nodes(&self) -> u64 {
        self.pools.iter().map(|pool| u64::from(pool.nodes)).sum()
    }

    /// CPUs of a partition.
    pub fn cpus_of(&self, partition: &Partition) -> u64 {
        partition.pools.iter().map(|pool| u64::from(self.pools[usize::from(*pool)].cpus)).sum()
    }

    /// Checks that it can be simulated on.
    ///
    /// # Errors
    /// It has no CPUs or more than 2,147,483,647, no partition, too many, or one with pools that there are not.
    pub fn check(&self) -> Result<(), MachineError> {
        if self.cpus() == 0 || self.cpus() > i32::MAX as u64 {
            return Err(MachineError(format!(
                "the machine has {} CPUs; 1 to {} can be replayed",
                self.cpus(),
                i32::MAX
            )));
        }
        if self.partitions.is_empty() || self.partitions.len() > MOST || self.pools.len() > MOST {
            return Err(MachineError(format!(
                "the machine has {} partitions over {} kinds of nodes; 1 to {MOST} can be replayed",
                self.partitions.len(),
                self.pools.len()
            )));
        }
        for partition in &self.partitions {
            if partition.pools.iter().any(|pool| usize::from(*pool) >= self.pools.len()) {
                return Err(MachineError(format!(
                    "partition {} has nodes that are not known",
                    partition.name
                )));
            }
        }
        Ok(())
    }

    /// Makes pools of nodes: those with the same partitions are one. Nodes in no partition are left out.
    pub fn of_nodes(nodes: &[ToldNode], partitions: Vec<Partition>) -> Self {
        let mut machine = Self { partitions, ..Self::default() };
        for partition in &mut machine.partitions {
            partition.pools.clear();
        }
        for (kind, _) in nodes.iter().flat_map(|node| &node.gres) {
            if !machine.gres.contains(kind) {
                machine.gres.push(kind.clone());
            }
        }
        let mut kinds: HashMap<Vec<usize>, u16> = HashMap::new();
        for told in nodes {
            let place = |name: &String| machine.partitions.iter().position(|of| of.name == *name);
            let mut places: Vec<usize> = told.partitions.iter().filter_map(place).collect();
            places.sort_unstable();
            places.dedup();
            if places.is_empty() {
                continue;
            }
            let next = u16::try_from(machine.pools.len()).unwrap_or(u16::MAX);
            let place = *kinds.entry(places.clone()).or_insert(next);
            if place == next {
                machine.pools.push(Pool { cpus: 0, nodes: 0 });
                for place in places {
                    machine.partitions[place].pools.push(next);
                }
            }
            let pool = &mut machine.pools[usize::from(place)];
            pool.cpus = pool.cpus.saturating_add(told.cpus);
            pool.nodes += 1;
            let count =
                |kind: &String| told.gres.iter().find(|(of, _)| of == kind).map_or(0, |(_, count)| *count);
            let gres = machine.gres.iter().map(count).collect();
            let &ToldNode { cpus, memory, weight, .. } = told;
            machine.nodes.push(Node { name: told.name.clone(), pool: place, cpus, memory, weight, gres });
        }
        machine.order_pools();
        machine
    }

    /// Lets jobs take from those pools first that are in the fewest partitions.
    fn order_pools(&mut self) {
        let mut uses = vec![0_usize; self.pools.len()];
        for pool in self.partitions.iter().flat_map(|partition| &partition.pools) {
            uses[usize::from(*pool)] += 1;
        }
        for partition in &mut self.partitions {
            partition.pools.sort_by_key(|pool| (uses[usize::from(*pool)], *pool));
        }
    }

    /// The smallest machine on which the recorded jobs could have run as they did: for each partition the most CPUs that were in use
    /// at one time. Jobs that name several partitions are counted in the first.
    pub fn observed(workload: &Workload) -> Option<Self> {
        let mut changes: HashMap<u16, Vec<(i64, i64)>> = HashMap::new();
        for job in workload.jobs.iter().filter(|job| job.start != NO_TIME && job.run > 0) {
            let set = &workload.partition_sets[usize::from(job.partitions)];
            let of = changes.entry(set[0]).or_default();
            // At one time ends come before starts.
            of.push((job.start.saturating_add(i64::from(job.run)), -i64::from(job.cpus)));
            of.push((job.start, i64::from(job.cpus)));
        }
        let mut places: Vec<u16> = changes.keys().copied().collect();
        places.sort_unstable();
        let mut machine = Self::default();
        for place in places.into_iter().take(MOST) {
            let changes = changes.get_mut(&place)?;
            changes.sort_unstable();
            let (mut now, mut most) = (0_i64, 0_i64);
            for (_, change) in changes.iter() {
                now += change;
                most = most.max(now);
            }
            let pool = u16::try_from(machine.pools.len()).ok()?;
            machine.pools.push(Pool { cpus: u32::try_from(most).unwrap_or(u32::MAX), nodes: 0 });
            machine.partitions.push(Partition::plain(workload.partitions.name(u32::from(place)), vec![pool]));
        }
        machine.check().ok().map(|()| machine)
    }
}
