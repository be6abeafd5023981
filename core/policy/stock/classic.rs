//! The classic algorithm: the factor is 2^(-(effective usage / share) / dampening), both of the whole cluster.
//!
//! Effective usage is the association's own usage U, moved towards that of the account above it by the share s among the siblings: U +
//! (parent's effective usage - U) · s. Directly below the root it is U. If no sibling has shares it is the parent's. Without a share the
//! factor is 0.
//!
//! `Fairshare=parent` takes share and effective usage from the fair-share parent. Below the root, `EffectvUsage` is still the association's
//! own usage, but the jobs get the factor of the root, whose usage and share are 1: see [`Classic::shows_factor`].
//!
//! If the shares of siblings overflow 32 bits, s may be far above 1. Then the effective usage of a user who has used more than its account
//! is below 0 and the factor above 1, here as in Slurm. Slurm's may be infinite; here it is the largest number there is.
//!
//! slurmctld computes the accounts at the beginning of a cycle, before usage decays and grows, so accounts are one cycle behind their
//! usage. The numbers here are those of a cycle in which usage did not change.

use rustc_apfloat::Float;

use super::{long, short, LongDouble, Shown, Site};
use crate::tree::Node;

/// How much the own usage counts less the further the accounts above are from their share, with `DEPTH_OBLIVIOUS`. Fixed in Slurm.
const DEPTH_IMPACT: f64 = 5.0;

/// Settings of the classic algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classic {
    /// `FairShareDampeningFactor`, 1 by default: how many times its share a user may use for the factor 0.5. 0 is taken as 1.
    pub dampening: u16,
    /// `PriorityFlags=DEPTH_OBLIVIOUS`: effective usage by the ratios of usage to share at each level, so that the depth of an association
    /// matters less.
    ///
    /// Slurm takes the usage of the siblings as it last looked at it, that of users when a job or sshare asked for it. Here all are up to
    /// date.
    pub depth_oblivious: bool,
    /// sshare shows the factor that jobs get, as it does since Slurm 25.11. Earlier releases compute one from the numbers in the same row.
    /// They do so for accounts too, and get another one for users with `Fairshare=parent` directly below the root (2^-U, where the jobs get
    /// 2^-1, both with a dampening of 1).
    pub shows_factor: bool,
}

pub(super) fn standings(site: &Site, settings: Classic) -> Vec<Shown> {
    let levels = Levels::new(site, settings);
    let shown = |node: Node| {
        let (shares, usage) = (levels.shares[node.index()], short(levels.usage[node.index()]));
        let factor = levels.factor(site, node, settings);
        let of_row = self::factor(long(usage), shares, settings);
        Shown {
            norm_shares: shares,
            effectv_usage: usage,
            fair_share: if settings.shows_factor { factor } else { Some(of_row) },
            factor,
            ..site.shown(node)
        }
    };
    site.tree.nodes().map(shown).collect()
}

/// Only the factors of the users.
pub(super) fn factors(site: &Site, settings: Classic) -> Vec<f64> {
    let levels = Levels::new(site, settings);
    site.tree.nodes().map(|node| levels.factor(site, node, settings).unwrap_or_default()).collect()
}

/// By node.
struct Levels {
    shares: Vec<f64>,
    /// Effective usage.
    usage: Vec<LongDouble>,
}

impl Levels {
    fn new(site: &Site, settings: Classic) -> Self {
        let tree = site.tree;
        let mut shares: Vec<f64> = Vec::with_capacity(tree.len());
        let mut usage: Vec<LongDouble> = Vec::with_capacity(tree.len());
        let level_usage = settings.depth_oblivious.then(|| level_usage(site));
        // A fair-share parent comes before its children.
        for node in tree.nodes() {
            shares.push(norm_shares(site, node));
            let effective = match tree.fair_share_parent(node) {
                None => long(1.0),
                Some(above) if tree.parent(above).is_none() => site.usage_norm(node),
                Some(above) if tree.uses_parent(node) => usage[above.index()],
                Some(above) => match &level_usage {
                    None => towards_parent(site, node, usage[above.index()]),
                    Some(levels) => by_ratios(
                        site.usage_norm(node),
                        shares[node.index()],
                        usage[above.index()],
                        shares[above.index()],
                        levels[above.index()],
                    ),
                },
            };
            usage.push(effective);
        }
        Self { shares, usage }
    }

    /// Of a user.
    fn factor(&self, site: &Site, node: Node, settings: Classic) -> Option<f64> {
        let tree = site.tree;
        let competitor = if tree.uses_parent(node) { tree.fair_share_parent(node) } else { None };
        let competitor = competitor.unwrap_or(node).index();
        tree.is_user(node).then(|| factor(self.usage[competitor], self.shares[competitor], settings))
    }
}

/// The product of the shares at each level, from the association up, in the order in which Slurm multiplies.
fn norm_shares(site: &Site, node: Node) -> f64 {
    let tree = site.tree;
    let above = |node: &Node| tree.fair_share_parent(*node);
    let first = if tree.uses_parent(node) { above(&node) } else { Some(node) };
    let below_root = std::iter::successors(first, above).filter(|node| tree.parent(*node).is_some());
    below_root.fold(1.0, |product, node| product * site.share_of_level(node))
}

/// Effective usage, from that of the fair-share parent.
fn towards_parent(site: &Site, node: Node, of_parent: LongDouble) -> LongDouble {
    let own = site.usage_norm(node);
    let sum = site.tree.fair_share_parent(node).map_or(0, |above| site.level_shares[above.index()]);
    if sum == 0 {
        return of_parent;
    }
    let share = (long(site.tree.shares(node).into()) / long(sum.into())).value;
    (own + ((of_parent - own).value * share).value).value
}

/// By the fair-share parent: the sum of the usage of those that compete below it, over the root's.
fn level_usage(site: &Site) -> Vec<LongDouble> {
    let tree = site.tree;
    let mut sums = vec![LongDouble::ZERO; tree.len()];
    for node in tree.nodes().filter(|node| !tree.uses_parent(*node)) {
        if let Some(above) = tree.fair_share_parent(node) {
            sums[above.index()] = (sums[above.index()] + site.usage_norm(node)).value;
        }
    }
    sums
}

/// Effective usage with `DEPTH_OBLIVIOUS`: R · S, where R = `R_parent` · r^k. r is the own ratio of usage to share over that of all siblings;
/// k is 1 where r leads further away from 1 than `R_parent` is, else less. The logarithms are in doubles here, in Slurm in long doubles.
fn by_ratios(
    own: LongDouble,
    share: f64,
    of_parent: LongDouble,
    parents_share: f64,
    level: LongDouble,
) -> LongDouble {
    if share == 0.0 || parents_share == 0.0 || of_parent.is_zero() || own.is_zero() {
        return own;
    }
    let (share, parents_share) = (long(share), long(parents_share));
    let parents_ratio = (of_parent / parents_share).value;
    let ratio = ((own / share).value / (level / parents_share).value).value;
    let (parents_log, log) = (short(parents_ratio).ln(), short(ratio).ln());
    let k = if parents_log * log >= 0.0 { 1.0 } else { 1.0 / (1.0 + (DEPTH_IMPACT * parents_log).powi(2)) };
    ((parents_ratio * long(short(ratio).powf(k))).value * share).value
}

fn factor(usage: LongDouble, share: f64, settings: Classic) -> f64 {
    if share <= 0.0 {
        return 0.0;
    }
    let mut exponent = (usage / long(share)).value;
    if settings.dampening > 1 {
        exponent = (exponent / long(settings.dampening.into())).value;
    }
    2.0_f64.powf(-short(exponent)).min(f64::MAX)
}
