//! Rows of Maui, Moab and Grid Engine that go by what has become of a job, and by all jobs together.

use std::fs;

use slurm_inproc::{state, Conf, HostResult, Job, Nice};

use super::{assert_points, job, loaded, loaded_with, site, ANN, JOHN, PAUL};
use crate::charges::LIMITS;
use crate::setup::NOW;

/// `WCACCURACY` of Moab.
#[test]
fn time_limits_that_fit_give_points_over_restarts() -> HostResult<()> {
    let line = "Component=FS WCAccuracy=60\n";
    let jobs = [job(1, JOHN), job(2, PAUL)];
    let mut host = loaded_with(line, &jobs, &Conf::new().enforce(LIMITS), |_| ())?;
    assert_points(&mut host, 1, 0, "nothing is known")?;
    // Ten minutes of an hour, and half an hour of one.
    for (id, association, ran) in [(7, JOHN, 600), (8, JOHN, 1800), (9, PAUL, 3600)] {
        let running = job(id, association).state(state::RUNNING).start_time(NOW - 4000);
        host.jobs(&[running.end_time_expected(NOW + 3600)])?;
        let ended = Job::new(id).state(state::COMPLETE | state::COMPLETING);
        host.jobs(&[ended.end_time(NOW - 4000 + ran)])?;
        host.job_end(id)?;
    }
    // One that never started does not count.
    host.jobs(&[job(6, JOHN).state(4 | state::COMPLETING).end_time(NOW)])?;
    host.job_end(6)?;
    for what in ["counted", "counted by the process before"] {
        host.advance(60)?;
        host.cycle()?;
        assert_points(&mut host, 1, 60 * 2400 / 72, what)?;
        assert_points(&mut host, 2, 6000, what)?;
        host.set_priority(1)?;
        assert_points(&mut host, 1, 60 * 2400 / 72, "submitted anew")?;
        host.fini()?;
        host.init()?;
    }
    let log = host.quit()?;
    assert!(!log.contains("multifactor2_points:"), "{log}");
    Ok(())
}

/// Whoever has not run for so long is as one of whom nothing is known, and is not kept for ever.
#[test]
fn of_users_of_long_ago_time_limits_are_forgotten() -> HostResult<()> {
    let line = "Component=FS WCAccuracy=60\n";
    let mut host =
        loaded_with(line, &[job(1, JOHN)], &Conf::new().enforce(LIMITS).decay_half_life(1000_u32), |_| ())?;
    let running = job(7, JOHN).state(state::RUNNING).start_time(NOW - 4000);
    host.jobs(&[running.end_time_expected(NOW + 3600)])?;
    host.jobs(&[Job::new(7_u32).state(state::COMPLETE | state::COMPLETING).end_time(NOW - 400)])?;
    host.job_end(7)?;
    // An hour, halved eleven times and then once more.
    for (later, expected) in [(11_000, 6000), (2000, 0)] {
        host.advance(later)?;
        host.cycle()?;
        host.cycle()?;
        assert_points(&mut host, 1, expected, "as much later")?;
    }
    host.fini()?;
    let kept = fs::read_to_string(host.directory().join("state/multifactor2_points"))?;
    assert!(!kept.contains("accuracy"), "{kept}");
    host.quit().map(drop)
}

/// `STARTCOUNT` of Moab, and `JOBATTRPRIOF STATE[...]` with jobs that run.
#[test]
fn requeues_and_states_give_points() -> HostResult<()> {
    let lines = "Component=SERV StartCount=100 StartCountCap=2\nComponent=ATTR State=1 States=PENDING:5,RUNNING:1000,SUSPENDED:70\n";
    let running =
        |id: u32, state: u32| job(id, JOHN).state(state).start_time(NOW - 10).end_time_expected(NOW + 3600);
    let jobs = [
        job(1, JOHN),
        job(2, JOHN).restarts(1_u32),
        job(3, JOHN).restarts(9_u32),
        running(4, state::RUNNING),
        running(5, 2),
    ];
    let conf = Conf::new().flags(slurm_inproc::constants::PRIORITY_FLAGS_CALCULATE_RUNNING);
    let mut host = loaded_with(lines, &jobs, &conf, |_| ())?;
    for (id, expected) in [(1, 5), (2, 105), (3, 205)] {
        assert_points(&mut host, id, expected, "waits")?;
    }
    for (id, expected) in [(4, 1000), (5, 70)] {
        assert_eq!(host.dump_job(id)?.priority, expected, "job {id}");
    }
    host.quit().map(drop)
}

/// `weight_urgency`, `weight_priority` and `weight_deadline` of Grid Engine: the golden numbers of docs/points.md, with a job that runs
/// and is the most urgent one.
#[test]
fn urgencies_are_compared_with_all_jobs_that_wait_and_run() -> HostResult<()> {
    let line = "Component=URGENCY Urgency=50000 Priority=10000 WaitingTime=0.278 Deadline=3600000\n\
                Component=CRED User=1\nCredential=User Name=* Priority=100000\n";
    let waits = |id: u32, seconds: i64, nice: i64| {
        let since = NOW - seconds;
        job(id, JOHN)
            .time_limit(30_u32)
            .nice(Nice(nice))
            .submit_time(since)
            .begin_time(since)
            .accrue_time(since)
    };
    let jobs = [waits(1, 3600, 100), waits(2, 1800, 0).deadline(NOW + 3600), waits(3, 0, 50)];
    let mut host = loaded(line, &jobs)?;
    for (id, expected) in [(1, 20_013), (2, 60_000), (3, 5000)] {
        assert_eq!(site(&mut host, id)?, 100_000 + expected, "three jobs: job {id}");
        host.set_priority(id)?;
        assert_eq!(site(&mut host, id)?, 100_000 + expected, "set anew: job {id}");
    }
    // It has waited for 5,000.8 / 0.278 seconds until it started.
    let running = waits(4, 17_988, 0).state(state::RUNNING).start_time(NOW).end_time_expected(NOW + 1800);
    host.jobs(&[running])?;
    host.cycle()?;
    for (id, expected) in [(1, 10_007), (2, 35_001), (3, 5000)] {
        assert_eq!(site(&mut host, id)?, 100_000 + expected, "one runs: job {id}");
    }
    host.quit().map(drop)
}

/// A weight in percent, with somebody who comes later.
#[test]
fn a_component_in_percent_moves_with_what_there_is() -> HostResult<()> {
    let line = "PointsCap=1000\nComponent=RES WeightPercent=50 Proc=1\n";
    let of =
        |id: u32, association: u32, cpus: u64| job(id, association).tres_requested([(1, cpus), (2, 100)]);
    let mut host = loaded(line, &[of(1, JOHN, 4), of(2, PAUL, 2)])?;
    assert_points(&mut host, 1, 500, "the largest")?;
    assert_points(&mut host, 2, 250, "half of it")?;
    host.jobs(&[of(3, ANN, 8)])?;
    host.set_priority(3)?;
    assert_points(&mut host, 3, 500, "as large as the largest until the next calculation")?;
    host.cycle()?;
    for (id, expected) in [(1, 250), (2, 125), (3, 500)] {
        assert_points(&mut host, id, expected, "a larger one came")?;
    }
    host.quit().map(drop)
}

/// `JOBPRIOEXCEPTIONS ALL` of Moab.
#[test]
fn the_wait_counts_since_the_submission_where_asked_for() -> HostResult<()> {
    for (more, expected) in [("", 1), ("QueueTimeSince=submit", 120)] {
        let line = format!("Component=SERV QueueTime=1\n{more}\n");
        let mut host = loaded(&line, &[job(1, JOHN).submit_time(NOW - 7200)])?;
        assert_points(&mut host, 1, expected, more)?;
        host.quit()?;
    }
    Ok(())
}

/// A target of what was used in a book, which is saved over a restart.
#[test]
fn targets_of_a_book_go_by_what_was_used_there() -> HostResult<()> {
    let lines = "Book=gpu Partitions=fast\nComponent=FS FSUser=10\nTarget=User Name=* Percent=25 Book=gpu\n\
                 Component=CRED User=1\nCredential=User Name=* Priority=10000\n";
    let fast = |id: u32, association: u32| job(id, association).partitions(["fast".to_owned()]);
    let running = |job: Job| {
        let job = job.state(state::RUNNING).start_time(NOW).end_time_expected(NOW + 36_000);
        job.total_cpus(4_u32).tres_allocated([(1, 4), (5, 4)])
    };
    let jobs = [fast(1, JOHN), fast(2, PAUL), job(3, JOHN), running(fast(7, JOHN)), running(job(8, PAUL))];
    let mut host = loaded(lines, &jobs)?;
    for id in 1..=3 {
        assert_points(&mut host, id, 10_000, "nothing was used")?;
    }
    host.advance(300)?;
    host.cycle()?;
    for what in ["counted", "counted by the process before"] {
        for (id, expected) in [(1, 10_000 - 750), (2, 10_000 + 250), (3, 10_000)] {
            assert_points(&mut host, id, expected, what)?;
            host.set_priority(id)?;
            assert_points(&mut host, id, expected, "set anew")?;
        }
        host.fini()?;
        host.init()?;
        host.cycle()?;
    }
    host.quit().map(drop)
}
