//! `FSStep`: measures distances from targets in whole steps. A distance stays in its step until it has moved by a whole one, so that two
//! users with similar distances do not change places in every calculation. The current steps are kept, and saved with the sums of usage.

use std::collections::BTreeMap;

use super::lines::{LineKind, KINDS};
use crate::rules::targets::{step, KeptSteps, Measure};

/// What the kinds are called where steps are kept, in the order of [`LineKind`].
const WORDS: [&str; KINDS] = ["User", "Group", "Account", "Parent", "QOS", "Partition"];

/// The steps of the calculation before, and of this one.
#[derive(Clone, Debug, Default)]
pub(super) struct Steps {
    /// `FSStep`, in percentage points; 0: distances count as they are.
    size: f64,
    before: [BTreeMap<String, i64>; KINDS],
    now: [BTreeMap<String, i64>; KINDS],
}

impl Steps {
    pub(super) fn of(size: f64) -> Self {
        Self { size: if size > 0.0 { size } else { 0.0 }, ..Self::default() }
    }

    /// Whether distances count in steps.
    pub(super) fn are_used(&self) -> bool {
        self.size > 0.0
    }

    /// A calculation begins.
    pub(super) fn begin(&mut self) {
        self.before = std::mem::take(&mut self.now);
    }

    /// The distance of somebody as it counts.
    pub(super) fn stepped(&mut self, kind: LineKind, name: &str, distance: f64, measure: Measure) -> f64 {
        let size = match measure {
            Measure::Difference => self.size,
            Measure::Ratio => self.size / 100.0,
        };
        let before = self.before[kind as usize].get(name).copied().unwrap_or_default();
        let level = step(before, distance, size);
        if level != 0 {
            self.now[kind as usize].insert(name.to_owned(), level);
        }
        #[allow(clippy::cast_precision_loss)] // far below
        let counted = level as f64 * size;
        counted
    }

    /// Those of this calculation.
    pub(super) fn levels(&self) -> KeptSteps {
        let all = WORDS.iter().zip(&self.now);
        all.flat_map(|(kind, levels)| {
            levels.iter().map(|(name, level)| (((*kind).to_owned(), name.clone()), *level))
        })
        .collect()
    }

    /// Goes on with those of an earlier process. What is of no kind known here is left out.
    pub(super) fn restore(&mut self, levels: &KeptSteps) {
        for ((kind, name), level) in levels {
            if let Some(at) = WORDS.iter().position(|word| word == kind) {
                self.now[at].insert(name.clone(), *level);
            }
        }
    }
}
