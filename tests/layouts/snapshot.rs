//! A snapshot from the records of every release.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use multifactor2_snapshot::format::read;
use multifactor2_snapshot::Snapshot;
use slurm_fakehost::{all, in_releases, Job};

use crate::setup::{end, fill, NOW};

/// Waits for the file.
fn taken(path: &Path) -> Snapshot {
    let begin = Instant::now();
    loop {
        match fs::read(path) {
            Ok(file) => return read(file.as_slice()).expect("never half a file"),
            Err(_) if begin.elapsed() < Duration::from_secs(10) => sleep(Duration::from_millis(10)),
            Err(error) => panic!("{}: {error}", path.display()),
        }
    }
}

#[test]
fn records_of_every_release_are_told_as_they_are() {
    in_releases(&all(), |slurmctld| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("snapshot");
        fs::write(slurmctld.directory.join("multifactor2.conf"), format!("Snapshot={}\n", path.display()))
            .unwrap();
        slurmctld.configure("priority_weight_part", 1000_u32);
        let cluster = fill(slurmctld);
        let jobs = [
            Job {
                reservation: (Some("maintenance"), false),
                wckey: Some("*key"),
                group_id: 4321,
                ..cluster.waiting(101)
            },
            Job {
                association: Some(cluster.carol),
                user_id: 1006,
                partitions: vec![cluster.fast, cluster.batch],
                ..cluster.waiting(102)
            },
            Job { priority: 0, ..cluster.waiting(103) },
            cluster.running(104, 60),
        ];
        let jobs = jobs.map(|job| slurmctld.add_job(&job));
        slurmctld.begin();
        let snapshot = taken(&path);
        assert_eq!((snapshot.about.time, snapshot.about.cluster.as_str()), (NOW, "fakehost"));
        assert_eq!(snapshot.parameter("PriorityWeightPartition"), Some("1000"));
        let partitions: Vec<_> = snapshot
            .partitions
            .iter()
            .map(|of| (of.name.as_str(), of.tier, of.state.as_str(), of.job_factor))
            .collect();
        assert_eq!(partitions, [("batch", 1, "UP", 50), ("fast", 3, "UP", 200), ("long", 2, "UP", 100)]);
        assert_eq!(
            (snapshot.partitions[1].qos.as_str(), snapshot.partitions[1].billing_weights.as_str()),
            ("kept", "CPU=1.0")
        );
        let users: Vec<_> = snapshot
            .associations
            .iter()
            .map(|of| (of.id, of.parent, of.account.as_str(), of.user.as_str(), of.shares))
            .collect();
        assert_eq!(users.len(), 6);
        assert!(users.contains(&(5, 2, "physics", "bob", 3)), "{users:?}");
        let waiting: Vec<_> =
            snapshot.jobs.iter().map(|job| (job.id, job.user.as_str(), job.is_computed)).collect();
        assert_eq!(waiting, [(101, "alice", true), (102, "carol", true), (103, "alice", false)]);
        let first = &snapshot.jobs[0];
        assert_eq!(
            (first.reservation.as_str(), first.wckey.as_str(), first.group),
            ("maintenance", "key", Some(4321))
        );
        assert_eq!((first.partition_addend, first.priority), (250.0, jobs[0].get("priority")));
        let entries: Vec<_> =
            snapshot.entries.iter().map(|of| (of.job, of.partition.as_str(), of.priority)).collect();
        assert!(
            entries.contains(&(102, "fast", 1000)) && entries.contains(&(102, "batch", 250)),
            "{entries:?}"
        );
        let [running] = &snapshot.running[..] else { panic!("{:?}", snapshot.running) };
        assert_eq!((running.association, running.count, running.billing), (4, 1, 4.0));
        end(slurmctld);
    });
}
