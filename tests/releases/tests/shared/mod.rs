//! The documented example, and what must hold in any log.
#![allow(dead_code)] // each test crate uses a part

use std::time::Duration;

use multifactor2_fixtures::example::{named, waiting, NUMBERS};
use slurm_testcluster::example as documented;
use slurm_testcluster::{Builder, Cluster, Job};

pub const TIMEOUT: Duration = Duration::from_secs(60);

/// Half a unit of the sixth decimal, with which Slurm's tools print.
const PRINTED: f64 = 1.1e-6;

/// The example's accounts and usage, and a partition `held` for jobs that shall wait.
pub fn example(builder: Builder) -> Builder {
    builder
        .accounts(&documented::tree())
        .usage(&documented::usage())
        .line("PartitionName=held Nodes=n1 State=DOWN")
}

/// The two jobs that wait in the example.
pub fn submit_example(cluster: &Cluster) {
    for (user, _) in waiting() {
        cluster.submit(&Job::new(user.user).account(user.account).partition("held")).unwrap();
    }
}

/// The points that a factor makes with a weight of 100,000.
fn points(factor: f64) -> f64 {
    (factor * 1e5).floor()
}

fn near(what: &str, found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{what} is {found}, documented {expected}");
}

/// Every documented number against what sshare and sprio print.
pub fn check_example(cluster: &Cluster) {
    check_shares(cluster);
    let jobs = cluster.sprio_rows().unwrap();
    assert_eq!(jobs.len(), waiting().count(), "{jobs:?}");
    for (user, factor) in waiting() {
        let (user, points) = (user.user, points(factor));
        let job = jobs.iter().find(|job| job.text("USER") == user).unwrap();
        near(&format!("sprio's factor of {user}"), job.number("fairshare").unwrap(), factor, PRINTED);
        near(&format!("sprio's FAIRSHARE of {user}"), job.number("FAIRSHARE").unwrap(), points, 0.5);
        near(&format!("sprio's PRIORITY of {user}"), job.number("PRIORITY").unwrap(), points, 0.5);
    }
}

/// Every documented number that sshare prints.
fn check_shares(cluster: &Cluster) {
    for (name, shares, _, usage, factor) in NUMBERS {
        let row = cluster.share(named(name).account, named(name).user).unwrap();
        for (column, expected) in [("NormShares", shares), ("EffectvUsage", usage), ("LevelFS", factor)] {
            near(&format!("{column} of {name}"), row.number(column).unwrap(), expected, PRINTED);
        }
    }
    for (user, factor) in waiting() {
        let share = cluster.share(user.account, user.user).unwrap();
        near(&format!("FairShare of {}", user.user), share.number("FairShare").unwrap(), factor, PRINTED);
    }
}

/// The plugin complained of nothing.
pub fn check_log(cluster: &Cluster) {
    let complaints: Vec<String> = cluster
        .log()
        .lines()
        .filter(|line| line.contains("error: priority/multifactor2") || line.contains("panicked"))
        .map(str::to_owned)
        .collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
}
