//! What `sshare` shows, in one form for every algorithm, so that a comparison need not know which one it is.

use super::FairShare;
use crate::tree::{Node, ShareTree};

/// What `sshare -al` shows of an association, and what its jobs get. `None` is an empty cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shown {
    /// `RawShares`: [`USE_PARENT`](crate::USE_PARENT) where sshare shows `parent`, `None` for the root.
    pub raw_shares: Option<u32>,
    /// `NormShares`: the part of the siblings' shares in Fair Tree, of the whole cluster in the others; that of the fair-share parent for
    /// `Fairshare=parent`.
    pub norm_shares: f64,
    /// `NormUsage`: usage over the root's, from 0 to 1. Stock leaves it empty for the root.
    pub norm_usage: Option<f64>,
    /// `EffectvUsage`: usage over the fair-share parent's in Fair Tree; mixed with that of the accounts above in classic; at least 1 % of
    /// the share in multifactor2.
    pub effectv_usage: f64,
    /// `FairShare`, from 0 to 1.
    pub fair_share: Option<f64>,
    /// `LevelFS`: share over usage, infinity without usage in Fair Tree, at most 100 in multifactor2. Classic has none.
    pub level_fs: Option<f64>,
    /// The fair-share factor of the jobs, from 0 to 1; `None` for an account. It equals `FairShare` except in one case: see
    /// [`Classic::shows_factor`](super::stock::Classic::shows_factor).
    pub factor: Option<f64>,
}

impl FairShare {
    /// What each association shows under multifactor2, by [`Node::index`], as of the last [`FairShare::distribute`].
    pub fn standings(&self, tree: &ShareTree) -> Vec<Shown> {
        tree.nodes().map(|node| self.shown(tree, node)).collect()
    }

    fn shown(&self, tree: &ShareTree, node: Node) -> Shown {
        let competition = self.competition();
        let factor = tree.is_user(node).then(|| self.priority(node));
        Shown {
            raw_shares: tree.parent(node).is_some().then(|| tree.shares(node)),
            norm_shares: tree.shares_norm(node),
            norm_usage: Some(competition.usage_norm(node)),
            effectv_usage: competition.usage_effective(tree, node),
            fair_share: factor,
            level_fs: (!tree.uses_parent(node)).then(|| competition.level_fs(tree, node)),
            factor,
        }
    }
}
