//! Walks the host's linked lists with the host's own functions, under the list's own lock.
//!
//! A visitor must not touch the list that it is called from: before 25.05 that deadlocks. A panic in a visitor does not unwind through the
//! host's C frames. It stops the walk and continues after it.

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

use super::access::{Open, Read};
use super::records::{Record, RecordLayout};
use super::symbols::{ListVisitor, RawList};
use super::Host;

/// A list of records that stays valid for `'a`, the time its lock is held.
pub struct List<'a, L, A = Read> {
    host: &'static Host,
    raw: RawList,
    records: PhantomData<(&'a L, A)>,
}

impl<L, A> Clone for List<'_, L, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L, A> Copy for List<'_, L, A> {}

#[allow(clippy::len_without_is_empty)] // nobody asks
impl<'a, L: RecordLayout, A: Open> List<'a, L, A> {
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

    pub(super) fn raw(self) -> RawList {
        self.raw
    }

    /// Visits the records in order, under the list's write lock: the visitor may change what the records hold, but not the
    /// list.
    pub fn for_each(self, visit: impl FnMut(Record<'a, L, A>)) {
        self.walk(visit, self.host.sym.list_for_each);
    }

    /// As [`List::for_each`] under the list's read lock, where the release has one.
    pub fn for_each_ro(self, visit: impl FnMut(Record<'a, L, A>)) {
        self.walk(visit, self.host.sym.list_for_each_ro.unwrap_or(self.host.sym.list_for_each));
    }

    /// The records in order, for a walk in which the host's functions may touch the list.
    pub fn collect(self) -> Vec<Record<'a, L, A>> {
        let mut records = Vec::with_capacity(self.len());
        self.for_each_ro(|record| records.push(record));
        records
    }

    fn walk(
        self,
        mut visit: impl FnMut(Record<'a, L, A>),
        function: unsafe extern "C" fn(RawList, ListVisitor, *mut c_void) -> c_int,
    ) {
        let host = self.host;
        for_each_raw(self.raw, function, &mut |element| {
            // SAFETY: an element of a list of such records, which live as long as the list's lock is held.
            if let Some(record) = unsafe { Record::new(host, element) } {
                visit(record);
            }
        });
    }
}

struct Walk<'v> {
    visit: &'v mut dyn FnMut(*mut u8),
    panic: Option<Box<dyn std::any::Any + Send>>,
}

/// Calls `visit` for every element that `function`, one of the host's walkers, hands out.
pub(super) fn for_each_raw(
    raw: RawList,
    function: unsafe extern "C" fn(RawList, ListVisitor, *mut c_void) -> c_int,
    visit: &mut dyn FnMut(*mut u8),
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
        Ok(()) => 0,
        Err(panic) => {
            walk.panic = Some(panic);
            -1
        }
    }
}
