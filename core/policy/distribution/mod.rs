//! How the tickets of one level are divided among the siblings that have somebody waiting: the setting `Distribution`. One file a
//! rule.

mod standing;
mod strict;
mod tickets;

pub use standing::Standing;
pub use strict::Strict;
pub use tickets::Tickets;

/// What an association brings into the competition with its siblings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// Raw shares. S of siblings has S(fsp)/level in common, which cancels out; without it, small shares deep in the tree cannot
    /// underflow.
    pub shares: f64,
    /// F, from 0 to 100.
    pub level_fs: f64,
    /// It has somebody waiting, so the rule knows it already.
    pub active: bool,
}

/// The tickets of an association: `top`, and whoever comes after it among its siblings has no more than `bottom`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    /// What it has itself.
    pub top: f64,
    /// What everybody below it exceeds. 0 where a rule does not need it.
    pub bottom: f64,
}

/// Divides tickets level by level. Parents are numbered by [`Node::index`](crate::Node::index).
pub trait Rule: Clone + std::fmt::Debug + Default {
    /// Forgets all claims; there are so many associations.
    fn begin(&mut self, associations: usize);

    /// Takes the claim of an active association below a parent.
    fn claim(&mut self, parent: usize, claim: Claim);

    /// All claims of the cycle are there. More may come one by one until the next cycle.
    fn settle(&mut self);

    /// What an association gets of its parent's: among the active siblings, itself counted. Nothing for F = 0.
    fn part(&self, parent: usize, of_parent: Interval, claim: Claim) -> Interval;
}
