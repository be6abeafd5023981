//! Jobs with their own tickets, in all that can happen to them between two cycles and within one.
//!
//! Two users with equal shares and no usage, `alice` and `bob`, have two waiting jobs each; under `Dilution=user` the first of each has all
//! of its user's tickets and the second has half.

mod by_hand;
mod cycles;

use std::fs;

use slurm_inproc::{Conf, Host, HostResult, Job, Nice};

use crate::setup::{options, NOW};
use crate::tree::{account, assert_near, id, job_factor, root, user, Tree};

const ALICE: usize = 2;
const BOB: usize = 3;
/// The jobs: two of each.
const JOBS: [u32; 4] = [11, 12, 21, 22];
const DILUTED: [f64; 4] = [1.0, 0.5, 1.0, 0.5];
const ON: &str = "Dilution=user\n";

fn tree() -> Tree {
    Tree(vec![root(0.0), account(0, 1, 0.0), user(1, 1, 0.0, false), user(1, 1, 0.0, false)])
}

/// A job of a user that waits.
fn job(id: u32, user: usize) -> Job {
    tree().job(user).with_id(id).accrue_time(NOW - 60)
}

fn loaded(settings: &str, conf: &Conf) -> HostResult<Host> {
    let mut options = options()?;
    options.files = vec![("multifactor2.conf".to_owned(), settings.to_owned())];
    let mut host = Host::start(&options)?;
    tree().load(&mut host)?;
    host.configure(conf)?;
    host.jobs(&[job(11, ALICE), job(12, ALICE), job(21, BOB), job(22, BOB)])?;
    host.init()?;
    Ok(host)
}

fn diluted() -> HostResult<Host> {
    loaded(ON, &Conf::new())
}

/// Other settings, from the next cycle on.
fn change(host: &mut Host, settings: &str) -> HostResult<()> {
    fs::write(host.directory().join("multifactor2.conf"), settings)?;
    host.reconfigure(true)?;
    host.cycle().map(drop)
}

/// What sprio shows, and what the scheduler goes by.
#[track_caller]
fn assert_factors(host: &mut Host, expected: [f64; 4], what: &str) -> HostResult<()> {
    for (job, expected) in JOBS.into_iter().zip(expected) {
        assert_near(job_factor(host, job)?, expected, &format!("{what}: job {job}"));
        let priority = f64::from(host.dump_job(job)?.priority);
        let weighted = expected * f64::from(crate::tree::WEIGHT);
        assert!((priority - weighted).abs() <= 1.0, "{what}: job {job} has {priority}, not {weighted}");
    }
    Ok(())
}

/// Submits a job and returns its factor.
fn submit(host: &mut Host, new: Job, id: u32) -> HostResult<f64> {
    host.jobs(&[new])?;
    host.set_priority(id)?;
    job_factor(host, id)
}

#[test]
fn pools_come_and_go_with_a_reconfigure() -> HostResult<()> {
    let mut host = diluted()?;
    // Under functional tickets the jobs of both come in turns, and all count: the k-th has the k-th part of one half.
    let functional =
        "TicketsShare=0\nTicketsFunctional=1000\nFunctionalWeightJob=0\nFunctional=User Name=* Shares=1\n";
    let four = [1.0, 0.25, 0.5, 0.25];
    for (settings, expected) in [
        (ON, DILUTED),
        ("", [1.0; 4]),
        (ON, DILUTED),
        ("Dilution=user\nDilutionQuantum=3\n", [1.0, 0.75, 1.0, 0.75]),
        (functional, four),
        // The same objects, other numbers: what they are called is not forgotten.
        (&functional.replace("=1000", "=2000"), four),
        ("Override=User Name=u2 Tickets=10000\n", [1.0, 2.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0]),
        ("", [1.0; 4]),
    ] {
        change(&mut host, settings)?;
        assert_factors(&mut host, expected, settings)?;
    }
    host.quit().map(drop)
}

#[test]
fn a_user_who_is_newer_than_the_last_cycle_has_a_value_and_the_others_keep_theirs() -> HostResult<()> {
    let mut host = diluted()?;
    let mut tree = tree();
    tree.0.push(user(1, 1, 0.0, false));
    host.associations(&[tree.association(4)])?;
    let new = |id: u32| tree.job(4).with_id(id).accrue_time(NOW);
    // A third of the tickets, of which the best had a half in the last cycle.
    assert_near(submit(&mut host, new(31), 31)?, 2.0 / 3.0, "the first job");
    assert_near(submit(&mut host, new(32), 32)?, 1.0 / 3.0, "the second job");
    assert_factors(&mut host, DILUTED, "beside a new user")?;
    assert_near(submit(&mut host, job(13, ALICE), 13)?, 1.0 / 3.0, "the third job of one who is known");
    host.cycle()?;
    assert_factors(&mut host, DILUTED, "after a cycle")?;
    for (job, expected) in [(31, 1.0), (32, 0.5), (13, 1.0 / 3.0)] {
        assert_near(job_factor(&mut host, job)?, expected, &format!("job {job} after a cycle"));
    }
    host.quit().map(drop)
}

#[test]
fn a_job_that_is_set_again_keeps_its_rank_and_counts_once() -> HostResult<()> {
    let mut host = diluted()?;
    for _ in 0..3 {
        for job in JOBS {
            host.set_priority(job)?;
        }
        assert_factors(&mut host, DILUTED, "set again")?;
    }
    assert_near(submit(&mut host, job(13, ALICE), 13)?, 1.0 / 3.0, "a third job");
    for _ in 0..3 {
        host.set_priority(13)?;
        assert_near(job_factor(&mut host, 13)?, 1.0 / 3.0, "the third job again");
    }
    assert_near(submit(&mut host, job(14, ALICE), 14)?, 0.25, "a fourth job");
    host.quit().map(drop)
}

#[test]
fn where_nobody_waited_jobs_are_measured_by_the_first_that_comes() -> HostResult<()> {
    let mut host = diluted()?;
    for job in JOBS {
        host.delete_job(job)?;
    }
    host.cycle()?;
    let (mine, others) = ([11, 12, 13], [21, 22]);
    for (new, user, expected) in [(mine[0], ALICE, 1.0), (mine[1], ALICE, 0.5), (mine[2], ALICE, 1.0 / 3.0)] {
        assert_near(submit(&mut host, job(new, user), new)?, expected, &format!("job {new}"));
    }
    // alice alone had all tickets; now each has half.
    for (new, expected) in others.into_iter().zip([0.5, 0.25]) {
        assert_near(submit(&mut host, job(new, BOB), new)?, expected, &format!("job {new}"));
    }
    host.cycle()?;
    assert_factors(&mut host, DILUTED, "after a cycle")?;
    host.quit().map(drop)
}

/// The drafts of a cycle know so many nice values and no more; the jobs with others are evaluated when they are written.
#[test]
fn a_job_that_is_evaluated_at_the_end_of_a_cycle_has_the_rank_of_that_cycle() -> HostResult<()> {
    let mut host = diluted()?;
    let many: Vec<Job> =
        (0..66_000_u32).map(|n| job(100_000 + n, BOB).nice(Nice(i64::from(n) + 10))).collect();
    host.jobs(&many)?;
    let last = [(200_001, 70_001), (200_002, 70_002), (200_003, 70_003)];
    host.jobs(&last.map(|(id, nice)| job(id, ALICE).nice(Nice(nice))))?;
    for cycle in 1..=2 {
        host.advance(60)?;
        host.cycle()?;
        assert_factors(&mut host, DILUTED, &format!("cycle {cycle}"))?;
        for ((id, _), rank) in last.into_iter().zip([3.0, 4.0, 5.0]) {
            assert_near(job_factor(&mut host, id)?, 1.0 / rank, &format!("job {id}, cycle {cycle}"));
        }
    }
    host.quit().map(drop)
}

#[test]
fn a_job_that_is_held_and_released_keeps_its_rank_or_gets_the_last() -> HostResult<()> {
    let mut host = diluted()?;
    host.jobs(&[Job::new(11_u32).priority(0_u32)])?;
    host.jobs(&[Job::new(11_u32).priority(1_u32)])?;
    host.set_priority(11)?;
    assert_near(job_factor(&mut host, 11)?, 1.0, "released before a cycle");
    host.jobs(&[Job::new(11_u32).priority(0_u32)])?;
    host.cycle()?;
    assert_near(job_factor(&mut host, 12)?, 1.0, "nothing else of the user");
    host.jobs(&[Job::new(11_u32).priority(1_u32)])?;
    host.set_priority(11)?;
    assert_near(job_factor(&mut host, 11)?, 0.5, "released after a cycle");
    host.cycle()?;
    assert_factors(&mut host, DILUTED, "after another cycle")?;
    host.quit().map(drop)
}

#[test]
fn a_job_that_is_moved_to_another_account_is_the_last_there() -> HostResult<()> {
    let mut host = diluted()?;
    host.jobs(&[Job::new(11_u32).association(id(BOB)).user_id(1000 + id(BOB))])?;
    for _ in 0..2 {
        host.set_priority(11)?;
        assert_near(job_factor(&mut host, 11)?, 1.0 / 3.0, "the third of its new user");
    }
    host.cycle()?;
    // Its id is the smallest, and there is no other job of the old user before 12.
    assert_factors(&mut host, [1.0, 1.0, 0.5, 1.0 / 3.0], "after a cycle")?;
    host.quit().map(drop)
}
