//! `scontrol -o show partition`, and what the cluster has in all.

use std::collections::BTreeSet;

use multifactor2_replay::trace::hosts;

use super::{field, is_of_cluster, minutes, text, tres, whole, Unread};

/// A partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// `PriorityTier`
    pub tier: u32,
    /// `PriorityJobFactor`
    pub job_factor: u32,
    /// `MaxTime` in minutes; `None` for no limit.
    pub max_time: Option<u32>,
    /// `State`
    pub state: String,
    /// What it has.
    pub tres: Vec<(String, u64)>,
    /// `TRESBillingWeights`
    pub billing_weights: String,
    /// `QoS`
    pub qos: String,
    /// `Default`
    pub is_default: bool,
    /// `DefaultTime` in minutes; `None` for none, or no limit.
    pub default_time: Option<u32>,
    /// Its nodes, where they can be told apart.
    nodes: Option<BTreeSet<String>>,
}

/// All lines.
pub fn partitions(text: &str) -> (Vec<Part>, Unread) {
    let mut unread = Unread::default();
    let mut rows = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        if line.trim().is_empty() || is_of_cluster(line) || line.starts_with("No partitions in the system") {
            continue;
        }
        match part(line) {
            Some(row) => rows.push(row),
            None => unread.note(number),
        }
    }
    (rows, unread)
}

fn part(line: &str) -> Option<Part> {
    let name = line.strip_prefix("PartitionName=")?;
    let name = &name[..name.find(" AllowGroups=")?];
    let known = field(line, "TRES").map(tres).unwrap_or_default();
    let mut known: Vec<(String, u64)> =
        known.into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
    // Not every release prints TRES.
    for (tres, column) in [("cpu", "TotalCPUs"), ("node", "TotalNodes")] {
        if let Some(count) =
            field(line, column).and_then(whole).filter(|_| known.iter().all(|(name, _)| name != tres))
        {
            known.push((tres.to_owned(), count));
        }
    }
    Some(Part {
        name: name.to_owned(),
        tier: field(line, "PriorityTier").and_then(whole)?,
        job_factor: field(line, "PriorityJobFactor").and_then(whole)?,
        max_time: field(line, "MaxTime").and_then(minutes),
        state: field(line, "State").unwrap_or_default().to_owned(),
        tres: known,
        billing_weights: text(field(line, "TRESBillingWeights").unwrap_or_default()),
        qos: text(field(line, "QoS").unwrap_or_default()),
        is_default: field(line, "Default") == Some("YES"),
        default_time: field(line, "DefaultTime").and_then(minutes),
        nodes: field(line, "Nodes").and_then(hosts::names),
    })
}

/// What all nodes in partitions have; `None` where partitions overlap in a way that it cannot be told from.
pub fn whole_cluster(parts: &[Part]) -> Option<Vec<(String, u64)>> {
    let with: Vec<(&Part, &BTreeSet<String>)> =
        parts.iter().map(|part| Some((part, part.nodes.as_ref()?))).collect::<Option<_>>()?;
    let mut seen = BTreeSet::new();
    let mut total: Vec<(String, u64)> = Vec::new();
    let mut by_size = with;
    by_size.sort_by_key(|(_, nodes)| std::cmp::Reverse(nodes.len()));
    for (part, nodes) in by_size {
        if nodes.is_subset(&seen) {
            continue;
        }
        if !nodes.is_disjoint(&seen) {
            return None;
        }
        seen.extend(nodes.iter().cloned());
        for (name, count) in &part.tres {
            match total.iter_mut().find(|(known, _)| known == name) {
                Some((_, sum)) => *sum = sum.saturating_add(*count),
                None => total.push((name.clone(), *count)),
            }
        }
    }
    Some(total)
}
