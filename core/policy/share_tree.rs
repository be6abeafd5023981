//! The share tree: tickets flow from the root to the users who wait, at every level in proportion to S·F among the siblings that
//! have somebody waiting. The formula is that of Slurm's old `priority/multifactor2`.
//!
//! Tickets are `f64`, never rounded: tickets in integers, truncated level by level, leave users deep in a
//! wide tree with none. They can underflow to 0 only below some 10^-300 of the root's. As they add up to the root's over all
//! users with shares, this cannot take them from everybody unless all larger branches end in levels without shares.

use super::Policy;
use crate::competition::Competition;
use crate::tree::{at, Node, ShareTree};

/// Tickets at the root. Any constant gives the same factors; this one makes readable numbers.
pub const ROOT_TICKETS: f64 = 1000.0;

/// See the module; 16 bytes per association.
#[derive(Clone, Debug, Default)]
pub struct ShareTreeTickets {
    /// Sum of the weights of a node's active fair-share children.
    demand: Vec<f64>,
    tickets: Vec<f64>,
}

impl Policy for ShareTreeTickets {
    fn hand_out(&mut self, tree: &ShareTree, competition: &Competition, tickets: &mut [f64]) {
        self.add_demand(tree, competition);
        self.tickets.clear();
        self.tickets.reserve_exact(tree.len());
        for (node, tickets) in tree.nodes().zip(tickets) {
            let own = match tree.fair_share_parent(node) {
                None => ROOT_TICKETS,
                Some(parent) => self.tickets[parent.index()] * self.level_share(tree, competition, node),
            };
            self.tickets.push(own);
            *tickets += own;
        }
    }
}

impl ShareTreeTickets {
    fn add_demand(&mut self, tree: &ShareTree, competition: &Competition) {
        self.demand.clear();
        self.demand.resize(tree.len(), 0.0);
        for node in tree.nodes().skip(1).filter(|&node| !tree.uses_parent(node)) {
            if competition.is_active(node) {
                self.demand[tree.fair_share_parent_index(node)] += weight(tree, competition, node);
            }
        }
    }

    /// The part of its fair-share parent's tickets that goes to an association, from 0 to 1: S·F over the
    /// sum of S·F of the active siblings, its own included. All of them for `Fairshare=parent` and for the
    /// root.
    pub fn level_share(&self, tree: &ShareTree, competition: &Competition, node: Node) -> f64 {
        if tree.uses_parent(node) {
            return 1.0;
        }
        let Some(parent) = tree.fair_share_parent(node) else { return 1.0 };
        let weight = weight(tree, competition, node);
        let demand = at(&self.demand, parent) + if competition.is_active(node) { 0.0 } else { weight };
        if demand > 0.0 {
            weight / demand
        } else {
            0.0
        }
    }
}

/// What an association brings into the competition with its siblings. S·F of the siblings has
/// S(fsp)/level in common, which cancels out; without it, small shares deep in the tree cannot
/// underflow.
fn weight(tree: &ShareTree, competition: &Competition, node: Node) -> f64 {
    f64::from(tree.shares(node)) * competition.level_fs(tree, node)
}
