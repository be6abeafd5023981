//! The two tables that are known of Grid Engine's ticket policies, with real submissions.

use multifactor2_fixtures::seed_tables::{self, USER};
use slurm_testcluster::{policies, Cluster, JobId};

use super::{assert_factors, between_cycles, factors};
use crate::support::{as_printed, cluster, number};

/// What the next job of the user would have: the tenth part of what functional tickets the user has, and in the project the third of the
/// override tickets.
fn assert_next(cluster: &Cluster, max: f64) {
    for (account, tickets) in [("na", 2_500.0), ("prj1", 2_500.0 + 10.0 / 3.0)] {
        let shown = number(&cluster.share(account, USER).unwrap(), "FairShare");
        assert!(as_printed(shown, tickets / max), "{account}: {shown} of {max}");
    }
}

#[test]
fn both_tables_with_real_submissions() {
    let cluster = policies::seed(cluster(), "OFS").start().unwrap();
    let jobs = policies::submit_seed(&cluster, &[]).unwrap();
    assert_eq!(jobs, (223_683..=223_691).collect::<Vec<_>>());
    cluster.wait_cycle().unwrap();
    policies::assert_table(&cluster, &jobs, "OFS");
    assert_next(&cluster, 25_010.0);

    policies::change(&cluster, &seed_tables::settings("FSO")).unwrap();
    cluster.wait_cycle().unwrap();
    policies::assert_table(&cluster, &jobs, "FSO");
    assert_next(&cluster, 25_000.0);
    // A restart reads all of it anew.
    let mut cluster = cluster;
    cluster.restart_controller().unwrap();
    cluster.wait_cycle().unwrap();
    policies::assert_table(&cluster, &jobs, "FSO");
}

/// A new job ranks as the last of its user until the next cycle, so under both hierarchies the first submission of the seed has what the
/// table of FSO says. Those of a second one are the tenth and so on, by the largest of the cycle.
#[test]
fn at_submission_a_job_has_the_tickets_of_the_next_one() {
    for hierarchy in ["OFS", "FSO"] {
        let cluster = policies::seed(cluster(), hierarchy).cycle_seconds(Some(4)).start().unwrap();
        let submit = || {
            let jobs = policies::submit_seed(&cluster, &[]).unwrap();
            (factors(&cluster, &jobs), jobs)
        };
        let cancel = |(_, jobs): (Vec<f64>, Vec<JobId>)| {
            cluster.command("scancel").args(jobs).text().unwrap();
        };
        let (found, first) = between_cycles(&cluster, submit, cancel);
        assert_factors(&found, &policies::expected("FSO"), hierarchy);
        cluster.wait_cycle().unwrap();
        assert_factors(&factors(&cluster, &first), &policies::expected(hierarchy), hierarchy);

        let (found, _) = between_cycles(&cluster, submit, cancel);
        let max = policies::tickets(&cluster, first[0]).unwrap().max;
        let next = |k: u32| {
            let of_project = [3.0, 4.0].get((k as usize).wrapping_sub(17)).map_or(0.0, |k| 10.0 / k);
            (25_000.0 / f64::from(k) + of_project) / max
        };
        assert_factors(&found, &(10..19).map(next).collect::<Vec<_>>(), hierarchy);
    }
}
