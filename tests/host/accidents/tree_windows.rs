//! `TreeUsage=window`: what `sshare` shows goes by billing in windows, every second of every job is in one of them once, and they begin with what slurmctld
//! has counted before.

use std::fs;

use multifactor2_accounting::sums::WindowAmounts;
use slurm_inproc::{AssociationUsage, Conf, Extended, Host, HostResult};

use crate::driver::{early_save, Accident, Lives, MIDNIGHT};
use crate::setup::{cycle_at, end_job, running, usage, CPUS, NOW};

/// Windows of a thousand seconds, which begin at [`NOW`].
const FOUR: &str = "TreeUsage=window\nTreeWindow=00:16:40\nTreeDepth=4\nTreeDecay=0.5\n";
const ALICE: u32 = 3;
const BOB: u32 = 4;

fn windows(lives: &Lives) -> WindowAmounts {
    lives.sums_of("multifactor2_tree").window_amounts(usize::MAX).expect("there are windows")
}

/// What each window has of an association and of those below it, the current one first.
fn of(lives: &Lives, id: u32) -> Vec<f64> {
    windows(lives).associations.get(&id).cloned().unwrap_or_default()
}

fn norm(host: &mut Host, id: u32) -> HostResult<f64> {
    Ok(host.dump_association(id)?.usage_norm.to_f64())
}

#[track_caller]
fn assert_near(found: f64, due: f64, what: &str) {
    assert!((found - due).abs() <= 1e-9 * due.abs().max(1e-9), "{what}: {found}, not {due}");
}

/// The example of Moab's guide: 60, 0, 10 and 50 of 110, 125, 100 and 150 are 68.75 of 216.25, each window half of the next younger one.
#[test]
fn john_has_31_percent() -> HostResult<()> {
    let lives = Lives::new(Conf::new().decay_half_life(3600_u32), FOUR)?;
    let mut host = lives.start(NOW, &[])?;
    let mut id = 0;
    // The oldest first. Of the current window a half is over.
    for (window, (john, all)) in (0..).zip([(50, 150), (10, 100), (0, 125), (60, 110)]) {
        let begin = NOW + 1000 * window;
        let seconds = if window == 3 { 500 } else { 1000 };
        for (association, amount) in [(ALICE, john), (BOB, all - john)] {
            if amount == 0 {
                continue;
            }
            id += 1;
            let cpus = u64::try_from(amount * 1000 / seconds).unwrap();
            let job = running(id, association, begin).tres_allocated([(1, cpus), (4, 1)]);
            host.jobs(&[job.total_cpus(u32::try_from(cpus).unwrap())])?;
        }
        cycle_at(&mut host, begin + 300)?;
        for job in id - 1..=id {
            let _ = end_job(&mut host, job, begin + seconds);
        }
    }
    cycle_at(&mut host, NOW + 3600)?;
    let found = norm(&mut host, ALICE)?;
    assert_near(found, 68.75 / 216.25, "NormUsage");
    assert!((found - 0.3179).abs() < 5e-5, "{found}");
    // RawUsage is what it was: decayed, and of slurmctld.
    let raw = usage(&mut host, ALICE)?;
    assert!(raw > 0.0 && raw < 120_000.0, "{raw}");
    // Nobody runs. A window later all are older by one, and the oldest is gone; of windows that are all over nothing is left.
    let due = (0.5 * 60.0 + 0.125 * 10.0) / (0.5 * 110.0 + 0.25 * 125.0 + 0.125 * 100.0);
    cycle_at(&mut host, NOW + 4000)?;
    assert_near(norm(&mut host, ALICE)?, due, "a window later");
    cycle_at(&mut host, NOW + 9000)?;
    assert_eq!((norm(&mut host, ALICE)?, norm(&mut host, 1)?), (0.0, 0.0));
    host.quit().map(drop)
}

/// One window that holds all is what slurmctld counts without half-life.
#[test]
fn one_window_of_all_is_raw_usage_that_does_not_decay() -> HostResult<()> {
    let mut rows = Vec::new();
    for settings in ["", "TreeUsage=window\nTreeWindow=36500-0\nTreeDepth=2\nTreeDecay=1\n"] {
        let charges = format!("{settings}Charge=Account Name=physics Factor=0.5\nMinimumCharge=10:00\n");
        let lives = Lives::new(Conf::new().decay_half_life(0_u32), &charges)?;
        let mut host = lives.start(NOW, &[])?;
        let (mut now, mut shown) = (NOW, Vec::new());
        for round in 0..40_u32 {
            host.jobs(&[running(1 + round, ALICE + round % 2, now)])?;
            now += 200 + i64::from(round % 7) * 31;
            if round >= 4 {
                let over = now - i64::from(round % 5) * 17;
                end_job(&mut host, round - 3, over)?;
            }
            cycle_at(&mut host, now)?;
            for id in 1..=4 {
                let record = host.dump_association(id)?;
                let numbers = [record.usage_norm, record.usage_efctv, record.level_fs, record.usage_raw]
                    .map(Extended::to_f64);
                shown.extend(numbers);
            }
        }
        rows.push(shown);
        host.quit()?;
    }
    for (at, (windows, raw)) in rows[1].iter().zip(&rows[0]).enumerate() {
        assert_near(*windows, *raw, &format!("number {at}"));
    }
    assert!(rows[0].iter().any(|number| *number > 0.0));
    Ok(())
}

/// Sums for targets in the same windows are counted by code that other tests compare second by second.
#[track_caller]
fn assert_as_targets(lives: &Lives, what: &str) {
    let ours = windows(lives);
    let targets = lives.sums().window_amounts(usize::MAX).expect("there are windows");
    assert_eq!((ours.begin, ours.length), (targets.begin, targets.length), "{what}");
    assert_eq!((ours.associations, ours.of_tree), (targets.associations, targets.of_tree), "{what}");
    let others = ours.qos.values().chain(ours.groups.values()).chain(ours.partitions.values());
    assert!(others.flatten().all(|amount| *amount == 0.0), "{what}: the tree has no others");
}

fn with_targets() -> String {
    format!("{FOUR}Component=FS FSUser=1\nTarget=User Name=alice Percent=50\nTargetUsage=window\nTargetWindow=00:16:40\nTargetDepth=4\n")
}

#[test]
fn every_second_of_a_job_counts_once_wherever_the_process_ends() -> HostResult<()> {
    let accident = Accident {
        settings: &with_targets(),
        jobs: vec![running(1, ALICE, NOW), running(2, BOB, NOW + 100)],
        before: early_save,
        again: NOW + 400,
        ..Accident::default()
    };
    accident.at_every_lock(|lives, second, at| {
        end_job(second, 2, NOW + 1100)?;
        cycle_at(second, NOW + 1300)?;
        assert_eq!(of(lives, ALICE), [300.0 * CPUS, 1000.0 * CPUS], "{at}");
        assert_eq!(of(lives, BOB), [100.0 * CPUS, 900.0 * CPUS], "{at}");
        assert_as_targets(lives, &at.to_string());
        Ok(())
    })
}

/// What users have used before is not forgotten, whatever ends before the first cycle has taken it in.
#[test]
fn windows_begin_with_raw_usage_once() -> HostResult<()> {
    for restarts in [false, true] {
        let mut lives = Lives::new(Conf::new(), "")?;
        let jobs = [running(1, ALICE, NOW), running(2, BOB, NOW)];
        let mut host = lives.prepare(NOW, &jobs)?;
        // With that of all below.
        for (id, raw) in [(1, 500.0), (2, 500.0), (ALICE, 6000.0), (BOB, 4000.0)] {
            host.usage(&[AssociationUsage::new(id).raw(Extended::from(raw))])?;
        }
        host.init()?;
        cycle_at(&mut host, NOW + 300)?;
        assert!(!lives.file("multifactor2_tree").exists());
        fs::write(host.directory().join("multifactor2.conf"), FOUR)?;
        host.reconfigure(true)?;
        // Ends before the first cycle with windows.
        end_job(&mut host, 2, NOW + 350)?;
        if restarts {
            host.save()?;
            host.fini()?;
            host.quit()?;
            assert!(!lives.file("multifactor2_tree").exists(), "nothing is known yet");
            FOUR.clone_into(&mut lives.settings);
            host = lives.start(NOW + 360, &jobs[..1])?;
        }
        cycle_at(&mut host, NOW + 400)?;
        // 500 more than its users have, of somebody who is gone, are the account's, and 500 the root's.
        assert_eq!(of(&lives, ALICE), [6000.0 + 400.0 * CPUS], "{restarts}");
        assert_eq!(of(&lives, BOB), [4000.0 + 350.0 * CPUS], "{restarts}");
        assert_eq!(of(&lives, 2), [10_500.0 + 750.0 * CPUS], "{restarts}");
        assert_eq!(of(&lives, 1), [11_000.0 + 750.0 * CPUS], "{restarts}");
        for id in [1, 2, ALICE, BOB] {
            assert_near(of(&lives, id)[0], usage(&mut host, id)?, "raw usage without half-life");
        }
        // Once: from then on it is what jobs use.
        cycle_at(&mut host, NOW + 1100)?;
        assert_eq!(of(&lives, ALICE), [100.0 * CPUS, 6000.0 + 1000.0 * CPUS], "{restarts}");
        cycle_at(&mut host, NOW + 1200)?;
        assert_eq!(of(&lives, ALICE), [200.0 * CPUS, 6000.0 + 1000.0 * CPUS], "{restarts}");
        // Taken back, and asked for again much later: nobody could tell what was used in which window.
        fs::write(host.directory().join("multifactor2.conf"), "")?;
        host.reconfigure(true)?;
        assert!(!lives.file("multifactor2_tree").exists(), "{restarts}");
        cycle_at(&mut host, NOW + 5000)?;
        fs::write(host.directory().join("multifactor2.conf"), FOUR)?;
        host.reconfigure(true)?;
        cycle_at(&mut host, NOW + 5100)?;
        assert_near(of(&lives, ALICE)[0], usage(&mut host, ALICE)?, "raw usage once more");
        assert_eq!(of(&lives, ALICE).len(), 1, "{restarts}");
        let log = host.quit()?;
        assert!(!log.contains("error: priority/multifactor2"), "{log}");
    }
    Ok(())
}

#[test]
fn a_file_whose_windows_are_all_over_begins_with_raw_usage() -> HostResult<()> {
    let with = Lives::new(Conf::new(), FOUR)?;
    let mut host = with.start(NOW, &[running(1, ALICE, NOW)])?;
    cycle_at(&mut host, NOW + 100)?;
    host.save()?;
    let old = fs::read(with.file("multifactor2_tree"))?;
    cycle_at(&mut host, NOW + 6000)?;
    host.fini()?;
    host.save()?;
    host.quit()?;
    // As if another plugin had run meanwhile.
    fs::write(with.file("multifactor2_tree"), old)?;
    let mut host = with.start(NOW + 6000, &[running(1, ALICE, NOW)])?;
    cycle_at(&mut host, NOW + 6100)?;
    assert_eq!(of(&with, ALICE), [6100.0 * CPUS]);
    assert_near(usage(&mut host, ALICE)?, 6100.0 * CPUS, "raw usage");
    host.quit().map(drop)
}

#[test]
fn resets_empty_windows_once() -> HostResult<()> {
    let first = Lives::new(Conf::new(), FOUR)?;
    let mut host = first.start(NOW, &[running(1, ALICE, NOW), running(2, BOB, NOW)])?;
    cycle_at(&mut host, NOW + 1100)?;
    host.reset_usage(ALICE)?;
    cycle_at(&mut host, NOW + 1400)?;
    assert_eq!(of(&first, ALICE), [300.0 * CPUS]);
    assert_eq!(of(&first, BOB), [400.0 * CPUS, 1000.0 * CPUS]);
    host.quit()?;
    // PriorityUsageResetPeriod, wherever a save falls into the cycle that does it.
    Accident { settings: FOUR, ..Accident::over_midnight() }.at_every_lock(|lives, second, at| {
        cycle_at(second, MIDNIGHT + 700)?;
        // From the first start on.
        let sum: f64 = of(lives, ALICE).iter().sum();
        assert_near(sum, 1100.0 * CPUS, &at.to_string());
        Ok(())
    })
}

/// The amount of a window is spread over the new ones, and those that do not count any more are gone.
#[test]
fn another_length_or_depth_spreads_what_was_used() -> HostResult<()> {
    let with = Lives::new(Conf::new(), FOUR)?;
    let mut host = with.start(NOW, &[running(1, ALICE, NOW)])?;
    cycle_at(&mut host, NOW + 2000)?;
    assert_eq!(of(&with, ALICE), [0.0, 1000.0 * CPUS, 1000.0 * CPUS]);
    let conf = host.directory().join("multifactor2.conf");
    fs::write(&conf, FOUR.replace("00:16:40", "00:08:20").replace("Depth=4", "Depth=3"))?;
    host.reconfigure(true)?;
    cycle_at(&mut host, NOW + 2100)?;
    assert_eq!(of(&with, ALICE), [100.0 * CPUS, 500.0 * CPUS, 500.0 * CPUS]);
    fs::write(&conf, FOUR.replace("Decay=0.5", "Decay=0"))?;
    host.reconfigure(true)?;
    cycle_at(&mut host, NOW + 2200)?;
    assert_eq!(of(&with, ALICE), [200.0 * CPUS, 1000.0 * CPUS]);
    let log = host.quit()?;
    assert!(!log.contains("error: priority/multifactor2"), "{log}");
    Ok(())
}

/// A damaged file is put aside, and windows begin with raw usage.
#[test]
fn what_cannot_be_read_is_put_aside() -> HostResult<()> {
    let with = Lives::new(Conf::new(), FOUR)?;
    let mut host = with.start(NOW, &[running(1, ALICE, NOW)])?;
    cycle_at(&mut host, NOW + 100)?;
    host.save()?;
    host.quit()?;
    fs::write(with.file("multifactor2_tree"), "multifactor2_usage 1\n")?;
    let mut host = with.start(NOW + 100, &[running(1, ALICE, NOW)])?;
    cycle_at(&mut host, NOW + 200)?;
    assert_eq!(of(&with, ALICE), [200.0 * CPUS]);
    let log = host.quit()?;
    assert!(log.contains("It had the usage for TreeUsage=window, which starts anew."), "{log}");
    assert!(with.file("multifactor2_tree.damaged").exists());
    Ok(())
}

/// slurmctld saves usage with six decimals. Where little of it is left, what a restart takes off is not taken for a reset.
#[test]
fn what_is_rounded_when_usage_is_saved_empties_no_window() -> HostResult<()> {
    let with = Lives::new(Conf::new().decay_half_life(600_u32), FOUR)?;
    let mut host = with.start(NOW, &[running(1, ALICE, NOW), running(2, BOB, NOW)])?;
    for job in [1, 2] {
        end_job(&mut host, job, NOW + 10)?;
    }
    for restart in 1..=12 {
        let now = NOW + 71 * restart;
        cycle_at(&mut host, now)?;
        host.save()?;
        host.fini()?;
        host.quit()?;
        host = with.start(now, &[])?;
        cycle_at(&mut host, now + 7)?;
        for id in [ALICE, BOB] {
            assert_eq!(of(&with, id), [10.0 * CPUS], "restart {restart}, {} left", usage(&mut host, id)?);
        }
    }
    host.quit().map(drop)
}
