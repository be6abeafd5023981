//! The fair-share algorithms of Slurm's own `priority/multifactor`: Fair Tree, and the classic one of `PriorityFlags=NO_FAIR_TREE`.
//!
//! Sites that run them want the same answers, and sites that consider switching want both. So this computes what `sshare` shows and what
//! the jobs get from the same tree and the same usage. It is not part of the engine: the plugin does not call it.
//!
//! The formulas are in Slurm's `fair_tree` and `priority_multifactor` pages. Where Slurm departs from its pages, this does what Slurm does,
//! and says so. Checked against slurmctld 20.11.4, 22.05.8, 24.11.5 and 26.05.5.
//!
//! Slurm computes with C's `long double`, and Fair Tree asks whether two results are equal. With `f64` more of them would be: of three
//! siblings with 1, 2 and 3 shares and usage in proportion, `f64` has all three at 1, Slurm two of them a little below. So this
//! computes in the same format as the machine it runs on: x87 on x86, 128 bits elsewhere. slurmctld on another kind of machine may have
//! other ties.
//!
//! Slurm adds up the shares of siblings in 32 bits. A sum above 4294967295 wraps around to 0, here as in Slurm.

mod classic;
mod fair_tree;

use rustc_apfloat::ieee::Double;
use rustc_apfloat::{Float, FloatConvert, StatusAnd};

pub use super::shown::Shown;
pub use classic::Classic;

use crate::competition::sane;
use crate::tree::{at, Node, ShareTree};

#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
type LongDouble = rustc_apfloat::ieee::X87DoubleExtended;
#[cfg(not(any(target_arch = "x86_64", target_arch = "x86")))]
type LongDouble = rustc_apfloat::ieee::Quad;

/// Slurm's `NO_VAL`, a number that stands for none. It gets into a few results.
const NO_VAL: f64 = 4_294_967_294.0;

/// An algorithm with its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Slurm's default: users are ranked, and the rank is the factor.
    FairTree,
    /// `PriorityFlags=NO_FAIR_TREE` or `DEPTH_OBLIVIOUS`: the factor is two to the power of minus usage over share.
    Classic(Classic),
}

impl Algorithm {
    /// The algorithm that slurm.conf selects by `PriorityFlags`, with `FairShareDampeningFactor` (1 if not set), in a release by year and
    /// month, such as `(24, 11)`.
    ///
    /// As in Slurm, case does not matter, a flag may be anywhere in the text, and `DEPTH_OBLIVIOUS` alone also turns Fair Tree off.
    pub fn of(flags: &str, dampening: u16, release: (u16, u16)) -> Self {
        let flags = flags.to_ascii_uppercase();
        let depth_oblivious = flags.contains("DEPTH_OBLIVIOUS");
        if depth_oblivious || flags.contains("NO_FAIR_TREE") {
            Self::Classic(Classic { dampening, depth_oblivious, shows_factor: release >= (25, 11) })
        } else {
            Self::FairTree
        }
    }
}

/// What each association of a tree shows, by [`Node::index`].
///
/// `usage` is the raw (decayed) usage by [`Node::index`], in seconds of the billable TRES, as `RawUsage` of sshare but with its fraction.
/// NaN, negative and missing values count as 0. That of an account need not be the sum of those below it.
///
/// The order of siblings matters in one case: of accounts with the same `LevelFS` in Fair Tree the earlier one is better off (Slurm's page
/// says that they are merged, but they are not). It is the order in which slurmctld read them from the database: by `lft` up to Slurm
/// 23.02, by `lineage` later, as `sacctmgr show assoc format=lft` or `format=lineage` has them. Up to 23.02, once an association was added
/// while slurmctld ran, it is that of sshare until the next start: users by name, then accounts by name.
pub fn standings(tree: &ShareTree, usage: &[f64], algorithm: Algorithm) -> Vec<Shown> {
    let site = Site::new(tree, usage);
    match algorithm {
        Algorithm::FairTree => fair_tree::standings(&site),
        Algorithm::Classic(settings) => classic::standings(&site, settings),
    }
}

/// Only the factors of the jobs, by [`Node::index`], 0 for accounts: the numbers of [`standings`] in a fraction of its time, for callers
/// that compute them very often.
pub fn factors(tree: &ShareTree, usage: &[f64], algorithm: Algorithm) -> Vec<f64> {
    let site = Site::new(tree, usage);
    match algorithm {
        Algorithm::FairTree => fair_tree::factors(&site),
        Algorithm::Classic(settings) => classic::factors(&site, settings),
    }
}

/// What both algorithms begin with.
struct Site<'a> {
    tree: &'a ShareTree,
    /// By node, finite and not negative.
    usage: Vec<f64>,
    /// By the fair-share parent: the sum of the shares that compete below it, in 32 bits.
    level_shares: Vec<u32>,
}

impl<'a> Site<'a> {
    fn new(tree: &'a ShareTree, usage: &[f64]) -> Self {
        let mut level_shares = vec![0_u32; tree.len()];
        for node in tree.nodes().filter(|node| !tree.uses_parent(*node)) {
            if let Some(parent) = tree.fair_share_parent(node) {
                let sum = &mut level_shares[parent.index()];
                *sum = sum.wrapping_add(tree.shares(node));
            }
        }
        let usage = tree.nodes().map(|node| sane(at(usage, node))).collect();
        Self { tree, usage, level_shares }
    }

    fn usage(&self, node: Node) -> f64 {
        self.usage[node.index()]
    }

    /// The share among its siblings; 0 where nobody there has any.
    fn share_of_level(&self, node: Node) -> f64 {
        let sum = self.tree.fair_share_parent(node).map_or(0, |parent| self.level_shares[parent.index()]);
        if sum == 0 {
            0.0
        } else {
            f64::from(self.tree.shares(node)) / f64::from(sum)
        }
    }

    /// Usage over that of another association; 0 where that has none.
    fn usage_over(&self, node: Node, whole: Node) -> LongDouble {
        let whole = self.usage(whole);
        if whole == 0.0 {
            LongDouble::ZERO
        } else {
            (long(self.usage(node)) / long(whole)).value
        }
    }

    /// Usage over the root's, at most 1.
    fn usage_norm(&self, node: Node) -> LongDouble {
        let norm = self.tree.root().map_or(LongDouble::ZERO, |root| self.usage_over(node, root));
        norm.min(long(1.0))
    }

    /// The columns that both fill in the same way; the others are empty.
    fn shown(&self, node: Node) -> Shown {
        let below_root = self.tree.parent(node).is_some();
        Shown {
            raw_shares: below_root.then(|| self.tree.shares(node)),
            norm_shares: 0.0,
            norm_usage: below_root.then(|| short(self.usage_norm(node))),
            effectv_usage: 1.0,
            fair_share: None,
            level_fs: None,
            factor: None,
        }
    }
}

/// As a `long double`, exactly.
fn long(value: f64) -> LongDouble {
    let wide: StatusAnd<LongDouble> = Double::from_bits(value.to_bits().into()).convert(&mut false);
    wide.value
}

/// As the nearest `double`.
fn short(value: LongDouble) -> f64 {
    let narrow: StatusAnd<Double> = value.convert(&mut false);
    // A double has 64 bits.
    u64::try_from(narrow.value.to_bits()).map_or(0.0, f64::from_bits)
}
