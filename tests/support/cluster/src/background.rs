//! A slurmctld in the background, as a service runs: from 23.11 on it outlives a reconfigure whose new process fails.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::cluster::cycle_seconds;
use crate::Cluster;

/// It ends with this value, if it has not before.
#[derive(Debug)]
pub struct Background(PathBuf);

impl Cluster {
    /// Starts slurmctld in the background, with cycles of one second, in a cluster that has none in the foreground.
    ///
    /// # Errors
    /// If it does not start, or does not answer within `timeout`.
    pub fn start_background(&mut self, timeout: Duration) -> Result<Background> {
        let log = self.directory().join("log/slurmctld");
        self.set("SlurmctldLogFile", log.to_str().context("the path of the log")?)?;
        let mut call = self.command("slurmctld");
        for (name, value) in cycle_seconds(self.release(), Some(1))? {
            call = call.env(&name, &value);
        }
        call.text()?;
        let background = Background(self.directory().join("slurmctld.pid"));
        self.wait_for("slurmctld", timeout, |cluster| Ok(cluster.is_up().then_some(())))?;
        Ok(background)
    }
}

impl Background {
    /// Whether it runs.
    pub fn runs(&self) -> bool {
        self.signal("-0")
    }

    /// Stops it as an administrator does.
    ///
    /// # Errors
    /// If it has not ended after `timeout`.
    pub fn stop(self, cluster: &Cluster, timeout: Duration) -> Result<()> {
        self.signal("-TERM");
        cluster.wait_for("the end of slurmctld", timeout, |_| Ok((!self.runs()).then_some(())))
    }

    fn signal(&self, signal: &str) -> bool {
        let pid = fs::read_to_string(&self.0).unwrap_or_default();
        let kill = Command::new("kill").args([signal, pid.trim()]).stderr(Stdio::null()).status();
        !pid.trim().is_empty() && kill.is_ok_and(|status| status.success())
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.signal("-KILL");
    }
}
