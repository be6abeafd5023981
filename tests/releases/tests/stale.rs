//! Failed reconfigures. From 23.11 on the old slurmctld goes on with jobs that point to associations and QOS which it has freed,
//! until it has connected them with what it has loaded anew. The plugin still charges and orders.

use crate::shared;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use shared::{check_log, TIMEOUT};
use slurm_releases::{cluster, FORKY, TRIXIE};
use slurm_testcluster::{
    last_lines, parse_rows, stacks, Account, Accounts, Builder, Cluster, Job, Mode, Release,
};

/// Jobs of users with associations, and without where they may.
fn submit(cluster: &Cluster, enforced: bool, seconds: u32) {
    // The first one that a check sees has no association.
    if !enforced {
        cluster.submit(&Job::of_slurm_user().seconds(seconds).arg("--export=ALL")).unwrap();
    }
    for (user, account) in [("alice", "physics"), ("bob", "chemistry")] {
        let job = Job::new(user).account(account).seconds(seconds).arg("--export=ALL");
        cluster.submit(&job).unwrap();
        cluster.submit(&Job::new(user).account(account).arg("--hold")).unwrap();
        cluster.submit(&Job::new(user).account(account).arg("--begin=now+1hour")).unwrap();
    }
}

/// CPU seconds of a user by the records of slurmdbd; `None` while a job runs.
fn recorded(cluster: &Cluster, user: &str) -> Option<f64> {
    let fields = "jobid,state,end,elapsedraw,alloccpus";
    let text = cluster
        .command("sacct")
        .args(["-D", "-X", "-P", "-S", "now-1day", "-u", user, "-o", fields])
        .text()
        .unwrap();
    let rows = parse_rows(&text);
    let started: Vec<_> = rows.iter().filter(|row| row.text("State") != "PENDING").collect();
    let over = !started.is_empty() && started.iter().all(|row| row.text("End") != "Unknown");
    let seconds =
        |row: &&slurm_testcluster::Row| row.number("ElapsedRaw").unwrap() * row.number("AllocCPUS").unwrap();
    over.then(|| started.iter().map(seconds).sum())
}

/// So many reconfigures that fail, under load, and a good one.
fn survives(release: &Release, mode: Mode, failures: usize, enforced: bool) {
    let through = (0..3).any(|_| series(release, mode, failures, enforced));
    assert!(through, "each time slurmctld hangs or forgets without us");
}

/// `false` where slurmctld hangs or forgets without us.
fn series(release: &Release, mode: Mode, failures: usize, enforced: bool) -> bool {
    let tree = Accounts::new()
        .account(Account::new("physics", 40).user("alice", 1))
        .account(Account::new("chemistry", 60).user("bob", 1));
    let enforce = |builder: Builder| {
        if enforced {
            builder.set("AccountingStorageEnforce", "associations,limits,qos")
        } else {
            builder
        }
    };
    let mut cluster = enforce(cluster(release.clone()).unwrap())
        .accounts(&tree)
        .mode(mode)
        .slurmds(true)
        .cpus(16)
        .set("PriorityDecayHalfLife", "0")
        .set("PriorityWeightFairshare", "10000")
        .start()
        .unwrap();
    submit(&cluster, enforced, 5);
    // One may be over before the other starts: 24.11 leaves its nodes unanswered for seconds.
    let started = |cluster: &Cluster| {
        let jobs = cluster.command("squeue").args(["-h", "-t", "all", "-o", "%u %T"]).text()?;
        let has_started = |user: &&str| {
            let of_user = jobs.lines().filter(|job| job.starts_with(*user));
            of_user.into_iter().any(|job| !job.ends_with("PENDING"))
        };
        Ok(["alice", "bob"].iter().all(has_started).then_some(()))
    };
    cluster.wait_for("a job of each user to start", TIMEOUT, started).unwrap();
    cluster.wait_cycle().unwrap();
    let mut passed = 0;
    for round in 0..failures {
        submit(&cluster, enforced, 1 + u32::try_from(round % 3).unwrap());
        cluster.set("SchedulerType", "sched/nosuch").unwrap();
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            for program in ["sprio", "squeue"] {
                let (cluster, over) = (&cluster, &over);
                scope.spawn(move || {
                    while !over.load(Ordering::Relaxed) {
                        // They fail while nobody answers.
                        cluster.command(program).succeeds();
                    }
                });
            }
            let answer = cluster.reconfigure();
            over.store(true, Ordering::Relaxed);
            answer.unwrap_err();
        });
        cluster.set("SchedulerType", "sched/backfill").unwrap();
        if !goes_on(&cluster, round) {
            return false;
        }
        passed += 1;
    }
    assert_eq!(passed, failures);
    cluster.reconfigure().unwrap();
    if !goes_on(&cluster, failures) {
        return false;
    }
    // What has not started yet must not start between a look at the one number and the other.
    for user in ["alice", "bob"] {
        assert!(cluster.command("scancel").args(["--state", "pending", "--user", user]).succeeds());
    }
    for (user, account) in [("alice", "physics"), ("bob", "chemistry")] {
        let ended = |cluster: &Cluster| {
            cluster.cancel_unlaunched()?;
            Ok(recorded(cluster, user))
        };
        let seconds = cluster.wait_for("the end of all jobs", TIMEOUT, ended).unwrap();
        cluster.wait_cycle().unwrap();
        let charged = cluster.share(account, user).unwrap().number("RawUsage").unwrap();
        println!("{user}: {seconds} s by sacct, {charged} s by sshare");
        assert!(seconds > 1.0, "no job of {user} ran");
        assert!((charged - seconds).abs() < 0.5, "{user}: {seconds} s by sacct, {charged} s by sshare");
    }
    check_log(&cluster);
    cluster.stop_controller().unwrap();
    true
}

/// `false` where slurmctld does what it sometimes does under stock, too, and nothing can be said of the plugin: it waits for
/// slurmdbd, before any priority plugin is loaded; it saves nothing, because its scheduler has the locks in that moment, and
/// forgets jobs that it has just started; or it never ends what it does for its clients, while no thread of it is in the plugin, and cycles take all
/// locks and go on.
fn goes_on(cluster: &Cluster, round: usize) -> bool {
    let up = cluster.wait_for("slurmctld", TIMEOUT, |cluster| Ok(cluster.is_up().then_some(())));
    let log = cluster.log();
    if up.is_err() && log.lines().last().is_some_and(|line| line.contains("Registering slurmctld at port")) {
        println!("round {round}: {}", log.lines().last().unwrap_or_default());
        return false;
    }
    if let Some(line) = log.lines().find(|line| line.contains("can not save state")) {
        println!("round {round}: {line}");
        return false;
    }
    let ended = cluster.controller_ended().unwrap();
    if up.is_err() && ended.is_none() {
        let (inside, text) = (
            stacks::inside_plugin(cluster, cluster.controller_pid().unwrap()).unwrap(),
            stacks::of_running(cluster).unwrap(),
        );
        assert!(inside.is_empty(), "slurmctld hangs in round {round}, in the plugin: {inside:?}\n{text}");
        cluster.wait_cycle().unwrap();
        println!(
            "round {round}: slurmctld hangs, and the plugin does not:\n{text}\n{}",
            last_lines(&log, 20)
        );
        return false;
    }
    assert!(up.is_ok() && ended.is_none(), "slurmctld died in round {round} ({ended:?}):\n{}", cluster.log());
    cluster.wait_cycle().unwrap();
    assert!(!cluster.log().contains("does not match"), "{}", cluster.log());
    thread::sleep(Duration::from_millis(100));
    let jobs = cluster.sprio_rows().unwrap();
    assert!(jobs.iter().all(|job| job.text("fairshare").parse::<f64>().is_ok()), "{jobs:?}");
    true
}

#[test]
fn failed_reconfigures_stop_and_lose_nothing() {
    TRIXIE.test(|release| survives(release, Mode::Daemon, 4, false));
}

#[test]
fn under_systemd_failed_reconfigures_stop_and_lose_nothing_in_trixie() {
    TRIXIE.test(|release| survives(release, Mode::Systemd, 3, true));
}

#[test]
fn under_systemd_failed_reconfigures_stop_and_lose_nothing_in_forky() {
    FORKY.test(|release| survives(release, Mode::Systemd, 3, true));
}

#[cfg(feature = "full")]
#[test]
fn twenty_failed_reconfigures_in_a_row_stop_and_lose_nothing() {
    for suite in slurm_releases::SUITES {
        let Some(release) = suite.release().unwrap() else { continue };
        if !release.reconfigures_by_a_new_process() {
            continue;
        }
        for mode in [Mode::Daemon, Mode::Systemd] {
            for enforced in [false, true] {
                println!("Slurm {}, {mode:?}, enforced {enforced}", release.version);
                survives(&release, mode, 20, enforced);
            }
        }
    }
}
