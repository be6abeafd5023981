//! Why a job has its priority and its place: the one dominant reason, then everything that it follows from.

mod caps;
pub mod compare;
mod competing;
mod granted;
mod levers;
mod limits;
mod not_waiting;
mod path;
mod sentences;
mod several;
mod short;
mod terms;
mod text;
mod users;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::queue::{ahead, no_such_job, Ahead};
use super::{association_name, finite, job_name, Answer, Ask};
use crate::algorithm::Algorithm;
use crate::error::Error;
use crate::input::Needs;
use crate::model::order::{visible, PartialQueue, Unknown, WholeQueue};
use crate::model::reasons::{self, Reason};
use crate::model::{Difference, Model, Slot, Step};
use crate::options::{own_name, OfTime, Printed};
use crate::output::show::{printout, printout_as, write_page, Paged, Show};
use std::path::PathBuf;
use crate::output::{Printout, Schema, Terminal};
use crate::progress::Progress;

pub use caps::{CapExceeded, Room};
pub use granted::GrantExceeded;
use compare::Compare;
pub use competing::Sharing;
pub use levers::Lever;
pub use limits::{LimitInForce, UsedBy};
pub use several::{OneOfSeveral, Several};
pub use path::{competitor, parting, Competitor, Level};
pub use terms::Term;
pub use users::Users;

/// Explain a job's priority and place; compare two jobs or two users; without a job, list your own
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  multifactor2 why\n  multifactor2 why 1001\n  multifactor2 why 1001 --place --long\n  multifactor2 why 1001 1002\n  multifactor2 why -j 1001,1002\n  multifactor2 why --user user2 user5"
)]
#[group(skip)]
#[allow(missing_docs, clippy::doc_markdown)] // shown as help
pub struct Arguments {
    /// The job as squeue shows it, such as 123, 123_4, 123_[5-9%2] or 123+1 [default: all of yours]
    pub job: Option<String>,
    /// A second job to compare with the first
    pub other: Option<String>,
    /// These jobs, one per row
    #[arg(short, long = "jobs", value_name = "LIST", conflicts_with = "job")]
    pub jobs: Option<String>,
    /// Compare two users, each as USER or USER@ACCOUNT: which comes first, where they differ, and when that changes
    #[arg(long = "user", value_names = ["USER", "USER"], num_args = 2, conflicts_with_all = ["job", "jobs", "long", "place"])]
    pub users: Vec<String>,
    /// Show all details: each addend with its formula, the path from the root, what would change the priority most
    #[arg(long, requires = "job", conflicts_with = "other")]
    pub long: bool,
    /// Ask Slurm for all jobs to find the place; a snapshot of the plugin always has it
    #[arg(long)]
    pub place: bool,
    /// Write an HTML page: one file that needs no network
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub of: OfTime,
}

impl Ask for Arguments {
    const ANSWERS: &'static str = "the main reason why a job waits, its priority and addends, its place, and what to do. With `--long` each addend \
         with its formula, the path from the root of the tree, and what would change the priority most. For two jobs: which is first, and \
         the rule that decides. For two users: which is first, where they differ, and when that changes. Without a job: a row for each of yours";
    const EXAMPLE: &'static str = "multifactor2 why 1001 1002";

    fn schemas() -> Vec<Schema> {
        vec![Why::schema(), Compare::schema(), Several::schema(), Users::schema()]
    }

    fn ask(&self, terminal: Terminal) -> Result<Printout, Error> {
        let progress = Progress::begin();
        if let [one, other] = &self.users[..] {
            let snapshot = self.of.snapshot(&Needs::default(), &progress)?;
            let model = self.of.model(&snapshot)?;
            let answer = users::users(&model, one, other)?;
            return self.written(&model, answer, "Two users", terminal);
        }
        let names = match &self.jobs {
            Some(list) => split(list),
            None => self.job.iter().chain(&self.other).cloned().collect(),
        };
        let now: Vec<String> = names.iter().map(|name| asked_as(name)).collect::<Result<_, _>>()?;
        let user = if names.is_empty() { Some(own_name()?) } else { None };
        // Another time needs all that is computed.
        let part = !self.place && self.of.at.is_none();
        let needs = Needs {
            jobs: if part { now.clone() } else { Vec::new() },
            user: user.clone().filter(|_| part),
            now,
            ..Needs::default()
        };
        let (snapshot, texts) = self.of.snapshot_with_texts(&needs, &progress)?;
        let (model, form, printed) = (self.of.model(&snapshot)?, self.of.form, Printed::default());
        match (&self.job, &self.other) {
            (None, _) => {
                let answer = several::several(&model, texts.as_ref(), &names, user.as_deref())?;
                self.written(&model, answer, "Why these jobs wait", terminal)
            }
            (Some(job), Some(other)) => {
                texts.as_ref().map_or(Ok(()), |texts| not_waiting::answered(&model, texts))?;
                let answer = compare::compare(&model, job, other)?;
                self.written(&model, answer, "Two jobs", terminal)
            }
            (Some(job), None) => {
                let queue = model.queue();
                let answer = match model.job_called(job) {
                    Some(job) => {
                        let mut why = of_job(&model, &queue, job);
                        why.look_at_limits(&model, texts.as_ref(), job);
                        why
                    }
                    None => not_waiting::why(&model, &queue, texts.as_ref(), job)?,
                };
                if self.long || self.html.is_some() {
                    return self.written(&model, answer, "Why this priority", terminal);
                }
                printout_as(&model, answer, form, &printed, |why, about| Ok(short::show(why, about, terminal)))
            }
        }
    }
}

impl Arguments {
    /// As a page, where one is asked for, else as text or JSON.
    fn written<A: Answer + Show + Paged>(
        &self,
        model: &Model<'_>,
        answer: A,
        title: &str,
        terminal: Terminal,
    ) -> Result<Printout, Error> {
        match &self.html {
            Some(file) => write_page(model, answer, &Printed::default(), (title, file)),
            None => printout(model, answer, self.of.form, &Printed::default(), terminal),
        }
    }
}

/// A list as squeue's `-j` takes it: a comma within brackets is one of tasks.
fn split(list: &str) -> Vec<String> {
    let mut depth = 0;
    let parts = list.split(|letter| {
        depth += match letter {
            '[' => 1,
            ']' => -1,
            _ => 0,
        };
        letter == ',' && depth == 0
    });
    parts.map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// A job as `squeue -j` takes it: without the other tasks that wait together.
pub(super) fn asked_as(name: &str) -> Result<String, Error> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_list = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || b"[]-,:%".contains(&byte));
    // An array is asked for as a whole where some of its tasks wait together.
    let (job, is_job) = match name.split_once(['_', '+']) {
        None => (name, is_number(name)),
        Some((id, part)) if is_number(part) => (name, is_number(id)),
        Some((id, part)) => (id, is_number(id) && name.contains('_') && !part.is_empty() && is_list(part)),
    };
    if is_job {
        return Ok(job.to_owned());
    }
    Err(Error::Question(format!("{name} is no job: give it as squeue shows it, such as 123, 123_4 or 123+1")))
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Why {
    /// The job as squeue shows it.
    pub job: String,
    /// Its id.
    pub id: u32,
    /// Its user.
    pub user: String,
    /// Its account.
    pub account: String,
    /// What kind of reason dominates.
    pub kind: ReasonKind,
    /// The dominant reason, in plain language.
    pub sentence: String,
    /// What else is worth knowing, in the order of its weight.
    pub details: Vec<String>,
    /// Why Slurm says that it waits.
    pub reason: Reason,
    /// If that is a limit: the visible limits of its kind, from the root down.
    pub limits: Vec<LimitInForce>,
    /// The caps of `Target` lines that it goes beyond; none where points are not computed here.
    pub caps: Vec<CapExceeded>,
    /// The grants that it is beyond; none if the plugin's snapshot is not there.
    pub grants: Vec<GrantExceeded>,
    /// Its places in the queue, the first one first; none if it is not in the queue, or places are not known.
    pub places: Vec<QueuePlace>,
    /// Why its places are not known; `None` if they are, or it is not in the queue.
    pub unknown: Option<Unknown>,
    /// The priority that the queue uses; 0 if the job is held. Higher comes first.
    pub priority: u32,
    /// What that is the sum of, in the order of addition; none if it is set by hand, or the job is held.
    pub terms: Vec<Term>,
    /// What the sum lacks of the priority, and why; `None` if it lacks nothing.
    pub lacks: Option<Lacks>,
    /// The book whose shares and usage count, that of its first place; `None` if there are no books.
    pub book: Option<String>,
    /// From the root down to the association of the job, in that book.
    pub path: Vec<Level>,
    /// Its fair-share factor, from 0 to 1, where it is computed here.
    pub fair_share: Option<f64>,
    /// By how much the usage of its own association lowers the factor, from 0 to 1, if that is computed here.
    pub cost_of_own_usage: Option<f64>,
    /// What would change the priority most, the largest first.
    pub levers: Vec<Lever>,
    /// What to do next.
    pub next: Vec<String>,
    /// Where numbers computed here are not those that Slurm shows.
    pub differences: Vec<Difference>,
}

/// What kind of reason dominates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReasonKind {
    /// It is held.
    Held,
    /// Its time has not come, or it depends on another job.
    NotEligible,
    /// A limit or another obstacle that free nodes do not remove.
    Obstacle,
    /// Its priority was set by hand.
    SetByHand,
    /// It waits for its turn, and its place is not known.
    Waits,
    /// It is the first of its partition.
    First,
    /// Others come before it.
    Behind,
    /// It runs.
    Runs,
    /// It has ended.
    Ended,
    /// slurmctld does not know it: it has ended long ago, never was, or is hidden.
    NotKnown,
}

/// What a sum of addends lacks.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Lacks {
    /// The priority less the sum.
    pub amount: f64,
    /// Why the sum is another number.
    pub sentence: String,
}

/// A place in the queue.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct QueuePlace {
    /// The partition.
    pub partition: String,
    /// The QOS.
    pub qos: String,
    /// The place in the whole queue, from 1.
    pub position: usize,
    /// The place in the partition, from 1.
    pub rank: usize,
    /// How many wait in the partition.
    pub of: usize,
    /// How many jobs come before it in the whole queue that are not before it in the partition.
    pub elsewhere: usize,
    /// How many of these are in partitions that share nodes with its own; `None` if it is not known which nodes partitions have.
    pub competing: Option<usize>,
    /// Those partitions, most jobs first.
    pub sharing: Vec<Sharing>,
    /// The priority there.
    pub priority: u32,
    /// Whose jobs are before it in the partition, most first.
    pub ahead: Vec<Ahead>,
    /// How many of those are before it because of what.
    pub steps: Vec<StepCount>,
}

/// How many are decided by a step of the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StepCount {
    /// The step.
    pub step: Step,
    /// How many.
    pub jobs: usize,
}

impl Answer for Why {
    const NAME: &'static str = "why";
    const VERSION: u32 = 2;
}

/// Answers it for a job, called as squeue shows it.
///
/// # Errors
/// No such job waits.
pub fn why(model: &Model<'_>, name: &str) -> Result<Why, Error> {
    let job = model.job_called(name).ok_or_else(|| no_such_job(name))?;
    Ok(of_job(model, &model.queue(), job))
}

/// The same for the job at a place in the snapshot.
pub fn of_job(model: &Model<'_>, queue: &Result<WholeQueue, PartialQueue>, job: usize) -> Why {
    let (record, rank) = (&model.snapshot.jobs[job], &model.jobs[job]);
    let whole = queue.as_ref().ok();
    let in_queue = || whole.into_iter().flat_map(|queue| queue.places(job).map(move |found| (queue, found)));
    let places: Vec<QueuePlace> =
        in_queue().map(|(queue, (at, slot))| place(model, queue, at, slot)).collect();
    let first = visible(queue).first_of(job);
    let unknown = queue.as_ref().err().filter(|_| first.is_some()).map(|partial| partial.why.clone());
    let reason = reasons::explain(&record.reason);
    let book = first.map_or_else(
        || model.book_in(job, &record.partition),
        |slot| model.book_in(job, model.partition_of(slot)),
    );
    let own_usage = levers::cost_of_own_usage(model, job, book);
    let kind = kind(model, job, &reason, &places);
    let entry = first.and_then(|slot| slot.entry);
    let at = in_queue().next().map(|(queue, (at, _))| (queue, at));
    let mut why = Why {
        job: job_name(model, job),
        id: record.id,
        user: record.user.clone(),
        account: record.account.clone(),
        kind,
        sentence: String::new(),
        details: Vec::new(),
        priority: first.map_or(rank.priority, |slot| slot.priority),
        book: model.book_name(book).map(str::to_owned),
        lacks: None,
        terms: terms::of(model, job, entry, book),
        path: rank.association.map(|association| path::of(model, association, book)).unwrap_or_default(),
        fair_share: model.factor_in(job, book),
        cost_of_own_usage: own_usage.map(finite),
        levers: first.map(|slot| levers::of(model, slot, at, own_usage)).unwrap_or_default(),
        next: Vec::new(),
        differences: model.differences(job),
        reason,
        limits: Vec::new(),
        caps: caps::of(model, job),
        grants: granted::of(model, job),
        places,
        unknown,
    };
    why.lacks = terms::lacks(model, job, &why.terms, why.priority);
    why.sentence = why.dominant(model, job);
    let mut details = Vec::new();
    if let (Some((queue, at)), ReasonKind::Behind) = (at, kind) {
        details.extend(sentences::decides(model, queue, at));
    }
    details.extend(why.more(model, job));
    why.details = details;
    why.next = why.what_next(model, job);
    why
}

fn kind(model: &Model<'_>, job: usize, reason: &Reason, places: &[QueuePlace]) -> ReasonKind {
    let (record, rank) = (&model.snapshot.jobs[job], &model.jobs[job]);
    if record.priority == 0 {
        ReasonKind::Held
    } else if !rank.is_eligible {
        ReasonKind::NotEligible
    } else if rank.is_stopped || reason.is_obstacle {
        ReasonKind::Obstacle
    } else if record.direct {
        ReasonKind::SetByHand
    } else if places.is_empty() {
        ReasonKind::Waits
    } else if places.iter().any(|place| place.rank == 1) {
        ReasonKind::First
    } else {
        ReasonKind::Behind
    }
}

fn place(model: &Model<'_>, queue: &WholeQueue, at: usize, slot: &Slot) -> QueuePlace {
    let partition = model.partition_of(slot);
    let before = queue.before(model, at);
    let mut steps: BTreeMap<Step, usize> = BTreeMap::new();
    for other in &before {
        *steps.entry(model.compare_slots(other, slot).1).or_default() += 1;
    }
    let elsewhere = competing::elsewhere(model, queue, at, &before);
    let (competing, sharing) = elsewhere.sharing.unzip();
    let job = model.job_of(slot);
    QueuePlace {
        partition: partition.to_owned(),
        qos: slot.entry.map_or(&job.qos, |entry| &model.jobs[slot.job].entries[entry].qos).clone(),
        position: at + 1,
        rank: before.len() + 1,
        of: queue.count_in(model, partition),
        elsewhere: elsewhere.jobs,
        competing,
        sharing: sharing.unwrap_or_default(),
        priority: slot.priority,
        ahead: ahead(model, before.into_iter()),
        steps: steps.into_iter().map(|(step, jobs)| StepCount { step, jobs }).collect(),
    }
}

/// Whether fair-share uses tickets.
fn has_tickets(model: &Model<'_>) -> bool {
    model.config.algorithm == Algorithm::Multifactor2
}

/// What an association is called in a sentence.
pub(super) fn named(model: &Model<'_>, association: usize) -> String {
    let name = association_name(model, association);
    if model.snapshot.associations[association].user.is_empty() {
        format!("account {name}")
    } else {
        format!("user {name}")
    }
}
