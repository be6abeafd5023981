//! `Charge=Requeued`: which runs are cut off by what their owners cannot ask for, what is known of it after a restart, and when it is forgotten.

use std::fs;

use multifactor2_fixtures::charge_model::ModelEnd;
use slurm_inproc::{state, Host, HostResult, Job};

use super::{begin, of, of_qos, ALICE, NORMAL};
use crate::charges::{running, ASSOCIATIONS, LIMITS};
use crate::settings::write_file;
use crate::setup::NOW;

const HALF: &str = "Charge=Requeued Factor=0.5\n";
const NODE_FAIL: u32 = 7;
const PREEMPTED: u32 = 8;

/// What slurmctld reports of the end of a run, counted from 0. It counts a restart first, but for a node that failed.
pub(super) fn end(id: u32, why: ModelEnd, now: i64, run: usize) -> Job {
    let run = u32::try_from(run).expect("few");
    let job = Job::new(id).end_time(now);
    match why {
        ModelEnd::Done => job.state(state::COMPLETE | state::COMPLETING).restarts(run),
        ModelEnd::Requeued => job.state(state::REQUEUE | state::COMPLETING).restarts(run + 1),
        ModelEnd::Preempted => {
            job.state(state::REQUEUE | state::COMPLETING).restarts(run + 1).preempt_time(now)
        }
        ModelEnd::NodeFailed => job.state(NODE_FAIL).restarts(run),
        ModelEnd::NotLaunched => job.state(state::PENDING | state::COMPLETING).restarts(run + 1),
    }
}

/// The job waits, and runs again.
fn runs_again(host: &mut Host, id: u32, now: i64, run: u32) -> HostResult<()> {
    let waits = Job::new(id).state(state::PENDING).restarts(run).start_time(0).end_time(0).preempt_time(0);
    host.jobs(&[waits])?;
    host.jobs(&[running(id).restarts(run).start_time(now).end_time(0).end_time_expected(now + 36_000)])
}

/// The first run is 100 seconds, the second one 100 more.
fn two_runs(
    host: &mut Host,
    why: ModelEnd,
    between: impl Fn(&mut Host) -> HostResult<()>,
) -> HostResult<f64> {
    host.jobs(&[running(1)])?;
    host.init()?;
    host.advance(100)?;
    host.jobs(&[end(1, why, NOW + 100, 0)])?;
    host.job_end(1)?;
    assert_eq!(
        of(host, ALICE)?.raw,
        400.0,
        "nothing is given back of the first run, and nothing is multiplied"
    );
    between(host)?;
    runs_again(host, 1, NOW + 100, 1)?;
    host.advance(100)?;
    host.cycle()?;
    Ok((of(host, ALICE)?.raw - 400.0) / 400.0)
}

const CAUSES: [(ModelEnd, f64); 4] = [
    (ModelEnd::Requeued, 1.0),
    (ModelEnd::Preempted, 0.5),
    (ModelEnd::NodeFailed, 0.5),
    (ModelEnd::NotLaunched, 0.5),
];

#[test]
fn a_run_costs_less_after_what_nobody_can_ask_for_and_no_less_after_a_requeue() -> HostResult<()> {
    for (why, factor) in CAUSES {
        let mut host = begin(HALF, LIMITS)?;
        assert_eq!(two_runs(&mut host, why, |_| Ok(()))?, factor, "{why:?}");
        // QOS and limits have all of it.
        assert_eq!(of_qos(&mut host, NORMAL)?.raw, 800.0);
        // The next one is charged by how this one ends.
        host.jobs(&[end(1, ModelEnd::Requeued, NOW + 200, 1)])?;
        host.job_end(1)?;
        let before = of(&mut host, ALICE)?.raw;
        runs_again(&mut host, 1, NOW + 200, 2)?;
        host.advance(100)?;
        host.cycle()?;
        assert_eq!(of(&mut host, ALICE)?.raw - before, 400.0, "{why:?}, then requeued");
        host.quit()?;
    }
    Ok(())
}

#[test]
fn how_the_last_run_ended_is_known_after_a_restart() -> HostResult<()> {
    for (why, factor) in CAUSES {
        for cycle in [true, false] {
            let mut host = begin(HALF, LIMITS)?;
            let found = two_runs(&mut host, why, |host| {
                if cycle {
                    host.cycle()?;
                }
                host.save()?;
                host.fini()?;
                host.init().map(drop)
            })?;
            assert_eq!(found, factor, "{why:?}, cycle: {cycle}");
            host.quit()?;
        }
    }
    Ok(())
}

#[test]
fn what_is_not_known_is_charged_in_full_and_a_damaged_file_is_told() -> HostResult<()> {
    for damage in [None, Some("multifactor2_interrupted 1\njob 1 1\n"), Some("")] {
        let mut host = begin(HALF, LIMITS)?;
        let file = host.directory().join("state/multifactor2_interrupted");
        let found = two_runs(&mut host, ModelEnd::Preempted, |host| {
            host.save()?;
            host.fini()?;
            match damage {
                Some(text) => fs::write(&file, text).expect("can be written"),
                None => fs::remove_file(&file).expect("is there"),
            }
            host.init().map(drop)
        })?;
        assert_eq!(found, 1.0, "{damage:?}");
        let log = host.quit()?;
        assert_eq!(log.contains("multifactor2_interrupted: its"), damage.is_some(), "{log}");
    }
    Ok(())
}

/// slurmctld was killed with what it knew of the requeue: the first run runs on.
#[test]
fn a_run_that_slurmctld_has_forgotten_to_have_ended_is_charged_as_it_was() -> HostResult<()> {
    let mut host = begin(HALF, LIMITS)?;
    let found = two_runs(&mut host, ModelEnd::Preempted, |host| {
        host.cycle()?;
        host.save()?;
        host.fini()?;
        host.init()?;
        host.jobs(&[running(1).restarts(0_u32).preempt_time(0)])?;
        Ok(())
    })?;
    assert_eq!(found, 0.5, "the second run");
    host.quit()?;

    let mut host = begin(HALF, LIMITS)?;
    host.jobs(&[running(1)])?;
    host.init()?;
    host.advance(100)?;
    host.jobs(&[end(1, ModelEnd::Preempted, NOW + 100, 0)])?;
    host.job_end(1)?;
    host.cycle()?;
    host.save()?;
    host.fini()?;
    host.jobs(&[running(1).restarts(0_u32).preempt_time(0).end_time(0).end_time_expected(NOW + 36_000)])?;
    host.init()?;
    let before = of(&mut host, ALICE)?.raw;
    host.advance(100)?;
    host.cycle()?;
    assert_eq!(of(&mut host, ALICE)?.raw - before, 400.0);
    host.quit().map(drop)
}

#[test]
fn jobs_that_are_gone_are_forgotten_and_nothing_is_written_without_the_line() -> HostResult<()> {
    let mut host = begin(HALF, LIMITS)?;
    let file = host.directory().join("state/multifactor2_interrupted");
    host.jobs(&[running(1), running(2)])?;
    host.init()?;
    host.advance(100)?;
    host.jobs(&[end(1, ModelEnd::Preempted, NOW + 100, 0), end(2, ModelEnd::NodeFailed, NOW + 100, 0)])?;
    host.job_end(1)?;
    host.job_end(2)?;
    host.cycle()?;
    let text = || fs::read_to_string(&file).expect("the file is there");
    assert_eq!(text(), "multifactor2_interrupted 1\njob 1 1\njob 2 1\nend\n");
    host.delete_job(2)?;
    host.advance(100)?;
    host.cycle()?;
    assert_eq!(text(), "multifactor2_interrupted 1\njob 1 1\nend\n");
    host.quit()?;

    let mut host = begin("", LIMITS)?;
    let file = host.directory().join("state/multifactor2_interrupted");
    two_runs(&mut host, ModelEnd::Preempted, |_| Ok(()))?;
    host.quit()?;
    assert!(!file.exists());
    Ok(())
}

/// A preemption that ends a job for good, after which its owner lets it run again.
#[test]
fn a_job_that_was_preempted_for_good_and_is_requeued_then_was_preempted() -> HostResult<()> {
    let mut host = begin(HALF, LIMITS)?;
    host.jobs(&[running(1)])?;
    host.init()?;
    host.advance(100)?;
    host.jobs(&[Job::new(1_u32).state(PREEMPTED | state::COMPLETING).end_time(NOW + 100)])?;
    host.job_end(1)?;
    runs_again(&mut host, 1, NOW + 100, 1)?;
    host.advance(100)?;
    host.cycle()?;
    assert_eq!(of(&mut host, ALICE)?.raw, 600.0);
    host.quit().map(drop)
}

#[test]
fn where_slurmctld_does_not_tell_how_runs_end_the_line_has_no_effect_and_that_is_said() -> HostResult<()> {
    let mut host = begin("", ASSOCIATIONS)?;
    write_file(&host, &format!("{HALF}MinimumCharge=10:00\n"))?;
    host.jobs(&[running(1).restarts(1_u32)])?;
    host.init()?;
    host.advance(100)?;
    host.cycle()?;
    assert_eq!(of(&mut host, ALICE)?.raw, 400.0);
    let log = host.quit()?;
    for line in [
        "Charge=Requeued does nothing, because without limits",
        "MinimumCharge misses runs that are requeued",
    ] {
        assert_eq!(log.matches(line).count(), 1, "{line}: {log}");
    }
    Ok(())
}
