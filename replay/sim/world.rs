//! The state of a simulation, and its events.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use rustc_hash::FxHashMap;

use super::allocation::Allocation;
use super::limits::Limits;
use super::nodes::Nodes;
use super::profile::Profile;
use super::{recorded, Event, Outcome, Parameters, Progress, Schedules, NEVER};
use crate::order::{Order, Started};
use crate::workload::Setup;

/// A job in one of its partitions, in the order in which the scheduler looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// By the tier of the partition, then by priority; the lowest is first.
    pub rank: u64,
    /// The job. Those submitted earlier come first.
    pub job: u32,
    /// The partition of the machine.
    pub partition: u16,
}

impl Entry {
    pub fn new(tier: u16, priority: u32, job: u32, partition: u16) -> Self {
        let rank = u64::from(u16::MAX - tier) << 32 | u64::from(u32::MAX - priority);
        Self { rank, job, partition }
    }

    /// Its priority.
    #[allow(clippy::cast_possible_truncation)] // the lower half
    pub fn priority(self) -> u32 {
        u32::MAX - self.rank as u32
    }
}

/// Events between two calls of `go_on`: not jobs, as with many that wait one submission can lead to much work, and after the last there
/// may be more to do than before.
const STRIDE: u32 = 512;

/// Time, events, the queue, and who runs where.
pub struct World<'s> {
    pub setup: &'s Setup<'s>,
    pub now: i64,
    /// Free CPUs by pool.
    pub free: Vec<i32>,
    /// CPUs that come free by the time when they do at the latest, and by pool.
    ends: BTreeMap<(i64, u16), i32>,
    /// All jobs that wait, in each of their partitions.
    pub queue: Vec<Entry>,
    /// How many have started since the queue was tidied up.
    begun: usize,
    /// Jobs that wait, in the order of their submission.
    waiting: Vec<u32>,
    /// When the next job is submitted.
    next_arrival: Option<i64>,
    order: Box<dyn Order + 's>,
    /// What each job holds, until when at the latest, and the number of its start.
    holds: FxHashMap<u32, (Allocation, i64, u32)>,
    /// The nodes, if the scheduler uses them.
    pub nodes: Option<Nodes>,
    /// Limits, where the scheduler follows any.
    limits: Option<Limits<'s>>,
    /// Real ends: at one time in the order in which the jobs started.
    heap: BinaryHeap<Reverse<(i64, u32, u32)>>,
    delays: Delays,
    /// When which node goes away (true) or comes back, if the scheduler uses nodes.
    changes: VecDeque<(i64, usize, bool)>,
    /// Jobs that start as recorded, in the order of their starts: they have nodes that are kept for them.
    frozen: VecDeque<(i64, u32)>,
    /// When CPUs of jobs that have ended can be used again.
    releases: BinaryHeap<Reverse<(i64, u32)>>,
    started: u32,
    outcome: Outcome,
    /// Buffers.
    priorities: Vec<u32>,
    before: Vec<Entry>,
}

impl<'s> World<'s> {
    pub fn new(
        setup: &'s Setup<'s>,
        order: Box<dyn Order + 's>,
        delays: Delays,
        nodes: Option<Nodes>,
        limits: Option<Limits<'s>>,
    ) -> Self {
        let jobs = setup.workload.jobs.len();
        let (mut changes, mut frozen) = (VecDeque::new(), VecDeque::new());
        let mut nodes = nodes;
        if let Some(nodes) = &mut nodes {
            (changes, frozen) = (recorded::changes(setup), recorded::frozen(setup));
            recorded::reserve(nodes, setup);
        }
        Self {
            setup,
            now: setup.workload.jobs.first().map_or(0, |job| job.submit),
            free: setup
                .machine
                .pools
                .iter()
                .map(|pool| i32::try_from(pool.cpus).unwrap_or(i32::MAX))
                .collect(),
            ends: BTreeMap::new(),
            queue: Vec::new(),
            begun: 0,
            waiting: Vec::new(),
            next_arrival: None,
            order,
            holds: FxHashMap::default(),
            nodes,
            limits,
            heap: BinaryHeap::new(),
            delays,
            changes,
            frozen,
            releases: BinaryHeap::new(),
            started: 0,
            outcome: Outcome {
                starts: vec![NEVER; jobs],
                partitions: vec![0; jobs],
                priorities: vec![0; jobs],
                ..Outcome::default()
            },
            priorities: Vec::new(),
            before: Vec::new(),
        }
    }

    /// From the first submission to the last end.
    pub fn run(mut self, scheduler: &mut dyn Schedules, mut go_on: impl FnMut(Progress) -> bool) -> Outcome {
        let arrivals = recorded::arrivals(self.setup, self.delays, &self.frozen);
        let count = arrivals.len();
        let (mut next, mut events) = (0, 0_u32);
        let period = self.order.period().map(i64::from);
        let mut cycle = period.map(|period| self.now + period);
        loop {
            let arrival = arrivals.get(next).map(|(time, _)| *time);
            let end = self.heap.peek().map(|Reverse((time, ..))| *time);
            let release = self.releases.peek().map(|Reverse((time, _))| *time);
            // Where nobody waits, runs or comes, it is over.
            let is_quiet = arrival.is_none() && end.is_none() && release.is_none() && self.frozen.is_empty();
            if is_quiet && self.waiting.is_empty() {
                break;
            }
            let change = self.changes.front().map(|(time, ..)| *time);
            let frozen = self.frozen.front().map(|(time, _)| *time);
            let due = scheduler.due();
            if let (Some(arrival), Some(at), Some(period)) = (arrival, cycle, period) {
                // On an idle machine cycles only let usage decay, which one does as well as a million.
                if self.waiting.is_empty() && end.is_none() && release.is_none() && at < arrival {
                    cycle = Some(arrival - (arrival - at).rem_euclid(period));
                }
            }
            let times = [arrival, end, release, change, frozen, cycle, due];
            let Some(now) = times.iter().flatten().min().copied() else { break };
            let idle = [arrival, end, release, change, frozen, due].iter().all(Option::is_none);
            if idle && cycle.is_none() {
                break;
            }
            self.now = now.max(self.now);
            events += 1;
            if events == STRIDE {
                events = 0;
                if !go_on(Progress { submitted: next, jobs: count, now }) {
                    self.outcome.stopped_at = Some(now);
                    break;
                }
            }
            if arrival == Some(now) {
                let (_, job) = arrivals[next];
                next += 1;
                if self.submit(job) {
                    scheduler.note(Event::Submitted(job), &mut self);
                }
            } else if end == Some(now) {
                if let Some(Reverse((_, _, job))) = self.heap.pop() {
                    self.order.end(now, job);
                    self.end(job);
                    let later = now + self.delays.of_end(self.setup.job(job).id);
                    if later == now {
                        self.release(job);
                    } else {
                        self.releases.push(Reverse((later, job)));
                    }
                    // slurmctld looks when a job has ended, and again when its nodes have been cleaned up.
                    if later == now || self.nodes.is_some() {
                        scheduler.note(Event::Ended, &mut self);
                    }
                }
            } else if release == Some(now) {
                if let Some(Reverse((_, job))) = self.releases.pop() {
                    self.release(job);
                    scheduler.note(Event::Ended, &mut self);
                }
            } else if frozen == Some(now) {
                self.start_frozen();
            } else if change == Some(now) {
                self.change();
                scheduler.note(Event::Ended, &mut self);
            } else if cycle == Some(now) {
                cycle = period.map(|period| now + period);
                let moved = self.recompute();
                scheduler.note(Event::Recomputed { moved }, &mut self);
                if idle && !moved && self.is_stuck(scheduler) {
                    break;
                }
            } else {
                self.outcome.passes += 1;
                self.next_arrival = arrival;
                scheduler.look(&mut self);
            }
            self.tidy_up();
        }
        self.outcome
    }

    /// When the next job is submitted or ends.
    pub fn next_change(&self) -> Option<i64> {
        let end = self.heap.peek().map(|Reverse((time, ..))| *time);
        self.next_arrival.into_iter().chain(end).min()
    }

    /// Nothing runs, nothing is submitted, and the scheduler has nothing to look at: waiting jobs would wait for ever.
    fn is_stuck(&self, scheduler: &dyn Schedules) -> bool {
        self.heap.is_empty()
            && self.releases.is_empty()
            && self.changes.is_empty()
            && self.frozen.is_empty()
            && scheduler.due().is_none()
    }

    /// A node goes away or comes back.
    fn change(&mut self) {
        let (Some((_, node, leaves)), Some(nodes)) = (self.changes.pop_front(), &mut self.nodes) else {
            return;
        };
        if leaves {
            nodes.leave(node);
        } else {
            nodes.come_back(node);
        }
    }

    /// A job comes. False where it fits nowhere.
    fn submit(&mut self, job: u32) -> bool {
        let setup = self.setup;
        if !setup.partitions(job).iter().any(|partition| setup.fits(job, *partition)) {
            self.outcome.misfits += 1;
            return false;
        }
        self.priorities.clear();
        self.order.submit(self.now, job, &mut self.priorities);
        for (at, partition) in setup.partitions(job).iter().enumerate() {
            if setup.fits(job, *partition) {
                let tier = setup.machine.partitions[usize::from(*partition)].tier;
                let priority = self.priorities.get(at).copied().unwrap_or_default();
                let entry = Entry::new(tier, priority, job, *partition);
                let place = self.queue.partition_point(|other| *other < entry);
                self.queue.insert(place, entry);
            }
        }
        let place = self.waiting.partition_point(|other| *other < job);
        self.waiting.insert(place, job);
        true
    }

    /// A job starts when it did, on nodes that are kept for it.
    fn start_frozen(&mut self) {
        let Some((_, job)) = self.frozen.pop_front() else { return };
        let setup = self.setup;
        let Some(partition) = setup.partitions(job).first().copied() else { return };
        self.priorities.clear();
        self.order.submit(self.now, job, &mut self.priorities);
        let priority = self.priorities.first().copied().unwrap_or_default();
        self.begin(job, partition, priority);
    }

    /// A job begins, wherever it runs.
    fn begin(&mut self, job: u32, partition: u16, priority: u32) {
        if let Some(limits) = &mut self.limits {
            limits.begin(job, partition);
        }
        self.started += 1;
        self.heap.push(Reverse((self.now + i64::from(self.setup.job(job).run), self.started, job)));
        self.outcome.starts[job as usize] = self.now;
        self.outcome.partitions[job as usize] = partition;
        self.outcome.priorities[job as usize] = priority;
        self.order.start(Started { job, partition, at: self.now });
    }

    /// A job has ended. Its nodes have what it had, and take no other job until they are released.
    fn end(&mut self, job: u32) {
        if let (Some(nodes), Some((_, planned, number))) = (&mut self.nodes, self.holds.get(&job)) {
            nodes.end(*number, *planned);
        }
        if let Some(limits) = &mut self.limits {
            limits.end(job, self.outcome.partitions[job as usize]);
        }
    }

    /// The CPUs of a job that has ended can be used again.
    fn release(&mut self, job: u32) {
        let Some((allocation, planned, _)) = self.holds.remove(&job) else { return };
        if let (Some(nodes), Allocation::Nodes(parts)) = (&mut self.nodes, &allocation) {
            nodes.clean(parts);
        }
        allocation.for_each(|pool, cpus| {
            self.free[usize::from(pool)] += cpus;
            if let Some(ending) = self.ends.get_mut(&(planned, pool)) {
                *ending -= cpus;
                if *ending == 0 {
                    self.ends.remove(&(planned, pool));
                }
            }
        });
    }

    /// Priorities are computed anew; true where the queue has another order.
    fn recompute(&mut self) -> bool {
        self.tidy_up();
        let setup = self.setup;
        std::mem::swap(&mut self.before, &mut self.queue);
        self.queue.clear();
        let queue = &mut self.queue;
        self.order.cycle(self.now, &self.waiting, &mut |job, priorities| {
            for (partition, priority) in setup.partitions(job).iter().zip(priorities) {
                if setup.fits(job, *partition) {
                    let tier = setup.machine.partitions[usize::from(*partition)].tier;
                    queue.push(Entry::new(tier, *priority, job, *partition));
                }
            }
        });
        // Mostly in the order of before, which a sort by merging makes use of where it is laid out by it; by jobs it is not.
        self.queue.sort_unstable();
        let same = |(old, new): (&Entry, &Entry)| (old.job, old.partition) == (new.job, new.partition);
        !self.before.iter().zip(&self.queue).all(same)
    }

    /// A job starts now, with these CPUs.
    pub fn start(&mut self, entry: Entry, allocation: Allocation) {
        let Entry { job, partition, .. } = entry;
        let limit = self.now + self.setup.planned(job, partition);
        // As if it were known: a plan that counts on CPUs at the end of a limit would be wrong for a moment, and then right.
        let planned =
            if self.nodes.is_some() { limit } else { limit + i64::from(self.delays.end.div_ceil(1000)) };
        allocation.for_each(|pool, cpus| {
            self.free[usize::from(pool)] -= cpus;
            debug_assert!(self.free[usize::from(pool)] >= 0, "more CPUs are taken than there are");
            *self.ends.entry((planned, pool)).or_default() += cpus;
        });
        self.begin(job, partition, entry.priority());
        if let (Some(nodes), Allocation::Nodes(parts)) = (&mut self.nodes, &allocation) {
            nodes.start(self.started, planned, parts.clone());
        }
        self.holds.insert(job, (allocation, planned, self.started));
        self.begun += 1;
    }

    /// Whether a limit holds a job back.
    pub fn is_held(&self, entry: Entry) -> bool {
        self.limits.as_ref().is_some_and(|limits| limits.holds(entry.job, entry.partition))
    }

    /// Whether a limit on the number of jobs does.
    pub fn is_held_by_jobs(&self, entry: Entry) -> bool {
        self.limits.as_ref().is_some_and(|limits| limits.holds_by_jobs(entry.job, entry.partition))
    }

    /// How many jobs have started in this pass.
    pub fn begun(&self) -> usize {
        self.begun
    }

    /// Whether a job has started; entries of jobs that have stay in the queue until the pass is over.
    pub fn has_started(&self, job: u32) -> bool {
        self.outcome.starts[job as usize] != NEVER
    }

    /// When a job has started, or [`NEVER`].
    pub fn started_at(&self, job: u32) -> i64 {
        self.outcome.starts[job as usize]
    }

    /// The nodes that a job holds.
    pub fn nodes_of(&self, job: u32) -> Vec<u32> {
        match self.holds.get(&job) {
            Some((Allocation::Nodes(parts), ..)) => parts.iter().map(|part| part.node).collect(),
            _ => Vec::new(),
        }
    }

    /// Takes those out of the queue that have started.
    pub fn tidy_up(&mut self) {
        if self.begun > 0 {
            self.begun = 0;
            let starts = &self.outcome.starts;
            self.queue.retain(|entry| starts[entry.job as usize] == NEVER);
            self.waiting.retain(|job| starts[*job as usize] == NEVER);
        }
    }

    /// The CPUs and the length that a scheduler plans an entry with.
    pub fn need(&self, entry: Entry) -> (i32, i64) {
        let cpus = i32::try_from(self.setup.cpus(entry.job, entry.partition)).unwrap_or(i32::MAX);
        (cpus, self.setup.planned(entry.job, entry.partition))
    }

    /// The pools of a partition.
    pub fn pools(&self, partition: u16) -> &'s [u16] {
        &self.setup.machine.partitions[usize::from(partition)].pools
    }

    /// Free CPUs in a partition.
    pub fn free_in(&self, partition: u16) -> i32 {
        self.pools(partition).iter().map(|pool| self.free[usize::from(*pool)]).sum()
    }

    /// What comes free when at the latest: times in order, pool, CPUs.
    pub fn ends(&self) -> impl Iterator<Item = (i64, u16, i32)> + '_ {
        self.ends.iter().map(|((time, pool), cpus)| (*time, *pool, *cpus))
    }

    /// Makes the profile of what runs.
    pub fn profile(&self, profile: &mut Profile) {
        profile.rebuild(self.now, &self.free, self.ends());
    }
}

/// Milliseconds until something is seen. Time is in whole seconds here, so part of the jobs take a second more: always the same ones,
/// whatever their users and sizes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delays {
    /// From the submission of a job until a scheduler may look at it.
    pub submission: u32,
    /// From its end until its nodes take another.
    pub end: u32,
}

/// What happens within a second is seen by half of the passes in that second.
const HALF: u32 = 500;

impl Delays {
    /// Of Slurm's schedulers. In pools, which are coarse in other ways, only what was asked for counts.
    pub fn of(parameters: &Parameters, goes_by_nodes: bool) -> Self {
        let half = if parameters.in_half_seconds && goes_by_nodes { HALF } else { 0 };
        // A pass that an end makes at once sees it.
        let at_end = if parameters.looks_at_ends { 0 } else { half };
        Self { submission: half, end: parameters.node_release + at_end }
    }

    pub fn of_submission(self, id: u64) -> i64 {
        seconds(self.submission, id)
    }

    fn of_end(self, id: u64) -> i64 {
        seconds(self.end, id.rotate_left(32))
    }
}

fn seconds(milliseconds: u32, draw: u64) -> i64 {
    let drawn = draw.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    i64::from(milliseconds / 1000) + i64::from(drawn % 1000 < u64::from(milliseconds % 1000))
}
