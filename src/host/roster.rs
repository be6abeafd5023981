//! The jobs that there are, remembered from cycle to cycle.
//!
//! The nodes of slurmctld's job list are the worst of a walk over all jobs: each is waited for before the next is
//! known. slurmctld also finds jobs by their ids, and those that came since the last walk have the ids that follow. Where as
//! many are found so as the list has, they are those of the list: under the job lock a record is in both or in neither.

use std::cell::Cell;
use std::ops::Range;

use super::ahead::{Seen, Touched};
use super::locks::JobLock;
use super::records::Job;

/// Ids in a row that may belong to no job any more before the search for new jobs ends, beside ten for every new job.
const GAPS: usize = 10_000;

/// The address of a job that is not there any more.
const GONE: usize = 0;

/// The jobs of the last walk, in the order of the list.
#[derive(Debug, Default)]
pub struct Roster {
    jobs: Vec<Seen>,
    /// The id after the highest one that was ever seen.
    next: u32,
}

impl Roster {
    /// How many jobs are remembered.
    pub fn count(&self) -> usize {
        self.jobs.len()
    }

    /// Forgets all jobs.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Remembers jobs of the list, in its order.
    pub fn remember(&mut self, jobs: &[Job<'_>]) {
        self.jobs.extend(jobs.iter().copied().map(Seen::of));
        let highest = jobs.iter().map(|job| job.get(|job| job.job_id)).max();
        self.next = self.next.max(highest.map_or(0, |id| id.saturating_add(1)));
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
        touched.pipeline(jobs.len(), |at| jobs[at].get().address, find, |_, job| visit(job));
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
            let mut id = Touched::new();
            id.field(lock.host().layout.job.job_id);
            self.walk(0..self.jobs.len(), lock, &id, |_| ());
        }
        self.jobs.retain(|job| job.address != GONE);
        let (known, all) = (self.jobs.len(), lock.job_count());
        // With nothing known, there is nothing to go on from.
        if known < all && known > 0 {
            self.find_new(all - known, lock);
            self.walk(known..self.jobs.len(), lock, touched, visit);
        }
        self.jobs.len() == all
    }

    /// Looks for so many jobs among the ids that slurmctld has given since.
    fn find_new(&mut self, count: usize, lock: &JobLock<'_>) {
        let (mut found, mut tries) = (0, GAPS.saturating_add(10 * count));
        let mut id = self.next;
        while found < count && tries > 0 && id != u32::MAX {
            if let Some(job) = lock.job(id) {
                self.jobs.push(Seen::of(job));
                self.next = id + 1;
                found += 1;
            }
            id += 1;
            tries -= 1;
        }
    }
}
