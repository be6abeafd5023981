//! Points from the records of every release: read under the locks that protect them, and written nowhere but into priorities.

use std::fs;

use slurm_fakehost::{
    all, in_releases, lists, one_of_each_layout, release, Job, Partition, Record, Slurmctld, NO_VAL,
};

use crate::setup::{assert_changed, end, fill, flags, usage, Cluster, NOW};

/// Lets the plugin have these settings; nothing else has a weight.
fn settings(slurmctld: &mut Slurmctld, text: &str) {
    fs::write(slurmctld.directory.join("multifactor2.conf"), text).unwrap();
    slurmctld.configure("priority_weight_fs", 0_u32);
}

fn priorities<const N: usize>(jobs: [Record; N]) -> [u32; N] {
    jobs.map(|job| job.get("priority"))
}

/// By user, Unix group, account and those above, QOS and partition.
#[test]
fn credentials_are_read_in_every_release() {
    in_releases(&all(), |slurmctld| {
        settings(
            slurmctld,
            "Component=CRED User=1 Group=10 Account=100 Parent=1000 QOS=10000 Class=100000\n\
             Credential=User Name=alice Priority=1\nCredential=Group Name=4321 Priority=2\n\
             Credential=Account Name=physics Priority=3\nCredential=Parent Name=PHYSICS Priority=4\n\
             Credential=QOS Name=HIGH Priority=5\nCredential=Partition Name=fast Priority=6\n",
        );
        let cluster = fill(slurmctld);
        let job = |id| cluster.waiting(id);
        let of_carol = |id| Job { association: Some(cluster.carol), user_id: 1006, ..job(id) };
        let jobs = [
            job(101),
            Job { group_id: 4321, ..of_carol(102) },
            Job { qos: vec![cluster.high], partitions: vec![cluster.fast], ..of_carol(103) },
            Job { group_id: 4321, qos: vec![cluster.high], partitions: vec![cluster.fast], ..job(104) },
            of_carol(105),
        ];
        let jobs = jobs.map(|job| slurmctld.add_job(&job));
        slurmctld.begin();
        let expected = [4301, 20, 650_000, 654_321, 1];
        assert_eq!(priorities(jobs), expected);
        for (job, expected) in jobs.into_iter().zip(expected) {
            assert_eq!(slurmctld.set_priority(0, job), expected, "set again");
        }
        end(slurmctld);
    });
}

/// By the request, its temporary disk, the time limit and the wait.
#[test]
fn requests_and_waits_are_read_in_every_release() {
    in_releases(&all(), |slurmctld| {
        settings(
            slurmctld,
            "Component=RES Node=1 Proc=10 Mem=100 Disk=10000 WallTime=0.1\nComponent=SERV QueueTime=1000000\nPointsCap=2147483647\n",
        );
        let cluster = fill(slurmctld);
        let asks = Job {
            tmp_disk: 3,
            limit: 2,
            waits: (NOW - 300, NOW - 200, NOW - 120),
            requested: vec![5, 7, u64::MAX - 2, 2, 0],
            ..cluster.waiting(101)
        };
        let endless = Job { limit: NO_VAL, tmp_disk: 0, ..asks.clone() };
        let jobs = [asks, Job { id: 102, ..endless }].map(|job| slurmctld.add_job(&job));
        slurmctld.begin();
        // Two minutes, 2 nodes, 5 processors, 7 MB, 6 MB of disk; a limit of two minutes, and the partition's day.
        assert_eq!(
            priorities(jobs),
            [2_000_000 + 2 + 50 + 700 + 60_000 + 12, 2_000_000 + 2 + 50 + 700 + 8640]
        );
        slurmctld.advance(60);
        slurmctld.cycle();
        assert_eq!(priorities(jobs), [3_060_764, 3_009_392]);
        end(slurmctld);
    });
}

/// By what the cluster has of each TRES, which is read under the association manager's lock for TRES.
#[test]
fn totals_are_read_in_every_release() {
    in_releases(&all(), |slurmctld| {
        settings(slurmctld, "Component=RES PE=1\n");
        let cluster = fill(slurmctld);
        // A quarter of the processors and half of the memory.
        slurmctld.tres_totals(&[128, 1000, 0, 4, 0]);
        let job = slurmctld.add_job(&Job { requested: vec![32, 500, 0, 1, 100_000], ..cluster.waiting(101) });
        slurmctld.begin();
        assert_eq!(priorities([job]), [64]);
        assert_eq!(slurmctld.set_priority(0, job), 64);
        slurmctld.tres_totals(&[64, 0, 0, 4, 0]);
        slurmctld.advance(60);
        slurmctld.cycle();
        assert_eq!(priorities([job]), [32]);
        end(slurmctld);
    });
}

/// Usage of associations and of QOS.
#[test]
fn usage_is_read_in_every_release() {
    in_releases(&all(), |slurmctld| {
        settings(
            slurmctld,
            "Component=FS Weight=100 FSUser=10 FSAccount=-30 FSQOS=-40\n\
             Target=User Name=alice Percent=50\nTarget=Account Name=physics Percent=25\nTarget=QOS Name=high Percent=10\n",
        );
        let cluster = fill(slurmctld);
        for (record, used) in
            [(cluster.root, 100.0), (cluster.physics, 35.0), (cluster.alice, 45.0), (cluster.high, 25.0)]
        {
            usage(record).set_ld("usage_raw", used);
        }
        let jobs = [cluster.waiting(101), Job { qos: vec![cluster.high], ..cluster.waiting(102) }];
        let jobs = jobs.map(|job| slurmctld.add_job(&job));
        slurmctld.begin();
        assert_eq!(priorities(jobs), [35_000, 95_000]);
        end(slurmctld);
    });
}

fn in_both(cluster: &Cluster, id: u32) -> Job {
    Job { partitions: vec![cluster.batch, cluster.fast], ..cluster.waiting(id) }
}

/// What the entries of the next test have: partition by partition, QOS by QOS.
fn in_the_order_of_its_lists(job: Record) -> Vec<u32> {
    let list = |field: &str, own: &str, kind| -> Vec<Record> {
        let list: *mut u8 = if job.has(field) { job.get(field) } else { std::ptr::null_mut() };
        if list.is_null() {
            return job.follow(own, kind).into_iter().collect();
        }
        lists::elements(list).into_iter().map(|address| Record { kind, address }).collect()
    };
    let mut numbers = Vec::new();
    for partition in list("part_ptr_list", "part_ptr", "part") {
        let (of_partition, weight) = if partition.text("name") == "fast" { (2000, 10) } else { (1000, 1) };
        for qos in list("qos_list", "qos_ptr", "qos") {
            let of_qos = match &*qos.text("name") {
                "normal" => 1,
                "high" => 2,
                _ => 3,
            };
            numbers.push(of_partition + weight * of_qos);
        }
    }
    numbers
}

/// Each partition and each QOS of a job has its own points: in lists that up to 24.11 cannot be walked within each other.
#[test]
fn every_entry_has_its_own_points() {
    in_releases(&all(), |slurmctld| {
        settings(
            slurmctld,
            "Component=CRED QOS=1 Class=1\nComponent=CRED Partition=fast QOS=10 Class=1\n\
             Credential=Partition Name=batch Priority=1000\nCredential=Partition Name=fast Priority=2000\n\
             Credential=QOS Name=normal Priority=1\nCredential=QOS Name=high Priority=2\nCredential=QOS Name=kept Priority=3\n",
        );
        let cluster = fill(slurmctld);
        let several_qos = slurmctld.since(24, 11, 0);
        let mut specs = vec![in_both(&cluster, 101)];
        if several_qos {
            let qos = vec![cluster.normal, cluster.high, cluster.kept];
            specs.push(Job { qos: qos.clone(), ..cluster.waiting(102) });
            specs.push(Job { qos, ..in_both(&cluster, 103) });
        }
        let jobs: Vec<Record> = specs.iter().map(|job| slurmctld.add_job(job)).collect();
        slurmctld.begin();
        for again in ["at the cycle", "set again"] {
            for job in &jobs {
                let (numbers, _) = crate::several::array(*job).expect("an array");
                let expected = in_the_order_of_its_lists(*job);
                assert_eq!(numbers[..expected.len()], expected, "{again}");
            }
            for job in &jobs {
                slurmctld.set_priority(0, *job);
            }
        }
        end(slurmctld);
    });
}

/// Nothing is changed in any record but priorities, whatever counts.
#[test]
fn only_priorities_are_written() {
    in_releases(&one_of_each_layout(), |slurmctld| {
        settings(
            slurmctld,
            "Component=CRED User=1 Group=1\nComponent=RES PE=1 Disk=1\nComponent=SERV QueueTime=60 XFactor=1 Bypass=5\n\
             Component=FS FSUser=1 FSParent=1\nComponent=TARGET TargetQueueTime=10\nService=QOS Name=normal TargetQueueTime=01:00:00\n\
             Credential=User Name=alice Priority=1000\nTarget=User Name=* Percent=50\nTarget=Parent Name=* Percent=50\n",
        );
        slurmctld.configure("priority_decay_hl", 0_u32);
        let cluster = fill(slurmctld);
        slurmctld.tres_totals(&[128, 1000, 0, 4, 0]);
        usage(cluster.root).set_ld("usage_raw", 100.0);
        let job = |id| Job { waits: (NOW - 300, NOW - 200, NOW - 120), site: 77, ..cluster.waiting(id) };
        for id in [101, 102] {
            slurmctld.add_job(&job(id));
        }
        slurmctld.begin();
        slurmctld.advance(60);
        let ((), changed) = slurmctld.changes(Slurmctld::cycle);
        assert_changed(&changed, &["job 101: job.priority", "job 102: job.priority", "last_job_update"]);
        end(slurmctld);
    });
}

/// Where group and disk are not known to be where they are thought, they count as none; all else counts.
#[test]
fn in_a_release_that_was_not_compared_group_and_disk_count_nothing() {
    in_releases(&[release(22, 5, 99), release(24, 11, 99), release(26, 5, 99)], |slurmctld| {
        settings(
            slurmctld,
            "Component=CRED User=1 Group=10\nComponent=RES Disk=1000 Proc=100\n\
             Credential=User Name=alice Priority=1\nCredential=Group Name=4321 Priority=2\n",
        );
        let cluster = fill(slurmctld);
        let job = Job {
            group_id: 4321,
            tmp_disk: 3,
            requested: vec![5, 7, u64::MAX - 2, 2, 0],
            ..cluster.waiting(101)
        };
        let job = slurmctld.add_job(&job);
        slurmctld.begin();
        assert_eq!(priorities([job]), [501]);
        end(slurmctld);
    });
}

/// Running jobs under `CALCULATE_RUNNING`.
#[test]
fn what_running_jobs_have_used_is_read_in_every_release() {
    in_releases(&one_of_each_layout(), |slurmctld| {
        slurmctld.configure("priority_flags", flags::CALCULATE_RUNNING);
        settings(slurmctld, "Component=USAGE ExecutionTime=1 Remaining=10\n");
        let cluster = fill(slurmctld);
        let runs = Job { requested: vec![2, 0, 0, 1, 0], ..cluster.running(101, 600) };
        let job = slurmctld.add_job(&runs);
        slurmctld.begin();
        assert_eq!(priorities([job]), [600 + 10 * 2 * 6600]);
        end(slurmctld);
    });
}

/// A name that nothing has is warned of once, in lines of pools as in those of points; one that comes later is not missed any more.
#[test]
fn names_that_nothing_has_are_warned_of_once() {
    in_releases(&one_of_each_layout(), |slurmctld| {
        fs::write(
            slurmctld.directory.join("multifactor2.conf"),
            "TicketsFunctional=1000\nFunctional=User Name=nobody,alice Shares=1\nFunctional=Account Name=nowhere Shares=1\n\
             Override=Partition Name=slow,batch Tickets=1\nOverride=Account Name=physics,biology Tickets=1\n\
             Component=CRED User=1\nCredential=User Name=niemand Priority=1\n",
        )
        .unwrap();
        slurmctld.configure("priority_weight_fs", 1000_u32);
        let cluster = fill(slurmctld);
        slurmctld.add_job(&cluster.waiting(101));
        slurmctld.begin();
        slurmctld.cycle();
        let missing = |slurmctld: &Slurmctld| {
            let log = slurmctld.log();
            let lines = log.lines().filter(|line| line.contains("this name does not exist"));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let warnings = missing(slurmctld);
        for text in [
            "line 2: Functional=User Name=nobody",
            "line 3: Functional=Account Name=nowhere",
            "line 4: Override=Partition Name=slow",
            "line 5: Override=Account Name=biology",
            "line 7: Credential=User Name=niemand",
        ] {
            assert_eq!(
                warnings.iter().filter(|line| line.contains(text)).count(),
                1,
                "{text}: {warnings:#?}"
            );
        }
        assert_eq!(warnings.len(), 5, "{warnings:#?}");
        slurmctld.add_partition(&Partition { name: "slow", ..Partition::default() });
        slurmctld.cycle();
        assert_eq!(missing(slurmctld).len(), 5);
        end(slurmctld);
    });
}
