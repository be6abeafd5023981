//! The interface of a fair-share policy in a replay.

use multifactor2_core::policy::pools::{JobNames, Names};
use multifactor2_core::{Node, ShareTree};

/// What a policy uses in a cycle: the tree, and usage after decay and charges.
#[derive(Clone, Copy)]
pub struct Ground<'g> {
    /// The associations.
    pub tree: &'g ShareTree,
    /// What they are called, by node.
    pub names: &'g dyn Fn(Node) -> Names<'g>,
    /// Raw usage by [`Node::index`], of accounts with that of all below.
    pub usage: &'g [f64],
    /// Jobs that wait, by [`Node::index`] of their associations.
    pub waiting: &'g [u32],
    /// Seconds since 1970.
    pub now: i64,
}

/// A job that waits.
#[derive(Clone, Copy, Debug)]
pub struct Queued<'q> {
    /// Its association.
    pub node: Node,
    /// Its names and its id.
    pub names: JobNames<'q>,
    /// Since how many seconds it gains age.
    pub age: u32,
    /// CPUs.
    pub cpus: u32,
    /// Billing per second.
    pub billing: f64,
    /// Its time limit in minutes; `None` without one.
    pub minutes: Option<f64>,
}

/// A job that runs.
#[derive(Clone, Copy, Debug)]
pub struct Running<'q> {
    /// The same as of one that waits, with the minutes that it may still run.
    pub job: Queued<'q>,
}

/// A job that comes between two cycles.
pub type Newcomer<'q> = Queued<'q>;

/// A fair-share policy: who of those that wait should have what.
pub trait FairSharePolicy {
    /// Whether it looks at single jobs; where not, [`Self::distribute`] gets none.
    fn looks_at_jobs(&self) -> bool;

    /// A cycle: usage has decayed and been charged.
    fn distribute(&mut self, ground: &Ground<'_>, queue: &[Queued<'_>], running: &[Running<'_>]);

    /// The factor, 0 to 1, of the job at a place in the queue of the last cycle, of this association.
    fn of_waiting(&self, at: usize, node: Node) -> f64;

    /// The factor of a job that comes now.
    fn submit(&mut self, tree: &ShareTree, job: &Newcomer<'_>) -> f64;
}
