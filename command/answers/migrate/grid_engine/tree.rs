//! Translates the share tree.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::objects::Objects;
use super::text::lines;
use crate::answers::migrate::accounts::{Accounts, Member};
use crate::answers::migrate::draft::{place, Draft, Item};
use crate::answers::migrate::page::Why;

struct Node {
    name: Item,
    shares: u64,
    is_project: bool,
    children: Vec<(u64, Item)>,
}

/// Translates `qconf -sstree`.
pub(super) fn translate(source: &Arc<str>, text: &str, objects: &Objects, is_used: bool, draft: &mut Draft) {
    let nodes = read(source, text, draft);
    let children: BTreeSet<u64> =
        nodes.values().flat_map(|node| &node.children).map(|(child, _)| *child).collect();
    let mut roots = nodes.keys().filter(|id| !children.contains(id));
    let Some(root) = roots.next() else {
        if !nodes.is_empty() {
            let item = &nodes.values().next().expect("there is one").name;
            draft.error(
                item,
                "must be a tree: one node must be nobody's child",
                "save qconf -sstree again",
            );
        }
        return;
    };
    for other in roots {
        draft.note(Why::ByHand, "This node is not below the root: it was left out.", &[&nodes[other].name]);
    }
    if is_used {
        draft.ours(
            "Dilution=tree",
            "Each further job of a branch gets fewer tickets, as in Grid Engine.",
            &[&nodes[root].name],
        );
    }
    let mut walk = Walk { nodes: &nodes, objects, accounts: Accounts::default(), seen: BTreeSet::new() };
    walk.below(*root, draft);
}

struct Walk<'a> {
    nodes: &'a BTreeMap<u64, Node>,
    objects: &'a Objects,
    accounts: Accounts,
    seen: BTreeSet<u64>,
}

impl Walk<'_> {
    /// Adds what is below the root, parents before those below them. Without recursion: a tree from a file may be of any depth.
    fn below(&mut self, root: u64, draft: &mut Draft) {
        let mut left = vec![(root, String::new())];
        let mut at = 0;
        self.seen.insert(root);
        while let Some((id, account)) = left.get(at).cloned() {
            at += 1;
            // The leaf for all others comes last, when all others are known.
            let mut children: Vec<_> = self.nodes[&id].children.iter().collect();
            children.sort_by_key(|(child, _)| {
                self.nodes.get(child).is_some_and(|node| node.name.value == "default")
            });
            for (child, item) in children {
                let Some(node) = self.nodes.get(child) else {
                    draft.error(item, "must be the id of a node in the file", "save qconf -sstree again");
                    continue;
                };
                if !self.seen.insert(*child) {
                    draft.error(item, "a node can be below one other node only", "save qconf -sstree again");
                    continue;
                }
                let name = node.name.value.as_str();
                let is_account =
                    node.is_project || !node.children.is_empty() || self.objects.is_project(name);
                if is_account {
                    let member = Member::Account(name, &account);
                    self.accounts.add(member, Some(node.shares), "", &node.name, draft);
                    left.push((*child, name.to_owned()));
                } else {
                    self.user(node, &account, draft);
                }
            }
        }
    }

    /// A leaf that is a user, or the one for all others.
    fn user(&mut self, node: &Node, account: &str, draft: &mut Draft) {
        let name = node.name.value.as_str();
        if account.is_empty() {
            draft.note(
                Why::ByHand,
                "Slurm users are below accounts: create one for this user.",
                &[&node.name],
            );
            return;
        }
        if name != "default" {
            let member = Member::User(name, account, "");
            self.accounts.add(member, Some(node.shares), "", &node.name, draft);
            self.objects.in_tree.borrow_mut().insert((name.to_owned(), account.to_owned()));
            return;
        }
        let named =
            |user: &&str| !self.objects.in_tree.borrow().contains(&((*user).to_owned(), account.to_owned()));
        let users: Vec<&str> = self.objects.users_of(account).into_iter().filter(named).collect();
        for user in &users {
            if draft.name(&node.name, user) {
                self.accounts.add(Member::User(user, account, ""), Some(node.shares), "", &node.name, draft);
                self.objects.in_tree.borrow_mut().insert(((*user).to_owned(), account.to_owned()));
            }
        }
        if users.is_empty() {
            let remark = format!(
                "Each user needs an association, and Slurm has no template. Add each with sacctmgr and Fairshare={}.",
                node.shares
            );
            draft.note(Why::ByHand, &remark, &[&node.name]);
        }
    }
}

/// The nodes by their ids.
fn read(source: &Arc<str>, text: &str, draft: &mut Draft) -> BTreeMap<u64, Node> {
    let mut nodes = BTreeMap::new();
    let mut at: Option<(u64, Node)> = None;
    let mut names = BTreeSet::new();
    for (number, line) in lines(text) {
        let item = |key: &str, value: &str| Item {
            place: place(source, number),
            key: key.into(),
            value: value.trim().into(),
        };
        let Some((key, value)) = line.split_once('=') else {
            draft.error(
                &item("", &line),
                "a line must be NAME=VALUE, as qconf -sstree prints it",
                "correct the line",
            );
            continue;
        };
        let item = item(key.trim(), value);
        let whole = |draft: &mut Draft, most| {
            draft.integer(&item, &item.value, 0, most).unwrap_or_default().unsigned_abs()
        };
        if item.key == "id" {
            nodes.extend(at.take());
            let id = whole(draft, i64::MAX);
            if nodes.contains_key(&id) {
                draft.error(&item, "another node has this id", "save qconf -sstree again");
            }
            at = Some((id, Node { name: item, shares: 0, is_project: false, children: Vec::new() }));
            continue;
        }
        let Some((_, node)) = &mut at else {
            draft.error(&item, "a node must begin with id", "save qconf -sstree again");
            continue;
        };
        match item.key.as_str() {
            "name" => {
                draft.name(&item, &item.value);
                node.name = item;
            }
            // That of an association.
            "shares" => node.shares = whole(draft, 2_147_483_646),
            "type" => node.is_project = whole(draft, 1) == 1,
            "childnodes" => {
                for child in item.value.split(',').filter(|child| !child.eq_ignore_ascii_case("NONE")) {
                    if let Some(id) = draft.integer(&item, child, 0, i64::MAX) {
                        node.children.push((id.unsigned_abs(), Item { value: child.into(), ..item.clone() }));
                    }
                }
            }
            "version" => (),
            _ => draft.unknown(&item),
        }
    }
    nodes.extend(at);
    // An account is one, wherever it is.
    for node in nodes.values().filter(|node| !node.children.is_empty()) {
        if !names.insert(node.name.value.to_lowercase()) {
            draft.note(
                Why::ByHand,
                "Two nodes have this name, but Slurm can have only one account with it.",
                &[&node.name],
            );
        }
    }
    nodes
}
