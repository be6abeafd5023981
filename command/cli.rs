//! What can be asked: the command line. Completions and manual pages are made from this, see `command/examples/docs.rs`.

// What a flattened field says, clap would print.
#![allow(missing_docs)]
// What is printed has no backticks.
#![allow(clippy::doc_markdown)]

pub mod replay;

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand};

use crate::answers::submission::JobOptions;
use crate::answers::what_if::Changes;
use crate::answers::{metrics, migrate};
use crate::check;
use crate::input;
use crate::output::Form;

/// Says why a job has its priority, where it is in the queue, and how shares stand. Higher priority always means sooner.
#[derive(Debug, Parser)]
#[command(
    name = "multifactor2",
    version,
    propagate_version = true,
    disable_help_flag = true,
    disable_version_flag = true,
    disable_help_subcommand = true,
    after_help = "Exit status: 0, 1 after an error, 2 where something was found, 130 where a replay was stopped by Ctrl-C.\n\nThe name swhy stands for 'multifactor2 why'."
)]
pub struct Cli {
    #[command(subcommand)]
    pub question: Question,
    /// Prints help
    #[arg(long, global = true, action = ArgAction::Help)]
    pub help: Option<bool>,
    /// Prints the version
    #[arg(short = 'V', long, global = true, action = ArgAction::Version)]
    pub version: Option<bool>,
}

/// The form of every answer.
#[derive(Clone, Copy, Debug, Default, Args)]
#[group(skip)]
pub struct AsJson {
    /// As JSON, with a schema in docs/schema
    #[arg(long)]
    pub json: bool,
}

/// What a question about a cluster takes.
#[derive(Clone, Debug, Default, Args)]
#[group(skip)]
pub struct OfCluster {
    #[command(flatten)]
    pub input: input::Arguments,
    #[command(flatten)]
    pub form: AsJson,
}

/// What a question about a cluster takes whose answer hangs on the time.
#[derive(Clone, Debug, Default, Args)]
#[group(skip)]
pub struct OfTime {
    #[command(flatten)]
    pub input: input::Arguments,
    /// Answers for another time: YYYY-MM-DD[Thh:mm[:ss]], seconds since 1970, or + and a time from the snapshot on such as +7-0
    #[arg(long, value_name = "TIME")]
    pub at: Option<String>,
    #[command(flatten)]
    pub form: AsJson,
}

/// How a table is printed.
#[derive(Clone, Debug, Default, Args)]
#[allow(clippy::struct_excessive_bools)] // each is an option of its own
pub struct Printed {
    /// With | between fields
    #[arg(short = 'P', long, conflicts_with_all = ["parsable", "csv", "json"])]
    pub parsable2: bool,
    /// With | behind each field
    #[arg(short = 'p', long, conflicts_with_all = ["csv", "json"])]
    pub parsable: bool,
    /// As comma-separated values
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Without a header
    #[arg(short = 'n', visible_short_alias = 'h', long, conflicts_with = "json")]
    pub noheader: bool,
    /// These columns only, in this order
    #[arg(short = 'o', long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "json")]
    pub format: Vec<String>,
}

impl Printed {
    /// The form that is asked for.
    pub fn form(&self) -> Form {
        match (self.parsable2, self.parsable, self.csv) {
            (true, ..) => Form::Parsable2,
            (_, true, _) => Form::Parsable,
            (_, _, true) => Form::Csv,
            _ => Form::Columns,
        }
    }
}

/// Those of [`JobOptions`].
const JOB_OPTIONS: [&str; 10] =
    ["account", "partitions", "qos", "ntasks", "cpus_per_task", "nodes", "mem", "gres", "gpus", "time"];

/// What says how an answer is printed, and does not go with a file.
const NO_FILES: [&str; 6] = ["parsable2", "parsable", "csv", "noheader", "format", "json"];

/// What is written instead of being printed.
#[derive(Clone, Debug, Default, Args)]
pub struct Files {
    /// Writes a page for a browser: one file that needs no network
    #[arg(long, value_name = "FILE", conflicts_with_all = NO_FILES)]
    pub html: Option<PathBuf>,
}

/// What is asked.
#[derive(Debug, Subcommand)]
pub enum Question {
    /// Says why a job has its priority and its place; of two jobs, which comes first and why
    #[command(
        after_help = "Examples:\n  multifactor2 why 1001\n  multifactor2 why 1001 1002\n  multifactor2 why 1001 --json"
    )]
    Why {
        /// The job as squeue shows it, such as 123, 123_4 or 123+1
        job: String,
        /// Another one, to be compared with it
        other: Option<String>,
        #[command(flatten)]
        of: OfTime,
    },
    /// Shows waiting jobs in the order in which the scheduler looks at them
    #[command(
        after_help = "Examples:\n  multifactor2 queue\n  multifactor2 queue -A c --partition main\n  multifactor2 queue -P -o position,job,priority"
    )]
    Queue {
        /// Jobs of these users
        #[arg(short, long = "user", value_name = "NAMES", value_delimiter = ',')]
        users: Vec<String>,
        /// Jobs of these accounts
        #[arg(short = 'A', long = "account", value_name = "NAMES", value_delimiter = ',')]
        accounts: Vec<String>,
        /// These jobs
        #[arg(short, long = "job", value_name = "JOBS", value_delimiter = ',')]
        jobs: Vec<String>,
        /// Jobs of these partitions
        #[arg(long = "partition", value_name = "NAMES", value_delimiter = ',')]
        partitions: Vec<String>,
        /// Your own jobs
        #[arg(long)]
        me: bool,
        #[command(flatten)]
        printed: Printed,
        #[command(flatten)]
        of: OfTime,
    },
    /// Shows accounts and users with shares, usage, standing, tickets, waiting and running jobs
    #[command(
        after_help = "Examples:\n  multifactor2 tree\n  multifactor2 tree -A c -P\n  multifactor2 tree --json --at +7-0\n  multifactor2 tree --html tree.html --svg tree.svg"
    )]
    Tree {
        /// These users
        #[arg(short, long = "user", value_name = "NAMES", value_delimiter = ',')]
        users: Vec<String>,
        /// These accounts, with all below them
        #[arg(short = 'A', long = "account", value_name = "NAMES", value_delimiter = ',')]
        accounts: Vec<String>,
        #[command(flatten)]
        files: Files,
        /// Writes a picture of the tree
        #[arg(long, value_name = "FILE", conflicts_with_all = NO_FILES)]
        svg: Option<PathBuf>,
        #[command(flatten)]
        printed: Printed,
        #[command(flatten)]
        of: OfTime,
    },
    /// Replays a recorded workload under policies: who would have waited how long, and how near accounts would have come to their shares
    #[command(
        after_help = "Examples:\n  multifactor2 replay --how\n  multifactor2 replay sacct.txt\n  multifactor2 replay sacct.txt --policy fair-tree --policy multifactor2.conf --runs 2\n  multifactor2 replay sacct.txt --procs 64 --scheduler easy --policy fifo --json"
    )]
    Replay(Box<replay::Replay>),
    /// Shows the queue before and after a change: who gains, who loses, how far
    #[command(
        name = "what-if",
        after_help = "With --conf the settings after the change are those of that file.\n\nExamples:\n  multifactor2 what-if --shares b=30\n  multifactor2 what-if --usage user2@c=0 --weight age=5000\n  multifactor2 what-if --plugin stock --html switch.html\n  multifactor2 what-if --submit \"-A c -p main -c 8 -t 1-0\" --as user2 -P"
    )]
    WhatIf {
        #[command(flatten)]
        changes: Box<Changes>,
        #[command(flatten)]
        files: Files,
        #[command(flatten)]
        printed: Printed,
        #[command(flatten)]
        of: Box<OfTime>,
    },
    /// Says how long until a fair-share factor reaches a value
    #[command(
        after_help = "Examples:\n  multifactor2 recover user2\n  multifactor2 recover user2@c --to 0.9 --running-on"
    )]
    Recover {
        /// A user, or a user and an account such as ann@chem
        #[arg(value_name = "USER")]
        who: String,
        /// The factor to reach, from 0 to 1
        #[arg(long, value_name = "FACTOR", default_value_t = 0.5)]
        to: f64,
        /// The jobs of the user that run now go on
        #[arg(long)]
        running_on: bool,
        #[command(flatten)]
        of: OfTime,
    },
    /// Says what a job adds to usage and takes from the fair-share factor, and in which account least
    #[command(
        after_help = "Examples:\n  multifactor2 cost 1001\n  multifactor2 cost --as user2 -A c -p main -c 8 --mem 16G -t 1-0"
    )]
    Cost {
        /// A job that waits, as squeue shows it
        #[arg(value_name = "JOB", conflicts_with_all = JOB_OPTIONS)]
        job: Option<String>,
        #[command(flatten)]
        options: Box<JobOptions>,
        /// The user who would submit; you by default
        #[arg(long = "as", value_name = "USER", conflicts_with = "job")]
        submitter: Option<String>,
        #[command(flatten)]
        of: Box<OfTime>,
    },
    /// Shows parameters and settings in force, and where each value came from
    #[command(after_help = "Examples:\n  multifactor2 settings\n  multifactor2 settings -P -n")]
    Settings {
        #[command(flatten)]
        printed: Printed,
        #[command(flatten)]
        of: OfCluster,
    },
    /// Checks settings before slurmctld reads them, the configuration in force, and whether the plugin supports this Slurm
    Check {
        #[command(flatten)]
        asked: check::Arguments,
        #[command(flatten)]
        of: OfCluster,
    },
    /// Writes shares, usage and queues for the textfile collector of Prometheus' node_exporter
    Metrics {
        #[command(flatten)]
        asked: metrics::Options,
        #[command(flatten)]
        of: OfCluster,
    },
    /// Translates the priority parameters of Maui, Moab or Grid Engine to lines of multifactor2.conf, slurm.conf and sacctmgr
    Migrate {
        #[command(flatten)]
        asked: migrate::Options,
        #[command(flatten)]
        form: AsJson,
    },
}
