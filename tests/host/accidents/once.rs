//! All time is charged exactly once, whenever slurmctld saves usage and however it ends: the real `dump_assoc_mgr_state` and
//! `load_assoc_usage`, at every lock that a cycle takes, all within one second of the clock.

use slurm_inproc::{state, AssociationUsage, Conf, Host, HostResult, Job};

use crate::lives::{at_every_lock, first_life, save_in_cycle, Announced, End, Lives};
use crate::setup::{plugins, running, usage, CPUS, NOW};

const DAY: i64 = 86_400;
const DAILY: u16 = 2;

#[test]
fn running_jobs_are_charged_for_all_of_their_time_wherever_a_save_falls_into_a_cycle() -> HostResult<()> {
    let [_, ours] = plugins()?;
    let jobs = [running(1, 3, NOW), running(2, 4, NOW)];
    for early_save in [false, true] {
        let locks = at_every_lock(|lock, end| {
            let lives = Lives::new(&ours, Conf::new())?;
            if !first_life(&lives, &jobs, early_save, lock, end)? {
                return Ok(false);
            }
            let mut second = lives.start(NOW + 300, &jobs)?;
            second.init()?;
            assert_eq!(usage(&mut second, 3)?, 300.0 * CPUS, "lock {lock}, {end:?}, in the same second");
            second.set_clock(NOW + 1000)?;
            second.cycle()?;
            assert_eq!(usage(&mut second, 3)?, 1000.0 * CPUS, "lock {lock}, {end:?}");
            assert_eq!(usage(&mut second, 1)?, 2000.0 * CPUS, "lock {lock}, {end:?}: the root");
            let told = second.quit()?.contains("ended without saving usage");
            assert!(!(told && end == End::Stopped), "lock {lock}: a regular end is no kill");
            Ok(true)
        })?;
        println!("saved at {locks} points of a cycle");
        assert!(locks >= 7, "{locks}");
    }
    Ok(())
}

/// The one case that nothing on the disk tells from a cycle that was charged and saved. See `progress::journal`.
#[test]
fn a_kill_right_after_a_save_that_came_between_announcement_and_charge_costs_that_cycle_and_charges_nothing_twice(
) -> HostResult<()> {
    let [_, ours] = plugins()?;
    let jobs = [running(1, 3, NOW)];
    let mut moments = 0;
    for lock in 1.. {
        let lives = Lives::new(&ours, Conf::new())?;
        let mut first = lives.start(NOW, &jobs)?;
        first.init()?;
        first.set_clock(NOW + 100)?;
        first.cycle()?;
        first.set_clock(NOW + 300)?;
        let (_, reached) = first.start_cycle_until_any(lock)?;
        if !reached {
            break;
        }
        let announced = Announced::now(&lives, &mut first, NOW + 300, 100.0 * CPUS)?.is_some();
        first.save()?;
        drop(first);
        let mut second = lives.start(NOW + 1000, &jobs)?;
        second.init()?;
        let lost = if announced { 200.0 } else { 0.0 };
        assert_eq!(usage(&mut second, 3)?, (1000.0 - lost) * CPUS, "lock {lock}");
        moments += u32::from(announced);
        second.quit()?;
    }
    assert_eq!(moments, 2, "before the lock of jobs, and before that of associations");
    Ok(())
}

#[test]
fn stock_goes_on_where_ours_was_stopped_wherever_the_save_fell() -> HostResult<()> {
    let [stock, ours] = plugins()?;
    let jobs = [running(1, 3, NOW)];
    for lock in 1.. {
        let mut lives = Lives::new(&ours, Conf::new())?;
        let mut first = lives.start(NOW, &jobs)?;
        first.init()?;
        if !save_in_cycle(&lives, first, NOW + 300, lock, End::Stopped)? {
            assert!(lock > 7, "{lock} locks");
            break;
        }
        lives.plugin = &stock;
        let mut second = lives.start(NOW + 1000, &jobs)?;
        second.init()?;
        assert_eq!(usage(&mut second, 3)?, 1000.0 * CPUS, "lock {lock}");
        // And back, with stock's file and a regular end.
        second.save()?;
        second.quit()?;
        lives.plugin = &ours;
        let mut third = lives.start(NOW + 1500, &jobs)?;
        third.init()?;
        assert_eq!(usage(&mut third, 3)?, 1500.0 * CPUS, "lock {lock}");
        third.quit()?;
    }
    Ok(())
}

#[test]
fn a_cycle_that_was_killed_is_charged_by_the_next_process_before_and_after_further_kills() -> HostResult<()> {
    let [_, ours] = plugins()?;
    let jobs = [running(1, 3, NOW)];
    let lives = Lives::new(&ours, Conf::new())?;
    // Ten processes, each killed at another point of its second cycle, with a save at every third point.
    for round in 0..10 {
        let now = NOW + 1000 * round;
        let mut host = lives.start(now, &jobs)?;
        host.init()?;
        let due = f64::from(u32::try_from(1000 * round).unwrap_or(0)) * CPUS;
        assert_eq!(usage(&mut host, 3)?, due, "round {round}");
        host.set_clock(now + 500)?;
        let lock = u32::try_from(round).unwrap_or(0) + 1;
        let (_, reached) = host.start_cycle_until_any(lock)?;
        if reached && round % 3 == 0 && Announced::now(&lives, &mut host, now + 500, due)?.is_none() {
            host.save()?;
        }
    }
    Ok(())
}

#[test]
fn a_save_between_the_start_and_the_first_cycle_includes_what_was_loaded() -> HostResult<()> {
    let [_, ours] = plugins()?;
    let jobs = [running(1, 3, NOW)];
    // A new cluster; one that was killed with cycles after its last save; one that was stopped.
    for (cycles, saved, stopped) in [(0, false, false), (0, true, false), (2, true, false), (2, true, true)] {
        let lives = Lives::new(&ours, Conf::new())?;
        let mut first = lives.start(NOW, &jobs)?;
        first.init()?;
        if saved {
            first.save()?;
        }
        for cycle in 1..=cycles {
            first.set_clock(NOW + 100 * cycle)?;
            first.cycle()?;
        }
        if stopped {
            first.save()?;
            first.fini()?;
        }
        drop(first);
        for lock in 1..4 {
            // Started, saved before anything is charged, killed.
            let mut second = lives.start(NOW + 300, &jobs)?;
            second.request(&format!("stop at={lock} inside=1"))?;
            second.init_without_thread()?;
            second.wait_until_stopped()?;
            second.save()?;
        }
        let mut third = lives.start(NOW + 1000, &jobs)?;
        third.init()?;
        assert_eq!(usage(&mut third, 3)?, 1000.0 * CPUS, "{cycles} cycles, saved {saved}, stopped {stopped}");
        third.quit()?;
    }
    Ok(())
}

#[test]
fn usage_decays_exactly_once_wherever_a_save_falls_into_a_cycle() -> HostResult<()> {
    const HALF_LIFE: u32 = 3600;
    let [_, ours] = plugins()?;
    let left = 1e12 * (1.0 - 0.693 / f64::from(HALF_LIFE)).powi(1000);
    at_every_lock(|lock, end| {
        let lives = Lives::new(&ours, Conf::new().decay_half_life(HALF_LIFE))?;
        let mut first = lives.start(NOW, &[])?;
        first.usage(&[AssociationUsage::new(3_u32).raw(1e12)])?;
        first.init()?;
        first.save()?;
        if !save_in_cycle(&lives, first, NOW + 300, lock, end)? {
            return Ok(false);
        }
        let mut second = lives.start(NOW + 1000, &[])?;
        second.init()?;
        let found = usage(&mut second, 3)?;
        assert!((found / left - 1.0).abs() < 1e-12, "lock {lock}, {end:?}: {found} of {left}");
        second.quit()?;
        Ok(true)
    })
    .map(drop)
}

#[test]
fn usage_is_reset_exactly_once_wherever_a_save_falls_into_a_cycle() -> HostResult<()> {
    let [_, ours] = plugins()?;
    let midnight = NOW - NOW % DAY + DAY;
    let jobs = [running(1, 3, midnight - 500)];
    at_every_lock(|lock, end| {
        let lives = Lives::new(&ours, Conf::new().reset_period(DAILY))?;
        let mut first = lives.start(midnight - 400, &jobs)?;
        first.usage(&[AssociationUsage::new(3_u32).raw(1e6)])?;
        first.init()?;
        first.save()?;
        // Resets, and charges all of its period, as stock does.
        if !save_in_cycle(&lives, first, midnight + 10, lock, end)? {
            return Ok(false);
        }
        let mut second = lives.start(midnight + 600, &jobs)?;
        second.init()?;
        assert_eq!(usage(&mut second, 3)?, 1000.0 * CPUS, "lock {lock}, {end:?}");
        let file = std::fs::read(lives.state.path().join("priority_last_decay_ran"))?;
        assert_eq!(file[8..16], midnight.to_be_bytes(), "lock {lock}, {end:?}");
        second.quit()?;
        Ok(true)
    })
    .map(drop)
}

/// Ends a job at the n-th point of a cycle at which nothing is held, saves and kills.
#[test]
fn a_job_that_ends_within_a_cycle_is_charged_to_its_end_and_once_whatever_is_saved_and_killed(
) -> HostResult<()> {
    let [_, ours] = plugins()?;
    let jobs = [running(1, 3, NOW), running(2, 4, NOW)];
    for lock in 1.. {
        for later in [false, true] {
            let lives = Lives::new(&ours, Conf::new())?;
            let mut first = lives.start(NOW, &jobs)?;
            first.init()?;
            first.set_clock(NOW + 100)?;
            first.cycle()?;
            first.save()?;
            first.set_clock(NOW + 300)?;
            let (before, reached) = first.start_cycle_until_free(lock)?;
            if !reached {
                assert!(lock > 8, "{lock} moments");
                return Ok(());
            }
            // Five seconds after the time of the cycle.
            first.set_clock(NOW + 305)?;
            first.jobs(&[Job::new(2_u32).state(state::COMPLETE).end_time(NOW + 305)])?;
            first.job_end(2)?;
            let announced = Announced::now(&lives, &mut first, NOW + 300, 100.0 * CPUS)?;
            first.save()?;
            if announced.is_some() && !later {
                continue;
            }
            if later {
                first.go_on()?;
                first.finish_cycle(before)?;
            }
            drop(first);
            let mut second = lives.start(NOW + 1000, &jobs[..1])?;
            second.init()?;
            let found = [usage(&mut second, 3)?, usage(&mut second, 4)?];
            assert_eq!(found, [1000.0 * CPUS, 305.0 * CPUS], "lock {lock}, later: {later}");
            second.quit()?;
        }
    }
    Ok(())
}

/// More running jobs than are charged at a time.
#[test]
fn no_job_is_charged_twice_that_ends_while_thousands_are_charged() -> HostResult<()> {
    const JOBS: u32 = 4100;
    let [_, ours] = plugins()?;
    let jobs: Vec<Job> = (1..=JOBS).map(|id| running(id, 3 + id % 2, NOW)).collect();
    let end = |host: &mut Host, id: u32| -> HostResult<()> {
        host.jobs(&[Job::new(id).state(state::COMPLETE).end_time(NOW + 300)])?;
        host.job_end(id)
    };
    for lock in 1.. {
        let lives = Lives::new(&ours, Conf::new())?;
        let mut host = lives.start(NOW, &jobs)?;
        host.init()?;
        host.set_clock(NOW + 300)?;
        let (before, reached) = host.start_cycle_until_free(lock)?;
        if !reached {
            assert!(lock > 8, "{lock} moments");
            break;
        }
        for id in [1, 2, 4096, 4097, JOBS] {
            end(&mut host, id)?;
        }
        host.go_on()?;
        host.finish_cycle(before)?;
        assert_eq!(usage(&mut host, 1)?, f64::from(JOBS) * 300.0 * CPUS, "lock {lock}");
        host.quit()?;
    }
    Ok(())
}

/// Each process of a failed reconfigure loads what was saved and goes on.
#[test]
fn a_process_that_begins_again_with_what_it_has_saved_charges_once() -> HostResult<()> {
    let [_, ours] = plugins()?;
    let lives = Lives::new(&ours, Conf::new())?;
    let mut host = lives.start(NOW, &[running(1, 3, NOW)])?;
    host.init()?;
    for round in 1..20 {
        host.set_clock(NOW + 10 * round)?;
        let lock = u32::try_from(round).unwrap_or(1);
        let (before, reached) = host.start_cycle_until_any(lock)?;
        host.save()?;
        host.go_on()?;
        if !reached {
            host.finish_cycle(before)?;
        }
        host.fini()?;
        host.load()?;
        host.init()?;
        #[expect(clippy::cast_precision_loss, reason = "seconds")]
        let due = (10 * round) as f64 * CPUS;
        assert_eq!(usage(&mut host, 3)?, due, "round {round}");
    }
    let log = host.quit()?;
    assert!(!log.contains("ended without saving usage"), "{log}");
    Ok(())
}
