//! The two tables that are known of Grid Engine's ticket policies, with real submissions: in the oldest and the newest release by `make test`,
//! in all by `make test-releases`.

use crate::shared;
use multifactor2_fixtures::seed_tables;
use slurm_releases::cluster;
use slurm_testcluster::{policies, Release};

#[cfg(feature = "full")]
slurm_releases::test_in_each_release!(both_tables);

#[cfg(not(feature = "full"))]
#[test]
fn bullseye() {
    slurm_releases::BULLSEYE.test(both_tables);
}

#[cfg(not(feature = "full"))]
#[test]
fn forky() {
    slurm_releases::FORKY.test(both_tables);
}

fn both_tables(release: &Release) {
    let mut cluster = policies::seed(cluster(release.clone()).unwrap(), "OFS").start().unwrap();
    let jobs = policies::submit_seed(&cluster, &[]).unwrap();
    cluster.wait_cycle().unwrap();
    policies::assert_table(&cluster, &jobs, "OFS");
    policies::change(&cluster, &seed_tables::settings("FSO")).unwrap();
    cluster.wait_cycle().unwrap();
    policies::assert_table(&cluster, &jobs, "FSO");
    cluster.restart_controller().unwrap();
    cluster.wait_cycle().unwrap();
    policies::assert_table(&cluster, &jobs, "FSO");
    // Without pools all jobs of one user are alike.
    policies::change(&cluster, "").unwrap();
    cluster.wait_cycle().unwrap();
    let rows = cluster.sprio_rows().unwrap();
    assert!(rows.iter().all(|row| row.number("fairshare").unwrap() >= 1.0), "{rows:?}");
    shared::check_log(&cluster);
}
