//! Everything at once: many clients, and changes of everything that priorities depend on.
//!
//! Ten clients submit, cancel, hold, list and ask while an administrator moves shares, adds and removes users, accounts,
//! QOSes and partitions, and reconfigures. Cycles run every second. In the end nothing may have crashed, hung or been
//! complained of, memory may not have grown in the second half, and the priorities must be those that a
//! restarted slurmctld computes from the same state.

use std::fmt;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use anyhow::{ensure, Context, Result};
use slurm_testcluster::{Account, Accounts, Cluster, Job};

use crate::random::Random;
use crate::{complaints, Plugin};

/// Users, in two accounts.
const USERS: u64 = 8;

/// What came of it.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Requests of the clients that worked, and that were refused (a job that is gone, a user that was removed).
    pub requests: (u64, u64),
    /// Changes by the administrator.
    pub changes: u64,
    /// Resident memory of slurmctld in KiB: after a quarter, at half time, and at the end.
    pub memory: [u64; 3],
    /// Error lines of the plugin.
    pub complaints: Vec<String>,
    /// Users whose numbers a restart changed.
    pub differences: Vec<String>,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} requests worked, {} were refused; {} changes; memory {} KiB, {} KiB, {} KiB; {} complaints; {} differences \
             after a restart",
            self.requests.0,
            self.requests.1,
            self.changes,
            self.memory[0],
            self.memory[1],
            self.memory[2],
            self.complaints.len(),
            self.differences.len()
        )
    }
}

/// What must hold.
///
/// # Errors
/// What does not.
pub fn check(summary: &Summary) -> Result<()> {
    ensure!(summary.complaints.is_empty(), "{summary}\n{}", summary.complaints.join("\n"));
    ensure!(summary.differences.is_empty(), "{summary}\n{}", summary.differences.join("\n"));
    let [_, half, end] = summary.memory;
    ensure!(end <= half + half / 10, "memory grows: {summary}");
    Ok(())
}

struct Counts {
    worked: AtomicU64,
    refused: AtomicU64,
    changes: AtomicU64,
    over: AtomicBool,
}

/// Runs for so long.
///
/// # Errors
/// If the cluster does not start, slurmctld ends or does not answer.
pub fn run(plugin: &Plugin, time: Duration, seed: u64) -> Result<Summary> {
    let mut account = [Account::new("a", 40), Account::new("b", 60)];
    for user in 0..USERS {
        let [a, b] = account;
        account = if user % 2 == 0 { [a.user(name(user), 1), b] } else { [a, b.user(name(user), 2)] };
    }
    let [a, b] = account;
    let mut cluster = plugin
        .builder()
        .accounts(&Accounts::new().account(a).account(b))
        .nodes(2)
        .slurmds(true)
        .set("PriorityWeightFairshare", "100000")
        .set("PriorityWeightAge", "1000")
        .set("PriorityWeightQOS", "1000")
        .set("AccountingStorageEnforce", "associations,limits,qos")
        .set("MinJobAge", "5")
        .set("MessageTimeout", "60")
        .line("PartitionName=other Nodes=ALL PriorityJobFactor=20")
        .start()?;
    let counts = Counts {
        worked: AtomicU64::new(0),
        refused: AtomicU64::new(0),
        changes: AtomicU64::new(0),
        over: AtomicBool::new(false),
    };
    let mut summary = Summary::default();
    let watched = scope(|scope| {
        for client in 0..10 {
            let (cluster, counts) = (&cluster, &counts);
            scope.spawn(move || {
                let mut random = Random::new(seed + client);
                while !counts.over.load(Ordering::Relaxed) {
                    let counter = if ask(cluster, &mut random) { &counts.worked } else { &counts.refused };
                    counter.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        scope.spawn(|| {
            let mut random = Random::new(seed + 100);
            while !counts.over.load(Ordering::Relaxed) {
                change(&cluster, &mut random);
                counts.changes.fetch_add(1, Ordering::Relaxed);
            }
        });
        let watched = watch(&cluster, time, &mut summary.memory);
        counts.over.store(true, Ordering::Relaxed);
        watched
    });
    watched?;
    summary.requests = (counts.worked.into_inner(), counts.refused.into_inner());
    summary.changes = counts.changes.into_inner();
    summary.complaints = complaints(&cluster.log()).into_iter().map(str::to_owned).collect();
    summary.differences = compare_with_restart(&mut cluster)?;
    Ok(summary)
}

fn name(user: u64) -> String {
    format!("user{user}")
}

fn watch(cluster: &Cluster, time: Duration, memory: &mut [u64; 3]) -> Result<()> {
    let start = Instant::now();
    let mut taken = 0;
    while start.elapsed() < time {
        sleep(Duration::from_secs(1));
        if let Some(how) = cluster.controller_ended()? {
            anyhow::bail!("slurmctld ended: {how}");
        }
        if taken < 2 && start.elapsed() >= time * [1, 2][taken] / 4 {
            memory[taken] = resident(cluster)?;
            taken += 1;
        }
    }
    memory[2] = resident(cluster)?;
    cluster.wait_cycle().context("the decay thread has stopped")
}

/// Resident memory of slurmctld in KiB.
fn resident(cluster: &Cluster) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", cluster.controller_pid()?))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}

/// One request of a client; false where it is refused.
fn ask(cluster: &Cluster, random: &mut Random) -> bool {
    let user = name(random.below(USERS));
    let job = (1 + random.below(300)).to_string();
    match random.below(9) {
        0 => cluster.submit(&Job::new(user).seconds(u32::try_from(random.below(3)).unwrap_or(1))).is_ok(),
        1 => cluster.submit(&Job::new(user).arg("--array=1-5").arg("--hold")).is_ok(),
        2 => cluster.submit(&Job::new(user).partition("main,other").arg("--nice=10")).is_ok(),
        3 => cluster.command("scancel").args(["-u", &user]).succeeds(),
        4 => cluster
            .scontrol(&[
                ["hold", "release", "requeue", "top"][usize::try_from(random.below(4)).unwrap_or(0)],
                &job,
            ])
            .is_ok(),
        5 => cluster.scontrol(&["update", &format!("jobid={job}_2"), "nice=5"]).is_ok(),
        6 => cluster.command("squeue").arg("-O").arg("jobid,prioritylong").succeeds(),
        7 => cluster.sprio(&["-l"]).is_ok(),
        _ => cluster.sshare(&["-al"]).is_ok(),
    }
}

/// One change by the administrator; some fail because the thing is not there, or in use.
fn change(cluster: &Cluster, random: &mut Random) {
    let shares = format!("fairshare={}", 1 + random.below(100));
    let who = format!("user{}", random.below(USERS));
    let words: &[&str] = match random.below(11) {
        0 => &["modify", "account", "a", "set", &shares],
        1 => &["modify", "user", &who, "set", &shares],
        2 => &["add", "account", "c", "parent=b", "fairshare=7"],
        3 => &["modify", "account", "c", "set", "parent=a"],
        4 => &["add", "user", "user0", "account=c", "fairshare=3"],
        5 => &["remove", "user", "user0", "account=c"],
        6 => &["remove", "account", "c"],
        7 => &["add", "qos", "extra", "priority=5"],
        8 => &["remove", "qos", "extra"],
        9 => {
            cluster.reconfigure().ok();
            return;
        }
        _ => {
            let create = cluster.scontrol(&["create", "partitionname=brief", "nodes=n1"]);
            if create.is_ok() {
                cluster.submit(&Job::new("user1").partition("brief").arg("--hold")).ok();
                cluster.scontrol(&["delete", "partitionname=brief"]).ok();
            }
            return;
        }
    };
    cluster.command("sacctmgr").arg("-i").args(words).succeeds();
}

/// What `sshare` shows of each association, before and after a restart of an idle cluster.
fn compare_with_restart(cluster: &mut Cluster) -> Result<Vec<String>> {
    for user in 0..USERS {
        cluster.command("scancel").args(["-u", &name(user)]).succeeds();
    }
    cluster.scontrol(&["update", "partitionname=main", "state=down"])?;
    cluster.scontrol(&["update", "partitionname=other", "state=down"])?;
    cluster.wait_for("the queue to empty", Duration::from_secs(60), |cluster| {
        Ok(cluster.command("squeue").arg("-h").text()?.trim().is_empty().then_some(()))
    })?;
    for user in [0, 1, 2, 5] {
        cluster.submit(&Job::new(name(user)).partition("main"))?;
    }
    let shown = |cluster: &Cluster| -> Result<Vec<String>> {
        cluster.wait_cycle()?;
        let shares = cluster.sshare(&[
            "-alnP",
            "-o",
            "account,user,rawshares,normshares,rawusage,effectvusage,fairshare",
        ])?;
        let priorities = cluster.sprio(&["-h", "-o", "%i %u %F"])?;
        Ok(shares.lines().chain(priorities.lines()).map(|line| line.trim().to_owned()).collect())
    };
    let before = shown(cluster)?;
    cluster.restart_controller()?;
    cluster.scontrol(&["update", "partitionname=main", "state=down"])?;
    let after = shown(cluster)?;
    let differences = before.iter().filter(|line| !after.contains(line)).map(|line| format!("- {line}"));
    Ok(differences
        .chain(after.iter().filter(|line| !before.contains(line)).map(|line| format!("+ {line}")))
        .collect())
}
