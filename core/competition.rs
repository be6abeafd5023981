//! Where every association stands before tickets are distributed: its usage, its distance from its share, and whether it takes part.
//! `sshare` shows this, and all ticket policies use it.

use crate::ties::same;
use crate::tree::{at, Node, ShareTree};

/// Usage below this part of the normalised share counts as this part, which bounds F.
pub(crate) const USAGE_FLOOR: f64 = 0.01;

/// The largest F, reached by associations at or below the usage floor.
pub(crate) const MAX_LEVEL_FS: f64 = 100.0;

/// F = S / `U_eff`, from 0 to 100, for an effective usage that need not respect the floor of 1 % of S; 0 where S is 0 or
/// either is not a number. At the floor it is exactly 100, whatever S / (0.01 · S) is in the last bit.
pub fn fair_share_factor(shares_norm: f64, usage_effective: f64) -> f64 {
    if shares_norm > 0.0 && usage_effective >= 0.0 {
        at_most_largest(shares_norm / usage_effective)
    } else {
        0.0
    }
}

/// Usage and activity of all associations of a [`ShareTree`]; 9 bytes each, reused in the next cycle. For a node outside the tree
/// of the last [`Self::read`] everything is 0.
#[derive(Clone, Debug, Default)]
pub struct Competition {
    /// Raw, no more than the root's.
    usage: Vec<f64>,
    root_usage: f64,
    active: Vec<Activity>,
}

/// Whether an association takes part: it, or something below it, has waiting jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Activity {
    #[default]
    Idle,
    /// Since the last [`Competition::read`].
    Joined,
    /// At the last [`Competition::read`] already.
    Active,
}

impl Competition {
    /// Reads usage and which users wait.
    ///
    /// `usage` is the raw (decayed) usage by [`Node::index`], in any unit, or the dominant shares. NaN, negative and missing values count
    /// as 0, infinity as the largest number. Each value is compared with the root's only, so that of an account need not be the sum of
    /// those below it. `waiting` is the number of waiting jobs by [`Node::index`]; only users' count.
    pub(crate) fn read(&mut self, tree: &ShareTree, usage: &[f64], waiting: &[u32]) {
        self.read_usage(tree, usage);
        self.mark_active(tree, waiting);
    }

    fn read_usage(&mut self, tree: &ShareTree, usage: &[f64]) {
        let root_usage = tree.root().map_or(0.0, |root| sane(at(usage, root)));
        self.root_usage = root_usage;
        self.usage.clear();
        self.usage.extend(tree.nodes().map(|node| sane(at(usage, node)).min(root_usage)));
    }

    /// Users with waiting jobs and all their ancestors.
    fn mark_active(&mut self, tree: &ShareTree, waiting: &[u32]) {
        self.active.clear();
        self.active.extend(tree.nodes().map(|node| {
            if tree.is_user(node) && at(waiting, node) > 0 {
                Activity::Active
            } else {
                Activity::Idle
            }
        }));
        for node in tree.nodes().rev() {
            if let (true, Some(parent)) = (self.is_active(node), tree.parent(node)) {
                self.active[parent.index()] = Activity::Active;
            }
        }
    }

    /// U: usage over the root's, from 0 to 1; 0 where the root has none. Its own also for `Fairshare=parent`.
    pub fn usage_norm(&self, node: Node) -> f64 {
        match at(&self.usage, node) {
            0.0 => 0.0,
            usage => usage / self.root_usage,
        }
    }

    /// `U_eff`: U, at least 1 % of S. That of the fair-share parent for `Fairshare=parent`.
    pub fn usage_effective(&self, tree: &ShareTree, node: Node) -> f64 {
        let node = competitor(tree, node);
        self.usage_norm(node).max(USAGE_FLOOR * tree.shares_norm(node))
    }

    /// F: S over `U_eff`, from 0 to 100; below 1 for associations that used more than their share, and 0 if S is 0. With `Fairshare=parent`
    /// it is that of the fair-share parent. Siblings with the same F on paper have the same to the last bit, even at the ceiling.
    pub fn level_fs(&self, tree: &ShareTree, node: Node) -> f64 {
        let node = competitor(tree, node);
        if let Some(parent) = tree.fair_share_parent(node) {
            // Raw shares by raw usage is rounded once, so it is the same for all siblings that have the same quotient. What it is multiplied
            // with is the same for all siblings.
            let of_one = f64::from(tree.claim(node)) / at(&self.usage, node);
            let of_all = tree.shares_norm_per_claim(parent) * self.root_usage;
            if of_one.is_normal() && of_all.is_normal() {
                return at_most_largest(of_one * of_all);
            }
        }
        fair_share_factor(tree.shares_norm(node), self.usage_effective(tree, node))
    }

    /// An association begins to take part.
    pub(crate) fn join(&mut self, node: Node) {
        if let Some(active @ Activity::Idle) = self.active.get_mut(node.index()) {
            *active = Activity::Joined;
        }
    }

    /// Whether it took part at the last [`Self::read`] already.
    pub fn was_active(&self, node: Node) -> bool {
        at(&self.active, node) == Activity::Active
    }

    /// True for a user with waiting jobs and for every ancestor of one, those that have joined included.
    pub fn is_active(&self, node: Node) -> bool {
        at(&self.active, node) != Activity::Idle
    }
}

/// The ceiling is one number for all that have reached it.
fn at_most_largest(level_fs: f64) -> f64 {
    if level_fs > MAX_LEVEL_FS || same(level_fs, MAX_LEVEL_FS) {
        MAX_LEVEL_FS
    } else {
        level_fs
    }
}

/// The association whose share and usage count: itself, or the fair-share parent for `Fairshare=parent`.
fn competitor(tree: &ShareTree, node: Node) -> Node {
    match tree.fair_share_parent(node) {
        Some(parent) if tree.uses_parent(node) => parent,
        _ => node,
    }
}

/// Usage as a finite number that is not negative.
pub(super) fn sane(usage: f64) -> f64 {
    // The comparison is false for NaN.
    if usage > 0.0 {
        usage.min(f64::MAX)
    } else {
        0.0
    }
}
