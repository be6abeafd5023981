//! Fair Tree: siblings are ordered by `LevelFS`, and walking the tree in this order ranks the users.
//!
//! `LevelFS` is the share among the siblings over the usage among them: infinity without usage, 0 without shares. The best user of the
//! best account comes first and has the factor 1; each user that follows is one further down, by one part of the number of users.
//!
//! - Siblings with the same `LevelFS`: users before accounts; users share a rank; the next one is as far down as if they did not.
//! - `Fairshare=parent`: a user comes first in its account, as one with infinite `LevelFS`, and sshare leaves the cell empty. The
//!   members of such an account compete in the account above it, and the account itself with nobody. All four releases do so.
//! - Directly below the root, `NormShares` of `Fairshare=parent` is the root's own shares over 4294967294, which shows as 0.
//! - **Accounts with the same `LevelFS` are not merged**, although Slurm's page says so: its test for the next tied account ends at any
//!   account, in all four releases. What happens instead: the later one, by the order in which slurmctld has them, comes after
//!   the earlier one, and its best users share the rank of the worst of the earlier one.

use rustc_apfloat::Float;
use std::cmp::Ordering;
use std::vec::IntoIter;

use super::{long, short, LongDouble, Shown, Site, NO_VAL};
use crate::tree::{Node, USE_PARENT};

pub(super) fn standings(site: &Site) -> Vec<Shown> {
    let tree = site.tree;
    let mut levels = Vec::with_capacity(tree.len());
    let mut all: Vec<Shown> = tree
        .nodes()
        .map(|node| {
            let norm_shares = norm_shares(site, node);
            let usage = tree.fair_share_parent(node).map_or(long(1.0), |above| site.usage_over(node, above));
            let level = level(site, node, norm_shares, usage);
            levels.push(level);
            let competes = tree.parent(node).is_some() && !tree.uses_parent(node);
            Shown {
                norm_shares,
                effectv_usage: short(usage),
                level_fs: competes.then(|| short(level)),
                ..site.shown(node)
            }
        })
        .collect();
    for (node, factor) in factors(site, &levels) {
        all[node.index()].fair_share = Some(factor);
        all[node.index()].factor = Some(factor);
    }
    all
}

fn norm_shares(site: &Site, node: Node) -> f64 {
    let tree = site.tree;
    match tree.fair_share_parent(node) {
        // Slurm never sets the sum of the shares beside the root.
        None => f64::from(tree.shares(node).min(USE_PARENT)) / NO_VAL,
        Some(above) if tree.uses_parent(node) && tree.parent(above).is_none() => norm_shares(site, above),
        Some(above) if tree.uses_parent(node) => site.share_of_level(above),
        Some(_) => site.share_of_level(node),
    }
}

fn level(site: &Site, node: Node, norm_shares: f64, usage: LongDouble) -> LongDouble {
    let tree = site.tree;
    if tree.uses_parent(node) {
        if tree.is_user(node) {
            LongDouble::INFINITY
        } else {
            long(NO_VAL)
        }
    } else if norm_shares == 0.0 {
        LongDouble::ZERO
    } else {
        (long(norm_shares) / usage).value
    }
}

/// Siblings that are being ranked; those below one of them come in between.
struct Siblings {
    rest: IntoIter<Node>,
    /// The first one is tied with the user before it.
    tied: bool,
    /// `LevelFS` of the one before.
    previous: LongDouble,
}

/// The factor of each user.
fn factors(site: &Site, levels: &[LongDouble]) -> Vec<(Node, f64)> {
    let tree = site.tree;
    let mut children: Vec<Vec<Node>> = vec![Vec::new(); tree.len()];
    for node in tree.nodes() {
        if let Some(above) = tree.fair_share_parent(node) {
            children[above.index()].push(node);
        }
    }
    let users = tree.nodes().filter(|node| tree.is_user(*node)).fold(0_u32, |count, _| count + 1);
    let mut factors = Vec::with_capacity(users as usize);
    let mut ranked = |node: Node, tied: bool| {
        let mut siblings = std::mem::take(&mut children[node.index()]);
        siblings.sort_by(|a, b| order(site, levels, *a, *b));
        Siblings { rest: siblings.into_iter(), tied, previous: long(NO_VAL) }
    };
    let mut open: Vec<Siblings> = tree.root().map(|root| ranked(root, false)).into_iter().collect();
    // The rank of the next user, and of the last one.
    let (mut next, mut rank) = (users, users);
    while let Some(siblings) = open.last_mut() {
        let Some(node) = siblings.rest.next() else {
            open.pop();
            continue;
        };
        let level = levels[node.index()];
        let tied = std::mem::take(&mut siblings.tied) || siblings.previous == level;
        siblings.previous = level;
        if tree.is_user(node) {
            if !tied {
                rank = next;
            }
            next -= 1;
            factors.push((node, f64::from(rank) / f64::from(users)));
        } else {
            open.push(ranked(node, tied));
        }
    }
    factors
}

/// The larger `LevelFS` first, then users; the others stay as they are.
fn order(site: &Site, levels: &[LongDouble], a: Node, b: Node) -> Ordering {
    let by_level = levels[b.index()].partial_cmp(&levels[a.index()]).unwrap_or(Ordering::Equal);
    by_level.then_with(|| site.tree.is_user(b).cmp(&site.tree.is_user(a)))
}
