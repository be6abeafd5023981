//! Time in the host stands still, and the stock plugin's usage arithmetic is known to the last bit.

mod shared;

use shared::{pending, small_cluster, NOW};
use slurm_inproc::{state, AssociationUsage, Conf, Extended, Host, HostResult, Job, Qos, QosUsage};

const HALF_LIFE: u32 = 7 * 86_400;

/// The factor by which Slurm decays usage over some seconds.
fn decay(seconds: f64) -> f64 {
    (1.0 - 0.693 / f64::from(HALF_LIFE)).powf(seconds)
}

/// A job of alice on four processors, started at the clock's first time with a limit of ten hours.
fn running(id: u32) -> Job {
    pending(id)
        .state(state::RUNNING)
        .start_time(NOW)
        .end_time_expected(NOW + 36_000)
        .time_limit(600_u32)
        .total_cpus(4_u32)
        .tres_allocated([(1, 4), (4, 1)])
}

fn raw_usage(host: &mut Host, association: u32) -> HostResult<Extended> {
    Ok(host.dump_association(association)?.usage_raw)
}

#[test]
fn a_cycle_without_time_changes_nothing() -> HostResult<()> {
    let mut host = small_cluster()?;
    host.configure(&Conf::new().decay_half_life(HALF_LIFE).weight_age(1000_u32))?;
    host.usage(&[AssociationUsage::new(4_u32).raw(1000_u64)])?;
    host.jobs(&[pending(1), running(2)])?;
    host.init()?;
    let before = host.snapshot()?;
    host.cycle()?;
    host.cycle()?;
    assert_eq!(host.snapshot()?, before);
    assert_eq!(host.saved_times()?, (NOW, NOW));
    host.quit().map(drop)
}

#[test]
#[cfg(target_arch = "x86_64")]
fn usage_decays_by_exactly_the_documented_factor() -> HostResult<()> {
    let mut host = small_cluster()?;
    host.configure(&Conf::new().decay_half_life(HALF_LIFE))?;
    let start = Extended::from(123_456.789);
    host.usage(&[AssociationUsage::new(4_u32).raw(start).wall(5000.5).tres([(1, start)])])?;
    host.qos(&Qos::new(3_u32).name("kept").flags(slurm_inproc::constants::QOS_FLAG_NO_DECAY))?;
    for qos in [2_u32, 3] {
        host.qos_usage(&QosUsage::new(qos).raw(start))?;
    }
    host.init()?;
    let (mut expected, mut wall) = (start, 5000.5);
    for seconds in [1, 300, 86_400, 604_800] {
        host.advance(seconds)?;
        host.cycle()?;
        #[expect(clippy::cast_precision_loss, reason = "a few days in seconds")]
        let factor = decay(seconds as f64);
        expected = expected.times(Extended::from(factor));
        wall *= factor;
        for id in [4, 2, 1] {
            let record = host.dump_association(id)?;
            assert_eq!(record.usage_raw, expected, "association {id} after {seconds} s");
            assert_eq!(record.usage_tres_raw[0], expected, "association {id} after {seconds} s");
            assert_eq!(Extended::from(record.grp_used_wall), Extended::from(wall));
        }
    }
    let qos = host.dump_qos()?;
    let raw = |id| qos.iter().find(|q| q.id == id).expect("is there").usage_raw;
    assert_eq!(raw(2), expected);
    assert_eq!(raw(3), start, "a QOS with NoDecay keeps its usage");
    host.quit().map(drop)
}

#[test]
#[cfg(target_arch = "x86_64")]
fn running_jobs_are_charged_for_exactly_the_time_that_passed() -> HostResult<()> {
    let mut host = small_cluster()?;
    host.configure(&Conf::new().decay_half_life(HALF_LIFE).enforce(3_u16))?;
    host.jobs(&[running(1)])?;
    host.usage(&[AssociationUsage::new(4_u32).run_secs([(1, 144_000)])])?;
    host.init()?;
    host.advance(300)?;
    host.cycle()?;
    let first = Extended::from(300.0 * decay(300.0) * 4.0);
    assert_eq!(raw_usage(&mut host, 4)?, first);
    assert_eq!(host.dump_association(4)?.run_secs[0], 144_000 - 4 * 300);
    // The job ends after another 100 of 300 seconds; its end is charged once, without decay of what was there.
    host.advance(100)?;
    host.jobs(&[Job::new(1_u32).end_time(NOW + 400).state(state::COMPLETE | state::COMPLETING)])?;
    host.job_end(1)?;
    host.job_end(1)?;
    let second = first.plus(Extended::from(100.0 * decay(100.0) * 4.0));
    for id in [4, 2, 1] {
        assert_eq!(raw_usage(&mut host, id)?, second);
    }
    assert_eq!(host.dump_association(4)?.run_secs[0], 0);
    host.quit().map(drop)
}

#[test]
fn the_plugin_can_be_loaded_again_and_goes_on_where_it_was() -> HostResult<()> {
    let mut host = small_cluster()?;
    host.configure(&Conf::new().decay_half_life(HALF_LIFE).weight_age(1000_u32))?;
    host.usage(&[AssociationUsage::new(4_u32).raw(1000_u64)])?;
    host.jobs(&[pending(1)])?;
    host.init()?;
    for round in 1..=5 {
        host.save()?;
        host.fini()?;
        host.advance(3600)?;
        // The saved state file tells the time of the last cycle.
        let cycle = host.init()?;
        assert_eq!(cycle.completed, round + 1);
    }
    let expected = 1000.0 * decay(5.0 * 3600.0);
    let usage = raw_usage(&mut host, 4)?.to_f64();
    assert!((usage - expected).abs() < 1e-9, "{usage} instead of {expected}");
    assert_eq!(host.dump_job(1)?.priority, 1000 * (21_600 + 5 * 3600) / 86_400);
    host.quit().map(drop)
}

#[test]
fn changed_settings_count_after_reconfiguration() -> HostResult<()> {
    let mut host = small_cluster()?;
    host.configure(&Conf::new().decay_half_life(HALF_LIFE).weight_age(1000_u32))?;
    host.usage(&[AssociationUsage::new(4_u32).raw(1000_u64)])?;
    host.jobs(&[pending(1)])?;
    host.init()?;
    host.configure(&Conf::new().decay_half_life(0_u32).weight_age(4000_u32))?;
    host.reconfigure(false)?;
    host.advance(86_400)?;
    host.cycle()?;
    assert_eq!(raw_usage(&mut host, 4)?, Extended::from(1000_u64));
    assert_eq!(host.dump_job(1)?.priority, 4000);
    host.quit().map(drop)
}
