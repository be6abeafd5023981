//! State files that are not what they should be.

use std::fs;

use slurm_inproc::{AssociationUsage, Conf, HostResult, Options};

use crate::setup::{host, plugins, running, usage, write_times, write_usage_saved, CPUS, NOW};

#[test]
fn a_negative_or_absurd_time_is_put_aside_where_stock_turns_usage_into_nothing() -> HostResult<()> {
    let [stock, ours] = plugins()?;
    for wrong in [-1, i64::MIN, -NOW, 253_402_300_800, i64::MAX] {
        let mut host = host(&Options::new(ours.clone()))?;
        host.configure(&Conf::new().decay_half_life(3600_u32))?;
        host.usage(&[AssociationUsage::new(3_u32).raw(1e6)])?;
        write_times(&host, wrong, NOW)?;
        host.init()?;
        let log = host.log();
        assert_eq!(log.lines().filter(|line| line.contains("error: priority/")).count(), 1, "{log}");
        assert!(log.contains(&format!("has {wrong} where")) && log.contains(".damaged"), "{log}");
        assert_eq!(usage(&mut host, 3)?, 1e6, "{wrong}");
        assert_eq!(host.saved_times()?, (NOW, NOW), "{wrong}");
        host.quit()?;
    }
    let mut host = host(&Options::new(stock))?;
    host.configure(&Conf::new().decay_half_life(3600_u32))?;
    host.usage(&[AssociationUsage::new(3_u32).raw(1e6)])?;
    write_times(&host, -NOW, NOW)?;
    host.init()?;
    assert!(usage(&mut host, 3)? < 1e-9);
    host.quit().map(drop)
}

#[test]
fn text_instead_of_times_is_put_aside_and_usage_stays() -> HostResult<()> {
    let [_, ours] = plugins()?;
    let mut host = host(&Options::new(ours))?;
    host.configure(&Conf::new().decay_half_life(3600_u32))?;
    host.usage(&[AssociationUsage::new(3_u32).raw(1e6)])?;
    let file = host.directory().join("state/priority_last_decay_ran");
    let text = "last ran on Monday, last reset never";
    fs::write(&file, text)?;
    host.init()?;
    assert_eq!(usage(&mut host, 3)?, 1e6);
    assert_eq!(fs::read_to_string(file.with_extension("damaged"))?, text);
    assert_eq!(host.saved_times()?, (NOW, NOW));
    host.quit().map(drop)
}

#[test]
fn a_damaged_file_does_not_charge_running_jobs_again() -> HostResult<()> {
    let [_, ours] = plugins()?;
    for (saved, seconds) in [(None, 0.0), (Some(NOW - 200), 200.0), (Some(NOW + 999), 0.0)] {
        let mut host = host(&Options::new(ours.clone()))?;
        let state = host.directory().join("state");
        // All but the last seconds are in the usage that slurmctld has loaded.
        host.usage(&[AssociationUsage::new(3_u32).raw(1e6)])?;
        host.jobs(&[running(1, 3, NOW - 250_000)])?;
        fs::write(state.join("priority_last_decay_ran"), b"too short")?;
        if let Some(saved) = saved {
            write_usage_saved(&state, saved)?;
        }
        host.init()?;
        assert_eq!(usage(&mut host, 3)?, 1e6 + seconds * CPUS);
        host.quit()?;
    }
    Ok(())
}

/// Classic fair-share of stock's charges nothing in such a first cycle; Fair Tree charges all of it again.
#[test]
fn without_a_file_running_jobs_are_not_charged_again_for_what_was_saved() -> HostResult<()> {
    const NO_FAIR_TREE: u16 = 0;
    let [_, ours] = plugins()?;
    for flags in [NO_FAIR_TREE, 0x20] {
        let mut host = host(&Options::new(ours.clone()))?;
        host.configure(&Conf::new().flags(flags))?;
        host.usage(&[AssociationUsage::new(3_u32).raw(250_000.0 * CPUS)])?;
        host.jobs(&[running(1, 3, NOW - 250_000)])?;
        host.set_clock(NOW - 200)?;
        host.save()?;
        host.set_clock(NOW)?;
        host.init()?;
        assert_eq!(usage(&mut host, 3)?, 250_200.0 * CPUS, "flags {flags}");
        host.quit()?;
    }
    Ok(())
}

#[test]
fn a_future_time_is_warned_of_and_does_no_harm() -> HostResult<()> {
    let [_, ours] = plugins()?;
    let mut host = host(&Options::new(ours))?;
    host.configure(
        &Conf::new().decay_half_life(3600_u32).reset_period(slurm_inproc::constants::PRIORITY_RESET_DAILY),
    )?;
    host.usage(&[AssociationUsage::new(3_u32).raw(1e6)])?;
    write_times(&host, NOW + 86_400 * 365, NOW + 86_400 * 365)?;
    host.init()?;
    assert!(host.log().contains("the clock was set back"), "{}", host.log());
    assert_eq!((usage(&mut host, 3)?, host.saved_times()?), (1e6, (NOW, NOW)));
    // The next reset is tomorrow's, not one in a year.
    host.advance(86_400)?;
    host.cycle()?;
    assert_eq!(usage(&mut host, 3)?, 0.0);
    host.quit().map(drop)
}

/// A file system without room, mounted where only the host sees it.
#[test]
fn a_full_disk_costs_an_error_line_and_nothing_else() -> HostResult<()> {
    let [_, ours] = plugins()?;
    let mut options = Options::new(ours);
    let place = tempfile::tempdir()?;
    let script = format!(
        "mount -t tmpfs -o size=4k tmpfs {0} && head -c 4096 /dev/zero > {0}/fill && exec \"$@\"",
        place.path().display()
    );
    options.wrapper = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", &script, "sh"]
        .map(str::to_owned)
        .to_vec();
    // With a file of our own sums.
    options.files =
        vec![("multifactor2.conf".to_owned(), "Target=Partition Name=batch Percent=50\n".to_owned())];
    let mut host = host(&options)?;
    host.configure(&Conf::new().state_save_location(place.path().display().to_string()))?;
    host.jobs(&[running(1, 3, NOW)])?;
    host.init()?;
    for _ in 0..3 {
        host.advance(300)?;
        host.cycle()?;
    }
    assert_eq!(usage(&mut host, 3)?, 900.0 * CPUS);
    let log = host.quit()?;
    assert!(log.contains("cannot save") && log.contains("No space left"), "{log}");
    let of_sums: Vec<&str> = log.lines().filter(|line| line.contains("multifactor2_usage: ")).collect();
    assert!(matches!(of_sums[..], [one] if one.contains("No space left")), "{log}");
    Ok(())
}
