//! Shapes and numbers that no administrator would write, and the largest ones that might be.

use multifactor2_core::{FairShare, Node, NodeSpec, ShareTree, USE_PARENT};
use proptest::collection::vec;
use proptest::prelude::*;

fn account(parent: Option<u32>) -> NodeSpec {
    NodeSpec { parent, shares: 1, user: false }
}

fn user(parent: u32, shares: u32) -> NodeSpec {
    NodeSpec { parent: Some(parent), shares, user: true }
}

fn distributed(tree: &ShareTree, usage: &[f64], waiting: &[u32]) -> FairShare {
    let mut fair_share = FairShare::new();
    fair_share.distribute(tree, usage, waiting);
    fair_share
}

fn assert_in_range(tree: &ShareTree, fair_share: &FairShare) {
    let mut best = 0.0_f64;
    for node in tree.nodes() {
        let fraction = 0.0..=1.0;
        assert!(fraction.contains(&tree.shares_norm(node)));
        assert!(fraction.contains(&fair_share.competition().usage_norm(node)));
        assert!(fraction.contains(&fair_share.competition().usage_effective(tree, node)));
        assert!(fraction.contains(&fair_share.level_share(tree, node)));
        assert!(fraction.contains(&fair_share.priority(node)));
        assert!((0.0..=100.0).contains(&fair_share.competition().level_fs(tree, node)));
        assert!((0.0..=1000.0).contains(&fair_share.tickets(node)));
        if tree.is_user(node) && fair_share.competition().is_active(node) {
            best = best.max(fair_share.priority(node));
        }
    }
    assert!(
        fair_share.max_tickets() == 0.0 || best.to_bits() == 1.0_f64.to_bits(),
        "the best user has {best}"
    );
}

#[test]
fn no_associations() {
    let tree = ShareTree::build(&[]);
    assert!(tree.is_empty() && tree.root().is_none() && tree.position(0).is_none());
    assert_in_range(&tree, &distributed(&tree, &[], &[]));
}

#[test]
fn nothing_without_a_root() {
    let tree = ShareTree::build(&[account(Some(1)), account(Some(0)), account(Some(2))]);
    assert!(tree.is_empty() && tree.position(2).is_none());
}

#[test]
fn cycles_orphans_and_further_roots_are_left_out() {
    let tree = ShareTree::build(&[
        user(1, 1),        // in the tree, before its parent
        account(Some(2)),  // in the tree
        account(None),     // the root
        account(None),     // another root
        user(3, 1),        // below it
        account(Some(6)),  // a cycle
        account(Some(5)),  //
        user(6, 1),        // below the cycle
        account(Some(8)),  // its own parent
        account(Some(99)), // no such parent
        user(9, 1),        // below that
        user(u32::MAX, 1), // no such parent
    ]);
    let placed: Vec<bool> = (0..12).map(|input| tree.position(input).is_some()).collect();
    assert_eq!(placed.iter().filter(|&&placed| placed).count(), 3);
    assert!(placed[0] && placed[1] && placed[2]);
    assert_eq!(tree.len(), 3);
    assert_eq!(tree.position(2), tree.root());
    assert_eq!(tree.parent(tree.position(0).unwrap()), tree.position(1));
}

#[test]
fn shares_of_the_root_are_not_used() {
    for shares in [0, 1, USE_PARENT] {
        let tree = ShareTree::build(&[NodeSpec { shares, ..account(None) }, user(0, 1)]);
        let (root, user) = (tree.root().unwrap(), tree.position(1).unwrap());
        assert!(!tree.uses_parent(root) && tree.fair_share_parent(user) == Some(root));
        assert!((tree.shares_norm(root) - 1.0).abs() < 1e-15 && (tree.shares_norm(user) - 1.0).abs() < 1e-15);
    }
}

#[test]
fn siblings_keep_their_order_and_parents_precede_children() {
    let tree = ShareTree::build(&[
        account(None),
        account(Some(0)),
        account(Some(0)),
        user(2, 1),
        user(1, 1),
        user(1, 1),
    ]);
    let positions: Vec<usize> = (0..6).map(|input| tree.position(input).unwrap().index()).collect();
    assert_eq!(positions, [0, 1, 4, 5, 2, 3]);
}

/// One user at the end of ten thousand accounts, each beside an idle user with the same share: recursion
/// would end the process, the plain product of the shares would underflow and take all tickets.
#[test]
fn ten_thousand_levels() {
    let mut specs = vec![account(None)];
    for level in 0..10_000_u32 {
        let parent = level.checked_sub(1).map_or(0, |above| 1 + 2 * above);
        specs.extend([account(Some(parent)), user(parent, 1)]);
    }
    specs.push(user(19_999, 1));
    let tree = ShareTree::build(&specs);
    assert_eq!(tree.len(), specs.len());

    let deepest = tree.position(specs.len() - 1).unwrap();
    let mut waiting = vec![0; tree.len()];
    waiting[deepest.index()] = 1;
    let mut usage = vec![0.0; tree.len()];
    usage[0] = 1.0;
    for usage in [vec![1.0; tree.len()], usage, vec![]] {
        let fair_share = distributed(&tree, &usage, &waiting);
        assert_in_range(&tree, &fair_share);
        assert!(fair_share.priority(deepest).to_bits() == 1.0_f64.to_bits());
    }
}

#[test]
fn ten_thousand_transparent_levels() {
    let mut specs = vec![account(None)];
    specs.extend((0..10_000).map(|parent| NodeSpec { shares: USE_PARENT, ..account(Some(parent)) }));
    specs.extend([user(10_000, 3), user(0, 1)]);
    let tree = ShareTree::build(&specs);
    let deepest = tree.position(10_001).unwrap();
    assert_eq!(tree.fair_share_parent(deepest), tree.root());
    assert!((tree.shares_norm(deepest) - 0.75).abs() < 1e-15);
}

#[test]
fn hundred_thousand_children() {
    let mut specs = vec![account(None)];
    specs.extend((0..100_000).map(|_| user(0, 0xffff_fffe)));
    let tree = ShareTree::build(&specs);
    let fair_share = distributed(&tree, &[], &vec![1; tree.len()]);
    assert_in_range(&tree, &fair_share);
    let last = tree.position(100_000).unwrap();
    assert!((tree.shares_norm(last) - 1e-5).abs() < 1e-18);
    assert!((fair_share.tickets(last) - 0.01).abs() < 1e-12);
    assert!((fair_share.priority(last) - 1.0).abs() < 1e-12);
}

#[test]
fn usage_of_an_empty_cluster_is_zero() {
    let tree = ShareTree::build(&[account(None), user(0, 1)]);
    let fair_share = distributed(&tree, &[0.0, 5.0], &[0, 1]);
    let user = tree.position(1).unwrap();
    assert!(fair_share.competition().usage_norm(user) == 0.0);
    assert!((fair_share.competition().level_fs(&tree, user) - 100.0).abs() < 1e-9);
}

#[test]
fn child_with_more_usage_than_the_root_counts_as_all_of_it() {
    let tree = ShareTree::build(&[account(None), user(0, 1), user(0, 1)]);
    let fair_share = distributed(&tree, &[1.0, 5.0, f64::INFINITY], &[0, 1, 1]);
    assert!(tree.nodes().all(|node| (fair_share.competition().usage_norm(node) - 1.0).abs() < 1e-15));
}

#[test]
fn values_of_nodes_outside_the_tree_are_zero() {
    let large = ShareTree::build(&[account(None), user(0, 1)]);
    let small = ShareTree::build(&[account(None)]);
    let stranger: Node = large.position(1).unwrap();
    let fair_share = distributed(&small, &[], &[]);
    assert!(fair_share.priority(stranger) == 0.0 && fair_share.tickets(stranger) == 0.0);
    assert!(small.shares_norm(stranger) == 0.0 && small.fair_share_parent(stranger).is_none());
    assert!(FairShare::new().priority(stranger) == 0.0);
}

#[test]
fn buffers_are_reused_over_trees_of_other_sizes() {
    let specs = [account(None), user(0, 1), user(0, 1)];
    let (large, small) = (ShareTree::build(&specs), ShareTree::build(&specs[..2]));
    let mut fair_share = distributed(&large, &[], &[0, 1, 1]);
    fair_share.distribute(&small, &[], &[0, 0]);
    let user = small.position(1).unwrap();
    assert!(!fair_share.competition().is_active(user) && fair_share.max_tickets() == 0.0);
    assert!(fair_share.tickets(large.position(2).unwrap()) == 0.0);
    fair_share.distribute(&large, &[], &[0, 1, 1]);
    assert!((fair_share.tickets(large.position(2).unwrap()) - 500.0).abs() < 1e-9);
}

proptest! {
    #![proptest_config(multifactor2_fixtures::seeded())]

    #[test]
    fn any_input_gives_a_tree_and_numbers_in_range(
        specs in vec(
            (prop_oneof![1 => Just(None), 9 => (0_u32..50).prop_map(Some), 1 => any::<Option<u32>>()],
             prop_oneof![any::<u32>(), Just(0), Just(USE_PARENT), Just(1)], any::<bool>())
                .prop_map(|(parent, shares, user)| NodeSpec { parent, shares, user }),
            0..50,
        ),
        usage in vec(
            prop_oneof![any::<f64>(), Just(f64::NAN), Just(f64::INFINITY), Just(5e-324), Just(f64::MAX)],
            0..50,
        ),
        waiting in vec(0_u32..2, 0..50),
    ) {
        let tree = ShareTree::build(&specs);
        let placed: Vec<Node> = (0..specs.len()).filter_map(|input| tree.position(input)).collect();
        prop_assert_eq!(placed.len(), tree.len());
        for &node in &placed {
            let (parent, fsp) = (tree.parent(node), tree.fair_share_parent(node));
            prop_assert_eq!(parent.is_none(), Some(node) == tree.root());
            prop_assert!(fsp <= parent && parent < Some(node));
        }
        assert_in_range(&tree, &distributed(&tree, &usage, &waiting));
    }
}
