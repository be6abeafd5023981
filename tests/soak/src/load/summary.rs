//! The results of a load, and what must hold.

use std::fmt;
use std::time::Duration;

use anyhow::{ensure, Result};

use super::changes::Done;
use crate::memory::Memory;
use crate::watchdog::Hang;

/// What came of it.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Requests of the clients that worked, and that were refused (a job that is gone, a user that was removed).
    pub requests: (u64, u64),
    /// Changes by the administrator.
    pub changes: Done,
    /// The longest time between two cycles, which are a second apart.
    pub longest_cycle: Duration,
    /// slurmctld's memory.
    pub memory: Memory,
    /// Error lines of the plugin.
    pub complaints: Vec<String>,
    /// slurmctld hung.
    pub hang: Option<Hang>,
    /// Users whose numbers a restart changed.
    pub differences: Vec<String>,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} requests worked, {} were refused; {}; at most {:.1} s between cycles; {}; {} complaints; {} differences after a \
             restart",
            self.requests.0,
            self.requests.1,
            self.changes,
            self.longest_cycle.as_secs_f64(),
            self.memory,
            self.complaints.len(),
            self.differences.len()
        )
    }
}

/// What must hold.
///
/// # Errors
/// What does not.
pub fn check(summary: &Summary) -> Result<()> {
    if let Some(hang) = &summary.hang {
        anyhow::bail!("{summary}\n{hang}");
    }
    ensure!(summary.complaints.is_empty(), "{summary}\n{}", summary.complaints.join("\n"));
    ensure!(summary.differences.is_empty(), "{summary}\n{}", summary.differences.join("\n"));
    ensure!(summary.memory.is_flat(), "memory grows: {summary}");
    ensure!(summary.memory.is_given_back(summary.requests.0), "memory is not given back: {summary}");
    Ok(())
}
