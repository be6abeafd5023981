//! Stock `priority/multifactor` and ours from one saved state: what they must have in common, which is all but fair-share.

#![allow(clippy::missing_panics_doc)] // a failed assumption fails the test

mod comparison;
mod saved;

pub use comparison::{compare, Variant, VARIANTS};
pub use saved::{last_ran, Sample, Saved};

use crate::Row;

/// `PriorityType` of the plugin under test.
pub const OURS: &str = "priority/multifactor2";
/// `PriorityType` of Slurm's own plugin.
pub const STOCK: &str = "priority/multifactor";

/// The number in a column.
fn number(row: &Row, column: &str) -> f64 {
    row.number(column).unwrap()
}
