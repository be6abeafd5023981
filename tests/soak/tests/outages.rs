//! The short forms of what `make soak` does to the daemons around slurmctld.

use std::time::Duration;

use slurm_soak::outages::{self, Away};
use slurm_soak::Plugin;

#[test]
fn slurmdbd_away_costs_nothing() {
    let summary = outages::run(&Plugin::built().unwrap(), Away::Slurmdbd, Duration::from_secs(5)).unwrap();
    println!("{summary}");
    outages::check(&summary).unwrap();
}

#[test]
fn a_database_that_is_restarted_costs_nothing() {
    let summary = outages::run(&Plugin::built().unwrap(), Away::Database, Duration::from_secs(5)).unwrap();
    println!("{summary}");
    outages::check(&summary).unwrap();
}

#[test]
fn a_first_start_without_slurmdbd_is_refused_and_a_later_one_is_not() {
    let refusal = outages::first_start(&Plugin::built().unwrap()).unwrap();
    println!("{refusal}");
    assert!(refusal.contains("slurmdbd"), "{refusal}");
}
