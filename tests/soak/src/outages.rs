//! slurmdbd, or the database server behind it, is away while jobs run.
//!
//! Calculations go on with what is in memory. When it is back, what `sshare` says equals the records to the second, and a new
//! user arrives.

use std::fmt;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{ensure, Context, Result};
use slurm_testcluster::{Account, Accounts, Cluster, Job};

use crate::{complaints, records, Plugin};

const WAIT: Duration = Duration::from_secs(120);

/// What goes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Away {
    /// slurmdbd is stopped and started.
    Slurmdbd,
    /// The database server is stopped and started, slurmdbd runs on.
    Database,
}

/// What came of it, in CPU seconds.
#[derive(Debug, Clone)]
pub struct Summary {
    /// How long it was away.
    pub away: Duration,
    /// What the running job was charged meanwhile.
    pub meanwhile: f64,
    /// What the records say in the end, and what `sshare` says, of all users.
    pub all: (f64, f64),
    /// Error lines of the plugin.
    pub complaints: Vec<String>,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "away for {} s, {:.0} s charged meanwhile; in the end: used {:.0} s, charged {:.0} s; {} complaints",
            self.away.as_secs(),
            self.meanwhile,
            self.all.0,
            self.all.1,
            self.complaints.len()
        )
    }
}

/// What must hold.
///
/// # Errors
/// What does not.
pub fn check(summary: &Summary) -> Result<()> {
    ensure!((summary.all.0 - summary.all.1).abs() < 0.5, "not what the records say: {summary}");
    ensure!(summary.meanwhile >= summary.away.as_secs_f64() - 2.0, "calculations have stopped: {summary}");
    ensure!(summary.complaints.is_empty(), "{summary}");
    Ok(())
}

fn start(plugin: &Plugin, controller: bool) -> Result<Cluster> {
    let tree = Accounts::new().account(Account::new("a", 1).user("long", 1).user("short", 1));
    let builder = plugin.builder().accounts(&tree).user("late").nodes(3).slurmds(controller);
    builder.controller(controller).set("PriorityWeightFairshare", "1000").start()
}

/// Takes it away for so long.
///
/// # Errors
/// If the cluster does not start, or something does not come back.
pub fn run(plugin: &Plugin, what: Away, time: Duration) -> Result<Summary> {
    let mut cluster = start(plugin, true)?;
    cluster.submit(&Job::new("long"))?;
    cluster.wait_for(
        "the job to start",
        WAIT,
        |cluster| Ok(records::runs(cluster, "long")?.then_some(())),
    )?;
    let charged = |cluster: &Cluster, user: &str| cluster.share("a", user)?.number("RawUsage");
    match what {
        Away::Slurmdbd => cluster.stop_slurmdbd()?,
        Away::Database => cluster.stop_database()?,
    }
    let before = charged(&cluster, "long")?;
    // One that starts, ends and is purged from nowhere but slurmctld's own books.
    cluster.submit(&Job::new("short").seconds(2))?;
    sleep(time);
    let meanwhile = charged(&cluster, "long")? - before;
    match what {
        Away::Slurmdbd => cluster.start_slurmdbd()?,
        Away::Database => cluster.start_database()?,
    }
    cluster.wait_for("a new user", WAIT, |cluster| {
        cluster.command("sacctmgr").args(["-i", "add", "user", "late", "account=a"]).succeeds();
        Ok(cluster.submit(&Job::new("late").seconds(1)).ok())
    })?;
    cluster.wait_for("the last job to run", WAIT, |cluster| records::recorded(cluster, "late"))?;
    cluster.command("scancel").args(["-u", "long"]).text()?;
    let mut all = (0.0, 0.0);
    for user in ["long", "short", "late"] {
        all.0 += cluster.wait_for("the records", WAIT, |cluster| records::recorded(cluster, user))?;
    }
    cluster.wait_cycle()?;
    for user in ["long", "short", "late"] {
        all.1 += charged(&cluster, user)?;
    }
    Ok(Summary { away: time, meanwhile, all, complaints: complaints(&cluster.log()) })
}

/// slurmctld's first start without slurmdbd: what it says when it ends. Then a start with slurmdbd, and a restart without it,
/// which knows the associations from slurmctld's own state.
///
/// # Errors
/// If it starts where it should not, or does not where it should.
pub fn first_start(plugin: &Plugin) -> Result<String> {
    let mut cluster = start(plugin, false)?;
    cluster.stop_slurmdbd()?;
    let Err(refusal) = cluster.start_controller() else {
        anyhow::bail!("slurmctld runs without having seen an association");
    };
    cluster.start_slurmdbd()?;
    cluster.start_controller().context("with slurmdbd")?;
    cluster.submit(&Job::new("short"))?;
    cluster.wait_cycle()?;
    let before = cluster.share("a", "short")?;
    cluster.stop_slurmdbd()?;
    cluster.restart_controller().context("without slurmdbd, from saved associations")?;
    cluster.wait_cycle()?;
    let (row, factors) = (cluster.share("a", "short")?, cluster.sprio_rows()?);
    ensure!(row == before, "{row:?} instead of {before:?}");
    ensure!(factors.len() == 1 && factors[0].number("FAIRSHARE")? > 0.0, "{factors:?}");
    Ok(format!("{refusal:#}"))
}
