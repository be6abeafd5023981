//! All time is charged exactly once, whenever slurmctld saves usage and however it ends: the real `dump_assoc_mgr_state` and
//! `load_assoc_usage`, at every lock that a cycle takes, all within one second of the clock.

use slurm_inproc::{Conf, Host, HostResult, Job, Plugin};

use crate::driver::{early_save, Accident, Announced, End, Lives, Step, Stops, MIDNIGHT};
use crate::setup::{cycle_at, end_job, running, usage, CPUS, NOW};

#[test]
fn running_jobs_are_charged_for_all_of_their_time_wherever_a_save_falls_into_a_cycle() -> HostResult<()> {
    let nothing: Step = |_| Ok(());
    for before in [nothing, early_save] {
        Accident { before, ..Accident::default() }.at_every_lock(|_, second, at| {
            assert_eq!(usage(second, 3)?, 300.0 * CPUS, "{at}, in the same second");
            cycle_at(second, NOW + 1000)?;
            assert_eq!(usage(second, 3)?, 1000.0 * CPUS, "{at}");
            assert_eq!(usage(second, 1)?, 2000.0 * CPUS, "{at}: the root");
            let told = second.log().contains("ended without saving usage");
            assert!(!(told && at.way == End::Stopped), "{at}: a regular end is no kill");
            Ok(())
        })?;
    }
    Ok(())
}

/// The one case that nothing on the disk tells from a cycle that was charged and saved. See `progress::journal`.
#[test]
fn a_kill_right_after_a_save_that_came_between_announcement_and_charge_costs_that_cycle_and_charges_nothing_twice(
) -> HostResult<()> {
    let mut moments = 0;
    let accident = Accident { before: |host| cycle_at(host, NOW + 100), ..Accident::default() };
    accident.at_every(Stops::Locks, &["killed"], |mut first, at| {
        let announced = first.announced()?.is_some();
        first.host.save()?;
        let mut second = first.kill().start(NOW + 1000, &accident.jobs)?;
        let lost = if announced { 200.0 } else { 0.0 };
        assert_eq!(usage(&mut second, 3)?, (1000.0 - lost) * CPUS, "{at}");
        moments += u32::from(announced);
        second.quit().map(drop)
    })?;
    assert_eq!(moments, 2, "before the lock of jobs, and before that of associations");
    Ok(())
}

#[test]
fn stock_goes_on_where_ours_was_stopped_wherever_the_save_fell() -> HostResult<()> {
    let accident = Accident::default();
    accident.at_every(Stops::Locks, &[End::Stopped], |first, at| {
        let mut lives = first.end(at.way)?;
        lives.plugin = Plugin::stock();
        let mut second = lives.start(NOW + 1000, &accident.jobs)?;
        assert_eq!(usage(&mut second, 3)?, 1000.0 * CPUS, "{at}");
        // And back, with stock's file and a regular end.
        second.save()?;
        second.quit()?;
        lives.plugin = Plugin::multifactor2()?;
        let mut third = lives.start(NOW + 1500, &accident.jobs)?;
        assert_eq!(usage(&mut third, 3)?, 1500.0 * CPUS, "{at}");
        third.quit().map(drop)
    })
}

#[test]
fn a_cycle_that_was_killed_is_charged_by_the_next_process_before_and_after_further_kills() -> HostResult<()> {
    let lives = Lives::new(Conf::new(), "")?;
    // Ten processes, each killed at another point of its second cycle, with a save at every third point.
    for round in 0..10_u32 {
        let now = NOW + 1000 * i64::from(round);
        let mut host = lives.start(now, &[running(1, 3, NOW)])?;
        let due = f64::from(1000 * round) * CPUS;
        assert_eq!(usage(&mut host, 3)?, due, "round {round}");
        host.set_clock(now + 500)?;
        let (_, reached) = host.start_cycle_until_any(round + 1)?;
        if reached && round % 3 == 0 && Announced::now(&lives, &mut host, now + 500, due)?.is_none() {
            host.save()?;
        }
    }
    Ok(())
}

#[test]
fn a_save_between_the_start_and_the_first_cycle_includes_what_was_loaded() -> HostResult<()> {
    let jobs = [running(1, 3, NOW)];
    // A new cluster; one that was killed with cycles after its last save; one that was stopped.
    for (cycles, saved, stopped) in [(0, false, false), (0, true, false), (2, true, false), (2, true, true)] {
        let lives = Lives::new(Conf::new(), "")?;
        let mut first = lives.start(NOW, &jobs)?;
        if saved {
            first.save()?;
        }
        for cycle in 1..=cycles {
            cycle_at(&mut first, NOW + 100 * cycle)?;
        }
        if stopped {
            first.save()?;
            first.fini()?;
        }
        drop(first);
        for lock in 1..4 {
            // Started, saved before anything is charged, killed.
            let mut second = lives.prepare(NOW + 300, &jobs)?;
            second.request(&format!("stop at={lock} inside=1"))?;
            second.init_without_thread()?;
            second.wait_until_stopped()?;
            second.save()?;
        }
        let mut third = lives.start(NOW + 1000, &jobs)?;
        assert_eq!(usage(&mut third, 3)?, 1000.0 * CPUS, "{cycles} cycles, saved {saved}, stopped {stopped}");
        third.quit()?;
    }
    Ok(())
}

#[test]
fn usage_decays_exactly_once_wherever_a_save_falls_into_a_cycle() -> HostResult<()> {
    const HALF_LIFE: u32 = 3600;
    let left = 1e12 * (1.0 - 0.693 / f64::from(HALF_LIFE)).powi(1000);
    let accident = Accident {
        conf: Conf::new().decay_half_life(HALF_LIFE),
        usage: 1e12,
        jobs: Vec::new(),
        before: Host::save,
        again: NOW + 1000,
        ..Accident::default()
    };
    accident.at_every_lock(|_, second, at| {
        let found = usage(second, 3)?;
        assert!((found / left - 1.0).abs() < 1e-12, "{at}: {found} of {left}");
        Ok(())
    })
}

#[test]
fn usage_is_reset_exactly_once_wherever_a_save_falls_into_a_cycle() -> HostResult<()> {
    Accident { usage: 1e6, ..Accident::over_midnight() }.at_every_lock(|lives, second, at| {
        assert_eq!(usage(second, 3)?, 1000.0 * CPUS, "{at}");
        let file = std::fs::read(lives.file("priority_last_decay_ran"))?;
        assert_eq!(file[8..16], MIDNIGHT.to_be_bytes(), "{at}");
        Ok(())
    })
}

/// Ends a job at the n-th point of a cycle at which nothing is held, saves and kills.
#[test]
fn a_job_that_ends_within_a_cycle_is_charged_to_its_end_and_once_whatever_is_saved_and_killed(
) -> HostResult<()> {
    let accident = Accident {
        before: |host| {
            cycle_at(host, NOW + 100)?;
            host.save()
        },
        ..Accident::default()
    };
    accident.at_every(Stops::Moments, &[false, true], |mut first, at| {
        let later = at.way;
        // Five seconds after the time of the cycle.
        end_job(&mut first.host, 2, NOW + 305)?;
        if !first.save(later)? {
            return Ok(());
        }
        let mut second = first.kill().start(NOW + 1000, &accident.jobs[..1])?;
        let found = [usage(&mut second, 3)?, usage(&mut second, 4)?];
        assert_eq!(found, [1000.0 * CPUS, 305.0 * CPUS], "later: {at}");
        second.quit().map(drop)
    })
}

/// More running jobs than are charged at a time.
#[test]
fn no_job_is_charged_twice_that_ends_while_thousands_are_charged() -> HostResult<()> {
    const JOBS: u32 = 4100;
    let jobs: Vec<Job> = (1..=JOBS).map(|id| running(id, 3 + id % 2, NOW)).collect();
    Accident { jobs, ..Accident::default() }.at_every(Stops::Moments, &["ends"], |mut first, at| {
        for id in [1, 2, 4096, 4097, JOBS] {
            end_job(&mut first.host, id, NOW + 300)?;
        }
        first.finish()?;
        assert_eq!(usage(&mut first.host, 1)?, f64::from(JOBS) * 300.0 * CPUS, "{at}");
        first.host.quit().map(drop)
    })
}

/// Each process of a failed reconfigure loads what was saved and goes on.
#[test]
fn a_process_that_begins_again_with_what_it_has_saved_charges_once() -> HostResult<()> {
    let lives = Lives::new(Conf::new(), "")?;
    let mut host = lives.start(NOW, &[running(1, 3, NOW)])?;
    for round in 1..20_u32 {
        host.set_clock(NOW + 10 * i64::from(round))?;
        let (before, reached) = host.start_cycle_until_any(round)?;
        host.save()?;
        host.go_on()?;
        if !reached {
            host.finish_cycle(before)?;
        }
        host.fini()?;
        host.load()?;
        host.init()?;
        assert_eq!(usage(&mut host, 3)?, f64::from(10 * round) * CPUS, "round {round}");
    }
    let log = host.quit()?;
    assert!(!log.contains("ended without saving usage"), "{log}");
    Ok(())
}
