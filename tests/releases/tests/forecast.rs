//! What `cost` and `recover` foretell comes true, under multifactor2, Fair Tree and classic: a job adds the usage that `cost` said, by the time
//! that it ran, and that usage gives the factor that `cost` said; and a factor is at each time what `recover` said, while usage decays and a
//! job of another user runs. In the oldest and the newest release by `make test`, in all by `make test-releases`.

use std::fs;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use slurm_releases::cluster;
use slurm_testcluster::{parse_rows, Account, Accounts, Builder, Cluster, Job, JobId, Release};

use crate::command::{answer, asked, sacctmgr, ALGORITHMS};
use crate::shared;

#[cfg(feature = "full")]
mod in_all {
    mod costs {
        slurm_releases::test_in_each_release!(super::super::a_job_costs_what_was_said);
    }
    mod recovery {
        slurm_releases::test_in_each_release!(super::super::a_factor_recovers_as_was_said);
    }
}

#[cfg(not(feature = "full"))]
#[test]
fn bullseye() {
    slurm_releases::BULLSEYE.test(a_job_costs_what_was_said);
    slurm_releases::BULLSEYE.test(a_factor_recovers_as_was_said);
}

#[cfg(not(feature = "full"))]
#[test]
fn forky() {
    slurm_releases::FORKY.test(a_job_costs_what_was_said);
    slurm_releases::FORKY.test(a_factor_recovers_as_was_said);
}

const WAIT: Duration = Duration::from_secs(120);

/// Whose factor is looked at, and the others.
const WHO: (&str, &str) = ("chem", "ada");
const OTHERS: [(&str, &str); 3] = [("chem", "eve"), ("bio", "bob"), ("bio", "dan")];

const WEIGHT: f64 = 1e6;

/// One of the settings, so that a factor of its own is in the cost.
const CHARGE: &str = "Charge=Partition Name=dear Factor=1.5\n";

fn builder(release: &Release) -> Builder {
    let chem = Account::new("chem", 3).user("ada", 2).user("eve", 1);
    let bio = Account::new("bio", 5).user("bob", 1).user("dan", 4);
    cluster(release.clone())
        .unwrap()
        .accounts(&Accounts::new().account(chem).account(bio))
        .set("PriorityWeightFairshare", "1000000")
        .nodes(1)
        .memory(4096)
        .slurmds(true)
        // A restarted slurmctld uses a node after it has pinged it, a third of this.
        .set("SlurmdTimeout", "6")
        .line("PartitionName=dear Nodes=ALL State=UP TRESBillingWeights=CPU=2.0,Mem=0.5G")
        .line("PartitionName=held Nodes=ALL State=DOWN")
}

/// A job of everybody waits, so that all compete.
fn all_wait(cluster: &Cluster) -> JobId {
    let wait = |(account, user): (&str, &str)| {
        cluster.submit(&Job::new(user).account(account).partition("held")).unwrap()
    };
    for other in OTHERS {
        wait(other);
    }
    wait(WHO)
}

/// The factor that a job has.
fn factor(cluster: &Cluster, job: JobId) -> f64 {
    let rows = cluster.sprio_rows().unwrap();
    let row = rows.iter().find(|row| row.text("JOBID") == job.to_string());
    row.unwrap_or_else(|| panic!("{job} is not in sprio: {rows:?}")).number("FAIRSHARE").unwrap() / WEIGHT
}

fn usage(cluster: &Cluster) -> f64 {
    cluster.share(WHO.0, WHO.1).unwrap().number("RawUsage").unwrap()
}

fn says(cluster: &Cluster, from: &(PathBuf, PathBuf), words: &[&str]) -> Value {
    let what = cluster.release().version;
    answer(&from.0, Some(&from.1), words).unwrap_or_else(|error| panic!("Slurm {what}, {words:?}: {error}"))
}

/// What Slurm's commands say, and the settings.
fn ask(cluster: &Cluster, name: &str) -> (PathBuf, PathBuf) {
    let conf = cluster.directory().join("multifactor2.conf");
    (asked(cluster, "root", name), conf)
}

fn a_job_costs_what_was_said(release: &Release) {
    let mut cluster = builder(release).file("multifactor2.conf", CHARGE).start().unwrap();
    sacctmgr(&cluster, "add qos precious usagefactor=3");
    sacctmgr(&cluster, "modify cluster test set qos+=precious");
    let waiting = all_wait(&cluster);
    let base = |more: f64| {
        [(WHO.0, WHO.1, 400.0 + more), ("chem", "eve", 700.0), ("bio", "bob", 900.0), ("bio", "dan", 700.0)]
    };
    for (at, (priority, flags)) in ALGORITHMS.into_iter().enumerate() {
        let what = format!("Slurm {}, {priority}, {flags}", release.version);
        cluster.set("PriorityType", priority).unwrap();
        cluster.set("PriorityFlags", flags).unwrap();
        cluster.inject_usage(&base(0.0)).unwrap();
        cluster.wait_cycle().unwrap();
        // Held until it has been asked about.
        let job = Job::new(WHO.1).account(WHO.0).partition("dear").seconds(12);
        let job = job.arg("--qos=precious").arg("-n3").arg("--mem=512").arg("--time=2").arg("--hold");
        let job = cluster.submit(&job.arg("--export=ALL")).unwrap().to_string();
        cluster.wait_cycle().unwrap();
        let said = says(&cluster, &ask(&cluster, &format!("cost-{at}")), &["cost", &job]);
        let said = &said["answer"];
        assert_eq!(said["seconds"], 120, "{what}: {said}");
        let charged = if priority.ends_with('2') { 1.5 } else { 1.0 };
        // Three CPUs and half a gigabyte.
        let by_hand = 120.0 * (3.0 * 2.0 + 0.5 * 0.5) * 3.0 * charged;
        let cost = said["usage"].as_f64().unwrap();
        assert!((cost - by_hand).abs() < 1e-6, "{what}: {cost}, by hand {by_hand}: {said}");
        let of_chem = &said["accounts"][0];
        assert_eq!(
            (&of_chem["account"], &of_chem["asked"]),
            (&"chem".into(), &true.into()),
            "{what}: {said}"
        );
        let foretold = |name: &str| of_chem[name].as_f64().unwrap_or_else(|| panic!("{what}: {said}"));
        let (before, after) = (foretold("factor_before"), foretold("factor_after"));
        assert!(before > after && (factor(&cluster, waiting) - before).abs() < 2e-6, "{what}: {said}");

        let old = usage(&cluster);
        cluster.scontrol(&["release", &job]).unwrap();
        let ended = |cluster: &Cluster| {
            let text = cluster
                .command("sacct")
                .args(["-XPDa", "-o", "jobid,state,elapsedraw", "-j", &job])
                .text()?;
            let rows = parse_rows(&text);
            Ok(rows
                .iter()
                .find(|row| row.text("State") == "COMPLETED")
                .map(|row| row.number("ElapsedRaw").unwrap()))
        };
        let ran = cluster.wait_for("the job to end", WAIT, ended).unwrap();
        cluster.wait_cycle().unwrap();
        let (added, said) = (usage(&cluster) - old, cost * ran / 120.0);
        assert!(
            ran >= 12.0 && (added - said).abs() <= 1.0,
            "{what}: {added} after {ran} s, cost said {said}"
        );

        // As if it had run until its limit.
        cluster.inject_usage(&base(cost)).unwrap();
        cluster.wait_cycle().unwrap();
        // Classic works out users when they are asked for.
        cluster.sshare_rows().unwrap();
        cluster.wait_cycle().unwrap();
        let found = factor(&cluster, waiting);
        assert!((found - after).abs() < 2e-6, "{what}: the factor is {found}, cost said {after}");
    }
    shared::check_log(&cluster);
}

/// Usage halves in this time.
const HALF_LIFE: &str = "00:01:00";

/// So long it is looked at, in seconds. Meanwhile bio uses so much that chem comes before it in Fair Tree.
const LOOK: i64 = 75;

fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap()
}

fn a_factor_recovers_as_was_said(release: &Release) {
    let mut cluster = builder(release)
        .set("PriorityDecayHalfLife", HALF_LIFE)
        .file("multifactor2.conf", "")
        .start()
        .unwrap();
    let waiting = all_wait(&cluster);
    let running =
        Job::new("bob").account("bio").partition("dear").arg("-n4").arg("--mem=512").arg("--export=ALL");
    let running = cluster.submit(&running).unwrap().to_string();
    let runs = |cluster: &Cluster| {
        let state = cluster.command("squeue").args(["-h", "-o", "%T", "-j", &running]).text()?;
        Ok((state.trim() == "RUNNING").then_some(()))
    };
    cluster.wait_for("a job to run", WAIT, runs).unwrap();
    for (at, (priority, flags)) in ALGORITHMS.into_iter().enumerate() {
        let what = format!("Slurm {}, {priority}, {flags}", release.version);
        cluster.set("PriorityType", priority).unwrap();
        cluster.set("PriorityFlags", flags).unwrap();
        cluster.inject_usage(&[(WHO.0, WHO.1, 330.0), ("chem", "eve", 70.0), ("bio", "dan", 100.0)]).unwrap();
        cluster.wait_for("a job to run", WAIT, runs).unwrap();
        cluster.wait_cycle().unwrap();
        cluster.wait_cycle().unwrap();
        let cycle = cluster.last_cycle().unwrap();
        let from = ask(&cluster, &format!("recover-{at}"));
        // What it says is of a cycle between these, too.
        let asking = now() - cycle;
        // The cycles of the test are shorter than slurm.conf can say.
        let config = from.0.join("config.txt");
        let text = fs::read_to_string(&config).unwrap();
        let period = text.lines().find(|line| line.starts_with("PriorityCalcPeriod")).unwrap();
        fs::write(&config, text.replace(period, "PriorityCalcPeriod = 00:00:01")).unwrap();
        let said = says(&cluster, &from, &["recover", "ada@chem", "--to", "1"]);
        let begin = said["about"]["at"].as_i64().unwrap();
        let all = said["answer"]["accounts"][0]["courses"].as_array().unwrap();
        let course = all.iter().find(|course| course["others"] == "run_on");
        let course = course.unwrap_or_else(|| panic!("{what}: {said}"));
        let points: Vec<(i64, f64)> = course["points"]
            .as_array()
            .unwrap()
            .iter()
            .map(|point| (point["after"].as_i64().unwrap(), point["factor"].as_f64().unwrap()))
            .collect();
        let mut compared = 0;
        for at in 1..points.len() - 1 {
            let (after, foretold) = points[at];
            if after > LOOK || begin + after <= now() {
                continue;
            }
            sleep(Duration::from_secs(u64::try_from(begin + after - now()).unwrap()));
            // A busy machine has its cycles late, and answers late. The factor is that of a cycle between these.
            let first = cluster.last_cycle().unwrap();
            let found = factor(&cluster, waiting);
            let last = cluster.last_cycle().unwrap();
            let off = (first - (begin + after)).abs().max((last - (begin + after)).abs()) + asking;
            // What it moves in that time, and in two seconds for the rounding of times; of two ranks it is one.
            let (before, next) = (points[at - 1], points[at + 1]);
            #[allow(clippy::cast_precision_loss)] // seconds
            let moves = (2 + off) as f64 * (next.1 - before.1).abs() / (next.0 - before.0) as f64;
            let is_step = flags == "FAIR_TREE" && !priority.ends_with('2');
            let is_near = |factor: f64| (found - factor).abs() <= moves + 2e-6;
            assert!(
                is_near(foretold) || is_step && (is_near(before.1) || is_near(next.1)),
                "{what}: after {after} s the factor is {found}, recover said {foretold} ± {moves}, its cycle is {off} s off: {points:?}"
            );
            compared += 1;
        }
        assert!(compared >= 2, "{what}: {points:?}");
        let (first, last) = (points[0].1, points[compared].1);
        assert!(last > first, "{what}: nothing recovers: {points:?}");
    }
}
