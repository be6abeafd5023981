//! `MinimumCharge`, in every way in which a job can end; where slurmctld reports ends, and where cycles look for them.

use std::collections::BTreeMap;

use slurm_inproc::{state, Host, HostResult, Job};

use super::{begin, of, of_qos, ran, Sums, ALICE, NORMAL};
use crate::charges::{running, ASSOCIATIONS, LIMITS};
use crate::settings::write_file;
use crate::setup::{waiting, NOW};

/// States that jobs end in, the same in every release.
const CANCELLED: u32 = 4;
const FAILED: u32 = 5;
const TIMEOUT: u32 = 6;
const NODE_FAIL: u32 = 7;
const PREEMPTED: u32 = 8;
const BOOT_FAIL: u32 = 9;
const DEADLINE: u32 = 10;
const OUT_OF_MEMORY: u32 = 11;

const TEN_MINUTES: &str = "MinimumCharge=10:00\n";

/// What is charged of a job that ran 100 seconds of 600.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Charged {
    /// As if it had run 600.
    Minimum,
    /// What it ran.
    Time,
}

/// Ways to end, with the state in which slurmctld reports the end.
fn ends() -> Vec<(&'static str, Job, Charged)> {
    let end = |state: u32| Job::new(1_u32).state(state | state::COMPLETING).end_time(NOW + 100);
    let mut ends: Vec<_> = [
        ("done", state::COMPLETE),
        ("cancelled", CANCELLED),
        ("failed", FAILED),
        ("timed out", TIMEOUT),
        ("did not boot", BOOT_FAIL),
        ("deadline", DEADLINE),
        ("out of memory", OUT_OF_MEMORY),
    ]
    .into_iter()
    .map(|(name, state)| (name, end(state), Charged::Minimum))
    .collect();
    ends.push((
        "array task",
        end(state::COMPLETE).array_job_id(77_u32).array_task_id(3_u32),
        Charged::Minimum,
    ));
    // Whoever asked: slurmctld does not keep it.
    ends.push(("requeued", end(state::REQUEUE).restarts(1_u32), Charged::Minimum));
    ends.push((
        "requeued while it was suspended",
        end(state::REQUEUE).restarts(1_u32).suspend_time(NOW + 100).before_suspension(100),
        Charged::Minimum,
    ));
    // Gang scheduling let it wait for another job, and it ran on.
    let suspended = end(state::COMPLETE).preempt_time(NOW + 50).suspend_time(NOW + 51).before_suspension(51);
    ends.push(("was suspended for another job", suspended, Charged::Minimum));
    ends.push(("preempted", end(PREEMPTED), Charged::Time));
    ends.push((
        "preempted and requeued",
        end(state::REQUEUE).restarts(1_u32).preempt_time(NOW + 100),
        Charged::Time,
    ));
    ends.push(("lost its node", end(NODE_FAIL), Charged::Time));
    ends.push(("ended in its grace time", end(state::COMPLETE).preempt_time(NOW + 50), Charged::Time));
    ends.push(("not launched", end(state::PENDING).restarts(1_u32), Charged::Time));
    ends.push((
        "requeued from a node that failed",
        Job::new(1_u32).state(NODE_FAIL).end_time(NOW + 100),
        Charged::Time,
    ));
    ends.push((
        "changes its size",
        end(state::RUNNING).state(state::RUNNING | state::RESIZING),
        Charged::Time,
    ));
    ends
}

fn expected(charged: Charged) -> f64 {
    match charged {
        Charged::Minimum => 2400.0,
        Charged::Time => 400.0,
    }
}

#[test]
fn a_job_that_ends_earlier_is_charged_the_minimum_once_for_fair_share_only() -> HostResult<()> {
    for (name, end, charged) in ends() {
        let mut host = begin(TEN_MINUTES, LIMITS)?;
        host.jobs(&[running(1)])?;
        host.init()?;
        host.advance(60)?;
        host.cycle()?;
        host.advance(40)?;
        host.jobs(&[end])?;
        host.job_end(1)?;
        let time = ran(100.0, 1.0, 1.0);
        let raw = expected(charged);
        for step in ["at the end", "reported again", "after cycles"] {
            for id in [ALICE, 2, 1] {
                let found = of(&mut host, id)?;
                assert_eq!(
                    (found.raw, found.wall, found.cpu, found.memory),
                    (raw, time.wall, time.cpu, time.memory),
                    "{name} {step}"
                );
            }
            let qos = of_qos(&mut host, NORMAL)?;
            assert_eq!((qos.raw, qos.wall, qos.cpu), (400.0, time.wall, time.cpu), "{name} {step}");
            if step == "at the end" {
                host.job_end(1)?;
            } else {
                host.jobs(&[Job::new(1_u32).state(state::COMPLETE)])?;
                host.advance(300)?;
                host.cycle()?;
            }
        }
        host.quit()?;
    }
    Ok(())
}

#[test]
fn rules_and_the_usage_factor_multiply_the_minimum() -> HostResult<()> {
    let rules = "MinimumCharge=10:00\nCharge=Account Name=physics Factor=0.5\nCharge=Partition Name=batch Factor=4 Scope=limits\n";
    let mut host = begin(rules, LIMITS)?;
    host.jobs(&[running(1).qos(2_u32)])?;
    host.init()?;
    host.advance(100)?;
    host.jobs(&[Job::new(1_u32).state(state::COMPLETE | state::COMPLETING).end_time(NOW + 100)])?;
    host.job_end(1)?;
    let found = of(&mut host, ALICE)?;
    // Half price by the QOS.
    assert_eq!((found.raw, found.wall), (600.0 * 4.0 * 0.5 * 2.0, 100.0 * 0.5 * 4.0));
    assert_eq!(of_qos(&mut host, 2)?.raw, 400.0 * 0.5 * 4.0);
    host.quit().map(drop)
}

#[test]
fn suspended_time_is_not_run() -> HostResult<()> {
    // Ran 60 seconds, stood still for 200, ran 40.
    let mut host = begin(TEN_MINUTES, LIMITS)?;
    host.jobs(&[running(1).before_suspension(60).suspend_time(NOW + 260)])?;
    host.init()?;
    host.advance(300)?;
    host.jobs(&[Job::new(1_u32).state(state::COMPLETE | state::COMPLETING).end_time(NOW + 300)])?;
    host.job_end(1)?;
    // Stock charges the time in which it stood still, too.
    assert_eq!(of(&mut host, ALICE)?.raw, 4.0 * (300.0 + 500.0));
    host.quit().map(drop)
}

#[test]
fn who_ran_long_enough_or_not_at_all_is_charged_nothing_more() -> HostResult<()> {
    let mut host = begin(TEN_MINUTES, LIMITS)?;
    // A component of a heterogeneous job that is only tried, and a job that was cancelled before it started.
    host.jobs(&[running(1), waiting(2), waiting(3).state(CANCELLED).end_time(NOW)])?;
    host.init()?;
    host.job_end(2)?;
    host.job_end(3)?;
    assert_eq!(of(&mut host, ALICE)?.raw, 0.0);
    host.advance(600)?;
    host.jobs(&[Job::new(1_u32).state(state::COMPLETE | state::COMPLETING).end_time(NOW + 600)])?;
    host.job_end(1)?;
    assert_eq!(of(&mut host, ALICE)?, Sums { back: 144_000, ..ran(600.0, 1.0, 1.0) });
    host.quit().map(drop)
}

/// Raw usage of alice after each step.
fn without_ends(host: &mut Host, steps: &[(i64, Vec<Job>)]) -> HostResult<Vec<f64>> {
    host.init()?;
    let mut found = Vec::new();
    for (seconds, jobs) in steps {
        host.advance(*seconds)?;
        host.jobs(jobs)?;
        host.cycle()?;
        found.push(of(host, ALICE)?.raw);
    }
    Ok(found)
}

#[test]
fn without_reports_of_ends_the_cycle_charges_ended_jobs_that_it_still_sees_once() -> HostResult<()> {
    for (name, end, charged) in ends() {
        let unseen = [
            "requeued",
            "requeued while it was suspended",
            "preempted and requeued",
            "requeued from a node that failed",
            "changes its size",
        ];
        if unseen.contains(&name) {
            // What a cycle would see of them is another state.
            continue;
        }
        let mut host = begin(TEN_MINUTES, ASSOCIATIONS)?;
        host.jobs(&[running(1)])?;
        let found = without_ends(&mut host, &[(60, vec![]), (60, vec![end]), (60, vec![]), (60, vec![])])?;
        // Of the last 40 seconds stock charges nothing where ends are not reported.
        let after = if charged == Charged::Minimum { 2400.0 } else { 240.0 };
        assert_eq!(found, [240.0, after, after, after], "{name}");
        assert_eq!(of_qos(&mut host, NORMAL)?.raw, 240.0);
        host.quit()?;
    }
    Ok(())
}

#[test]
fn a_job_between_two_cycles_and_one_that_ends_in_the_second_of_a_cycle_are_charged_once() -> HostResult<()> {
    let done = |id, end| running(id).start_time(NOW + 10).state(state::COMPLETE).end_time(end);
    let mut host = begin(TEN_MINUTES, ASSOCIATIONS)?;
    let never = waiting(9).state(CANCELLED).start_time(NOW + 20).end_time(NOW + 20).tres_allocated([]);
    let found = without_ends(
        &mut host,
        &[(60, vec![done(1, NOW + 30), done(2, NOW + 60), never]), (60, vec![]), (60, vec![])],
    )?;
    // Whether the second one was charged until then nobody knows: it is taken to be.
    assert_eq!(found, [2400.0, 4600.0, 4600.0]);
    // Nothing more is charged of a run that was long enough and of which a part was not.
    host.jobs(&[running(3).start_time(NOW + 200).end_time_expected(NOW + 90_000)])?;
    let mut steps = BTreeMap::new();
    for (seconds, ends) in [(600, false), (300, true), (300, false)] {
        host.advance(seconds)?;
        if ends {
            host.jobs(&[Job::new(3_u32).state(state::COMPLETE).end_time(NOW + 850)])?;
        }
        host.cycle()?;
        steps.insert(steps.len(), of(&mut host, ALICE)?.raw - 4600.0);
    }
    assert_eq!(steps.into_values().collect::<Vec<_>>(), [2320.0, 2320.0, 2320.0]);
    host.quit().map(drop)
}

#[test]
fn a_minimum_that_comes_later_is_for_jobs_that_end_later() -> HostResult<()> {
    for enforce in [ASSOCIATIONS, LIMITS] {
        let mut host = begin("", enforce)?;
        let done = |id, end| running(id).state(state::COMPLETE).end_time(end);
        host.init()?;
        host.advance(100)?;
        host.jobs(&[done(1, NOW + 50)])?;
        write_file(&host, TEN_MINUTES)?;
        host.reconfigure(true)?;
        host.advance(100)?;
        host.jobs(&[done(2, NOW + 150)])?;
        if enforce == LIMITS {
            host.job_end(1)?;
            host.job_end(2)?;
        }
        host.cycle()?;
        let ended_before = if enforce == LIMITS { 200.0 } else { 0.0 };
        assert_eq!(of(&mut host, ALICE)?.raw, 2400.0 + ended_before, "{enforce}");
        host.quit()?;
    }
    Ok(())
}

#[test]
fn a_restart_charges_no_minimum_twice_and_forgets_none() -> HostResult<()> {
    let mut host = begin(TEN_MINUTES, ASSOCIATIONS)?;
    host.init()?;
    host.advance(100)?;
    host.jobs(&[running(1).state(state::COMPLETE).end_time(NOW + 50)])?;
    host.cycle()?;
    host.jobs(&[running(2).start_time(NOW + 110).state(state::COMPLETE).end_time(NOW + 150)])?;
    host.advance(100)?;
    host.save()?;
    host.fini()?;
    host.init()?;
    host.advance(100)?;
    host.cycle()?;
    assert_eq!(of(&mut host, ALICE)?.raw, 4800.0);
    host.quit().map(drop)
}

/// Each run is one by itself.
#[test]
fn the_last_run_of_a_job_that_was_requeued_is_charged_the_minimum() -> HostResult<()> {
    let mut host = begin(TEN_MINUTES, ASSOCIATIONS)?;
    host.jobs(&[running(1).restarts(1_u32)])?;
    let ends = Job::new(1_u32).state(state::COMPLETE).end_time(NOW + 100);
    let found = without_ends(&mut host, &[(60, vec![]), (60, vec![ends]), (60, vec![])])?;
    assert_eq!(found, [240.0, 2400.0, 2400.0]);
    host.quit().map(drop)
}

/// It has not waited after a requeue: it ran, for less than a second.
#[test]
fn a_job_that_ends_in_the_second_of_its_start_is_charged_the_minimum_without_reports_of_ends(
) -> HostResult<()> {
    let mut host = begin(TEN_MINUTES, ASSOCIATIONS)?;
    let ended = running(1).state(state::COMPLETE).start_time(NOW + 30).end_time(NOW + 30);
    let found = without_ends(&mut host, &[(60, vec![ended]), (60, vec![])])?;
    assert_eq!(found, [2400.0; 2]);
    host.quit().map(drop)
}

/// What it held stays in its record until it starts again; cancelled before that, it starts and ends in one second.
#[test]
fn a_job_that_is_cancelled_while_it_waits_after_a_requeue_is_charged_nothing_more() -> HostResult<()> {
    let targets = "MinimumCharge=10:00\nTarget=Partition Name=batch Percent=50\n";
    for settings in [TEN_MINUTES, targets] {
        let mut host = begin(settings, ASSOCIATIONS)?;
        host.jobs(&[running(1)])?;
        let waits = Job::new(1_u32).state(state::PENDING).restarts(1_u32).start_time(0).end_time(0);
        let cancelled = Job::new(1_u32).state(CANCELLED).start_time(NOW + 150).end_time(NOW + 150);
        let found =
            without_ends(&mut host, &[(60, vec![]), (60, vec![waits]), (60, vec![cancelled]), (60, vec![])])?;
        assert_eq!(found, [240.0; 4]);
        let file = host.directory().join("state/multifactor2_usage");
        if settings == targets {
            let text = std::fs::read_to_string(file).expect("the file is there");
            let sums = multifactor2_accounting::sums_file::parse(&text).expect("it can be read").0;
            assert_eq!(sums.readings(multifactor2_accounting::sums::Model::HalfLife).all, 240.0);
        }
        host.quit()?;
    }
    Ok(())
}
