//! Columns of the queue that come in groups: what a priority is the sum of, tickets, points. `-o addends` asks for a group as for a column.

use multifactor2_core::policy::points::Parts;
use schemars::JsonSchema;
use serde::Serialize;

use super::QueueRow;
use crate::model::{Addends, Model, Slot};
use crate::output::numbers::addend;
use crate::output::show::optional;

/// Tickets of a job.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct QueueTickets {
    /// All of them; where tickets are not given to single jobs, those of its user.
    pub total: f64,
    /// Override tickets; `None` where tickets are not given to single jobs.
    pub overridden: Option<f64>,
    /// Functional tickets.
    pub functional: Option<f64>,
    /// Tickets of the share tree.
    pub share_tree: Option<f64>,
}

impl QueueTickets {
    /// Of a job in a partition; `None` where they are not known.
    pub(super) fn of(model: &Model<'_>, slot: &Slot) -> Option<Self> {
        let book = model.book_in(slot.job, model.partition_of(slot));
        if let Some(tickets) = model.shares.in_book(book).tickets_of_job(slot.job) {
            return Some(Self {
                total: tickets.total(),
                overridden: Some(tickets.overridden),
                functional: Some(tickets.functional),
                share_tree: Some(tickets.share_tree),
            });
        }
        let total = model.standings_in(book)[model.jobs[slot.job].association?].tickets?;
        Some(Self { total, overridden: None, functional: None, share_tree: None })
    }
}

/// Points of a job.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct QueuePoints {
    /// All of them.
    pub total: i32,
    /// CRED
    pub cred: f64,
    /// FS
    pub fs: f64,
    /// RES
    pub res: f64,
    /// SERV
    pub serv: f64,
    /// TARGET
    pub target: f64,
    /// USAGE
    pub usage: f64,
}

impl QueuePoints {
    pub(super) fn of(parts: &Parts) -> Self {
        let Parts { cred, fs, res, serv, target, usage, total, .. } = *parts;
        Self { total, cred, fs, res, serv, target, usage }
    }
}

/// A group: its name, its columns.
type Group = (&'static str, &'static [&'static str]);

/// The columns behind those that are always there.
pub(super) const GROUPS: [Group; 3] = [
    (
        "addends",
        &[
            "AgeAddend>",
            "AssocAddend>",
            "FairShareAddend>",
            "JobSizeAddend>",
            "PartitionAddend>",
            "QOSAddend>",
            "TRESAddend>",
            "SiteAddend>",
            "NiceAddend>",
        ],
    ),
    ("tickets", &["Tickets>", "OverrideTickets>", "FunctionalTickets>", "ShareTreeTickets>"]),
    (
        "points",
        &["Points>", "CREDPoints>", "FSPoints>", "RESPoints>", "SERVPoints>", "TARGETPoints>", "USAGEPoints>"],
    ),
];

/// The cells of all groups.
pub(super) fn cells(row: &QueueRow) -> Vec<String> {
    let unknown = || "-".to_owned();
    let addends = |at: usize| row.addends.map_or_else(unknown, |addends: Addends| addend(addends.signed()[at]));
    let mut cells: Vec<String> = (0..Addends::NAMES.len()).map(addends).collect();
    let of = |find: fn(&QueueTickets) -> Option<f64>| optional(row.tickets.as_ref().and_then(find));
    cells.extend([of(|of| Some(of.total)), of(|of| of.overridden), of(|of| of.functional), of(|of| of.share_tree)]);
    let points = |find: fn(&QueuePoints) -> f64| row.points.as_ref().map_or_else(unknown, |of| addend(find(of)));
    cells.push(row.points.map_or_else(unknown, |points| points.total.to_string()));
    cells.extend([points(|of| of.cred), points(|of| of.fs), points(|of| of.res)]);
    cells.extend([points(|of| of.serv), points(|of| of.target), points(|of| of.usage)]);
    cells
}

/// Names of columns for what is asked for: those of a group for its name.
pub(super) fn named(asked: &[String]) -> Vec<String> {
    // "tickets" is a group and its first column: all of it is meant.
    let columns = |name: &String| match GROUPS.iter().find(|(group, _)| group.eq_ignore_ascii_case(name.trim())) {
        Some((_, columns)) => columns.iter().map(|column| column.trim_end_matches('>').to_owned()).collect(),
        None => vec![name.clone()],
    };
    asked.iter().flat_map(columns).collect()
}
