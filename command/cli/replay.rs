//! What `multifactor2 replay` takes.

use std::path::PathBuf;

use clap::builder::UnknownArgumentValueParser;
use clap::Args;

use super::AsJson;

/// What says how a trace is replayed, and does not go with `--export`.
const OF_A_REPLAY: [&str; 17] = [
    "trace",
    "policies",
    "scheduler",
    "procs",
    "partitions",
    "shares",
    "slurm_conf",
    "runs",
    "seed",
    "fair_start",
    "strategists",
    "warm_up",
    "csv",
    "html",
    "json",
    "how",
    "conf",
];

/// See the module.
#[derive(Clone, Debug, Args)]
#[allow(clippy::struct_excessive_bools)] // each is an option of its own
pub struct Replay {
    /// Output of sacct, a file in the Standard Workload Format (.gz too), or a directory with what --export has collected
    #[arg(required_unless_present_any = ["how", "export"])]
    pub trace: Option<PathBuf>,
    /// fifo, fair-tree, classic, multifactor2, or a file with its settings; each is compared with the first. Without any: fair-tree and multifactor2
    #[arg(long = "policy", value_name = "NAME|FILE")]
    pub policies: Vec<String>,
    /// Prints how a trace is collected
    #[arg(long, exclusive = true)]
    pub how: bool,
    /// Collects a trace on this cluster
    #[arg(long, value_name = "DIR", conflicts_with_all = OF_A_REPLAY)]
    pub export: Option<PathBuf>,
    /// With --export: users, accounts, partitions and QOS get other names
    #[arg(long, requires = "export", conflicts_with_all = OF_A_REPLAY)]
    pub anonymise: bool,
    /// With --export: jobs that ran after this time, as sacct -S takes it
    #[arg(long, value_name = "TIME", default_value = "now-365days", requires = "export", conflicts_with_all = OF_A_REPLAY)]
    pub start: String,
    /// With --export: jobs that ran before this time, as sacct -E takes it
    #[arg(long, value_name = "TIME", default_value = "now", requires = "export", conflicts_with_all = OF_A_REPLAY)]
    pub end: String,
    /// fcfs, easy, sjbf, conservative or slurm
    #[arg(long, value_name = "NAME", default_value = "slurm")]
    pub scheduler: String,
    /// A machine of so many CPUs in one partition, instead of that of the trace
    #[arg(long, value_name = "CPUS", conflicts_with = "partitions")]
    pub procs: Option<u32>,
    /// A machine of these partitions: NAME=NODESxCPUS or NAME=CPUS, such as gpu=40x8
    #[arg(long = "partition", value_name = "NAME=NODESxCPUS")]
    pub partitions: Vec<String>,
    /// Shares from a file: output of 'sacctmgr dump' or 'sacctmgr -P show assoc'
    #[arg(long, value_name = "FILE")]
    pub shares: Option<PathBuf>,
    /// Weights, half-life, SchedulerParameters, partitions and nodes from this slurm.conf, instead of those of the trace
    #[arg(long, value_name = "FILE")]
    pub slurm_conf: Option<PathBuf>,
    /// Replays so many more times, with submissions up to a minute later at random: mean and spread show what hangs on chance
    #[arg(long, value_name = "COUNT", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=1000))]
    pub runs: u32,
    /// Where the chance of --runs and --fair-start begins
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
    /// Replays up to so many jobs without those that were submitted after them, under each policy: who starts later than is fair
    #[arg(long, value_name = "JOBS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=1000))]
    pub fair_start: u32,
    /// Lets a user play and a twin not: USER=split, inflate, tiny, second-account, parked or burst; or honest, for an equal twin
    #[arg(long = "strategist", value_name = "USER=STRATEGY")]
    pub strategists: Vec<String>,
    /// Days at the beginning that are replayed and not counted. Without: two half-lives, where they are at most a third of the trace
    #[arg(long, value_name = "DAYS")]
    pub warm_up: Option<u32>,
    /// Writes tables as comma-separated values to this directory
    #[arg(long, value_name = "DIR")]
    pub csv: Option<PathBuf>,
    /// Writes a page for a browser, which needs no network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub form: AsJson,
    // One way to say it, and whoever writes the other way is told.
    #[arg(long, hide = true, value_name = "FILE", num_args = 0..=1, default_missing_value = "", value_parser = UnknownArgumentValueParser::suggest("write --policy FILE"))]
    conf: Option<String>,
}
