//! What `sprio` gets, in every signature: each field of each entry, who sees what, and whose the memory is.

use slurm_fakehost::{
    all, in_releases, layout, memory, Job, Kind, Mcs, Record, Request, Slurmctld, COMPLETE, NICE_OFFSET,
};

use crate::setup::{end, fill, flags, Cluster, NOW};

/// An entry.
#[derive(Debug, Clone, PartialEq)]
struct Entry {
    job: u32,
    user: u32,
    partition: String,
    /// From 23.02 on.
    account: Option<String>,
    qos: Option<String>,
    direct: f64,
    factors: Option<Factors>,
}

#[derive(Debug, Clone, PartialEq)]
struct Factors {
    age: f64,
    assoc: f64,
    fs: f64,
    js: f64,
    part: f64,
    qos: f64,
    site: u32,
    nice: u32,
    tres: Vec<f64>,
    weights: Vec<f64>,
}

/// Reads an entry; what no field names is zero.
fn read(entry: Record) -> Entry {
    assert_rest_is_zero(entry);
    let factors = if entry.has("prio_factors") {
        entry.follow("prio_factors", "factors")
    } else {
        Some(Record { kind: "factors", address: entry.address })
    };
    let job = if entry.has("step_id") {
        let step: [u8; 24] = entry.get("step_id");
        assert_eq!(step[..8], [0x11; 8], "the whole of it is copied");
        u32::from_ne_bytes(step[8..12].try_into().unwrap())
    } else {
        entry.get("job_id")
    };
    Entry {
        job,
        user: entry.get("user_id"),
        partition: entry.text("partition"),
        account: entry.has("account").then(|| entry.text("account")),
        qos: entry.has("qos").then(|| entry.text("qos")),
        direct: entry.get("direct_prio"),
        factors: factors.map(|record| {
            if entry.has("prio_factors") {
                assert_rest_is_zero(record);
            }
            let count = record.get::<u32>("tres_cnt") as usize;
            Factors {
                age: record.get("priority_age"),
                assoc: record.get("priority_assoc"),
                fs: record.get("priority_fs"),
                js: record.get("priority_js"),
                part: record.get("priority_part"),
                qos: record.get("priority_qos"),
                site: record.get("priority_site"),
                nice: record.get("nice"),
                tres: record.array("priority_tres", count),
                weights: record.array("tres_weights", count),
            }
        }),
    }
}

fn assert_rest_is_zero(record: Record) {
    let flat = layout().field("factors_object", "prio_factors").is_none();
    let kinds: &[&str] = if flat { &["factors", "factors_object"] } else { &[record.kind] };
    let size = memory::block(record.address).expect("a block of the allocator").size;
    assert_eq!(size, layout().record(record.kind).size, "{}", record.kind);
    for at in 0..size {
        let named = kinds.iter().any(|kind| {
            layout()
                .record(kind)
                .fields
                .values()
                .any(|field| (field.offset..field.offset + field.kind.bytes()).contains(&at))
        });
        // SAFETY: inside the block.
        let byte = unsafe { record.address.add(at).read() };
        assert!(named || byte == 0, "{} has {byte:#x} at {at}", record.kind);
    }
}

fn entries(slurmctld: &mut Slurmctld, uid: u32) -> Vec<Entry> {
    // An old client sends an empty request, a new one none.
    let request = (!slurmctld.since(23, 2, 0)).then(Request::default);
    slurmctld.factors(request.as_ref(), uid, read)
}

fn ids(slurmctld: &mut Slurmctld, uid: u32) -> Vec<u32> {
    entries(slurmctld, uid).iter().map(|entry| entry.job).collect()
}

/// Every weight, each another.
fn weigh(slurmctld: &mut Slurmctld) {
    for (name, weight) in [
        ("priority_weight_age", 10_000_u32),
        ("priority_weight_assoc", 20_000),
        ("priority_weight_fs", 30_000),
        ("priority_weight_js", 40_000),
        ("priority_weight_part", 50_000),
        ("priority_weight_qos", 60_000),
    ] {
        slurmctld.configure(name, weight);
    }
    slurmctld.weigh_tres(&[1000.0, 500.0]);
}

fn job(cluster: &Cluster, id: u32) -> Job {
    Job { site: 77, nice: -11, waits: (NOW - 50_000, NOW - 40_000, NOW - 21_600), ..cluster.waiting(id) }
}

fn expected(slurmctld: &Slurmctld) -> Factors {
    let nodes = if slurmctld.since(23, 2, 0) { 20.0 } else { 40.0 };
    Factors {
        age: 2500.0,
        assoc: 20_000.0,
        fs: 30_000.0,
        js: 40_000.0 * ((2.0 / nodes + 4.0 / 200.0) / 2.0),
        part: 12_500.0,
        qos: 15_000.0,
        site: NICE_OFFSET + 77,
        nice: NICE_OFFSET - 11,
        tres: vec![40.0, 400.0, 0.0, 0.0, 0.0],
        weights: vec![1000.0, 500.0, 0.0, 0.0, 0.0],
    }
}

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

/// The tables of entries and factors overlap in older releases, so each is asked about the kinds of its fields.
#[test]
fn an_entry_has_room_for_what_is_written() {
    for release in all() {
        let layout = slurm_fakehost::Layout::of(release, None);
        for name in ["factors", "factors_object"] {
            let record = layout.record(name);
            for field in record.fields.values() {
                assert!(field.offset + field.kind.bytes() <= record.size, "{release}: {name}.{}", field.name);
                assert!(field.kind != Kind::LongDouble, "{release}: {name}.{}", field.name);
            }
        }
    }
}
