//! The share tree: tickets flow from the root to the users who wait, and are divided at every level among the siblings that have
//! somebody waiting, as [`Distribution`] says. Users without waiting jobs get prospective tickets: what they would hold if
//! they alone began to wait.
//!
//! Tickets are `f64`, never rounded: tickets in integers, truncated level by level, leave users deep in a
//! wide tree with none. They can underflow to 0 only below some 10^-300 of the root's. As they add up to the root's over all
//! users with shares, this cannot take them from everybody unless all larger branches end in levels without shares.

use super::distribution::{Claim, Compensated, Rule, Standing, Strict, Tickets};
use super::Policy;
use crate::competition::Competition;
use crate::settings::{Distribution, ParentUsers, Settings};
use crate::tree::{Node, ShareTree};

/// Tickets at the root. Any constant gives the same factors; this one makes readable numbers.
pub const ROOT_TICKETS: f64 = 1000.0;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct ShareTreeTickets {
    divided: Divided,
    /// Users with `Fairshare=parent` divide their account's tickets among them.
    split: bool,
}

/// The state of the rule in force.
#[derive(Clone, Debug)]
enum Divided {
    Tickets(Levels<Tickets>),
    Compensated(Levels<Compensated>),
    Standing(Levels<Standing>),
    Strict(Levels<Strict>),
}

impl Default for Divided {
    fn default() -> Self {
        Self::Tickets(Levels::default())
    }
}

/// Calls a method of the [`Levels`] in force.
macro_rules! levels {
    ($divided:expr, $levels:ident => $call:expr) => {
        match $divided {
            Divided::Tickets($levels) => $call,
            Divided::Compensated($levels) => $call,
            Divided::Standing($levels) => $call,
            Divided::Strict($levels) => $call,
        }
    };
}

impl Policy for ShareTreeTickets {
    fn configure(&mut self, settings: &Settings) {
        self.split =
            settings.parent_users == ParentUsers::Split && settings.distribution == Distribution::Tickets;
        self.divided = match settings.distribution {
            Distribution::Tickets if settings.compensation_factor > 0.0 => {
                Divided::Compensated(Levels::with(Compensated::new(settings.compensation_factor)))
            }
            Distribution::Tickets => Divided::default(),
            Distribution::Standing => Divided::Standing(Levels::default()),
            Distribution::Strict => Divided::Strict(Levels::default()),
        };
    }

    fn hand_out(&mut self, tree: &ShareTree, competition: &Competition, tickets: &mut [f64]) {
        let Self { divided, split } = self;
        levels!(divided, levels => levels.hand_out(tree, competition, *split, tickets));
    }

    fn join(&mut self, tree: &ShareTree, competition: &Competition, node: Node) {
        levels!(&mut self.divided, levels => levels.join(tree, competition, node));
    }

    fn tickets_now(&self, tree: &ShareTree, competition: &Competition, node: Node) -> f64 {
        levels!(&self.divided, levels => levels.walk(tree, competition, node))
    }
}

impl ShareTreeTickets {
    /// The part of its fair-share parent's tickets that goes to an association, from 0 to 1. All of them for the root.
    pub fn level_share(&self, tree: &ShareTree, competition: &Competition, node: Node) -> f64 {
        levels!(&self.divided, levels => levels.level_share(tree, competition, node))
    }
}

/// The levels of the tree under one rule.
#[derive(Clone, Debug, Default)]
struct Levels<R: Rule> {
    rule: R,
    /// By node.
    held: Vec<R::Held>,
    /// Active users with `Fairshare=parent` by the association whose tickets they draw on; empty where they do not divide them.
    drawing: Vec<u32>,
}

impl<R: Rule> Levels<R> {
    fn with(rule: R) -> Self {
        Self { rule, ..Self::default() }
    }

    fn hand_out(&mut self, tree: &ShareTree, competition: &Competition, split: bool, tickets: &mut [f64]) {
        self.collect(tree, competition, split);
        self.held.clear();
        self.held.reserve_exact(tree.len());
        for (node, tickets) in tree.nodes().zip(tickets) {
            let own = match tree.fair_share_parent(node) {
                None => R::root(ROOT_TICKETS),
                Some(parent) => self.part(tree, competition, node, self.held[parent.index()]),
            };
            self.held.push(own);
            *tickets += R::tickets(own);
        }
    }

    /// Who takes part, level by level.
    fn collect(&mut self, tree: &ShareTree, competition: &Competition, split: bool) {
        self.rule.begin(tree.len());
        self.drawing.clear();
        self.drawing.resize(if split { tree.len() } else { 0 }, 0);
        for node in tree.nodes().skip(1).filter(|node| competition.is_active(*node)) {
            self.enter(tree, competition, node);
        }
        self.rule.settle();
    }

    fn enter(&mut self, tree: &ShareTree, competition: &Competition, node: Node) {
        let parent = tree.fair_share_parent_index(node);
        if !tree.uses_parent(node) {
            self.rule.claim(parent, claim(tree, competition, node));
        } else if let Some(drawing) = self.drawing.get_mut(parent).filter(|_| tree.is_user(node)) {
            *drawing += 1;
        }
    }

    /// An association begins to take part between two cycles. `competition` still says that it does not.
    fn join(&mut self, tree: &ShareTree, competition: &Competition, node: Node) {
        // The root has no siblings.
        if tree.fair_share_parent(node).is_some() && node.index() < self.held.len() {
            self.enter(tree, competition, node);
        }
    }

    /// The tickets of an association as the levels are now, with those that have joined.
    fn walk(&self, tree: &ShareTree, competition: &Competition, node: Node) -> f64 {
        let path: Vec<Node> =
            std::iter::successors(Some(node), |node| tree.fair_share_parent(*node)).collect();
        let root = R::root(ROOT_TICKETS);
        let below = path.iter().rev().skip(1);
        R::tickets(below.fold(root, |above, node| self.part(tree, competition, *node, above)))
    }

    fn level_share(&self, tree: &ShareTree, competition: &Competition, node: Node) -> f64 {
        // What is cut depends on what the parent holds.
        let Some(parent) = tree.fair_share_parent(node) else { return 1.0 };
        let above = self.held.get(parent.index()).copied().unwrap_or_default();
        R::tickets(self.part(tree, competition, node, R::whole(above)))
    }

    fn part(&self, tree: &ShareTree, competition: &Competition, node: Node, of_parent: R::Held) -> R::Held {
        let Some(parent) = tree.fair_share_parent(node) else { return of_parent };
        if !tree.uses_parent(node) {
            return self.rule.part(parent.index(), of_parent, claim(tree, competition, node));
        }
        match self.drawing.get(parent.index()).filter(|_| tree.is_user(node)) {
            None => of_parent,
            Some(drawing) => {
                let users = drawing + u32::from(!competition.is_active(node));
                R::divided(of_parent, f64::from(users.max(1)))
            }
        }
    }
}

fn claim(tree: &ShareTree, competition: &Competition, node: Node) -> Claim {
    Claim {
        shares: f64::from(tree.claim(node)),
        level_fs: competition.level_fs(tree, node),
        active: competition.is_active(node),
    }
}
