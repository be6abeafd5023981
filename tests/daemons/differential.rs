//! One saved state under stock `priority/multifactor` and under ours: everything but fair-share is equal.

use std::time::Duration;

use slurm_testcluster::parity::{compare, Saved, VARIANTS};
use slurm_testcluster::{Account, Accounts, Cluster, Job};

use crate::support::{cluster, lacks_root, random, STOCK};

#[test]
fn pending_jobs_are_equal_to_stock() {
    let mut random = random();
    compare(&mut Saved::new(cluster(), &mut random, 250), &VARIANTS, false);
}

#[test]
#[ignore = "minutes: make test-parity"]
fn thousands_of_pending_jobs_are_equal_to_stock() {
    let mut random = random();
    for _ in 0..3 {
        compare(&mut Saved::new(cluster(), &mut random, 2500), &VARIANTS, false);
    }
}

/// With `CALCULATE_RUNNING` the priorities of running jobs move on, without it they stay.
#[test]
fn running_jobs_are_equal_to_stock() {
    const SETTINGS: [(&str, &str); 4] = [
        ("PriorityMaxAge", "1-0"),
        ("PriorityWeightAge", "86400"),
        ("PriorityWeightJobSize", "50000"),
        ("SelectTypeParameters", "CR_CPU"),
    ];
    if lacks_root("running_jobs_are_equal_to_stock", "jobs of several users") {
        return;
    }
    let tree = Accounts::new()
        .account(Account::new("physics", 40).user("ada", 2).user("emmy", 1))
        .account(Account::new("biology", 60).user("rosalind", 1));
    let mut builder =
        cluster().priority_type(STOCK).accounts(&tree).nodes(2).slurmds(true).cycle_seconds(None);
    for (name, value) in SETTINGS {
        builder = builder.set(name, value);
    }
    let cluster = builder.set("PriorityCalcPeriod", "60").start().unwrap();
    for n in 0..4 {
        for user in ["ada", "emmy", "rosalind"] {
            cluster.submit(&Job::new(user).arg(format!("--ntasks={}", n + 1)).arg("--time=30")).unwrap();
        }
    }
    let started = |cluster: &Cluster| {
        let states = cluster.command("squeue").args(["-h", "-o", "%T"]).text()?;
        Ok((states.contains("RUNNING") && states.contains("PENDING")).then_some(()))
    };
    cluster.wait_for("jobs that run and jobs that wait", Duration::from_secs(30), started).unwrap();
    let variants = [("running stay", &[][..]), ("running move", &[("PriorityFlags", "CALCULATE_RUNNING")])];
    compare(&mut Saved::of(cluster, &SETTINGS), &variants, true);
}
