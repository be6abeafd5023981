//! The host's linked lists, walked by the host's own functions under the list's own lock.
//!
//! A visitor must not touch the list that it is called from: before 25.05 that deadlocks. A panic in
//! a visitor does not unwind through the host's C frames; it stops the walk and goes on behind it.

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

use super::ahead::Touched;
use super::locks::JobLock;
use super::records::{Job, Record, RecordLayout};
use super::symbols::{ListVisitor, RawList};
use super::Host;

/// A list of records that stays valid for `'a`, the time its lock is held.
pub struct List<'a, L> {
    host: &'static Host,
    raw: RawList,
    records: PhantomData<&'a L>,
}

impl<L> Clone for List<'_, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L> Copy for List<'_, L> {}

impl<'a, L: RecordLayout> List<'a, L> {
    /// The list at `raw`; `None` where that is null.
    ///
    /// # Safety
    /// `raw` is null or a live list of records of the type `L` for the whole of `'a`.
    pub(super) unsafe fn new(host: &'static Host, raw: RawList) -> Option<Self> {
        (!raw.is_null()).then_some(Self { host, raw, records: PhantomData })
    }

    /// Number of elements.
    pub fn len(self) -> usize {
        // SAFETY: a live list by the promise made to `new`.
        usize::try_from(unsafe { (self.host.sym.list_count)(self.raw) }).unwrap_or(0)
    }

    /// True where there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    pub(super) fn raw(self) -> RawList {
        self.raw
    }

    /// Visits the records in order until the visitor breaks, under the list's write lock: the visitor may
    /// change what the records hold, but not the list.
    pub fn for_each(self, visit: impl FnMut(Record<'a, L>) -> ControlFlow<()>) {
        self.walk(visit, self.host.sym.list_for_each);
    }

    /// As [`List::for_each`] under the list's read lock, where the release has one.
    pub fn for_each_ro(self, visit: impl FnMut(Record<'a, L>) -> ControlFlow<()>) {
        self.walk(visit, self.host.sym.list_for_each_ro.unwrap_or(self.host.sym.list_for_each));
    }

    /// Visits the records in order, with what `touched` says fetched ahead. The caller holds the lock that keeps the list as it
    /// is, and those of what the paths lead through.
    pub fn for_each_ahead(self, touched: &Touched, mut visit: impl FnMut(Record<'a, L>)) {
        const CHUNK: usize = 256;
        let mut chunk = Vec::with_capacity(CHUNK);
        self.for_each_ro(|record| {
            chunk.push(record);
            if chunk.len() == CHUNK {
                touched.walk(&chunk, |_, record| visit(record));
                chunk.clear();
            }
            ControlFlow::Continue(())
        });
        touched.walk(&chunk, |_, record| visit(record));
    }

    /// The records in order, for a walk in which the host's functions may touch the list.
    pub fn collect(self) -> Vec<Record<'a, L>> {
        let mut records = Vec::with_capacity(self.len());
        self.for_each_ro(|record| {
            records.push(record);
            ControlFlow::Continue(())
        });
        records
    }

    fn walk(
        self,
        mut visit: impl FnMut(Record<'a, L>) -> ControlFlow<()>,
        function: unsafe extern "C" fn(RawList, ListVisitor, *mut c_void) -> c_int,
    ) {
        let host = self.host;
        for_each_raw(self.raw, function, &mut |element| {
            // SAFETY: an element of a list of such records, which live as long as the list's lock is held.
            unsafe { Record::new(host, element) }.map_or(ControlFlow::Continue(()), &mut visit)
        });
    }
}

/// A walk over all jobs that lets go of the job lock between chunks where there are many, so that a million of them do not
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
    /// Up to so many come at once.
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

struct Walk<'v> {
    visit: &'v mut dyn FnMut(*mut u8) -> ControlFlow<()>,
    panic: Option<Box<dyn std::any::Any + Send>>,
}

/// Calls `visit` for every element that `function`, one of the host's walkers, hands out.
pub(super) fn for_each_raw(
    raw: RawList,
    function: unsafe extern "C" fn(RawList, ListVisitor, *mut c_void) -> c_int,
    visit: &mut dyn FnMut(*mut u8) -> ControlFlow<()>,
) {
    let mut walk = Walk { visit, panic: None };
    // SAFETY: `raw` is a live list; `trampoline` gets back the `walk` that outlives the call.
    unsafe { function(raw, trampoline, (&raw mut walk).cast()) };
    if let Some(panic) = walk.panic {
        resume_unwind(panic);
    }
}

unsafe extern "C" fn trampoline(element: *mut c_void, walk: *mut c_void) -> c_int {
    // SAFETY: `for_each_raw` passes its own `Walk` and nobody else has it while the host walks.
    let walk = unsafe { &mut *walk.cast::<Walk<'_>>() };
    match catch_unwind(AssertUnwindSafe(|| (walk.visit)(element.cast()))) {
        Ok(ControlFlow::Continue(())) => 0,
        Ok(ControlFlow::Break(())) => -1,
        Err(panic) => {
            walk.panic = Some(panic);
            -1
        }
    }
}
