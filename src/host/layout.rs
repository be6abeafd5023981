//! Where Slurm's records keep their fields: the tables that `build.rs` generates from `slurm-headers/layouts.tsv`, and the typed offset
//! that reads and writes one field.
//!
//! A [`Field`] carries the type of its value, so that a wrong width is a compile error. The offset is chosen when the plugin is loaded.

// SLURM_VERSION_NUMBER in the generated tables reads best as it is.
#![allow(clippy::unreadable_literal)]

use std::fmt;
use std::marker::PhantomData;

pub use multifactor2_releases::{Group, Release};

/// Marker for a `long double` field: 16 bytes, reached through the shim only.
#[derive(Debug)]
pub enum LongDouble {}

/// Marker for a pointer field.
pub type Ptr = *mut u8;

/// `slurm_step_id_t` from 24.11 on: copied as a whole, never interpreted.
pub type StepId = [u8; 24];

/// The offset of a field of the record `L` that is read and written as a `T`.
///
/// Only the tables make them, so a field is always one of its record.
pub struct Field<L, T> {
    offset: usize,
    kind: PhantomData<fn() -> (L, T)>,
}

impl<L, T> Clone for Field<L, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L, T> Copy for Field<L, T> {}

impl<L, T> fmt::Debug for Field<L, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}", self.offset)
    }
}

impl<L, T> Field<L, T> {
    const fn at(offset: usize) -> Self {
        Self { offset, kind: PhantomData }
    }

    /// Bytes from the beginning of the record.
    pub const fn offset(self) -> usize {
        self.offset
    }

    /// The address of the field in the record at `record`.
    ///
    /// # Safety
    /// `record` points to a live record of the type that this field belongs to, in the layout of the
    /// running release.
    pub unsafe fn address(self, record: *mut u8) -> *mut u8 {
        // SAFETY: the caller's record is as large as the layout says, so the field is inside it.
        unsafe { record.add(self.offset) }
    }
}

impl<L, T: Copy> Field<L, T> {
    /// Reads the field.
    ///
    /// # Safety
    /// As [`Field::address`]; and the lock that protects the record is held by this thread or by its caller.
    pub unsafe fn get(self, record: *mut u8) -> T {
        // SAFETY: inside the record by the caller's promise; Slurm aligns every field naturally.
        unsafe { self.address(record).cast::<T>().read() }
    }

    /// Writes the field.
    ///
    /// # Safety
    /// As [`Field::get`], with the lock held for writing or as the host itself holds it at this place.
    pub unsafe fn set(self, record: *mut u8, value: T) {
        // SAFETY: as in `get`.
        unsafe { self.address(record).cast::<T>().write(value) }
    }
}

/// The host's `buf_t`.
#[derive(Debug)]
pub enum Buffer {}

/// Where a buffer keeps the address of its bytes, in every release.
pub(super) const BUFFER_HEAD: Field<Buffer, Ptr> = Field::at(8);

include!(concat!(env!("OUT_DIR"), "/layouts.rs"));

/// Every known layout, oldest first, for measurements of what a table of offsets costs.
///
/// # Safety
/// The fields are used with memory of that layout only: safe code takes them from the layout of the running release.
pub unsafe fn all() -> &'static [Layout] {
    LAYOUTS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of ours, aligned as Slurm's allocator does.
    fn memory(size: usize) -> Vec<u128> {
        vec![0; size.div_ceil(size_of::<u128>())]
    }

    /// Also under Miri: each access is inside its record and aligned, in every layout.
    #[test]
    fn fields_hold_what_is_written_into_them_and_touch_nothing_else() {
        for layout in LAYOUTS {
            let mut memory = memory(layout.job.size);
            let job: *mut u8 = memory.as_mut_ptr().cast();
            let text: *mut u8 = std::ptr::dangling_mut();
            // SAFETY: a record of that size.
            unsafe {
                layout.job.priority.set(job, 7);
                layout.job.job_id.set(job, 8);
                layout.job.direct_set_prio.set(job, 9);
                layout.job.end_time_exp.set(job, 10);
                layout.job.account.set(job, text);
                assert_eq!((layout.job.priority.get(job), layout.job.job_id.get(job)), (7, 8));
                assert_eq!((layout.job.direct_set_prio.get(job), layout.job.end_time_exp.get(job)), (9, 10));
                assert_eq!(layout.job.account.get(job), text);
                layout.job.priority.set(job, 0);
                layout.job.job_id.set(job, 0);
                layout.job.direct_set_prio.set(job, 0);
                layout.job.end_time_exp.set(job, 0);
                layout.job.account.set(job, std::ptr::null_mut());
            }
            assert!(memory.iter().all(|word| *word == 0), "{:?}", layout.group);
        }
    }
}
