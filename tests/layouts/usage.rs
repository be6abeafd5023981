//! Decay and reset of all usage.

use slurm_fakehost::{all, in_releases, memory, release, Association, Record, Slurmctld};

use crate::setup::{assert_changed, assert_near, end, fill, usage, Cluster};

/// A user whose own usage is in a record of its own, in the releases that have such.
fn dora(slurmctld: &mut Slurmctld, cluster: &Cluster) -> Record {
    slurmctld.add_association(&Association {
        id: 7,
        parent: Some(cluster.physics),
        account: "physics",
        user: Some("dora"),
        usage: 500.0,
        leaf: true,
        ..Association::default()
    })
}

/// Everything that is usage of an association or a QOS.
fn all_usage(slurmctld: &Slurmctld, usage: Record) -> Vec<f64> {
    let mut all = usage.array_ld("usage_tres_raw", slurmctld.tres_count());
    all.extend([usage.get_ld("usage_raw"), usage.get("grp_used_wall")]);
    all
}

fn give(usage: Record, amount: f64) {
    usage.set_ld("usage_raw", amount).set("grp_used_wall", amount);
}

#[test]
fn usage_decays_with_the_half_life_but_for_a_qos_that_is_kept() {
    in_releases(&all(), |slurmctld| {
        slurmctld.configure("priority_decay_hl", 3600_u32);
        let cluster = fill(slurmctld);
        let dora = dora(slurmctld, &cluster);
        for owner in [cluster.root, cluster.physics, cluster.normal, cluster.kept] {
            give(usage(owner), 1000.0);
        }
        slurmctld.begin();
        slurmctld.advance(300);
        let ((), changed) = slurmctld.changes(Slurmctld::cycle);
        // As Slurm computes it: a factor per second.
        let factor = (1.0 - 0.693 / 3600.0_f64).powi(300);
        for owner in [cluster.root, cluster.physics, cluster.normal] {
            assert_near(usage(owner).get_ld("usage_raw"), 1000.0 * factor, "raw usage");
            assert_near(usage(owner).get("grp_used_wall"), 1000.0 * factor, "wall time");
        }
        assert_near(usage(cluster.kept).get_ld("usage_raw"), 1000.0, "raw usage of a QOS that is kept");
        for number in all_usage(slurmctld, usage(dora)) {
            assert_near(number, 500.0 * factor, "usage of dora");
        }
        if slurmctld.since(22, 5, 0) {
            let leaf = dora.follow("leaf_usage", "assoc_usage").unwrap();
            for number in all_usage(slurmctld, leaf) {
                assert_near(number, 500.0 * factor, "usage of dora herself");
            }
        }
        assert!(
            !changed.iter().any(|name| name.contains("kept") || name.contains("run_secs")),
            "{changed:?}"
        );
        end(slurmctld);
    });
}

/// There is a thread even so from 23.11.6 on.
#[test]
fn without_a_database_usage_of_qos_stays_as_by_stock() {
    let with_thread: Vec<_> = all().into_iter().filter(|version| *version >= release(23, 11, 6)).collect();
    in_releases(&with_thread, |slurmctld| {
        slurmctld.without_database().configure("priority_decay_hl", 3600_u32);
        let cluster = fill(slurmctld);
        give(usage(cluster.normal), 1000.0);
        slurmctld.begin();
        slurmctld.advance(300);
        slurmctld.cycle();
        assert_near(usage(cluster.normal).get_ld("usage_raw"), 1000.0, "raw usage");
        assert_near(usage(cluster.normal).get("grp_used_wall"), 1000.0, "wall time");
        end(slurmctld);
    });
}

#[test]
fn a_reset_clears_all_usage_and_drops_that_of_leaves() {
    in_releases(&all(), |slurmctld| {
        // PriorityUsageResetPeriod=NOW
        slurmctld.configure("priority_reset_period", 1_u16).configure("priority_decay_hl", 0_u32);
        let cluster = fill(slurmctld);
        let dora = dora(slurmctld, &cluster);
        let owners = [cluster.root, cluster.normal, cluster.kept];
        for owner in owners {
            give(usage(owner), 1000.0);
        }
        slurmctld.begin();
        for owner in owners.into_iter().chain([dora]) {
            for number in all_usage(slurmctld, usage(owner)) {
                assert_eq!(number.to_bits(), 0.0_f64.to_bits(), "usage of {owner:?}");
            }
        }
        if slurmctld.since(22, 5, 0) {
            assert!(dora.get::<*mut u8>("leaf_usage").is_null(), "the host makes a new one");
            // That of the others is their usage, and stays.
            assert_eq!(cluster.alice.get::<*mut u8>("leaf_usage"), usage(cluster.alice).address);
            assert!(memory::block(usage(cluster.alice).address).is_some());
        }
        // NOW is once, until the next reconfigure.
        give(usage(cluster.root), 1000.0);
        slurmctld.advance(300);
        slurmctld.cycle();
        assert_near(usage(cluster.root).get_ld("usage_raw"), 1000.0, "raw usage");
        end(slurmctld);
    });
}

#[test]
fn without_decay_reset_and_jobs_a_cycle_writes_nothing() {
    in_releases(&all(), |slurmctld| {
        slurmctld.configure("priority_decay_hl", 0_u32).configure("priority_reset_period", 6_u16);
        let cluster = fill(slurmctld);
        slurmctld.add_job(&cluster.waiting(101));
        slurmctld.begin();
        slurmctld.advance(300);
        let ((), changed) = slurmctld.changes(Slurmctld::cycle);
        assert_changed(&changed, &[]);
        end(slurmctld);
    });
}
