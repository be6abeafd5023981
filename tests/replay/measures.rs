//! Measures of outcomes that can be worked out by hand.

use multifactor2_fixtures::assert_near;
use multifactor2_replay::measures::{compare, fairness, summary, Counted, Spread};
use multifactor2_replay::order::Policy;
use multifactor2_replay::sim::{simulate, simulate_with, Outcome, Plan, Scheduler, NEVER};
use multifactor2_replay::synthetic::Recipe;

use crate::made::{machine, outcome, workload};

#[test]
fn means_and_extremes() {
    let mut values: Vec<f64> = (1..=100).map(f64::from).collect();
    assert_eq!(Spread::of(&mut values), Spread { count: 100, mean: 50.5, p95: 95.0, worst: 100.0 });
    assert_eq!(Spread::of(&mut []), Spread::default());
}

/// Two jobs of 12 CPUs on 16: the second waits for the first.
#[test]
fn two_jobs() {
    let workload = workload(&[(0, 10, 0, 12, 0, 0), (0, 10, 0, 12, 1, 0)], &[]);
    let machine = machine(false);
    let outcome = outcome(&workload, &machine, Scheduler::Easy, &Policy::Fifo);
    let counted = Counted::of(&workload, &[&outcome], i64::MIN);
    let summary = summary(&workload, &machine, &outcome, &counted);
    assert_near(summary.all.wait.mean, 100.0, "mean wait");
    assert_near(summary.all.wait.worst, 200.0, "longest wait");
    assert_near(summary.all.flow.mean, 300.0, "mean flow");
    assert_near(summary.all.slowdown.mean, 1.5, "mean slowdown");
    assert_near(summary.all.area_weighted, 100.0, "by area");
    assert_near(summary.accounts[1].wait.mean, 200.0, "wait of the second account");
    assert_near(summary.accounts[1].normalised, 200.0 / 2400.0, "normalised");
    assert_near(summary.utilisation, 12.0 / 16.0, "utilisation");
    assert_eq!((summary.makespan, summary.not_started), (400, 0));
    let same = compare(&workload, &outcome, &outcome, &counted);
    assert_eq!((same.earlier_later_same, same.mean_wait), ([0, 0, 2], vec![0.0; 3]));
    assert_near(same.inversions, 0.0, "inversions");
}

/// On a machine that is never full nobody is treated unfairly.
#[test]
fn nothing_is_contended_where_nobody_waits() {
    let mut recipe = Recipe::small(3, 300);
    recipe.cpus = 100_000;
    recipe.load = 0.0001;
    let workload = recipe.make();
    let machine = workload.machine.clone().unwrap();
    let outcome = outcome(&workload, &machine, Scheduler::Easy, &Policy::Fifo);
    let fairness = fairness(&workload, &outcome, 20, 7 * 86_400, i64::MIN);
    assert_near(fairness.contended, 0.0, "contended seconds");
    assert!(fairness.samples.iter().all(|sample| sample.jain.is_none() && sample.shortfall.is_none()));
}

/// What accounts used is what their jobs were.
#[test]
fn usage_over_time_adds_up() {
    let workload = Recipe::small(5, 1500).make();
    let machine = workload.machine.clone().unwrap();
    let outcome = outcome(&workload, &machine, Scheduler::Easy, &Policy::Fifo);
    let fairness = fairness(&workload, &outcome, 50, 7 * 86_400, i64::MIN);
    let (mut begin, mut expected) = (i64::MAX, 0.0);
    let length = fairness.samples[1].begin - fairness.samples[0].begin;
    let end = fairness.samples.last().unwrap().begin + length;
    for (job, start) in workload.jobs.iter().zip(&outcome.starts) {
        begin = begin.min(job.submit);
        #[allow(clippy::cast_precision_loss)]
        let seconds = ((start + i64::from(job.run)).min(end) - start).max(0) as f64;
        expected += seconds * f64::from(job.cpus);
    }
    let used: f64 = fairness.samples.iter().flat_map(|sample| &sample.used).sum();
    assert_near(used, expected, "CPU seconds");
    assert!(fairness.contended > 0.0 && fairness.shares.len() == 4);
    assert_near(fairness.shares.iter().sum(), 1.0, "shares");
    assert!(fairness.share_error.worst <= 1.0 && fairness.jain_gap.worst < 1.0);
    let (got, entitled): (f64, f64) = (fairness.got.iter().sum(), fairness.entitled.iter().sum());
    assert_near(got, entitled, "what all got and were entitled to");
}

/// Policies are compared in the same jobs: those that all of them ended, also where one was stopped (Ctrl-C).
#[test]
fn only_jobs_that_all_policies_ended_are_compared() {
    let workload = Recipe::small(5, 3000).make();
    let machine = workload.machine.clone().unwrap();
    let plan = |policy| Plan { workload: &workload, machine: &machine, scheduler: Scheduler::Easy, policy };
    let whole = simulate(&plan(&Policy::Fifo)).unwrap();
    let mut calls = 0;
    let stopped = simulate_with(&plan(&Policy::FairTree), true, |_| {
        calls += 1;
        calls < 5
    });
    let stopped = stopped.unwrap();
    let at = stopped.stopped_at.expect("it was stopped");
    let counted = Counted::of(&workload, &[&whole, &stopped], i64::MIN);
    assert!(counted.count() > 100 && counted.count() < 2000, "{}", counted.count());
    for (job, counts) in counted.jobs.iter().enumerate() {
        let ended = |outcome: &Outcome| {
            outcome.starts[job] != NEVER && outcome.starts[job] + i64::from(workload.jobs[job].run) <= at
        };
        assert_eq!(*counts, ended(&stopped), "the whole one ended all: {job}");
    }
    let of = |outcome| summary(&workload, &machine, outcome, &counted).all;
    assert_eq!((of(&whole).wait.count, of(&stopped).wait.count), (counted.count(), counted.count()));
    assert_near(of(&whole).cpu_seconds, of(&stopped).cpu_seconds, "the same jobs");
}
