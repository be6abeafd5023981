//! The life of slurmctld: how it is started, which process it is, and how it ends.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure, Context, Result};
use signal_hook::consts::{SIGHUP, SIGKILL, SIGTERM};

use crate::builder::CONTROLLER_PORT;
use crate::cluster::{cycle_seconds, wrapped, JobId, TIMEOUT};
use crate::processes::Daemon;
use crate::systemd::Notified;
use crate::{Cluster, Release};

/// The end of an old slurmctld may be seen so long before the pid file names the new one.
const SUCCESSION: Duration = Duration::from_secs(2);

/// How slurmctld is started. From 23.11 on this decides what becomes of it in a reconfigure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// With `-D`. It becomes its own successor, and ends where that does not start.
    #[default]
    Foreground,
    /// In the background. Its successor is another process, and it goes on itself where that does not start.
    Daemon,
    /// With `--systemd`, from 23.11 on: the same, but a systemd is told instead of a pid file (see `systemd`).
    Systemd,
}

impl Mode {
    /// All that the release has.
    pub fn all(release: &Release) -> &'static [Self] {
        let all = &[Self::Foreground, Self::Daemon, Self::Systemd];
        &all[..if release.reconfigures_by_a_new_process() { 3 } else { 2 }]
    }

    /// What slurmctld is told; empty for a daemon.
    pub fn option(self) -> &'static str {
        match self {
            Self::Foreground => "-D",
            Self::Daemon => "",
            Self::Systemd => "--systemd",
        }
    }
}

/// A slurmctld that was started.
#[derive(Debug)]
pub(crate) struct Controller {
    /// As it was started; a reconfigure may have replaced it.
    first: Daemon,
    /// The systemd that knows which process it is.
    notified: Option<Notified>,
}

impl Cluster {
    /// Starts slurmctld and waits until it answers.
    ///
    /// # Errors
    /// If it ends or does not answer, with the end of its log.
    pub fn start_controller(&mut self) -> Result<()> {
        ensure!(
            self.controller.is_none() || self.controller_ended()?.is_some(),
            "slurmctld is running already"
        );
        let mut slurmctld = self.daemon_command("slurmctld");
        slurmctld.args(Some(self.mode.option()).filter(|option| !option.is_empty()));
        let version = self.release.version;
        if (version.year, version.month) >= (21, 8) {
            // It goes to a directory in which it can leave a core, also from the root directory of another release.
            slurmctld.arg("-s");
        }
        let mut command = wrapped(&self.environment.controller_wrapper, slurmctld);
        command.envs(self.environment.controller.iter().cloned());
        let notified = match self.mode {
            Mode::Systemd => Some(Notified::listen(&self.directory.join("notify"))?),
            Mode::Foreground | Mode::Daemon => None,
        };
        if let Some(systemd) = &notified {
            command.env("NOTIFY_SOCKET", &systemd.path);
        }
        // That of a slurmctld that was killed.
        let _ = fs::remove_file(self.pid_file());
        let first = self.start_daemon("slurmctld", &command)?;
        self.controller = Some(Controller { first: first.clone(), notified });
        let now = if self.mode == Mode::Daemon { self.wait_for_daemon(&first)? } else { first };
        let (port, timeout) = (self.port(CONTROLLER_PORT), self.controller_timeout());
        let ready = || now.listens(port) && self.is_up() && self.controller_pid().is_ok();
        self.processes.wait_ready(&now, timeout, ready)
    }

    /// A daemon's first process only makes another one, which writes its pid file.
    fn wait_for_daemon(&self, first: &Daemon) -> Result<Daemon> {
        self.wait_for("the pid file of slurmctld", self.controller_timeout(), |cluster| {
            match cluster.processes.ended(first)? {
                Some(how) if how != "exit status: 0" => bail!("slurmctld ended ({how}):\n{}", cluster.log()),
                _ => Ok(cluster.controller_pid().ok()),
            }
        })?;
        self.running()
    }

    /// Whether slurmctld answers.
    pub fn is_up(&self) -> bool {
        self.scontrol(&["ping"]).is_ok_and(|text| text.contains("is UP"))
    }

    /// The process id of slurmctld.
    ///
    /// # Errors
    /// If it is not running. From Slurm 23.11 on it changes with every reconfigure, but for one in the foreground.
    pub fn controller_pid(&self) -> Result<u32> {
        if let Some(systemd) = self.controller.as_ref().and_then(|controller| controller.notified.as_ref()) {
            return Ok(systemd.main().context("slurmctld has not said that it is ready")?.try_into()?);
        }
        let text = fs::read_to_string(self.pid_file()).context("slurmctld.pid")?;
        first_pid(&text)
    }

    fn pid_file(&self) -> std::path::PathBuf {
        self.directory.join("slurmctld.pid")
    }

    /// The process that is slurmctld now.
    fn running(&self) -> Result<Daemon> {
        let controller = self.controller.as_ref().context("slurmctld is not running")?;
        let first = &controller.first;
        let pid = match (self.mode, &controller.notified) {
            (Mode::Daemon, _) => self.controller_pid().map_or(Ok(first.pid), i32::try_from)?,
            (_, Some(systemd)) => systemd.main().unwrap_or(first.pid),
            (_, None) => first.pid,
        };
        Ok(Daemon { pid, ..first.clone() })
    }

    /// Stops slurmctld as an administrator does, so that it saves its state.
    ///
    /// # Errors
    /// If it is not running, or does not end.
    pub fn stop_controller(&mut self) -> Result<()> {
        self.end_controller(SIGTERM)
    }

    /// Waits until slurmctld has saved what its jobs do now, which takes some seconds: a kill before that forgets starts and ends, so that a job runs a
    /// second time or its place becomes free. `job` gets a comment, as slurmctld saves nothing where nothing changes.
    ///
    /// # Errors
    /// If there is no such job, or slurmctld does not save within a minute.
    pub fn wait_saved(&self, job: JobId) -> Result<()> {
        let before = std::time::SystemTime::now();
        self.scontrol(&["update", &format!("JobId={job}"), "Comment=saved"])?;
        self.wait_for("the jobs to be saved", TIMEOUT, |cluster| {
            let file = std::fs::metadata(cluster.directory.join("state/job_state"));
            Ok(file.and_then(|file| file.modified()).ok().filter(|at| *at > before).map(drop))
        })
    }

    /// Kills slurmctld, as a crash would.
    ///
    /// # Errors
    /// If it is not running.
    pub fn kill_controller(&mut self) -> Result<()> {
        self.end_controller(SIGKILL)
    }

    /// Kills the slurmd of a node, as a job can that takes its node down. Nobody starts it again.
    ///
    /// # Errors
    /// If there is no such node.
    pub fn kill_node(&self, number: u16) -> Result<()> {
        let index = usize::from(number).checked_sub(1);
        let daemon = index.and_then(|index| self.nodes.get(index)).context("there is no such node")?;
        self.processes.signal(daemon, SIGKILL)
    }

    fn end_controller(&mut self, signal: i32) -> Result<()> {
        let daemon = self.running()?;
        self.controller = None;
        self.processes.signal(&daemon, signal)?;
        self.processes.wait_end(&daemon, self.controller_timeout())
    }

    /// How long slurmctld may take to start or to stop.
    fn controller_timeout(&self) -> Duration {
        TIMEOUT * if self.environment.controller_wrapper.is_empty() { 1 } else { 5 }
    }

    /// How slurmctld ended, `None` while it or what has replaced it runs.
    ///
    /// # Errors
    /// If it was never started.
    pub fn controller_ended(&self) -> Result<Option<String>> {
        let start = Instant::now();
        loop {
            let Some(how) = self.processes.ended(&self.running()?)? else { return Ok(None) };
            if self.mode == Mode::Foreground || start.elapsed() > SUCCESSION {
                return Ok(Some(how));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Stops slurmctld and starts it again.
    ///
    /// # Errors
    /// If either fails.
    pub fn restart_controller(&mut self) -> Result<()> {
        self.stop_controller()?;
        self.start_controller()
    }

    /// Seconds between two decay cycles from the next start of slurmctld on, as [`crate::Builder::cycle_seconds`].
    ///
    /// # Errors
    /// For a release whose layout is not known.
    pub fn set_cycle_seconds(&mut self, seconds: Option<u32>) -> Result<()> {
        self.environment.controller.retain(|(name, _)| !name.starts_with("TESTCLUSTER_CYCLE_"));
        self.environment.controller.extend(cycle_seconds(&self.release, seconds)?);
        Ok(())
    }

    /// `scontrol reconfigure`.
    ///
    /// # Errors
    /// If Slurm refuses.
    pub fn reconfigure(&self) -> Result<()> {
        self.scontrol(&["reconfigure"]).map(drop)
    }

    /// Sends slurmctld a SIGHUP, the other way to reconfigure.
    ///
    /// # Errors
    /// If it is not running.
    pub fn hang_up_controller(&self) -> Result<()> {
        self.processes.signal(&self.running()?, SIGHUP)
    }
}

/// A successor writes over the file without shortening it: where the numbers of processes begin anew, the end of a longer one
/// stays behind the first line.
pub(crate) fn first_pid(text: &str) -> Result<u32> {
    text.lines().next().unwrap_or_default().trim().parse().context("slurmctld.pid")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pid_file_may_end_with_the_rest_of_an_older_one() {
        assert_eq!(first_pid("301\n7\n").unwrap(), 301);
        first_pid("").unwrap_err();
    }
}
