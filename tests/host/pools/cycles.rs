//! While a cycle runs, over many cycles, and under Slurm's own flags.

use std::fs;

use slurm_inproc::{state, Conf, Host, HostResult, Job, Nice};

use super::{assert_factors, change, diluted, job, loaded, submit, ALICE, BOB, DILUTED, JOBS, ON};
use crate::setup::{self, FAIR_TREE, NOW};
use crate::tree::{assert_near, job_factor};

/// Runs a cycle for each lock that it takes, stopped before that: `meanwhile` is done then, `after` at the end. Returns how many there are.
fn at_every_lock(
    mut meanwhile: impl FnMut(&mut Host) -> HostResult<()>,
    mut after: impl FnMut(&mut Host) -> HostResult<()>,
) -> HostResult<u32> {
    let start = || {
        let mut host = diluted()?;
        host.advance(60)?;
        Ok(host)
    };
    setup::at_every_lock(start, |host, over| if over { after(host) } else { meanwhile(host) })
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
    // What stays of a round makes each of them the largest so far: one byte for each job is half a page, 48 kB are a cycle's tickets. A thread that keeps
    // settings may need an arena of its own once, at any time.
    let largest_so_far = |at: &usize| sizes[..*at].iter().all(|before| *before < sizes[*at]);
    let grown = (20..sizes.len()).filter(largest_so_far).count();
    assert!(grown <= 10 && sizes[59] <= sizes[19] + 640, "{grown} times larger than ever: {sizes:?} kB");
    host.quit().map(drop)
}
