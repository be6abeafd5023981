//! The replay: published numbers, properties of every scheduler, bad input, and what the documentation says of policies.

mod bad_input;
mod books;
mod charge_rules;
mod charging;
mod directory;
mod dirty;
mod fair_start;
mod figures;
mod invariants;
mod kth;
mod limits;
mod made;
mod measures;
mod on_nodes;
mod passes;
mod points;
mod skipped;
mod slow_model;
mod slurm;
mod stock;
mod tree_windows;
mod truth;

// What 'make figures' makes is compared here. Not all of it is computed again.
#[allow(dead_code)]
#[path = "../../replay/examples/figures/gaming.rs"]
mod gaming;
#[allow(dead_code)]
#[path = "../../replay/examples/figures/pages.rs"]
mod pages;
#[path = "../../replay/examples/figures/picture.rs"]
mod picture;
#[allow(dead_code)]
#[path = "../../replay/examples/figures/settles.rs"]
mod settles;
#[allow(dead_code)]
#[path = "../../replay/examples/figures/table.rs"]
mod table;
