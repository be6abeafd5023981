//! What the tests of real clusters have in common.

use std::fs::metadata;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use slurm_testcluster::{Builder, Cluster, JobId, Row};

pub use multifactor2_fixtures::random;
pub use slurm_testcluster::parity::{OURS, STOCK};

pub const PLUGIN_FILE: &str = "priority_multifactor2.so";

/// The plugin under test.
pub fn plugin() -> PathBuf {
    std::env::var_os("MULTIFACTOR2_PLUGIN")
        .map(PathBuf::from)
        .expect("MULTIFACTOR2_PLUGIN names no plugin: run these tests with 'make test'")
}

/// A cluster that can run either plugin, and runs ours.
pub fn cluster() -> Builder {
    Cluster::builder().plugin(plugin(), PLUGIN_FILE).priority_type(OURS)
}

/// What sprio shows of a job (in its first partition).
pub fn sprio_of(cluster: &Cluster, job: JobId) -> Row {
    let rows = cluster.sprio_rows().unwrap();
    let found = rows.into_iter().find(|row| row.text("JOBID") == job.to_string());
    found.unwrap_or_else(|| panic!("sprio does not show job {job}"))
}

/// The number in a column.
pub fn number(row: &Row, column: &str) -> f64 {
    row.number(column).unwrap()
}

/// Equal but for the six decimals that Slurm prints.
pub fn as_printed(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1.1e-6
}

/// True where a test cannot run because it needs root; the continuous integration is told.
pub fn lacks_root(test: &str, why: &str) -> bool {
    let root = metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    if !root {
        slurm_testcluster::skip(test, &format!("needs root for {why}"));
    }
    !root
}
