//! The heart of `priority/multifactor2`: shares, tickets, decay, usage charges, priorities, and the plugin's own settings.
//!
//! Everything here works on plain values, knows nothing of Slurm's records, locks or log, and can be used, tested and
//! measured without a cluster: the plugin, the commands, the fuzzers and the benchmarks link it. Nothing of the arithmetic
//! panics, loops for ever or returns NaN or an infinity, whatever the input; nothing of it allocates in a cycle once its
//! buffers have grown to the size of the site.

#![forbid(unsafe_code)]

pub mod books;
pub mod competition;
pub mod decay;
pub mod evaluator;
pub mod explain;
pub mod factors;
pub mod facts;
pub mod policy;
pub mod rules;
pub mod settings;
pub mod ties;
pub mod tree;

pub use policy::FairShare;
pub use tree::{Node, NodeSpec, ShareTree, USE_PARENT};
