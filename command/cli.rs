//! The command line: which questions can be asked. The arguments of each question are with it in `answers`.

// What is printed has no backticks.
#![allow(clippy::doc_markdown)]
// A flattened field would say it in every help.
#![allow(missing_docs)]

use clap::{ArgAction, Parser};

use crate::answers::Question;
use crate::error::STATUS;

/// Explain job priorities, places in the queue and shares. Jobs with a higher priority come first.
#[derive(Debug, Parser)]
#[command(
    name = "multifactor2",
    version,
    propagate_version = true,
    disable_help_flag = true,
    disable_version_flag = true,
    disable_help_subcommand = true,
    after_help = format!("{STATUS}\n\nswhy is short for \'multifactor2 why\'.")
)]
pub struct Cli {
    #[command(subcommand)]
    pub question: Question,
    /// Print help
    #[arg(long, global = true, action = ArgAction::Help, display_order = 1000)]
    pub help: Option<bool>,
    /// Print the version
    #[arg(short = 'V', long, global = true, action = ArgAction::Version, display_order = 1001)]
    pub version: Option<bool>,
}
