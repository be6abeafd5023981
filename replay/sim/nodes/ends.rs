//! What running jobs free if they end with their limits, in the order of their ends.
//!
//! A pass scans it thousands of times, so it is contiguous in memory, with what most jobs have: CPUs and memory.

use std::ops::Range;
use std::rc::Rc;

use fixedbitset::FixedBitSet;

use super::free::{Free, Part};
use super::Nodes;

/// A running job.
#[derive(Clone, Copy, Debug)]
struct Job {
    end: i64,
    /// Behind its last part.
    behind: u32,
}

/// What a job gives back on a node.
#[derive(Clone, Copy, Debug)]
struct Given {
    memory: i64,
    cpus: i32,
    job: u32,
    /// Where there is more to give.
    more: Option<u32>,
}

/// All ends. A place stands for what one job has on one node.
#[derive(Debug, Default)]
pub struct Ends {
    jobs: Vec<Job>,
    /// By place.
    nodes: Vec<u32>,
    given: Vec<Given>,
    parts: Vec<Rc<[Part]>>,
    is_known: bool,
}

impl Ends {
    /// Others run now.
    pub fn forget(&mut self) {
        self.is_known = false;
    }

    /// Those of the jobs that run now, unless that is known.
    pub fn learn(&mut self, nodes: &Nodes) {
        if std::mem::replace(&mut self.is_known, true) {
            return;
        }
        self.jobs.clear();
        self.nodes.clear();
        self.given.clear();
        self.parts.clear();
        for (job, running) in (0..).zip(nodes.running()) {
            for (at, part) in (0..).zip(&*running.parts) {
                let more = (!part.gres.is_empty()).then_some(at);
                self.nodes.push(part.node);
                self.given.push(Given { memory: part.memory, cpus: part.cpus, job, more });
            }
            let behind = u32::try_from(self.given.len()).unwrap_or(u32::MAX);
            self.jobs.push(Job { end: running.end, behind });
            self.parts.push(running.parts.clone());
        }
    }

    /// The first place of a job that ends after a time.
    pub fn after(&self, time: i64) -> usize {
        let job = self.jobs.partition_point(|job| job.end <= time);
        job.checked_sub(1).map_or(0, |before| self.jobs[before].behind as usize)
    }

    /// The first place from one on and before another that is on one of some nodes, and its job.
    pub fn next_on(&self, nodes: &FixedBitSet, places: Range<usize>) -> Option<usize> {
        let begin = places.start;
        let found = self.nodes.get(places)?.iter().position(|node| nodes.contains(*node as usize))?;
        Some(self.given[begin + found].job as usize)
    }

    /// When a job ends; `None` behind the last.
    pub fn end(&self, job: usize) -> Option<i64> {
        self.jobs.get(job).map(|job| job.end)
    }

    /// The places of a job.
    pub fn of(&self, job: usize) -> Range<usize> {
        let begin = job.checked_sub(1).map_or(0, |before| self.jobs[before].behind);
        begin as usize..self.jobs[job].behind as usize
    }

    /// The node of a place.
    pub fn node(&self, place: usize) -> usize {
        self.nodes[place] as usize
    }

    /// Gives back what stands at a place.
    pub fn give(&self, place: usize, free: &mut Free) {
        let Given { memory, cpus, job, more } = self.given[place];
        match more {
            None => free.give_plain(self.node(place), cpus, memory),
            Some(at) => free.give(&self.parts[job as usize][at as usize]),
        }
    }
}
