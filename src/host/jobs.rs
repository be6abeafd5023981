//! Walks over the jobs: all of them, chunk by chunk, or those seen before.

use std::ffi::c_void;

use super::access::Open;
use super::layout::JobLayout;
use super::live::RecordKind;
use super::locks::{AssocLock, JobLock, Levels};
use super::prefetch::Touched;
use super::records::{Job, Record};
use super::Host;

/// A job that was seen under an earlier hold of the job lock, and may be gone since. The address says where its record
/// was, for fetching; nothing is read there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The job's id.
    pub id: u32,
    /// Where its record was.
    pub address: usize,
}

impl Seen {
    /// Takes note of a job.
    pub fn of<A: Open>(job: Job<'_, A>) -> Self {
        Self { id: job.get(|job| job.job_id), address: job.address() }
    }
}

/// Something noted of a job that was seen.
pub trait Note {
    /// The job.
    fn seen(&self) -> Seen;
}

impl<N: Note> Note for &N {
    fn seen(&self) -> Seen {
        (*self).seen()
    }
}

impl Note for Seen {
    fn seen(&self) -> Seen {
        *self
    }
}

/// A walk over all jobs that releases the job lock between chunks where there are many, so that a million of them do not
/// stop the scheduler.
///
/// The host keeps the position valid while jobs are added and purged in between.
#[derive(Debug)]
pub struct JobChunks {
    host: &'static Host,
    /// An iterator of the host's, where one chunk is not enough.
    iterator: *mut c_void,
    done: bool,
}

impl JobChunks {
    /// Jobs in a chunk: some milliseconds under the lock.
    pub const SIZE: usize = 50_000;
    /// The most that come at once.
    pub const MANY: usize = 2 * Self::SIZE;

    /// Begins at the first job.
    pub fn new(lock: &JobLock<'_>) -> Self {
        let host = lock.host();
        let iterator =
            lock.jobs().filter(|list| list.len() > Self::MANY).map_or(std::ptr::null_mut(), |list| {
                // SAFETY: a live list; the iterator is destroyed with this walk.
                unsafe { (host.sym.list_iterator_create)(list.raw()) }
            });
        Self { host, iterator, done: false }
    }

    /// The next jobs; none after the last.
    pub fn next<'l>(&mut self, lock: &'l JobLock<'_>) -> Vec<Job<'l>> {
        let host = self.host;
        if self.iterator.is_null() {
            return if std::mem::replace(&mut self.done, true) { Vec::new() } else { lock.all_jobs() };
        }
        let next = || {
            // SAFETY: a live iterator, and elements are jobs that live while the lock is held.
            unsafe { Job::new(host, (host.sym.list_next)(self.iterator).cast()) }
        };
        std::iter::from_fn(next).take(Self::SIZE).collect()
    }
}

impl Drop for JobChunks {
    fn drop(&mut self) {
        if !self.iterator.is_null() {
            // SAFETY: the iterator made above, of a list that lives until the decay thread has ended.
            unsafe { (self.host.sym.list_iterator_destroy)(self.iterator) }
        }
    }
}

/// In which order jobs that were seen before are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// As they were seen.
    Forwards,
    /// The last one first: a caller that has just read them all finds the last ones still in the caches.
    Backwards,
}

/// Visits jobs seen before, those that are still there and that `wants`, each with its note; what `touched` names is fetched
/// ahead. They are found by id, so the list's nodes are not waited for. What the paths lead through is read only of jobs that
/// are wanted: others, ended meanwhile, may point to what is gone.
pub fn walk_seen<'a, 'n, A: Open, V: Levels<Assoc: Open>, N: Note>(
    touched: &Touched,
    jobs: &'a JobLock<'_, A>,
    associations: &AssocLock<'_, V>,
    (notes, direction): (&'n [N], Direction),
    mut wants: impl FnMut(Job<'a, A>, &'n N) -> bool,
    mut visit: impl FnMut(Job<'a, A>, &'n N),
) {
    let note = |at: usize| match direction {
        Direction::Forwards => &notes[at],
        Direction::Backwards => &notes[notes.len() - 1 - at],
    };
    touched.pipeline(
        notes.len(),
        |at| note(at).seen().address,
        |at| jobs.job(note(at).seen().id).filter(|job| wants(*job, note(at))),
        |job| has_live_association(associations, job),
        |at, job| visit(job, note(at)),
    );
}

/// Whether the pointer to the association is what the list of associations has.
fn has_live_association<V: Levels<Assoc: Open>, A: Open>(
    lock: &AssocLock<'_, V>,
    job: Record<'_, JobLayout, A>,
) -> bool {
    let (address, id) = job.named_association();
    lock.confirmed().is(lock.host(), RecordKind::Association, address, id)
}
