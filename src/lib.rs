//! Slurm's `priority/multifactor2`: fair-share by tickets that are handed down the account tree to those who
//! have work waiting, proportional to shares times how far below its share an account or user is.
//!
//! [`exports`] is the C interface that slurmctld looks up, [`plugin`] answers it, [`host`] holds everything
//! `unsafe` and all knowledge of Slurm's records, [`engine`] computes without knowing Slurm, and
//! [`conf`] reads our own settings. `docs/architecture.md` has the picture.

pub mod conf;
pub mod engine;
pub mod exports;
pub mod faults;
pub mod host;
pub mod plugin;

/// Name and version, as the log says them.
pub const VERSION: &str = concat!("slurm-multifactor2 ", env!("CARGO_PKG_VERSION"));
