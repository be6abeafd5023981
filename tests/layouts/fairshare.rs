//! The documented example in the records of every release, and what `sshare` shows of one association.

use slurm_fakehost::{all, in_releases, Association, Job, Partition, Qos, Record, Slurmctld};

use crate::setup::{assert_changed, assert_near, end, usage};

/// Name, number of the one above, raw shares, usage in percent; users begin with `user`.
const EXAMPLE: [(&str, usize, u32, f64); 13] = [
    ("root", 0, 1, 100.0),
    ("A", 0, 40, 45.0),
    ("B", 1, 30, 20.0),
    ("user1", 2, 1, 20.0),
    ("C", 1, 10, 25.0),
    ("user2", 4, 1, 25.0),
    ("user3", 4, 1, 0.0),
    ("D", 0, 60, 25.0),
    ("E", 7, 25, 25.0),
    ("user4", 8, 1, 25.0),
    ("F", 7, 35, 0.0),
    ("user5", 10, 1, 0.0),
    ("rest", 0, 0, 30.0),
];

fn load(slurmctld: &mut Slurmctld) -> Vec<Record> {
    slurmctld.configure("priority_weight_fs", 1_000_000_u32).configure("priority_decay_hl", 0_u32);
    let mut records: Vec<Record> = Vec::new();
    let mut account = "root";
    for (at, (name, parent, shares, percent)) in EXAMPLE.into_iter().enumerate() {
        let user = name.starts_with("user").then_some(name);
        if user.is_none() {
            account = name;
        }
        records.push(slurmctld.add_association(&Association {
            id: u32::try_from(at).unwrap() + 1,
            parent: (at > 0).then(|| records[parent]),
            account,
            user,
            shares,
            usage: percent * 1000.0,
            ..Association::default()
        }));
    }
    let (normal, batch) =
        (slurmctld.add_qos(&Qos::default()), slurmctld.add_partition(&Partition::default()));
    for (id, name, account) in [(101, "user2", "C"), (102, "user5", "F")] {
        slurmctld.add_job(&Job {
            id,
            account,
            user_id: 1001 + u32::try_from(number(name)).unwrap(),
            association: Some(records[number(name)]),
            partitions: vec![batch],
            qos: vec![normal],
            ..Job::default()
        });
    }
    records
}

fn number(name: &str) -> usize {
    EXAMPLE.iter().position(|row| row.0 == name).expect("a name of the example")
}

#[test]
fn the_documented_example_in_every_record() {
    in_releases(&all(), |slurmctld| {
        let records = load(slurmctld);
        slurmctld.begin();
        for (name, s, u, u_eff, f) in [
            ("A", 0.4, 0.45, 0.45, 0.4 / 0.45),
            ("B", 0.3, 0.2, 0.2, 1.5),
            ("user1", 0.3, 0.2, 0.2, 1.5),
            ("C", 0.1, 0.25, 0.25, 0.4),
            ("user2", 0.05, 0.25, 0.25, 0.2),
            ("user3", 0.05, 0.0, 0.0005, 100.0),
            ("D", 0.6, 0.25, 0.25, 2.4),
            ("E", 0.25, 0.25, 0.25, 1.0),
            ("user4", 0.25, 0.25, 0.25, 1.0),
            ("F", 0.35, 0.0, 0.0035, 100.0),
            ("user5", 0.35, 0.0, 0.0035, 100.0),
        ] {
            let usage = usage(records[number(name)]);
            assert_near(usage.get("shares_norm"), s, &format!("S of {name}"));
            assert_near(usage.get_ld("usage_norm"), u, &format!("U of {name}"));
            assert_near(usage.get_ld("usage_efctv"), u_eff, &format!("U_eff of {name}"));
            assert_near(usage.get_ld("level_fs"), f, &format!("F of {name}"));
        }
        for (name, factor) in [
            ("user2", 20.0 / 81.0),
            ("user5", 1.0),
            ("user1", 20.0 / 81.0 * 0.45 / 0.49),
            ("user3", 20.0 / 81.0 * 5.0 / 5.01),
            ("user4", 0.25 / 35.25),
            // Accounts have none.
            ("A", 0.0),
        ] {
            assert_near(usage(records[number(name)]).get("fs_factor"), factor, &format!("factor of {name}"));
        }
        assert_eq!(slurmctld.job(101).get::<u32>("priority"), 246_913);
        assert_eq!(slurmctld.job(102).get::<u32>("priority"), 1_000_000);
        end(slurmctld);
    });
}

#[test]
fn set_assoc_usage_fills_in_one_association_and_no_other() {
    in_releases(&all(), |slurmctld| {
        let records = load(slurmctld);
        slurmctld.begin();
        let user2 = records[number("user2")];
        let shown = ["shares_norm", "fs_factor"];
        for field in shown {
            usage(user2).set(field, 7.0);
        }
        for field in ["usage_norm", "usage_efctv", "level_fs"] {
            usage(user2).set_ld(field, 7.0);
        }
        let ((), changed) = slurmctld.changes(|slurmctld| slurmctld.set_assoc_usage(user2));
        let name = "user user2 of C: assoc_usage";
        let wanted = ["shares_norm", "fs_factor", "usage_norm", "usage_efctv", "level_fs"]
            .map(|field| format!("{name}.{field}"));
        assert_changed(&changed, &wanted.each_ref().map(String::as_str));
        assert_near(usage(user2).get("fs_factor"), 20.0 / 81.0, "factor");
        assert_near(usage(user2).get_ld("level_fs"), 0.2, "F");
        end(slurmctld);
    });
}

#[test]
fn calc_fs_factor_gets_two_long_doubles() {
    in_releases(&all(), |slurmctld| {
        load(slurmctld);
        slurmctld.begin();
        assert_near(slurmctld.calc_fs_factor(0.25, 0.05), 0.2, "F");
        assert_near(slurmctld.calc_fs_factor(0.0, 0.05), 100.0, "F without usage");
        assert_near(slurmctld.calc_fs_factor(0.25, 0.0), 0.0, "F without shares");
        assert_near(slurmctld.calc_fs_factor(4_294_967_294.0, 0.5), 0.0, "F of usage that is not computed");
        end(slurmctld);
    });
}
