//! Records what Slurm's commands print, for the tests of `multifactor2`: `record DIRECTORY [SUITE...]`
//!
//! In each release it starts a cluster with what has misled a parser before: associations of partitions, `Fairshare=parent`, jobs in
//! several partitions, held ones, arrays, names with marks in them. It asks as several users, under each value of `PrivateData` and
//! each algorithm. A case has only the texts that it is about, and of the settings what differs; the others are those of
//! `multifactor2-root`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{ensure, Context, Result};
use multifactor2_command::input::ask::Question;
use multifactor2_command::input::commands::{
    ASSOCIATIONS, CONFIG, NAMES, PARTITIONS, PRIORITIES, QOS, QUEUE, SHARES,
};
use multifactor2_command::input::texts::Texts;
use multifactor2_fixtures::overlay::{difference, overlaid};
use slurm_releases::{Suite, SUITES};
use slurm_testcluster::{Account, Accounts, Cluster, Job, Release, Shares};

/// What stands between the texts of squeue in what is recorded.
const MARK: &str = "|q7x2kd|";

/// The case that the others are compared with.
const FIRST: &str = "multifactor2-root";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, suites @ ..] = &arguments[..] else {
        eprintln!("usage: record DIRECTORY [SUITE...]");
        return ExitCode::from(2);
    };
    let wanted = |suite: &&Suite| suites.is_empty() || suites.iter().any(|name| name == suite.name);
    for suite in SUITES.iter().filter(wanted) {
        if let Err(error) = record(suite, Path::new(directory)) {
            eprintln!("record: {}: {error:#}", suite.name);
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

struct Recorder {
    directory: PathBuf,
    first: Option<Texts>,
    /// `-M`
    of: Option<&'static str>,
}

fn record(suite: &Suite, directory: &Path) -> Result<()> {
    let Some(release) = suite.release()? else { return Ok(()) };
    let directory = directory.join(release.version.to_string());
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    fs::create_dir_all(&directory)?;
    let mut recorder = Recorder { directory, first: None, of: None };
    let mut cluster = start(release)?;
    populate(&cluster)?;
    cluster.wait_cycle()?;
    recorder.ask(&cluster, FIRST, "root", &NAMES)?;
    recorder.of = Some("test");
    recorder.ask(&cluster, "cluster-root", "root", &[PARTITIONS, SHARES, QOS])?;
    recorder.of = None;
    let several: &[&str] = if matches!(suite.name, "bookworm" | "trixie") {
        &["jobs", "usage", "users", "accounts"]
    } else {
        &["jobs", "usage"]
    };
    for &private in several {
        let hidden: &[&str] = match private {
            "jobs" => &[CONFIG, QUEUE, PRIORITIES],
            _ => &[CONFIG, ASSOCIATIONS, SHARES],
        };
        cluster.set("PrivateData", private)?;
        reconfigure(&cluster)?;
        recorder.ask(&cluster, &format!("{private}-ada"), "ada", hidden)?;
    }
    cluster.set("PrivateData", "jobs,usage,users,accounts")?;
    reconfigure(&cluster)?;
    for user in ["ada", "kurt", "olga", "nemo"] {
        recorder.ask(&cluster, &format!("all-{user}"), user, &NAMES)?;
    }
    cluster.unset("PrivateData")?;
    for (name, kind, flags) in [
        ("fair-tree", "priority/multifactor", None),
        ("classic", "priority/multifactor", Some("NO_FAIR_TREE")),
        ("basic", "priority/basic", None),
    ] {
        cluster.set("PriorityType", kind)?;
        match flags {
            Some(flags) => cluster.set("PriorityFlags", flags)?,
            None => cluster.unset("PriorityFlags")?,
        }
        cluster.restart_controller()?;
        if kind == "priority/multifactor" {
            cluster.wait_cycle()?;
        }
        recorder.ask(&cluster, &format!("{name}-root"), "root", &[CONFIG, SHARES, PRIORITIES])?;
    }
    let dump = cluster.directory().join("saved");
    sacctmgr(&cluster, &["dump", "test", &format!("file={}", dump.display())])?;
    fs::copy(&dump, recorder.directory.join("sacctmgr-dump.cfg"))?;
    cluster.stop_controller()?;
    recorder.refusals(&cluster)?;
    println!("{}: recorded", cluster.release().version);
    Ok(())
}

impl Recorder {
    /// Keeps those of the texts that the case is about.
    fn ask(&mut self, cluster: &Cluster, case: &str, user: &str, about: &[&str]) -> Result<()> {
        let question =
            Question { cluster: self.of, qos: true, local_weights: case == FIRST, ..Question::default() };
        let texts = slurm_releases::asked::ask(cluster, &question, user, MARK)?;
        let mut left = texts.clone();
        left.texts.retain(|name, _| about.contains(&name.as_str()));
        let directory = self.directory.join(case);
        let Some(first) = &self.first else {
            self.first = Some(texts);
            return left.save(&directory).context(case.to_owned());
        };
        left.texts
            .retain(|name, text| first.texts.get(name).map(|first| timeless(first)) != Some(timeless(text)));
        let config = left.texts.remove(CONFIG);
        left.save(&directory).context(case.to_owned())?;
        if let Some(config) = config {
            let overlay = difference(&first.texts[CONFIG], &config);
            ensure!(overlaid(&first.texts[CONFIG], &overlay) == config, "{case}: more differs than settings");
            fs::write(directory.join("config.overlay"), overlay)?;
        }
        Ok(())
    }

    /// What the commands say without slurmctld.
    fn refusals(&self, cluster: &Cluster) -> Result<()> {
        let said = cluster.command("scontrol").args(["show", "config"]).output()?;
        fs::write(self.directory.join("no-slurmctld.txt"), said.stderr)?;
        Ok(())
    }
}

fn start(release: Release) -> Result<Cluster> {
    let theory = Account::new("theory", Shares::Parent).user("lise", 3).user("mara", Shares::Parent);
    let tree = Accounts::new()
        .account(Account::new("physics", 40).user("ada", 1).user("emmy", 2).account(theory))
        .account(Account::new("chem", 60).option("Priority=10").user("otto", 10).user("kurt", 1))
        .account(Account::new("r&d.x-1_y-longer-than-20", 0).user("ida", 1))
        .account(Account::new("ops", 1).user("olga", 1));
    slurm_releases::cluster(release)?
        .set("PriorityParameters", "ActiveJobs=pending")
        .set("PriorityWeightAge", "1000")
        .set("PriorityWeightAssoc", "100")
        .set("PriorityWeightJobSize", "500")
        .set("PriorityWeightPartition", "2000")
        .set("PriorityWeightQOS", "3000")
        .set("PriorityWeightTRES", "CPU=1000,Mem=500")
        .set("PriorityMaxAge", "1-0")
        .accounts(&tree)
        .user("nemo")
        .usage(&[
            ("physics", "ada", 3600.0),
            ("theory", "lise", 1234.5),
            ("chem", "otto", 99_999.0),
            ("chem", "kurt", 0.25),
        ])
        .memory(1000)
        .slurmds(true)
        .nodes(2)
        .line("PartitionName=held Nodes=n1 State=DOWN PriorityJobFactor=10 PriorityTier=3 MaxTime=1-0")
        .line("PartitionName=gpu Nodes=n[1-2] State=DOWN TRESBillingWeights=CPU=2.0,Mem=0.25G PriorityJobFactor=5")
        .line("PartitionName=secret Nodes=n2 State=DOWN Hidden=YES")
        .start()
}

/// Without the line that says when it was asked.
fn timeless(text: &str) -> &str {
    text.strip_prefix("Configuration data as of ")
        .and_then(|text| text.split_once('\n'))
        .map_or(text, |(_, rest)| rest)
}

fn reconfigure(cluster: &Cluster) -> Result<()> {
    cluster.reconfigure()?;
    cluster.wait_for("slurmctld after a reconfigure", Duration::from_secs(60), |cluster| {
        Ok(cluster.is_up().then_some(()))
    })?;
    cluster.wait_cycle()
}

fn sacctmgr(cluster: &Cluster, arguments: &[&str]) -> Result<()> {
    cluster.command("sacctmgr").user("root")?.arg("-i").args(arguments).text().map(drop)
}

fn populate(cluster: &Cluster) -> Result<()> {
    for line in [
        "add qos high priority=1000 usagefactor=2.5 flags=NoDecay,DenyOnLimit",
        "add qos low priority=10 usagethreshold=0.5",
        "add user otto account=chem partition=gpu fairshare=5",
        "modify user ada set qos+=high,low",
        "modify user olga set adminlevel=operator",
        "add coordinator account=chem names=kurt",
    ] {
        sacctmgr(cluster, &line.split(' ').collect::<Vec<_>>()).context(line)?;
    }
    let held = |user: &str, account: &str| Job::new(user).account(account).partition("held");
    let running =
        cluster.submit(&Job::new("ada").account("physics").arg("--cpus-per-task=2").arg("--mem=10"))?;
    cluster.submit(&Job::new("kurt").account("chem").arg("--array=1-2").arg("--mem=10"))?;
    cluster.submit(&held("ada", "physics").partition("held,gpu").arg("--time=1-02:03:04"))?;
    cluster.submit(&held("emmy", "physics").arg("--hold"))?;
    cluster.submit(&held("otto", "chem").arg(format!("--dependency=afterok:{running}")))?;
    cluster.submit(&held("otto", "chem").partition("gpu").arg("--mem=500"))?;
    cluster.submit(&held("emmy", "physics").arg("--begin=now+1day"))?;
    cluster.submit(&held("lise", "theory").arg("--array=1-30:3%2"))?;
    let split = cluster.submit(&held("mara", "theory").arg("--array=1-5"))?;
    cluster.scontrol(&["update", &format!("jobid={split}_3"), "nice=7"])?;
    let by_hand = cluster.submit(&held("kurt", "chem"))?;
    cluster.scontrol(&["update", &format!("jobid={by_hand}"), "priority=12345"])?;
    cluster.submit(&held("ada", "physics").arg("--qos=high").arg("--nice=50"))?;
    cluster.submit(&held("ada", "physics").arg("--wckey=a|b,c").arg("--nodes=1-2"))?;
    cluster.submit(&held("ada", "physics").arg(format!("--wckey=x\n999999|0|{MARK}")))?;
    cluster.submit(&held("ida", "r&d.x-1_y-longer-than-20").partition("secret"))?;
    let script = cluster.directory().join("job");
    fs::write(&script, "#!/bin/sh\nexec sleep 3600\n")?;
    let het = ["-p", "held", "-A", "ops", "-n1", ":", "-p", "gpu", "-A", "ops", "-n2"];
    cluster.command("sbatch").user("olga")?.args(["--chdir=/"]).args(het).arg(script.display()).text()?;
    cluster.scontrol(&[
        "create",
        "reservation",
        "reservationname=maint",
        "users=ada",
        "starttime=now",
        "duration=60",
        "nodes=n2",
        "flags=ignore_jobs",
    ])?;
    cluster.submit(&held("ada", "physics").partition("gpu").arg("--reservation=maint"))?;
    // One that no node can take now, in a partition that is up.
    cluster.submit(&Job::new("otto").account("chem").arg("--nodes=2").arg("--exclusive"))?;
    Ok(())
}
