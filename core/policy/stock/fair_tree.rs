//! Fair Tree: `LevelFS` orders siblings, and walking the tree in this order ranks the users.
//!
//! `LevelFS` is the share among the siblings over the usage among them: infinity without usage, 0 without shares. The best user of the best
//! account comes first and has the factor 1. Each user that follows is lower by one part of the number of users.
//!
//! - Siblings with the same `LevelFS`: users come before accounts, and users share a rank. The next one is as far down as if they did not.
//! - `Fairshare=parent`: a user comes first in its account, like one with infinite `LevelFS`, and sshare leaves the cell empty. The members
//!   of such an account compete in the account above it, and the account itself with nobody. All four releases do so.
//! - Directly below the root, `NormShares` of `Fairshare=parent` is the root's own shares over 4294967294, which shows as 0.
//! - **Accounts with the same `LevelFS` are not merged**, although Slurm's page says so: in all four releases the test for the next tied
//!   account ends at any account. Instead, the later account in slurmctld's order comes after the earlier one, and its best users share the
//!   rank of the earlier one's worst.

use rustc_apfloat::Float;
use std::cmp::Ordering;
use std::vec::IntoIter;

use super::{long, short, LongDouble, Shown, Site, NO_VAL};
use crate::tree::{Node, ShareTree, USE_PARENT};

pub(super) fn standings(site: &Site) -> Vec<Shown> {
    let tree = site.tree;
    let mut levels = Vec::with_capacity(tree.len());
    let mut all: Vec<Shown> = tree
        .nodes()
        .map(|node| {
            let norm_shares = norm_shares(site, node);
            let usage = usage(site, node);
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
    for (node, factor) in ranked(tree, &levels) {
        all[node.index()].fair_share = Some(factor);
        all[node.index()].factor = Some(factor);
    }
    all
}

/// Only the factors of the users, from levels that are worked out exactly only where that decides.
pub(super) fn factors(site: &Site) -> Vec<f64> {
    let mut factors = vec![0.0; site.tree.len()];
    for (node, factor) in ranked(site.tree, &Near::new(site)) {
        factors[node.index()] = factor;
    }
    factors
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

/// Usage over that of the fair-share parent.
fn usage(site: &Site, node: Node) -> LongDouble {
    site.tree.fair_share_parent(node).map_or(long(1.0), |above| site.usage_over(node, above))
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

/// `LevelFS` of associations, as a ranking compares it.
trait Levels {
    /// How two of them compare. `None` stands for Slurm's `NO_VAL`.
    fn compare(&self, a: Option<Node>, b: Option<Node>) -> Ordering;
}

impl Levels for Vec<LongDouble> {
    fn compare(&self, a: Option<Node>, b: Option<Node>) -> Ordering {
        let level = |node: Option<Node>| node.map_or(long(NO_VAL), |node| self[node.index()]);
        compare(level(a), level(b))
    }
}

fn compare(a: LongDouble, b: LongDouble) -> Ordering {
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}

/// Levels as `f64`, and as `long double` where two are too near to each other.
///
/// A replay ranks a tree a hundred thousand times, and `long double` without hardware would take most of its time.
struct Near<'a> {
    site: &'a Site<'a>,
    /// By node: less than three roundings away from what it would be without any. Zero and infinity are exact; NaN is not known.
    levels: Vec<f64>,
}

impl<'a> Near<'a> {
    /// Two levels that differ by more than this, in parts of the larger, compare as their `long double` do: each has two roundings,
    /// of 2^-53 at most, and those of `long double` are finer.
    const APART: f64 = f64::EPSILON * 4.0;

    fn new(site: &'a Site<'a>) -> Self {
        Self { site, levels: site.tree.nodes().map(|node| Self::level(site, node)).collect() }
    }

    /// As [`level`] has it.
    fn level(site: &Site, node: Node) -> f64 {
        let tree = site.tree;
        if tree.uses_parent(node) {
            return if tree.is_user(node) { f64::INFINITY } else { NO_VAL };
        }
        let shares = norm_shares(site, node);
        if shares == 0.0 {
            return 0.0;
        }
        let usage = match tree.fair_share_parent(node) {
            None => 1.0,
            Some(above) => match (site.usage(node), site.usage(above)) {
                (0.0, _) | (_, 0.0) => return f64::INFINITY,
                (own, whole) => own / whole,
            },
        };
        let level = shares / usage;
        // Others have lost more than a rounding, or have become zero or infinity here and not in a long double.
        if usage.is_normal() && level.is_normal() {
            level
        } else {
            f64::NAN
        }
    }

    fn exact(&self, node: Option<Node>) -> LongDouble {
        node.map_or(long(NO_VAL), |node| {
            level(self.site, node, norm_shares(self.site, node), usage(self.site, node))
        })
    }
}

impl Levels for Near<'_> {
    fn compare(&self, a: Option<Node>, b: Option<Node>) -> Ordering {
        let level = |node: Option<Node>| node.map_or(NO_VAL, |node| self.levels[node.index()]);
        let (near_a, near_b) = (level(a), level(b));
        let are_apart = (near_a - near_b).abs() > Self::APART * near_a.max(near_b).min(f64::MAX);
        let are_exact = near_a == 0.0 && near_b == 0.0 || near_a.is_infinite() && near_b.is_infinite();
        let known = if are_apart || are_exact { near_a.partial_cmp(&near_b) } else { None };
        known.unwrap_or_else(|| compare(self.exact(a), self.exact(b)))
    }
}

/// Siblings that are being ranked; those below one of them come in between.
struct Siblings {
    rest: IntoIter<Node>,
    /// The first one is tied with the user before it.
    tied: bool,
    /// The one before.
    previous: Option<Node>,
}

/// The factor of each user.
fn ranked(tree: &ShareTree, levels: &impl Levels) -> Vec<(Node, f64)> {
    let mut children: Vec<Vec<Node>> = vec![Vec::new(); tree.len()];
    for node in tree.nodes() {
        if let Some(above) = tree.fair_share_parent(node) {
            children[above.index()].push(node);
        }
    }
    let users = tree.nodes().filter(|node| tree.is_user(*node)).fold(0_u32, |count, _| count + 1);
    let mut factors = Vec::with_capacity(users as usize);
    let mut below = |node: Node, tied: bool| {
        let mut siblings = std::mem::take(&mut children[node.index()]);
        // The larger one first, then users; the others stay as they are.
        siblings.sort_by(|a, b| {
            levels.compare(Some(*b), Some(*a)).then_with(|| tree.is_user(*b).cmp(&tree.is_user(*a)))
        });
        Siblings { rest: siblings.into_iter(), tied, previous: None }
    };
    let mut open: Vec<Siblings> = tree.root().map(|root| below(root, false)).into_iter().collect();
    // The rank of the next user, and of the last one.
    let (mut next, mut rank) = (users, users);
    while let Some(siblings) = open.last_mut() {
        let Some(node) = siblings.rest.next() else {
            open.pop();
            continue;
        };
        let tied = std::mem::take(&mut siblings.tied)
            || levels.compare(siblings.previous, Some(node)) == Ordering::Equal;
        siblings.previous = Some(node);
        if tree.is_user(node) {
            if !tied {
                rank = next;
            }
            next -= 1;
            factors.push((node, f64::from(rank) / f64::from(users)));
        } else {
            open.push(below(node, tied));
        }
    }
    factors
}
