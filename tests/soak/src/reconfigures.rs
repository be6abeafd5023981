//! Reconfigures that fail, one after the other, and one that works, while jobs run and sprio is asked.
//!
//! From 23.11 on a reconfigure is a new process, and the old one goes on where that fails. Before, slurmctld keeps what it
//! cannot change, and none fails.

use std::fmt;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{ensure, Result};
use slurm_testcluster::{Account, Accounts, Job, Mode};

use crate::watchdog::{Answers, Client, Hang, Watchdog};
use crate::{complaints, Plugin};

/// What came of it.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Reconfigures that worked, and that failed.
    pub reconfigures: (u32, u32),
    /// slurmctld ended after so many; 1 or 0 as it is not started again.
    pub deaths: u32,
    /// It hung.
    pub hang: Option<Hang>,
    /// Answers that sprio gave.
    pub answered: u64,
    /// Error lines of the plugin.
    pub complaints: Vec<String>,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (good, failed) = self.reconfigures;
        write!(
            f,
            "{failed} failed, {good} worked, {} deaths, hung: {}, {} answers of sprio, {} complaints",
            self.deaths,
            if self.hang.is_some() { "YES" } else { "no" },
            self.answered,
            self.complaints.len()
        )
    }
}

/// What must hold.
///
/// # Errors
/// What does not.
pub fn check(summary: &Summary) -> Result<()> {
    ensure!(summary.deaths == 0, "{summary}");
    ensure!(summary.hang.is_none(), "{summary}\n{}", summary.hang.as_ref().map_or("", |hang| &hang.stacks));
    ensure!(summary.complaints.is_empty(), "{summary}\n{}", summary.complaints.join("\n"));
    ensure!(summary.reconfigures.0 > 0, "none worked: {summary}");
    Ok(())
}

/// Lets so many fail.
///
/// # Errors
/// If the cluster does not start.
pub fn run(plugin: &Plugin, times: u32) -> Result<Summary> {
    let tree = Accounts::new().account(Account::new("a", 1).user("ada", 1).user("bob", 2));
    let mut cluster = plugin.builder().accounts(&tree).nodes(2).mode(Mode::Daemon).start()?;
    for _ in 0..20 {
        cluster.submit(&Job::new("ada"))?;
    }
    let mut summary = Summary::default();
    let clients = vec![Client::start(&cluster, "bob", "sprio", "sprio -h -o %i && sleep 0.1")?];
    let mut watchdog = Watchdog::new(&cluster, true);
    let mut one = |cluster: &slurm_testcluster::Cluster, summary: &mut Summary| -> Result<bool> {
        if cluster.reconfigure().is_ok() {
            summary.reconfigures.0 += 1;
        } else {
            summary.reconfigures.1 += 1;
        }
        // Two cycles, unless it ends or hangs.
        for _ in 0..10 {
            sleep(Duration::from_millis(200));
            if cluster.controller_ended()?.is_some() {
                summary.deaths = 1;
                return Ok(false);
            }
            summary.hang = watchdog.look(cluster, &clients)?;
            if summary.hang.is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    };
    let mut lives = true;
    cluster.set("SchedulerType", "sched/nosuch")?;
    for _ in 0..times {
        lives = lives && one(&cluster, &mut summary)?;
    }
    cluster.set("SchedulerType", "sched/backfill")?;
    lives = lives && one(&cluster, &mut summary)?;
    if lives {
        cluster.wait_cycle()?;
    }
    summary.answered = Answers::of(&clients).answered;
    summary.complaints = complaints(&cluster.log());
    Ok(summary)
}
