//! Finds the jobs ahead of a job that compete for the same nodes: in its partition, and in partitions that share nodes with it.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use schemars::JsonSchema;
use serde::Serialize;
use slurm_text::hosts;

use crate::model::order::WholeQueue;
use crate::model::{Model, Slot};
use crate::output::numbers::count;

/// Jobs of another partition that come first and may take the same nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Sharing {
    /// The other partition.
    pub partition: String,
    /// How many nodes both have.
    pub nodes: usize,
    /// How many nodes the job's own partition has.
    pub of: usize,
    /// How many jobs of it come first.
    pub jobs: usize,
    /// How many of these because their partition has a higher `PriorityTier`.
    pub by_tier: usize,
}

/// What other partitions have before a place of the queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Elsewhere {
    /// Jobs before it, in whatever partition.
    pub jobs: usize,
    /// Those that may take its nodes, and in how many partitions; `None` if it is not known which nodes partitions have.
    pub sharing: Option<(usize, Vec<Sharing>)>,
}

/// The nodes of a partition; `None` if they are not told.
fn nodes(model: &Model<'_>, name: &str) -> Option<BTreeSet<String>> {
    let partition = model.snapshot.partitions.iter().find(|partition| partition.name == name)?;
    hosts::names(&partition.nodes).filter(|nodes| !nodes.is_empty())
}

/// Looks at what is before a place: each job once, and none of those `before` it in its own partition.
pub(super) fn elsewhere(model: &Model<'_>, queue: &WholeQueue, at: usize, before: &[&Slot]) -> Elsewhere {
    let slot = &queue.slots[at];
    let own = model.partition_of(slot);
    let in_own: HashSet<usize> = before.iter().map(|other| other.job).collect();
    let mut by_partition: BTreeMap<&str, Vec<&Slot>> = BTreeMap::new();
    let mut jobs = HashSet::new();
    for other in &queue.slots[..at] {
        let partition = model.partition_of(other);
        if partition != own && other.job != slot.job && !in_own.contains(&other.job) {
            by_partition.entry(partition).or_default().push(other);
            jobs.insert(other.job);
        }
    }
    Elsewhere { jobs: jobs.len(), sharing: sharing(model, slot, own, &by_partition) }
}

fn sharing(
    model: &Model<'_>,
    slot: &Slot,
    own: &str,
    before: &BTreeMap<&str, Vec<&Slot>>,
) -> Option<(usize, Vec<Sharing>)> {
    if before.is_empty() {
        return Some((0, Vec::new()));
    }
    let of_own = nodes(model, own)?;
    let (mut jobs, mut all) = (HashSet::new(), Vec::new());
    for (partition, slots) in before {
        let shared = nodes(model, partition)?.intersection(&of_own).count();
        if shared == 0 {
            continue;
        }
        let of_partition: HashSet<usize> = slots.iter().map(|other| other.job).collect();
        let by_tier: HashSet<usize> =
            slots.iter().filter(|other| other.tier > slot.tier).map(|other| other.job).collect();
        all.push(Sharing {
            partition: (*partition).to_owned(),
            nodes: shared,
            of: of_own.len(),
            jobs: of_partition.len(),
            by_tier: by_tier.len(),
        });
        jobs.extend(of_partition);
    }
    all.sort_by(|a, b| b.jobs.cmp(&a.jobs).then_with(|| a.partition.cmp(&b.partition)));
    Some((jobs.len(), all))
}

/// The same in words: "3 jobs of other partitions stand before it for nodes that it may use: …".
pub(super) fn sentence(jobs: usize, sharing: &[Sharing]) -> String {
    let one = |of: &Sharing| {
        let by_tier = match of.by_tier {
            0 => String::new(),
            all if all == of.jobs => ", by a higher PriorityTier".to_owned(),
            some => format!(", {some} of them by a higher PriorityTier"),
        };
        let nodes = match of.nodes {
            all if all == of.of => "all of them".to_owned(),
            some => format!("{some} of these {}", of.of),
        };
        format!("{} in {}, which has {nodes}{by_tier}", of.jobs, of.partition)
    };
    let named: Vec<String> = sharing.iter().take(NAMED).map(one).collect();
    let more = match sharing.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {}", count(more, "more partition", "more partitions")),
    };
    let verb = if jobs == 1 { "stands" } else { "stand" };
    format!(
        "{} of other partitions {verb} before it for nodes that it may use: {}{more}.",
        count(jobs, "job", "jobs"),
        named.join("; ")
    )
}

/// How many partitions are named; JSON has all.
const NAMED: usize = 4;
