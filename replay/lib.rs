//! Replays a recorded workload under another policy: how long each job would have waited, and how close every account would have come to
//! its share.
//!
//! | module | what it is for |
//! |---|---|
//! | [`trace`] | reads what sites have: sacct, the Standard Workload Format, outputs of sacctmgr and scontrol |
//! | [`workload`] | what all of them give: jobs, associations, the machine, and what is missing |
//! | [`synthetic`] | makes workloads from a seed |
//! | [`order`] | which job is first: submission order, or priorities that the engine of the plugin computes |
//! | [`sim`] | runs the jobs on the machine, under a model of a scheduler |
//! | [`strategist`] | gives a user a twin, lets one of them play, and says what it gains |
//! | [`measures`] | its results: waits, usage against shares |
//!
//! A replay is deterministic: it has no clock, and the same input gives the same bytes. Users do not react in it: they submit when they
//! did.

#![forbid(unsafe_code)]

pub mod measures;
pub mod order;
pub mod sim;
pub mod strategist;
pub mod synthetic;
pub mod trace;
pub mod workload;

pub use sim::{simulate, Outcome, Plan};
pub use workload::Workload;
