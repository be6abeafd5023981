//! The keeper: one small process per cluster that starts the daemons and outlives the test.
//!
//! A test may end in any way, by a panic, Ctrl-C or SIGKILL, and must leave neither processes
//! nor files. Code in the test process cannot promise that, so the daemons are children of a
//! keeper in its own session. It reads requests from a pipe; when the pipe ends, the test
//! process is gone, and the keeper kills everything below it and removes the directory. Being a
//! subreaper it also inherits what daemons leave behind (job steps, a slurmctld that replaced itself).
//! Should the keeper itself be killed, the kernel kills the daemons.
//!
//! The keeper runs the same executable as the test: [`ENTRY`] is called before `main` and takes
//! over where the environment says so. No second binary has to be built or found.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, Write};
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;

use rustix::process::{self as sys, Pid, Signal, WaitOptions};
use serde::{Deserialize, Serialize};

/// The variable that makes a process a keeper; its value is the cluster's directory.
pub(crate) const KEEPER: &str = "TESTCLUSTER_KEEPER";

/// Ports of one cluster. The blocks lie below the range from which Linux takes the ports of
/// outgoing connections, so a daemon that is stopped finds its port free when it starts again.
pub(crate) const PORTS_PER_CLUSTER: u16 = 64;
const FIRST_PORT: u16 = 20_000;
const BLOCKS: u16 = 190;

/// What the test asks of the keeper, one JSON object a line.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Start a process; answered by [`Answer::Started`].
    Start { argv: Vec<String>, env: Vec<(String, String)>, log: PathBuf },
    /// Send a signal (its number); answered by [`Answer::Done`].
    Signal { pid: i32, signal: i32 },
    /// How is it? [`Answer::Running`] or [`Answer::Ended`].
    Ask { pid: i32 },
    /// Live on when the test ends, until somebody sends SIGTERM; answered by [`Answer::Done`].
    Detach,
    /// Kill all, remove the directory unless `retain`, and end; answered by [`Answer::Done`].
    Finish { retain: bool },
}

/// What the keeper answers, one JSON object a line.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// The first line: the keeper is up, and these ports belong to the cluster.
    Ready {
        first_port: u16,
    },
    Started {
        pid: i32,
    },
    Running,
    /// It ended; the text says how, for example `exit status: 1`.
    Ended {
        how: String,
    },
    Done,
    Failed {
        why: String,
    },
}

/// Called by the C library before `main`.
#[used]
#[link_section = ".init_array"]
static ENTRY: extern "C" fn() = enter;

extern "C" fn enter() {
    if let Some(directory) = std::env::var_os(KEEPER) {
        let answer = std::panic::catch_unwind(|| serve(Path::new(&directory)));
        std::process::exit(i32::from(!matches!(answer, Ok(Ok(())))));
    }
}

struct Keeper {
    directory: PathBuf,
    /// How the children ended that have ended.
    ended: HashMap<i32, ExitStatus>,
    detached: bool,
    /// Reserves the block of ports as long as it is open.
    _ports: UnixListener,
}

fn serve(directory: &Path) -> io::Result<()> {
    // The session keeps the terminal's Ctrl-C away; a broken pipe must be an error, not the end.
    let _ = sys::setsid();
    sys::set_child_subreaper(Some(sys::getpid()))?;
    signal_hook::flag::register(signal_hook::consts::SIGPIPE, Arc::default())?;
    let (ports, first_port) = reserve_ports()?;
    let mut keeper =
        Keeper { directory: directory.to_owned(), ended: HashMap::new(), detached: false, _ports: ports };
    end_on_sigterm(directory)?;

    let mut out = io::stdout().lock();
    say(&mut out, &Answer::Ready { first_port });
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let request = serde_json::from_str(&line);
        let last = matches!(request, Ok(Request::Finish { .. }));
        let answer = match request {
            Ok(request) => {
                keeper.serve(request).unwrap_or_else(|error| Answer::Failed { why: error.to_string() })
            }
            Err(error) => Answer::Failed { why: error.to_string() },
        };
        say(&mut out, &answer);
        if last {
            return Ok(());
        }
    }
    while keeper.detached {
        // SIGTERM ends the process from its own thread; until then orphans are reaped.
        std::thread::sleep(std::time::Duration::from_secs(1));
        keeper.reap();
    }
    end(directory, false)
}

fn say(out: &mut impl Write, answer: &Answer) {
    // Nobody may be left to read it; the end of the requests tells that as well.
    if let Ok(line) = serde_json::to_string(answer) {
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    }
}

fn end_on_sigterm(directory: &Path) -> io::Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([signal_hook::consts::SIGTERM])?;
    let directory = directory.to_owned();
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            let done = end(&directory, false);
            std::process::exit(i32::from(done.is_err()));
        }
    });
    Ok(())
}

impl Keeper {
    fn serve(&mut self, request: Request) -> io::Result<Answer> {
        match request {
            Request::Start { argv, env, log } => Ok(Answer::Started { pid: self.start(&argv, env, &log)? }),
            Request::Signal { pid, signal } => {
                self.reap();
                if !self.ended.contains_key(&pid) {
                    let signal = Signal::from_named_raw(signal).ok_or(io::ErrorKind::InvalidInput)?;
                    sys::kill_process(pid_of(pid)?, signal)?;
                }
                Ok(Answer::Done)
            }
            Request::Ask { pid } => {
                self.reap();
                Ok(match self.ended.get(&pid) {
                    // Its number may be another process's by now.
                    Some(status) if sys::test_kill_process(pid_of(pid)?).is_err() => {
                        Answer::Ended { how: status.to_string() }
                    }
                    _ => Answer::Running,
                })
            }
            Request::Detach => {
                self.detached = true;
                Ok(Answer::Done)
            }
            Request::Finish { retain } => end(&self.directory, retain).map(|()| Answer::Done),
        }
    }

    fn start(&mut self, argv: &[String], env: Vec<(String, String)>, log: &Path) -> io::Result<i32> {
        let [program, arguments @ ..] = argv else { return Err(io::ErrorKind::InvalidInput.into()) };
        let log = OpenOptions::new().create(true).append(true).open(log)?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_remove(KEEPER)
            .envs(env)
            .current_dir(&self.directory)
            .stdin(Stdio::null())
            .stdout(File::try_clone(&log)?)
            .stderr(log);
        // SAFETY: between fork and exec only one system call is made, prctl.
        unsafe {
            command.pre_exec(|| Ok(sys::set_parent_process_death_signal(Some(Signal::KILL))?));
        }
        let pid = i32::try_from(command.spawn()?.id()).unwrap_or(i32::MAX);
        self.ended.remove(&pid);
        Ok(pid)
    }

    fn reap(&mut self) {
        while let Ok(Some((pid, status))) = sys::wait(WaitOptions::NOHANG) {
            self.ended.insert(pid.as_raw_nonzero().get(), ExitStatus::from_raw(status.as_raw()));
        }
    }
}

/// Kills all descendants. What a killed process leaves becomes a child of the keeper, so it is
/// over when no child is left.
fn end(directory: &Path, retain: bool) -> io::Result<()> {
    loop {
        for child in children()? {
            let _ = sys::kill_process(child, Signal::KILL);
        }
        match sys::wait(WaitOptions::empty()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => break,
        }
    }
    if retain {
        return Ok(());
    }
    fs::remove_dir_all(directory)
}

/// The children of this process, from the fourth field of `/proc/PID/stat`. The second, the name,
/// is in parentheses and may contain anything.
fn children() -> io::Result<Vec<Pid>> {
    let own = std::process::id().to_string();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        let stat = fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
        let stat = String::from_utf8_lossy(&stat);
        let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1));
        if parent == Some(own.as_str()) {
            found.extend(Pid::from_raw(pid));
        }
    }
    Ok(found)
}

fn pid_of(number: i32) -> io::Result<Pid> {
    Pid::from_raw(number).filter(|_| number > 1).ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// A block of ports that no other cluster of this network namespace has and nobody listens on.
/// An abstract socket is the lock: it belongs to the same namespace as the ports, to no user, and
/// goes with the process.
fn reserve_ports() -> io::Result<(UnixListener, u16)> {
    let start = u16::try_from(std::process::id() % u32::from(BLOCKS)).unwrap_or(0);
    for at in 0..BLOCKS {
        let block = (start + at) % BLOCKS;
        let name = SocketAddr::from_abstract_name(format!("slurm-testcluster-ports-{block}"))?;
        let Ok(lock) = UnixListener::bind_addr(&name) else { continue };
        let first = FIRST_PORT + block * PORTS_PER_CLUSTER;
        if (first..first + PORTS_PER_CLUSTER).all(|port| TcpListener::bind(("0.0.0.0", port)).is_ok()) {
            return Ok((lock, first));
        }
    }
    Err(io::Error::other(format!("all {BLOCKS} blocks of ports are in use")))
}
