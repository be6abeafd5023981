//! Types for what the holder of a lock may do with the records that it protects: a record from a read guard has no method that writes.

use std::fmt::Debug;

use super::constants::{READ_LOCK, WRITE_LOCK};

mod sealed {
    pub trait Sealed {}
}

/// How a lock is held.
pub trait Access: sealed::Sealed + Copy + Debug + 'static {
    /// The level that the host's functions are told.
    const LEVEL: u32;
}

/// How a lock is held whose records may be looked at.
pub trait Open: Access {}

/// Not held.
#[derive(Clone, Copy, Debug)]
pub enum Closed {}

/// For reading.
#[derive(Clone, Copy, Debug)]
pub enum Read {}

/// For writing, which allows reading.
#[derive(Clone, Copy, Debug)]
pub enum Write {}

impl sealed::Sealed for Closed {}
impl sealed::Sealed for Read {}
impl sealed::Sealed for Write {}

impl Access for Closed {
    const LEVEL: u32 = 0;
}

impl Access for Read {
    const LEVEL: u32 = READ_LOCK;
}

impl Access for Write {
    const LEVEL: u32 = WRITE_LOCK;
}

impl Open for Read {}
impl Open for Write {}
