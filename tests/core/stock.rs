//! The fair-share algorithms of stock `priority/multifactor`, by numbers worked out by hand. `tests/releases` compares them with slurmctld.

use multifactor2_core::policy::stock::{self, standings, Algorithm, Classic, Shown};
use multifactor2_core::{FairShare, NodeSpec, ShareTree, USE_PARENT};
use multifactor2_fixtures::assert_near;
use proptest::collection::vec;
use proptest::prelude::*;

const CLASSIC: Classic = Classic { dampening: 1, depth_oblivious: false, shows_factor: false };

/// A tree by lines in pre-order: depth, shares, usage and whether it is a user. The root comes by itself; accounts have the usage of those below.
fn shown(lines: &[(usize, u32, f64, bool)], algorithm: Algorithm) -> Vec<Shown> {
    let mut specs = vec![NodeSpec { parent: None, shares: 1, user: false }];
    let mut usage = vec![0.0];
    let mut path = vec![0_usize];
    for &(depth, shares, seconds, user) in lines {
        path.truncate(depth);
        for &above in &path {
            usage[above] += seconds;
        }
        let parent = path.last().map(|&above| u32::try_from(above).unwrap());
        path.push(specs.len());
        specs.push(NodeSpec { parent, shares, user });
        usage.push(seconds);
    }
    standings(&ShareTree::build(&specs), &usage, algorithm)
}

/// Factors of the users, in order.
fn factors(shown: &[Shown]) -> Vec<f64> {
    shown.iter().filter_map(|shown| shown.factor).collect()
}

fn user(depth: usize, shares: u32, usage: f64) -> (usize, u32, f64, bool) {
    (depth, shares, usage, true)
}

fn account(depth: usize, shares: u32) -> (usize, u32, f64, bool) {
    (depth, shares, 0.0, false)
}

fn assert_factors(shown: &[Shown], expected: &[f64]) {
    let found = factors(shown);
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert_near(*found, *expected, &format!("{shown:#?}: a factor"));
    }
}

fn assert_number(found: Option<f64>, expected: f64) {
    assert_near(found.expect("a number"), expected, "a number");
}

/// One quarter and three quarters of the shares, 30 and 70 of the usage.
fn two_accounts() -> [(usize, u32, f64, bool); 6] {
    [account(1, 1), user(2, 1, 10.0), user(2, 1, 20.0), account(1, 3), user(2, 1, 70.0), user(2, 1, 0.0)]
}

#[test]
fn fair_tree_ranks_users_account_by_account() {
    let shown = shown(&two_accounts(), Algorithm::FairTree);
    // The second account has LevelFS 0.75 / 0.7, the first 0.25 / 0.3.
    assert_factors(&shown, &[0.5, 0.25, 0.75, 1.0]);
    let levels = [0.25 / 0.3, 1.5, 0.75, 0.75 / 0.7, 0.5];
    for (shown, level) in shown[1..].iter().zip(levels) {
        assert_number(shown.level_fs, level);
    }
    assert_eq!(shown[6].level_fs, Some(f64::INFINITY));
    assert_near(shown[1].norm_shares, 0.25, "NormShares");
    assert_near(shown[2].norm_shares, 0.5, "NormShares");
    assert_number(shown[2].norm_usage, 0.1);
    assert_near(shown[2].effectv_usage, 1.0 / 3.0, "EffectvUsage");
    let root = shown[0];
    assert_eq!((root.raw_shares, root.norm_usage, root.level_fs, root.fair_share), (None, None, None, None));
    assert_eq!((shown[1].fair_share, shown[2].fair_share), (None, shown[2].factor));
}

#[test]
fn users_with_the_same_level_fs_share_a_rank_and_the_next_is_as_far_down_as_without() {
    let lines = [user(1, 1, 5.0), user(1, 2, 0.0), user(1, 3, 0.0), user(1, 1, 5.0), user(1, 0, 0.0)];
    assert_factors(&shown(&lines, Algorithm::FairTree), &[0.6, 1.0, 1.0, 0.6, 0.2]);
}

#[test]
fn a_user_comes_before_an_account_with_the_same_level_fs_and_shares_its_best_rank() {
    let lines = [account(1, 1), user(2, 1, 0.0), user(2, 1, 10.0), user(1, 1, 10.0)];
    assert_factors(&shown(&lines, Algorithm::FairTree), &[1.0, 1.0 / 3.0, 1.0]);
}

/// Slurm's page says that they are merged, so that both best users would come first.
#[test]
fn accounts_with_the_same_level_fs_are_not_merged() {
    let twin = [account(1, 1), user(2, 1, 0.0), user(2, 1, 10.0)];
    let lines = [twin, twin].concat();
    assert_factors(&shown(&lines, Algorithm::FairTree), &[1.0, 0.75, 0.75, 0.25]);
}

#[test]
fn without_any_usage_a_user_without_shares_holds_back_the_best_of_the_next_account() {
    let lines =
        [account(1, 1), user(2, 1, 0.0), user(2, 0, 0.0), account(1, 2), user(2, 1, 0.0), user(2, 1, 0.0)];
    assert_factors(&shown(&lines, Algorithm::FairTree), &[1.0, 0.75, 0.75, 0.75]);
    assert_factors(&shown(&[user(1, 1, 0.0), user(1, 5, 0.0)], Algorithm::FairTree), &[1.0, 1.0]);
}

#[test]
fn users_of_an_account_without_competition_compete_above_it() {
    let lines = [
        account(1, 1),
        account(2, USE_PARENT),
        user(3, 3, 30.0),
        user(3, USE_PARENT, 50.0),
        user(2, 1, 20.0),
        user(1, USE_PARENT, 0.0),
    ];
    let shown = shown(&lines, Algorithm::FairTree);
    // The user below the root comes first, then the one with `parent`, 0.75 / 0.3, 0.25 / 0.2.
    assert_factors(&shown, &[0.5, 0.75, 0.25, 1.0]);
    assert_near(shown[3].norm_shares, 0.75, "NormShares");
    assert_near(shown[3].effectv_usage, 0.3, "EffectvUsage");
    assert_number(shown[3].level_fs, 2.5);
    for parent in [2, 4, 6] {
        assert_eq!((shown[parent].raw_shares, shown[parent].level_fs), (Some(USE_PARENT), None));
    }
    assert_near(shown[4].norm_shares, 1.0, "NormShares of its account");
    assert_near(shown[6].norm_shares, 1.0 / 4_294_967_294.0, "NormShares below the root");
}

/// 1/6 as a double is a little less than as a long double, 1/2 is the same. With doubles all three would be equal.
#[test]
fn ties_are_those_of_a_long_double() {
    let lines = [user(1, 1, 100.0), user(1, 2, 200.0), user(1, 3, 300.0)];
    let shown = shown(&lines, Algorithm::FairTree);
    assert_factors(&shown, &[2.0 / 3.0, 2.0 / 3.0, 1.0]);
}

#[test]
fn shares_of_siblings_are_added_up_in_32_bits() {
    let lines = [user(1, 0x7fff_fff0, 1.0), user(1, 0x7fff_fff0, 1.0), user(1, 0x50, 2.0)];
    // 2^32 - 32 + 80 begins again at 48.
    let fair_tree = shown(&lines, Algorithm::FairTree);
    assert_near(fair_tree[3].norm_shares, 80.0 / 48.0, "NormShares");
    let classic = shown(&lines, Algorithm::Classic(CLASSIC));
    assert_near(classic[3].norm_shares, 80.0 / 48.0, "NormShares");
}

/// The account has used 1 % and its first user 5 %, which is so where somebody has set the usage of an account to 0. Slurm works out
/// 0.05 + (0.01 - 0.05) · (2147483632 / 48) for the user, with unsigned 32 bits for the sum of the shares alone.
#[test]
fn where_shares_begin_again_at_0_effective_usage_may_be_below_it_as_in_slurm() {
    let spec = |parent, shares, user| NodeSpec { parent, shares, user };
    let shares = [0x7fff_fff0, 0x7fff_fff0, 0x50];
    let mut specs = vec![spec(None, 1, false), spec(Some(0), 1, false)];
    specs.extend(shares.map(|shares| spec(Some(1), shares, true)));
    let all = standings(&ShareTree::build(&specs), &[100.0, 1.0, 5.0, 0.0, 0.0], Algorithm::Classic(CLASSIC));
    let expected = 0.05 + (0.01 - 0.05) * (2_147_483_632.0 / 48.0);
    assert_near(all[2].effectv_usage, expected, "EffectvUsage");
    assert_near(all[3].effectv_usage, 0.01 * 2_147_483_632.0 / 48.0, "EffectvUsage");
    // 2 to the power of 0.04 and a little: usage over a share of 2147483632 by 48.
    assert_number(all[2].factor, 2.0_f64.powf(-expected / (2_147_483_632.0 / 48.0)));
    assert!(all[2].factor > Some(1.0));
}

#[test]
fn classic_mixes_the_usage_with_that_of_the_account() {
    let shown = shown(&two_accounts(), Algorithm::Classic(CLASSIC));
    // Shares 0.125 and 0.375, effective usage 0.1 + 0.2 / 2, 0.2 + 0.1 / 2, 0.7, 0.7 / 2.
    let expected = [-0.2 / 0.125, -0.25 / 0.125, -0.7 / 0.375, -0.35 / 0.375].map(f64::exp2);
    assert_factors(&shown, &expected);
    assert_near(shown[2].effectv_usage, 0.2, "EffectvUsage");
    assert_near(shown[2].norm_shares, 0.125, "NormShares");
    assert_eq!((shown[2].fair_share, shown[2].level_fs), (shown[2].factor, None));
    assert_number(shown[1].fair_share, f64::exp2(-0.3 / 0.25));
    assert_eq!(shown[1].factor, None);
    assert_near(shown[0].norm_shares, 1.0, "NormShares of the root");
    assert_number(shown[0].fair_share, 0.5);
}

#[test]
fn the_dampening_factor_divides_the_exponent() {
    let damped = |dampening| Algorithm::Classic(Classic { dampening, ..CLASSIC });
    assert_number(shown(&two_accounts(), damped(5))[2].factor, f64::exp2(-0.2 / 0.125 / 5.0));
    assert_eq!(shown(&two_accounts(), damped(0)), shown(&two_accounts(), damped(1)));
}

#[test]
fn classic_without_shares_is_nothing_and_has_the_usage_of_the_account_where_nobody_has_any() {
    let lines = [account(1, 1), user(2, 0, 40.0), account(1, 1), user(2, 0, 10.0), user(2, 1, 50.0)];
    let shown = shown(&lines, Algorithm::Classic(CLASSIC));
    assert_factors(&shown, &[0.0, 0.0, f64::exp2(-0.6 / 0.5)]);
    assert_near(shown[2].effectv_usage, 0.4, "EffectvUsage");
    assert_near(shown[4].effectv_usage, 0.1, "EffectvUsage");
}

#[test]
fn classic_takes_share_and_usage_of_the_account_for_parent() {
    let lines = [account(1, 1), user(2, USE_PARENT, 10.0), user(2, 1, 20.0), account(1, 3), user(2, 1, 70.0)];
    let shown = shown(&lines, Algorithm::Classic(CLASSIC));
    assert_number(shown[2].factor, f64::exp2(-1.2));
    assert_eq!(shown[2].fair_share, shown[2].factor);
    assert_near(shown[2].effectv_usage, 0.3, "EffectvUsage");
    assert_number(shown[2].norm_usage, 0.1);
}

/// Up to Slurm 25.05 sshare says something else than the jobs get.
#[test]
fn parent_below_the_root_gets_the_factor_of_the_root_and_old_releases_show_another() {
    let lines = [user(1, USE_PARENT, 25.0), user(1, 1, 75.0)];
    let old = shown(&lines, Algorithm::of("NO_FAIR_TREE", 1, (25, 5)));
    assert_eq!((old[1].factor, old[1].fair_share), (Some(0.5), Some(f64::exp2(-0.25))));
    assert_near(old[1].effectv_usage, 0.25, "EffectvUsage");
    let new = shown(&lines, Algorithm::of("NO_FAIR_TREE", 1, (25, 11)));
    assert_eq!((new[1].factor, new[1].fair_share), (Some(0.5), Some(0.5)));
    assert_eq!((old[0].fair_share, new[0].fair_share), (Some(0.5), None));
}

#[test]
fn depth_oblivious_multiplies_ratios() {
    let shown = shown(&two_accounts(), Algorithm::Classic(Classic { depth_oblivious: true, ..CLASSIC }));
    // The account is at 1.2 times its share; the first user at 2/3 of the account, which is the way back to 1, the second at 4/3.
    let k = 1.0 / (1.0 + (5.0 * 1.2_f64.ln()).powi(2));
    assert_near(shown[2].effectv_usage, 1.2 * (2.0_f64 / 3.0).powf(k) * 0.125, "EffectvUsage");
    assert_near(shown[3].effectv_usage, 1.2 * 4.0 / 3.0 * 0.125, "EffectvUsage");
    assert_eq!(shown[6].factor, Some(1.0));
}

/// The form is the same for ours: 30 of 100 for a quarter of the shares is F = 0.25 / 0.3, and who has not used anything has 100.
#[test]
fn multifactor2_shows_the_same_columns() {
    let node = |parent, shares, user| NodeSpec { parent, shares, user };
    let root = node(None, 1, false);
    let users = [node(Some(0), 1, true), node(Some(0), 3, true), node(Some(0), USE_PARENT, true)];
    let tree = ShareTree::build(&[&[root], &users[..]].concat());
    let mut fair_share = FairShare::new();
    fair_share.distribute(&tree, &[100.0, 30.0, 0.0, 70.0], &[0, 1, 1, 0]);
    let shown = fair_share.standings(&tree);
    assert_number(shown[1].level_fs, 0.25 / 0.3);
    assert_number(shown[1].norm_usage, 0.3);
    assert_eq!(
        (shown[2].level_fs, shown[2].fair_share, shown[2].factor),
        (Some(100.0), Some(1.0), Some(1.0))
    );
    assert_eq!((shown[3].raw_shares, shown[3].level_fs), (Some(USE_PARENT), None));
    assert_eq!((shown[0].raw_shares, shown[0].factor, shown[0].fair_share), (None, None, None));
}

#[test]
fn slurms_flags_choose_the_algorithm() {
    let classic =
        |depth_oblivious| Algorithm::Classic(Classic { dampening: 3, depth_oblivious, shows_factor: false });
    for (flags, expected) in [
        ("", Algorithm::FairTree),
        ("ACCRUE_ALWAYS,FAIR_TREE", Algorithm::FairTree),
        ("ACCRUE_ALWAYS, no_fair_tree", classic(false)),
        ("DEPTH_OBLIVIOUS", classic(true)),
        ("DEPTH_OBLIVIOUS,NO_FAIR_TREE", classic(true)),
    ] {
        assert_eq!(Algorithm::of(flags, 3, (24, 11)), expected, "{flags}");
    }
}

#[test]
fn thousands_of_levels_are_no_deeper_than_the_stack() {
    let levels = 2000;
    let mut lines: Vec<_> = (1..=levels).map(|depth| account(depth, 1)).collect();
    lines.push(user(levels + 1, 1, 5.0));
    for algorithm in [Algorithm::FairTree, Algorithm::Classic(CLASSIC)] {
        let expected = if algorithm == Algorithm::FairTree { 1.0 } else { 0.5 };
        assert_factors(&shown(&lines, algorithm), &[expected]);
    }
}

fn any_shares() -> impl Strategy<Value = u32> {
    prop_oneof![0..4_u32, any::<u32>(), Just(USE_PARENT)]
}

fn few_shares() -> impl Strategy<Value = u32> {
    prop_oneof![8 => 0..4_u32, 1 => any::<u32>(), 1 => Just(USE_PARENT)]
}

/// Numbers of which some are equal, some as near to each other as can be, some in the same ratio as few shares are, and some at the
/// ends of what there is.
fn near_usage() -> impl Strategy<Value = f64> {
    let few = prop::sample::select(vec![1.0, 2.0, 3.0, 1e6, 0.3, f64::MIN_POSITIVE, f64::MAX, 5e-324, 1e300]);
    let hair = (few.clone(), 0..4_u64).prop_map(|(value, hairs)| f64::from_bits(value.to_bits() + hairs));
    prop_oneof![4 => few, 4 => hair, 2 => Just(0.0), 4 => (0..7_u8).prop_map(f64::from), 1 => any::<f64>()]
}

proptest! {
    #![proptest_config(multifactor2_fixtures::seeded())]

    /// Users below users, negative usage, orphans: whatever a file may say.
    #[test]
    fn nothing_panics_and_factors_are_from_0_to_1(
        specs in vec((prop::option::of(0..30_u32), any_shares(), any::<bool>()), 0..30),
        usage in vec(any::<f64>(), 0..30),
        dampening in any::<u16>(),
        depth_oblivious in any::<bool>(),
    ) {
        let specs: Vec<NodeSpec> =
            specs.into_iter().map(|(parent, shares, user)| NodeSpec { parent, shares, user }).collect();
        let tree = ShareTree::build(&specs);
        // Then Slurm's own numbers leave their range, see above.
        let mut sums = vec![0_u64; tree.len()];
        for node in tree.nodes().filter(|node| !tree.uses_parent(*node)) {
            if let Some(above) = tree.fair_share_parent(node) {
                sums[above.index()] += u64::from(tree.shares(node));
            }
        }
        let wraps = sums.iter().any(|sum| *sum > u64::from(u32::MAX));
        for algorithm in [Algorithm::FairTree, Algorithm::Classic(Classic { dampening, depth_oblivious, ..CLASSIC })] {
            let all = standings(&tree, &usage, algorithm);
            prop_assert_eq!(all.len(), tree.len());
            for shown in all {
                let numbers = [Some(shown.norm_shares), shown.level_fs, shown.norm_usage];
                prop_assert!(numbers.into_iter().flatten().all(|number| number >= 0.0), "{:?}", shown);
                prop_assert!(wraps || shown.effectv_usage >= 0.0, "{:?}", shown);
                prop_assert!(!shown.effectv_usage.is_nan(), "{:?}", shown);
                for factor in [shown.factor, shown.fair_share].into_iter().flatten() {
                    prop_assert!(factor >= 0.0 && factor.is_finite() && (wraps || factor <= 1.0), "{:?}", shown);
                }
            }
        }
    }

    /// Fair Tree looks at `long double` only where `f64` does not decide. Usage is in few values or a hair apart, so that there are ties, and
    /// what would be ties to `f64`.
    #[test]
    fn factors_alone_are_those_of_the_whole_to_the_last_bit(
        specs in vec((prop::option::weighted(0.97, 0..12_u32), few_shares(), any::<bool>()), 0..60),
        usage in vec(near_usage(), 60),
        dampening in 0..4_u16,
        depth_oblivious in any::<bool>(),
        adds_up in any::<bool>(),
    ) {
        let mut specs: Vec<NodeSpec> =
            specs.into_iter().map(|(parent, shares, user)| NodeSpec { parent, shares, user }).collect();
        specs.insert(0, NodeSpec { parent: None, shares: 1, user: false });
        let tree = ShareTree::build(&specs);
        let mut usage = usage;
        if adds_up {
            usage.resize(tree.len(), 0.0);
            for node in tree.nodes().rev() {
                if let Some(above) = tree.parent(node) {
                    usage[above.index()] += usage[node.index()];
                }
            }
        }
        for algorithm in [Algorithm::FairTree, Algorithm::Classic(Classic { dampening, depth_oblivious, ..CLASSIC })] {
            let whole = standings(&tree, &usage, algorithm);
            let whole: Vec<u64> = whole.iter().map(|shown| shown.factor.unwrap_or_default().to_bits()).collect();
            let factors = stock::factors(&tree, &usage, algorithm);
            let factors: Vec<u64> = factors.into_iter().map(f64::to_bits).collect();
            prop_assert_eq!(factors, whole, "{:?}", algorithm);
        }
    }
}
