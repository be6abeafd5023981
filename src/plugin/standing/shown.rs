//! What others are told of the standing: `sshare`, the log, and who asks what is odd.

use multifactor2_core::explain::Numbers;
use multifactor2_core::Node;
use rustc_hash::FxHashSet;

use super::{Members, Standing};
use crate::faults;
use crate::host::access::{Open, Write};
use crate::host::locks::{AssocLock, Levels, Shown};
use crate::host::records::Association;
use crate::host::views;

/// What an association has in the competition.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// Its id.
    pub id: u32,
    /// Its place in the tree.
    pub node: Node,
    /// Raw usage.
    pub usage: f64,
    /// What the share tree goes by instead, where the settings ask for that.
    pub dominant: Option<f64>,
    /// What `sshare` shows, and tickets.
    pub numbers: Numbers,
}

impl Standing {
    /// Writes what `sshare` shows into the records: normalised shares and usage, effective usage, fair-share factors.
    /// Associations that came since the distribution are left for the next.
    /// `factors` are [`Self::factors`].
    pub fn publish(&self, lock: &AssocLock<'_, Shown>, factors: &[f64]) {
        let Some(list) = lock.all() else { return };
        views::shown_associations(lock.host()).walk_list(list, |association| {
            faults::point("publish.association");
            if let Some(node) = self.node(association.address(), association.get(|assoc| assoc.id)) {
                self.publish_one(association, node, factors.get(node.index()).copied());
            }
        });
    }

    fn publish_one(&self, association: Association<'_, Write>, node: Node, factor: Option<f64>) {
        let Some(usage) = association.usage() else { return };
        usage.set(|u| u.shares_norm, self.tree.shares_norm(node));
        usage.set_ld(|u| u.usage_norm, self.fair_share.competition().usage_norm(node));
        usage.set_ld(|u| u.usage_efctv, self.fair_share.competition().usage_effective(&self.tree, node));
        usage.set_ld(|u| u.level_fs, self.fair_share.competition().level_fs(&self.tree, node));
        if self.tree.is_user(node) {
            usage.set(|u| u.fs_factor, factor.unwrap_or_else(|| self.factor(node)));
        }
    }

    /// As [`Standing::publish`] for one association.
    pub fn publish_single(&mut self, lock: &AssocLock<'_, Shown>, association: Association<'_, Write>) {
        let named = (association.address(), association.get(|assoc| assoc.id));
        if let Some(node) = self.node_now(lock, named) {
            self.publish_one(association, node, None);
        }
    }

    /// Reads who has an association in which account, where that decides who sees a job (see [`host::reply`]).
    ///
    /// [`host::reply`]: crate::host::reply
    pub fn read_members<V: Levels<Assoc: Open>>(&mut self, lock: &AssocLock<'_, V>) {
        self.members = lock.host().shows_jobs_by_account().then(|| {
            let mut members = Members::default();
            if let Some(list) = lock.all() {
                list.for_each_ro(|association| {
                    if association.is_user() {
                        let accounts = members.entry(association.get(|assoc| assoc.uid)).or_default();
                        accounts.insert(association.text(|assoc| assoc.acct).to_ascii_lowercase());
                    }
                });
            }
            members
        });
    }

    /// Whether a user had an association in an account at the last cycle.
    pub fn has_member(&self, uid: u32, account: &str) -> bool {
        let accounts = self.members.as_ref().and_then(|members| members.get(&uid));
        accounts.is_some_and(|accounts| accounts.contains(&account.to_ascii_lowercase()))
    }

    /// True where users with `Fairshare=parent` draw on the root itself, and so always have 1.0.
    pub fn has_parent_users_under_root(&self) -> bool {
        let root = self.tree.root();
        self.tree.nodes().any(|node| {
            self.tree.is_user(node)
                && self.tree.uses_parent(node)
                && self.tree.fair_share_parent(node) == root
        })
    }

    /// The first account in which some users draw on its tickets with `Fairshare=parent` and others compete for them.
    pub fn mixed_account<V: Levels<Assoc: Open>>(&self, lock: &AssocLock<'_, V>) -> Option<String> {
        let below = |parents: bool| -> FxHashSet<Node> {
            let users = self.tree.nodes().filter(|node| self.tree.is_user(*node));
            let of_kind = users.filter(|node| self.tree.uses_parent(*node) == parents);
            of_kind.filter_map(|node| self.tree.parent(node)).collect()
        };
        let (drawn_on, competed_for) = (below(true), below(false));
        let mut found = None;
        self.for_each_node(lock, |association, node| {
            if found.is_none() && drawn_on.contains(&node) && competed_for.contains(&node) {
                found = Some(association.text(|assoc| assoc.acct).into_owned());
            }
        });
        found
    }

    /// Number of associations, and of users among them with waiting jobs.
    pub fn counts(&self) -> (usize, usize) {
        (self.entries.len(), self.waiting.iter().filter(|count| **count > 0).count())
    }

    /// Calls `explain` for every association with its record and numbers, in the host's order.
    pub fn for_each<V: Levels<Assoc: Open>>(
        &self,
        lock: &AssocLock<'_, V>,
        mut explain: impl FnMut(Association<'_, V::Assoc>, Numbers),
    ) {
        self.for_each_node(lock, |association, node| explain(association, self.numbers(node)));
    }

    /// Calls `visit` for every association of the tree with its record and place, in the host's order.
    pub(super) fn for_each_node<V: Levels<Assoc: Open>>(
        &self,
        lock: &AssocLock<'_, V>,
        mut visit: impl FnMut(Association<'_, V::Assoc>, Node),
    ) {
        let Some(list) = lock.all() else { return };
        let mut position = 0;
        list.for_each_ro(|association| {
            if let Some(node) = self.tree.position(position) {
                visit(association, node);
            }
            position += 1;
        });
    }

    /// What every association has, a parent before those below it.
    pub fn held(&self) -> Vec<Held> {
        let mut all: Vec<Held> = self
            .ids()
            .map(|(id, node)| Held {
                id,
                node,
                usage: self.usage[node.index()],
                dominant: self.shares.get(node.index()).copied(),
                numbers: self.numbers(node),
            })
            .collect();
        all.sort_unstable_by_key(|held| held.node);
        all
    }

    fn numbers(&self, node: Node) -> Numbers {
        Numbers {
            shares_norm: self.tree.shares_norm(node),
            usage_norm: self.fair_share.competition().usage_norm(node),
            usage_effective: self.fair_share.competition().usage_effective(&self.tree, node),
            level_fs: self.fair_share.competition().level_fs(&self.tree, node),
            tickets: self.fair_share.tickets(node),
            level_share: self.fair_share.level_share(&self.tree, node),
            active: self.fair_share.competition().is_active(node),
            factor: self.tree.is_user(node).then(|| self.factor(node)),
        }
    }
}
