//! The account tree of a cluster, as `sacctmgr load` reads it, and the users in it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The share of an association among its siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shares {
    /// Raw shares, 0 to 2147483646.
    Raw(u32),
    /// `Fairshare=parent`: no share of its own.
    Parent,
}

impl From<u32> for Shares {
    fn from(raw: u32) -> Self {
        Self::Raw(raw)
    }
}

/// A user in one account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The user's name. It need not exist on the machine.
    pub name: String,
    /// Its share of the account.
    pub shares: Shares,
    /// Further settings as `sacctmgr load` spells them, for example `MaxJobs=1`.
    pub options: Vec<String>,
}

/// An account with the users and accounts in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The account's name; Slurm keeps account names in lower case.
    pub name: String,
    /// Its share of the parent account.
    pub shares: Shares,
    /// Its users.
    pub users: Vec<User>,
    /// The accounts below it.
    pub accounts: Vec<Account>,
    /// Further settings as `sacctmgr load` spells them, for example `GrpJobs=5`.
    pub options: Vec<String>,
}

impl Account {
    /// An account without users.
    pub fn new(name: impl Into<String>, shares: impl Into<Shares>) -> Self {
        Self {
            name: name.into(),
            shares: shares.into(),
            users: Vec::new(),
            accounts: Vec::new(),
            options: Vec::new(),
        }
    }

    /// With a user in it.
    #[must_use]
    pub fn user(mut self, name: impl Into<String>, shares: impl Into<Shares>) -> Self {
        self.users.push(User { name: name.into(), shares: shares.into(), options: Vec::new() });
        self
    }

    /// With an account below it.
    #[must_use]
    pub fn account(mut self, account: Account) -> Self {
        self.accounts.push(account);
        self
    }

    /// With a further setting, for example `GrpJobs=5`.
    #[must_use]
    pub fn option(mut self, option: impl Into<String>) -> Self {
        self.options.push(option.into());
        self
    }
}

/// The account tree of a cluster. The root account has one user of its own, `root`, without shares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accounts {
    /// The accounts directly below the root.
    pub accounts: Vec<Account>,
    /// Users directly below the root account, beside `root`.
    pub users: Vec<User>,
}

impl Accounts {
    /// A tree with nothing but the root.
    pub fn new() -> Self {
        Self::default()
    }

    /// With an account below the root.
    #[must_use]
    pub fn account(mut self, account: Account) -> Self {
        self.accounts.push(account);
        self
    }

    /// All user names, each once, in order.
    pub fn user_names(&self) -> BTreeSet<&str> {
        let mut names: BTreeSet<&str> = self.users.iter().map(|user| user.name.as_str()).collect();
        let mut open: Vec<&Account> = self.accounts.iter().collect();
        while let Some(account) = open.pop() {
            names.extend(account.users.iter().map(|user| user.name.as_str()));
            open.extend(&account.accounts);
        }
        names
    }

    /// The file for `sacctmgr load`.
    pub fn dump(&self, cluster: &str) -> String {
        let mut text = format!("Cluster - '{cluster}':DefaultQOS='normal':Fairshare=1:QOS='normal'\n");
        text.push_str("Parent - 'root'\n");
        text.push_str("User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=0\n");
        write_children(&mut text, "root", &self.users, &self.accounts);
        let mut open: Vec<&Account> = self.accounts.iter().rev().collect();
        while let Some(account) = open.pop() {
            if !account.users.is_empty() || !account.accounts.is_empty() {
                let _ = writeln!(text, "Parent - '{}'", account.name);
                write_children(&mut text, &account.name, &account.users, &account.accounts);
            }
            open.extend(account.accounts.iter().rev());
        }
        text
    }
}

fn write_children(text: &mut String, parent: &str, users: &[User], accounts: &[Account]) {
    for Account { name, shares, options, .. } in accounts {
        let _ = write!(text, "Account - '{name}':Description='{name}':Organization='test'");
        write_settings(text, *shares, options);
    }
    for User { name, shares, options } in users {
        let _ = write!(text, "User - '{name}':DefaultAccount='{parent}'");
        write_settings(text, *shares, options);
    }
}

fn write_settings(text: &mut String, shares: Shares, options: &[String]) {
    let _ = match shares {
        Shares::Raw(raw) => write!(text, ":Fairshare={raw}"),
        Shares::Parent => write!(text, ":Fairshare=parent"),
    };
    for option in options {
        let _ = write!(text, ":{option}");
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dump_names_parents_before_their_children() {
        let tree = Accounts::new()
            .account(
                Account::new("a", 40)
                    .account(Account::new("b", Shares::Parent).user("user1", 1))
                    .user("u", 2),
            )
            .account(Account::new("c", 0).option("GrpJobs=5"));
        let expected = "\
Cluster - 'test':DefaultQOS='normal':Fairshare=1:QOS='normal'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=0
Account - 'a':Description='a':Organization='test':Fairshare=40
Account - 'c':Description='c':Organization='test':Fairshare=0:GrpJobs=5
Parent - 'a'
Account - 'b':Description='b':Organization='test':Fairshare=parent
User - 'u':DefaultAccount='a':Fairshare=2
Parent - 'b'
User - 'user1':DefaultAccount='b':Fairshare=1
";
        assert_eq!(tree.dump("test"), expected);
        assert_eq!(Vec::from_iter(tree.user_names()), ["u", "user1"]);
    }
}
