//! The windows of the share tree (`TreeUsage=window`): what a snapshot has of them, and what they are at another time.
//!
//! Amounts stay in their windows, and a window's weight falls when a younger one begins. So usage at another time is known if the snapshot
//! has every window that counts then.

use multifactor2_core::rules::windows::{self, Windows};
use multifactor2_core::Node;
use multifactor2_snapshot::Snapshot;

use crate::output::numbers::{count, number, span};

/// Amounts of associations, with all below them, in the windows at the time of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeWindows {
    windows: Windows,
    decay: f64,
    /// Of how many windows, the current one first, all is known.
    told: usize,
    /// How many windows have begun since the snapshot.
    begun: usize,
    /// By node, in seconds times billing, the current window first; those that are missing at the end are 0.
    amounts: Vec<Vec<f64>>,
    /// By node: what the first of them count together, of none, of one and so on. Other times are asked for one after the other.
    sums: Vec<Vec<f64>>,
}

impl TreeWindows {
    /// Windows of `length` seconds, of which `depth` count, each `decay` of the next younger one, as they are at a time. `find` gives the
    /// place of the association with an id.
    pub(super) fn of(
        snapshot: &Snapshot,
        (length, depth, decay): (i64, usize, f64),
        at: i64,
        (nodes, find): (usize, impl Fn(u32) -> Option<Node>),
    ) -> Self {
        let root = snapshot.tree_windows.iter().find(|row| row.length == length.max(1));
        let mut windows = Windows::new(length, depth, root.map_or(snapshot.about.time, |row| row.begin));
        let mut amounts = vec![Vec::new(); nodes];
        let rows = snapshot.tree_windows.iter().filter(|_| root.is_some());
        for (row, node) in rows.filter_map(|row| Some((row, find(row.association)?))) {
            amounts[node.index()].clone_from(&row.amounts);
        }
        let begun = windows.advance(at);
        for amounts in &mut amounts {
            windows::roll(amounts, begun, windows.depth());
        }
        let told = root.map_or(0, |row| row.told as usize).saturating_add(begun).min(windows.depth());
        let sums = amounts.iter().map(|amounts| sums(amounts, decay)).collect();
        Self { windows, decay, told, begun, amounts, sums }
    }

    /// Seconds of each.
    pub fn length(&self) -> i64 {
        self.windows.length()
    }

    /// How many count.
    pub fn depth(&self) -> usize {
        self.windows.depth()
    }

    /// How much one counts, relative to the next younger one.
    pub fn decay(&self) -> f64 {
        self.decay
    }

    /// Of how many, the current one first, all is known.
    pub fn told(&self) -> usize {
        self.told
    }

    /// All is known that counts.
    pub fn are_known(&self) -> bool {
        self.told >= self.depth()
    }

    /// A window has begun since the snapshot, so that its usage is no longer that of now.
    pub fn have_moved(&self) -> bool {
        self.begun > 0
    }

    /// What counts now is not known: a window has begun, and not all are told of.
    pub fn are_lost(&self) -> bool {
        self.have_moved() && !self.are_known()
    }

    /// When a window begins, in seconds since 1970; 0 for the current one.
    pub fn begin_of(&self, age: usize) -> i64 {
        let age = i64::try_from(age).unwrap_or(i64::MAX);
        self.windows.newest().saturating_sub(age).saturating_mul(self.length())
    }

    /// When the window begins that comes this many after the current one.
    pub fn begin_after(&self, windows: usize) -> i64 {
        let windows = i64::try_from(windows).unwrap_or(i64::MAX);
        self.windows.newest().saturating_add(windows).saturating_mul(self.length())
    }

    /// The usage that shares use, as a sentence.
    pub fn described(&self) -> String {
        format!(
            "Shares use the usage in {} of {} (TreeUsage=window), each weighted {} of the next newer one, not RawUsage.",
            count(self.depth(), "window", "windows"),
            span(self.length()),
            number(self.decay)
        )
    }

    /// What an association with all below it was billed in each window, the current one first.
    pub fn amounts(&self, node: Node) -> &[f64] {
        &self.amounts[node.index()]
    }

    /// What all amounts count together at a time that is not before that of the model, by node, if nothing is added.
    pub fn usage_at(&self, at: i64) -> Vec<f64> {
        let mut then = self.windows;
        let by = then.advance(at);
        // Each counts so much less, and the oldest are gone.
        let left = self.depth().saturating_sub(by);
        let falls = self.decay.powi(i32::try_from(by).unwrap_or(i32::MAX));
        let count = |sums: &Vec<f64>| falls * sums.get(left).or(sums.last()).copied().unwrap_or_default();
        self.sums.iter().map(count).collect()
    }

    /// What each second counts at a time, added up from that of the model on: of what runs for one second in each.
    pub fn seconds(&self, from: i64, until: i64) -> f64 {
        let mut windows = self.windows;
        windows.advance(until);
        let mut sum = 0.0;
        #[allow(clippy::cast_precision_loss)] // seconds
        let run = until.saturating_sub(from).max(0) as f64;
        windows.split(from, run, |age, seconds| {
            sum += seconds * self.decay.powi(i32::try_from(age).unwrap_or(i32::MAX));
        });
        sum
    }
}

/// What the first amounts count together: of none, of one, and so on.
fn sums(amounts: &[f64], decay: f64) -> Vec<f64> {
    let (mut weight, mut sum) = (1.0, 0.0_f64);
    let mut sums = vec![0.0];
    for amount in amounts {
        sum = (sum + weight * amount).min(f64::MAX);
        weight *= decay;
        sums.push(sum);
    }
    sums
}
