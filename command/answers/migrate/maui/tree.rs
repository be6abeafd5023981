//! Translates `FSTREE`: Moab's share tree becomes Slurm's tree of accounts, with books where partitions have separate shares.

use std::collections::{BTreeMap, BTreeSet};

use multifactor2_core::books::MOST_BOOKS;

use super::credentials::{named, Goal, Percent};
use super::limits::{is_known, Holder, Limits};
use super::text::{attributes, Parameter};
use crate::answers::migrate::accounts::{Accounts, Member};
use crate::answers::migrate::draft::{Draft, Item};
use crate::answers::migrate::page::Why;

/// The most shares of an association.
pub(super) const MOST_SHARES: u64 = 2_147_483_646;

/// The most levels that a tree may have.
const DEEPEST: usize = 1000;

struct Node {
    item: Item,
    name: String,
    is_user: bool,
    /// Of each partition, which is the empty name for all.
    shares: BTreeMap<String, f64>,
    members: Vec<String>,
    goals: BTreeMap<String, Item>,
    limits: Vec<(String, String, Item)>,
}

/// The tree by the names of its nodes in small letters.
#[derive(Default)]
pub(super) struct Tree {
    nodes: BTreeMap<String, Node>,
    /// In the order of the file.
    order: Vec<String>,
    /// The parent of each, by its first mention.
    parents: BTreeMap<String, String>,
}

impl Tree {
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Takes a line such as `FSTREE[physics] SHARES=40 MEMBERLIST=optics,user:john`.
    pub fn take(&mut self, parameter: &Parameter, draft: &mut Draft) {
        let Some(name) = &parameter.index else {
            draft.error(
                &parameter.item,
                "must have a name in brackets: FSTREE[physics]",
                "correct the line",
            );
            return;
        };
        let Some(key) = self.node(name, &parameter.item, draft) else { return };
        // Not the line that has it as a member.
        self.at(&key, |node| node.item = parameter.item.clone());
        for attribute in attributes(parameter, draft) {
            let item = attribute.item;
            match attribute.name.as_str() {
                "SHARES" => self.shares(&key, &item, draft),
                "MEMBERLIST" => {
                    for member in item.value.clone().split(',').filter(|member| !member.is_empty()) {
                        self.member(&key, member, &item, draft);
                    }
                }
                "FSTARGET" | "FSCAP" => self.at(&key, |node| {
                    node.goals.insert(attribute.name, item);
                }),
                limit if is_known(limit) => {
                    let limit = (limit.to_owned(), attribute.of, item);
                    self.at(&key, |node| node.limits.push(limit));
                }
                _ => draft.unknown(&item),
            }
        }
    }

    fn at(&mut self, key: &str, change: impl FnOnce(&mut Node)) {
        if let Some(node) = self.nodes.get_mut(key) {
            change(node);
        }
    }

    /// The key of a node, which is added if it is missing. `None` if it cannot be in Slurm's tree.
    fn node(&mut self, written: &str, item: &Item, draft: &mut Draft) -> Option<String> {
        let (kind, name) = written.split_once(':').unwrap_or(("", written));
        let name = name.trim();
        if !draft.name(item, name) {
            return None;
        }
        let is_user = match kind.to_ascii_lowercase().as_str() {
            "" | "acct" | "account" => false,
            "user" => true,
            _ => {
                let shown = Item { value: written.into(), ..item.clone() };
                draft.page(&["groups", "classes"], &shown);
                return None;
            }
        };
        let key = name.to_lowercase();
        let node = self.nodes.entry(key.clone()).or_insert_with(|| {
            self.order.push(key.clone());
            Node {
                item: item.clone(),
                name: name.to_owned(),
                is_user,
                shares: BTreeMap::new(),
                members: Vec::new(),
                goals: BTreeMap::new(),
                limits: Vec::new(),
            }
        });
        node.is_user |= is_user;
        Some(key)
    }

    fn member(&mut self, parent: &str, member: &str, item: &Item, draft: &mut Draft) {
        let Some(child) = self.node(member, item, draft) else { return };
        let shown = Item { value: member.into(), ..item.clone() };
        let above = |at: &&str| self.parents.get(*at).map(String::as_str);
        let depth = std::iter::successors(Some(parent), above).take(DEEPEST).count();
        if depth == DEEPEST {
            draft.error(&shown, format!("a tree can have at most {DEEPEST} levels"), "put it further up");
            return;
        }
        if self.is_below(parent, &child) {
            draft.error(&shown, "must not be a node above this one", "remove it from MEMBERLIST");
            return;
        }
        match self.parents.get(&child) {
            Some(other) if other != parent && !self.nodes[&child].is_user => {
                draft.note(
                    Why::ByHand,
                    "A Slurm account has only one parent: the first was taken.",
                    &[&shown],
                );
            }
            Some(other) if other == parent => (),
            _ => {
                self.parents.entry(child.clone()).or_insert_with(|| parent.to_owned());
                self.at(parent, |node| node.members.push(child));
            }
        }
    }

    /// Whether a node is another one, or below it.
    fn is_below(&self, node: &str, other: &str) -> bool {
        let above = |at: &&str| self.parents.get(*at).map(String::as_str);
        std::iter::successors(Some(node), above).take(DEEPEST).any(|node| node == other)
    }

    fn shares(&mut self, key: &str, item: &Item, draft: &mut Draft) {
        for part in item.value.split(',').filter(|part| !part.is_empty()) {
            let (number, partition) = part.split_once('@').unwrap_or((part, ""));
            let shown = Item { value: part.into(), ..item.clone() };
            if !partition.is_empty() && !draft.name(&shown, partition) {
                continue;
            }
            #[allow(clippy::cast_precision_loss)] // small enough to be exact
            if let Some(number) = draft.number(&shown, number, 0.0, MOST_SHARES as f64) {
                self.at(key, |node| {
                    node.shares.insert(partition.trim().to_owned(), number);
                });
            }
        }
    }

    /// Whether a node stands for the root: nobody's member, and without shares, or called root.
    fn is_root(&self, key: &str) -> bool {
        let general = self.nodes[key].shares.contains_key("");
        !self.parents.contains_key(key) && (key == "root" || !general && !self.nodes[key].members.is_empty())
    }

    /// A number that makes all shares whole, where a small power of ten does.
    fn scale(&self) -> f64 {
        let all = || self.nodes.values().flat_map(|node| node.shares.values());
        let whole = |scale: f64| {
            #[allow(clippy::cast_precision_loss)] // small enough to be exact
            all().all(|shares| (shares * scale).fract() == 0.0 && shares * scale <= MOST_SHARES as f64)
        };
        [1.0, 10.0, 100.0, 1000.0].into_iter().find(|scale| whole(*scale)).unwrap_or(1.0)
    }

    /// Parents before those below them.
    fn top_down(&self) -> Vec<&str> {
        let mut all: Vec<&str> =
            self.order.iter().map(String::as_str).filter(|key| !self.parents.contains_key(*key)).collect();
        let mut at = 0;
        while at < all.len() {
            all.extend(
                self.nodes[all[at]]
                    .members
                    .iter()
                    .map(String::as_str)
                    .filter(|key| self.parents.contains_key(*key)),
            );
            at += 1;
        }
        let mut seen = BTreeSet::new();
        all.retain(|key| seen.insert(*key));
        all
    }

    /// Accounts, users, books and limits.
    pub fn write(&self, limits: &mut Limits, draft: &mut Draft) {
        let scale = self.scale();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // within the range of shares
        let whole = |shares: f64| ((shares * scale).round() as u64).min(MOST_SHARES);
        let mut accounts = Accounts::default();
        let mut all_parents = BTreeMap::<&str, Vec<&str>>::new();
        for (key, node) in &self.nodes {
            for member in &node.members {
                all_parents.entry(member).or_default().push(key);
            }
        }
        for key in self.top_down() {
            let node = &self.nodes[key];
            if self.is_root(key) {
                draft.note(Why::Nothing, "This is the root of the tree.", &[&node.item]);
                continue;
            }
            let parents: Vec<&str> = if node.is_user {
                all_parents.get(key).cloned().unwrap_or_default()
            } else {
                self.parents.get(key).map(String::as_str).into_iter().collect()
            };
            let parents: Vec<&str> = parents.into_iter().filter(|key| !self.is_root(key)).collect();
            let from = &node.item;
            let shares = node.shares.get("").map(|shares| whole(*shares));
            if node.is_user && parents.is_empty() {
                let remark = "Slurm users are below accounts: choose one.";
                draft.note(Why::ByHand, remark, &[from]);
                continue;
            }
            let holder = if node.is_user {
                for parent in &parents {
                    let account = &self.nodes[*parent].name;
                    accounts.add(Member::User(&node.name, account, ""), shares, "", from, draft);
                    for (partition, own) in node.shares.iter().filter(|(partition, _)| !partition.is_empty())
                    {
                        let member = Member::User(&node.name, account, partition);
                        accounts.add(member, Some(whole(*own)), "", from, draft);
                    }
                }
                Holder::User(node.name.clone(), parents.first().map(|key| self.nodes[*key].name.clone()))
            } else {
                let parent = parents.first().map_or("", |key| self.nodes[*key].name.as_str());
                accounts.add(Member::Account(&node.name, parent), shares, "", from, draft);
                Holder::Account(node.name.clone())
            };
            for (limit, of, item) in &node.limits {
                limits.take(holder.clone(), limit, of, item, draft);
            }
        }
        self.books(&whole, draft);
    }

    /// Shares per partition.
    fn books(&self, whole: &dyn Fn(f64) -> u64, draft: &mut Draft) {
        let mut partitions = BTreeMap::<&str, Vec<(&Node, u64)>>::new();
        for key in self.top_down() {
            let node = &self.nodes[key];
            for (partition, shares) in node.shares.iter().filter(|(partition, _)| !partition.is_empty()) {
                if !node.is_user {
                    partitions.entry(partition).or_default().push((node, whole(*shares)));
                }
            }
        }
        let plain = |text: &str| {
            text.len() <= 64
                && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "._-".contains(letter))
                && !text.eq_ignore_ascii_case("default")
        };
        let mut books = BTreeSet::new();
        for (partition, nodes) in partitions {
            let from: Vec<&Item> = nodes.iter().map(|(node, _)| &node.item).collect();
            if books.len() == MOST_BOOKS || !books.insert(partition.to_lowercase()) {
                let remark =
                    "There are too many books, or two with this name: put several partitions in one.";
                draft.note(Why::ByHand, remark, &from);
                continue;
            }
            if !plain(partition)
                || nodes.iter().any(|(node, _)| node.name.contains([',', ':', ' ', '"', '#', '\\', '*']))
            {
                draft.note(Why::ByHand, "A book cannot have these names: write its line by hand.", &from);
                continue;
            }
            let shares: Vec<String> =
                nodes.iter().map(|(node, shares)| format!("{}:{shares}", node.name.to_lowercase())).collect();
            let line = format!("Book={partition} Partitions={partition} Shares={}", shares.join(","));
            draft.ours(line, "Separate shares and usage in this partition. Others have 0 there.", &from);
            let allowed: Vec<String> = nodes
                .iter()
                .filter(|(_, shares)| *shares > 0)
                .map(|(node, _)| node.name.to_lowercase())
                .collect();
            let strange = |name: &String| !plain(name);
            if !allowed.is_empty() && !allowed.iter().any(strange) {
                let remark =
                    "Only if no others may run there. Before 24.11 also name the accounts below them.";
                let rest = format!("AllowAccounts={}", allowed.join(","));
                draft.partition(partition, &rest, remark, &from);
            }
        }
    }

    /// Targets by the tree. With `every` all accounts have one, from their shares; otherwise those with an explicit goal have one. True if
    /// some of them give points.
    pub fn targets(&self, every: bool, percent: Percent, draft: &mut Draft) -> bool {
        let mut any = false;
        let mut sums = BTreeMap::<Option<&String>, f64>::new();
        for (key, node) in self.nodes.iter().filter(|(key, _)| !self.is_root(key)) {
            *sums.entry(self.parents.get(key)).or_default() += node.shares.get("").unwrap_or(&0.0);
        }
        for key in self.top_down() {
            let node = &self.nodes[key];
            if node.is_user || self.is_root(key) {
                for goal in node.goals.values() {
                    draft.note(Why::ByHand, "In the tree only accounts have targets.", &[goal]);
                }
                continue;
            }
            let Some(written) = named(&node.name, &node.item, draft) else { continue };
            // What was available is no measure among siblings.
            let percent = if percent == Percent::Available { Percent::Delivered } else { percent };
            let mut has_target = false;
            let mut has_cap = false;
            for (attribute, item) in node.goals.iter().rev() {
                let goal = Goal::read(item, attribute == "FSCAP", draft);
                if has_cap {
                    draft.note(Why::ByHand, "Each name can have one cap: the first was taken.", &[item]);
                    continue;
                }
                has_cap = goal.as_ref().is_some_and(Goal::is_cap);
                let line = match goal {
                    Some(Goal::Target(number, suffix)) => {
                        any = true;
                        has_target = true;
                        format!("{}{suffix}", percent.written(number))
                    }
                    Some(Goal::RelativeCap(number)) => format!("Percent={number} Type=cap"),
                    Some(Goal::AbsoluteCap(seconds)) => {
                        format!("Amount={} Type=cap", super::rounded(seconds / 3600.0))
                    }
                    Some(Goal::None) | None => continue,
                };
                draft.ours(format!("Target=Parent {written} {line}"), "", &[item]);
            }
            let Some(own) = node.shares.get("").filter(|own| every && !has_target && **own > 0.0) else {
                continue;
            };
            let sum = sums[&self.parents.get(key)];
            let number = super::rounded(100.0 * own / sum);
            if number > 0.0 {
                draft.ours(format!("Target=Parent {written} {}", percent.written(number)), "", &[&node.item]);
                any = true;
            }
        }
        any
    }

    /// A line of the tree, to say where something comes from.
    pub fn first(&self) -> Option<&Item> {
        self.order.first().map(|key| &self.nodes[key].item)
    }
}
