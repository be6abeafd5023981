//! Any values that a record can have are read as they were written.

use std::collections::BTreeMap;

use multifactor2_snapshot::format::{read, write};
use multifactor2_snapshot::records::{
    About, Association, Book, BookAssociation, Entry, Grant, Group, Job, Partition, Qos, Running, Setting,
    TreeWindow, Tres, Usage, Window,
};
use multifactor2_snapshot::Snapshot;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

/// All finite numbers, the ones that need every digit among them; the default often.
fn number() -> impl Strategy<Value = f64> {
    let any_bits = any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |number| number.is_finite());
    prop_oneof![Just(0.0), -1e6..1e6, any_bits]
}

fn numbers() -> impl Strategy<Value = Vec<f64>> {
    vec(number(), 0..4)
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), any::<String>(), Just("\"\\\n\u{1b}]0;\u{202e}<script>".to_owned())]
}

prop_compose! {
    fn about()(time: i64, cluster in name(), hidden in vec(name(), 0..3), cpus: u32) -> About {
        About { time, cluster, hidden, cpus, ..About::default() }
    }
}

prop_compose! {
    fn association()(
        (id, parent, shares) in any::<(u32, u32, u32)>(), account in name(), user in name(), usage in number(),
        level_fs in proptest::option::of(number()), factor in proptest::option::of(number()), active: Option<bool>,
    ) -> Association {
        Association { id, parent, account, user, shares, usage, level_fs, factor, active, ..Association::default() }
    }
}

prop_compose! {
    fn job()(
        (id, association, priority, bypass) in any::<(u32, u32, u32, u32)>(), (competes, direct, is_computed) in any::<(bool, bool, bool)>(),
        (submit, nice, site) in any::<(i64, i64, i64)>(), (limit, group) in any::<(Option<u32>, Option<u32>)>(), tres in vec(any::<u64>(), 0..5),
        (age, fair_share, job_size) in (number(), number(), number()), points in numbers(), tickets in numbers(),
        partitions in vec(name(), 0..3), wckey in name(),
    ) -> Job {
        Job {
            id, association, priority, bypass, competes, direct, is_computed, submit, nice, site, limit, group, tres, age,
            fair_share, job_size, points, tickets, partitions, wckey, ..Job::default()
        }
    }
}

prop_compose! {
    fn small_kinds()(
        (key, amount, name, count) in (name(), number(), name(), any::<u64>()), weight in proptest::option::of(number()),
        flags in vec(name(), 0..3), size: u32, (active, tickets, factor) in (any::<bool>(), number(), proptest::option::of(number())),
        texts in vec(name(), 0..3),
    ) -> Snapshot {
        // Without a rest, so that no kind can be left out.
        Snapshot {
            about: About::default(),
            parameters: BTreeMap::new(),
            associations: Vec::new(),
            jobs: Vec::new(),
            settings: Some(vec![Setting { line: key.clone(), from: name.clone() }]),
            tres: vec![Tres { name: name.clone(), count, weight }],
            partitions: vec![Partition { name: name.clone(), max_time: Some(size), tres: vec![count], ..Partition::default() }],
            qos: vec![Qos { id: size, flags, usage_threshold: weight, ..Qos::default() }],
            books: vec![Book { name: key.clone(), partitions: texts, max_tickets: amount }],
            book_associations: vec![BookAssociation {
                book: key.clone(), association: size, usage: amount, shares_norm: tickets, factor, tickets, active,
            }],
            groups: vec![Group { name: name.clone(), id: size }],
            grants: vec![Grant { name: name.clone(), used: amount, days: vec![i64::from(size)], group: Some(size), ..Grant::default() }],
            entries: vec![Entry { job: size, partition: name.clone(), points: amount, ..Entry::default() }],
            running: vec![Running { association: size, qos: name, billing: amount, ..Running::default() }],
            usage: vec![Usage { key: key.clone(), amount, ..Usage::default() }],
            windows: vec![Window { key, amounts: vec![amount, tickets], begin: i64::from(size), told: size, ..Window::default() }],
            tree_windows: vec![TreeWindow { association: size, amounts: vec![amount], begin: i64::from(size), length: 7, told: size }],
        }
    }
}

prop_compose! {
    fn snapshot()(
        about in about(), parameters in btree_map(name(), name(), 0..4), associations in vec(association(), 0..5),
        jobs in vec(job(), 0..5), rest in small_kinds(),
    ) -> Snapshot {
        Snapshot { about, parameters, associations, jobs, ..rest }
    }
}

proptest! {
    #![proptest_config(multifactor2_fixtures::seeded())]

    #[test]
    fn what_was_written_is_read(snapshot in snapshot()) {
        let mut file = Vec::new();
        write(&snapshot, &mut file).unwrap();
        prop_assert_eq!(read(file.as_slice()).unwrap(), snapshot);
    }

    #[test]
    fn damage_is_a_problem_or_another_snapshot_and_no_crash(
        snapshot in snapshot(), damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut file = Vec::new();
        write(&snapshot, &mut file).unwrap();
        for (at, byte) in damage {
            let at = at.index(file.len());
            file[at] = byte;
        }
        if let Err(problem) = read(file.as_slice()) {
            prop_assert!(problem.line > 0 && !problem.what.is_empty());
        }
    }
}
