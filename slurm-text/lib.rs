//! Reads the texts of Slurm, what its commands print and its files say, in one place for the command and for replays.
//!
//! The input may be any text. What cannot be read is left out and counted, never guessed, and nothing panics. Nothing here is linked into
//! slurmctld: the plugin reads records, and its own files through `multifactor2_core::settings`.

pub mod config;
pub mod dates;
pub mod dump;
pub mod durations;
pub mod hosts;
pub mod limits;
pub mod lines;
pub mod parameters;
pub mod partitions;
pub mod tres;

pub use parameters::Parameters;
