//! Explains why one job comes before another: the first sort step that decides and, for fair-share, where their paths from the root
//! diverge.

pub(super) mod text;

use schemars::JsonSchema;
use serde::Serialize;

use crate::answers::why::{self, Competitor};
use crate::answers::queue::no_such_job;
use crate::answers::{association_name, job_name, Answer};
use crate::error::Error;
use crate::model::order::{visible, PartialQueue, WholeQueue};
use crate::model::reasons;
use crate::model::{Addends, Model, Slot, Step};
use crate::output::numbers::{number, time};

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Compare {
    /// The job that comes first, as squeue shows it.
    pub first: String,
    /// The other one.
    pub second: String,
    /// What decides; `None` if one of them is not in the queue.
    pub step: Option<Step>,
    /// The answer in plain language.
    pub sentence: String,
    /// In which partition each is looked at first.
    pub partitions: Vec<String>,
    /// Their addends, by the names of sprio's columns: those of the first, then those of the second.
    pub addends: Vec<Pair>,
    /// Where their ways from the root part; `None` if that does not decide or is not known.
    pub parting: Option<Parting>,
    /// What else is worth knowing.
    pub details: Vec<String>,
}

/// An addend of both.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Pair {
    /// By the name of sprio's column.
    pub name: String,
    /// Of the one that comes first.
    pub first: f64,
    /// Of the other.
    pub second: f64,
}

/// Where two ways from the root part.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Parting {
    /// The association above both.
    pub above: String,
    /// What is below it on the way to the first.
    pub first: Competitor,
    /// The same on the way to the second.
    pub second: Competitor,
}

impl Answer for Compare {
    const NAME: &'static str = "compare";
}

/// Answers it.
///
/// # Errors
/// One of them does not wait, or both are the same.
pub fn compare(model: &Model<'_>, a: &str, b: &str) -> Result<Compare, Error> {
    let job = |name: &str| model.job_called(name).ok_or_else(|| no_such_job(name));
    let (job_a, job_b) = (job(a)?, job(b)?);
    if job_a == job_b {
        return Err(format!("{a} and {b} are one job: give two").into());
    }
    let queue = model.queue();
    // Where both wait in one partition, that is where they compete.
    let slots = |job: usize| visible(&queue).slots.iter().filter(move |slot| slot.job == job);
    let shared = slots(job_a)
        .find_map(|a| slots(job_b).find(|b| model.partition_of(a) == model.partition_of(b)).map(|b| (a, b)));
    let pair = shared.or_else(|| slots(job_a).next().zip(slots(job_b).next()));
    let Some((a, b)) = pair else { return Ok(outside(model, &queue, job_a, job_b)) };
    if let Some(unknown) = model.order_lacks(a, b) {
        let names = (job_name(model, job_a), job_name(model, job_b));
        let what = format!("which of job {} and job {} comes first is not known: {}", names.0, names.1, unknown.sentence);
        return Err(Error::Source(what));
    }
    let (order, step) = model.compare_slots(a, b);
    let (first, second) = if order.is_gt() { (b, a) } else { (a, b) };
    Ok(inside(model, first, second, step))
}

fn outside(model: &Model<'_>, queue: &Result<WholeQueue, PartialQueue>, a: usize, b: usize) -> Compare {
    let is_in = |job: usize| visible(queue).first_of(job).is_some();
    let (first, second) = if is_in(b) { (b, a) } else { (a, b) };
    let (names, reason) = (
        (job_name(model, first), job_name(model, second)),
        reasons::explain(&model.snapshot.jobs[second].reason),
    );
    let sentence = if is_in(first) {
        format!("Job {} comes first: job {} is not in the queue. {}", names.0, names.1, reason.sentence)
    } else {
        format!("Neither job {} nor job {} is in the queue.", names.0, names.1)
    };
    let details = [first, second]
        .into_iter()
        .filter(|job| !is_in(*job))
        .map(|job| why::of_job(model, queue, job).sentence);
    Compare {
        first: names.0,
        second: names.1,
        step: None,
        sentence,
        partitions: Vec::new(),
        addends: Vec::new(),
        parting: None,
        details: details.collect(),
    }
}

fn inside(model: &Model<'_>, first: &Slot, second: &Slot, step: Step) -> Compare {
    let names = (job_name(model, first.job), job_name(model, second.job));
    let partitions = [first, second].map(|slot| model.partition_of(slot).to_owned());
    let (of_first, of_second) = (model.job_of(first), model.job_of(second));
    let why = match step {
        Step::Preemption => "it may preempt the other".to_owned(),
        Step::Reservation => format!("it has the reservation {}", of_first.reservation),
        Step::PriorityTier => {
            format!(
                "partition {} has PriorityTier {}, {} has {}",
                partitions[0], first.tier, partitions[1], second.tier
            )
        }
        Step::Priority => {
            format!("its priority is {}, that of the other {}", first.priority, second.priority)
        }
        Step::SubmitTime => {
            format!(
                "the priorities are equal ({}), and it was submitted at {}, the other at {}",
                first.priority,
                time(of_first.submit),
                time(of_second.submit)
            )
        }
        Step::JobId => "priority and time of submission are equal, and its id is lower".to_owned(),
        Step::ArrayTask => {
            "they are tasks of one array with the same priority, and its number is lower".to_owned()
        }
        Step::Nothing => "they are equal in everything that decides the order".to_owned(),
    };
    let mut compare = Compare {
        sentence: format!("Job {} comes before job {}: {why}.", names.0, names.1),
        first: names.0,
        second: names.1,
        step: Some(step),
        addends: Vec::new(),
        parting: None,
        details: Vec::new(),
        partitions: partitions.to_vec(),
    };
    if let (Some(a), Some(b)) = (model.addends_of(first), model.addends_of(second)) {
        let pairs = Addends::NAMES.iter().zip(a.signed().into_iter().zip(b.signed()));
        compare.addends =
            pairs.map(|(name, (first, second))| Pair { name: (*name).to_owned(), first, second }).collect();
    }
    if step == Step::Priority {
        compare.explain_priority(model, first.job, second.job);
    } else if step < Step::Priority && first.priority < second.priority {
        compare.details.push(format!(
            "The other has the higher priority ({} against {}), but priority does not decide here.",
            second.priority, first.priority
        ));
    }
    if compare.partitions[0] != compare.partitions[1] {
        compare.details.push(
            "They wait in different partitions. If these share no nodes, neither job delays the other."
                .to_owned(),
        );
    }
    for (job, name) in [(first.job, &compare.first), (second.job, &compare.second)] {
        let reason = reasons::explain(&model.snapshot.jobs[job].reason);
        if reason.is_obstacle {
            let detail = format!("Job {name} also waits for something else. {}", reason.sentence);
            compare.details.push(detail);
        }
    }
    compare
}

impl Compare {
    /// The addend that differs most in favour of the first, and where fair-share comes from.
    fn explain_priority(&mut self, model: &Model<'_>, first: usize, second: usize) {
        for (job, name) in [(first, &self.first), (second, &self.second)] {
            if model.snapshot.jobs[job].direct {
                self.details.push(format!("The priority of job {name} was set by hand."));
                return;
            }
        }
        let most = self.addends.iter().max_by(|a, b| (a.first - a.second).total_cmp(&(b.first - b.second)));
        let Some(most) = most.filter(|most| most.first > most.second) else { return };
        self.details.push(format!(
            "The largest difference is {}: {} against {}.",
            most.name,
            number(most.first),
            number(most.second)
        ));
        let associations = model.jobs[first].association.zip(model.jobs[second].association);
        let parting = associations.and_then(|(a, b)| why::parting(model, a, b));
        let [book, other] =
            [first, second].map(|job| model.book_in(job, &model.snapshot.jobs[job].partition));
        if model.closed_partition(book).or(model.closed_partition(other)).is_some() && book != other {
            self.details.push(
                "One of them cannot start where it waits. Fair-share ranks such jobs separately in each partition, so the two \
                 factors cannot be compared."
                    .to_owned(),
            );
        } else if book != other {
            let [book, other] = [book, other].map(|book| model.book_name(book).unwrap_or_default());
            self.details.push(format!(
                "Fair-share of one is that of book {book}, of the other that of book {other}: each counts different usage."
            ));
        } else if let (Some((above, a, b)), "FAIRSHARE") = (parting, most.name.as_str()) {
            self.parting = Some(Parting {
                above: association_name(model, above),
                first: why::competitor(model, a, book),
                second: why::competitor(model, b, book),
            });
        }
    }
}
