//! Passes that are left out because nothing can have changed: the result is the same as with all of them.

use multifactor2_replay::sim::{simulate_with, Parameters, Plan, Scheduler};
use multifactor2_replay::synthetic::Recipe;
use proptest::prelude::*;

use crate::invariants::check;
use crate::made::{jobs, machine, policy, workload};

fn parameters() -> impl Strategy<Value = Parameters> {
    let bound = || prop_oneof![Just(0_u32), 1_u32..5];
    (
        (1_u32..40, 1_u32..90, 0_u32..20, 1_u32..60, 1_u32..30),
        (1_u32..40, prop_oneof![Just(0_u32), 1_u32..600], bound(), bound(), bound()),
        (bound(), bound(), any::<bool>(), 1_u32..120, prop_oneof![Just(0_u32), 1_u32..400_000]),
    )
        .prop_map(|(one, two, three)| Parameters {
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
            ..Parameters::default()
        })
}

#[test]
fn skipped_passes_change_nothing() {
    check(
        400,
        &(jobs(70), any::<bool>(), any::<u8>(), parameters()),
        |(made, shared, number, parameters)| {
            let (workload, machine) = (
                workload(&made, &[("PriorityWeightAge", "1000"), ("PriorityWeightFairShare", "500000")]),
                machine(shared),
            );
            let policy = policy(number);
            let plan = Plan {
                workload: &workload,
                machine: &machine,
                scheduler: Scheduler::Slurm(parameters),
                policy: &policy,
            };
            let (skipped, naive) = (
                simulate_with(&plan, true, |_| true).unwrap(),
                simulate_with(&plan, false, |_| true).unwrap(),
            );
            prop_assert!(skipped.passes <= naive.passes);
            prop_assert_eq!(skipped.starts, naive.starts);
            prop_assert_eq!(skipped.partitions, naive.partitions);
            Ok(())
        },
    );
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
