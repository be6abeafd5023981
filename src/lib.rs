//! Slurm's `priority/multifactor2`: fair-share by tickets. They flow down the account tree to the users with waiting jobs, in proportion to
//! shares times how far an account or user is below its share.
//!
//! [`exports`] is the C interface that slurmctld looks up, [`plugin`] answers it, and [`host`] holds all `unsafe` code and all knowledge of
//! Slurm's records. The crate `multifactor2-core` has the arithmetic and the settings, and knows nothing of Slurm. `docs/architecture.md`
//! has the picture.

pub mod exports;
pub mod faults;
pub mod host;
pub mod identity;
pub mod plugin;
