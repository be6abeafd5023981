//! Clocks that are set, machines that slept, and the calendar.

use slurm_inproc::{AssociationUsage, Conf, Extended, Host, HostResult, Options, Plugin};

use crate::setup::{host, plugins, running, usage, write_times, NOW};

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;
const DAILY: u16 = slurm_inproc::constants::PRIORITY_RESET_DAILY;
const WEEKLY: u16 = 3;
const MONTHLY: u16 = 4;

/// Usage of both users and of the root, bit by bit, after some steps of the clock with a cycle after each.
fn usage_after(plugin: &Plugin, half_life: u32, steps: &[i64]) -> HostResult<Vec<Extended>> {
    let mut host = host(&Options::new(plugin.clone()))?;
    host.configure(&Conf::new().decay_half_life(half_life).enforce(3_u16))?;
    host.usage(&[AssociationUsage::new(3_u32).raw(1e6), AssociationUsage::new(4_u32).raw(2e6)])?;
    host.jobs(&[running(1, 3, NOW), running(2, 4, NOW - 1000)])?;
    host.init()?;
    for step in steps {
        host.advance(*step)?;
        host.cycle()?;
    }
    let all = [3, 4, 1].map(|id| host.dump_association(id).map(|association| association.usage_raw));
    host.quit()?;
    all.into_iter().collect()
}

#[test]
fn clocks_that_are_set_and_machines_that_sleep_cost_what_they_cost_in_stock() -> HostResult<()> {
    let [stock, ours] = plugins()?;
    for half_life in [0, 3600, 604_800] {
        for steps in [
            &[300, HOUR, 300, 300][..],
            &[300, -HOUR, 300, 300],
            &[300, DAY, 300, 300],
            &[300, -DAY, 300, 300],
            &[300, -DAY, 300, DAY, 300],
            &[300, 30 * DAY, 300],
            &[0, -1, 1, 1],
        ] {
            let (theirs, mine) =
                (usage_after(&stock, half_life, steps)?, usage_after(&ours, half_life, steps)?);
            assert_eq!(mine, theirs, "half-life {half_life}, steps {steps:?}");
        }
    }
    Ok(())
}

#[test]
fn a_half_life_changed_on_the_fly_counts_from_the_reconfigure_on_as_in_stock() -> HostResult<()> {
    let run = |plugin: Plugin| -> HostResult<Extended> {
        let mut host = host(&Options::new(plugin))?;
        host.configure(&Conf::new().decay_half_life(604_800_u32))?;
        host.usage(&[AssociationUsage::new(3_u32).raw(1e6)])?;
        host.jobs(&[running(1, 3, NOW)])?;
        host.init()?;
        for half_life in [3600_u32, 0, 86_400] {
            host.configure(&Conf::new().decay_half_life(half_life))?;
            host.reconfigure(false)?;
            host.advance(300)?;
            host.cycle()?;
        }
        let left = host.dump_association(3)?.usage_raw;
        host.quit()?;
        Ok(left)
    };
    let [stock, ours] = plugins()?;
    assert_eq!(run(ours)?, run(stock)?);
    Ok(())
}

/// Times at which usage was found reset, with a cycle every quarter of an hour.
fn resets(plugin: &Plugin, zone: &str, period: u16, from: i64, hours: i64) -> HostResult<Vec<i64>> {
    let mut options = Options::new(plugin.clone());
    options.clock = from;
    zone.clone_into(&mut options.time_zone);
    let mut host = host(&options)?;
    host.configure(&Conf::new().reset_period(period))?;
    host.init()?;
    let mut found = Vec::new();
    for quarter in 1..=hours * 4 {
        if usage(&mut host, 3)? == 0.0 {
            host.usage(&[AssociationUsage::new(3_u32).raw(1.0)])?;
        }
        let now = from + quarter * 900;
        host.set_clock(now)?;
        host.cycle()?;
        if usage(&mut host, 3)? == 0.0 {
            found.push(now);
        }
    }
    host.quit()?;
    Ok(found)
}

#[test]
fn a_daily_reset_happens_at_each_midnight_and_once_when_clocks_are_set_back() -> HostResult<()> {
    let [stock, ours] = plugins()?;
    let zone = "CET-1CEST,M3.5.0,M10.5.0/3";
    // Noon of the Saturday before the last Sunday of October 2033, in summer time.
    let noon = noon_before_autumn();
    let midnights = [noon + 12 * HOUR, noon + 37 * HOUR, noon + 61 * HOUR];
    assert_eq!(resets(&ours, zone, DAILY, noon, 70)?, midnights);
    let theirs = resets(&stock, zone, DAILY, noon, 70)?;
    assert!(theirs.len() > 90, "stock resets in every cycle of a day: {}", theirs.len());
    // In spring, and where nothing changes, both do the same but for stock's hour.
    assert_eq!(resets(&ours, "UTC", DAILY, NOW, 50)?, resets(&stock, "UTC", DAILY, NOW, 50)?);
    assert_eq!(resets(&ours, "UTC", WEEKLY, NOW, 24 * 8)?, resets(&stock, "UTC", WEEKLY, NOW, 24 * 8)?);
    Ok(())
}

/// 2033-10-29 12:00 CEST.
fn noon_before_autumn() -> i64 {
    // Days from 2033-05-18, where `NOW` falls in, to 2033-10-29.
    const DAYS: i64 = 13 + 30 + 31 + 31 + 30 + 29;
    NOW - NOW % DAY + DAYS * DAY + 10 * HOUR
}

#[test]
fn a_reset_that_was_due_while_slurmctld_was_down_happens_once_as_in_stock() -> HostResult<()> {
    let run = |plugin: &Plugin, period: u16, down: i64| -> HostResult<(f64, f64, (i64, i64))> {
        let mut host = host(&Options::new(plugin.clone()))?;
        host.configure(&Conf::new().reset_period(period))?;
        host.usage(&[AssociationUsage::new(3_u32).raw(1e6)])?;
        write_times(&host, NOW - down, NOW - down)?;
        host.init()?;
        let first = usage(&mut host, 3)?;
        host.usage(&[AssociationUsage::new(3_u32).raw(77.0)])?;
        host.advance(300)?;
        host.cycle()?;
        let result = (first, usage(&mut host, 3)?, host.saved_times()?);
        host.quit()?;
        Ok(result)
    };
    let [stock, ours] = plugins()?;
    for period in [DAILY, WEEKLY, MONTHLY] {
        for down in [HOUR, DAY, 9 * DAY, 20 * DAY] {
            assert_eq!(run(&ours, period, down)?, run(&stock, period, down)?, "period {period}, down {down}");
        }
    }
    Ok(())
}

/// The clock goes back over a midnight: usage is not reset a second time in the same hour.
#[test]
fn a_clock_set_back_over_midnight_resets_no_second_time() -> HostResult<()> {
    let [_, ours] = plugins()?;
    let mut host: Host = host(&Options::new(ours))?;
    host.configure(&Conf::new().reset_period(DAILY))?;
    host.init()?;
    let midnight = NOW - NOW % DAY + DAY;
    host.set_clock(midnight + 60)?;
    host.cycle()?;
    host.usage(&[AssociationUsage::new(3_u32).raw(500.0)])?;
    host.set_clock(midnight - 1800)?;
    host.cycle()?;
    host.save()?;
    host.fini()?;
    host.init()?;
    host.set_clock(midnight + 60)?;
    host.cycle()?;
    assert_eq!(usage(&mut host, 3)?, 500.0);
    host.quit().map(drop)
}
