//! What running and ended jobs add to usage, and what they take from the run seconds that limits count.

use std::collections::BTreeSet;

use slurm_fakehost::{all, in_releases, lists, Job, Record, Slurmctld, COMPLETE, RUN_SECONDS};

use crate::setup::{assert_changed, assert_near, end, fill, usage, Cluster, END_CHARGED, NOW};

/// `AccountingStorageEnforce=limits`
const LIMITS: u16 = 2;

/// Limits are enforced, and nothing decays.
fn prepare(slurmctld: &mut Slurmctld) -> Cluster {
    slurmctld.set("accounting_enforce", LIMITS).configure("priority_decay_hl", 0_u32);
    fill(slurmctld)
}

/// Of an association or a QOS: raw usage, wall time, usage by TRES, run seconds that are gone, by TRES.
fn charged(slurmctld: &Slurmctld, of: Record) -> (f64, f64, Vec<f64>, Vec<u64>) {
    let (usage, count) = (usage(of), slurmctld.tres_count());
    let left: Vec<u64> = usage.array("grp_used_tres_run_secs", count);
    (
        usage.get_ld("usage_raw"),
        usage.get("grp_used_wall"),
        usage.array_ld("usage_tres_raw", count),
        left.into_iter().map(|left| RUN_SECONDS - left).collect(),
    )
}

/// A job with 4 CPUs, 8000 MB, 2 nodes and 4 billable ran so many seconds; energy is measured, not charged.
fn expected(seconds: u64) -> (f64, f64, Vec<f64>, Vec<u64>) {
    let run: Vec<u64> = [4, 8000, 0, 2, 4].iter().map(|count| count * seconds).collect();
    #[allow(clippy::cast_precision_loss)] // small
    let as_f64 = |number: &u64| *number as f64;
    (as_f64(&(4 * seconds)), as_f64(&seconds), run.iter().map(as_f64).collect(), run)
}

/// What the accounts' and users' limits within a QOS have lost.
fn of_limits(slurmctld: &Slurmctld, qos: Record) -> Vec<Vec<u64>> {
    ["acct_limit_list", "user_limit_list"]
        .iter()
        .flat_map(|list| lists::elements(usage(qos).get(list)))
        .map(|address| {
            let left: Vec<u64> =
                Record { kind: "used_limits", address }.array("tres_run_secs", slurmctld.tres_count());
            left.into_iter().map(|left| RUN_SECONDS - left).collect()
        })
        .collect()
}

#[test]
fn a_running_job_is_charged_to_its_associations_its_qos_and_that_of_its_partition() {
    in_releases(&all(), |slurmctld| {
        let cluster = prepare(slurmctld);
        slurmctld.add_job(&Job { allocated: Some(vec![4, 8000, 77, 2, 4]), ..cluster.running(101, 600) });
        slurmctld.begin();
        let owners = [cluster.alice, cluster.physics, cluster.root, cluster.normal, cluster.kept];
        for owner in owners {
            assert_eq!(charged(slurmctld, owner), expected(600), "{owner:?}");
        }
        slurmctld.advance(300);
        slurmctld.cycle();
        for owner in owners {
            assert_eq!(charged(slurmctld, owner), expected(900), "{owner:?}");
        }
        assert_eq!(charged(slurmctld, cluster.carol).0.to_bits(), 0.0_f64.to_bits());
        // From 24.05 on also within the QOS, for the account and the user.
        let limits = if slurmctld.since(24, 5, 0) { vec![expected(900).3; 2] } else { Vec::new() };
        assert_eq!(of_limits(slurmctld, cluster.normal), limits);
        assert_eq!(of_limits(slurmctld, cluster.kept), limits);
        end(slurmctld);
    });
}

#[test]
fn a_cycle_that_charges_writes_usage_and_what_sshare_shows_and_nothing_else() {
    in_releases(&all(), |slurmctld| {
        let cluster = prepare(slurmctld);
        slurmctld.add_job(&cluster.running(101, 600));
        slurmctld.begin();
        slurmctld.advance(300);
        let ((), changed) = slurmctld.changes(Slurmctld::cycle);
        let mut wanted = BTreeSet::new();
        for name in ["user alice of physics", "account physics", "account root"] {
            for field in ["usage_raw", "grp_used_wall"] {
                wanted.insert(format!("{name}: assoc_usage.{field}"));
            }
            for array in ["usage_tres_raw", "grp_used_tres_run_secs"] {
                wanted.insert(format!("{array} {name}"));
            }
        }
        for name in ["QOS normal", "QOS kept"] {
            for field in ["usage_raw", "grp_used_wall"] {
                wanted.insert(format!("{name}: qos_usage.{field}"));
            }
            for array in ["usage_tres_raw", "grp_used_tres_run_secs"] {
                wanted.insert(format!("{array} {name}"));
            }
        }
        if slurmctld.since(24, 5, 0) {
            wanted.insert("tres_run_secs of the host".to_owned());
        }
        // All usage is that of alice, before and after.
        let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
        assert_changed(&changed, &wanted);
        end(slurmctld);
    });
}

#[test]
fn where_limits_are_not_enforced_usage_by_tres_and_run_seconds_stay() {
    in_releases(&all(), |slurmctld| {
        let cluster = prepare(slurmctld);
        slurmctld.set("accounting_enforce", 0xfffd_u16);
        slurmctld.add_job(&cluster.running(101, 600));
        slurmctld.begin();
        let (raw, wall, tres, run) = charged(slurmctld, cluster.alice);
        assert_near(raw, 2400.0, "raw usage");
        assert_near(wall, 600.0, "wall time");
        assert_eq!((tres, run), (vec![0.0; 5], vec![0; 5]));
        end(slurmctld);
    });
}

#[test]
fn the_end_of_a_job_is_charged_once_and_gives_back_what_was_reserved() {
    in_releases(&all(), |slurmctld| {
        let cluster = prepare(slurmctld);
        let job = slurmctld.add_job(&cluster.running(101, 600));
        slurmctld.begin();
        let now = slurmctld.advance(100);
        job.set("job_state", COMPLETE).set("end_time", now - 40);
        let ((), changed) = slurmctld.changes(|slurmctld| slurmctld.job_end(job));
        assert!(changed.contains("job 101: job.end_time_exp"), "{changed:?}");
        assert_eq!(changed.iter().filter(|name| name.starts_with("job ")).count(), 1, "{changed:?}");
        assert_eq!(job.get::<i64>("end_time_exp"), END_CHARGED);
        for owner in [cluster.alice, cluster.physics, cluster.root, cluster.normal, cluster.kept] {
            let (raw, wall, tres, run) = charged(slurmctld, owner);
            let (of_raw, of_wall, of_tres, _) = expected(660);
            assert_eq!((raw, wall, tres), (of_raw, of_wall, of_tres));
            // All of the two hours that it could have run.
            assert_eq!(run, expected(7200).3);
        }
        if slurmctld.since(24, 5, 0) {
            assert_eq!(of_limits(slurmctld, cluster.normal), vec![expected(7200).3; 2]);
        }
        let ((), changed) = slurmctld.changes(|slurmctld| {
            slurmctld.job_end(job);
            slurmctld.advance(300);
            slurmctld.cycle();
        });
        assert_changed(&changed, &[]);
        end(slurmctld);
    });
}

/// It has no limits of account and user either.
#[test]
fn a_job_without_association_counts_tres_for_its_qos_up_to_23_11() {
    in_releases(&all(), |slurmctld| {
        let cluster = prepare(slurmctld);
        slurmctld.add_job(&cluster.waiting(100));
        let job = slurmctld.add_job(&Job { association: None, ..cluster.running(101, 600) });
        slurmctld.begin();
        job.set("job_state", COMPLETE).set("end_time", NOW);
        slurmctld.job_end(job);
        // It ended when the last cycle ran: what is left is the time that was reserved.
        let released = if slurmctld.since(24, 5, 0) { 0 } else { 6600 };
        assert_eq!(charged(slurmctld, cluster.normal).3, expected(released).3);
        assert_eq!(of_limits(slurmctld, cluster.normal), Vec::<Vec<u64>>::new());
        end(slurmctld);
    });
}

#[test]
fn a_usage_factor_of_the_jobs_qos_counts_for_all() {
    in_releases(&all(), |slurmctld| {
        let cluster = prepare(slurmctld);
        cluster.normal.set("usage_factor", 0.5);
        slurmctld.add_job(&cluster.running(101, 600));
        slurmctld.begin();
        for owner in [cluster.alice, cluster.root, cluster.normal, cluster.kept] {
            assert_eq!(charged(slurmctld, owner), expected(300), "{owner:?}");
        }
        end(slurmctld);
    });
}

/// When slurmctld starts it counts the whole requested time of running jobs again.
#[test]
fn after_a_restart_the_time_before_is_taken_out_and_that_of_a_partitions_qos_from_20_11_6_on() {
    in_releases(&all(), |slurmctld| {
        let cluster = prepare(slurmctld);
        let file = slurmctld.directory.join("state/priority_last_decay_ran");
        std::fs::write(file, [(NOW - 100).to_be_bytes(), (NOW - 100).to_be_bytes()].concat()).unwrap();
        slurmctld.add_job(&cluster.running(101, 600));
        slurmctld.begin();
        // 500 s before the last calculation that ran, and 100 s since.
        for owner in [cluster.alice, cluster.root, cluster.normal] {
            assert_eq!(charged(slurmctld, owner).3, expected(600).3, "{owner:?}");
            assert_near(charged(slurmctld, owner).0, 400.0, "raw usage of the time since");
        }
        let of_partition = if slurmctld.since(20, 11, 6) { 600 } else { 100 };
        assert_eq!(charged(slurmctld, cluster.kept).3, expected(of_partition).3);
        if slurmctld.since(24, 5, 0) {
            assert_eq!(of_limits(slurmctld, cluster.normal), vec![expected(600).3; 2]);
        }
        end(slurmctld);
    });
}

/// Up to 23.02 a reconfigure counts it again, too.
#[test]
fn after_a_reconfigure_that_counted_anew_the_time_before_is_taken_out_again() {
    let old: Vec<_> =
        all().into_iter().filter(|version| *version < slurm_fakehost::release(23, 11, 0)).collect();
    in_releases(&old, |slurmctld| {
        let cluster = prepare(slurmctld);
        slurmctld.add_job(&cluster.running(101, 600));
        slurmctld.begin();
        assert_eq!(charged(slurmctld, cluster.alice).3, expected(600).3);
        slurmctld.reconfigure(true);
        assert_eq!(charged(slurmctld, cluster.alice).3, expected(1200).3);
        slurmctld.reconfigure(false);
        assert_eq!(charged(slurmctld, cluster.alice).3, expected(1200).3);
        end(slurmctld);
    });
}
