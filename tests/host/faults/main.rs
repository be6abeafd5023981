//! A panic in every export and in every step of a cycle: slurmctld's stand-in goes on, the declared answer comes back,
//! no lock stays held, nothing is charged, decayed or reset twice, and the log has one line per cause.
//!
//! The plugin under test is the one that cargo has built with this test, with the feature `faults`.

#![allow(clippy::float_cmp)] // sums of whole seconds are exact

mod cycle;
mod exports;
mod grants;
mod kills;
#[path = "../../core/grants/model.rs"]
mod model;
mod own_usage;
mod points;
mod setup;
mod shipped;
mod snapshot;
mod year;
