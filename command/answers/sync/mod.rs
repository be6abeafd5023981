//! `multifactor2 sync FILE`: compares the account tree in a file with slurmctld's, and prints the difference as commands of sacctmgr. It
//! runs nothing, and deletes nothing unless asked to.
//!
//! [`file`] reads the file, [`diff`] compares. Names in the file may be hostile: a shell takes none for a command, and sacctmgr none for an
//! option.

mod diff;
mod file;

use std::fmt::Write as _;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::migrate::harmless;
use super::{Answer, Ask, Bare};
use crate::error::Error;
use crate::options::OfCluster;
use crate::output::{Printout, Schema, Terminal};
use crate::progress::Progress;

const HELP: &str = "\
FILE is CSV with a header, or YAML if its name ends in .yaml or .yml:
  account,parent,shares,users
  physics,,40,
  optics,physics,10,ada:2 emmy:1 bob

  - account: optics
    parent: physics
    shares: 10
    users: {ada: 2, emmy: 1, bob: }
An account without parent is below root. Shares are sacctmgr's Fairshare: a number from 0 to 2147483646, or the word parent. \
Without shares, existing values stay and new accounts and users get 1. Associations for a single partition stay unchanged.

The commands are in the order in which sacctmgr needs them. Review them, then: multifactor2 sync tree.csv | sh

Exit status: 0, or 2 with --check if there are commands.

Examples:
  multifactor2 sync tree.csv
  multifactor2 sync tree.yaml --check
  multifactor2 sync tree.csv --delete";

/// Print the sacctmgr commands that make the accounts match a file; run nothing
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = HELP)]
#[group(skip)]
#[allow(missing_docs, clippy::doc_markdown)] // shown as help
pub struct Arguments {
    /// The accounts as you want them
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Also print commands that delete accounts and users missing from FILE
    #[arg(long)]
    pub delete: bool,
    /// Exit with 2 if there are commands
    #[arg(long)]
    pub check: bool,
    #[command(flatten)]
    pub of: OfCluster,
}

impl Ask for Arguments {
    const ANSWERS: &'static str =
        "the sacctmgr commands that set accounts, users and shares as in a CSV or YAML file";
    const EXAMPLE: &'static str = "multifactor2 sync tree.csv";

    fn schemas() -> Vec<Schema> {
        vec![Schema::of::<Bare<SyncAnswer>>(SyncAnswer::NAME, SyncAnswer::VERSION)]
    }

    fn ask(&self, _: Terminal) -> Result<Printout, Error> {
        let wanted = file::read(&self.file)?;
        let progress = Progress::begin();
        let snapshot = self.of.snapshot(&progress)?;
        drop(progress);
        let answer = diff::compare(&snapshot, &wanted, self.delete)?;
        let status = if self.check && !answer.commands.is_empty() { 2 } else { 0 };
        let printout = if self.of.form.json {
            Printout::json(&Bare::new(answer))?
        } else {
            Printout::text(answer.text())
        };
        Ok(Printout { status, ..printout })
    }
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SyncAnswer {
    /// `ClusterName`
    pub cluster: String,
    /// Commands of sacctmgr, in the order in which they can be run.
    pub commands: Vec<SyncCommand>,
    /// Accounts and users that are not in the file and are left alone, such as `account physics` or `ada in physics`.
    pub left: Vec<String>,
}

/// A command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SyncCommand {
    /// As a shell takes it.
    pub text: String,
    /// Why: what is there now, such as `Fairshare is 10`.
    pub why: String,
    /// The line of the file that it comes from; `None` for one that deletes.
    pub line: Option<usize>,
}

impl Answer for SyncAnswer {
    const NAME: &'static str = "sync";
}

impl SyncAnswer {
    /// Commands with comments, which can be given to a shell.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let comment = |text: &mut String, line: &str| {
            let _ = writeln!(text, "# {}", harmless(line));
        };
        if self.commands.is_empty() {
            comment(&mut text, &format!("Cluster {}: nothing to do.", self.cluster));
        }
        for command in &self.commands {
            comment(&mut text, &command.why);
            let _ = writeln!(text, "{}", command.text);
        }
        if !self.left.is_empty() {
            comment(&mut text, "Not in the file and left unchanged; --delete prints commands for them:");
            for name in &self.left {
                comment(&mut text, &format!("  {name}"));
            }
        }
        text
    }
}
