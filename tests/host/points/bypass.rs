//! BYPASS: how many jobs have started in a job's partition that were behind it in the last cycle.

use slurm_inproc::{state, Host, HostResult, Job, Nice};

use super::{change, entries, job, loaded, site, JOHN, PAUL};
use crate::setup::NOW;

const SETTINGS: &str = "Component=SERV Bypass=10\n";

/// The first has the highest priority.
fn queue(count: u32) -> Vec<Job> {
    (1..=count)
        .map(|id| job(id, if id % 2 == 0 { JOHN } else { PAUL }).nice(Nice(i64::from(id) - 10_000)))
        .collect()
}

fn start(host: &mut Host, id: u32) -> HostResult<()> {
    host.jobs(&[Job::new(id).state(state::RUNNING).start_time(NOW + 30).end_time_expected(NOW + 3600)])
}

fn cycle(host: &mut Host) -> HostResult<()> {
    host.advance(60)?;
    host.cycle().map(drop)
}

#[track_caller]
fn assert_sites(host: &mut Host, expected: &[(u32, i64)], what: &str) -> HostResult<()> {
    for (id, expected) in expected {
        assert_eq!(site(host, *id)?, *expected, "{what}: job {id}");
        let priority = i64::from(host.dump_job(*id)?.priority);
        assert_eq!(priority, 10_000 - i64::from(*id) + expected, "{what}: priority of job {id}");
        host.set_priority(*id)?;
        assert_eq!(site(host, *id)?, *expected, "{what}: job {id} set again");
    }
    Ok(())
}

#[test]
fn jobs_that_start_before_others_are_counted_cycle_by_cycle() -> HostResult<()> {
    let mut host = loaded(SETTINGS, &queue(6))?;
    assert_sites(&mut host, &[(1, 0), (6, 0)], "at first")?;
    start(&mut host, 3)?;
    start(&mut host, 5)?;
    cycle(&mut host)?;
    assert_sites(&mut host, &[(1, 20), (2, 20), (4, 10), (6, 0)], "two have started")?;
    cycle(&mut host)?;
    assert_sites(&mut host, &[(1, 20), (2, 20), (4, 10), (6, 0)], "nothing more")?;
    // The first goes before all: nobody is overtaken. One that ended meanwhile has started, too.
    start(&mut host, 1)?;
    start(&mut host, 4)?;
    host.jobs(&[Job::new(4_u32).state(state::COMPLETE).end_time(NOW + 100)])?;
    cycle(&mut host)?;
    assert_sites(&mut host, &[(2, 30), (6, 0)], "one more")?;
    // A job that is cancelled before it starts has not overtaken anybody.
    host.jobs(&[Job::new(6_u32).state(4_u32).start_time(NOW + 130).end_time(NOW + 130)])?;
    cycle(&mut host)?;
    assert_sites(&mut host, &[(2, 30)], "cancelled")?;
    host.quit().map(drop)
}

#[test]
fn a_requeue_and_a_restart_begin_at_nothing() -> HostResult<()> {
    let mut host = loaded(SETTINGS, &queue(4))?;
    start(&mut host, 4)?;
    cycle(&mut host)?;
    assert_sites(&mut host, &[(1, 10), (2, 10), (3, 10)], "one has started")?;
    start(&mut host, 1)?;
    cycle(&mut host)?;
    host.jobs(&[Job::new(1_u32).state(state::PENDING).start_time(0).accrue_time(NOW + 120)])?;
    cycle(&mut host)?;
    assert_sites(&mut host, &[(1, 0), (2, 10), (3, 10)], "requeued")?;
    // Started and requeued between two cycles.
    host.jobs(&[Job::new(2_u32).accrue_time(NOW + 150)])?;
    cycle(&mut host)?;
    assert_sites(&mut host, &[(2, 0), (3, 10)], "requeued meanwhile")?;
    host.fini()?;
    host.init()?;
    assert_sites(&mut host, &[(1, 0), (2, 0), (3, 0)], "restarted")?;
    host.quit().map(drop)
}

#[test]
fn only_starts_in_the_same_partition_count() -> HostResult<()> {
    let fast = || ["fast".to_owned()];
    let mut jobs = queue(5);
    jobs[1] = jobs[1].clone().partitions(fast());
    jobs[3] = jobs[3].clone().partitions(fast());
    jobs[2] = jobs[2].clone().partitions(["batch".to_owned(), "fast".to_owned()]);
    let mut host = loaded(SETTINGS, &jobs)?;
    start(&mut host, 4)?;
    start(&mut host, 5)?;
    cycle(&mut host)?;
    assert_sites(&mut host, &[(1, 10), (2, 10)], "one in each")?;
    let both: Vec<i64> = entries(&mut host, 3)?.into_iter().map(|(_, site)| site).collect();
    assert_eq!(both, [20, 20], "overtaken in both");
    host.quit().map(drop)
}

/// Held jobs and those that may not start yet are not in the order; a job that waits for others is not overtaken.
#[test]
fn jobs_that_are_not_eligible_are_not_overtaken() -> HostResult<()> {
    let mut jobs = queue(4);
    jobs[0] = jobs[0].clone().begin_time(NOW + 36_000).accrue_time(0);
    jobs[1] = jobs[1].clone().priority(0_u32);
    let mut host = loaded(SETTINGS, &jobs)?;
    start(&mut host, 4)?;
    cycle(&mut host)?;
    host.jobs(&[Job::new(1_u32).begin_time(NOW - 60), Job::new(2_u32).priority(1_u32)])?;
    cycle(&mut host)?;
    assert_sites(&mut host, &[(1, 0), (2, 0), (3, 10)], "only the eligible one")?;
    host.quit().map(drop)
}

/// Points that are moved by other lines keep the count.
#[test]
fn a_reconfigure_of_the_same_settings_keeps_the_count() -> HostResult<()> {
    let mut host = loaded(SETTINGS, &queue(3))?;
    start(&mut host, 3)?;
    cycle(&mut host)?;
    change(&mut host, SETTINGS)?;
    assert_sites(&mut host, &[(1, 10), (2, 10)], "the same")?;
    change(&mut host, &SETTINGS.replace("10", "7"))?;
    assert_eq!([site(&mut host, 1)?, site(&mut host, 2)?], [7, 7], "another weight");
    host.quit().map(drop)
}
