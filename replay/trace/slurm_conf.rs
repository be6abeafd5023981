//! Reads slurm.conf itself, if the outputs of scontrol are not at hand: parameters, nodes and partitions, with what it includes.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use multifactor2_core::settings::files;
use multifactor2_core::settings::text::{Pair, Statement};
use slurm_text::durations::Grammar;
use slurm_text::hosts;

use super::cluster;
use super::config::Config;
use super::problems::{ProblemKind, Problems};
use crate::workload::{Machine, Partition, Site, ToldNode};

/// A line `NodeName=…` or `PartitionName=…`: its keys in lower case.
type ConfLine = HashMap<String, String>;

/// Reads the file; `None` if it does not exist. Lines that cannot be read are problems.
pub fn read(path: &Path, problems: &mut Problems) -> Option<Site> {
    let document = files::read(path)?;
    for error in &document.errors {
        problems.note(ProblemKind::BadLine, &path.display().to_string(), 0, || error.to_string());
    }
    let mut reader = Reader::default();
    for statement in document.statements {
        if let Statement::Pairs { pairs, .. } = statement {
            reader.line(&pairs);
        }
    }
    Some(Site { machine: reader.machine(), config: Some(reader.config), ..Site::default() })
}

#[derive(Default)]
struct Reader {
    config: Config,
    /// By name.
    nodes: BTreeMap<String, ToldNode>,
    /// Names by the set's name.
    sets: HashMap<String, String>,
    partitions: Vec<ConfLine>,
    /// `NodeName=DEFAULT` and `PartitionName=DEFAULT`, which hold for what follows.
    default_node: ConfLine,
    default_partition: ConfLine,
}

impl Reader {
    fn line(&mut self, pairs: &[Pair]) {
        let kind = pairs.first().map(|pair| pair.key.to_ascii_lowercase()).unwrap_or_default();
        let line = || -> ConfLine {
            pairs.iter().map(|pair| (pair.key.to_ascii_lowercase(), pair.value.clone())).collect()
        };
        match kind.as_str() {
            "nodename" => self.node(line()),
            "partitionname" => self.partition(line()),
            "nodeset" => {
                let mut line = line();
                if let (Some(name), Some(nodes)) = (line.remove("nodeset"), line.remove("nodes")) {
                    self.sets.insert(name, nodes);
                }
            }
            "downnodes" | "frontendname" => (),
            _ => pairs.iter().for_each(|pair| self.config.set(&pair.key, &pair.value)),
        }
    }

    fn node(&mut self, line: ConfLine) {
        let name = line.get("nodename").cloned().unwrap_or_default();
        if name.eq_ignore_ascii_case("default") {
            self.default_node.extend(line);
            return;
        }
        let mut all = self.default_node.clone();
        all.extend(line);
        // Those do not exist yet.
        if all.get("state").is_some_and(|state| state.to_ascii_uppercase().starts_with("FUTURE")) {
            return;
        }
        let node = told(&all);
        for name in hosts::names(&name).unwrap_or_default() {
            self.nodes.insert(name, node.clone());
        }
    }

    fn partition(&mut self, line: ConfLine) {
        let is_default = line.get("partitionname").is_some_and(|name| name.eq_ignore_ascii_case("default"));
        if is_default {
            self.default_partition.extend(line);
            return;
        }
        let mut all = self.default_partition.clone();
        all.extend(line);
        self.partitions.push(all);
    }

    /// The nodes of a partition.
    fn nodes_of(&self, partition: &ConfLine) -> Vec<String> {
        let text = partition.get("nodes").map(String::as_str).unwrap_or_default();
        if text.eq_ignore_ascii_case("all") {
            return self.nodes.keys().cloned().collect();
        }
        let names = hosts::names(text).unwrap_or_default();
        let of_sets = names.iter().filter_map(|name| self.sets.get(name));
        let of_sets: Vec<String> = of_sets.filter_map(|nodes| hosts::names(nodes)).flatten().collect();
        names.into_iter().chain(of_sets).filter(|name| self.nodes.contains_key(name)).collect()
    }

    fn machine(&self) -> Option<Machine> {
        let most_cpus = self.nodes.values().map(|node| node.cpus).max();
        let mut nodes = self.nodes.clone();
        let mut partitions: Vec<Partition> = Vec::new();
        for line in &self.partitions {
            let value = |key: &str| line.get(&key.to_ascii_lowercase()).map(String::as_str);
            let name = value("PartitionName").unwrap_or_default();
            let told = slurm_text::partitions::Partition::of(name, Grammar::Conf, value);
            let partition = cluster::partition(&told, most_cpus);
            for name in self.nodes_of(line) {
                nodes.entry(name).or_default().partitions.push(partition.name.clone());
            }
            partitions.push(partition);
        }
        let named = nodes.into_iter().map(|(name, node)| ToldNode { name, ..node });
        let nodes: Vec<ToldNode> = named.filter(|node| !node.partitions.is_empty()).collect();
        let machine = Machine::of_nodes(&nodes, partitions);
        (!nodes.is_empty() && machine.check().is_ok()).then_some(machine)
    }
}

/// What a line says of its nodes.
fn told(line: &ConfLine) -> ToldNode {
    let number = |key: &str| line.get(key).and_then(|text| text.parse::<u64>().ok());
    let kept = number("memspeclimit").unwrap_or_default();
    let mut gres: Vec<(String, u32)> = Vec::new();
    let mut add = |kind: &str, count: u32| match gres.iter_mut().find(|(of, _)| of == kind) {
        Some((_, before)) => *before = before.saturating_add(count),
        None => gres.push((kind.to_owned(), count)),
    };
    for word in
        line.get("gres").map(String::as_str).unwrap_or_default().split(',').filter(|word| !word.is_empty())
    {
        // NAME[:TYPE][:COUNT], and perhaps places in brackets.
        let word = word.split('(').next().unwrap_or_default();
        let (kind, count) = word.rsplit_once(':').unwrap_or((word, "1"));
        let (kind, count) = count.parse().map_or((word, 1), |count| (kind, count));
        add(kind, count);
        if let Some((name, _)) = kind.split_once(':') {
            add(name, count);
        }
    }
    ToldNode {
        name: String::new(),
        cpus: cpus(line),
        memory: number("realmemory").unwrap_or_default().saturating_sub(kept),
        weight: number("weight").and_then(|weight| u32::try_from(weight).ok()).unwrap_or(1),
        gres,
        partitions: Vec::new(),
    }
}

/// CPUs of a node as slurmctld counts them, without those kept for the system.
fn cpus(node: &ConfLine) -> u32 {
    let number = |key: &str| node.get(key).and_then(|text| text.parse::<u32>().ok());
    let threads = number("threadspercore").unwrap_or(1);
    let sockets = number("sockets")
        .or_else(|| Some(number("boards").unwrap_or(1).saturating_mul(number("socketsperboard")?)))
        .unwrap_or(1);
    let by_cores = || sockets.saturating_mul(number("corespersocket").unwrap_or(1)).saturating_mul(threads);
    let all = number("cpus").or_else(|| number("procs")).unwrap_or_else(by_cores);
    all.saturating_sub(number("corespeccount").unwrap_or(0).saturating_mul(threads)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_nodes_and_partitions_are_those_of_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("slurm.conf");
        std::fs::write(directory.path().join("nodes.conf"), "NodeName=n[03-04] CPUs=8\n").unwrap();
        let text = "ClusterName=x # a comment\nPriorityWeightFairshare=100 \\\n\nSchedulerParameters=bf_interval=60,defer\n\
             NodeName=DEFAULT Sockets=2 CoresPerSocket=16 CoreSpecCount=2\nNodeName=n[01-02] ThreadsPerCore=2\nNodeName=DEFAULT CoreSpecCount=0\n\
             Include nodes.conf\nNodeName=g1 CPUs=4 RealMemory=9000 MemSpecLimit=1000 Weight=7 Gres=gpu:a100:2(S:0-1),gpu:h100:1,lab\n\
             nodename=later State=FUTURE\nNodeSet=fat Nodes=n[03-04]\n\
             PartitionName=DEFAULT MaxTime=1-0 PriorityTier=3\nPartitionName=all Nodes=ALL Default=YES\n\
             PartitionName=fat Nodes=fat MaxTime=60 OverSubscribe=EXCLUSIVE\n";
        std::fs::write(&path, text).unwrap();
        let mut problems = Problems::default();
        let site = read(&path, &mut problems).unwrap();
        assert_eq!(site.config.as_ref().unwrap().get("PriorityWeightFairshare"), Some("100"));
        assert_eq!(site.config.as_ref().unwrap().get("SchedulerParameters"), Some("bf_interval=60,defer"));
        let machine = site.machine.unwrap();
        assert_eq!((machine.cpus(), machine.nodes()), (2 * 60 + 2 * 8 + 4, 5));
        let gpus = &machine.nodes[0];
        assert_eq!((gpus.cpus, gpus.memory, gpus.weight), (4, 8000, 7));
        assert_eq!(machine.gres, ["gpu:a100", "gpu", "gpu:h100", "lab"]);
        assert_eq!(gpus.gres, [2, 3, 1, 1]);
        let [all, fat] = &machine.partitions[..] else { panic!("{:?}", machine.partitions) };
        assert_eq!((all.max_time, all.tier, fat.max_time, fat.tier), (86_400, 3, 3600, 3));
        assert_eq!((machine.cpus_of(all), machine.cpus_of(fat)), (140, 16));
        assert!(read(&directory.path().join("none"), &mut problems).is_none());
    }
}
