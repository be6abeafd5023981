//! Remembers the jobs from cycle to cycle, because slurmctld's job list is the slowest part of a walk over all jobs: each of its nodes must
//! arrive before the next is known.
//!
//! slurmctld also finds jobs by their ids, and new jobs have the ids that follow. If the number found in this way equals the length of the
//! list, they are the jobs of the list: under the job lock a record is in both or in neither.
//!
//! Ids are consecutive, but start over after `MaxJobId`, and in a federation each cluster counts for itself, in the lower bits. If ids do
//! not help, some cycles walk the list at once before ids are tried again.

use std::cell::Cell;
use std::ops::Range;

use rustc_hash::FxHashSet;

use super::jobs::Seen;
use super::locks::JobLock;
use super::prefetch::Touched;
use super::records::Job;
use super::views;

/// Consecutive ids without a job after which the search for new jobs ends, in addition to ten for every new job.
const GAPS: usize = 10_000;

/// The address of a job that is not there any more.
const GONE: usize = 0;

/// Bits of an id that one cluster of a federation counts with; those above say which one.
const SEQUENCE_BITS: u32 = 26;

/// The most times in a row that the list is walked at once.
const LONGEST_REST: u32 = 63;

/// The ids that one cluster gives.
#[derive(Debug, Clone, Copy)]
struct Sequence {
    cluster: u32,
    /// The id after the one that was given last.
    next: u32,
    /// The highest one that was given to a known job; what is above is new.
    highest: u32,
}

/// The jobs of the last walk, in the order of the list.
#[derive(Debug, Default)]
pub struct KnownJobs {
    jobs: Vec<Seen>,
    sequences: Vec<Sequence>,
    /// How often in a row jobs were not all found by their ids.
    vain: u32,
    /// How often the list is still to be walked at once.
    rest: u32,
}

impl KnownJobs {
    /// How many jobs are remembered.
    pub fn count(&self) -> usize {
        self.jobs.len()
    }

    /// Forgets all jobs.
    pub fn clear(&mut self) {
        self.jobs.clear();
        self.sequences.clear();
    }

    /// Remembers jobs of the list, in its order: the last one was given its id last.
    pub fn remember(&mut self, jobs: &[Job<'_>]) {
        for job in jobs {
            let job = Seen::of(*job);
            self.note_id(job.id);
            self.jobs.push(job);
        }
    }

    fn note_id(&mut self, id: u32) {
        let (cluster, next) = (id >> SEQUENCE_BITS, id.wrapping_add(1));
        match self.sequences.iter_mut().find(|sequence| sequence.cluster == cluster) {
            Some(sequence) => {
                sequence.next = next;
                sequence.highest = sequence.highest.max(id);
            }
            None => self.sequences.push(Sequence { cluster, next, highest: id }),
        }
    }

    /// Whether to look for the jobs by their ids; else the list is to be walked at once. Asked once per cycle.
    pub fn pays(&mut self) -> bool {
        let rests = self.rest > 0;
        self.rest = self.rest.saturating_sub(1);
        !rests
    }

    /// After the jobs were looked for by their ids.
    fn note_result(&mut self, found: bool) {
        self.vain = if found { 0 } else { self.vain + 1 };
        // The first time may be the end of an era: ids that began anew.
        self.rest = (1_u32 << self.vain.saturating_sub(1).min(6)).saturating_sub(1).min(LONGEST_REST);
    }

    /// Visits those of a range of remembered jobs that are still there. The caller holds the locks of what `touched` leads
    /// through.
    pub fn walk<'a>(
        &mut self,
        range: Range<usize>,
        lock: &'a JobLock<'_>,
        touched: &Touched,
        mut visit: impl FnMut(Job<'a>),
    ) {
        let jobs = Cell::from_mut(&mut self.jobs[range]).as_slice_of_cells();
        let find = |at: usize| {
            let id = jobs[at].get().id;
            let found = lock.job(id);
            jobs[at].set(Seen { id, address: found.map_or(GONE, Job::address) });
            found
        };
        touched.pipeline(jobs.len(), |at| jobs[at].get().address, find, |_| false, |_, job| visit(job));
    }

    /// After a walk over all: visits the jobs that have come since the last one. False where the list has others than those
    /// that were visited: then that was for nothing. `again` where the lock was let go of in between: jobs may have gone.
    ///
    /// Jobs come in the order of the list, but for tasks that have left their array since they were remembered: such a
    /// task has a new id, and its old one belongs to the rest of the array.
    pub fn complete<'a>(
        &mut self,
        again: bool,
        lock: &'a JobLock<'_>,
        touched: &Touched,
        visit: impl FnMut(Job<'a>),
    ) -> bool {
        if again {
            self.walk(0..self.jobs.len(), lock, &views::job_id(lock.host()), |_| ());
        }
        self.jobs.retain(|job| job.address != GONE);
        let (known, all) = (self.jobs.len(), lock.job_count());
        // With nothing known, there is nothing to go on from.
        if known < all && known > 0 {
            self.find_new(all - known, lock);
            self.walk(known..self.jobs.len(), lock, touched, visit);
        }
        let found = self.jobs.len() == all;
        if known > 0 || found {
            self.note_result(found);
        }
        found
    }

    /// Looks for `count` jobs among the ids that slurmctld has given since.
    fn find_new(&mut self, count: usize, lock: &JobLock<'_>) {
        let all = self.jobs.len() + count;
        // Ids that were given before are met again only where they have begun anew.
        let mut known: Option<FxHashSet<u32>> = None;
        for at in 0..self.sequences.len() {
            let Sequence { cluster, next, highest } = self.sequences[at];
            let tries = u32::try_from(GAPS.saturating_add(10 * count)).unwrap_or(u32::MAX);
            for id in next..next.saturating_add(tries) {
                if self.jobs.len() == all {
                    return;
                }
                if id >> SEQUENCE_BITS != cluster {
                    break;
                }
                let Some(job) = lock.job(id) else { continue };
                let ids = |jobs: &[Seen]| jobs.iter().map(|job| job.id).collect();
                if id > highest || !known.get_or_insert_with(|| ids(&self.jobs)).contains(&id) {
                    self.jobs.push(Seen::of(job));
                    self.note_id(id);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_are_no_help_are_tried_less_and_less_often_until_they_are() {
        let mut known = KnownJobs { jobs: vec![Seen { id: 1, address: 64 }], ..KnownJobs::default() };
        let mut tries = |cycles: usize, found: bool| {
            let tried = (0..cycles).filter(|_| {
                let pays = known.pays();
                if pays {
                    known.note_result(found);
                }
                pays
            });
            tried.count()
        };
        assert_eq!(tries(1, false), 1);
        assert_eq!(tries(1, false), 1, "the first time may be chance");
        // After 1, 3, 7, 15 and 31 cycles, which is the 62nd; then after 63 each, the last time in the 958th.
        assert_eq!(tries(1000, false), 5 + 14);
        assert_eq!(tries(21, true), 0);
        assert_eq!(tries(10, true), 10, "they are again");
    }
}
