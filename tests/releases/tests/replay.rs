//! The replay's model of Slurm's scheduler against Slurm itself: some hundred short jobs on real slurmds, collected by
//! `multifactor2 replay --export`, and replayed under the same policy. The order of starts and the mean wait have to be those of the
//! cluster within 10 %. docs/replay.md has what was measured.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use multifactor2_core::settings::Settings;
use multifactor2_replay::measures::{compare, summary, Counted};
use multifactor2_replay::order::Policy;
use multifactor2_replay::sim::{simulate, Outcome, Plan, Scheduler, NEVER};
use multifactor2_replay::workload::NO_TIME;
use multifactor2_replay::{trace, Workload};
use slurm_releases::replayed::{self, bursts, tree, Planned, ACCOUNTS, SCHEDULER};
use slurm_releases::{cluster, Suite, BOOKWORM, FORKY};
use slurm_testcluster::{policies, Cluster, Release};

use super::command::sacctmgr;

/// How far the replay may be from the cluster.
const BOUND: f64 = 0.1;

/// Nodes of one CPU each, so that jobs get whole nodes.
const NODES: u16 = 60;

const JOBS: usize = 240;

/// Seconds in which they are submitted.
const SUBMITTED: u32 = 100;

const STANDING: &str = "Distribution=standing\n";

slurm_releases::test_in_each_release!(exports);

fn exports(release: &Release) {
    an_export_tells_all_but_names(release);
    a_limit_is_followed_or_nothing_is_said(release);
}

fn test(suite: Suite, settings: Option<&str>) {
    suite.test(|release| the_model_is_near(release, settings));
}

#[test]
fn bookworm_fair_tree() {
    test(BOOKWORM, None);
}

#[test]
fn bookworm_standing() {
    test(BOOKWORM, Some(STANDING));
}

#[test]
fn forky_fair_tree() {
    test(FORKY, None);
}

#[test]
fn forky_standing() {
    test(FORKY, Some(STANDING));
}

/// The same jobs every time, in bursts.
fn workload() -> Vec<Planned> {
    bursts(20, JOBS, SUBMITTED, 8..=36, |random| nodes(*random.choice(&[1, 1, 1, 1, 2, 2, 3, 6]).unwrap()))
}

/// A job of a minute at most.
fn job(at: u32, user: &'static str, account: &'static str, count: u32, seconds: u32) -> Planned {
    let asks = [nodes(count), vec!["--time=1".to_owned()]].concat();
    Planned { at, user, account, seconds, asks }
}

/// Options for so many nodes.
fn nodes(nodes: u32) -> Vec<String> {
    vec![format!("--nodes={nodes}"), format!("--ntasks={nodes}")]
}

/// A slurmctld that starts beside hundreds of slurmds that do would not answer in time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn start(release: &Release, nodes: u16, settings: Option<&str>) -> Cluster {
    let builder = cluster(release.clone())
        .unwrap()
        .accounts(&tree())
        .nodes(nodes)
        .cpus(1)
        .slurmds(true)
        // What slurm.conf cannot say, and scontrol shows.
        .cycle_seconds(Some(2))
        .set("SelectTypeParameters", "CR_CPU")
        .set("PriorityDecayHalfLife", "00:02:00")
        .set("PriorityMaxAge", "00:05:00")
        .set("PriorityWeightAge", "10000")
        .set("PriorityWeightJobSize", "1000")
        .set("SchedulerParameters", SCHEDULER);
    let builder = match settings {
        Some(settings) => builder.file(policies::FILE, settings),
        None => builder.set("PriorityType", "priority/multifactor"),
    };
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    builder.start().unwrap()
}

/// All that a replay needs is there, and under other names no file has one of the cluster.
fn an_export_tells_all_but_names(release: &Release) {
    let cluster = start(release, 2, None);
    let jobs = [job(0, "ada", "physics", 2, 1), job(0, "finn", "guests", 1, 1)];
    run_all(&cluster, &jobs);
    let plain = export(&cluster, "trace", &[]);
    let anonymous = export(&cluster, "anonymous", &["--anonymise"]);
    assert_names_nothing(&cluster, &anonymous);
    for directory in [plain, anonymous] {
        let workload = trace::read(&directory).unwrap();
        assert!(workload.missing.is_empty() && workload.problems.is_empty(), "{workload:?}");
        let machine = workload.machine.as_ref().unwrap();
        assert_eq!((machine.cpus(), machine.nodes(), machine.partitions.len()), (2, 2, 1));
        assert_eq!((workload.config.half_life(), workload.config.calc_period()), (120, 2));
        assert_eq!(workload.config.get("SchedulerParameters"), Some(SCHEDULER));
        let cpus: Vec<u32> = workload.jobs.iter().map(|job| job.cpus).collect();
        assert_eq!(cpus, [2, 1]);
        assert!(workload.jobs.iter().all(|job| job.start >= job.submit && job.limit == 60), "{workload:?}");
        // The root, its user, and all others.
        let users: usize = ACCOUNTS.iter().map(|(.., users)| users.len()).sum();
        assert_eq!(workload.associations.len(), 2 + ACCOUNTS.len() + users);
    }
}

/// A user of a QOS that lets one job run at a time: slurmctld's reason is in the trace. The replay follows the limit where it knows it, and
/// says nothing of that user where it does not.
fn a_limit_is_followed_or_nothing_is_said(release: &Release) {
    let cluster = start(release, 4, None);
    sacctmgr(&cluster, "modify qos normal set maxjobsperuser=1");
    let jobs: Vec<Planned> = (0..6).map(|at| job(at / 3, "ada", "physics", 1, 3)).collect();
    run_all(&cluster, &jobs);
    let directory = export(&cluster, "limited", &[]);
    let workload = trace::read(&directory).unwrap();
    let limited = workload.reasons.find("QOSMaxJobsPerUserLimit");
    let waited = workload.jobs.iter().filter(|job| Some(u32::from(job.reason)) == limited).count();
    assert!(waited >= 3, "{waited} of 6: {:?}", workload.reasons);
    let answer = || -> serde_json::Value {
        let output = Command::new(env!("CARGO_BIN_EXE_ask-cluster"))
            .args(["replay", "--runs", "0", "--json"])
            .arg(&directory)
            .output()
            .unwrap();
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        answer["answer"].clone()
    };
    let treated = |answer: &serde_json::Value| {
        let facts = answer["facts"].as_array().unwrap();
        let fact = facts.iter().find(|fact| fact["fact"] == "waits for QOSMaxJobsPerUserLimit");
        fact.unwrap()["treatment"].clone()
    };
    let known = answer();
    assert_eq!(treated(&known), "replayed");
    assert_eq!(known["unsaid"].as_array().unwrap().len(), 0, "{known}");
    // One at a time, as in the record. Each waits a second or less for a pass, which adds up over six jobs.
    let scheduler = Scheduler::named("slurm", &workload.config).unwrap();
    let machine = workload.machine.as_ref().unwrap();
    let plan = Plan { workload: &workload, machine, scheduler, policy: &Policy::FairTree };
    let replayed = simulate(&plan).unwrap().starts;
    for mut starts in [replayed, workload.jobs.iter().map(|job| job.start).collect::<Vec<_>>()] {
        starts.sort_unstable();
        assert!(starts.windows(2).all(|pair| pair[1] - pair[0] >= 3), "{starts:?}");
    }
    // A cluster that does not tell of its limits.
    fs::remove_file(directory.join("qos.txt")).unwrap();
    let hidden = answer();
    assert_eq!(treated(&hidden), "left out");
    let unsaid = hidden["unsaid"].as_array().unwrap();
    let of_user = unsaid.iter().find(|one| one["of"] == "user" && one["name"] == "ada");
    assert_eq!(of_user.unwrap()["reason"], "QOSMaxJobsPerUserLimit", "{unsaid:?}");
}

fn the_model_is_near(release: &Release, settings: Option<&str>) {
    let began = Instant::now();
    let cluster = start(release, NODES, settings);
    run_all(&cluster, &workload());
    let plain = export(&cluster, "trace", &[]);
    let anonymous = export(&cluster, "anonymous", &["--anonymise"]);
    let what = format!("Slurm {}, {}", release.version, settings.map_or("fair-tree", str::trim));
    eprintln!("{what}: all ended and collected after {} s", began.elapsed().as_secs());

    let policy = settings.map_or(Policy::FairTree, |settings| {
        Policy::Multifactor2(Box::new(Settings::parse(settings, policies::FILE).unwrap().settings))
    });
    let (workload, replayed) = replay(&plain, &policy);
    let found = Deviation::of(&workload, &replayed);
    eprintln!("{what}: {found}");
    let other = Deviation::of(&workload, &replay(&plain, &Policy::Fifo).1);
    eprintln!("{what}, in the order of submission: {other}");
    assert!(other.order > BOUND, "{what}: the policy does not matter: {other}");
    assert_names_nothing(&cluster, &anonymous);
    let (_, of_others) = replay(&anonymous, &policy);
    assert_eq!(replayed, of_others, "under other names it is another replay");
    assert!(found.order <= BOUND && found.wait() <= BOUND, "{what}: {found}; at most 10 % of each");
}

fn run_all(cluster: &Cluster, jobs: &[Planned]) {
    replayed::run_all(cluster, jobs, Duration::from_secs(400)).unwrap();
}

fn export(cluster: &Cluster, name: &str, options: &[&str]) -> PathBuf {
    replayed::export(cluster, Path::new(env!("CARGO_BIN_EXE_ask-cluster")), name, options).unwrap()
}

/// No file has a name of the cluster.
fn assert_names_nothing(cluster: &Cluster, directory: &Path) {
    let nodes = (1..=NODES).map(|node| format!("n{node}"));
    let names = ACCOUNTS.iter().flat_map(|(account, _, users)| {
        users.iter().map(|(user, ..)| (*user).to_owned()).chain([(*account).to_owned()])
    });
    let others = ["main", "test", "localhost", "n"].map(str::to_owned);
    let names: BTreeSet<String> = nodes.chain(names).chain(others).collect();
    let place = cluster.directory().display().to_string();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let text = trace::text(&path).unwrap();
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-');
        let told: BTreeSet<&str> = words.filter(|word| names.contains(*word)).collect();
        assert!(told.is_empty() && !text.contains(&place), "{}: {told:?} in\n{text}", path.display());
    }
}

/// The trace, and what the model makes of it.
fn replay(directory: &Path, policy: &Policy) -> (Workload, Outcome) {
    let workload = trace::read(directory).unwrap();
    assert_eq!(workload.jobs.len(), JOBS, "{:?}", workload.problems);
    assert!(workload.missing.is_empty(), "{:?}", workload.missing);
    let scheduler = Scheduler::named("slurm", &workload.config).unwrap();
    let machine = workload.machine.clone().unwrap();
    assert_eq!(machine.cpus(), u64::from(NODES));
    let plan = Plan { workload: &workload, machine: &machine, scheduler, policy };
    let outcome = simulate(&plan).unwrap();
    (workload, outcome)
}

/// How far a replay is from what was recorded.
struct Deviation {
    /// Mean waits in seconds.
    recorded: f64,
    replayed: f64,
    /// Of all pairs of jobs those that start in the other order (Kendall's distance).
    order: f64,
    /// The order inversions of the report.
    inversions: f64,
    /// Of mean waits of users, in seconds.
    of_users: Vec<f64>,
    /// Mean of what single jobs start earlier or later, in seconds.
    of_jobs: f64,
}

impl Deviation {
    fn of(workload: &Workload, replayed: &Outcome) -> Self {
        let starts = workload.jobs.iter().map(|job| if job.start == NO_TIME { NEVER } else { job.start });
        let recorded = Outcome { starts: starts.collect(), ..replayed.clone() };
        assert!(!recorded.starts.contains(&NEVER) && !replayed.starts.contains(&NEVER));
        let machine = workload.machine.as_ref().unwrap();
        let counted = Counted::of(workload, &[&recorded, replayed], i64::MIN);
        let mean = |outcome| summary(workload, machine, outcome, &counted).all.wait.mean;
        let comparison = compare(workload, &recorded, replayed, &counted);
        let moved =
            recorded.starts.iter().zip(&replayed.starts).map(|(one, two)| one.abs_diff(*two)).sum::<u64>();
        #[allow(clippy::cast_precision_loss)] // seconds and jobs of a test
        let of_jobs = moved as f64 / workload.jobs.len() as f64;
        Self {
            recorded: mean(&recorded),
            replayed: mean(replayed),
            order: in_other_order(&recorded.starts, &replayed.starts),
            inversions: comparison.inversions,
            of_users: comparison.mean_wait_of_users,
            of_jobs,
        }
    }

    /// Of the mean wait, in parts of that of the cluster.
    fn wait(&self) -> f64 {
        (self.replayed / self.recorded - 1.0).abs()
    }
}

impl fmt::Display for Deviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { recorded, replayed, order, inversions, of_users, of_jobs } = self;
        write!(
            f,
            "mean wait {recorded:.1} s, replayed {replayed:.1} s ({:+.1} %); {:.1} % of pairs start in the other order, of neighbours \
             {:.1} %; a job starts {of_jobs:.1} s earlier or later; users {of_users:.1?}",
            100.0 * (replayed / recorded - 1.0),
            100.0 * order,
            100.0 * inversions
        )
    }
}

/// Of all pairs those that are in the other order, where neither is at the same time.
#[allow(clippy::cast_precision_loss)] // jobs of a test
fn in_other_order(one: &[i64], two: &[i64]) -> f64 {
    let count = one.len();
    let pairs = || (0..count).flat_map(|at| (0..at).map(move |before| (at, before)));
    let turned = pairs().filter(|(at, before)| {
        (one[*at].cmp(&one[*before])) == two[*at].cmp(&two[*before]).reverse() && one[*at] != one[*before]
    });
    turned.count() as f64 / pairs().count() as f64
}
