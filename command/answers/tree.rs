//! The tree of associations: shares, usage, standing, tickets, and who waits and runs where.

use multifactor2_core::{Node, USE_PARENT};
use schemars::JsonSchema;
use serde::Serialize;

use super::{finite, Answer};
use crate::model::Model;

/// Which associations are asked for: all where nothing is said. Those above them are always there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Users.
    pub users: Vec<String>,
    /// Accounts, with all below them.
    pub accounts: Vec<String>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Tree {
    /// All that are asked for, each account before what is below it.
    pub rows: Vec<Row>,
}

/// An association.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// Its id.
    pub id: u32,
    /// The id of its parent; 0 for the root.
    pub parent: u32,
    /// How many are above it.
    pub depth: usize,
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
    /// Raw usage: seconds times billing, decayed.
    pub usage: f64,
    /// U: its part of all usage, from 0 to 1.
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
    /// Waiting jobs and tasks, with those below.
    pub waiting: u64,
    /// Running jobs, with those below.
    pub running: u64,
}

impl Answer for Tree {
    const NAME: &'static str = "tree";
}

/// Answers it.
pub fn tree(model: &Model<'_>, filter: &Filter) -> Tree {
    let all = &model.snapshot.associations;
    let (waiting, running) = (counts(model, &of_jobs(model)), counts(model, &of_running(model)));
    let wanted = wanted(model, filter);
    let shape = &model.tree.shape;
    let mut depths = vec![0; shape.len()];
    let mut rows = Vec::new();
    for node in shape.nodes() {
        if let Some(parent) = shape.parent(node) {
            depths[node.index()] = depths[parent.index()] + 1;
        }
        let place = model.tree.association(node);
        if wanted[place] {
            rows.push(row(model, place, depths[node.index()], waiting[place], running[place]));
        }
    }
    // Those whose parents cannot be seen.
    for place in (0..all.len()).filter(|place| model.tree.node(*place).is_none() && wanted[*place]) {
        rows.push(row(model, place, 0, waiting[place], running[place]));
    }
    Tree { rows }
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

fn of_jobs(model: &Model<'_>) -> Vec<u64> {
    let mut counts = vec![0; model.snapshot.associations.len()];
    for (place, job) in model.jobs.iter().enumerate() {
        if let Some(association) = job.association {
            counts[association] += model.tasks(place);
        }
    }
    counts
}

fn of_running(model: &Model<'_>) -> Vec<u64> {
    let mut counts = vec![0; model.snapshot.associations.len()];
    for running in &model.snapshot.running {
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

fn row(model: &Model<'_>, place: usize, depth: usize, waiting: u64, running: u64) -> Row {
    let (association, standing) = (&model.snapshot.associations[place], &model.standings[place]);
    Row {
        id: association.id,
        parent: association.parent,
        depth,
        account: association.account.clone(),
        user: association.user.clone(),
        partition: association.partition.clone(),
        shares: Some(association.shares).filter(|shares| *shares != USE_PARENT),
        shares_norm: finite(standing.shares_norm),
        usage: finite(standing.usage),
        usage_norm: finite(standing.usage_norm),
        usage_effective: finite(standing.usage_effective),
        level_fs: standing.level_fs.filter(|value| value.is_finite()),
        tickets: standing.tickets,
        level_share: standing.level_share,
        active: standing.active,
        factor: standing.factor,
        waiting,
        running,
    }
}
