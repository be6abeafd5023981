//! What the formula does to shares when everybody always has jobs waiting: the numbers of docs/weights.md.
//!
//! A machine whose jobs take one hour goes to the user with the highest factor at every calculation, five minutes apart. The
//! half-life is seven days. Only fair-share counts.

use multifactor2_core::decay::{decay_factor, decay_over};
use multifactor2_core::{FairShare, NodeSpec, ShareTree};

const CYCLE: f64 = 300.0;
/// Cycles that a job takes.
const JOB: usize = 12;
const DAY: usize = 288;

/// The part of the machine that each account has had in the end, in percent; accounts have shares, and users with one share
/// each.
fn settled(accounts: &[(u32, u32)]) -> Vec<f64> {
    let mut specs = vec![NodeSpec { parent: None, shares: 1, user: false }];
    let mut waiting = vec![0];
    let mut account_of = vec![0];
    for (account, &(shares, users)) in accounts.iter().enumerate() {
        let parent = u32::try_from(specs.len()).unwrap();
        specs.push(NodeSpec { parent: Some(0), shares, user: false });
        specs.extend((0..users).map(|_| NodeSpec { parent: Some(parent), shares: 1, user: true }));
        waiting.push(0);
        waiting.extend((0..users).map(|_| 1));
        account_of.extend(vec![account; 1 + users as usize]);
    }
    let tree = ShareTree::build(&specs);
    let parent = |at: usize| specs[at].parent.map(|parent| parent as usize);
    let node = |at: usize| tree.position(at).unwrap();
    let users: Vec<usize> = (0..specs.len()).filter(|&at| specs[at].user).collect();
    let decay = decay_over(decay_factor(7 * 86_400), CYCLE);
    let mut usage = vec![0.0; specs.len()];
    // Who has the twelfth of the machine that comes free in a cycle.
    let mut running: Vec<usize> = (0..JOB).map(|at| users[at % users.len()]).collect();
    let mut had = vec![0.0; accounts.len()];
    let mut fair_share = FairShare::new();
    for cycle in 0..60 * DAY {
        for usage in &mut usage {
            *usage *= decay;
        }
        for &user in &running {
            let mut at = Some(user);
            while let Some(here) = at {
                usage[here] += CYCLE;
                at = parent(here);
            }
        }
        let mut in_order = vec![0.0; specs.len()];
        let mut waits = vec![0; specs.len()];
        for at in 0..specs.len() {
            in_order[node(at).index()] = usage[at];
            waits[node(at).index()] = waiting[at];
        }
        fair_share.distribute(&tree, &in_order, &waits);
        let tickets = |&user: &usize| fair_share.tickets(node(user));
        let best = users.iter().max_by(|a, b| tickets(a).total_cmp(&tickets(b)));
        running[cycle % JOB] = *best.unwrap();
        if cycle >= 35 * DAY {
            for &user in &running {
                had[account_of[user]] += 1.0;
            }
        }
    }
    let all: f64 = had.iter().sum();
    had.iter().map(|had| 100.0 * had / all).collect()
}

#[track_caller]
fn assert_settles(accounts: &[(u32, u32)], expected: &[f64], within: f64) {
    let found = settled(accounts);
    let near = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() <= within);
    assert!(near, "{found:?}, not {expected:?}");
}

#[test]
fn two_busy_siblings_settle_on_the_squares_of_their_shares() {
    assert_settles(&[(60, 1), (40, 1)], &[69.2, 30.8], 0.2);
    assert_settles(&[(90, 1), (10, 1)], &[98.8, 1.2], 0.1);
}

#[test]
fn an_account_with_many_active_users_gets_less() {
    assert_settles(&[(50, 20), (50, 1)], &[5.1, 94.9], 0.3);
    assert_settles(&[(50, 50), (50, 1)], &[2.7, 97.3], 0.3);
}
