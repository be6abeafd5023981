//! How the tickets of one level are divided among the siblings that have somebody waiting: the setting `Distribution`. One file a
//! rule.

mod compensated;
mod standing;
mod strict;
mod tickets;

pub use compensated::Compensated;
pub use standing::Standing;
pub use strict::Strict;
pub use tickets::Tickets;

/// What an association brings into the competition with its siblings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// Raw shares without what those of all siblings have in common. S of siblings has S(fsp)/level in common, which cancels out;
    /// without it, small shares deep in the tree cannot underflow.
    pub shares: f64,
    /// F, from 0 to 100.
    pub level_fs: f64,
    /// It has somebody waiting, so the rule knows it already.
    pub active: bool,
}

/// Divides tickets level by level. Parents are numbered by [`Node::index`](crate::Node::index).
pub trait Rule: Clone + std::fmt::Debug + Default {
    /// What an association holds: its tickets, and what the rule has to know of them below it.
    type Held: Clone + Copy + std::fmt::Debug + Default;

    /// Forgets all claims; there are so many associations.
    fn begin(&mut self, associations: usize);

    /// Takes the claim of an active association below a parent.
    fn claim(&mut self, parent: usize, claim: Claim);

    /// All claims of the cycle are there. More may come one by one until the next cycle.
    fn settle(&mut self);

    /// What the root holds, with so many tickets.
    fn root(tickets: f64) -> Self::Held;

    /// The same as what is held, with one ticket: to see in which parts it is divided.
    fn whole(_held: Self::Held) -> Self::Held {
        Self::root(1.0)
    }

    /// The tickets of who holds this.
    fn tickets(held: Self::Held) -> f64;

    /// What an association gets of its parent's: among the active siblings, itself counted. Nothing for F = 0.
    fn part(&self, parent: usize, of_parent: Self::Held, claim: Claim) -> Self::Held;

    /// What each of so many gets who divide something equally, where the rule can do that.
    fn divided(held: Self::Held, _among: f64) -> Self::Held {
        held
    }
}
