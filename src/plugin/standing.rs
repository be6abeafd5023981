//! The standing of every association in the fair-share competition: a copy of Slurm's association tree in
//! the core's form, and the tickets of the last distribution.
//!
//! Slurm keeps no stamp that says when associations changed, so the walk that reads the usage also
//! compares what the shape depends on, and the tree is rebuilt only when that differs. Between cycles
//! the standing answers for users who had no waiting job; for an association that is newer than the
//! last cycle it is read again on the spot.

use std::sync::Arc;

use multifactor2_core::explain::Numbers;
use multifactor2_core::policy::pools::{Extra, JobTickets, Names, Pools, Who};
use multifactor2_core::settings::Settings;
use multifactor2_core::{facts, FairShare, Node, NodeSpec, ShareTree};
use rustc_hash::{FxHashMap, FxHashSet};

use super::assoc_factor::AssocFactor;
use super::assoc_index::{Index, Slot};
use super::config::Config;
use super::queue::{Queue, Reader};
use super::waiting::{Entry, Place, Waiting};
use crate::faults;
use crate::host::access::{Open, Write};
use crate::host::locks::{AssocLock, Levels, Shown};
use crate::host::records::{Association, Job};
use crate::host::{views, Host};

/// See the module.
#[derive(Clone, Debug)]
pub struct Standing {
    /// In the order of the host's association list.
    entries: Arc<Vec<Entry>>,
    by_id: Index,
    tree: ShareTree,
    fair_share: FairShare,
    /// The settings that the last distribution was by.
    settings: Option<Settings>,
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
    /// What gives tickets to single jobs, where the settings ask for that.
    pools: Option<Pools>,
    /// The standing of the last cycle, where associations have come since and it was read again.
    of_cycle: Option<Box<Standing>>,
}

/// The fair-share factor of a job, and what it came from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Share {
    /// From 0 to 1.
    pub factor: f64,
    /// Its tickets of pools.
    pub tickets: Option<JobTickets>,
    /// It begins to wait, and is counted for those that come next.
    pub joins: bool,
}

/// The tickets of a job.
#[derive(Clone, Copy, Debug)]
pub struct Granted<'s> {
    /// What gave them.
    pub pools: &'s Pools,
    /// Its tickets.
    pub tickets: JobTickets,
}

/// Accounts by user id.
type Members = FxHashMap<u32, FxHashSet<String>>;

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
            settings: None,
            usage: Vec::new(),
            waiting: Vec::new(),
            unknown: FxHashSet::default(),
            assoc: AssocFactor::None,
            assoc_factors: Vec::new(),
            members: None,
            pools: None,
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
    pub fn place<V: Levels<Assoc: Open>>(
        &self,
        waiting: &mut Waiting,
        lock: &AssocLock<'_, V>,
        job: Job<'_>,
    ) -> Place {
        let (address, id) = job.named_association();
        if address == 0 {
            return Place::NONE;
        }
        // A position among other associations than `entries` says nothing here.
        let same = waiting.is_by(&self.entries);
        let known = |address| {
            let at = if same { self.slot(address, id).map(|slot| slot.at) } else { None };
            at.map(Place::at)
        };
        known(address).unwrap_or_else(|| {
            // New since the last distribution, or a pointer to one that is gone.
            let Some(address) = job.association(lock).map(Association::address) else { return Place::NONE };
            known(address).unwrap_or_else(|| waiting.place_of_stranger(id, address))
        })
    }

    /// Begins to collect the jobs that get tickets of their own; `None` where none do.
    pub fn begin_queue(&self, host: &Host, config: &Config, now: i64) -> Option<Queue> {
        let same = self.settings.as_ref() == Some(&config.settings);
        let pools = if same { self.pools.clone() } else { None };
        config.fair_share.then(|| Queue::begin(host, &config.settings, pools, now)).flatten()
    }

    /// Reads shape and usage of all associations and distributes the tickets among those with waiting jobs. Those of single jobs
    /// are to be handed out from what is returned.
    pub fn distribute<V: Levels<Assoc: Open>>(
        &mut self,
        lock: &AssocLock<'_, V>,
        waiting: &Waiting,
        config: &Config,
        mut queue: Option<Queue>,
    ) -> Option<Queue> {
        self.of_cycle = None;
        self.assoc = config.assoc_factor();
        let is_changed = self.settings.as_ref() != Some(&config.settings);
        if is_changed {
            self.fair_share.configure(&config.settings);
            self.settings = Some(config.settings.clone());
        }
        let before = Arc::clone(&self.entries);
        self.distribute_now(lock, waiting);
        if let Some(queue) = &mut queue {
            let is_new = is_changed || self.pools.is_none() || !Arc::ptr_eq(&before, &self.entries);
            if is_new || !queue.changes.is_empty() {
                self.teach(lock, &mut queue.pools);
            }
        } else {
            self.pools = None;
        }
        queue
    }

    /// Hands out tickets to single jobs: to all that have drafts, in the order of their ids.
    pub fn hand_out(&mut self, queue: Queue, waiting: &Waiting) -> Vec<JobTickets> {
        faults::point("hand_out");
        let node = |place: Place| {
            if waiting.is_by(&self.entries) && place.index() < self.entries.len() {
                return self.tree.position(place.index());
            }
            let (id, _) = waiting.at(place)?;
            self.tree.node(self.by_id.get(id)?.node)
        };
        let (pools, tickets) = queue.hand_out(&self.tree, &self.fair_share, node);
        self.pools = Some(pools);
        tickets
    }

    /// Tells pools what the associations are called.
    fn teach<V: Levels<Assoc: Open>>(&self, lock: &AssocLock<'_, V>, pools: &mut Pools) {
        let mut names = vec![(String::new(), String::new()); self.tree.len()];
        self.for_each_node(lock, |association, node| {
            let user = association.text(|assoc| assoc.user).into_owned();
            names[node.index()] = (user, association.text(|assoc| assoc.acct).into_owned());
        });
        pools.learn(&self.tree, |node| {
            let known = names.get(node.index());
            known.map_or(Names::default(), |(user, account)| Names { user, account })
        });
    }

    fn distribute_now<V: Levels<Assoc: Open>>(&mut self, lock: &AssocLock<'_, V>, waiting: &Waiting) {
        // Taken out, so that a panic leaves one that knows nothing instead of one that is half new.
        let mut new = std::mem::take(self);
        new.read(lock, waiting);
        faults::point("distribute.half");
        new.fair_share.distribute(&new.tree, &new.usage, &new.waiting);
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
            if let Some(mut pools) = self.pools.take() {
                self.teach(lock, &mut pools);
                self.pools = Some(pools);
            }
            self.of_cycle = Some(of_cycle);
            self.unknown = unknown;
            if self.slot(address, id).is_some() {
                self.unknown.remove(&address);
            }
        }
        self.node(address, id)
    }

    /// The fair-share factor of a job as it is now, 0 without an association. A job that `waits` makes its user take part. `known`:
    /// the tickets of a job that the last cycle knew already.
    pub fn fair_share<V: Levels<Assoc: Open, Qos: Open>>(
        &mut self,
        lock: &AssocLock<'_, V>,
        job: Job<'_>,
        (waits, now): (bool, i64),
        known: Option<JobTickets>,
    ) -> Share {
        // Mostly without a look at the association itself.
        let (address, id) = job.named_association();
        if self.pools.is_some() {
            // What is counted of those that the cycle knew is counted there.
            if let Some(of_cycle) = self.of_cycle.as_deref_mut().filter(|of| of.node(address, id).is_some()) {
                return of_cycle.fair_share(lock, job, (waits, now), known);
            }
        }
        let node = self.node(address, id).or_else(|| {
            let association = job.association(lock)?;
            self.node_now(lock, (association.address(), association.get(|assoc| assoc.id)))
        });
        let Some(node) = node else { return Share::default() };
        if let Some(waiting) = self.waiting.get_mut(node.index()).filter(|_| waits) {
            // For a tree that is read again before the next cycle.
            *waiting = (*waiting).max(1);
        }
        let Some((pools, settings)) = self.pools.as_mut().zip(self.settings.as_ref()) else {
            return Share { factor: self.fair_share.submit(&self.tree, node, waits), ..Share::default() };
        };
        let reader = Reader::new(lock.host(), pools, settings, now);
        let who = Who { node, extra: reader.extra(pools, lock, job), size: reader.size(job), count: 1 };
        let tickets = known.unwrap_or_else(|| {
            if job.state().holds_resources() {
                pools.of_running(&self.tree, &self.fair_share, who)
            } else {
                pools.of_next(&self.tree, &self.fair_share, who)
            }
        });
        let joins = waits && known.is_none();
        if joins {
            self.fair_share.join(&self.tree, node);
            pools.join(&self.tree, &self.fair_share, who, tickets);
        }
        Share { factor: pools.factor_now(tickets), tickets: Some(tickets), joins }
    }

    /// The factor of the next job of an association.
    fn factor(&self, node: Node) -> f64 {
        match &self.pools {
            None => self.fair_share.priority(node),
            Some(pools) => {
                let next = Who { node, extra: Extra::default(), size: 0.0, count: 1 };
                pools.factor(pools.of_next(&self.tree, &self.fair_share, next))
            }
        }
    }

    /// What the last cycle knew of a place in its `waiting`, and of a job there with these tickets of pools; `None` where it had no
    /// such association.
    pub fn known_at(
        &self,
        waiting: &Waiting,
        place: Place,
        tickets: Option<JobTickets>,
    ) -> Option<facts::Standing> {
        let of_cycle = self.of_cycle.as_deref().unwrap_or(self);
        if waiting.is_by(&of_cycle.entries) && place.index() < of_cycle.entries.len() {
            return of_cycle.known(place.index(), of_cycle.tree.position(place.index())?, tickets);
        }
        let (id, _) = waiting.at(place)?;
        let slot = of_cycle.by_id.get(id)?;
        of_cycle.known(slot.at as usize, of_cycle.tree.node(slot.node)?, tickets)
    }

    /// What is known of the association with an id.
    pub fn known_by_id(&self, id: u32) -> Option<facts::Standing> {
        let slot = self.by_id.get(id)?;
        self.known(slot.at as usize, self.tree.node(slot.node)?, None)
    }

    fn known(&self, at: usize, node: Node, tickets: Option<JobTickets>) -> Option<facts::Standing> {
        let assoc = match self.assoc {
            AssocFactor::None => 0.0,
            _ => *self.assoc_factors.get(at)?,
        };
        let fair_share = match (&self.pools, tickets) {
            (Some(pools), Some(tickets)) => pools.factor(tickets),
            _ => self.factor(node),
        };
        Some(facts::Standing { assoc, fair_share })
    }

    /// What gives tickets to single jobs, where the settings ask for that.
    pub fn pools(&self) -> Option<&Pools> {
        self.pools.as_ref()
    }

    /// What a job was granted, with the pools that gave it.
    pub fn granted(&self, tickets: Option<JobTickets>) -> Option<Granted<'_>> {
        let of_cycle = self.of_cycle.as_deref().unwrap_or(self);
        of_cycle.pools.as_ref().zip(tickets).map(|(pools, tickets)| Granted { pools, tickets })
    }

    /// Writes what `sshare` shows into the records: normalised shares and usage, effective usage, fair-share factors.
    /// Associations that came since the distribution are left for the next.
    pub fn publish(&self, lock: &AssocLock<'_, Shown>) {
        let Some(list) = lock.all() else { return };
        views::shown_associations(lock.host()).walk_list(list, |association| {
            faults::point("publish.association");
            if let Some(node) = self.node(association.address(), association.get(|assoc| assoc.id)) {
                self.publish_one(association, node);
            }
        });
    }

    fn publish_one(&self, association: Association<'_, Write>, node: Node) {
        let Some(usage) = association.usage() else { return };
        usage.set(|u| u.shares_norm, self.tree.shares_norm(node));
        usage.set_ld(|u| u.usage_norm, self.fair_share.competition().usage_norm(node));
        usage.set_ld(|u| u.usage_efctv, self.fair_share.competition().usage_effective(&self.tree, node));
        usage.set_ld(|u| u.level_fs, self.fair_share.competition().level_fs(&self.tree, node));
        if self.tree.is_user(node) {
            usage.set(|u| u.fs_factor, self.factor(node));
        }
    }

    /// As [`Standing::publish`] for one association.
    pub fn publish_single(&mut self, lock: &AssocLock<'_, Shown>, association: Association<'_, Write>) {
        let named = (association.address(), association.get(|assoc| assoc.id));
        if let Some(node) = self.node_now(lock, named) {
            self.publish_one(association, node);
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
    fn for_each_node<V: Levels<Assoc: Open>>(
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
    fn read<V: Levels<Assoc: Open>>(&mut self, lock: &AssocLock<'_, V>, waiting: &Waiting) {
        let Some(list) = lock.all() else {
            self.clear();
            return;
        };
        let mut seen = Vec::with_capacity(self.entries.len());
        let mut usage = Vec::with_capacity(self.entries.len());
        self.assoc_factors.clear();
        views::shares_and_usage(lock.host()).walk_list(list, |association| {
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
                shares: entry.facts.shares,
                user: entry.facts.user,
            })
            .collect();
        self.tree = ShareTree::build(&nodes);
        self.by_id = Index::of(&entries, &self.tree);
        self.entries = Arc::new(entries);
    }
}
