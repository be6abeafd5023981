//! Passes that are left out because nothing can have changed: the result is the same as with all of them.

use multifactor2_replay::sim::{simulate_with, Parameters, Plan, Scheduler};
use multifactor2_replay::synthetic::Recipe;
use proptest::prelude::*;

use crate::invariants::check;
use crate::made::{jobs, machine, policy, workload, Made};

fn parameters() -> impl Strategy<Value = Parameters> {
    let bound = || prop_oneof![Just(0_u32), 1_u32..5];
    (
        (1_u32..40, 1_u32..90, 0_u32..20, 1_u32..60, 1_u32..30),
        (1_u32..40, prop_oneof![Just(0_u32), 1_u32..600], bound(), bound(), bound()),
        (bound(), bound(), any::<bool>(), 1_u32..120, prop_oneof![Just(0_u32), 1_u32..400_000]),
        any::<[bool; 3]>(),
    )
        .prop_map(|(one, two, three, four)| Parameters {
            default_queue_depth: one.0,
            sched_interval: Some(one.1),
            batch_sched_delay: one.2,
            bf_interval: one.3,
            bf_max_job_test: one.4,
            bf_window: two.0,
            bf_min_age_reserve: two.1,
            bf_max_job_user: two.2,
            bf_max_job_part: two.3,
            bf_max_job_assoc: two.4,
            bf_max_job_user_part: three.0,
            bf_max_job_start: three.1,
            bf_one_resv_per_job: three.2,
            bf_resolution: three.3,
            bf_min_prio_reserve: three.4,
            defer: four[0],
            in_windows: four[1],
            ends_are_rounded_up: four[2],
            node_release: u32::from(four[2]) * 2700,
            ..Parameters::default()
        })
}

#[test]
fn skipped_passes_change_nothing() {
    check(
        400,
        &(jobs(70), any::<bool>(), any::<u8>(), parameters()),
        |(made, shared, number, parameters)| assert_nothing_changes(&made, shared, number, parameters),
    );
}

fn assert_nothing_changes(
    made: &[Made],
    shared: bool,
    number: u8,
    parameters: Parameters,
) -> Result<(), TestCaseError> {
    let (workload, machine) = (
        workload(made, &[("PriorityWeightAge", "1000"), ("PriorityWeightFairShare", "500000")]),
        machine(shared),
    );
    let policy = policy(number);
    let plan = Plan {
        workload: &workload,
        machine: &machine,
        scheduler: Scheduler::Slurm(parameters),
        policy: &policy,
    };
    let (skipped, naive) =
        (simulate_with(&plan, true, |_| true).unwrap(), simulate_with(&plan, false, |_| true).unwrap());
    prop_assert!(skipped.passes <= naive.passes);
    prop_assert_eq!(skipped.starts, naive.starts);
    prop_assert_eq!(skipped.partitions, naive.partitions);
    Ok(())
}

/// A pass over all starts jobs that end in the same second. Backfill comes between, also where it had nothing to do before: it once
/// came after their ends.
#[test]
fn backfill_comes_before_what_ends_in_the_same_second() {
    let made = [
        (31, 0, 0, 6, 0, 2),
        (6, 0, 0, 8, 3, 1),
        (91, 0, 0, 1, 1, 1),
        (91, 0, 0, 6, 0, 1),
        (40, 17, 54, 1, 5, 1),
        (5, 39, 0, 1, 2, 2),
        (5, 39, 0, 10, 3, 1),
        (91, 0, 0, 1, 1, 1),
        (0, 44, 0, 4, 4, 2),
        (5, 0, 0, 8, 3, 1),
        (0, 21, 0, 11, 1, 0),
        (0, 0, 0, 3, 5, 0),
        (0, 0, 0, 1, 5, 2),
        (0, 35, 0, 6, 2, 2),
        (5, 0, 0, 6, 2, 2),
        (0, 0, 0, 1, 5, 2),
    ];
    let parameters = Parameters {
        default_queue_depth: 1,
        sched_interval: Some(62),
        batch_sched_delay: 0,
        bf_interval: 1,
        bf_max_job_test: 4,
        bf_max_job_part: 1,
        bf_max_job_assoc: 1,
        bf_window: 1,
        bf_resolution: 1,
        ..Parameters::default()
    };
    assert_nothing_changes(&made, true, 89, parameters).unwrap();
}

/// The same for the pass over all that would have come before backfill, and from which the next one that is asked for keeps its distance.
#[test]
fn a_pass_that_is_left_out_before_backfill_is_a_pass() {
    let made = [
        (16, 0, 0, 1, 0, 0),
        (16, 20, 0, 6, 4, 2),
        (91, 4, 18, 3, 0, 1),
        (16, 0, 0, 1, 0, 0),
        (14, 27, 0, 10, 1, 0),
        (67, 0, 0, 1, 0, 0),
        (12, 0, 0, 1, 0, 0),
        (12, 0, 0, 1, 0, 0),
        (131, 0, 0, 1, 0, 0),
        (19, 0, 0, 1, 0, 0),
        (133, 4, 0, 3, 0, 1),
        (66, 58, 0, 2, 0, 0),
        (58, 0, 0, 1, 0, 0),
        (21, 36, 0, 8, 3, 1),
        (91, 4, 0, 4, 0, 1),
        (18, 2, 0, 9, 0, 1),
        (45, 55, 21, 8, 2, 2),
        (18, 58, 0, 4, 0, 1),
        (18, 0, 0, 1, 0, 0),
        (14, 0, 0, 7, 5, 1),
        (14, 0, 0, 9, 1, 0),
        (11, 0, 0, 1, 0, 0),
        (69, 0, 20, 3, 0, 2),
    ];
    let parameters = Parameters {
        default_queue_depth: 4,
        sched_interval: Some(21),
        batch_sched_delay: 9,
        defer: true,
        bf_interval: 49,
        bf_max_job_test: 4,
        bf_max_job_user: 1,
        bf_window: 8,
        bf_resolution: 5,
        bf_min_age_reserve: 237,
        ..Parameters::default()
    };
    assert_nothing_changes(&made, true, 1, parameters).unwrap();
}

#[test]
fn skipped_passes_change_nothing_on_a_site() {
    let mut recipe = Recipe::small(multifactor2_fixtures::seed(), 800);
    recipe.load = 0.9;
    let workload = recipe.make();
    let machine = workload.machine.clone().unwrap();
    for number in 0..4 {
        let policy = policy(number);
        let scheduler = Scheduler::Slurm(Parameters::default());
        let plan = Plan { workload: &workload, machine: &machine, scheduler, policy: &policy };
        let (skipped, naive) =
            (simulate_with(&plan, true, |_| true).unwrap(), simulate_with(&plan, false, |_| true).unwrap());
        println!("policy {number}: {} passes of {}", skipped.passes, naive.passes);
        assert!(skipped.passes < naive.passes);
        assert_eq!(skipped.starts, naive.starts, "policy {number}");
    }
}
