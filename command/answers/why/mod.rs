//! Why a job has its priority and its place: the one dominant reason, then everything that it follows from.

pub mod compare;
mod levers;
mod path;
mod terms;
mod text;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::queue::{ahead, before, no_such_job, Ahead};
use super::{association_name, finite, job_name, Answer, Ask};
use crate::algorithm::Algorithm;
use crate::error::Error;
use crate::model::order::Queue;
use crate::model::reasons::{self, Reason};
use crate::model::{Addends, Difference, Model, Slot, Step};
use crate::options::{OfTime, Printed};
use crate::output::show::printout;
use crate::output::{Printout, Schema, Terminal};
use crate::output::numbers::{count, number, ordinal, span};
use crate::progress::Progress;

use compare::Compare;
pub use levers::Lever;
pub use path::{competitor, parting, Competitor, Level};
pub use terms::Term;

/// Says why a job has its priority and its place; of two jobs, which comes first and why
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  multifactor2 why 1001\n  multifactor2 why 1001 1002\n  multifactor2 why 1001 --json"
)]
#[group(skip)]
#[allow(missing_docs, clippy::doc_markdown)] // shown as help
pub struct Arguments {
    /// The job as squeue shows it, such as 123, 123_4 or 123+1
    pub job: String,
    /// Another one, to be compared with it
    pub other: Option<String>,
    #[command(flatten)]
    pub of: OfTime,
}

impl Ask for Arguments {
    const ANSWERS: &'static str = "the one dominant reason, the sum with every addend, the way from the root of the tree, what would \
         change it most, what to do next. Of two jobs: which is first, and the first rule that decides";
    const EXAMPLE: &'static str = "multifactor2 why 1001 1002";

    fn schemas() -> Vec<Schema> {
        vec![Why::schema(), Compare::schema()]
    }

    fn ask(&self, terminal: Terminal) -> Result<Printout, Error> {
        let progress = Progress::begin();
        let snapshot = self.of.snapshot(false, &progress)?;
        let model = self.of.model(&snapshot)?;
        let (form, printed) = (self.of.form, Printed::default());
        match &self.other {
            None => printout(&model, why(&model, &self.job)?, form, &printed, terminal),
            Some(other) => {
                let answer = compare::compare(&model, &self.job, other)?;
                printout(&model, answer, form, &printed, terminal)
            }
        }
    }
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
    /// Its places in the queue, the first one first; none where it is not in the queue.
    pub places: Vec<QueuePlace>,
    /// The priority that the queue goes by; 0 where the job is held. Higher comes sooner.
    pub priority: u32,
    /// What that is the sum of, in the order of addition; none where it is set by hand, or the job is held.
    pub terms: Vec<Term>,
    /// The book whose shares and usage count, that of its first place; `None` where there are no books.
    pub book: Option<String>,
    /// From the root down to the association of the job, in that book.
    pub path: Vec<Level>,
    /// Its fair-share factor, from 0 to 1, where it is computed here.
    pub fair_share: Option<f64>,
    /// What the usage of its own association takes from the factor, from 0 to 1, where that is computed here.
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
    /// A limit or something else that free nodes do not help against.
    Obstacle,
    /// Its priority was set by hand.
    SetByHand,
    /// It is the first of its partition.
    First,
    /// Others come before it.
    Behind,
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
pub fn of_job(model: &Model<'_>, queue: &Queue, job: usize) -> Why {
    let (record, rank) = (&model.snapshot.jobs[job], &model.jobs[job]);
    let slots = || queue.slots.iter().enumerate().filter(|(_, slot)| slot.job == job);
    let places: Vec<QueuePlace> = slots().map(|(at, slot)| place(model, queue, at, slot)).collect();
    let first = slots().next();
    let reason = reasons::explain(&record.reason);
    let book = first.map_or_else(
        || model.book_in(job, &record.partition),
        |(_, slot)| model.book_in(job, model.partition_of(slot)),
    );
    let own_usage = levers::cost_of_own_usage(model, job, book);
    let kind = kind(model, job, &reason, &places);
    let entry = first.and_then(|(_, slot)| slot.entry);
    let mut why = Why {
        job: job_name(model, job),
        id: record.id,
        user: record.user.clone(),
        account: record.account.clone(),
        kind,
        sentence: String::new(),
        details: Vec::new(),
        priority: places.first().map_or(rank.priority, |place| place.priority),
        book: model.book_name(book).map(str::to_owned),
        terms: terms::of(model, job, entry, book),
        path: rank.association.map(|association| path::of(model, association, book)).unwrap_or_default(),
        fair_share: model.factor_in(job, book),
        cost_of_own_usage: own_usage.map(finite),
        levers: first.map(|(at, _)| levers::of(model, queue, at, own_usage)).unwrap_or_default(),
        next: Vec::new(),
        differences: model.differences(job),
        reason,
        places,
    };
    why.sentence = why.dominant(model, job);
    let mut details = Vec::new();
    if let (Some((at, slot)), ReasonKind::Behind) = (first, kind) {
        details.extend(decides(model, queue, at, slot));
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
    } else if reason.is_obstacle {
        ReasonKind::Obstacle
    } else if record.direct {
        ReasonKind::SetByHand
    } else if places.iter().any(|place| place.rank == 1) {
        ReasonKind::First
    } else {
        ReasonKind::Behind
    }
}

fn place(model: &Model<'_>, queue: &Queue, at: usize, slot: &Slot) -> QueuePlace {
    let partition = model.partition_of(slot);
    let before = before(model, queue, at);
    let mut steps: BTreeMap<Step, usize> = BTreeMap::new();
    for other in &before {
        *steps.entry(model.compare_slots(other, slot).1).or_default() += 1;
    }
    let job = model.job_of(slot);
    QueuePlace {
        partition: partition.to_owned(),
        qos: slot.entry.map_or(&job.qos, |entry| &model.jobs[slot.job].entries[entry].qos).clone(),
        position: at + 1,
        rank: before.len() + 1,
        of: queue.slots.iter().filter(|other| model.partition_of(other) == partition).count(),
        priority: slot.priority,
        ahead: ahead(model, before.into_iter()),
        steps: steps.into_iter().map(|(step, jobs)| StepCount { step, jobs }).collect(),
    }
}

impl Why {
    fn dominant(&self, model: &Model<'_>, job: usize) -> String {
        let record = &model.snapshot.jobs[job];
        let Reason { sentence, .. } = &self.reason;
        match (self.kind, self.places.first()) {
            (ReasonKind::Held, _) => format!("Job {} is held, so it has no place in the queue. {sentence}", self.job),
            (ReasonKind::NotEligible, _) if record.eligible > model.at => format!(
                "Job {} may not start before {}. {sentence}",
                self.job,
                crate::output::numbers::time(record.eligible)
            ),
            (ReasonKind::NotEligible, _) => format!("Job {} is not in the queue yet. {sentence}", self.job),
            (ReasonKind::Obstacle, _) => {
                format!("Job {} waits for something that a higher priority does not help against. {sentence}", self.job)
            }
            (ReasonKind::SetByHand, Some(place)) => format!(
                "The priority of job {} was set by hand to {}: nothing else counts. It is {} of {} in partition {}.",
                self.job, place.priority, ordinal(place.rank), place.of, place.partition
            ),
            (ReasonKind::First, Some(place)) => {
                let place = self.places.iter().find(|place| place.rank == 1).unwrap_or(place);
                let sentence = if self.is_looked_at_first() {
                    "The scheduler looks at it first, so it starts as soon as there is room for it."
                } else {
                    sentence
                };
                format!("Job {} is first of {} in partition {}. {sentence}", self.job, place.of, place.partition)
            }
            (_, Some(place)) => {
                let mut text = format!(
                    "Job {} is {} of {} in partition {}",
                    self.job, ordinal(place.rank), place.of, place.partition
                );
                text += &self.who_is_before(model, job, place);
                text + "."
            }
            (_, None) => format!("Job {} is not in the queue. {sentence}", self.job),
        }
    }

    /// It is first, and Slurm's reason is that of an earlier look, when others were before it.
    fn is_looked_at_first(&self) -> bool {
        self.kind == ReasonKind::First && matches!(self.reason.name.as_str(), "Priority" | "None")
    }

    /// Whose the jobs before it are, and why those stand better.
    fn who_is_before(&self, model: &Model<'_>, job: usize, place: &QueuePlace) -> String {
        let Some(most) = place.ahead.first() else { return String::new() };
        let before = place.rank - 1;
        let mut text = if before == 1 {
            format!("; the one before it belongs to account {}", most.account)
        } else if most.jobs == before {
            format!("; all {before} before it belong to account {}", most.account)
        } else if most.part < 0.1 {
            let accounts = count(place.ahead.len(), "account", "accounts");
            return format!(
                "; the {before} before it belong to {accounts}, none of which has a tenth of them"
            );
        } else {
            format!("; {} of the {before} before it belong to account {}", most.jobs, most.account)
        };
        if most.account == self.account {
            text += ", which is your own";
        } else if let Some(standing) = path::stands_better(model, (job, &place.partition), &most.account) {
            text += &standing;
        }
        text
    }

    fn more(&self, model: &Model<'_>, job: usize) -> Vec<String> {
        let mut details = Vec::new();
        if let (Some(cost), Some(factor)) =
            (self.cost_of_own_usage.filter(|cost| *cost > 0.0005), self.fair_share)
        {
            let decay = match model.config.half_life {
                0 => String::new(),
                half_life => format!(", which halves every {},", span(i64::from(half_life))),
            };
            let whose = model.jobs[job].association.map(|association| association_name(model, association));
            details.push(format!(
                "Usage of {}{decay} takes {} of the scale from 0 to 1: the fair-share factor is {}.",
                whose.unwrap_or_default(),
                number(cost),
                number(factor)
            ));
        }
        details.extend(self.about_book(model));
        details.extend(self.about_closed(model, job));
        if self.kind == ReasonKind::Obstacle {
            for place in &self.places {
                details.push(format!(
                    "It is {} of {} in partition {}, with priority {}.",
                    ordinal(place.rank),
                    place.of,
                    place.partition,
                    place.priority
                ));
            }
        } else {
            for place in self.places.iter().skip(1) {
                details.push(format!(
                    "In partition {} it is {} of {}.",
                    place.partition,
                    ordinal(place.rank),
                    place.of
                ));
            }
        }
        let start = model.snapshot.jobs[job].start;
        if start > model.at && !self.places.is_empty() {
            details.push(format!(
                "Backfill expects it to start at {}; that changes with every job that ends early or is submitted.",
                crate::output::numbers::time(start)
            ));
        }
        details
    }

    /// Where only the place hinders the job: with whom it competes.
    fn about_closed(&self, model: &Model<'_>, job: usize) -> Option<String> {
        let record = &model.snapshot.jobs[job];
        let partition = self.places.first().map_or(&record.partition, |place| &place.partition);
        model.closed_partition(model.book_in(job, partition))?;
        Some(format!(
            "By fair-share it competes only with jobs that partition {partition}, its nodes or a reservation keep from starting there, \
             so that their order is right when they may start."
        ))
    }

    /// Where usage is kept apart by partitions, which usage counts.
    fn about_book(&self, model: &Model<'_>) -> Option<String> {
        let book = self.book.as_ref()?;
        let lines = &model.config.settings.as_ref()?.books;
        let line = lines.iter().find(|line| line.name.eq_ignore_ascii_case(book));
        Some(match line {
            Some(line) => format!(
                "Fair-share is that of book {book}: what was used in {} {} counts, and nothing else.",
                if line.partitions.len() == 1 { "partition" } else { "partitions" },
                line.partitions.join(", ")
            ),
            None => "Fair-share is that of the default book: what was used in partitions of other books does not count."
                .to_owned(),
        })
    }

    fn what_next(&self, model: &Model<'_>, job: usize) -> Vec<String> {
        let mut next = Vec::new();
        let id = model.snapshot.jobs[job].id;
        if self.is_looked_at_first() {
            next.push("A shorter time limit or a smaller request can let it start in a gap.".to_owned());
        } else if self.kind != ReasonKind::Behind && !self.reason.remedy.is_empty() {
            next.push(self.reason.remedy.replace("JOBID", &id.to_string()));
        }
        if let (ReasonKind::Behind | ReasonKind::SetByHand, Some(place)) = (self.kind, self.places.first()) {
            if model.snapshot.jobs[job].limit.is_none() {
                next.push(
                    "The job has no time limit of its own. With one that is near what it needs, backfill can start it in a gap: \
                     'scontrol update JobId=JOBID TimeLimit=T'."
                        .replace("JOBID", &id.to_string()),
                );
            } else {
                next.push(
                    "A shorter time limit or a smaller request lets backfill start the job in a gap."
                        .to_owned(),
                );
            }
            next.push(format!(
                "See who is before it with 'multifactor2 queue --partition {}'.",
                place.partition
            ));
        }
        next
    }
}

/// What puts most of those before a slot there.
fn decides(model: &Model<'_>, queue: &Queue, at: usize, slot: &Slot) -> Vec<String> {
    let before = before(model, queue, at);
    let mut details = Vec::new();
    let mut whatever: BTreeMap<Step, usize> = BTreeMap::new();
    for step in before.iter().map(|other| model.compare_slots(other, slot).1) {
        if step < Step::Priority {
            *whatever.entry(step).or_default() += 1;
        }
    }
    for (step, jobs) in whatever {
        let jobs = count(jobs, "job is", "jobs are");
        details.push(format!("{jobs} before it whatever the priority: {}.", step.described()));
    }
    let own = addends_of(model, slot);
    let by_priority: Vec<[f64; 9]> = before
        .iter()
        .filter(|other| model.compare_slots(other, slot).1 == Step::Priority)
        .filter_map(|other| Some(addends_of(model, other)?.signed()))
        .collect();
    let Some(own) = own.map(|own| own.signed()).filter(|_| !by_priority.is_empty()) else { return details };
    #[allow(clippy::cast_precision_loss)] // a count of jobs
    let jobs = by_priority.len() as f64;
    let mean = |at: usize| by_priority.iter().map(|other| other[at] - own[at]).sum::<f64>() / jobs;
    let means: Vec<f64> = (0..9).map(mean).collect();
    let largest = (0..9).max_by(|a, b| means[*a].total_cmp(&means[*b])).filter(|at| means[*at] > 0.0);
    if let Some(largest) = largest {
        details.push(format!(
            "What lifts those with a higher priority most is {}: on average they have {} more of it.",
            Addends::NAMES[largest],
            number(means[largest])
        ));
    }
    details
}

/// What the priority of a slot is made of.
pub(super) fn addends_of(model: &Model<'_>, slot: &Slot) -> Option<Addends> {
    let rank = &model.jobs[slot.job];
    let of_job = || rank.addends(model.recomputed);
    match slot.entry.map(|entry| &rank.entries[entry]) {
        None => of_job(),
        Some(entry) => {
            let (computed, shown) = (entry.computed.map(|(addends, _)| addends), entry.shown);
            if model.recomputed {
                computed.or(shown)
            } else {
                shown.or(computed)
            }
        }
    }
}

/// Whether tickets are what fair-share goes by.
fn has_tickets(model: &Model<'_>) -> bool {
    model.config.algorithm == Algorithm::Multifactor2
}

/// What an association is called in a sentence.
fn named(model: &Model<'_>, association: usize) -> String {
    let name = association_name(model, association);
    if model.snapshot.associations[association].user.is_empty() {
        format!("account {name}")
    } else {
        format!("user {name}")
    }
}
