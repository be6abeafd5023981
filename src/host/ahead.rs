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
/// Jobs by which what a pointer leads to is fetched later than the pointer itself, which has arrived by then.
const STEP: usize = 6;
/// Pointers in a row that can be followed before the visit.
const REACH: usize = RECORD / STEP;
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
#[derive(Clone, Debug, Default)]
pub struct Touched {
    /// Offsets in the job record.
    job: Vec<u32>,
    /// Pointers from the job record on, with offsets in what they lead to.
    paths: Vec<(Vec<Field<Ptr>>, Vec<u32>)>,
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

    /// A field of what one pointer or several, one behind the other, lead to from the job record.
    pub fn behind<T>(&mut self, path: &[Field<Ptr>], field: Field<T>) -> &mut Self {
        add(self.offsets(path), field.offset());
        self
    }

    /// An array with one entry of `size` bytes per TRES at the end of a path.
    pub fn tres(&mut self, path: &[Field<Ptr>], count: usize, size: usize) -> &mut Self {
        let offsets = self.offsets(path);
        for offset in (0..count * size).step_by(LINE) {
            add(offsets, offset);
        }
        self
    }

    /// The offsets to fetch at the end of a path; the pointers on the way are fetched before.
    fn offsets(&mut self, path: &[Field<Ptr>]) -> &mut Vec<u32> {
        debug_assert!(path.len() <= REACH, "a path of {} pointers is not fetched in time", path.len());
        match path {
            [] => return &mut self.job,
            [before @ .., last] => add(self.offsets(before), last.offset()),
        }
        let same = |known: &[Field<Ptr>]| {
            known.len() == path.len() && known.iter().zip(path).all(|(a, b)| a.offset() == b.offset())
        };
        let at = self.paths.iter().position(|(known, _)| same(known)).unwrap_or_else(|| {
            self.paths.push((path.to_vec(), Vec::new()));
            self.paths.len() - 1
        });
        &mut self.paths[at].1
    }

    /// Visits the jobs that `produce` hands to its argument, in order, each some jobs later than it was handed out. The
    /// caller holds the job lock all the while, and those of what the paths lead through.
    pub fn walk<'a>(&self, produce: impl FnOnce(&mut dyn FnMut(Job<'a>)), mut visit: impl FnMut(Job<'a>)) {
        let fetched = |hand_out: &mut dyn FnMut(Job<'a>, ())| {
            produce(&mut |job| {
                fetch(job.address(), &self.job);
                hand_out(job, ());
            });
        };
        self.visit_later(fetched, |job, ()| visit(job));
    }

    /// As [`Touched::walk`] for jobs whose records are being fetched; each comes with a note of what is known of it.
    fn visit_later<'a, N>(
        &self,
        produce: impl FnOnce(&mut dyn FnMut(Job<'a>, N)),
        mut visit: impl FnMut(Job<'a>, N),
    ) {
        let mut coming = VecDeque::with_capacity(RECORD + 1);
        produce(&mut |job: Job<'a>, note: N| {
            coming.push_back((job, note));
            for (path, offsets) in &self.paths {
                let at = coming.len().checked_sub(1 + STEP * path.len());
                if let Some((near, _)) = at.and_then(|at| coming.get(at)) {
                    fetch_behind(*near, path, offsets);
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

    /// Fetches all at once for a job that comes alone, so that its misses overlap. The caller holds the job lock, and those of
    /// what the paths lead through.
    pub fn fetch(&self, job: Job<'_>) {
        fetch(job.address(), &self.job);
        for (path, offsets) in &self.paths {
            fetch_behind(job, path, offsets);
        }
    }

    /// As [`Touched::walk`] for jobs seen before, those that are still there and that `wants`, each with its note. They are
    /// found by id, so the list's nodes are not waited for. What the paths lead through is read only of jobs that are
    /// wanted: others, ended meanwhile, may point to what is gone.
    pub fn walk_seen<'a, 'n, N: AsRef<Seen>>(
        &self,
        lock: &'a JobLock<'_>,
        notes: &'n [N],
        wants: impl Fn(Job<'a>) -> bool,
        visit: impl FnMut(Job<'a>, &'n N),
    ) {
        let find = |hand_out: &mut dyn FnMut(Job<'a>, &'n N)| {
            for (at, note) in notes.iter().enumerate() {
                if let Some(coming) = notes.get(at + RECORD) {
                    fetch(coming.as_ref().address, &self.job);
                }
                if let Some(job) = lock.job(note.as_ref().id).filter(|job| wants(*job)) {
                    hand_out(job, note);
                }
            }
        };
        self.visit_later(find, visit);
    }
}

fn fetch_behind(job: Job<'_>, path: &[Field<Ptr>], offsets: &[u32]) {
    let mut address = job.as_ptr();
    for pointer in path {
        // SAFETY: from a live job on, each pointer leads to a live record that has the next one, while the locks are held.
        address = unsafe { pointer.get(address) };
        // Fetching near null walks the page tables every time.
        if address.is_null() {
            return;
        }
    }
    fetch(address as usize, offsets);
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
