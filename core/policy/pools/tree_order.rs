//! `Dilution=tree`: Grid Engine's share tree. From the leaves up every association puts the jobs below it in one order, by what
//! they have so far, and gives the k-th of them the k-th part of its own; the children of the root have the last word.
//!
//! So an account hands out its part, half of it, a third …, to its users' jobs in an order that is found by the same rule one level
//! below. As long as the root, or what is taken for it, has only one child with waiting jobs, that child is taken for it.

use super::dilution::{Load, Rule};
use super::groups::Groups;
use super::{Ground, Queue};
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
    /// Sizes of running jobs below every association that competes.
    running: Vec<f64>,
    /// Mean shares of the active children, by parent.
    mean_shares: Vec<f64>,
    /// The order of the waiting jobs of every account, as its children gave it.
    orders: Vec<Order>,
    /// What is taken for the root.
    top: Option<Node>,
}

/// The waiting jobs below an account by what they have so far, for those that come between two cycles.
#[derive(Clone, Debug, Default)]
struct Order {
    /// From the largest.
    keys: Vec<f64>,
    /// The sizes of all up to here; none where all are 1.
    sizes: Vec<f64>,
}

impl Order {
    /// The size of all that come before a new job with a key. Of those that tie it is the last.
    fn ahead(&self, key: f64) -> f64 {
        let count = self.keys.partition_point(|known| *known >= key);
        #[allow(clippy::cast_precision_loss)] // jobs
        match count.checked_sub(1) {
            None => 0.0,
            Some(last) => self.sizes.get(last).copied().unwrap_or(count as f64),
        }
    }
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
        Self { rule, by_shares, running: Vec::new(), mean_shares: Vec::new(), orders: Vec::new(), top: None }
    }

    /// Forgets all jobs.
    pub fn clear(&mut self) {
        *self = Self::new(self.rule, self.by_shares);
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
            let is_top = node == top;
            if tree.is_user(node) {
                order = group.iter().map(|job| Entry { key: 0.0, tickets: 0.0, job: *job, tie: 0 }).collect();
            } else {
                order.sort_by(|a, b| b.key.total_cmp(&a.key).then_with(|| a.tie.cmp(&b.tie)));
                if !is_top {
                    self.orders[node.index()] = self.remember(jobs, &order);
                }
            }
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

    fn remember(&self, jobs: &Jobs<'_>, order: &[Entry]) -> Order {
        let keys = order.iter().map(|entry| entry.key).collect();
        let size = |entry: &Entry| jobs.queue.waiting[entry.job as usize].size;
        let mut sum = 0.0;
        let sizes = order.iter().filter(|_| !self.rule.whole).map(|entry| {
            sum += size(entry);
            sum
        });
        Order { keys, sizes: sizes.collect() }
    }

    fn read(&mut self, tree: &ShareTree, fair_share: &FairShare, load: &Load) {
        self.orders.clear();
        self.orders.resize(tree.len(), Order::default());
        self.running.clone_from(&load.running);
        self.mean_shares.clear();
        self.mean_shares.resize(tree.len(), 0.0);
        let mut children = vec![0_u32; tree.len()];
        let mut last_child: Vec<Option<Node>> = vec![None; tree.len()];
        // Children come before their parents. What a transparent account has below it goes past it.
        for node in tree.nodes().rev() {
            let Some(parent) = tree.fair_share_parent(node) else { continue };
            self.running[parent.index()] += self.running[node.index()];
            let competes = tree.is_user(node) || !tree.uses_parent(node);
            if competes && fair_share.competition().is_active(node) {
                children[parent.index()] += 1;
                last_child[parent.index()] = Some(node);
                self.mean_shares[parent.index()] += tree.shares_norm(node);
            }
        }
        for (sum, children) in self.mean_shares.iter_mut().zip(&children) {
            *sum /= f64::from((*children).max(1));
        }
        self.top = tree.root().map(|root| {
            let only_child = |node: &Node| last_child[node.index()].filter(|_| children[node.index()] == 1);
            std::iter::successors(Some(root), only_child).last().unwrap_or(root)
        });
    }

    /// The part of the pool that a job gets that begins to wait now, last of its user, of which so much waits and so much of that
    /// since the last cycle. `before` is what the job has of earlier pools.
    pub fn next(
        &self,
        ground: Ground<'_>,
        leaf: Node,
        waiting: f64,
        joined: f64,
        pool: f64,
        before: f64,
    ) -> f64 {
        let Ground { tree, fair_share } = ground;
        let (mut node, mut ahead) = (leaf, waiting);
        loop {
            let sizes = at(&self.running, node) + ahead;
            let part = fair_share.level_share(tree, node) * pool;
            let tickets = part * self.rule.left(sizes * self.scale(tree, node));
            match tree.fair_share_parent(node) {
                Some(parent) if !self.is_at_or_above_top(tree, parent) => {
                    let order = self.orders.get(parent.index());
                    ahead = order.map_or(0.0, |order| order.ahead(before + tickets)) + joined;
                    node = parent;
                }
                _ => return tickets,
            }
        }
    }

    /// Whether an association is what is taken for the root, or above it.
    fn is_at_or_above_top(&self, tree: &ShareTree, node: Node) -> bool {
        let top = self.top.or(tree.root());
        std::iter::successors(top, |top| tree.fair_share_parent(*top)).any(|top| top == node)
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
