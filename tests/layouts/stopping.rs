//! Caps that stop jobs (`Block=yes`), in every release: the number that slurmctld compares with the `UsageThreshold` of a job's QOS, after a cycle and
//! after a submission, also where fair-share has no weight.

use std::fs;

use slurm_fakehost::{all, in_releases, Job, Qos, Record};

use crate::setup::{end, fill};

/// The flag `EnforceUsageThreshold` of a QOS.
const ENFORCE_USAGE_THRESHOLD: u32 = 0x8;

const LARGEST: f64 = 1e-6;

/// What slurmctld compares with the threshold; `None` where nothing was written.
fn number(job: Record) -> Option<f64> {
    job.follow("prio_factors", "factors").map(|factors| factors.get("priority_fs"))
}

#[test]
fn beyond_a_cap_the_number_is_below_the_threshold_and_of_all_others_it_is_not() {
    for weight in [0_u32, 1, 100_000] {
        in_releases(&all(), |slurmctld| {
            let file = slurmctld.directory.join("multifactor2.conf");
            let caps = "TargetMetric=cpu\nTarget=User Name=alice Amount=0 Type=cap Block=yes\nTarget=Partition Name=fast Amount=0 Type=cap Block=yes\n";
            fs::write(file, caps).unwrap();
            slurmctld.configure("priority_weight_fs", weight);
            let cluster = fill(slurmctld);
            slurmctld.tres_totals(&[128, 1000, 0, 4, 0]);
            let mut qos = |id, name, flags, threshold| {
                slurmctld.add_qos(&Qos {
                    id,
                    name,
                    flags,
                    usage_threshold: Some(threshold),
                    ..Qos::default()
                })
            };
            let stops = qos(9, "stops", ENFORCE_USAGE_THRESHOLD, LARGEST);
            let smaller = qos(10, "smaller", ENFORCE_USAGE_THRESHOLD, 1e-9);
            let larger = qos(11, "larger", ENFORCE_USAGE_THRESHOLD, 0.5);
            let unflagged = qos(12, "unflagged", 0, LARGEST);
            let alice = |id, qos: Vec<Record>| Job { qos, ..cluster.waiting(id) };
            let carol = |id, qos: Vec<Record>| Job {
                association: Some(cluster.carol),
                user_id: 1006,
                ..alice(id, qos)
            };
            let mut add = |job: Job| slurmctld.add_job(&job);
            let stopped = [
                add(alice(101, vec![stops])),
                add(alice(102, vec![smaller])),
                add(Job { partitions: vec![cluster.fast], ..carol(103, vec![stops]) }),
                add(Job { partitions: vec![cluster.fast, cluster.batch], ..alice(104, vec![stops]) }),
            ];
            let free = [
                (add(carol(105, vec![stops])), LARGEST),
                (add(carol(106, vec![smaller])), 1e-9),
                (
                    add(Job { partitions: vec![cluster.fast, cluster.batch], ..carol(107, vec![stops]) }),
                    LARGEST,
                ),
            ];
            // The threshold means something else, or slurmctld does not look at it.
            let others = [add(alice(108, vec![larger])), add(alice(109, vec![unflagged]))];
            let direct = add(Job { direct: true, priority: 77, ..alice(110, vec![stops]) });
            slurmctld.begin();
            for round in 0..3 {
                for job in stopped {
                    assert_eq!(
                        number(job).map(f64::to_bits),
                        Some(f64::MIN_POSITIVE.to_bits()),
                        "round {round}"
                    );
                }
                for (job, least) in free {
                    assert!(
                        number(job).is_some_and(|number| number >= least),
                        "round {round}: {:?}",
                        number(job)
                    );
                }
                for job in others {
                    assert_ne!(
                        number(job).map(f64::to_bits),
                        Some(f64::MIN_POSITIVE.to_bits()),
                        "round {round}"
                    );
                }
                assert_eq!(number(direct).map(f64::to_bits), Some(LARGEST.to_bits()), "round {round}");
                if round == 0 {
                    slurmctld.advance(60);
                    slurmctld.cycle();
                } else {
                    let jobs = stopped.into_iter().chain(free.map(|(job, _)| job)).chain(others);
                    jobs.for_each(|job| {
                        slurmctld.set_priority(0, job);
                    });
                }
            }
            end(slurmctld);
        });
    }
}

/// From 24.11 on a job may have several QOS: slurmctld tries it with each.
#[test]
fn a_job_of_several_qos_is_stopped_if_each_of_them_stops_it() {
    in_releases(&all(), |slurmctld| {
        let file = slurmctld.directory.join("multifactor2.conf");
        fs::write(file, "TargetMetric=cpu\nTarget=User Name=alice Amount=0 Type=cap Block=yes\n").unwrap();
        slurmctld.configure("priority_weight_fs", 1_u32);
        let cluster = fill(slurmctld);
        slurmctld.tres_totals(&[128, 1000, 0, 4, 0]);
        if !slurmctld.since(24, 11, 0) {
            return;
        }
        let mut qos = |id, name, flags| {
            slurmctld.add_qos(&Qos { id, name, flags, usage_threshold: Some(LARGEST), ..Qos::default() })
        };
        let flags = ENFORCE_USAGE_THRESHOLD;
        let (one, two, unflagged) = (qos(9, "one", flags), qos(10, "two", flags), qos(11, "unflagged", 0));
        let both = slurmctld.add_job(&Job { qos: vec![one, two], ..cluster.waiting(101) });
        let either = slurmctld.add_job(&Job { qos: vec![one, unflagged], ..cluster.waiting(102) });
        slurmctld.begin();
        for _ in 0..2 {
            assert_eq!(number(both).map(f64::to_bits), Some(f64::MIN_POSITIVE.to_bits()));
            assert!(number(either).is_some_and(|number| number >= LARGEST), "{:?}", number(either));
            slurmctld.advance(60);
            slurmctld.cycle();
        }
        end(slurmctld);
    });
}
