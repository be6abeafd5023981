//! What others see of the standing: `sshare`, the log, and advice on odd configurations.

use multifactor2_core::books::{Book, BookAt, BookSet};
use multifactor2_core::{FairShare, Node};
use rustc_hash::FxHashSet;

use super::{Members, Standing};
use crate::faults;
use crate::host::access::{Open, Write};
use crate::host::locks::{self, AssocLock, Levels};
use crate::host::records::Association;
use crate::host::views;
use crate::plugin::explain::Numbers;

/// What an association has in the competition.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// Its id.
    pub id: u32,
    /// Its place in the tree.
    pub node: Node,
    /// Raw usage.
    pub usage: f64,
    /// What the share tree uses instead, if the settings ask for that.
    pub dominant: Option<f64>,
    /// What `sshare` shows, and tickets.
    pub numbers: Numbers,
}

/// Where an association stands in a book.
pub struct Shown {
    /// The numbers of the engine.
    pub numbers: Numbers,
    /// Its shares there.
    pub shares: u32,
    /// What the share tree uses, if that is not the default book.
    pub usage: Option<f64>,
}

impl Standing {
    /// Writes what `sshare` shows into the records: normalised shares and usage, effective usage, fair-share factors.
    /// Associations that came since the distribution are left for the next.
    /// `factors` are [`Self::factors`].
    pub fn publish(&self, lock: &AssocLock<'_, locks::Shown>, factors: &[f64]) {
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
        usage.set_ld(|u| u.usage_norm, self.default_book().competition().usage_norm(node));
        usage.set_ld(|u| u.usage_efctv, self.default_book().competition().usage_effective(&self.tree, node));
        usage.set_ld(|u| u.level_fs, self.default_book().competition().level_fs(&self.tree, node));
        if self.tree.is_user(node) {
            let factor = factor.unwrap_or_else(|| self.factor(node));
            usage.set(|u| u.fs_factor, factor.max(self.least_factor));
        }
    }

    /// As [`Standing::publish`] for one association.
    pub fn publish_single(
        &mut self,
        lock: &AssocLock<'_, locks::Shown>,
        association: Association<'_, Write>,
    ) {
        let named = (association.address(), association.get(|assoc| assoc.id));
        if let Some(node) = self.node_now(lock, named) {
            self.publish_one(association, node, None);
        }
    }

    /// Reads which users have an association in which account, if that decides who sees a job (see [`host::reply`]).
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
        let waiting = self.tree.nodes().filter(|node| self.books.waiting_of(*node) != BookSet::default());
        (self.entries.len(), waiting.count())
    }

    /// The books, and what stands before their lines in the log: nothing for the default one.
    pub fn books(&self) -> impl Iterator<Item = (BookAt, String)> + '_ {
        let of_lines = BookSet::from_numbers(0..=self.lines.names().len()).iter().map(|book| match book {
            BookAt::DEFAULT => (book, String::new()),
            _ => (book, format!("book {}: ", self.lines.name(book))),
        });
        let closed = self.books.closed().iter();
        of_lines.chain(closed.map(|(book, partition)| (book, format!("closed partition {partition}: "))))
    }

    /// Calls `explain` for every association with its record and numbers in a book, in the host's order.
    pub fn for_each<V: Levels<Assoc: Open>>(
        &self,
        lock: &AssocLock<'_, V>,
        book: BookAt,
        mut explain: impl FnMut(Association<'_, V::Assoc>, Shown),
    ) {
        self.for_each_node(lock, |association, node| explain(association, self.shown(book, node)));
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

    /// The books that lines of settings make: what each is called, its partitions, and the tickets of the best user in it.
    pub fn named_books(&self) -> impl Iterator<Item = (BookAt, &str, &[String], f64)> + '_ {
        let lines = self.settings.as_ref().map_or(&[][..], |settings| &settings.books);
        let books = BookSet::from_numbers(1..=self.lines.names().len());
        books.iter().zip(lines).map(|(book, line)| {
            let most = self.books.get(book).fair_share.max_tickets();
            (book, self.lines.name(book), line.partitions.as_slice(), most)
        })
    }

    /// What every association has in a book, a parent before those below it.
    pub fn held_in(&self, book: BookAt) -> impl Iterator<Item = (u32, Shown)> + '_ {
        let mut all: Vec<(Node, u32)> = self.ids().map(|(id, node)| (node, id)).collect();
        all.sort_unstable();
        all.into_iter().map(move |(node, id)| {
            let shown = self.shown(book, node);
            // Until it is counted for books, all go by raw usage.
            let usage = shown.usage.or_else(|| self.usage.get(node.index()).copied());
            (id, Shown { usage, ..shown })
        })
    }

    /// What every association has, a parent before those below it.
    pub fn held(&self) -> Vec<Held> {
        let mut all: Vec<Held> = self
            .ids()
            .map(|(id, node)| Held {
                id,
                node,
                usage: self.usage[node.index()],
                dominant: self.by_book.first().and_then(|measured| measured.get(node.index()).copied()),
                numbers: self.shown(BookAt::DEFAULT, node).numbers,
            })
            .collect();
        all.sort_unstable_by_key(|held| held.node);
        all
    }

    /// That of the default book.
    fn default_book(&self) -> &FairShare {
        &self.books.get(BookAt::DEFAULT).fair_share
    }

    fn shown(&self, at: BookAt, node: Node) -> Shown {
        let Book { tree, fair_share, .. } = self.books.get(at);
        let competition = fair_share.competition();
        let numbers = Numbers {
            shares_norm: tree.shares_norm(node),
            usage_norm: competition.usage_norm(node),
            usage_effective: competition.usage_effective(tree, node),
            level_fs: competition.level_fs(tree, node),
            tickets: fair_share.tickets(node),
            level_share: fair_share.level_share(tree, node),
            active: competition.is_active(node),
            factor: tree.is_user(node).then(|| self.factor_in(at, node, None)),
        };
        let by_book = self.by_book.get(at.index()).filter(|_| at != BookAt::DEFAULT);
        let usage = by_book.and_then(|by_book| by_book.get(node.index()).copied());
        Shown { numbers, shares: tree.shares(node), usage }
    }
}
