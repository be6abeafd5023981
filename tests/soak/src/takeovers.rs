//! The primary slurmctld is killed in the middle of its cycles, the backup takes over, and the primary returns.

use std::fmt;
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{ensure, Context, Result};
use slurm_testcluster::{Account, Accounts, Cluster, Job};

use crate::random::Random;
use crate::{complaints, records, Plugin};

const WAIT: Duration = Duration::from_secs(60);

/// What came of it, in CPU seconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Summary {
    /// Kills after which the backup took over and gave back.
    pub takeovers: u32,
    /// What the job that runs through all of it used, and what `sshare` says.
    pub long: (f64, f64),
    /// Error lines of the plugin, in both daemons.
    pub complaints: usize,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} times taken over and given back; used {:.0} s, charged {:.0} s; {} complaints",
            self.takeovers, self.long.0, self.long.1, self.complaints
        )
    }
}

/// What must hold: the job is charged for all of its time, but for the calculation in the very second of a save, of which each
/// change of the controller has one.
///
/// # Errors
/// What does not.
pub fn check(summary: &Summary) -> Result<()> {
    /// Seconds of a cycle, of rounding, and of a restart.
    const SLACK: f64 = 5.0;
    let (used, charged) = summary.long;
    ensure!(charged <= used + SLACK, "charged twice: {summary}");
    ensure!(charged >= used - SLACK - 2.0 * f64::from(summary.takeovers), "usage was lost: {summary}");
    ensure!(summary.complaints == 0, "{summary}");
    Ok(())
}

/// Kills the primary so many times. Needs root.
///
/// # Errors
/// If the cluster does not start, or a controller does not take over.
pub fn run(plugin: &Plugin, times: u32, seed: u64) -> Result<Summary> {
    let mut random = Random::new(seed);
    let host = fs::read_to_string("/proc/sys/kernel/hostname")?;
    let host = host.trim().split('.').next().unwrap_or_default().to_owned();
    let mut cluster = plugin
        .builder()
        .accounts(&Accounts::new().account(Account::new("a", 1).user("long", 1)))
        .nodes(1)
        .slurmds(true)
        .set("SlurmctldHost", &format!("{host}(127.0.0.1)"))
        .line("SlurmctldHost=backup(127.0.0.2)")
        .set("CommunicationParameters", "NoCtldInAddrAny")
        .set("SlurmctldTimeout", "2")
        .set("SlurmdTimeout", "30")
        .start()?;
    cluster.submit(&Job::new("long"))?;
    cluster.wait_for(
        "the job to start",
        WAIT,
        |cluster| Ok(records::runs(cluster, "long")?.then_some(())),
    )?;
    // Saves all of its state, the start of the job with it.
    cluster.restart_controller()?;
    cluster.start_backup()?;
    let said = |cluster: &Cluster, what: &str, times: u32| {
        let log = cluster.directory().join("log/backup");
        let count = || fs::read(&log).map_or(0, |text| String::from_utf8_lossy(&text).matches(what).count());
        let found = |_: &Cluster| Ok((u32::try_from(count())? >= times).then_some(()));
        cluster.wait_for(&format!("'{what}', time {times}, in the backup's log"), WAIT, found).with_context(
            || {
                let text = fs::read(&log).unwrap_or_default();
                let text = String::from_utf8_lossy(&text);
                let lines: Vec<&str> = text.lines().collect();
                lines[lines.len().saturating_sub(20)..].join("\n")
            },
        )
    };
    said(&cluster, "slurmctld running in background mode", 1)?;
    let mut summary = Summary::default();
    for turn in 1..=times {
        sleep(Duration::from_millis(2000 + random.below(2000)));
        cluster.kill_controller()?;
        said(&cluster, "Running as primary controller", turn)?;
        cluster.wait_cycle()?;
        cluster.start_controller()?;
        said(&cluster, "slurmctld running in background mode", turn + 1)?;
        cluster.wait_cycle()?;
        summary.takeovers = turn;
    }
    let asked = Instant::now();
    summary.long.1 = cluster.share("a", "long")?.number("RawUsage")?;
    summary.long.0 = records::used(&cluster, "long")? - asked.elapsed().as_secs_f64().ceil();
    let backup = fs::read_to_string(cluster.directory().join("log/backup"))?;
    summary.complaints = complaints(&cluster.log()).len() + complaints(&backup).len();
    Ok(summary)
}
