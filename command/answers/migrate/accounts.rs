//! Writes the commands that create accounts and users, or set the shares of existing ones.

use super::draft::{is_name_of_sacctmgr, Draft, Item, Use};
use super::page::Why;

/// An account below another one, which is empty at the top; or a user in an account, for one partition or all.
#[derive(Clone, Copy)]
pub(super) enum Member<'a> {
    Account(&'a str, &'a str),
    User(&'a str, &'a str, &'a str),
}

/// What has been added.
#[derive(Default)]
pub(super) struct Accounts {
    any: bool,
}

impl Accounts {
    /// Adds one, and sets its shares: `add` does nothing to what is there, and `modify` nothing to what is not.
    pub fn add(&mut self, member: Member, shares: Option<u64>, remark: &str, from: &Item, draft: &mut Draft) {
        let (names, add): (Vec<&str>, Vec<String>) = match member {
            Member::Account(name, parent) => {
                let mut words = vec!["add".into(), "account".into(), name.to_owned()];
                if !parent.is_empty() {
                    words.push(format!("Parent={parent}"));
                }
                (vec![name, parent], words)
            }
            Member::User(name, account, partition) => {
                let mut words =
                    vec!["add".into(), "user".into(), name.to_owned(), format!("Account={account}")];
                if !partition.is_empty() {
                    words.push(format!("Partition={partition}"));
                }
                (vec![name, account, partition], words)
            }
        };
        if !names.iter().all(|name| is_name_of_sacctmgr(name)) {
            let remark =
                "sacctmgr does not read this as a name: choose another and add it by hand";
            draft.note(Why::ByHand, remark, &[from]);
            return;
        }
        let plain = |name: &&str| {
            name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_.@%:/-".contains(letter))
        };
        let odd = "Slurm may refuse this name: consider another.";
        let remark = if names.iter().all(plain) { remark } else { odd };
        let remark = if self.any || !remark.is_empty() {
            remark
        } else {
            "The first line adds what is missing, the second sets the shares of existing entries."
        };
        let command = |words: &[String], draft: &mut Draft, remark: &str| {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            draft.sacctmgr(Use::Take, &words, remark, &[from]);
        };
        let fair = shares.map(|shares| format!("Fairshare={shares}"));
        let words: Vec<String> = add.iter().cloned().chain(fair.clone()).collect();
        command(&words, draft, remark);
        if let Some(fair) = fair {
            let words: Vec<String> = match member {
                Member::Account(name, _) => ["modify", "account", name, "set"].map(String::from).to_vec(),
                Member::User(name, account, partition) => {
                    let mut words = ["modify", "user", name, "where"].map(String::from).to_vec();
                    words.push(format!("Account={account}"));
                    if !partition.is_empty() {
                        words.push(format!("Partition={partition}"));
                    }
                    words.push("set".into());
                    words
                }
            };
            let words: Vec<String> = words.into_iter().chain([fair]).collect();
            command(&words, draft, "");
        }
        self.any = true;
    }
}
