//! The distribution of tickets: each cycle's fair-share factors.
//!
//! Tickets flow from the root to the users who wait, at every level in proportion to S·F among the siblings
//! that have somebody waiting. A user's factor is its tickets over those of the best user. Users without
//! waiting jobs get prospective tickets: what they would hold if they alone began to wait.
//!
//! Tickets are `f64`, never rounded: tickets in integers, truncated level by level, leave users deep in a
//! wide tree with none.

use crate::tree::{at, Node, ShareTree};

/// Tickets at the root. Any constant gives the same factors; this one makes readable numbers.
pub const ROOT_TICKETS: f64 = 1000.0;

/// Usage below this part of the normalised share counts as this part, which bounds F.
pub const USAGE_FLOOR: f64 = 0.01;

/// The largest F, reached by associations at or below the usage floor.
pub const MAX_LEVEL_FS: f64 = 100.0;

/// F = S / `U_eff`, from 0 to 100, for an effective usage that need not respect the floor of 1 % of S; 0 where S is 0 or
/// either is not a number.
pub fn fair_share_factor(shares_norm: f64, usage_effective: f64) -> f64 {
    if shares_norm > 0.0 && usage_effective >= 0.0 {
        (shares_norm / usage_effective).min(MAX_LEVEL_FS)
    } else {
        0.0
    }
}

/// The result of one distribution over a [`ShareTree`]; 25 bytes per association, reused in the next cycle.
///
/// Values are relative to the last [`Self::distribute`]; before the first one, and for a node outside the
/// tree of the last one, they are 0.
#[derive(Clone, Debug, Default)]
pub struct FairShare {
    usage_norm: Vec<f64>,
    active: Vec<bool>,
    /// Sum of the weights of a node's active fair-share children.
    demand: Vec<f64>,
    tickets: Vec<f64>,
    max_tickets: f64,
}

impl FairShare {
    /// An empty result.
    pub fn new() -> Self {
        Self::default()
    }

    /// Distributes the tickets anew.
    ///
    /// `usage` is the raw (decayed) usage by [`Node::index`], in any unit; NaN and negative values count as
    /// 0, as do missing ones, infinity as the largest number. `waiting` is the number of waiting jobs by
    /// [`Node::index`], looked at for users only.
    ///
    /// Tickets can underflow to 0 only below some 10^-300 of the root's. As they add up to the root's over
    /// all users with shares, this cannot take them from everybody unless all larger branches end in levels
    /// without shares.
    pub fn distribute(&mut self, tree: &ShareTree, usage: &[f64], waiting: &[u32]) {
        self.normalise_usage(tree, usage);
        self.mark_active(tree, waiting);
        self.add_demand(tree);
        self.hand_down(tree);
    }

    fn normalise_usage(&mut self, tree: &ShareTree, usage: &[f64]) {
        let root_usage = tree.root().map_or(0.0, |root| sane(at(usage, root)));
        self.usage_norm.clear();
        self.usage_norm.extend(tree.nodes().map(|node| {
            if root_usage > 0.0 {
                (sane(at(usage, node)) / root_usage).min(1.0)
            } else {
                0.0
            }
        }));
    }

    /// Users with waiting jobs and all their ancestors.
    fn mark_active(&mut self, tree: &ShareTree, waiting: &[u32]) {
        self.active.clear();
        self.active.extend(tree.nodes().map(|node| tree.is_user(node) && at(waiting, node) > 0));
        for node in tree.nodes().rev() {
            if let (true, Some(parent)) = (self.is_active(node), tree.parent(node)) {
                self.active[parent.index()] = true;
            }
        }
    }

    fn add_demand(&mut self, tree: &ShareTree) {
        self.demand.clear();
        self.demand.resize(tree.len(), 0.0);
        for node in tree.nodes().skip(1).filter(|&node| !tree.uses_parent(node)) {
            if self.is_active(node) {
                self.demand[tree.fair_share_parent_index(node)] += self.weight(tree, node);
            }
        }
    }

    fn hand_down(&mut self, tree: &ShareTree) {
        self.max_tickets = 0.0;
        self.tickets.clear();
        self.tickets.reserve_exact(tree.len());
        for node in tree.nodes() {
            let tickets = match tree.fair_share_parent(node) {
                None => ROOT_TICKETS,
                Some(parent) => self.tickets[parent.index()] * self.level_share(tree, node),
            };
            self.tickets.push(tickets);
            if self.is_active(node) && tree.is_user(node) {
                self.max_tickets = self.max_tickets.max(tickets);
            }
        }
    }

    /// What an association brings into the competition with its siblings. S·F of the siblings has
    /// S(fsp)/level in common, which cancels out; without it, small shares deep in the tree cannot
    /// underflow.
    fn weight(&self, tree: &ShareTree, node: Node) -> f64 {
        f64::from(tree.shares(node)) * self.level_fs(tree, node)
    }

    /// U: usage over the root's, from 0 to 1; 0 where the root has none. Its own also for `Fairshare=parent`.
    pub fn usage_norm(&self, node: Node) -> f64 {
        at(&self.usage_norm, node)
    }

    /// `U_eff`: U, at least 1 % of S. That of the fair-share parent for `Fairshare=parent`.
    pub fn usage_effective(&self, tree: &ShareTree, node: Node) -> f64 {
        let node = competitor(tree, node);
        self.usage_norm(node).max(USAGE_FLOOR * tree.shares_norm(node))
    }

    /// F: S over `U_eff`, from 0 to 100; below 1 for associations that used more than their share. 0 where
    /// S is 0. That of the fair-share parent for `Fairshare=parent`.
    pub fn level_fs(&self, tree: &ShareTree, node: Node) -> f64 {
        fair_share_factor(tree.shares_norm(node), self.usage_effective(tree, node))
    }

    /// The part of its fair-share parent's tickets that goes to an association, from 0 to 1: S·F over the
    /// sum of S·F of the active siblings, its own included. All of them for `Fairshare=parent` and for the
    /// root.
    pub fn level_share(&self, tree: &ShareTree, node: Node) -> f64 {
        if tree.uses_parent(node) {
            return 1.0;
        }
        let Some(parent) = tree.fair_share_parent(node) else { return 1.0 };
        let weight = self.weight(tree, node);
        let demand = at(&self.demand, parent) + if self.is_active(node) { 0.0 } else { weight };
        if demand > 0.0 {
            weight / demand
        } else {
            0.0
        }
    }

    /// T: tickets out of [`ROOT_TICKETS`]; for an association that is not active, the prospective tickets.
    pub fn tickets(&self, node: Node) -> f64 {
        at(&self.tickets, node)
    }

    /// True for a user with waiting jobs and for every ancestor of one.
    pub fn is_active(&self, node: Node) -> bool {
        at(&self.active, node)
    }

    /// The tickets of the best active user; 0 if no active user has tickets.
    pub fn max_tickets(&self) -> f64 {
        self.max_tickets
    }

    /// The fair-share factor of a user's jobs, from 0 to 1; the prospective one for a user who is not active.
    ///
    /// The best active user has exactly 1. If no active user has tickets, whoever would have some has 1.
    pub fn priority(&self, node: Node) -> f64 {
        let tickets = self.tickets(node);
        if tickets > 0.0 {
            (tickets / self.max_tickets).min(1.0)
        } else {
            0.0
        }
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
fn sane(usage: f64) -> f64 {
    // The comparison is false for NaN.
    if usage > 0.0 {
        usage.min(f64::MAX)
    } else {
        0.0
    }
}
