//! Events that happen in a replay at their recorded times: submissions, nodes that go away and come back, reservations and their jobs.

use std::collections::VecDeque;

use fixedbitset::FixedBitSet;
use rustc_hash::{FxHashMap, FxHashSet};

use super::nodes::Nodes;
use super::world::Delays;
use crate::workload::{Fact, Job, Setup, NO_TIME};

/// All jobs in the order in which they become eligible, with the time at which that is seen.
pub fn arrivals(setup: &Setup<'_>, delays: Delays, frozen: &VecDeque<(i64, u32)>) -> Vec<(i64, u32)> {
    let jobs = &setup.workload.jobs;
    let frozen: FxHashSet<u32> = frozen.iter().map(|(_, job)| *job).collect();
    let mut arrivals: Vec<(i64, u32)> = (0..)
        .zip(jobs)
        .filter(|(at, _)| !frozen.contains(at))
        .map(|(at, job)| (job.eligible + delays.of_submission(job.id), at))
        .collect();
    arrivals.sort_by_key(|(time, _)| *time);
    arrivals
}

/// The places of nodes by their names.
fn places<'s>(setup: &Setup<'s>) -> FxHashMap<&'s str, usize> {
    setup.machine.nodes.iter().enumerate().map(|(place, node)| (node.name.as_str(), place)).collect()
}

/// When nodes go away and come back, by the events of the trace.
pub fn changes(setup: &Setup<'_>) -> VecDeque<(i64, usize, bool)> {
    let places = places(setup);
    let away = &setup.workload.away;
    let mut changes: Vec<(i64, usize, bool)> = away
        .iter()
        .filter(|event| event.until > event.from)
        .filter_map(|event| Some((event, *places.get(event.node.as_str())?)))
        .flat_map(|(event, place)| [(event.from, place, true), (event.until, place, false)])
        .collect();
    changes.sort_unstable();
    changes.into()
}

/// Jobs that ran in a reservation start as recorded, where the nodes of reservations are known.
pub fn frozen(setup: &Setup<'_>) -> VecDeque<(i64, u32)> {
    if setup.workload.reservations.is_empty() {
        return VecDeque::new();
    }
    let is_frozen = |(_, job): &(u32, &Job)| job.facts.has(Fact::Reservation) && job.start != NO_TIME;
    let jobs = (0..).zip(&setup.workload.jobs).filter(is_frozen);
    let mut frozen: Vec<(i64, u32)> = jobs.map(|(at, job)| (job.start, at)).collect();
    frozen.sort_unstable();
    frozen.into()
}

/// Keeps the nodes of reservations for their jobs.
pub fn reserve(nodes: &mut Nodes, setup: &Setup<'_>) {
    let places = places(setup);
    for of in &setup.workload.reservations {
        let mut kept = FixedBitSet::with_capacity(setup.machine.nodes.len());
        kept.extend(of.nodes.iter().filter_map(|name| places.get(name.as_str()).copied()));
        if !kept.is_clear() {
            nodes.reserve(of.from, of.until, kept);
        }
    }
}
