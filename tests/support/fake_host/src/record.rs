//! A record of the host, read and written field by field at the places of the release.

#![allow(clippy::return_self_not_must_use)] // a setter writes to the record; what it returns is for the next one

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CStr;
use std::sync::{Mutex, PoisonError};

use slurm_headers::FieldKind;

use crate::layout::Field;
use crate::library::symbol;
use crate::memory::{allocate, Arena, Owner};
use crate::slurmctld::layout;

/// A record at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Its name in the table.
    pub kind: &'static str,
    /// Where it is.
    pub address: *mut u8,
}

// SAFETY: an address; who may look there when is what the ledger of the locks is about.
unsafe impl Send for Record {}

/// A number that a field holds.
pub trait Value: Copy {
    /// Whether a field of that kind is one.
    fn fits(kind: FieldKind) -> bool;
    /// A value that could be there as well.
    #[must_use]
    fn decoy(self) -> Self;
}

macro_rules! values {
    ($($type:ty, $kind:ident, |$value:ident| $decoy:expr;)*) => { $(
        impl Value for $type {
            fn fits(kind: FieldKind) -> bool {
                kind == FieldKind::$kind
            }
            fn decoy(self) -> Self {
                let $value = self;
                $decoy
            }
        }
    )* };
}

values! {
    u16, U16, |value| value.wrapping_add(1);
    u32, U32, |value| value.wrapping_add(1);
    u64, U64, |value| value.wrapping_add(64);
    i64, I64, |value| value.saturating_sub(3600);
    f64, F64, |value| value * 0.5 + 0.25;
    *mut u8, Ptr, |value| crate::decoy::of(value);
    [u8; 24], Step, |value| { let mut other = value; other[8] ^= 1; other };
}

/// Fields of fresh records, by their addresses, that were not set yet.
fn unset<T>(body: impl FnOnce(&mut Unset) -> T) -> T {
    static UNSET: Mutex<Unset> = Mutex::new(Unset::new());
    body(&mut UNSET.lock().unwrap_or_else(PoisonError::into_inner))
}

type Unset = BTreeMap<usize, BTreeSet<&'static str>>;

/// Bytes at the end of new records of a kind that no table knows of.
fn padding<T>(body: impl FnOnce(&mut Padding) -> T) -> T {
    static PADDING: Mutex<Padding> = Mutex::new(Padding::new());
    body(&mut PADDING.lock().unwrap_or_else(PoisonError::into_inner))
}

type Padding = BTreeMap<&'static str, usize>;

/// Makes records of a kind larger from here on than the table has them, as patched sources may.
pub fn pad(kind: &'static str, bytes: usize) {
    padding(|padding| padding.insert(kind, bytes));
}

impl Record {
    /// A record with every byte filled, in words that could be pointers, times or numbers: what no field names is not zero.
    pub fn new(kind: &'static str, arena: Arena, name: &str) -> Self {
        let size =
            layout().record(kind).size + padding(|padding| padding.get(kind).copied().unwrap_or_default());
        let record = Self { kind, address: allocate(arena, size, Owner::Host, kind, name) };
        record.fill(size);
        record.expect_all();
        record
    }

    /// From here on [`Record::complete`] asks for all fields.
    pub(crate) fn expect_all(self) {
        let fields = layout().record(self.kind).fields.keys().map(String::as_str).collect();
        unset(|unset| unset.insert(self.address as usize, fields));
    }

    /// Fails where the table has a field that was not set: one that came with a new row.
    ///
    /// # Panics
    /// So.
    pub fn complete(self) -> Self {
        let left = unset(|unset| unset.remove(&(self.address as usize))).unwrap_or_default();
        assert!(left.is_empty(), "the fake host does not set {left:?} of {}", self.kind);
        self
    }

    /// Fills all `size` bytes.
    pub(crate) fn fill(self, size: usize) {
        for offset in (0..size).step_by(4) {
            let number = 100_000 + u32::try_from(offset).expect("a short record");
            for (at, byte) in number.to_ne_bytes().into_iter().enumerate().take(size - offset) {
                // SAFETY: inside the record.
                unsafe { self.address.add(offset + at).write(byte) };
            }
        }
    }

    /// Whether the release has a field.
    pub fn has(self, field: &str) -> bool {
        layout().field(self.kind, field).is_some()
    }

    fn field(self, name: &str) -> &'static Field {
        let lacks = || panic!("{} has no {}.{name}", layout().release, self.kind);
        layout().field(self.kind, name).unwrap_or_else(lacks)
    }

    /// Where the host has a field. One that was moved to where another one is has no place: the plugin finds both as the table
    /// says, and a decoy in the one.
    fn place(self, field: &Field) -> Option<*mut u8> {
        let (record, bytes) = (layout().record(self.kind), field.kind.bytes());
        let free = field.real + bytes <= record.size && !record.is_taken(field.real, bytes, &field.name);
        // SAFETY: inside the record.
        free.then(|| unsafe { self.address.add(field.real) })
    }

    /// Sets a field.
    ///
    /// # Panics
    /// Where the release has no such field, or one of another kind.
    pub fn set<T: Value>(self, name: &str, value: T) -> Self {
        let field = self.field(name);
        assert!(T::fits(field.kind), "{}.{name} is of kind {}", self.kind, field.kind.name());
        unset(|unset| unset.get_mut(&(self.address as usize)).map(|fields| fields.remove(name)));
        // SAFETY: inside the record.
        let table = unsafe { self.address.add(field.offset) };
        if field.real != field.offset {
            // SAFETY: inside the record; Slurm aligns naturally, a shifted field need not.
            unsafe { table.cast::<T>().write_unaligned(value.decoy()) };
        }
        if let Some(place) = self.place(field) {
            // SAFETY: as above.
            unsafe { place.cast::<T>().write_unaligned(value) };
        }
        self
    }

    /// Writes what a plugin finds where the table says, whatever the field is: another decoy than the one that
    /// [`Record::set`] chose.
    pub fn put_decoy<T: Value>(self, name: &str, value: T) -> Self {
        // SAFETY: inside the record.
        unsafe { self.address.add(self.field(name).offset).cast::<T>().write_unaligned(value) };
        self
    }

    /// Sets a field that some releases lack.
    pub fn set_where_it_is<T: Value>(self, name: &str, value: T) -> Self {
        if self.has(name) {
            self.set(name, value);
        }
        self
    }

    /// Reads a field.
    ///
    /// # Panics
    /// As [`Record::set`].
    pub fn get<T: Value>(self, name: &str) -> T {
        let field = self.field(name);
        assert!(T::fits(field.kind), "{}.{name} is of kind {}", self.kind, field.kind.name());
        // SAFETY: inside the record.
        let place = self.place(field).unwrap_or_else(|| unsafe { self.address.add(field.offset) });
        // SAFETY: inside the record.
        unsafe { place.cast::<T>().read_unaligned() }
    }

    /// Writes a field where the host has it and nowhere else, as the host's own functions do. One that has no place is lost.
    pub(crate) fn put_real<T: Value>(self, name: &str, value: T) {
        if let Some(place) = self.place(self.field(name)) {
            // SAFETY: inside the record.
            unsafe { place.cast::<T>().write_unaligned(value) }
        }
    }

    /// Reads a field where the host has it, whatever else is there.
    pub(crate) fn get_real<T: Value>(self, name: &str) -> T {
        // SAFETY: inside the record.
        unsafe { self.address.add(self.field(name).real).cast::<T>().read_unaligned() }
    }

    /// A pointer that [`Record::put_real`] has written; null where it was lost.
    pub(crate) fn get_put(self, name: &str) -> *mut u8 {
        let place = self.place(self.field(name));
        // SAFETY: as above.
        place.map_or(std::ptr::null_mut(), |place| unsafe { place.cast::<*mut u8>().read_unaligned() })
    }

    /// As [`Record::put_real`] for a `long double`.
    pub(crate) fn put_real_ld(self, name: &str, value: f64) {
        if let Some(place) = self.place(self.field(name)) {
            set_long_double(place, value);
        }
    }

    /// Sets a `long double`.
    ///
    /// # Panics
    /// As [`Record::set`].
    pub fn set_ld(self, name: &str, value: f64) -> Self {
        let field = self.field(name);
        assert_eq!(field.kind, FieldKind::LongDouble, "{}.{name}", self.kind);
        unset(|unset| unset.get_mut(&(self.address as usize)).map(|fields| fields.remove(name)));
        let decoy = field.real != field.offset;
        // SAFETY: inside the record.
        set_long_double(unsafe { self.address.add(field.offset) }, if decoy { value.decoy() } else { value });
        if let Some(place) = self.place(field).filter(|_| decoy) {
            set_long_double(place, value);
        }
        self
    }

    /// Reads a `long double`.
    ///
    /// # Panics
    /// As [`Record::set`].
    pub fn get_ld(self, name: &str) -> f64 {
        let field = self.field(name);
        assert_eq!(field.kind, FieldKind::LongDouble, "{}.{name}", self.kind);
        // SAFETY: inside the record.
        get_long_double(self.place(field).unwrap_or_else(|| unsafe { self.address.add(field.offset) }))
    }

    /// The record that a pointer leads to.
    pub fn follow(self, name: &str, kind: &'static str) -> Option<Self> {
        let address: *mut u8 = self.get(name);
        (!address.is_null()).then_some(Self { kind, address })
    }

    /// The text that a pointer leads to; empty where it is null.
    pub fn text(self, name: &str) -> String {
        let address: *mut u8 = self.get(name);
        if address.is_null() {
            return String::new();
        }
        // SAFETY: a terminated text of the host.
        unsafe { CStr::from_ptr(address.cast()) }.to_string_lossy().into_owned()
    }

    /// An array of numbers that a pointer leads to.
    pub fn array<T: Copy>(self, name: &str, count: usize) -> Vec<T> {
        let first: *mut T = self.get::<*mut u8>(name).cast();
        if first.is_null() {
            return Vec::new();
        }
        // SAFETY: the array has so many, by what the caller says.
        (0..count).map(|at| unsafe { first.add(at).read_unaligned() }).collect()
    }

    /// An array of `long double`.
    pub fn array_ld(self, name: &str, count: usize) -> Vec<f64> {
        let first: *mut u8 = self.get(name);
        // SAFETY: as above.
        (0..count).map(|at| get_long_double(unsafe { first.add(at * 16) })).collect()
    }
}

/// Writes a `long double`.
pub(crate) fn set_long_double(place: *mut u8, value: f64) {
    #[repr(C, align(16))]
    struct Aligned([u8; 16]);
    let function: unsafe extern "C" fn(*mut u8, f64) =
        // SAFETY: the function of the preloaded object.
        unsafe { std::mem::transmute(symbol("fakehost_set_long_double")) };
    let mut aligned = Aligned([0; 16]);
    // SAFETY: sixteen aligned bytes, and sixteen of the caller's.
    unsafe {
        function(aligned.0.as_mut_ptr(), value);
        std::ptr::copy_nonoverlapping(aligned.0.as_ptr(), place, 16);
    }
}

/// Reads a `long double`.
pub(crate) fn get_long_double(place: *const u8) -> f64 {
    #[repr(C, align(16))]
    struct Aligned([u8; 16]);
    let function: unsafe extern "C" fn(*const u8) -> f64 =
        // SAFETY: the function of the preloaded object.
        unsafe { std::mem::transmute(symbol("fakehost_get_long_double")) };
    let mut aligned = Aligned([0; 16]);
    // SAFETY: as above.
    unsafe {
        std::ptr::copy_nonoverlapping(place, aligned.0.as_mut_ptr(), 16);
        function(aligned.0.as_ptr())
    }
}
