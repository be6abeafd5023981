//! The replay's model of Slurm's scheduler against Slurm itself: some hundred short jobs on real slurmds, collected by
//! `multifactor2 replay --export`, and replayed under the same policy. The order of starts and the mean wait have to be those of the
//! cluster within 10 %. docs/replay.md has what was measured.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use multifactor2_core::settings::Settings;
use multifactor2_replay::measures::{compare, summary, Counted};
use multifactor2_replay::order::Policy;
use multifactor2_replay::sim::{simulate, Outcome, Plan, Scheduler, NEVER};
use multifactor2_replay::workload::NO_TIME;
use multifactor2_replay::{trace, Workload};
use slurm_releases::{cluster, Suite, BOOKWORM, FORKY};
use slurm_testcluster::{policies, Account, Accounts, Cluster, Job, Release};

use super::command::sacctmgr;

/// How far the replay may be from the cluster.
const BOUND: f64 = 0.1;

/// Nodes of one CPU each, so that jobs get whole nodes.
const NODES: u16 = 60;

const JOBS: usize = 240;

/// Seconds in which they are submitted.
const SUBMITTED: u32 = 100;

/// An account with its shares, its users with theirs, and how much each asks for.
type OfAccount = (&'static str, u32, &'static [(&'static str, u32, u32)]);

const ACCOUNTS: [OfAccount; 4] = [
    ("physics", 40, &[("ada", 2, 20), ("bob", 1, 15)]),
    ("chemistry", 30, &[("cem", 1, 5), ("dora", 1, 20)]),
    ("biology", 20, &[("eve", 1, 30)]),
    ("guests", 10, &[("finn", 1, 10)]),
];

/// As on a site, but for jobs of seconds instead of hours.
const SCHEDULER: &str =
    "bf_interval=2,bf_resolution=5,bf_window=60,bf_max_job_test=100,sched_interval=10,batch_sched_delay=1,default_queue_depth=50";

const STANDING: &str = "Distribution=standing\n";

slurm_releases::test_in_each_release!(exports);

fn exports(release: &Release) {
    an_export_tells_all_but_names(release);
    a_limit_is_a_reason_of_which_nothing_is_said(release);
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

/// A job to submit.
struct Planned {
    at: u32,
    user: &'static str,
    account: &'static str,
    nodes: u32,
    seconds: u32,
    minutes: u32,
}

/// The same jobs every time, in bursts. Users ask for much more time than they need, as they do.
fn workload() -> Vec<Planned> {
    let mut random = fastrand::Rng::with_seed(20);
    let users: Vec<(&str, &str, u32)> = ACCOUNTS
        .iter()
        .flat_map(|(account, _, users)| users.iter().map(move |(user, _, asks)| (*account, *user, *asks)))
        .collect();
    let mut jobs = Vec::new();
    while jobs.len() < JOBS {
        let mut drawn = random.u32(0..users.iter().map(|user| user.2).sum());
        let mut of = users.iter();
        let (account, user, _) = loop {
            let user = *of.next().unwrap();
            if drawn < user.2 {
                break user;
            }
            drawn -= user.2;
        };
        let begin = random.u32(0..SUBMITTED);
        let nodes = *random.choice(&[1, 1, 1, 1, 2, 2, 3, 6]).unwrap();
        let minutes = *random.choice(&[1, 2, 3, 5, 8]).unwrap();
        for _ in 0..random.usize(1..=5).min(JOBS - jobs.len()) {
            let (at, seconds) = (begin + random.u32(0..4), random.u32(8..=36));
            jobs.push(Planned { at, user, account, nodes, seconds, minutes });
        }
    }
    jobs.sort_by_key(|job| job.at);
    jobs
}

/// A slurmctld that starts beside hundreds of slurmds that do would not answer in time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn start(release: &Release, nodes: u16, settings: Option<&str>) -> Cluster {
    let of = |(name, shares, users): &OfAccount| {
        users
            .iter()
            .fold(Account::new(*name, *shares), |account, (user, shares, _)| account.user(*user, *shares))
    };
    let tree = ACCOUNTS.iter().map(of).fold(Accounts::new(), Accounts::account);
    let builder = cluster(release.clone())
        .unwrap()
        .accounts(&tree)
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
    let job = |(user, account, nodes)| Planned { at: 0, user, account, nodes, seconds: 1, minutes: 1 };
    let jobs = [("ada", "physics", 2), ("finn", "guests", 1)].map(job);
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

/// A user of a QOS that lets one job run at a time: slurmctld's reason is in the trace, and the report says nothing of that user.
fn a_limit_is_a_reason_of_which_nothing_is_said(release: &Release) {
    let cluster = start(release, 4, None);
    sacctmgr(&cluster, "modify qos normal set maxjobsperuser=1");
    let jobs: Vec<Planned> = (0..6)
        .map(|at| Planned { at: at / 3, user: "ada", account: "physics", nodes: 1, seconds: 3, minutes: 1 })
        .collect();
    run_all(&cluster, &jobs);
    let directory = export(&cluster, "limited", &[]);
    let workload = trace::read(&directory).unwrap();
    let limited = workload.reasons.find("QOSMaxJobsPerUserLimit");
    let waited = workload.jobs.iter().filter(|job| Some(u32::from(job.reason)) == limited).count();
    assert!(waited >= 3, "{waited} of 6: {:?}", workload.reasons);
    let output = Command::new(env!("CARGO_BIN_EXE_ask-cluster"))
        .args(["replay", "--runs", "0", "--json"])
        .arg(&directory)
        .output()
        .unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let unsaid = answer["answer"]["unsaid"].as_array().unwrap();
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

/// Submits all jobs at their times, and waits until they have run.
fn run_all(cluster: &Cluster, jobs: &[Planned]) {
    let began = Instant::now();
    for job in jobs {
        sleep(Duration::from_secs(job.at.into()).saturating_sub(began.elapsed()));
        let submitted = Job::new(job.user)
            .account(job.account)
            .seconds(job.seconds)
            .arg(format!("--nodes={}", job.nodes))
            .arg(format!("--ntasks={}", job.nodes))
            .arg(format!("--time={}", job.minutes));
        cluster.submit(&submitted).unwrap();
    }
    // slurmdbd is told last.
    let over = |cluster: &Cluster| {
        sleep(Duration::from_secs(1));
        let call = cluster.command("sacct").args(["-a", "-X", "-n", "-P", "-S", "now-1day", "-o", "end"]);
        let ended = call.text()?.lines().filter(|end| *end != "Unknown").count();
        Ok((ended == jobs.len()).then_some(()))
    };
    cluster.wait_for("all jobs to end", Duration::from_secs(400), over).unwrap_or_else(|problem| {
        panic!("{problem}:\n{:?}\n{}", cluster.command("squeue").text(), cluster.log())
    });
}

/// `multifactor2 replay --export`, as an administrator of the cluster runs it.
fn export(cluster: &Cluster, name: &str, options: &[&str]) -> PathBuf {
    let directory = cluster.directory().join(name);
    let commands = commands(cluster);
    let path = format!("{}:{}", commands.display(), std::env::var("PATH").unwrap());
    let output = Command::new(env!("CARGO_BIN_EXE_ask-cluster"))
        .args(["replay", "--start", "now-1day", "--export"])
        .arg(&directory)
        .args(options)
        .env("PATH", path)
        .output()
        .unwrap();
    let (told, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && !told.contains("not there"), "{told}\n{said}");
    directory
}

/// A directory with the commands of the cluster.
fn commands(cluster: &Cluster) -> PathBuf {
    let directory = cluster.directory().join("commands");
    fs::create_dir_all(&directory).unwrap();
    for name in ["sacct", "sacctmgr", "scontrol"] {
        let command = cluster.release().command(name);
        let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
        let mut script = "#!/bin/sh\nexec env".to_owned();
        // In the root of another release this directory is there, too.
        let path = ("PATH".to_owned(), std::env::var("PATH").unwrap());
        for (variable, value) in cluster.environment().iter().chain([(&path.0, &path.1)]) {
            let _ = write!(script, " {variable}={}", quoted(value));
        }
        for word in [command.get_program()].into_iter().chain(command.get_args()) {
            let _ = write!(script, " {}", quoted(word.to_str().unwrap()));
        }
        let file = directory.join(name);
        fs::write(&file, script + " \"$@\"\n").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
    }
    directory
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
