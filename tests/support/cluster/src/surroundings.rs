//! The daemons around slurmctld, and what is seen of its memory: for tests in which they fail.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{ensure, Context, Result};
use signal_hook::consts::SIGTERM;

use crate::builder::{DATABASE_PORT, PRELOAD_FILE};
use crate::cluster::TIMEOUT;
use crate::{database, Cluster};

impl Cluster {
    /// Starts slurmdbd and waits until it listens.
    ///
    /// # Errors
    /// If it ends or does not listen, with the end of its log.
    pub fn start_slurmdbd(&mut self) -> Result<()> {
        let mut command = self.daemon_command("slurmdbd");
        command.arg("-D");
        let daemon = self.start_daemon("slurmdbd", &command)?;
        self.slurmdbd = Some(daemon.clone());
        let port = self.port(DATABASE_PORT);
        self.processes.wait_ready(&daemon, TIMEOUT, || daemon.listens(port))
    }

    /// Stops slurmdbd as an administrator does.
    ///
    /// # Errors
    /// If it is not running, or does not end.
    pub fn stop_slurmdbd(&mut self) -> Result<()> {
        let daemon = self.slurmdbd.take().context("slurmdbd is not running")?;
        self.processes.signal(&daemon, SIGTERM)?;
        self.processes.wait_end(&daemon, TIMEOUT)
    }

    /// Starts the database server and waits until it serves.
    ///
    /// # Errors
    /// If it ends or does not serve, with the end of its log.
    pub fn start_database(&mut self) -> Result<()> {
        let mut command = database::prepare(&self.directory)?;
        command.env("LD_PRELOAD", self.directory.join(PRELOAD_FILE));
        let served = |log: &Path| {
            let text = fs::read(log).unwrap_or_default();
            String::from_utf8_lossy(&text).matches("ready for connections").count()
        };
        let before = served(&self.directory.join("log/mariadbd"));
        let daemon = self.start_daemon("mariadbd", &command)?;
        self.database = Some(daemon.clone());
        self.processes.wait_ready(&daemon, TIMEOUT, || served(&daemon.log) > before)
    }

    /// Stops the database server. It does not sync, so it would not outlive a kill.
    ///
    /// # Errors
    /// If it is not running, or does not end.
    pub fn stop_database(&mut self) -> Result<()> {
        let daemon = self.database.take().context("the database server is not running")?;
        self.processes.signal(&daemon, SIGTERM)?;
        self.processes.wait_end(&daemon, TIMEOUT)
    }

    /// Changes the accounting database behind slurmdbd's back.
    ///
    /// # Errors
    /// If the server refuses the statement.
    pub fn sql(&self, statement: &str) -> Result<()> {
        let mut client = Command::new("mariadb");
        client.args(["--no-defaults", "-u", "root", "-e", statement, "slurm"]);
        let output =
            client.arg("-S").arg(database::socket(&self.directory)).output().context("running mariadb")?;
        ensure!(output.status.success(), "{statement}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }

    /// Bytes of slurmctld's heap that are in use; counted once a second in a cluster that was built with
    /// [`Builder::watch_heap`].
    ///
    /// # Errors
    /// If nothing was counted yet.
    pub fn heap_in_use(&self) -> Result<u64> {
        let path = self.directory.join(format!("heap.{}", self.controller_pid()?));
        let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        text.trim().parse().with_context(|| format!("{} holds '{text}'", path.display()))
    }
}
