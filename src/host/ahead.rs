//! Walking many job records: what a visit will touch is fetched while earlier jobs are worked on.
//!
//! A cycle touches a dozen cache lines of every job, in records that lie all over the heap of a daemon that has
//! run for weeks. What such a walk waits for are cache and TLB misses, one behind the other; fetched
//! ahead they overlap.

use std::collections::VecDeque;

use super::layout::{Field, Ptr};
use super::locks::JobLock;
use super::records::Job;

/// Jobs between the one visited and the one whose record is fetched.
const RECORD: usize = 20;
/// Jobs between the one visited and the one whose details and factors are fetched; its record has arrived by then.
const BEHIND: usize = 8;
/// Bytes of a cache line.
const LINE: usize = 64;

extern "C" {
    fn mf2_prefetch(record: *const u8, offsets: *const u32, count: usize);
}

/// A job that was seen under an earlier hold of the job lock, and may be gone since. The address says where its record
/// was, for fetching; nothing is read there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The job's id.
    pub id: u32,
    address: usize,
}

impl Seen {
    /// Takes note of a job.
    pub fn of(job: Job<'_>) -> Self {
        Self { id: job.get(|job| job.job_id), address: job.address() }
    }
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

    /// An array with one entry of eight bytes per TRES that a pointer of the job record leads to.
    pub fn tres(&mut self, pointer: Field<Ptr>, count: usize) -> &mut Self {
        self.job(pointer);
        let lines = (0..count * size_of::<u64>()).step_by(LINE).filter_map(|offset| offset.try_into().ok());
        self.behind.push((pointer, lines.collect()));
        self
    }

    /// Visits the jobs that `produce` hands to its argument, in order, each some jobs later than it was handed out. The
    /// caller holds the job lock all the while. A job may come with a note of what is known of it.
    pub fn walk<'a, N>(
        &self,
        produce: impl FnOnce(&mut dyn FnMut(Job<'a>, N)),
        mut visit: impl FnMut(Job<'a>, N),
    ) {
        let mut coming = VecDeque::with_capacity(RECORD + 1);
        produce(&mut |job: Job<'a>, note: N| {
            fetch(job.address(), &self.job);
            coming.push_back((job, note));
            if let Some(at) = coming.len().checked_sub(RECORD - BEHIND) {
                if let Some((near, _)) = coming.get(at) {
                    self.fetch_behind(*near);
                }
            }
            if coming.len() > RECORD {
                if let Some((job, note)) = coming.pop_front() {
                    visit(job, note);
                }
            }
        });
        for (job, note) in coming {
            visit(job, note);
        }
    }

    /// As [`Touched::walk`] for jobs seen before, those that are still there, each with its note. They are found by id, so
    /// the list's nodes are not waited for.
    pub fn walk_seen<'a, 'n, N: AsRef<Seen>>(
        &self,
        lock: &'a JobLock<'_>,
        notes: &'n [N],
        visit: impl FnMut(Job<'a>, &'n N),
    ) {
        let find = |hand_out: &mut dyn FnMut(Job<'a>, &'n N)| {
            for (at, note) in notes.iter().enumerate() {
                if let Some(coming) = notes.get(at + RECORD) {
                    fetch(coming.as_ref().address, &self.job);
                }
                if let Some(job) = lock.job(note.as_ref().id) {
                    hand_out(job, note);
                }
            }
        };
        self.walk(find, visit);
    }

    fn fetch_behind(&self, job: Job<'_>) {
        for (pointer, offsets) in &self.behind {
            let address = job.get(|_| *pointer) as usize;
            // Fetching near null walks the page tables every time.
            if address != 0 {
                fetch(address, offsets);
            }
        }
    }
}

impl AsRef<Self> for Seen {
    fn as_ref(&self) -> &Self {
        self
    }
}

fn fetch(record: usize, offsets: &[u32]) {
    // SAFETY: fetching reads nothing; any address will do, also one where nothing is any more.
    unsafe { mf2_prefetch(record as *const u8, offsets.as_ptr(), offsets.len()) }
}

/// Allocations are aligned to 16 bytes, so what shares 16 bytes shares a cache line.
fn add(offsets: &mut Vec<u32>, offset: usize) {
    let offset = u32::try_from(offset / 16 * 16).unwrap_or(0);
    if !offsets.contains(&offset) {
        offsets.push(offset);
    }
}
