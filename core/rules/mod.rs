//! What usage is charged, to whom, and how far it is from targets.

pub mod charge_rules;
pub mod grants;
pub mod hours;
pub mod lines_of_file;
pub mod minimum;
pub mod targets;
pub mod windows;
