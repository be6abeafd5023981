//! Runs one pass of Slurm's schedulers over a given queue and given running jobs, to compare it with a real pass.

use std::rc::Rc;

use super::allocation::Allocation;
use super::nodes::{Nodes, Part};
use super::slurm::{Parameters, Slurm};
use super::world::{Delays, Entry, World};
use super::{setup, Scheduler, NEVER};
use crate::order::Policy;
use crate::workload::{Machine, Setup, Workload};

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// The main scheduler, over this number of entries; over all if none is given.
    Main(Option<u32>),
    /// Backfill.
    Backfill,
}

/// A job that runs, or starts: its place in [`Workload::jobs`], since when, and on which nodes. On several it has as many CPUs of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runs {
    /// The job.
    pub job: u32,
    /// Since when.
    pub since: i64,
    /// Its nodes, by place in [`Machine::nodes`].
    pub nodes: Vec<u32>,
}

/// Makes passes over a workload on a machine whose nodes are known.
#[derive(Debug)]
pub struct Passes<'s> {
    setup: Setup<'s>,
    parameters: Parameters,
}

impl<'s> Passes<'s> {
    /// Of jobs that all ask for the first partition.
    pub fn new(workload: &'s Workload, machine: &'s Machine, parameters: &Parameters) -> Self {
        let scheduler = Scheduler::Slurm(parameters.clone());
        Self { setup: setup(workload, machine, &scheduler), parameters: parameters.clone() }
    }

    /// The jobs that start in a pass, in their order, where `ending` are nodes that clean up after a job, and `waiting` is the queue in
    /// its order.
    pub fn make(&self, pass: Pass, now: i64, running: &[Runs], ending: &[u32], waiting: &[u32]) -> Vec<Runs> {
        let order = Policy::Fifo.order(&self.setup);
        let mut nodes = Nodes::new(self.setup.machine);
        for node in ending {
            nodes.begin_cleaning(*node);
        }
        let mut world = World::new(&self.setup, order, Delays::default(), Some(nodes), None);
        for runs in running {
            world.now = runs.since;
            let parts = self.parts(runs);
            world.start(self.entry(runs.job, 0), Allocation::Nodes(parts));
        }
        world.now = now;
        world.queue = (0..).zip(waiting).map(|(place, job)| self.entry(*job, place)).collect();
        Slurm::new(self.parameters.clone(), false, true).make(&mut world, pass);
        waiting
            .iter()
            .filter(|job| world.started_at(**job) != NEVER)
            .map(|job| Runs { job: *job, since: now, nodes: world.nodes_of(*job) })
            .collect()
    }

    fn entry(&self, job: u32, place: u32) -> Entry {
        Entry::new(1, u32::MAX - place, job, self.setup.partitions(job)[0])
    }

    fn parts(&self, runs: &Runs) -> Rc<[Part]> {
        let want = self.setup.want(runs.job, self.setup.partitions(runs.job)[0]);
        let count = i32::try_from(runs.nodes.len()).unwrap_or(i32::MAX).max(1);
        let gres: Vec<_> = self.setup.gres_each(want, self.setup.partitions(runs.job)[0]).collect();
        let part = |node: &u32| Part {
            node: *node,
            pool: self.setup.machine.nodes[*node as usize].pool,
            cpus: want.cpus / count,
            memory: want.memory,
            gres: gres.clone(),
        };
        runs.nodes.iter().map(part).collect()
    }
}
