//! Accesses `long double` fields through the C shim: Slurm accumulates usage in them, and Rust has no such type.

use std::marker::PhantomData;

use super::layout::{Field, LongDouble, Ptr};

extern "C" {
    fn mf2_ld_get(field: *const u8) -> f64;
    fn mf2_ld_set(field: *mut u8, value: f64);
    fn mf2_ld_add_each(field: *mut u8, values: *const f64, which: *const u32, count: usize);
    fn mf2_ld_scale(field: *mut u8, count: usize, factor: f64);
    fn mf2_ld_add_products(field: *mut u8, products: *const RawProducts, which: *const u32, count: usize);
}

/// `struct mf2_products`
#[repr(C)]
struct RawProducts {
    factors: *const f64,
    counts: *const u64,
    width: usize,
    tres: *const u32,
    tres_count: usize,
}

/// What charges add to usage by TRES: a factor of each charge times its count of the TRES.
#[derive(Clone, Copy, Debug)]
pub struct Products<'a> {
    /// By charge.
    pub factors: &'a [f64],
    /// By charge and TRES.
    pub counts: &'a [u64],
    /// Counts of one charge.
    pub width: usize,
    /// TRES of which there is any, by their positions.
    pub tres: &'a [u32],
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

impl<L> Field<L, LongDouble> {
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

    /// Adds those of the values that `which` names to the field, one after the other and in its own precision.
    ///
    /// # Safety
    /// As [`Field::set`].
    ///
    /// # Panics
    /// Where there is no such value.
    pub unsafe fn add_each_ld(self, record: *mut u8, values: &[f64], which: &[u32]) {
        assert_all_below(which, values.len());
        // SAFETY: the address of a long double inside a live record, and there are all values that are named.
        unsafe { mf2_ld_add_each(self.address(record), values.as_ptr(), which.as_ptr(), which.len()) }
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
    pub unsafe fn of<L>(field: Field<L, Ptr>, record: *mut u8, count: usize) -> Self {
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

    /// Adds the products of those charges that `which` names, one after the other.
    ///
    /// # Panics
    /// Where there is no such charge.
    pub fn add_products(self, products: &Products<'_>, which: &[u32]) {
        let Products { factors, counts, width, tres } = *products;
        if self.count == 0 || tres.is_empty() {
            return;
        }
        assert_all_below(tres, width.min(self.count));
        assert_all_below(which, factors.len().min(counts.len() / width));
        let raw = RawProducts {
            factors: factors.as_ptr(),
            counts: counts.as_ptr(),
            width,
            tres: tres.as_ptr(),
            tres_count: tres.len(),
        };
        // SAFETY: `count` long doubles at `first`, by the promise made to `of`; all TRES are among them, and all charges that
        // are named have a factor and `width` counts.
        unsafe { mf2_ld_add_products(self.first, &raw const raw, which.as_ptr(), which.len()) }
    }
}

fn assert_all_below(indices: &[u32], end: usize) {
    let highest = indices.iter().copied().max();
    assert!(highest.is_none_or(|highest| (highest as usize) < end), "an index is {end} or above");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values that are zero are passed over.
    #[test]
    fn every_value_is_multiplied_whatever_lies_beside_it() {
        let values = [0.0, 3.0, -0.0, 0.0, -5.0, 1e-290, f64::INFINITY, 0.0, 1.0];
        let mut fields = [Aligned([0; BYTES]); 9];
        for (field, value) in fields.iter_mut().zip(values) {
            // SAFETY: sixteen aligned bytes.
            unsafe { mf2_ld_set(field.0.as_mut_ptr(), value) };
        }
        let array = LongDoubles { first: fields.as_mut_ptr().cast(), count: fields.len(), lock: PhantomData };
        array.scale(0.75);
        for (field, before) in fields.iter().zip(values) {
            assert_eq!(value(&field.0).to_bits(), (before * 0.75).to_bits(), "{before}");
        }
    }
}
