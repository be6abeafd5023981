//! Clients that ask without end, and who notices when they get no answer.
//!
//! A slurmctld that hangs neither ends nor logs: its threads wait for each other, and a client that asks waits with them. So each
//! client tells when it was answered last, and where one was not for [`PATIENCE`], or the decay thread has not written its state
//! file for as long, the stacks of all threads are taken, which say who waits for whom.

use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use slurm_testcluster::{stacks, Cluster};

/// How long a request may take. Whoever waits for ever waits longer; and where many ask at once, a slurmctld of 24.11 leaves a
/// connection unaccepted for five seconds at a time, several times in a row, under the stock plugin as well.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// slurmctld does not answer, or calculates no more.
#[derive(Debug, Clone)]
pub struct Hang {
    /// Who waits, and for how long.
    pub who: String,
    /// What slurmctld's threads do.
    pub stacks: String,
}

impl fmt::Display for Hang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HANG: {}\n{}", self.who, self.stacks)
    }
}

/// What came of a client's requests.
#[derive(Debug, Clone, Copy)]
struct Progress {
    answered: u64,
    refused: u64,
    slowest: Duration,
    last: Instant,
}

/// Commands that are repeated, one after the other, until this is dropped.
#[derive(Debug)]
pub struct Client {
    name: String,
    child: Child,
    progress: Arc<Mutex<Progress>>,
}

impl Client {
    /// Repeats shell commands in turn, in the cluster's release, as one of its users. Each counts as answered when it succeeds.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(cluster: &Cluster, user: &str, name: &str, commands: &[&str]) -> Result<Self> {
        let asking: Vec<String> = commands
            .iter()
            .map(|command| {
                format!("if {{ {command}; }} >/dev/null 2>&1; then echo +; else echo -; sleep 0.05; fi")
            })
            .collect();
        // Ends with this process: then nobody reads what it writes.
        let script = format!("while :; do {}; done", asking.join("; "));
        let mut child = cluster.command("sh").user(user)?.args(["-c", &script]).spawn()?;
        let output = child.stdout.take().context("no pipe to a client")?;
        let start = Progress { answered: 0, refused: 0, slowest: Duration::ZERO, last: Instant::now() };
        let progress = Arc::new(Mutex::new(start));
        let told = Arc::clone(&progress);
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let mut progress = told.lock().unwrap_or_else(PoisonError::into_inner);
                if line == "+" {
                    progress.answered += 1;
                    progress.slowest = progress.slowest.max(progress.last.elapsed());
                    progress.last = Instant::now();
                } else {
                    progress.refused += 1;
                }
            }
        });
        Ok(Self { name: name.to_owned(), child, progress })
    }

    fn progress(&self) -> Progress {
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // It may have ended; what it runs at the moment ends by itself, or with slurmctld.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What some clients were answered.
#[derive(Debug, Clone, Copy, Default)]
pub struct Answers {
    /// Requests that succeeded.
    pub answered: u64,
    /// Requests that did not.
    pub refused: u64,
    /// The longest time between two answers that one of them got.
    pub slowest: Duration,
}

impl Answers {
    /// Of all these clients.
    pub fn of<'c>(clients: impl IntoIterator<Item = &'c Client>) -> Self {
        clients.into_iter().map(Client::progress).fold(Self::default(), |all, one| Self {
            answered: all.answered + one.answered,
            refused: all.refused + one.refused,
            slowest: all.slowest.max(one.slowest),
        })
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            answered: self.answered + other.answered,
            refused: self.refused + other.refused,
            slowest: self.slowest.max(other.slowest),
        }
    }
}

/// Looks after a cluster.
#[derive(Debug)]
pub struct Watchdog {
    /// The state file of the decay thread; `None` where no cycle is expected.
    cycles: Option<PathBuf>,
    started: Instant,
    /// The longest time between two cycles.
    pub longest_cycle: Duration,
}

impl Watchdog {
    /// Begins to look; `cycles`: whether the decay thread must go on.
    pub fn new(cluster: &Cluster, cycles: bool) -> Self {
        let file = cluster.directory().join("state/priority_last_decay_ran");
        Self { cycles: cycles.then_some(file), started: Instant::now(), longest_cycle: Duration::ZERO }
    }

    /// Whether every client was answered, and a cycle has ended, since then.
    pub fn all_went_on_since(&self, moment: Instant, clients: &[Client]) -> bool {
        clients.iter().all(|client| client.progress().last > moment)
            && self.cycles.as_ref().is_none_or(|file| age(file) < moment.elapsed())
    }

    /// Looks once: `None` while everybody is answered.
    ///
    /// # Errors
    /// If slurmctld has ended.
    pub fn look(&mut self, cluster: &Cluster, clients: &[Client]) -> Result<Option<Hang>> {
        if let Some(how) = cluster.controller_ended()? {
            anyhow::bail!(
                "slurmctld ended: {how}; the end of its log:\n{}",
                slurm_testcluster::last_lines(&cluster.log(), 40)
            );
        }
        let mut waiting: Vec<String> = clients
            .iter()
            .filter(|client| client.progress().last.elapsed() > PATIENCE)
            .map(|client| {
                format!("{} was not answered for {:?}", client.name, client.progress().last.elapsed())
            })
            .collect();
        if let Some(file) = &self.cycles {
            let age = age(file).min(self.started.elapsed());
            self.longest_cycle = self.longest_cycle.max(age);
            if age > PATIENCE {
                waiting.push(format!("no cycle has ended for {age:?}"));
            }
        }
        if waiting.is_empty() {
            return Ok(None);
        }
        Ok(Some(Hang { who: waiting.join("; "), stacks: stacks::of_running(cluster)? }))
    }
}

/// Since when a file was not written; for ever where it is not there.
fn age(file: &Path) -> Duration {
    let written = fs::metadata(file).and_then(|file| file.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    SystemTime::now().duration_since(written).unwrap_or_default()
}
