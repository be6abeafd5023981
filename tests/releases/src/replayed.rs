//! Jobs that real slurmds run, and the trace that `multifactor2 replay --export` makes of them: what a replay is compared with.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::ops::RangeInclusive;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{ensure, Context, Result};
use slurm_testcluster::{Account, Accounts, Cluster, Job};

/// An account with its shares, its users with theirs, and how much each asks for.
pub type OfAccount = (&'static str, u32, &'static [(&'static str, u32, u32)]);

/// Who submits.
pub const ACCOUNTS: [OfAccount; 4] = [
    ("physics", 40, &[("ada", 2, 20), ("bob", 1, 15)]),
    ("chemistry", 30, &[("cem", 1, 5), ("dora", 1, 20)]),
    ("biology", 20, &[("eve", 1, 30)]),
    ("guests", 10, &[("finn", 1, 10)]),
];

/// As on a site, but for jobs of seconds instead of hours.
pub const SCHEDULER: &str =
    "bf_interval=2,bf_resolution=5,bf_window=60,bf_max_job_test=100,sched_interval=10,batch_sched_delay=1,default_queue_depth=50";

/// The accounts as a tree.
pub fn tree() -> Accounts {
    let of = |(name, shares, users): &OfAccount| {
        users
            .iter()
            .fold(Account::new(*name, *shares), |account, (user, shares, _)| account.user(*user, *shares))
    };
    ACCOUNTS.iter().map(of).fold(Accounts::new(), Accounts::account)
}

/// A job to submit.
#[derive(Clone, Debug)]
pub struct Planned {
    /// Seconds after the first.
    pub at: u32,
    /// Whose.
    pub user: &'static str,
    /// For which account.
    pub account: &'static str,
    /// How long it runs.
    pub seconds: u32,
    /// What it asks for: options of sbatch.
    pub asks: Vec<String>,
}

/// The same jobs every time, in bursts within so many seconds. `draw` says what all jobs of a burst ask for. Users ask for
/// much more time than they need, as they do.
pub fn bursts(
    seed: u64,
    count: usize,
    within: u32,
    seconds: RangeInclusive<u32>,
    mut draw: impl FnMut(&mut fastrand::Rng) -> Vec<String>,
) -> Vec<Planned> {
    let mut random = fastrand::Rng::with_seed(seed);
    let users: Vec<(&str, &str, u32)> = ACCOUNTS
        .iter()
        .flat_map(|(account, _, users)| users.iter().map(move |(user, _, asks)| (*account, *user, *asks)))
        .collect();
    let mut jobs = Vec::new();
    while jobs.len() < count {
        let mut drawn = random.u32(0..users.iter().map(|user| user.2).sum());
        let mut of = users.iter();
        let (account, user) = loop {
            let Some((account, user, asks)) = of.next() else { break ("physics", "ada") };
            if drawn < *asks {
                break (*account, *user);
            }
            drawn -= asks;
        };
        let begin = random.u32(0..within);
        let mut asks = draw(&mut random);
        let minutes = random.choice([1, 2, 3, 5, 8]).unwrap_or(1);
        asks.push(format!("--time={minutes}"));
        for _ in 0..random.usize(1..=5).min(count - jobs.len()) {
            let (at, seconds) = (begin + random.u32(0..4), random.u32(seconds.clone()));
            jobs.push(Planned { at, user, account, seconds, asks: asks.clone() });
        }
    }
    jobs.sort_by_key(|job| job.at);
    jobs
}

/// Submits all jobs at their times, and waits until they have run.
///
/// # Errors
/// A job is not taken, or they do not end in time.
pub fn run_all(cluster: &Cluster, jobs: &[Planned], patience: Duration) -> Result<()> {
    let began = Instant::now();
    for job in jobs {
        sleep(Duration::from_secs(job.at.into()).saturating_sub(began.elapsed()));
        let submitted = Job::new(job.user).account(job.account).seconds(job.seconds);
        cluster.submit(&job.asks.iter().fold(submitted, slurm_testcluster::Job::arg))?;
    }
    // slurmdbd is told last.
    let over = |cluster: &Cluster| {
        sleep(Duration::from_secs(1));
        let call = cluster.command("sacct").args(["-a", "-X", "-n", "-P", "-S", "now-1day", "-o", "end"]);
        let ended = call.text()?.lines().filter(|end| *end != "Unknown").count();
        Ok((ended == jobs.len()).then_some(()))
    };
    cluster
        .wait_for("all jobs to end", patience, over)
        .with_context(|| format!("{:?}\n{}", cluster.command("squeue").text(), cluster.log()))
}

/// `multifactor2 replay --export` by this program, as an administrator of the cluster runs it.
///
/// # Errors
/// It fails, or something is not there.
pub fn export(cluster: &Cluster, program: &Path, name: &str, options: &[&str]) -> Result<PathBuf> {
    let directory = cluster.directory().join(name);
    let words = ["replay", "--start", "now-1day", "--export"].map(OsStr::new);
    let words = words.into_iter().chain([directory.as_os_str()]).chain(options.iter().map(OsStr::new));
    let output = ask(cluster, program, words)?;
    let (told, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success() && !told.contains("not there"), "{told}\n{said}");
    Ok(directory)
}

/// What this program answers on the controller of a cluster.
///
/// # Errors
/// It cannot be run.
pub fn ask<'w>(
    cluster: &Cluster,
    program: &Path,
    words: impl IntoIterator<Item = &'w OsStr>,
) -> Result<Output> {
    let path = format!("{}:{}", commands(cluster)?.display(), std::env::var("PATH")?);
    Ok(Command::new(program).args(words).env("PATH", path).output()?)
}

/// A directory with the commands of the cluster.
fn commands(cluster: &Cluster) -> Result<PathBuf> {
    let directory = cluster.directory().join("commands");
    fs::create_dir_all(&directory)?;
    for name in ["sacct", "sacctmgr", "scontrol", "sdiag", "sprio", "squeue", "sshare"] {
        let command = cluster.release().command(name);
        let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
        let mut script = "#!/bin/sh\nexec env".to_owned();
        // In the root of another release this directory is there, too.
        let path = ("PATH".to_owned(), std::env::var("PATH")?);
        for (variable, value) in cluster.environment().iter().chain([(&path.0, &path.1)]) {
            let _ = write!(script, " {variable}={}", quoted(value));
        }
        for word in [command.get_program()].into_iter().chain(command.get_args()) {
            let _ = write!(script, " {}", quoted(&word.to_string_lossy()));
        }
        let file = directory.join(name);
        fs::write(&file, script + " \"$@\"\n")?;
        fs::set_permissions(&file, Permissions::from_mode(0o755))?;
    }
    Ok(directory)
}
