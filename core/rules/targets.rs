//! Fair-share targets as in Maui and Moab: how far usage is from a target, what a cap leaves, and how the levels of a tree count together.
//!
//! Targets, floors, ceilings and caps are those of the Maui Administrator's Guide, 6.3. That guide has no tree, and Moab documents no
//! formulas for its tree: [`Tiers`] is our own definition. Nothing here panics, and no distance is NaN or infinite, whatever the input.

use std::collections::BTreeMap;

use crate::ties::{same, settled, LAST_BITS};

/// The farthest from a target that anything is taken to be. Only a target next to zero leads there.
pub const FARTHEST: f64 = 1e15;

/// Which differences from a target count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// A target: both.
    #[default]
    Both,
    /// A floor: usage that is too low.
    Below,
    /// A ceiling: usage that is too high.
    Above,
}

/// In what the distance from a target is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// Percent points: T - U (Maui, 6.3).
    #[default]
    Difference,
    /// Parts of the target: 1 - U/T (Maui, 6.3, `FSPOLICY` with `%`).
    Ratio,
}

/// How far usage is below a target, both in percent; negative if it is above. 0 for a ratio to a target of 0.
pub fn delta(target: f64, usage: f64, side: Side, measure: Measure) -> f64 {
    let (target, usage) = (sane(target), sane(usage));
    let delta = match measure {
        // Its sign decides what counts on the levels below, see `Tiers`.
        _ if same(target, usage) => 0.0,
        Measure::Difference => target - usage,
        Measure::Ratio if target > 0.0 => 1.0 - usage / target,
        Measure::Ratio => 0.0,
    };
    match side {
        Side::Both => delta.clamp(-FARTHEST, FARTHEST),
        Side::Below => delta.clamp(0.0, FARTHEST),
        Side::Above => delta.clamp(-FARTHEST, 0.0),
    }
}

/// The steps of all that are not at 0: by kind, such as `User`, and name; of `Parent` the account, or account and user.
pub type KeptSteps = BTreeMap<(String, String), i64>;

/// The step that a distance is in, with steps of a `size` above 0: the one it was in `before`, until it is a whole one away from that, then
/// the last that it has passed. With steps of 5 a distance of 14.9 stays in step 2 after 10, and in step 3 after 15.
///
/// The distance counts as step · size. So a distance that moves by at most v per second takes at least size / v seconds from one step to
/// the next and back.
pub fn step(before: i64, distance: f64, size: f64) -> i64 {
    let distance = if distance.is_finite() { distance.clamp(-FARTHEST, FARTHEST) } else { 0.0 };
    #[allow(clippy::cast_precision_loss)] // a step that was reached before
    let (parts, before_as_parts) = (settled(distance / size), before as f64);
    if size <= 0.0 || !parts.is_finite() || (parts - before_as_parts).abs() < 1.0 {
        return if size > 0.0 && parts.is_finite() { before } else { 0 };
    }
    #[allow(clippy::cast_possible_truncation)] // saturates
    let level = if parts > before_as_parts { parts.floor() as i64 } else { parts.ceil() as i64 };
    level
}

/// Usage as a percentage of a total; `None` where the total is 0.
pub fn percentage(usage: f64, total: f64) -> Option<f64> {
    let total = sane(total);
    (total > 0.0).then(|| (100.0 * (sane(usage) / total)).min(FARTHEST))
}

/// What a percentage is of, in seconds times the metric.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// The usage of all.
    pub delivered: f64,
    /// What there was to use.
    pub available: f64,
}

/// How much a cap allows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cap {
    /// A percentage of the usage of all.
    Delivered(f64),
    /// A percentage of what there was to use.
    Available(f64),
    /// Hours of the metric.
    Amount(f64),
}

/// The room without a cap.
pub const NO_CAP: f64 = f64::INFINITY;

impl Cap {
    /// What a cap leaves after `usage`, in seconds times the metric: a job that requests more exceeds the cap. Negative if usage already
    /// does. [`NO_CAP`] if the total is 0.
    ///
    /// Maui, 6.3: blocked if usage + request > cap, for a relative cap if 100 (usage + request) / total > cap.
    pub fn room(self, usage: f64, totals: Totals) -> f64 {
        let allowed = self.allowed(totals);
        // What fills the cap fits, whatever the order in which usage was added up.
        allowed - sane(usage) + allowed * LAST_BITS
    }

    /// How much it allows, in seconds times the metric. [`NO_CAP`] where the total is 0.
    pub(crate) fn allowed(self, totals: Totals) -> f64 {
        let part = |percent: f64, total: f64| {
            let total = sane(total);
            if total > 0.0 {
                sane(percent) / 100.0 * total
            } else {
                NO_CAP
            }
        };
        match self {
            Self::Delivered(percent) => part(percent, totals.delivered),
            Self::Available(percent) => part(percent, totals.available),
            Self::Amount(hours) => sane(hours) * 3600.0,
        }
    }
}

/// How the levels of a tree count together.
///
/// This is our own definition, with the names that Moab uses. A path leads from the first level n1, below the root, to a node nd, and has a
/// distance from its target on each level.
/// - With `cap`, if two adjacent levels are off in the same direction, the lower one counts no more than the upper one.
/// - With `multiplier` m > 0 level k counts (1 + m)^-(k-1), with m < 0 it counts (1 + |m|)^-(d-k), else all count the same.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tiers {
    /// `CapTiers`
    pub cap: bool,
    /// `TierMultiplier`
    pub multiplier: f64,
}

/// Where a path through the tree has come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tier {
    /// The distance of its last level from the target, as it counts.
    delta: f64,
    /// The sum over its levels.
    sum: f64,
    /// What the next level counts.
    weight: f64,
}

impl Tier {
    /// The root, which is no level.
    pub const ROOT: Self = Self { delta: 0.0, sum: 0.0, weight: 1.0 };

    /// The sum over all levels of the path: what `FSParent` is of its last node.
    pub fn sum(self) -> f64 {
        self.sum
    }

    /// How far its last level is from the target, as it counts: after `cap`, without its weight.
    pub(crate) fn delta(self) -> f64 {
        self.delta
    }

    /// The path continued by a level with this distance from its target. In the sum the distance after `cap` is multiplied by `weight`.
    #[must_use]
    pub fn below(self, delta: f64, weight: f64, tiers: Tiers) -> Self {
        let delta = if delta.is_finite() { delta.clamp(-FARTHEST, FARTHEST) } else { 0.0 };
        let same_direction = delta * self.delta > 0.0;
        let delta =
            if tiers.cap && same_direction && delta.abs() > self.delta.abs() { self.delta } else { delta };
        let damp = 1.0 + sane(tiers.multiplier.abs());
        if tiers.multiplier < 0.0 {
            Self { delta, sum: self.sum / damp + weight * delta, weight: 1.0 }
        } else {
            Self { delta, sum: self.sum + weight * delta * self.weight, weight: self.weight / damp }
        }
    }
}

/// A finite number that is not negative.
fn sane(number: f64) -> f64 {
    // The comparison is false for NaN.
    if number > 0.0 {
        number.min(1e200)
    } else {
        0.0
    }
}
