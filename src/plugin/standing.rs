//! The standing of every association in the fair-share competition: a copy of Slurm's association tree in
//! the core's form, and the tickets of the last distribution.
//!
//! Slurm keeps no stamp that says when associations changed, so the walk that reads the usage also
//! compares what the shape depends on, and the tree is rebuilt only when that differs. Between cycles
//! the standing answers for users who had no waiting job; for an association that is newer than the
//! last cycle it is read again on the spot.

use std::ops::ControlFlow;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::faults;
use crate::host::ahead::Touched;
use crate::host::locks::AssocLock;
use crate::host::records::{Association, AssociationUsage, Job};
use crate::host::Host;
use multifactor2_core::{FairShare, Node, NodeSpec, ShareTree};

/// What the shape of the tree depends on, for one association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    /// Address of the record: its identity while it lives.
    address: usize,
    /// Address of the parent; 0 for none.
    parent: usize,
    id: u32,
    shares: u32,
    user: bool,
}

impl Entry {
    fn of(association: Association<'_>) -> Self {
        let parent = association.usage().and_then(AssociationUsage::parent);
        Self {
            address: association.address(),
            parent: parent.map_or(0, Association::address),
            id: association.get(|assoc| assoc.id),
            shares: association.get(|assoc| assoc.shares_raw),
            user: association.is_user(),
        }
    }
}

/// Which associations have waiting jobs.
#[derive(Debug)]
pub struct Waiting {
    /// The associations that the flags were noted by.
    entries: Arc<Vec<Entry>>,
    /// By place.
    flags: Vec<bool>,
    /// Associations that are not in `entries`, by id and address; their places follow.
    strangers: Vec<(u32, usize)>,
    /// Their places by address.
    places: FxHashMap<usize, u32>,
}

/// Which association is meant, among those of one [`Waiting`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(u32);

impl Place {
    /// No association.
    pub const NONE: Self = Self(u32::MAX);

    fn index(self) -> usize {
        self.0 as usize
    }
}

impl Waiting {
    fn by(entries: &Arc<Vec<Entry>>, flags: Vec<bool>) -> Self {
        Self { entries: Arc::clone(entries), flags, strangers: Vec::new(), places: FxHashMap::default() }
    }

    /// Notes a waiting job.
    pub fn note(&mut self, place: Place) {
        if let Some(flag) = self.flags.get_mut(place.index()) {
            *flag = true;
        }
    }

    /// Whether one was noted; true where there is none to note.
    pub fn is_noted(&self, place: Place) -> bool {
        self.flags.get(place.index()).copied().unwrap_or(true)
    }

    fn place_of_stranger(&mut self, id: u32, address: usize) -> Place {
        let (flags, strangers) = (&mut self.flags, &mut self.strangers);
        Place(*self.places.entry(address).or_insert_with(|| {
            let place = u32::try_from(flags.len()).unwrap_or(u32::MAX);
            flags.push(false);
            strangers.push((id, address));
            place
        }))
    }

    /// Id and address of an association.
    fn at(&self, place: Place) -> Option<(u32, usize)> {
        match place.index().checked_sub(self.entries.len()) {
            Some(at) => self.strangers.get(at).copied(),
            None => self.entries.get(place.index()).map(|entry| (entry.id, entry.address)),
        }
    }

    /// The flags for a list of associations, which may be another one than they were noted by. Ids are never given twice, so
    /// that they say who is who also where all records were made anew.
    fn flags_for(&self, entries: &Arc<Vec<Entry>>) -> Vec<bool> {
        if Arc::ptr_eq(entries, &self.entries) {
            return self.flags[..entries.len()].to_vec();
        }
        let known = self.entries.iter().map(|entry| entry.id);
        let all = known.chain(self.strangers.iter().map(|(id, _)| *id));
        let noted: FxHashSet<u32> =
            all.zip(&self.flags).filter_map(|(id, flag)| flag.then_some(id)).collect();
        entries.iter().map(|entry| noted.contains(&entry.id)).collect()
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Standing {
    /// In the order of the host's association list.
    entries: Arc<Vec<Entry>>,
    by_id: Index,
    tree: ShareTree,
    fair_share: FairShare,
    /// Raw usage by node.
    usage: Vec<f64>,
    /// 1 for a user with waiting jobs, by node.
    waiting: Vec<u32>,
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

/// What the association factor of jobs is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AssocFactor {
    /// Not needed.
    #[default]
    None,
    /// The normalised priority of the association.
    Normalised,
    /// The priority itself, under `NO_NORMAL_ASSOC`.
    Plain,
}

impl AssocFactor {
    /// Of one association.
    pub fn of(self, association: Association<'_>) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Normalised => association.usage().map_or(0.0, |usage| usage.get(|u| u.priority_norm)),
            Self::Plain => f64::from(association.get(|assoc| assoc.priority)),
        }
    }
}

/// What the standing knows of an association that a job's priority needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    /// The association factor.
    pub assoc: f64,
    /// The fair-share factor, 0 to 1.
    pub fair_share: f64,
}

impl Default for Standing {
    fn default() -> Self {
        Self::new()
    }
}

impl Standing {
    /// Nothing known yet.
    pub fn new() -> Self {
        Self {
            entries: Arc::default(),
            by_id: Index::Dense(Vec::new()),
            tree: ShareTree::default(),
            fair_share: FairShare::new(),
            usage: Vec::new(),
            waiting: Vec::new(),
            unknown: FxHashSet::default(),
            assoc: AssocFactor::None,
            assoc_factors: Vec::new(),
            members: None,
            of_cycle: None,
        }
    }

    /// Forgets everything, as after a stop.
    pub fn clear(&mut self) {
        *self = Self::new();
    }

    /// Begins to collect waiting jobs.
    pub fn collect(&self) -> Waiting {
        Waiting::by(&self.entries, vec![false; self.entries.len()])
    }

    /// The place of a job's association among those of `waiting`.
    pub fn place(&self, waiting: &mut Waiting, job: Job<'_>) -> Place {
        let (address, id) = job.named_association();
        if address == 0 {
            return Place::NONE;
        }
        // A position among other associations than `entries` says nothing here.
        let same = Arc::ptr_eq(&waiting.entries, &self.entries);
        let known = |address| {
            let at = if same { self.position(address, id) } else { None };
            at.and_then(|at| u32::try_from(at).ok()).map(Place)
        };
        known(address).unwrap_or_else(|| {
            // New since the last distribution, or a pointer to one that is gone.
            let Some(address) = job.association().map(Association::address) else { return Place::NONE };
            known(address).unwrap_or_else(|| waiting.place_of_stranger(id, address))
        })
    }

    /// Reads shape and usage of all associations and distributes the tickets among those with waiting jobs. Needs the
    /// association read lock.
    pub fn distribute(&mut self, lock: &AssocLock<'_>, waiting: &Waiting, assoc: AssocFactor) {
        self.of_cycle = None;
        self.assoc = assoc;
        self.distribute_now(lock, waiting);
    }

    fn distribute_now(&mut self, lock: &AssocLock<'_>, waiting: &Waiting) {
        // Taken out, so that a panic leaves one that knows nothing instead of one that is half new.
        let mut new = std::mem::take(self);
        new.read(lock, waiting);
        faults::point("distribute.half");
        new.fair_share.distribute(&new.tree, &new.usage, &new.waiting);
        new.unknown.clear();
        *self = new;
    }

    /// Fair-share factor of an association's jobs, 0 to 1; `None` for one that the host's list does not have.
    /// An association that is newer than the last distribution is read now, with the jobs that waited then.
    pub fn factor(&mut self, lock: &AssocLock<'_>, association: Association<'_>) -> Option<f64> {
        let (address, id) = (association.address(), association.get(|assoc| assoc.id));
        if self.position(address, id).is_none() && self.unknown.insert(address) {
            let unknown = std::mem::take(&mut self.unknown);
            let waiting = self.as_collected();
            // What priorities came from is still to be told.
            let of_cycle = self.of_cycle.take().unwrap_or_else(|| Box::new(self.clone()));
            self.distribute_now(lock, &waiting);
            self.of_cycle = Some(of_cycle);
            self.unknown = unknown;
            if self.position(address, id).is_some() {
                self.unknown.remove(&address);
            }
        }
        self.known_factor(address, id)
    }

    /// What the last cycle knew of a place in its `waiting`; `None` where it had no such association.
    pub fn known_at(&self, waiting: &Waiting, place: Place) -> Option<Known> {
        let of_cycle = self.of_cycle.as_deref().unwrap_or(self);
        if Arc::ptr_eq(&waiting.entries, &of_cycle.entries) && place.index() < of_cycle.entries.len() {
            return of_cycle.known(place.index(), of_cycle.tree.position(place.index())?);
        }
        let (id, _) = waiting.at(place)?;
        of_cycle.known_by_id(id)
    }

    /// What is known of the association with an id.
    pub fn known_by_id(&self, id: u32) -> Option<Known> {
        let slot = self.by_id.get(id)?;
        self.known(slot.at as usize, self.tree.node(slot.node)?)
    }

    fn known(&self, at: usize, node: Node) -> Option<Known> {
        let assoc = match self.assoc {
            AssocFactor::None => 0.0,
            _ => *self.assoc_factors.get(at)?,
        };
        Some(Known { assoc, fair_share: self.fair_share.priority(node) })
    }

    /// As [`Standing::factor`] for an association that the last distribution knew, by address and id; reads nothing.
    pub fn known_factor(&self, address: usize, id: u32) -> Option<f64> {
        Some(self.fair_share.priority(self.node(address, id)?))
    }

    /// Writes what `sshare` shows into the records: normalised shares and usage, effective usage, fair-share factors.
    /// Needs the association write lock. Associations that came since the distribution are left for the next.
    pub fn publish(&self, lock: &AssocLock<'_>) {
        let Some(list) = lock.all() else { return };
        list.for_each_ahead(&touched_by_publish(lock.host()), |association| {
            faults::point("publish.association");
            if let Some(node) = self.node(association.address(), association.get(|assoc| assoc.id)) {
                self.publish_one(association, node);
            }
        });
    }

    fn publish_one(&self, association: Association<'_>, node: Node) {
        let Some(usage) = association.usage() else { return };
        usage.set(|u| u.shares_norm, self.tree.shares_norm(node));
        usage.set_ld(|u| u.usage_norm, self.fair_share.usage_norm(node));
        usage.set_ld(|u| u.usage_efctv, self.fair_share.usage_effective(&self.tree, node));
        usage.set_ld(|u| u.level_fs, self.fair_share.level_fs(&self.tree, node));
        if self.tree.is_user(node) {
            usage.set(|u| u.fs_factor, self.fair_share.priority(node));
        }
    }

    /// As [`Standing::publish`] for one association, under the host's read lock as the host wants it.
    pub fn publish_single(&mut self, lock: &AssocLock<'_>, association: Association<'_>) {
        if self.factor(lock, association).is_none() {
            return;
        }
        if let Some(node) = self.node(association.address(), association.get(|assoc| assoc.id)) {
            self.publish_one(association, node);
        }
    }

    /// Reads who has an association in which account, where that decides who sees a job (see [`host::reply`]).
    ///
    /// [`host::reply`]: crate::host::reply
    pub fn read_members(&mut self, lock: &AssocLock<'_>) {
        self.members = lock.host().shows_jobs_by_account().then(|| {
            let mut members = Members::default();
            if let Some(list) = lock.all() {
                list.for_each_ro(|association| {
                    if association.is_user() {
                        let accounts = members.entry(association.get(|assoc| assoc.uid)).or_default();
                        accounts.insert(association.text(|assoc| assoc.acct).to_ascii_lowercase());
                    }
                    ControlFlow::Continue(())
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

    /// Number of associations, and of users among them with waiting jobs.
    pub fn counts(&self) -> (usize, usize) {
        (self.entries.len(), self.waiting.iter().filter(|count| **count > 0).count())
    }

    /// Calls `explain` for every association with its record and numbers, in the host's order.
    pub fn for_each(&self, lock: &AssocLock<'_>, mut explain: impl FnMut(Association<'_>, Numbers)) {
        let Some(list) = lock.all() else { return };
        let mut position = 0;
        list.for_each_ro(|association| {
            if let Some(node) = self.tree.position(position) {
                explain(association, self.numbers(node));
            }
            position += 1;
            ControlFlow::Continue(())
        });
    }

    fn numbers(&self, node: Node) -> Numbers {
        Numbers {
            shares_norm: self.tree.shares_norm(node),
            usage_norm: self.fair_share.usage_norm(node),
            usage_effective: self.fair_share.usage_effective(&self.tree, node),
            level_fs: self.fair_share.level_fs(&self.tree, node),
            tickets: self.fair_share.tickets(node),
            level_share: self.fair_share.level_share(&self.tree, node),
            active: self.fair_share.is_active(node),
            factor: self.tree.is_user(node).then(|| self.fair_share.priority(node)),
        }
    }

    fn position(&self, address: usize, id: u32) -> Option<usize> {
        self.slot(address, id).map(|slot| slot.at as usize)
    }

    /// Its place in the tree; `None` also for one that is not in it.
    fn node(&self, address: usize, id: u32) -> Option<Node> {
        self.slot(address, id).and_then(|slot| self.tree.node(slot.node))
    }

    fn slot(&self, address: usize, id: u32) -> Option<Slot> {
        self.by_id.get(id).filter(|slot| slot.address == address)
    }

    /// The waiting jobs of the last distribution, in the form in which they were collected.
    fn as_collected(&self) -> Waiting {
        let known = (0..self.entries.len()).map(|at| {
            let node = self.tree.position(at);
            node.is_some_and(|node| self.waiting[node.index()] > 0)
        });
        Waiting::by(&self.entries, known.collect())
    }

    /// Reads every association once; rebuilds the tree where its shape changed.
    fn read(&mut self, lock: &AssocLock<'_>, waiting: &Waiting) {
        let Some(list) = lock.all() else {
            self.clear();
            return;
        };
        let mut seen = Vec::with_capacity(self.entries.len());
        let mut usage = Vec::with_capacity(self.entries.len());
        self.assoc_factors.clear();
        list.for_each_ahead(&touched_by_read(lock.host()), |association| {
            seen.push(Entry::of(association));
            usage.push(association.usage().map_or(0.0, |usage| usage.get_ld(|u| u.usage_raw)));
            if self.assoc != AssocFactor::None {
                self.assoc_factors.push(self.assoc.of(association));
            }
        });
        if seen != *self.entries {
            self.rebuild(seen, lock.root().map_or(0, Association::address));
        }
        let flags = waiting.flags_for(&self.entries);
        self.usage.clear();
        self.usage.resize(self.tree.len(), 0.0);
        self.waiting.clear();
        self.waiting.resize(self.tree.len(), 0);
        for (at, (usage, waits)) in usage.into_iter().zip(flags).enumerate() {
            if let Some(node) = self.tree.position(at) {
                self.usage[node.index()] = usage;
                self.waiting[node.index()] = u32::from(waits);
            }
        }
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
                shares: entry.shares,
                user: entry.user,
            })
            .collect();
        self.tree = ShareTree::build(&nodes);
        self.by_id = Index::of(&entries, &self.tree);
        self.entries = Arc::new(entries);
    }
}

/// What [`Standing::read`] touches of an association.
fn touched_by_read(host: &'static Host) -> Touched {
    let (assoc, usage) = (&host.layout.assoc, &host.layout.assoc_usage);
    let mut touched = Touched::new();
    touched.field(assoc.id).field(assoc.shares_raw).field(assoc.user);
    touched.behind(&[assoc.usage], usage.parent_assoc_ptr).behind(&[assoc.usage], usage.usage_raw);
    touched
}

/// What [`Standing::publish`] touches of an association.
fn touched_by_publish(host: &'static Host) -> Touched {
    let (assoc, usage) = (&host.layout.assoc, &host.layout.assoc_usage);
    let mut touched = Touched::new();
    touched.field(assoc.id);
    touched.behind(&[assoc.usage], usage.shares_norm).behind(&[assoc.usage], usage.fs_factor);
    for shown in [usage.usage_norm, usage.usage_efctv, usage.level_fs] {
        touched.behind(&[assoc.usage], shown);
    }
    touched
}

/// The numbers of one association, for explanations.
#[derive(Debug, Clone, Copy)]
pub struct Numbers {
    /// S
    pub shares_norm: f64,
    /// U
    pub usage_norm: f64,
    /// `U_eff`
    pub usage_effective: f64,
    /// F
    pub level_fs: f64,
    /// T; prospective where not active.
    pub tickets: f64,
    /// Part of the parent's tickets.
    pub level_share: f64,
    /// It or something below it has waiting jobs.
    pub active: bool,
    /// The factor of a user's jobs.
    pub factor: Option<f64>,
}

/// Position by association id, with the address, so that one look tells both. Ids grow with every association that was ever
/// added, so a plain table serves unless they are very sparse.
#[derive(Clone, Debug)]
enum Index {
    Dense(Vec<Slot>),
    Sparse(FxHashMap<u32, Slot>),
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    /// 0 where there is no association.
    address: usize,
    at: u32,
    /// Index in the tree, beyond its end for an association that is not in it. Known here, a submission looks in one table
    /// less.
    node: u32,
}

impl Index {
    const NONE: Slot = Slot { address: 0, at: 0, node: u32::MAX };

    fn of(entries: &[Entry], tree: &ShareTree) -> Self {
        let slots = entries.iter().zip(0..).map(|(entry, at)| {
            let node = tree.position(at as usize).and_then(|node| u32::try_from(node.index()).ok());
            (entry.id, Slot { address: entry.address, at, node: node.unwrap_or(u32::MAX) })
        });
        let largest = entries.iter().map(|entry| entry.id as usize).max().unwrap_or(0);
        if largest > 2 * entries.len() + 65_536 {
            return Self::Sparse(slots.collect());
        }
        let mut table = vec![Self::NONE; largest + 1];
        for (id, slot) in slots {
            table[id as usize] = slot;
        }
        Self::Dense(table)
    }

    fn get(&self, id: u32) -> Option<Slot> {
        let slot = match self {
            Self::Dense(table) => table.get(id as usize),
            Self::Sparse(map) => map.get(&id),
        };
        slot.copied().filter(|slot| slot.address != Self::NONE.address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_dense_and_sparse() {
        for ids in [vec![5, 1, 9], vec![5, 4_000_000_000, 9]] {
            let entry =
                |id: &u32| Entry { address: 64 + *id as usize, parent: 0, id: *id, shares: 1, user: true };
            let index = Index::of(&ids.iter().map(entry).collect::<Vec<_>>(), &ShareTree::default());
            let found = |id: u32| index.get(id).map(|slot| (slot.address, slot.at));
            for (at, id) in (0..).zip(&ids) {
                assert_eq!(found(*id), Some((64 + *id as usize, at)));
            }
            assert_eq!(found(7), None);
            assert_eq!(found(u32::MAX), None);
        }
    }
}
