//! The run seconds that running jobs have in use: when they are counted, released and corrected, as by stock.

use slurm_inproc::constants::NO_VAL;
use slurm_inproc::{state, AssociationUsage, Host, HostResult, Job, QosUsage};

use crate::charges::{assert_same, ended, prepare, running, Charged, ASSOCIATIONS, LIMITS};
use crate::setup::{in_both, NOW};

#[test]
fn run_seconds_stop_at_zero_and_the_log_says_so() -> HostResult<()> {
    let both = in_both(|host| {
        prepare(host, LIMITS)?;
        host.usage(&[AssociationUsage::new(4_u32).run_secs([(1, 100), (2, 40_000_000_000)]).mode("only")])?;
        host.qos_usage(&QosUsage::new(1_u32).run_secs([(1, 1000)]))?;
        host.jobs(&[running(1)])?;
        host.init()?;
        host.advance(300)?;
        host.cycle()?;
        Ok(vec![Charged::read(host)?])
    })?;
    assert_same("underflow", &both);
    // Said once, for the first of them.
    let line =
        "1200 seconds of TRES cpu are released, but only 1000 were counted for QOS normal; the count is set to 0";
    let said = both.our_log.lines().filter(|said| said.contains("warning: ") && said.contains(line)).count();
    assert_eq!(said, 1, "{}", both.our_log);
    Ok(())
}

/// slurmctld counts by the factor of a job's QOS when the job starts, and forgets the QOS when it is removed.
#[test]
fn a_qos_that_is_removed_under_a_running_job_leaves_run_seconds_wrong_as_in_stock() -> HostResult<()> {
    let both = in_both(|host| {
        prepare(host, LIMITS)?;
        // QOS 2 counts half.
        for association in [1_u32, 2, 4] {
            let counted = [(1, 600 * 60 * 4 / 2)];
            host.usage(&[AssociationUsage::new(association).run_secs(counted).mode("only")])?;
        }
        host.jobs(&[running(1).qos(2_u32)])?;
        host.init()?;
        host.advance(300)?;
        host.cycle()?;
        host.jobs(&[Job::new(1_u32).qos(0_u32)])?;
        host.advance(300)?;
        host.jobs(&[ended(1, NOW + 600)])?;
        host.job_end(1)?;
        Ok(vec![Charged::read(host)?])
    })?;
    assert_same("removed QOS", &both);
    assert!(both.our_log.contains("were counted for association 4"), "{}", both.our_log);
    assert!(both.stock_log.contains("underflow"), "{}", both.stock_log);
    Ok(())
}

/// Up to 23.02 a reconfigure counts the whole time of running jobs anew and tells the plugin a moment later.
#[test]
fn a_cycle_between_the_count_of_a_reconfigure_and_its_call_releases_no_time_twice() -> HostResult<()> {
    const COUNTED: u64 = 600 * 60 * 4;
    let left = |host: &mut Host| Ok::<_, slurm_inproc::Error>(host.dump_association(4)?.run_secs[0]);
    let both = in_both(|host| {
        prepare(host, LIMITS)?;
        host.jobs(&[running(1)])?;
        host.init()?;
        for cycles in 0..3 {
            host.advance(300)?;
            host.cycle()?;
            host.renew_partitions()?;
            for association in [1_u32, 2, 4] {
                host.usage(&[AssociationUsage::new(association).run_secs([(1, COUNTED)]).mode("only")])?;
            }
            for _ in 0..cycles {
                host.advance(300)?;
                host.cycle()?;
            }
            host.reconfigure(true)?;
        }
        let before = left(host)?;
        host.advance(10)?;
        host.jobs(&[ended(1, NOW + 1810)])?;
        host.job_end(1)?;
        Ok((before, left(host)?))
    })?;
    assert_eq!(both.ours, (COUNTED - 1800 * 4, 0));
    assert!(!both.our_log.contains("were counted"), "{}", both.our_log);
    // Stock takes what the two cycles have taken once more, and says so when the job ends.
    assert_eq!(both.stock, (COUNTED - (1800 + 600) * 4, 0));
    assert!(both.stock_log.contains("underflow"), "{}", both.stock_log);
    Ok(())
}

#[test]
fn a_restart_takes_the_time_before_it_out_of_the_run_seconds() -> HostResult<()> {
    let jobs = [
        running(1).start_time(NOW - 7200).end_time_expected(NOW + 28_800),
        running(2).start_time(NOW - 7200).qos(2_u32).partitions(["fast".to_owned()]),
        running(3).start_time(NOW - 30),
        running(4).start_time(NOW - 7200).state(state::SUSPENDED),
        running(5).start_time(NOW - 7200).end_time_expected(i64::from(NO_VAL)),
        running(6).start_time(NOW - 7200).association(0_u32),
    ];
    for enforce in [ASSOCIATIONS, LIMITS] {
        let both = in_both(|host| {
            prepare(host, enforce)?;
            host.jobs(&jobs)?;
            let times = [(NOW - 60).to_be_bytes(), (NOW - 90_000).to_be_bytes()].concat();
            std::fs::write(host.directory().join("state/priority_last_decay_ran"), times)?;
            host.init()?;
            let mut steps = vec![Charged::read(host)?];
            host.advance(60)?;
            host.cycle()?;
            steps.push(Charged::read(host)?);
            // A reconfigure of 22.05, which counts the limits anew.
            host.reconfigure(true)?;
            steps.push(Charged::read(host)?);
            Ok(steps)
        })?;
        assert_same("restart", &both);
    }
    Ok(())
}
