//! Which jobs a pass of backfill considers, and which of them get a reservation.

use rustc_hash::FxHashMap;

use super::pace::Pace;
use super::parameters::Parameters;
use crate::sim::world::{Entry, World};

/// What is counted during a pass.
#[derive(Debug)]
pub struct Considered {
    parameters: Parameters,
    /// Entries that are tested, the place of the next, and the place behind the last that may start now.
    tested: Vec<Entry>,
    at: usize,
    behind_last: usize,
    /// How many have been considered of a user, partition, association, and user in a partition.
    of_users: FxHashMap<u32, u32>,
    of_partitions: FxHashMap<u16, u32>,
    of_associations: FxHashMap<u32, u32>,
    of_both: FxHashMap<(u32, u16), u32>,
    /// Reservations of arrays.
    of_arrays: FxHashMap<u32, u32>,
    /// The time that the pass takes.
    pace: Pace,
}

impl Considered {
    pub fn new(parameters: Parameters) -> Self {
        Self {
            pace: Pace::new(&parameters),
            parameters,
            tested: Vec::new(),
            at: 0,
            behind_last: 0,
            of_users: FxHashMap::default(),
            of_partitions: FxHashMap::default(),
            of_associations: FxHashMap::default(),
            of_both: FxHashMap::default(),
            of_arrays: FxHashMap::default(),
        }
    }

    /// The next entry to look at, unless the pass breaks off or no later one may start: as a pass goes on less and less is free, and one that no longer
    /// fits never does again. `fits` says whether an entry may.
    pub fn next(&mut self, world: &World<'_>, mut fits: impl FnMut(Entry) -> bool) -> Option<Entry> {
        let is_out = |entry: Entry| world.has_started(entry.job) || world.is_held(entry);
        while self.at < self.behind_last {
            let last = self.tested[self.behind_last - 1];
            if !self.pace.counts() && (is_out(last) || !fits(last)) {
                self.behind_last -= 1;
                continue;
            }
            let entry = self.tested[self.at];
            self.at += 1;
            if !is_out(entry) && !self.has_enough(world.setup.job(entry.job).array) {
                return self.pace.goes_on(world).then_some(entry);
            }
        }
        None
    }

    /// Seconds that the pass has lasted.
    pub fn lasted(&self) -> i64 {
        self.pace.lasted()
    }

    /// Whether the array of a job has as many reservations as it gets.
    fn has_enough(&self, array: u32) -> bool {
        let most = self.parameters.bf_max_job_array_resv;
        array != 0 && self.of_arrays.get(&array).is_some_and(|count| *count >= most)
    }

    /// A task of an array has a reservation.
    pub fn count_of(&mut self, array: u32) {
        if array != 0 {
            *self.of_arrays.entry(array).or_default() += 1;
        }
    }

    /// Selects the entries that are tested. False where none could start now by its size.
    pub fn select(&mut self, world: &World<'_>) -> bool {
        self.tested.clear();
        (self.at, self.behind_last) = (0, 0);
        self.of_users.clear();
        self.of_partitions.clear();
        self.of_associations.clear();
        self.of_both.clear();
        self.of_arrays.clear();
        self.pace.begin();
        let most = self.parameters.bf_max_job_test as usize;
        let free: Vec<i32> = (0..world.setup.machine.partitions.len())
            .map(|partition| world.free_in(u16::try_from(partition).unwrap_or_default()))
            .collect();
        for entry in &world.queue {
            if self.tested.len() >= most {
                break;
            }
            if world.is_held_by_jobs(*entry) || self.exceeds(world, *entry) {
                continue;
            }
            self.tested.push(*entry);
            if self.pace.counts() || world.need(*entry).0 <= free[usize::from(entry.partition)] {
                self.behind_last = self.tested.len();
            }
        }
        self.behind_last > 0
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

/// Whether a job may hold up others: it is old and high enough.
pub fn reserves(parameters: &Parameters, world: &World<'_>, entry: Entry) -> bool {
    let Parameters { bf_min_age_reserve, bf_min_prio_reserve, .. } = parameters;
    if *bf_min_prio_reserve > 0 {
        return entry.priority() >= *bf_min_prio_reserve;
    }
    *bf_min_age_reserve == 0
        || world.now - world.setup.job(entry.job).eligible >= i64::from(*bf_min_age_reserve)
}
