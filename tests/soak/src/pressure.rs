//! `sprio` asked without end while slurmctld does what takes the same locks.
//!
//! sprio's list is made by the plugin while slurmctld holds locks, different ones in every release. Where the plugin then
//! waits for one that another thread holds while that waits for those, slurmctld answers nobody any more. So a long queue is
//! asked for by three clients at once, first while cycles run, then without any cycle, while jobs start and end under enforced
//! limits and the administrator changes associations.

use std::fmt;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{ensure, Context, Result};
use slurm_testcluster::{Account, Accounts, Cluster};

use crate::watchdog::{Answers, Client, Hang, Watchdog};
use crate::{complaints, Plugin};

/// Components of a heterogeneous job, each of which is a job of its own to the plugin: the quickest way to many.
const COMPONENTS: u32 = 100;

/// How long a half goes on at most for everybody to be answered and for a job to run. A slurmctld of 24.11 leaves connections
/// unaccepted for five seconds again and again while it has nothing else to do, under the stock plugin as well; its nodes and
/// users wait with them.
const LONGEST: Duration = Duration::from_secs(120);

/// What is asked for, and how.
#[derive(Debug, Clone, Copy)]
pub struct Pressure {
    /// Jobs that wait.
    pub jobs: u32,
    /// Of each half.
    pub time: Duration,
    /// `PrivateData=jobs` with `MCSPlugin=mcs/account`, and a coordinator is among those who ask. Jobs have tickets of their own,
    /// which submissions and cycles count.
    pub private: bool,
}

/// What came of one half.
#[derive(Debug, Clone, Default)]
pub struct Half {
    /// Who asked, and what they were answered.
    pub answers: Vec<(&'static str, Answers)>,
    /// The longest time between two cycles.
    pub longest_cycle: Duration,
    /// It hung.
    pub hang: Option<Hang>,
}

/// What came of it.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Jobs that waited.
    pub jobs: u32,
    /// While cycles ran, a second apart.
    pub with_cycles: Half,
    /// While none ran, and jobs started and ended.
    pub without: Half,
    /// Jobs that ran meanwhile.
    pub ran: u32,
    /// Error lines of the plugin.
    pub complaints: Vec<String>,
}

impl fmt::Display for Half {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, Answers { answered, refused, slowest }) in &self.answers {
            write!(f, "{name} {answered} (refused {refused}, slowest {:.1} s), ", slowest.as_secs_f64())?;
        }
        write!(f, "hung: {}", if self.hang.is_some() { "YES" } else { "no" })
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} jobs wait; cycles: {}, at most {:.1} s between them; no cycles: {}, {} jobs ran; {} complaints",
            self.jobs,
            self.with_cycles,
            self.with_cycles.longest_cycle.as_secs_f64(),
            self.without,
            self.ran,
            self.complaints.len()
        )
    }
}

impl Summary {
    /// All requests.
    pub fn requests(&self) -> u64 {
        let all = self.with_cycles.answers.iter().chain(&self.without.answers);
        all.map(|(_, answers)| answers.answered + answers.refused).sum()
    }

    /// Where it hung.
    pub fn hangs(&self) -> impl Iterator<Item = &Hang> {
        self.with_cycles.hang.iter().chain(&self.without.hang)
    }
}

/// What must hold.
///
/// # Errors
/// What does not, with the stacks of slurmctld's threads where it hung.
pub fn check(summary: &Summary) -> Result<()> {
    let stacks: String = summary.hangs().map(ToString::to_string).collect();
    ensure!(stacks.is_empty(), "{summary}\n{stacks}");
    ensure!(summary.complaints.is_empty(), "{summary}\n{}", summary.complaints.join("\n"));
    for (name, answers) in summary.with_cycles.answers.iter().chain(&summary.without.answers) {
        ensure!(answers.answered > 0, "{name} never worked: {summary}");
    }
    ensure!(summary.ran > 0, "no job ran: {summary}");
    Ok(())
}

/// Presses.
///
/// # Errors
/// If the cluster does not start, or slurmctld ends.
pub fn run(plugin: &Plugin, pressure: &Pressure) -> Result<Summary> {
    let account = Account::new("a", 1).user("ada", 1).user("bob", 2).user("cora", 3);
    let mut builder = plugin
        .builder()
        .accounts(&Accounts::new().account(account.option("GrpJobs=100000")))
        .nodes(2)
        .slurmds(true)
        .set("AccountingStorageEnforce", "associations,limits,qos")
        .set("PriorityCalcPeriod", "60")
        .set("PriorityDecayHalfLife", "1:0")
        .set("PriorityWeightAge", "1000")
        .set("PriorityWeightQOS", "1000")
        .set("PriorityMaxAge", "0:10")
        .set("MinJobAge", "2")
        .set("MaxJobCount", "20000")
        .set("MessageTimeout", "100")
        .set("SchedulerParameters", "defer,batch_sched_delay=1")
        .line("PartitionName=held Nodes=n1 State=DOWN");
    if pressure.private {
        builder = builder
            .set("PrivateData", "jobs")
            .set("MCSPlugin", "mcs/account")
            .set("MCSParameters", "enforced,privatedata");
        if !plugin.is_stock() {
            builder = builder.set("PriorityParameters", "Dilution=tree,AdminCommentTickets=yes");
        }
    }
    let mut cluster = builder.start()?;
    let coordinator = ["-i", "add", "coordinator", "account=a", "names=cora"];
    cluster.command("sacctmgr").args(coordinator).text().context("making a coordinator")?;
    let mut summary = Summary { jobs: fill(&cluster, pressure.jobs)?, ..Summary::default() };
    // Saves everything: a slurmctld of 26.05 that was killed before it has saved usage once does not start again.
    cluster.restart_controller()?;
    half(&cluster, pressure, true, &mut summary.with_cycles)?;
    cluster.set_cycle_seconds(None)?;
    if summary.with_cycles.hang.is_some() {
        cluster.kill_controller()?;
        cluster.start_controller()?;
    } else {
        cluster.restart_controller()?;
    }
    half(&cluster, pressure, false, &mut summary.without)?;
    let log = cluster.log();
    summary.complaints = complaints(&log);
    summary.ran = ran(&log)?;
    if summary.without.hang.is_some() {
        cluster.kill_controller()?;
    }
    Ok(summary)
}

/// Submits so many jobs that wait.
fn fill(cluster: &Cluster, jobs: u32) -> Result<u32> {
    let components = vec!["-p held"; usize::try_from(COMPONENTS)?].join(" : ");
    let submissions = jobs.div_ceil(COMPONENTS);
    let script = format!(
        "printf '#!/bin/sh\\nexit\\n' >\"$0\" && for n in $(seq {submissions}); do \
         sbatch --chdir=/ -o /dev/null {components} \"$0\" || exit 1; done"
    );
    let file = cluster.directory().join("het.sh");
    cluster
        .command("sh")
        .user("ada")?
        .args(["-c", &script])
        .arg(file.display())
        .text()
        .context("submitting")?;
    let text = cluster.command("squeue").args(["-h", "-o", "%i"]).text()?;
    let found = u32::try_from(text.lines().count())?;
    ensure!(found >= jobs, "only {found} of {jobs} jobs wait");
    Ok(found)
}

/// Jobs that ran, by the log.
fn ran(log: &str) -> Result<u32> {
    Ok(u32::try_from(log.matches("WEXITSTATUS 0").count())?)
}

/// Everybody asks for a while, and until each was answered and a job ran.
fn half(cluster: &Cluster, pressure: &Pressure, cycles: bool, half: &mut Half) -> Result<()> {
    // As the submitting user, for whom all jobs are visible; a coordinator sees them because of the account.
    let asker = if pressure.private { "cora" } else { "bob" };
    let submit = "sbatch --chdir=/ -o /dev/null --array=1-20 --wrap=exit && sleep 1";
    let change =
        ["sacctmgr -i modify user bob set fairshare=5", "sacctmgr -i modify user bob set fairshare=7"];
    let again =
        ["sacctmgr -i modify user cora set fairshare=5", "sacctmgr -i modify user cora set fairshare=7"];
    let wanted: [(&str, &str, &[&str]); 7] = [
        ("sprio", asker, &["sprio -h -o %i"]),
        ("sprio", "ada", &["sprio -h -o %i"]),
        ("sprio", asker, &["sprio -h -o %Y"]),
        // One after the other: where many ask at once, a slurmctld of 24.11 stops accepting connections for seconds.
        ("sshare, squeue, scontrol", asker, &["sshare -al", "squeue -o %Q", "scontrol show assoc_mgr"]),
        ("sbatch", "bob", &[submit]),
        ("sacctmgr", "root", &change),
        ("sacctmgr", "root", &again),
    ];
    let before = ran(&cluster.log())?;
    let mut watchdog = Watchdog::new(cluster, cycles);
    let clients = wanted
        .iter()
        .map(|(name, user, commands)| Client::start(cluster, user, name, commands))
        .collect::<Result<Vec<_>>>()?;
    let start = Instant::now();
    let mut enough = false;
    while half.hang.is_none() && (start.elapsed() < pressure.time || !enough && start.elapsed() < LONGEST) {
        sleep(Duration::from_millis(200));
        half.hang = watchdog.look(cluster, &clients)?;
        enough = enough
            || (clients.iter().all(|client| Answers::of([client]).answered > 0)
                && ran(&cluster.log())? > before);
    }
    // Whoever waits now shows in the end whether that is a hang.
    let over = Instant::now();
    while half.hang.is_none() && !watchdog.all_went_on_since(over, &clients) {
        sleep(Duration::from_millis(200));
        half.hang = watchdog.look(cluster, &clients)?;
    }
    half.longest_cycle = watchdog.longest_cycle;
    for (at, (name, ..)) in wanted.iter().enumerate() {
        let answers = Answers::of([&clients[at]]);
        match half.answers.last_mut().filter(|(last, _)| last == name) {
            Some((_, all)) => *all = all.and(answers),
            None => half.answers.push((name, answers)),
        }
    }
    Ok(())
}
