//! `priority_last_decay_ran`: written each cycle, the same bytes as stock's, and never trusted blindly.

use std::fs;
use std::path::PathBuf;

use slurm_inproc::{AssociationUsage, Conf, Error, Host, HostResult};

use crate::setup::{fill, in_both, our_errors, ours, waiting, NOW};

fn file(host: &Host) -> PathBuf {
    host.directory().join("state/priority_last_decay_ran")
}

fn times(last_ran: i64, last_reset: i64) -> Vec<u8> {
    [last_ran.to_be_bytes(), last_reset.to_be_bytes()].concat()
}

fn prepare(host: &mut Host) -> HostResult<()> {
    fill(host)?;
    host.configure(&Conf::new().weight_age(1000_u32).decay_half_life(604_800_u32))?;
    host.usage(&[AssociationUsage::new(4_u32).raw(1_000_000_u64)])?;
    host.jobs(&[waiting(1)])
}

fn is_refused(result: &HostResult<slurm_inproc::Cycle>) -> bool {
    matches!(result, Err(Error::Refused { request, .. }) if request == "init")
}

#[test]
fn each_cycle_writes_two_times_in_network_order_and_keeps_the_ones_before() -> HostResult<()> {
    let mut host = ours()?;
    prepare(&mut host)?;
    host.init()?;
    for round in 1..=3 {
        host.advance(300)?;
        host.cycle()?;
        assert_eq!(fs::read(file(&host))?, times(NOW + 300 * round, NOW));
        assert_eq!(fs::read(file(&host).with_extension("old"))?, times(NOW + 300 * (round - 1), NOW));
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
            let first = (host.dump_association(4)?.usage_raw, fs::read(file(host))?);
            host.advance(7200)?;
            host.cycle()?;
            Ok((first, host.dump_association(4)?.usage_raw, fs::read(file(host))?))
        })?;
        assert_eq!(both.ours, both.stock, "{last_ran} {last_reset}");
    }
    Ok(())
}

#[test]
fn a_damaged_file_is_refused_without_i_and_taken_with_it() -> HostResult<()> {
    let mut host = ours()?;
    prepare(&mut host)?;
    for size in 1..16 {
        host.configure(&Conf::new().ignore_state_errors(false))?;
        fs::write(file(&host), &times(NOW - 3600, NOW - 3600)[..size])?;
        assert!(is_refused(&host.init()), "{size} bytes");
        let log = host.log();
        let advice = format!("has {size} bytes, 16 expected. Restore it from");
        assert!(our_errors(&log).iter().any(|l| l.contains(&advice) && l.contains("-i")), "{log}");
        host.configure(&Conf::new().ignore_state_errors(true))?;
        host.init()?;
        assert_eq!(fs::read(file(&host))?.len(), 16, "the next cycle writes a whole one");
        host.fini()?;
    }
    host.quit().map(drop)
}

#[test]
fn a_file_that_cannot_be_read_is_refused_without_i() -> HostResult<()> {
    let mut host = ours()?;
    prepare(&mut host)?;
    fs::create_dir(file(&host))?;
    assert!(is_refused(&host.init()));
    assert!(host.log().contains("cannot read"), "{}", host.log());
    host.configure(&Conf::new().ignore_state_errors(true))?;
    host.init()?;
    let log = host.quit()?;
    assert!(our_errors(&log).iter().any(|line| line.contains("cannot save")), "{log}");
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
        assert_eq!(fs::read(file(&host))?, times(NOW, NOW));
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
    assert_eq!(errors.len(), 3, "{log}");
    assert!(
        errors[0].contains("cannot save") && errors[0].contains("make room or mend the permissions"),
        "{log}"
    );
    Ok(())
}
