//! A workload under several policies: waits, usage against shares, who gains and who loses.
//!
//! Other answers are about a cluster; this one is about a trace. [`Document`] is what `--json` shows.

mod accounts;
mod made;
pub mod measures;
mod past;
mod words;

use schemars::JsonSchema;
use serde::Serialize;

pub use made::{spread, Input, Jittered, PastPolicy, Run};
pub use past::{FactRow, Past, PastGroup, Unsaid};
pub use words::{Definition, WORDS};

use multifactor2_replay::measures as of_replay;

/// What the JSON calls it.
pub const NAME: &str = "replay";
/// The version of its schema: it changes where a field changes its meaning or goes away.
pub const VERSION: u32 = 2;

/// The answer with its name, as `--json` shows it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Document {
    /// Which answer this is: `multifactor2/replay`.
    pub schema: String,
    /// The version of its schema: it changes where a field changes its meaning or goes away.
    pub version: u32,
    /// The answer.
    pub answer: Replay,
}

impl Document {
    /// Of an answer.
    pub fn new(answer: Replay) -> Self {
        Self { schema: format!("multifactor2/{NAME}"), version: VERSION, answer }
    }
}

/// The answer. Times are in seconds, those of clocks since 1970 where the trace says since when.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Replay {
    /// What was replayed.
    pub trace: Trace,
    /// By policy, in the order in which they were asked for.
    pub policies: Vec<Policy>,
    /// Every policy against the first.
    pub comparisons: Vec<Comparison>,
    /// Gains of users who game the policy; empty if none was asked for.
    pub gaming: Vec<Gaming>,
    /// The policy that the cluster had, replayed, against the record; absent if no recorded start is known.
    pub past: Option<Past>,
    /// Accounts, users and partitions without a verdict, and why.
    pub unsaid: Vec<Unsaid>,
    /// What decided the starts of jobs, and what became of it here.
    pub facts: Vec<FactRow>,
    /// What every replay leaves out, one sentence each.
    pub left_out: Vec<String>,
    /// What the trace lacks, and what follows.
    pub missing: Vec<Missing>,
    /// What was wrong with it.
    pub problems: Vec<Problem>,
    /// How measures are defined.
    pub definitions: Vec<Definition>,
    /// It was stopped, and this is what there was.
    pub stopped: bool,
}

/// What was replayed, and how.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Trace {
    /// The file or directory.
    pub name: String,
    /// Jobs that are replayed.
    pub jobs: usize,
    /// Users with jobs.
    pub users: usize,
    /// Accounts with jobs.
    pub accounts: usize,
    /// `account`, or `group` where the trace has groups of users, which need not be accounts.
    pub account_word: String,
    /// The first and the last submission.
    pub first: i64,
    /// See above.
    pub last: i64,
    /// Jobs that were submitted before are a warm-up: they run, and are not counted.
    pub since: i64,
    /// CPUs of the machine.
    pub cpus: u64,
    /// Its nodes; 0 if that is not known.
    pub nodes: u64,
    /// Its partitions with their CPUs.
    pub partitions: Vec<Partition>,
    /// The scheduler.
    pub scheduler: String,
    /// `PriorityDecayHalfLife`
    pub half_life: u32,
    /// The seed of jittered runs.
    pub seed: u64,
    /// Runs with jitter, for each policy; 0 for none.
    pub runs: usize,
    /// There would have been more, but ten minutes were over.
    pub runs_cut: bool,
    /// By how many seconds at most jobs are submitted later in a jittered run.
    pub jitter: u32,
    /// Jobs whose waits are counted: those that have ended under all policies, without the warm-up.
    pub counted: usize,
    /// Jobs that were submitted after the warm-up and that some policy had not ended.
    pub not_counted: usize,
    /// What was recorded of the jobs that are counted; absent if the trace has no start times.
    pub recorded: Option<Waits>,
}

/// A partition of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Partition {
    /// Its name.
    pub name: String,
    /// Its CPUs, some of which may be in others, too.
    pub cpus: u64,
}

/// What came of a policy.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Policy {
    /// What it was called on the command line.
    pub name: String,
    /// Waits of all jobs.
    pub waits: Waits,
    /// Jobs that did not start.
    pub not_started: usize,
    /// Those of them that are too large for each of their partitions.
    pub misfits: u64,
    /// Used CPU seconds in parts of those that there were.
    pub utilisation: f64,
    /// Seconds from the first submission to the last end.
    pub makespan: i64,
    /// Normalised waits over users.
    pub users_normalised: Spread,
    /// Seconds in which at least one job waited.
    pub contended: f64,
    /// Share error.
    pub share_error: Spread,
    /// Jain's index: the mean, and the smallest.
    pub jain: Jain,
    /// Shortfall.
    pub shortfall: Spread,
    /// Shortfall of the accounts directly below the root, over all contended time.
    pub account_shortfall: f64,
    /// The largest lag of an account in CPU hours.
    pub lag: f64,
    /// Fair start times; absent if they were not asked for.
    pub fair_start: Option<FairStart>,
    /// Accounts, those above first.
    pub accounts: Vec<Account>,
    /// Over time.
    pub series: Series,
    /// Measures without their own field.
    pub others: Vec<Measured>,
    /// Mean and spread over jittered runs; empty without any.
    pub runs: Vec<OverRuns>,
    /// What its settings or slurm.conf ask for that this replay leaves out.
    pub left_out: Vec<String>,
    /// It was stopped before its end.
    pub stopped: bool,
}

/// A measure.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Measured {
    /// What it is called.
    pub measure: String,
    /// How much it is.
    pub value: f64,
}

/// Mean, 95th percentile and largest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Spread {
    /// The plain mean.
    pub mean: f64,
    /// The smallest value that at least 95 % are not above.
    pub p95: f64,
    /// The largest.
    pub worst: f64,
}

impl From<of_replay::Spread> for Spread {
    fn from(of: of_replay::Spread) -> Self {
        Self { mean: of.mean, p95: of.p95, worst: of.worst }
    }
}

/// How much later jobs start because of those that were submitted after them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct FairStart {
    /// Jobs of the sample.
    pub jobs: usize,
    /// Those of them that start later than is fair.
    pub later: usize,
    /// Unfairness in seconds.
    pub unfairness: Spread,
}

/// Jain's index over intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Jain {
    /// The plain mean.
    pub mean: f64,
    /// The smallest.
    pub worst: f64,
}

/// Waits of some jobs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Waits {
    /// How many.
    pub jobs: usize,
    /// Wait in seconds, from the time at which a job could start.
    pub wait: Spread,
    /// Seconds from its submission to that time.
    pub before: Spread,
    /// Flow in seconds.
    pub flow: Spread,
    /// Bounded slowdown.
    pub slowdown: Spread,
    /// Area-weighted wait in seconds.
    pub area_weighted: f64,
    /// Normalised wait.
    pub normalised: f64,
}

impl From<&of_replay::Waits> for Waits {
    fn from(of: &of_replay::Waits) -> Self {
        Self {
            jobs: of.wait.count,
            wait: of.wait.into(),
            before: of.before.into(),
            flow: of.flow.into(),
            slowdown: of.slowdown.into(),
            area_weighted: of.area_weighted,
            normalised: of.normalised,
        }
    }
}

/// An account with all below it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Account {
    /// Its name.
    pub name: String,
    /// The account above; empty directly below the root.
    pub parent: String,
    /// How far below the root, from 1.
    pub depth: usize,
    /// Its normalised share.
    pub share: f64,
    /// What it had in contended time, in parts of what all had.
    pub usage: f64,
    /// What it was entitled to, in the same parts.
    pub entitled: f64,
    /// Jobs that are counted.
    pub jobs: usize,
    /// Mean wait in seconds.
    pub mean_wait: f64,
    /// Waits in seconds that 0, 5, 25, 50, 75, 95 and 100 % of the jobs are not above.
    pub wait_quantiles: [f64; 7],
    /// Normalised wait.
    pub normalised: f64,
    /// The largest lag in CPU hours; absent but directly below the root.
    pub lag: Option<f64>,
}

/// Parts of a policy's results over time, at the ends of intervals of equal length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Series {
    /// When each interval begins.
    pub begins: Vec<i64>,
    /// The part of each in which a job waited, from 0 to 1.
    pub contended: Vec<f64>,
    /// Share error.
    pub share_error: Vec<f64>,
    /// Jain's index; absent if no job waited.
    pub jain: Vec<Option<f64>>,
    /// Accounts directly below the root.
    pub accounts: Vec<AccountSeries>,
}

/// An account over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct AccountSeries {
    /// Its name.
    pub name: String,
    /// Its normalised share.
    pub share: f64,
    /// Its decayed usage in parts of all.
    pub usage: Vec<f64>,
}

/// A measure over jittered runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OverRuns {
    /// Which.
    pub measure: String,
    /// The mean of the runs.
    pub mean: f64,
    /// The standard deviation of a run.
    pub deviation: f64,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub most: f64,
    /// How many runs there are.
    pub runs: usize,
}

/// What changes from one policy to another.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// The first policy.
    pub from: String,
    /// The other one.
    pub to: String,
    /// Jobs that start earlier in the other.
    pub earlier: u64,
    /// Jobs that start later.
    pub later: u64,
    /// Jobs that start at the same time.
    pub same: u64,
    /// Order inversions.
    pub inversions: f64,
    /// The mean wait of all jobs.
    pub whole: Change,
    /// Accounts with jobs, those that gain most first.
    pub accounts: Vec<Change>,
    /// Users with jobs, those that gain most first.
    pub users: Vec<Change>,
    /// Partitions with jobs, those that gain most first.
    pub partitions: Vec<Change>,
}

/// How much longer an account, user or partition waits.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// Its name.
    pub name: String,
    /// Jobs.
    pub jobs: usize,
    /// The mean wait before, in seconds.
    pub before: f64,
    /// How much longer the mean wait is, in seconds; below 0 where it is shorter.
    pub longer: f64,
    /// Two standard deviations of that over jittered runs; absent with fewer than two.
    pub chance: Option<f64>,
    /// How far the replayed past may be from the record here, in seconds; absent if that is not known.
    pub error: Option<f64>,
    /// It is larger than both, and the group has a verdict.
    pub is_told: bool,
}

/// The gain of a user who games a policy.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Gaming {
    /// The user.
    pub user: String,
    /// What it does.
    pub strategy: String,
    /// The same in words.
    pub described: String,
    /// The policy.
    pub policy: String,
    /// Service of the user over that of its twin; absent if they never waited together.
    pub gain: Option<f64>,
    /// The same if both are honest.
    pub honest: Option<f64>,
    /// The standard deviation of the gain over jittered runs, each with its own twin; absent with fewer than two.
    pub deviation: Option<f64>,
    /// Jittered runs.
    pub runs: usize,
    /// The gain differs from that of honest users by more than two standard deviations.
    pub is_told: bool,
    /// What the user has of its entitlement, over the same of its twin; absent if one of them was entitled to nothing.
    pub by_entitlement: Option<f64>,
    /// Seconds in which both had jobs waiting.
    pub seconds: f64,
}

/// What a trace lacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Missing {
    /// What.
    pub what: String,
    /// What that makes impossible, or what is taken instead.
    pub so: String,
}

/// What was wrong with some lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Problem {
    /// What it is, and what became of it.
    pub what: String,
    /// How many lines.
    pub count: u64,
    /// The first of them.
    pub first: Vec<String>,
}
