//! Limits on running jobs, of associations and QOS: how many jobs may run at one time, and what they may use together.
//!
//! They are those of today: a trace has no limits of another time, only the dates of their changes.

/// How many jobs of one, or of several together, may run, and what they may have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    /// Jobs.
    pub jobs: Option<u32>,
    /// TRES by their names, such as `cpu` and `gres/gpu`; memory in MB.
    pub tres: Vec<(String, u64)>,
}

impl Limit {
    /// There is none.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// The limits of a QOS.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QosLimits {
    /// Of all its jobs: `GrpJobs`, `GrpTRES`.
    pub all: Limit,
    /// Of each user's: `MaxJobsPU`, `MaxTRESPU`.
    pub per_user: Limit,
    /// Of each account's: `MaxJobsPA`, `MaxTRESPA`.
    pub per_account: Limit,
    /// `OverPartQOS`: they come before those of the partition's QOS.
    pub over_partition: bool,
    /// `LimitFactor`: what `GrpTRES` of associations is multiplied with for its jobs.
    pub factor: Option<f64>,
    /// `Relative`: limits are in percent of the cluster or partition, which a replay does not follow.
    pub is_relative: bool,
}

/// The limits of an association, as a source lists them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedLimits {
    /// Its account.
    pub account: String,
    /// Its user; empty for that of an account.
    pub user: String,
    /// Its partition; mostly none.
    pub partition: String,
    /// Of all jobs below it: `GrpJobs`, `GrpTRES`.
    pub all: Limit,
    /// `MaxJobs`: of one association of a user. That of an account applies to each user below who has none.
    pub max_jobs: Option<u32>,
}
