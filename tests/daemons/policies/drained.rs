//! Which jobs start on a cluster that has drained.

use std::collections::BTreeMap;

use slurm_testcluster::{policies, Account, Accounts, Cluster, Job};

use super::between_cycles;
use crate::schedule::WAIT;
use crate::support::{cluster, lacks_root};

const JOBS: u32 = 1000;
const NODES: u16 = 4;
const CPUS: u16 = 16;

/// Records of their own for all tasks of an array but the last.
fn split(cluster: &Cluster, user: &str) {
    let array = cluster.submit(&Job::new(user).arg(format!("--array=1-{JOBS}"))).unwrap();
    let tasks = format!("jobid={array}_[1-{}]", JOBS - 1);
    cluster.scontrol(&["update", &tasks, "nice=1"]).unwrap();
    cluster.scontrol(&["update", &format!("jobid={array}_{JOBS}"), "nice=1"]).unwrap();
}

/// How many jobs of each user run.
fn running(cluster: &Cluster) -> BTreeMap<String, u32> {
    let text = cluster.command("squeue").args(["-h", "-t", "R", "-o", "%u"]).text().unwrap();
    let mut counts = BTreeMap::new();
    for user in text.split_whitespace() {
        *counts.entry(user.to_owned()).or_default() += 1;
    }
    counts
}

/// How often the main scheduler has looked at the queue, and the backfill scheduler.
fn passes(cluster: &Cluster) -> Vec<u32> {
    let text = cluster.command("sdiag").text().unwrap();
    let counts = text.lines().filter_map(|line| line.trim().strip_prefix("Total cycles:"));
    counts.map(|count| count.trim().parse().unwrap()).collect()
}

/// Two equal users with as many equal jobs each on empty nodes, and no cycle before all slots are taken: by what their jobs have, not by who
/// has run less.
fn started(dilution: &str) -> BTreeMap<String, u32> {
    let cluster = cluster()
        .accounts(&Accounts::new().account(Account::new("a", 1).user("ada", 1).user("emmy", 1)))
        .nodes(NODES)
        .cpus(CPUS)
        .slurmds(true)
        .cycle_seconds(Some(6))
        .set("SelectTypeParameters", "CR_CPU")
        .set("SchedulerParameters", "defer,sched_interval=600,default_queue_depth=10000,bf_interval=600")
        .set("MaxArraySize", "2000")
        .file(policies::FILE, &format!("Dilution={dilution}\n"))
        .start()
        .unwrap();
    cluster.scontrol(&["update", "partitionname=main", "state=down"]).unwrap();
    for user in ["ada", "emmy"] {
        split(&cluster, user);
    }
    let all = |cluster: &Cluster| {
        let records = cluster.sprio(&["-h", "-o", "%i"])?.lines().count();
        Ok((records == 2 * JOBS as usize).then_some(()))
    };
    cluster.wait_for("all jobs in sprio", WAIT, all).unwrap();
    let slots = u32::from(NODES * CPUS);
    let before = passes(&cluster);
    let start = || {
        cluster.scontrol(&["update", "partitionname=main", "state=up"]).unwrap();
        let full = |cluster: &Cluster| {
            let counts = running(cluster);
            Ok((counts.values().sum::<u32>() == slots).then_some(counts))
        };
        cluster.wait_for("all slots to be taken", WAIT, full).unwrap()
    };
    // What runs counts from the next cycle on.
    let counts = between_cycles(&cluster, start, |counts| panic!("a cycle came in between: {counts:?}"));
    let after = passes(&cluster);
    assert_eq!(after, [before[0] + 1, before[1]], "passes of the two schedulers; before {before:?}");
    for user in ["ada", "emmy"] {
        cluster.command("scancel").args(["-u", user]).text().unwrap();
    }
    counts
}

#[test]
fn a_drained_cluster_is_divided_in_one_pass() {
    if lacks_root("a_drained_cluster_is_divided_in_one_pass", "jobs of two users") {
        return;
    }
    let (slots, half) = (u32::from(NODES * CPUS), u32::from(NODES * CPUS) / 2);
    // Without dilution all jobs are alike, and who came first has all.
    let expected = [("user", half), ("tree", half), ("none", slots)];
    let counts = std::thread::scope(|scope| {
        let clusters = expected.map(|(dilution, _)| scope.spawn(move || started(dilution)));
        clusters.map(|cluster| cluster.join().unwrap())
    });
    for ((dilution, expected), counts) in expected.into_iter().zip(counts) {
        assert!(counts["ada"].abs_diff(expected) <= 1, "Dilution={dilution}: {counts:?}");
    }
}
