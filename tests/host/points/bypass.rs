//! BYPASS: how many jobs have started in a job's partition with a lower priority there.

use slurm_inproc::{state, Conf, Host, HostResult, Job, Nice};

use super::{change, entries, job, loaded, loaded_with, site, JOHN, PAUL};
use crate::charges::LIMITS;
use crate::setup::NOW;

const SETTINGS: &str = "Component=SERV Bypass=10\n";

/// The first has the highest priority.
fn queue(count: u32) -> Vec<Job> {
    (1..=count)
        .map(|id| job(id, if id % 2 == 0 { JOHN } else { PAUL }).nice(Nice(i64::from(id) - 10_000)))
        .collect()
}

fn start(host: &mut Host, id: u32) -> HostResult<()> {
    start_at(host, id, NOW + 30)
}

fn start_at(host: &mut Host, id: u32, at: i64) -> HostResult<()> {
    host.jobs(&[Job::new(id).state(state::RUNNING).start_time(at).end_time_expected(at + 3600)])
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
    start_at(&mut host, 1, NOW + 130)?;
    start_at(&mut host, 4, NOW + 130)?;
    host.jobs(&[Job::new(4_u32).state(state::COMPLETE).end_time(NOW + 150)])?;
    cycle(&mut host)?;
    assert_sites(&mut host, &[(2, 30), (6, 0)], "one more")?;
    // A job that is cancelled before it starts has not overtaken anybody.
    host.jobs(&[Job::new(6_u32).state(4_u32).start_time(NOW + 200).end_time(NOW + 200)])?;
    cycle(&mut host)?;
    assert_sites(&mut host, &[(2, 30)], "cancelled")?;
    host.quit().map(drop)
}

#[test]
fn a_requeue_begins_at_nothing_and_a_restart_keeps_the_count() -> HostResult<()> {
    let mut host = loaded(SETTINGS, &queue(4))?;
    start(&mut host, 4)?;
    cycle(&mut host)?;
    assert_sites(&mut host, &[(1, 10), (2, 10), (3, 10)], "one has started")?;
    start(&mut host, 1)?;
    cycle(&mut host)?;
    host.jobs(&[Job::new(1_u32)
        .state(state::PENDING)
        .start_time(0)
        .submit_time(NOW + 110)
        .accrue_time(NOW + 120)])?;
    cycle(&mut host)?;
    assert_sites(&mut host, &[(1, 0), (2, 10), (3, 10)], "requeued")?;
    // Started and requeued between two cycles.
    host.jobs(&[Job::new(2_u32).submit_time(NOW + 140).accrue_time(NOW + 150)])?;
    cycle(&mut host)?;
    assert_sites(&mut host, &[(2, 0), (3, 10)], "requeued meanwhile")?;
    let file = host.directory().join("state/multifactor2_points");
    let lines = std::fs::read_to_string(&file)?;
    assert!(lines.contains("\nbypass 3 "), "{lines}");
    host.fini()?;
    host.init()?;
    cycle(&mut host)?;
    assert_sites(&mut host, &[(1, 0), (2, 0), (3, 10)], "restarted")?;
    // One that starts while nobody is there, or in the second of the end.
    host.fini()?;
    host.jobs(&[Job::new(1_u32).state(state::RUNNING).start_time(NOW + 250).end_time_expected(NOW + 3600)])?;
    host.init()?;
    cycle(&mut host)?;
    assert_sites(&mut host, &[(3, 10)], "one with a higher priority")?;
    host.fini()?;
    std::fs::write(&file, lines.replace("end\n", ""))?;
    host.init()?;
    cycle(&mut host)?;
    assert_sites(&mut host, &[(3, 0)], "a damaged file")?;
    let log = host.quit()?;
    assert!(log.contains("multifactor2_points: its end is missing. How often jobs were overtaken"), "{log}");
    Ok(())
}

/// A job that comes, starts and ends between two cycles has overtaken others, by the priority of its submission.
#[test]
fn a_job_that_starts_and_ends_between_two_cycles_counts_once() -> HostResult<()> {
    let mut host = loaded_with(SETTINGS, &queue(3), &Conf::new().enforce(LIMITS), |_| ())?;
    for (id, nice) in [(7, 0), (8, -10_000)] {
        host.jobs(&[job(id, JOHN).nice(Nice(nice)).submit_time(NOW + 5)])?;
        host.set_priority(id)?;
        host.jobs(&[Job::new(id).state(state::RUNNING).start_time(NOW + 10).end_time_expected(NOW + 3600)])?;
        host.jobs(&[Job::new(id).state(state::COMPLETE | state::COMPLETING).end_time(NOW + 20)])?;
        host.job_end(id)?;
    }
    cycle(&mut host)?;
    // Job 8 had the highest priority of all.
    assert_sites(&mut host, &[(1, 10), (2, 10), (3, 10)], "one of the two")?;
    cycle(&mut host)?;
    assert_sites(&mut host, &[(1, 10), (2, 10), (3, 10)], "once")?;
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
