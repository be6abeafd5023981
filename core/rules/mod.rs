//! What usage is charged, and to whom.

pub mod charge;
pub mod ledger;
