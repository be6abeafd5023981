//! Places, worked out anew from what Slurm's commands printed for root, with nothing of the command's own code: for jobs without
//! reservations, arrays and preemption, so what decides is `PriorityTier`, priority, the time of submission, the id.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;
use slurm_testcluster::Cluster;

/// What stands between the texts of squeue.
pub const MARK: &str = "|m4rk|";

/// A job in one of its partitions.
#[derive(Debug)]
struct Slot {
    job: u64,
    partition: String,
    account: String,
    tier: u64,
    priority: u64,
    submit: u64,
}

/// All places of a cluster.
#[derive(Debug, Default)]
pub struct Recomputed {
    /// The first comes first.
    slots: Vec<Slot>,
    nodes: BTreeMap<String, BTreeSet<String>>,
}

impl Recomputed {
    /// From the texts that root has saved.
    pub fn of(cluster: &Cluster, saved: &Path) -> Self {
        let text = |name: &str| fs::read_to_string(saved.join(name)).unwrap();
        let (mut tiers, mut nodes) = (BTreeMap::new(), BTreeMap::new());
        for line in text("partitions.txt").lines().filter(|line| !line.is_empty()) {
            let of = |name: &str| line.split(' ').find_map(|word| word.strip_prefix(name)).unwrap();
            let partition = of("PartitionName=").to_owned();
            tiers.insert(partition.clone(), of("PriorityTier=").parse::<u64>().unwrap());
            let names = cluster.command("scontrol").args(["show", "hostnames", of("Nodes=")]).text().unwrap();
            nodes.insert(partition, names.lines().map(str::to_owned).collect());
        }
        let mut jobs = BTreeMap::new();
        for line in text("queue.txt").lines() {
            let texts: Vec<&str> = line.split(MARK).collect();
            let numbers: Vec<&str> = texts[0].split('|').collect();
            jobs.insert(numbers[0].to_owned(), (numbers[7].parse::<u64>().unwrap(), texts[5].to_owned()));
        }
        let slot = |line: &str| {
            let cells: Vec<&str> = line.split('|').collect();
            let (submit, account) = &jobs[cells[0].trim()];
            let partition = cells[cells.len() - 1].trim();
            Slot {
                job: cells[0].trim().parse().unwrap(),
                partition: partition.to_owned(),
                account: account.clone(),
                tier: tiers[partition],
                priority: cells[1].trim().parse().unwrap(),
                submit: *submit,
            }
        };
        let mut slots: Vec<Slot> = text("priorities.txt").lines().map(slot).collect();
        slots.sort_by_key(|slot| (Reverse(slot.tier), Reverse(slot.priority), slot.submit, slot.job));
        Self { slots, nodes }
    }

    /// What an answer to `queue` says of places, where it is not so.
    pub fn wrong_queue(&self, rows: &[Value]) -> Option<String> {
        let of_row = |row: &Value| {
            let place = ["id", "position", "rank"].map(|name| row[name].as_u64());
            (place, row["partition"].as_str().unwrap_or_default().to_owned())
        };
        let expected = |(at, slot): (usize, &Slot)| {
            let (position, rank) = (at as u64 + 1, self.before(at).len() as u64 + 1);
            ([Some(slot.job), Some(position), Some(rank)], slot.partition.clone())
        };
        let said: Vec<_> = rows.iter().map(of_row).collect();
        let expected: Vec<_> = self.slots.iter().enumerate().map(expected).collect();
        (said != expected).then(|| format!("queue: places {said:?} instead of {expected:?}"))
    }

    /// What an answer to `why` says of the places of a job, where it is not so.
    pub fn wrong_why(&self, job: &str, why: &Value) -> Option<String> {
        let slots = self.slots.iter().enumerate().filter(|(_, slot)| slot.job.to_string() == job);
        let expected: Vec<Value> = slots.map(|(at, slot)| self.place(at, slot)).collect();
        let said: Vec<Value> = why["places"].as_array().unwrap().iter().map(said_of_place).collect();
        let is_told = |place: &Value| {
            let told = format!("of {} in partition {}", place["of"], place["partition"].as_str().unwrap());
            let details = why["details"].as_array().unwrap().iter();
            details.chain([&why["sentence"]]).any(|said| {
                let said = said.as_str().unwrap();
                said.contains(&told) || said.contains(&format!("of {}.", place["of"]))
            })
        };
        if said != expected {
            return Some(format!("why {job}: places {said:#?} instead of {expected:#?}"));
        }
        let untold = expected.iter().find(|place| !is_told(place))?;
        Some(format!("why {job}: {untold} is not in {} {}", why["sentence"], why["details"]))
    }

    fn place(&self, at: usize, slot: &Slot) -> Value {
        let before = self.before(at);
        let before_in_own: BTreeSet<u64> = before.iter().map(|other| other.job).collect();
        let mut ahead: BTreeMap<&str, u64> = BTreeMap::new();
        for other in &before {
            *ahead.entry(&other.account).or_default() += 1;
        }
        let own = &self.nodes[&slot.partition];
        let (mut elsewhere, mut competing) = (BTreeSet::new(), BTreeSet::new());
        let mut sharing: BTreeMap<&str, (usize, u64, u64)> = BTreeMap::new();
        for other in &self.slots[..at] {
            let is_other = other.partition != slot.partition && other.job != slot.job;
            if !is_other || before_in_own.contains(&other.job) {
                continue;
            }
            elsewhere.insert(other.job);
            let shared = self.nodes[&other.partition].intersection(own).count();
            if shared > 0 {
                competing.insert(other.job);
                let of = sharing.entry(&other.partition).or_default();
                *of = (shared, of.1 + 1, of.2 + u64::from(other.tier > slot.tier));
            }
        }
        let sharing = sharing.iter().map(|(partition, (nodes, jobs, by_tier))| {
            serde_json::json!([partition, nodes, own.len(), jobs, by_tier])
        });
        serde_json::json!({
            "partition": slot.partition,
            "position": at + 1,
            "rank": before.len() + 1,
            "of": self.slots.iter().filter(|other| other.partition == slot.partition).count(),
            "elsewhere": elsewhere.len(),
            "competing": competing.len(),
            "priority": slot.priority,
            "ahead": ahead,
            "sharing": sharing.collect::<Vec<_>>(),
        })
    }

    fn before(&self, at: usize) -> Vec<&Slot> {
        let partition = &self.slots[at].partition;
        self.slots[..at].iter().filter(|other| other.partition == *partition).collect()
    }
}

/// The same of a place in an answer.
fn said_of_place(place: &Value) -> Value {
    let of = |name: &str| place[name].clone();
    let all = |name: &str| place[name].as_array().unwrap().iter();
    let ahead: BTreeMap<&str, &Value> =
        all("ahead").map(|of| (of["account"].as_str().unwrap(), &of["jobs"])).collect();
    let row =
        |of: &Value| serde_json::json!([of["partition"], of["nodes"], of["of"], of["jobs"], of["by_tier"]]);
    let mut sharing: Vec<Value> = all("sharing").map(row).collect();
    sharing.sort_by_key(|row| row[0].to_string());
    serde_json::json!({
        "partition": of("partition"),
        "position": of("position"),
        "rank": of("rank"),
        "of": of("of"),
        "elsewhere": of("elsewhere"),
        "competing": of("competing"),
        "priority": of("priority"),
        "ahead": ahead,
        "sharing": sharing,
    })
}
