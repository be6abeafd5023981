//! One run of one of Slurm's commands against a cluster.

use std::ffi::OsStr;
use std::fmt::Display;
use std::process::{Child, Command, Output, Stdio};

use anyhow::{ensure, Context, Result};

use crate::Cluster;

/// A command with its arguments, not yet run.
#[derive(Debug)]
#[must_use]
pub struct Call<'cluster> {
    cluster: &'cluster Cluster,
    command: Command,
}

impl<'cluster> Call<'cluster> {
    pub(crate) fn new(cluster: &'cluster Cluster, mut command: Command) -> Self {
        command.stdin(Stdio::null());
        Self { cluster, command }
    }

    /// With a further argument.
    pub fn arg(mut self, argument: impl Display) -> Self {
        self.command.arg(argument.to_string());
        self
    }

    /// With further arguments.
    pub fn args<T: Display>(mut self, arguments: impl IntoIterator<Item = T>) -> Self {
        self.command.args(arguments.into_iter().map(|argument| argument.to_string()));
        self
    }

    /// With a further argument of any bytes.
    pub fn raw(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    /// With a variable in its environment.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// As one of the cluster's users: auth/none believes the uid that a client says.
    ///
    /// # Errors
    /// If the cluster has no such user.
    pub fn user(self, name: &str) -> Result<Self> {
        let (uid, gid) = self.cluster.ids(name)?;
        Ok(self.env("TESTCLUSTER_UID", &uid.to_string()).env("TESTCLUSTER_GID", &gid.to_string()))
    }

    /// Runs it and gives all that comes of it.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn output(mut self) -> Result<Output> {
        self.command.output().with_context(|| format!("running {:?}", self.command.get_program()))
    }

    /// Starts it, with what it prints in a pipe.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn spawn(mut self) -> Result<Child> {
        let program = self.command.get_program().to_owned();
        self.command.stdout(Stdio::piped()).spawn().with_context(|| format!("running {program:?}"))
    }

    /// Runs it and gives what it prints.
    ///
    /// # Errors
    /// If it cannot be started or reports a failure, with what it printed.
    pub fn text(mut self) -> Result<String> {
        let output =
            self.command.output().with_context(|| format!("running {:?}", self.command.get_program()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        ensure!(
            output.status.success(),
            "{} {:?}: {}\n{}{}",
            self.command.get_program().to_string_lossy(),
            self.command.get_args().collect::<Vec<_>>(),
            output.status,
            String::from_utf8_lossy(&output.stderr),
            text
        );
        Ok(text.into_owned())
    }

    /// Runs it and says whether it succeeded.
    pub fn succeeds(self) -> bool {
        self.output().is_ok_and(|output| output.status.success())
    }
}
