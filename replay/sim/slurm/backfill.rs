//! One pass of backfill: a fresh plan in the order of the queue. A job that fits now starts. Any other job gets the earliest time with room
//! for its whole limit, over running jobs (see [`windows`]) and the reservations before it, if that is within `bf_window`.
//!
//! Slurm rounds a reservation to `bf_resolution`. Here its end is rounded, as the release does, but its begin is not: until then its CPUs
//! belong to running jobs, and a begin rounded down would keep free CPUs from other jobs. No reservation is kept for the next pass.
//!
//! A pass keeps only which jobs start, and free room shrinks as it goes on. So it ends as soon as no later job fits now. The last job that
//! fits is found from the end of the queue: a job that no longer fits never fits again.

use rustc_hash::{FxHashMap, FxHashSet};

use super::considered::{reserves, Considered};
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
    considered: Considered,
    reserved: FxHashSet<u32>,
    /// The earliest time that was found for a need: as the pass goes on it only gets later.
    found: FxHashMap<Need, i64>,
}

impl Backfill {
    pub fn new(parameters: Parameters) -> Self {
        Self {
            considered: Considered::new(parameters.clone()),
            parameters,
            profile: Profile::default(),
            reserved: FxHashSet::default(),
            found: FxHashMap::default(),
        }
    }

    /// Seconds that the last pass took.
    pub fn lasted(&self) -> i64 {
        self.considered.lasted()
    }

    /// One pass. Says when the next one may have another result although nothing has changed, if ever.
    pub fn pass(&mut self, world: &mut World<'_>) -> Option<i64> {
        let mut recheck: Option<i64> = None;
        if !self.considered.select(world) {
            return None;
        }
        if self.parameters.in_windows {
            let ends = windows::to_the_last(world.ends(), self.parameters.bf_window_linear);
            self.profile.rebuild(world.now, &world.free, ends.into_iter());
        } else {
            world.profile(&mut self.profile);
        }
        self.found.clear();
        self.reserved.clear();
        let window = i64::from(self.parameters.bf_window) * 60;
        let mut sooner = |at: i64| recheck = Some(recheck.map_or(at, |before| before.min(at)));
        let mut started = 0;
        while let Some(entry) = self.considered.next(world, |entry| fits_now(&self.profile, world, entry)) {
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
            if !reserves(&self.parameters, world, entry) {
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
            let begin = self.parameters.rounded_down(slot.time);
            let soonest = begin + i64::from(self.parameters.bf_resolution);
            let end = self.parameters.rounded_end(slot.time + length).max(soonest);
            self.profile.take(slot.time, end, &allocation);
            self.reserved.insert(entry.job);
            self.considered.count_of(world.setup.job(entry.job).array);
        }
        recheck
    }
}

/// Whether an entry fits now.
fn fits_now(profile: &Profile, world: &World<'_>, entry: Entry) -> bool {
    let ((cpus, length), pools) = (world.need(entry), world.pools(entry.partition));
    profile.fits_now(pools, cpus, length)
}
