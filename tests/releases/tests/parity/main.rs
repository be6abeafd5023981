//! `make test-releases`: in every release, its own stock `priority/multifactor` and ours, side by side.
//!
//! One saved state with random jobs as in the tests of the installed Slurm (`tests/daemons`), in several QOS, too, where the release
//! knows that; ages are compared by the times of the two cycles, which the state files tell. And what one release does unlike
//! another: run-minutes of users, accounts and partitions, a site factor plugin that is missing, the start without slurmdbd, nodes
//! that were removed.
#![cfg(feature = "full")]

#[path = "../shared/mod.rs"]
mod shared;
mod surroundings;
mod usage;

use std::time::Duration;

use multifactor2_fixtures::random;
use slurm_releases::{cluster, Suite, BOOKWORM, BULLSEYE, FORKY, SUITES, TRIXIE};
use slurm_testcluster::parity::{compare, Saved, OURS, STOCK, VARIANTS};
use slurm_testcluster::{Account, Accounts, Builder, Release};

const WAIT: Duration = Duration::from_secs(60);

fn releases() -> impl Iterator<Item = Release> {
    SUITES.iter().filter_map(|suite| suite.release().unwrap())
}

/// Does the same under both plugins, at the same time.
fn under_both<T: Send>(run: impl Fn(&'static str) -> T + Sync) -> [T; 2] {
    std::thread::scope(|scope| {
        let stock = scope.spawn(|| run(STOCK));
        [run(OURS), stock.join().unwrap()]
    })
}

/// A few dozen random jobs with each of the settings.
fn compare_in(suite: Suite) {
    let Some(release) = suite.release().unwrap() else { return };
    println!("{}", suite.name);
    let mut random = random();
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

/// A cluster of one user whose jobs run.
fn running_cluster(release: &Release, plugin: &str) -> Builder {
    let tree = Accounts::new().account(Account::new("physics", 1).user("ada", 1));
    cluster(release.clone())
        .unwrap()
        .priority_type(plugin)
        .accounts(&tree)
        .nodes(2)
        .slurmds(true)
        .set("SelectTypeParameters", "CR_CPU")
}
