//! Usage is charged exactly once over good reconfigures, regular restarts and kills, whatever a calculation is doing then: what
//! `sshare` shows of jobs on real slurmds is what `sacct` knows of them, to the second. So are our own sums of usage, for targets, in each of
//! their windows.
//!
//! `make test` reconfigures 20 times in each release, `make test-releases` 150 times.

use std::thread::sleep;
use std::time::Duration;

use multifactor2_fixtures::seed;
use slurm_releases::{cluster, test_in_each_release};
use slurm_testcluster::targets::{assert_records, wait_records};
use slurm_testcluster::{parse_rows, policies, Account, Accounts, Cluster, Job, Release};

const TIMEOUT: Duration = Duration::from_secs(90);
const RECONFIGURES: u32 = if cfg!(feature = "full") { 150 } else { 20 };
const RESTARTS: u32 = if cfg!(feature = "full") { 20 } else { 3 };
const KILLS: u32 = if cfg!(feature = "full") { 40 } else { 4 };

/// Users, each with a job of so many processors.
const USERS: [(&str, u32); 3] = [("three", 3), ("two", 2), ("one", 1)];

/// Half-life sums, and windows that end while slurmctld does.
const TARGETS: &str = "\
Target=Partition Name=main Percent=50
Target=User Name=three Percent=50 Window=yes
TargetWindow=00:00:05
TargetDepth=1000
";

test_in_each_release!(jobs_are_charged_exactly_once_whatever_becomes_of_slurmctld);

fn jobs_are_charged_exactly_once_whatever_becomes_of_slurmctld(release: &Release) {
    let tree = USERS.iter().fold(Account::new("a", 1), |account, (user, _)| account.user(*user, 1));
    let mut cluster = cluster(release.clone())
        .unwrap()
        .accounts(&Accounts::new().account(tree))
        .nodes(3)
        .cpus(4)
        .slurmds(true)
        .set("AccountingStorageEnforce", "associations,limits")
        .set("PriorityWeightFairshare", "1000")
        .file(policies::FILE, TARGETS)
        // A restarted slurmctld uses a node after it has pinged it, a third of this.
        .set("SlurmdTimeout", "6")
        .start()
        .unwrap();
    let jobs = USERS.map(|(user, cpus)| {
        cluster.submit(&Job::new(user).arg(format!("-n{cpus}")).arg("-N1").arg("--mem=1")).unwrap()
    });
    let all_run = cluster
        .wait_for("the jobs to run", TIMEOUT, |cluster| Ok((running(cluster) == USERS.len()).then_some(())));
    if let Err(problem) = all_run {
        let queue = cluster.command("squeue").args(["-a"]).text();
        panic!("{problem}:\n{queue:?}\n{}", cluster.log());
    }
    // Slurm saves the start of a job some seconds later; a kill before that runs it a second time.
    sleep(Duration::from_secs(6));

    let seed = seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let mut pause = |most: u64| sleep(Duration::from_millis(random.u64(..most)));
    for _ in 0..RECONFIGURES {
        cluster.reconfigure().unwrap();
        pause(1000);
        cluster.wait_for("slurmctld", TIMEOUT, |cluster| Ok(cluster.is_up().then_some(()))).unwrap();
    }
    for _ in 0..RESTARTS {
        cluster.restart_controller().unwrap();
        pause(1500);
    }
    let log = cluster.log();
    assert!(!log.contains("ended without saving usage"), "nothing was killed:\n{log}");
    for kill in 0..KILLS {
        if kill % 2 == 0 {
            cluster.reconfigure().unwrap();
        }
        pause(2500);
        cluster.kill_controller().unwrap();
        cluster.start_controller().unwrap();
    }

    cluster.wait_cycle().unwrap();
    for (user, _) in USERS {
        cluster.command("scancel").args(["-u", user]).text().unwrap();
    }
    cluster.wait_for("the jobs to end", TIMEOUT, |cluster| Ok(used(cluster, "").map(drop))).unwrap();
    cluster.wait_cycle().unwrap();
    for user in USERS.map(|(user, _)| user).into_iter().chain([""]) {
        let charged = cluster.share("a", user).unwrap().number("RawUsage").unwrap();
        let used = used(&cluster, user).unwrap();
        assert!(used > 10.0, "{user} has used {used} s only");
        // Both are whole seconds.
        assert!(
            (charged - used).abs() < 0.5,
            "'{user}' of Slurm {}: charged {charged}, used {used}; MULTIFACTOR2_SEED={seed}:\n{}",
            release.version,
            cluster.log()
        );
    }
    let records = wait_records(&cluster, &jobs).unwrap();
    assert_records(&cluster, &records, |_| false);
    let log = cluster.log();
    assert!(!log.contains("error: priority/multifactor2") && !log.contains("panicked"), "{log}");
}

fn running(cluster: &Cluster) -> usize {
    sacct(cluster, "").iter().filter(|row| row.text("State") == "RUNNING").count()
}

/// CPU seconds by the records; `None` while a job has no end.
fn used(cluster: &Cluster, user: &str) -> Option<f64> {
    let rows = sacct(cluster, user);
    let over = rows.iter().all(|row| row.text("End") != "Unknown");
    over.then(|| {
        rows.iter().map(|row| row.number("ElapsedRaw").unwrap() * row.number("AllocCPUS").unwrap()).sum()
    })
}

/// The records of a user's jobs, or of all.
fn sacct(cluster: &Cluster, user: &str) -> Vec<slurm_testcluster::Row> {
    let mut call = cluster.command("sacct");
    call = call.args(["-D", "-X", "-P", "-S", "now-1day", "-o", "jobid,state,end,elapsedraw,alloccpus"]);
    call = if user.is_empty() { call.args(["-a"]) } else { call.args(["-u", user]) };
    parse_rows(&call.text().unwrap())
}
