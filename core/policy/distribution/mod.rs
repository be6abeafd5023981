//! How the tickets of one level are divided among the siblings with waiting jobs: the setting `Distribution`. Each rule is one file;
//! `core/settings/table/distributions.rs` lists them.

mod compensated;

use crate::settings::table::distributions::distributions;
use crate::settings::Distribution;

pub(crate) use compensated::Compensated;

/// Makes the modules, and what is asked of a word.
macro_rules! rules {
    ($($(#[doc = $meaning:literal])+ $variant:ident = $word:literal in $file:ident: $rule:ident,)+) => {
        $(mod $file;)+

        $(pub use $file::$rule;)+

        /// See [`Rule::SETTLES_ON_SHARES`].
        pub fn settles_on_shares(word: Distribution) -> bool {
            match word {
                $(Distribution::$variant => $rule::SETTLES_ON_SHARES,)+
            }
        }
    };
}

distributions!(rules);

/// What an association brings into the competition with its siblings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// Raw shares without the common divisor of all siblings. S of siblings has S(fsp)/level in common, which cancels out; without it,
    /// small shares deep in the tree cannot underflow.
    pub shares: f64,
    /// F, from 0 to 100.
    pub level_fs: f64,
    /// It has somebody waiting, so the rule knows it already.
    pub active: bool,
}

/// Divides tickets level by level. Parents are numbered by [`Node::index`](crate::Node::index).
///
/// What every rule promises is in `tests/core/promises.rs`, which asks each word of `Distribution`: nobody has more than the parent;
/// of two siblings that differ in shares or usage alone the one has more that is further below its share; equal siblings have the same;
/// neither the order of siblings nor what others do below another account changes anything.
///
/// ```
/// use multifactor2_core::policy::distribution::{Claim, Rule};
/// use multifactor2_core::{FairShare, NodeSpec, ShareTree};
///
/// /// The best sibling has all that its parent has, any other one nothing.
/// #[derive(Clone, Debug, Default)]
/// struct BestOnly {
///     best: Vec<f64>,
/// }
///
/// impl Rule for BestOnly {
///     type Held = f64;
///     const SETTLES_ON_SHARES: bool = true;
///
///     fn begin(&mut self, associations: usize) {
///         self.best = vec![0.0; associations];
///     }
///
///     fn claim(&mut self, parent: usize, claim: Claim) {
///         self.best[parent] = self.best[parent].max(claim.level_fs);
///     }
///
///     fn settle(&mut self) {}
///
///     fn root(tickets: f64) -> f64 {
///         tickets
///     }
///
///     fn tickets(held: f64) -> f64 {
///         held
///     }
///
///     fn part(&self, parent: usize, of_parent: f64, claim: Claim) -> f64 {
///         if claim.level_fs >= self.best[parent] { of_parent } else { 0.0 }
///     }
/// }
///
/// let user = |shares| NodeSpec { parent: Some(0), shares, user: true };
/// let tree = ShareTree::build(&[NodeSpec { parent: None, shares: 1, user: false }, user(60), user(40)]);
/// let mut fair_share = FairShare::dividing_by(BestOnly::default());
/// fair_share.distribute(&tree, &[100.0, 50.0, 50.0], &[0, 1, 1]);
/// let factors: Vec<f64> = tree.nodes().skip(1).map(|node| fair_share.priority(node)).collect();
/// assert_eq!(factors, [1.0, 0.0]);
/// ```
pub trait Rule: Clone + std::fmt::Debug + Send + Sync {
    /// What an association holds: its tickets, and what the rule has to know of them below it.
    type Held: Copy + std::fmt::Debug + Default + Send + Sync;

    /// Usage settles on the shares if every user always has jobs waiting and the one with the most tickets goes first.
    const SETTLES_ON_SHARES: bool;

    /// Forgets all claims; the number of associations is given.
    fn begin(&mut self, associations: usize);

    /// Takes the claim of an active association below a parent.
    fn claim(&mut self, parent: usize, claim: Claim);

    /// All claims of the cycle are there. More may come one by one until the next cycle.
    fn settle(&mut self);

    /// What the root holds with these tickets.
    fn root(tickets: f64) -> Self::Held;

    /// The same as what is held, with one ticket: to see in which parts it is divided.
    fn whole(_held: Self::Held) -> Self::Held {
        Self::root(1.0)
    }

    /// The tickets of who holds this.
    fn tickets(held: Self::Held) -> f64;

    /// What an association gets of its parent's: among the active siblings, itself counted. Nothing for F = 0.
    fn part(&self, parent: usize, of_parent: Self::Held, claim: Claim) -> Self::Held;

    /// What each holds if this number of equals divide it, for a rule that can do that.
    fn divided(held: Self::Held, _among: f64) -> Self::Held {
        held
    }
}
