//! The short form of what `make soak` asks of slurmctld while everything takes locks, in releases whose slurmctld asks the plugin
//! for sprio's list under its locks.

use std::time::Duration;

use slurm_releases::{Suite, FORKY, TRIXIE};
use slurm_soak::pressure::{check, run, Pressure};
use slurm_soak::Plugin;

const SHORT: Pressure = Pressure { jobs: 4000, time: Duration::from_secs(10), private: false };

fn press(suite: Suite, pressure: &Pressure) {
    suite.test(|release| {
        let summary = run(&Plugin::in_release(release).unwrap(), pressure).unwrap();
        println!("Slurm {}: {summary}", release.version);
        check(&summary).unwrap();
    });
}

#[test]
fn trixie_answers_while_cycles_run_and_jobs_start_and_end() {
    press(TRIXIE, &SHORT);
}

#[test]
fn forky_answers_while_cycles_run_and_jobs_start_and_end() {
    press(FORKY, &SHORT);
}

/// What a viewer may see was asked of the association manager, too.
#[test]
fn trixie_answers_where_jobs_are_private_by_account() {
    press(TRIXIE, &Pressure { private: true, ..SHORT });
}

#[test]
fn forky_answers_where_jobs_are_private_by_account() {
    press(FORKY, &Pressure { private: true, ..SHORT });
}
