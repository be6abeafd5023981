//! `Dilution=tree`: Grid Engine's share tree. From the leaves up every association puts the jobs below it in one order, by what
//! they have so far, and gives the k-th of them the k-th part of its own; the children of the root have the last word.
//!
//! So an account hands out its part, half of it, a third …, to its users' jobs in an order that is found by the same rule one level
//! below. As long as the root, or what is taken for it, has only one child with waiting jobs, that child is taken for it.

use super::dilution::{Load, Rule};
use super::groups::Groups;
use super::{Ground, Queue, Who};
use crate::policy::FairShare;
use crate::tree::{at, Node, ShareTree};

/// The jobs of a cycle.
#[derive(Clone, Copy, Debug)]
pub struct Jobs<'j> {
    pub queue: &'j Queue<'j>,
    /// What they have of earlier pools.
    pub before: Option<&'j [f64]>,
    pub pool: f64,
    /// By association.
    pub groups: &'j Groups,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct TreeOrder {
    rule: Rule,
    /// See [`super::dilution::DilutedTickets`].
    by_shares: bool,
    /// Sizes of waiting and of running jobs below every association that competes.
    waiting: Vec<f64>,
    running: Vec<f64>,
    /// Mean shares of the active children, by parent.
    mean_shares: Vec<f64>,
    /// The children with waiting jobs of every association, one after the other, and where they begin.
    children: Vec<Node>,
    begins: Vec<u32>,
    /// What is taken for the root.
    top: Option<Node>,
}

/// A job in the order of an association.
#[derive(Clone, Copy, Debug)]
struct Entry {
    key: f64,
    /// What it gets, which is part of the key.
    tickets: f64,
    job: u32,
    /// The largest id of those with the same key that come before it in the order of its child, itself included: by that,
    /// ties are broken, never against that order.
    tie: u32,
}

impl TreeOrder {
    pub fn new(rule: Rule, by_shares: bool) -> Self {
        Self {
            rule,
            by_shares,
            waiting: Vec::new(),
            running: Vec::new(),
            mean_shares: Vec::new(),
            children: Vec::new(),
            begins: Vec::new(),
            top: None,
        }
    }

    /// The tickets of every waiting job.
    pub fn hand_out(&mut self, jobs: &Jobs<'_>, load: &Load, tickets: &mut [f64]) {
        let Ground { tree, fair_share } = jobs.queue.ground;
        self.read(tree, fair_share, load);
        let Some(top) = self.top else { return };
        let mut orders: Vec<Vec<Entry>> = vec![Vec::new(); tree.len()];
        for node in tree.nodes().rev() {
            let group = jobs.groups.group(node.index());
            let mut order = std::mem::take(&mut orders[node.index()]);
            if order.is_empty() && group.is_empty() {
                continue;
            }
            if tree.is_user(node) {
                order = group.iter().map(|job| Entry { key: 0.0, tickets: 0.0, job: *job, tie: 0 }).collect();
            } else {
                order.sort_by(|a, b| b.key.total_cmp(&a.key).then_with(|| a.tie.cmp(&b.tie)));
            }
            let is_top = node == top;
            if !is_top || tree.is_user(node) {
                self.number(jobs, node, &mut order);
            }
            match tree.fair_share_parent(node).filter(|_| !is_top) {
                None => {
                    for entry in &order {
                        tickets[entry.job as usize] = entry.tickets;
                    }
                    return;
                }
                Some(parent) => {
                    settle_ties(jobs, &mut order);
                    let above = &mut orders[parent.index()];
                    if above.is_empty() {
                        *above = order;
                    } else {
                        above.append(&mut order);
                    }
                }
            }
        }
    }

    /// What the jobs below an association get from it, in their order.
    fn number(&self, jobs: &Jobs<'_>, node: Node, order: &mut [Entry]) {
        let ground = jobs.queue.ground;
        let part = ground.fair_share.level_share(ground.tree, node) * jobs.pool;
        let scale = self.scale(ground.tree, node);
        let mut ahead = at(&self.running, node);
        for entry in order {
            let before = jobs.before.map_or(0.0, |before| before[entry.job as usize]);
            entry.tickets = part * self.rule.left(ahead * scale);
            entry.key = before + entry.tickets;
            ahead += jobs.queue.waiting[entry.job as usize].size;
        }
    }

    /// What sizes below an association are multiplied by.
    fn scale(&self, tree: &ShareTree, node: Node) -> f64 {
        let shares = tree.shares_norm(node);
        match tree.fair_share_parent(node) {
            Some(parent) if self.by_shares && shares > 0.0 => {
                let mean = at(&self.mean_shares, parent);
                if mean > 0.0 {
                    mean / shares
                } else {
                    1.0
                }
            }
            _ => 1.0,
        }
    }

    fn read(&mut self, tree: &ShareTree, fair_share: &FairShare, load: &Load) {
        self.waiting.clone_from(&load.waiting);
        self.running.clone_from(&load.running);
        let mut begins = vec![0_u32; tree.len() + 1];
        let competes = |node: &Node| {
            fair_share.competition().is_active(*node) && (tree.is_user(*node) || !tree.uses_parent(*node))
        };
        for node in tree.nodes().rev() {
            let Some(parent) = tree.fair_share_parent(node) else { continue };
            // What a transparent account has below it has gone past it.
            self.waiting[parent.index()] += self.waiting[node.index()];
            self.running[parent.index()] += self.running[node.index()];
            if competes(&node) {
                begins[parent.index() + 1] += 1;
            }
        }
        for node in 0..tree.len() {
            begins[node + 1] += begins[node];
        }
        self.children.clear();
        self.mean_shares.clear();
        self.mean_shares.resize(tree.len(), 0.0);
        if let Some(root) = tree.root() {
            self.children.resize(begins[tree.len()] as usize, root);
        }
        let mut next = begins.clone();
        for node in tree.nodes().filter(competes) {
            let Some(parent) = tree.fair_share_parent(node) else { continue };
            self.children[next[parent.index()] as usize] = node;
            next[parent.index()] += 1;
            self.mean_shares[parent.index()] += tree.shares_norm(node);
        }
        for (node, sum) in self.mean_shares.iter_mut().enumerate() {
            *sum /= f64::from((begins[node + 1] - begins[node]).max(1));
        }
        self.begins = begins;
        self.top = tree.root().map(|root| {
            let mut top = root;
            while let [only] = self.children(top) {
                top = *only;
            }
            top
        });
    }

    fn children(&self, node: Node) -> &[Node] {
        let range = self.begins.get(node.index()).zip(self.begins.get(node.index() + 1));
        range.map_or(&[], |(begin, end)| &self.children[*begin as usize..*end as usize])
    }

    /// The part of the pool that a job gets that begins to wait now, last of its user. Its place among the jobs of others follows
    /// from how many they are, association by association.
    pub fn next(&self, ground: Ground<'_>, leaf: Node) -> f64 {
        let Ground { tree, fair_share } = ground;
        let root = tree.root();
        let mut node = leaf;
        let mut ahead = at(&self.waiting, leaf);
        loop {
            let sizes = at(&self.running, node) + ahead;
            let key = fair_share.level_share(tree, node) * self.rule.left(sizes * self.scale(tree, node));
            let Some(parent) = tree.fair_share_parent(node) else { return key };
            if Some(parent) == root || self.is_top_of(tree, parent) {
                return key;
            }
            let siblings = self.children(parent).iter().filter(|sibling| **sibling != node);
            ahead += siblings.map(|sibling| self.ahead_of(tree, fair_share, key, *sibling)).sum::<f64>();
            node = parent;
        }
    }

    /// What is taken for the root, or below what is.
    fn is_top_of(&self, tree: &ShareTree, node: Node) -> bool {
        let mut next = self.top;
        while let Some(top) = next {
            if top == node {
                return true;
            }
            next = tree.fair_share_parent(top);
        }
        false
    }

    /// The sizes of the waiting jobs of an association that come before a job with a key.
    fn ahead_of(&self, tree: &ShareTree, fair_share: &FairShare, key: f64, sibling: Node) -> f64 {
        let waiting = at(&self.waiting, sibling);
        let part = fair_share.level_share(tree, sibling);
        if key <= 0.0 {
            return waiting;
        }
        if part < key {
            return 0.0;
        }
        let limit = self.rule.size(key / part) / self.scale(tree, sibling) - at(&self.running, sibling);
        if limit < 0.0 {
            0.0
        } else if self.rule.whole {
            // Who ties has the smaller id.
            (limit.floor() + 1.0).min(waiting)
        } else {
            limit.min(waiting)
        }
    }

    /// A job begins to wait between two cycles.
    pub fn join(&mut self, tree: &ShareTree, job: Who) {
        let mut next = Some(job.node);
        while let Some(node) = next {
            if let Some(waiting) = self.waiting.get_mut(node.index()) {
                *waiting += job.size;
            }
            next = tree.fair_share_parent(node);
        }
    }
}

/// Orders the jobs of a child by their new keys, and says how ties with those of other children are broken.
fn settle_ties(jobs: &Jobs<'_>, order: &mut [Entry]) {
    order.sort_by(|a, b| b.key.total_cmp(&a.key));
    let mut last: Option<Entry> = None;
    for entry in order {
        let id = jobs.queue.waiting[entry.job as usize].id;
        entry.tie = match last {
            Some(last) if last.key.total_cmp(&entry.key).is_eq() => last.tie.max(id),
            _ => id,
        };
        last = Some(*entry);
    }
}
