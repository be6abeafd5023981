//! slurmctld is killed at random moments while jobs run.
//!
//! One user has a job that runs through all of it, another has short jobs that start and end in between. Usage does not decay, so
//! the seconds that `sshare` shows can be compared with the seconds that `sacct` knows: never more, and for the job that
//! runs on never less. A kill can lose the end of a job for slurmctld though not for the database: it then believes for a
//! while that the job still runs, and charges it as stock does. That time counts as used.
//!
//! Targets ask for sums of our own meanwhile, in windows, too. Those of the long job are what it has run up to the second that their file
//! names.

use std::fmt;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure, Context, Result};
use slurm_testcluster::targets::{self, Owner, Saved};
use slurm_testcluster::{policies, Account, Accounts, Cluster, Job};

use crate::random::Random;
use crate::{complaints, records, Plugin};

/// What came of it, in CPU seconds.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Kills that slurmctld came back from.
    pub kills: u32,
    /// How often it had saved its state in between.
    pub checkpoints: u32,
    /// What the long job used by the clock, and what `sshare` says.
    pub long: (f64, f64),
    /// What the short jobs used by `sacct`, and what `sshare` says.
    pub short: (f64, f64),
    /// What the long job had run up to the last of our own sums, and what these say, as they decay and in windows.
    pub own_long: Option<(f64, [f64; 2])>,
    /// What our own sums say of the short jobs.
    pub own_short: Option<f64>,
    /// Error lines of the plugin.
    pub complaints: Vec<String>,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} kills survived, {} checkpoints; long job: used {:.0} s, charged {:.0} s; short jobs: used {:.0} s, \
             charged {:.0} s; own sums: {:?}, short jobs {:?}; {} complaints",
            self.kills,
            self.checkpoints,
            self.long.0,
            self.long.1,
            self.short.0,
            self.short.1,
            self.own_long,
            self.own_short,
            self.complaints.len()
        )
    }
}

/// Both kinds of sums; windows end while slurmctld is away.
const TARGETS: &str = "\
Target=Partition Name=main Percent=50
Target=User Name=long Percent=50 Window=yes
TargetWindow=00:00:07
TargetDepth=1000
";

/// Kills slurmctld so many times.
///
/// On a machine that is too busy slurmctld takes a node for dead, which ends the long job. A kill then loses its end, as it may lose
/// that of any job, and nothing can be said: it is tried again.
///
/// # Errors
/// If the cluster does not start, or does not come back after a kill.
pub fn run(plugin: &Plugin, kills: u32, seed: u64) -> Result<Summary> {
    for seed in seed..seed.saturating_add(3) {
        if let Some(summary) = attempt(plugin, kills, seed)? {
            return Ok(summary);
        }
        println!("the machine was too busy: slurmctld gave up a node, and with it the long job");
    }
    bail!("each time slurmctld gave up a node: let nothing else run on this machine")
}

/// `None` where the long job did not run to the end.
fn attempt(plugin: &Plugin, kills: u32, seed: u64) -> Result<Option<Summary>> {
    let mut random = Random::new(seed);
    let tree = Accounts::new().account(Account::new("a", 1).user("long", 1).user("short", 1));
    let mut cluster = plugin
        .builder()
        .file(policies::FILE, TARGETS)
        .accounts(&tree)
        .nodes(2)
        .cpus(4)
        .slurmds(true)
        .set("AccountingStorageEnforce", "associations,limits")
        .set("PriorityWeightFairshare", "1000")
        // A restarted slurmctld uses a node after it has pinged it, a third of this.
        .set("SlurmdTimeout", "6")
        .start()?;
    // Before slurmctld has saved usage for the first time, all of it is lost, in stock as well.
    cluster.restart_controller()?;
    let long = cluster.submit(&Job::new("long"))?;
    cluster.wait_for("the long job to start", Duration::from_secs(30), |cluster| {
        Ok(records::runs(cluster, "long")?.then_some(()))
    })?;
    // Slurm saves the start of a job some seconds later; a kill before that runs it a second time.
    sleep(Duration::from_secs(5));
    let mut summary = Summary::default();
    while summary.kills < kills {
        for _ in 0..random.below(3) {
            cluster.submit(&Job::new("short").seconds(u32::try_from(1 + random.below(3))?))?;
        }
        // After a start it takes Slurm some seconds to run jobs again; half of the kills wait for that.
        if random.below(2) == 0 {
            let running =
                |cluster: &Cluster| Ok(records::is_believed_to_run(cluster, "short")?.then_some(()));
            cluster.wait_for("a short job to run", Duration::from_secs(10), running).ok();
        }
        // Up to some cycles, and often enough within one.
        sleep(Duration::from_millis(random.below(3000)));
        if random.below(4) == 0 {
            cluster.reconfigure()?;
            summary.checkpoints += 1;
            sleep(Duration::from_millis(random.below(1500)));
        }
        cluster.kill_controller()?;
        sleep(Duration::from_millis(random.below(1000)));
        cluster.start_controller().with_context(|| format!("after kill {}", summary.kills + 1))?;
        // A job that was launched a moment before the kill is launched again; Slurm then drains the node.
        cluster.scontrol(&["update", "nodename=n[1-2]", "state=resume"]).ok();
        summary.kills += 1;
        if summary.kills % 20 == 0 {
            println!("{} kills", summary.kills);
        }
    }
    cluster.wait_cycle()?;
    if !records::runs(&cluster, "long")? {
        return Ok(None);
    }
    // One moment for both: what is asked for first may be a cycle older.
    let asked = Instant::now();
    let charged = |user: &str| cluster.share("a", user)?.number("RawUsage");
    summary.long.1 = charged("long")?;
    summary.short.1 = charged("short")?;
    summary.long.0 = records::used(&cluster, "long")? - asked.elapsed().as_secs_f64().ceil();
    summary.short.0 = records::used(&cluster, "short")?;
    if !plugin.is_stock() {
        let saved = Saved::next(&cluster)?;
        let [own_long, own_short] = ["long", "short"].map(|user| saved.of(&Owner::user("a", user)));
        let start = targets::start_of(&cluster, long)?;
        let ran = f64::from(u32::try_from(saved.since - start)?);
        summary.own_long = Some((ran, [own_long.halflife, own_long.in_windows()]));
        summary.own_short = Some(own_short.in_windows());
        summary.short.0 = summary.short.0.max(records::used(&cluster, "short")?);
    }
    summary.complaints = complaints(&cluster.log());
    cluster.scontrol(&["show", "job", &long.to_string()]).context("the long job is gone")?;
    Ok(Some(summary))
}

/// Seconds of a cycle, of rounding, and of a restart, by which what the long job used and what it was charged may differ.
pub const SLACK: f64 = 5.0;

/// What must hold for our plugin: nobody is charged for more than was used, and the long job for all of its time.
///
/// # Errors
/// What does not hold.
pub fn check(summary: &Summary) -> Result<()> {
    let (used, charged) = summary.long;
    ensure!(charged <= used + SLACK, "the long job was charged twice: {summary}");
    ensure!(charged >= used - SLACK, "the long job lost usage: {summary}");
    let (used, charged) = summary.short;
    ensure!(charged <= used + SLACK, "the short jobs were charged twice: {summary}");
    if let Some((ran, counted)) = summary.own_long {
        ensure!(
            counted.iter().all(|counted| (counted - ran).abs() < 1e-6),
            "our own sums of the long job: {summary}"
        );
    }
    if let Some(counted) = summary.own_short {
        ensure!(counted <= used + SLACK, "our own sums have short jobs twice: {summary}");
    }
    ensure!(charged > 0.0 || summary.kills < 50, "no short job ran to be charged: {summary}");
    ensure!(summary.complaints.is_empty(), "{summary}");
    Ok(())
}
