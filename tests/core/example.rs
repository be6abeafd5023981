//! The documented example: every number of its table, and the two factors.

use multifactor2_core::policy::share_tree::ROOT_TICKETS;
use multifactor2_core::{FairShare, Node, NodeSpec, ShareTree};
use multifactor2_fixtures::example::{named, number, waiting, FACTORS, NUMBERS, TICKETS, TREE};

fn example() -> (ShareTree, FairShare) {
    let specs: Vec<NodeSpec> = (0..)
        .zip(&TREE)
        .map(|(at, row)| NodeSpec {
            parent: (at > 0).then(|| u32::try_from(row.parent).unwrap()),
            shares: row.shares,
            user: row.is_user(),
        })
        .collect();
    let tree = ShareTree::build(&specs);
    // The example is written down in pre-order, so that an index is a position.
    let usage = TREE.map(|row| row.usage);
    let waiting = TREE.map(|row| u32::from(row.waiting));
    let mut fair_share = FairShare::new();
    fair_share.distribute(&tree, &usage, &waiting);
    (tree, fair_share)
}

fn node(tree: &ShareTree, name: &str) -> Node {
    tree.position(number(name)).unwrap()
}

#[track_caller]
fn assert_near(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1.0), "{what}: {found}, not {expected}");
}

#[test]
fn shares_usage_and_level_fs_of_all_nodes() {
    let (tree, fair_share) = example();
    for (name, s, u, u_eff, f) in NUMBERS {
        let node = node(&tree, name);
        assert_near(tree.shares_norm(node), s, &format!("S of {name}"));
        assert_near(fair_share.competition().usage_norm(node), u, &format!("U of {name}"));
        assert_near(
            fair_share.competition().usage_effective(&tree, node),
            u_eff,
            &format!("U_eff of {name}"),
        );
        assert_near(fair_share.competition().level_fs(&tree, node), f, &format!("F of {name}"));
    }
}

#[test]
fn tickets_flow_to_the_two_waiting_users() {
    let (tree, fair_share) = example();
    for (name, tickets) in TICKETS {
        let node = node(&tree, name);
        assert_near(fair_share.tickets(node), tickets, &format!("tickets of {name}"));
        assert!(fair_share.competition().is_active(node), "{name} is active");
    }
    let active = |name: &str| TICKETS.iter().any(|(active, _)| *active == name);
    for (name, ..) in NUMBERS.into_iter().filter(|(name, ..)| !active(name)) {
        assert!(!fair_share.competition().is_active(node(&tree, name)), "{name} is not active");
    }
    let (_, of_a) = TICKETS[0];
    assert_near(fair_share.level_share(&tree, node(&tree, "A")), of_a / ROOT_TICKETS, "level share of A");
}

#[test]
#[allow(clippy::float_cmp)] // the best user's factor is 1 to the bit
fn factors_of_the_two_waiting_users() {
    let (tree, fair_share) = example();
    assert_eq!(waiting().count(), 2);
    for (user, factor) in waiting() {
        assert_near(fair_share.priority(node(&tree, user.name)), factor, user.name);
    }
    assert_eq!(fair_share.priority(node(&tree, "user5")), 1.0);
}

#[test]
fn prospective_factors_of_the_others() {
    let (tree, fair_share) = example();
    for (name, factor) in FACTORS.into_iter().filter(|(name, _)| !named(name).waiting) {
        assert_near(fair_share.priority(node(&tree, name)), factor, name);
    }
}
