//! Rows of Maui, Moab, Grid Engine and UMIACS in a real slurmctld, as docs/points.md and docs/charging.md have them: charges by the clock, missed targets, targets of
//! a book, urgencies, percent weights, requeues, states, time limits that fit, waits since the submission; and the commands `sync` and `weights`.

use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use multifactor2_command::output::{Printout, Terminal};
use multifactor2_command::run;
use slurm_testcluster::points::{change, rows, site};
use slurm_testcluster::{Account, Accounts, Cluster, Job, JobId, Release};

use super::command::asked;

#[cfg(feature = "full")]
slurm_releases::test_in_each_release!(each_row_does_what_the_page_says);

#[cfg(not(feature = "full"))]
#[test]
fn bullseye() {
    slurm_releases::BULLSEYE.test(each_row_does_what_the_page_says);
}

#[cfg(not(feature = "full"))]
#[test]
fn forky() {
    slurm_releases::FORKY.test(each_row_does_what_the_page_says);
}

const WAIT: Duration = Duration::from_secs(90);

/// What every priority begins with, so that none is below 1.
const OFFSET: &str = "Component=CRED User=1\nCredential=User Name=* Priority=1000000\nPointsCap=100000000\n";

fn each_row_does_what_the_page_says(release: &Release) {
    let accounts = Accounts::new()
        .account(Account::new("physics", 1).user("ada", 1))
        .account(Account::new("chem", 1).user("eve", 1));
    let mut cluster = slurm_releases::cluster(release.clone())
        .unwrap()
        .accounts(&accounts)
        .set("PriorityWeightFairshare", "0")
        .set("PriorityDecayHalfLife", "0")
        .set("PriorityUsageResetPeriod", "YEARLY")
        .set("SelectTypeParameters", "CR_CPU")
        .set("SchedulerParameters", "bf_interval=2,sched_interval=2,batch_sched_delay=1")
        .controller_env("TZ", "UTC")
        .nodes(2)
        .cpus(2)
        .slurmds(true)
        .line("PartitionName=fast Nodes=n2")
        .line("PartitionName=held Nodes=ALL State=DOWN")
        .file("multifactor2.conf", OFFSET)
        .start()
        .unwrap();
    charges_by_the_clock(&mut cluster);
    targets_of_a_book(&cluster);
    points_of_waiting_jobs(&cluster);
    time_limits_that_fit(&cluster);
    accounts_of_a_file(&cluster);
    weights_of_partitions(&cluster);
}

fn submit(cluster: &Cluster, user: &str, partition: &str, arguments: &[&str]) -> JobId {
    let job = Job::new(user).partition(partition).seconds(600);
    let job = arguments.iter().fold(job, |job, argument| job.arg(*argument));
    cluster.submit(&job).unwrap()
}

fn runs(cluster: &Cluster, job: JobId) {
    let is_running = |cluster: &Cluster| {
        let state = cluster.command("squeue").args(["-h", "-j", &job.to_string(), "-o", "%T"]).text()?;
        Ok((state.trim() == "RUNNING").then_some(()))
    };
    cluster.wait_for("a job to run", WAIT, is_running).unwrap();
}

fn cancel(cluster: &Cluster) {
    cluster.command("scancel").args(["--state=PENDING"]).text().unwrap();
    cluster.command("scancel").args(["--state=RUNNING"]).text().unwrap();
    let is_empty = |cluster: &Cluster| {
        Ok(cluster.command("squeue").args(["-h"]).text()?.trim().is_empty().then_some(()))
    };
    cluster.wait_for("no job", WAIT, is_empty).unwrap();
}

/// `Hours=` from some hours after now to some after that, by UTC.
fn hours(from: i64, to: i64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let clock = |hours: i64| {
        let minute = (i64::try_from(now / 60).unwrap() + 60 * hours).rem_euclid(1440);
        format!("{:02}:{:02}", minute / 60, minute % 60)
    };
    format!("Hours={}-{}", clock(from), clock(to))
}

fn usage(cluster: &Cluster, account: &str, user: &str) -> f64 {
    cluster.share(account, user).unwrap().number("RawUsage").unwrap()
}

/// Of two users who run alike, the one in a partition that costs nothing at this time has used nothing.
fn charges_by_the_clock(cluster: &mut Cluster) {
    let line = |hours: &str| format!("{OFFSET}Charge=Partition Name=fast Factor=0 Days=Sun-Sat {hours}\n");
    change(cluster, &line(&hours(-1, 2))).unwrap();
    let jobs = [
        submit(cluster, "ada", "fast", &["--time=60"]),
        submit(cluster, "eve", "main", &["--time=60", "-w", "n1"]),
    ];
    for job in jobs {
        runs(cluster, job);
    }
    std::thread::sleep(Duration::from_secs(6));
    cluster.wait_cycle().unwrap();
    let used = [usage(cluster, "physics", "ada"), usage(cluster, "chem", "eve")];
    assert!(used[0] < 0.5 && used[1] >= 5.0, "{used:?}");
    change(cluster, &line(&hours(3, 5))).unwrap();
    std::thread::sleep(Duration::from_secs(6));
    cluster.wait_cycle().unwrap();
    let ada = usage(cluster, "physics", "ada");
    assert!(ada >= 5.0, "outside of the hours it counts: {ada}");
    cancel(cluster);
}

/// Of what was used in a book: of one who has used all of it, and of one who has used nothing.
fn targets_of_a_book(cluster: &Cluster) {
    let lines = format!("{OFFSET}Book=fast Partitions=fast\nComponent=FS FSUser=10\nTarget=User Name=* Percent=25 Book=fast\n");
    change(cluster, &lines).unwrap();
    let first = submit(cluster, "ada", "fast", &["--exclusive", "--time=60"]);
    runs(cluster, first);
    let waiting = [("ada", "fast", -750.0), ("eve", "fast", 250.0), ("eve", "held", 0.0)];
    let jobs =
        waiting.map(|(user, partition, _)| submit(cluster, user, partition, &["--exclusive", "--time=60"]));
    std::thread::sleep(Duration::from_secs(3));
    cluster.wait_cycle().unwrap();
    cluster.wait_cycle().unwrap();
    for (job, (user, partition, expected)) in jobs.into_iter().zip(waiting) {
        assert_site(cluster, job, expected, &format!("{user} in {partition}"));
    }
    cancel(cluster);
}

#[track_caller]
fn assert_site(cluster: &Cluster, job: JobId, expected: f64, what: &str) {
    let found = site(cluster, job).unwrap() - 1_000_000.0;
    assert!((found - expected).abs() < 1.5, "{what}: {found}, not {expected}: {:?}", rows(cluster, job));
}

/// Jobs that wait in a partition that is down.
fn points_of_waiting_jobs(cluster: &Cluster) {
    // The longest wait and the nearest deadline, between two others.
    change(cluster, &format!("{OFFSET}Component=URGENCY Urgency=1000 Priority=100 Deadline=3600000\n"))
        .unwrap();
    let plain = submit(cluster, "ada", "held", &["--time=10"]);
    let nice = submit(cluster, "ada", "held", &["--time=10", "--nice=300"]);
    let urgent = submit(cluster, "eve", "held", &["--time=10", "--deadline=now+2hours", "--nice=150"]);
    cluster.wait_cycle().unwrap();
    for (job, expected) in [(plain, 100.0), (nice, 0.0), (urgent, 1050.0)] {
        assert_site(cluster, job, expected, "URGENCY");
    }
    change(cluster, &format!("{OFFSET}Component=URGENCY Urgency=1000 Deadline=3600000 DeadlineIs=end\n"))
        .unwrap();
    for (job, expected) in [(plain, 0.0), (urgent, 1000.0)] {
        assert_site(cluster, job, expected, "URGENCY by the end");
    }
    change(cluster, &format!("{OFFSET}Component=ATTR Weight=3 State=2 States=PENDING:5,RUNNING:100\n"))
        .unwrap();
    assert_site(cluster, plain, 30.0, "ATTR");
    // A quarter of an hour cannot be waited for here: a second, and eight of them.
    change(cluster, &format!("{OFFSET}Component=TARGET TargetQueueTime=1000\nService=Partition Name=held TargetQueueTime=00:00:01 TargetGrowth=4\n"))
        .unwrap();
    let has_grown = |cluster: &Cluster| Ok(((site(cluster, plain)? - 1_004_000.0).abs() < 1.5).then_some(()));
    cluster.wait_for("four times the points of a target that is missed", WAIT, has_grown).unwrap();
    let two = submit(cluster, "ada", "held", &["--time=10", "-n", "2"]);
    change(cluster, "Component=CRED User=1\nCredential=User Name=* Priority=1000000\nPointsCap=2000000\nComponent=RES WeightPercent=50 Proc=1\n").unwrap();
    for (job, expected) in [(two, 1_000_000.0), (plain, 500_000.0)] {
        assert_site(cluster, job, expected, "RES in percent");
    }
    // Held for a while: with Slurm's own accrual the wait begins with the release.
    let held = submit(cluster, "eve", "held", &["--time=10", "--hold"]);
    std::thread::sleep(Duration::from_secs(8));
    cluster.scontrol(&["release", &held.to_string()]).unwrap();
    let waits = |since: &str| {
        change(cluster, &format!("{OFFSET}Component=SERV QueueTime=60\n{since}\n")).unwrap();
        shown(cluster, held, |site| site >= 1_000_000.0) - 1_000_000.0
    };
    let [submitted, accrued] = ["QueueTimeSince=submit", ""].map(waits);
    assert!(submitted >= 8.0, "{submitted}");
    assert!(accrued <= submitted + 30.0, "{accrued} {submitted}");
    cancel(cluster);
}

/// SITE of a job, once sprio shows it so.
fn shown(cluster: &Cluster, job: JobId, is_so: impl Fn(f64) -> bool) -> f64 {
    let site = |cluster: &Cluster| {
        let rows = rows(cluster, job).ok();
        let found = rows.and_then(|rows| rows.first().and_then(|row| row.number("SITE").ok()));
        Ok(found.filter(|found| is_so(*found)))
    };
    cluster.wait_for("SITE of a job", WAIT, site).unwrap()
}

/// A job that ran some seconds of a minute, and one that was requeued.
fn time_limits_that_fit(cluster: &Cluster) {
    change(cluster, &format!("{OFFSET}Component=FS WCAccuracy=10\n")).unwrap();
    let short = Job::new("ada").partition("main").seconds(6).arg("--time=1");
    cluster.submit(&short).unwrap();
    let has_ended = |cluster: &Cluster| {
        Ok(cluster.command("squeue").args(["-h"]).text()?.trim().is_empty().then_some(()))
    };
    cluster.wait_for("the job to end", WAIT, has_ended).unwrap();
    let jobs = ["ada", "eve"].map(|user| submit(cluster, user, "held", &["--time=10"]));
    cluster.wait_cycle().unwrap();
    cluster.wait_cycle().unwrap();
    let found = jobs.map(|job| site(cluster, job).unwrap() - 1_000_000.0);
    assert!((60.0..=400.0).contains(&found[0]) && found[1].abs() < 0.5, "{found:?}");
    change(cluster, &format!("{OFFSET}Component=SERV StartCount=100\n")).unwrap();
    let requeued = submit(cluster, "ada", "main", &["--time=10", "--requeue"]);
    runs(cluster, requeued);
    cluster.scontrol(&["requeue", &requeued.to_string()]).unwrap();
    // slurmctld lets it wait for two minutes.
    let is_pending = |cluster: &Cluster| {
        let state = cluster.command("squeue").args(["-h", "-j", &requeued.to_string(), "-o", "%T"]).text()?;
        Ok((state.trim() == "PENDING").then_some(()))
    };
    cluster.wait_for("the job to be requeued", WAIT, is_pending).unwrap();
    cluster.scontrol(&["update", &format!("jobid={requeued}"), "partition=held", "starttime=now"]).unwrap();
    shown(cluster, requeued, |site| (site - 1_000_100.0).abs() < 0.5);
    cancel(cluster);
}

fn command(words: &[&str]) -> Printout {
    run::run(std::iter::once("multifactor2").chain(words.iter().copied()).map(Into::into), Terminal::PLAIN)
}

/// The commands that `sync` prints make the tree that of the file; then there are none.
fn accounts_of_a_file(cluster: &Cluster) {
    let file = cluster.directory().join("tree.csv");
    let path = file.display().to_string();
    let sync = |name: &str, words: &[&str]| {
        let from = asked(cluster, "root", name).display().to_string();
        command(&[&["sync", &path, "--from", &from], words].concat())
    };
    fs::write(&file, "account,parent,shares,users\nlab,,7,\nphysics,lab,3,ada:2 eve\nchem,,parent,\n")
        .unwrap();
    let printed = sync("sync-1", &["--check"]);
    assert_eq!(printed.status, 2, "{printed:?}");
    let lines: Vec<&str> = printed.out.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines.len(), 6, "{printed:?}");
    assert!(printed.out.contains("eve in chem"), "{printed:?}");
    let run_all = |text: &str| {
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let words = line.split(' ').skip(1);
            cluster
                .command("sacctmgr")
                .args(words)
                .text()
                .unwrap_or_else(|problem| panic!("{line}: {problem:#}"));
        }
    };
    run_all(&printed.out);
    let is_done = |name: &str, words: &[&str]| {
        let done = |_: &Cluster| Ok((sync(name, words).status == 0).then_some(()));
        cluster.wait_for("nothing to be done", WAIT, done).unwrap();
    };
    // slurmctld hears of it soon.
    is_done("sync-2", &["--check"]);
    let printed = sync("sync-3", &["--check", "--delete"]);
    assert_eq!(printed.status, 2, "{printed:?}");
    run_all(&printed.out);
    is_done("sync-4", &["--check", "--delete"]);
    let tree = cluster.sshare(&["-a", "-n", "-P", "-o", "Account,User,RawShares"]).unwrap();
    for line in ["lab||7", "physics||3", "physics|ada|2", "physics|eve|1"] {
        assert!(tree.lines().any(|found| found.trim() == line), "{line}: {tree}");
    }
    assert!(!tree.contains("chem|eve"), "{tree}");
}

/// `weights` reads what this release prints of nodes.
fn weights_of_partitions(cluster: &Cluster) {
    let nodes = cluster.directory().join("nodes");
    fs::write(&nodes, cluster.command("scontrol").args(["show", "node"]).text().unwrap()).unwrap();
    let fp32 = cluster.directory().join("fp32");
    fs::write(&fp32, "a100 19.5\n").unwrap();
    let [nodes, fp32] = [nodes, fp32].map(|path| path.display().to_string());
    let printed = command(&[
        "weights",
        "--fp32",
        &fp32,
        "--baseline",
        "a100",
        "--nodes",
        &nodes,
        "--partition",
        "fast",
    ]);
    assert_eq!(printed.status, 0, "{printed:?}");
    assert!(
        printed.out.contains("# 1 nodes: 0 GB, 2 CPUs\n")
            && printed.out.contains("PartitionName=fast TRESBillingWeights=\"CPU=0.0,Mem=1.0G\""),
        "{printed:?}"
    );
}
