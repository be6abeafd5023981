//! What is equal on paper is equal here: to the last bit, whatever the order of siblings and the unit of shares.

use multifactor2_core::factors::{weighted_fair_share, Priority};
use multifactor2_core::policy::points::{Points, PointsJob};
use multifactor2_core::policy::pools::{Extra, Names, Pools, WaitingJob};
use multifactor2_core::settings::value::Date;
use multifactor2_core::settings::Settings;
use multifactor2_core::{FairShare, Node, NodeSpec, ShareTree};
use multifactor2_fixtures::model::Association;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::random::{any_shares, trees, Engine};

const DISTRIBUTIONS: [&str; 5] = [
    "Distribution=tickets",
    "Distribution=tickets\nParentUsers=split",
    "Distribution=tickets\nCompensationFactor=1.5",
    "Distribution=standing",
    "Distribution=strict",
];

fn configured(text: &str) -> FairShare {
    let mut fair_share = FairShare::new();
    fair_share.configure(&Settings::parse(text, "test").unwrap().settings);
    fair_share
}

/// Three accounts by shares and usage, all with a user who waits, in this order. The best user of each is the one with no usage, the other
/// one has used what the account has.
struct Small {
    engine: Engine,
    accounts: [Node; 3],
    users: [[Node; 2]; 3],
}

fn small(shares: [u32; 3], usage: [u32; 3], order: [usize; 3], text: &str) -> Small {
    let all = usage.iter().sum::<u32>();
    let root = Association { parent: None, shares: Some(1), user: false, usage: all.into(), waiting: false };
    let mut tree = vec![root];
    for at in 0..3 {
        let usage = f64::from(usage[at]);
        let account =
            Association { parent: Some(0), shares: Some(shares[at]), user: false, usage, waiting: false };
        let above = Some(tree.len());
        let user = |usage| Association { parent: above, shares: Some(1), user: true, usage, waiting: true };
        tree.extend([account, user(0.0), user(usage)]);
    }
    let mut places = vec![0];
    places.extend(order.iter().flat_map(|at| [1 + 3 * at, 2 + 3 * at, 3 + 3 * at]));
    let (mut engine, nodes) = Engine::run_in_order(&tree, &places);
    engine.fair_share = configured(text);
    engine.distribute(&tree, &nodes);
    let at = |account: usize, more: usize| nodes[1 + 3 * account + more];
    Small {
        engine,
        accounts: [0, 1, 2].map(|account| at(account, 0)),
        users: [0, 1, 2].map(|account| [at(account, 1), at(account, 2)]),
    }
}

/// Accounts of 1, 3 and 3 shares, of which the latter two have used less than 1 % of their share. That share is 3/7, and
/// (3/7) / (0.01 · (3/7)) is 99.99999999999999: one of the two was better than the other.
///
/// The first account has F = (1/7) / (98/100) = 0.145773, so the other two have what is above 0.001458. In the second one a user has F = 11.111111
/// beside one with 100: (1/7) / (9/700) where usage is 700 in all. It has 0.001458 + (1 - 0.001458) · 0.111111 = 0.112406.
#[test]
fn of_equal_siblings_below_the_floor_none_is_better() {
    let account = |shares, usage: f64| Association {
        parent: Some(0),
        shares: Some(shares),
        user: false,
        usage,
        waiting: false,
    };
    let user = |parent, shares, usage: f64| Association {
        parent: Some(parent),
        shares: Some(shares),
        user: true,
        usage,
        waiting: true,
    };
    let mut tree = vec![Association { parent: None, ..account(1, 70_000.0) }];
    tree.extend([account(1, 68_600.0), account(3, 90.0), account(3, 0.0)]);
    // The user of the second account: a share of 1/100 of 3/7, and 27/70000 of the usage.
    tree.extend([user(1, 1, 68_600.0), user(2, 99, 0.0), user(2, 1, 27.0), user(3, 1, 0.0)]);
    let (mut engine, nodes) = Engine::run(&tree);
    engine.fair_share = configured("Distribution=strict");
    engine.distribute(&tree, &nodes);
    let fair_share = &engine.fair_share;
    for at in [2, 3, 5, 7] {
        let level_fs = fair_share.competition().level_fs(&engine.tree, nodes[at]);
        assert_eq!(level_fs.to_bits(), 100.0_f64.to_bits(), "the ceiling is one number: {level_fs}");
    }
    let [first, best, second, other] = [4, 5, 6, 7].map(|at| fair_share.priority(nodes[at]));
    assert_eq!([best, other].map(f64::to_bits), [1.0_f64.to_bits(); 2]);
    let level_fs = |at: usize| fair_share.competition().level_fs(&engine.tree, nodes[at]);
    assert!((level_fs(6) - 3.0 / 700.0 / (27.0 / 70_000.0)).abs() < 1e-9, "{}", level_fs(6));
    let bottom = 1.0 / 7.0 / 0.98 / 100.0;
    assert!((first - bottom).abs() < 1e-9, "{first}");
    assert!((second - (bottom + (1.0 - bottom) * level_fs(6) / 100.0)).abs() < 1e-9, "{second}");
}

/// All trees of three accounts with 1 to 7 shares, with every combination of accounts that have used nothing, exactly 1 % of their share,
/// just less, and much.
#[test]
fn equal_siblings_are_equal_in_all_small_trees_under_strict() {
    let shares = || 1..=7_u32;
    let all = shares().flat_map(|a| shares().flat_map(move |b| shares().map(move |c| [a, b, c])));
    let (mut trees, mut ties) = (0, 0);
    for shares in all {
        let level: u32 = shares.iter().sum();
        for which in 0..64_usize {
            let kinds = [which % 4, which / 4 % 4, which / 16];
            // 1 % of a share in a total of 10500 · level is 105 · shares; what is left is used by those that are above.
            let of = |at: usize| match kinds[at] {
                0 => 0,
                1 => 105 * shares[at],
                2 => 105 * shares[at] - 1,
                _ => u32::MAX,
            };
            let mut usage = [0, 1, 2].map(of);
            let given: u32 = usage.iter().filter(|usage| **usage != u32::MAX).sum();
            let above: u32 = (0..3).filter(|at| usage[*at] == u32::MAX).map(|at| shares[at]).sum();
            let left = 10_500 * level - given;
            if above == 0 || left % above != 0 {
                continue;
            }
            for at in 0..3 {
                if usage[at] == u32::MAX {
                    usage[at] = left / above * shares[at];
                }
            }
            let one = small(shares, usage, [0, 1, 2], "Distribution=strict");
            let factors = |small: &Small| {
                small.users.map(|users| users.map(|user| small.engine.fair_share.priority(user).to_bits()))
            };
            let found = factors(&one);
            let competition = one.engine.fair_share.competition();
            let level_fs = one.accounts.map(|node| competition.level_fs(&one.engine.tree, node));
            for at in 0..3 {
                let is_capped = kinds[at] != 3;
                assert_eq!(
                    level_fs[at].to_bits() == 100.0_f64.to_bits(),
                    is_capped,
                    "{shares:?} {usage:?} {level_fs:?}"
                );
                for other in at + 1..3 {
                    if is_capped == (kinds[other] != 3) {
                        ties += 1;
                        assert_eq!(level_fs[at].to_bits(), level_fs[other].to_bits(), "{shares:?} {usage:?}");
                        assert_eq!(found[at][0], found[other][0], "{shares:?} {usage:?}");
                    }
                }
            }
            for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
                assert_eq!(factors(&small(shares, usage, order, "Distribution=strict")), found, "{order:?}");
            }
            for by in [2, 3, 7, 10, 1000] {
                let scaled = small(shares.map(|shares| shares * by), usage, [0, 1, 2], "Distribution=strict");
                assert_eq!(factors(&scaled), found, "{shares:?} times {by}, {usage:?}");
            }
            trees += 1;
        }
    }
    assert!(trees > 5000 && ties > 5000, "{trees} trees, {ties} ties");
}

/// Usage that is equal on paper and was added up in another order.
#[test]
fn siblings_whose_usage_was_added_up_in_another_order_are_equal_under_strict() {
    let spec = |parent, user| NodeSpec { parent, shares: 1, user };
    let tree =
        ShareTree::build(&[spec(None, false), spec(Some(0), true), spec(Some(0), true), spec(Some(0), true)]);
    let usage: [f64; 2] = [0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1];
    assert!(usage[0].to_bits() != usage[1].to_bits());
    let mut fair_share = configured("Distribution=strict");
    fair_share.distribute(&tree, &[2.0, usage[0], usage[1], 0.8], &[0, 1, 1, 1]);
    let factors: Vec<u64> = tree.nodes().skip(1).map(|node| fair_share.priority(node).to_bits()).collect();
    assert!(
        factors[0] == factors[1] && factors[0] == 1.0_f64.to_bits() && factors[2] < factors[0],
        "{factors:?}"
    );
}

/// A priority is rounded down: 9999.999999999998 must not come behind 10000.
#[test]
fn a_factor_that_is_a_whole_number_of_priority_on_paper_gives_that_number() {
    for parts in 1..200_u32 {
        for of in 1..=parts {
            // The same fraction, by another way.
            let ways = [f64::from(of) / f64::from(parts), f64::from(of) * (1.0 / f64::from(parts))];
            for way in ways {
                let priority = Priority::from_sum(weighted_fair_share(way, parts * 1000));
                assert_eq!(priority.value, of * 1000, "{of}/{parts}");
            }
        }
    }
}

/// Of account x with accounts of `a` and `b` shares: where the `m`-th job of the first claims as much as the `n`-th of the second on paper, the
/// one with the smaller id comes first.
#[test]
fn claims_of_the_tree_that_are_equal_on_paper_go_by_the_id() {
    let settings = Settings::parse("Dilution=tree", "test").unwrap().settings;
    let spec = |parent, shares, user| NodeSpec { parent, shares, user };
    let mut compared = 0;
    for (a, b) in (1..12_u32).flat_map(|a| (1..12_u32).map(move |b| (a, b))) {
        // x and y below the root, a and b below x, a user below each.
        let tree = ShareTree::build(&[
            spec(None, 1, false),
            spec(Some(0), 1, false),
            spec(Some(0), 1, true),
            spec(Some(1), a, false),
            spec(Some(1), b, false),
            spec(Some(3), 1, true),
            spec(Some(4), 1, true),
        ]);
        let users = [5, 6, 2].map(|at| tree.position(at).unwrap());
        let mut fair_share = FairShare::new();
        let waits: Vec<u32> = tree.nodes().map(|node| u32::from(users.contains(&node))).collect();
        fair_share.distribute(&tree, &[], &waits);
        // Those of b have the smaller ids, and so where the claims tie they come first.
        let jobs = |user: usize, first: u32| {
            let node = users[user];
            (0..12).map(move |at| WaitingJob {
                node,
                id: first + at,
                order: 0,
                size: 1.0,
                extra: Extra::default(),
            })
        };
        let mut waiting: Vec<WaitingJob> = jobs(1, 100).chain(jobs(0, 200)).collect();
        waiting.extend(jobs(2, 300).take(1));
        let mut pools = Pools::configured(&settings).unwrap();
        pools.begin(Date::default());
        pools.learn(&tree, |_| Names { user: "u", account: "a" });
        let mut tickets = Vec::new();
        pools.distribute(&tree, &fair_share, &waiting, &[], &mut tickets);
        for (m, n) in (1..=12_u32).flat_map(|m| (1..=12_u32).map(move |n| (m, n))) {
            if a * n == b * m {
                let of_b = tickets[n as usize - 1].share_tree;
                let of_a = tickets[11 + m as usize].share_tree;
                assert!(of_b > of_a, "{a}/{m} and {b}/{n}: {of_b} and {of_a}");
                compared += 1;
            }
        }
    }
    assert!(compared > 300, "{compared}");
}

/// 0.1 + 0.2 + 0.2 is 0.5 in one order and a little less or more in others: points are rounded.
#[test]
fn points_that_are_a_half_on_paper_are_rounded_alike() {
    let line = |weights: &str| format!("Component=RES {weights}\n");
    for (weights, expected) in
        [("Node=0.1 Proc=0.7 Mem=0.7", 2), ("Node=0.7 Proc=0.7 Mem=0.1", 2), ("Node=0.7 Proc=0.1 Mem=0.7", 2)]
    {
        let loaded = Settings::parse(&line(weights), "test").unwrap();
        let mut points = Points::configured(&loaded.settings).unwrap();
        points.learn(
            &ShareTree::build(&[]),
            |_| Names { user: "", account: "" },
            &[],
            &std::collections::HashMap::new(),
        );
        let request = multifactor2_core::policy::points::Request {
            nodes: 1.0,
            cpus: 1.0,
            memory: 1.0,
            ..Default::default()
        };
        let job = PointsJob { request, ..PointsJob::default() };
        assert_eq!(points.value(&job), expected, "{weights}");
    }
}

/// The same associations with the shares of every level multiplied.
fn scaled_by_level(tree: &[Association], factors: &[u32]) -> Vec<Association> {
    let scaled = |association: &Association| {
        // Accounts with `Fairshare=parent` are looked through.
        let mut above = association.parent;
        while let Some(parent) = above.filter(|at| tree[*at].shares.is_none() && tree[*at].parent.is_some()) {
            above = tree[parent].parent;
        }
        let by = above.map_or(1, |parent| factors[parent % factors.len()]);
        Association { shares: association.shares.map(|shares| shares * by), ..association.clone() }
    };
    tree.iter().map(scaled).collect()
}

fn few_shares() -> impl Strategy<Value = Option<u32>> {
    prop_oneof![8 => (1..8_u32).prop_map(Some), 1 => Just(Some(0)), 1 => Just(None)]
}

/// Small whole numbers, so that there are ties; accounts have what those below them have.
fn with_few_usages(mut tree: Vec<Association>, usages: &[u8]) -> Vec<Association> {
    for (association, usage) in tree.iter_mut().zip(usages.iter().cycle()) {
        association.usage = if association.user { f64::from(*usage) } else { 0.0 };
    }
    for at in (1..tree.len()).rev() {
        let parent = tree[at].parent.unwrap();
        tree[parent].usage += tree[at].usage;
    }
    tree
}

proptest! {
    #![proptest_config(multifactor2_fixtures::seeded())]

    /// Not one bit of any factor.
    #[test]
    fn neither_order_nor_unit_of_shares_changes_a_factor(
        (tree, order) in trees(2..40, few_shares()).prop_flat_map(|tree| {
            let in_order: Vec<usize> = (0..tree.len()).collect();
            (Just(tree), Just(in_order).prop_shuffle())
        }),
        usages in prop::option::of(vec(0..5_u8, 1..10)),
        factors in vec(1..1000_u32, 1..5),
        which in 0..DISTRIBUTIONS.len(),
    ) {
        let tree = usages.map_or_else(|| tree.clone(), |usages| with_few_usages(tree.clone(), &usages));
        let run = |tree: &[Association], order: &[usize]| {
            let (mut engine, nodes) = Engine::run_in_order(tree, order);
            engine.fair_share = configured(DISTRIBUTIONS[which]);
            engine.distribute(tree, &nodes);
            nodes.iter().map(|node| engine.fair_share.priority(*node)).collect::<Vec<_>>()
        };
        let in_order: Vec<usize> = (0..tree.len()).collect();
        let found = run(&tree, &in_order);
        prop_assert_eq!(&run(&tree, &order), &found, "other order");
        prop_assert_eq!(&run(&scaled_by_level(&tree, &factors), &order), &found, "other order and units");
    }

    /// Two siblings have the same `LevelFS` if and only if they have the same shares by usage, as whole numbers.
    #[test]
    fn level_fs_of_siblings_is_equal_where_it_is_on_paper(
        shares in vec(1..20_u32, 2..12),
        usage in vec(0..20_u32, 12),
        more in 0..100_000_u32,
    ) {
        let mut specs = vec![NodeSpec { parent: None, shares: 1, user: false }];
        specs.extend(shares.iter().map(|shares| NodeSpec { parent: Some(0), shares: *shares, user: true }));
        let tree = ShareTree::build(&specs);
        let usage = &usage[..shares.len()];
        let all = u64::from(usage.iter().sum::<u32>() + more);
        let level = u64::from(shares.iter().sum::<u32>());
        let mut raw = vec![f64::from(u32::try_from(all).unwrap())];
        raw.extend(usage.iter().map(|usage| f64::from(*usage)));
        let mut fair_share = FairShare::new();
        fair_share.distribute(&tree, &raw, &[]);
        let level_fs = |at: usize| {
            fair_share.competition().level_fs(&tree, tree.position(at + 1).unwrap()).to_bits()
        };
        let is_capped = |at: usize| 100 * u64::from(usage[at]) * level <= all * u64::from(shares[at]);
        for (a, b) in (0..shares.len()).flat_map(|a| (0..a).map(move |b| (a, b))) {
            let equal = match (is_capped(a), is_capped(b)) {
                (true, true) => true,
                (false, false) => shares[a] * usage[b] == shares[b] * usage[a],
                _ => false,
            };
            prop_assert_eq!(level_fs(a) == level_fs(b), equal, "{} by {} and {} by {}", shares[a], usage[a], shares[b], usage[b]);
        }
    }

    /// Whatever shares there are: `LevelFS` is in its range, and the largest is one number.
    #[test]
    fn nobody_is_above_the_ceiling_or_a_hair_below(tree in trees(1..40, any_shares())) {
        let (engine, nodes) = Engine::run(&tree);
        for node in nodes {
            let level_fs = engine.fair_share.competition().level_fs(&engine.tree, node);
            let is_hair_below = level_fs < 100.0 && level_fs > 100.0 * (1.0 - 1e-13);
            prop_assert!((0.0..=100.0).contains(&level_fs) && !is_hair_below, "{}", level_fs);
        }
    }
}
