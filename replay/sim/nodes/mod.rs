//! Tracks what each job holds of each node, and what is free.
//!
//! Slurm's scheduler allocates nodes: a job needs its CPUs, its memory and its generic resources on the same ones. A job that ends frees
//! what it had at once, but its nodes take no other job until slurmd has cleaned up (`COMPLETING`).

mod choose;
mod ends;
mod free;

use std::collections::BTreeMap;
use std::rc::Rc;

use fixedbitset::FixedBitSet;

pub use choose::{Chooser, Search};
pub use ends::Ends;
pub use free::{Free, Part};

use crate::workload::{Machine, Node, Setup, Want};

/// A running job, as a plan sees it.
#[derive(Clone, Debug)]
pub struct Running {
    /// When it ends at the latest.
    pub end: i64,
    /// What it has.
    pub parts: Rc<[Part]>,
}

/// Nodes that are kept for jobs that a replay takes from the record.
#[derive(Debug)]
struct Reserved {
    from: i64,
    until: i64,
    nodes: FixedBitSet,
}

/// The nodes of a machine.
#[derive(Debug)]
pub struct Nodes {
    /// What is free.
    pub free: Free,
    /// By node: jobs that have ended there and are being cleaned up.
    ending: Vec<u32>,
    /// By partition: its nodes that take jobs.
    members: Vec<FixedBitSet>,
    /// By node: by how many events it is away.
    away: Vec<u32>,
    /// By node: its partitions.
    partitions: Vec<Vec<usize>>,
    reserved: Vec<Reserved>,
    /// By their end, then in the order in which they started.
    running: BTreeMap<(i64, u32), Running>,
}

impl Nodes {
    /// Nobody runs.
    pub fn new(machine: &Machine) -> Self {
        let count = machine.nodes.len();
        let members = |pools: &[u16]| {
            let mut members = FixedBitSet::with_capacity(count);
            members.extend((0..count).filter(|at| pools.contains(&machine.nodes[*at].pool)));
            members
        };
        let partitions = |node: &Node| -> Vec<usize> {
            (0..)
                .zip(&machine.partitions)
                .filter(|(_, of)| of.pools.contains(&node.pool))
                .map(|(at, _)| at)
                .collect()
        };
        Self {
            free: Free::new(machine),
            ending: vec![0; count],
            members: machine.partitions.iter().map(|partition| members(&partition.pools)).collect(),
            away: vec![0; count],
            partitions: machine.nodes.iter().map(partitions).collect(),
            reserved: Vec::new(),
            running: BTreeMap::new(),
        }
    }

    /// Nodes are kept for others for a time.
    pub fn reserve(&mut self, from: i64, until: i64, nodes: FixedBitSet) {
        self.reserved.push(Reserved { from, until, nodes });
    }

    /// Takes nodes out of a set that are kept for others at some time from one on and before another; true where there were any.
    pub fn take_reserved(&self, set: &mut FixedBitSet, from: i64, until: i64) -> bool {
        let mut were_any = false;
        for of in self.reserved.iter().filter(|of| of.from < until && from < of.until) {
            were_any |= !set.is_disjoint(&of.nodes);
            set.difference_with(&of.nodes);
        }
        were_any
    }

    /// When the first reservation ends that has not at a time (`find_resv_end` of `reservation.c`).
    pub fn reserved_until(&self, time: i64) -> Option<i64> {
        self.reserved.iter().map(|of| of.until).filter(|until| *until >= time).min()
    }

    /// A node goes away: what runs there goes on, as it was recorded, and nothing starts.
    pub fn leave(&mut self, node: usize) {
        self.away[node] += 1;
        self.set(node, false);
    }

    /// It comes back, unless another event keeps it away.
    pub fn come_back(&mut self, node: usize) {
        self.away[node] -= 1;
        if self.away[node] == 0 {
            self.set(node, true);
        }
    }

    fn set(&mut self, node: usize, takes_jobs: bool) {
        for partition in &self.partitions[node] {
            self.members[*partition].set(node, takes_jobs);
        }
    }

    /// The nodes of a partition that take jobs.
    pub fn members(&self, partition: u16) -> &FixedBitSet {
        &self.members[usize::from(partition)]
    }

    /// All that run, those first that end first.
    pub fn running(&self) -> impl Iterator<Item = &Running> {
        self.running.values()
    }

    /// By node: whether a job is being cleaned up there.
    pub fn is_ending(&self, node: usize) -> bool {
        self.ending[node] > 0
    }

    /// A job starts: the number of its start, its end at the latest, and what it gets.
    pub fn start(&mut self, number: u32, end: i64, parts: Rc<[Part]>) {
        parts.iter().for_each(|part| self.free.take(part));
        self.running.insert((end, number), Running { end, parts });
    }

    /// A job has ended. Its nodes take no other until [`Self::clean`].
    pub fn end(&mut self, number: u32, end: i64) {
        let Some(running) = self.running.remove(&(end, number)) else { return };
        for part in &*running.parts {
            self.free.give(part);
            self.ending[part.node as usize] += 1;
        }
    }

    /// A job has ended on a node, and has given back what it had there.
    pub fn begin_cleaning(&mut self, node: u32) {
        self.ending[node as usize] += 1;
    }

    /// Its nodes have been cleaned up.
    pub fn clean(&mut self, parts: &[Part]) {
        for part in parts {
            self.ending[part.node as usize] -= 1;
        }
    }
}

/// Whether nodes of a partition that nobody uses can take a job.
pub fn can_ever(setup: &Setup<'_>, nodes: &Nodes, want: Want, partition: u16) -> bool {
    let search = Search { setup, nodes: nodes.members(partition), want, partition };
    Chooser::default().choose(&search, &nodes.free, |_| false).is_some()
}
