//! How many jobs have overtaken a job: those that started in its partition although they were behind it in the order of the
//! cycle before. BYPASS of Maui's priority function (Administrator's Guide 5.1.2), where it counts backfill.
//!
//! Only cycles look: a job that comes and goes between two of them is not seen. Nothing is kept over a restart.

use rustc_hash::FxHashMap;

/// A job as a cycle sees it that waits and is eligible; one entry for each of its partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eligible {
    /// Its id.
    pub id: u32,
    /// Since when it gains age, in seconds since 1970. Another time is another wait: the job was requeued.
    pub since: i64,
    /// Which partition it is.
    pub partition: u32,
    /// Its priority.
    pub priority: u32,
}

/// The place in the order of a cycle: by priority, then by id. One that is behind is larger.
fn place(priority: u32, id: u32) -> u64 {
    u64::from(u32::MAX - priority) << 32 | u64::from(id)
}

/// How often each waiting job was overtaken, and the order of the last cycle, by which that is told.
#[derive(Clone, Debug, Default)]
pub struct Overtaken {
    /// The places of the eligible jobs of the last cycle, by id.
    order: Vec<(u32, u64)>,
    /// Those that were overtaken: since when they wait, and how often.
    counts: FxHashMap<u32, (i64, u32)>,
}

impl Overtaken {
    /// How many jobs have overtaken the one with an id.
    pub fn count(&self, id: u32) -> u32 {
        self.counts.get(&id).map_or(0, |(_, count)| *count)
    }

    /// Whether a job waited in the last cycle: if it has started, others may have been overtaken.
    pub fn knows(&self, id: u32) -> bool {
        self.place(id).is_some()
    }

    fn place(&self, id: u32) -> Option<u64> {
        let at = self.order.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some(self.order[at].1)
    }

    /// Counts those that have `started` since the last cycle, by id and partition, for all that still wait.
    pub fn note(&mut self, waiting: &[Eligible], started: &[(u32, u32)]) {
        let mut places = FxHashMap::<u32, Vec<u64>>::default();
        for (id, partition) in started {
            if let Some(place) = self.place(*id) {
                places.entry(*partition).or_default().push(place);
            }
        }
        for places in places.values_mut() {
            places.sort_unstable();
        }
        let mut counts = FxHashMap::<u32, (i64, u32)>::default();
        for job in waiting {
            let (Some(place), Some(started)) = (self.place(job.id), places.get(&job.partition)) else {
                continue;
            };
            let behind = started.len() - started.partition_point(|other| *other <= place);
            if behind > 0 {
                let count = counts.entry(job.id).or_insert((job.since, 0));
                count.1 = count.1.saturating_add(u32::try_from(behind).unwrap_or(u32::MAX));
            }
        }
        for job in waiting {
            match self.counts.remove(&job.id) {
                Some((since, before)) if since == job.since => {
                    let count = counts.entry(job.id).or_insert((since, 0));
                    count.1 = count.1.saturating_add(before);
                }
                _ => (),
            }
        }
        self.counts = counts;
    }

    /// The order of a cycle, once the priorities are known: of those that wait and are eligible.
    pub fn rank(&mut self, waiting: impl Iterator<Item = (u32, u32)>) {
        self.order.clear();
        self.order.extend(waiting.map(|(id, priority)| (id, place(priority, id))));
        self.order.sort_unstable();
        self.order.dedup_by_key(|(id, _)| *id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn waits(id: u32, partition: u32, priority: u32) -> Eligible {
        Eligible { id, since: 10, partition, priority }
    }

    fn ranked(jobs: &[Eligible]) -> Overtaken {
        let mut overtaken = Overtaken::default();
        overtaken.rank(jobs.iter().map(|job| (job.id, job.priority)));
        overtaken
    }

    #[test]
    fn those_behind_that_start_in_the_same_partition_count() {
        let jobs = [waits(1, 0, 50), waits(2, 0, 90), waits(3, 0, 50), waits(4, 1, 10), waits(5, 0, 10)];
        let mut overtaken = ranked(&jobs);
        assert_eq!([1, 5, 6].map(|id| overtaken.knows(id)), [true, true, false]);
        // 3 has the priority of 1 and came later; 4 is in another partition; 2 was before both.
        overtaken.note(&[jobs[0], jobs[4]], &[(2, 0), (3, 0), (4, 1)]);
        assert_eq!([1, 5].map(|id| overtaken.count(id)), [1, 0]);
        // They add up; a job that nobody knew has not overtaken anybody.
        overtaken.rank([(1, 50), (5, 10)].into_iter());
        overtaken.note(&[jobs[0]], &[(5, 0), (9, 0)]);
        assert_eq!(overtaken.count(1), 2);
    }

    #[test]
    fn another_wait_begins_at_nothing() {
        let jobs = [waits(1, 0, 50), waits(2, 0, 10)];
        let mut overtaken = ranked(&jobs);
        overtaken.note(&[jobs[0]], &[(2, 0)]);
        assert_eq!(overtaken.count(1), 1);
        overtaken.note(&[Eligible { since: 20, ..jobs[0] }], &[]);
        assert_eq!(overtaken.count(1), 0, "requeued");
        overtaken.note(&[jobs[0]], &[(2, 0)]);
        overtaken.note(&[], &[]);
        assert_eq!(overtaken.count(1), 0, "it does not wait any more");
    }

    #[test]
    fn a_job_in_several_partitions_is_overtaken_in_each_of_them() {
        let jobs = [waits(1, 0, 50), waits(1, 1, 50), waits(2, 0, 10), waits(3, 1, 10), waits(4, 2, 10)];
        let mut overtaken = ranked(&jobs);
        overtaken.note(&jobs[..2], &[(2, 0), (3, 1), (4, 2)]);
        assert_eq!(overtaken.count(1), 2);
    }

    proptest! {
        #![proptest_config(multifactor2_fixtures::seeded())]

        /// Against a look at every pair.
        #[test]
        fn counts_as_a_look_at_every_pair_does(
            priorities in prop::collection::vec((0..4_u32, 0..3_u32, any::<bool>()), 0..40),
        ) {
            let jobs: Vec<Eligible> =
                (1..).zip(&priorities).map(|(id, (priority, partition, _))| waits(id, *partition, *priority)).collect();
            let mut overtaken = ranked(&jobs);
            let has_started = |job: &&Eligible| priorities[job.id as usize - 1].2;
            let started: Vec<(u32, u32)> =
                jobs.iter().filter(has_started).map(|job| (job.id, job.partition)).collect();
            let waiting: Vec<Eligible> = jobs.iter().filter(|job| !has_started(job)).copied().collect();
            overtaken.note(&waiting, &started);
            for job in &waiting {
                let behind = jobs.iter().filter(has_started).filter(|other| {
                    other.partition == job.partition
                        && (other.priority < job.priority || other.priority == job.priority && other.id > job.id)
                });
                prop_assert_eq!(overtaken.count(job.id) as usize, behind.count());
            }
        }
    }
}
