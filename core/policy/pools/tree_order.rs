//! `Dilution=tree`: Grid Engine's share tree. From the leaves up, every association puts the jobs below it in one order, by what they have
//! so far, and gives the k-th job the k-th part of its tickets. The children of the root decide last.
//!
//! So an account gives all of its part, half of it, a third … to its users' jobs, in an order that the same rule finds one level below.
//! While the root, or the association treated as the root, has only one child with waiting jobs, that child is treated as the root.
//!
//! The part of an association is its tickets over those of its parent (Grid Engine's short-term target), and k is (q + R + C)/q as in
//! [`super::dilution`].

use std::cmp::{Ordering, Reverse};
use std::collections::binary_heap::{BinaryHeap, PeekMut};
use std::ops::Range;

use super::groups::{GroupPlace, Groups};
use super::load::{Load, Rule, Shares};
use super::{Ground, PoolQueue};
use crate::policy::FairShare;
use crate::ties::rank;
use crate::tree::{at, Node, ShareTree};

/// Claims that differ by less than this part tie.
const ROUNDING: f64 = 1e-12;

/// The jobs of a cycle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jobs<'j> {
    pub queue: &'j PoolQueue<'j>,
    /// What they have of earlier pools.
    pub before: Option<&'j [f64]>,
    pub pool: f64,
    /// By association, in their orders.
    pub groups: &'j Groups,
}

impl Jobs<'_> {
    fn entry(&self, place: &GroupPlace) -> Entry {
        let size = self.queue.waiting[place.job as usize].size;
        Entry { key: 0.0, size, job: place.job, id: place.id, tie: place.id }
    }
}

/// The order of all jobs below each association, and what each has of the tickets so far.
#[derive(Clone, Debug)]
pub(super) struct TreeOrder {
    rule: Rule,
    /// See [`super::dilution::DilutedTickets`].
    by_shares: bool,
    /// Sizes of running jobs below every association that competes.
    running: Vec<f64>,
    /// Those of the active children, by parent.
    shares: Vec<Shares>,
    /// The order of the waiting jobs of every account, as its children gave it: where it is among the next two.
    orders: Vec<Range<usize>>,
    /// Keys, from the largest.
    keys: Vec<f64>,
    /// The sizes of all in the same order up to here; none where all are 1.
    sizes: Vec<f64>,
    /// What is taken for the root.
    top: Option<Node>,
}

/// The waiting jobs below an account by what they have so far, for those that come between two cycles.
#[derive(Clone, Copy, Debug)]
struct Order<'o> {
    /// From the largest.
    keys: &'o [f64],
    /// The sizes of all up to here; none where all are 1.
    sizes: &'o [f64],
}

impl Order<'_> {
    /// How many come before a new job with a key. Of those that tie it is the last.
    fn place(&self, key: f64) -> usize {
        let key = rank(key);
        self.keys.partition_point(|known| rank(*known) >= key)
    }

    /// The size of the first `count`.
    fn size(&self, count: usize) -> f64 {
        #[allow(clippy::cast_precision_loss)] // jobs
        match count.checked_sub(1) {
            None => 0.0,
            Some(last) => self.sizes.get(last).copied().unwrap_or(count as f64),
        }
    }

    /// How many have no more than this size before them.
    fn behind(&self, size: f64) -> usize {
        if !self.sizes.is_empty() {
            return (self.sizes.partition_point(|sum| *sum <= size) + 1).min(self.keys.len());
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates
        self.keys.len().min((size + 1.0) as usize)
    }
}

/// Who competes for the tickets of an association.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Children {
    None,
    Only(Node),
    Several,
}

/// A job in the order of an association.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// What it gets, with what it has of earlier pools.
    key: f64,
    size: f64,
    job: u32,
    id: u32,
    /// The largest id of those with the same key that come before it in the order of its child, itself included: by that,
    /// ties are broken, never against that order.
    tie: u32,
}

impl TreeOrder {
    pub(super) fn new(rule: Rule, by_shares: bool) -> Self {
        Self {
            rule,
            by_shares,
            running: Vec::new(),
            shares: Vec::new(),
            orders: Vec::new(),
            keys: Vec::new(),
            sizes: Vec::new(),
            top: None,
        }
    }

    /// Forgets all jobs.
    pub(super) fn clear(&mut self) {
        *self = Self::new(self.rule, self.by_shares);
    }

    /// The tickets of every waiting job.
    pub(super) fn hand_out(&mut self, jobs: &Jobs<'_>, load: &Load, tickets: &mut [f64]) {
        let Ground { tree, fair_share } = jobs.queue.ground;
        self.read(tree, fair_share, load);
        let Some(top) = self.top else { return };
        // Associations come before those below them and next to them, and so do the groups: what is below one is in one place.
        let ends = ends(tree);
        let mut merged = Vec::new();
        let mut entries: Vec<Entry> = jobs.groups.all().iter().map(|place| jobs.entry(place)).collect();
        for node in tree.nodes().take(ends[top.index()]).skip(top.index()).rev() {
            let order = &mut entries[jobs.groups.range(node.index()..ends[node.index()])];
            let is_user = tree.is_user(node);
            // What is below a transparent account is left to those above it.
            let has_order = is_user || (node != top && !tree.uses_parent(node));
            if order.is_empty() || !has_order {
                continue;
            }
            if !is_user {
                merge(order, &mut merged);
                self.orders[node.index()] = self.remember(order);
            }
            let is_last = node == top || tree.fair_share_parent(node) == Some(top);
            let before = if is_last { None } else { jobs.before };
            self.number(jobs, node, before, order);
            if is_last {
                for entry in order {
                    tickets[entry.job as usize] = entry.key;
                }
            } else {
                settle_ties(order);
            }
        }
    }

    /// The keys of the jobs below an association in their order: what they get from it, with what they have had `before`.
    fn number(&self, jobs: &Jobs<'_>, node: Node, before: Option<&[f64]>, order: &mut [Entry]) {
        let ground = jobs.queue.ground;
        let part = ground.fair_share.level_share(ground.tree, node) * jobs.pool;
        let scale = self.scale(ground, node);
        let mut ahead = at(&self.running, node);
        for entry in order {
            let before = before.map_or(0.0, |before| before[entry.job as usize]);
            entry.key = before + part * self.rule.left(ahead * scale);
            ahead += entry.size;
        }
    }

    /// What sizes below an association are multiplied by.
    fn scale(&self, ground: Ground<'_>, node: Node) -> f64 {
        let Ground { tree, fair_share } = ground;
        let Some(parent) = tree.fair_share_parent(node).filter(|_| self.by_shares) else { return 1.0 };
        let (own, others) = (tree.shares_norm(node), at(&self.shares, parent));
        // Whoever is new competes, too, once it has a job.
        let is_new = !fair_share.competition().was_active(node);
        (if is_new { others.and(own) } else { others }).scale(own)
    }

    fn remember(&mut self, order: &[Entry]) -> Range<usize> {
        let begin = self.keys.len();
        self.keys.extend(order.iter().map(|entry| entry.key));
        if !self.rule.whole {
            let mut sum = 0.0;
            self.sizes.extend(order.iter().map(|entry| {
                sum += entry.size;
                sum
            }));
        }
        begin..self.keys.len()
    }

    /// The waiting jobs below an account, as they were in the last cycle.
    fn order(&self, node: Node) -> Order<'_> {
        let range = self.orders.get(node.index()).cloned().unwrap_or_default();
        Order {
            keys: self.keys.get(range.clone()).unwrap_or_default(),
            sizes: self.sizes.get(range).unwrap_or_default(),
        }
    }

    fn read(&mut self, tree: &ShareTree, fair_share: &FairShare, load: &Load) {
        self.orders.clear();
        self.orders.resize(tree.len(), 0..0);
        self.keys.clear();
        self.sizes.clear();
        self.running.clone_from(&load.running);
        self.shares.clear();
        self.shares.resize(tree.len(), Shares::default());
        let mut children: Vec<Children> = vec![Children::None; tree.len()];
        // Children come before their parents. What a transparent account has below it goes past it.
        for node in tree.nodes().rev() {
            let Some(parent) = tree.fair_share_parent(node) else { continue };
            self.running[parent.index()] += self.running[node.index()];
            let competes = tree.is_user(node) || !tree.uses_parent(node);
            if competes && fair_share.competition().is_active(node) {
                let (shares, children) = (&mut self.shares[parent.index()], &mut children[parent.index()]);
                *shares = shares.and(tree.shares_norm(node));
                *children =
                    if *children == Children::None { Children::Only(node) } else { Children::Several };
            }
        }
        let only_child = |node: &Node| match children[node.index()] {
            Children::Only(child) => Some(child),
            Children::None | Children::Several => None,
        };
        let taken = std::iter::successors(tree.root(), only_child).last();
        // Where nobody waits, whoever begins to is alone.
        self.top = taken.filter(|top| fair_share.competition().is_active(*top));
    }

    /// What a job gets that begins to wait now, as its user's last. The sizes of the user's waiting jobs are given, in all and since the
    /// last cycle. `before` is what the job has from earlier pools.
    ///
    /// The next cycle gives the job the same if sizes are 1, earlier pools give nothing, and nobody else begins to wait. Under
    /// `Distribution=tickets` that holds for a new user too, but not for users with `Fairshare=parent` next to others. Otherwise it is
    /// close.
    pub(super) fn next(
        &self,
        ground: Ground<'_>,
        leaf: Node,
        waiting: f64,
        joined: f64,
        pool: f64,
        before: f64,
    ) -> f64 {
        let Ground { tree, fair_share } = ground;
        if leaf.index() >= tree.len() {
            return 0.0;
        }
        let (mut node, mut ahead) = (leaf, waiting);
        // The jobs below the association as they were, and how much of them comes before the new one.
        let (mut order, mut before_it) = (None::<Order<'_>>, 0.0);
        loop {
            let sizes = at(&self.running, node) + ahead;
            let share = fair_share.level_share(tree, node);
            let tickets = share * pool * self.rule.left(sizes * self.scale(ground, node));
            let parent =
                tree.fair_share_parent(node).filter(|parent| !self.is_at_or_above_top(tree, *parent));
            let Some(parent) = parent else { return tickets };
            // Those whom the new job displaces have such keys, too. They do not come before it further up.
            let displaced = order.map_or(0.0, |order| {
                let all_alike = tickets <= 0.0 || self.rule.exponent == 0.0;
                let last = if all_alike { order.keys.len() } else { order.behind(before_it + joined) };
                order.size(last) - before_it
            });
            let key = before + tickets / self.kept_beside(ground, node, share);
            let above = self.order(parent);
            before_it = (above.size(above.place(key)) - displaced).max(0.0);
            order = Some(above);
            ahead = before_it + joined;
            node = parent;
        }
    }

    /// What its siblings keep of their parts of the last cycle when an association with such a share begins to compete.
    fn kept_beside(&self, ground: Ground<'_>, node: Node, share: f64) -> f64 {
        let Ground { tree, fair_share } = ground;
        if self.by_shares || tree.uses_parent(node) || fair_share.competition().was_active(node) {
            1.0
        } else {
            // A little more, so that rounding gives no tie to the new job.
            (1.0 - share) * (1.0 + ROUNDING)
        }
    }

    /// Whether an association is what is taken for the root, or would be with a new job below it.
    fn is_at_or_above_top(&self, tree: &ShareTree, node: Node) -> bool {
        let above = |top: &Node| tree.fair_share_parent(*top);
        self.top.is_none() || std::iter::successors(self.top, above).any(|top| top == node)
    }
}

/// Behind the last association below each, by its place.
fn ends(tree: &ShareTree) -> Vec<usize> {
    let mut ends: Vec<usize> = (1..=tree.len()).collect();
    for node in tree.nodes().rev() {
        if let Some(parent) = tree.parent(node) {
            ends[parent.index()] = ends[parent.index()].max(ends[node.index()]);
        }
    }
    ends
}

/// From the largest key, whatever the order in which it was worked out.
fn descending(a: &Entry, b: &Entry) -> Ordering {
    rank(b.key).cmp(&rank(a.key))
}

/// Makes one order of those of the children, which come one after the other. `merged` is a buffer.
fn merge(order: &mut [Entry], merged: &mut Vec<Entry>) {
    let in_order = |a: &Entry, b: &Entry| descending(a, b).then_with(|| a.tie.cmp(&b.tie)).is_le();
    let mut runs: Vec<_> = order.chunk_by(in_order).map(<[Entry]>::iter).collect();
    if runs.len() < 2 {
        return;
    }
    let head = |at: usize, entry: &Entry| (rank(entry.key), Reverse((entry.tie, at)));
    let heads = runs.iter().enumerate().filter_map(|(at, run)| Some(head(at, run.as_slice().first()?)));
    let mut heads: BinaryHeap<_> = heads.collect();
    merged.clear();
    while let Some(mut first) = heads.peek_mut() {
        let (_, Reverse((_, at))) = *first;
        merged.extend(runs[at].next());
        match runs[at].as_slice().first() {
            Some(entry) => *first = head(at, entry),
            None => drop(PeekMut::pop(first)),
        }
    }
    order.copy_from_slice(merged);
}

/// Orders the jobs of a child by their new keys, and says how ties with those of other children are broken.
fn settle_ties(order: &mut [Entry]) {
    if !order.is_sorted_by(|a, b| descending(a, b).is_le()) {
        order.sort_by(descending);
    }
    let mut last: Option<(i64, u32)> = None;
    for entry in order {
        entry.tie = match last {
            Some((key, tie)) if key == rank(entry.key) => tie.max(entry.id),
            _ => entry.id,
        };
        last = Some((rank(entry.key), entry.tie));
    }
}
