//! `Distribution`, `FairShareScale`, `ParentUsers`, and users who come between two cycles.

use multifactor2_core::settings::Settings;
use multifactor2_core::{FairShare, Node};
use multifactor2_fixtures::example::TREE;
use multifactor2_fixtures::model::Association;
use proptest::prelude::*;
use proptest::sample::{select, Index};

use crate::promises::words;
use crate::random::{any_shares, near, plain_shares, trees, Engine};

fn settings(text: &str) -> Settings {
    Settings::parse(text, "test").unwrap().settings
}

/// A distribution by settings.
fn distributed(tree: &[Association], text: &str) -> (Engine, Vec<Node>) {
    let (mut engine, nodes) = Engine::run(tree);
    engine.fair_share.configure(&settings(text));
    engine.distribute(tree, &nodes);
    (engine, nodes)
}

/// The documented example.
fn example() -> Vec<Association> {
    let of = |row: &multifactor2_fixtures::example::Association| Association {
        parent: (row.name != "root").then_some(row.parent),
        shares: Some(row.shares),
        user: row.is_user(),
        usage: row.usage,
        waiting: row.waiting,
    };
    TREE.iter().map(of).collect()
}

/// Worked out by hand (`tickets` is in `example`). F is 0.888889 for A, 2.4 for D, 0.4 for C, 1.5 for B, 1 for E, 100 for F, and for the users as for the
/// account above, but 0.2 for user2 and 100 for user3. user2 and user5 wait, so A and D, C, F and these two are active.
///
/// standing: D is the best at the top, A has 0.888889 / 2.4 = 0.370370 of it. C and F, user2 and user5 are alone at their levels.
/// user1 would be below B, the best beside C; user3 the best below C; user4 below E, which has 1/100 of F.
///
/// strict: D has what is above A's 0.370370, so E begins there: 0.370370 + (1 - 0.370370) / 100 = 0.376667.
///
/// log: 1 + log10(0.246914) / 6 for tickets, 1 + log10(0.370370) / 6 for the others.
#[test]
fn the_documented_example_under_the_other_distributions() {
    let names = ["user1", "user2", "user3", "user4", "user5"];
    for (text, expected) in [
        ("Distribution=standing", [0.370_370, 0.370_370, 0.370_370, 0.01, 1.0]),
        ("Distribution=strict", [0.370_370, 0.370_370, 0.370_370, 0.376_667, 1.0]),
    ] {
        let (engine, nodes) = distributed(&example(), text);
        for (name, expected) in names.iter().zip(expected) {
            let at = TREE.iter().position(|row| row.name == *name).unwrap();
            let found = engine.fair_share.priority(nodes[at]);
            assert!((found - expected).abs() < 1e-6, "{text}: {name} has {found}, not {expected}");
        }
    }
    for (text, expected) in [("", 0.898_758), ("Distribution=standing", 0.928_106)] {
        let (engine, nodes) = distributed(&example(), &format!("{text}\nFairShareScale=log"));
        let user2 = TREE.iter().position(|row| row.name == "user2").unwrap();
        let found = engine.fair_share.priority(nodes[user2]);
        assert!((found - expected).abs() < 1e-6, "{text}: {found}, not {expected}");
    }
}

#[test]
fn users_with_fairshare_parent_divide_their_accounts_tickets_only_if_they_shall() {
    let account = |shares| Association {
        parent: Some(0),
        shares: Some(shares),
        user: false,
        usage: 1.0,
        waiting: false,
    };
    let user = |parent, shares, waiting| Association {
        parent: Some(parent),
        shares,
        user: true,
        usage: 0.0,
        waiting,
    };
    let tree = [
        Association { parent: None, shares: Some(1), user: false, usage: 2.0, waiting: false },
        account(1),
        account(1),
        user(1, None, true),
        user(1, None, true),
        user(1, None, false),
        user(2, Some(1), true),
    ];
    let factors = |text: &str| {
        let (engine, nodes) = distributed(&tree, text);
        (3..7).map(|at| engine.fair_share.priority(nodes[at])).collect::<Vec<_>>()
    };
    assert_eq!(factors(""), [1.0, 1.0, 1.0, 1.0]);
    // The third would be one of three.
    assert_eq!(factors("ParentUsers=split"), [0.5, 0.5, 1.0 / 3.0, 1.0]);
    for other in ["standing", "strict"] {
        assert_eq!(
            factors(&format!("Distribution={other}\nParentUsers=split")),
            [1.0, 1.0, 1.0, 1.0],
            "{other}"
        );
    }
}

/// The associations from below the root down, as far as they compete.
fn path(engine: &Engine, node: Node) -> Vec<Node> {
    let above = |node: &Node| engine.tree.fair_share_parent(*node);
    let mut path: Vec<Node> = std::iter::successors(Some(node), above).collect();
    path.reverse();
    path.retain(|node| !engine.tree.uses_parent(*node));
    path
}

proptest! {
    #![proptest_config(multifactor2_fixtures::seeded())]

    #[test]
    fn factors_are_from_0_to_1_and_the_best_has_1(
        tree in trees(1..40, any_shares()), which in select(words()), log in any::<bool>(),
    ) {
        let scale = if log { "log" } else { "linear" };
        let text = format!("Distribution={which}\nFairShareScale={scale}");
        let (engine, nodes) = distributed(&tree, &text);
        let fair_share = &engine.fair_share;
        prop_assert!(nodes.iter().all(|node| (0.0..=1.0).contains(&fair_share.priority(*node))));
        if fair_share.max_tickets() > 0.0 {
            let active = |node: &&Node| {
                engine.tree.is_user(**node) && fair_share.competition().is_active(**node)
            };
            prop_assert!(nodes.iter().filter(active).any(|node| fair_share.priority(*node) >= 1.0));
        }
    }

    /// Of any two users who wait, the one comes first whose ancestor is further below its share where their paths part.
    #[test]
    fn strict_is_the_order_of_level_fs_where_paths_part(tree in trees(2..40, plain_shares())) {
        let (engine, nodes) = distributed(&tree, "Distribution=strict");
        let competition = engine.fair_share.competition();
        let level_fs = |node: Node| competition.level_fs(&engine.tree, node);
        let active: Vec<Node> = nodes
            .iter()
            .copied()
            .filter(|node| engine.tree.is_user(*node) && competition.is_active(*node))
            .collect();
        for (a, b) in active.iter().flat_map(|a| active.iter().map(move |b| (*a, *b))) {
            let (to_a, to_b) = (path(&engine, a), path(&engine, b));
            let parted = to_a.iter().zip(&to_b).find(|(a, b)| a != b);
            let Some((x, y)) = parted else { continue };
            let (tickets_a, tickets_b) = (engine.fair_share.tickets(a), engine.fair_share.tickets(b));
            // Nobody without shares on the way has any.
            let has_none = |path: &[Node]| path.iter().any(|node| level_fs(*node) == 0.0);
            if has_none(&to_a) || has_none(&to_b) {
                continue;
            }
            if level_fs(*x) > level_fs(*y) * (1.0 + 1e-9) {
                prop_assert!(tickets_a >= tickets_b, "{tickets_a} < {tickets_b}");
                // Intervals within intervals come to the end of what a number can tell apart.
                let depth = i32::try_from(to_a.len().max(to_b.len())).unwrap();
                prop_assert!(tickets_a > tickets_b || depth > 3, "{tickets_a} and {tickets_b} tie");
            }
        }
    }

    #[test]
    fn other_units_of_shares_change_nothing(
        tree in trees(2..40, plain_shares()), which in select(words()), level in any::<Index>(), factor in 2_u32..5,
    ) {
        let parent = level.index(tree.len());
        let mut scaled = tree.clone();
        for association in scaled.iter_mut().filter(|association| association.parent == Some(parent)) {
            association.shares = association.shares.map(|shares| shares * factor);
        }
        let text = format!("Distribution={which}");
        let (before, nodes) = distributed(&tree, &text);
        let (after, _) = distributed(&scaled, &text);
        for node in nodes {
            let (before, after) = (before.fair_share.priority(node), after.fair_share.priority(node));
            prop_assert!(near(before, after), "{before} became {after}");
        }
    }

    /// Whoever has begun to wait since the last cycle counts at once: what the last of them gets is what the next cycle gives,
    /// by the best of the last one.
    #[test]
    fn newcomers_of_one_period_see_each_other(
        tree in trees(2..40, any_shares()), which in select(words()), split in any::<bool>(),
        joining in prop::collection::vec(any::<Index>(), 1..8),
    ) {
        let parent_users = if split { "split" } else { "each" };
        let text = format!("Distribution={which}\nParentUsers={parent_users}");
        let (mut engine, nodes) = distributed(&tree, &text);
        let best = engine.fair_share.max_tickets();
        let mut then = tree.clone();
        for at in joining.iter().map(|at| at.index(tree.len())).filter(|at| tree[*at].user) {
            let was_active = engine.fair_share.competition().was_active(nodes[at]);
            let before = engine.fair_share.priority(nodes[at]);
            let factor = engine.submit(nodes[at]);
            then[at].waiting = true;
            if was_active {
                prop_assert_eq!(factor.to_bits(), before.to_bits());
                continue;
            }
            let (next, _) = distributed(&then, &text);
            let tickets = next.fair_share.tickets(nodes[at]);
            let expected = if tickets > 0.0 { (tickets / best).min(1.0) } else { 0.0 };
            prop_assert!(near(factor, expected), "{factor}, not {expected}");
            // Also where the best had none, as when nobody waited.
            let now = engine.fair_share.tickets_now(&engine.tree, nodes[at]);
            prop_assert!(near(now, tickets), "{now} tickets, not {tickets}");
        }
    }
}

#[test]
fn twenty_new_users_of_an_account_do_not_all_get_everything() {
    let user = |parent, waiting| Association {
        parent: Some(parent),
        shares: Some(1),
        user: true,
        usage: 0.0,
        waiting,
    };
    let account = Association { parent: Some(0), shares: Some(1), user: false, usage: 0.0, waiting: false };
    let mut tree =
        vec![Association { parent: None, shares: Some(1), user: false, usage: 0.0, waiting: false }];
    tree.extend([account.clone(), account]);
    tree.push(user(2, true));
    tree.extend((0..20).map(|_| user(1, false)));
    let (mut engine, nodes) = distributed(&tree, "");
    // Alone the other account has all 1000; with the first newcomer it would be half.
    let factors: Vec<f64> = nodes[4..].iter().map(|node| engine.submit(*node)).collect();
    for (at, factor) in (1..).zip(&factors) {
        assert!(near(*factor, 0.5 / f64::from(at)), "newcomer {at}: {factor}");
    }
    // A second job of the first is one of twenty.
    assert!(near(engine.submit(nodes[4]), 0.5 / 20.0));
    let mut idle = FairShare::new();
    assert!(idle.submit(&engine.tree, nodes[4], true) <= 0.0, "before the first distribution nobody has any");
}

/// Where nobody waits, the root begins to take part with the first newcomer. It competes with nobody.
#[test]
fn the_first_newcomer_of_an_idle_cluster_does_not_compete_with_the_root() {
    let user = Association { parent: Some(0), shares: Some(1), user: true, usage: 0.0, waiting: false };
    let root = Association { parent: None, shares: Some(1), user: false, ..user.clone() };
    let (mut engine, nodes) = distributed(&[root, user.clone(), user], "");
    engine.submit(nodes[1]);
    assert!(near(engine.fair_share.tickets_now(&engine.tree, nodes[2]), 500.0));
    assert!(near(engine.fair_share.tickets_now(&engine.tree, nodes[1]), 1000.0));
}
