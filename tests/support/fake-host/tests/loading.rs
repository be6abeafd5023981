//! The plugin is loaded.

use slurm_fakehost::{all, in_releases, Association, Job, Partition, Qos};

#[test]
fn a_job_gets_a_priority() {
    in_releases(&all(), |slurmctld| {
        slurmctld.configure("priority_weight_part", 1000_u32);
        let root = slurmctld.add_association(&Association::default());
        let account = slurmctld.add_association(&Association {
            id: 2,
            parent: Some(root),
            account: "physics",
            ..Association::default()
        });
        let normal = slurmctld.add_qos(&Qos::default());
        let batch = slurmctld.add_partition(&Partition::default());
        let job = slurmctld.add_job(&Job {
            association: Some(account),
            partitions: vec![batch],
            qos: vec![normal],
            ..Job::default()
        });
        slurmctld.begin();
        let (priority, changed) = slurmctld.changes(|slurmctld| slurmctld.ask_priority(0, job));
        assert_eq!(priority, 500);
        assert!(changed.is_empty(), "{changed:?}");
        slurmctld.fini();
        slurmctld.assert_nothing_leaks();
    });
}
