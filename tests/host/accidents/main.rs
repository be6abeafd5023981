//! Faults around the plugin: kills, clocks, calendars and state files, in a host whose clock a test sets. What stock does
//! in the same accident is what is compared with; where stock is wrong the test says how.

#![allow(clippy::float_cmp)] // sums of whole seconds are exact

mod books;
mod clocks;
mod dominant;
mod driver;
mod exhaustion;
mod kills;
mod minimum;
mod once;
mod own_usage;
mod phases;
mod setup;
mod state_files;
mod tree_windows;
