//! Reads partitions and nodes as `scontrol show partition` and `scontrol show node` print them, with or without `-o`.

use std::collections::HashMap;

use slurm_text::lines::{self, field, whole};
use slurm_text::{hosts, partitions, tres};

use crate::workload::{BillingWeights, Machine, Partition, Pool, ToldNode, NO_LIMIT};

/// The machine of partitions and, where they are known, nodes. `None` where there is no partition. Without nodes they are those that
/// partitions name, if all of a partition can be alike. Where that cannot be, partitions share nodes only where they name the same;
/// the second result says that they may share others.
pub fn machine(partitions: &str, nodes: Option<&str>) -> Option<(Machine, bool)> {
    of_partitions(&partitions::partitions(partitions).0, nodes)
}

/// The same of partitions that are read already.
pub fn of_partitions(told: &[partitions::Partition], nodes: Option<&str>) -> Option<(Machine, bool)> {
    if told.is_empty() {
        return None;
    }
    let nodes = nodes.map(self::nodes).filter(|nodes| !nodes.is_empty()).or_else(|| named_nodes(told));
    let most_cpus = nodes.iter().flatten().map(|node| node.cpus).max();
    let partitions: Vec<Partition> = told.iter().map(|told| partition(told, most_cpus)).collect();
    if let Some(nodes) = nodes {
        return Some((Machine::of_nodes(&nodes, partitions), false));
    }
    let mut machine = Machine { partitions, ..Machine::default() };
    let mut pools: HashMap<&str, u16> = HashMap::new();
    for (partition, told) in machine.partitions.iter_mut().zip(told) {
        let next = u16::try_from(machine.pools.len()).unwrap_or(u16::MAX);
        let name = told.node_list.as_str();
        let pool = if name.is_empty() { next } else { *pools.entry(name).or_insert(next) };
        if pool == next {
            machine
                .pools
                .push(Pool { cpus: told.cpus.unwrap_or_default(), nodes: told.nodes.unwrap_or_default() });
        }
        partition.pools = vec![pool];
    }
    let may_share = machine.pools.len() > 1;
    Some((machine, may_share))
}

/// Nodes, as `scontrol show node` prints them.
fn nodes(text: &str) -> Vec<ToldNode> {
    let (records, _) = lines::records(text, "NodeName=");
    records.iter().map(|(_, record)| node(record)).collect()
}

/// A node. Its memory and generic resources are those of `CfgTRES`, which says of the latter only what is tracked.
fn node(record: &str) -> ToldNode {
    let mut node = ToldNode {
        name: field(record, "NodeName").unwrap_or_default().to_owned(),
        // What is kept for the system is not for jobs.
        cpus: field(record, "CPUEfctv")
            .or_else(|| field(record, "CPUTot"))
            .and_then(whole)
            .unwrap_or_default(),
        weight: field(record, "Weight").and_then(whole).unwrap_or(1),
        partitions: field(record, "Partitions").unwrap_or_default().split(',').map(str::to_owned).collect(),
        ..ToldNode::default()
    };
    for (name, amount) in tres::list(field(record, "CfgTRES").unwrap_or_default()) {
        if name == "mem" {
            node.memory = amount;
        } else if let Some(kind) = name.strip_prefix("gres/") {
            node.gres.push((kind.to_owned(), u32::try_from(amount).unwrap_or(u32::MAX)));
        }
    }
    if node.memory == 0 {
        node.memory = field(record, "RealMemory").and_then(whole).unwrap_or_default();
    }
    node
}

/// The most places of nodes in partitions that are told apart.
const MOST_PLACES: usize = 1_000_000;

/// CPUs and partitions of each node, as partitions name them: each has its part of the partition's CPUs. `None` where two partitions
/// come to different CPUs of a node, or the names cannot be read.
fn named_nodes(told: &[partitions::Partition]) -> Option<Vec<ToldNode>> {
    let (mut found, mut by_name) = (Vec::<ToldNode>::new(), HashMap::new());
    let mut places = 0;
    for partition in told {
        let names = hosts::in_order(&partition.node_list)?;
        let (cpus, nodes) = (partition.cpus?, partition.nodes?);
        places += names.len();
        if places > MOST_PLACES || names.len() != nodes as usize || !names.is_empty() && cpus % nodes != 0 {
            return None;
        }
        for name in names {
            let next = found.len();
            let place = *by_name.entry(name.clone()).or_insert(next);
            if place == next {
                found.push(ToldNode { name, cpus: cpus / nodes, ..ToldNode::default() });
            }
            let node = &mut found[place];
            if node.cpus != cpus / nodes {
                return None;
            }
            node.partitions.push(partition.name.clone());
        }
    }
    (!found.is_empty()).then_some(found)
}

/// A partition of a replay, of what is told of it.
pub(super) fn partition(told: &partitions::Partition, most_cpus: Option<u32>) -> Partition {
    let per_node = match (told.cpus, told.nodes) {
        (Some(cpus), Some(nodes)) if nodes > 0 => cpus / nodes,
        _ => most_cpus.unwrap_or(1),
    };
    let max_time = told.max_time.seconds().and_then(|seconds| u32::try_from(seconds).ok());
    Partition {
        tier: told.tier.and_then(|tier| u16::try_from(tier).ok()).unwrap_or(1),
        job_factor: told.job_factor.unwrap_or(1),
        max_time: max_time.unwrap_or(NO_LIMIT),
        grain: if told.is_exclusive { per_node.max(1) } else { 1 },
        exclusive: told.is_exclusive,
        billing: billing(&told.billing_weights),
        qos: told.qos.clone(),
        ..Partition::plain(&told.name, Vec::new())
    }
}

/// `TRESBillingWeights`, of the TRES that a replay knows.
fn billing(text: &str) -> BillingWeights {
    if text.is_empty() {
        return BillingWeights::CPUS;
    }
    let mut weights = BillingWeights { cpu: 0.0, ..BillingWeights::CPUS };
    for (name, weight) in tres::billing_weights(text).flatten() {
        match name.to_ascii_lowercase().as_str() {
            "cpu" => weights.cpu = weight,
            "node" => weights.node = weight,
            "gres/gpu" => weights.gpu = weight,
            // Of a GB here.
            "mem" => weights.memory = weight * 1024.0,
            _ => (),
        }
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARTITIONS: &str = "PartitionName=main\n   MaxTime=2-00:00:00 Nodes=n[1-3]\n   PriorityJobFactor=10 PriorityTier=1 OverSubscribe=NO\n   State=UP TotalCPUs=24 TotalNodes=3\n\n\
         PartitionName=long\n   MaxTime=UNLIMITED Nodes=n[2-3]\n   PriorityJobFactor=1 PriorityTier=2 OverSubscribe=EXCLUSIVE\n   State=UP TotalCPUs=16 TotalNodes=2\n   TRESBillingWeights=CPU=1.0,Mem=0.25G,GRES/gpu=2\n";

    #[test]
    fn nodes_of_two_partitions_are_a_pool_of_their_own() {
        let nodes = "NodeName=n1 CPUTot=8\n   Partitions=main\n\nNodeName=n2 CPUTot=8\n   Partitions=main,long\n\nNodeName=n3 CPUTot=8\n   Partitions=main,long\n";
        let (machine, may_share) = machine(PARTITIONS, Some(nodes)).unwrap();
        assert!(!may_share);
        assert_eq!(machine.pools, [Pool { cpus: 8, nodes: 1 }, Pool { cpus: 16, nodes: 2 }]);
        assert_eq!(machine.partitions[0].pools, [0, 1]);
        assert_eq!(machine.partitions[1].pools, [1]);
        assert_eq!((machine.partitions[0].max_time, machine.partitions[1].max_time), (172_800, NO_LIMIT));
        assert_eq!((machine.partitions[0].grain, machine.partitions[1].grain), (1, 8));
        assert_eq!(machine.partitions[1].tier, 2);
        let weights = BillingWeights { cpu: 1.0, memory: 0.25, gpu: 2.0, node: 0.0, largest: false };
        assert_eq!(machine.partitions[1].billing, weights);
    }

    #[test]
    fn without_nodes_they_are_those_that_partitions_name() {
        let (machine, may_share) = machine(PARTITIONS, None).unwrap();
        assert!(!may_share);
        assert_eq!(machine.pools, [Pool { cpus: 8, nodes: 1 }, Pool { cpus: 16, nodes: 2 }]);
        assert_eq!(
            (&machine.partitions[0].pools[..], &machine.partitions[1].pools[..]),
            (&[0, 1][..], &[1][..])
        );
    }

    #[test]
    fn partitions_whose_nodes_differ_are_apart() {
        // A node of one has 8 CPUs, of the other 7 and a half, or 4, or their number is another than that of their names.
        for (from, to) in
            [("TotalCPUs=16", "TotalCPUs=15"), ("TotalCPUs=16", "TotalCPUs=8"), ("n[2-3]", "n[2-4]")]
        {
            let (machine, may_share) = machine(&PARTITIONS.replace(from, to), None).unwrap();
            assert!(may_share, "{to}");
            let cpus = to.split_once("TotalCPUs=").map_or(16, |(_, cpus)| cpus.parse().unwrap());
            assert_eq!(machine.pools, [Pool { cpus: 24, nodes: 3 }, Pool { cpus, nodes: 2 }]);
            assert_eq!(
                (&machine.partitions[0].pools[..], &machine.partitions[1].pools[..]),
                (&[0][..], &[1][..])
            );
        }
    }
}
