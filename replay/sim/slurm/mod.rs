//! Slurm's own schedulers: the main one, in strict order, and backfill.
//!
//! The main pass goes through the queue in order. The first job of a partition that cannot start holds up that partition and its nodes,
//! unless it is too young or too low for that (`bf_min_age_reserve`, `bf_min_prio_reserve`). When a job ends, either a pass over
//! `default_queue_depth` entries runs at once, or the end requests one (see [`Parameters::looks_at_ends`]). A submission requests a pass,
//! which comes at least `batch_sched_delay` after the last requested one. With `defer` an end does no more than that. Each `sched_interval`
//! a pass covers the whole queue. Backfill runs each `bf_interval`: see [`backfill`].
//!
//! A pass in which nothing can have changed is left out. This changes no result: free room changes only at starts and ends, and the jobs
//! considered only with the queue. In backfill a reservation begins at the latest possible end of running jobs, so a job ends by that time.
//! Until then every reservation stays, and so does whatever blocked a job. Two changes come with time alone and are tracked: a job far
//! ahead whose place comes into the window, and one that becomes old enough for a reservation.
//!
//! Backfill over nodes is never left out, because the nodes that a waiting job keeps depend on the time. Nor is it left out if passes take
//! time (see [`pace`]), because the length of each then counts.

mod backfill;
mod considered;
mod on_nodes;
mod pace;
mod parameters;
mod windows;

use super::allocation::Allocation;
use super::one_pass::Pass;
use super::world::{Entry, World};
use super::{Event, Schedules};
use backfill::Backfill;
use fixedbitset::FixedBitSet;
use on_nodes::OnNodes;
pub use parameters::Parameters;

/// Slurm's main scheduler and backfill, and when each runs next.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools)] // each is a thing of its own to remember
pub struct Slurm {
    parameters: Parameters,
    /// Leave out passes in which nothing can have changed.
    skip: bool,
    /// Which nodes a waiting job keeps depends on the time, so that backfill has to look each time.
    goes_by_nodes: bool,
    backfill: Backfill,
    on_nodes: OnNodes,
    /// When the first event was.
    origin: Option<i64>,
    /// A submission or an end has asked for a pass of the main scheduler.
    is_asked: bool,
    /// The last pass that was asked for, or over the whole queue.
    last_main: i64,
    /// A job has ended for which there has not been a pass.
    ended: Option<i64>,
    last_full: i64,
    last_backfill: i64,
    /// When the next pass of backfill may begin, where one takes time.
    after_backfill: Option<i64>,
    /// Something has changed since the last pass over all.
    main_is_stale: bool,
    backfill_is_stale: bool,
    /// When backfill has to look although nothing has changed.
    recheck: Option<i64>,
    is_waited_for: bool,
    /// Buffers, by partition and by pool.
    blocked: Vec<bool>,
    closed: Vec<bool>,
    closed_nodes: FixedBitSet,
    looked_at: Vec<u32>,
}

/// Long before everything.
const LONG_AGO: i64 = i64::MIN / 4;

impl Slurm {
    pub fn new(parameters: Parameters, skip: bool, goes_by_nodes: bool) -> Self {
        Self {
            backfill: Backfill::new(parameters.clone()),
            on_nodes: OnNodes::new(parameters.clone()),
            parameters,
            skip,
            goes_by_nodes,
            origin: None,
            is_asked: false,
            last_main: LONG_AGO,
            ended: None,
            last_full: LONG_AGO,
            last_backfill: LONG_AGO,
            after_backfill: None,
            main_is_stale: false,
            backfill_is_stale: false,
            recheck: None,
            is_waited_for: false,
            blocked: Vec::new(),
            closed: Vec::new(),
            closed_nodes: FixedBitSet::new(),
            looked_at: Vec::new(),
        }
    }

    /// The first beat of a clock after a time.
    fn beat_after(&self, last: i64, interval: u32, not_before: i64) -> i64 {
        Self::beat_of(self.origin.unwrap_or(not_before), last, interval, not_before)
    }

    /// The same of a clock that began to beat at some time.
    fn beat_of(origin: i64, last: i64, interval: u32, not_before: i64) -> i64 {
        let interval = i64::from(interval);
        let earliest = not_before.max(if last == LONG_AGO { origin } else { last + 1 });
        let past = (earliest - origin).rem_euclid(interval);
        if past == 0 {
            earliest
        } else {
            earliest + interval - past
        }
    }

    /// When the last pass over the whole queue was before a time, whether it was made or left out.
    fn full_before(&self, now: i64) -> i64 {
        let (Some(origin), Some(interval)) = (self.origin, self.parameters.sched_interval) else {
            return LONG_AGO;
        };
        if now <= origin {
            return LONG_AGO;
        }
        now - 1 - (now - 1 - origin).rem_euclid(i64::from(interval))
    }

    fn next_asked(&self) -> Option<i64> {
        self.is_asked.then(|| self.last_main + i64::from(self.parameters.batch_sched_delay))
    }

    fn next_full(&self) -> Option<i64> {
        let interval = self.parameters.sched_interval?;
        let wanted = self.is_waited_for && (self.main_is_stale || !self.skip);
        wanted.then(|| self.beat_after(self.last_full, interval, self.last_full))
    }

    fn next_backfill(&self) -> Option<i64> {
        if !self.parameters.backfill || !self.is_waited_for {
            return None;
        }
        let interval = self.parameters.bf_interval;
        if let Some(after) = self.after_backfill {
            return Some(Self::beat_of(after, self.last_backfill, interval, after));
        }
        if self.backfill_is_stale || !self.skip || self.goes_by_nodes {
            return Some(self.beat_after(self.last_backfill, interval, self.last_backfill));
        }
        self.recheck.map(|at| self.beat_after(self.last_backfill, interval, at))
    }

    /// A pass comes with the next second at which it may, also for an empty queue: the one after it waits for its delay.
    fn ask(&mut self, world: &World<'_>) {
        self.is_asked = self.parameters.sched_interval.is_some();
        let delay = i64::from(self.parameters.batch_sched_delay);
        self.last_main = self.last_main.max(self.full_before(world.now)).max(world.now - delay);
    }

    /// Makes one pass.
    pub fn make(&mut self, world: &mut World<'_>, pass: Pass) {
        match pass {
            Pass::Main(depth) => self.main_pass(world, depth),
            Pass::Backfill => self.on_nodes.pass(world),
        }
    }

    /// Starts a job on what is not held up by others, if it fits.
    fn start(&mut self, world: &mut World<'_>, entry: Entry) -> bool {
        if world.nodes.is_some() {
            return self.on_nodes.start_now(world, entry, &self.closed_nodes);
        }
        let open = |pool: u16| if self.closed[usize::from(pool)] { 0 } else { world.free[usize::from(pool)] };
        let allocation = Allocation::take(world.pools(entry.partition), world.need(entry).0, open);
        let fits = allocation.is_some();
        if let Some(allocation) = allocation {
            world.start(entry, allocation);
        }
        fits
    }

    /// A pass of the main scheduler over the first `depth` entries.
    fn main_pass(&mut self, world: &mut World<'_>, depth: Option<u32>) {
        let partitions = world.setup.machine.partitions.len();
        for (flags, count) in [(&mut self.blocked, partitions), (&mut self.closed, world.free.len())] {
            flags.clear();
            flags.resize(count, false);
        }
        self.looked_at.clear();
        self.looked_at.resize(partitions, 0);
        self.closed_nodes = FixedBitSet::with_capacity(world.setup.machine.nodes.len());
        self.on_nodes.begin();
        let depth = depth.map_or(usize::MAX, |depth| depth as usize);
        let mut left = partitions;
        let most = match self.parameters.sched_max_job_start {
            0 => usize::MAX,
            most => most as usize,
        };
        for at in 0..world.queue.len().min(depth) {
            let entry = world.queue[at];
            let partition = usize::from(entry.partition);
            if self.blocked[partition] || world.has_started(entry.job) {
                continue;
            }
            let bound = self.parameters.partition_job_depth;
            self.looked_at[partition] += 1;
            if bound > 0 && self.looked_at[partition] > bound {
                continue;
            }
            // It does not hold up others.
            if world.is_held(entry) {
                continue;
            }
            if self.start(world, entry) {
                if world.begun() >= most {
                    break;
                }
            } else if considered::reserves(&self.parameters, world, entry) {
                self.blocked[partition] = true;
                for pool in world.pools(entry.partition) {
                    self.closed[usize::from(*pool)] = true;
                }
                if let Some(nodes) = &world.nodes {
                    self.closed_nodes.union_with(nodes.members(entry.partition));
                }
                left -= 1;
                if left == 0 {
                    break;
                }
            }
        }
    }
}

impl Schedules for Slurm {
    fn note(&mut self, event: Event, world: &mut World<'_>) {
        if self.origin.is_none() {
            self.origin = Some(world.now);
        }
        match event {
            Event::Submitted(_) => self.ask(world),
            Event::Ended if self.parameters.defer || !self.parameters.looks_at_ends => self.ask(world),
            Event::Ended => self.ended = self.parameters.sched_interval.map(|_| world.now),
            Event::Recomputed { moved } => {
                // A bound on priorities is met by other jobs with other priorities.
                if !moved && self.parameters.bf_min_prio_reserve == 0 {
                    return;
                }
            }
        }
        self.main_is_stale = true;
        self.backfill_is_stale = true;
        // So that the next beats are not in the past.
        self.last_full = self.last_full.max(world.now - 1);
        self.last_backfill = self.last_backfill.max(world.now - 1);
        self.is_waited_for = !world.queue.is_empty();
    }

    fn due(&self) -> Option<i64> {
        [self.ended, self.next_asked(), self.next_full(), self.next_backfill()].into_iter().flatten().min()
    }

    fn look(&mut self, world: &mut World<'_>) {
        let now = world.now;
        let is_due = |at: Option<i64>| at.is_some_and(|at| at <= now);
        let (full, asked) = (is_due(self.next_full()), is_due(self.next_asked()));
        // What was left out until now is past.
        self.last_full = self.last_full.max(now - 1);
        self.last_backfill = self.last_backfill.max(now - 1);
        let ended = self.ended.take().is_some();
        if full || asked || ended {
            self.main_pass(world, (!full).then_some(self.parameters.default_queue_depth));
            if full || asked {
                self.last_main = now;
                self.is_asked = false;
            }
            if full {
                self.last_full = now;
                self.main_is_stale = false;
            }
            // A bounded pass goes on the next time, and those behind a job that has started are looked at again.
            self.main_is_stale |= world.begun() > 0;
            self.backfill_is_stale |= world.begun() > 0;
            world.tidy_up();
        }
        // With what has just been started: jobs may end in the second in which they start, and have not yet.
        if is_due(self.next_backfill()) {
            self.last_backfill = now;
            // At one time the main scheduler comes first, also where it was left out.
            self.last_full = self.last_full.max(now);
            self.last_main = self.last_main.max(self.full_before(now + 1));
            let lasted;
            (self.recheck, lasted) = if world.nodes.is_some() {
                self.on_nodes.pass(world);
                (None, self.on_nodes.lasted())
            } else {
                (self.backfill.pass(world), self.backfill.lasted())
            };
            if self.parameters.backfill_rate > 0 {
                self.after_backfill = Some(now + lasted + i64::from(self.parameters.bf_interval));
            }
            self.backfill_is_stale = world.begun() > 0;
            self.main_is_stale |= world.begun() > 0;
            world.tidy_up();
        }
        self.is_waited_for = !world.queue.is_empty();
    }
}
