//! Override tickets: what the administrator adds for users, accounts, QOS, partitions, wckeys or single jobs (`Override=`), on top of all
//! other tickets.
//!
//! The tickets of an object are divided among its jobs as they start. With n jobs that run or come earlier in the queue, a job claims
//! tickets/(n + 1). The job with the largest claim comes first, and its objects count one job more. A running job has tickets/n if n run.
//! Without sharing each job has all.
//!
//! A job's turn decides its part of the tickets of a partition or QOS; its entries for other partitions or QOS do not get that part.
//!
//! These are the rules of Grid Engine's override policy for users, projects, departments and single jobs. Other objects, dates, and
//! `Shared` per line are our additions.

use rustc_hash::FxHashMap;

use super::groups::Groups;
use super::ranking::{Part, Ranking};
use super::names::{is_job, Bearer, JobNames, Named, Names};
use super::{Extra, Ground, Pool, PoolQueue, Who};
use crate::seldom;
use crate::settings::value::Date;
use crate::settings::{Override, OverrideKind, Settings};
use crate::tree::{Node, ShareTree};

/// One name of a line of `Override=`.
#[derive(Clone, Debug)]
struct Object {
    /// The place of its line among all.
    line: usize,
    name: String,
    tickets: f64,
    shared: bool,
    /// There is an association that it names.
    exists: bool,
    /// Jobs that run.
    running: f64,
    /// Jobs that run or have got their tickets.
    active: f64,
    /// The turns of its jobs that wait, and how many these were up to each, where they share it and have it in some of their
    /// entries only.
    turns: Option<Vec<(Turn, u32)>>,
}

impl Object {
    /// What it gives to the next of its jobs.
    fn next(&self) -> f64 {
        self.tickets(self.active + 1.0)
    }

    /// What it has given to a job whose turn it was, if it knows the turns of its jobs.
    fn at(&self, turn: Turn) -> f64 {
        if turn == Turn::RUNS {
            return self.tickets(self.running);
        }
        let turns = self.turns.as_deref().unwrap_or_default();
        let earlier = turns.partition_point(|(of, _)| *of < turn).checked_sub(1);
        let waiting = earlier.map_or(0, |last| turns[last].1);
        self.tickets(self.running + f64::from(waiting) + 1.0)
    }

    fn tickets(&self, jobs: f64) -> f64 {
        if self.shared {
            self.tickets / jobs.max(1.0)
        } else {
            self.tickets
        }
    }
}

/// A line of `Override=` takes effect, or its time is over.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The line.
    pub line: Override,
    /// It takes effect.
    pub begins: bool,
}

/// Which names of jobs matter, so that no others are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // one for each name
pub struct OwnTickets {
    /// The partition's.
    pub partition: bool,
    /// The QOS's.
    pub qos: bool,
    /// The wckey's.
    pub wckey: bool,
    /// The job's id and array.
    pub id: bool,
    /// `AdminCommentTickets=yes`
    pub admin_comment: bool,
}

impl OwnTickets {
    /// None of them.
    pub fn none(self) -> bool {
        self == Self::default()
    }

    /// A job may have other tickets in each of its partitions and QOS.
    pub fn by_entry(self) -> bool {
        self.partition || self.qos
    }
}

/// When a job got its override tickets: before those of later turns, who divide what is left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Turn(u32);

impl Turn {
    /// It runs, or nobody asks for its turn.
    const RUNS: Self = Self(0);

    fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// Objects by their place in [`OverrideTickets::objects`], in that order.
type Set = Vec<u32>;

/// Tickets that lines of settings give to named objects.
#[derive(Clone, Debug, Default)]
pub(super) struct OverrideTickets {
    lines: Vec<Override>,
    /// Which lines are in force.
    in_force: Vec<bool>,
    objects: Vec<Object>,
    admin_comment: bool,
    begun: bool,
    /// See [`super::Pools::own_tickets`].
    own_tickets: OwnTickets,
    /// Objects in force that are no associations' and no jobs'.
    of_names: Set,
    /// Lines in force for single jobs, by the number that their names begin with.
    of_ids: FxHashMap<u32, Set>,
    /// Sets of objects, each once; the first is empty.
    sets: Vec<Set>,
    /// The set of every association.
    of_node: Vec<u32>,
    /// What jobs have in addition: a set, and the job's own tickets. The first is nothing.
    extras: Vec<(Set, f64)>,
    known: FxHashMap<(Set, u64), u32>,
    /// The last turn.
    turn: Turn,
    /// Those of the waiting jobs of the last cycle, until they are taken.
    turns: Vec<Turn>,
}

impl OverrideTickets {
    /// See [`super::Pools::begin`].
    pub(super) fn begin(&mut self, now: Date) -> Vec<Change> {
        let mut changes = Vec::new();
        for (at, line) in self.lines.iter().enumerate() {
            let in_force =
                line.from.is_none_or(|from| from <= now) && line.until.is_none_or(|until| now <= until);
            let was = std::mem::replace(&mut self.in_force[at], in_force);
            let is_dated = line.from.is_some() || line.until.is_some();
            if was != in_force || (!self.begun && is_dated) {
                changes.push(Change { line: line.clone(), begins: in_force });
            }
        }
        self.begun = true;
        self.sort_by_names();
        self.extras.clear();
        self.extras.push((Set::new(), 0.0));
        self.known.clear();
        changes
    }

    /// Finds the objects in force that jobs have by their own names.
    fn sort_by_names(&mut self) {
        self.own_tickets = OwnTickets { admin_comment: self.admin_comment, ..OwnTickets::default() };
        self.of_names.clear();
        self.of_ids.clear();
        for (object, at) in self.objects.iter().zip(0..) {
            if !self.in_force[object.line] || object.tickets <= 0.0 {
                continue;
            }
            let own = &mut self.own_tickets;
            let asks = match self.lines[object.line].kind {
                OverrideKind::Partition => &mut own.partition,
                OverrideKind::Qos => &mut own.qos,
                OverrideKind::WcKey => &mut own.wckey,
                OverrideKind::Job => &mut own.id,
                OverrideKind::User | OverrideKind::Account | OverrideKind::Parent => continue,
            };
            *asks = true;
            if self.lines[object.line].kind != OverrideKind::Job {
                self.of_names.push(at);
            } else if let Ok(id) = object.name.split('_').next().unwrap_or_default().parse() {
                self.of_ids.entry(id).or_default().push(at);
            }
        }
    }

    /// Objects that associations have, by name in lower case.
    fn by_name(&self) -> FxHashMap<String, Vec<(OverrideKind, u32)>> {
        let mut by_name: FxHashMap<String, Vec<(OverrideKind, u32)>> = FxHashMap::default();
        for (object, at) in self.objects.iter().zip(0..) {
            let kind = self.lines[object.line].kind;
            if matches!(kind, OverrideKind::User | OverrideKind::Account | OverrideKind::Parent) {
                by_name.entry(object.name.to_ascii_lowercase()).or_default().push((kind, at));
            }
        }
        by_name
    }

    /// See [`super::Pools::own_tickets`].
    pub(super) fn own_tickets(&self) -> OwnTickets {
        self.own_tickets
    }

    /// See [`super::Pools::extra`].
    pub(super) fn extra(&mut self, names: JobNames<'_>) -> Extra {
        let (mut set, mut own) = (Set::new(), if self.admin_comment { f64::from(names.own) } else { 0.0 });
        let object = |at: u32| &self.objects[at as usize];
        set.extend(self.of_names.iter().filter(|at| self.is_of_job(object(**at), names)));
        // Those of a job by itself are not divided.
        let array = names.array.map(|(array, _)| array).filter(|array| *array != names.id);
        for at in [Some(names.id), array].into_iter().flatten().filter_map(|id| self.of_ids.get(&id)).flatten() {
            if is_job(&object(*at).name, names) {
                own += object(*at).tickets;
            }
        }
        if set.is_empty() && own == 0.0 {
            return Extra::default();
        }
        let extras = &mut self.extras;
        let next = u32::try_from(extras.len()).unwrap_or_default();
        let place = self.known.entry((set, own.to_bits()));
        Extra(*place.or_insert_with_key(|(set, _)| {
            extras.push((set.clone(), own));
            next
        }))
    }

    /// The turns of the waiting jobs of the last cycle, in their order; none where nobody asks for them.
    pub(super) fn take_turns(&mut self) -> Vec<Turn> {
        std::mem::take(&mut self.turns)
    }

    /// The turn of a job that begins to wait now.
    pub(super) fn next_turn(&self) -> Turn {
        self.turn.next()
    }

    /// What a job with such tickets has in one of its partitions and QOS: what these add counts in their own entry only.
    pub(super) fn in_entry(&self, tickets: f64, (extra, turn): (Extra, Turn), entry: JobNames<'_>) -> f64 {
        let has = self.extras.get(extra.0 as usize).map_or(&[][..], |(set, _)| set.as_slice());
        let changed = self.of_names.iter().map(|at| {
            let object = &self.objects[*at as usize];
            if self.lines[object.line].kind == OverrideKind::WcKey {
                return 0.0;
            }
            match (has.contains(at), self.is_of_job(object, entry)) {
                (false, true) => object.next(),
                (true, false) => -object.at(turn),
                _ => 0.0,
            }
        });
        (tickets + changed.sum::<f64>()).max(0.0)
    }

    /// Whether a job has the tickets of one of [`Self::of_names`].
    fn is_of_job(&self, object: &Object, names: JobNames<'_>) -> bool {
        match self.lines[object.line].kind {
            OverrideKind::Partition => object.name == names.partition,
            OverrideKind::Qos => object.name.eq_ignore_ascii_case(names.qos),
            OverrideKind::WcKey => object.name == names.wckey,
            _ => false,
        }
    }

    /// The objects of a job, and its own tickets.
    fn of(&self, node: Node, extra: Extra) -> (impl Iterator<Item = usize> + '_, f64) {
        let set = self.of_node.get(node.index()).and_then(|set| self.sets.get(*set as usize));
        let (more, own) =
            self.extras.get(extra.0 as usize).map_or((None, 0.0), |(set, own)| (Some(set), *own));
        (set.into_iter().chain(more).flatten().map(|object| *object as usize), own)
    }

    /// The tickets of a job if each of its objects gives it this amount.
    fn sum(&self, node: Node, extra: Extra, gives: impl Fn(&Object) -> f64) -> f64 {
        let (objects, own) = self.of(node, extra);
        objects.fold(0.0, |sum, at| sum + gives(&self.objects[at])) + own
    }

    /// What an object gives to the next of its jobs.
    fn next_of(&self, object: u32) -> f64 {
        self.objects[object as usize].next()
    }

    /// Jobs begin to count; returns their objects.
    fn count(&mut self, node: Node, extra: Extra, jobs: u32) -> Set {
        let objects: Set = self.of(node, extra).0.filter_map(|at| u32::try_from(at).ok()).collect();
        for at in &objects {
            self.objects[*at as usize].active += f64::from(jobs);
        }
        objects
    }

    /// The same of jobs that wait: it is their turn.
    fn count_waiting(&mut self, node: Node, extra: Extra, jobs: u32) -> Set {
        self.turn = self.turn.next();
        let objects = self.count(node, extra, jobs);
        for at in &objects {
            if let Some(turns) = &mut self.objects[*at as usize].turns {
                let before = turns.last().map_or(0, |(_, jobs)| *jobs);
                turns.push((self.turn, before.saturating_add(jobs)));
            }
        }
        objects
    }

    /// The category of every job: jobs of one have the same objects and tickets. Those that have none are in none.
    fn categories(&self, queue: &PoolQueue<'_>) -> (Vec<(Node, Extra)>, Vec<Option<u32>>) {
        let mut heads = Vec::new();
        let mut plain = vec![None; self.sets.len()];
        let mut others: FxHashMap<(u32, u32), u32> = FxHashMap::default();
        let categories = queue.waiting.iter().map(|job| {
            let set = self.of_node.get(job.node.index()).copied().unwrap_or_default();
            if set == 0 && job.extra == Extra::default() {
                return None;
            }
            let mut add = || {
                heads.push((job.node, job.extra));
                u32::try_from(heads.len() - 1).unwrap_or_default()
            };
            Some(if job.extra == Extra::default() {
                *plain[set as usize].get_or_insert_with(add)
            } else {
                *others.entry((set, job.extra.0)).or_insert_with(&mut add)
            })
        });
        let categories = categories.collect();
        (heads, categories)
    }
}

impl Pool for OverrideTickets {
    fn is_asked_for(settings: &Settings) -> bool {
        !settings.overrides.is_empty() || settings.admin_comment_tickets
    }

    fn configure(&mut self, settings: &Settings) {
        *self = Self {
            lines: settings.overrides.clone(),
            in_force: vec![false; settings.overrides.len()],
            admin_comment: settings.admin_comment_tickets,
            ..Self::default()
        };
        for (line, at) in self.lines.iter().zip(0..) {
            let by_entry = matches!(line.kind, OverrideKind::Partition | OverrideKind::Qos);
            for name in &line.names {
                let shared = line.shared.unwrap_or(settings.share_override_tickets);
                self.objects.push(Object {
                    line: at,
                    name: name.clone(),
                    #[allow(clippy::cast_precision_loss)] // at most 10^9
                    tickets: line.tickets as f64,
                    shared,
                    exists: false,
                    running: 0.0,
                    active: 0.0,
                    turns: (shared && by_entry).then(Vec::new),
                });
            }
        }
        // By kind, so that claims are added up in one order whatever the order of the lines.
        let lines = &self.lines;
        seldom::sort_by_key(&mut self.objects, |object| lines[object.line].kind as u8);
        self.sort_by_names();
    }

    fn learn<'n>(&mut self, tree: &ShareTree, names: &dyn Fn(Node) -> Names<'n>) {
        let mut known: FxHashMap<Set, u32> = FxHashMap::default();
        known.insert(Set::new(), 0);
        self.objects.iter_mut().for_each(|object| object.exists = false);
        let by_name = self.by_name();
        let mut found: Vec<(OverrideKind, u32)> = Vec::new();
        self.sets = vec![Set::new()];
        // Parents come before their children: what names a parent holds for all below it.
        let mut parents: Vec<Set> = Vec::with_capacity(tree.len());
        self.of_node = Vec::with_capacity(tree.len());
        for node in tree.nodes() {
            let names = names(node);
            let is_user = tree.is_user(node);
            let mut inherited =
                tree.parent(node).map_or_else(Set::new, |parent| parents[parent.index()].clone());
            let mut set = Set::new();
            found.clear();
            for name in [names.user, names.account] {
                found.extend(by_name.get(&name.to_ascii_lowercase()).into_iter().flatten());
            }
            for (kind, at) in &found {
                let object = &mut self.objects[*at as usize];
                let is = |name: &str| object.name.eq_ignore_ascii_case(name);
                let (is_meant, holds) = match kind {
                    OverrideKind::User => (is_user && is(names.user), &mut set),
                    OverrideKind::Account => (is(names.account), &mut set),
                    _ => (!is_user && is(names.account), &mut inherited),
                };
                object.exists |= is_meant;
                let is_account_itself = *kind == OverrideKind::Account && !is_user;
                if is_meant && !is_account_itself && self.in_force[object.line] && object.tickets > 0.0 {
                    holds.push(*at);
                }
            }
            if is_user {
                set.extend(&inherited);
            }
            set.sort_unstable();
            // An account may be called as its user is.
            set.dedup();
            let sets = &mut self.sets;
            let place = *known.entry(set).or_insert_with_key(|set| {
                sets.push(set.clone());
                u32::try_from(sets.len() - 1).unwrap_or_default()
            });
            self.of_node.push(place);
            parents.push(inherited);
        }
    }

    fn named(&self) -> Vec<Named<'_>> {
        let named = self.objects.iter().map(|object| {
            let line = &self.lines[object.line];
            let of = match line.kind {
                OverrideKind::User | OverrideKind::Account | OverrideKind::Parent => {
                    Bearer::Association(object.exists)
                }
                OverrideKind::Partition => Bearer::Partition,
                OverrideKind::Qos => Bearer::Qos,
                OverrideKind::WcKey | OverrideKind::Job => Bearer::Job,
            };
            Named {
                place: &line.place.0,
                setting: "Override",
                kind: line.kind.to_string(),
                name: &object.name,
                of,
            }
        });
        named.collect()
    }

    fn is_idle(&self) -> bool {
        self.objects.is_empty() && !self.admin_comment
    }

    fn hand_out(&mut self, queue: &PoolQueue<'_>, before: Option<&[f64]>, tickets: &mut [f64]) {
        for object in &mut self.objects {
            object.active = 0.0;
            object.turns.iter_mut().for_each(Vec::clear);
        }
        self.turn = Turn::default();
        self.turns.clear();
        if self.own_tickets.by_entry() {
            self.turns.resize(queue.waiting.len(), Turn::default());
        }
        for job in queue.running {
            self.count(job.node, job.extra, job.count);
        }
        for object in &mut self.objects {
            object.running = object.active;
        }
        let (heads, categories) = self.categories(queue);
        let groups =
            Groups::of(queue.waiting, heads.len(), before, |job| categories[job].map(|at| at as usize));
        let part = |object: usize| Part { object: u32::try_from(object).unwrap_or_default(), shares: 1.0 };
        let parts = |group: usize| self.of(heads[group].0, heads[group].1).0.map(part);
        let own: Vec<f64> = heads.iter().map(|(node, extra)| self.of(*node, *extra).1).collect();
        let mut ranking = Ranking::new(groups, self.objects.len(), parts, |group, _| own[group]);
        ranking.refresh(|part| self.next_of(part.object));
        while let Some((group, job)) = ranking.next(|group, _| own[group]) {
            let (node, extra) = heads[group];
            tickets[job] = self.sum(node, extra, Object::next);
            let objects = self.count_waiting(node, extra, 1);
            if let Some(turn) = self.turns.get_mut(job) {
                *turn = self.turn;
            }
            for object in objects {
                ranking.change(object, |part| self.next_of(part.object));
            }
        }
    }

    fn of_running(&self, _ground: Ground<'_>, job: Who) -> f64 {
        self.sum(job.node, job.extra, |object| object.tickets(object.running))
    }

    fn of_next(&self, _ground: Ground<'_>, job: Who, _before: f64) -> f64 {
        self.sum(job.node, job.extra, Object::next)
    }

    fn join(&mut self, _ground: Ground<'_>, job: Who) {
        self.count_waiting(job.node, job.extra, job.count);
    }
}
