//! Slurm's own fair-share in a replay.

use multifactor2_core::policy::stock::{standings, Algorithm};
use multifactor2_core::ShareTree;
use multifactor2_fixtures::assert_near;
use multifactor2_replay::order::{Multifactor, Order, Policy, Started, Stock};
use multifactor2_replay::sim::Scheduler;
use multifactor2_replay::synthetic::Recipe;
use multifactor2_replay::workload::Setup;
use multifactor2_replay::Workload;

use crate::made::{machine, outcome, workload};

/// Priorities of jobs that wait are the factors of the core, times the weight.
#[test]
fn priorities_are_those_of_the_core() {
    let workload = workload(&[(0, 60, 0, 4, 0, 0), (0, 60, 0, 4, 1, 0), (0, 60, 0, 4, 2, 0)], &[]);
    let machine = machine(false);
    let setup = Setup::new(&workload, &machine);
    let mut order = Multifactor::new(&setup, Box::new(Stock::fair_tree()));
    let now = workload.jobs[0].submit;
    let mut first = Vec::new();
    for job in 0..3 {
        order.submit(now, job, &mut first);
    }
    // Nobody has used anything: all are the best.
    assert_eq!(first, [1_000_000; 3]);
    order.start(Started { job: 0, partition: 0, at: now });
    let mut seen = [0; 3];
    order.cycle(now + 300, &[1, 2], &mut |job, priorities| seen[job as usize] = priorities[0]);
    let tree = ShareTree::build(&workload.node_specs());
    let shown = standings(&tree, order.usage().by_node(), Algorithm::FairTree);
    for job in [1_u32, 2] {
        let node = tree.position(workload.jobs[job as usize].association as usize).unwrap();
        let factor = shown[node.index()].factor.unwrap();
        assert_near(f64::from(seen[job as usize]), (factor * 1e6).trunc(), "priority");
    }
    assert!(seen[1] > seen[2], "the account of job 2 has used something");
}

#[test]
fn both_replay_and_differ() {
    let mut recipe = Recipe::small(2, 600);
    recipe.load = 1.5;
    let mut workload = recipe.make();
    let machine = workload.machine.clone().unwrap();
    let starts = |workload: &Workload, policy| outcome(workload, &machine, Scheduler::Easy, &policy).starts;
    let (fair_tree, classic) = (starts(&workload, Policy::FairTree), starts(&workload, Policy::Classic));
    assert!(fair_tree != classic, "both are the same");
    // Dampening keeps the order of factors; beside age it counts.
    for (name, value) in [("PriorityWeightFairShare", "1000"), ("PriorityWeightAge", "5000")] {
        workload.config.set(name, value);
    }
    let (fair_tree, classic) = (starts(&workload, Policy::FairTree), starts(&workload, Policy::Classic));
    workload.config.set("FairShareDampeningFactor", "5");
    assert!(starts(&workload, Policy::Classic) != classic, "nothing has changed");
    assert!(starts(&workload, Policy::FairTree) == fair_tree, "Fair Tree has no dampening");
}
