//! `priority_last_decay_ran`: written each cycle, begins with the same bytes as stock's, and is never trusted blindly.

use std::fs;
use std::path::{Path, PathBuf};

use slurm_inproc::{AssociationUsage, Conf, Host, HostResult};

use crate::setup::{eventually, fill, in_both, our_errors, ours, waiting, NOW};

fn file(host: &Host) -> PathBuf {
    host.directory().join("state/priority_last_decay_ran")
}

fn times(last_ran: i64, last_reset: i64) -> Vec<u8> {
    [last_ran.to_be_bytes(), last_reset.to_be_bytes()].concat()
}

/// What stock reads of the file.
fn head(file: &Path) -> HostResult<Vec<u8>> {
    let mut bytes = fs::read(file)?;
    bytes.truncate(16);
    Ok(bytes)
}

fn prepare(host: &mut Host) -> HostResult<()> {
    fill(host)?;
    host.configure(&Conf::new().weight_age(1000_u32).decay_half_life(604_800_u32))?;
    host.usage(&[AssociationUsage::new(4_u32).raw(1_000_000_u64)])?;
    host.jobs(&[waiting(1)])
}

#[test]
fn each_cycle_writes_two_times_in_network_order_and_keeps_the_ones_before() -> HostResult<()> {
    let mut host = ours()?;
    prepare(&mut host)?;
    host.init()?;
    for round in 1..=3 {
        host.advance(300)?;
        host.cycle()?;
        assert_eq!(head(&file(&host))?, times(NOW + 300 * round, NOW));
        assert_eq!(head(&file(&host).with_extension("old"))?, times(NOW + 300 * (round - 1), NOW));
    }
    assert!(!file(&host).with_extension("new").exists());
    host.quit().map(drop)
}

#[test]
fn the_file_of_either_plugin_is_read_by_both_as_by_stock() -> HostResult<()> {
    // Last run an hour ago, in the future, never; last reset long ago or never.
    for (last_ran, last_reset) in
        [(NOW - 3600, NOW - 90_000), (NOW + 3600, NOW), (0, 0), (NOW - 60, 0), (0, NOW - 9)]
    {
        let both = in_both(|host| {
            prepare(host)?;
            fs::write(file(host), times(last_ran, last_reset))?;
            host.init()?;
            let first = (host.dump_association(4)?.usage_raw, head(&file(host))?);
            host.advance(7200)?;
            host.cycle()?;
            Ok((first, host.dump_association(4)?.usage_raw, head(&file(host))?))
        })?;
        assert_eq!(both.ours, both.stock, "{last_ran} {last_reset}");
    }
    Ok(())
}

/// slurmctld may start again in the second of its last cycle, and where clocks differ by their time zones.
#[test]
fn a_cycle_in_this_second_and_a_reset_up_to_a_day_ahead_are_believed() -> HostResult<()> {
    const DAY: i64 = 86_400;
    for (last_ran, last_reset, warned) in
        [(NOW, NOW + DAY, false), (NOW + 1, NOW + DAY, true), (NOW, NOW + DAY + 1, false)]
    {
        let mut host = ours()?;
        prepare(&mut host)?;
        fs::write(file(&host), times(last_ran, last_reset))?;
        host.init()?;
        let believed = if last_reset > NOW + DAY { NOW } else { last_reset };
        assert_eq!(host.saved_times()?, (NOW, believed), "{last_ran} {last_reset}");
        let log = host.quit()?;
        assert_eq!(
            log.contains("says that the last calculation ran"),
            warned,
            "{last_ran} {last_reset}: {log}"
        );
    }
    Ok(())
}

#[test]
fn a_damaged_file_is_put_aside_and_slurmctld_starts() -> HostResult<()> {
    let mut host = ours()?;
    prepare(&mut host)?;
    for size in 1..16 {
        let damaged = times(NOW - 3600, NOW - 3600)[..size].to_vec();
        fs::write(file(&host), &damaged)?;
        host.init()?;
        let log = host.log();
        let errors = our_errors(&log);
        assert_eq!(errors.len(), size, "one each time: {log}");
        let last = errors.last().copied().unwrap_or_default();
        assert!(last.contains(&format!("has {size} bytes, 16 expected; it was renamed to ")), "{last}");
        assert!(last.contains("priority_last_decay_ran.damaged. Usage decays"), "{last}");
        assert_eq!(fs::read(file(&host).with_extension("damaged"))?, damaged);
        assert_eq!(host.saved_times()?, (NOW, NOW), "the next cycle writes a whole one");
        host.fini()?;
    }
    host.quit().map(drop)
}

#[test]
fn a_file_that_cannot_be_read_is_put_aside_and_slurmctld_starts() -> HostResult<()> {
    let mut host = ours()?;
    prepare(&mut host)?;
    fs::create_dir(file(&host))?;
    host.init()?;
    assert!(file(&host).with_extension("damaged").is_dir());
    assert_eq!(host.saved_times()?, (NOW, NOW));
    let log = host.quit()?;
    let errors = our_errors(&log);
    assert!(errors.len() == 1 && errors[0].contains("cannot read"), "{log}");
    Ok(())
}

#[test]
fn no_file_and_an_empty_one_are_a_new_cluster() -> HostResult<()> {
    for empty in [false, true] {
        let mut host = ours()?;
        prepare(&mut host)?;
        if empty {
            fs::write(file(&host), [])?;
        }
        host.init()?;
        assert_eq!(head(&file(&host))?, times(NOW, NOW));
        assert_eq!(our_errors(&host.quit()?), Vec::<&str>::new());
    }
    Ok(())
}

#[test]
fn a_cycle_that_cannot_save_says_so_and_goes_on() -> HostResult<()> {
    let mut host = ours()?;
    prepare(&mut host)?;
    host.init()?;
    let (state, away) = (host.directory().join("state"), host.directory().join("away"));
    // A thread saves the settings once; an error about that file is another test's.
    eventually(|| state.join("multifactor2_settings").exists().then_some(()))
        .expect("the settings are saved");
    fs::rename(&state, &away)?;
    for round in 1..=3_u32 {
        host.advance(86_400 / 4)?;
        host.cycle()?;
        assert_eq!(host.dump_job(1)?.priority, (250 + 250 * round).min(1000));
    }
    fs::rename(&away, &state)?;
    host.cycle()?;
    assert_eq!(host.saved_times()?.0, NOW + 3 * 86_400 / 4, "and saves again once it can");
    let log = host.quit()?;
    let errors = our_errors(&log);
    assert_eq!(errors.len(), 1, "{log}");
    assert!(
        errors[0].contains("cannot save") && errors[0].contains("free space or correct the permissions"),
        "{log}"
    );
    Ok(())
}
