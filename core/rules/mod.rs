//! What usage is charged, and to whom; how far it is from targets.

pub mod charge;
pub mod ledger;
pub mod targets;
