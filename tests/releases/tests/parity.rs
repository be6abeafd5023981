//! `make test-releases`: in every release, one saved state under its own stock `priority/multifactor` and under ours.
//! Random jobs as in the tests of the installed Slurm (`tests/daemon`), in several QOS, too, where the release knows that;
//! ages are compared by the times of the two cycles, which the state files tell.
#![cfg(feature = "full")]

#[path = "../../daemon/comparison.rs"]
mod comparison;
#[allow(dead_code)] // the tests of the installed Slurm use more
#[path = "../../daemon/support.rs"]
mod support;
#[path = "../../daemon/workload.rs"]
mod workload;

use comparison::{compare, VARIANTS};
use slurm_releases::{cluster, Suite, BOOKWORM, BULLSEYE, FORKY, TRIXIE};
use support::random;
use workload::Saved;

/// A few dozen random jobs with each of the settings.
fn compare_in(suite: Suite) {
    let Some(release) = suite.release().unwrap() else { return };
    let mut random = random(suite.name);
    compare(&mut Saved::new(cluster(release).unwrap(), &mut random, 60), &VARIANTS, false);
}

#[test]
fn every_column_but_fair_share_is_equal_in_bullseye() {
    compare_in(BULLSEYE);
}

#[test]
fn every_column_but_fair_share_is_equal_in_bookworm() {
    compare_in(BOOKWORM);
}

#[test]
fn every_column_but_fair_share_is_equal_in_trixie() {
    compare_in(TRIXIE);
}

#[test]
fn every_column_but_fair_share_is_equal_in_forky() {
    compare_in(FORKY);
}
