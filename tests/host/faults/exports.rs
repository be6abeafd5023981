//! What each export answers after a panic.

use std::fs;

use priority_multifactor2::exports::{priority_p_recover, priority_p_thread_start};
use slurm_inproc::{state, Error, FactorsFilter, HostResult, Job};

use crate::setup::{conf, Rig, CPUS, NOW};

fn loaded() -> HostResult<Rig> {
    let mut rig = Rig::start(&conf())?;
    rig.host.init()?;
    Ok(rig)
}

#[test]
fn set_keeps_the_last_priority_and_puts_a_new_job_behind_the_others() -> HostResult<()> {
    let mut rig = loaded()?;
    let before = rig.priorities()?;
    rig.arm("set")?;
    assert_eq!(rig.host.set_priority(1)?, before[0]);
    rig.host.jobs(&[Job::new(1_u32).priority(0_u32)])?;
    assert_eq!(rig.host.try_priority(1, 1000)?, 999);
    assert_eq!(rig.host.try_priority(1, 0)?, 1);
    rig.disarm()?;
    assert_eq!(rig.host.set_priority(1)?, before[0]);
    assert_eq!(rig.reports().len(), 1, "{:?}", rig.reports());
    rig.host.quit().map(drop)
}

#[test]
fn a_fault_for_every_one_of_many_jobs_is_not_logged_for_every_one() -> HostResult<()> {
    let mut rig = loaded()?;
    rig.arm("set")?;
    for _ in 0..500 {
        rig.host.try_priority(1, 0)?;
    }
    let reports = rig.reports();
    assert_eq!(reports.len(), 3, "{reports:?}");
    assert!(reports[1].contains("(10 times)") && reports[2].contains("(100 times)"), "{reports:?}");
    rig.disarm()?;
    rig.host.quit().map(drop)
}

#[test]
fn job_end_charges_once_when_it_works_again() -> HostResult<()> {
    let mut rig = loaded()?;
    rig.host.advance(100)?;
    rig.host.jobs(&[Job::new(11_u32).end_time(NOW + 100).state(state::COMPLETE | state::COMPLETING)])?;
    rig.arm("job_end")?;
    rig.host.job_end(11)?;
    assert_eq!(rig.usage(3)?, 0.0);
    rig.disarm()?;
    rig.host.job_end(11)?;
    rig.host.job_end(11)?;
    assert_eq!(rig.usage(3)?, 100.0 * f64::from(CPUS));
    rig.host.quit().map(drop)
}

#[test]
fn a_job_end_that_fails_half_way_is_not_charged_again() -> HostResult<()> {
    let mut rig = loaded()?;
    rig.host.advance(100)?;
    rig.host.jobs(&[Job::new(11_u32).end_time(NOW + 100).state(state::COMPLETE | state::COMPLETING)])?;
    // The user is charged, the account above is not.
    rig.arm("charge.association:2")?;
    rig.host.job_end(11)?;
    rig.host.job_end(11)?;
    assert_eq!((rig.usage(3)?, rig.usage(2)?), (100.0 * f64::from(CPUS), 0.0));
    rig.disarm()?;
    rig.host.quit().map(drop)
}

#[test]
fn sprio_gets_no_list_or_one_without_the_job() -> HostResult<()> {
    let mut rig = loaded()?;
    let all = rig.host.factors(&FactorsFilter::new().uid(0_u32))?.len();
    rig.arm("factors_list")?;
    let none = rig.host.factors(&FactorsFilter::new().uid(0_u32));
    assert!(none.map_or(true, |list| list.is_empty()));
    rig.arm("sprio:2")?;
    assert_eq!(rig.host.factors(&FactorsFilter::new().uid(0_u32))?.len(), all - 1);
    rig.disarm()?;
    assert_eq!(rig.host.factors(&FactorsFilter::new().uid(0_u32))?.len(), all);
    rig.host.quit().map(drop)
}

#[test]
fn set_assoc_usage_reconfig_and_the_factor_do_nothing() -> HostResult<()> {
    let mut rig = loaded()?;
    let before = rig.host.snapshot()?;
    rig.arm("set_assoc_usage")?;
    rig.host.set_association_usage(3)?;
    rig.arm("reconfig")?;
    rig.host.reconfigure(false)?;
    rig.host.reconfigure(true)?;
    rig.arm("calc_fs_factor")?;
    assert_eq!(rig.host.fairshare_factor(0.5, 0.25)?, 0.0);
    rig.disarm()?;
    assert_eq!(rig.host.snapshot()?, before);
    assert_eq!(rig.host.fairshare_factor(0.5, 0.25)?, 0.5);
    assert_eq!(rig.reports().len(), 3, "{:?}", rig.reports());
    rig.host.quit().map(drop)
}

#[test]
fn init_refuses_and_works_the_next_time() -> HostResult<()> {
    for point in ["constructor", "init"] {
        let mut rig = Rig::start(&conf())?;
        rig.arm(point)?;
        assert!(matches!(rig.host.init(), Err(Error::Refused { .. })), "{point}");
        rig.disarm()?;
        if point == "init" {
            rig.host.init()?;
            rig.cycle_after(60)?;
            rig.host.quit()?;
        }
    }
    Ok(())
}

/// Without slurmdbd init gives all jobs their priorities; one that fails keeps what it has, and slurmctld starts.
#[test]
fn init_without_a_database_goes_on_without_the_job_that_fails() -> HostResult<()> {
    let mut rig = Rig::start_with(&conf().weight_partition(1000_u32), |options| options.slurmdbd = false)?;
    rig.arm("initial:2")?;
    rig.host.init_without_thread()?;
    let priorities = rig.priorities()?;
    assert_eq!(priorities, [1000, 1, 1000, 1000, 1000]);
    assert_eq!(rig.reports().len(), 1, "{:?}", rig.reports());
    rig.host.quit().map(drop)
}

#[test]
fn fini_fails_and_the_plugin_goes_on_after_the_next_init() -> HostResult<()> {
    let mut rig = loaded()?;
    rig.arm("fini")?;
    rig.host.fini()?;
    rig.disarm()?;
    // The thread was not stopped; init finds it running.
    rig.host.init_without_thread()?;
    rig.cycle_after(300)?;
    assert_eq!(rig.usage(3)?, 300.0 * f64::from(CPUS));
    rig.host.quit().map(drop)
}

/// The exports that the release of the in-process host does not call, called here.
#[test]
fn recover_and_thread_start_answer() {
    let directory = tempfile::tempdir().unwrap();
    let order = directory.path().join("order");
    std::env::set_var("MULTIFACTOR2_FAULTS", &order);
    fs::write(&order, "recover").unwrap();
    assert_eq!(priority_p_recover(7), 0);
    fs::write(&order, "thread_start").unwrap();
    assert_eq!(priority_p_thread_start(), 0);
    std::env::remove_var("MULTIFACTOR2_FAULTS");
}
