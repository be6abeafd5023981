//! Jobs with tickets of their own, in all that can happen to them between two cycles and within one.
//!
//! Two users with equal shares and no usage, `alice` and `bob`, have two waiting jobs each; under `Dilution=user` the first of each has all
//! of its user's tickets and the second has half.

use std::fs;

use slurm_inproc::{state, Conf, Host, HostResult, Job, Nice};

use crate::setup::{options, FAIR_TREE, NOW};
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
    host.reconfigure(false)?;
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

/// Runs a cycle for each lock that it takes, stopped before that: `meanwhile` is done then, `after` at the end. Returns how many there are.
fn at_every_lock(
    mut meanwhile: impl FnMut(&mut Host) -> HostResult<()>,
    mut after: impl FnMut(&mut Host) -> HostResult<()>,
) -> HostResult<u32> {
    for lock in 1.. {
        let mut host = diluted()?;
        host.advance(60)?;
        let (cycle, reached) = host.start_cycle_until(lock)?;
        if reached {
            meanwhile(&mut host)?;
            host.go_on()?;
        }
        host.finish_cycle(cycle)?;
        if !reached {
            return Ok(lock - 1);
        }
        after(&mut host)?;
        host.quit()?;
    }
    unreachable!("a cycle without an end")
}

#[test]
fn jobs_that_go_while_a_cycle_runs_leave_the_others_their_ranks() -> HostResult<()> {
    let locks = at_every_lock(
        |host| {
            host.delete_job(11)?;
            // At an address that may have become free.
            host.jobs(&[job(41, BOB)])
        },
        |host| {
            let second = job_factor(host, 12)?;
            assert!([0.5, 1.0].iter().any(|known| (known - second).abs() < 1e-9), "{second}");
            for (job, expected) in [(21, 1.0), (22, 0.5)] {
                assert_near(job_factor(host, job)?, expected, &format!("job {job} at once"));
            }
            host.cycle()?;
            for (job, expected) in [(12, 1.0), (21, 1.0), (22, 0.5), (41, 1.0 / 3.0)] {
                assert_near(job_factor(host, job)?, expected, &format!("job {job} after another cycle"));
            }
            Ok(())
        },
    )?;
    assert!(locks >= 5, "{locks} locks");
    Ok(())
}

#[test]
fn while_a_cycle_runs_jobs_are_shown_with_what_they_have_and_keep_it_when_they_are_set() -> HostResult<()> {
    let locks = at_every_lock(
        |host| {
            assert_factors(host, DILUTED, "shown while a cycle runs")?;
            host.set_priority(12)?;
            host.set_priority(22)?;
            assert_factors(host, DILUTED, "set while a cycle runs")
        },
        |host| assert_factors(host, DILUTED, "after the cycle"),
    )?;
    assert!(locks >= 5, "{locks} locks");
    Ok(())
}

#[test]
fn with_incr_only_a_job_keeps_the_best_rank_that_it_had() -> HostResult<()> {
    let incr_only = slurm_inproc::constants::PRIORITY_FLAGS_INCR_ONLY;
    let mut host = loaded(ON, &Conf::new().flags(FAIR_TREE | incr_only))?;
    let priorities = |host: &mut Host| -> HostResult<Vec<u32>> {
        JOBS.iter().map(|job| Ok(host.dump_job(*job)?.priority)).collect()
    };
    assert_eq!(priorities(&mut host)?, [1_000_000, 500_000, 1_000_000, 500_000]);
    host.jobs(&[Job::new(11_u32).nice(Nice(1))])?;
    host.cycle()?;
    // The second comes before the first now, which does not fall.
    assert_eq!(priorities(&mut host)?, [1_000_000, 1_000_000, 1_000_000, 500_000]);
    assert_near(job_factor(&mut host, 11)?, 0.5, "what sprio shows");
    host.quit().map(drop)
}

/// Jobs that run hold what those that wait would get; their own priorities come from the same.
#[test]
fn running_jobs_count_and_have_priorities_under_calculate_running() -> HostResult<()> {
    let flags = FAIR_TREE | slurm_inproc::constants::PRIORITY_FLAGS_CALCULATE_RUNNING;
    let mut host = loaded(ON, &Conf::new().flags(flags))?;
    host.jobs(&[Job::new(11_u32).state(state::RUNNING).start_time(NOW).time_limit(60_u32)])?;
    host.cycle()?;
    // By the best that waits, which is bob's.
    assert_factors(&mut host, [1.0, 0.5, 1.0, 0.5], "one runs")?;
    host.jobs(&[Job::new(12_u32).state(state::RUNNING).start_time(NOW).time_limit(60_u32)])?;
    host.cycle()?;
    // Each of the two is behind the other, and bob, who alone waits, has all tickets: alice would have half of them.
    assert_factors(&mut host, [0.25, 0.25, 1.0, 0.5], "two run")?;
    assert_near(submit(&mut host, job(13, ALICE), 13)?, 0.5 / 3.0, "one more");
    host.quit().map(drop)
}

/// Kilobytes of the process that are resident.
fn resident(host: &Host) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", host.process())).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its size");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn nothing_stays_of_what_pools_needed() -> HostResult<()> {
    let mut host = loaded("", &Conf::new())?;
    let jobs: Vec<Job> = (1000..3000).map(|id| job(id, if id % 2 == 0 { ALICE } else { BOB })).collect();
    host.jobs(&jobs)?;
    let all = "TicketsFunctional=1000\nFunctional=User Name=* Shares=1\nOverride=User Name=u2,u3 Tickets=1\nDilution=tree\n";
    let mut sizes = Vec::new();
    for round in 0..60 {
        for settings in [ON, "", all] {
            change(&mut host, settings)?;
            for job in [11, 21, 2_000 + round] {
                host.set_priority(job)?;
            }
        }
        sizes.push(resident(&host));
    }
    // A cycle's tickets alone are 48 kB.
    let (early, late) = (sizes[19], sizes[59]);
    assert!(late <= early + 256, "{sizes:?} kB");
    host.quit().map(drop)
}
