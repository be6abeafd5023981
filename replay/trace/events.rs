//! Reads what happened to nodes and limits while a trace was recorded: `sacctmgr -P show event` and `sacctmgr -P show transactions`.

use std::collections::BTreeSet;

use slurm_text::dates::time;
use slurm_text::partitions::Partition;
use slurm_text::{hosts, tres};

use crate::workload::outages::{outages, NodeAway, Outage, Reservation};

/// Limits as their columns are called in the database; others of a transaction change none.
const OF_LIMITS: [&str; 3] = ["grp_", "max_", "min_"];

/// How many changes of limits are named.
const MOST: usize = 20;

/// Rows of a table between bars, as the cells of the wanted columns; a column that is missing gives empty cells.
fn rows<'t, const N: usize>(text: &'t str, wanted: [&[&str]; N]) -> impl Iterator<Item = [&'t str; N]> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split('|').map(str::trim).collect();
    let places = wanted
        .map(|names| header.iter().position(|name| names.iter().any(|one| name.eq_ignore_ascii_case(one))));
    lines.map(move |line| {
        let cells: Vec<&str> = line.split('|').collect();
        places.map(|place| place.and_then(|at| cells.get(at)).map_or("", |cell| cell.trim()))
    })
}

/// When nodes were away; an event without an end lasts until `now`.
pub fn away(text: &str, now: i64) -> Vec<NodeAway> {
    let rows = rows(text, [&["NodeName"], &["TimeStart", "Start"], &["TimeEnd", "End"], &["TRES"]]);
    rows.filter_map(|[node, from, until, size]| {
        let cpus = tres::list(size).into_iter().find(|(name, _)| *name == "cpu")?.1;
        // Without a node it is of the cluster: it registered with these TRES.
        (!node.is_empty()).then_some(())?;
        Some(NodeAway {
            node: node.to_owned(),
            from: time(from).ok()??,
            until: time(until).ok().flatten().unwrap_or(now),
            cpus: u32::try_from(cpus).ok()?,
        })
    })
    .collect()
}

/// Reservations with their nodes. Those without nodes, such as of licences, keep nobody away.
pub fn reservations(text: &str) -> Vec<Reservation> {
    let rows = rows(text, [&["TimeStart", "Start"], &["TimeEnd", "End"], &["NodeNames", "NodeName"]]);
    rows.filter_map(|[from, until, nodes]| {
        Some(Reservation {
            from: time(from).ok()??,
            until: time(until).ok().flatten().unwrap_or(i64::MAX),
            nodes: hosts::in_order(nodes).filter(|nodes| !nodes.is_empty())?,
        })
    })
    .collect()
}

/// The outages of all partitions.
pub fn of_partitions(away: &[NodeAway], partitions: &[Partition]) -> Vec<Outage> {
    let mut found = Vec::new();
    for partition in partitions {
        let names: BTreeSet<String> = hosts::names(&partition.node_list).unwrap_or_default();
        let of_it: Vec<NodeAway> = away.iter().filter(|event| names.contains(&event.node)).cloned().collect();
        found.extend(outages(&partition.name, u64::from(partition.cpus.unwrap_or_default()), &of_it));
    }
    found
}

/// Changes of limits after one time and until another: when, and of what, in words. What was changed in the second of the first submission
/// was mostly changed before it.
pub fn changed_limits(text: &str, from: i64, until: i64) -> Vec<String> {
    let rows = rows(text, [&["Time", "TimeStamp"], &["Action"], &["Info"]]);
    let changes = rows.filter_map(|[at, action, info]| {
        let at = time(at).ok()??;
        let names: BTreeSet<&str> = info
            .split([' ', ',', '\''])
            .filter_map(|word| word.split_once('=').map_or(Some(word), |(name, _)| Some(name)))
            .filter(|name| OF_LIMITS.iter().any(|of| name.starts_with(of)))
            .filter(|name| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'))
            .collect();
        if at <= from || at > until || names.is_empty() {
            return None;
        }
        let names: Vec<&str> = names.into_iter().collect();
        let date = slurm_text::dates::shown(at);
        Some(format!("{date}: {} changed {}", slurm_text::lines::excerpt(action), names.join(", ")))
    });
    changes.take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_nodes_make_outages_of_their_partitions() {
        let text = "Cluster|NodeName|TimeStart|TimeEnd|State|TRES\nc||1000|2000|CLUSTER|cpu=8\nc|n1|1000|9000|DOWN|billing=4,cpu=4\n\
             c|n9|1000|9000|DOWN|cpu=4\nc|n2|5000|Unknown|DRAIN|cpu=4\nbad\n";
        let (partitions, _) = slurm_text::partitions::partitions(
            "PartitionName=p\n   Nodes=n[1-2]\n   TotalCPUs=8 TotalNodes=2\n\nPartitionName=q\n   Nodes=n3\n   TotalCPUs=4 TotalNodes=1\n",
        );
        let found = of_partitions(&away(text, 10_000), &partitions);
        let found: Vec<(&str, i64, i64)> =
            found.iter().map(|of| (of.partition.as_str(), of.from, of.until)).collect();
        assert_eq!(found, [("p", 1000, 10_000)]);
    }

    #[test]
    fn reservations_have_nodes() {
        let text = "Cluster|Name|TRES|TimeStart|TimeEnd|NodeName\nc|one|cpu=8|1000|2000|n[1-2]\nc|two||1000|Unknown|n3\n\
             c|lic|license/x=1|1000|2000|\nbad\n";
        let of = |from, until, nodes: &[&str]| Reservation {
            from,
            until,
            nodes: nodes.iter().map(|node| (*node).to_owned()).collect(),
        };
        assert_eq!(reservations(text), [of(1000, 2000, &["n1", "n2"]), of(1000, i64::MAX, &["n3"])]);
    }

    #[test]
    fn changes_of_limits_are_named_with_their_dates() {
        let text = "Time|Action|Actor|Where|Info\n1706702400|Modify Associations|root|(id_assoc=3)|grp_jobs=5, mod_time=1\n\
             1706702401|Modify QOS|root|(name='x')|priority=5\n1|Modify QOS|root|x|max_jobs_per_user=3\n";
        assert_eq!(
            changed_limits(text, 1_706_700_000, 1_706_800_000),
            ["2024-01-31T12:00:00: Modify Associations changed grp_jobs"]
        );
        assert!(changed_limits(text, 1_706_702_400, 1_706_800_000).is_empty(), "in the first second");
    }
}
