//! What a distribution does to shares in the long run: the numbers of docs/weights.md.

use multifactor2_fixtures::project;

use crate::simulation::{accounts, error, orders, run, scenes, Order};

#[path = "../../core/examples/figures/picture.rs"]
mod picture;

/// What the users of each account have had, in percent.
fn by_account(shares: &[(u32, u32)], order: &Order) -> Vec<f64> {
    let users = run(&accounts(shares), order, 0.0);
    let of = |at: usize| {
        let prefix = format!("user{at}.");
        100.0 * users.iter().filter(|user| user.name.starts_with(&prefix)).map(|user| user.had).sum::<f64>()
    };
    (0..shares.len()).map(of).collect()
}

#[track_caller]
fn assert_settles(shares: &[(u32, u32)], expected: &[f64], within: f64) {
    let found = by_account(shares, &Order::ours(""));
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

/// Prints a row for each tree, as docs/weights.md has it, and looks whether its picture is this one.
#[test]
fn standing_and_strict_settle_on_the_shares() {
    let mut rows = Vec::new();
    println!("| tree | tickets | standing | strict | Fair Tree | classic |\n|---|---|---|---|---|---|");
    for scene in scenes() {
        let careers = orders().map(|(_, order)| run(&scene.tree, &order, 1.0));
        let errors = [0, 1, 2, 3, 4].map(|order| error(&careers[order]));
        let [tickets, standing, strict, fair_tree, classic] = errors;
        println!(
            "| {} | {tickets:.3} | {standing:.3} | {strict:.3} | {fair_tree:.3} | {classic:.3} |",
            scene.name
        );
        assert!(standing <= 0.01, "{}: {standing}", scene.name);
        assert!(strict <= 0.01, "{}: {strict}", scene.name);
        rows.push((scene, careers));
    }
    let found = project::read(picture::FILE);
    assert!(picture::draw(&rows) == found, "{} is another: see 'make figures'", picture::FILE);
}
