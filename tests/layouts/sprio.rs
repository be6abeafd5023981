//! What `sprio` gets, in every signature: each field of each entry, who sees what, and whose the memory is.

use slurm_fakehost::{all, in_releases, FieldKind, Job, Record};

use crate::entries::{entries, expected, job, weigh, Entry};
use crate::setup::{end, fill};

#[test]
fn every_field_of_an_entry_is_filled_and_nothing_else() {
    in_releases(&all(), |slurmctld| {
        weigh(slurmctld);
        let cluster = fill(slurmctld);
        slurmctld.add_job(&job(&cluster, 101));
        slurmctld.begin();
        let since_23_02 = slurmctld.since(23, 2, 0);
        let entry = Entry {
            job: 101,
            user: 1004,
            partition: "batch".to_owned(),
            account: since_23_02.then(|| "physics".to_owned()),
            qos: since_23_02.then(|| "normal".to_owned()),
            direct: 0.0,
            factors: Some(expected(slurmctld)),
        };
        let (found, changed) = slurmctld.changes(|slurmctld| entries(slurmctld, 0));
        assert_eq!(found, [entry]);
        assert!(changed.is_empty(), "nothing is left and nothing is written: {changed:?}");
        end(slurmctld);
    });
}

#[test]
fn without_weights_of_tres_there_are_no_arrays() {
    in_releases(&all(), |slurmctld| {
        let cluster = fill(slurmctld);
        slurmctld.add_job(&cluster.waiting(101));
        slurmctld.begin();
        let found = slurmctld.factors(None, 0, |entry| {
            let factors = if entry.has("prio_factors") {
                entry.follow("prio_factors", "factors").unwrap()
            } else {
                Record { kind: "factors", address: entry.address }
            };
            (factors.get::<u32>("tres_cnt"), factors.get::<*mut u8>("priority_tres").is_null())
        });
        assert_eq!(found, [(0, true)]);
        end(slurmctld);
    });
}

#[test]
fn one_entry_for_each_partition_and_each_qos() {
    in_releases(&all(), |slurmctld| {
        weigh(slurmctld);
        let cluster = fill(slurmctld);
        let mut several = Job { partitions: vec![cluster.fast, cluster.batch], ..job(&cluster, 101) };
        if slurmctld.since(24, 11, 0) {
            several.qos = vec![cluster.normal, cluster.high];
        }
        slurmctld.add_job(&several);
        slurmctld.begin();
        let found = entries(slurmctld, 0);
        let of = |entry: &Entry| {
            let factors = entry.factors.as_ref().unwrap();
            (entry.partition.clone(), entry.qos.clone(), factors.part, factors.qos, factors.tres[0])
        };
        let since_23_02 = slurmctld.since(23, 2, 0);
        let qos: &[_] = if slurmctld.since(24, 11, 0) {
            &[("normal", 15_000.0), ("high", 60_000.0)]
        } else {
            &[("normal", 15_000.0)]
        };
        let wanted: Vec<_> = [("fast", 50_000.0, 100.0), ("batch", 12_500.0, 40.0)]
            .iter()
            .flat_map(|(partition, part, tres)| {
                qos.iter().map(move |(name, of_qos)| {
                    (partition.to_string(), since_23_02.then(|| (*name).to_owned()), *part, *of_qos, *tres)
                })
            })
            .collect();
        assert_eq!(found.iter().map(of).collect::<Vec<_>>(), wanted);
        // The rest is the job's in all of them.
        let plain = expected(slurmctld);
        for entry in found {
            let factors = entry.factors.unwrap();
            assert_eq!((factors.age, factors.js, factors.nice), (plain.age, plain.js, plain.nice));
        }
        end(slurmctld);
    });
}

#[test]
fn a_priority_that_was_set_directly_has_no_factors() {
    in_releases(&all(), |slurmctld| {
        weigh(slurmctld);
        let cluster = fill(slurmctld);
        let direct = |id| Job { direct: true, priority: 4711, ..job(&cluster, id) };
        slurmctld.add_job(&direct(101));
        slurmctld.add_job(&Job { partitions: vec![cluster.fast, cluster.batch], ..direct(102) });
        slurmctld.begin();
        let found = entries(slurmctld, 0);
        let since_23_02 = slurmctld.since(23, 2, 0);
        let directs: Vec<f64> = found.iter().map(|entry| entry.direct).collect();
        // In several partitions older releases show factors even then.
        assert_eq!(directs, if since_23_02 { [4711.0; 3] } else { [4711.0, 0.0, 0.0] });
        assert!(!since_23_02 || found.iter().all(|entry| entry.factors.is_none()));
        end(slurmctld);
    });
}

/// The tables of entries and factors overlap in older releases, so each is asked about the kinds of its fields.
#[test]
fn an_entry_has_room_for_what_is_written() {
    for release in all() {
        let layout = slurm_fakehost::Layout::of(release, None);
        for name in ["factors", "factors_object"] {
            let record = layout.record(name);
            for field in record.fields.values() {
                assert!(field.offset + field.kind.bytes() <= record.size, "{release}: {name}.{}", field.name);
                assert!(field.kind != FieldKind::LongDouble, "{release}: {name}.{}", field.name);
            }
        }
    }
}
