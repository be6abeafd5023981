//! The sources of a snapshot: Slurm's commands, the files in which `--save` kept their output, or a file of the plugin.

pub mod accounting;
pub mod anonymise;
pub mod ask;
mod assemble;
pub mod commands;
pub mod dump;
pub mod found;
mod load;
pub mod parse;
mod problem;
mod settings;
pub mod texts;

pub use assemble::{assemble, tells_flags_apart};
pub use load::{load, read, read_with_texts, Arguments, Needs};
pub use problem::Problem;
pub use settings::{parameters, settings};
