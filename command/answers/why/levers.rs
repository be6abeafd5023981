//! Finds what would change the priority of a job most. Each possibility is computed alone, with everything else as it is.

use multifactor2_core::books::BookAt;
use schemars::JsonSchema;
use serde::Serialize;

use super::Step;
use crate::model::order::WholeQueue;
use crate::model::{Model, Slot};
use crate::output::numbers::span;

/// A possibility.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Lever {
    /// What would have to happen.
    pub what: String,
    /// How much more priority that is.
    pub gain: f64,
    /// The place in the partition that follows, from 1, if no other priority changes meanwhile; `None` if places are not known.
    pub rank: Option<usize>,
}

/// What usage of the job's own association takes from its factor.
pub fn cost_of_own_usage(model: &Model<'_>, job: usize, book: BookAt) -> Option<f64> {
    let (association, factor) = (model.jobs[job].association?, model.factor_in(job, book)?);
    Some((factor_without(model, job, association, book)? - factor).max(0.0))
}

/// The factor of a job if an association had no usage.
fn factor_without(model: &Model<'_>, job: usize, association: usize, book: BookAt) -> Option<f64> {
    let tree = model.whole_tree()?;
    let node = tree.node(association)?;
    let of_lines = model.shares.of_lines(book);
    let usage = tree.measured(of_lines)[node.index()];
    let measured = tree.measured_with(of_lines, association, -usage);
    let shares = model.shares.with_usage(&model.config, tree, book, &measured);
    let of_job = model.jobs[job].association.and_then(|association| model.tree.node(association));
    shares.factor_of_job(job, of_job)
}

/// All that raise the priority, the largest first.
pub fn of(
    model: &Model<'_>,
    slot: &Slot,
    place: Option<(&WholeQueue, usize)>,
    own_usage: Option<f64>,
) -> Vec<Lever> {
    let (job, rank) = (model.job_of(slot), &model.jobs[slot.job]);
    let Some(addends) = model.addends_of(slot).filter(|_| !job.direct) else { return Vec::new() };
    let book = model.book_in(slot.job, model.partition_of(slot));
    let factor = model.factor_in(slot.job, book);
    let weights = &model.config.factors.weights;
    let mut levers = Vec::new();
    let mut add = |what: String, gain: f64| {
        if gain >= 1.0 {
            let rank = place.map(|(queue, at)| rank_with(model, queue, at, slot, gain));
            levers.push(Lever { what, gain, rank });
        }
    };
    let goes = if model.tree.windows.is_some() { "leaves all windows" } else { "decays to nothing" };
    if let Some(cost) = own_usage {
        add(
            format!("The usage of your own association {goes}."),
            cost * f64::from(weights.fair_share),
        );
    }
    let path = rank.association.map(|association| model.tree.path(association)).unwrap_or_default();
    if let (Some(account), Some(factor)) = (path.len().checked_sub(2).filter(|at| *at > 0), factor) {
        let account = path[account];
        let without = factor_without(model, slot.job, account, book).unwrap_or(factor);
        let name = &model.snapshot.associations[account].account;
        add(
            format!("The usage of all of account {name} {goes}."),
            (without - factor) * f64::from(weights.fair_share),
        );
    }
    if job.accrue != 0 {
        let left = f64::from(weights.age) - addends.age;
        let waited = model.at.saturating_sub(job.accrue).max(0);
        let missing = i64::from(model.config.factors.max_age).saturating_sub(waited).max(0);
        add(format!("It waits {} longer, until AGE reaches its full weight.", span(missing)), left);
    }
    if addends.nice > 0.0 {
        add(format!("Its nice value is set to 0: 'scontrol update JobId={} Nice=0'.", job.id), addends.nice);
    }
    levers.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    levers
}

/// The place in its partition with this much more priority.
fn rank_with(model: &Model<'_>, queue: &WholeQueue, at: usize, slot: &Slot, gain: f64) -> usize {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates
    let priority = slot.priority.saturating_add(gain as u32);
    let mut lifted = *slot;
    lifted.priority = priority;
    let stays = |other: &&&Slot| {
        let (order, step) = model.compare_slots(other, &lifted);
        order.is_lt() && step != Step::Nothing
    };
    queue.before(model, at).iter().filter(stays).count() + 1
}
