//! `priority_p_set` for jobs with one partition and one QOS: every factor, from its field.

use slurm_fakehost::{all, in_releases, Job, Qos, Slurmctld};

use crate::setup::{end, fill, flags, NOW};

/// A job whose factors are all different.
fn job(cluster: &crate::setup::Cluster) -> Job {
    Job { site: 77, nice: 11, waits: (NOW - 50_000, NOW - 40_000, NOW - 21_600), ..cluster.waiting(101) }
}

#[test]
fn every_factor_is_read_from_its_field() {
    in_releases(&all(), |slurmctld| {
        let cluster = fill(slurmctld);
        let job = slurmctld.add_job(&job(&cluster));
        slurmctld.begin();
        // Nodes are 2 of 20 active ones, or of 40 in the table; CPUs 4 of 200.
        let nodes = if slurmctld.since(23, 2, 0) { 20.0 } else { 40.0 };
        let size = (2.0 / nodes + 4.0 / 200.0) / 2.0;
        for (weight, factor) in [
            ("priority_weight_age", 0.25),
            ("priority_weight_assoc", 1.0),
            ("priority_weight_js", size),
            ("priority_weight_part", 0.25),
            ("priority_weight_qos", 0.25),
        ] {
            slurmctld.configure(weight, 100_000_u32);
            slurmctld.reconfigure(false);
            let (priority, changed) = slurmctld.changes(|slurmctld| slurmctld.ask_priority(0, job));
            assert!(changed.is_empty(), "{weight}: {changed:?}");
            let expected = 100_000.0 * factor + 77.0 - 11.0;
            assert!((f64::from(priority) - expected).abs() <= 1.0, "{weight}: {priority}, not {expected}");
            slurmctld.configure(weight, 0_u32);
        }
        // CPUs weigh 1000 for a part of 4 in 100, memory 500 for 8000 in 10000.
        slurmctld.weigh_tres(&[1000.0, 500.0]);
        slurmctld.reconfigure(false);
        assert_eq!(slurmctld.ask_priority(0, job), 40 + 400 + 66);
        end(slurmctld);
    });
}

#[test]
fn what_is_allocated_comes_before_what_is_asked_for_and_most_cpus_before_fewest() {
    in_releases(&all(), |slurmctld| {
        slurmctld.weigh_tres(&[1000.0]);
        let cluster = fill(slurmctld);
        let allocated = Some(vec![20, 0, 0, 1, 20]);
        let running = slurmctld.add_job(&Job { allocated, ..cluster.waiting(101) });
        slurmctld.begin();
        assert_eq!(slurmctld.ask_priority(0, running), 200);
        slurmctld.configure("priority_weight_js", 4000_u32);
        slurmctld.conf.set("priority_weight_tres", std::ptr::null_mut::<u8>());
        slurmctld.reconfigure(false);
        let nodes = if slurmctld.since(23, 2, 0) { 20.0 } else { 40.0 };
        for (id, cpus, counted) in [(102, (0, 3, 8), 8.0), (103, (0, 3, slurm_fakehost::NO_VAL), 3.0)] {
            let job = slurmctld.add_job(&Job { cpus, ..cluster.waiting(id) });
            let expected = 4000.0 * ((2.0 / nodes + counted / 200.0) / 2.0);
            let priority = f64::from(slurmctld.ask_priority(0, job));
            assert!((priority - expected).abs() <= 1.0, "{priority}, not {expected}");
        }
        end(slurmctld);
    });
}

#[test]
fn small_jobs_and_short_ones_are_told_by_their_fields() {
    in_releases(&all(), |slurmctld| {
        slurmctld.configure("priority_weight_js", 1_000_000_u32).configure("priority_favor_small", 1_u16);
        let cluster = fill(slurmctld);
        let job = slurmctld.add_job(&cluster.waiting(101));
        let unlimited = slurmctld.add_job(&Job { limit: slurm_fakehost::NO_VAL, ..cluster.waiting(102) });
        slurmctld.begin();
        let nodes = if slurmctld.since(23, 2, 0) { 20.0 } else { 40.0 };
        let near = |found: u32, expected: f64| {
            assert!((f64::from(found) - expected).abs() <= 1.0, "{found}, not {expected}");
        };
        near(slurmctld.ask_priority(0, job), 1e6 * ((nodes - 2.0) / nodes + 196.0 / 200.0) / 2.0);
        // CPUs of two average nodes, by minutes: an hour, or as long as the partition allows.
        slurmctld.configure("priority_favor_small", 0_u16).configure("priority_flags", flags::SIZE_RELATIVE);
        slurmctld.reconfigure(false);
        near(slurmctld.ask_priority(0, job), 1e6 * (2.0 / nodes) / 60.0);
        near(slurmctld.ask_priority(0, unlimited), 1e6 * (2.0 / nodes) / 1440.0);
        end(slurmctld);
    });
}

#[test]
fn with_the_no_normal_flags_factors_are_the_configured_numbers() {
    in_releases(&all(), |slurmctld| {
        slurmctld.configure("priority_flags", flags::NO_NORMAL_ALL).weigh_tres(&[1.0]);
        for weight in ["priority_weight_assoc", "priority_weight_part", "priority_weight_qos"] {
            slurmctld.configure(weight, 1000_u32);
        }
        let cluster = fill(slurmctld);
        let job = slurmctld.add_job(&cluster.waiting(101));
        slurmctld.begin();
        // Association 20, partition 50, QOS 10, and 4 CPUs.
        assert_eq!(slurmctld.ask_priority(0, job), 80_004);
        end(slurmctld);
    });
}

#[test]
fn what_a_job_does_not_have_counts_nothing() {
    in_releases(&all(), |slurmctld| {
        for weight in ["age", "assoc", "fs", "js", "part", "qos"] {
            slurmctld.configure(&format!("priority_weight_{weight}"), 1000_u32);
        }
        slurmctld.weigh_tres(&[1000.0]);
        let cluster = fill(slurmctld);
        slurmctld.add_job(&cluster.waiting(100));
        let bare = Job { association: None, partitions: vec![], qos: vec![], ..cluster.waiting(101) };
        let bare = slurmctld.add_job(&Job { waits: (NOW, NOW, 0), cpus: (0, 0, 0), nodes: 0, ..bare });
        slurmctld.begin();
        assert_eq!(slurmctld.ask_priority(0, bare), 1);
        end(slurmctld);
    });
}

#[test]
fn the_period_and_the_debug_flags_are_read_from_their_fields() {
    in_releases(&all(), |slurmctld| {
        slurmctld.configure("priority_calc_period", 4711_u32).configure("priority_weight_part", 1000_u32);
        let cluster = fill(slurmctld);
        slurmctld.add_job(&cluster.waiting(101));
        slurmctld.begin();
        let sleep = std::time::Duration::from_nanos(slurmctld.get::<u64>("fakehost_sleep_ns")).as_secs_f64();
        assert!((4700.0..=4711.0).contains(&sleep), "{sleep} s");
        assert!(!slurmctld.log().contains("PRIO: "), "{}", slurmctld.log());
        // All but that of priorities, then only that.
        slurmctld.configure("debug_flags", !0x800_u64);
        slurmctld.advance(300);
        slurmctld.cycle();
        assert!(!slurmctld.log().contains("PRIO: "), "{}", slurmctld.log());
        slurmctld.configure("debug_flags", 0x800_u64);
        slurmctld.advance(300);
        slurmctld.cycle();
        let log = slurmctld.log();
        assert!(log.contains("PRIO: job 101: partition 0.250000 * 1000 = 250.00;"), "{log}");
        assert!(log.contains("PRIO: user alice in account physics: shares 1,"), "{log}");
        end(slurmctld);
    });
}

#[test]
fn our_own_settings_come_from_priority_parameters() {
    in_releases(&all(), |slurmctld| {
        slurmctld.conf_text("priority_params", "ActiveJobs=nonsense");
        fill(slurmctld);
        let refused = slurmctld.load().unwrap_err();
        assert!(refused.contains("ActiveJobs") && refused.contains("nonsense"), "{refused}");
    });
}

#[test]
fn a_priority_that_was_set_directly_stays() {
    in_releases(&all(), |slurmctld| {
        slurmctld.configure("priority_weight_part", 1000_u32);
        let cluster = fill(slurmctld);
        let direct = Job { direct: true, priority: 4711, ..cluster.waiting(101) };
        let job = slurmctld.add_job(&direct);
        slurmctld.begin();
        slurmctld.advance(300);
        let ((), changed) = slurmctld.changes(Slurmctld::cycle);
        assert_eq!(slurmctld.ask_priority(0, job), 4711);
        assert!(changed.iter().all(|name| !name.starts_with("job ")), "{changed:?}");
        end(slurmctld);
    });
}

#[test]
fn a_job_without_details_gets_none() {
    in_releases(&all(), |slurmctld| {
        let cluster = fill(slurmctld);
        slurmctld.add_job(&cluster.waiting(100));
        let job = slurmctld.add_job(&Job { without_details: true, ..cluster.waiting(101) });
        slurmctld.begin();
        slurmctld.expect_error("has no details record");
        assert_eq!(slurmctld.ask_priority(0, job), 0);
    });
}

/// With a cycle: only the number in the record changes.
#[test]
fn a_cycle_writes_the_priority_and_nothing_else_of_a_job() {
    in_releases(&all(), |slurmctld| {
        slurmctld.configure("priority_weight_age", 86_400_u32);
        let cluster = fill(slurmctld);
        let job = slurmctld.add_job(&job(&cluster));
        slurmctld.begin();
        let before = job.get::<u32>("priority");
        slurmctld.advance(300);
        let ((), changed) = slurmctld.changes(Slurmctld::cycle);
        assert_eq!(job.get::<u32>("priority"), before + 300);
        let of_jobs: Vec<&String> = changed.iter().filter(|name| name.starts_with("job ")).collect();
        assert_eq!(of_jobs, ["job 101: job.priority"]);
        assert!(changed.contains("last_job_update"));
        assert_eq!(slurmctld.get::<i64>("last_job_update"), NOW + 300);
        end(slurmctld);
    });
}

#[test]
fn held_booting_and_running_jobs_are_left_alone_by_a_cycle() {
    in_releases(&all(), |slurmctld| {
        slurmctld.configure("priority_weight_age", 86_400_u32);
        let cluster = fill(slurmctld);
        slurmctld.add_job(&Job { priority: 0, ..cluster.waiting(101) });
        slurmctld.add_job(&cluster.running(102, 60));
        slurmctld.begin();
        slurmctld.advance(300);
        let ((), changed) = slurmctld.changes(Slurmctld::cycle);
        assert!(!changed.iter().any(|name| name.starts_with("job ")), "{changed:?}");
        slurmctld.configure("priority_flags", flags::CALCULATE_RUNNING);
        slurmctld.reconfigure(false);
        slurmctld.advance(300);
        let ((), changed) = slurmctld.changes(Slurmctld::cycle);
        let of_jobs: Vec<&String> = changed.iter().filter(|name| name.starts_with("job ")).collect();
        assert_eq!(of_jobs, ["job 102: job.priority"]);
        end(slurmctld);
    });
}

/// slurmctld compares this one factor with the threshold.
#[test]
fn where_a_qos_has_a_usage_threshold_the_fair_share_factor_is_kept_for_slurmctld() {
    in_releases(&all(), |slurmctld| {
        slurmctld.configure("priority_weight_fs", 1000_u32);
        let cluster = fill(slurmctld);
        let limited =
            slurmctld.add_qos(&Qos { id: 9, name: "limited", usage_threshold: Some(0.5), ..Qos::default() });
        let job = slurmctld.add_job(&Job { qos: vec![limited], ..cluster.waiting(101) });
        slurmctld.begin();
        let factors = job.follow("prio_factors", "factors").expect("made by the plugin");
        assert_eq!(factors.get::<f64>("priority_fs").to_bits(), 1000.0_f64.to_bits());
        factors.set("priority_fs", 3.0);
        let (priority, changed) = slurmctld.changes(|slurmctld| slurmctld.ask_priority(0, job));
        assert_eq!(priority, 1000);
        // In a block of the plugin's, so it has no field's name.
        assert_eq!(changed.len(), 1, "{changed:?}");
        assert_eq!(factors.get::<f64>("priority_fs").to_bits(), 1000.0_f64.to_bits());
        end(slurmctld);
    });
}
