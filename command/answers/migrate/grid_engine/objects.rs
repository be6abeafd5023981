//! Translates users, projects, departments and other user sets.

use std::collections::{BTreeMap, BTreeSet};

use crate::answers::migrate::accounts::{Accounts, Member};
use crate::answers::migrate::draft::{names_written, Draft, Item};
use crate::answers::migrate::page::Why;

/// What has tickets and shares: the words of our lines for both.
const USER: (&str, &str) = ("User", "User");
const PROJECT: (&str, &str) = ("Account", "Account");
const DEPARTMENT: (&str, &str) = ("Parent", "Department");

#[derive(Default)]
pub(super) struct Objects {
    /// Of kind and number the names, with what they came from.
    tickets: BTreeMap<(&'static str, i64), Vec<(String, Item)>>,
    shares: BTreeMap<(&'static str, i64), Vec<(String, Item)>>,
    /// Of each of both the names that have a number.
    seen: BTreeSet<(&'static str, &'static str, String)>,
    /// `fshare` of users that come without being asked for.
    automatic: Option<(i64, Item)>,
    /// Projects with the names of the sets that may use them.
    projects: Vec<(String, Vec<String>, Item)>,
    /// Sets of users, with what they came from.
    sets: BTreeMap<String, (Vec<String>, Item)>,
    /// Who the tree has shares for, in which account.
    pub in_tree: std::cell::RefCell<BTreeSet<(String, String)>>,
}

impl Objects {
    /// Takes an object of a file.
    pub fn take(&mut self, file: &str, block: &[Item], draft: &mut Draft) {
        let Some(name) = block.first().cloned() else { return };
        if !draft.name(&name, &name.value) {
            return;
        }
        let find = |key: &str| block.iter().find(|item| item.key == key);
        let is_department = find("type")
            .is_none_or(|item| item.value.split_whitespace().any(|word| word.eq_ignore_ascii_case("DEPT")));
        let kind = match file {
            "suser" => USER,
            "sprj" => PROJECT,
            _ => DEPARTMENT,
        };
        for item in block {
            match item.key.as_str() {
                "oticket" | "fshare" if file != "su" || is_department => {
                    self.number(kind, &name.value, item, draft);
                }
                "default_project" if item.value != "NONE" => {
                    draft.note(
                        Why::ByHand,
                        "Set the DefaultAccount of the user with sacctmgr.",
                        &[&name, item],
                    );
                }
                "xacl" if item.value != "NONE" => {
                    let remark = "Users without an association with an account cannot use it. Slurm has no list of users to refuse.";
                    draft.note(Why::ByHand, remark, &[&name, item]);
                }
                "name" | "type" | "delete_time" | "acl" | "entries" | "oticket" | "fshare"
                | "default_project" | "xacl" => (),
                _ => draft.unknown(item),
            }
        }
        match file {
            "sprj" => {
                let sets = find("acl").map_or_else(Vec::new, |item| listed(&item.value));
                self.projects.push((name.value.clone(), sets, name));
            }
            "su" => {
                let users = find("entries").map_or_else(Vec::new, |item| listed(&item.value));
                self.sets.insert(name.value.clone(), (users, name));
            }
            _ => (),
        }
    }

    fn number(&mut self, kind: (&'static str, &'static str), name: &str, item: &Item, draft: &mut Draft) {
        let (most, into, kind, what) = match item.key.as_str() {
            "oticket" => (1_000_000_000, &mut self.tickets, kind.0, "tickets"),
            _ => (2_147_483_646, &mut self.shares, kind.1, "shares"),
        };
        let Some(number) = draft.integer(item, &item.value, 0, most).filter(|number| *number > 0) else {
            return;
        };
        // Accounts are kept in small letters.
        let name = if kind == "User" { name.to_owned() } else { name.to_lowercase() };
        if !self.seen.insert((what, kind, name.clone())) {
            draft.note(Why::ByHand, "This name comes twice: the first was taken.", &[item]);
        } else if names_written(&[&name]).is_none() {
            draft.note(Why::ByHand, "A name with a comma cannot be written here.", &[item]);
        } else {
            into.entry((kind, number)).or_default().push((name, item.clone()));
        }
    }

    /// The global configuration: what users get who come without being asked for.
    pub fn automatic(&mut self, pairs: &[Item], draft: &mut Draft) {
        for item in pairs {
            match item.key.as_str() {
                "auto_user_fshare" => {
                    let shares = draft.integer(item, &item.value, 0, 2_147_483_646);
                    self.automatic = shares.filter(|shares| *shares > 0).map(|shares| (shares, item.clone()));
                }
                "auto_user_oticket" => {
                    if draft.integer(item, &item.value, 0, 1_000_000_000).is_some_and(|tickets| tickets > 0) {
                        let remark = "Override tickets are for users by their names only.";
                        draft.note(Why::ByHand, remark, &[item]);
                    }
                }
                _ => draft.unknown(item),
            }
        }
    }

    /// The lines of tickets and shares.
    pub fn write(&self, draft: &mut Draft) {
        let mut lines =
            |word: &str, number_word: &str, all: &BTreeMap<(&'static str, i64), Vec<(String, Item)>>| {
                for ((kind, number), objects) in all {
                    let names: Vec<&str> = objects.iter().map(|(name, _)| name.as_str()).collect();
                    let from: Vec<&Item> = objects.iter().map(|(_, item)| item).collect();
                    if let Some(names) = names_written(&names) {
                        draft.ours(format!("{word}={kind} {names} {number_word}={number}"), "", &from);
                    }
                }
            };
        lines("Override", "Tickets", &self.tickets);
        lines("Functional", "Shares", &self.shares);
        if let Some((shares, item)) = &self.automatic {
            draft.ours(format!("Functional=User Name=* Shares={shares}"), "", &[item]);
        }
    }

    /// Whether a project has this name.
    pub fn is_project(&self, name: &str) -> bool {
        self.projects.iter().any(|(known, ..)| known == name)
    }

    /// Who may use a project: users by its sets.
    pub fn users_of(&self, project: &str) -> Vec<&str> {
        let sets = self.projects.iter().filter(|(name, ..)| name == project).flat_map(|(_, sets, _)| sets);
        let users = sets.filter_map(|set| self.sets.get(set)).flat_map(|(users, _)| users);
        users.map(String::as_str).filter(|user| !user.starts_with('@')).collect()
    }

    /// Associations of those who may use a project and whom the tree did not name.
    pub fn members(&self, draft: &mut Draft) {
        let mut accounts = Accounts::default();
        for (project, sets, item) in &self.projects {
            let known = |user: &&str| !self.in_tree.borrow().contains(&((*user).to_owned(), project.clone()));
            for user in self.users_of(project).into_iter().filter(known) {
                if draft.name(item, user) {
                    accounts.add(Member::User(user, project, ""), None, "", item, draft);
                }
            }
            for set in sets {
                let Some((users, _)) = self.sets.get(set) else {
                    let shown = Item { value: format!("{} acl {set}", item.value), ..item.clone() };
                    draft.note(
                        Why::ByHand,
                        "The file su has no such set: add its users with sacctmgr.",
                        &[&shown],
                    );
                    continue;
                };
                for group in users.iter().filter(|user| user.starts_with('@')) {
                    let shown = Item { value: group.clone(), ..item.clone() };
                    let remark =
                        "Each user needs an association: add the members of the Unix group with sacctmgr.";
                    draft.note(Why::ByHand, remark, &[&shown]);
                }
            }
        }
    }
}

/// A list with commas or blanks, or NONE.
fn listed(text: &str) -> Vec<String> {
    let words = text.split([',', ' ']).filter(|word| !word.is_empty() && !word.eq_ignore_ascii_case("NONE"));
    words.map(String::from).collect()
}
