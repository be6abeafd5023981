//! init, fini and reconfigure in one process, as often as it likes.

use slurm_inproc::{AssociationUsage, Conf, Host, HostResult};

use crate::setup::{fill, in_both, ours, waiting, NOW};

fn decay_threads(host: &Host) -> HostResult<usize> {
    Ok(host.threads()?.iter().filter(|name| *name == "decay").count())
}

fn host() -> HostResult<Host> {
    let mut host = ours()?;
    fill(&mut host)?;
    host.configure(
        &Conf::new().weight_age(1000_u32).weight_fairshare(1000_u32).decay_half_life(604_800_u32),
    )?;
    host.usage(&[AssociationUsage::new(4_u32)
        .raw(1000_u64)
        .wall(10.0)
        .tres([(1, slurm_inproc::Extended::from(1000.0))])])?;
    host.jobs(&[waiting(1)])?;
    Ok(host)
}

#[test]
fn there_is_one_decay_thread_from_init_to_fini() -> HostResult<()> {
    let mut host = host()?;
    for _ in 0..5 {
        assert_eq!(decay_threads(&host)?, 0);
        host.init()?;
        assert_eq!(decay_threads(&host)?, 1);
        host.reconfigure(false)?;
        host.cycle()?;
        assert_eq!(decay_threads(&host)?, 1);
        host.fini()?;
    }
    assert_eq!(decay_threads(&host)?, 0);
    assert_eq!(host.threads()?.len(), 1, "no other thread of ours stays either");
    host.quit().map(drop)
}

#[test]
fn usage_and_the_time_of_the_last_decay_live_through_init_and_fini_as_with_stock() -> HostResult<()> {
    let both = in_both(|host| {
        fill(host)?;
        host.configure(&Conf::new().weight_age(1000_u32).decay_half_life(604_800_u32))?;
        host.usage(&[AssociationUsage::new(4_u32).raw(1000_u64).wall(10.0)])?;
        host.jobs(&[waiting(1)])?;
        let mut usage = Vec::new();
        for round in 0..6 {
            host.init()?;
            host.advance(1000 * round)?;
            host.save()?;
            host.fini()?;
            usage.push((
                host.dump_association(4)?.usage_raw,
                host.dump_job(1)?.priority,
                host.saved_times()?,
            ));
        }
        Ok(usage)
    })?;
    assert_eq!(both.ours, both.stock);
    Ok(())
}

#[test]
fn a_cycle_at_the_same_second_changes_nothing() -> HostResult<()> {
    let mut host = host()?;
    host.init()?;
    let before = host.snapshot()?;
    for _ in 0..3 {
        host.cycle()?;
    }
    host.save()?;
    host.fini()?;
    host.init()?;
    assert_eq!(host.snapshot()?, before);
    assert_eq!(host.saved_times()?, (NOW, NOW));
    host.quit().map(drop)
}

#[test]
fn priorities_are_the_same_before_and_after_a_reload() -> HostResult<()> {
    let mut host = host()?;
    host.jobs(&[
        waiting(2).association(5_u32).user_id(1005_u32),
        waiting(3).association(6_u32).user_id(1006_u32),
    ])?;
    host.init()?;
    let before: Vec<u32> = host.dump_jobs()?.iter().map(|job| job.priority).collect();
    host.fini()?;
    host.init()?;
    let after: Vec<u32> = host.dump_jobs()?.iter().map(|job| job.priority).collect();
    assert_eq!(after, before);
    assert!(before.iter().all(|priority| *priority >= 250), "age and fair-share: {before:?}");
    host.quit().map(drop)
}
