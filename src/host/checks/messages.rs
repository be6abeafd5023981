//! Builds messages in Slurm's own form, which its unpack functions turn into records, and compares the result.

use std::ffi::{c_int, c_void};

use super::memory::{block_size, text_of_length};
use super::{failure, Failure};
use crate::host::constants::NO_VAL;
use crate::host::layout::{Field, LongDouble, Ptr, BUFFER_HEAD};
use crate::host::long_double;
use crate::host::Host;

/// TRES in the messages.
pub const TRES: usize = 3;

/// `NO_VAL`: no list, no bitmap.
pub const NONE: u32 = NO_VAL;

/// A message in Slurm's form.
#[derive(Default)]
pub struct Message(Vec<u8>);

impl Message {
    pub fn number(&mut self, value: u32) -> &mut Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub fn numbers<const N: usize>(&mut self, values: [u32; N]) -> &mut Self {
        values.into_iter().fold(self, Self::number)
    }

    pub fn short_number(&mut self, value: u16) -> &mut Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    /// This number of null texts.
    pub fn nothing(&mut self, texts: usize) -> &mut Self {
        (0..texts).fold(self, |message, _| message.number(0))
    }

    pub fn long_number(&mut self, value: u64) -> &mut Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub fn array(&mut self, values: [u64; TRES]) -> &mut Self {
        self.number(3);
        self.0.extend(values.iter().flat_map(|value| value.to_be_bytes()));
        self
    }

    pub fn text(&mut self, text: &str) -> &mut Self {
        self.number(u32::try_from(text.len() + 1).unwrap_or(0));
        self.0.extend(text.bytes());
        self.0.push(0);
        self
    }

    pub fn double(&mut self, value: f64) -> &mut Self {
        self.0.extend((value * 1_000_000.0).to_bits().to_be_bytes());
        self
    }

    pub fn long_double(&mut self, value: f64) -> &mut Self {
        self.text(&format!("{value:.6}"))
    }

    pub fn long_doubles(&mut self, values: [f64; TRES]) -> &mut Self {
        self.number(3);
        for value in values {
            self.long_double(value);
        }
        self
    }

    /// What `unpack` makes of it; null where it does not understand it.
    pub fn unpack(
        &self,
        host: &Host,
        unpack: unsafe extern "C" fn(*mut *mut c_void, u16, *mut c_void) -> c_int,
    ) -> *mut u8 {
        let mut record = std::ptr::null_mut();
        // SAFETY: a buffer of the host's of that size, which is filled and freed here.
        unsafe {
            let buffer = (host.sym.init_buf)(u32::try_from(self.0.len()).unwrap_or(0));
            let head = BUFFER_HEAD.get(buffer.cast());
            std::ptr::copy_nonoverlapping(self.0.as_ptr(), head, self.0.len());
            let protocol = u16::try_from((host.sym.api_version)() >> 16 << 8).unwrap_or(0);
            let result = unpack(&raw mut record, protocol, buffer);
            (host.sym.free_buf)(buffer);
            if result == 0 {
                record.cast()
            } else {
                std::ptr::null_mut()
            }
        }
    }
}

/// What is known to be in a record.
pub struct Unpacked {
    pub host: &'static Host,
    pub what: &'static str,
    pub record: *mut u8,
    pub wrong: Option<&'static str>,
}

impl Unpacked {
    pub fn is(&mut self, field: &'static str, right: bool) -> &mut Self {
        if !right {
            self.wrong.get_or_insert(field);
        }
        self
    }

    /// Whether the record has the size that the layout says, before anything else of it is looked at.
    pub fn has_size(&mut self, size: usize) -> bool {
        let right = block_size(self.record as usize) == Some(size);
        self.is("the size", right);
        right
    }

    pub fn number<L>(&mut self, name: &'static str, field: Field<L, u32>, value: u32) -> &mut Self {
        // SAFETY: a record of the size that the layout says.
        let found = unsafe { field.get(self.record) };
        self.is(name, found == value)
    }

    pub fn text<L>(&mut self, name: &'static str, field: Field<L, Ptr>, value: &str) -> &mut Self {
        // SAFETY: as above.
        let text = unsafe { field.get(self.record) };
        let right = text_of_length(text as usize, value.len()).as_deref() == Some(value.as_bytes());
        self.is(name, right)
    }

    #[allow(clippy::float_cmp)] // whole numbers and powers of two
    pub fn double<L>(&mut self, name: &'static str, field: Field<L, f64>, value: f64) -> &mut Self {
        // SAFETY: a record of the size that the layout says.
        let found = unsafe { field.get(self.record) };
        self.is(name, found == value)
    }

    #[allow(clippy::float_cmp)] // as above
    pub fn long_double<L>(
        &mut self,
        name: &'static str,
        field: Field<L, LongDouble>,
        value: f64,
    ) -> &mut Self {
        // SAFETY: as above.
        let found = unsafe { field.get_ld(self.record) };
        self.is(name, found == value)
    }

    pub fn array<L>(&mut self, name: &'static str, field: Field<L, Ptr>, values: [u64; TRES]) -> &mut Self {
        // SAFETY: as above.
        let array = unsafe { field.get(self.record) };
        self.is(name, array_at(array as usize) == Some(values))
    }

    #[allow(clippy::float_cmp)] // as above
    pub fn long_doubles<L>(
        &mut self,
        name: &'static str,
        field: Field<L, Ptr>,
        values: [f64; TRES],
    ) -> &mut Self {
        // SAFETY: as above.
        let array = unsafe { field.get(self.record) };
        let found = block_size(array as usize) == Some(TRES * long_double::BYTES)
            && (0..TRES).all(|at| {
                // SAFETY: a block of so many.
                let bytes: [u8; long_double::BYTES] = unsafe { array.cast::<[u8; 16]>().add(at).read() };
                long_double::value(&bytes) == values[at]
            });
        self.is(name, found)
    }

    pub fn result(&self) -> Result<(), Failure> {
        match self.wrong {
            None => Ok(()),
            Some(field) => {
                Err(failure(self.host, format!("slurmctld keeps {field} of {} elsewhere", self.what)))
            }
        }
    }
}

/// The numbers of an array with one per TRES.
pub fn array_at(address: usize) -> Option<[u64; TRES]> {
    if block_size(address) != Some(TRES * size_of::<u64>()) {
        return None;
    }
    // SAFETY: a block of that size; the allocator aligns to 16.
    Some(unsafe { (address as *const [u64; TRES]).read() })
}
