//! `MinimumCharge` is charged once for each job, whenever slurmctld saves usage and however it ends; where it reports the ends of jobs, and
//! where cycles look for them.

use slurm_inproc::{state, Conf, Host, HostResult, Job};

use crate::driver::{Accident, Lives, Stops, ENDS};
use crate::setup::{cycle_at, end_job, running, usage, ASSOCIATIONS, CPUS, NOW};

const TEN_MINUTES: &str = "MinimumCharge=10:00\n";
const LIMITS: u16 = 3;

fn accident(enforce: u16) -> Accident<'static> {
    Accident { conf: Conf::new().enforce(enforce), settings: TEN_MINUTES, ..Accident::default() }
}

fn lives(enforce: u16) -> HostResult<Lives> {
    Lives::new(Conf::new().enforce(enforce), TEN_MINUTES)
}

fn ended(id: u32, start: i64, end: i64) -> Job {
    running(id, 3, start).state(state::COMPLETE).end_time(end)
}

#[test]
fn where_cycles_look_for_ended_jobs_each_is_charged_once_wherever_a_save_falls_into_one() -> HostResult<()> {
    let two = Accident {
        jobs: vec![ended(1, NOW + 10, NOW + 50), running(2, 3, NOW)],
        // A cycle that slurmctld saves, with a job that ended before it; another ends before the next one.
        before: |host| {
            cycle_at(host, NOW + 100)?;
            assert_eq!(usage(host, 3)?, 700.0 * CPUS, "the first job and what the second one ran");
            host.save()?;
            host.jobs(&[Job::new(2_u32).state(state::COMPLETE).end_time(NOW + 200)])
        },
        ..accident(ASSOCIATIONS)
    };
    two.at_every(Stops::Locks, &ENDS, |first, at| {
        // slurmctld still knows both.
        let jobs = [ended(1, NOW + 10, NOW + 50), ended(2, NOW, NOW + 200)];
        let lives = first.end(at.way)?;
        let mut second = lives.start(NOW + 300, &jobs)?;
        for seconds in [600, 900] {
            cycle_at(&mut second, NOW + seconds)?;
            assert_eq!(usage(&mut second, 3)?, 1200.0 * CPUS, "{at}, {seconds}");
        }
        second.quit().map(drop)
    })
}

/// Killed again and again before anything is saved.
#[test]
fn a_kill_before_usage_was_saved_loses_no_minimum_of_a_job_that_slurmctld_knows() -> HostResult<()> {
    let lives = lives(ASSOCIATIONS)?;
    let mut first = lives.start(NOW, &[])?;
    first.save()?;
    drop(first);
    for round in 1..5 {
        let mut host = lives.start(NOW + 300 * round, &[ended(1, NOW + 10, NOW + 50)])?;
        assert_eq!(usage(&mut host, 3)?, 600.0 * CPUS, "round {round}");
        host.advance(100)?;
        host.cycle()?;
        assert_eq!(usage(&mut host, 3)?, 600.0 * CPUS, "round {round}");
    }
    Ok(())
}

/// Ends a job at the n-th moment of a cycle at which nothing is held, saves and kills.
#[test]
fn where_ends_are_reported_a_job_that_ends_within_a_cycle_is_charged_its_minimum_once() -> HostResult<()> {
    let ways = [(false, false), (true, false), (true, true)];
    accident(LIMITS).at_every(Stops::Moments, &ways, |mut first, at| {
        let (later, reported_twice) = at.way;
        first.host.set_clock(NOW + 305)?;
        let done = Job::new(2_u32).state(state::COMPLETE | state::COMPLETING).end_time(NOW + 305);
        first.host.jobs(&[done])?;
        first.host.job_end(2)?;
        if reported_twice {
            first.host.job_end(2)?;
        }
        if !first.save(later)? {
            return Ok(());
        }
        if later {
            assert_eq!(usage(&mut first.host, 4)?, 600.0 * CPUS, "(later, reported twice): {at}");
        }
        // slurmctld saves jobs with the mark that the end is charged.
        let mark = first.host.dump_job(2)?.end_time_expected;
        let known = ended(2, NOW, NOW + 305).association(4_u32).end_time_expected(mark);
        let mut second = first.kill().start(NOW + 1000, &[running(1, 3, NOW), known])?;
        second.job_end(2)?;
        let found = [usage(&mut second, 3)?, usage(&mut second, 4)?];
        assert_eq!(found, [1000.0 * CPUS, 600.0 * CPUS], "(later, reported twice): {at}");
        second.quit().map(drop)
    })
}

/// Whether the cycle has charged what a job ran that ended meanwhile is not known: it is taken to have.
#[test]
fn where_cycles_look_for_ended_jobs_one_that_ends_within_a_cycle_is_charged_once_and_no_more(
) -> HostResult<()> {
    let mut all = Vec::new();
    let settings = format!("{TEN_MINUTES}Book=all Partitions=batch\n");
    let jobs = vec![running(2, 3, NOW)];
    let accident = Accident { settings: &settings, jobs, ..accident(ASSOCIATIONS) };
    accident.at_every(Stops::Moments, &[NOW + 300, NOW + 305], |mut first, at| {
        first.host.set_clock(NOW + 305)?;
        first.host.jobs(&[Job::new(2_u32).state(state::COMPLETE).end_time(at.way)])?;
        first.finish()?;
        cycle_at(&mut first.host, NOW + 600)?;
        let found = usage(&mut first.host, 3)? / CPUS;
        cycle_at(&mut first.host, NOW + 900)?;
        assert_eq!(usage(&mut first.host, 3)? / CPUS, found);
        first.host.quit()?;
        assert_eq!(first.lives.sums().used(3)[0] / CPUS, found, "the book has the same, {at}");
        all.push(found);
        Ok(())
    })?;
    // At first what it ran until the cycle is missing, once the cycle has charged it nothing is.
    let missing = all.iter().take_while(|found| **found == 300.0).count();
    assert!(missing < all.len() && all[missing..].iter().all(|found| *found == 600.0), "{all:?}");
    Ok(())
}

fn cycle_after(host: &mut Host, seconds: i64) -> HostResult<f64> {
    host.advance(seconds)?;
    host.cycle()?;
    Ok(usage(host, 3)? / CPUS)
}

#[test]
fn seconds_that_come_again_because_the_clock_is_set_back_charge_no_minimum_again() -> HostResult<()> {
    let lives = lives(ASSOCIATIONS)?;
    let mut host = lives.start(NOW, &[ended(1, NOW + 10, NOW + 250)])?;
    assert_eq!(cycle_after(&mut host, 300)?, 600.0);
    host.reconfigure(false)?;
    assert_eq!(cycle_after(&mut host, -200)?, 600.0, "set back");
    host.jobs(&[running(2, 3, NOW + 100)])?;
    host.reconfigure(false)?;
    assert_eq!(cycle_after(&mut host, 100)?, 700.0);
    host.jobs(&[ended(2, NOW + 100, NOW + 250)])?;
    assert_eq!(cycle_after(&mut host, 100)?, 1200.0, "a job that ended in that second the second time");
    assert_eq!(cycle_after(&mut host, 300)?, 1200.0);
    host.save()?;
    host.quit()?;
    // Set back while slurmctld was down.
    let mut host =
        lives.start(NOW + 100, &[ended(1, NOW + 10, NOW + 250), ended(2, NOW + 100, NOW + 250)])?;
    assert_eq!(usage(&mut host, 3)? / CPUS, 1200.0);
    assert_eq!(cycle_after(&mut host, 600)?, 1200.0);
    host.quit().map(drop)
}

#[test]
fn a_clock_that_is_set_back_while_a_job_runs_does_not_charge_it_more_than_once() -> HostResult<()> {
    let lives = lives(LIMITS)?;
    let mut host = lives.start(NOW, &[running(1, 3, NOW)])?;
    assert_eq!(cycle_after(&mut host, 300)?, 300.0);
    end_job(&mut host, 1, NOW - 100)?;
    host.job_end(1)?;
    // It ran no time by its own record, and has been charged 300 seconds before.
    assert_eq!(cycle_after(&mut host, 300)?, 900.0);
    host.quit().map(drop)
}
