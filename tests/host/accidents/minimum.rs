//! `MinimumCharge` is charged once for each job, whenever slurmctld saves usage and however it ends; where it reports the ends of jobs, and
//! where cycles look for them.

use std::fs;

use multifactor2_core::rules::sums_file::parse;
use slurm_inproc::{state, Conf, Host, HostResult, Job, Plugin};

use crate::lives::{at_every_lock, save_in_cycle, Announced, End, Lives};
use crate::setup::{plugins, running, usage, CPUS, NOW};

const TEN_MINUTES: &str = "MinimumCharge=10:00\n";
const BOOK: &str = "Book=all Partitions=batch\n";
const ASSOCIATIONS: u16 = 1;
const LIMITS: u16 = 3;

fn lives(plugin: &Plugin, enforce: u16) -> HostResult<Lives<'_>> {
    let mut lives = Lives::new(plugin, Conf::new().enforce(enforce))?;
    TEN_MINUTES.clone_into(&mut lives.settings);
    Ok(lives)
}

/// What the third association has in its only book, in seconds.
fn in_book(lives: &Lives) -> f64 {
    let text = fs::read_to_string(lives.state.path().join("multifactor2_usage")).expect("the file is there");
    parse(&text).expect("it can be read").0.used(3)[0] / CPUS
}

fn ended(id: u32, start: i64, end: i64) -> Job {
    running(id, 3, start).state(state::COMPLETE).end_time(end)
}

/// A cycle at 100 s that slurmctld saves, with a job that ended before it; one at 300 s within which it saves, with a job that ended between.
fn two_cycles(lives: &Lives, lock: u32, end: End) -> HostResult<bool> {
    let mut first = lives.start(NOW, &[ended(1, NOW + 10, NOW + 50), running(2, 3, NOW)])?;
    first.init()?;
    first.set_clock(NOW + 100)?;
    first.cycle()?;
    assert_eq!(usage(&mut first, 3)?, 700.0 * CPUS, "the first job and what the second one ran");
    first.save()?;
    first.jobs(&[Job::new(2_u32).state(state::COMPLETE).end_time(NOW + 200)])?;
    save_in_cycle(lives, first, NOW + 300, lock, end)
}

#[test]
fn where_cycles_look_for_ended_jobs_each_is_charged_once_wherever_a_save_falls_into_one() -> HostResult<()> {
    let [_, ours] = plugins()?;
    let locks = at_every_lock(|lock, end| {
        let lives = lives(&ours, ASSOCIATIONS)?;
        if !two_cycles(&lives, lock, end)? {
            return Ok(false);
        }
        // slurmctld still knows both.
        let jobs = [ended(1, NOW + 10, NOW + 50), ended(2, NOW, NOW + 200)];
        let mut second = lives.start(NOW + 300, &jobs)?;
        second.init()?;
        for now in [NOW + 600, NOW + 900] {
            second.set_clock(now)?;
            second.cycle()?;
            assert_eq!(usage(&mut second, 3)?, 1200.0 * CPUS, "lock {lock}, {end:?}, {}", now - NOW);
        }
        second.quit()?;
        Ok(true)
    })?;
    assert!(locks >= 7, "{locks}");
    Ok(())
}

/// Killed again and again before anything is saved.
#[test]
fn a_kill_before_usage_was_saved_loses_no_minimum_of_a_job_that_slurmctld_knows() -> HostResult<()> {
    let [_, ours] = plugins()?;
    let lives = lives(&ours, ASSOCIATIONS)?;
    let mut first = lives.start(NOW, &[])?;
    first.init()?;
    first.save()?;
    drop(first);
    for round in 1..5 {
        let mut host = lives.start(NOW + 300 * round, &[ended(1, NOW + 10, NOW + 50)])?;
        host.init()?;
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
    let [_, ours] = plugins()?;
    for moment in 1.. {
        for (later, reported_twice) in [(false, false), (true, false), (true, true)] {
            let lives = lives(&ours, LIMITS)?;
            let mut first = lives.start(NOW, &[running(1, 3, NOW), running(2, 4, NOW)])?;
            first.init()?;
            first.set_clock(NOW + 300)?;
            let (before, reached) = first.start_cycle_until_free(moment)?;
            if !reached {
                assert!(moment > 8, "{moment} moments");
                return Ok(());
            }
            first.set_clock(NOW + 305)?;
            let done = Job::new(2_u32).state(state::COMPLETE | state::COMPLETING).end_time(NOW + 305);
            first.jobs(&[done])?;
            first.job_end(2)?;
            if reported_twice {
                first.job_end(2)?;
            }
            let announced = Announced::now(&lives, &mut first, NOW + 300, 0.0)?;
            first.save()?;
            if announced.is_some() && !later {
                continue;
            }
            if later {
                first.go_on()?;
                first.finish_cycle(before)?;
                assert_eq!(usage(&mut first, 4)?, 600.0 * CPUS, "moment {moment}");
            }
            // slurmctld saves jobs with the mark that the end is charged.
            let mark = first.dump_job(2)?.end_time_expected;
            drop(first);
            let known = ended(2, NOW, NOW + 305).association(4_u32).end_time_expected(mark);
            let mut second = lives.start(NOW + 1000, &[running(1, 3, NOW), known])?;
            second.init()?;
            second.job_end(2)?;
            let found = [usage(&mut second, 3)?, usage(&mut second, 4)?];
            assert_eq!(found, [1000.0 * CPUS, 600.0 * CPUS], "moment {moment}, later: {later}");
            second.quit()?;
        }
    }
    Ok(())
}

/// Whether the cycle has charged what a job ran that ended meanwhile is not known: it is taken to have.
#[test]
fn where_cycles_look_for_ended_jobs_one_that_ends_within_a_cycle_is_charged_once_and_no_more(
) -> HostResult<()> {
    let [_, ours] = plugins()?;
    let mut all = Vec::new();
    for moment in 1.. {
        for end in [NOW + 300, NOW + 305] {
            let mut lives = lives(&ours, ASSOCIATIONS)?;
            lives.settings += BOOK;
            let mut host = lives.start(NOW, &[running(2, 3, NOW)])?;
            host.init()?;
            host.set_clock(NOW + 300)?;
            let (before, reached) = host.start_cycle_until_free(moment)?;
            if !reached {
                assert!(moment > 8, "{moment} moments");
                // At first what it ran until the cycle is missing, once the cycle has charged it nothing is.
                let missing = all.iter().take_while(|found| **found == 300.0).count();
                assert!(missing < all.len() && all[missing..].iter().all(|found| *found == 600.0), "{all:?}");
                return Ok(());
            }
            host.set_clock(NOW + 305)?;
            host.jobs(&[Job::new(2_u32).state(state::COMPLETE).end_time(end)])?;
            host.go_on()?;
            host.finish_cycle(before)?;
            host.set_clock(NOW + 600)?;
            host.cycle()?;
            all.push(usage(&mut host, 3)? / CPUS);
            host.set_clock(NOW + 900)?;
            host.cycle()?;
            assert_eq!(all.last(), Some(&(usage(&mut host, 3)? / CPUS)));
            host.quit()?;
            assert_eq!(all.last(), Some(&in_book(&lives)), "the book has the same, moment {moment}");
        }
    }
    Ok(())
}

fn cycle_after(host: &mut Host, seconds: i64) -> HostResult<f64> {
    host.advance(seconds)?;
    host.cycle()?;
    Ok(usage(host, 3)? / CPUS)
}

#[test]
fn seconds_that_come_again_because_the_clock_is_set_back_charge_no_minimum_again() -> HostResult<()> {
    let [_, ours] = plugins()?;
    let lives = lives(&ours, ASSOCIATIONS)?;
    let mut host = lives.start(NOW, &[ended(1, NOW + 10, NOW + 250)])?;
    host.init()?;
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
    host.init()?;
    assert_eq!(usage(&mut host, 3)? / CPUS, 1200.0);
    assert_eq!(cycle_after(&mut host, 600)?, 1200.0);
    host.quit().map(drop)
}

#[test]
fn a_clock_that_is_set_back_while_a_job_runs_does_not_charge_it_more_than_once() -> HostResult<()> {
    let [_, ours] = plugins()?;
    let lives = lives(&ours, LIMITS)?;
    let mut host = lives.start(NOW, &[running(1, 3, NOW)])?;
    host.init()?;
    assert_eq!(cycle_after(&mut host, 300)?, 300.0);
    host.advance(-400)?;
    host.jobs(&[Job::new(1_u32).state(state::COMPLETE).end_time(NOW - 100)])?;
    host.job_end(1)?;
    host.job_end(1)?;
    // It ran no time by its own record, and has been charged 300 seconds before.
    assert_eq!(cycle_after(&mut host, 300)?, 900.0);
    host.quit().map(drop)
}
