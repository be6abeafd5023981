//! Partitions and nodes, as `scontrol show partition` and `scontrol show node` print them, also with `-o`.

use std::collections::HashMap;

use super::fields::length;
use crate::workload::{BillingWeights, Machine, Partition, Pool, NO_LIMIT};

/// The most nodes and partitions that are taken.
const MOST: usize = 1_000_000;

/// Records of `Key=Value` words, each beginning with the word `begin=`.
fn records<'t>(text: &'t str, begin: &str) -> Vec<HashMap<&'t str, &'t str>> {
    let mut records: Vec<HashMap<&str, &str>> = Vec::new();
    for (key, value) in text.split_ascii_whitespace().filter_map(|word| word.split_once('=')) {
        if key == begin {
            if records.len() >= MOST {
                break;
            }
            records.push(HashMap::new());
        }
        if let Some(record) = records.last_mut() {
            // The first of a name counts: later ones are parts of comments.
            record.entry(key).or_insert(value);
        }
    }
    records
}

/// The machine of partitions and, where they are known, nodes. `None` where there is no partition. Without nodes partitions share
/// nodes only where they name the same; the second result says that they may share others.
pub fn machine(partitions: &str, nodes: Option<&str>) -> Option<(Machine, bool)> {
    let records = records(partitions, "PartitionName");
    if records.is_empty() {
        return None;
    }
    let nodes = nodes.map(self::nodes).filter(|nodes| !nodes.is_empty());
    let most_cpus = nodes.iter().flatten().map(|node| node.0).max();
    let of = |record: &HashMap<&str, &str>| partition(record, most_cpus);
    let partitions: Vec<Partition> = records.iter().map(of).collect();
    if let Some(nodes) = nodes {
        return Some((Machine::of_nodes(&nodes, partitions), false));
    }
    let mut machine = Machine { pools: Vec::new(), partitions };
    let mut pools: HashMap<&str, u16> = HashMap::new();
    for (partition, record) in machine.partitions.iter_mut().zip(&records) {
        let number = |key: &str| record.get(key).and_then(|text| text.parse().ok()).unwrap_or(0_u32);
        let next = u16::try_from(machine.pools.len()).unwrap_or(u16::MAX);
        let name = record.get("Nodes").copied().unwrap_or_default();
        let pool = if name.is_empty() { next } else { *pools.entry(name).or_insert(next) };
        if pool == next {
            machine.pools.push(Pool { cpus: number("TotalCPUs"), nodes: number("TotalNodes") });
        }
        partition.pools = vec![pool];
    }
    let may_share = machine.pools.len() > 1;
    Some((machine, may_share))
}

/// CPUs and partitions of each node.
fn nodes(text: &str) -> Vec<(u32, Vec<String>)> {
    records(text, "NodeName")
        .iter()
        .map(|record| {
            // What is kept for the system is not for jobs.
            let cpus = record.get("CPUEfctv").or_else(|| record.get("CPUTot"));
            let partitions = record.get("Partitions").copied().unwrap_or_default();
            let cpus = cpus.and_then(|text| text.parse().ok()).unwrap_or_default();
            (cpus, partitions.split(',').map(str::to_owned).collect())
        })
        .collect()
}

pub(super) fn partition(record: &HashMap<&str, &str>, most_cpus: Option<u32>) -> Partition {
    let text = |key: &str| record.get(key).copied().unwrap_or_default();
    let number = |key: &str| text(key).parse::<u32>().ok();
    let exclusive = text("OverSubscribe").eq_ignore_ascii_case("EXCLUSIVE");
    let per_node = match (number("TotalCPUs"), number("TotalNodes")) {
        (Some(cpus), Some(nodes)) if nodes > 0 => cpus / nodes,
        _ => most_cpus.unwrap_or(1),
    };
    Partition {
        tier: number("PriorityTier").and_then(|tier| u16::try_from(tier).ok()).unwrap_or(1),
        job_factor: number("PriorityJobFactor").unwrap_or(1),
        max_time: length(text("MaxTime"))
            .ok()
            .flatten()
            .and_then(|seconds| u32::try_from(seconds).ok())
            .unwrap_or(NO_LIMIT),
        grain: if exclusive { per_node.max(1) } else { 1 },
        billing: billing(text("TRESBillingWeights")),
        ..Partition::plain(text("PartitionName"), Vec::new())
    }
}

/// Reads `TRESBillingWeights`, such as `CPU=1.0,Mem=0.25G,GRES/gpu=2.0`.
fn billing(text: &str) -> BillingWeights {
    if text.is_empty() || text == "(null)" {
        return BillingWeights::CPUS;
    }
    let mut weights = BillingWeights { cpu: 0.0, ..BillingWeights::CPUS };
    for (name, value) in text.split(',').filter_map(|part| part.split_once('=')) {
        let end = value.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(value.len());
        let Some(number) = value[..end].parse::<f64>().ok().filter(|number| number.is_finite()) else {
            continue;
        };
        match name.to_ascii_lowercase().as_str() {
            "cpu" => weights.cpu = number,
            "node" => weights.node = number,
            "gres/gpu" => weights.gpu = number,
            // Without a unit the weight is one of a MB.
            "mem" => {
                weights.memory = match value[end..].chars().next().map(|unit| unit.to_ascii_uppercase()) {
                    Some('G') => number,
                    Some('T') => number / 1024.0,
                    Some('K') => number * 1024.0 * 1024.0,
                    _ => number * 1024.0,
                }
            }
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
    fn without_nodes_partitions_are_apart() {
        let (machine, may_share) = machine(PARTITIONS, None).unwrap();
        assert!(may_share);
        assert_eq!(machine.pools, [Pool { cpus: 24, nodes: 3 }, Pool { cpus: 16, nodes: 2 }]);
    }
}
