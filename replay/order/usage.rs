//! Usage of associations. It decays by half-life, and running jobs are charged for the time since the last cycle, as in the plugin and in
//! stock. If the share tree uses windows ([`InWindows`]), the same seconds are entered there too.
//!
//! Jobs of one association that ran through the whole period count together. So the cost of a cycle depends on the number of associations
//! and of jobs that started since the last cycle.

use std::collections::BTreeMap;

use multifactor2_core::decay::{decay_factor, decay_over, RunDecay};
use multifactor2_core::rules::minimum::Run;
use multifactor2_core::{Node, ShareTree};

use super::windows::InWindows;

/// A job that runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Held {
    /// Its association.
    pub node: Node,
    /// When it started.
    pub start: i64,
    /// What it counts per second.
    pub rate: f64,
    /// The partition that it runs in.
    pub partition: u16,
    /// It is in the rate of its association.
    settled: bool,
}

/// Usage that decays, by association.
#[derive(Debug)]
pub struct Usage {
    factor: f64,
    run_decay: RunDecay,
    last: i64,
    /// By node, of accounts with that of all below.
    sums: Vec<f64>,
    /// By node: what its jobs count per second that ran at the last cycle, and how many they are.
    rates: Vec<(f64, u32)>,
    running: BTreeMap<u32, Held>,
    fresh: Vec<u32>,
    charges: Vec<f64>,
    /// Usage in windows, if the share tree uses that instead.
    windows: Option<InWindows>,
}

impl Usage {
    /// Nobody has used anything. `half_life` in seconds, 0 for no decay.
    pub fn new(tree: &ShareTree, half_life: u32, now: i64) -> Self {
        let factor = decay_factor(half_life);
        Self {
            factor,
            run_decay: RunDecay::new(factor),
            last: now,
            sums: vec![0.0; tree.len()],
            rates: vec![(0.0, 0); tree.len()],
            running: BTreeMap::new(),
            fresh: Vec::new(),
            charges: Vec::new(),
            windows: None,
        }
    }

    /// Makes the share tree use windows: seconds of each, how many count, and the weight of one relative to the next younger one.
    pub fn go_by_windows(&mut self, tree: &ShareTree, of: (i64, usize, f64)) {
        self.windows = Some(InWindows::new(tree, of, self.last));
    }

    /// Usage that decays, by node.
    pub fn by_node(&self) -> &[f64] {
        &self.sums
    }

    /// The usage for the share tree, by node: the same, or usage in windows.
    pub fn counted(&self) -> &[f64] {
        self.windows.as_ref().map_or(&self.sums, InWindows::by_node)
    }

    /// Jobs that run, by their places.
    pub fn running(&self) -> impl Iterator<Item = (u32, &Held)> {
        self.running.iter().map(|(job, held)| (*job, held))
    }

    /// A job starts, which counts this much per second.
    pub fn start(&mut self, job: u32, node: Node, now: i64, partition: u16, rate: f64) {
        self.running.insert(job, Held { node, start: now, rate, partition, settled: false });
        self.fresh.push(job);
    }

    /// A job ends, and is charged since the last cycle, and what is missing to `minimum` seconds in all. These are of now: they do not decay
    /// within the period. `false` where it does not run here.
    pub fn end(&mut self, tree: &ShareTree, now: i64, job: u32, minimum: i64) -> bool {
        let Some(held) = self.running.remove(&job) else { return false };
        let since = held.start.max(self.last);
        let run = Run { start: held.start, end: now, suspended: 0, before_suspension: 0 };
        let missing = seconds(run.missing(minimum));
        let charge = (self.run_decay.of(seconds(now - since)) + missing) * held.rate;
        if let Some(windows) = &mut self.windows {
            windows.advance(now);
            windows.enter(held.node, since, seconds(now - since), held.rate);
            windows.enter(held.node, now, missing, held.rate);
        }
        if held.settled {
            let (rate, count) = &mut self.rates[held.node.index()];
            *count -= 1;
            // So that rounding does not stay behind.
            *rate = if *count == 0 { 0.0 } else { *rate - held.rate };
        }
        let mut next = Some(held.node);
        while let Some(node) = next {
            self.sums[node.index()] += charge;
            next = tree.parent(node);
        }
        true
    }

    /// Nobody has used anything, from now on.
    pub fn reset(&mut self) {
        self.sums.fill(0.0);
        if let Some(windows) = &mut self.windows {
            windows.reset();
        }
    }

    /// A cycle: usage decays, and running jobs are charged.
    pub fn cycle(&mut self, tree: &ShareTree, now: i64) {
        let passed = seconds(now - self.last);
        let over = decay_over(self.factor, passed);
        for usage in &mut self.sums {
            *usage *= over;
        }
        if let Some(windows) = &mut self.windows {
            windows.advance(now);
            windows.enter_all(self.last, passed, self.rates.iter().map(|(rate, _)| *rate));
        }
        let whole = self.run_decay.of(passed);
        self.charges.clear();
        self.charges.extend(self.rates.iter().map(|(rate, _)| rate * whole));
        for job in self.fresh.drain(..) {
            let Some(held) = self.running.get_mut(&job) else { continue };
            held.settled = true;
            let at = held.node.index();
            let since = held.start.max(self.last);
            self.charges[at] += self.run_decay.of(seconds(now - since)) * held.rate;
            if let Some(windows) = &mut self.windows {
                windows.enter(held.node, since, seconds(now - since), held.rate);
            }
            self.rates[at].0 += held.rate;
            self.rates[at].1 += 1;
        }
        for node in tree.nodes().rev() {
            let charge = self.charges[node.index()];
            self.sums[node.index()] += charge;
            if let Some(parent) = tree.parent(node) {
                self.charges[parent.index()] += charge;
            }
        }
        if let Some(windows) = &mut self.windows {
            windows.count(tree);
        }
        self.last = now;
    }
}

#[allow(clippy::cast_precision_loss)] // seconds of a simulation
fn seconds(between: i64) -> f64 {
    between.max(0) as f64
}
