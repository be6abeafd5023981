//! Walking many job records: what a visit will touch is fetched while earlier jobs are worked on.
//!
//! A cycle touches a dozen cache lines of every job, in records that lie all over the heap of a daemon that has
//! run for weeks. What such a walk waits for are cache and TLB misses, one behind the other; fetched
//! ahead they overlap.

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

    /// Visits jobs in order. The caller holds the job lock, under which `jobs` was collected.
    pub fn walk<'a>(&self, jobs: &[Job<'a>], mut visit: impl FnMut(Job<'a>)) {
        for (at, job) in jobs.iter().enumerate() {
            if let Some(ahead) = jobs.get(at + RECORD) {
                fetch(ahead.as_ptr(), &self.job);
            }
            if let Some(ahead) = jobs.get(at + BEHIND) {
                for (pointer, offsets) in &self.behind {
                    fetch(ahead.get(|_| *pointer), offsets);
                }
            }
            visit(*job);
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
