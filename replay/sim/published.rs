//! The schedulers of the literature. They look at the queue at once, after every event.
//!
//! - EASY (Lifka 1995): the first job that does not fit gets a reservation at the earliest time that running jobs allow. Any other job may
//!   start if it does not delay that one.
//! - SJBF: EASY with a scan by requested time (Tsafrir, Etsion, Feitelson 2007).
//! - Conservative backfilling (Mu'alem, Feitelson 2001): every job has a reservation, which only moves to earlier times.
//!
//! With several partitions the first job of each has the reservation.

use super::allocation::Allocation;
use super::profile::Profile;
use super::world::{Entry, World};
use super::{Event, Schedules};

/// Who may start before the first job that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backfill {
    /// Nobody.
    None,
    /// Others, in the order of the queue.
    InOrder,
    /// Others, those with the shortest requested time first.
    ShortestFirst,
}

/// FCFS and EASY.
#[derive(Debug)]
pub struct Published {
    backfill: Backfill,
    profile: Profile,
    /// Partitions whose first job does not fit.
    blocked: Vec<bool>,
    /// Pools of those.
    closed: Vec<bool>,
    others: Vec<(i64, Entry)>,
}

impl Published {
    pub fn new(backfill: Backfill) -> Self {
        Self {
            backfill,
            profile: Profile::default(),
            blocked: Vec::new(),
            closed: Vec::new(),
            others: Vec::new(),
        }
    }

    fn pass(&mut self, world: &mut World<'_>) {
        if world.free.iter().all(|free| *free <= 0) || world.queue.is_empty() {
            return;
        }
        let backfills = self.backfill != Backfill::None;
        if backfills {
            world.profile(&mut self.profile);
        }
        self.blocked.clear();
        self.blocked.resize(world.setup.machine.partitions.len(), false);
        self.closed.clear();
        self.closed.resize(world.free.len(), false);
        self.others.clear();
        for at in 0..world.queue.len() {
            let entry = world.queue[at];
            if self.blocked[usize::from(entry.partition)] {
                if backfills {
                    self.others.push((0, entry));
                }
            } else if !world.has_started(entry.job) && !self.start(world, entry) {
                self.block(world, entry);
            }
            if !backfills && self.blocked.iter().all(|blocked| *blocked) {
                break;
            }
        }
        if self.backfill == Backfill::ShortestFirst {
            for (length, entry) in &mut self.others {
                *length = world.need(*entry).1;
            }
            self.others.sort_by_key(|(length, _)| *length);
        }
        for (_, entry) in std::mem::take(&mut self.others) {
            if !world.has_started(entry.job) {
                self.start(world, entry);
            }
        }
    }

    /// Starts a job if it fits.
    fn start(&mut self, world: &mut World<'_>, entry: Entry) -> bool {
        let ((cpus, length), pools) = (world.need(entry), world.pools(entry.partition));
        if world.free_in(entry.partition) < cpus {
            return false;
        }
        let allocation = if self.backfill == Backfill::None {
            let open =
                |pool: u16| if self.closed[usize::from(pool)] { 0 } else { world.free[usize::from(pool)] };
            Allocation::take(pools, cpus, open)
        } else {
            self.profile.allocate(self.profile.now(), pools, cpus, length)
        };
        let Some(allocation) = allocation else { return false };
        if self.backfill != Backfill::None {
            self.profile.take_now(world.now + length, &allocation);
        }
        world.start(entry, allocation);
        true
    }

    /// The first job of a partition that does not fit.
    fn block(&mut self, world: &World<'_>, entry: Entry) {
        self.blocked[usize::from(entry.partition)] = true;
        let ((cpus, length), pools) = (world.need(entry), world.pools(entry.partition));
        if self.backfill == Backfill::None {
            for pool in pools {
                self.closed[usize::from(*pool)] = true;
            }
            return;
        }
        let Some(slot) = self.profile.earliest(world.now, pools, cpus, length) else { return };
        if let Some(allocation) = self.profile.allocate_found(slot, pools, cpus, length) {
            self.profile.take(slot.time, slot.time + length, &allocation);
        }
    }
}

impl Schedules for Published {
    fn note(&mut self, event: Event, world: &mut World<'_>) {
        // A job that does not fit changes nothing for those before it.
        if let Event::Submitted(job) = event {
            let setup = world.setup;
            let fits = |partition: &u16| {
                i64::from(setup.cpus(job, *partition)) <= i64::from(world.free_in(*partition))
            };
            if !setup.partitions(job).iter().any(fits) {
                return;
            }
        }
        if event != (Event::Recomputed { moved: false }) {
            self.pass(world);
        }
    }

    fn due(&self) -> Option<i64> {
        None
    }

    fn look(&mut self, _: &mut World<'_>) {}
}

/// A promise.
#[derive(Clone, Debug)]
struct Reservation {
    begin: i64,
    entry: Entry,
    allocation: Allocation,
}

/// Conservative backfilling.
#[derive(Debug, Default)]
pub struct Conservative {
    profile: Profile,
    /// By job.
    reservations: rustc_hash::FxHashMap<u32, Reservation>,
    jobs: Vec<u32>,
}

impl Conservative {
    /// Moves all reservations to the earliest time that they can have without moving another, and starts what can start.
    fn compress(&mut self, world: &mut World<'_>) {
        world.profile(&mut self.profile);
        self.jobs.clear();
        // A job in several partitions comes once.
        for entry in &world.queue {
            if let Some(held) = self.reservations.get(&entry.job) {
                if held.entry.partition == entry.partition {
                    self.jobs.push(entry.job);
                    let length = world.need(held.entry).1;
                    self.profile.take(held.begin, held.begin + length, &held.allocation);
                }
            }
        }
        for at in 0..self.jobs.len() {
            let job = self.jobs[at];
            if let Some(held) = self.reservations.remove(&job) {
                let length = world.need(held.entry).1;
                self.profile.give(held.begin, held.begin + length, &held.allocation);
                self.place(world, job, Some(&held));
            }
        }
    }

    /// Starts a job, or reserves the earliest time in any of its partitions; where it has a reservation already, no later one.
    fn place(&mut self, world: &mut World<'_>, job: u32, held: Option<&Reservation>) {
        let mut best: Option<(bool, Reservation)> = None;
        for partition in world.setup.partitions(job) {
            if !world.setup.fits(job, *partition) {
                continue;
            }
            let entry = Entry { rank: 0, job, partition: *partition };
            let ((cpus, length), pools) = (world.need(entry), world.pools(*partition));
            let Some(slot) = self.profile.earliest(world.now, pools, cpus, length) else { continue };
            let later = best
                .as_ref()
                .is_some_and(|(is_now, best)| *is_now || !slot.is_now() && best.begin <= slot.time);
            let allocation = self.profile.allocate_found(slot, pools, cpus, length);
            if let Some(allocation) = allocation.filter(|_| !later) {
                best = Some((slot.is_now(), Reservation { begin: slot.time, entry, allocation }));
            }
        }
        let kept = held.filter(|held| best.as_ref().is_none_or(|(_, best)| held.begin < best.begin));
        let best = kept.map(|held| (false, held.clone())).or(best);
        let Some((is_now, found)) = best else { return };
        let end = found.begin + world.need(found.entry).1;
        if is_now {
            self.profile.take_now(end, &found.allocation);
            world.start(found.entry, found.allocation);
        } else {
            self.profile.take(found.begin, end, &found.allocation);
            self.reservations.insert(job, found);
        }
    }
}

impl Schedules for Conservative {
    fn note(&mut self, event: Event, world: &mut World<'_>) {
        if event == (Event::Recomputed { moved: false }) {
            return;
        }
        self.compress(world);
        if let Event::Submitted(job) = event {
            self.place(world, job, None);
        }
    }

    fn due(&self) -> Option<i64> {
        None
    }

    fn look(&mut self, _: &mut World<'_>) {}
}
