//! The documented example, and what must hold in any log.
#![allow(dead_code)] // each test crate uses a part

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use slurm_testcluster::{Account, Accounts, Builder, Cluster, Job};

pub const TIMEOUT: Duration = Duration::from_secs(60);

/// Account, user, and their documented `NormShares`, `EffectvUsage` and `LevelFS`.
const DOCUMENTED: [(&str, &str, f64, f64, f64); 11] = [
    ("a", "", 0.4, 0.45, 0.888_889),
    ("b", "", 0.3, 0.2, 1.5),
    ("b", "user1", 0.3, 0.2, 1.5),
    ("c", "", 0.1, 0.25, 0.4),
    ("c", "user2", 0.05, 0.25, 0.2),
    ("c", "user3", 0.05, 0.0005, 100.0),
    ("d", "", 0.6, 0.25, 2.4),
    ("e", "", 0.25, 0.25, 1.0),
    ("e", "user4", 0.25, 0.25, 1.0),
    ("f", "", 0.35, 0.0035, 100.0),
    ("f", "user5", 0.35, 0.0035, 100.0),
];

/// Half a unit of the sixth decimal, with which Slurm's tools print.
const PRINTED: f64 = 1.1e-6;

/// The example's accounts and usage, and a partition `held` for jobs that shall wait.
pub fn example(builder: Builder) -> Builder {
    let tree = Accounts::new()
        .account(
            Account::new("a", 40)
                .account(Account::new("b", 30).user("user1", 1))
                .account(Account::new("c", 10).user("user2", 1).user("user3", 1)),
        )
        .account(
            Account::new("d", 60)
                .account(Account::new("e", 25).user("user4", 1))
                .account(Account::new("f", 35).user("user5", 1)),
        )
        .account(Account::new("rest", 0).user("others", 1));
    builder
        .accounts(&tree)
        .usage(&[("b", "user1", 2e5), ("c", "user2", 2.5e5), ("e", "user4", 2.5e5), ("rest", "others", 3e5)])
        .line("PartitionName=held Nodes=n1 State=DOWN")
}

/// The two jobs that wait in the example.
pub fn submit_example(cluster: &Cluster) {
    for (user, account) in [("user2", "c"), ("user5", "f")] {
        cluster.submit(&Job::new(user).account(account).partition("held")).unwrap();
    }
}

/// User, account, the fair-share factor of a job, and the points that it makes with a weight of 100,000.
const JOBS: [(&str, &str, f64, f64); 2] = [("user2", "c", 0.246_914, 24_691.0), ("user5", "f", 1.0, 1e5)];

fn near(what: &str, found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{what} is {found}, documented {expected}");
}

/// Every documented number against what sshare and sprio print.
pub fn check_example(cluster: &Cluster) {
    check_shares(cluster);
    let jobs = cluster.sprio_rows().unwrap();
    assert_eq!(jobs.len(), JOBS.len(), "{jobs:?}");
    for (user, _, factor, points) in JOBS {
        let job = jobs.iter().find(|job| job.text("USER") == user).unwrap();
        near(&format!("sprio's factor of {user}"), job.number("fairshare").unwrap(), factor, PRINTED);
        near(&format!("sprio's FAIRSHARE of {user}"), job.number("FAIRSHARE").unwrap(), points, 0.5);
        near(&format!("sprio's PRIORITY of {user}"), job.number("PRIORITY").unwrap(), points, 0.5);
    }
}

/// The example where sprio has no layout to be answered in: sshare and squeue have every number, sprio has none.
pub fn check_example_without_sprio(cluster: &Cluster) {
    check_shares(cluster);
    let queue = cluster.command("squeue").args(["--noheader", "--format=%u %Q"]).text().unwrap();
    for (user, _, _, points) in JOBS {
        let job = queue.lines().find_map(|line| line.trim().strip_prefix(user)).unwrap();
        near(&format!("squeue's priority of {user}"), job.trim().parse().unwrap(), points, 0.5);
    }
    let jobs = cluster.sprio_rows().unwrap();
    assert!(jobs.is_empty(), "{jobs:?}");
}

/// Every documented number that sshare prints.
fn check_shares(cluster: &Cluster) {
    for (account, user, shares, usage, factor) in DOCUMENTED {
        let row = cluster.share(account, user).unwrap();
        for (column, expected) in [("NormShares", shares), ("EffectvUsage", usage), ("LevelFS", factor)] {
            near(&format!("{column} of {account} {user}"), row.number(column).unwrap(), expected, PRINTED);
        }
    }
    for (user, account, factor, _) in JOBS {
        let share = cluster.share(account, user).unwrap();
        near(&format!("FairShare of {user}"), share.number("FairShare").unwrap(), factor, PRINTED);
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

/// A slurmctld in the background, as a service runs; ends with the test.
pub struct Background(std::path::PathBuf);

impl Background {
    pub fn start(cluster: &mut Cluster) -> Self {
        let log = cluster.directory().join("log/slurmctld");
        cluster.set("SlurmctldLogFile", log.to_str().unwrap()).unwrap();
        let offset = cluster.release().calc_period_offset().unwrap().to_string();
        let call = cluster.command("slurmctld").env("TESTCLUSTER_CYCLE_SECONDS", "1");
        call.env("TESTCLUSTER_CYCLE_OFFSET", &offset).text().unwrap();
        let background = Self(cluster.directory().join("slurmctld.pid"));
        cluster.wait_for("slurmctld", TIMEOUT, |cluster| Ok(cluster.is_up().then_some(()))).unwrap();
        background
    }

    pub fn signal(&self, signal: &str) -> bool {
        let pid = fs::read_to_string(&self.0).unwrap_or_default();
        let pid = pid.trim();
        !pid.is_empty()
            && Command::new("kill").args([signal, pid]).stderr(Stdio::null()).status().unwrap().success()
    }

    pub fn stop(&mut self, cluster: &Cluster) {
        self.signal("-TERM");
        cluster.wait_for("the end", TIMEOUT, |_| Ok((!self.signal("-0")).then_some(()))).unwrap();
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.signal("-KILL");
    }
}
