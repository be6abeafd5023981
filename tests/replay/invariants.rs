//! What holds of every scheduler, whatever the workload.

use multifactor2_fixtures::seed;
use multifactor2_replay::order::Policy;
use multifactor2_replay::sim::{Outcome, Parameters, Scheduler, NEVER};
use multifactor2_replay::synthetic::Recipe;
use multifactor2_replay::workload::{Machine, Workload};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::made::{jobs, machine, outcome, policy, schedulers, workload};

/// Runs a property by the seed of the test.
pub fn check<S: Strategy>(
    cases: u32,
    strategy: &S,
    property: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed().to_le_bytes());
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    TestRunner::new_with_rng(config, random)
        .run(strategy, property)
        .unwrap_or_else(|error| panic!("{error}"));
}

/// At no time more CPUs are in use than there are, in the machine and in each partition; every job that fits runs, and none too early.
fn assert_sound(workload: &Workload, machine: &Machine, outcome: &Outcome) -> Result<(), TestCaseError> {
    let mut changes: Vec<(i64, i64, u16)> = Vec::new();
    for (at, job) in workload.jobs.iter().enumerate() {
        let start = outcome.starts[at];
        let set = &workload.partition_sets[usize::from(job.partitions)];
        let names: Vec<&str> = set.iter().map(|name| workload.partitions.name(u32::from(*name))).collect();
        let asked = |name: &str| machine.partitions.len() == 1 || names.contains(&name);
        let fits = machine
            .partitions
            .iter()
            .any(|partition| asked(&partition.name) && u64::from(job.cpus) <= machine.cpus_of(partition));
        prop_assert_eq!(start != NEVER, fits, "job {}", job.id);
        if start == NEVER {
            continue;
        }
        prop_assert!(start >= job.eligible);
        let partition = outcome.partitions[at];
        prop_assert!(asked(&machine.partitions[usize::from(partition)].name));
        changes.push((start + i64::from(job.run), -i64::from(job.cpus), partition));
        changes.push((start, i64::from(job.cpus), partition));
    }
    // At one time ends come before starts; jobs without a run time never count.
    changes.sort_unstable();
    let mut used = vec![0_i64; machine.partitions.len()];
    for (_, change, partition) in changes {
        used[usize::from(partition)] += change;
        let all = i64::try_from(machine.cpus()).unwrap();
        prop_assert!(used.iter().sum::<i64>() <= all, "more than the machine has");
        let of = i64::try_from(machine.cpus_of(&machine.partitions[usize::from(partition)])).unwrap();
        prop_assert!(used[usize::from(partition)] <= of, "more than the partition has");
    }
    Ok(())
}

#[test]
fn nothing_is_oversubscribed_and_everybody_runs() {
    check(150, &(jobs(60), any::<bool>(), any::<u8>()), |(made, shared, number)| {
        let (workload, machine) = (workload(&made, &[("PriorityCalcPeriod", "1")]), machine(shared));
        for scheduler in schedulers() {
            let outcome = outcome(&workload, &machine, scheduler, &policy(number));
            assert_sound(&workload, &machine, &outcome)?;
        }
        Ok(())
    });
}

/// The first reservation of a job is when it would start if nobody came after it and all that run would run to their limits.
#[test]
fn conservative_keeps_its_first_promise() {
    check(60, &(jobs(25), any::<bool>()), |(made, shared)| {
        let (workload, machine) = (workload(&made, &[]), machine(shared));
        let real = outcome(&workload, &machine, Scheduler::Conservative, &Policy::Fifo);
        for at in 0..workload.jobs.len() {
            let mut until = workload.clone();
            until.jobs.truncate(at + 1);
            let now = workload.jobs[at].submit;
            for (job, start) in until.jobs.iter_mut().zip(&real.starts) {
                if *start == NEVER || start + i64::from(job.run) > now {
                    let most = machine.partitions.iter().map(|partition| partition.max_time).max().unwrap();
                    job.run = job.limit.min(most);
                }
            }
            let promised = outcome(&until, &machine, Scheduler::Conservative, &Policy::Fifo).starts[at];
            prop_assert!(real.starts[at] <= promised, "job {at}: {} after {promised}", real.starts[at]);
        }
        Ok(())
    });
}

/// Starts in the order of submission, by a list of who runs.
fn first_come_first_served(workload: &Workload, cpus: u32) -> Vec<i64> {
    let mut running: Vec<(i64, u32)> = Vec::new();
    let mut last = i64::MIN;
    let mut starts = Vec::new();
    for job in &workload.jobs {
        let mut at = last.max(job.submit);
        loop {
            let used: u32 = running.iter().filter(|(end, _)| *end > at).map(|(_, cpus)| cpus).sum();
            if used + job.cpus <= cpus {
                break;
            }
            at = running.iter().map(|(end, _)| *end).filter(|end| *end > at).min().unwrap();
        }
        running.push((at + i64::from(job.run), job.cpus));
        last = at;
        starts.push(at);
    }
    starts
}

#[test]
fn fcfs_keeps_the_order() {
    check(200, &jobs(60), |made| {
        let (workload, machine) = (workload(&made, &[]), machine(false));
        let starts = outcome(&workload, &machine, Scheduler::Fcfs, &Policy::Fifo).starts;
        prop_assert!(starts.windows(2).all(|pair| pair[0] <= pair[1]));
        prop_assert_eq!(starts, first_come_first_served(&workload, 16));
        Ok(())
    });
}

/// Slurm without backfill and without delays, in the order of submission and in one partition, is FCFS.
#[test]
fn slurm_without_backfill_is_fcfs() {
    check(200, &jobs(60), |made| {
        let (workload, machine) = (workload(&made, &[]), machine(false));
        let parameters = Parameters::parse("bf_interval=-1,batch_sched_delay=0");
        let slurm = outcome(&workload, &machine, Scheduler::Slurm(parameters), &Policy::Fifo);
        let fcfs = outcome(&workload, &machine, Scheduler::Fcfs, &Policy::Fifo);
        prop_assert_eq!(slurm.starts, fcfs.starts);
        Ok(())
    });
}

#[test]
fn two_runs_are_equal() {
    let seed = seed();
    let make = || Recipe::small(seed, 500).make();
    let (one, two) = (make(), make());
    assert_eq!(one.jobs, two.jobs);
    assert_eq!(one.associations, two.associations);
    let machine = one.machine.clone().unwrap();
    for number in 0..4 {
        for scheduler in schedulers() {
            let run = |workload: &Workload| {
                let outcome = outcome(workload, &machine, scheduler.clone(), &policy(number));
                format!("{outcome:?}")
            };
            assert_eq!(run(&one), run(&two), "{scheduler:?}, policy {number}");
        }
    }
}

/// Fair-share brings usage of a full machine near the shares: of two accounts with 3 and 1 shares and the same jobs the first has more.
#[test]
fn shares_decide_who_waits() {
    let mut recipe = Recipe::small(7, 4000);
    (recipe.accounts, recipe.users, recipe.load) = (2, 4, 3.0);
    let workload = recipe.make();
    let machine = workload.machine.clone().unwrap();
    let slurm = || Scheduler::Slurm(Parameters::default());
    let mean = |policy: u8| {
        let outcome = outcome(&workload, &machine, slurm(), &crate::made::policy(policy));
        let counted = multifactor2_replay::measures::Counted::of(&workload, &[&outcome], i64::MIN);
        let summary = multifactor2_replay::measures::summary(&workload, &machine, &outcome, &counted);
        let account = |name: &str| summary.accounts[workload.accounts.find(name).unwrap() as usize].wait.mean;
        account("account0") / account("account1")
    };
    // 1001 shares against 501.
    let (fifo, tickets) = (mean(0), mean(1));
    println!("waits of account0 in parts of those of account1: fifo {fifo}, tickets {tickets}");
    assert!(tickets < 0.8 * fifo, "{tickets} {fifo}");
}
