//! The replay: published numbers, properties of every scheduler, bad input.

mod kth;
