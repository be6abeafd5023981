//! What is in the file: the very numbers that sprio and sshare show.

use std::collections::BTreeMap;

use multifactor2_snapshot::records::{Association, Entry, Job};
use multifactor2_snapshot::Snapshot;
use slurm_inproc::{
    constants, state, AssociationUsage, Conf, Extended, FactorsFilter, FactorsObject, HostResult, Nice,
    Partition,
};

use super::{few, Rig};
use crate::setup::{waiting, FAIR_TREE, NOW};

const OFFSET: i64 = constants::NICE_OFFSET as i64;

/// Everything has a weight.
fn conf() -> Conf {
    Conf::new()
        .flags(FAIR_TREE)
        .weight_age(1000_u32)
        .weight_association(70_u32)
        .weight_fairshare(100_000_u32)
        .weight_job_size(300_u32)
        .weight_partition(500_u32)
        .weight_qos(900_u32)
        .weight_tres("CPU=2000,Mem=3000".to_owned())
}

/// Jobs of all kinds: in one and in several partitions, held, with a priority set directly, not yet eligible, running.
fn jobs() -> Vec<slurm_inproc::Job> {
    let mut jobs = few();
    for (at, job) in (0_u32..).zip(&mut jobs) {
        *job = job
            .clone()
            .qos(1 + at % 5)
            .min_cpus(4 + at)
            .min_nodes(1 + at % 3)
            .max_cpus(0xffff_fffe_u32)
            .time_limit(60 * (1 + at))
            .tres_requested([(1, u64::from(4 + at)), (2, 1000), (4, 1)])
            .accrue_time(NOW - 10_000 - 777 * i64::from(at))
            .nice(Nice(i64::from(at) - 2))
            .site_factor(Nice(100 * i64::from(at)));
    }
    let several = ["fast".to_owned(), "batch".to_owned(), "billed".to_owned()];
    jobs[1] = jobs[1].clone().partitions(several.clone());
    jobs[4] = jobs[4].clone().partitions(several);
    jobs.push(waiting(11).priority(0_u32));
    jobs.push(waiting(12).priority(4711_u32).direct_set_priority(true));
    jobs.push(waiting(13).begin_time(NOW + 86_400).accrue_time(0));
    jobs.push(waiting(14).association(0_u32).account("unknown".to_owned()));
    for id in [21, 22] {
        jobs.push(
            waiting(id)
                .association(5_u32)
                .user_id(1005_u32)
                .state(state::RUNNING)
                .start_time(NOW - 60)
                .end_time_expected(NOW + 3600)
                .total_cpus(8_u32)
                .tres_allocated([(1, 8), (2, 4000), (4, 1), (5, 8)]),
        );
    }
    jobs
}

/// `sprio`, by job and partition.
fn sprio(rig: &mut Rig) -> HostResult<BTreeMap<(u32, String), FactorsObject>> {
    let shown = rig.host.factors(&FactorsFilter::new().uid(0_u32))?;
    Ok(shown.into_iter().map(|entry| ((entry.job_id, entry.partition.clone()), entry)).collect())
}

#[allow(clippy::float_cmp)] // they are the same numbers
#[track_caller]
fn assert_job(job: &Job, entry: Option<&Entry>, shown: &FactorsObject) {
    let factors = &shown.factors;
    let tres: f64 = factors.tres.iter().map(|tres| tres.to_f64()).sum();
    let what = format!("{job:?} {entry:?} {shown:?}");
    assert_eq!(
        (job.age, job.assoc, job.job_size),
        (factors.age, factors.association, factors.job_size),
        "{what}"
    );
    assert_eq!(job.nice, i64::from(factors.nice) - OFFSET, "{what}");
    let site = i64::from(factors.site) - OFFSET;
    #[allow(clippy::cast_precision_loss)]
    let expected = (site - job.site) as f64;
    let ours = if let Some(entry) = entry {
        assert_eq!(entry.points, expected, "{what}");
        [entry.fair_share, entry.partition_addend, entry.qos_addend, entry.tres_addend]
    } else {
        assert_eq!(job.points.last().copied().unwrap_or_default(), expected, "{what}");
        [job.fair_share, job.partition_addend, job.qos_addend, job.tres_addend]
    };
    assert_eq!(ours, [factors.fairshare, factors.partition, factors.qos, tres], "{what}");
}

/// Compares all jobs with sprio: none is missing on either side, and their sums are their priorities.
#[track_caller]
fn assert_sprio(snapshot: &Snapshot, mut shown: BTreeMap<(u32, String), FactorsObject>) {
    let jobs: BTreeMap<u32, &Job> = snapshot.jobs.iter().map(|job| (job.id, job)).collect();
    assert_eq!(jobs.len(), snapshot.jobs.len());
    for entry in &snapshot.entries {
        let object = shown.remove(&(entry.job, entry.partition.clone())).expect("in sprio");
        assert_job(jobs[&entry.job], Some(entry), &object);
    }
    for job in snapshot.jobs.iter().filter(|job| job.is_computed && job.partitions.is_empty()) {
        let object = shown.remove(&(job.id, job.partition.clone()));
        if job.eligible > snapshot.about.time {
            assert!(object.is_none(), "sprio shows no job that cannot start yet");
            continue;
        }
        assert_job(job, None, &object.unwrap_or_else(|| panic!("not in sprio: {job:?}")));
        let sum = job.age
            + job.assoc
            + job.fair_share
            + job.job_size
            + job.partition_addend
            + job.qos_addend
            + job.tres_addend
            + job.points.last().unwrap_or(&0.0);
        #[allow(clippy::cast_precision_loss)]
        let sum = (sum + job.site as f64 - job.nice as f64).max(1.0);
        assert!((sum - f64::from(job.priority)).abs() <= 1.0, "{sum}: {job:?}");
    }
    shown.retain(|(id, _), _| !jobs[id].direct);
    assert!(shown.is_empty(), "only in sprio: {:?}", shown.keys());
}

#[allow(clippy::float_cmp)]
fn assert_sshare(rig: &mut Rig, snapshot: &Snapshot) -> HostResult<()> {
    let records = rig.host.dump_associations()?;
    assert_eq!(records.len(), snapshot.associations.len());
    let mut seen = vec![0];
    for association in &snapshot.associations {
        assert!(seen.contains(&association.parent), "a parent comes first: {association:?}");
        seen.push(association.id);
        let record = records.iter().find(|record| record.id == association.id).expect("the same");
        assert_eq!((&association.account, &association.user), (&record.account, &record.user));
        assert_eq!((association.shares, association.parent), (record.shares_raw, record.parent));
        assert_eq!(association.priority_norm, record.priority_norm);
        assert_eq!(
            [association.usage, association.shares_norm, association.usage_norm, association.usage_effective],
            [
                record.usage_raw.to_f64(),
                record.shares_norm,
                record.usage_norm.to_f64(),
                record.usage_efctv.to_f64()
            ]
        );
        assert_eq!(association.level_fs, Some(record.level_fs.to_f64()));
        if !association.user.is_empty() {
            assert_eq!(association.factor, Some(record.fs_factor));
        }
    }
    Ok(())
}

const POINTS: &str = "Component=CRED User=10 Class=2\nComponent=FS FSUser=10\nComponent=SERV QueueTime=1\n\
    Credential=User Name=alice Priority=50\nCredential=Partition Name=fast Priority=400\nTarget=User Name=* Percent=20\n";

#[test]
fn the_numbers_are_those_of_sprio_and_sshare() -> HostResult<()> {
    for settings in [
        "",
        "Distribution=strict\nFairShareScale=log\n",
        "Dilution=user\nTicketsFunctional=5000\nFunctional=User Name=* Shares=1\nOverride=Partition Name=fast Tickets=3000\n",
        POINTS,
    ] {
        let mut rig = Rig::start(settings, &conf(), &jobs())?;
        // Else the next one could be passed over, as this one is still being written.
        rig.snapshot(NOW);
        let usage = |id: u32, amount| AssociationUsage::new(id).raw(Extended::from(amount));
        rig.host.usage(&[usage(4, 1_000_000), usage(5, 30_000), usage(6, 400_000)])?;
        for (round, time) in (1..).zip([NOW + 300, NOW + 600]) {
            rig.cycle_after(300)?;
            let snapshot = rig.snapshot(time);
            let shown = sprio(&mut rig)?;
            assert!(shown.len() >= 11, "{settings}: {}", shown.len());
            assert_sprio(&snapshot, shown);
            assert_sshare(&mut rig, &snapshot)?;
            assert_eq!(snapshot.jobs.len(), 10, "round {round}");
            assert_eq!(snapshot.entries.len(), 6);
            let has_points = snapshot.jobs.iter().any(|job| job.points.len() == 9);
            assert_eq!(has_points, settings == POINTS);
            assert_eq!(snapshot.usage.is_empty(), settings != POINTS);
            assert_eq!(snapshot.jobs[0].tickets.len(), if settings.contains("Dilution") { 3 } else { 0 });
        }
        rig.host.quit()?;
    }
    Ok(())
}

/// A submission between the cycle and the reading of the jobs: its priority and what that came from are of one moment.
#[test]
fn jobs_that_were_set_since_the_cycle_come_with_what_they_were_set_from() -> HostResult<()> {
    let mut rig = Rig::start(POINTS, &conf(), &jobs())?;
    rig.snapshot(NOW);
    let mut locks = 0;
    // The last lock of the cycle for jobs is that of the snapshot.
    for lock in 1.. {
        rig.host.advance(300)?;
        let (cycle, reached) = rig.host.start_cycle_until(lock)?;
        if reached {
            rig.host.set_priority(1)?;
            rig.host.set_priority(2)?;
            rig.host.go_on()?;
        }
        rig.host.finish_cycle(cycle)?;
        let shown = sprio(&mut rig)?;
        assert_sprio(&rig.snapshot(NOW + 300 * i64::from(lock)), shown);
        if !reached {
            locks = lock - 1;
            break;
        }
    }
    assert!(locks > 6, "{locks}");
    rig.host.quit().map(drop)
}

#[test]
fn the_rest_of_it_is_what_the_records_say() -> HostResult<()> {
    let settings = "ActiveJobs=pending # why not\nOverride=User Name=alice Tickets=5\n";
    let mut rig = Rig::start(settings, &conf().private_data(constants::PRIVATE_DATA_NODES), &jobs())?;
    let snapshot = rig.snapshot(NOW);
    let about = &snapshot.about;
    assert_eq!((about.time, about.source.as_str(), about.cluster.as_str()), (NOW, "plugin", "inproc"));
    assert_eq!((about.cpus, about.nodes, about.hidden.len()), (200, 20, 0));
    assert!(about.plugin.starts_with("slurm-multifactor2 "), "{about:?}");
    for (name, value) in [
        ("PriorityWeightAge", "1000"),
        ("PriorityWeightFairShare", "100000"),
        ("PriorityWeightTRES", "CPU=2000,Mem=3000"),
        ("PriorityMaxAge", "1-00:00:00"),
        ("PriorityType", "priority/multifactor2"),
        ("PriorityFavorSmall", "No"),
        ("PriorityFlags", ""),
        ("PriorityUsageResetPeriod", "NONE"),
        ("PriorityParameters", "(null)"),
        ("PrivateData", "nodes"),
        ("AccountingStorageEnforce", "none"),
    ] {
        assert_eq!(snapshot.parameter(name), Some(value), "{name}");
    }
    let settings = snapshot.settings.clone().expect("known");
    let conf = rig.host.directory().join("multifactor2.conf");
    assert_eq!(settings.len(), 3);
    assert_eq!(
        (settings[1].line.as_str(), settings[1].from.clone()),
        ("ActiveJobs=pending", format!("{} line 2", conf.display()))
    );
    assert_eq!(settings[2].line, "Override=User Name=alice Tickets=5");
    let names: Vec<&str> = snapshot.partitions.iter().map(|partition| partition.name.as_str()).collect();
    assert_eq!(names, ["batch", "fast", "long", "billed"]);
    let (fast, billed) = (&snapshot.partitions[1], &snapshot.partitions[3]);
    assert_eq!((fast.tier, fast.job_factor, fast.job_factor_norm, fast.max_time), (3, 200, 1.0, None));
    assert_eq!(fast.tres[..5], [50, 400_000, 0, 5, 0]);
    assert_eq!(
        (snapshot.partitions[2].max_time, billed.billing_weights.as_str()),
        (Some(600), "CPU=1.5,Mem=0.25G")
    );
    let kept = &snapshot.qos[2];
    assert_eq!((kept.name.as_str(), kept.id, &kept.flags[..]), ("kept", 3, &["NoDecay".to_owned()][..]));
    assert_eq!((snapshot.qos[1].usage_factor, snapshot.qos[1].priority_norm), (0.5, 1.0));
    let cpu = &snapshot.tres[0];
    assert_eq!((cpu.name.as_str(), cpu.weight), ("cpu", Some(2000.0)));
    let job = |id: u32| snapshot.jobs.iter().find(|job| job.id == id).expect("it waits");
    let first = job(1);
    assert_eq!((first.user.as_str(), first.account.as_str(), first.association), ("bob", "physics", 5));
    assert_eq!((first.qos.as_str(), first.partition.as_str()), ("normal", "batch"));
    assert_eq!((first.limit, first.nodes, first.cpus, first.size_cpus), (Some(60), 1, 4, 4));
    assert_eq!(first.tres, [4, 1000, 0, 1]);
    assert_eq!((first.submit, first.eligible, first.own_tickets), (NOW - 21_600, NOW - 21_600, 0));
    assert_eq!(job(2).partitions.len(), 3);
    assert_eq!((job(11).priority, job(11).is_computed, job(11).competes), (0, false, true));
    assert_eq!((job(12).priority, job(12).direct, job(12).is_computed), (4711, true, false));
    assert_eq!((job(13).is_computed, job(13).eligible), (true, NOW + 86_400));
    assert_eq!((job(14).association, job(14).user.as_str(), job(14).account.as_str()), (0, "", "unknown"));
    let [running] = &snapshot.running[..] else { panic!("{:?}", snapshot.running) };
    assert_eq!((running.association, running.count, running.partition.as_str()), (5, 2, "batch"));
    assert_eq!((&running.tres[..4], running.size, running.billing), (&[16, 8000, 0, 2][..], 2.0, 16.0));
    assert!(snapshot
        .associations
        .iter()
        .all(|Association { active, tickets, .. }| active.is_some() && tickets.is_some()));
    // Settings that became bad: those before go on, and it says so.
    let path = rig.path();
    rig.change(&format!("Snapshot={}\nActiveJobs=x\n", path.display()))?;
    rig.cycle_after(300)?;
    let settings = rig.snapshot(NOW + 300).settings.expect("known");
    assert!(settings.iter().all(|setting| setting.from.contains("last good settings")), "{settings:?}");
    assert!(settings.iter().any(|setting| setting.line == "ActiveJobs=pending"));
    let text = std::fs::read_to_string(&path)?;
    assert!(!text.contains("comment") && !text.contains("job_name"), "{text}");
    rig.host.quit().map(drop)
}

/// Whoever has used something in a book, or waits in it: alice waits in that of `fast`, bob has a job that runs there, and carol has neither.
#[test]
fn a_partition_is_told_with_its_state_and_its_book_with_whom_it_has() -> HostResult<()> {
    let runs = waiting(21)
        .association(5_u32)
        .user_id(1005_u32)
        .partitions(["fast".to_owned()])
        .state(state::RUNNING)
        .start_time(NOW)
        .end_time_expected(NOW + 3600)
        .total_cpus(8_u32)
        .tres_allocated([(1, 8), (2, 4000), (4, 1), (5, 8)]);
    let jobs =
        [waiting(1).partitions(["fast".to_owned()]), waiting(2).association(6_u32).user_id(1006_u32), runs];
    let mut rig = Rig::start("Book=cards Partitions=fast\n", &conf().decay_half_life(0_u32), &jobs)?;
    rig.snapshot(NOW);
    rig.host.partition(&Partition::new("long").state_up(1_u16))?;
    rig.cycle_after(300)?;
    let snapshot = rig.snapshot(NOW + 300);
    let states: Vec<&str> = snapshot.partitions.iter().map(|partition| partition.state.as_str()).collect();
    assert_eq!(states, ["UP", "UP", "DOWN", "UP"]);
    let held: BTreeMap<u32, (bool, f64)> =
        snapshot.book_associations.iter().map(|of| (of.association, (of.active, of.usage))).collect();
    assert!(
        snapshot.book_associations.iter().all(|of| of.book == "cards"),
        "{:?}",
        snapshot.book_associations
    );
    let used = held.get(&5).map(|(_, usage)| *usage);
    assert!(used.is_some_and(|used| used > 0.0), "{held:?}");
    assert_eq!((held.get(&4), held.get(&6)), (Some(&(true, 0.0)), None), "{held:?}");
    rig.host.quit().map(drop)
}
