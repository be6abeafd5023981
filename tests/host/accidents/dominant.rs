//! `UsageMeasure=dominant`: the same as billing where one TRES is billed, and every second of every job once, whatever happens.

use std::fs;

use multifactor2_accounting::sums::Sums;
use slurm_inproc::{state, Association, Conf, Extended, Host, HostResult, Partition, Qos};

use crate::driver::{Accident, Lives};
use crate::setup::{cycle_at, end_job, running, ASSOCIATIONS, NOW};

const CPU: u32 = 1;
const MEM: u32 = 2;
const NODE: u32 = 4;
const TWO: &str = "UsageMeasure=dominant\nDominantTRES=cpu,node\n";

/// A cluster that has something.
fn totals(host: &mut Host) -> HostResult<()> {
    host.tres_totals(&[(CPU, 100), (MEM, 1000), (NODE, 10)])
}

fn lives(conf: Conf, settings: &str) -> HostResult<Lives> {
    Ok(Lives { cluster: totals, ..Lives::new(conf, settings)? })
}

/// What an association has used in seconds, which must be the same of all TRES: a job has four processors and a node.
#[track_caller]
fn seconds(sums: &Sums, id: u32) -> f64 {
    match sums.used(id) {
        [] => 0.0,
        [cpu, node] => {
            assert!((cpu - 4.0 * node).abs() < 1e-6, "{cpu}, {node}");
            *node
        }
        other => panic!("{other:?}"),
    }
}

/// Normalised usage of the associations 1 to 4, as `sshare` shows it.
fn norms(host: &mut Host) -> HostResult<[f64; 4]> {
    let mut norms = [0.0; 4];
    for (id, norm) in (1..).zip(&mut norms) {
        *norm = host.dump_association(id)?.usage_norm.to_f64();
    }
    Ok(norms)
}

#[track_caller]
fn assert_norms(found: [f64; 4], expected: [f64; 4], what: &str) {
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-12 * expected, "{what}: {found}, not {expected}");
    }
}

/// Sixty cycles with jobs that start and end, in a QOS with a factor: what `sshare` shows of each association in each of them.
fn many_cycles(settings: &str, weights: &str) -> HostResult<Vec<[f64; 4]>> {
    let lives = lives(Conf::new().decay_half_life(3600_u32), settings)?;
    let mut host = lives.prepare(NOW, &[])?;
    host.partition(&Partition::new("billed").tres([(CPU, 100), (NODE, 10)]).billing_weights(weights))?;
    host.qos(&Qos::new(2_u32).name("half").usage_factor(0.7))?;
    host.init()?;
    let (mut now, mut rows) = (NOW, Vec::new());
    for round in 0..60_u32 {
        let job = running(1 + round, 3 + round % 2, now).partitions(["billed".to_owned()]);
        let tres = [(CPU, 4 + u64::from(round % 3)), (MEM, 512), (NODE, 1 + u64::from(round % 4))];
        host.jobs(&[job.qos(1 + round % 2).tres_allocated(tres)])?;
        now += 200 + i64::from(round % 7) * 31;
        if round >= 4 {
            let over = now - i64::from(round % 5) * 17;
            end_job(&mut host, round - 3, over)?;
        }
        cycle_at(&mut host, now)?;
        for id in 1..=4 {
            let shown = host.dump_association(id)?;
            let [norm, effective, level] =
                [shown.usage_norm, shown.usage_efctv, shown.level_fs].map(Extended::to_f64);
            rows.push([norm, effective, level, shown.usage_raw.to_f64()]);
        }
    }
    host.quit()?;
    Ok(rows)
}

#[test]
fn one_tres_is_what_billing_is_with_weights_for_it_alone() -> HostResult<()> {
    for (name, weights) in [("cpu", "CPU=1.5"), ("node", "Node=2.0"), ("mem=3", "Mem=0.25")] {
        let billing = many_cycles("", weights)?;
        let dominant = many_cycles(&format!("UsageMeasure=dominant\nDominantTRES={name}\n"), weights)?;
        for (at, (ours, due)) in dominant.iter().zip(&billing).enumerate() {
            for (found, due) in ours.iter().zip(due) {
                assert!((found - due).abs() <= 1e-12 * due, "{name}, row {at}: {ours:?}, not {due:?}");
            }
            assert_eq!(ours[3], due[3], "raw usage is billing, to the bit");
        }
        assert!(billing.iter().skip(8).all(|row| row[3] > 0.0), "{billing:?}");
    }
    Ok(())
}

/// A tenth of the processors and a tenth of the memory are a tenth; with `MAX_TRES` they would be a fifth.
#[test]
fn jobs_that_need_different_things_are_no_burden_to_each_other() -> HostResult<()> {
    let job = |id, association, tres: [(u32, u64); 2]| running(id, association, NOW).tres_allocated(tres);
    let jobs = [
        job(1, 3, [(CPU, 10), (MEM, 0)]),
        job(2, 3, [(CPU, 0), (MEM, 100)]),
        job(3, 4, [(CPU, 20), (MEM, 0)]),
    ];
    for (list, expected) in [
        ("cpu,mem", [1.0, 1.0, 0.1 / 0.3, 0.2 / 0.3]),
        ("MEM=2,cpu", [1.0, 1.0, 0.2 / 0.3, 0.2 / 0.3]),
        ("mem=10,cpu", [1.0, 1.0, 1.0, 0.2]),
        ("mem", [1.0, 1.0, 1.0, 0.0]),
    ] {
        let settings = format!("UsageMeasure=dominant\nDominantTRES={list}\n");
        let lives = lives(Conf::new(), &settings)?;
        let mut host = lives.start(NOW, &jobs)?;
        assert_norms(norms(&mut host)?, [0.0; 4], "nothing could have been used yet");
        for cycle in 1..=3 {
            cycle_at(&mut host, NOW + 300 * cycle)?;
            assert_norms(norms(&mut host)?, expected, list);
        }
        // Somebody new, between two cycles: what is known stays.
        host.associations(&[Association::new(5_u32)
            .parent(2_u32)
            .account("physics")
            .user("carol")
            .uid(1005_u32)])?;
        host.set_association_usage(5)?;
        assert_eq!(host.dump_association(5)?.usage_norm.to_f64(), 0.0);
        host.set_association_usage(3)?;
        assert_norms(norms(&mut host)?, expected, list);
        host.quit()?;
    }
    Ok(())
}

#[test]
fn every_second_of_a_running_job_counts_once_wherever_the_process_ends() -> HostResult<()> {
    Accident { settings: TWO, cluster: totals, ..Accident::default() }.at_every_lock(|lives, second, at| {
        assert_norms(norms(second)?, [1.0, 1.0, 0.5, 0.5], &format!("{at}, at once"));
        cycle_at(second, NOW + 1000)?;
        let sums = lives.sums();
        assert_eq!([3, 4].map(|id| seconds(&sums, id)), [1000.0; 2], "{at}");
        assert_eq!(sums.given(), [100_000.0, 10_000.0], "{at}");
        Ok(())
    })
}

#[test]
fn a_job_that_ends_counts_once_whether_slurmctld_remembers_its_end_or_not() -> HostResult<()> {
    Accident { settings: TWO, cluster: totals, ..Accident::default() }
        .a_job_ends(|lives| [3, 4].map(|id| seconds(&lives.sums(), id)))
}

#[test]
fn usage_is_reset_with_that_of_slurmctld_and_exactly_once() -> HostResult<()> {
    let first = lives(Conf::new(), TWO)?;
    let mut host = first.start(NOW, &[running(1, 3, NOW), running(2, 4, NOW)])?;
    cycle_at(&mut host, NOW + 300)?;
    host.reset_usage(3)?;
    cycle_at(&mut host, NOW + 400)?;
    assert_eq!([3, 4].map(|id| seconds(&first.sums(), id)), [100.0, 400.0]);
    assert_norms(norms(&mut host)?, [1.0, 1.0, 0.2, 0.8], "reset by sacctmgr");
    host.quit()?;
    // PriorityUsageResetPeriod, wherever a save falls into the cycle that does it.
    Accident { settings: TWO, cluster: totals, ..Accident::over_midnight() }.at_every_lock(|lives, _, at| {
        let sums = lives.sums();
        assert_eq!((seconds(&sums, 3), sums.given()), (1000.0, &[100_000.0, 10_000.0][..]), "{at}");
        Ok(())
    })
}

/// slurmctld reports no ends then, and charges nothing for the last seconds.
#[test]
fn without_limits_jobs_count_until_their_end_and_once() -> HostResult<()> {
    let lives = lives(Conf::new().enforce(ASSOCIATIONS), TWO)?;
    let mut host = lives.start(NOW, &[running(1, 3, NOW), running(2, 4, NOW)])?;
    for at in [100, 300, 400] {
        if at == 300 {
            host.jobs(&[running(2, 4, NOW).state(state::COMPLETE).end_time(NOW + 150)])?;
        }
        cycle_at(&mut host, NOW + at)?;
    }
    assert_eq!([3, 4].map(|id| seconds(&lives.sums(), id)), [400.0, 150.0]);
    host.quit().map(drop)
}

#[test]
fn it_comes_and_goes_with_a_reconfigure_and_a_tres_that_is_not_there_is_said_once() -> HostResult<()> {
    let lives = lives(Conf::new(), "")?;
    let job = |id, association, cpus: u32, nodes: u64| {
        let job = running(id, association, NOW).total_cpus(cpus);
        job.tres_allocated([(CPU, u64::from(cpus)), (NODE, nodes)])
    };
    let jobs = [job(1, 3, 30, 1), job(2, 4, 10, 3)];
    let mut host = lives.prepare(NOW, &jobs)?;
    let conf = host.directory().join("multifactor2.conf");
    fs::write(&conf, "")?;
    host.init()?;
    for (at, settings, expected) in [
        (100, "", [1.0, 1.0, 0.75, 0.25]),
        // Each needs 30 % of something, and both together 40 % of both.
        (200, TWO, [1.0, 1.0, 0.75, 0.75]),
        (300, "UsageMeasure=dominant\nDominantTRES=node,gres/none,gres/no:ne=5\n", [1.0, 1.0, 0.25, 0.75]),
        (400, "UsageMeasure=dominant\nDominantTRES=gres/none\n", [0.0; 4]),
        (500, "DominantTRES=node\n", [1.0, 1.0, 0.75, 0.25]),
    ] {
        fs::write(&conf, settings)?;
        host.reconfigure(true)?;
        for at in [at, at + 50] {
            cycle_at(&mut host, NOW + at)?;
            assert_norms(norms(&mut host)?, expected, settings);
        }
        let is_kept = settings.starts_with("UsageMeasure");
        assert!(!is_kept || lives.file("multifactor2_usage").exists(), "{settings}");
        assert!(at > 100 || !lives.file("multifactor2_usage").exists());
    }
    let log = host.quit()?;
    assert_eq!(log.matches("DominantTRES=gres/none: the cluster has no such TRES").count(), 2, "{log}");
    assert_eq!(log.matches("DominantTRES=gres/no:ne: the cluster has no such TRES").count(), 1, "{log}");
    Ok(())
}
