//! Which jobs `sprio` gets to see: by request, by privacy and by state.

use slurm_fakehost::{all, in_releases, Job, Mcs, Request, COMPLETE};

use crate::entries::{ids, read};
use crate::setup::{end, fill, flags, NOW};

#[test]
fn requests_of_older_clients_are_heeded_up_to_23_11() {
    let old: Vec<_> =
        all().into_iter().filter(|version| *version < slurm_fakehost::release(24, 5, 0)).collect();
    in_releases(&old, |slurmctld| {
        let cluster = fill(slurmctld);
        slurmctld.add_job(&cluster.waiting(101));
        slurmctld.add_job(&Job { user_id: 1006, association: Some(cluster.carol), ..cluster.waiting(102) });
        slurmctld.add_job(&Job { partitions: vec![cluster.fast, cluster.long], ..cluster.waiting(103) });
        slurmctld.begin();
        let mut ask = |request: &Request| -> Vec<(u32, String)> {
            slurmctld
                .factors(Some(request), 0, read)
                .into_iter()
                .map(|entry| (entry.job, entry.partition))
                .collect()
        };
        let of = |job: u32, partition: &str| (job, partition.to_owned());
        let jobs = Request { jobs: Some(vec![102, 7]), ..Request::default() };
        assert_eq!(ask(&jobs), [of(102, "batch")]);
        let users = Request { users: Some(vec![1006]), ..Request::default() };
        assert_eq!(ask(&users), [of(102, "batch")]);
        let partitions = Request { partitions: Some("long,none".to_owned()), ..Request::default() };
        assert_eq!(ask(&partitions), [of(103, "long")]);
        let both = Request { jobs: Some(vec![101]), users: Some(vec![1006]), ..Request::default() };
        assert_eq!(ask(&both), []);
        assert_eq!(ask(&Request::default()).len(), 4);
        end(slurmctld);
    });
}

/// From 24.05 on the user is the first argument, and nothing is said of the upper half of its register.
#[test]
fn under_private_data_users_see_their_own_jobs_coordinators_those_of_the_account_operators_all() {
    in_releases(&all(), |slurmctld| {
        slurmctld.configure("private_data", 1_u16);
        let cluster = fill(slurmctld);
        slurmctld.add_job(&cluster.waiting(101));
        let of_carol = Job {
            user_id: 1006,
            account: "chemistry",
            association: Some(cluster.carol),
            ..cluster.waiting(102)
        };
        slurmctld.add_job(&of_carol);
        slurmctld.operator(1099).coordinator(1098, "chemistry");
        slurmctld.begin();
        for (uid, seen) in [
            (1004, vec![101]),
            (1006, vec![102]),
            (1005, vec![]),
            (1098, vec![102]),
            (1099, vec![101, 102]),
            (0, vec![101, 102]),
        ] {
            assert_eq!(ids(slurmctld, uid), seen, "user {uid}");
        }
        // Without, all see all.
        slurmctld.configure("private_data", 0xfffe_u16);
        assert_eq!(ids(slurmctld, 1005), [101, 102]);
        end(slurmctld);
    });
}

#[test]
fn with_an_mcs_plugin_its_labels_decide() {
    in_releases(&all(), |slurmctld| {
        slurmctld.configure("private_data", 1_u16).mcs(Mcs::Label);
        let cluster = fill(slurmctld);
        slurmctld.add_job(&Job { mcs_label: Some("secret"), ..cluster.waiting(101) });
        slurmctld.add_job(&Job { mcs_label: Some("open"), ..cluster.waiting(102) });
        slurmctld.coordinator(1005, "open");
        slurmctld.begin();
        assert_eq!(ids(slurmctld, 1005), [102]);
        end(slurmctld);
    });
}

#[test]
fn held_running_and_not_yet_eligible_jobs_are_not_shown() {
    in_releases(&all(), |slurmctld| {
        let cluster = fill(slurmctld);
        let waits = |id, begin| Job { waits: (NOW - 50_000, begin, 0), ..cluster.waiting(id) };
        slurmctld.add_job(&waits(101, NOW - 1));
        slurmctld.add_job(&waits(102, NOW + 1000));
        slurmctld.add_job(&waits(103, 0));
        slurmctld.add_job(&Job { priority: 0, ..waits(104, NOW - 1) });
        slurmctld.add_job(&cluster.running(105, 60));
        slurmctld.add_job(&Job { state: COMPLETE, ..waits(106, NOW - 1) });
        slurmctld.add_job(&Job { without_details: true, ..waits(107, NOW - 1) });
        slurmctld.expect_error("has no details record");
        slurmctld.begin();
        assert_eq!(ids(slurmctld, 0), [101]);
        // ACCRUE_ALWAYS: since their submission.
        slurmctld.configure("priority_flags", 1_u16);
        slurmctld.reconfigure(false);
        assert_eq!(ids(slurmctld, 0), [101, 102, 103]);
        slurmctld.configure("priority_flags", flags::CALCULATE_RUNNING);
        slurmctld.reconfigure(false);
        assert_eq!(ids(slurmctld, 0), [101, 105, 106]);
        end(slurmctld);
    });
}
