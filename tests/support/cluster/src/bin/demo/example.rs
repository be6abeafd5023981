//! The documented example of priority/multifactor2: its account tree, its usage, its numbers.

use slurm_testcluster::{Account, Accounts};

/// Seconds of usage in the whole cluster; the example gives parts of it.
pub const TOTAL_USAGE: f64 = 1_000_000.0;

/// Tickets at the root.
pub const ROOT_TICKETS: f64 = 1000.0;

/// What the documentation says of an association.
pub struct Node {
    /// Name in the documentation: a capital for an account, or a user.
    pub name: &'static str,
    /// The account in Slurm, which keeps account names in lower case.
    pub account: &'static str,
    /// The user in Slurm, empty for an account.
    pub user: &'static str,
    /// Normalised share of the whole.
    pub shares: f64,
    /// Normalised usage, at least 1 % of the share.
    pub effective_usage: f64,
    /// `shares / effective_usage`.
    pub factor: f64,
}

/// What the documentation says of a user with pending jobs.
pub struct Active {
    /// The user.
    pub user: &'static str,
    /// Its account.
    pub account: &'static str,
    /// Its part of the root's tickets.
    pub tickets: f64,
    /// The fair-share factor of its jobs: its tickets by those of the user with most.
    pub fairshare: f64,
}

/// All accounts and users of the tree.
pub const NODES: [Node; 11] = [
    node("A", "a", "", 0.4, 0.45, 0.4 / 0.45),
    node("B", "b", "", 0.3, 0.2, 1.5),
    node("user1", "b", "user1", 0.3, 0.2, 1.5),
    node("C", "c", "", 0.1, 0.25, 0.4),
    node("user2", "c", "user2", 0.05, 0.25, 0.2),
    node("user3", "c", "user3", 0.05, 0.0005, 100.0),
    node("D", "d", "", 0.6, 0.25, 2.4),
    node("E", "e", "", 0.25, 0.25, 1.0),
    node("user4", "e", "user4", 0.25, 0.25, 1.0),
    node("F", "f", "", 0.35, 0.0035, 100.0),
    node("user5", "f", "user5", 0.35, 0.0035, 100.0),
];

/// The users that have jobs waiting, and what that gives them.
pub const ACTIVE: [Active; 2] = [
    Active { user: "user2", account: "c", tickets: 198.0198, fairshare: 0.246_914 },
    Active { user: "user5", account: "f", tickets: 801.9802, fairshare: 1.0 },
];

/// Usage by (account, user, seconds). What the example leaves over, 0.3 of the total, is in an account
/// without shares.
pub const USAGE: [(&str, &str, f64); 4] = [
    ("b", "user1", 0.2 * TOTAL_USAGE),
    ("c", "user2", 0.25 * TOTAL_USAGE),
    ("e", "user4", 0.25 * TOTAL_USAGE),
    ("rest", "others", 0.3 * TOTAL_USAGE),
];

/// The account tree. `Accounts` gives the user root no share, which the example takes for granted.
pub fn tree() -> Accounts {
    Accounts::new()
        .account(
            Account::new("a", 40)
                .account(Account::new("b", 30).user("user1", 1))
                .account(Account::new("c", 10).user("user2", 1).user("user3", 1)),
        )
        .account(
            Account::new("d", 60)
                .account(Account::new("e", 25).user("user4", 1))
                .account(Account::new("f", 35).user("user5", 1)),
        )
        .account(Account::new("rest", 0).user("others", 1))
}

const fn node(
    name: &'static str,
    account: &'static str,
    user: &'static str,
    shares: f64,
    effective_usage: f64,
    factor: f64,
) -> Node {
    Node { name, account, user, shares, effective_usage, factor }
}
