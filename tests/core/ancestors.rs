//! Known defects of the C ancestors that live in what the engine computes, one test each. (Decay underflow
//! and double charging are tested with their code.)

use multifactor2_core::{FairShare, NodeSpec, ShareTree, USE_PARENT};

/// Parent, shares, user or account, usage, waiting jobs; in pre-order.
type Row = (Option<u32>, u32, bool, f64, u32);

const USER: bool = true;
const ACCOUNT: bool = false;

fn factors(rows: &[Row]) -> Vec<f64> {
    let specs: Vec<NodeSpec> =
        rows.iter().map(|&(parent, shares, user, ..)| NodeSpec { parent, shares, user }).collect();
    let tree = ShareTree::build(&specs);
    let usage: Vec<f64> = rows.iter().map(|row| row.3).collect();
    let waiting: Vec<u32> = rows.iter().map(|row| row.4).collect();
    let mut fair_share = FairShare::new();
    fair_share.distribute(&tree, &usage, &waiting);
    tree.nodes().map(|node| fair_share.priority(node)).collect()
}

#[track_caller]
fn assert_factor(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
}

/// Slurm fc3997f9d5 and the sum that stayed unguarded: a level without shares divided by zero.
#[test]
fn zero_shares_do_not_divide() {
    let all = factors(&[
        (None, 1, ACCOUNT, 10.0, 0),
        (Some(0), 0, ACCOUNT, 5.0, 0),
        (Some(1), 0, USER, 5.0, 1),
        (Some(1), 1, USER, 0.0, 1),
        (Some(0), 0, USER, 5.0, 1),
    ]);
    assert_eq!(all[2..], [0.0, 0.0, 0.0]);
}

#[test]
fn zero_shares_beside_others_get_nothing() {
    let all = factors(&[(None, 1, ACCOUNT, 0.0, 0), (Some(0), 0, USER, 0.0, 1), (Some(0), 1, USER, 0.0, 1)]);
    assert_eq!(all[1..], [0.0, 1.0]);
}

/// Nobody else waits, so there are no tickets to compare with: whoever has a share would be first.
#[test]
fn zero_shares_get_nothing_prospectively_either() {
    let all = factors(&[(None, 1, ACCOUNT, 0.0, 0), (Some(0), 0, USER, 0.0, 0), (Some(0), 1, USER, 0.0, 0)]);
    assert_eq!(all[1..], [0.0, 1.0]);
}

/// Tickets in u32, truncated at every level, left users deep in a wide tree with 0.
#[test]
fn tickets_are_not_truncated() {
    let mut rows: Vec<Row> = vec![(None, 1, ACCOUNT, 0.0, 0)];
    let mut parent = 0;
    for _ in 0..12 {
        let here = u32::try_from(rows.len()).unwrap();
        rows.push((Some(parent), 1, ACCOUNT, 0.0, 0));
        rows.extend((0..9).map(|_| (Some(parent), 1, USER, 0.0, 1)));
        parent = here;
    }
    rows.extend((0..10).map(|_| (Some(parent), 1, USER, 0.0, 1)));
    // Not in pre-order, so that `factors` does not fit.
    let specs: Vec<NodeSpec> =
        rows.iter().map(|&(parent, shares, user, ..)| NodeSpec { parent, shares, user }).collect();
    let tree = ShareTree::build(&specs);
    let mut fair_share = FairShare::new();
    fair_share.distribute(&tree, &[], &vec![1; rows.len()]);
    let deepest = fair_share.priority(tree.position(rows.len() - 1).unwrap());
    assert!((deepest / 1e-12 - 1.0).abs() < 1e-9, "{deepest}");
}

/// A user who began to wait after the last cycle had factor 0 until the next.
#[test]
fn newly_active_user_has_a_factor_between_cycles() {
    let all = factors(&[
        (None, 1, ACCOUNT, 10.0, 0),
        (Some(0), 1, ACCOUNT, 10.0, 0),
        (Some(1), 1, USER, 10.0, 1),
        (Some(0), 1, ACCOUNT, 0.0, 0),
        (Some(3), 1, USER, 0.0, 0),
    ]);
    // S*F: 0.5*0.5 for the account in use, 0.5*100 for the fresh one.
    assert_factor(all[2], 1.0);
    assert_factor(all[4], 50.0 / 50.25);
    let all = factors(&[
        (None, 1, ACCOUNT, 10.0, 0),
        (Some(0), 1, ACCOUNT, 4.0, 0),
        (Some(1), 1, USER, 4.0, 1),
        (Some(0), 1, ACCOUNT, 6.0, 0),
        (Some(3), 1, USER, 6.0, 0),
    ]);
    // Tickets 1000 of the active user against 1000 * (0.25/0.6) / (0.25/0.4 + 0.25/0.6) = 400.
    assert_factor(all[4], 0.4);
}

#[test]
fn newly_active_user_of_an_idle_cluster_has_factor_one() {
    assert_factor(factors(&[(None, 1, ACCOUNT, 10.0, 0), (Some(0), 1, USER, 10.0, 0)])[1], 1.0);
}

/// Slurm cde20c11ab: users with Fairshare=parent were ranked by the special value as if it were shares.
#[test]
fn user_with_fairshare_parent_draws_on_all_of_the_account() {
    let all = factors(&[
        (None, 1, ACCOUNT, 10.0, 0),
        (Some(0), 1, ACCOUNT, 4.0, 0),
        (Some(1), USE_PARENT, USER, 3.0, 1),
        (Some(1), 3, USER, 1.0, 1),
        (Some(1), 1, USER, 0.0, 1),
        (Some(0), 1, ACCOUNT, 6.0, 0),
        (Some(5), 1, USER, 6.0, 1),
    ]);
    // The accounts hold 600 and 400; shares beside Fairshare=parent split the 600 once more:
    // S 0.375, F 3.75 against S 0.125, F 100.
    assert_factor(all[2], 1.0);
    assert_factor(all[3], 1.40625 / 13.90625);
    assert_factor(all[4], 12.5 / 13.90625);
    assert_factor(all[6], 400.0 / 600.0);
}

#[test]
fn account_with_fairshare_parent_is_transparent() {
    let all = factors(&[
        (None, 1, ACCOUNT, 0.0, 0),
        (Some(0), USE_PARENT, ACCOUNT, 0.0, 0),
        (Some(1), 1, USER, 0.0, 1),
        (Some(1), USE_PARENT, USER, 0.0, 0),
        (Some(0), 3, USER, 0.0, 1),
    ]);
    assert_factor(all[2], 1.0 / 3.0);
    assert_factor(all[4], 1.0);
    // Below the root by way of the transparent account.
    assert_factor(all[3], 1.0);
}

#[test]
fn user_with_fairshare_parent_below_the_root_always_has_one() {
    let all = factors(&[
        (None, 1, ACCOUNT, 10.0, 0),
        (Some(0), USE_PARENT, USER, 10.0, 1),
        (Some(0), 1, USER, 0.0, 1),
        (Some(0), 1, USER, 0.0, 1),
    ]);
    assert_factor(all[1], 1.0);
    assert_factor(all[2], 0.5);
}

/// Slurm 9cb2140bee: an association without parent crashed the daemon.
#[test]
fn association_without_parent_is_left_out() {
    let orphan = NodeSpec { parent: None, shares: 1, user: true };
    let tree = ShareTree::build(&[NodeSpec { user: false, ..orphan }, orphan]);
    assert_eq!((tree.len(), tree.position(1)), (1, None));
}
