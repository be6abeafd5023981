//! What a distribution does to shares in the long run: the numbers of docs/weights.md.

use crate::simulation::{error, settled, Order, Tree};

/// Accounts with shares, and so many users with one share each.
pub fn accounts(accounts: &[(u32, u32)]) -> Vec<(String, String, u32, bool)> {
    let mut rows = Vec::new();
    for (at, (shares, users)) in accounts.iter().enumerate() {
        rows.push((String::new(), format!("account{at}"), *shares, false));
        rows.extend((0..*users).map(|user| (format!("account{at}"), format!("user{at}.{user}"), 1, true)));
    }
    rows
}

pub fn borrowed(rows: &[(String, String, u32, bool)]) -> Vec<(&str, &str, u32, bool)> {
    rows.iter().map(|row| (row.0.as_str(), row.1.as_str(), row.2, row.3)).collect()
}

/// The documented example.
pub const EXAMPLE: &Tree<'static> = &[
    ("", "A", 40, false),
    ("A", "B", 30, false),
    ("B", "user1", 1, true),
    ("A", "C", 10, false),
    ("C", "user2", 1, true),
    ("C", "user3", 1, true),
    ("", "D", 60, false),
    ("D", "E", 25, false),
    ("E", "user4", 1, true),
    ("D", "F", 35, false),
    ("F", "user5", 1, true),
];

/// What the users of each account have had, in percent.
fn by_account(shares: &[(u32, u32)], order: &Order) -> Vec<f64> {
    let rows = accounts(shares);
    let had = settled(&borrowed(&rows), order);
    let of = |at: usize| {
        let prefix = format!("user{at}.");
        100.0 * had.iter().filter(|(name, ..)| name.starts_with(&prefix)).map(|(_, had, _)| had).sum::<f64>()
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

/// Prints a row for each tree, as docs/weights.md has it.
#[test]
fn standing_and_strict_settle_on_the_shares() {
    let [two, ten, many] = [&[(60, 1), (40, 1)][..], &[(90, 1), (10, 1)], &[(50, 20), (50, 1)]].map(accounts);
    let trees = [
        ("60:40", borrowed(&two)),
        ("90:10", borrowed(&ten)),
        ("20 users against 1", borrowed(&many)),
        ("the example", EXAMPLE.to_vec()),
    ];
    println!("| tree | tickets | standing | strict | Fair Tree | classic |\n|---|---|---|---|---|---|");
    for (name, tree) in trees {
        let orders = [
            Order::ours(""),
            Order::ours("Distribution=standing"),
            Order::ours("Distribution=strict"),
            Order::FairTree,
            Order::Classic,
        ];
        let [tickets, standing, strict, fair_tree, classic] = orders.map(|order| error(&tree, &order));
        println!("| {name} | {tickets:.3} | {standing:.3} | {strict:.3} | {fair_tree:.3} | {classic:.3} |");
        assert!(standing <= 0.01, "{name}: {standing}");
        assert!(strict <= 0.01, "{name}: {strict}");
    }
}
