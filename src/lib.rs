//! Slurm's `priority/multifactor2`: fair-share by tickets that are handed down the account tree to those who
//! have work waiting, proportional to shares times how far below its share an account or user is.
//!
//! [`exports`] is the C interface that slurmctld looks up, [`plugin`] answers it, and [`host`] holds everything `unsafe` and
//! all knowledge of Slurm's records. What is computed, and the settings, are in the crate `multifactor2-core`, which knows
//! nothing of Slurm. `docs/architecture.md` has the picture.

pub mod exports;
pub mod faults;
pub mod host;
pub mod identity;
pub mod plugin;
