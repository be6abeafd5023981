//! BYPASS: how many jobs have overtaken a job. These are the jobs that started in one of its partitions with a lower priority there while
//! it was eligible. Maui's priority function (Administrator's Guide 5.1.2) counts backfill here.
//!
//! A job that was submitted before the last look and was not eligible then may have been held until a moment ago. It counts from this look
//! on. Priorities are those last written, by a calculation, a submission or an administrator. Each start counts once, by its second. Counts
//! are kept by job id and submission time, and saved; a requeue is a new submission.

use rustc_hash::{FxHashMap, FxHashSet};

/// A job that waits and is eligible, in one of its partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eligible {
    /// Its id.
    pub id: u32,
    /// When it was submitted, in seconds since 1970.
    pub submit: i64,
    /// The id of the array that it is of; 0 for none.
    pub array: u32,
    /// Since when it is eligible and not held.
    pub since: i64,
    /// Which partition it is.
    pub partition: u32,
    /// Its priority there.
    pub priority: u32,
}

/// A job that has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Started {
    /// Its id.
    pub id: u32,
    /// When it started.
    pub start: i64,
    /// In which partition.
    pub partition: u32,
    /// The priority that it had there.
    pub priority: u32,
}

/// How often each waiting job was overtaken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overtaken {
    /// Those that were overtaken: when they were submitted, and how often.
    counts: FxHashMap<u32, (i64, u32)>,
    /// All starts before this time are counted; `None`: nobody has counted yet.
    until: Option<i64>,
    /// Those of that very second that are counted.
    last: FxHashSet<u32>,
    /// The ids of those that were eligible at the last look; `None`: another process has looked.
    seen: Option<FxHashSet<u32>>,
}

impl Overtaken {
    /// What another process has kept: up to when it counted, and by job id when it was submitted and how often it was overtaken.
    pub fn kept(until: i64, counts: impl IntoIterator<Item = (u32, i64, u32)>) -> Self {
        Self {
            counts: counts.into_iter().map(|(id, submit, count)| (id, (submit, count))).collect(),
            until: Some(until),
            last: FxHashSet::default(),
            seen: None,
        }
    }

    /// Up to when starts are counted.
    pub fn until(&self) -> Option<i64> {
        self.until
    }

    /// By job id when it was submitted and how often it was overtaken.
    pub fn counts(&self) -> impl Iterator<Item = (u32, i64, u32)> + '_ {
        self.counts.iter().map(|(id, (submit, count))| (*id, *submit, *count))
    }

    /// How many jobs have overtaken the one with an id.
    pub fn count(&self, id: u32) -> u32 {
        self.counts.get(&id).map_or(0, |(_, count)| *count)
    }

    /// Whether a start at a time may be one that is not counted yet.
    pub fn may_count(&self, start: i64) -> bool {
        self.until.is_some_and(|until| start >= until)
    }

    /// Counts those that have `started` up to `now` and were not counted yet, for all that wait.
    pub fn note(&mut self, waiting: &[Eligible], started: &[Started], now: i64) {
        let mut seen = FxHashSet::<(u32, i64)>::default();
        let is_new = |one: &&Started| {
            self.may_count(one.start)
                && one.start <= now
                && !(Some(one.start) == self.until && self.last.contains(&one.id))
                && seen.insert((one.id, one.start))
        };
        let mut partitions = FxHashMap::<u32, Vec<Started>>::default();
        for one in started.iter().filter(is_new) {
            partitions.entry(one.partition).or_default().push(*one);
        }
        let mut counts = FxHashMap::<u32, (i64, u32)>::default();
        for job in waiting {
            let known = |id: u32| self.counts.get(&id).filter(|(submit, _)| *submit == job.submit);
            // A record of an array that splits hands its count on to both parts.
            let before = known(job.id).or_else(|| known(job.array).filter(|_| job.array != 0));
            if let Some((_, before)) = before {
                counts.insert(job.id, (job.submit, *before));
            }
        }
        let mut add = |job: &Eligible, lower: usize| {
            if lower > 0 {
                let count = counts.entry(job.id).or_insert((job.submit, 0));
                count.1 = count.1.saturating_add(u32::try_from(lower).unwrap_or(u32::MAX));
            }
        };
        let mut late = FxHashMap::<u32, Vec<Eligible>>::default();
        for started in partitions.values_mut() {
            started.sort_unstable_by_key(|one| one.priority);
        }
        let first: FxHashMap<u32, i64> = partitions
            .iter()
            .map(|(partition, started)| {
                (*partition, started.iter().map(|one| one.start).min().unwrap_or_default())
            })
            .collect();
        let was_eligible = |job: &Eligible| match (&self.seen, self.until) {
            (Some(seen), Some(until)) => {
                job.submit >= until || seen.contains(&job.id) || job.array != 0 && seen.contains(&job.array)
            }
            _ => true,
        };
        for job in waiting.iter().filter(|job| !partitions.is_empty() && was_eligible(job)) {
            let Some(started) = partitions.get(&job.partition) else { continue };
            if job.since > first.get(&job.partition).copied().unwrap_or_default() {
                late.entry(job.partition).or_default().push(*job);
            } else {
                add(job, started.partition_point(|one| one.priority < job.priority));
            }
        }
        // Those that became eligible in between have been overtaken by what started since: both in the order of time, latest first.
        for (partition, mut late) in late {
            let Some(by_priority) = partitions.get(&partition) else { continue };
            late.sort_unstable_by_key(|job| std::cmp::Reverse(job.since));
            let mut by_time: Vec<(i64, usize)> =
                by_priority.iter().enumerate().map(|(rank, one)| (one.start, rank)).collect();
            by_time.sort_unstable_by_key(|(start, _)| std::cmp::Reverse(*start));
            let (mut ranks, mut next) = (Ranks::new(by_priority.len()), by_time.into_iter().peekable());
            for job in &late {
                while let Some((_, rank)) = next.next_if(|(start, _)| *start >= job.since) {
                    ranks.add(rank);
                }
                add(job, ranks.below(by_priority.partition_point(|one| one.priority < job.priority)));
            }
        }
        if self.until != Some(now) {
            self.last.clear();
        }
        self.last.extend(partitions.values().flatten().filter(|one| one.start == now).map(|one| one.id));
        self.counts = counts;
        self.seen = Some(waiting.iter().map(|job| job.id).collect());
        self.until = Some(now);
    }
}

/// Which ranks have been added, by sums over parts of them (a Fenwick tree).
struct Ranks(Vec<usize>);

impl Ranks {
    fn new(count: usize) -> Self {
        Self(vec![0; count + 1])
    }

    fn add(&mut self, rank: usize) {
        let mut at = rank + 1;
        while at < self.0.len() {
            self.0[at] += 1;
            at += at & at.wrapping_neg();
        }
    }

    /// How many of those below a rank.
    fn below(&self, rank: usize) -> usize {
        let (mut at, mut sum) = (rank, 0);
        while at > 0 {
            sum += self.0[at];
            at &= at - 1;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn waits(id: u32, partition: u32, priority: u32) -> Eligible {
        Eligible { id, submit: 10, array: 0, since: 10, partition, priority }
    }

    fn starts(id: u32, partition: u32, priority: u32) -> Started {
        Started { id, start: 150, partition, priority }
    }

    fn since_100() -> Overtaken {
        Overtaken::kept(100, [])
    }

    #[test]
    fn those_with_a_lower_priority_that_start_in_the_same_partition_count() {
        let mut overtaken = since_100();
        let jobs = [waits(1, 0, 50), waits(5, 0, 10)];
        // As high as that of 1; in another partition; higher.
        overtaken.note(&jobs, &[starts(3, 0, 50), starts(4, 1, 10), starts(2, 0, 90), starts(6, 0, 49)], 200);
        assert_eq!([1, 5].map(|id| overtaken.count(id)), [1, 0]);
        overtaken.note(&jobs[..1], &[Started { start: 250, ..starts(5, 0, 10) }], 300);
        assert_eq!(overtaken.count(1), 2, "they add up");
        overtaken.note(&[], &[], 400);
        overtaken.note(&jobs, &[], 500);
        assert_eq!(overtaken.count(1), 0, "it did not wait any more");
    }

    #[test]
    fn each_start_counts_once_by_its_second() {
        let mut overtaken = Overtaken::default();
        let job = [waits(1, 0, 50)];
        let of_second = |id, start| Started { start, ..starts(id, 0, 1) };
        overtaken.note(&job, &[of_second(2, 99)], 100);
        assert_eq!(overtaken.count(1), 0, "the first look: nobody knows what was before");
        overtaken.note(&job, &[of_second(2, 99), of_second(3, 200), of_second(3, 200)], 200);
        assert_eq!(overtaken.count(1), 1);
        // In the second of the look before: one of them was seen then.
        let again = [of_second(3, 200), of_second(4, 200), of_second(5, 300), of_second(6, 301)];
        overtaken.note(&job, &again, 300);
        assert_eq!(overtaken.count(1), 3);
        overtaken.note(&job, &again, 300);
        assert_eq!(overtaken.count(1), 3);
        overtaken.note(&job, &again, 310);
        assert_eq!(overtaken.count(1), 4);
        // The clock was set back.
        overtaken.note(&job, &[of_second(7, 150)], 160);
        overtaken.note(&job, &[of_second(8, 165)], 170);
        assert_eq!(overtaken.count(1), 5);
    }

    #[test]
    fn what_started_before_a_job_was_eligible_has_not_overtaken_it() {
        let mut overtaken = since_100();
        let late = Eligible { since: 150, ..waits(1, 0, 50) };
        let of = |id, start, priority| Started { start, ..starts(id, 0, priority) };
        let started = [of(2, 120, 1), of(3, 150, 1), of(4, 160, 60), of(5, 190, 40)];
        overtaken.note(&[late, waits(9, 0, 50)], &started, 200);
        assert_eq!([1, 9].map(|id| overtaken.count(id)), [2, 3]);
    }

    #[test]
    fn a_job_that_was_held_at_the_last_look_counts_from_now_on() {
        let mut overtaken = since_100();
        let (held, new) = (waits(1, 0, 50), Eligible { submit: 220, since: 220, ..waits(8, 0, 50) });
        overtaken.note(&[waits(9, 0, 50)], &[], 200);
        let part = Eligible { array: 9, ..waits(7, 0, 50) };
        let second = Started { start: 250, ..starts(2, 0, 10) };
        overtaken.note(&[held, new, part], &[second], 300);
        assert_eq!([1, 8, 7].map(|id| overtaken.count(id)), [0, 1, 1]);
        overtaken.note(&[held, new, part], &[Started { start: 350, ..starts(3, 0, 10) }], 400);
        assert_eq!([1, 8, 7].map(|id| overtaken.count(id)), [1, 2, 2]);
    }

    #[test]
    fn a_requeue_begins_at_nothing_and_parts_of_an_array_keep_the_count() {
        let mut overtaken = since_100();
        overtaken.note(&[waits(1, 0, 50)], &[starts(2, 0, 10)], 200);
        let part = Eligible { array: 1, ..waits(8, 0, 50) };
        let requeued = Eligible { submit: 20, array: 1, ..waits(9, 0, 50) };
        overtaken.note(&[waits(1, 0, 50), part, requeued], &[], 300);
        assert_eq!([1, 8, 9].map(|id| overtaken.count(id)), [1, 1, 0]);
    }

    #[test]
    fn a_job_in_several_partitions_is_overtaken_in_each_of_them() {
        let mut overtaken = since_100();
        let jobs = [waits(1, 0, 50), waits(1, 1, 20)];
        overtaken.note(&jobs, &[starts(2, 0, 10), starts(3, 1, 30), starts(4, 1, 10), starts(5, 2, 10)], 200);
        assert_eq!(overtaken.count(1), 2, "by its priority in each");
    }

    proptest! {
        #![proptest_config(multifactor2_fixtures::seeded())]

        /// Against a look at every pair.
        #[test]
        fn counts_as_a_look_at_every_pair_does(
            waiting in prop::collection::vec((1..30_u32, 0..3_u32, 0..6_u32, 90..210_i64), 0..40),
            started in prop::collection::vec((0..3_u32, 0..6_u32, 90..210_i64), 0..40),
        ) {
            let started: Vec<Started> = (100..)
                .zip(started)
                .map(|(id, (partition, priority, start))| Started { id, start, partition, priority })
                .collect();
            let waiting: Vec<Eligible> = waiting
                .into_iter()
                .map(|(id, partition, priority, since)| Eligible { since, ..waits(id, partition, priority) })
                .collect();
            let mut overtaken = since_100();
            overtaken.note(&waiting, &started, 200);
            for id in 1..30 {
                let pairs = waiting.iter().filter(|job| job.id == id).flat_map(|job| {
                    started.iter().filter(move |one| {
                        one.partition == job.partition
                            && one.priority < job.priority
                            && (100..=200).contains(&one.start)
                            && one.start >= job.since
                    })
                });
                prop_assert_eq!(overtaken.count(id) as usize, pairs.count(), "job {}", id);
            }
        }
    }
}
