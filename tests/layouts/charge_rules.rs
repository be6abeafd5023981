//! What charge rules depend on, read from the fields of every release; and `MinimumCharge`, which reads more of them.

use std::fs;

use slurm_fakehost::{all, in_releases, Job, Record, Slurmctld, COMPLETE, RUNNING};

use crate::setup::{assert_changed, end, fill, usage, Cluster, NOW};

/// `AccountingStorageEnforce=limits`
const LIMITS: u16 = 2;
const WCKEYS: u16 = 4;
const NODE_FAIL: u32 = 7;
const BOOT_FAIL: u32 = 9;
const REQUEUE: u32 = 0x400;
const PREEMPTED: u32 = 8;
const COMPLETING: u32 = 0x8000;

/// A host with settings and one job, after its first cycle, which has charged ten minutes.
fn begin(
    slurmctld: &mut Slurmctld,
    settings: &str,
    enforce: u16,
    job: impl Fn(&Cluster) -> Job,
) -> (Cluster, Record) {
    fs::write(slurmctld.directory.join("multifactor2.conf"), settings).unwrap();
    slurmctld.set("accounting_enforce", enforce).configure("priority_decay_hl", 0_u32);
    let cluster = fill(slurmctld);
    let spec = job(&cluster);
    let job = slurmctld.add_job(&spec);
    slurmctld.begin();
    (cluster, job)
}

fn raw(of: Record) -> f64 {
    usage(of).get_ld("usage_raw")
}

/// Four billed a second, ten minutes.
const TEN_MINUTES: f64 = 2400.0;

#[test]
fn each_rule_reads_its_fields() {
    const RULES: &str = "Charge=Reservation Name=maintenance Factor=0.5\nCharge=WCKey Name=paper Factor=2\n\
                         Charge=Partition Name=batch Factor=4\nCharge=QOS Name=HIGH Factor=8\nCharge=Account Name=chemistry Factor=16\n\
                         Charge=Parent Name=physics Factor=32\n";
    type Change = fn(&Cluster, Job) -> Job;
    let cases: [(&str, f64, Change); 7] = [
        ("nothing but physics", 1.0, |_, job| job),
        ("its reservation", 0.5, |_, job| Job { reservation: (Some("maintenance"), true), ..job }),
        ("no reservation any more", 1.0, |_, job| Job { reservation: (Some("maintenance"), false), ..job }),
        ("one of several", 1.0, |_, job| Job { reservation: (Some("a,maintenance"), true), ..job }),
        ("its wckey", 2.0, |_, job| Job { wckey: Some("*paper"), ..job }),
        ("partition and QOS", 32.0, |cluster, job| Job {
            partitions: vec![cluster.batch],
            qos: vec![cluster.high],
            ..job
        }),
        ("another account", 0.5, |cluster, job| Job {
            association: Some(cluster.carol),
            user_id: 1006,
            ..job
        }),
    ];
    for (name, factor, change) in cases {
        in_releases(&all(), |slurmctld| {
            let (cluster, _) = begin(slurmctld, RULES, LIMITS | WCKEYS, |cluster| {
                change(cluster, cluster.running(101, 600))
            });
            assert_eq!(raw(cluster.root).to_bits(), (32.0 * factor * TEN_MINUTES).to_bits(), "{name}");
            // Without a scope QOS and all that limits count stay as they are.
            assert_eq!((raw(cluster.normal) + raw(cluster.high)).to_bits(), TEN_MINUTES.to_bits(), "{name}");
            assert_eq!(
                usage(cluster.root).get::<f64>("grp_used_wall").to_bits(),
                600.0_f64.to_bits(),
                "{name}"
            );
            end(slurmctld);
        });
    }
}

/// A job that ran ten minutes of thirty.
#[test]
fn a_minimum_goes_by_state_suspension_and_preemption() {
    const SETTINGS: &str = "MinimumCharge=30:00\nCharge=Partition Name=fast Factor=0.5\n";
    type Change = fn(Record) -> Record;
    // What is charged more, in minutes.
    let cases: [(&str, f64, Change); 11] = [
        ("done", 20.0, |job| job.set("job_state", COMPLETE)),
        ("suspended for five minutes", 25.0, |job| {
            job.set("job_state", COMPLETE).set("suspend_time", NOW - 60).set("pre_sus_time", 240_i64)
        }),
        ("preempted", 0.0, |job| job.set("job_state", PREEMPTED | COMPLETING)),
        ("in its grace time", 0.0, |job| job.set("job_state", COMPLETE).set("preempt_time", NOW - 60)),
        ("suspended for another job before", 25.0, |job| {
            job.set("job_state", COMPLETE)
                .set("preempt_time", NOW - 61)
                .set("suspend_time", NOW - 60)
                .set("pre_sus_time", 240_i64)
        }),
        ("requeued", 20.0, |job| job.set("job_state", REQUEUE | COMPLETING).set("restart_cnt", 1_u16)),
        ("preempted and requeued", 0.0, |job| {
            job.set("job_state", REQUEUE | COMPLETING).set("restart_cnt", 1_u16).set("preempt_time", NOW)
        }),
        ("not launched", 0.0, |job| job.set("job_state", COMPLETING).set("restart_cnt", 1_u16)),
        ("did not boot", 20.0, |job| job.set("job_state", BOOT_FAIL | COMPLETING)),
        ("a node failed", 0.0, |job| job.set("job_state", NODE_FAIL | COMPLETING)),
        ("a node failed, and it is requeued", 0.0, |job| job.set("job_state", NODE_FAIL)),
    ];
    for (name, minutes, change) in cases {
        in_releases(&all(), |slurmctld| {
            let (cluster, job) = begin(slurmctld, SETTINGS, LIMITS, |cluster| cluster.running(101, 600));
            change(job).set("end_time", NOW);
            let ((), changed) = slurmctld.changes(|slurmctld| slurmctld.job_end(job));
            assert!(changed.contains("job 101: job.end_time_exp"), "{changed:?}");
            assert_eq!(changed.iter().filter(|name| name.starts_with("job ")).count(), 1, "{changed:?}");
            for owner in [cluster.alice, cluster.physics, cluster.root] {
                let expected = 0.5 * (TEN_MINUTES + minutes * 240.0);
                assert_eq!(raw(owner).to_bits(), expected.to_bits(), "{name}: {}", raw(owner));
            }
            assert_eq!(raw(cluster.normal).to_bits(), TEN_MINUTES.to_bits(), "{name}");
            end(slurmctld);
        });
    }
}

/// `Charge=Requeued` is for the run that follows one which its owner could not cut off.
#[test]
fn the_run_after_a_preemption_is_told_from_one_after_a_requeue() {
    const SETTINGS: &str = "Charge=Requeued Factor=0.5\n";
    type Change = fn(Record) -> Record;
    let cases: [(&str, f64, Change); 4] = [
        ("requeued", 1.0, |job| job.set("job_state", REQUEUE | COMPLETING).set("restart_cnt", 1_u16)),
        ("preempted", 0.5, |job| {
            job.set("job_state", REQUEUE | COMPLETING).set("restart_cnt", 1_u16).set("preempt_time", NOW)
        }),
        ("not launched", 0.5, |job| job.set("job_state", COMPLETING).set("restart_cnt", 1_u16)),
        ("a node failed", 0.5, |job| job.set("job_state", NODE_FAIL)),
    ];
    for (name, factor, change) in cases {
        in_releases(&all(), |slurmctld| {
            let (cluster, job) = begin(slurmctld, SETTINGS, LIMITS, |cluster| cluster.running(101, 600));
            change(job).set("end_time", NOW);
            slurmctld.job_end(job);
            assert_eq!(raw(cluster.alice).to_bits(), TEN_MINUTES.to_bits(), "{name}: its first run");
            job.set("job_state", RUNNING)
                .set("restart_cnt", 1_u16)
                .set("preempt_time", 0_i64)
                .set("start_time", NOW)
                .set("end_time", 0_i64)
                .set("end_time_exp", NOW + 36_000);
            slurmctld.advance(600);
            slurmctld.cycle();
            let expected = TEN_MINUTES * (1.0 + factor);
            assert_eq!(raw(cluster.alice).to_bits(), expected.to_bits(), "{name}: {}", raw(cluster.alice));
            end(slurmctld);
        });
    }
}

#[test]
fn where_no_ends_are_reported_a_cycle_charges_the_minimum_once_and_writes_raw_usage_only() {
    in_releases(&all(), |slurmctld| {
        let (cluster, job) =
            begin(slurmctld, "MinimumCharge=30:00\n", 0xfffd, |cluster| cluster.running(101, 600));
        job.set("job_state", COMPLETE).set("end_time", NOW + 50);
        slurmctld.advance(100);
        let ((), changed) = slurmctld.changes(Slurmctld::cycle);
        let owners = ["user alice of physics", "account physics", "account root"];
        let wanted = owners.map(|name| format!("{name}: assoc_usage.usage_raw"));
        assert_changed(&changed, &wanted.each_ref().map(String::as_str));
        assert_eq!(raw(cluster.alice).to_bits(), 7200.0_f64.to_bits());
        slurmctld.advance(100);
        let ((), changed) = slurmctld.changes(Slurmctld::cycle);
        assert_changed(&changed, &[]);
        end(slurmctld);
    });
}
