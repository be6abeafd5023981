//! What `multifactor2` answers: why a job has its priority, how the queue stands, and what would be if something changed.
//!
//! One way leads to every answer: [`input`] gives a [`Snapshot`](multifactor2_snapshot::Snapshot), from Slurm's commands, from files or from
//! the plugin; [`model`] computes priorities from it with the engine that the plugin runs; [`answers`] has one file or folder a question, with what it takes, how it is answered and how that is shown; [`output`]
//! has what texts, tables and pages are made of. [`options`] are those that several questions have, [`cli`] is the program, [`run`] prints.

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
