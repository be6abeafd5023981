//! Long tests in real clusters, and what they share with the short ones of `make test`.
//!
//! [`kills`]: slurmctld is killed at random moments while jobs run, and what `sshare` then says was used is compared
//! with what `sacct` says. [`load`]: many clients at once, with changes of everything that priorities
//! depend on, while memory and log are watched.

pub mod deaths;
pub mod kills;
pub mod leaks;
pub mod load;
pub mod memory;
pub mod outages;
pub mod pressure;
mod random;
pub mod reconfigures;
mod records;
pub mod table;
pub mod takeovers;
mod watchdog;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
pub use multifactor2_fixtures::seed;
use slurm_testcluster::{Builder, Cluster, Release};

/// Which priority plugin a test runs with, and in which Slurm.
#[derive(Clone, Debug)]
pub struct Plugin {
    /// This one; `None` is Slurm's `priority/multifactor`, to compare with.
    file: Option<PathBuf>,
    /// `None` is the machine's own.
    release: Option<Release>,
}

impl Plugin {
    /// The plugin that `MULTIFACTOR2_PLUGIN` names, in the machine's Slurm.
    ///
    /// # Errors
    /// If the variable is not set.
    pub fn built() -> Result<Self> {
        let path = std::env::var_os("MULTIFACTOR2_PLUGIN")
            .context("MULTIFACTOR2_PLUGIN must name the plugin: run 'make test' or 'make soak'")?;
        Ok(Self { file: Some(path.into()), release: None })
    }

    /// This plugin in another release.
    ///
    /// # Errors
    /// If it cannot be built for that.
    pub fn in_release(release: &Release) -> Result<Self> {
        Ok(Self { file: Some(slurm_releases::plugin()?), release: Some(release.clone()) })
    }

    /// Slurm's own plugin where this one is.
    #[must_use]
    pub fn stock(&self) -> Self {
        Self { file: None, release: self.release.clone() }
    }

    /// Whether it is Slurm's own.
    pub fn is_stock(&self) -> bool {
        self.file.is_none()
    }

    /// A cluster with it.
    fn builder(&self) -> Builder {
        let mut builder = Cluster::builder();
        if let Some(release) = &self.release {
            // What later releases do by default must be said in 20.11.
            builder = builder.release(release.clone()).set("SelectTypeParameters", "CR_Core_Memory");
        }
        match &self.file {
            Some(file) => builder
                .priority_type("priority/multifactor2")
                .plugin(file.as_path() as &Path, "priority_multifactor2.so"),
            None => builder,
        }
    }
}

/// Lines of slurmctld's log in which the plugin complains.
fn complaints(log: &str) -> Vec<String> {
    let lines = log.lines().filter(|line| line.contains("error:") && line.contains("priority/multifactor"));
    lines.map(str::to_owned).collect()
}
