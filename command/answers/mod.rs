//! The questions: one file or folder each, with its arguments, its answer, the schema of the answer, and how that is shown.
//!
//! A new question is a file here and its line in `questions!`. It implements [`Ask`], or nothing compiles.

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Error;
use crate::model::{Algorithm, Model};
use crate::output::{numbers, Described, Printout, Schema, Terminal};

/// What a question is: its arguments are a value of the type that has this.
pub trait Ask: clap::Args {
    /// What docs/command.md says that it answers.
    const ANSWERS: &'static str;
    /// The example there.
    const EXAMPLE: &'static str;

    /// The columns that `--format` chooses from, for the manual page; none if there is no such option.
    const COLUMNS: &'static [&'static [Described]] = &[];

    /// The schemas of what `--json` prints.
    fn schemas() -> Vec<Schema>;

    /// Answers it.
    ///
    /// # Errors
    /// There is no answer: what is wrong, and what to do.
    fn ask(&self, terminal: Terminal) -> Result<Printout, Error>;
}

macro_rules! questions {
    ($($Name:ident in $file:ident,)+) => {
        $(pub mod $file;)+

        /// What is asked, in the order of the help.
        #[derive(Debug, clap::Subcommand)]
        #[allow(missing_docs)] // it would be shown
        pub enum Question {
            $($Name(Box<$file::Arguments>),)+
        }

        impl Question {
            /// Answers it.
            ///
            /// # Errors
            /// As [`Ask::ask`].
            pub fn ask(&self, terminal: Terminal) -> Result<Printout, Error> {
                match self {
                    $(Self::$Name(arguments) => arguments.ask(terminal),)+
                }
            }

            /// What each answers, and an example, in the order of the help.
            pub const ANSWERS: &'static [(&'static str, &'static str)] =
                &[$((<$file::Arguments as Ask>::ANSWERS, <$file::Arguments as Ask>::EXAMPLE),)+];

            /// The columns that each lets choose from, in the order of the help.
            pub const COLUMNS: &'static [&'static [&'static [Described]]] =
                &[$(<$file::Arguments as Ask>::COLUMNS,)+];

            /// The schemas of all answers.
            pub fn schemas() -> Vec<Schema> {
                [$(<$file::Arguments as Ask>::schemas(),)+].concat()
            }
        }
    };
}

questions! {
    Why in why,
    Queue in queue,
    Tree in tree,
    Replay in replay,
    WhatIf in what_if,
    Recover in recover,
    Cost in cost,
    Settings in settings,
    Check in check,
    Metrics in metrics,
    Migrate in migrate,
    Sync in sync,
    Weights in weights,
    Grants in grants,
}

/// An answer to one kind of question.
pub trait Answer: Serialize + JsonSchema + Sized {
    /// What the JSON calls it.
    const NAME: &'static str;
    /// The version of its schema: it changes where a field changes its meaning or goes away.
    const VERSION: u32 = 1;

    /// The schema of the answer with what it is about.
    fn schema() -> Schema {
        Schema::of::<Report<Self>>(Self::NAME, Self::VERSION)
    }
}

/// An answer with what it is about, which is what `--json` shows.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Report<A> {
    /// Which answer this is.
    pub schema: String,
    /// The version of its schema.
    pub version: u32,
    /// What it is about.
    pub about: About,
    /// The answer.
    pub answer: A,
}

/// An answer that is about no cluster, which is what `--json` shows of it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Bare<A> {
    /// Which answer this is.
    pub schema: String,
    /// The version of its schema.
    pub version: u32,
    /// The answer.
    pub answer: A,
}

/// The cluster and time of an answer, and what could not be known.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct About {
    /// `ClusterName`
    pub cluster: String,
    /// The release of Slurm.
    pub release: String,
    /// How priorities are computed.
    pub algorithm: Algorithm,
    /// The same in words.
    pub algorithm_in_words: String,
    /// When priorities were computed, in seconds since 1970.
    pub computed: i64,
    /// The time that the answer is of.
    pub at: i64,
    /// Where all this came from: `plugin`, `commands` or `files`.
    pub source: String,
    /// How old the snapshot of the plugin was that was found on this host, in seconds; `None` if another source was used.
    pub age: Option<i64>,
    /// The queue uses priorities that were computed here, not Slurm's.
    pub recomputed: bool,
    /// What is hidden from the caller, one sentence each.
    pub hidden: Vec<String>,
    /// What could not be known, one sentence each.
    pub notes: Vec<String>,
}

impl About {
    /// Of a model.
    pub fn of(model: &Model<'_>) -> Self {
        let about = &model.snapshot.about;
        Self {
            cluster: about.cluster.clone(),
            release: about.release.clone(),
            algorithm: model.config.algorithm,
            algorithm_in_words: model.config.algorithm.described().to_owned(),
            computed: about.time,
            at: model.at,
            source: about.source.clone(),
            age: (about.asked != 0).then(|| (about.asked - about.taken).max(0)),
            recomputed: model.recomputed,
            hidden: about.hidden.clone(),
            notes: model.notes.clone(),
        }
    }

    /// How old the snapshot of the plugin is; `None` if it comes from elsewhere.
    pub fn age_in_words(&self) -> Option<String> {
        self.age.map(|age| format!("From the snapshot of the plugin, {age} s old."))
    }

    /// In one line.
    pub fn in_words(&self) -> String {
        let cluster = if self.cluster.is_empty() { "this cluster" } else { &self.cluster };
        let mut parts = vec![format!("Cluster {cluster}, {}", self.algorithm_in_words)];
        if !self.release.is_empty() {
            parts.push(format!(", Slurm {}", self.release));
        }
        parts.push(format!(". Priorities of {}.", numbers::time(self.computed)));
        if self.at != self.computed {
            parts.push(format!(" Computed for {}.", numbers::time(self.at)));
        }
        parts.concat()
    }
}

/// What the JSON says that it is.
fn name<A: Answer>() -> String {
    format!("multifactor2/{}", A::NAME)
}

impl<A: Answer> Bare<A> {
    /// With what it is.
    pub fn new(answer: A) -> Self {
        Self { schema: name::<A>(), version: A::VERSION, answer }
    }
}

impl<A: Answer> Report<A> {
    /// Puts an answer together with what it is about.
    pub fn new(model: &Model<'_>, answer: A) -> Self {
        Self { schema: name::<A>(), version: A::VERSION, about: About::of(model), answer }
    }
}

/// What a job is called as squeue shows it: `123`, `123_[5-9%2]`, `123+1`.
pub fn job_name(model: &Model<'_>, job: usize) -> String {
    let job = &model.snapshot.jobs[job];
    if job.array_job != 0 && !job.array_tasks.is_empty() {
        format!("{}_{}", job.array_job, job.array_tasks)
    } else if job.het_job != 0 && job.id >= job.het_job {
        format!("{}+{}", job.het_job, job.id - job.het_job)
    } else {
        job.id.to_string()
    }
}

/// What an association is called: its account, or its user and account.
pub fn association_name(model: &Model<'_>, association: usize) -> String {
    let association = &model.snapshot.associations[association];
    match (association.user.as_str(), association.partition.as_str()) {
        ("", _) => association.account.clone(),
        (user, "") => format!("{user} in {}", association.account),
        (user, partition) => format!("{user} in {} ({partition})", association.account),
    }
}

/// A number that JSON can hold.
pub(crate) fn finite(value: f64) -> f64 {
    if value.is_finite() {
        value
    } else {
        0.0
    }
}
