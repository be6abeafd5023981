//! Finds the commands that turn the existing accounts into those of a file, in an order in which sacctmgr can run them.
//!
//! Accounts come in the order of their depth in the file's tree, parents first, so no account is ever moved below itself. Users follow.
//! Deletions come last: users, then accounts from the bottom up.

use std::collections::{BTreeMap, HashMap};

use multifactor2_core::USE_PARENT;
use multifactor2_snapshot::records::Association;
use multifactor2_snapshot::Snapshot;

use super::file::{is_name, Account, Shares};
use super::{SyncAnswer, SyncCommand};
use crate::answers::migrate::quoted;
use crate::error::Error;

/// An account as it is.
#[derive(Debug, Default)]
struct Known<'s> {
    parent: &'s str,
    shares: u32,
    users: BTreeMap<&'s str, u32>,
}

/// The top of every tree.
const ROOT: &str = "root";

/// Compares.
///
/// # Errors
/// Not all accounts can be seen, or the file is no tree.
pub fn compare(snapshot: &Snapshot, wanted: &[Account], delete: bool) -> Result<SyncAnswer, Error> {
    let about = &snapshot.about;
    if about.partial_tree || about.only_jobs || snapshot.associations.is_empty() {
        let problem = "some accounts are hidden here: run this as an administrator, or give --from what an administrator saved";
        return Err(Error::Source(problem.to_owned()));
    }
    if about.cluster.is_empty() {
        return Err(Error::Source("the name of the cluster is not known: give a newer --from".to_owned()));
    }
    let known = accounts(&snapshot.associations);
    let above = parents(&known, wanted);
    let depths = depths(wanted, &above)?;
    let commands = Commands { cluster: &about.cluster, all: Vec::new() };
    let mut commands = commands.of_accounts(&known, wanted, &depths);
    commands.of_users(&known, wanted);
    if delete {
        commands.delete(&known, wanted, &snapshot.associations);
    }
    // With `delete` those that a command cannot name.
    let left = left(&known, wanted, |name| !delete || !is_name(name));
    Ok(SyncAnswer { cluster: about.cluster.clone(), commands: commands.all, left })
}

/// The accounts that there are. What is for one partition alone is left out.
fn accounts(all: &[Association]) -> BTreeMap<&str, Known<'_>> {
    let names: HashMap<u32, &str> = all
        .iter()
        .filter(|association| association.user.is_empty())
        .map(|association| (association.id, association.account.as_str()))
        .collect();
    let mut known = BTreeMap::<&str, Known>::new();
    for association in all {
        let account = known.entry(&association.account).or_default();
        if association.user.is_empty() {
            account.parent = names.get(&association.parent).copied().unwrap_or_default();
            account.shares = association.shares;
        } else if association.partition.is_empty() {
            account.users.insert(&association.user, association.shares);
        }
    }
    known
}

/// What is above each account once all is done.
fn parents<'a>(known: &BTreeMap<&'a str, Known<'a>>, wanted: &'a [Account]) -> HashMap<&'a str, &'a str> {
    let now = known.iter().map(|(name, account)| (*name, account.parent));
    now.chain(wanted.iter().map(|account| (account.name.as_str(), account.parent.as_str()))).collect()
}

/// How deep each account of the file is then.
fn depths(wanted: &[Account], above: &HashMap<&str, &str>) -> Result<Vec<usize>, Error> {
    let depth = |account: &Account| {
        let (mut name, mut depth) = (account.name.as_str(), 0);
        while name != ROOT {
            let Some(parent) = above.get(name).filter(|parent| !parent.is_empty()) else {
                return Err(Error::Question(format!(
                    "line {}: account {name} is neither in the file nor in the cluster: add it to the file, or correct the parent",
                    account.line
                )));
            };
            (name, depth) = (*parent, depth + 1);
            if depth > above.len() {
                return Err(Error::Question(format!(
                    "line {}: account {} would be below itself: correct the parents",
                    account.line, account.name
                )));
            }
        }
        Ok(depth)
    };
    wanted.iter().map(depth).collect()
}

/// What is there and not in the file, where a name of it is to be told.
fn left(known: &BTreeMap<&str, Known<'_>>, wanted: &[Account], tells: impl Fn(&str) -> bool) -> Vec<String> {
    let in_file: HashMap<&str, &Account> =
        wanted.iter().map(|account| (account.name.as_str(), account)).collect();
    let mut left = Vec::new();
    for (name, account) in known.iter().filter(|(name, _)| **name != ROOT) {
        match in_file.get(name) {
            None if tells(name) => left.push(format!("account {name}")),
            None => (),
            Some(wanted) => {
                let is_wanted = |user: &str| wanted.users.iter().any(|(known, _)| known == user);
                let users = account.users.keys().filter(|user| !is_wanted(user) && (tells(user) || tells(name)));
                left.extend(users.map(|user| format!("{user} in {name}")));
            }
        }
    }
    left
}

struct Commands<'c> {
    cluster: &'c str,
    all: Vec<SyncCommand>,
}

impl Commands<'_> {
    fn add(&mut self, words: &[&str], why: String, line: Option<usize>) {
        let cluster = format!("Cluster={}", self.cluster);
        let words = words.iter().map(|word| if *word == CLUSTER { cluster.as_str() } else { word });
        let text = ["sacctmgr", "-i"].into_iter().chain(words).map(quoted).collect::<Vec<_>>().join(" ");
        self.all.push(SyncCommand { text, why, line });
    }

    fn of_accounts(mut self, known: &BTreeMap<&str, Known<'_>>, wanted: &[Account], depths: &[usize]) -> Self {
        let mut order: Vec<usize> = (0..wanted.len()).collect();
        order.sort_by_key(|at| depths[*at]);
        for Account { name, parent, shares, line, .. } in order.into_iter().map(|at| &wanted[at]) {
            let line = Some(*line);
            let Some(now) = known.get(name.as_str()) else {
                let (parent, shares) = (format!("Parent={parent}"), fairshare(shares.unwrap_or(Shares::Number(1))));
                self.add(&["add", "account", name, CLUSTER, &parent, &shares], format!("There is no account {name}."), line);
                continue;
            };
            if now.parent != parent {
                let why = format!("Account {name} is below {}.", now.parent);
                self.add(&["modify", "account", name, "where", CLUSTER, "set", &format!("Parent={parent}")], why, line);
            }
            if let Some(shares) = shares.filter(|shares| raw(*shares) != now.shares) {
                let why = format!("Account {name} has Fairshare={}.", shown(now.shares));
                self.add(&["modify", "account", name, "where", CLUSTER, "set", &fairshare(shares)], why, line);
            }
        }
        self
    }

    fn of_users(&mut self, known: &BTreeMap<&str, Known<'_>>, wanted: &[Account]) {
        for Account { name, users, line, .. } in wanted {
            let (account, line) = (format!("Account={name}"), Some(*line));
            for (user, shares) in users {
                match known.get(name.as_str()).and_then(|now| now.users.get(user.as_str())) {
                    None => {
                        let shares = fairshare(shares.unwrap_or(Shares::Number(1)));
                        let why = format!("There is no user {user} in {name}.");
                        self.add(&["add", "user", user, CLUSTER, &account, &shares], why, line);
                    }
                    Some(now) => {
                        let Some(shares) = shares.filter(|shares| raw(*shares) != *now) else { continue };
                        let why = format!("User {user} has Fairshare={} in {name}.", shown(*now));
                        let words = ["modify", "user", user, "where", CLUSTER, &account, "set", &fairshare(shares)];
                        self.add(&words, why, line);
                    }
                }
            }
        }
    }

    fn delete(&mut self, known: &BTreeMap<&str, Known<'_>>, wanted: &[Account], all: &[Association]) {
        let in_file: HashMap<&str, &Account> =
            wanted.iter().map(|account| (account.name.as_str(), account)).collect();
        let mut gone: Vec<(usize, &str)> = Vec::new();
        let mut leaving = BTreeMap::<&str, Vec<&str>>::new();
        for (name, account) in known.iter().filter(|(name, _)| **name != ROOT && is_name(name)) {
            let wanted = in_file.get(name);
            let is_wanted =
                |user: &str| wanted.is_some_and(|wanted| wanted.users.iter().any(|(known, _)| known == user));
            for user in account.users.keys().filter(|user| !is_wanted(user) && is_name(user)) {
                leaving.entry(user).or_default().push(name);
            }
            if wanted.is_none() {
                let depth = std::iter::successors(Some(*name), |name| known.get(name).map(|account| account.parent));
                gone.push((depth.take(known.len() + 1).count(), name));
            }
        }
        for (user, accounts) in leaving {
            let stays = wanted.iter().find(|account| account.users.iter().any(|(known, _)| known == user));
            let others = |association: &&Association| association.user == user && !association.partition.is_empty();
            if stays.is_none() && !all.iter().any(|association| others(&association)) {
                let why = format!("User {user} is in no account of the file.");
                self.add(&["delete", "user", user, "where", CLUSTER], why, None);
                continue;
            }
            // Most releases refuse to delete the default account of a user.
            let default = all.iter().find(|association| association.user == user && association.is_default);
            let default = default.filter(|default| accounts.contains(&default.account.as_str()));
            if let (Some(default), Some(stays)) = (default, stays) {
                let why = format!("The default account of {user} is {}.", default.account);
                let account = format!("DefaultAccount={}", stays.name);
                self.add(&["modify", "user", user, "where", CLUSTER, "set", &account], why, None);
            }
            for name in accounts {
                let why = format!("User {user} of {name} is not in the file.");
                self.add(&["delete", "user", user, "where", CLUSTER, &format!("Account={name}")], why, None);
            }
        }
        gone.sort_by_key(|(depth, _)| std::cmp::Reverse(*depth));
        for (_, name) in gone {
            let why = format!("Account {name} is not in the file.");
            self.add(&["delete", "account", name, "where", CLUSTER], why, None);
        }
    }
}

/// Stands for the cluster among the words of a command. No name has this letter.
const CLUSTER: &str = "\u{1}";

fn raw(shares: Shares) -> u32 {
    match shares {
        Shares::Number(number) => number,
        Shares::Parent => USE_PARENT,
    }
}

fn shown(raw: u32) -> String {
    if raw == USE_PARENT {
        "parent".to_owned()
    } else {
        raw.to_string()
    }
}

fn fairshare(shares: Shares) -> String {
    format!("Fairshare={}", shown(raw(shares)))
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    fn snapshot(rows: &[(u32, u32, &str, &str, u32)]) -> Snapshot {
        let mut snapshot = Snapshot::default();
        "big".clone_into(&mut snapshot.about.cluster);
        snapshot.associations = rows
            .iter()
            .map(|(id, parent, account, user, shares)| Association {
                id: *id,
                parent: *parent,
                account: (*account).to_owned(),
                user: (*user).to_owned(),
                shares: *shares,
                ..Association::default()
            })
            .collect();
        snapshot
    }

    /// root{physics 40{ada 2, emmy parent}, old 1{bob 1, deep 1{cy 1}}}
    fn cluster() -> Snapshot {
        snapshot(&[
            (1, 0, "root", "", 1),
            (2, 1, "root", "root", 1),
            (3, 1, "physics", "", 40),
            (4, 3, "physics", "ada", 2),
            (5, 3, "physics", "emmy", USE_PARENT),
            (6, 1, "old", "", 1),
            (7, 6, "old", "bob", 1),
            (8, 6, "deep", "", 1),
            (9, 8, "deep", "cy", 1),
        ])
    }

    fn wanted(text: &str) -> Vec<Account> {
        file::csv_for_tests(text)
    }

    fn commands(text: &str, delete: bool) -> Vec<String> {
        let answer = compare(&cluster(), &wanted(text), delete).unwrap();
        answer.commands.into_iter().map(|command| command.text).collect()
    }

    #[test]
    fn what_is_as_the_file_says_needs_no_command() {
        let text = "account,parent,shares,users\nphysics,,40,ada:2 emmy:parent\nold,root,,bob\nDEEP,old,1,cy\n";
        assert_eq!(commands(text, false), [""; 0]);
        assert_eq!(commands(text, true), [""; 0]);
        let answer = compare(&cluster(), &wanted("account\nphysics\n"), false).unwrap();
        assert_eq!(answer.commands, []);
        assert_eq!(answer.left, ["account deep", "account old", "ada in physics", "emmy in physics"]);
    }

    #[test]
    fn accounts_come_before_what_is_below_them_and_users_after_both() {
        let text = "account,parent,shares,users\noptics,lab,10,ada zoe:3\nlab,physics,parent,\nphysics,,50,ada:2 emmy:7\n";
        assert_eq!(
            commands(text, false),
            [
                "sacctmgr -i modify account physics where Cluster=big set Fairshare=50",
                "sacctmgr -i add account lab Cluster=big Parent=physics Fairshare=parent",
                "sacctmgr -i add account optics Cluster=big Parent=lab Fairshare=10",
                "sacctmgr -i add user ada Cluster=big Account=optics Fairshare=1",
                "sacctmgr -i add user zoe Cluster=big Account=optics Fairshare=3",
                "sacctmgr -i modify user emmy where Cluster=big Account=physics set Fairshare=7",
            ]
        );
    }

    #[test]
    fn two_accounts_can_change_places_and_nobody_comes_below_himself() {
        assert_eq!(
            commands("account,parent\nold,deep\ndeep,\n", false),
            [
                "sacctmgr -i modify account deep where Cluster=big set Parent=root",
                "sacctmgr -i modify account old where Cluster=big set Parent=deep",
            ]
        );
        let circle = compare(&cluster(), &wanted("account,parent\nold,deep\n"), false).unwrap_err().to_string();
        assert!(circle.contains("line 2: account old would be below itself"), "{circle}");
        let missing = compare(&cluster(), &wanted("account,parent\nnew,nowhere\n"), false).unwrap_err().to_string();
        assert!(missing.contains("account nowhere is neither in the file nor in the cluster"), "{missing}");
    }

    #[test]
    fn only_where_asked_for_anything_is_deleted_and_from_the_bottom_up() {
        assert_eq!(
            commands("account,users\nphysics,ada\n", true),
            [
                "sacctmgr -i delete user bob where Cluster=big",
                "sacctmgr -i delete user cy where Cluster=big",
                "sacctmgr -i delete user emmy where Cluster=big",
                "sacctmgr -i delete account deep where Cluster=big",
                "sacctmgr -i delete account old where Cluster=big",
            ]
        );
        // One who stays in another account gets that for a default first, where it is known that the other was.
        let mut cluster = cluster();
        cluster.associations[6].is_default = true;
        let answer = compare(&cluster, &wanted("account,users\nphysics,ada emmy bob\ndeep,cy\nold,\n"), true).unwrap();
        let texts: Vec<&str> = answer.commands.iter().map(|command| command.text.as_str()).collect();
        assert_eq!(
            texts[1..],
            [
                "sacctmgr -i add user bob Cluster=big Account=physics Fairshare=1",
                "sacctmgr -i modify user bob where Cluster=big set DefaultAccount=physics",
                "sacctmgr -i delete user bob where Cluster=big Account=old",
            ]
        );
        // No command can name these.
        let odd = snapshot(&[(1, 0, "root", "", 1), (2, 1, "a,b", "", 1), (3, 1, "c", "", 1), (4, 3, "c", "-x y", 1)]);
        let answer = compare(&odd, &wanted("account\nc\n"), true).unwrap();
        assert_eq!((answer.commands.len(), answer.left), (0, vec!["account a,b".to_owned(), "-x y in c".to_owned()]));
    }

    #[test]
    fn names_do_nothing_to_a_shell_and_what_is_hidden_is_not_compared() {
        let text = "account,users\nphysics,\"ada:2 emmy $(reboot) `x`;y\"\n";
        for command in commands(text, false) {
            let words = shlex::split(&command).unwrap();
            assert_eq!(words[..4].join(" "), "sacctmgr -i add user", "{command}");
            assert!(["$(reboot)", "`x`", "y"].contains(&words[4].as_str()), "{command}");
        }
        let mut hidden = cluster();
        hidden.about.partial_tree = true;
        let error = compare(&hidden, &wanted("account\nphysics\n"), false).unwrap_err().to_string();
        assert!(error.contains("some accounts are hidden here"), "{error}");
    }
}
