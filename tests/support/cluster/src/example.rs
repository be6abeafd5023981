//! The documented example as a cluster gets it.

use multifactor2_fixtures::example::{Association, TREE};

use crate::{Account, Accounts};

/// Seconds of usage in the whole cluster; the example gives parts of it.
const SECONDS: f64 = 1_000_000.0;

/// The account tree. `Accounts` gives the user root no share, which the example takes for granted.
pub fn tree() -> Accounts {
    below(0).fold(Accounts::new(), |accounts, number| accounts.account(account(number)))
}

fn account(number: usize) -> Account {
    let row = &TREE[number];
    let account = Account::new(row.account, row.shares);
    if row.name == "rest" {
        return account.user("others", 1);
    }
    below(number).fold(account, |account, number| {
        let row = &TREE[number];
        if row.is_user() {
            account.user(row.user, row.shares)
        } else {
            account.account(self::account(number))
        }
    })
}

/// The numbers of all directly below one.
fn below(above: usize) -> impl Iterator<Item = usize> {
    (1..TREE.len()).filter(move |number| TREE[*number].parent == above)
}

/// The usage of all that have any: account, user, seconds.
pub fn usage() -> Vec<(&'static str, &'static str, f64)> {
    let rows = TREE.iter().filter(|row| row.usage > 0.0 && (row.is_user() || row.name == "rest"));
    let user = |row: &Association| if row.is_user() { row.user } else { "others" };
    rows.map(|row| (row.account, user(row), row.usage / 100.0 * SECONDS)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_the_example_is_in_the_tree() {
        let in_a =
            [Account::new("b", 30).user("user1", 1), Account::new("c", 10).user("user2", 1).user("user3", 1)];
        let in_d = [Account::new("e", 25).user("user4", 1), Account::new("f", 35).user("user5", 1)];
        let with = |name: &str, shares: u32, below: [Account; 2]| {
            below.into_iter().fold(Account::new(name, shares), Account::account)
        };
        let expected = Accounts::new()
            .account(with("a", 40, in_a))
            .account(with("d", 60, in_d))
            .account(Account::new("rest", 0).user("others", 1));
        assert_eq!(tree(), expected);
        let usage = usage().into_iter().map(|(account, user, seconds)| format!("{account} {user} {seconds}"));
        let expected = ["b user1 200000", "c user2 250000", "e user4 250000", "rest others 300000"];
        assert_eq!(usage.collect::<Vec<_>>(), expected);
    }
}
