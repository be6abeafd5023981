//! Batch jobs to submit.

/// A batch job that sleeps, described by what `sbatch` is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    pub(crate) user: Option<String>,
    pub(crate) group: Option<u32>,
    pub(crate) seconds: u32,
    pub(crate) arguments: Vec<String>,
}

impl Job {
    /// A job of this user, in the user's default account and the default partition, one CPU, that
    /// sleeps for an hour once it runs.
    pub fn new(user: impl Into<String>) -> Self {
        Self { user: Some(user.into()), group: None, seconds: 3600, arguments: Vec::new() }
    }

    /// A job of the user that started the cluster (Slurm's own user).
    pub fn of_slurm_user() -> Self {
        Self { user: None, group: None, seconds: 3600, arguments: Vec::new() }
    }

    /// Charged to this account.
    #[must_use]
    pub fn account(self, account: &str) -> Self {
        self.arg(format!("--account={account}"))
    }

    /// In this partition, or one of several separated by commas.
    #[must_use]
    pub fn partition(self, partition: &str) -> Self {
        self.arg(format!("--partition={partition}"))
    }

    /// In the Unix group of this number, not in that of the cluster's users.
    #[must_use]
    pub fn group(mut self, gid: u32) -> Self {
        self.group = Some(gid);
        self
    }

    /// How long it sleeps when it runs.
    #[must_use]
    pub fn seconds(mut self, seconds: u32) -> Self {
        self.seconds = seconds;
        self
    }

    /// With a further argument of `sbatch`, for example `--nice=100`.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }
}
