//! Reads partitions from `scontrol show partition`, with or without `-o`, and from slurm.conf, and what the cluster has in all.

use std::collections::BTreeSet;

use crate::durations::{Grammar, Length};
use crate::lines::{self, field, text, whole, Unread};
use crate::{hosts, tres};

/// A partition, as far as it is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The number of its first line, from 1; 0 where it is from elsewhere.
    pub line: usize,
    /// Its name.
    pub name: String,
    /// `PriorityTier`
    pub tier: Option<u32>,
    /// `PriorityJobFactor`
    pub job_factor: Option<u32>,
    /// `MaxTime`
    pub max_time: Length,
    /// `DefaultTime`
    pub default_time: Length,
    /// `State`
    pub state: String,
    /// What it has. Not every release prints `TRES`: CPUs and nodes are there in any case where they are told.
    pub tres: Vec<(String, u64)>,
    /// `TRESBillingWeights`
    pub billing_weights: String,
    /// `QoS`
    pub qos: String,
    /// `Default=YES`
    pub is_default: bool,
    /// `OverSubscribe=EXCLUSIVE`
    pub is_exclusive: bool,
    /// `TotalCPUs`
    pub cpus: Option<u32>,
    /// `TotalNodes`
    pub nodes: Option<u32>,
    /// `Nodes`, as it is written.
    pub node_list: String,
}

impl Partition {
    /// By its fields, with lengths of time in a grammar.
    pub fn of<'t>(name: &str, grammar: Grammar, value: impl Fn(&str) -> Option<&'t str>) -> Self {
        let number = |name: &str| value(name).and_then(whole);
        let string = |name: &str| value(name).map(text).unwrap_or_default().to_owned();
        let is = |name: &str, word: &str| value(name).is_some_and(|value| value.eq_ignore_ascii_case(word));
        let length = |name: &str| value(name).and_then(|text| grammar.read(text)).unwrap_or(Length::NotSet);
        let mut known: Vec<(String, u64)> =
            value("TRES").map(tres::list).unwrap_or_default().into_iter().map(owned).collect();
        let (cpus, nodes) = (number("TotalCPUs"), number("TotalNodes"));
        for (tres, count) in [("cpu", cpus), ("node", nodes)] {
            if let Some(count) = count.filter(|_| known.iter().all(|(name, _)| name != tres)) {
                known.push((tres.to_owned(), u64::from(count)));
            }
        }
        Self {
            line: 0,
            name: name.to_owned(),
            tier: number("PriorityTier"),
            job_factor: number("PriorityJobFactor"),
            max_time: length("MaxTime"),
            default_time: length("DefaultTime"),
            state: string("State"),
            tres: known,
            billing_weights: string("TRESBillingWeights"),
            qos: string("QoS"),
            is_default: is("Default", "YES"),
            is_exclusive: is("OverSubscribe", "EXCLUSIVE"),
            cpus,
            nodes,
            node_list: string("Nodes"),
        }
    }
}

fn owned((name, count): (&str, u64)) -> (String, u64) {
    (name.to_owned(), count)
}

/// All records.
pub fn partitions(text: &str) -> (Vec<Partition>, Unread) {
    let (records, unread) = lines::records(text, BEGIN);
    (records.iter().map(|(line, record)| partition(*line, record)).collect(), unread)
}

/// How a record begins.
const BEGIN: &str = "PartitionName=";

fn partition(line: usize, record: &str) -> Partition {
    // A name may have blanks, and this follows it.
    let name = record.strip_prefix(BEGIN).unwrap_or_default();
    let name = &name[..name.find(" AllowGroups=").or_else(|| name.find(' ')).unwrap_or(name.len())];
    Partition { line, ..Partition::of(name, Grammar::Limit, |name| field(record, name)) }
}

/// What all nodes in partitions have; `None` where partitions overlap in a way that it cannot be told from, or the nodes of one that has
/// some are not told.
pub fn whole_cluster(partitions: &[Partition]) -> Option<Vec<(String, u64)>> {
    let mut by_size: Vec<(&Partition, BTreeSet<String>)> = partitions
        .iter()
        .map(|partition| Some((partition, hosts::names(&partition.node_list)?)))
        .collect::<Option<_>>()?;
    by_size.sort_by_key(|(_, nodes)| std::cmp::Reverse(nodes.len()));
    let mut seen = BTreeSet::new();
    let mut total: Vec<(String, u64)> = Vec::new();
    for (partition, nodes) in by_size {
        if nodes.is_empty() && partition.tres.iter().any(|(_, count)| *count > 0) {
            return None;
        }
        if nodes.is_subset(&seen) {
            continue;
        }
        if !nodes.is_disjoint(&seen) {
            return None;
        }
        seen.extend(nodes);
        for (name, count) in &partition.tres {
            match total.iter_mut().find(|(known, _)| known == name) {
                Some((_, sum)) => *sum = sum.saturating_add(*count),
                None => total.push((name.clone(), *count)),
            }
        }
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEVERAL_LINES: &str = "PartitionName=main\n   AllowGroups=ALL AllowAccounts=ALL\n   Default=YES DefaultTime=NONE\n   MaxTime=2-00:00:00 Nodes=n[1-3]\n\
         \x20  PriorityJobFactor=10 PriorityTier=1 OverSubscribe=NO\n   State=UP TotalCPUs=24 TotalNodes=3\n   TRES=cpu=24,mem=3G,node=3\n\n\
         PartitionName=long\n   AllowGroups=ALL\n   MaxTime=UNLIMITED Nodes=n[2-3]\n   PriorityJobFactor=1 PriorityTier=2 OverSubscribe=EXCLUSIVE\n\
         \x20  State=UP TotalCPUs=16 TotalNodes=2\n   TRESBillingWeights=CPU=1.0,Mem=0.25G\n";

    #[test]
    fn a_partition_has_what_is_told() {
        let (rows, unread) = partitions(SEVERAL_LINES);
        assert_eq!(unread, Unread::default());
        let [main, long] = &rows[..] else { panic!("{rows:?}") };
        assert_eq!((main.name.as_str(), main.tier, main.job_factor), ("main", Some(1), Some(10)));
        assert_eq!((main.max_time, main.default_time), (Length::Seconds(172_800), Length::NotSet));
        assert!(main.is_default && !main.is_exclusive && long.is_exclusive && !long.is_default);
        let amounts = [("cpu", 24), ("mem", 3072), ("node", 3)].map(owned);
        assert_eq!((main.tres.as_slice(), main.cpus, main.nodes), (&amounts[..], Some(24), Some(3)));
        assert_eq!(
            (long.max_time, long.tres.as_slice()),
            (Length::Unlimited, &[("cpu", 16), ("node", 2)].map(owned)[..])
        );
        assert_eq!(long.billing_weights, "CPU=1.0,Mem=0.25G");
        assert_eq!(whole_cluster(&rows), Some(amounts.to_vec()));
    }

    #[test]
    fn one_line_says_the_same() {
        let one_line: String = SEVERAL_LINES.replace("\n   ", " ").replace("\n\n", "\n");
        let without_lines =
            |text| partitions(text).0.into_iter().map(|row| Partition { line: 0, ..row }).collect::<Vec<_>>();
        assert_eq!(without_lines(&one_line), without_lines(SEVERAL_LINES));
        let (rows, unread) =
            partitions("CLUSTER: c\nPartitionName=a b AllowGroups=ALL\nx\nPartitionName=d Nodes=n1\n");
        let names: Vec<_> = rows.iter().map(|row| (row.line, row.name.as_str())).collect();
        assert_eq!((names, unread), (vec![(2, "a b"), (4, "d")], Unread { count: 1, first: 3 }));
    }

    #[test]
    fn what_partitions_share_in_part_cannot_be_added() {
        let of = |name: &str, nodes: &str| {
            let nodes = nodes.to_owned();
            Partition {
                node_list: nodes,
                tres: vec![owned(("cpu", 1))],
                ..Partition::of(name, Grammar::Limit, |_| None)
            }
        };
        assert_eq!(
            whole_cluster(&[of("a", "n1"), of("b", "n2"), of("c", "n2")]),
            Some(vec![owned(("cpu", 2))])
        );
        assert_eq!(whole_cluster(&[of("a", "n[1-2]"), of("b", "n[2-3]")]), None);
        assert_eq!(whole_cluster(&[of("a", "n1"), of("b", "")]), None);
        let empty = Partition { tres: vec![owned(("cpu", 0))], ..of("b", "") };
        assert_eq!(whole_cluster(&[of("a", "n1"), empty]), Some(vec![owned(("cpu", 1))]));
    }
}
