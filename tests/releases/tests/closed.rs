//! `ActiveJobs=startable` where a whole partition waits for its state, or for the end of a maintenance: who takes the slots when it opens,
//! in the one pass before the next cycle. As with `eligible`.

use std::fs;
use std::time::Duration;

use crate::shared;
use shared::TIMEOUT;
use slurm_releases::{cluster, test_in_each_release};
use slurm_testcluster::{policies, Account, Accounts, Cluster, Job, Release, Result};

test_in_each_release!(what_opens_is_divided_as_if_it_had_been_open);

const SLOTS: usize = 40;

/// Seconds between two cycles: longer than it takes to open and to start the jobs, also where the machine is busy.
const CYCLE: u32 = 12;
/// A cycle that has begun so long after the end of the one before is not over yet.
const BEGINS_AFTER: Duration = Duration::from_secs(10);

/// As many jobs of each as there are slots; those of user1 come first.
fn submit(cluster: &Cluster) {
    for user in ["user1", "user2"] {
        let array = cluster.submit(&Job::new(user).arg(format!("--array=1-{SLOTS}"))).unwrap();
        // Each has a record of its own then.
        for tasks in [format!("{array}_[1-{}]", SLOTS - 1), format!("{array}_{SLOTS}")] {
            cluster.scontrol(&["update", &format!("jobid={tasks}"), "nice=1"]).unwrap();
        }
    }
}

/// Users or reasons of jobs, one each.
fn jobs(cluster: &Cluster, state: &str, format: &str) -> Result<Vec<String>> {
    let text = cluster.command("squeue").args(["-h", "-r", "-t", state, "-o", format]).text()?;
    Ok(text.lines().map(|line| line.trim().to_owned()).collect())
}

/// Until all of them wait, where slurmctld says for this.
fn wait_until_hindered(cluster: &Cluster, reason: Option<&str>) {
    let all = |cluster: &Cluster| {
        let reasons = jobs(cluster, "PD", "%r")?;
        let is_it = |found: &String| reason.is_none_or(|reason| found.contains(reason));
        Ok((reasons.len() == 2 * SLOTS && reasons.iter().all(is_it)).then_some(()))
    };
    let waited = cluster.wait_for(&format!("all jobs to wait for {reason:?}"), 4 * TIMEOUT, all);
    waited.unwrap_or_else(|error| panic!("{error}; squeue: {:?}", jobs(cluster, "PD", "%i %r")));
}

/// How many slots user1 has once all are taken, and user2; `None` where a cycle came in between. All jobs are cancelled then.
fn taken(cluster: &Cluster, open: impl FnOnce()) -> Option<(usize, usize)> {
    let last = || {
        let file = cluster.directory().join("state/priority_last_decay_ran");
        fs::metadata(file).unwrap().modified().unwrap()
    };
    // One that has seen them all, and with the most time until the next one.
    cluster.wait_cycle().unwrap();
    let before = last();
    open();
    let full = |cluster: &Cluster| {
        let users = jobs(cluster, "R,CF", "%u")?;
        Ok((users.len() == SLOTS).then_some(users))
    };
    let users = cluster.wait_for("all slots to be taken", TIMEOUT, full).unwrap();
    let is_one_pass = last() == before && before.elapsed().unwrap() < BEGINS_AFTER;
    let none = |cluster: &Cluster| {
        for user in ["user1", "user2"] {
            // It fails where a job has ended by itself meanwhile; those that are left are cancelled the next time.
            let _ = cluster.command("scancel").args(["-u", user]).text();
        }
        Ok(jobs(cluster, "PD,R,CF,CG", "%T")?.is_empty().then_some(()))
    };
    cluster.wait_for("all jobs to be gone", 2 * TIMEOUT, none).unwrap();
    let heavy = users.iter().filter(|user| *user == "user1").count();
    is_one_pass.then_some((heavy, users.len() - heavy))
}

/// The first time that no cycle comes in between.
fn divided(
    cluster: &Cluster,
    mut scenario: impl FnMut(&Cluster) -> Option<(usize, usize)>,
) -> (usize, usize) {
    let found = (0..5).find_map(|_| scenario(cluster));
    found.expect("a cycle came in between five times")
}

/// The partition is down while the jobs come.
fn down(cluster: &Cluster) -> Option<(usize, usize)> {
    let state =
        |state: &str| cluster.scontrol(&["update", "partitionname=main", &format!("state={state}")]).unwrap();
    state("down");
    submit(cluster);
    // Its state says it, whatever slurmctld notes of each job.
    wait_until_hindered(cluster, None);
    taken(cluster, || drop(state("up")))
}

/// All nodes are reserved for maintenance while the jobs come.
fn maintenance(cluster: &Cluster) -> Option<(usize, usize)> {
    let reservation =
        ["create", "reservation=maint", "starttime=now", "duration=600", "flags=maint,ignore_jobs"];
    cluster.scontrol(&[&reservation[..], &["nodes=ALL", "users=root"]].concat()).unwrap();
    submit(cluster);
    wait_until_hindered(cluster, Some("ReqNodeNotAvail"));
    taken(cluster, || drop(cluster.scontrol(&["delete", "reservation=maint"]).unwrap()))
}

fn what_opens_is_divided_as_if_it_had_been_open(release: &Release) {
    let tree = Accounts::new().account(Account::new("lab", 1).user("user1", 1).user("user2", 1));
    let mut cluster = cluster(release.clone())
        .unwrap()
        .accounts(&tree)
        .usage(&[("lab", "user1", 9_000_000.0), ("lab", "user2", 1_000_000.0)])
        .nodes(1)
        .cpus(u16::try_from(SLOTS).unwrap())
        .slurmds(true)
        .cycle_seconds(Some(CYCLE))
        .set("SelectTypeParameters", "CR_CPU")
        .set("SchedulerParameters", "default_queue_depth=1000,bf_interval=600")
        .set("AccountingStorageEnforce", "associations,limits,qos")
        .file(policies::FILE, "ActiveJobs=startable\n")
        .start()
        .unwrap();
    assert_eq!(divided(&cluster, down), (0, SLOTS), "usage 90:10, the partition was down");
    assert_eq!(divided(&cluster, maintenance), (0, SLOTS), "usage 90:10, after a maintenance");

    fs::write(cluster.directory().join(policies::FILE), "ActiveJobs=startable\nDilution=user\n").unwrap();
    cluster.inject_usage(&[("lab", "user1", 5_000_000.0), ("lab", "user2", 5_000_000.0)]).unwrap();
    assert_eq!(divided(&cluster, down), (SLOTS / 2, SLOTS / 2), "equal users, the partition was down");
    assert_eq!(divided(&cluster, maintenance), (SLOTS / 2, SLOTS / 2), "equal users, after a maintenance");
    shared::check_log(&cluster);
}
