//! The standing of every association in the fair-share competition: a copy of Slurm's association tree in the core's form, and the tickets
//! of the last distribution.
//!
//! Slurm keeps no stamp that says when associations changed. So the walk that reads the usage also compares what the shape depends on, and
//! the tree is rebuilt only if that differs. Between cycles the standing answers for users who had no waiting job. For an association that
//! is newer than the last cycle it is read again on the spot.

mod job_tickets;
mod shown;

use std::sync::Arc;

use multifactor2_accounting::measures::Measures;
use multifactor2_core::books::{BookAt, BookLines, BookSet, Books, ClosedPartitions};
use multifactor2_core::policy::points::LARGEST_THRESHOLD;
use multifactor2_core::policy::pools::JobTickets;
use multifactor2_core::settings::Settings;
use multifactor2_core::{facts, Node, NodeSpec, ShareTree};
use rustc_hash::{FxHashMap, FxHashSet};

use super::assoc_factor::AssocFactor;
use super::assoc_index::{Index, Slot};
use super::config::Config;
use super::queue::Queues;
use super::waiting::{AssocPlace, Entry, SeenEntries, Waiting};
use crate::faults;
use crate::host::access::Open;
use crate::host::locks::{AssocLock, Levels};
use crate::host::records::{Association, Job};
use crate::host::views;

pub use job_tickets::{Holdings, Share};
pub use shown::Shown;

/// The share tree of the last distribution, with tickets, books and who waits.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    /// In the order of the host's association list.
    entries: Arc<Vec<Entry>>,
    by_id: Index,
    tree: Arc<ShareTree>,
    /// Shares, who waits, and tickets, by book.
    books: Books,
    lines: Arc<BookLines>,
    /// The settings that the last distribution was by.
    settings: Option<Arc<Settings>>,
    /// The least factor that is shown of an association.
    least_factor: f64,
    /// Raw usage by node.
    usage: Vec<f64>,
    /// What share trees use instead, if the settings ask for that; and by book and node.
    measures: Option<Arc<Measures>>,
    by_book: Vec<Vec<f64>>,
    /// Associations of jobs that the host's list does not have, so that they are looked for once per cycle only.
    unknown: FxHashSet<usize>,
    /// How the association factors are read, and what they are by position; empty where they have no weight.
    assoc: AssocFactor,
    assoc_factors: Vec<f64>,
    /// Who has an association in which account, where slurmctld asks that to show a job.
    members: Option<Members>,
    /// The standing of the last cycle, where associations have come since and it was read again.
    of_cycle: Option<Box<Standing>>,
}

/// Accounts by user id.
type Members = FxHashMap<u32, FxHashSet<String>>;

impl Standing {
    /// Forgets everything, as after a stop.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// What share trees use from the next distribution on instead of raw usage, if anything.
    pub fn measure_by(&mut self, measures: Option<Arc<Measures>>) {
        self.measures = measures;
    }

    /// Begins to collect waiting jobs.
    pub fn collect(&self) -> Waiting {
        let flags = vec![BookSet::default(); self.entries.len()];
        Waiting::by(&self.entries, flags, ClosedPartitions::default())
    }

    /// The place of a job's association among those of `waiting`.
    #[inline]
    pub fn place<V: Levels<Assoc: Open>>(
        &self,
        waiting: &mut Waiting,
        lock: &AssocLock<'_, V>,
        job: Job<'_>,
    ) -> AssocPlace {
        match self.known_place(waiting, job.named_association()) {
            Some(place) => place,
            None => self.place_of_newer(waiting, lock, job),
        }
    }

    /// The same where the last distribution knew the association, and `waiting` has the same associations.
    #[inline]
    pub fn known_place(&self, waiting: &Waiting, (address, id): (usize, u32)) -> Option<AssocPlace> {
        // A position among other associations than `entries` says nothing here.
        let slot = if waiting.is_by(&self.entries) { self.slot(address, id) } else { None };
        slot.map(|slot| AssocPlace::at(slot.at))
    }

    /// The same of an association that is new since the last distribution, of a pointer to one that is gone, and of none.
    #[inline(never)]
    fn place_of_newer<V: Levels<Assoc: Open>>(
        &self,
        waiting: &mut Waiting,
        lock: &AssocLock<'_, V>,
        job: Job<'_>,
    ) -> AssocPlace {
        let (address, id) = job.named_association();
        let found = if address == 0 { None } else { job.association(lock).map(Association::address) };
        let Some(address) = found else { return AssocPlace::NONE };
        self.known_place(waiting, (address, id)).unwrap_or_else(|| waiting.place_of_stranger(id, address))
    }

    /// Reads shape and usage of all associations and distributes the tickets among those with waiting jobs. Those of single jobs
    /// are to be handed out from what is returned.
    pub fn distribute<V: Levels<Assoc: Open>>(
        &mut self,
        lock: &AssocLock<'_, V>,
        waiting: &Waiting,
        config: &Config,
        mut queues: Option<Queues>,
    ) -> Option<Queues> {
        self.of_cycle = None;
        self.assoc = config.assoc_factor();
        self.configure(config);
        self.distribute_now(lock, waiting);
        if let Some(queues) = &mut queues {
            let is_known = queues.known.as_ref().is_some_and(|known| Arc::ptr_eq(known, &self.tree));
            queues.is_taught = !is_known || !queues.changes().is_empty();
            if queues.is_taught {
                self.teach(lock, queues.pools());
            }
        } else {
            self.books.all_mut().for_each(|book| book.pools = None);
        }
        queues
    }

    /// Takes settings; where they are new, what was distributed is forgotten.
    pub fn configure(&mut self, config: &Config) {
        let is_known =
            |known: &Arc<Settings>| Arc::ptr_eq(known, &config.settings) || *known == config.settings;
        if !self.settings.as_ref().is_some_and(is_known) {
            self.books = Books::default();
            self.books.configure(&config.settings);
            self.lines = Arc::clone(&config.books);
            self.settings = Some(config.settings.clone());
            self.least_factor = if config.caps_stop { LARGEST_THRESHOLD } else { 0.0 };
        }
    }

    fn distribute_now<V: Levels<Assoc: Open>>(&mut self, lock: &AssocLock<'_, V>, waiting: &Waiting) {
        // Taken out, so that a panic leaves one that knows nothing instead of one that is half new.
        let mut new = std::mem::take(self);
        new.read(lock, waiting);
        faults::point("distribute.half");
        let Self { books, by_book, usage, .. } = &mut new;
        books.distribute(|book| by_book.get(book.index()).unwrap_or(usage));
        new.unknown.clear();
        *self = new;
    }

    /// The place in the tree of an association, by address and id; `None` for one that the host's list does not have. One that is
    /// newer than the last distribution is read now, with the jobs that waited then.
    fn node_now<V: Levels<Assoc: Open>>(
        &mut self,
        lock: &AssocLock<'_, V>,
        (address, id): (usize, u32),
    ) -> Option<Node> {
        if self.slot(address, id).is_none() && self.unknown.insert(address) {
            let unknown = std::mem::take(&mut self.unknown);
            let waiting = self.as_collected();
            // What priorities came from is still to be told.
            let of_cycle = self.of_cycle.take().unwrap_or_else(|| Box::new(self.clone()));
            self.distribute_now(lock, &waiting);
            let mut books = std::mem::take(&mut self.books);
            self.teach(lock, books.iter_mut().filter_map(|book| book.pools.as_mut()));
            self.books = books;
            self.of_cycle = Some(of_cycle);
            self.unknown = unknown;
            if self.slot(address, id).is_some() {
                self.unknown.remove(&address);
            }
        }
        self.node(address, id)
    }

    /// The association at a place in the `waiting` of a cycle: its position in the list, and its place in the tree.
    fn found_at(&self, waiting: &Waiting, place: AssocPlace) -> Option<(usize, Node)> {
        if waiting.is_by(&self.entries) && place.index() < self.entries.len() {
            return Some((place.index(), self.tree.position(place.index())?));
        }
        let (id, _) = waiting.at(place)?;
        self.found_by_id(id)
    }

    /// Where the association with an id is in a tree, which may be that of the last cycle; `None` also where it is none of the two.
    pub fn node_in(&self, tree: &Arc<ShareTree>, id: u32) -> Option<Node> {
        let of_cycle = std::iter::once(self).chain(self.of_cycle.as_deref());
        of_cycle
            .into_iter()
            .find(|standing| Arc::ptr_eq(&standing.tree, tree))?
            .found_by_id(id)
            .map(|(_, node)| node)
    }

    /// Ids and places of the associations in the tree.
    pub fn ids(&self) -> impl Iterator<Item = (u32, Node)> + '_ {
        let entries = self.entries.iter().enumerate();
        entries.filter_map(|(at, entry)| Some((entry.facts.id, self.tree.position(at)?)))
    }

    /// The associations, and the raw usage of each.
    pub fn usage(&self) -> (&Arc<ShareTree>, &[f64]) {
        (&self.tree, &self.usage)
    }

    /// The same of the association with an id.
    fn found_by_id(&self, id: u32) -> Option<(usize, Node)> {
        let slot = self.by_id.get(id)?;
        Some((slot.at as usize, self.tree.node(slot.node)?))
    }

    /// What the last cycle knew of a place in its `waiting`, and of a job there in a book, with these tickets of pools; `None` where it
    /// had no such association.
    pub fn known_at(
        &self,
        waiting: &Waiting,
        place: AssocPlace,
        (book, tickets): (BookAt, Option<JobTickets>),
    ) -> Option<facts::AssociationFactors> {
        let of_cycle = self.of_cycle.as_deref().unwrap_or(self);
        let (at, node) = of_cycle.found_at(waiting, place)?;
        of_cycle.known(at, node, (book, tickets))
    }

    /// What is known of the association with an id, in a book.
    pub fn known_by_id(&self, id: u32, book: BookAt) -> Option<facts::AssociationFactors> {
        let (at, node) = self.found_by_id(id)?;
        self.known(at, node, (book, None))
    }

    fn known(
        &self,
        at: usize,
        node: Node,
        (book, tickets): (BookAt, Option<JobTickets>),
    ) -> Option<facts::AssociationFactors> {
        let assoc = match self.assoc {
            AssocFactor::None => 0.0,
            _ => *self.assoc_factors.get(at)?,
        };
        Some(facts::AssociationFactors { assoc, fair_share: self.factor_in(book, node, tickets) })
    }

    /// Its place in the tree; `None` also for one that is not in it.
    fn node(&self, address: usize, id: u32) -> Option<Node> {
        self.slot(address, id).and_then(|slot| self.tree.node(slot.node))
    }

    #[inline]
    fn slot(&self, address: usize, id: u32) -> Option<Slot> {
        self.by_id.get(id).filter(|slot| slot.address == address)
    }

    /// The waiting jobs of the last distribution, in the form in which they were collected.
    fn as_collected(&self) -> Waiting {
        let known = (0..self.entries.len()).map(|at| {
            let node = self.tree.position(at);
            node.map_or(BookSet::default(), |node| self.books.waiting_of(node))
        });
        Waiting::by(&self.entries, known.collect(), ClosedPartitions::clone(self.books.closed()))
    }

    /// Reads every association once; rebuilds the tree where its shape changed.
    fn read<V: Levels<Assoc: Open>>(&mut self, lock: &AssocLock<'_, V>, waiting: &Waiting) {
        let Some(list) = lock.all() else {
            self.clear();
            return;
        };
        let mut seen = SeenEntries::same_as(&self.entries);
        let mut usage = Vec::with_capacity(self.entries.len());
        self.assoc_factors.clear();
        views::shares_and_usage(lock.host()).walk_list(list, |association| {
            seen.note(Entry::of(association));
            usage.push(association.usage().map_or(0.0, |usage| usage.get_ld(|u| u.usage_raw)));
            if self.assoc != AssocFactor::None {
                self.assoc_factors.push(self.assoc.of(association));
            }
        });
        if let Some(entries) = seen.changed() {
            self.rebuild(entries, lock.root().map_or(0, Association::address));
        }
        if !Arc::ptr_eq(&self.books.get(BookAt::DEFAULT).tree, &self.tree) {
            self.plant(lock);
        }
        self.books.close(&waiting.closed);
        let flags = waiting.flags_for(&self.entries);
        self.usage.clear();
        self.usage.resize(self.tree.len(), 0.0);
        self.books.clear_waiting();
        for (at, (usage, books)) in usage.into_iter().zip(flags).enumerate() {
            if let Some(node) = self.tree.position(at) {
                self.usage[node.index()] = usage;
                self.books.note_waiting(node, books);
            }
        }
        let mut by_book = std::mem::take(&mut self.by_book);
        match self.measures.clone() {
            Some(measures) => {
                let find = |id| Some(self.found_by_id(id)?.1);
                measures.by_book(&self.tree, find, &self.usage, &mut by_book);
            }
            None => by_book.clear(),
        }
        self.by_book = by_book;
    }

    /// Gives each book its shares.
    fn plant<V: Levels<Assoc: Open>>(&mut self, lock: &AssocLock<'_, V>) {
        let mut accounts: Vec<Option<String>> = Vec::new();
        if self.lines.has_shares() {
            accounts.resize(self.tree.len(), None);
            self.for_each_node(lock, |association, node| {
                if !self.tree.is_user(node) {
                    accounts[node.index()] = Some(association.text(|assoc| assoc.acct).into_owned());
                }
            });
        }
        let account = |node: Node| accounts.get(node.index())?.as_deref();
        self.books.plant(&self.tree, &self.lines, account);
    }

    fn rebuild(&mut self, entries: Vec<Entry>, root: usize) {
        let positions: FxHashMap<usize, u32> =
            entries.iter().zip(0..).map(|(entry, at)| (entry.address, at)).collect();
        let nodes: Vec<NodeSpec> = entries
            .iter()
            .map(|entry| NodeSpec {
                // A record without a parent that is not the root is unreachable, not a second root.
                parent: (entry.address != root)
                    .then(|| positions.get(&entry.parent).copied().unwrap_or(u32::MAX)),
                shares: entry.facts.shares,
                user: entry.facts.user,
            })
            .collect();
        self.tree = Arc::new(ShareTree::build(&nodes));
        self.by_id = Index::of(&entries, &self.tree);
        self.entries = Arc::new(entries);
    }
}
