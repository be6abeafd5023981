//! The test's side of the keeper: starting, watching and signalling the daemons of a cluster.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{bail, ensure, Context, Result};

use crate::keeper::{Answer, Request, KEEPER};

/// The processes of one cluster, in the hands of its keeper.
#[derive(Debug)]
pub(crate) struct Processes {
    keeper: u32,
    first_port: u16,
    pipe: Mutex<Pipe>,
}

#[derive(Debug)]
struct Pipe {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// A running daemon.
#[derive(Clone, Debug)]
pub(crate) struct Daemon {
    pub(crate) name: String,
    pub(crate) pid: i32,
    pub(crate) log: PathBuf,
}

impl Processes {
    /// Starts the keeper, which owns `directory` from now on.
    pub(crate) fn new(directory: &Path) -> Result<Self> {
        let log = std::fs::File::create(directory.join("log/keeper"))?;
        let mut child = Command::new("/proc/self/exe")
            .arg0(format!("slurm-testcluster {}", directory.display()))
            .env(KEEPER, directory)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .context("starting the keeper of the cluster's processes")?;
        let keeper = child.id();
        let requests = child.stdin.take().context("the keeper's input")?;
        let answers = BufReader::new(child.stdout.take().context("the keeper's output")?);
        let mut pipe = Pipe { child, requests, answers };
        match pipe.answer()? {
            Answer::Ready { first_port } => Ok(Self { keeper, first_port, pipe: Mutex::new(pipe) }),
            other => bail!("the keeper of the cluster's processes answered {other:?}"),
        }
    }

    /// The process id of the keeper.
    pub(crate) fn keeper(&self) -> u32 {
        self.keeper
    }

    /// The first of the cluster's ports.
    pub(crate) fn first_port(&self) -> u16 {
        self.first_port
    }

    pub(crate) fn start(&self, name: &str, command: &Command, log: PathBuf) -> Result<Daemon> {
        let text = |value: &std::ffi::OsStr| value.to_string_lossy().into_owned();
        let argv = std::iter::once(command.get_program()).chain(command.get_args()).map(text).collect();
        let env = command
            .get_envs()
            .filter_map(|(key, value)| value.map(|value| (text(key), text(value))))
            .collect();
        match self.ask(&Request::Start { argv, env, log: log.clone() }) {
            Ok(Answer::Started { pid }) => Ok(Daemon { name: name.to_owned(), pid, log }),
            Ok(other) => bail!("starting {name}: unexpected answer {other:?}"),
            Err(error) => Err(error.context(format!("starting {name}"))),
        }
    }

    /// How the daemon ended, or `None` while it runs.
    pub(crate) fn ended(&self, daemon: &Daemon) -> Result<Option<String>> {
        match self.ask(&Request::Ask { pid: daemon.pid })? {
            Answer::Ended { how } => Ok(Some(how)),
            _ => Ok(None),
        }
    }

    pub(crate) fn signal(&self, daemon: &Daemon, signal: i32) -> Result<()> {
        self.ask(&Request::Signal { pid: daemon.pid, signal }).map(drop)
    }

    /// Waits until the daemon has ended.
    pub(crate) fn wait_end(&self, daemon: &Daemon, timeout: Duration) -> Result<()> {
        let start = Instant::now();
        while self.ended(daemon)?.is_none() {
            ensure!(start.elapsed() < timeout, "{} is still running after {timeout:?}", daemon.name);
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Waits until `ready` says so; an error at once if the daemon ends before.
    pub(crate) fn wait_ready(
        &self,
        daemon: &Daemon,
        timeout: Duration,
        mut ready: impl FnMut() -> bool,
    ) -> Result<()> {
        let start = Instant::now();
        while !ready() {
            if let Some(how) = self.ended(daemon)? {
                bail!("{} ended ({how}); its log:\n{}", daemon.name, tail(&daemon.log));
            }
            ensure!(
                start.elapsed() < timeout,
                "{} is not ready after {timeout:?}; its log:\n{}",
                daemon.name,
                tail(&daemon.log)
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Lets everything live on when this process ends.
    pub(crate) fn detach(&self) -> Result<()> {
        self.ask(&Request::Detach).map(drop)
    }

    /// Kills everything; with `retain` the directory stays.
    pub(crate) fn finish(&self, retain: bool) -> Result<()> {
        self.ask(&Request::Finish { retain })?;
        let mut pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        pipe.child.wait().map(drop).context("waiting for the keeper")
    }

    fn ask(&self, request: &Request) -> Result<Answer> {
        let mut pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(pipe.requests, "{}", serde_json::to_string(request)?).context("the keeper is gone")?;
        match pipe.answer()? {
            Answer::Failed { why } => bail!("{why}"),
            answer => Ok(answer),
        }
    }
}

impl Daemon {
    /// Whether a process in the daemon's network namespace listens on the port. Asking the kernel
    /// costs nothing; a client that finds nobody sleeps a second before it tries again.
    pub(crate) fn listens(&self, port: u16) -> bool {
        const LISTEN: &str = "0A";
        let end = format!(":{port:04X}");
        let table = std::fs::read_to_string(format!("/proc/{}/net/tcp", self.pid)).unwrap_or_default();
        table.lines().any(|line| {
            let mut cells = line.split_whitespace().skip(1);
            cells.next().is_some_and(|local| local.ends_with(&end)) && cells.nth(1) == Some(LISTEN)
        })
    }
}

impl Pipe {
    fn answer(&mut self) -> Result<Answer> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        ensure!(!line.is_empty(), "the keeper of the cluster's processes is gone");
        serde_json::from_str(&line).with_context(|| format!("the keeper answered {line}"))
    }
}

/// The last lines of a log, for error messages.
fn tail(log: &Path) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    last_lines(&String::from_utf8_lossy(&text), 20)
}

/// The last lines of a text, at most so many.
pub fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}
