//! The usage that targets are compared with.

use rustc_hash::FxHashMap;

use crate::rules::targets::Totals;

/// Usage of one kind, decayed by half-life or counted in windows, in seconds times `TargetMetric`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TargetUsage {
    /// By [`Node::index`](crate::Node::index), of an association and all below it. That of the root is the total for users, accounts and QOS.
    pub nodes: Vec<f64>,
    /// By id of the QOS.
    pub qos: FxHashMap<u32, f64>,
    /// By id of the Unix group.
    pub groups: FxHashMap<u32, f64>,
    /// By name of the partition.
    pub partitions: FxHashMap<String, f64>,
    /// The total for groups and partitions.
    pub all: f64,
    /// What there was to use.
    pub capacity: f64,
}

impl TargetUsage {
    /// For users, accounts and QOS.
    pub(super) fn of_root(&self) -> Totals {
        Totals { delivered: self.nodes.first().copied().unwrap_or_default(), available: self.capacity }
    }

    /// For groups and partitions.
    pub(super) fn of_all(&self) -> Totals {
        Totals { delivered: self.all, available: self.capacity }
    }
}
