//! What usage is charged, to whom, and how far it is from targets.

pub mod accuracy;
pub mod charge;
pub mod charge_rules;
pub mod ended;
pub mod given_back;
pub mod grants;
pub mod hours;
pub mod interrupted;
pub mod kept_points;
pub mod ledger;
mod lines_of_file;
pub mod measures;
pub mod minimum;
pub mod raw_usage;
pub mod rule_history;
pub mod sums;
pub mod sums_file;
pub mod tally;
pub mod targets;
pub mod windows;
