//! `multifactor2 what-if`: the trial before a change. It shows the queue before and after, who gains and who loses.
//!
//! A change edits a copy of the snapshot, and the model is asked again: nothing else decides. Both queues are computed here for the same
//! time, so that the change alone makes the difference. Without a change both equal the current queue.

mod added;
mod apply;
mod change;
mod in_books;
mod jobs;
mod order;
pub mod page;
mod text;
mod tree_usage;

use std::collections::{BTreeMap, HashMap};

use multifactor2_snapshot::records::Association;
use multifactor2_snapshot::Snapshot;
use schemars::JsonSchema;
use serde::Serialize;

pub use added::{NewAccount, NewUser};
pub use apply::{apply, Changed};
pub use jobs::{JobChange, JobValue};
pub use change::{Amount, Changes, Plugin, Settings, ShareChange, UsageChange, Weight, Weighted, Who};
pub use order::tau;

use super::{finite, job_name, Answer, Ask, Report};
use crate::error::Error;
use crate::files;
use crate::input::{self, Needs};
use crate::model::order::{visible, Unknown};
use crate::model::{Algorithm, Model, Options, Slot};
use crate::options::{own_name, Files, OfTime, Printed};
use crate::output::show::printout;
use crate::output::{Described, Printout, Schema, Terminal};
use crate::output::numbers::count;
use crate::progress::Progress;

/// Show the queue before and after a change, and the places that accounts and users gain or lose
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "With --conf, the settings after the change come from that file.\n\nExamples:\n  multifactor2 what-if --shares \
     b=30\n  multifactor2 what-if --usage user2@c=0 --weight age=5000\n  multifactor2 what-if --plugin stock --html \
     switch.html\n  multifactor2 what-if --new-account g=20 --new-user user2@g=1\n  multifactor2 what-if --job \"1001 Nice=100\" \
     --job \"1002 hold\"\n  multifactor2 what-if --submit \"-A c -p main -c 8 -t 1-0\" --as user2 -P"
)]
#[group(skip)]
#[allow(missing_docs, clippy::doc_markdown)] // shown as help
pub struct Arguments {
    #[command(flatten)]
    pub changes: Changes,
    #[command(flatten)]
    pub files: Files,
    #[command(flatten)]
    pub printed: Printed,
    #[command(flatten)]
    pub of: OfTime,
}

impl Ask for Arguments {
    const ANSWERS: &'static str = "the queue before and after a change of shares, usage, weights, settings or plugin, and which \
         users gain and lose ([what-if.md](what-if.md))";
    const EXAMPLE: &'static str = "multifactor2 what-if --plugin multifactor2 --weight fairshare=50000";
    const COLUMNS: &'static [&'static [Described]] = &[text::COLUMNS];

    fn schemas() -> Vec<Schema> {
        vec![WhatIf::schema()]
    }

    fn ask(&self, terminal: Terminal) -> Result<Printout, Error> {
        let progress = Progress::begin();
        let mut of = self.of.clone();
        // It is a change here.
        of.input.conf = None;
        let snapshot = of.snapshot(&Needs::of_qos(), &progress)?;
        let model = of.model(&snapshot)?;
        let answer = of_model(&model, &self.whole(&snapshot)?)?;
        let Some(file) = &self.files.html else {
            return printout(&model, answer, of.form, &self.printed, terminal);
        };
        files::write_text(file, &page::page(&Report::new(&model, answer))?)?;
        Ok(Printout::default())
    }
}

impl Arguments {
    /// Changes with the settings of `--conf`, and with who submits.
    fn whole(&self, snapshot: &Snapshot) -> Result<Changes, Error> {
        let mut changes = self.changes.clone();
        if let Some(conf) = &self.of.input.conf {
            let lines = input::settings(Some(conf.as_path()), input::parameters(snapshot));
            let lines = lines?.unwrap_or_default();
            changes.settings = Some(Settings { file: conf.display().to_string(), lines });
        }
        if !changes.submissions.is_empty() && changes.submitter.is_none() {
            changes.submitter = Some(own_name()?);
        }
        Ok(changes)
    }
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WhatIf {
    /// What is different, one sentence each; empty for nothing.
    pub changes: Vec<String>,
    /// Remarks on the answer, and what cannot be known, one sentence each.
    pub remarks: Vec<String>,
    /// How priorities come about after the change.
    pub algorithm_after: Algorithm,
    /// Why places are not known; `None` if they are.
    pub unknown: Option<Unknown>,
    /// Kendall's tau of both orders, from 1 (the same) to -1 (the opposite); `None` for fewer than two places in both, or where
    /// places are not known.
    pub tau: Option<f64>,
    /// Places of the queue that are in both and have another position; `None` if places are not known.
    pub moved: Option<usize>,
    /// The places of both queues, in their order after the change, then those that are no longer there.
    pub rows: Vec<ChangeRow>,
    /// Accounts with jobs in the queue, largest gain first.
    pub accounts: Vec<Group>,
    /// Users with jobs in the queue, largest gain first.
    pub users: Vec<Group>,
    /// Associations whose standing is another.
    pub standings: Vec<StandingChange>,
}

/// A job in one of its partitions.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ChangeRow {
    /// Its place in the whole queue before the change, from 1; `None` if it was not there, or places are not known.
    pub position_before: Option<usize>,
    /// The same after it; `None` if it is no longer there, or places are not known.
    pub position_after: Option<usize>,
    /// How many places it moves forward; backward where it is negative.
    pub gain: Option<i64>,
    /// As squeue shows it.
    pub job: String,
    /// Its id.
    pub id: u32,
    /// Its user.
    pub user: String,
    /// Its account.
    pub account: String,
    /// The partition.
    pub partition: String,
    /// The QOS.
    pub qos: String,
    /// The priority there before the change.
    pub priority_before: Option<u32>,
    /// The same after it.
    pub priority_after: Option<u32>,
    /// Its fair-share factor before the change, from 0 to 1.
    pub fair_share_before: Option<f64>,
    /// The same after it.
    pub fair_share_after: Option<f64>,
    /// It is one of those that were added.
    pub submitted: bool,
}

/// The jobs of an account or a user that are in both queues.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Group {
    /// The account or user.
    pub name: String,
    /// Places that it has in both queues.
    pub places: usize,
    /// How many of them move forward.
    pub forward: usize,
    /// How many of them move backward.
    pub backward: usize,
    /// How far they move forward on average; backward where it is negative.
    pub mean: f64,
    /// The largest move forward; 0 if none does.
    pub furthest_forward: i64,
    /// The largest move backward, as a negative number; 0 if none does.
    pub furthest_backward: i64,
}

/// An association before and after the change.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StandingChange {
    /// Its account.
    pub account: String,
    /// Its user; empty for an account.
    pub user: String,
    /// The partition that it is for; empty for all.
    pub partition: String,
    /// S before the change.
    pub shares_before: f64,
    /// S after it.
    pub shares_after: f64,
    /// Raw usage before the change.
    pub usage_before: f64,
    /// Raw usage after it.
    pub usage_after: f64,
    /// The factor of the next job before the change, of users only.
    pub factor_before: Option<f64>,
    /// The same after it.
    pub factor_after: Option<f64>,
}

impl Answer for WhatIf {
    const NAME: &'static str = "what-if";
    const VERSION: u32 = 2;
}

/// Answers it, for the time `at`, or that of the snapshot.
///
/// # Errors
/// Somebody or something that a change names is not there, or what it is about is not known.
pub fn what_if(snapshot: &Snapshot, at: Option<i64>, changes: &Changes) -> Result<WhatIf, Error> {
    of_model(&Model::of(snapshot, Options { at, ..Options::default() }), changes)
}

/// The same, for what is now.
///
/// # Errors
/// As for [`what_if`].
pub fn of_model(now: &Model<'_>, changes: &Changes) -> Result<WhatIf, Error> {
    let options = Options { at: Some(now.at), recompute: !changes.is_empty() };
    let before = Model::of(now.snapshot, options);
    let edited = apply(&before, changes)?;
    let after = Model::of(&edited.snapshot, options);
    let mut remarks = edited.remarks;
    if options.recompute {
        remarks.extend(differs(now, &before));
    }
    remarks.extend(after.notes.iter().filter(|note| !before.notes.contains(note)).cloned());
    let ((queue_before, lacks_before), (queue_after, lacks_after)) = (places(&before), places(&after));
    let unknown = lacks_before.or(lacks_after);
    let tau = order::tau(&keys(&queue_before), &keys(&queue_after)).filter(|_| unknown.is_none());
    let mut rows = rows((&before, queue_before), (&after, queue_after), &edited.submitted);
    if unknown.is_some() {
        for row in &mut rows {
            (row.position_before, row.position_after, row.gain) = (None, None, None);
        }
    }
    let moved = rows.iter().filter(|row| row.gain.is_some_and(|gain| gain != 0)).count();
    Ok(WhatIf {
        changes: edited.said,
        remarks,
        algorithm_after: after.config.algorithm,
        tau,
        moved: unknown.is_none().then_some(moved),
        unknown,
        accounts: groups(&rows, |row| &row.account),
        users: groups(&rows, |row| &row.user),
        standings: standings(&before, &after),
        rows,
    })
}

fn keys<'m>(places: &[JobPlace<'m>]) -> Vec<Key<'m>> {
    places.iter().map(|place| place.key).collect()
}

/// What to say where the queue that Slurm has is not the one that is computed.
fn differs(now: &Model<'_>, before: &Model<'_>) -> Option<String> {
    if now.recomputed {
        return None;
    }
    let ((now, None), (computed, None)) = (places(now), places(before)) else { return None };
    let others = now.iter().zip(&computed).filter(|(now, computed)| now.key != computed.key).count();
    (others > 0 || now.len() != computed.len()).then(|| {
        format!(
            "'Before' is computed for slurmctld's next calculation: {} not as in its last one.",
            count(others, "place of the queue is", "places of the queue are")
        )
    })
}

/// The job, the partition and the QOS of a place.
type Key<'m> = (u32, &'m str, &'m str);

/// A place of a queue.
struct JobPlace<'m> {
    key: Key<'m>,
    slot: Slot,
}

/// All that can be seen, in their order, and why these are not all.
fn places<'m>(model: &'m Model<'_>) -> (Vec<JobPlace<'m>>, Option<Unknown>) {
    let place = |slot: Slot| {
        let job = model.job_of(&slot);
        let qos = slot.entry.map_or(&job.qos, |entry| &model.jobs[slot.job].entries[entry].qos);
        JobPlace { key: (job.id, model.partition_of(&slot), qos), slot }
    };
    let queue = model.queue();
    (visible(&queue).slots.iter().copied().map(place).collect(), queue.err().map(|partial| partial.why))
}

/// The fair-share factor of a job: as computed, or what its addend says.
fn factor(model: &Model<'_>, job: usize) -> Option<f64> {
    let weight = f64::from(model.config.factors.weights.fair_share);
    let shown =
        || model.jobs[job].shown.filter(|_| weight > 0.0).map(|shown| finite(shown.fair_share / weight));
    model.jobs[job].factor.or_else(shown)
}

fn rows(
    (before, queue_before): (&Model<'_>, Vec<JobPlace<'_>>),
    (after, queue_after): (&Model<'_>, Vec<JobPlace<'_>>),
    submitted: &[u32],
) -> Vec<ChangeRow> {
    let mut were: HashMap<_, _> =
        queue_before.into_iter().enumerate().map(|(at, place)| (place.key, (at + 1, place.slot))).collect();
    let row = |model: &Model<'_>, (id, partition, qos): Key<'_>, slot: &Slot| {
        let job = model.job_of(slot);
        ChangeRow {
            position_before: None,
            position_after: None,
            gain: None,
            job: job_name(model, slot.job),
            id,
            user: job.user.clone(),
            account: job.account.clone(),
            partition: partition.to_owned(),
            qos: qos.to_owned(),
            priority_before: None,
            priority_after: None,
            fair_share_before: None,
            fair_share_after: None,
            submitted: submitted.contains(&id),
        }
    };
    let was = |row: &mut ChangeRow, (position, slot): (usize, Slot)| {
        row.position_before = Some(position);
        row.priority_before = Some(slot.priority);
        row.fair_share_before = factor(before, slot.job);
    };
    let mut rows = Vec::with_capacity(queue_after.len());
    for (at, place) in queue_after.into_iter().enumerate() {
        let earlier = were.remove(&place.key);
        let mut row = row(after, place.key, &place.slot);
        row.position_after = Some(at + 1);
        row.priority_after = Some(place.slot.priority);
        row.fair_share_after = factor(after, place.slot.job);
        if let Some((position, slot)) = earlier {
            was(&mut row, (position, slot));
            row.gain = Some(signed(position) - signed(at + 1));
        }
        rows.push(row);
    }
    let mut gone: Vec<_> = were.into_iter().collect();
    gone.sort_by_key(|(_, (position, _))| *position);
    for (key, (position, slot)) in gone {
        let mut row = row(before, key, &slot);
        was(&mut row, (position, slot));
        rows.push(row);
    }
    rows
}

fn signed(position: usize) -> i64 {
    i64::try_from(position).unwrap_or(i64::MAX)
}

fn groups(rows: &[ChangeRow], name: impl Fn(&ChangeRow) -> &String) -> Vec<Group> {
    let mut gains: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for row in rows {
        if let Some(gain) = row.gain {
            gains.entry(name(row)).or_default().push(gain);
        }
    }
    let group = |(name, gains): (&str, Vec<i64>)| {
        #[allow(clippy::cast_precision_loss)] // places of a queue
        let mean = gains.iter().sum::<i64>() as f64 / gains.len() as f64;
        Group {
            name: name.to_owned(),
            places: gains.len(),
            forward: gains.iter().filter(|gain| **gain > 0).count(),
            backward: gains.iter().filter(|gain| **gain < 0).count(),
            mean: finite(mean),
            furthest_forward: gains.iter().copied().max().unwrap_or_default().max(0),
            furthest_backward: gains.iter().copied().min().unwrap_or_default().min(0),
        }
    };
    let mut groups: Vec<Group> = gains.into_iter().map(group).collect();
    groups.sort_by(|a, b| b.mean.total_cmp(&a.mean));
    groups
}

/// Associations whose shares, usage or factor differ by more than what rounding leaves.
fn standings(before: &Model<'_>, after: &Model<'_>) -> Vec<StandingChange> {
    let is_another = |a: f64, b: f64| (a - b).abs() > 1e-12 * a.abs().max(b.abs());
    // Each algorithm has normalised shares of its own.
    let same_algorithm = before.config.algorithm == after.config.algorithm;
    let by_id: HashMap<u32, usize> =
        before.snapshot.associations.iter().enumerate().map(|(at, one)| (one.id, at)).collect();
    let change = |(at, association): (usize, &Association)| {
        let (old, new) = (before.standings[*by_id.get(&association.id)?], after.standings[at]);
        let of = |factor: Option<f64>| factor.unwrap_or(-1.0);
        let differs = same_algorithm && is_another(old.shares_norm, new.shares_norm)
            || is_another(old.usage, new.usage)
            || is_another(of(old.factor), of(new.factor));
        differs.then(|| StandingChange {
            account: association.account.clone(),
            user: association.user.clone(),
            partition: association.partition.clone(),
            shares_before: finite(old.shares_norm),
            shares_after: finite(new.shares_norm),
            usage_before: finite(old.usage),
            usage_after: finite(new.usage),
            factor_before: old.factor,
            factor_after: new.factor,
        })
    };
    after.snapshot.associations.iter().enumerate().filter_map(change).collect()
}
