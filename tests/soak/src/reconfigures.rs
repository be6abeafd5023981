//! Reconfigures that fail, one after the other, and one that works, while jobs run and clients ask: under this plugin and under
//! stock at the same time, however slurmctld is started, with and without enforcement.
//!
//! From 23.11 on a reconfigure is a new process, and the old one goes on where that fails, but for a slurmctld in the foreground,
//! which ends. Before, slurmctld keeps what it cannot change, and none fails. Where it has ended it is started again.

mod outcome;

use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use anyhow::{anyhow, Result};
use slurm_testcluster::{Account, Accounts, Cluster, Job, Mode};

use crate::deaths::Death;
use crate::watchdog::{Answers, Client, Hang, Watchdog};
use crate::{complaints, records, Plugin};
pub use outcome::{check, Outcome, Series, Summary, COLUMNS};

const WAIT: Duration = Duration::from_secs(60);

/// Two cycles and more, between a reconfigure or start and the next.
const LIVES: Duration = Duration::from_secs(2);

/// What is asked all the time.
const ASKED: [(&str, &str); 3] =
    [("sprio", "sprio -h -o %i"), ("squeue", "squeue -h -o %i"), ("sshare", "sshare -ahn")];

/// Users, and the CPUs of their jobs: one that runs through all of it, short ones in each round.
const USERS: [(&str, u32); 2] = [("long", 3), ("short", 2)];

/// Every way to start slurmctld, with and without enforcement. Before 23.11, where none fails, one is enough.
pub fn series(plugin: &Plugin, times: u32) -> Vec<Series> {
    let all = plugin.release.as_ref().filter(|release| release.reconfigures_by_a_new_process());
    let modes = all.map_or(&[Mode::Daemon] as &[Mode], Mode::all);
    let both = |&mode: &Mode| [true, false].map(|enforced| Series { mode, enforced, times });
    modes.iter().flat_map(both).collect()
}

/// Runs a series under this plugin and under stock, beside each other.
///
/// # Errors
/// If a cluster does not start.
pub fn compare(plugin: &Plugin, series: Series) -> Result<Outcome> {
    let (ours, stock) = thread::scope(|scope| {
        let stock = scope.spawn(|| run(&plugin.stock(), series));
        (
            run(plugin, series),
            stock.join().unwrap_or_else(|_| Err(anyhow!("the series under stock panicked"))),
        )
    });
    Ok(Outcome { series, ours: ours?, stock: stock? })
}

fn run(plugin: &Plugin, series: Series) -> Result<Summary> {
    let account = USERS.iter().fold(Account::new("a", 1), |account, (user, _)| account.user(*user, 1));
    let mut cluster = plugin
        .builder()
        .accounts(&Accounts::new().account(account))
        .mode(series.mode)
        .nodes(2)
        .cpus(16)
        .slurmds(true)
        .set("AccountingStorageEnforce", "associations,limits,qos")
        // A restarted slurmctld uses a node after it has pinged it, a third of this.
        .set("SlurmdTimeout", "6")
        .start()?;
    if !series.enforced {
        cluster.unset("AccountingStorageEnforce")?;
        cluster.restart_controller()?;
    }
    submit(&cluster, USERS[0], 3600)?;
    for _ in 0..20 {
        cluster.submit(&Job::new("short").arg("--hold"))?;
    }
    cluster.wait_for("the long job to start", WAIT, |cluster| {
        Ok(records::is_believed_to_run(cluster, "long")?.then_some(()))
    })?;
    let mut summary = Summary::default();
    let clients = ASKED
        .map(|(name, command)| Client::start(&cluster, "short", name, &[&format!("{command} && sleep 0.1")]))
        .into_iter()
        .collect::<Result<Vec<Client>>>()?;
    // Stock's thread has slept on for 45 seconds in 26.05, as if the minute of slurm.conf counted.
    let mut watchdog = Watchdog::new(&cluster, !plugin.is_stock());
    for round in 0..=series.times {
        let good = round == series.times;
        // It may have died since the last round; that is seen below.
        let _ = submit(&cluster, USERS[1], 1 + round % 3);
        cluster.set("SchedulerType", if good { "sched/backfill" } else { "sched/nosuch" })?;
        let answered = cluster.reconfigure().is_ok();
        let came = watch(&cluster, series, good, |cluster| watchdog.look(cluster, &clients))?;
        // One in the foreground answers before it tries.
        let worked = answered && matches!(came, Came::Through);
        *if worked { &mut summary.reconfigures.0 } else { &mut summary.reconfigures.1 } += 1;
        cluster.set("SchedulerType", "sched/backfill")?;
        match came {
            Came::Through => continue,
            Came::Died(death) => summary.deaths.push(death),
            Came::Hung(hang) => {
                summary.hangs.push(hang);
                cluster.kill_controller()?;
            }
        }
        cluster.start_controller()?;
        sleep(LIVES);
    }
    summary.answered = Answers::of(&clients).answered;
    drop(clients);
    cluster.wait_cycle()?;
    for (user, usage) in USERS.map(|(user, _)| user).into_iter().zip(&mut summary.usage) {
        *usage = used_and_charged(&cluster, user)?;
    }
    summary.complaints = complaints(&cluster.log());
    Ok(summary)
}

fn submit(cluster: &Cluster, (user, cpus): (&str, u32), seconds: u32) -> Result<()> {
    cluster
        .submit(&Job::new(user).seconds(seconds).arg(format!("-n{cpus}")).arg("-N1").arg("--mem=1"))
        .map(drop)
}

/// What slurmctld came to after a reconfigure.
enum Came {
    Through,
    Died(Death),
    Hung(Hang),
}

/// Watches for two cycles, or until slurmctld has ended or hangs: in the foreground it ends some time after it has answered, and
/// whoever waits for an answer is told late.
fn watch(
    cluster: &Cluster,
    series: Series,
    good: bool,
    mut look: impl FnMut(&Cluster) -> Result<Option<Hang>>,
) -> Result<Came> {
    let ends = !good && series.mode == Mode::Foreground && cluster.release().reconfigures_by_a_new_process();
    let (start, time) = (Instant::now(), if ends { 10 * LIVES } else { LIVES });
    while start.elapsed() < time {
        sleep(Duration::from_millis(200));
        if let Some(death) = Death::of(cluster)? {
            return Ok(Came::Died(death));
        }
        if let Some(hang) = look(cluster)? {
            return Ok(Came::Hung(hang));
        }
    }
    Ok(Came::Through)
}

/// Ends the jobs of a user, and looks at what they have used.
fn used_and_charged(cluster: &Cluster, user: &str) -> Result<(f64, f64)> {
    cluster.command("scancel").args(["-u", user]).text()?;
    let recorded = |cluster: &Cluster| records::recorded(cluster, user);
    // A slurmctld that crashed may have lost the end of a job.
    let seconds = cluster.wait_for("the end of the jobs", WAIT, recorded).unwrap_or(f64::NAN);
    cluster.wait_cycle()?;
    Ok((seconds, cluster.share("a", user)?.number("RawUsage")?))
}
