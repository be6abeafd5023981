//! The jobs that there are, remembered from cycle to cycle.
//!
//! The nodes of slurmctld's job list are the worst of a walk over all jobs: each is waited for before the next is
//! known. slurmctld also finds jobs by their ids, and those that came since the last walk have the ids that follow. Where as
//! many are found so as the list has, they are those of the list: under the job lock a record is in both or in neither.

use std::cell::Cell;

use super::ahead::{Seen, Touched};
use super::locks::JobLock;
use super::records::Job;

/// Ids in a row that may belong to no job any more before the search for new jobs ends, beside ten for every new job.
const GAPS: usize = 10_000;

/// The jobs of the last walk, in the order of the list.
#[derive(Debug, Default)]
pub struct Roster {
    jobs: Vec<Seen>,
    /// The id after the highest one that was ever seen.
    next: u32,
}

impl Roster {
    /// Visits every job in the order of the list, and remembers it. The caller holds the locks of what `touched` leads
    /// through.
    pub fn walk_list<'a>(&mut self, lock: &'a JobLock<'_>, touched: &Touched, visit: impl FnMut(Job<'a>)) {
        let all = lock.all_jobs();
        self.jobs = all.iter().copied().map(Seen::of).collect();
        self.next = self.jobs.iter().map(|job| job.id.saturating_add(1)).max().unwrap_or(0);
        touched.walk(&all, visit);
    }

    /// As [`Roster::walk_list`] without the list. False where the list has others than those that were visited: then that was
    /// for nothing.
    ///
    /// Jobs come in the order of the list, but for tasks that have left their array since the last walk of the
    /// list: such a task has a new id, and its old one belongs to the rest of the array.
    pub fn walk_known<'a>(
        &mut self,
        lock: &'a JobLock<'_>,
        touched: &Touched,
        mut visit: impl FnMut(Job<'a>),
    ) -> bool {
        if self.jobs.is_empty() {
            return lock.job_count() == 0;
        }
        self.walk_from(0, lock, touched, &mut visit);
        self.jobs.retain(|job| job.address != 0);
        let (known, all) = (self.jobs.len(), lock.job_count());
        if known < all {
            self.find_new(all - known, lock);
            self.walk_from(known, lock, touched, &mut visit);
        }
        self.jobs.len() == all
    }

    /// Visits the jobs from one place on; those that are gone get the address 0.
    fn walk_from<'a>(
        &mut self,
        first: usize,
        lock: &'a JobLock<'_>,
        touched: &Touched,
        visit: &mut impl FnMut(Job<'a>),
    ) {
        let jobs = Cell::from_mut(&mut self.jobs[first..]).as_slice_of_cells();
        let find = |at: usize| {
            let id = jobs[at].get().id;
            let found = lock.job(id);
            jobs[at].set(Seen { id, address: found.map_or(0, Job::address) });
            found
        };
        touched.pipeline(jobs.len(), |at| jobs[at].get().address, find, |_, job| visit(job));
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
