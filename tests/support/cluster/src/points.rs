//! Points in a cluster: the examples of the seeds with real users, Unix groups and usage, one after the other.

use std::fs;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{ensure, Context, Result};

use crate::policies::FILE;
use crate::{Account, Accounts, Builder, Cluster, Job, JobId, Row};

const WAIT: Duration = Duration::from_secs(90);

/// Two accounts; the group of ann is `staff`. A hundred nodes with four processors and a gigabyte each.
pub fn cluster(builder: Builder) -> Builder {
    let user = |account: Account, name: &str| account.user(name, 1);
    let physics = user(user(Account::new("physics", 1), "john"), "paul");
    let chemistry = user(user(Account::new("chemistry", 1), "john"), "ann");
    builder
        .accounts(&Accounts::new().account(physics).account(chemistry))
        .group("staff", &["ann"])
        .nodes(100)
        .cpus(4)
        .memory(1024)
        .set("SelectTypeParameters", "CR_CPU_Memory")
        .set("PriorityWeightFairshare", "0")
        .line("PartitionName=other Nodes=n1 State=DOWN")
        .file(FILE, CREDENTIALS)
}

/// The seed's example of CRED.
pub const CREDENTIALS: &str = "\
Component=CRED User=1 Group=1
Credential=User Name=john Priority=2000
Credential=User Name=paul Priority=-1000
Credential=Group Name=staff Priority=10000
";

/// The seed's example of FS.
pub const FAIR_SHARE: &str = "\
Component=FS Weight=100 FSUser=10 FSGroup=20 FSAccount=30 FSQOS=40 FSClass=0
Target=User Name=john Percent=50
Target=Account Name=physics Percent=25
Target=QOS Name=high Percent=10 Type=floor
";

/// Gives the plugin other settings, and waits for a cycle with them.
///
/// # Errors
/// If slurmctld does not take them.
pub fn change(cluster: &Cluster, settings: &str) -> Result<()> {
    fs::write(cluster.directory().join(FILE), settings)?;
    cluster.reconfigure()?;
    cluster.wait_cycle()
}

/// Makes a QOS that everybody may use, and waits until slurmctld knows it.
///
/// # Errors
/// If that fails.
pub fn add_qos(cluster: &Cluster, name: &str, settings: &[&str]) -> Result<()> {
    let sacctmgr = |arguments: &[&str]| cluster.command("sacctmgr").arg("-i").args(arguments).text();
    sacctmgr(&[&["add", "qos", name], settings].concat())?;
    sacctmgr(&["modify", "cluster", "test", "set", &format!("qos+={name}")])?;
    let known = |cluster: &Cluster| {
        let shown = cluster.scontrol(&["show", "assoc_mgr", "flags=qos"])?;
        Ok(shown.contains(&format!("QOS={name}")).then_some(()))
    };
    cluster.wait_for("the QOS in slurmctld", WAIT, known)
}

/// What sprio shows of a job, an entry for each partition.
///
/// # Errors
/// If sprio fails, or does not show it.
pub fn rows(cluster: &Cluster, job: JobId) -> Result<Vec<Row>> {
    let mut rows = cluster.sprio_rows()?;
    rows.retain(|row| row.text("JOBID") == job.to_string());
    ensure!(!rows.is_empty(), "sprio does not show job {job}");
    Ok(rows)
}

/// SITE of a job in its first entry.
///
/// # Errors
/// As [`rows`].
pub fn site(cluster: &Cluster, job: JobId) -> Result<f64> {
    rows(cluster, job)?[0].number("SITE")
}

/// Fails unless these are the points of jobs, and what their priorities are made of.
///
/// # Panics
/// If they are not.
#[track_caller]
pub fn assert_sites(cluster: &Cluster, expected: &[(JobId, f64)], what: &str) {
    for (job, expected) in expected {
        let row = rows(cluster, *job).unwrap().remove(0);
        let [site, priority] = ["SITE", "PRIORITY"].map(|column| row.number(column).unwrap());
        assert!((site - expected).abs() < 0.5, "{what}: job {job} has {site}, not {expected}: {row:?}");
        assert!((priority - expected.max(1.0)).abs() < 0.5, "{what}: job {job}: {row:?}");
    }
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

/// The jobs of the examples.
#[derive(Clone, Copy, Debug)]
pub struct Jobs {
    /// Of john in physics, with the QOS `high`.
    pub john: JobId,
    /// Of paul in physics.
    pub paul: JobId,
    /// Of ann, in the group `staff`.
    pub ann: JobId,
    /// Of john in two partitions.
    pub both: JobId,
}

/// CRED: at the submission and after a cycle; a partition's own line in its entry.
///
/// # Panics
/// If something is not as it should be.
pub fn credentials(cluster: &Cluster) -> Jobs {
    add_qos(cluster, "high", &[]).unwrap();
    let submit = |job: &Job| cluster.submit(job).unwrap();
    let jobs = Jobs {
        john: submit(&Job::new("john").account("physics").arg("--qos=high").arg("--time=1")),
        paul: submit(&Job::new("paul").account("physics")),
        ann: submit(&Job::new("ann").account("chemistry")),
        both: submit(&Job::new("john").account("chemistry").partition("main,other")),
    };
    let expected = [(jobs.john, 2000.0), (jobs.paul, -1000.0), (jobs.ann, 10_000.0), (jobs.both, 2000.0)];
    assert_sites(cluster, &expected, "CRED at the submission");
    cluster.wait_cycle().unwrap();
    assert_sites(cluster, &expected, "CRED");
    change(cluster, &format!("{CREDENTIALS}Component=CRED Partition=other User=10\n")).unwrap();
    let mut shown: Vec<(String, f64)> = rows(cluster, jobs.both)
        .unwrap()
        .iter()
        .map(|row| (row.text("PARTITION").to_owned(), row.number("SITE").unwrap()))
        .collect();
    shown.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(shown, [("main".to_owned(), 2000.0), ("other".to_owned(), 20_000.0)]);
    jobs
}

/// FS: user 45 of 50, account 35 of 25, QOS 25 of a floor of 10; as ratio; and after a restart.
///
/// # Panics
/// If something is not as it should be.
pub fn fair_share(cluster: &mut Cluster, jobs: Jobs) {
    let usage = [("physics", "john", 35e6), ("chemistry", "john", 10e6), ("chemistry", "ann", 55e6)];
    cluster.inject_usage(&usage).unwrap();
    cluster.inject_qos_usage(&[("high", 25e6)]).unwrap();
    change(cluster, FAIR_SHARE).unwrap();
    let expected = [(jobs.john, -25_000.0), (jobs.paul, -30_000.0), (jobs.ann, 0.0)];
    assert_sites(cluster, &expected, "FS");
    cluster.restart_controller().unwrap();
    cluster.wait_cycle().unwrap();
    assert_sites(cluster, &expected, "FS after a restart");
    change(cluster, &FAIR_SHARE.replace("Percent=", "Mode=ratio Percent=")).unwrap();
    let expected = [(jobs.john, -1100.0), (jobs.paul, -1200.0), (jobs.ann, 0.0)];
    assert_sites(cluster, &expected, "FS as ratio");
    // Beyond a cap all points are -PointsCap: last in the queue, and not held.
    change(cluster, "Target=Account Name=physics Percent=30 Type=cap\nComponent=RES Proc=7\n").unwrap();
    let capped = -1e6;
    assert_sites(
        cluster,
        &[(jobs.john, capped), (jobs.paul, capped), (jobs.ann, 7.0), (jobs.both, 7.0)],
        "cap",
    );
}

/// RES: processor equivalents, 25 % of the processors and 50 % of the memory, 2 processors and 768 MB; nodes, memory, time limit.
///
/// # Panics
/// If something is not as it should be.
pub fn resources(cluster: &Cluster) {
    let submit = |arguments: &[&str]| {
        let job = Job::new("paul").account("physics");
        cluster.submit(&arguments.iter().fold(job, |job, argument| job.arg(*argument))).unwrap()
    };
    change(cluster, "Component=RES PE=1\n").unwrap();
    let jobs = [
        submit(&["--nodes=100", "--ntasks=100", "--mem=512"]),
        submit(&["--nodes=1", "--ntasks=2", "--mem=768"]),
    ];
    assert_sites(cluster, &[(jobs[0], 200.0), (jobs[1], 3.0)], "PE at the submission");
    cluster.wait_cycle().unwrap();
    assert_sites(cluster, &[(jobs[0], 200.0), (jobs[1], 3.0)], "PE");
    // Nodes, MB of all nodes and seconds.
    change(cluster, "Component=RES Node=1000000 Mem=1 WallTime=1000\nPointsCap=2147483647\n").unwrap();
    let limited = submit(&["--nodes=2", "--ntasks=2", "--mem=700", "--time=5"]);
    assert_sites(cluster, &[(limited, 2_000_000.0 + 1400.0 + 300_000.0)], "RES");
}

/// SERV and TARGET, from the first second on: SITE is what some moment between two looks at the clock makes.
///
/// # Panics
/// If something is not as it should be.
pub fn waits(cluster: &Cluster) {
    let one_minute = Job::new("paul").account("physics").arg("--time=1");
    let begin = now();
    let job = cluster.submit(&one_minute).unwrap();
    let accrued = |cluster: &Cluster| {
        let text = cluster.scontrol(&["show", "job", &job.to_string()])?;
        Ok((!text.contains("AccrueTime=Unknown")).then_some(()))
    };
    cluster.wait_for("the job to gain age", WAIT, accrued).unwrap();
    let waits_since = now();
    // Cycles come every second, and times are whole seconds: so many the wait may be wrong by.
    let slack = 4.0;
    let within = |curve: &dyn Fn(f64) -> f64, what: &str| {
        cluster.wait_cycle().unwrap();
        let least = now() - waits_since - slack;
        let found = site(cluster, job).unwrap();
        let most = now() - begin + slack;
        let (least, most) = (curve(least.max(0.0)), curve(most));
        assert!((least - 1.0..=most + 1.0).contains(&found), "{what}: {found} is not from {least} to {most}");
        found
    };
    let target =
        "Service=QOS Name=normal TargetQueueTime=01:00:00\nComponent=TARGET TargetQueueTime=1000000\n";
    change(cluster, target).unwrap();
    within(&|wait| 1e6 / (61.0 - wait / 60.0).powi(2), "bounded");
    change(cluster, &target.replace("01:00:00", "01:00:00 Curve=maui")).unwrap();
    within(&|wait| 1e6 / (60.0 - wait / 60.0).powi(2), "maui");
    change(cluster, "Component=SERV QueueTime=600\n").unwrap();
    within(&|wait| 10.0 * wait, "QUEUETIME");
    change(cluster, "Component=SERV XFactor=1000\n").unwrap();
    let start = Instant::now();
    // After a minute the expansion factor of a job of a minute is 2.
    while within(&|wait| 1000.0 * (1.0 + wait / 60.0), "XFACTOR") < 2000.0 {
        assert!(start.elapsed() < WAIT, "the expansion factor does not reach 2");
        std::thread::sleep(Duration::from_secs(2));
    }
}

/// The plugin complained of nothing, and without points nothing is left of them.
///
/// # Panics
/// If something is not as it should be.
pub fn end(cluster: &Cluster, jobs: Jobs) {
    change(cluster, "").unwrap();
    assert_sites(
        cluster,
        &[(jobs.john, 0.0), (jobs.paul, 0.0), (jobs.ann, 0.0), (jobs.both, 0.0)],
        "no points",
    );
    let log = cluster.log();
    let complaints: Vec<&str> =
        log.lines().filter(|line| line.contains("error: priority/multifactor2")).collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
}

/// The number of a group, as `scontrol` knows it of a job.
///
/// # Errors
/// If it shows none.
pub fn group_of(cluster: &Cluster, job: JobId) -> Result<String> {
    let text = cluster.scontrol(&["show", "job", &job.to_string()])?;
    let of = text.split_once("GroupId=").map(|(_, rest)| rest.split_whitespace().next().unwrap_or_default());
    Ok(of.context("no GroupId")?.to_owned())
}
