//! Long tests in real clusters, and what they share with the short ones of `make test`.
//!
//! [`kills`]: slurmctld is killed at random moments while jobs run, and what `sshare` then says was used is compared
//! with what `sacct` says. [`load`]: many clients at once, with changes of everything that priorities
//! depend on, while memory and log are watched.

pub mod kills;
pub mod leaks;
pub mod load;
pub mod memory;
pub mod outages;
mod random;
mod records;
#[path = "../../support/seed.rs"]
mod seed;
pub mod takeovers;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
pub use seed::seed;
use slurm_testcluster::{Builder, Cluster};

/// Which priority plugin a test runs with.
#[derive(Clone, Debug)]
pub enum Plugin {
    /// This one.
    Ours(PathBuf),
    /// Slurm's `priority/multifactor`, to compare with.
    Stock,
}

impl Plugin {
    /// The plugin that `MULTIFACTOR2_PLUGIN` names.
    ///
    /// # Errors
    /// If the variable is not set.
    pub fn built() -> Result<Self> {
        let path = std::env::var_os("MULTIFACTOR2_PLUGIN")
            .context("MULTIFACTOR2_PLUGIN must name the plugin: run 'make test' or 'make soak'")?;
        Ok(Self::Ours(path.into()))
    }

    /// A cluster with it.
    fn builder(&self) -> Builder {
        let builder = Cluster::builder();
        match self {
            Self::Ours(file) => builder
                .priority_type("priority/multifactor2")
                .plugin(file.as_path() as &Path, "priority_multifactor2.so"),
            Self::Stock => builder,
        }
    }
}

/// Lines of slurmctld's log in which the plugin complains.
fn complaints(log: &str) -> Vec<&str> {
    log.lines().filter(|line| line.contains("error:") && line.contains("priority/multifactor")).collect()
}
