//! The replay: published numbers, properties of every scheduler, bad input.

mod bad_input;
mod charging;
mod directory;
mod gaming;
mod invariants;
mod kth;
mod made;
mod measures;
mod points;
mod saturated;
mod skipped;
mod slow_model;
mod slurm;
mod stock;
