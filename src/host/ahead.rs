//! Walking many job records: what a visit will touch is fetched while earlier jobs are worked on.
//!
//! A cycle touches a dozen cache lines of every job, in records that lie all over the heap of a daemon that has
//! run for weeks. What such a walk waits for are cache and TLB misses, one behind the other; fetched
//! ahead they overlap.

use std::collections::VecDeque;

use super::layout::{Field, Ptr};
use super::records::Job;

/// Jobs between the one visited and the one whose record is fetched.
const RECORD: usize = 20;
/// Jobs between the one visited and the one whose details and factors are fetched; its record has arrived by then.
const BEHIND: usize = 8;

extern "C" {
    fn mf2_prefetch(record: *const u8, offsets: *const u32, count: usize);
}

/// What is touched of a job, so that it can be fetched before.
#[derive(Debug, Default)]
pub struct Touched {
    /// Offsets in the job record.
    job: Vec<u32>,
    /// Pointers in the job record, each with offsets in what it points to.
    behind: Vec<(Field<Ptr>, Vec<u32>)>,
}

impl Touched {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A field of the job record.
    pub fn job<T>(&mut self, field: Field<T>) -> &mut Self {
        add(&mut self.job, field.offset());
        self
    }

    /// A field of what a pointer of the job record leads to.
    pub fn behind<T>(&mut self, pointer: Field<Ptr>, field: Field<T>) -> &mut Self {
        self.job(pointer);
        let known = self.behind.iter().position(|(known, _)| known.offset() == pointer.offset());
        let at = known.unwrap_or_else(|| {
            self.behind.push((pointer, Vec::new()));
            self.behind.len() - 1
        });
        add(&mut self.behind[at].1, field.offset());
        self
    }

    /// Visits the jobs that `produce` hands to its argument, in order, each some jobs later than it was handed out. The
    /// caller holds the job lock all the while.
    pub fn walk<'a>(&self, produce: impl FnOnce(&mut dyn FnMut(Job<'a>)), mut visit: impl FnMut(Job<'a>)) {
        let mut coming = VecDeque::with_capacity(RECORD + 1);
        produce(&mut |job: Job<'a>| {
            fetch(job.as_ptr(), &self.job);
            coming.push_back(job);
            if let Some(at) = coming.len().checked_sub(RECORD - BEHIND) {
                if let Some(near) = coming.get(at) {
                    self.fetch_behind(*near);
                }
            }
            if coming.len() > RECORD {
                if let Some(job) = coming.pop_front() {
                    visit(job);
                }
            }
        });
        coming.into_iter().for_each(visit);
    }

    fn fetch_behind(&self, job: Job<'_>) {
        for (pointer, offsets) in &self.behind {
            fetch(job.get(|_| *pointer), offsets);
        }
    }
}

fn fetch(record: *mut u8, offsets: &[u32]) {
    // SAFETY: fetching reads nothing; any address will do, also one near null.
    unsafe { mf2_prefetch(record, offsets.as_ptr(), offsets.len()) }
}

/// Allocations are aligned to 16 bytes, so what shares 16 bytes shares a cache line.
fn add(offsets: &mut Vec<u32>, offset: usize) {
    let offset = u32::try_from(offset / 16 * 16).unwrap_or(0);
    if !offsets.contains(&offset) {
        offsets.push(offset);
    }
}
