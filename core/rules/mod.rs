//! What usage is charged, and to whom.

pub mod charge;
pub mod ended;
pub mod ledger;
pub mod raw_usage;
pub mod sums;
pub mod sums_file;
pub mod tally;
pub mod windows;
