//! Points as an administrator sees them: in `sprio`, and in who starts.

mod jobs;

use slurm_testcluster::points;

use crate::support::cluster;

#[test]
fn the_examples_with_real_users_groups_and_usage() {
    let mut cluster = points::cluster(cluster()).start().unwrap();
    let jobs = points::credentials(&cluster);
    assert!(points::group_of(&cluster, jobs.ann).unwrap().starts_with("staff("));
    points::fair_share(&mut cluster, jobs);
    points::resources(&cluster);
    points::waits(&cluster);
    points::end(&cluster, jobs);
}
