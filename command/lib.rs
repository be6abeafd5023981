//! What `multifactor2` answers: why a job has its priority, how the queue stands, and what would be if something changed.
//!
//! One way leads to every answer: [`input`] gives a [`Snapshot`](multifactor2_snapshot::Snapshot), from Slurm's commands, from files or from
//! the plugin; [`model`] computes priorities from it with the engine that the plugin runs; [`answers`] has one file a question; [`output`]
//! shows answers as text, JSON, CSV or HTML. `replay` is another way to an answer: it replays a trace, and asks no cluster. [`cli`] says what can be asked, [`run`] puts all of it together.

pub mod algorithm;
pub mod answers;
mod assumed;
pub mod check;
pub mod cli;
mod files;
pub mod input;
pub mod made;
pub mod model;
pub mod output;
pub mod progress;
mod replay;
pub mod run;
