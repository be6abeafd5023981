//! Everything at once: many clients, and changes of everything that priorities depend on.
//!
//! Ten clients submit, cancel, hold, split arrays, list and ask while an administrator moves accounts and shares, removes
//! users, QOSes and partitions that have jobs, and reconfigures in storms. Cycles run every second. In the end nothing may have
//! crashed, hung or been complained of, memory may not have grown in the second half, and the priorities must be those that
//! a restarted slurmctld computes from the same state.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use slurm_testcluster::{Account, Accounts, Cluster, Job};

use crate::memory::settled;
use crate::random::Random;
use crate::watchdog::Watchdog;
use crate::{complaints, Plugin};

mod changes;
mod summary;

pub use summary::{check, Summary};

/// Users, in two accounts.
const USERS: u64 = 8;

/// What the threads share.
#[derive(Default)]
struct Counts {
    worked: AtomicU64,
    refused: AtomicU64,
    /// The newest job.
    last_job: AtomicU32,
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
        .watch_heap()
        .start()?;
    // The client of the database is there: without it no user is removed who has jobs.
    cluster.sql("select 1")?;
    let counts = Counts::default();
    let mut summary = Summary::default();
    summary.memory.idle.0 = settled(&cluster)?;
    let watched = scope(|scope| {
        for client in 0..10 {
            let (cluster, counts) = (&cluster, &counts);
            scope.spawn(move || {
                let mut random = Random::new(seed.wrapping_add(client));
                while !counts.over.load(Ordering::Relaxed) {
                    let counter =
                        if ask(cluster, counts, &mut random) { &counts.worked } else { &counts.refused };
                    counter.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let administrator = scope.spawn(|| {
            let mut random = Random::new(seed.wrapping_add(100));
            let mut done = changes::Done::default();
            while !counts.over.load(Ordering::Relaxed) {
                changes::one(&cluster, &mut random, &mut done);
            }
            done
        });
        let watched = watch(&cluster, time, &mut summary);
        counts.over.store(true, Ordering::Relaxed);
        summary.changes = administrator.join().unwrap_or_default();
        watched
    });
    watched?;
    summary.requests = (counts.worked.into_inner(), counts.refused.into_inner());
    summary.complaints = complaints(&cluster.log());
    if summary.hang.is_some() {
        cluster.kill_controller()?;
        return Ok(summary);
    }
    drain(&cluster)?;
    summary.memory.idle.1 = settled(&cluster)?;
    summary.differences = compare_with_restart(&mut cluster)?;
    Ok(summary)
}

fn name(user: u64) -> String {
    format!("user{user}")
}

fn watch(cluster: &Cluster, time: Duration, summary: &mut Summary) -> Result<()> {
    let mut watchdog = Watchdog::new(cluster, true);
    let start = Instant::now();
    while start.elapsed() < time {
        sleep(Duration::from_secs(1));
        summary.hang = watchdog.look(cluster, &[])?;
        if summary.hang.is_some() {
            return Ok(());
        }
        summary.memory.sample(cluster)?;
        summary.longest_cycle = watchdog.longest_cycle;
    }
    cluster.wait_cycle().context("the decay thread has stopped")
}

/// One request of a client; false where it is refused.
fn ask(cluster: &Cluster, counts: &Counts, random: &mut Random) -> bool {
    let user = name(random.below(USERS));
    let newest = u64::from(counts.last_job.load(Ordering::Relaxed));
    let job = newest.saturating_sub(random.below(60)).max(1).to_string();
    let submit = |job: &Job| {
        let Ok(id) = cluster.submit(job) else { return false };
        counts.last_job.fetch_max(id, Ordering::Relaxed);
        true
    };
    match random.below(12) {
        0 => submit(&Job::new(user).seconds(u32::try_from(random.below(3)).unwrap_or(1))),
        1 => submit(&Job::new(user).arg("--array=1-5").arg("--hold")),
        2 => submit(&Job::new(user).arg("--array=1-20%3").seconds(1)),
        3 => submit(&Job::new(user).partition("main,other").arg("--nice=10")),
        4 => cluster.command("scancel").args(["-u", &user]).succeeds(),
        5 => {
            let verb = ["hold", "release", "requeue", "top"][usize::try_from(random.below(4)).unwrap_or(0)];
            cluster.scontrol(&[verb, &job]).is_ok()
        }
        // A task of an array becomes a record of its own.
        6 => cluster.scontrol(&["update", &format!("jobid={job}_2"), "nice=5"]).is_ok(),
        7 => cluster.command("scancel").arg(format!("{job}_[3-4]")).succeeds(),
        8 => cluster.command("squeue").arg("-O").arg("jobid,prioritylong").succeeds(),
        9 => cluster.sprio(&["-l"]).is_ok(),
        10 => {
            cluster.command("sacctmgr").args(["-nP", "show", "assoc", "format=account,user,share"]).succeeds()
        }
        _ => cluster.sshare(&["-al"]).is_ok(),
    }
}

/// Ends all jobs, and lets no new ones start.
fn drain(cluster: &Cluster) -> Result<()> {
    for user in 0..USERS {
        cluster.command("scancel").args(["-u", &name(user)]).succeeds();
    }
    cluster.scontrol(&["update", "partitionname=main", "state=down"])?;
    cluster.scontrol(&["update", "partitionname=other", "state=down"])?;
    cluster.wait_for("the queue to empty", Duration::from_secs(60), |cluster| {
        Ok(cluster.command("squeue").arg("-h").text()?.trim().is_empty().then_some(()))
    })
}

/// What `sshare` shows of each association, before and after a restart of an idle cluster.
fn compare_with_restart(cluster: &mut Cluster) -> Result<Vec<String>> {
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
