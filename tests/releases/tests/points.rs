//! Points with real users, Unix groups and usage: in the oldest and the newest release by `make test`, in all by `make test-releases`.

use slurm_releases::cluster;
use slurm_testcluster::{points, Release};

#[cfg(feature = "full")]
slurm_releases::test_in_each_release!(points_of_real_jobs);

#[cfg(not(feature = "full"))]
#[test]
fn bullseye() {
    slurm_releases::BULLSEYE.test(points_of_real_jobs);
}

#[cfg(not(feature = "full"))]
#[test]
fn forky() {
    slurm_releases::FORKY.test(points_of_real_jobs);
}

fn points_of_real_jobs(release: &Release) {
    let mut cluster = points::cluster(cluster(release.clone()).unwrap()).start().unwrap();
    let jobs = points::credentials(&cluster);
    points::fair_share(&mut cluster, jobs);
    points::resources(&cluster);
    points::waits(&cluster);
    points::end(&cluster, jobs);
}
