//! Columns of the queue that come in groups: the addends of a priority, tickets, points. `-o addends` selects a group as it would a column.

use multifactor2_core::policy::points::Parts;
use schemars::JsonSchema;
use serde::Serialize;

use super::QueueRow;
use crate::model::{Addends, Model, Slot};
use crate::output::numbers::addend;
use crate::output::show::optional;
use crate::output::Described;

/// Tickets of a job.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct QueueTickets {
    /// All of them; where tickets are not given to single jobs, those of its user.
    pub total: f64,
    /// Override tickets; `None` if tickets are not given to single jobs.
    pub overridden: Option<f64>,
    /// Functional tickets.
    pub functional: Option<f64>,
    /// Tickets of the share tree.
    pub share_tree: Option<f64>,
}

impl QueueTickets {
    /// Of a job in a partition; `None` if they are not known.
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

/// Points of a job, or of several together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct QueuePoints {
    /// All of them.
    pub total: i64,
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
    /// URGENCY
    pub urgency: f64,
    /// ATTR
    pub attr: f64,
}

impl QueuePoints {
    pub(super) fn of(parts: &Parts) -> Self {
        let Parts { cred, fs, res, serv, target, usage, urgency, attr, total, .. } = *parts;
        Self { total: total.into(), cred, fs, res, serv, target, usage, urgency, attr }
    }

    /// The headings of the components in the order of [`Self::parts`].
    pub(super) const NAMES: [&'static str; 8] =
        ["CRED>", "FS>", "RES>", "SERV>", "TARGET>", "USAGE>", "URGENCY>", "ATTR>"];

    /// What they are made of.
    pub(super) fn parts(&self) -> [f64; 8] {
        let Self { cred, fs, res, serv, target, usage, urgency, attr, .. } = *self;
        [cred, fs, res, serv, target, usage, urgency, attr]
    }

    /// With those of another job.
    #[must_use]
    pub(super) fn and(&self, other: &Self) -> Self {
        Self {
            total: self.total.saturating_add(other.total),
            cred: self.cred + other.cred,
            fs: self.fs + other.fs,
            res: self.res + other.res,
            serv: self.serv + other.serv,
            target: self.target + other.target,
            usage: self.usage + other.usage,
            urgency: self.urgency + other.urgency,
            attr: self.attr + other.attr,
        }
    }
}

/// The columns that are always there, and those of each group.
pub const ALL: &[&[Described]] = &[
    &[
        ("Position>", "The place in the whole queue, from 1; - if places are not known"),
        ("Rank>", "The place among the jobs of its partition"),
        ("Job", "The job as squeue shows it, with the tasks that wait"),
        ("User", "Its user"),
        ("Account", "Its account"),
        ("Partition", "The partition of this row; a job in several partitions has a row for each"),
        ("QOS", "Its QOS"),
        ("Priority>", "Its priority there"),
        ("FairShare>", "Its fair-share factor, from 0 to 1"),
        ("Tasks>", "How many tasks wait; 1 for a job that is no array"),
        ("Reason", "Why it waits, as squeue shows it"),
        ("Start", "When the backfill scheduler expects it to start"),
    ],
    &[
        ("AgeAddend>", "AGE, weighted as sprio shows it; so are the next eight"),
        ("AssocAddend>", "ASSOC"),
        ("FairShareAddend>", "FAIRSHARE"),
        ("JobSizeAddend>", "JOBSIZE"),
        ("PartitionAddend>", "PARTITION"),
        ("QOSAddend>", "QOS"),
        ("TRESAddend>", "The sum over TRES"),
        ("SiteAddend>", "SITE, points among it"),
        ("NiceAddend>", "What its nice value takes away, with its sign"),
    ],
    &[
        ("Tickets>", "Its tickets; those of its user if tickets are not given to single jobs"),
        ("OverrideTickets>", "Override tickets among them"),
        ("FunctionalTickets>", "Functional tickets among them"),
        ("ShareTreeTickets>", "Tickets of the share tree among them"),
    ],
    &[
        ("Points>", "Its points, which are a part of SITE, as are the next eight"),
        ("CREDPoints>", "Those of the component CRED"),
        ("FSPoints>", "Those of FS"),
        ("RESPoints>", "Those of RES"),
        ("SERVPoints>", "Those of SERV"),
        ("TARGETPoints>", "Those of TARGET"),
        ("USAGEPoints>", "Those of USAGE"),
        ("URGENCYPoints>", "Those of URGENCY"),
        ("ATTRPoints>", "Those of ATTR"),
    ],
];

/// The names of the groups, which stand for their columns.
const GROUPS: [&str; 3] = ["addends", "tickets", "points"];

/// The cells of all groups.
pub(super) fn cells(row: &QueueRow) -> Vec<String> {
    let unknown = || "-".to_owned();
    let addends = |at: usize| row.addends.map_or_else(unknown, |addends: Addends| addend(addends.signed()[at]));
    let mut cells: Vec<String> = (0..Addends::NAMES.len()).map(addends).collect();
    let of = |find: fn(&QueueTickets) -> Option<f64>| optional(row.tickets.as_ref().and_then(find));
    cells.extend([of(|of| Some(of.total)), of(|of| of.overridden), of(|of| of.functional), of(|of| of.share_tree)]);
    cells.push(row.points.map_or_else(unknown, |points| points.total.to_string()));
    let parts = |at: usize| row.points.map_or_else(unknown, |points| addend(points.parts()[at]));
    cells.extend((0..QueuePoints::NAMES.len()).map(parts));
    cells
}

/// Whether something of a group is asked for, by its name or one of its columns.
pub(super) fn asks_for(asked: &[String], group: &str) -> bool {
    let Some(at) = GROUPS.iter().position(|name| *name == group) else { return false };
    let of_group = |name: &String| {
        let name = name.trim().split('%').next().unwrap_or_default();
        name.eq_ignore_ascii_case(group)
            || ALL[at + 1].iter().any(|(column, _)| column.trim_end_matches('>').eq_ignore_ascii_case(name))
    };
    asked.iter().any(of_group)
}

/// Names of columns for what is asked for: those of a group for its name.
pub(super) fn named(asked: &[String]) -> Vec<String> {
    // "tickets" is a group and its first column: all of it is meant.
    let columns = |name: &String| match GROUPS.iter().position(|group| group.eq_ignore_ascii_case(name.trim())) {
        Some(at) => ALL[at + 1].iter().map(|(column, _)| column.trim_end_matches('>').to_owned()).collect(),
        None => vec![name.clone()],
    };
    asked.iter().flat_map(columns).collect()
}
