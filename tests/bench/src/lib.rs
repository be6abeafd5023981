//! Measurements of this plugin, and of stock `priority/multifactor` where that does the same: times and memory for `make bench`, and
//! instructions, which a test compares with the committed ones.
#![allow(
    clippy::missing_errors_doc,
    reason = "all fail where a host, a cluster or a command does not do what it is asked for"
)]

pub mod answers;
pub mod compare;
pub mod counts;
pub mod daemon;
pub mod hosts;
pub mod page;
pub mod policies;
pub mod process;
pub mod report;
pub mod samples;
