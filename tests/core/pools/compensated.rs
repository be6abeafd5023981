//! `CompensationFactor`, worked out by hand, and users who come between two cycles.

use multifactor2_fixtures::assert_near;
use multifactor2_fixtures::pools_model::{ModelJob, ModelTree};

use super::Engine;

/// Tickets of the associations of users whose jobs wait, of 1000.
fn tickets(factor: &str, tree: &ModelTree, users: &[(&str, &str)]) -> Vec<f64> {
    let (engine, _) = cycle(factor, tree, users);
    users.iter().map(|(user, account)| engine.fair_share.tickets(engine.node(user, account))).collect()
}

fn cycle(factor: &str, tree: &ModelTree, users: &[(&str, &str)]) -> (Engine, Vec<ModelJob>) {
    let mut engine = Engine::new(&format!("CompensationFactor={factor}"), tree);
    let jobs = (1..).zip(users).map(|(id, (user, account))| ModelJob::waiting(id, user, account));
    let jobs: Vec<ModelJob> = jobs.collect();
    engine.cycle(&jobs);
    (engine, jobs)
}

#[track_caller]
fn assert_tickets(factor: &str, tree: &ModelTree, users: &[(&str, &str)], expected: &[f64]) {
    for ((found, expected), user) in tickets(factor, tree, users).iter().zip(expected).zip(users) {
        assert_near(*found, *expected, &format!("CompensationFactor={factor}: {user:?}"));
    }
}

fn users<'n>(names: &[&'n str]) -> Vec<(&'n str, &'static str)> {
    names.iter().map(|name| (*name, "root")).collect()
}

/// S·F is S²/U: 0.25/0.1, 0.25/0.4 and 0.25/0.5 of users with one share each are as 20 to 5 to 4 (S is a third, which cancels out).
fn three() -> ModelTree {
    let mut tree = ModelTree::new(100.0);
    for (user, usage) in [("a", 10.0), ("b", 40.0), ("c", 50.0)] {
        tree.add_user("root", user, Some(1), usage);
    }
    tree
}

/// The long-term share is a third. Without a limit a has 20/29, which is 2.069 times as much.
#[test]
fn nobody_gets_more_than_the_limit_before_the_rest_is_divided_anew() {
    let (tree, all) = (three(), users(&["a", "b", "c"]));
    let plain = [20_000.0 / 29.0, 5000.0 / 29.0, 4000.0 / 29.0];
    assert_tickets("0", &tree, &all, &plain);
    assert_tickets("2.1", &tree, &all, &plain);
    // Of 29, 1.5 thirds are 14.5. That and the 9 of the others are 23.5.
    assert_tickets("1.5", &tree, &all, &[14_500.0 / 23.5, 5000.0 / 23.5, 4000.0 / 23.5]);
    // A third of 29, and the others, who are below a third.
    let third = 29.0 / 3.0;
    let sum = third + 9.0;
    assert_tickets("1", &tree, &all, &[third / sum * 1000.0, 5000.0 / sum, 4000.0 / sum]);
}

/// Who does not wait has no part in the long-term share: a has two thirds of shares against b.
#[test]
fn the_long_term_share_is_among_those_who_wait() {
    let mut tree = ModelTree::new(100.0);
    for (user, shares, usage) in [("a", 2, 10.0), ("b", 1, 40.0), ("c", 7, 50.0)] {
        tree.add_user("root", user, Some(shares), usage);
    }
    // S²/U as 4/10 to 1/40, so as 16 to 1. 1.2 of 2/3 of 17 is 13.6.
    assert_tickets("1.2", &tree, &users(&["a", "b"]), &[13_600.0 / 14.6, 1000.0 / 14.6]);
}

/// A wide tree of three levels with the same shares everywhere. Usage of siblings is as 1 to 3, so S·F as 3 to 1.
fn three_levels() -> ModelTree {
    let mut tree = ModelTree::new(160.0);
    for (account, usage) in [("A", 40.0), ("B", 120.0)] {
        tree.add_account("root", account, Some(1), usage);
    }
    tree.add_account("A", "A1", Some(1), 10.0);
    tree.add_account("A", "A2", Some(1), 30.0);
    tree.add_user("A1", "u", Some(1), 2.5);
    tree.add_user("A1", "v", Some(1), 7.5);
    tree.add_user("A2", "w", Some(1), 30.0);
    tree.add_user("B", "x", Some(1), 120.0);
    tree
}

/// Targets are 1/2, 1/4 and 1/8; without a limit there are 3/4, 9/16 and 27/64. With C = 1.8 A is below 0.9. A1 claims 0.5625 and may have
/// 0.45, so 3 becomes 2.4 to 1: 0.75 · 2.4/3.4 = 0.529412. Of that u claims 0.397059 and may have 0.225: 3 becomes 1.7 to 1.
#[test]
fn targets_are_the_products_over_the_levels() {
    let all = [("u", "A1"), ("v", "A1"), ("w", "A2"), ("x", "B")];
    assert_tickets("5", &three_levels(), &all, &[421.875, 140.625, 187.5, 250.0]);
    let of_a1 = 750.0 * 2.4 / 3.4;
    let expected = [of_a1 * 1.7 / 2.7, of_a1 / 2.7, 750.0 / 3.4, 250.0];
    assert_tickets("1.8", &three_levels(), &all, &expected);
}

/// A limit that is reached at the top holds further down only where it is reached there, too: what a level lost does not come back.
#[test]
fn a_limit_of_one_holds_everybody_to_the_shares_or_less() {
    let all = [("u", "A1"), ("v", "A1"), ("w", "A2"), ("x", "B")];
    // 3 becomes 2 to 1 (half of 4): A has 2/3. A1 claims 3/4 of it and may have 1/4: a third of 3, 4/3 · … of the claims 3 and 1.
    let of_a = 1000.0 * 2.0 / 3.0;
    // 0.5 found, 0.25 the most: half of 3 to 1.
    let of_a1 = of_a * 1.5 / 2.5;
    // 0.3 found, 0.125 the most: 3 · 5/12 to 1.
    let of_u = of_a1 * 1.25 / 2.25;
    assert_tickets("1", &three_levels(), &all, &[of_u, of_a1 - of_u, of_a - of_a1, 1000.0 - of_a]);
}

/// Whoever begins to wait has what the next cycle gives, and so have those who come after. Who waits already keeps what the cycle gave.
#[test]
fn users_who_come_between_two_cycles() {
    let all = [("x", "B"), ("w", "A2"), ("v", "A1"), ("u", "A1")];
    for factor in ["0", "1", "1.8", "5"] {
        for before in 0..all.len() {
            let (mut engine, _) = cycle(factor, &three_levels(), &all[..before]);
            for at in before..all.len() {
                let (user, account) = all[at];
                let node = engine.node(user, account);
                let prospective = engine.fair_share.tickets_now(&engine.tree, node);
                engine.fair_share.join(&engine.tree, node);
                let joined = engine.fair_share.tickets_now(&engine.tree, node);
                let expected = *tickets(factor, &three_levels(), &all[..=at]).last().unwrap();
                assert_near(prospective, expected, &format!("{user} after {before}, C = {factor}"));
                assert_near(joined, expected, &format!("{user}, joined after {before}, C = {factor}"));
                let share = engine.fair_share.level_share(&engine.tree, node);
                let above = engine.tree.fair_share_parent(node).unwrap();
                let above = engine.fair_share.tickets_now(&engine.tree, above);
                if at == before {
                    assert_near(above * share, expected, &format!("share of {user}, C = {factor}"));
                }
            }
        }
    }
}
