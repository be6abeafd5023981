//! Share-tree tickets of single jobs: `Dilution=` divides those of their association (`TicketsShare=` in all) among the user's running and
//! waiting jobs.
//!
//! A priority plugin does not see jobs start. Without dilution all jobs of the best user come before all others, and a drained cluster goes
//! to one user whole. With dilution a job has the tickets that it would have if all jobs before it ran already.
//!
//! With T tickets of the user, R running and C waiting before it, and the quantum q, a job has T·(q/(q + R + C))^e. If every job counts as
//! 1 and q = e = 1, this is Grid Engine's rule in a leaf of its share tree: T/(r + k) for the k-th job when r run. Units, quantum, exponent
//! and the scaling of sizes by shares (under `Distribution=standing` and `strict`) are our additions.

use super::groups::Groups;
use super::load::{Load, Rule, Shares};
use super::tree_order::{self, TreeOrder};
use super::{Ground, Names, Pool, PoolQueue, Who};
use crate::policy::share_tree::ROOT_TICKETS;
use crate::settings::{Dilution, DilutionUnit, Distribution, Settings};
use crate::tree::{at, Node, ShareTree};

/// Tickets of the share tree, diluted over the jobs that divide them.
#[derive(Clone, Debug, Default)]
pub(super) struct DilutedTickets {
    pool: f64,
    kind: DilutionKind,
    /// `DilutionRunning`
    counts_running: bool,
    /// What tickets are worth does not grow with shares, as under `Distribution=standing` and `strict`: sizes are divided by them.
    by_shares: bool,
    load: Load,
    /// Those of all active users.
    shares: Shares,
}

#[derive(Clone, Debug, Default)]
enum DilutionKind {
    #[default]
    None,
    User(Rule),
    Tree(TreeOrder),
}

impl DilutedTickets {
    /// The tickets of an association.
    fn of_association(&self, ground: Ground<'_>, node: Node) -> f64 {
        ground.fair_share.tickets_now(ground.tree, node) * (self.pool / ROOT_TICKETS)
    }

    /// What an association's sizes are multiplied by among some.
    fn scale(&self, ground: Ground<'_>, node: Node, among: Shares) -> f64 {
        if self.by_shares {
            among.scale(ground.tree.shares_norm(node))
        } else {
            1.0
        }
    }

    fn read(&mut self, queue: &PoolQueue<'_>) {
        let Ground { tree, fair_share } = queue.ground;
        let load = &mut self.load;
        load.clear(tree.len());
        for job in queue.waiting {
            if let Some(jobs) = load.jobs.get_mut(job.node.index()) {
                *jobs += 1;
                load.waiting[job.node.index()] += job.size;
            }
        }
        for job in queue.running {
            if let Some(jobs) = load.jobs.get_mut(job.node.index()) {
                *jobs = jobs.saturating_add(job.count);
                if self.counts_running {
                    load.running[job.node.index()] += job.size;
                }
            }
        }
        let is_active = |node| tree.is_user(node) && fair_share.competition().is_active(node);
        load.active.clear();
        load.active.extend(tree.nodes().map(is_active));
        let active = tree.nodes().filter(|node| load.active[node.index()]);
        self.shares = active.fold(Shares::default(), |shares, node| shares.and(tree.shares_norm(node)));
    }
}

impl Pool for DilutedTickets {
    fn is_asked_for(settings: &Settings) -> bool {
        settings.dilution != Dilution::None
    }

    fn configure(&mut self, settings: &Settings) {
        let rule = Rule {
            quantum: settings.dilution_quantum,
            exponent: settings.dilution_exponent,
            whole: settings.dilution_unit == DilutionUnit::Job,
        };
        let by_shares = settings.distribution != Distribution::Tickets;
        *self = Self {
            #[allow(clippy::cast_precision_loss)] // at most 10^9
            pool: settings.tickets_share as f64,
            kind: match settings.dilution {
                Dilution::None => DilutionKind::None,
                Dilution::User => DilutionKind::User(rule),
                Dilution::Tree => DilutionKind::Tree(TreeOrder::new(rule, by_shares)),
            },
            counts_running: settings.dilution_running,
            by_shares,
            ..Self::default()
        };
    }

    fn learn<'n>(&mut self, tree: &ShareTree, _names: &dyn Fn(Node) -> Names<'n>) {
        // Places in another tree mean something else.
        self.load.clear(tree.len());
        self.shares = Shares::default();
        if let DilutionKind::Tree(order) = &mut self.kind {
            order.clear();
        }
    }

    fn hand_out(&mut self, queue: &PoolQueue<'_>, before: Option<&[f64]>, tickets: &mut [f64]) {
        self.read(queue);
        let (ground, waiting) = (queue.ground, queue.waiting);
        if self.pool == 0.0 {
            return;
        }
        let by_node = || {
            let nodes = ground.tree.len();
            let node = |job: usize| Some(waiting[job].node.index()).filter(|node| *node < nodes);
            Groups::of(waiting, nodes, before, node).sorted()
        };
        match &self.kind {
            DilutionKind::None => {
                for (job, tickets) in waiting.iter().zip(tickets) {
                    *tickets = self.of_association(ground, job.node);
                }
            }
            DilutionKind::User(rule) => {
                let groups = by_node();
                for node in ground.tree.nodes() {
                    let group = groups.group(node.index());
                    if group.is_empty() {
                        continue;
                    }
                    let of_association = self.of_association(ground, node);
                    let scale = self.scale(ground, node, self.shares);
                    let mut ahead = at(&self.load.running, node);
                    for place in group {
                        let job = place.job as usize;
                        tickets[job] = of_association * rule.left(ahead * scale);
                        ahead += waiting[job].size;
                    }
                }
            }
            DilutionKind::Tree(_) => {
                let jobs = tree_order::Jobs { queue, before, pool: self.pool, groups: &by_node() };
                if let DilutionKind::Tree(order) = &mut self.kind {
                    order.hand_out(&jobs, &self.load, tickets);
                }
            }
        }
    }

    fn of_running(&self, ground: Ground<'_>, job: Who) -> f64 {
        let of_association = self.of_association(ground, job.node);
        match &self.kind {
            DilutionKind::None => of_association,
            DilutionKind::User(rule) => {
                let others = (at(&self.load.running, job.node) - job.size).max(0.0);
                of_association * rule.left(others * self.scale(ground, job.node, self.shares))
            }
            DilutionKind::Tree(_) => of_association / f64::from(at(&self.load.jobs, job.node).max(1)),
        }
    }

    fn of_next(&self, ground: Ground<'_>, job: Who, before: f64) -> f64 {
        let node = job.node;
        match &self.kind {
            DilutionKind::None => self.of_association(ground, node),
            DilutionKind::User(rule) => {
                let ahead = at(&self.load.running, node) + at(&self.load.waiting, node);
                // Whoever is new competes, too, once the job is there.
                let among = match self.load.active.get(node.index()) {
                    Some(false) => self.shares.and(ground.tree.shares_norm(node)),
                    _ => self.shares,
                };
                self.of_association(ground, node) * rule.left(ahead * self.scale(ground, node, among))
            }
            DilutionKind::Tree(order) => {
                let (waiting, joined) = (at(&self.load.waiting, node), at(&self.load.joined, node));
                order.next(ground, node, waiting, joined, self.pool, before)
            }
        }
    }

    fn join(&mut self, ground: Ground<'_>, job: Who) {
        let (node, load) = (job.node.index(), &mut self.load);
        if let Some(jobs) = load.jobs.get_mut(node) {
            *jobs = jobs.saturating_add(job.count);
            load.waiting[node] += job.size;
            load.joined[node] += job.size;
            if !std::mem::replace(&mut load.active[node], true) {
                self.shares = self.shares.and(ground.tree.shares_norm(job.node));
            }
        }
    }
}
