//! Options that several questions share, and what they select. A question flattens those that it uses.

// What a flattened field says, clap would print.
#![allow(missing_docs)]
// What is printed has no backticks.
#![allow(clippy::doc_markdown)]

use std::path::PathBuf;

use clap::Args;
use multifactor2_core::settings::value::{Kind, Value};
use multifactor2_snapshot::Snapshot;
use slurm_text::dates::{self, TimeZone};

use crate::answers::check::host;
use crate::assumed;
use crate::error::Error;
use crate::input::texts::Texts;
use crate::input::{self, Needs};
use crate::model::{Model, Options};
use crate::output::{Form, Terminal};
use crate::progress::Progress;

/// The form of every answer.
#[derive(Clone, Copy, Debug, Default, Args)]
#[group(skip)]
pub struct AsJson {
    /// Print JSON; its schema is in share/slurm-multifactor2/schema
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

/// Options of a question about a cluster, if its answer depends on the time.
#[derive(Clone, Debug, Default, Args)]
#[group(skip)]
pub struct OfTime {
    #[command(flatten)]
    pub input: input::Arguments,
    /// Answer for another time: YYYY-MM-DD[Thh:mm[:ss]], seconds since 1970, or +TIME after the snapshot, such as +7-0
    #[arg(long, value_name = "TIME")]
    pub at: Option<String>,
    #[command(flatten)]
    pub form: AsJson,
}

/// How a table is printed.
#[derive(Clone, Debug, Default, Args)]
#[allow(clippy::struct_excessive_bools)] // each is an option of its own
pub struct Printed {
    /// Separate fields with |
    #[arg(short = 'P', long, conflicts_with_all = ["parsable", "csv", "json"])]
    pub parsable2: bool,
    /// End each field with |
    #[arg(short = 'p', long, conflicts_with_all = ["csv", "json"])]
    pub parsable: bool,
    /// Print comma-separated values
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Print no header
    #[arg(short = 'n', visible_short_alias = 'h', long, conflicts_with = "json")]
    pub noheader: bool,
    /// Print only these columns, in this order
    #[arg(short = 'o', long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "json")]
    pub format: Vec<String>,
    /// Print full names, even if the table gets wider than the terminal
    #[arg(long, conflicts_with_all = ["parsable2", "parsable", "csv", "json"])]
    pub wide: bool,
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

    /// The terminal, as wide as is asked for.
    pub fn on(&self, terminal: Terminal) -> Terminal {
        Terminal { width: terminal.width.filter(|_| !self.wide), ..terminal }
    }
}

/// What says how an answer is printed, and does not go with a file.
pub const NO_FILES: [&str; 7] = ["parsable2", "parsable", "csv", "noheader", "format", "wide", "json"];

/// What is written instead of being printed.
#[derive(Clone, Debug, Default, Args)]
pub struct Files {
    /// Write an HTML page: one file that needs no network
    #[arg(long, value_name = "FILE", conflicts_with_all = NO_FILES)]
    pub html: Option<PathBuf>,
}

impl OfCluster {
    /// The snapshot that is asked for.
    ///
    /// # Errors
    /// There is none: what is wrong, and what to do.
    pub fn snapshot(&self, progress: &Progress) -> Result<Snapshot, Error> {
        load(&self.input, &Needs::default(), progress).map(|(snapshot, _)| snapshot)
    }
}

impl OfTime {
    /// The snapshot that is asked for, with what the question needs.
    ///
    /// # Errors
    /// There is none: what is wrong, and what to do.
    pub fn snapshot(&self, needs: &Needs, progress: &Progress) -> Result<Snapshot, Error> {
        self.snapshot_with_texts(needs, progress).map(|(snapshot, _)| snapshot)
    }

    /// The same with what Slurm said, where that is what it is made from.
    ///
    /// # Errors
    /// As [`Self::snapshot`].
    pub fn snapshot_with_texts(
        &self,
        needs: &Needs,
        progress: &Progress,
    ) -> Result<(Snapshot, Option<Texts>), Error> {
        load(&self.input, needs, progress)
    }

    /// What is computed from it, for the time that is asked for.
    ///
    /// # Errors
    /// `--at` is no time.
    pub fn model<'s>(&self, snapshot: &'s Snapshot) -> Result<Model<'s>, Error> {
        let at = self.at.as_deref().map(|text| time(text, snapshot)).transpose()?;
        Ok(Model::of(snapshot, Options { at, ..Options::default() }))
    }
}

fn load(
    options: &input::Arguments,
    needs: &Needs,
    progress: &Progress,
) -> Result<(Snapshot, Option<Texts>), Error> {
    let (mut snapshot, texts) = input::load(options, needs, progress)?;
    progress.step("Computing");
    if options.conf.is_none() {
        // The files of this host are of this cluster only.
        let is_here = options.from.is_none() && options.cluster.is_none();
        let file = is_here.then(host::multifactor2_conf);
        assumed::find(&mut snapshot, file.as_deref());
    }
    Ok((snapshot, texts))
}

/// A time as `--at` takes it.
fn time(text: &str, snapshot: &Snapshot) -> Result<i64, Error> {
    let bad = || {
        Error::Question(format!("--at {text}: give a date YYYY-MM-DD[Thh:mm[:ss]], seconds since 1970, or + and a time such as +7-0 for seven days"))
    };
    if let Some(span) = text.strip_prefix('+') {
        let Some(Value::Duration(seconds)) = Kind::Duration.read(span) else { return Err(bad()) };
        let seconds = i64::try_from(seconds).map_err(|_| bad())?;
        return snapshot.about.time.checked_add(seconds).ok_or_else(bad);
    }
    date(text).ok_or_else(bad)
}

/// `YYYY-MM-DD[Thh:mm[:ss]]` in the user's zone, or seconds since 1970.
pub fn date(text: &str) -> Option<i64> {
    if let Ok(seconds) = text.parse::<u32>() {
        return Some(i64::from(seconds));
    }
    let Some(Value::Date(date)) = Kind::Date.read(text) else { return None };
    dates::seconds(&date, &TimeZone::system())
}

/// The name of the user who asks: that of the uid. The environment decides only if the uid has no name, because `su` and `sudo` may leave
/// another user's name there.
///
/// # Errors
/// Nothing says it.
pub fn own_name() -> Result<String, Error> {
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let by_uid = || {
        let output = std::process::Command::new("id").arg("-un").output().ok()?;
        let name = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        (output.status.success() && !name.is_empty()).then_some(name)
    };
    by_uid()
        .or_else(|| variable("USER"))
        .or_else(|| variable("LOGNAME"))
        .ok_or_else(|| "cannot tell who you are: give your name with -u or --as".into())
}
