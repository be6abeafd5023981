//! A slurmctld whose records keep their sizes, with one field elsewhere: in every layout, for every field that is written or
//! followed or decides what is written, two, four and eight bytes off in either direction, the plugin refuses, or writes nothing.

use std::collections::BTreeSet;

use slurm_fakehost::memory::{self, Arena};
use slurm_fakehost::{
    in_releases, in_shifted_layouts, layout, one_of_each_layout, release, Association, FieldKind, Job,
    Layout, Partition, Qos, Record, Shift, Slurmctld, RUNNING,
};

/// Fields of one record that are pinned from a release on.
struct Pinned {
    record: &'static str,
    since: (u8, u8),
    fields: &'static [&'static str],
}

const fn pinned(record: &'static str, fields: &'static [&'static str]) -> Pinned {
    Pinned { record, since: (20, 11), fields }
}

/// What is written, followed, or decides what is written.
const PINNED: [Pinned; 10] = [
    pinned(
        "job",
        &[
            "account",
            "assoc_id",
            "assoc_ptr",
            "details",
            "direct_set_prio",
            "end_time",
            "end_time_exp",
            "job_id",
            "job_state",
            "magic",
            "part_ptr",
            "part_ptr_list",
            "priority",
            "qos_id",
            "qos_list",
            "qos_ptr",
            "start_time",
            "time_limit",
            "total_cpus",
            "tres_alloc_cnt",
            "tres_req_cnt",
            "user_id",
        ],
    ),
    Pinned {
        record: "job",
        since: (21, 8),
        fields: &[
            "admin_comment",
            "array_job_id",
            "array_task_id",
            "deadline",
            "group_id",
            "het_job_id",
            "pre_sus_time",
            "preempt_time",
            "restart_cnt",
            "site_factor",
            "state_reason",
            "suspend_time",
        ],
    },
    Pinned { record: "job", since: (24, 11), fields: &["mcs_label", "resv_name", "wckey"] },
    pinned("details", &["magic", "nice"]),
    Pinned { record: "details", since: (21, 8), fields: &["accrue_time", "begin_time", "submit_time"] },
    pinned(
        "part",
        &[
            "billing_weights_str",
            "magic",
            "max_time",
            "name",
            "priority_job_factor",
            "priority_tier",
            "qos_char",
            "state_up",
            "tres_cnt",
        ],
    ),
    pinned("assoc", &["acct", "id", "partition", "priority", "shares_raw", "uid", "usage", "user"]),
    pinned(
        "assoc_usage",
        &[
            "fs_factor",
            "grp_used_tres_run_secs",
            "grp_used_wall",
            "level_fs",
            "parent_assoc_ptr",
            "shares_norm",
            "usage_efctv",
            "usage_norm",
            "usage_raw",
            "usage_tres_raw",
        ],
    ),
    pinned("qos", &["flags", "id", "name", "priority", "usage", "usage_factor", "usage_thres"]),
    pinned(
        "qos_usage",
        &[
            "acct_limit_list",
            "grp_used_tres_run_secs",
            "grp_used_wall",
            "norm_priority",
            "usage_raw",
            "usage_tres_raw",
            "user_limit_list",
        ],
    ),
];

fn shifts(layout: &Layout) -> Vec<Shift> {
    let mut all = Vec::new();
    for Pinned { record, since: (year, month), fields } in PINNED {
        if layout.release < release(year, month, 0) {
            continue;
        }
        let size = layout.record(record).size;
        for field in fields {
            let Some(place) = layout.field(record, field) else { continue };
            for bytes in [-8, -4, -2, 2, 4, 8] {
                let moved = place.offset.checked_add_signed(bytes);
                if moved.is_some_and(|moved| moved + place.kind.bytes() <= size) {
                    all.push(Shift { record, field, bytes });
                }
            }
        }
    }
    all
}

/// Three jobs of each kind, each with an association, a user and an account of its own.
fn fill(slurmctld: &mut Slurmctld) -> Vec<Record> {
    let several_qos = layout().field("job", "qos_list").is_some();
    let root = slurmctld.add_association(&Association::default());
    let normal = slurmctld.add_qos(&Qos { id: 3, priority: (10, 0.25), ..Qos::default() });
    let high = slurmctld.add_qos(&Qos { id: 8, name: "high", priority: (40, 1.0), ..Qos::default() });
    let batch = slurmctld.add_partition(&Partition { qos: Some(high), ..Partition::default() });
    let fast = slurmctld.add_partition(&Partition { name: "fast", tier: 3, ..Partition::default() });
    let mut records = vec![normal, high, batch, fast, root];
    for (number, (account, user)) in
        [("physics", "alice"), ("chemistry", "bob"), ("biology", "carol"), ("history", "dora")]
            .into_iter()
            .enumerate()
    {
        let number = u32::try_from(number).unwrap();
        let id = 20 + 10 * number;
        let of_account = slurmctld.add_association(&Association {
            id,
            parent: Some(root),
            account,
            ..Association::default()
        });
        let association = slurmctld.add_association(&Association {
            id: id + 1,
            parent: Some(of_account),
            account,
            user: Some(user),
            usage: 1000.0,
            ..Association::default()
        });
        let waiting = Job {
            id: 100 + number,
            user_id: 1001 + id,
            account,
            association: Some(association),
            partitions: vec![batch],
            qos: vec![if number % 2 == 0 { normal } else { high }],
            // Of no two bytes that are equal, so that part of them is another number.
            array: (0x0102_0304, 0x0506_0708),
            het_leader: 0x0203_0405,
            reason: 0x0304_0506,
            ..Job::default()
        };
        let running = Job {
            id: 200 + number,
            state: RUNNING,
            times: (1_999_999_000, 2_000_002_600, 2_000_002_600),
            allocated: Some(vec![4, 8000, 0, 2, 4]),
            ..waiting.clone()
        };
        let several = Job {
            id: 300 + number,
            partitions: vec![batch, fast],
            qos: if several_qos { vec![high, normal] } else { vec![normal] },
            ..waiting.clone()
        };
        for job in [waiting, running, several] {
            let record = slurmctld.add_job(&job);
            // What the host knows, wherever it has it.
            record.set("qos_id", if job.qos[0] == normal { 3_u32 } else { 8 });
            records.push(record);
        }
        records.extend([of_account, association]);
    }
    slurmctld.configure("priority_weight_fs", 1000_u32);
    slurmctld.configure("priority_weight_age", 1000_u32);
    records
}

/// Beside pointers lie pointers to something else, beside texts those to other texts or to what is none.
fn put_neighbours(records: &[Record], shift: &Shift) {
    let is_pointer =
        layout().field(shift.record, shift.field).is_some_and(|field| field.kind == FieldKind::Ptr);
    for record in records.iter().filter(|record| is_pointer && record.kind == shift.record) {
        let text =
            || memory::text(Arena::Common, "a text", "another text, which is longer than most of them are");
        let neighbour = match (shift.record, shift.field) {
            ("part" | "qos", "name") | ("assoc", "acct") => records[2].address,
            ("part", "tres_cnt") => memory::text(Arena::Common, "a text", "cpu=1"),
            _ => text(),
        };
        record.put_decoy(shift.field, neighbour);
    }
}

/// What was written, and whether the plugin refused or said that it writes nothing.
fn live(slurmctld: &mut Slurmctld) -> (bool, BTreeSet<String>) {
    let (noticed, changed) = slurmctld.changes(|slurmctld| {
        if slurmctld.load().is_err() {
            return true;
        }
        slurmctld.recover();
        slurmctld.thread_start();
        slurmctld.await_cycle();
        slurmctld.advance(300);
        slurmctld.cycle();
        false
    });
    // What the host made and has lost, as it knows of no place for it, is not the plugin's.
    let written = changed.into_iter().filter(|name| !name.contains("made of a message")).collect();
    (noticed || slurmctld.log().contains("does not match the layout"), written)
}

/// Those in records that are not as in the layout before; in the newest layout all.
fn shifts_where_new(layout: &Layout) -> Vec<Shift> {
    let all = one_of_each_layout();
    let at = all.iter().position(|release| *release == layout.release).expect("a layout of the table");
    let before = at.checked_sub(1).filter(|_| at + 1 < all.len()).map(|at| Layout::of(all[at], None));
    let is_new = |shift: &Shift| {
        before
            .as_ref()
            .is_none_or(|before| before.records.get(shift.record) != layout.records.get(shift.record))
    };
    shifts(layout).into_iter().filter(is_new).collect()
}

fn is_missed(slurmctld: &mut Slurmctld, shift: &Shift) {
    let records = fill(slurmctld);
    put_neighbours(&records, shift);
    let (noticed, changed) = live(slurmctld);
    assert!(noticed, "not noticed; written: {changed:?}");
    assert!(changed.is_empty(), "written: {changed:?}");
}

#[test]
fn every_field_that_is_written_or_followed_is_missed_where_it_was_moved() {
    in_shifted_layouts(&one_of_each_layout(), shifts_where_new, |slurmctld, shift| {
        is_missed(slurmctld, shift);
    });
}

#[test]
#[ignore = "minutes: make test-heavy"]
fn it_is_missed_in_each_layout_also_where_the_record_is_as_in_the_one_before() {
    in_shifted_layouts(&one_of_each_layout(), shifts, |slurmctld, shift| {
        is_missed(slurmctld, shift);
    });
}

#[test]
fn where_nothing_was_moved_it_works() {
    in_releases(&one_of_each_layout(), |slurmctld| {
        fill(slurmctld);
        let (noticed, changed) = live(slurmctld);
        assert!(!noticed, "{}", slurmctld.log());
        assert!(!changed.is_empty(), "something is written");
    });
}
