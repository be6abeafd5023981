//! `MinimumCharge` where jobs are as small and as many as they can be, and where they hold nodes without running.

use slurm_inproc::{state, HostResult, Job};

use super::{begin, of, of_qos, ALICE, NORMAL};
use crate::charges::{running, LIMITS};
use crate::setup::{waiting, NOW};

const CANCELLED: u32 = 4;
const TEN_MINUTES: &str = "MinimumCharge=10:00\n";

/// What a job of ten minutes is charged.
const MINIMUM: f64 = 2400.0;

#[test]
fn an_array_of_100_000_tasks_of_a_second_is_charged_100_000_minimums() -> HostResult<()> {
    const TASKS: u32 = 100_000;
    let mut host = begin(TEN_MINUTES, LIMITS)?;
    host.init()?;
    for chunk in (1..=TASKS).collect::<Vec<_>>().chunks(10_000) {
        let task = |id: &u32| running(*id).array_job_id(TASKS).array_task_id(*id);
        host.jobs(&chunk.iter().map(task).collect::<Vec<_>>())?;
    }
    host.advance(1)?;
    for id in 1..=TASKS {
        host.jobs(&[Job::new(id).state(state::COMPLETE | state::COMPLETING).end_time(NOW + 1)])?;
        host.job_end(id)?;
        if id % 1000 == 0 {
            host.job_end(id)?;
        }
        if id == TASKS / 2 {
            host.cycle()?;
        }
    }
    host.advance(300)?;
    host.cycle()?;
    assert_eq!(of(&mut host, ALICE)?.raw, f64::from(TASKS) * MINIMUM);
    // Limits count what they ran; the cycle in between has charged none of those that it saw running before their end.
    assert_eq!(of_qos(&mut host, NORMAL)?.raw, f64::from(TASKS) * 4.0);
    host.quit().map(drop)
}

#[test]
fn a_job_of_no_length_is_charged_the_minimum_and_one_that_never_started_nothing() -> HostResult<()> {
    let mut host = begin(TEN_MINUTES, LIMITS)?;
    host.jobs(&[running(1), waiting(2), running(3)])?;
    host.init()?;
    // Ended in the second of its start; cancelled while it waited; its clock was set back.
    host.jobs(&[
        Job::new(1_u32).state(state::COMPLETE | state::COMPLETING).end_time(NOW),
        Job::new(2_u32).state(CANCELLED).start_time(NOW).end_time(NOW),
        Job::new(3_u32).state(state::COMPLETE | state::COMPLETING).end_time(NOW - 5),
    ])?;
    host.job_end(1)?;
    assert_eq!(of(&mut host, ALICE)?.raw, MINIMUM);
    host.advance(300)?;
    host.cycle()?;
    assert_eq!(of(&mut host, ALICE)?.raw, MINIMUM, "slurmctld reports no end of a job that never started");
    host.job_end(3)?;
    assert_eq!(of(&mut host, ALICE)?.raw, 2.0 * MINIMUM);
    host.quit().map(drop)
}

#[test]
fn a_job_that_is_cancelled_while_its_nodes_are_prepared_is_charged_the_minimum() -> HostResult<()> {
    for (name, flags, seen) in [
        ("configuring", state::CONFIGURING, 240.0),
        ("booting", state::CONFIGURING | state::POWER_UP_NODE, 0.0),
    ] {
        let mut host = begin(TEN_MINUTES, LIMITS)?;
        host.jobs(&[running(1).state(state::RUNNING | flags)])?;
        host.init()?;
        host.advance(60)?;
        host.cycle()?;
        assert_eq!(of(&mut host, ALICE)?.raw, seen, "{name}");
        host.advance(30)?;
        host.jobs(&[Job::new(1_u32).state(CANCELLED | state::COMPLETING).end_time(NOW + 90)])?;
        host.job_end(1)?;
        // What stock does not charge of a boot is not missing to the minimum: the job held its nodes.
        let unseen = if seen == 0.0 { 4.0 * 60.0 } else { 0.0 };
        assert_eq!(of(&mut host, ALICE)?.raw, MINIMUM - unseen, "{name}");
        host.quit()?;
    }
    Ok(())
}
