//! The tree of associations: shares, usage, standing, tickets, and who waits and runs where.

pub mod page;
pub mod targets;
mod text;
mod waits;

use std::path::PathBuf;

use multifactor2_core::books::{BookAt, BookSet};
use multifactor2_core::{Node, USE_PARENT};
use multifactor2_snapshot::records::Running;
use schemars::JsonSchema;
use serde::Serialize;

use self::waits::{History, Waits};
use super::{finite, Answer, Ask, Report};
use self::targets::{Asked, Targets};
use crate::answers::grants::{grants, GrantRow};
use crate::error::Error;
use crate::files;
use crate::input::Needs;
use crate::model::Model;
use crate::options::{own_name, Files, OfTime, Printed, NO_FILES};
use crate::output::show::printout;
use crate::output::{Described, Printout, Schema, Terminal};
use crate::progress::Progress;

/// Show accounts and users with shares, usage, LevelFS, tickets, waiting and running jobs
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  multifactor2 tree\n  multifactor2 tree -A c -P\n  multifactor2 tree --json --at +7-0\n  multifactor2 tree --html tree.html --svg tree.svg\n  multifactor2 tree --targets\n  multifactor2 tree --windows -u ann\n  multifactor2 tree --waits --since now-30days"
)]
#[group(skip)]
#[allow(missing_docs, clippy::doc_markdown)] // shown as help
pub struct Arguments {
    #[command(flatten)]
    pub filter: Filter,
    /// Only your rows
    #[arg(long)]
    pub me: bool,
    /// Show how far usage is from the targets, floors, ceilings and caps of Target lines, and the resulting points
    #[arg(long)]
    pub targets: bool,
    /// Show the usage of each window, if targets or the share tree use windows
    #[arg(long)]
    pub windows: bool,
    #[command(flatten)]
    pub history: History,
    #[command(flatten)]
    pub files: Files,
    /// Write a picture of the tree
    #[arg(long, value_name = "FILE", conflicts_with_all = NO_FILES)]
    pub svg: Option<PathBuf>,
    #[command(flatten)]
    pub printed: Printed,
    #[command(flatten)]
    pub of: OfTime,
}

impl Ask for Arguments {
    const ANSWERS: &'static str = "accounts and users with shares, usage, LevelFS, tickets, waiting and running jobs. With `--targets` the distance of usage from the targets, floors, ceilings and caps of `Target` lines, with `--windows` the usage in each window ([points.md](points.md#how-far-everybody-is), [tree-windows.md](tree-windows.md)), with `--waits` finished jobs and how long they waited";
    const EXAMPLE: &'static str = "multifactor2 tree -A c";
    const COLUMNS: &'static [&'static [Described]] = &[text::COLUMNS, waits::COLUMNS, targets::TARGETS, targets::WINDOWS];

    fn schemas() -> Vec<Schema> {
        vec![Tree::schema(), Waits::schema(), Targets::schema()]
    }

    fn ask(&self, terminal: Terminal) -> Result<Printout, Error> {
        let since = self.history.since()?;
        let progress = Progress::begin();
        let needs = Needs { tree_only: self.history.waits, ..Needs::default() };
        let snapshot = self.of.snapshot(&needs, &progress)?;
        let model = self.of.model(&snapshot)?;
        let mut filter = self.filter.clone();
        if self.me {
            filter.users.push(own_name()?);
        }
        if let Some(since) = since {
            let waits = waits::waits(&model, &filter, since, &self.of.input, progress)?;
            return waits::printout(model, waits, self, terminal);
        }
        let is_printed = self.files.html.is_none() && self.svg.is_none();
        if is_printed && (self.targets || self.windows) {
            let asked = Asked { targets: self.targets, windows: self.windows };
            let answer = targets::targets(&model, &filter, asked);
            return printout(&model, answer, self.of.form, &self.printed, terminal);
        }
        let tree = tree(&model, &filter);
        if is_printed {
            return printout(&model, tree, self.of.form, &self.printed, terminal);
        }
        let report = Report::new(&model, tree);
        if let Some(file) = &self.files.html {
            let of_targets = targets::targets(&model, &filter, Asked { targets: true, windows: true });
            files::write_text(file, &page::page(&report, &of_targets)?)?;
        }
        if let Some(file) = &self.svg {
            files::write_text(file, &page::picture(&report))?;
        }
        Ok(Printout::default())
    }
}

/// Which associations are asked for: all where nothing is said. Those above them are always there.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
#[group(skip)]
pub struct Filter {
    /// Only these users
    #[arg(short, long = "user", value_name = "NAMES", value_delimiter = ',')]
    pub users: Vec<String>,
    /// Only these accounts, with all below them
    #[arg(short = 'A', long = "account", value_name = "NAMES", value_delimiter = ',')]
    pub accounts: Vec<String>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Tree {
    /// All that are asked for, each account before what is below it; where there are books, one book after the other.
    pub rows: Vec<TreeRow>,
    /// The state of the grants; empty if there are none, or if the plugin's snapshot cannot be read.
    pub grants: Vec<GrantRow>,
}

/// An association.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TreeRow {
    /// Its id.
    pub id: u32,
    /// The id of its parent; 0 for the root.
    pub parent: u32,
    /// How many are above it.
    pub depth: usize,
    /// The book that shares, usage, standing and tickets are of; `None` if there are no books.
    pub book: Option<String>,
    /// Its account.
    pub account: String,
    /// Its user; empty for an account.
    pub user: String,
    /// The partition that it is for; empty for all.
    pub partition: String,
    /// Raw shares; `None` for `Fairshare=parent`.
    pub shares: Option<u32>,
    /// S: its part of the whole cluster, from 0 to 1.
    pub shares_norm: f64,
    /// Raw usage: seconds times billing, decayed. In a book other than the default one, the usage for its shares.
    pub usage: f64,
    /// With `TreeUsage=window`, the usage for shares: the weighted usage of its windows, in seconds times billing. `None`
    /// otherwise, and if it is not known.
    pub window_usage: Option<f64>,
    /// U: its part of all usage that shares use, from 0 to 1.
    pub usage_norm: f64,
    /// Effective usage.
    pub usage_effective: f64,
    /// F: above 1 it has used less than its share, below 1 more.
    pub level_fs: Option<f64>,
    /// Tickets; those that it would have where it is not active.
    pub tickets: Option<f64>,
    /// The part of its parent's tickets, from 0 to 1.
    pub level_share: Option<f64>,
    /// It, or something below it, has jobs that compete.
    pub active: bool,
    /// The fair-share factor of its next job, from 0 to 1, of users only.
    pub factor: Option<f64>,
    /// Waiting jobs and tasks, with those below; in a book those that wait in it.
    pub waiting: u64,
    /// Running jobs, with those below.
    pub running: u64,
}

impl Answer for Tree {
    const NAME: &'static str = "tree";
}

impl TreeRow {
    /// The usage that shares go by.
    pub fn counted(&self) -> f64 {
        self.window_usage.unwrap_or(self.usage)
    }
}

/// Answers it.
pub fn tree(model: &Model<'_>, filter: &Filter) -> Tree {
    let all = &model.snapshot.associations;
    let wanted = wanted(model, filter);
    let shape = &model.tree.shape;
    let mut depths = vec![0; shape.len()];
    for node in shape.nodes() {
        if let Some(parent) = shape.parent(node) {
            depths[node.index()] = depths[parent.index()] + 1;
        }
    }
    let in_tree = shape.nodes().map(|node| (model.tree.association(node), depths[node.index()]));
    // Those whose parents cannot be seen.
    let others = (0..all.len()).filter(|place| model.tree.node(*place).is_none()).map(|place| (place, 0));
    let places: Vec<(usize, usize)> = in_tree.chain(others).filter(|(place, _)| wanted[*place]).collect();
    let mut rows = Vec::new();
    for book in BookSet::from_numbers(0..=model.config.books.names().len()).iter() {
        let jobs = (counts(model, &of_jobs(model, book)), counts(model, &of_running(model, book)));
        rows.extend(places.iter().map(|(place, depth)| row(model, (*place, *depth), book, &jobs)));
    }
    let all = grants(model, None).ok().and_then(|answer| answer.grants).unwrap_or_default();
    let is_all = *filter == Filter::default();
    let is_shown = |grant: &GrantRow| {
        let is_of = |row: &TreeRow| match grant.kind.as_str() {
            "Account" => row.account == grant.name,
            "User" => row.user == grant.name,
            _ => false,
        };
        is_all || rows.iter().any(is_of)
    };
    Tree { grants: all.into_iter().filter(is_shown).collect(), rows }
}

/// What is asked for: also what is above it, and what is below an account of the filter.
fn wanted(model: &Model<'_>, filter: &Filter) -> Vec<bool> {
    let all = &model.snapshot.associations;
    let is_asked_for = |place: usize| {
        let association = &all[place];
        (filter.users.is_empty() || !association.user.is_empty() && filter.users.contains(&association.user))
            && (filter.accounts.is_empty() || filter.accounts.contains(&association.account))
    };
    let mut wanted: Vec<bool> = (0..all.len()).map(is_asked_for).collect();
    let shape = &model.tree.shape;
    let place = |node: Node| model.tree.association(node);
    let above_accounts = filter.users.is_empty();
    for node in shape.nodes().skip(1) {
        if let Some(parent) = shape.parent(node).filter(|_| above_accounts) {
            // Below an account that was named; what is above one is put in behind this.
            wanted[place(node)] |= wanted[place(parent)];
        }
    }
    for node in shape.nodes().rev() {
        if let (Some(parent), true) = (shape.parent(node), wanted[place(node)]) {
            wanted[place(parent)] = true;
        }
    }
    wanted
}

fn of_jobs(model: &Model<'_>, book: BookAt) -> Vec<u64> {
    let mut counts = vec![0; model.snapshot.associations.len()];
    for (place, job) in model.jobs.iter().enumerate() {
        let waits_here = model.books_of(place).has(book);
        if let Some(association) = job.association.filter(|_| waits_here) {
            counts[association] += model.tasks(place);
        }
    }
    counts
}

fn of_running(model: &Model<'_>, book: BookAt) -> Vec<u64> {
    let mut counts = vec![0; model.snapshot.associations.len()];
    let in_book = |running: &&Running| model.book_of(&running.partition) == book;
    for running in model.snapshot.running.iter().filter(in_book) {
        if let Some(association) = model.tree.by_id(running.association) {
            counts[association] += u64::from(running.count);
        }
    }
    counts
}

/// With those below.
fn counts(model: &Model<'_>, own: &[u64]) -> Vec<u64> {
    let mut counts = own.to_vec();
    let shape = &model.tree.shape;
    for node in shape.nodes().rev() {
        if let Some(parent) = shape.parent(node) {
            counts[model.tree.association(parent)] += counts[model.tree.association(node)];
        }
    }
    counts
}

fn row(
    model: &Model<'_>,
    (place, depth): (usize, usize),
    book: BookAt,
    (waiting, running): &(Vec<u64>, Vec<u64>),
) -> TreeRow {
    let (association, standing) = (&model.snapshot.associations[place], &model.standings_in(book)[place]);
    TreeRow {
        id: association.id,
        parent: association.parent,
        depth,
        book: model.book_name(book).map(str::to_owned),
        account: association.account.clone(),
        user: association.user.clone(),
        partition: association.partition.clone(),
        shares: Some(standing.shares).filter(|shares| *shares != USE_PARENT),
        shares_norm: finite(standing.shares_norm),
        usage: finite(standing.usage),
        window_usage: model.tree.in_windows(place).map(finite),
        usage_norm: finite(standing.usage_norm),
        usage_effective: finite(standing.usage_effective),
        level_fs: standing.level_fs.filter(|value| value.is_finite()),
        tickets: standing.tickets,
        level_share: standing.level_share,
        active: standing.active,
        factor: standing.factor,
        waiting: waiting[place],
        running: running[place],
    }
}
