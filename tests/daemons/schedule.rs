//! One schedule of jobs of several sizes, prices and fates on real slurmds, and what has to be charged for it by the records of slurmdbd.

use std::collections::BTreeMap;
use std::time::Duration;

use slurm_testcluster::parity::last_ran;
use slurm_testcluster::{parse_rows, Account, Accounts, Cluster, Job, JobId};

use crate::support::{cluster, number};

pub const WAIT: Duration = Duration::from_secs(90);

/// Raw usage by account and user.
pub type Usage = BTreeMap<(String, String), f64>;

/// What a schedule of jobs left behind.
pub struct Outcome {
    pub shown: Usage,
    /// When the cycle began that this is from.
    pub seen: i64,
    /// By the records of the jobs.
    pub due: Usage,
    /// Number of charged runs of jobs.
    pub runs: usize,
    /// Reasons for which jobs had to wait for run-minutes or had none left, in order.
    pub reasons: Vec<String>,
}

pub fn start(plugin: &str, half_life: &str) -> Cluster {
    let tree = Accounts::new()
        .account(Account::new("physics", 40).user("ada", 2).user("emmy", 1).user("lise", 1).user("max", 1))
        .account(Account::new("biology", 60).user("rosalind", 1).user("barbara", 4))
        .account(Account::new("limited", 10).option("GrpTRESRunMins=cpu=60").user("grace", 1))
        .account(Account::new("spent", 10).option("GrpTRESMins=cpu=1").user("hedy", 1));
    let cluster = cluster()
        .priority_type(plugin)
        .accounts(&tree)
        .nodes(4)
        .cpus(8)
        .slurmds(true)
        .set("PriorityDecayHalfLife", half_life)
        .set("MinJobAge", "600")
        .set("SelectTypeParameters", "CR_CPU")
        .start()
        .unwrap();
    for qos in [
        &["double", "usagefactor=2"][..],
        &["undecayed", "flags=NoDecay"],
        &["ofpartition", "grptres=cpu=1000"],
        &["brief", "grptresrunmins=cpu=10"],
    ] {
        cluster.command("sacctmgr").args(["-i", "add", "qos"]).args(qos).text().unwrap();
    }
    let allow = ["-i", "modify", "cluster", "test", "set", "qos+=double,undecayed,brief"];
    cluster.command("sacctmgr").args(allow).text().unwrap();
    let known = |cluster: &Cluster| {
        let create =
            ["create", "partitionname=second", "nodes=ALL", "qos=ofpartition", "tresbillingweights=CPU=2.0"];
        let known = cluster.scontrol(&["show", "assoc_mgr", "flags=qos"])?.contains("QOS=brief");
        Ok((known && cluster.scontrol(&create).is_ok()).then_some(()))
    };
    cluster.wait_for("the QOS in slurmctld", WAIT, known).unwrap();
    cluster
}

pub fn state(cluster: &Cluster, job: JobId, format: &str) -> String {
    let job = job.to_string();
    cluster
        .command("squeue")
        .args(["-h", "-t", "all", "-o", format, "-j", &job])
        .text()
        .unwrap()
        .trim()
        .to_owned()
}

pub fn wait_state(cluster: &Cluster, job: JobId, wanted: &str) {
    let reached = |cluster: &Cluster| Ok((state(cluster, job, "%T") == wanted).then_some(()));
    cluster.wait_for(&format!("job {job} to be {wanted}"), WAIT, reached).unwrap();
}

/// The reason for which a job waits.
fn reason(cluster: &Cluster, job: JobId) -> String {
    let known = |cluster: &Cluster| {
        let reason = state(cluster, job, "%r");
        Ok(reason.contains("Limit").then_some(reason))
    };
    cluster.wait_for(&format!("job {job} to wait for run-minutes"), WAIT, known).unwrap()
}

/// One schedule of all kinds of jobs.
pub fn run_jobs(cluster: &Cluster) -> Outcome {
    let submit = |job: Job| cluster.submit(&job).unwrap();
    let control = |arguments: &[&str]| cluster.scontrol(arguments).unwrap();
    let requeued = submit(Job::new("lise").seconds(60).arg("--ntasks=2").arg("--requeue"));
    let suspended = submit(Job::new("barbara").seconds(20));
    let cancelled = submit(Job::new("barbara").seconds(60).arg("--ntasks=3"));
    let resized = submit(Job::new("max").seconds(20).arg("--nodes=2").arg("--ntasks=2"));
    // More than the minute that the account has, even where it decays.
    let spending = submit(Job::new("hedy").seconds(24).arg("--ntasks=4"));
    submit(Job::new("ada").seconds(5).arg("--ntasks=4"));
    submit(Job::new("ada").seconds(3).partition("second"));
    submit(Job::new("emmy").seconds(4).arg("--qos=double").arg("--ntasks=2"));
    submit(Job::new("emmy").seconds(3).arg("--qos=undecayed"));
    submit(Job::new("lise").seconds(3).arg("--array=1-3"));
    submit(Job::new("rosalind").seconds(4).partition("second,main").arg("--ntasks=2"));
    submit(Job::new("rosalind").seconds(0));
    let first = submit(Job::new("grace").seconds(20).arg("--time=40"));
    let second = submit(Job::new("grace").seconds(2).arg("--time=30"));
    let brief = ["--time=8", "--qos=brief"];
    let third = submit(Job::new("rosalind").seconds(20).arg(brief[0]).arg(brief[1]));
    let fourth = submit(Job::new("rosalind").seconds(1).arg(brief[0]).arg(brief[1]));

    for job in [requeued, suspended, cancelled, resized, first, third] {
        wait_state(cluster, job, "RUNNING");
    }
    let mut reasons = vec![reason(cluster, second), reason(cluster, fourth)];
    control(&["suspend", &suspended.to_string()]);
    cluster.wait_cycle().unwrap();
    cluster.wait_cycle().unwrap();
    control(&["update", &format!("jobid={resized}"), "numnodes=1"]);
    control(&["requeue", &requeued.to_string()]);
    cluster.command("scancel").arg(cancelled).text().unwrap();
    control(&["resume", &suspended.to_string()]);
    wait_state(cluster, requeued, "PENDING");
    cluster.command("scancel").arg(requeued).text().unwrap();
    let ended = |cluster: &Cluster| {
        let state = state(cluster, spending, "%T");
        Ok(["COMPLETED", "TIMEOUT"].contains(&&*state).then_some(()))
    };
    cluster.wait_for("the account to have spent what it has", WAIT, ended).unwrap();
    cluster.wait_cycle().unwrap();
    let late = submit(Job::new("hedy"));
    reasons.push(reason(cluster, late));
    cluster.command("scancel").arg(late).text().unwrap();
    let over =
        |cluster: &Cluster| Ok(cluster.command("squeue").arg("-h").text()?.trim().is_empty().then_some(()));
    cluster.wait_for("all jobs to end", WAIT, over).unwrap();
    cluster.wait_cycle().unwrap();
    let (due, runs) = due(cluster, |start, end| end - start);
    let seen = last_ran(&cluster.directory().join("state"));
    Outcome { shown: shown(cluster), seen, due, runs, reasons }
}

pub fn shown(cluster: &Cluster) -> Usage {
    let rows = cluster.sshare_rows().unwrap();
    let users = rows.iter().filter(|row| !row.text("User").is_empty() && row.text("User") != "root");
    users
        .map(|row| ((row.text("Account").to_owned(), row.text("User").to_owned()), number(row, "RawUsage")))
        .collect()
}

/// Seconds by billing by usage factor of every run of a job that slurmdbd has on record. `seconds` says what the time between two
/// times counts.
pub fn due(cluster: &Cluster, seconds: impl Fn(f64, f64) -> f64) -> (Usage, usize) {
    let fields = "JobIDRaw,Account,User,QOS,Start,End,AllocTRES,State";
    let arguments = ["-a", "-D", "-X", "-P", "-S", "now-1hour", "-o", fields];
    // The last records may be on their way.
    let rows = cluster
        .wait_for("slurmdbd to have all records", WAIT, |cluster| {
            let text = cluster.command("sacct").args(arguments).env("SLURM_TIME_FORMAT", "%s").text()?;
            let rows = parse_rows(&text);
            let open = rows.iter().any(|row| row.text("End") == "Unknown");
            Ok(Some(rows).filter(|_| !open))
        })
        .unwrap();
    // A job that changed its size has one record per size, all of them with the start of the first.
    let resized: BTreeMap<String, f64> = rows
        .iter()
        .filter(|row| row.text("State") == "RESIZING")
        .map(|row| (row.text("JobIDRaw").to_owned(), number(row, "End")))
        .collect();
    let mut due = Usage::new();
    let mut runs = 0;
    for row in rows {
        // A job that was cancelled before it started has no start.
        let (Ok(start), Ok(end)) = (row.number("Start"), row.number("End")) else { continue };
        let changed = resized.get(row.text("JobIDRaw")).filter(|changed| **changed < end);
        let start = changed.copied().unwrap_or(start);
        let factor = if row.text("QOS") == "double" { 2.0 } else { 1.0 };
        let key = (row.text("Account").to_owned(), row.text("User").to_owned());
        let billing = row.text("AllocTRES").split(',').find_map(|tres| tres.strip_prefix("billing="));
        let Some(billing) = billing.map(|billing| billing.parse::<f64>().unwrap()) else {
            assert!((end - start).abs() < 0.5, "time without billing: {row:?}");
            continue;
        };
        *due.entry(key).or_default() += seconds(start, end) * billing * factor;
        runs += 1;
    }
    (due, runs)
}

/// The totals by TRES and the run-minutes in use of all associations and QOS.
pub fn limits(cluster: &Cluster) -> Vec<String> {
    let text = cluster.scontrol(&["show", "assoc_mgr", "flags=assoc,qos"]).unwrap();
    let names = ["Association", "Account=", "QOS=", "GrpTRESMins=", "GrpTRESRunMins=", "GrpWall="];
    let wanted = |line: &&str| names.iter().any(|name| line.starts_with(name));
    // Shares and usage end a line that is not about limits.
    text.lines().map(str::trim).filter(wanted).map(str::to_owned).collect()
}

pub fn assert_nothing_runs(cluster: &Cluster) {
    for line in limits(cluster).iter().filter(|line| line.starts_with("GrpTRESRunMins=")) {
        for part in line.split(',') {
            assert!(part.ends_with("(0)"), "run-minutes in use though nothing runs: {line}");
        }
    }
}
