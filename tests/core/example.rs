//! The documented example: every number of its table, and the two factors.

use multifactor2_core::policy::share_tree::ROOT_TICKETS;
use multifactor2_core::{FairShare, Node, NodeSpec, ShareTree};

/// Name, index of the parent, shares, raw usage in percent of the cluster, waiting jobs.
const EXAMPLE: [(&str, Option<u32>, u32, f64, u32); 12] = [
    ("root", None, 1, 100.0, 0),
    ("A", Some(0), 40, 45.0, 0),
    ("B", Some(1), 30, 20.0, 0),
    ("user1", Some(2), 1, 20.0, 0),
    ("C", Some(1), 10, 25.0, 0),
    ("user2", Some(4), 1, 25.0, 1),
    ("user3", Some(4), 1, 0.0, 0),
    ("D", Some(0), 60, 25.0, 0),
    ("E", Some(7), 25, 25.0, 0),
    ("user4", Some(8), 1, 25.0, 0),
    ("F", Some(7), 35, 0.0, 0),
    ("user5", Some(10), 1, 0.0, 1),
];

fn example() -> (ShareTree, FairShare) {
    let specs: Vec<NodeSpec> = EXAMPLE
        .iter()
        .map(|&(name, parent, shares, ..)| NodeSpec { parent, shares, user: name.starts_with("user") })
        .collect();
    let tree = ShareTree::build(&specs);
    // The example is written down in pre-order, so that an index is a position.
    let usage: Vec<f64> = EXAMPLE.iter().map(|&(.., usage, _)| usage).collect();
    let waiting: Vec<u32> = EXAMPLE.iter().map(|&(.., waiting)| waiting).collect();
    let mut fair_share = FairShare::new();
    fair_share.distribute(&tree, &usage, &waiting);
    (tree, fair_share)
}

fn node(tree: &ShareTree, name: &str) -> Node {
    tree.position(EXAMPLE.iter().position(|row| row.0 == name).unwrap()).unwrap()
}

#[track_caller]
fn assert_near(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1.0), "{what}: {found}, not {expected}");
}

#[test]
fn shares_usage_and_level_fs_of_all_nodes() {
    let (tree, fair_share) = example();
    for (name, s, u, u_eff, f) in [
        ("A", 0.4, 0.45, 0.45, 0.4 / 0.45),
        ("B", 0.3, 0.2, 0.2, 1.5),
        ("user1", 0.3, 0.2, 0.2, 1.5),
        ("C", 0.1, 0.25, 0.25, 0.4),
        ("user2", 0.05, 0.25, 0.25, 0.2),
        ("user3", 0.05, 0.0, 0.0005, 100.0),
        ("D", 0.6, 0.25, 0.25, 2.4),
        ("E", 0.25, 0.25, 0.25, 1.0),
        ("user4", 0.25, 0.25, 0.25, 1.0),
        ("F", 0.35, 0.0, 0.0035, 100.0),
        ("user5", 0.35, 0.0, 0.0035, 100.0),
    ] {
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
    let a_weight = 0.4 * 0.4 / 0.45;
    let of_a = ROOT_TICKETS * a_weight / (a_weight + 1.44);
    assert!((of_a - 198.0198).abs() < 1e-4);
    for (name, tickets) in [
        ("A", of_a),
        ("C", of_a),
        ("user2", of_a),
        ("D", 1000.0 - of_a),
        ("F", 1000.0 - of_a),
        ("user5", 1000.0 - of_a),
    ] {
        let node = node(&tree, name);
        assert_near(fair_share.tickets(node), tickets, &format!("tickets of {name}"));
        assert!(fair_share.competition().is_active(node), "{name} is active");
    }
    for name in ["B", "user1", "user3", "E", "user4"] {
        assert!(!fair_share.competition().is_active(node(&tree, name)), "{name} is not active");
    }
    assert_near(fair_share.level_share(&tree, node(&tree, "A")), of_a / ROOT_TICKETS, "level share of A");
}

#[test]
#[allow(clippy::float_cmp)] // the best user's factor is 1 to the bit
fn factors_of_the_two_waiting_users() {
    let (tree, fair_share) = example();
    assert_eq!(fair_share.priority(node(&tree, "user5")), 1.0);
    let of_user2 = fair_share.priority(node(&tree, "user2"));
    assert!((of_user2 - 0.246_914).abs() < 1e-6, "{of_user2}");
}

#[test]
fn prospective_factors_of_the_others() {
    let (tree, fair_share) = example();
    // user3 beside user2 in C: S*F is 5 against 0.01; C keeps the tickets of A.
    let of_user3 = 40.0 / 162.0 * 5.0 / 5.01;
    assert_near(fair_share.priority(node(&tree, "user3")), of_user3, "user3");
    // B joins C (0.45 against 0.04); user1 is alone in B.
    let of_user1 = 40.0 / 162.0 * 0.45 / 0.49;
    assert_near(fair_share.priority(node(&tree, "user1")), of_user1, "user1");
    // E joins F (0.25 against 35); user4 is alone in E.
    assert_near(fair_share.priority(node(&tree, "user4")), 0.25 / 35.25, "user4");
}
