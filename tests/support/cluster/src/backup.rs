//! A backup controller for slurmctld, for tests in which one takes over from the other.
//!
//! slurmctld knows itself by the name of its host, so the backup runs under another name, `backup`, in a namespace of its
//! own. That needs root.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::cluster::wrapped;
use crate::controller::first_pid;
use crate::processes::last_lines;
use crate::{Builder, Cluster};

/// Gives the namespace its name and becomes the command that follows.
const AS_BACKUP: [&str; 6] = ["unshare", "--uts", "sh", "-c", "hostname backup && exec \"$@\"", "sh"];

impl Builder {
    /// Names a backup controller in slurm.conf, for [`Cluster::start_backup`]: the primary listens at 127.0.0.1, the backup at
    /// 127.0.0.2, and takes over two seconds after the primary has gone.
    ///
    /// # Errors
    /// If the name of this host is not known.
    pub fn backup(self) -> Result<Self> {
        let host = fs::read_to_string("/proc/sys/kernel/hostname").context("the name of this host")?;
        let host = host.trim().split('.').next().unwrap_or_default();
        // A slurmctld listens at the address that its host's name has.
        let builder = self
            .hosts(&format!("127.0.0.1 localhost {host}\n127.0.0.2 backup\n"))
            .set("SlurmctldHost", &format!("{host}(127.0.0.1)"))
            .line("SlurmctldHost=backup(127.0.0.2)")
            .set("CommunicationParameters", "NoCtldInAddrAny")
            .set("SlurmctldTimeout", "2");
        Ok(builder)
    }
}

impl Cluster {
    /// Starts the backup controller of a cluster that was built with [`Builder::backup`]. Its log is `log/backup`.
    ///
    /// # Errors
    /// If its files cannot be written, or it does not start.
    pub fn start_backup(&mut self) -> Result<()> {
        // A slurmctld ends the one that it finds in its pid file.
        let text = fs::read_to_string(self.directory.join("slurm.conf"))?;
        let conf = self.directory.join("backup.conf");
        fs::write(&conf, text.replace("slurmctld.pid", "backup.pid"))?;
        let mut command = wrapped(&AS_BACKUP.map(str::to_owned), self.daemon_command("slurmctld"));
        command.arg("-D").envs(self.environment.controller.iter().cloned()).env("SLURM_CONF", conf);
        self.start_daemon("backup", &command).map(drop)
    }

    /// The process of the backup controller.
    ///
    /// # Errors
    /// If it has not been started.
    pub fn backup_pid(&self) -> Result<u32> {
        let text = fs::read_to_string(self.directory.join("backup.pid")).context("backup.pid")?;
        first_pid(&text)
    }

    /// What the backup controller has logged.
    pub fn backup_log(&self) -> String {
        let bytes = fs::read(self.directory.join("log/backup")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits until the backup controller has begun to wait for so many times, and answers.
    ///
    /// # Errors
    /// After `timeout`, with the end of its log.
    pub fn wait_background(&self, times: usize, timeout: Duration) -> Result<()> {
        self.wait_backup("slurmctld running in background mode", times, timeout)?;
        // It says so before it listens.
        self.wait_for("an answer of the backup", timeout, |cluster| {
            let answers = cluster.scontrol(&["ping"]).is_ok_and(|text| text.contains("at backup is UP"));
            Ok(answers.then_some(()))
        })
    }

    /// Waits until the backup controller has taken over so many times.
    ///
    /// # Errors
    /// After `timeout`, with the end of its log.
    pub fn wait_takeover(&self, times: usize, timeout: Duration) -> Result<()> {
        self.wait_backup("Running as primary controller", times, timeout)
    }

    /// Waits until the backup controller has logged something so many times.
    fn wait_backup(&self, what: &str, times: usize, timeout: Duration) -> Result<()> {
        let found = |cluster: &Self| Ok((cluster.backup_log().matches(what).count() >= times).then_some(()));
        self.wait_for(&format!("'{what}', time {times}, in the backup's log"), timeout, found)
            .with_context(|| last_lines(&self.backup_log(), 20))
    }
}
