//! Records below which account each account was, and when.
//!
//! A job counts for the accounts that were above it at the time of the usage, and slurmdbd does not say when an account was moved. So the
//! ledger keeps it: a comparison with the accounting needs the tree of that time.

use std::collections::{BTreeMap, BTreeSet};

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lineage {
    /// By account: from when on it was below which one; an empty name for the root, `None` where it was removed. The first time is 0.
    pub(super) all: BTreeMap<String, Vec<(i64, Option<String>)>>,
}

/// How deep a tree may be: what goes on longer is a circle.
pub const DEEPEST: usize = 1000;

impl Lineage {
    /// Takes a tree that holds from a time on: each account with the one above it.
    pub fn note(&mut self, parents: &BTreeMap<String, String>, from: i64) {
        for (account, parent) in parents {
            let known = self.all.entry(account.clone()).or_default();
            let from = if known.is_empty() { 0 } else { from };
            if known.last().is_none_or(|(_, last)| last.as_ref() != Some(parent)) {
                known.push((from, Some(parent.clone())));
            }
        }
        for (_, known) in self.all.iter_mut().filter(|(account, _)| !parents.contains_key(*account)) {
            if known.last().is_some_and(|(_, last)| last.is_some()) {
                known.push((from, None));
            }
        }
    }

    /// An account and those above it at a time. One that was removed is where it was last; one that is not known is alone.
    pub fn path(&self, account: &str, at: i64) -> Vec<String> {
        let up = |account: &String| self.parent(account, at).map(str::to_owned);
        std::iter::successors(Some(account.to_owned()), up).take(DEEPEST).collect()
    }

    fn parent(&self, account: &str, at: i64) -> Option<&str> {
        let known = self.all.get(account)?;
        let until = known.partition_point(|(from, _)| *from <= at);
        let mut then = known[..until].iter().rev().chain(known.get(until..).into_iter().flatten());
        then.find_map(|(_, parent)| parent.as_deref()).filter(|parent| !parent.is_empty())
    }

    /// When accounts were moved or removed.
    pub fn changes(&self) -> BTreeSet<i64> {
        self.all.values().flat_map(|known| known.iter().skip(1)).map(|(from, _)| *from).collect()
    }

    /// Who was moved, where to and when.
    pub fn moves(&self) -> impl Iterator<Item = (&str, &str, i64)> {
        self.all.iter().flat_map(|(account, known)| {
            let later = known.iter().skip(1);
            later.filter_map(move |(from, parent)| Some((account.as_str(), parent.as_deref()?, *from)))
        })
    }

    /// What held before a time only is not needed any more.
    pub(crate) fn forget_before(&mut self, at: i64) {
        self.all.retain(|_, known| {
            let older = known.iter().skip(1).take_while(|(from, _)| *from <= at).count();
            known.drain(..older);
            !matches!(known[..], [(_, None)])
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(account, parent)| ((*account).to_owned(), (*parent).to_owned())).collect()
    }

    #[test]
    fn the_tree_of_each_time_is_known() {
        let mut lineage = Lineage::default();
        lineage.note(&tree(&[("root", ""), ("a", "root"), ("b", "root"), ("c", "a")]), 50);
        assert_eq!(
            (lineage.path("c", 10), lineage.changes().len()),
            (["c", "a", "root"].map(Into::into).to_vec(), 0)
        );
        lineage.note(&tree(&[("root", ""), ("a", "root"), ("b", "root"), ("c", "b"), ("d", "c")]), 100);
        assert_eq!(lineage.path("d", 99), ["d", "c", "a", "root"], "a new one is where it was first");
        assert_eq!(lineage.path("d", 100), ["d", "c", "b", "root"]);
        assert_eq!(lineage.moves().collect::<Vec<_>>(), [("c", "b", 100)]);
        lineage.note(&tree(&[("root", ""), ("b", "root")]), 200);
        assert_eq!(lineage.path("d", 300), ["d", "c", "b", "root"], "who was removed is where it was last");
        assert_eq!(lineage.changes().into_iter().collect::<Vec<_>>(), [100, 200]);
        lineage.forget_before(150);
        assert_eq!(
            (lineage.path("c", 10), lineage.all.contains_key("a")),
            (["c", "b", "root"].map(Into::into).to_vec(), true)
        );
        lineage.forget_before(200);
        assert_eq!((lineage.all.contains_key("c"), lineage.path("x", 0)), (false, vec!["x".to_owned()]));
    }

    #[test]
    fn a_circle_ends() {
        let mut lineage = Lineage::default();
        lineage.note(&tree(&[("a", "b"), ("b", "a")]), 1);
        assert_eq!(lineage.path("a", 1).len(), DEEPEST);
    }
}
