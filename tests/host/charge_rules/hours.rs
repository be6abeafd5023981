//! Lines with `Days` and `Hours`: the seconds of a job that fall into them, by the clock of slurmctld's zone.

use slurm_inproc::{Host, HostResult};

use super::{of, prepare, ran, ALICE};
use crate::charges::{ended, running, LIMITS};
use crate::setup::{options, NOW};

/// What alice's job is charged for the seconds of some cycles, in a zone where [`NOW`] is 03:33:20 UTC, on a Wednesday.
fn charged(zone: &str, settings: &str, cycles: &[i64]) -> HostResult<f64> {
    let mut host = begin(zone, settings)?;
    host.jobs(&[running(1)])?;
    host.init()?;
    for seconds in cycles {
        host.advance(*seconds)?;
        host.cycle()?;
    }
    let raw = of(&mut host, ALICE)?.raw;
    host.quit()?;
    Ok(raw)
}

fn begin(zone: &str, settings: &str) -> HostResult<Host> {
    let mut options = options()?;
    zone.clone_into(&mut options.time_zone);
    let mut host = Host::start(&options)?;
    prepare(&mut host, settings, LIMITS)?;
    Ok(host)
}

#[test]
fn the_seconds_in_the_hours_of_a_line_are_multiplied_and_no_others() -> HostResult<()> {
    let line = "Charge=Partition Name=batch Factor=0.5 Hours=03:35-03:37\n";
    // 100 seconds before, 120 within, 80 behind.
    let expected = ran(100.0 + 60.0 + 80.0, 1.0, 1.0).raw;
    for cycles in [&[300][..], &[60, 60, 60, 60, 60], &[100, 120, 80], &[1, 299]] {
        assert_eq!(charged("UTC", line, cycles)?, expected, "{cycles:?}");
    }
    Ok(())
}

#[test]
fn days_and_hours_are_those_of_the_zone_of_slurmctld() -> HostResult<()> {
    for (zone, days, hours, factor) in [
        ("UTC", "Wed", "03:00-04:00", 0.25),
        ("UTC", "Thu,Tue", "03:00-04:00", 1.0),
        ("UTC", "Mon-Fri", "18:00-03:00", 1.0),
        ("UTC", "Mon-Fri", "18:00-06:00", 0.25),
        // 23:33:20 of the day before, in summer.
        ("America/New_York", "Tue", "23:00-24:00", 0.25),
        ("America/New_York", "Wed", "03:00-04:00", 1.0),
        ("Asia/Kolkata", "Wed", "09:03-09:10", 0.25),
    ] {
        let line = format!("Charge=Parent Name=physics Factor=0.25 Days={days} Hours={hours}\n");
        assert_eq!(charged(zone, &line, &[200])?, ran(200.0, factor, 1.0).raw, "{zone} {line}");
    }
    Ok(())
}

#[test]
fn lines_multiply_with_each_other_and_with_plain_ones_by_the_second() -> HostResult<()> {
    let lines = "Charge=QOS Name=normal Factor=3\nCharge=Partition Name=batch Factor=0.5 Days=Wed\n\
                 Charge=Account Name=physics Factor=8 Hours=03:34-03:35\n";
    // 40 seconds before, 60 within, 100 behind.
    let expected = ran(140.0, 1.5, 1.0).raw + ran(60.0, 12.0, 1.0).raw;
    assert!((charged("UTC", lines, &[200])? / expected - 1.0).abs() < 1e-12);
    Ok(())
}

#[test]
fn what_is_missing_to_a_minimum_counts_as_the_last_second() -> HostResult<()> {
    // The job ends at 03:35:00: its last second is before the hours.
    for (hours, end, raw) in [
        ("03:35-04:00", 100, ran(600.0, 1.0, 1.0).raw),
        ("03:35-04:00", 101, ran(100.0 + 500.0 * 0.5, 1.0, 1.0).raw),
        ("03:00-03:35", 100, ran(600.0, 0.5, 1.0).raw),
    ] {
        let line = format!("MinimumCharge=10:00\nCharge=Partition Name=batch Factor=0.5 Hours={hours}\n");
        let mut host = begin("UTC", &line)?;
        host.jobs(&[running(1)])?;
        host.init()?;
        host.advance(50)?;
        host.cycle()?;
        host.advance(end - 50)?;
        host.jobs(&[ended(1, NOW + end)])?;
        host.job_end(1)?;
        assert_eq!(of(&mut host, ALICE)?.raw, raw, "{hours} {end}");
        host.quit()?;
    }
    Ok(())
}

/// The last Sunday of March and of October 2033 in Germany: 02:00 to 03:00 is not there, and is there twice.
#[test]
fn the_nights_in_which_clocks_are_changed_count_no_hour_and_two() -> HostResult<()> {
    // 02:00 by the clock before the change, in seconds since 1970.
    for (change, hours) in [(1_995_498_000, 0.0), (2_014_243_200, 2.0)] {
        let line = "Charge=Partition Name=batch Factor=0 Days=Sun Hours=02:00-03:00\n";
        let mut host = begin("Europe/Berlin", line)?;
        host.set_clock(change - 3 * 3600)?;
        host.jobs(&[running(1).start_time(change - 3 * 3600).end_time_expected(change + 9 * 3600)])?;
        host.init()?;
        for _ in 0..6 {
            host.advance(3600)?;
            host.cycle()?;
        }
        assert_eq!(of(&mut host, ALICE)?.raw, ran(3600.0 * (6.0 - hours), 1.0, 1.0).raw, "{change}");
        host.quit()?;
    }
    Ok(())
}
