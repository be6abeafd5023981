//! Reads and writes Slurm's records through the layout of the running release.
//!
//! A [`Record`] is an address that the host promises to be a record of one type while a lock is held (`'a`). Its type says how that lock is
//! held: only a lock held for writing gives records that can be written. From there on access is safe, because a field knows its record,
//! offset and type.

mod associations;
mod charged;
mod factors;
mod job;
mod job_names;

use std::borrow::Cow;
use std::cell::Cell;
use std::ffi::{c_char, CStr};
use std::marker::PhantomData;
use std::{fmt, slice};

use super::access::{Open, Read, Write};
use super::layout::{
    AssocLayout, AssocUsageLayout, DetailsLayout, FactorsLayout, Field, JobLayout, Layout, LongDouble,
    PartLayout, Ptr, QosLayout, QosUsageLayout, TresLayout,
};
use super::Host;
pub use job::JobState;

/// Ties a record type to its part of the layout.
pub trait RecordLayout: Sized + 'static {
    /// The part of the layout.
    fn of(layout: &'static Layout) -> &'static Self;
}

macro_rules! record_layouts {
    ($($type:ident $field:ident;)*) => { $(
        impl RecordLayout for $type {
            fn of(layout: &'static Layout) -> &'static Self {
                &layout.$field
            }
        }
    )* };
}

record_layouts! {
    JobLayout job;
    DetailsLayout details;
    PartLayout part;
    AssocLayout assoc;
    AssocUsageLayout assoc_usage;
    QosLayout qos;
    QosUsageLayout qos_usage;
    FactorsLayout factors;
    TresLayout tres;
}

/// A live record of the host, under a lock that is held as `A` says.
pub struct Record<'a, L, A = Read> {
    host: &'static Host,
    address: *mut u8,
    lock: PhantomData<(&'a L, A)>,
}

impl<L, A> Clone for Record<'_, L, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L, A> Copy for Record<'_, L, A> {}

impl<L, A> PartialEq for Record<'_, L, A> {
    /// Two records are the same where their addresses are.
    fn eq(&self, other: &Self) -> bool {
        self.address == other.address
    }
}

impl<L, A> fmt::Debug for Record<'_, L, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:p}", self.address)
    }
}

/// `job_record_t`
pub type Job<'a, A = Read> = Record<'a, JobLayout, A>;
/// `job_details_t`
pub type Details<'a, A = Read> = Record<'a, DetailsLayout, A>;
/// `part_record_t`
pub type Partition<'a> = Record<'a, PartLayout>;
/// `slurmdb_assoc_rec_t`
pub type Association<'a, A = Read> = Record<'a, AssocLayout, A>;
/// `slurmdb_assoc_usage_t`
pub type AssociationUsage<'a, A = Read> = Record<'a, AssocUsageLayout, A>;
/// `slurmdb_qos_rec_t`
pub type Qos<'a, A = Read> = Record<'a, QosLayout, A>;
/// `slurmdb_qos_usage_t`
pub type QosUsage<'a, A = Read> = Record<'a, QosUsageLayout, A>;
/// What `job_record_t.prio_factors` points to.
pub type PriorityFactors<'a> = Record<'a, FactorsLayout, Write>;

impl<'a, L: RecordLayout, A: Open> Record<'a, L, A> {
    /// The record at `address`; `None` where that is null.
    ///
    /// # Safety
    /// `address` is null or a live record of the type `L` for the whole of `'a`, and the lock on it is held as `A` says.
    pub(crate) unsafe fn new(host: &'static Host, address: *mut u8) -> Option<Self> {
        (!address.is_null()).then_some(Self { host, address, lock: PhantomData })
    }

    /// The same record, to be read only.
    pub fn read_only(self) -> Record<'a, L> {
        Record { host: self.host, address: self.address, lock: PhantomData }
    }

    /// The host that the record belongs to.
    pub fn host(self) -> &'static Host {
        self.host
    }

    /// The address, which says whether two records are the same one.
    pub fn address(self) -> usize {
        self.address as usize
    }

    pub(super) fn as_ptr(self) -> *mut u8 {
        self.address
    }

    fn layout(self) -> &'static L {
        L::of(&self.host.layout)
    }

    /// Reads a field.
    pub fn get<T: Copy>(self, pick: impl FnOnce(&'static L) -> Field<L, T>) -> T {
        // SAFETY: a live record by the promise made to `new`, and the field is one of its type.
        unsafe { pick(self.layout()).get(self.address) }
    }

    /// Reads a `long double`, rounded to double.
    pub fn get_ld(self, pick: impl FnOnce(&'static L) -> Field<L, LongDouble>) -> f64 {
        // SAFETY: as in `get`.
        unsafe { pick(self.layout()).get_ld(self.address) }
    }

    /// The record that a pointer field leads to, under the same lock.
    fn follow<M: RecordLayout>(
        self,
        pick: impl FnOnce(&'static L) -> Field<L, Ptr>,
    ) -> Option<Record<'a, M, A>> {
        // SAFETY: the methods of these modules name the right type for each pointer; what a live record points
        // to lives as long as it does, under the locks that the host holds or our guards take.
        unsafe { Record::new(self.host, self.get(pick)) }
    }

    /// The text that a pointer field leads to, empty where it is null.
    pub fn text(self, pick: impl FnOnce(&'static L) -> Field<L, Ptr>) -> Cow<'a, str> {
        let text: *mut c_char = self.get(pick).cast();
        if text.is_null() {
            return Cow::Borrowed("");
        }
        // SAFETY: Slurm's strings are terminated and live as long as their record; the plugin writes none of them.
        unsafe { CStr::from_ptr(text) }.to_string_lossy()
    }

    /// An array with one number per TRES that a pointer field leads to; `None` where it is null. For arrays that nothing in
    /// the plugin can write.
    fn per_tres(self, pick: impl FnOnce(&'static L) -> Field<L, Ptr>) -> Option<&'a [u64]> {
        let first: *mut u64 = self.get(pick).cast();
        if first.is_null() {
            return None;
        }
        // SAFETY: these arrays have one entry per TRES in every release, and the lock is held for `'a`.
        Some(unsafe { slice::from_raw_parts(first, self.host.tres_count()) })
    }
}

impl<L: RecordLayout> Record<'_, L, Write> {
    /// Writes a field.
    pub fn set<T: Copy>(self, pick: impl FnOnce(&'static L) -> Field<L, T>, value: T) {
        // SAFETY: as in `get`; the lock is held for writing.
        unsafe { pick(self.layout()).set(self.address, value) }
    }

    /// Writes a `long double`.
    pub fn set_ld(self, pick: impl FnOnce(&'static L) -> Field<L, LongDouble>, value: f64) {
        // SAFETY: as in `set`.
        unsafe { pick(self.layout()).set_ld(self.address, value) }
    }

    /// Adds those of the values that `which` names to a `long double`, one after the other and in its own precision.
    pub fn add_each_ld(
        self,
        pick: impl FnOnce(&'static L) -> Field<L, LongDouble>,
        values: &[f64],
        which: &[u32],
    ) {
        // SAFETY: as in `set`.
        unsafe { pick(self.layout()).add_each_ld(self.address, values, which) }
    }

    /// Multiplies a `long double` in its own precision.
    pub fn scale_ld(self, pick: impl FnOnce(&'static L) -> Field<L, LongDouble>, factor: f64) {
        // SAFETY: as in `set`.
        unsafe { pick(self.layout()).scale_ld(self.address, factor) }
    }
}

/// The `count` values at an address, as cells, because several may be looked at at once; none if the address is null.
///
/// # Safety
/// There are `count` of them, and nobody else writes them while the lock is held that `'a` stands for.
pub(super) unsafe fn cells<'a, T: Copy>(first: *mut u8, count: usize) -> &'a [Cell<T>] {
    if first.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise; a cell has the layout of what is in it.
    unsafe { slice::from_raw_parts(first.cast::<Cell<T>>(), count) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also under Miri: two looks at one array may both write.
    #[test]
    fn two_looks_at_one_array_see_each_other() {
        let mut array = [1_u64, 2, 3];
        let first: *mut u8 = array.as_mut_ptr().cast();
        // SAFETY: three numbers, which live longer.
        let (one, other) = unsafe { (cells::<u64>(first, 3), cells::<u64>(first, 3)) };
        one[0].set(other[2].get());
        other[1].set(one[0].get() + 4);
        assert_eq!(one.iter().map(Cell::get).collect::<Vec<_>>(), [3, 7, 3]);
        // SAFETY: null, of which there are none.
        assert!(unsafe { cells::<u64>(std::ptr::null_mut(), 3) }.is_empty());
    }
}
