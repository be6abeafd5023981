//! The share tree: hands tickets down from the root to the users with waiting jobs. Every level divides them among its siblings with
//! waiting jobs, as [`Distribution`] says. Users without waiting jobs get prospective tickets: what they would hold if they alone began to
//! wait.
//!
//! Tickets are `f64` and never rounded: integer tickets, truncated level by level, leave users deep in a wide tree with none. They can
//! underflow to 0 only below some 10^-300 of the root's. They add up to the root's over all users with shares. So underflow cannot take
//! them from everybody unless all larger branches end in levels without shares.

use super::distribution::{self, Claim, Compensated, Rule};
use super::Policy;
use crate::competition::Competition;
use crate::settings::table::distributions::distributions;
use crate::settings::{Distribution, ParentUsers, Settings};
use crate::tree::{Node, ShareTree};

/// Tickets at the root. Any constant gives the same factors; this one makes readable numbers.
pub const ROOT_TICKETS: f64 = 1000.0;

/// The tickets of associations by a distribution, divided level by level.
#[derive(Debug)]
pub(crate) struct ShareTreeTickets(Box<dyn Divides>);

/// The levels of the tree under some rule.
pub(crate) trait Divides: Policy + std::fmt::Debug + Send + Sync {
    /// See [`ShareTreeTickets::level_share`].
    fn level_share(&self, tree: &ShareTree, competition: &Competition, node: Node) -> f64;

    /// The same again.
    fn again(&self) -> Box<dyn Divides>;
}

/// Makes the levels of a word.
macro_rules! by_word {
    ($($(#[doc = $meaning:literal])+ $variant:ident = $word:literal in $file:ident: $rule:ident,)+) => {
        /// The levels of a tree under the rule of a word; `split` where users with `Fairshare=parent` divide their account's tickets.
        fn levels(word: Distribution, split: bool) -> Box<dyn Divides> {
            match word {
                $(Distribution::$variant => Box::new(Levels::by(distribution::$rule::default(), split)),)+
            }
        }
    };
}

distributions!(by_word);

impl Default for ShareTreeTickets {
    fn default() -> Self {
        Self(levels(Distribution::Tickets, false))
    }
}

impl Clone for ShareTreeTickets {
    fn clone(&self) -> Self {
        Self(self.0.again())
    }
}

impl Policy for ShareTreeTickets {
    fn configure(&mut self, settings: &Settings) {
        let by_tickets = settings.distribution == Distribution::Tickets;
        let split = by_tickets && settings.parent_users == ParentUsers::Split;
        self.0 = if by_tickets && settings.compensation_factor > 0.0 {
            Box::new(Levels::by(Compensated::new(settings.compensation_factor), split))
        } else {
            levels(settings.distribution, split)
        };
    }

    fn hand_out(&mut self, tree: &ShareTree, competition: &Competition, tickets: &mut [f64]) {
        self.0.hand_out(tree, competition, tickets);
    }

    fn join(&mut self, tree: &ShareTree, competition: &Competition, node: Node) {
        self.0.join(tree, competition, node);
    }

    fn tickets_now(&self, tree: &ShareTree, competition: &Competition, node: Node) -> f64 {
        self.0.tickets_now(tree, competition, node)
    }
}

impl ShareTreeTickets {
    /// Tickets that are divided by a rule.
    pub(crate) fn by(rule: impl Rule + 'static) -> Self {
        Self(Box::new(Levels::by(rule, false)))
    }

    /// The part of its fair-share parent's tickets that goes to an association, from 0 to 1. All of them for the root.
    pub(crate) fn level_share(&self, tree: &ShareTree, competition: &Competition, node: Node) -> f64 {
        self.0.level_share(tree, competition, node)
    }
}

/// The levels of the tree under one rule.
#[derive(Clone, Debug)]
pub(crate) struct Levels<R: Rule> {
    rule: R,
    /// Users with `Fairshare=parent` divide their account's tickets among them.
    split: bool,
    /// By node.
    held: Vec<R::Held>,
    /// Active users with `Fairshare=parent` by the association whose tickets they draw on; empty where they do not divide them.
    drawing: Vec<u32>,
}

impl<R: Rule + 'static> Policy for Levels<R> {
    fn hand_out(&mut self, tree: &ShareTree, competition: &Competition, tickets: &mut [f64]) {
        self.collect(tree, competition);
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

    fn join(&mut self, tree: &ShareTree, competition: &Competition, node: Node) {
        // The root has no siblings.
        if tree.fair_share_parent(node).is_some() && node.index() < self.held.len() {
            self.enter(tree, competition, node);
        }
    }

    fn tickets_now(&self, tree: &ShareTree, competition: &Competition, node: Node) -> f64 {
        let path: Vec<Node> =
            std::iter::successors(Some(node), |node| tree.fair_share_parent(*node)).collect();
        let root = R::root(ROOT_TICKETS);
        let below = path.iter().rev().skip(1);
        R::tickets(below.fold(root, |above, node| self.part(tree, competition, *node, above)))
    }
}

impl<R: Rule + 'static> Divides for Levels<R> {
    fn level_share(&self, tree: &ShareTree, competition: &Competition, node: Node) -> f64 {
        // What is cut depends on what the parent holds.
        let Some(parent) = tree.fair_share_parent(node) else { return 1.0 };
        let above = self.held.get(parent.index()).copied().unwrap_or_default();
        R::tickets(self.part(tree, competition, node, R::whole(above)))
    }

    fn again(&self) -> Box<dyn Divides> {
        Box::new(self.clone())
    }
}

impl<R: Rule> Levels<R> {
    /// By a rule; `split` where users with `Fairshare=parent` divide their account's tickets.
    pub(crate) fn by(rule: R, split: bool) -> Self {
        Self { rule, split, held: Vec::new(), drawing: Vec::new() }
    }

    /// Who takes part, level by level.
    fn collect(&mut self, tree: &ShareTree, competition: &Competition) {
        self.rule.begin(tree.len());
        self.drawing.clear();
        self.drawing.resize(if self.split { tree.len() } else { 0 }, 0);
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
