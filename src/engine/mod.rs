//! The arithmetic of the plugin: shares, tickets, decay, usage charges and priorities.
//!
//! Everything here works on plain numbers, knows nothing of Slurm's records, locks or log, and can be used,
//! tested and measured without a cluster. Nothing panics, loops for ever or returns NaN or an infinity,
//! whatever the input; nothing allocates in a cycle once its buffers have grown to the size of the site.
#![forbid(unsafe_code)]

pub mod charge;
pub mod decay;
pub mod ledger;
pub mod priority;
pub mod tickets;
pub mod tree;

pub use tickets::FairShare;
pub use tree::{Node, NodeSpec, ShareTree, USE_PARENT};
