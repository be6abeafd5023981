//! Usage in Slurm's records: half-life decay and resets. What jobs add is in [`super::charging`].
//!
//! The core has the arithmetic. This applies it to the `long double` fields of associations (up to the root) and QOS.

use crate::faults;
use crate::host::locks::{AssocLock, Usage};
use crate::host::views;

/// Scales the usage of an association or a QOS, whose records have the same fields.
macro_rules! scale {
    ($usage:expr, $factor:expr) => {{
        let usage = $usage;
        usage.scale_ld(|u| u.usage_raw, $factor);
        usage.tres_raw().scale($factor);
        usage.set(|u| u.grp_used_wall, usage.get(|u| u.grp_used_wall) * $factor);
    }};
}

/// Sets it to zero.
macro_rules! clear {
    ($usage:expr) => {{
        let usage = $usage;
        usage.set_ld(|u| u.usage_raw, 0.0);
        usage.tres_raw().clear();
        usage.set(|u| u.grp_used_wall, 0.0);
    }};
}

/// Multiplies all usage by `factor`. QOS with the flag `NoDecay` keep theirs.
pub fn decay(lock: &AssocLock<'_, Usage>, factor: f64) {
    if let Some(associations) = lock.all() {
        views::decayed_associations(lock.host()).walk_list(associations, |association| {
            faults::point("decay.association");
            let usage = association.usage();
            if let Some(usage) = usage {
                scale!(usage, factor);
            }
            if let Some(leaf) = association.leaf_usage().filter(|leaf| Some(*leaf) != usage) {
                scale!(leaf, factor);
            }
        });
    }
    if let Some(list) = lock.qos() {
        list.for_each_ro(|qos| {
            if let Some(usage) = qos.usage().filter(|_| !qos.is_undecayed()) {
                scale!(usage, factor);
            }
        });
    }
}

/// Sets all usage to zero, as every `PriorityUsageResetPeriod` does.
pub fn reset(lock: &AssocLock<'_, Usage>) {
    if let Some(associations) = lock.all() {
        associations.for_each_ro(|association| {
            faults::point("reset.association");
            if let Some(usage) = association.usage() {
                clear!(usage);
            }
            association.drop_leaf_usage();
        });
    }
    if let Some(list) = lock.qos() {
        list.for_each_ro(|qos| {
            if let Some(usage) = qos.usage() {
                clear!(usage);
            }
        });
    }
}
