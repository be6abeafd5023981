//! Answers of `multifactor2`: why a job has its priority, how the queue stands, and what a change would do.
//!
//! Every answer takes the same way. [`input`] gives a [`Snapshot`](multifactor2_snapshot::Snapshot), from Slurm's commands, from files or
//! from the plugin. [`model`] computes priorities from it with the engine that the plugin runs. [`answers`] has one file or folder per
//! question, with its arguments, its answer and how that is shown. [`output`] has the parts of texts, tables and pages. [`options`] are
//! those that several questions share, [`cli`] is the program, [`run`] prints.

pub mod algorithm;
pub mod answers;
mod assumed;
pub mod cli;
pub mod error;
mod files;
pub mod input;
pub mod made;
pub mod model;
pub mod options;
pub mod output;
pub mod progress;
pub mod run;
pub mod submission;
