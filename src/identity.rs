//! The name and the version of the plugin.

use std::ffi::CStr;

/// Name and version, as the log says them.
pub const VERSION: &str = concat!("slurm-multifactor2 ", env!("CARGO_PKG_VERSION"));

/// The `PriorityType` that the plugin serves.
pub const PRIORITY_TYPE: &CStr = c"priority/multifactor2";

/// What it calls itself.
pub const NAME: &CStr = c"Priority MULTIFACTOR2 ticket plugin";
