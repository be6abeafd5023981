//! The documented example in the records of every release, and what `sshare` shows of one association.

use multifactor2_fixtures::example::{number, waiting, FACTORS, NUMBERS, TREE};
use slurm_fakehost::{all, in_releases, Association, Job, Partition, Qos, Record, Slurmctld};

use crate::setup::{assert_changed, assert_near, end, usage};

fn load(slurmctld: &mut Slurmctld) -> Vec<Record> {
    slurmctld.configure("priority_weight_fs", 1_000_000_u32).configure("priority_decay_hl", 0_u32);
    let mut records: Vec<Record> = Vec::new();
    for (id, row) in (1..).zip(&TREE) {
        records.push(slurmctld.add_association(&Association {
            id,
            parent: (id > 1).then(|| records[row.parent]),
            account: row.account,
            user: row.is_user().then_some(row.user),
            shares: row.shares,
            usage: row.usage * 1000.0,
            ..Association::default()
        }));
    }
    let (normal, batch) =
        (slurmctld.add_qos(&Qos::default()), slurmctld.add_partition(&Partition::default()));
    for (id, (user, _)) in (101..).zip(waiting()) {
        let number = number(user.name);
        slurmctld.add_job(&Job {
            id,
            account: user.account,
            user_id: 1001 + u32::try_from(number).unwrap(),
            association: Some(records[number]),
            partitions: vec![batch],
            qos: vec![normal],
            ..Job::default()
        });
    }
    records
}

#[test]
fn the_documented_example_in_every_record() {
    in_releases(&all(), |slurmctld| {
        let records = load(slurmctld);
        slurmctld.begin();
        for (name, s, u, u_eff, f) in NUMBERS {
            let usage = usage(records[number(name)]);
            assert_near(usage.get("shares_norm"), s, &format!("S of {name}"));
            assert_near(usage.get_ld("usage_norm"), u, &format!("U of {name}"));
            assert_near(usage.get_ld("usage_efctv"), u_eff, &format!("U_eff of {name}"));
            assert_near(usage.get_ld("level_fs"), f, &format!("F of {name}"));
        }
        // Accounts have none.
        for (name, factor) in FACTORS.into_iter().chain([("A", 0.0)]) {
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
        let name = "user user2 of c: assoc_usage";
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
