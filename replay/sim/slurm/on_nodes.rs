//! One pass of backfill over nodes, as `_attempt_backfill` of `backfill.c` makes it.
//!
//! A table has a row for each stretch of time, with the nodes that no waiting job has reserved in it. A job is tested on the nodes that are
//! in all rows it would run in, at the first time at which they could take it if running jobs end with their limits. If that time is now,
//! the job starts. If it is later than the next change of the table, the job is tested again from there on. Otherwise its nodes are
//! reserved, whole, whatever part of them it needs.
//!
//! Running jobs are not in the table. Their resources are released job by job, the earliest ends first, and the job is tried on what is
//! free: after all that end in a window of 30 s, then of twice that each time, or longer by `bf_window_linear` (`_will_run_test` of
//! `job_test.c`). Up to 24.11 the job is planned for the end of the last job that was released; from 25.05 on for that of the last one
//! whose nodes it gets. From 24.11 on a test for a later time begins without all jobs that are over by then, and ends with the next change
//! of the table.

use std::rc::Rc;

use fixedbitset::FixedBitSet;
use rustc_hash::{FxHashMap, FxHashSet};

use super::considered::{reserves, Considered};
use super::parameters::Parameters;
use crate::sim::allocation::Allocation;
use crate::sim::nodes::{Chooser, Ends, Free, Nodes, Part, Search};
use crate::sim::world::{Entry, World};
use crate::workload::Want;

/// The first window of ends, and what the first end is rounded up to, in seconds.
const WINDOW: i64 = 30;

/// Longer windows are not made.
const LONGEST_WINDOW: i64 = 365 * 86_400;

/// How often a job is tested in a pass. slurmctld gives up after `bf_max_time`; nothing that it can plan takes this many tests.
const MOST_TESTS: usize = 10_000;

/// Times of which a pass keeps what is free then.
const MOST_TIMES: usize = 200;

/// A stretch of time, and the nodes that nobody has reserved in it.
#[derive(Clone, Debug)]
struct FreeNodes {
    begin: i64,
    end: i64,
    free: FixedBitSet,
}

/// A place in time and on nodes.
struct StartOnNodes {
    at: i64,
    parts: Vec<Part>,
}

/// What becomes of a job in a pass.
enum Verdict {
    /// It starts.
    Starts(Vec<Part>),
    /// Its nodes are reserved.
    Waits,
    /// It has no place within the window.
    Nowhere,
}

/// What a pass over nodes knows.
#[derive(Debug)]
pub struct OnNodes {
    parameters: Parameters,
    considered: Considered,
    table: Vec<FreeNodes>,
    reserved: FxHashSet<u32>,
    /// Wants that do not fit now: as the pass goes on less and less is free.
    full: FxHashSet<(Want, u16)>,
    /// From when on to search for a job like this, as one was before.
    found: FxHashMap<(Want, u16, i64), i64>,
    chooser: Chooser,
    ends: Ends,
    /// What is free at a later time, unless a job starts.
    then: FxHashMap<i64, Free>,
    /// What is free when more and more has ended.
    later: Free,
    /// Nodes of the partition that nobody keeps, and those of them that no waiting job has reserved either.
    members: FixedBitSet,
    usable: FixedBitSet,
}

impl OnNodes {
    pub fn new(parameters: Parameters) -> Self {
        Self {
            considered: Considered::new(parameters.clone()),
            chooser: Chooser::new(parameters.takes_the_first_node),
            parameters,
            table: Vec::new(),
            reserved: FxHashSet::default(),
            full: FxHashSet::default(),
            found: FxHashMap::default(),
            ends: Ends::default(),
            then: FxHashMap::default(),
            later: Free::default(),
            members: FixedBitSet::new(),
            usable: FixedBitSet::new(),
        }
    }

    /// Starts a job in the main scheduler, on nodes of its partition that are not `closed`.
    pub fn start_now(&mut self, world: &mut World<'_>, entry: Entry, closed: &FixedBitSet) -> bool {
        let Some(nodes) = &world.nodes else { return false };
        let want = world.setup.want(entry.job, entry.partition);
        if self.full.contains(&(want, entry.partition)) {
            return false;
        }
        self.usable.clone_from(nodes.members(entry.partition));
        self.usable.difference_with(closed);
        nodes.take_reserved(&mut self.usable, world.now, world.now + world.need(entry).1);
        without_ending(&mut self.usable, nodes);
        let search = Search { setup: world.setup, nodes: &self.usable, want, partition: entry.partition };
        let Some(parts) = self.chooser.choose(&search, &nodes.free, |_| false) else {
            self.full.insert((want, entry.partition));
            return false;
        };
        world.start(entry, Allocation::Nodes(parts.into()));
        true
    }

    /// A pass of the main scheduler begins.
    pub fn begin(&mut self) {
        self.full.clear();
    }

    /// Seconds that the last pass took.
    pub fn lasted(&self) -> i64 {
        self.considered.lasted()
    }

    /// One pass.
    pub fn pass(&mut self, world: &mut World<'_>) {
        if !self.considered.select(world) {
            return;
        }
        self.reserved.clear();
        self.full.clear();
        self.found.clear();
        self.forget_ends();
        self.begin_table(world);
        let mut started = 0;
        loop {
            let Self { considered, chooser, full, .. } = self;
            let Some(entry) = considered.next(world, |entry| may_fit(chooser, full, world, entry)) else {
                break;
            };
            let is_old = reserves(&self.parameters, world, entry);
            let may_wait =
                is_old && !(self.parameters.bf_one_resv_per_job && self.reserved.contains(&entry.job));
            match self.test(world, entry, may_wait) {
                Verdict::Starts(parts) => {
                    self.start(world, entry, parts);
                    started += 1;
                    if self.parameters.bf_max_job_start > 0 && started >= self.parameters.bf_max_job_start {
                        break;
                    }
                }
                Verdict::Waits => {
                    self.reserved.insert(entry.job);
                    self.considered.count_of(world.setup.job(entry.job).array);
                }
                Verdict::Nowhere => (),
            }
        }
    }

    fn begin_table(&mut self, world: &World<'_>) {
        let mut free = FixedBitSet::with_capacity(world.setup.machine.nodes.len());
        free.insert_range(..);
        self.table.clear();
        let end = self.parameters.rounded_down(world.now + i64::from(self.parameters.bf_window) * 60);
        self.table.push(FreeNodes { begin: self.parameters.rounded_down(world.now), end, free });
    }

    /// A job starts. Who has whole nodes is in the table.
    fn start(&mut self, world: &mut World<'_>, entry: Entry, parts: Vec<Part>) {
        let parts: Rc<[Part]> = parts.into();
        if world.setup.machine.partitions[usize::from(entry.partition)].exclusive {
            let end = self.parameters.rounded_down(world.now + world.need(entry).1);
            self.reserve(i64::MIN, end, &parts);
        }
        world.start(entry, Allocation::Nodes(parts));
        self.forget_ends();
    }

    /// Others run than before.
    fn forget_ends(&mut self) {
        self.ends.forget();
        self.then.clear();
    }

    /// Looks for a place for a job, and reserves it unless it is now.
    fn test(&mut self, world: &World<'_>, entry: Entry, may_wait: bool) -> Verdict {
        let Some(nodes) = &world.nodes else { return Verdict::Nowhere };
        let (now, want) = (world.now, world.setup.want(entry.job, entry.partition));
        let (_, length) = world.need(entry);
        let key = (want, entry.partition, length);
        let window = i64::from(self.parameters.bf_window) * 60;
        let mut from = self.found.get(&key).copied().unwrap_or(now);
        for _ in 0..MOST_TESTS {
            let until = from.max(now) + length;
            let (begin, mut next) =
                (from, self.select_nodes(nodes, entry.partition, from, until, now + window));
            let place = self.place(world, nodes, want, entry.partition, begin, next, may_wait);
            let Some(StartOnNodes { mut at, parts }) = place else {
                match next {
                    Some(later) if may_wait => {
                        from = later;
                        continue;
                    }
                    _ => return Verdict::Nowhere,
                }
            };
            at = at.max(begin);
            if at > now && self.parameters.tests_from_then_on && self.overlaps(&parts, at, length) {
                from = if at == begin { at + i64::from(self.parameters.bf_resolution) } else { at };
                continue;
            }
            if at <= now {
                if !parts.iter().any(|part| nodes.is_ending(part.node as usize)) {
                    return Verdict::Starts(parts);
                }
                // Its nodes are still being cleaned up.
                (at, next) = (now + 1, None);
            }
            if !may_wait {
                return Verdict::Nowhere;
            }
            if let Some(later) = next.filter(|later| at > *later) {
                from = later;
                continue;
            }
            if at > now + window {
                return Verdict::Nowhere;
            }
            if self.overlaps(&parts, at, length) {
                from = if at == begin { at + i64::from(self.parameters.bf_resolution) } else { at };
                continue;
            }
            let (begin, end) = self.rounded(at, length);
            self.reserve(begin, end, &parts);
            self.found.insert(key, from);
            return Verdict::Waits;
        }
        Verdict::Nowhere
    }

    /// A reservation's begin and end.
    fn rounded(&self, at: i64, length: i64) -> (i64, i64) {
        (self.parameters.rounded_down(at), self.parameters.rounded_end(at + length))
    }

    /// The nodes that nobody has reserved while a job would run; and when to test it again, if it cannot start before.
    fn select_nodes(
        &mut self,
        nodes: &Nodes,
        partition: u16,
        from: i64,
        until: i64,
        horizon: i64,
    ) -> Option<i64> {
        let mut next = None;
        self.members.clone_from(nodes.members(partition));
        let overlaps = nodes.take_reserved(&mut self.members, from, until);
        let members = &self.members;
        self.usable.clone_from(members);
        for at in 0..self.table.len() {
            let row = &self.table[at];
            if row.end > from && next.is_none() {
                if let Some(after) = self.table.get(at + 1) {
                    next = gains(&after.free, members, &self.usable, &row.free).then_some(row.end);
                }
            }
            if row.end <= from {
                continue;
            }
            if row.begin > until {
                if self.parameters.tests_from_then_on && next.is_none() && at + 2 < self.table.len() {
                    next = Some(self.table[at + 1].end);
                }
                break;
            }
            self.usable.intersect_with(&row.free);
        }
        // The next end of a reservation of the administrator, if one was in its way.
        let end = nodes.reserved_until(from).map(|end| self.parameters.rounded_up(end).saturating_add(1));
        let end = end.filter(|end| overlaps && *end < horizon);
        next.into_iter().chain(end).min()
    }

    /// Whether a reservation would take nodes of another.
    fn overlaps(&self, parts: &[Part], at: i64, length: i64) -> bool {
        let (begin, end) = self.rounded(at, length);
        self.table
            .iter()
            .filter(|row| row.end > begin && row.begin < end)
            .any(|row| parts.iter().any(|part| !row.free.contains(part.node as usize)))
    }

    /// Takes nodes out of the table.
    fn reserve(&mut self, begin: i64, end: i64, parts: &[Part]) {
        let begin = begin.max(self.table[0].begin);
        let end = end.max(begin + i64::from(self.parameters.bf_resolution));
        self.cut(begin);
        self.cut(end);
        for row in self.table.iter_mut().filter(|row| row.begin >= begin && row.end <= end) {
            for part in parts {
                row.free.set(part.node as usize, false);
            }
        }
        self.table.dedup_by(|after, before| {
            let same = after.free == before.free;
            if same {
                before.end = after.end;
            }
            same
        });
    }

    /// Makes a row begin at a time within the table.
    fn cut(&mut self, at: i64) {
        let Some(place) = self.table.iter().position(|row| row.begin < at && at < row.end) else { return };
        let after = FreeNodes { begin: at, ..self.table[place].clone() };
        self.table[place].end = at;
        self.table.insert(place + 1, after);
    }

    /// Where and when the nodes that are selected can take a job, from a time on, until another where the release stops there.
    #[allow(clippy::too_many_arguments)] // what slurmctld gives the select plugin
    fn place(
        &mut self,
        world: &World<'_>,
        nodes: &Nodes,
        want: Want,
        partition: u16,
        from: i64,
        until: Option<i64>,
        may_wait: bool,
    ) -> Option<StartOnNodes> {
        let Self { chooser, usable, ends, then, later, parameters, .. } = self;
        if usable.count_ones(..) < usize::try_from(want.nodes).unwrap_or_default() {
            return None;
        }
        let now = world.now;
        let search = Search { setup: world.setup, nodes: usable, want, partition };
        let from_then_on = parameters.tests_from_then_on && from > now;
        ends.learn(nodes);
        let free = if from_then_on { free_then(then, ends, &nodes.free, from) } else { &nodes.free };
        // From 24.11 on nodes that are being cleaned up come last.
        let last = |node: usize| parameters.tests_from_then_on && !from_then_on && nodes.is_ending(node);
        if let Some(parts) = chooser.choose(&search, free, last) {
            return Some(StartOnNodes { at: now, parts });
        }
        if !may_wait && !from_then_on {
            return None;
        }
        let until = until.filter(|_| parameters.tests_from_then_on).unwrap_or(i64::MAX);
        let mut places = if from_then_on { ends.after(from) } else { 0 }..ends.after(until);
        if places.is_empty() {
            return None;
        }
        later.copy(free);
        let (mut origin, mut window) = (None, WINDOW);
        let mut gone: Vec<usize> = Vec::new();
        loop {
            let before = gone.len();
            while let Some(job) = ends.next_on(usable, places.clone()) {
                let end = ends.end(job)?;
                let origin = *origin.get_or_insert(end - end.rem_euclid(WINDOW) + WINDOW);
                for place in ends.of(job) {
                    ends.give(place, later);
                    if usable.contains(ends.node(place)) {
                        chooser.look_at(&search, later, ends.node(place));
                    }
                }
                gone.push(job);
                places.start = ends.of(job).end;
                if ends.end(job + 1).is_some_and(|after| after > origin + window) {
                    break;
                }
            }
            let last = *gone.last().filter(|_| gone.len() > before)?;
            if let Some(parts) = chooser.chosen(&search, later, |_| false) {
                let is_mine = |job: &&usize| {
                    ends.of(**job)
                        .any(|place| parts.iter().any(|mine| mine.node as usize == ends.node(place)))
                };
                let needed = gone.iter().rev().find(is_mine).copied().unwrap_or(last);
                let at = ends.end(if parameters.in_windows { last } else { needed })?;
                return Some(StartOnNodes { at: at.max(now + 1), parts });
            }
            let origin = origin.unwrap_or(now);
            let after = ends.end(last + 1)?;
            loop {
                window += match parameters.bf_window_linear {
                    0 => window,
                    linear => i64::from(linear),
                };
                if window > LONGEST_WINDOW || after <= origin + window {
                    break;
                }
            }
            if after > until {
                return None;
            }
        }
    }
}

/// Whether a job might start now, if nobody had reserved anything.
fn may_fit(
    chooser: &mut Chooser,
    full: &mut FxHashSet<(Want, u16)>,
    world: &World<'_>,
    entry: Entry,
) -> bool {
    let (Some(nodes), want) = (&world.nodes, world.setup.want(entry.job, entry.partition)) else {
        return false;
    };
    if full.contains(&(want, entry.partition)) {
        return false;
    }
    let members = nodes.members(entry.partition);
    let search = Search { setup: world.setup, nodes: members, want, partition: entry.partition };
    let fits = chooser.choose(&search, &nodes.free, |_| false).is_some();
    if !fits {
        full.insert((want, entry.partition));
    }
    fits
}

/// What is free at a time, if running jobs end with their limits.
fn free_then<'f>(known: &'f mut FxHashMap<i64, Free>, ends: &Ends, now: &Free, at: i64) -> &'f Free {
    if known.len() > MOST_TIMES {
        known.clear();
    }
    known.entry(at).or_insert_with(|| {
        let mut free = now.clone();
        (0..ends.after(at)).for_each(|place| ends.give(place, &mut free));
        free
    })
}

/// Whether members are free that are not both usable and free in the row before. A word of nodes at a time: large machines have many rows.
fn gains(free: &FixedBitSet, members: &FixedBitSet, usable: &FixedBitSet, before: &FixedBitSet) -> bool {
    let pairs = free.as_slice().iter().zip(members.as_slice());
    let others = usable.as_slice().iter().zip(before.as_slice());
    pairs.zip(others).any(|((free, member), (usable, before))| free & member & !(usable & before) != 0)
}

/// Takes nodes out of a set on which jobs are being cleaned up.
fn without_ending(usable: &mut FixedBitSet, nodes: &Nodes) {
    for node in 0..usable.len() {
        if nodes.is_ending(node) {
            usable.set(node, false);
        }
    }
}
