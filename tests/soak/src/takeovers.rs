//! The primary slurmctld is killed in the middle of its cycles, the backup takes over, and the primary returns.

use std::fmt;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{ensure, Result};
use slurm_testcluster::{Account, Accounts, Job};

use crate::random::Random;
use crate::{complaints, records, Plugin};

const WAIT: Duration = Duration::from_secs(60);

/// What came of it, in CPU seconds.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Kills after which the backup took over and gave back.
    pub takeovers: u32,
    /// What the job that runs through all of it used, and what `sshare` says.
    pub long: (f64, f64),
    /// Error lines of the plugin, in both daemons.
    pub complaints: Vec<String>,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} times taken over and given back; used {:.0} s, charged {:.0} s; {} complaints",
            self.takeovers,
            self.long.0,
            self.long.1,
            self.complaints.len()
        )
    }
}

/// Seconds of a cycle, of rounding, and of a restart.
const SLACK: f64 = 5.0;

/// By how many seconds what the job used and what it was charged may differ.
pub fn slack(summary: &Summary) -> f64 {
    SLACK + 2.0 * f64::from(summary.takeovers)
}

/// What must hold: the job is charged for all of its time, but for the calculation in the very second of a save, of which each
/// change of the controller has one.
///
/// # Errors
/// What does not.
pub fn check(summary: &Summary) -> Result<()> {
    let (used, charged) = summary.long;
    ensure!(charged <= used + SLACK, "charged twice: {summary}");
    ensure!(charged >= used - slack(summary), "usage was lost: {summary}");
    ensure!(summary.complaints.is_empty(), "{summary}");
    Ok(())
}

/// Kills the primary so many times. Needs root.
///
/// # Errors
/// If the cluster does not start, or a controller does not take over.
pub fn run(plugin: &Plugin, times: u32, seed: u64) -> Result<Summary> {
    let mut random = Random::new(seed);
    let mut cluster = plugin
        .builder()
        .accounts(&Accounts::new().account(Account::new("a", 1).user("long", 1)))
        .nodes(1)
        .slurmds(true)
        .backup()?
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
    cluster.wait_background(1, WAIT)?;
    let mut summary = Summary::default();
    for turn in 1..=times {
        let taken = usize::try_from(turn)?;
        sleep(Duration::from_millis(2000 + random.below(2000)));
        cluster.kill_controller()?;
        cluster.wait_takeover(taken, WAIT)?;
        cluster.wait_cycle()?;
        cluster.start_controller()?;
        cluster.wait_background(taken + 1, WAIT)?;
        cluster.wait_cycle()?;
        summary.takeovers = turn;
    }
    let asked = Instant::now();
    summary.long.1 = cluster.share("a", "long")?.number("RawUsage")?;
    summary.long.0 = records::used(&cluster, "long")? - asked.elapsed().as_secs_f64().ceil();
    summary.complaints = [complaints(&cluster.log()), complaints(&cluster.backup_log())].concat();
    Ok(summary)
}
