//! A cluster full of pending jobs of every kind, its state saved once and started as often as wanted, under
//! either plugin.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use multifactor2_fixtures::pick;

use super::STOCK;
use crate::{parse_rows, Account, Accounts, Builder, Cluster, Job, JobId, Row};

/// Each accrues in full within a day: one unit of priority per second.
const SETTINGS: [(&str, &str); 11] = [
    ("GresTypes", "gpu"),
    ("AccountingStorageTRES", "gres/gpu"),
    ("PriorityCalcPeriod", "60"),
    ("PriorityMaxAge", "1-0"),
    ("PriorityWeightAge", "86400"),
    ("PriorityWeightAssoc", "10000"),
    ("PriorityWeightFairshare", "100000"),
    ("PriorityWeightJobSize", "50000"),
    ("PriorityWeightPartition", "30000"),
    ("PriorityWeightQOS", "20000"),
    ("MaxArraySize", "100"),
];

const LINES: [&str; 5] = [
    "NodeName=n[1-16] NodeAddr=127.0.0.1 CPUs=16 RealMemory=64000 Gres=gpu:4 State=DOWN",
    "PartitionName=main Nodes=n[1-16] Default=YES PriorityJobFactor=10",
    "PartitionName=large Nodes=n[5-16] PriorityJobFactor=65 PriorityTier=3 MaxTime=2-0 \
     TRESBillingWeights=CPU=1.0,Mem=0.25G,GRES/gpu=2.0",
    "PartitionName=small Nodes=n[1-4] PriorityJobFactor=40 PriorityTier=2 MaxTime=60 QOS=ofsmall",
    "PartitionName=plain Nodes=n[1-16] PriorityJobFactor=0",
];

const PARTITIONS: [&str; 8] =
    ["main", "large", "small", "plain", "main,large", "small,main", "plain,large,main", "large,small"];
const QOS: [(&str, &str); 4] =
    [("high", "priority=1000"), ("low", "priority=10"), ("none", "priority=0"), ("ofsmall", "priority=77")];
const CALLED_QOS: [&str; 4] = ["normal", "high", "low", "none"];
/// Where a job may name several.
const QOS_LISTS: [&str; 6] = ["normal", "high", "low", "none", "high,low", "none,normal,high"];
const USERS: [(&str, &str); 7] = [
    ("physics", "ada"),
    ("physics", "emmy"),
    ("optics", "ada"),
    ("optics", "lise"),
    ("biology", "rosalind"),
    ("biology", "barbara"),
    ("idle", "grace"),
];

fn tree() -> Accounts {
    let optics = Account::new("optics", 7).option("Priority=300").user("ada", 3).user("lise", 1);
    Accounts::new()
        .account(
            Account::new("physics", 40).option("Priority=100").account(optics).user("ada", 2).user("emmy", 1),
        )
        .account(Account::new("biology", 60).user("rosalind", 1).user("barbara", 4))
        .account(Account::new("idle", 0).user("grace", 0))
}

/// A stopped cluster and its saved state.
pub struct Saved {
    cluster: Cluster,
    state: PathBuf,
    settings: &'static [(&'static str, &'static str)],
}

/// What the tools show after one cycle.
#[derive(Debug)]
pub struct Sample {
    /// When that cycle began.
    pub cycle: i64,
    /// By job and partition.
    pub sprio: Vec<Row>,
    /// Every job, with the priority that the scheduler goes by.
    pub squeue: Vec<Row>,
    /// Every association.
    pub sshare: Vec<Row>,
    /// What `scontrol show assoc_mgr` prints.
    pub assoc_mgr: String,
}

impl Saved {
    /// Submits `jobs` random jobs under stock to a cluster of the builder's kind and saves the state.
    pub fn new(builder: Builder, random: &mut fastrand::Rng, jobs: usize) -> Self {
        let usage: Vec<(&str, &str, f64)> =
            USERS.map(|(account, user)| (account, user, f64::from(random.u32(1000..10_000_000)))).to_vec();
        let mut builder = builder
            .priority_type(STOCK)
            .nodes(0)
            .cycle_seconds(None)
            .accounts(&tree())
            .usage(&usage)
            .controller(false);
        for (name, value) in SETTINGS {
            builder = builder.set(name, value);
        }
        for line in LINES {
            builder = builder.line(line);
        }
        let mut cluster = builder.start().unwrap();
        let sacctmgr =
            |arguments: &[&str]| cluster.command("sacctmgr").arg("-i").args(arguments).text().unwrap();
        for (name, priority) in QOS {
            sacctmgr(&["add", "qos", name, priority]);
        }
        sacctmgr(&["modify", "cluster", "test", "set", "qos+=high,low,none"]);
        cluster.start_controller().unwrap();
        submit(&cluster, random, jobs);
        Self::of(cluster, &SETTINGS)
    }

    /// Stops a cluster that runs without short cycles, and saves its state. `settings` are those of all samples.
    pub fn of(mut cluster: Cluster, settings: &'static [(&'static str, &'static str)]) -> Self {
        // What a start changes once (the accrue times of arrays) has changed before the state is saved.
        cluster.restart_controller().unwrap();
        cluster.stop_controller().unwrap();
        let state = cluster.directory().join("saved");
        copy(&cluster.directory().join("state"), &state);
        // A cycle in the second of the last one would not be told from it.
        std::thread::sleep(Duration::from_secs(1));
        Self { cluster, state, settings }
    }

    /// Starts the saved state under a plugin with some more settings and looks after the first cycle.
    pub fn sample(&mut self, plugin: &str, settings: &[(&str, &str)]) -> Sample {
        let cluster = &mut self.cluster;
        for (name, value) in self.settings {
            cluster.set(name, value).unwrap();
        }
        for (name, value) in settings {
            cluster.set(name, value).unwrap();
        }
        cluster.set("PriorityType", plugin).unwrap();
        let directory = cluster.directory().join("state");
        fs::remove_dir_all(&directory).unwrap();
        copy(&self.state, &directory);
        let saved = last_ran(&directory);
        cluster.start_controller().unwrap();
        let cycle = cluster
            .wait_for("the first cycle", Duration::from_secs(30), |_| {
                Ok(Some(last_ran(&directory)).filter(|cycle| *cycle > saved))
            })
            .unwrap();
        let queue = cluster
            .command("squeue")
            .args(["-a", "-h", "-r", "-P", "-S", "i,P", "-o", "%i|%P|%T|%Q"])
            .text()
            .unwrap();
        let sample = Sample {
            cycle,
            sprio: in_order(cluster.sprio_rows().unwrap()),
            squeue: parse_rows(&format!("JOBID|PARTITION|STATE|PRIORITY\n{queue}")),
            sshare: cluster.sshare_rows().unwrap(),
            assoc_mgr: cluster.scontrol(&["show", "assoc_mgr"]).unwrap(),
        };
        cluster.kill_controller().unwrap();
        // The settings of one sample are not those of the next.
        for (name, _) in settings {
            cluster.unset(name).unwrap();
        }
        sample
    }
}

/// Jobs by number, partition and QOS: those of a job in several QOS come in an order that restarts change.
fn in_order(mut rows: Vec<Row>) -> Vec<Row> {
    let key = |row: &Row| ["JOBID", "PARTITION", "QOS"].map(|column| row.text(column).to_owned());
    rows.sort_by_key(key);
    rows
}

/// The time of the last cycle in the state file, 0 where there is none.
pub fn last_ran(state: &Path) -> i64 {
    let bytes = fs::read(state.join("priority_last_decay_ran")).unwrap_or_default();
    bytes.get(..8).map_or(0, |time| i64::from_be_bytes(time.try_into().unwrap()))
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
        }
    }
}

fn submit(cluster: &Cluster, random: &mut fastrand::Rng, jobs: usize) {
    let version = cluster.release().version;
    let several_qos = (version.year, version.month) >= (24, 11);
    let mut submitted: Vec<(JobId, bool)> = Vec::new();
    for _ in 0..jobs {
        let (account, user) = USERS[random.usize(..USERS.len())];
        let mut job = Job::new(user).account(account).partition(pick(random, &PARTITIONS));
        let qos: &[&str] = if several_qos { &QOS_LISTS } else { &CALLED_QOS };
        job = job.arg(format!("--qos={}", pick(random, qos)));
        job = match random.u8(..3) {
            0 => job.arg(format!("--ntasks={}", random.u8(1..=60))),
            1 => job.arg(format!("--nodes={}", random.u8(1..=4))),
            _ => job
                .arg(format!("--nodes={}-4", random.u8(1..=3)))
                .arg(format!("--ntasks-per-node={}", random.u8(1..=16))),
        };
        let maybe = |job: Job, yes: bool, argument: String| if yes { job.arg(argument) } else { job };
        job = maybe(job, random.bool(), format!("--time={}", random.u8(1..=60)));
        job = maybe(job, random.bool(), format!("--mem={}", random.u16(1..=64_000)));
        job = maybe(job, random.u8(..4) == 0, format!("--gres=gpu:{}", random.u8(1..=4)));
        job = maybe(job, random.u8(..4) == 0, format!("--nice={}", random.u32(0..=150_000)));
        let held = random.u8(..12) == 0;
        job = maybe(job, held, "--hold".into());
        job = maybe(job, random.u8(..12) == 0, "--begin=now+2hours".into());
        job = maybe(job, random.u8(..15) == 0, format!("--array=1-{}", random.u8(2..=4)));
        if let Some((after, _)) = submitted.last().filter(|_| random.u8(..12) == 0) {
            job = job.arg(format!("--dependency=afterok:{after}"));
        }
        submitted.push((cluster.submit(&job).unwrap(), held));
    }
    for (job, held) in submitted {
        let change = match random.u8(..20) {
            0 | 1 if !held => format!("priority={}", random.u32(1..=4_000_000_000)),
            2..=4 => format!("sitefactor={}", random.i32(-100_000..=100_000)),
            5 => format!("nice={}", random.i32(-100_000..=1000)),
            _ => continue,
        };
        cluster.scontrol(&["update", &format!("jobid={job}"), &change]).unwrap();
    }
}
