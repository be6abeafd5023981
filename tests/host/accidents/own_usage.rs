//! Our own sums of usage: the same as slurmctld's where it has such, and every second of every job once, whatever happens.

use std::fs;

use multifactor2_accounting::sums::{Model, Readings};
use slurm_inproc::{state, Conf, Host, HostResult, Job, Partition};

use crate::driver::{early_save, Accident, Lives, Step};
use crate::setup::{cycle_at, end_job, running, usage, ASSOCIATIONS, CPUS, NOW};

/// Half-life usage of billing, and windows of the same.
const BILLING: &str =
    "Target=Partition Name=batch Percent=50\nTarget=User Name=alice Percent=50 Window=yes\n\
                       TargetWindow=00:10:00\nTargetDepth=1000\n";
const ALL: Model = Model::Windows { decay: 1.0 };

fn saved(lives: &Lives, model: Model) -> Readings {
    lives.sums().readings(model)
}

#[track_caller]
fn assert_same(ours: f64, theirs: f64, what: &str) {
    assert!((ours - theirs).abs() <= 1e-12 * theirs, "{what}: {ours}, not {theirs}");
}

#[test]
fn half_life_sums_are_the_usage_of_slurmctld() -> HostResult<()> {
    let lives = Lives::new(Conf::new().decay_half_life(3600_u32), BILLING)?;
    let mut now = NOW;
    let mut host = lives.start(now, &[])?;
    for round in 0..60_u32 {
        // Each job runs for some cycles, and ends between two.
        let start = now;
        host.jobs(&[running(1 + round, 3 + round % 2, start).group_id(100 + round % 3)])?;
        now += 200 + i64::from(round % 7) * 31;
        if round >= 4 {
            let over = now - i64::from(round % 5) * 17;
            end_job(&mut host, round - 3, over)?;
        }
        cycle_at(&mut host, now)?;
        let sums = saved(&lives, Model::HalfLife);
        for id in 1..=4 {
            let theirs = usage(&mut host, id)?;
            assert_same(
                sums.associations.get(&id).copied().unwrap_or(0.0),
                theirs,
                &format!("round {round}: {id}"),
            );
        }
        let all = usage(&mut host, 1)?;
        assert_same(sums.all, all, "all");
        assert_same(sums.of_tree, all, "the tree");
        assert_same(sums.partitions["batch"], all, "the partition");
        assert_same(sums.groups.values().sum(), all, "the groups");
        assert_same(sums.qos[&1], host.dump_qos()?[0].usage_raw.to_f64(), "the QOS");
    }
    let log = host.quit()?;
    assert_eq!(log.lines().filter(|line| line.contains("usage for targets")).count(), 1, "{log}");
    Ok(())
}

/// A TRES, also where limits are not enforced; windows have elapsed time times count.
#[test]
fn windows_have_what_ran_in_them_times_the_count() -> HostResult<()> {
    for (metric, count, total) in [("cpu", 4.0, 100_u64), ("node", 1.0, 10)] {
        let settings =
            format!("Target=User Name=alice Percent=50\nTargetUsage=window\nTargetWindow=00:10:00\nTargetMetric={metric}\n");
        let lives = Lives::new(Conf::new(), &settings)?;
        let begin = NOW - NOW % 600;
        let mut host = lives.prepare(begin + 100, &[running(1, 3, begin + 50)])?;
        host.tres_totals(&[(1, 100), (4, 10)])?;
        host.init()?;
        for now in [begin + 400, begin + 1500, begin + 1900] {
            host.set_clock(now)?;
            if now == begin + 1900 {
                host.jobs(&[Job::new(1_u32).state(state::COMPLETE).end_time(begin + 1850)])?;
                host.job_end(1)?;
            }
            host.cycle()?;
        }
        // What ran before the first start is counted from the start of the job on, as nothing was saved.
        for (decay, seconds) in [(1.0, 1800.0), (0.0, 50.0), (0.5, 50.0 + 300.0 + 150.0 + 550.0 / 8.0)] {
            let sums = saved(&lives, Model::Windows { decay });
            assert_eq!(sums.all, seconds * count, "{metric}, {decay}");
            assert_eq!(sums.associations[&1], seconds * count, "{metric}, {decay}: root");
            assert_eq!(sums.qos[&1], seconds * count, "{metric}, {decay}: QOS");
        }
        // From the first cycle on.
        #[expect(clippy::cast_precision_loss, reason = "small")]
        let capacity = total as f64 * 1800.0;
        assert_eq!(saved(&lives, ALL).capacity, capacity, "{metric}");
        host.quit()?;
    }
    Ok(())
}

#[test]
fn without_targets_that_need_them_there_is_no_file() -> HostResult<()> {
    for settings in ["", "Target=User Name=alice Percent=50\nTarget=QOS Name=normal Percent=5\n"] {
        let lives = Lives::new(Conf::new(), settings)?;
        let mut host = lives.start(NOW, &[running(1, 3, NOW)])?;
        cycle_at(&mut host, NOW + 300)?;
        host.quit()?;
        assert!(!lives.file("multifactor2_usage").exists(), "{settings}");
    }
    Ok(())
}

#[test]
fn every_second_of_a_running_job_counts_once_wherever_the_process_ends() -> HostResult<()> {
    let nothing: Step = |_| Ok(());
    for before in [nothing, early_save] {
        let accident = Accident { settings: BILLING, before, ..Accident::default() };
        accident.at_every_lock(|lives, second, at| {
            assert_eq!(saved(lives, ALL).all, 600.0 * CPUS, "{at}, at once");
            cycle_at(second, NOW + 1000)?;
            let sums = saved(lives, ALL);
            let of = |id| sums.associations[&id];
            assert_eq!([of(1), of(3)], [2000.0 * CPUS, 1000.0 * CPUS], "{at}");
            let halflife = saved(lives, Model::HalfLife);
            assert_eq!(halflife.partitions["batch"], 2000.0 * CPUS, "{at}");
            Ok(())
        })?;
    }
    Ok(())
}

#[test]
fn a_job_that_ends_counts_once_whether_slurmctld_remembers_its_end_or_not() -> HostResult<()> {
    let before: Step = |host| cycle_at(host, NOW + 100);
    Accident { settings: BILLING, before, ..Accident::default() }
        .a_job_ends(|lives| [3, 4].map(|id| saved(lives, ALL).associations[&id] / CPUS))
}

#[test]
fn a_reset_by_sacctmgr_is_one_of_our_sums_too() -> HostResult<()> {
    for restart in [None, Some(true), Some(false)] {
        let lives = Lives::new(Conf::new(), BILLING)?;
        let jobs = [running(1, 3, NOW), running(2, 4, NOW)];
        let mut host = lives.start(NOW, &jobs)?;
        cycle_at(&mut host, NOW + 300)?;
        if restart == Some(false) {
            // What is loaded does not include the last cycle: nothing can be compared, and nothing is reset.
            host.save()?;
            cycle_at(&mut host, NOW + 600)?;
        }
        if restart != Some(false) {
            host.reset_usage(3)?;
        }
        if let Some(saved) = restart {
            if saved {
                host.save()?;
            }
            drop(host);
            host = lives.start(NOW + 700, &jobs)?;
        }
        cycle_at(&mut host, NOW + 1000)?;
        let sums = saved(&lives, ALL);
        let found = [1, 2, 3, 4].map(|id| sums.associations[&id] / CPUS);
        let expected = match restart {
            Some(false) => [2000.0, 2000.0, 1000.0, 1000.0],
            _ => [1700.0, 1700.0, 700.0, 1000.0],
        };
        assert_eq!(found, expected, "{restart:?}");
        assert_eq!([sums.all, sums.partitions["batch"], sums.qos[&1]], [2000.0 * CPUS; 3], "{restart:?}");
        // The account with all below it, and the QOS.
        host.reset_usage(2)?;
        host.reset_qos_usage(1)?;
        cycle_at(&mut host, NOW + 1100)?;
        let sums = saved(&lives, ALL);
        assert_eq!([1, 2, 3, 4].map(|id| sums.associations[&id] / CPUS), [200.0, 200.0, 100.0, 100.0]);
        assert_eq!((sums.qos[&1], sums.all), (200.0 * CPUS, 2200.0 * CPUS));
        host.quit()?;
    }
    Ok(())
}

#[test]
fn sums_are_reset_exactly_once_wherever_a_save_falls_into_a_cycle() -> HostResult<()> {
    Accident { settings: BILLING, ..Accident::over_midnight() }.at_every_lock(|lives, _, at| {
        assert_eq!(saved(lives, ALL).all, 1000.0 * CPUS, "{at}");
        Ok(())
    })
}

#[test]
fn a_clock_set_back_and_a_process_that_begins_again_count_no_negative_time() -> HostResult<()> {
    let lives = Lives::new(Conf::new(), BILLING)?;
    let jobs = [running(1, 3, NOW)];
    let mut host = lives.start(NOW, &jobs)?;
    let mut due = 0.0;
    for (now, more) in [(NOW + 300, 300.0), (NOW - 5000, 0.0), (NOW + 100, 100.0), (NOW + 900, 800.0)] {
        cycle_at(&mut host, now)?;
        due += more * CPUS;
        assert_eq!(saved(&lives, ALL).all, due, "{}", now - NOW);
        // As at a failed reconfigure.
        host.save()?;
        host.fini()?;
        host.load()?;
        host.init()?;
        assert_eq!(saved(&lives, ALL).all, due, "{}", now - NOW);
    }
    host.quit().map(drop)
}

#[test]
fn a_file_that_cannot_be_used_is_put_aside_and_counting_goes_on_from_the_last_cycle() -> HostResult<()> {
    for text in ["", "multifactor2_usage 1\n", "multifactor2_usage 2\nend\n", "\u{fffd}"] {
        let lives = Lives::new(Conf::new(), BILLING)?;
        let jobs = [running(1, 3, NOW)];
        let mut first = lives.start(NOW, &jobs)?;
        cycle_at(&mut first, NOW + 300)?;
        first.save()?;
        first.quit()?;
        let file = lives.file("multifactor2_usage");
        fs::write(&file, text)?;
        let second = lives.start(NOW + 400, &jobs)?;
        assert_eq!(saved(&lives, ALL).all, 100.0 * CPUS, "{text:?}");
        assert_eq!(fs::read_to_string(file.with_extension("damaged"))?, text);
        let log = second.quit()?;
        assert_eq!(log.matches("cannot use").count(), 1, "{log}");
    }
    Ok(())
}

#[test]
fn a_file_that_cannot_be_written_is_one_error_until_it_can() -> HostResult<()> {
    let lives = Lives::new(Conf::new(), BILLING)?;
    let mut host = lives.start(NOW, &[running(1, 3, NOW)])?;
    let file = lives.file("multifactor2_usage");
    fs::remove_file(&file)?;
    fs::create_dir(&file)?;
    for cycle in 1..4 {
        cycle_at(&mut host, NOW + 100 * cycle)?;
    }
    // Where there is room now and then, too.
    fs::remove_dir(&file)?;
    cycle_at(&mut host, NOW + 400)?;
    fs::remove_file(&file)?;
    fs::create_dir(&file)?;
    cycle_at(&mut host, NOW + 500)?;
    fs::remove_dir(&file)?;
    for cycle in 6..9 {
        cycle_at(&mut host, NOW + 100 * cycle)?;
    }
    assert_eq!(saved(&lives, ALL).all, 800.0 * CPUS);
    let log = host.quit()?;
    assert_eq!(log.matches("cannot save").count(), 1, "{log}");
    assert_eq!(log.matches("is saved again in").count(), 1, "{log}");
    Ok(())
}

#[test]
fn targets_come_and_go_with_a_reconfigure() -> HostResult<()> {
    let lives = Lives::new(Conf::new(), BILLING)?;
    let mut host = lives.prepare(NOW, &[running(1, 3, NOW)])?;
    let conf = host.directory().join("multifactor2.conf");
    fs::write(&conf, "")?;
    host.init()?;
    let at = |host: &mut Host, now: i64, settings: &str| -> HostResult<Option<f64>> {
        fs::write(&conf, settings)?;
        host.reconfigure(true)?;
        cycle_at(host, now)?;
        let there = lives.file("multifactor2_usage").exists();
        Ok(there.then(|| saved(&lives, ALL).all))
    };
    assert_eq!(at(&mut host, NOW + 100, "")?, None);
    assert_eq!(at(&mut host, NOW + 200, BILLING)?, Some(100.0 * CPUS));
    assert_eq!(at(&mut host, NOW + 300, &BILLING.replace("00:10:00", "00:07:00"))?, Some(200.0 * CPUS));
    assert_eq!(at(&mut host, NOW + 400, &format!("{BILLING}TargetMetric=node\n"))?, Some(100.0));
    assert_eq!(at(&mut host, NOW + 500, "")?, Some(100.0));
    // A job that still runs has used that time, too.
    assert_eq!(at(&mut host, NOW + 600, &format!("{BILLING}TargetMetric=node\n"))?, Some(300.0));
    host.quit().map(drop)
}

/// Nobody is told then that a job has ended: a cycle sees it, also after a restart, and no later one does.
#[test]
fn without_limits_jobs_count_until_their_end_and_once() -> HostResult<()> {
    let over = |job: Job, at: i64| job.state(state::COMPLETE).end_time(at);
    for regular in [true, false] {
        let lives = Lives::new(Conf::new().enforce(ASSOCIATIONS), BILLING)?;
        let mut host = lives.start(NOW, &[running(1, 3, NOW), running(2, 4, NOW)])?;
        let cycle = |host: &mut Host, at: i64| -> HostResult<[f64; 2]> {
            cycle_at(host, at)?;
            let sums = saved(&lives, ALL);
            Ok([3, 4].map(|id| sums.associations[&id] / CPUS))
        };
        assert_eq!(cycle(&mut host, NOW + 100)?, [100.0, 100.0]);
        // One that had been counted before, one that comes and goes, and one that never ran.
        let ended = [
            over(running(2, 4, NOW), NOW + 150),
            over(running(3, 4, NOW + 120), NOW + 130),
            over(running(4, 4, NOW + 140), NOW + 140),
        ];
        host.jobs(&ended)?;
        assert_eq!(cycle(&mut host, NOW + 300)?, [300.0, 160.0], "{regular}");
        assert_eq!(cycle(&mut host, NOW + 400)?, [400.0, 160.0], "{regular}");
        // It ends while a cycle runs, after its time.
        host.jobs(&[over(running(1, 3, NOW), NOW + 505)])?;
        assert_eq!(cycle(&mut host, NOW + 500)?, [500.0, 160.0], "{regular}");
        host.save()?;
        if regular {
            host.fini()?;
        }
        drop(host);
        let [second, third, fourth] = ended;
        let all = [over(running(1, 3, NOW), NOW + 505), second, third, fourth];
        let mut host = lives.start(NOW + 600, &all)?;
        for at in [600, 700, -1000, 450, 800] {
            assert_eq!(cycle(&mut host, NOW + at)?, [505.0, 160.0], "{regular}, {at}");
        }
        assert_eq!(saved(&lives, Model::HalfLife).partitions["batch"], 665.0 * CPUS);
        host.quit()?;
    }
    Ok(())
}

/// slurmctld gives jobs that had ended before it started no pointer to their QOS. One that is that of the partition, too, counts them once.
#[test]
fn without_limits_a_qos_has_what_jobs_used_that_ended_right_before_a_restart() -> HostResult<()> {
    let clusters: [Step; 2] = [|_| Ok(()), |host| host.partition(&Partition::new("batch").qos(1_u32))];
    for (number, cluster) in clusters.into_iter().enumerate() {
        let lives = Lives { cluster, ..Lives::new(Conf::new().enforce(ASSOCIATIONS), BILLING)? };
        let mut host = lives.start(NOW, &[running(1, 3, NOW)])?;
        cycle_at(&mut host, NOW + 100)?;
        host.save()?;
        host.fini()?;
        drop(host);
        let ended = running(1, 3, NOW).state(state::COMPLETE).end_time(NOW + 130).qos_by_id(true);
        let mut host = lives.start(NOW + 200, &[ended])?;
        for at in [NOW + 200, NOW + 300] {
            cycle_at(&mut host, at)?;
            let sums = saved(&lives, ALL);
            let found = [sums.all, sums.associations[&3], sums.qos[&1]];
            assert_eq!(found, [130.0 * CPUS; 3], "cluster {number}: {at}");
        }
        host.quit()?;
    }
    Ok(())
}
