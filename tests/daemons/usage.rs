//! Usage of real jobs on real slurmds: of several sizes, prices and fates. slurmdbd's records say when each job started and ended, and so what has to
//! be charged: without decay raw usage is known to the second.

use std::time::Duration;

use slurm_testcluster::{Cluster, Job};

use crate::schedule::{
    assert_nothing_runs, due, limits, run_jobs, shown, start, state, wait_state, Outcome, WAIT,
};
use crate::support::{lacks_root, OURS, STOCK};

fn difference(outcome: &Outcome) -> f64 {
    let all =
        outcome.due.iter().map(|(key, due)| (outcome.shown.get(key).copied().unwrap_or(0.0) - due).abs());
    all.fold(0.0, f64::max)
}

/// How much more than due a user may be charged: when a job is made smaller, both plugins charge the time since the last cycle for the
/// old size at once, and for the new one in the next cycle. That is one CPU for the time between two cycles here.
fn overlap((_, user): &(String, String)) -> f64 {
    if user == "max" {
        10.0
    } else {
        0.0
    }
}

#[test]
fn real_jobs_are_charged_for_exactly_the_time_they_ran() {
    if lacks_root("real_jobs_are_charged_for_exactly_the_time_they_ran", "jobs of several users") {
        return;
    }
    let run = |plugin: &str| {
        let cluster = start(plugin, "0");
        let outcome = run_jobs(&cluster);
        eprintln!(
            "{plugin}: {} runs, {:?}, at most {} s off",
            outcome.runs,
            outcome.shown,
            difference(&outcome)
        );
        (cluster, outcome)
    };
    let ((stock_cluster, stock), (mut cluster, ours)) = std::thread::scope(|scope| {
        let other = scope.spawn(|| run(STOCK));
        let ours = run(OURS);
        (other.join().unwrap(), ours)
    });
    assert_eq!(stock.runs, ours.runs);
    assert_eq!(ours.reasons, stock.reasons);
    let limits_met = ["AssocGrpCPURunMinutesLimit", "QOSGrpCPURunMinutesLimit", "AssocGrpCPUMinutesLimit"];
    assert_eq!(ours.reasons, limits_met);
    for (key, due) in &ours.due {
        let over = ours.shown[key] - due;
        assert!((0.0..=overlap(key)).contains(&over), "{key:?}: {over} s more than the jobs' records give");
    }
    for (key, due) in &stock.due {
        // Stock may charge the last second of each job twice.
        let shown = stock.shown[key];
        assert!(shown >= *due && shown <= due + 40.0, "stock, {key:?}: {shown} instead of {due}");
    }
    assert_nothing_runs(&stock_cluster);
    assert_nothing_runs(&cluster);
    // Run-minutes come to an end exactly: nothing was taken that had not been counted (before 24.05 that of accounts and users
    // within a QOS is not).
    let complaints =
        |cluster: &Cluster| cluster.log().lines().filter(|line| line.contains("TRES cpu")).count();
    assert_eq!((complaints(&cluster), complaints(&stock_cluster)), (0, 0));
    drop(stock_cluster);

    // What ours has charged, stock goes on with, and back.
    let before = limits(&cluster);
    for plugin in [STOCK, OURS] {
        cluster.set("PriorityType", plugin).unwrap();
        cluster.restart_controller().unwrap();
        cluster.wait_cycle().unwrap();
        assert_eq!(shown(&cluster), ours.shown, "under {plugin}");
        assert_eq!(limits(&cluster), before, "under {plugin}");
    }
}

/// The same schedule with a half-life of two minutes: of each second that a job ran there is left what has not decayed since.
#[test]
#[ignore = "minutes: make test-parity"]
#[allow(clippy::cast_precision_loss)] // times
fn usage_that_decays_is_what_is_left_of_each_second_under_both() {
    // The factor per second, as Slurm makes it of a half-life.
    const FACTOR: f64 = 1.0 - 0.693 / 120.0;
    if lacks_root("usage_that_decays_is_what_is_left_of_each_second_under_both", "jobs of several users") {
        return;
    }
    for plugin in [STOCK, OURS, STOCK, OURS] {
        let cluster = start(plugin, "0-0:02:00");
        let outcome = run_jobs(&cluster);
        assert_nothing_runs(&cluster);
        let seen = outcome.seen as f64;
        let since = |time: f64| FACTOR.powf(seen - time);
        let (left, _) = due(&cluster, |start, end| (since(start) - since(end)) / FACTOR.ln());
        eprintln!("{plugin}: {:?}, by the records {left:?}", outcome.shown);
        for (key, left) in left {
            let (shown, due) = (outcome.shown[&key], outcome.due[&key]);
            // What is shown is rounded and may be a cycle later; stock may charge the last second of a job twice.
            let twice = if plugin == STOCK { 8.0 } else { 0.0 };
            let in_range = shown >= 0.97 * left - 1.0 && shown <= 1.01 * left + 1.0 + twice + overlap(&key);
            assert!(in_range, "{plugin}, {key:?}: {shown}, but {left} are left of {due}");
        }
    }
}

/// Jobs that run past their time limit are charged for all the time they run, but give back no more run-minutes than
/// were taken for them.
#[test]
#[ignore = "minutes: make test-parity"]
fn jobs_past_their_limit_are_charged_to_the_end() {
    if lacks_root("jobs_past_their_limit_are_charged_to_the_end", "jobs of several users") {
        return;
    }
    std::thread::scope(|scope| {
        for plugin in [STOCK, OURS] {
            scope.spawn(move || {
                let mut cluster = start(plugin, "0");
                cluster.set("OverTimeLimit", "1").unwrap();
                cluster.reconfigure().unwrap();
                let job =
                    cluster.submit(&Job::new("ada").seconds(3600).arg("--time=1").arg("--ntasks=2")).unwrap();
                wait_state(&cluster, job, "RUNNING");
                std::thread::sleep(Duration::from_secs(70));
                assert_eq!(state(&cluster, job, "%T"), "RUNNING", "{plugin}");
                assert_nothing_runs(&cluster);
                let ended = |cluster: &Cluster| Ok((state(cluster, job, "%T") == "TIMEOUT").then_some(()));
                cluster.wait_for("the end past the limit", Duration::from_secs(180), ended).unwrap();
                cluster.wait_cycle().unwrap();
                let (due, runs) = due(&cluster, |start, end| end - start);
                assert_eq!(runs, 1);
                let shown = shown(&cluster);
                for (key, due) in due {
                    assert!(due > 2.0 * 100.0, "{plugin}: {due}");
                    assert!((shown[&key] - due).abs() <= 4.0, "{plugin}, {key:?}: {} of {due}", shown[&key]);
                }
                assert!(!cluster.log().contains("TRES cpu end"), "{plugin}: {}", cluster.log());
            });
        }
    });
}

/// Hundreds of jobs as short as a cycle, which end beside all of its phases. Ours charges each second once; stock can charge
/// a job twice that ends while a cycle is under way.
#[test]
#[ignore = "minutes: make test-parity"]
fn short_jobs_are_charged_once() {
    if lacks_root("short_jobs_are_charged_once", "jobs of several users") {
        return;
    }
    for plugin in [STOCK, OURS] {
        let cluster = start(plugin, "0");
        for n in 0..300 {
            let user = ["ada", "emmy", "lise", "rosalind", "barbara"][n % 5];
            cluster.submit(&Job::new(user).seconds(u32::try_from(n % 3).unwrap())).unwrap();
        }
        let over = |cluster: &Cluster| {
            Ok(cluster.command("squeue").arg("-h").text()?.trim().is_empty().then_some(()))
        };
        cluster.wait_for("all jobs to end", 4 * WAIT, over).unwrap();
        cluster.wait_cycle().unwrap();
        let (due, runs) = due(&cluster, |start, end| end - start);
        let shown = shown(&cluster);
        let [charged, run]: [f64; 2] = [&shown, &due].map(|usage| usage.values().sum());
        eprintln!("{plugin}: {runs} jobs ran {run} s, charged are {charged} s");
        assert_eq!(runs, 300);
        let exact = (charged - run).abs() < 0.5;
        assert!(exact || plugin == STOCK && charged > run, "{plugin}: {charged} s for {run} s");
        assert_nothing_runs(&cluster);
    }
}
