//! What the tests of `sprio` share: an entry of its answer, read by the layout of the release.

use slurm_fakehost::{layout, memory, Job, Record, Request, Slurmctld, NICE_OFFSET};

use crate::setup::{Cluster, NOW};

/// An entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub job: u32,
    pub user: u32,
    pub partition: String,
    /// From 23.02 on.
    pub account: Option<String>,
    pub qos: Option<String>,
    pub direct: f64,
    pub factors: Option<Factors>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Factors {
    pub age: f64,
    pub assoc: f64,
    pub fs: f64,
    pub js: f64,
    pub part: f64,
    pub qos: f64,
    pub site: u32,
    pub nice: u32,
    pub tres: Vec<f64>,
    pub weights: Vec<f64>,
}

/// Reads an entry; what no field names is zero.
pub fn read(entry: Record) -> Entry {
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

pub fn entries(slurmctld: &mut Slurmctld, uid: u32) -> Vec<Entry> {
    // An old client sends an empty request, a new one none.
    let request = (!slurmctld.since(23, 2, 0)).then(Request::default);
    slurmctld.factors(request.as_ref(), uid, read)
}

pub fn ids(slurmctld: &mut Slurmctld, uid: u32) -> Vec<u32> {
    entries(slurmctld, uid).iter().map(|entry| entry.job).collect()
}

/// Every weight, each another.
pub fn weigh(slurmctld: &mut Slurmctld) {
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

pub fn job(cluster: &Cluster, id: u32) -> Job {
    Job { site: 77, nice: -11, waits: (NOW - 50_000, NOW - 40_000, NOW - 21_600), ..cluster.waiting(id) }
}

pub fn expected(slurmctld: &Slurmctld) -> Factors {
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
