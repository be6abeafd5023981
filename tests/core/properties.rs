//! What holds for every tree: agreement with the model, and the documented properties.

use multifactor2_core::Node;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::random::{any_shares, is_below, near, plain_shares, trees, Engine};
use multifactor2_fixtures::model;

macro_rules! assert_near {
    ($a:expr, $b:expr, $($what:tt)+) => {{
        let (a, b) = ($a, $b);
        prop_assert!(near(a, b), "{}: {} is not {}", format!($($what)+), a, b);
    }};
}

/// Active associations that compete for the tickets of `parent`.
fn competing<'a>(engine: &'a Engine, nodes: &'a [Node], parent: Node) -> impl Iterator<Item = Node> + 'a {
    nodes.iter().copied().filter(move |&node| {
        engine.tree.fair_share_parent(node) == Some(parent)
            && !engine.tree.uses_parent(node)
            && engine.fair_share.competition().is_active(node)
    })
}

proptest! {
    #![proptest_config(multifactor2_fixtures::seeded())]

    #[test]
    fn engine_agrees_with_the_model(
        (tree, order) in trees(1..40, any_shares())
            .prop_flat_map(|tree| {
                let in_order: Vec<usize> = (0..tree.len()).collect();
                (Just(tree), Just(in_order).prop_shuffle())
            })
    ) {
        let (engine, nodes) = Engine::run_in_order(&tree, &order);
        let fair_share = &engine.fair_share;
        for (n, expected) in model::outcomes(&tree).into_iter().enumerate() {
            let node = nodes[n];
            assert_near!(engine.tree.shares_norm(node), expected.s, "S of {n}");
            assert_near!(fair_share.competition().usage_norm(node), expected.u, "U of {n}");
            assert_near!(fair_share.competition().usage_effective(&engine.tree, node), expected.u_eff, "U_eff of {n}");
            assert_near!(fair_share.competition().level_fs(&engine.tree, node), expected.f, "F of {n}");
            prop_assert_eq!(fair_share.competition().is_active(node), expected.active, "active {}", n);
            assert_near!(fair_share.tickets(node), expected.tickets, "T of {n}");
            assert_near!(fair_share.priority(node), expected.factor, "PriorityFS of {n}");
        }
    }

    #[test]
    fn tickets_of_active_siblings_sum_to_the_parents(tree in trees(1..60, any_shares())) {
        let (engine, nodes) = Engine::run(&tree);
        let weight = |node| engine.tree.shares_norm(node) * engine.fair_share.competition().level_fs(&engine.tree, node);
        for &parent in &nodes {
            let siblings: Vec<Node> = competing(&engine, &nodes, parent).collect();
            if siblings.iter().map(|&node| weight(node)).sum::<f64>() > 0.0 {
                let sum: f64 = siblings.iter().map(|&node| engine.fair_share.tickets(node)).sum();
                assert_near!(sum, engine.fair_share.tickets(parent), "sum below {:?}", parent);
                let part = |node| engine.fair_share.level_share(&engine.tree, node);
                let parts: f64 = siblings.iter().map(|&node| part(node)).sum();
                assert_near!(parts, 1.0, "parts below {:?}", parent);
            } else {
                prop_assert!(siblings.iter().all(|&node| engine.fair_share.tickets(node) == 0.0));
            }
        }
    }

    #[test]
    fn scaling_the_shares_of_a_level_changes_no_factor(
        tree in trees(2..60, prop_oneof![5 => plain_shares(), 1 => Just(None)]), of: Index, by in 2_u32..1000,
    ) {
        let (before, nodes) = Engine::run(&tree);
        let parent = before.tree.fair_share_parent(nodes[of.index(tree.len() - 1) + 1]);
        let mut scaled = tree.clone();
        for (association, &node) in scaled.iter_mut().zip(&nodes) {
            if before.tree.fair_share_parent(node) == parent {
                association.shares = association.shares.map(|shares| shares * by);
            }
        }
        let (after, _) = Engine::run(&scaled);
        for (n, &node) in nodes.iter().enumerate() {
            assert_near!(after.fair_share.priority(node), before.fair_share.priority(node), "factor of {n}");
        }
    }

    #[test]
    fn best_user_has_exactly_one_and_nobody_leaves_the_range(tree in trees(1..60, any_shares())) {
        let (engine, nodes) = Engine::run(&tree);
        let fair_share = &engine.fair_share;
        for &node in &nodes {
            prop_assert!((0.0..=1.0).contains(&fair_share.priority(node)));
            prop_assert!((0.0..=100.0).contains(&fair_share.competition().level_fs(&engine.tree, node)));
            prop_assert!((0.0..=1.0).contains(&fair_share.competition().usage_norm(node)));
            prop_assert!((0.0..=1.0).contains(&engine.tree.shares_norm(node)));
        }
        if fair_share.max_tickets() > 0.0 {
            #[allow(clippy::float_cmp)] // exactly
            let best = |&node: &Node| {
                engine.tree.is_user(node) && fair_share.competition().is_active(node) && fair_share.priority(node) == 1.0
            };
            prop_assert!(nodes.iter().any(best));
        }
    }

    #[test]
    fn what_happens_inside_an_inactive_subtree_is_nobody_elses_business(
        tree in trees(5..60, any_shares()), of: Index,
        new_shares in proptest::collection::vec(any_shares(), 60),
        new_usage in proptest::collection::vec(0.0..1e6, 60),
    ) {
        let (before, nodes) = Engine::run(&tree);
        // Children of a Fairshare=parent account compete one level up: the subtree's top must not be one.
        let tops: Vec<usize> = (1..tree.len())
            .filter(|&n| !before.fair_share.competition().is_active(nodes[n]) && !before.tree.uses_parent(nodes[n]))
            .collect();
        prop_assume!(!tops.is_empty());
        let top = *of.get(&tops);
        let mut changed = tree.clone();
        for n in (0..tree.len()).filter(|&n| is_below(&tree, n, top)) {
            (changed[n].shares, changed[n].usage) = (new_shares[n], new_usage[n]);
        }
        let (after, _) = Engine::run(&changed);
        for n in (0..tree.len()).filter(|&n| !is_below(&tree, n, top)) {
            prop_assert_eq!(
                after.fair_share.priority(nodes[n]).to_bits(),
                before.fair_share.priority(nodes[n]).to_bits(),
                "factor of {}", n
            );
        }
    }

    #[test]
    fn tickets_of_siblings_follow_shares_squared_over_usage(tree in trees(3..60, plain_shares())) {
        let (engine, nodes) = Engine::run(&tree);
        let above_floor = |node: Node| {
            let usage = engine.fair_share.competition().usage_norm(node);
            usage > 0.01 * engine.tree.shares_norm(node)
        };
        for &parent in &nodes {
            let siblings: Vec<Node> =
                competing(&engine, &nodes, parent).filter(|&node| above_floor(node)).collect();
            for pair in siblings.windows(2) {
                let (a, b) = (pair[0], pair[1]);
                let shares = engine.tree.shares_norm(a) / engine.tree.shares_norm(b);
                let usage = engine.fair_share.competition().usage_norm(b) / engine.fair_share.competition().usage_norm(a);
                let tickets = engine.fair_share.tickets(a) / engine.fair_share.tickets(b);
                assert_near!(tickets, shares * shares * usage, "{:?} to {:?}", a, b);
            }
        }
    }

    #[test]
    fn prospective_tickets_are_those_of_the_next_cycle(tree in trees(2..60, any_shares()), of: Index) {
        let (before, nodes) = Engine::run(&tree);
        let idle: Vec<usize> = (0..tree.len()).filter(|&n| tree[n].user && !tree[n].waiting).collect();
        prop_assume!(!idle.is_empty());
        let user = *of.get(&idle);
        let mut next = tree.clone();
        next[user].waiting = true;
        let (after, _) = Engine::run(&next);
        let tickets = |engine: &Engine| engine.fair_share.tickets(nodes[user]);
        assert_near!(tickets(&before), tickets(&after), "T of {user}");
    }
}
