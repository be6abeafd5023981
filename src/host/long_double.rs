//! `long double` fields through the C shim: Slurm accumulates usage in them, and Rust has no such type.

use std::marker::PhantomData;

use super::layout::{Field, LongDouble, Ptr};

extern "C" {
    fn mf2_ld_get(field: *const u8) -> f64;
    fn mf2_ld_set(field: *mut u8, value: f64);
    fn mf2_ld_add(field: *mut u8, value: f64);
    fn mf2_ld_scale(field: *mut u8, count: usize, factor: f64);
    fn mf2_ld_add_products(field: *mut u8, factor: f64, amounts: *const Amount, count: usize);
}

/// A count of one TRES, by its position.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    /// Position among all TRES.
    pub tres: usize,
    /// How many of it.
    pub count: u64,
}

/// Bytes of a `long double` on every supported platform.
pub const BYTES: usize = 16;

/// A `long double` of ours, where it must lie.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug)]
struct Aligned([u8; BYTES]);

/// The value of a `long double` argument, rounded to double.
pub fn value(bytes: &[u8; BYTES]) -> f64 {
    // The bytes may lie at any address; a long double needs alignment.
    let aligned = Aligned(*bytes);
    // SAFETY: sixteen aligned bytes that hold a long double.
    unsafe { mf2_ld_get(aligned.0.as_ptr()) }
}

/// The bytes of a `long double` that was passed in a vector register.
#[cfg(target_arch = "aarch64")]
pub fn from_vector(register: core::arch::aarch64::uint8x16_t) -> [u8; BYTES] {
    // SAFETY: sixteen bytes seen as sixteen bytes.
    unsafe { std::mem::transmute(register) }
}

impl Field<LongDouble> {
    /// The value, rounded to double.
    ///
    /// # Safety
    /// As [`Field::get`].
    pub unsafe fn get_ld(self, record: *mut u8) -> f64 {
        // SAFETY: the address of a long double inside a live record.
        unsafe { mf2_ld_get(self.address(record)) }
    }

    /// Sets the field.
    ///
    /// # Safety
    /// As [`Field::set`].
    pub unsafe fn set_ld(self, record: *mut u8, value: f64) {
        // SAFETY: the address of a long double inside a live record.
        unsafe { mf2_ld_set(self.address(record), value) }
    }

    /// Adds to the field in its own precision.
    ///
    /// # Safety
    /// As [`Field::set`].
    pub unsafe fn add_ld(self, record: *mut u8, value: f64) {
        // SAFETY: the address of a long double inside a live record.
        unsafe { mf2_ld_add(self.address(record), value) }
    }

    /// Multiplies the field in its own precision.
    ///
    /// # Safety
    /// As [`Field::set`].
    pub unsafe fn scale_ld(self, record: *mut u8, factor: f64) {
        // SAFETY: the address of one long double inside a live record.
        unsafe { mf2_ld_scale(self.address(record), 1, factor) }
    }
}

/// An array of `long double`, one per TRES, that a record points to, while its lock is held.
#[derive(Clone, Copy)]
pub struct LongDoubles<'a> {
    first: *mut u8,
    count: usize,
    lock: PhantomData<&'a ()>,
}

impl LongDoubles<'_> {
    /// The array of `count` values that the field points to; empty where the pointer is null.
    ///
    /// # Safety
    /// As [`Field::set`]; the array has at least `count` entries.
    pub unsafe fn of(field: Field<Ptr>, record: *mut u8, count: usize) -> Self {
        // SAFETY: a pointer field of a live record.
        let first = unsafe { field.get(record) };
        Self { first, count: if first.is_null() { 0 } else { count }, lock: PhantomData }
    }

    /// Multiplies every value.
    pub fn scale(self, factor: f64) {
        // SAFETY: `count` long doubles at `first`, by the promise made to `of`.
        unsafe { mf2_ld_scale(self.first, self.count, factor) }
    }

    /// Sets every value to zero.
    pub fn clear(self) {
        for index in 0..self.count {
            // SAFETY: `index` is inside the array, by the promise made to `of`.
            unsafe { mf2_ld_set(self.first.add(index * BYTES), 0.0) }
        }
    }

    /// Adds to each value `factor` times the amount of its TRES; the amounts are in the order of their TRES.
    pub fn add_products(self, factor: f64, amounts: &[Amount]) {
        debug_assert!(amounts.is_sorted_by_key(|amount| amount.tres), "{amounts:?}");
        // The last one says that all of them are in the array.
        if amounts.last().is_none_or(|amount| amount.tres >= self.count) {
            return;
        }
        // SAFETY: `count` long doubles at `first`, by the promise made to `of`, among which are those of all amounts.
        unsafe { mf2_ld_add_products(self.first, factor, amounts.as_ptr(), amounts.len()) }
    }
}
