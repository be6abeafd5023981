//! Record layouts of every supported Slurm release, as data.
//!
//! Slurm moves the fields of its records between releases. The plugin is built once and picks the
//! layout of the running release at load time, so what differs is kept as a table
//! (`layouts.tsv`) and not as compiled-in struct definitions. This crate reads that table, turns
//! it into Rust source for the plugin's build script, and (feature `extract`) takes a new column
//! from the headers of a Slurm source tree. Beside it are constants that no release changes (`constants.tsv`), the
//! reasons for which jobs wait (`reasons.tsv`), and two tables of locks (`callers.tsv`, `callees.tsv`).

mod callers;
mod codegen;
mod column;
mod constants;
#[cfg(feature = "extract")]
mod extract;
mod reasons;
mod table;

pub use callers::{rust_source_of_locks, Level, LockRow, LockTable, LockTableError, LOCKS};
pub use codegen::{rust_source, rust_source_built_for};
pub use column::{Change, Column, Contradiction, Headers, Recorded};
pub use constants::{constants, constants_source, Constant};
#[cfg(feature = "extract")]
pub use extract::{ExtractError, Mismatch, Tree};
pub use reasons::{reasons_source, Reason, ReasonChange, ReasonNumbers, Reasons, REASONS_TSV};
pub use table::{Field, FieldKind, Group, Record, Table, TableError, Version};

/// The committed table, as text.
pub const LAYOUTS_TSV: &str = include_str!("../layouts.tsv");
