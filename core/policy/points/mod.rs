//! Points: the priority function of Maui, as a term that is added to the site factor of a job.

pub mod bypass;
mod job;

use std::collections::HashMap;

use rustc_hash::FxHashMap;

use crate::policy::pools::{Named, Names};
use crate::settings::Settings;
use crate::tree::{Node, ShareTree};

pub use job::{GroupAt, Needs, PartitionAt, PointsJob, QosAt, Request};

/// Usage of one kind, decayed by half-life or counted in windows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TargetUsage {
    /// By [`Node::index`], of an association and all below it. That of the root is the total for users, accounts and QOS.
    pub nodes: Vec<f64>,
    /// By id of the QOS.
    pub qos: FxHashMap<u32, f64>,
    /// By id of the Unix group.
    pub groups: FxHashMap<u32, f64>,
    /// By name of the partition.
    pub partitions: FxHashMap<String, f64>,
    /// The total for groups and partitions.
    pub all: f64,
    /// What was available.
    pub capacity: f64,
}

/// The points of a job by component, each with its weight and cap.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parts {
    /// CRED
    pub cred: f64,
    /// FS
    pub fs: f64,
    /// RES
    pub res: f64,
    /// SERV
    pub serv: f64,
    /// TARGET
    pub target: f64,
    /// USAGE
    pub usage: f64,
    /// The job goes beyond a cap: `total` is `-PointsCap` whatever the parts.
    pub is_capped: bool,
    /// The points.
    pub total: i32,
}

/// PE: the largest part that a job requests of anything the cluster has, times the processors of the cluster.
pub fn processor_equivalents(_parts: impl IntoIterator<Item = (f64, f64)>, _processors: f64) -> f64 {
    0.0
}

/// All that gives points, compiled from settings.
#[derive(Clone, Debug, Default)]
pub struct Points {}

#[allow(missing_docs, clippy::unused_self)]
impl Points {
    pub fn configured(_settings: &Settings) -> Option<Self> {
        None
    }

    /// Which facts are worth reading, of jobs of any partition.
    pub fn needs(&self) -> Needs {
        Needs::default()
    }

    /// The same of jobs of one partition.
    pub fn needs_in(&self, _partition: PartitionAt) -> Needs {
        Needs::default()
    }

    /// The names of Unix groups in all lines, `*` and numbers left out.
    pub fn group_names(&self) -> impl Iterator<Item = &str> {
        std::iter::empty()
    }

    /// The names in all lines, as of the last `learn`.
    pub fn named(&self) -> impl Iterator<Item = Named<'_>> {
        std::iter::empty()
    }

    /// Where tree, QOS or groups are new.
    pub fn learn<'n>(
        &mut self,
        _tree: &ShareTree,
        _names: impl Fn(Node) -> Names<'n>,
        _qos: &[(u32, &str)],
        _groups: &HashMap<String, u32>,
    ) {
    }

    /// Every cycle: who is how far from which target.
    pub fn weigh(&mut self, _tree: &ShareTree, _halflife: &TargetUsage, _window: &TargetUsage) {}

    pub fn partition(&self, _name: &str) -> PartitionAt {
        PartitionAt::default()
    }

    pub fn qos(&self, _id: u32) -> QosAt {
        QosAt::default()
    }

    pub fn group(&self, _gid: u32) -> GroupAt {
        GroupAt::default()
    }

    /// The points of a job.
    pub fn value(&self, _job: &PointsJob<'_>) -> i32 {
        0
    }

    /// The same by component.
    pub fn explain(&self, _job: &PointsJob<'_>) -> Parts {
        Parts::default()
    }
}
