//! How a host is started: with which plugin, at what time, in what surroundings.

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use multifactor2_fixtures::plugin;

use crate::error::{Error, HostResult};
use crate::program::Program;

/// Which priority plugin to load, and from where.
#[derive(Debug, Clone)]
pub struct Plugin {
    /// `PriorityType`.
    pub priority_type: String,
    /// The shared object, of any name; without one, Slurm's own plugin directory has it.
    pub library: Option<PathBuf>,
}

impl Plugin {
    /// The stock plugin of the installed Slurm.
    pub fn stock() -> Self {
        Self { priority_type: "priority/multifactor".to_owned(), library: None }
    }

    /// Any other plugin.
    pub fn of(priority_type: &str, library: &Path) -> Self {
        Self { priority_type: priority_type.to_owned(), library: Some(library.to_owned()) }
    }

    /// This project's plugin: the file that `MULTIFACTOR2_PLUGIN` names, else the newest one that cargo has built
    /// beside the running test.
    ///
    /// # Errors
    /// If there is none.
    pub fn multifactor2() -> HostResult<Self> {
        let library = plugin::under_test().ok_or_else(|| {
            Error::Build(
                "libpriority_multifactor2.so is not built: run `cargo build` with the same profile"
                    .to_owned(),
            )
        })?;
        Ok(Self::of("priority/multifactor2", &library))
    }
}

/// How to start a host.
#[derive(Debug, Clone)]
pub struct Options {
    /// The plugin.
    pub plugin: Plugin,
    /// The time at which the clock stands, in seconds since 1970.
    pub clock: i64,
    /// Time zone of the process.
    pub time_zone: String,
    /// Level of Slurm's log: `error`, `info`, `verbose`, `debug` … `debug5`.
    pub log_level: String,
    /// Directories of plugins besides Slurm's own and that of the plugin.
    pub plugin_directories: Vec<PathBuf>,
    /// More lines of slurm.conf.
    pub more_slurm_conf: Vec<String>,
    /// Files beside slurm.conf: name and content.
    pub files: Vec<(String, String)>,
    /// Whether slurmdbd is configured (it is never contacted).
    pub slurmdbd: bool,
    /// Whether the process has slurmctld's symbols; `false` is a process like `sshare`.
    pub slurmctld: bool,
    /// A command to run the program under, such as `valgrind` and its options.
    pub wrapper: Vec<String>,
    /// Longest wait for an answer.
    pub timeout: Duration,
}

impl Options {
    /// A host for this plugin, with the clock at 2033-05-18 03:33:20 UTC.
    pub fn new(plugin: Plugin) -> Self {
        Self {
            plugin,
            clock: 2_000_000_000,
            time_zone: "UTC".to_owned(),
            log_level: "info".to_owned(),
            plugin_directories: Vec::new(),
            more_slurm_conf: Vec::new(),
            files: Vec::new(),
            slurmdbd: true,
            slurmctld: true,
            wrapper: Vec::new(),
            timeout: Duration::from_secs(120),
        }
    }

    /// The text of slurm.conf for this host.
    pub(crate) fn slurm_conf(&self, program: &Program, directory: &Path) -> String {
        let mut plugins = program.library.display().to_string();
        if self.plugin.library.is_some() {
            plugins = format!("{}:{plugins}", directory.join("plugins").display());
        }
        for more in &self.plugin_directories {
            plugins = format!("{}:{plugins}", more.display());
        }
        let mut lines = vec![
            "ClusterName=inproc".to_owned(),
            "SlurmctldHost=localhost".to_owned(),
            "AuthType=auth/none".to_owned(),
            "CredType=cred/none".to_owned(),
            "NodeName=localhost".to_owned(),
            "PartitionName=only Nodes=localhost".to_owned(),
            format!("StateSaveLocation={}", directory.join("state").display()),
            format!("PluginDir={plugins}"),
            format!("PriorityType={}", self.plugin.priority_type),
        ];
        if let Ok(user) = env::var("USER").or_else(|_| env::var("LOGNAME")) {
            lines.push(format!("SlurmUser={user}"));
        }
        if self.slurmdbd {
            lines.push("AccountingStorageType=accounting_storage/slurmdbd".to_owned());
        }
        lines.extend(self.more_slurm_conf.iter().cloned());
        lines.push(String::new());
        lines.join("\n")
    }
}
