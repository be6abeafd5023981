//! Ticket policies as an administrator sees them: in `sprio`, `sshare` and the log, and in who starts.

mod dilution;
mod drained;
mod overrides;
mod tables;

use std::fs;
use std::time::SystemTime;

use slurm_testcluster::{policies, Cluster, JobId};

use crate::support::{number, sprio_of};

/// The factors that sprio shows of jobs.
fn factors(cluster: &Cluster, jobs: &[JobId]) -> Vec<f64> {
    jobs.iter().map(|job| number(&sprio_of(cluster, *job), "fairshare")).collect()
}

/// Equal but for the decimals that sprio prints.
#[track_caller]
fn assert_factors(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let same = |(found, expected): (&f64, &f64)| (found - expected).abs() <= 1e-6;
    assert!(found.iter().zip(expected).all(same), "{what}: {found:?} instead of {expected:?}");
}

/// The share-tree tickets of jobs, as the log has them.
fn share_tree(cluster: &Cluster, jobs: &[JobId]) -> Vec<f64> {
    jobs.iter().map(|job| policies::tickets(cluster, *job).unwrap().share_tree).collect()
}

/// What `act` gives, where no cycle ran meanwhile: the first time that this is so. `undo` comes before another try.
fn between_cycles<T>(cluster: &Cluster, mut act: impl FnMut() -> T, mut undo: impl FnMut(T)) -> T {
    let last = || -> SystemTime {
        let file = cluster.directory().join("state/priority_last_decay_ran");
        fs::metadata(file).unwrap().modified().unwrap()
    };
    for _ in 0..20 {
        cluster.wait_cycle().unwrap();
        let before = last();
        let done = act();
        // A cycle writes this file before it reads any job.
        if last() == before {
            return done;
        }
        undo(done);
    }
    panic!("a cycle came in between twenty times")
}
