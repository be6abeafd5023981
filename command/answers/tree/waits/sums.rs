//! Sums jobs up by node of the tree.
//!
//! A wait is kept once, at the node of its job, and the waits move up node by node at the end. So memory does not grow with the depth of
//! the tree.

use std::collections::HashMap;

use multifactor2_core::policy::points::expansion_factor;

use super::read::Job;
use super::{Of, WaitRow};
use crate::answers::tree::Filter;
use crate::model::Model;

/// What is summed over jobs.
#[derive(Clone, Debug, Default)]
struct Sum {
    cpu_seconds: u64,
    wait: u64,
    xfactor: f64,
    of_limit: f64,
    /// Jobs with a time limit.
    limited: u64,
    /// One of each job.
    waits: Vec<u32>,
}

#[allow(clippy::cast_precision_loss)] // seconds, and counts of jobs
impl Sum {
    fn add(&mut self, job: &Job<'_>) {
        let (wait, run) = (f64::from(job.wait), job.run as f64);
        self.cpu_seconds = self.cpu_seconds.saturating_add(job.cpu_seconds);
        self.wait += u64::from(job.wait);
        // As for the points of a waiting job, with the run in place of the time limit.
        self.xfactor += expansion_factor(wait, run, 0.0);
        if let Some(limit) = job.limit {
            self.of_limit += (wait + run) / limit as f64;
            self.limited += 1;
        }
        self.waits.push(job.wait);
    }

    /// Takes what is below.
    fn take(&mut self, mut below: Self) {
        self.cpu_seconds = self.cpu_seconds.saturating_add(below.cpu_seconds);
        self.wait += below.wait;
        self.xfactor += below.xfactor;
        self.of_limit += below.of_limit;
        self.limited += below.limited;
        if below.waits.len() > self.waits.len() {
            std::mem::swap(&mut self.waits, &mut below.waits);
        }
        self.waits.append(&mut below.waits);
    }

    /// Writes the numbers. The waits get another order.
    fn fill(&mut self, row: &mut WaitRow) {
        let jobs = self.waits.len();
        let mean = |sum: f64, of: u64| (of > 0).then(|| sum / of as f64);
        row.jobs = jobs as u64;
        row.cpu_hours = self.cpu_seconds as f64 / 3600.0;
        row.wait = mean(self.wait as f64, row.jobs);
        row.wait95 = (jobs > 0).then(|| *self.waits.select_nth_unstable((jobs * 95).div_ceil(100) - 1).1);
        row.xfactor = mean(self.xfactor, row.jobs);
        row.xfactor_of_limit = mean(self.of_limit, self.limited);
    }
}

#[derive(Clone, Debug)]
struct Node {
    parent: Option<usize>,
    row: WaitRow,
    sum: Sum,
}

/// Today's tree, and what has jobs but is not in it. Parents come before children.
#[derive(Clone, Debug, Default)]
pub struct Forest {
    nodes: Vec<Node>,
    by_association: HashMap<u32, usize>,
    accounts: HashMap<String, usize>,
    /// By the place of their account. Of several associations that without a partition.
    users: HashMap<(usize, String), usize>,
    /// Above all accounts that are not in the tree.
    others: Option<usize>,
}

impl Forest {
    /// Of the tree of a model.
    pub fn of(model: &Model<'_>) -> Self {
        let (all, shape) = (&model.snapshot.associations, &model.tree.shape);
        let in_tree = shape.nodes().map(|node| {
            let parent = shape.parent(node).map(|parent| model.tree.association(parent));
            (model.tree.association(node), parent)
        });
        // Those whose parents cannot be seen.
        let others = (0..all.len()).filter(|place| model.tree.node(*place).is_none()).map(|place| (place, None));
        let mut forest = Self::default();
        for (place, parent) in in_tree.chain(others) {
            let association = &all[place];
            let parent = parent.and_then(|parent| forest.by_association.get(&all[parent].id).copied());
            let of = if association.user.is_empty() { Of::Account } else { Of::User };
            let at = forest.put(parent, of, &association.account, &association.user);
            let row = &mut forest.nodes[at].row;
            (row.in_tree, row.id) = (true, Some(association.id));
            row.partition.clone_from(&association.partition);
            forest.by_association.insert(association.id, at);
            match (of, parent) {
                (Of::Account, _) => {
                    forest.accounts.insert(association.account.clone(), at);
                }
                (_, Some(parent)) if association.partition.is_empty() => {
                    forest.users.insert((parent, association.user.clone()), at);
                }
                (_, Some(parent)) => {
                    forest.users.entry((parent, association.user.clone())).or_insert(at);
                }
                _ => (),
            }
        }
        forest
    }

    fn put(&mut self, parent: Option<usize>, of: Of, account: &str, user: &str) -> usize {
        let row = WaitRow {
            of,
            in_tree: false,
            id: None,
            depth: parent.map_or(0, |parent| self.nodes[parent].row.depth + 1),
            account: account.to_owned(),
            user: user.to_owned(),
            partition: String::new(),
            jobs: 0,
            cpu_hours: 0.0,
            wait: None,
            wait95: None,
            xfactor: None,
            xfactor_of_limit: None,
        };
        self.nodes.push(Node { parent, row, sum: Sum::default() });
        self.nodes.len() - 1
    }

    /// Adds a job where its association is, else by its names.
    pub fn add(&mut self, job: &Job<'_>) {
        let at = self.by_association.get(&job.association).copied().unwrap_or_else(|| self.by_names(job));
        self.nodes[at].sum.add(job);
    }

    fn by_names(&mut self, job: &Job<'_>) -> usize {
        let account = self.accounts.get(job.account).copied().unwrap_or_else(|| {
            let others = self.others.unwrap_or_else(|| self.put(None, Of::Others, "", ""));
            self.others = Some(others);
            let at = self.put(Some(others), Of::Account, job.account, "");
            self.accounts.insert(job.account.to_owned(), at);
            at
        });
        let key = (account, job.user.to_owned());
        self.users.get(&key).copied().unwrap_or_else(|| {
            let at = self.put(Some(account), Of::User, job.account, job.user);
            self.users.insert(key, at);
            at
        })
    }

    /// The rows that are asked for, with those above them.
    pub fn rows(mut self, filter: &Filter) -> Vec<WaitRow> {
        let mut shown = self.wanted(filter);
        let mut below: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        for at in (0..self.nodes.len()).rev() {
            let Node { parent, row, sum } = &mut self.nodes[at];
            let mut sum = std::mem::take(sum);
            sum.fill(row);
            if let Some(parent) = *parent {
                self.nodes[parent].sum.take(sum);
                shown[parent] |= shown[at];
                below[parent].push(at);
            }
        }
        let key = |at: &usize| {
            // Those of the tree in their order, then the others by name.
            let row = &self.nodes[*at].row;
            if row.in_tree { (false, *at, "", "") } else { (true, 0, row.account.as_str(), row.user.as_str()) }
        };
        let mut rows = Vec::new();
        let mut next: Vec<usize> = (0..self.nodes.len()).filter(|at| self.nodes[*at].parent.is_none()).collect();
        next.sort_by_key(key);
        next.reverse();
        while let Some(at) = next.pop() {
            if shown[at] {
                rows.push(self.nodes[at].row.clone());
                let mut below = std::mem::take(&mut below[at]);
                below.sort_by_key(key);
                next.extend(below.into_iter().rev());
            }
        }
        rows
    }

    /// What a filter names, without those above: accounts with all below them, users of accounts.
    fn wanted(&self, filter: &Filter) -> Vec<bool> {
        let mut named = vec![false; self.nodes.len()];
        let mut wanted = Vec::new();
        for (at, Node { parent, row, .. }) in self.nodes.iter().enumerate() {
            let is_account = row.of != Of::Others && filter.accounts.contains(&row.account);
            named[at] = is_account || parent.is_some_and(|parent| named[parent]);
            wanted.push(if filter.users.is_empty() {
                filter.accounts.is_empty() || named[at]
            } else {
                row.of == Of::User
                    && filter.users.contains(&row.user)
                    && (filter.accounts.is_empty() || is_account)
            });
        }
        wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 19 of 20 are 95 %, and of 21 there have to be 20.
    #[test]
    fn percentiles_are_waits_of_jobs() {
        for (count, due) in [(1, 1), (19, 19), (20, 19), (21, 20), (40, 38), (100, 95), (101, 96)] {
            let mut forest = Forest::default();
            // In no order.
            for place in 0..count {
                let wait = (place * 7919) % count + 1;
                forest.add(&Job { association: 0, user: "u", account: "a", wait, run: 0, cpu_seconds: 0, limit: None });
            }
            let rows = forest.rows(&Filter::default());
            assert_eq!(rows.iter().map(|row| row.of).collect::<Vec<_>>(), [Of::Others, Of::Account, Of::User]);
            assert!(rows.iter().all(|row| row.jobs == u64::from(count) && row.wait95 == Some(due)), "{count}: {rows:?}");
        }
    }
}
