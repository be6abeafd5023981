//! One file a question: data in, an answer out that can be serialised, and its text.

pub mod metrics;
pub mod migrate;
