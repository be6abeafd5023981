//! Measures usage against shares over contended time: the stretches in which at least one job waited.
//!
//! Usage is in CPU seconds, whatever it is billed by. It is measured in intervals of equal length, of which only the contended parts count.
//!
//! - **Share error** of an interval: E = ½ Σ |usage of an account / all usage − its share|, over accounts directly below the root, of
//!   usage that decays by half-life. From 0 (as configured) to 1.
//! - **Demand** of a user in an interval: CPU seconds of its jobs that run, and of those that wait, for as long as they do within it.
//! - **Entitlement** x: see [`super::water`]. **Shortfall**: max(0, x − got), summed over users, in parts of what was used.
//! - **Jain's index** over got/x of users with an entitlement: (Σ r)² / (n Σ r²); 1 where all got the same part of theirs.
//! - **Lag** of an account: entitlement − got, summed up from the beginning; the largest that an account had, in CPU hours.

use multifactor2_core::decay::{decay_factor, decay_over};
use multifactor2_core::{Node, ShareTree};

use super::water::Water;
use super::Spread;
use crate::sim::{Outcome, NEVER};
use crate::workload::Workload;

/// An interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// When it begins.
    pub begin: i64,
    /// Contended seconds in it.
    pub contended: f64,
    /// CPU seconds that each account had in all of it, by place in [`Fairness::accounts`].
    pub used: Vec<f64>,
    /// The decayed usage of each in parts of all, at its end.
    pub usage_share: Vec<f64>,
    /// Share error at its end.
    pub share_error: f64,
    /// Jain's index; `None` where it is not contended.
    pub jain: Option<f64>,
    /// Shortfall in parts of what was used; `None` where it is not contended.
    pub shortfall: Option<f64>,
}

/// How near usage came to the shares, over time and in all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fairness {
    /// The accounts directly below the root: places in [`Workload::associations`].
    pub accounts: Vec<u32>,
    /// Their normalised shares.
    pub shares: Vec<f64>,
    /// All intervals.
    pub samples: Vec<Sample>,
    /// Seconds in which somebody waited.
    pub contended: f64,
    /// Over contended intervals, weighted equally.
    pub share_error: Spread,
    /// Over contended intervals: 1 − Jain's index, so that worst is the largest.
    pub jain_gap: Spread,
    /// Over contended intervals.
    pub shortfall: Spread,
    /// The largest lag of each account, in CPU hours.
    pub max_lag: Vec<f64>,
    /// What each user had in contended time, by place in [`Workload::associations`], in CPU seconds.
    pub got: Vec<f64>,
    /// What each was entitled to.
    pub entitled: Vec<f64>,
}

/// A stretch of a job, within which it waits or runs.
#[derive(Clone, Copy)]
struct Stretch {
    from: i64,
    to: i64,
    cpus: f64,
    node: usize,
    runs: bool,
}

/// The most sums by interval and association.
const MOST_SUMS: usize = 50_000_000;

/// Measures an outcome in `intervals` intervals (at least 1), from the first submission to the last. `half_life` is in seconds. Intervals
/// that begin before `since` are a warm-up: they have samples, and count for nothing else.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_wrap, clippy::cast_sign_loss)] // seconds of a workload
pub fn fairness(
    workload: &Workload,
    outcome: &Outcome,
    intervals: u32,
    half_life: u32,
    since: i64,
) -> Fairness {
    let tree = ShareTree::build(&workload.node_specs());
    let (Some(first), Some(last)) = (workload.jobs.first(), workload.jobs.last()) else {
        return Fairness::default();
    };
    let (begin, end) = (first.submit, last.submit.max(first.submit + 1));
    // So that memory stays within 1 GB, whatever the tree.
    let most = (MOST_SUMS / tree.len().max(1)).max(1) as u64;
    let length = ((end - begin) as u64).div_ceil(u64::from(intervals.max(1)).min(most)).max(1) as i64;
    let count = usize::try_from((end - begin).div_euclid(length) + 1).unwrap_or(1);

    let top: Vec<Node> =
        tree.nodes().filter(|node| tree.parent(*node) == tree.root() && Some(*node) != tree.root()).collect();
    let place_of = |node: Node| {
        (0..).zip(&workload.associations).find(|(at, _)| tree.position(*at as usize) == Some(node))
    };
    let mut of_top = vec![usize::MAX; tree.len()];
    for (at, node) in top.iter().enumerate() {
        of_top[node.index()] = at;
    }
    for node in tree.nodes().skip(1) {
        if let Some(parent) = tree.parent(node).filter(|_| of_top[node.index()] == usize::MAX) {
            of_top[node.index()] = of_top[parent.index()];
        }
    }

    let buckets = Buckets::fill(workload, outcome, &tree, begin, length, count);
    let mut fairness = Fairness {
        accounts: top.iter().filter_map(|node| place_of(*node).map(|(at, _): (u32, _)| at)).collect(),
        shares: top.iter().map(|node| tree.shares_norm(*node)).collect(),
        max_lag: vec![0.0; top.len()],
        got: vec![0.0; workload.associations.len()],
        entitled: vec![0.0; workload.associations.len()],
        ..Fairness::default()
    };
    let decay = decay_over(decay_factor(half_life), length as f64);
    let mut decayed = vec![0.0; top.len()];
    let mut lag = vec![0.0; top.len()];
    let (mut errors, mut gaps, mut shortfalls) = (Vec::new(), Vec::new(), Vec::new());
    let (mut got, mut entitled) = (vec![0.0; tree.len()], vec![0.0; tree.len()]);
    let mut water = Water::new(&tree);
    for at in 0..count {
        let mut sample = Sample {
            begin: begin + length * i64::try_from(at).unwrap_or_default(),
            contended: buckets.contended[at],
            used: vec![0.0; top.len()],
            ..Sample::default()
        };
        let (ran, wanted) = buckets.of(at);
        for (node, cpus) in ran.iter().enumerate().filter(|(node, _)| of_top[*node] != usize::MAX) {
            sample.used[of_top[node]] += cpus;
        }
        for (decayed, used) in decayed.iter_mut().zip(&sample.used) {
            *decayed = *decayed * decay + used;
        }
        let all: f64 = decayed.iter().sum();
        sample.usage_share = decayed.iter().map(|usage| if all > 0.0 { usage / all } else { 0.0 }).collect();
        let off = sample.usage_share.iter().zip(&fairness.shares).map(|(usage, share)| (usage - share).abs());
        sample.share_error = off.sum::<f64>() / 2.0;
        let counts = sample.begin >= since;
        fairness.contended += if counts { sample.contended } else { 0.0 };
        if sample.contended > 0.0 {
            let amount: f64 = ran.iter().sum();
            let given = water.fill(&tree, amount, &wanted);
            let users = || tree.nodes().map(Node::index).filter(|node| wanted[*node] > 0.0);
            let missing: f64 = users().map(|node| (given[node] - ran[node]).max(0.0)).sum();
            sample.shortfall = Some(if amount > 0.0 { missing / amount } else { 0.0 });
            let ratios: Vec<f64> =
                users().filter(|node| given[*node] > 0.0).map(|node| ran[node] / given[node]).collect();
            sample.jain = Some(jain(&ratios));
            if !counts {
                fairness.samples.push(sample);
                continue;
            }
            for node in users() {
                got[node] += ran[node];
                entitled[node] += given[node];
                if let Some(lag) = lag.get_mut(of_top[node]) {
                    *lag += (given[node] - ran[node]) / 3600.0;
                }
            }
            for (most, lag) in fairness.max_lag.iter_mut().zip(&lag) {
                *most = most.max(*lag);
            }
            errors.push(sample.share_error);
            gaps.push(1.0 - sample.jain.unwrap_or(1.0));
            shortfalls.extend(sample.shortfall);
        }
        fairness.samples.push(sample);
    }
    for place in 0..workload.associations.len() {
        if let Some(node) = tree.position(place) {
            fairness.got[place] = got[node.index()];
            fairness.entitled[place] = entitled[node.index()];
        }
    }
    fairness.share_error = Spread::of(&mut errors);
    fairness.jain_gap = Spread::of(&mut gaps);
    fairness.shortfall = Spread::of(&mut shortfalls);
    fairness
}

/// (Σ r)² / (n Σ r²); 1 where there is nothing to compare.
#[allow(clippy::cast_precision_loss)] // counts of users
pub fn jain(values: &[f64]) -> f64 {
    let (sum, squares) =
        values.iter().fold((0.0, 0.0), |(sum, squares), value| (sum + value, squares + value * value));
    if squares > 0.0 {
        sum * sum / (values.len() as f64 * squares)
    } else {
        1.0
    }
}

/// CPU seconds by interval and node.
struct Buckets {
    nodes: usize,
    /// Of jobs that ran, and of those that ran or waited.
    ran: Vec<f64>,
    wanted: Vec<f64>,
    /// Seconds in which somebody waited, by interval.
    contended: Vec<f64>,
}

impl Buckets {
    #[allow(clippy::cast_precision_loss)] // seconds
    fn fill(
        workload: &Workload,
        outcome: &Outcome,
        tree: &ShareTree,
        begin: i64,
        length: i64,
        count: usize,
    ) -> Self {
        let nodes = tree.len();
        let mut buckets = Self {
            nodes,
            ran: vec![0.0; nodes * count],
            wanted: vec![0.0; nodes * count],
            contended: vec![0.0; count],
        };
        let mut waits: Vec<(i64, i32)> = Vec::new();
        for (job, start) in workload.jobs.iter().zip(&outcome.starts) {
            let Some(node) = tree.position(job.association as usize) else { continue };
            if *start == NEVER {
                continue;
            }
            let (node, cpus) = (node.index(), f64::from(job.cpus));
            let ended = start + i64::from(job.run);
            // What a job wants while it waits is what it would use, and no more than it then does.
            let waited = (*start).min(job.eligible + i64::from(job.run));
            buckets.spread(
                begin,
                length,
                Stretch { from: job.eligible, to: waited, cpus, node, runs: false },
            );
            buckets.spread(begin, length, Stretch { from: *start, to: ended, cpus, node, runs: true });
            if job.eligible < *start {
                waits.push((job.eligible, 1));
                waits.push((*start, -1));
            }
        }
        waits.sort_unstable();
        let (mut depth, mut since) = (0, begin);
        for (time, change) in waits {
            if depth > 0 {
                let stretch = Stretch { from: since, to: time, cpus: 1.0, node: 0, runs: false };
                each(begin, length, count, stretch, |at, seconds| buckets.contended[at] += seconds);
            }
            depth += change;
            since = time;
        }
        buckets
    }

    fn spread(&mut self, begin: i64, length: i64, stretch: Stretch) {
        let (nodes, count) = (self.nodes, self.contended.len());
        each(begin, length, count, stretch, |at, seconds| {
            let place = at * nodes + stretch.node;
            self.wanted[place] += seconds * stretch.cpus;
            if stretch.runs {
                self.ran[place] += seconds * stretch.cpus;
            }
        });
    }

    fn of(&self, at: usize) -> (Vec<f64>, Vec<f64>) {
        let range = at * self.nodes..(at + 1) * self.nodes;
        (self.ran[range.clone()].to_vec(), self.wanted[range].to_vec())
    }
}

/// The seconds of a stretch in each interval.
#[allow(clippy::cast_precision_loss)] // seconds
fn each(begin: i64, length: i64, count: usize, stretch: Stretch, mut call: impl FnMut(usize, f64)) {
    let last = begin + length * i64::try_from(count).unwrap_or(i64::MAX / length.max(1) / 2);
    let (mut from, to) = (stretch.from.max(begin), stretch.to.min(last));
    while from < to {
        let at = (from - begin) / length;
        let until = (begin + (at + 1) * length).min(to);
        call(usize::try_from(at).unwrap_or_default(), (until - from) as f64);
        from = until;
    }
}
