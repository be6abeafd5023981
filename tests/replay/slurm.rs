//! Single rules of Slurm's schedulers and priorities, one small workload each.

use multifactor2_replay::order::Policy;
use multifactor2_replay::sim::{Parameters, Plan, Scheduler};
use multifactor2_replay::synthetic::Recipe;
use multifactor2_replay::workload::Qos;

use crate::made::{machine, multifactor2, outcome, workload, Made};

/// When each job started after the first submission.
fn starts(made: &[Made], shared: bool, parameters: &str, policy: &Policy) -> Vec<i64> {
    let (workload, machine) = (workload(made, &[]), machine(shared));
    let outcome = outcome(&workload, &machine, Scheduler::Slurm(Parameters::parse(parameters)), policy);
    outcome.starts.iter().map(|start| start - workload.jobs[0].submit).collect()
}

/// p0 and p1 share a pool of 4 CPUs: a job of the higher tier is first there, although it came last.
#[test]
fn a_higher_tier_is_first() {
    // Everything of p1, until 200; all of p0 that is not shared, until 600; then 4 CPUs of p0, and 8 of p1, of which it has 6 alone.
    let made = [(0, 10, 0, 10, 0, 1), (0, 30, 0, 12, 0, 0), (1, 10, 0, 4, 0, 0), (2, 30, 0, 8, 1, 1)];
    let starts = starts(&made, true, "bf_interval=-1", &Policy::Fifo);
    assert_eq!(starts, [0, 0, 600, 200]);
}

/// A job that cannot start holds up its partition; one that is too young does not.
#[test]
fn a_young_job_holds_up_nobody() {
    let made = [(0, 20, 0, 10, 0, 0), (1, 20, 0, 12, 0, 0), (2, 40, 0, 4, 0, 0)];
    let strict = starts(&made, false, "bf_interval=-1", &Policy::Fifo);
    let lenient = starts(&made, false, "bf_interval=-1,bf_min_age_reserve=3600", &Policy::Fifo);
    assert!(strict[2] >= strict[1], "{strict:?}");
    assert!(lenient[2] < 30 && lenient[2] < lenient[1], "{lenient:?}");
}

/// Backfill starts what fits before the reservation; where it may consider one job of a user only, not this one.
#[test]
fn backfill_goes_by_users() {
    let made = [(0, 20, 0, 10, 0, 0), (1, 20, 0, 12, 1, 0), (2, 1, 0, 4, 1, 0)];
    let all = starts(&made, false, "", &Policy::Fifo);
    let one = starts(&made, false, "bf_max_job_user=1", &Policy::Fifo);
    assert_eq!((all[2], one[2]), (30, 400));
    // No room in the window: no reservation, and the small one may start although it delays the large one.
    let long = [(0, 50, 0, 10, 0, 0), (1, 20, 0, 12, 1, 0), (2, 60, 0, 4, 1, 0)];
    assert_eq!(starts(&long, false, "bf_window=60", &Policy::Fifo)[1], 1000);
    assert!(starts(&long, false, "bf_window=1", &Policy::Fifo)[2] < 1000);
}

/// An end makes a pass at once, unless it is deferred; a submission waits for `batch_sched_delay`.
#[test]
fn an_end_is_looked_at_at_once() {
    // The first ends at 200, and the last comes then.
    let made = [(0, 10, 0, 16, 0, 0), (1, 10, 0, 12, 0, 0), (20, 10, 0, 4, 0, 0)];
    let at_once =
        starts(&made, false, "batch_sched_delay=50,sched_interval=1000,bf_interval=-1", &Policy::Fifo);
    assert_eq!(at_once, [0, 200, 200]);
    let made = [(0, 10, 0, 16, 0, 0), (18, 10, 0, 16, 0, 0), (18, 1, 0, 4, 0, 0)];
    let deferred =
        starts(&made, false, "batch_sched_delay=50,sched_interval=1000,bf_interval=-1,defer", &Policy::Fifo);
    assert_eq!(deferred, [0, 230, 430]);
}

/// Where running jobs end together, a job is planned for the last of them: what does not end before may take its place.
#[test]
fn slurm_plans_by_windows() {
    // 10 CPUs until 600, 2 until 640, and 4 that are free; the next two need 14 and, for 580 s, 4.
    let made = [(0, 30, 0, 10, 0, 0), (0, 32, 0, 2, 0, 0), (1, 10, 0, 14, 1, 0), (1, 29, 0, 4, 2, 0)];
    let starts = |release: &str| {
        let (workload, machine) = (workload(&made, &[("SLURM_VERSION", release)]), machine(false));
        let scheduler = Scheduler::named("slurm", &workload.config).unwrap();
        let outcome = outcome(&workload, &machine, scheduler, &Policy::Fifo);
        outcome.starts.iter().map(|start| start - workload.jobs[0].submit).collect::<Vec<_>>()
    };
    assert_eq!(starts("25.05.1"), [0, 0, 600, 800]);
    assert_eq!(starts("24.11.5"), [0, 0, 610, 30]);
}

/// The priority of a QOS counts by its weight.
#[test]
fn a_qos_with_priority_is_first() {
    let made = [(0, 20, 0, 16, 0, 0), (1, 20, 0, 16, 0, 0), (2, 20, 0, 16, 1, 0)];
    let mut workload = workload(&made, &[("PriorityWeightQOS", "1000"), ("PriorityWeightFairShare", "1")]);
    workload.qos.push(Qos { priority: 10, ..Qos::named("high") });
    workload.jobs[2].qos = u16::try_from(workload.qos.len() - 1).unwrap();
    let policy = multifactor2("");
    let starts = outcome(&workload, &machine(false), Scheduler::Fcfs, &policy).starts;
    assert!(starts[2] < starts[1], "{starts:?}");
}

/// With age alone a job that waits longer is first, as at its submission.
#[test]
fn age_alone_is_the_order_of_submission() {
    let workload = {
        let mut made = Recipe::small(11, 400).make();
        for (name, value) in [("PriorityWeightAge", "4000000000"), ("PriorityMaxAge", "100-0")] {
            made.config.set(name, value);
        }
        made
    };
    let machine = workload.machine.clone().unwrap();
    let by_age = outcome(&workload, &machine, Scheduler::Fcfs, &multifactor2(""));
    let fifo = outcome(&workload, &machine, Scheduler::Fcfs, &Policy::Fifo);
    let same = by_age.starts.iter().zip(&fifo.starts).filter(|(one, two)| one == two).count();
    // Until the first cycle after its submission a job has no age.
    assert!(same * 10 >= fifo.starts.len() * 9, "{same} of {}", fifo.starts.len());
}

#[test]
fn what_is_left_out_is_said() {
    let workload = workload(
        &[(0, 1, 0, 1, 0, 0)],
        &[("PriorityUsageResetPeriod", "MONTHLY"), ("PriorityFlags", "CALCULATE_RUNNING")],
    );
    let machine = machine(false);
    let scheduler = Scheduler::Slurm(Parameters::parse("bf_continue"));
    let policy = multifactor2("Component=CRED Group=1\nCredential=Group Name=* Priority=1\n");
    let plan = Plan { workload: &workload, machine: &machine, scheduler, policy: &policy };
    let left_out = plan.left_out();
    for part in
        ["points", "SchedulerParameters=bf_continue", "PriorityUsageResetPeriod=MONTHLY", "CALCULATE_RUNNING"]
    {
        assert!(left_out.iter().any(|line| line.contains(part)), "{part} is not in {left_out:?}");
    }
}

#[test]
fn jitter_moves_submissions_and_nothing_else() {
    let workload = Recipe::small(1, 200).make();
    assert_eq!(workload.jittered(5, 60).jobs, workload.jittered(5, 60).jobs);
    assert_ne!(workload.jittered(5, 60).jobs, workload.jittered(6, 60).jobs);
    assert_eq!(workload.jittered(5, 0).jobs, workload.jobs);
    let mut moved = workload.jittered(5, 60).jobs;
    moved.sort_by_key(|job| job.id);
    for (before, after) in workload.jobs.iter().zip(&moved) {
        assert!((0..=60).contains(&(after.submit - before.submit)) && after.run == before.run);
    }
}

/// Two jobs on one machine, one after the other: the second starts when the CPUs of the first can be used again.
#[test]
fn a_node_is_free_some_seconds_after_its_job() {
    let workload = workload(&[(0, 10, 0, 16, 0, 0), (0, 10, 0, 16, 1, 0)], &[]);
    let machine = machine(false);
    let start = |node_release| {
        let parameters = Parameters { node_release, batch_sched_delay: 0, ..Parameters::default() };
        let outcome = outcome(&workload, &machine, Scheduler::Slurm(parameters), &Policy::Fifo);
        outcome.starts[1] - outcome.starts[0]
    };
    assert_eq!((start(0), start(7000)), (200, 207));
    // The one job falls to one side or the other.
    assert!([200, 201].contains(&start(500)));
}

/// One job that fits stands behind twelve that do not, and another comes 10 s later. Each test takes a second.
#[test]
fn a_pass_of_backfill_breaks_off_as_slurmctld_does() {
    let mut rows = vec![(0, 50, 0, 10, 0, 0)];
    rows.extend([(0, 50, 0, 16, 0, 0); 12]);
    rows.extend([(0, 1, 0, 1, 0, 0), (1, 50, 0, 16, 0, 0)]);
    let (workload, machine) = (workload(&rows, &[]), machine(false));
    let waited = |backfill_rate, text: &str| {
        let parameters = Parameters { backfill_rate, ..Parameters::parse(text) };
        let outcome = outcome(&workload, &machine, Scheduler::Slurm(parameters), &Policy::Fifo);
        outcome.starts[13] - outcome.starts[0]
    };
    assert_eq!(waited(0, ""), 0, "a pass takes no time");
    assert_eq!(waited(1000, ""), 0, "it is over before the job comes");
    assert_eq!(waited(1, "bf_continue"), 0, "it goes on");
    assert_eq!(waited(1, "bf_yield_interval=10000000,bf_yield_sleep=1"), 40, "the sleep is at 10 s");
    assert_eq!(waited(1, ""), 40, "it breaks off after 10 s; the next one comes 30 s later");
    assert_eq!(
        waited(1, "bf_continue,bf_max_time=15"),
        0,
        "12 tests and 5 sleeps of half a second come before"
    );
    assert!(waited(1, "bf_continue,bf_max_time=14") > 900, "no pass comes so far");
}
