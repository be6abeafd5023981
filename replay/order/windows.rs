//! Usage in the windows of a share tree (`TreeUsage=window`): usage is entered in the window in which a job ran.

use multifactor2_core::rules::windows::{self, Windows};
use multifactor2_core::{Node, ShareTree};

/// Usage in windows, by association.
#[derive(Debug)]
pub struct InWindows {
    windows: Windows,
    decay: f64,
    /// By node, without those below: what was used in each window, the current one first.
    amounts: Vec<Vec<f64>>,
    /// By node, of accounts with that of all below: what that counts.
    counts: Vec<f64>,
}

impl InWindows {
    /// Nobody has used anything. Windows of `length` seconds, of which `depth` count, each `decay` of the next younger one.
    pub fn new(tree: &ShareTree, (length, depth, decay): (i64, usize, f64), now: i64) -> Self {
        let nodes = tree.len();
        Self {
            windows: Windows::new(length, depth, now),
            decay,
            amounts: vec![Vec::new(); nodes],
            counts: vec![0.0; nodes],
        }
    }

    /// What counts, by node, as it was when it was last [counted](Self::count).
    pub fn by_node(&self) -> &[f64] {
        &self.counts
    }

    /// It is `now`.
    pub fn advance(&mut self, now: i64) {
        let by = self.windows.advance(now);
        if by > 0 {
            let depth = self.windows.depth();
            self.amounts.iter_mut().for_each(|amounts| windows::roll(amounts, by, depth));
        }
    }

    /// Something ran for some seconds from a time on, and counts `rate` in each.
    pub fn enter(&mut self, node: Node, start: i64, seconds: f64, rate: f64) {
        let amounts = &mut self.amounts[node.index()];
        self.windows.split(start, seconds, |age, seconds| windows::enter(amounts, age, seconds * rate));
    }

    /// The same of all nodes, with the rate of each.
    pub fn enter_all(&mut self, start: i64, seconds: f64, rates: impl Iterator<Item = f64>) {
        let mut parts = Vec::new();
        self.windows.split(start, seconds, |age, seconds| parts.push((age, seconds)));
        for (amounts, rate) in self.amounts.iter_mut().zip(rates).filter(|(_, rate)| *rate != 0.0) {
            for (age, seconds) in &parts {
                windows::enter(amounts, *age, seconds * rate);
            }
        }
    }

    /// What all windows count together, from now on.
    pub fn count(&mut self, tree: &ShareTree) {
        for (count, amounts) in self.counts.iter_mut().zip(&self.amounts) {
            *count = windows::usage(amounts, self.decay);
        }
        for node in tree.nodes().rev() {
            if let Some(parent) = tree.parent(node) {
                self.counts[parent.index()] += self.counts[node.index()];
            }
        }
    }

    /// Nobody has used anything, from now on.
    pub fn reset(&mut self) {
        self.amounts.iter_mut().for_each(Vec::clear);
    }
}
