//! The addends of a priority, each with its formula and its numbers.

use multifactor2_core::books::BookAt;
use multifactor2_core::settings::FairShareScale;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::finite;
use super::Lacks;
use crate::model::{Addends, Algorithm, Model};
use crate::output::numbers::{addend, number, span};

/// An addend.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Term {
    /// By the name of sprio's column.
    pub name: String,
    /// How the factor is computed.
    pub formula: String,
    /// The same with numbers; empty if they are not known.
    pub numbers: String,
    /// The factor; `None` if there is none.
    pub factor: Option<f64>,
    /// The weight of slurm.conf; `None` if there is none.
    pub weight: Option<f64>,
    /// Their product: what is added to the priority.
    pub product: f64,
    /// Its part of the sum, from 0 to 1.
    pub part: f64,
    /// What it consists of, where that is more than one thing.
    pub of: Vec<String>,
}

/// The addends of a job in one of its entries: none if the priority is not a sum.
pub fn of(model: &Model<'_>, job: usize, entry: Option<usize>, book: BookAt) -> Vec<Term> {
    let rank = &model.jobs[job];
    let addends = rank.addends(entry, model.recomputed);
    let (Some(addends), false) = (addends, model.snapshot.jobs[job].direct) else { return Vec::new() };
    let weights = &model.config.factors.weights;
    let weight =
        [weights.age, weights.assoc, weights.fair_share, weights.job_size, weights.partition, weights.qos];
    let sum = addends.sum();
    let terms = Addends::NAMES.iter().zip(addends.signed()).enumerate().map(|(at, (name, product))| {
        let weight = weight.get(at).map(|weight| f64::from(*weight));
        let (formula, numbers) = formula(model, job, book, name);
        Term {
            name: (*name).to_owned(),
            formula,
            numbers,
            factor: weight.filter(|weight| *weight > 0.0).map(|weight| product / weight),
            weight,
            product,
            part: if sum > 0.0 { product / sum } else { 0.0 },
            of: parts(model, job, book, name),
        }
    });
    terms.collect()
}

/// What the terms lack of a priority. The plugins round the sum down, and no job that may run has less than 1.
pub fn lacks(model: &Model<'_>, job: usize, terms: &[Term], priority: u32) -> Option<Lacks> {
    let sum: f64 = terms.iter().map(|term| term.product).sum();
    let amount = f64::from(priority) - sum.max(1.0);
    if terms.is_empty() || priority == 0 || amount.abs() < 1.0 {
        return None;
    }
    let record = &model.snapshot.jobs[job];
    let sentence = if !record.is_computed && !model.recomputed {
        "sprio leaves out jobs whose begin time has not come, such as this one. The sum lacks JOBSIZE, TRES and whatever else is \
         not known here."
    } else if model.config.increase_only && amount > 0.0 {
        "PriorityFlags=INCR_ONLY keeps the number of an earlier calculation while it is higher."
    } else if amount.abs() < 1.0 + ROUNDED {
        "sprio shows whole numbers: each addend may be off by a half."
    } else {
        "The addends that Slurm shows do not add up to this number: one of them is from another calculation."
    };
    Some(Lacks { amount: finite(amount), sentence: sentence.to_owned() })
}

/// Of nine addends each may be rounded by half.
const ROUNDED: f64 = 4.5;

fn formula(model: &Model<'_>, job: usize, book: BookAt, name: &str) -> (String, String) {
    let (record, config) = (&model.snapshot.jobs[job], &model.config);
    let plain = |flag: bool, of: &str| {
        if flag {
            format!("priority of the {of}")
        } else {
            format!("priority of the {of} / highest of all")
        }
    };
    match name {
        "AGE" => {
            let waited = model.at.saturating_sub(record.accrue).max(0);
            let numbers = if record.accrue == 0 {
                "it gains no age yet".to_owned()
            } else {
                format!("min(1, {} / {})", span(waited), span(i64::from(config.factors.max_age)))
            };
            ("min(1, time waited / PriorityMaxAge)".to_owned(), numbers)
        }
        "ASSOC" => (plain(config.no_normal_assoc, "association"), String::new()),
        "FAIRSHARE" => fair_share(model, job, book),
        "JOBSIZE" => (
            "part of the cluster that it asks for, by nodes and CPUs".to_owned(),
            format!("{} nodes, {} CPUs", record.nodes, record.size_cpus.max(record.cpus)),
        ),
        "PARTITION" => (plain(config.factors.no_normal_part, "partition (PriorityJobFactor)"), String::new()),
        "QOS" => (plain(config.factors.no_normal_qos, "QOS"), String::new()),
        "TRES" => ("sum of weight * requested / what the partition has".to_owned(), String::new()),
        "SITE" => match config.settings.as_ref().filter(|_| model.jobs[job].points.is_some()) {
            Some(_) => ("site factor of the job + points".to_owned(), String::new()),
            None => ("site factor of the job".to_owned(), String::new()),
        },
        _ => ("- nice value of the job".to_owned(), String::new()),
    }
}

fn fair_share(model: &Model<'_>, job: usize, book: BookAt) -> (String, String) {
    match model.config.algorithm {
        Algorithm::Multifactor2 => {
            let scale = model.config.settings.as_ref().map(|settings| settings.fair_share_scale);
            let formula = match scale {
                Some(FairShareScale::Log) => "1 + log10(tickets / most tickets of those waiting) / 6, at least 0",
                _ => "tickets / most tickets of those waiting",
            };
            (formula.to_owned(), tickets(model, job, book).unwrap_or_default())
        }
        Algorithm::FairTree => {
            let numbers = fair_tree(model, job).unwrap_or_default();
            ("rank among all users by Fair Tree, counted from the last / number of users".to_owned(), numbers)
        }
        Algorithm::Classic => (
            "2^(-effective usage / shares / FairShareDampeningFactor)".to_owned(),
            classic(model, job, book).unwrap_or_default(),
        ),
        Algorithm::Basic | Algorithm::Other => (String::new(), String::new()),
    }
}

/// Rank and number, from the factor that sshare shows: it has six places, and is one divided by the other.
fn fair_tree(model: &Model<'_>, job: usize) -> Option<String> {
    let factor = model.snapshot.associations[model.jobs[job].association?].factor?;
    if model.snapshot.about.partial_tree {
        return None;
    }
    let users = model.snapshot.associations.iter().filter(|association| !association.user.is_empty()).count();
    #[allow(clippy::cast_precision_loss)] // a count of users
    let (of, rank) = (users as f64, factor * users as f64);
    let is_whole = (rank - rank.round()).abs() <= 1e-9 + 0.5e-6 * of;
    is_whole.then(|| format!("{:.0} / {users}", rank.round()))
}

fn classic(model: &Model<'_>, job: usize, book: BookAt) -> Option<String> {
    let standing = &model.standings_in(book)[model.jobs[job].association?];
    let dampening = model.snapshot.parameter("FairShareDampeningFactor").unwrap_or("1");
    let (usage, shares) = (number(standing.usage_effective), number(standing.shares_norm));
    Some(format!("2^(-{usage} / {shares} / {dampening})"))
}

fn tickets(model: &Model<'_>, job: usize, book: BookAt) -> Option<String> {
    let in_book = model.shares.in_book(book);
    // Of most tickets there is nothing to divide by where nobody competes.
    let part = |tickets: f64, most: f64| {
        if most > 0.0 {
            format!("{} / {}", number(tickets), number(most))
        } else {
            "nobody competes now".to_owned()
        }
    };
    if let (Some(pools), Some(tickets)) = (in_book.pools(), in_book.tickets_of_job(job)) {
        return Some(part(tickets.total(), pools.max_tickets()));
    }
    let tickets = model.standings_in(book)[model.jobs[job].association?].tickets?;
    let most = in_book.fair_share()?.max_tickets();
    Some(part(tickets, most))
}

fn parts(model: &Model<'_>, job: usize, book: BookAt, name: &str) -> Vec<String> {
    let rank = &model.jobs[job];
    match name {
        "FAIRSHARE" => model.shares.in_book(book).tickets_of_job(job).map_or_else(Vec::new, |tickets| {
            let of = [
                ("override", tickets.overridden),
                ("functional", tickets.functional),
                ("share tree", tickets.share_tree),
            ];
            of.iter().map(|(name, tickets)| format!("{name} tickets {}", number(*tickets))).collect()
        }),
        "SITE" => rank.points.map_or_else(Vec::new, |points| {
            let mut parts = vec![format!("points {}", points.total)];
            let of = points.by_word().filter(|(_, part)| *part != 0.0);
            parts.extend(of.map(|(name, part)| format!("{name} {}", addend(part))));
            if points.granted != 0.0 && !points.is_capped {
                parts.push(format!("grant {}", addend(points.granted)));
            }
            if points.is_beyond_grant {
                parts.push("it is beyond a grant".to_owned());
            } else if points.is_capped {
                parts.push("it goes beyond a cap".to_owned());
            }
            parts
        }),
        "TRES" => tres(model, job),
        _ => Vec::new(),
    }
}

fn tres(model: &Model<'_>, job: usize) -> Vec<String> {
    let record = &model.snapshot.jobs[job];
    let Some(weights) = &model.config.factors.tres_weights else { return Vec::new() };
    let partition = model.snapshot.partitions.iter().find(|partition| partition.name == record.partition);
    let one = |(at, weight): (usize, &f64)| {
        let amount = record.tres.get(at).copied().map_or(0, multifactor2_core::facts::amount);
        let of = partition.and_then(|partition| partition.tres.get(at)).copied().unwrap_or_default();
        (*weight != 0.0 && amount != 0 && at < model.snapshot.tres.len()).then(|| {
            let name = &model.snapshot.tres[at].name;
            if model.config.factors.no_normal_tres {
                format!("{name} {} * {amount}", number(*weight))
            } else {
                format!("{name} {} * {amount} / {of}", number(*weight))
            }
        })
    };
    weights.iter().enumerate().filter_map(one).collect()
}
