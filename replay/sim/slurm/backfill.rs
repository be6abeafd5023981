//! One pass of backfill: a plan from nothing, in the order of the queue. A job that fits now starts. One that does not gets the
//! earliest time with room for its whole limit, over running jobs (see [`windows`]) and the reservations before it, where that is within
//! `bf_window`; the reservation is rounded to `bf_resolution`, its begin down, its end as the release does. No promise is kept for the
//! next pass.
//!
//! Only who starts is kept of a pass, and as it goes on less and less is free. So it ends as soon as no job that comes later fits now.
//! Which is the last that does is found from the end of the queue: one that no longer fits never does again.

use rustc_hash::{FxHashMap, FxHashSet};

use super::parameters::Parameters;
use super::windows;
use crate::sim::profile::Profile;
use crate::sim::world::{Entry, World};

/// What a search for the earliest time depends on: partition, CPUs and length.
type Need = (u16, i32, i64);

/// Slurm's backfill: what it knows during a pass.
#[derive(Debug)]
pub struct Backfill {
    parameters: Parameters,
    profile: Profile,
    /// Entries that are tested.
    tested: Vec<Entry>,
    /// How many have been considered of a user, partition, association, and user in a partition.
    of_users: FxHashMap<u32, u32>,
    of_partitions: FxHashMap<u16, u32>,
    of_associations: FxHashMap<u32, u32>,
    of_both: FxHashMap<(u32, u16), u32>,
    /// Reservations of arrays.
    of_arrays: FxHashMap<u32, u32>,
    reserved: FxHashSet<u32>,
    /// The earliest time that was found for a need: as the pass goes on it only gets later.
    found: FxHashMap<Need, i64>,
}

impl Backfill {
    pub fn new(parameters: Parameters) -> Self {
        Self {
            parameters,
            profile: Profile::default(),
            tested: Vec::new(),
            of_users: FxHashMap::default(),
            of_partitions: FxHashMap::default(),
            of_associations: FxHashMap::default(),
            of_both: FxHashMap::default(),
            of_arrays: FxHashMap::default(),
            reserved: FxHashSet::default(),
            found: FxHashMap::default(),
        }
    }

    /// Whether a job may hold up others: it is old and high enough.
    pub fn reserves(&self, world: &World<'_>, entry: Entry) -> bool {
        let Parameters { bf_min_age_reserve, bf_min_prio_reserve, .. } = self.parameters;
        if bf_min_prio_reserve > 0 {
            return entry.priority() >= bf_min_prio_reserve;
        }
        bf_min_age_reserve == 0
            || world.now - world.setup.job(entry.job).eligible >= i64::from(bf_min_age_reserve)
    }

    /// One pass. Says when the next one may have another result although nothing has changed, if ever.
    pub fn pass(&mut self, world: &mut World<'_>) -> Option<i64> {
        let mut behind_last = self.select(world);
        let mut recheck: Option<i64> = None;
        if behind_last == 0 {
            return None;
        }
        if self.parameters.in_windows {
            let ends = windows::to_the_last(world.ends(), self.parameters.bf_window_linear);
            self.profile.rebuild(world.now, &world.free, ends.into_iter());
        } else {
            world.profile(&mut self.profile);
        }
        self.found.clear();
        self.of_arrays.clear();
        self.reserved.clear();
        let window = i64::from(self.parameters.bf_window) * 60;
        let mut sooner = |at: i64| recheck = Some(recheck.map_or(at, |before| before.min(at)));
        let mut started = 0;
        let mut at = 0;
        while at < behind_last {
            let last = self.tested[behind_last - 1];
            if !self.may_start(world, last) {
                behind_last -= 1;
                continue;
            }
            let entry = self.tested[at];
            at += 1;
            if world.has_started(entry.job) {
                continue;
            }
            let array = world.setup.job(entry.job).array;
            let most = self.parameters.bf_max_job_array_resv;
            if array != 0 && self.of_arrays.get(&array).is_some_and(|count| *count >= most) {
                continue;
            }
            let (cpus, length) = world.need(entry);
            let pools = world.pools(entry.partition);
            if self.profile.fits_now(pools, cpus, length) {
                let Some(allocation) = self.profile.allocate_found(self.profile.now(), pools, cpus, length)
                else {
                    continue;
                };
                self.profile.take_now(world.now + length, &allocation);
                world.start(entry, allocation);
                started += 1;
                if self.parameters.bf_max_job_start > 0 && started >= self.parameters.bf_max_job_start {
                    break;
                }
                continue;
            }
            if !self.reserves(world, entry) {
                if self.parameters.bf_min_prio_reserve == 0 {
                    let age = i64::from(self.parameters.bf_min_age_reserve);
                    sooner(world.setup.job(entry.job).eligible + age);
                }
                continue;
            }
            if self.parameters.bf_one_resv_per_job && self.reserved.contains(&entry.job) {
                continue;
            }
            let need = (entry.partition, cpus, length);
            let after = self.found.get(&need).copied().unwrap_or(world.now);
            let Some(slot) = self.profile.earliest(after, pools, cpus, length) else { continue };
            self.found.insert(need, slot.time);
            if slot.time > world.now + window {
                sooner(slot.time - window);
                continue;
            }
            let Some(allocation) = self.profile.allocate_found(slot, pools, cpus, length) else { continue };
            let resolution = i64::from(self.parameters.bf_resolution);
            let begin = slot.time.div_euclid(resolution) * resolution;
            let end = slot.time + length;
            let end = if self.parameters.ends_are_rounded_up {
                (end + resolution - 1).div_euclid(resolution) * resolution
            } else {
                (end.div_euclid(resolution) * resolution).max(begin + resolution)
            };
            self.profile.take(begin, end, &allocation);
            self.reserved.insert(entry.job);
            if array != 0 {
                *self.of_arrays.entry(array).or_default() += 1;
            }
        }
        recheck
    }

    /// Whether an entry fits now.
    fn may_start(&self, world: &World<'_>, entry: Entry) -> bool {
        let ((cpus, length), pools) = (world.need(entry), world.pools(entry.partition));
        !world.has_started(entry.job) && self.profile.fits_now(pools, cpus, length)
    }

    /// Selects the entries that are tested. Returns the place behind the last that could start now by its size.
    fn select(&mut self, world: &World<'_>) -> usize {
        self.tested.clear();
        self.of_users.clear();
        self.of_partitions.clear();
        self.of_associations.clear();
        self.of_both.clear();
        let most = self.parameters.bf_max_job_test as usize;
        let free: Vec<i32> = (0..world.setup.machine.partitions.len())
            .map(|partition| world.free_in(u16::try_from(partition).unwrap_or_default()))
            .collect();
        let mut behind_last = 0;
        for entry in &world.queue {
            if self.tested.len() >= most {
                break;
            }
            if self.exceeds(world, *entry) {
                continue;
            }
            self.tested.push(*entry);
            if world.need(*entry).0 <= free[usize::from(entry.partition)] {
                behind_last = self.tested.len();
            }
        }
        behind_last
    }

    /// Counts an entry; true where there were enough of its kind before.
    fn exceeds(&mut self, world: &World<'_>, entry: Entry) -> bool {
        fn counts<K: std::hash::Hash + Eq>(of: &mut FxHashMap<K, u32>, key: K, most: u32) -> bool {
            let count = of.entry(key).or_default();
            *count += 1;
            *count > most
        }
        let Parameters { bf_max_job_user, bf_max_job_part, bf_max_job_assoc, bf_max_job_user_part, .. } =
            self.parameters;
        if bf_max_job_user + bf_max_job_part + bf_max_job_assoc + bf_max_job_user_part == 0 {
            return false;
        }
        let job = world.setup.job(entry.job);
        let user = world.setup.workload.user(job);
        bf_max_job_user_part > 0 && counts(&mut self.of_both, (user, entry.partition), bf_max_job_user_part)
            || bf_max_job_part > 0 && counts(&mut self.of_partitions, entry.partition, bf_max_job_part)
            || bf_max_job_assoc > 0 && counts(&mut self.of_associations, job.association, bf_max_job_assoc)
            || bf_max_job_user > 0 && counts(&mut self.of_users, user, bf_max_job_user)
    }
}
