//! Measures how long a replay takes, and how that grows with the number of jobs.
//!
//!     cargo run --release -p multifactor2-replay --example sizes [-- [JOBS…] [--scheduler NAME] [--policy NAME…] [--all] [--nodes]]
//!
//! To measure growth, the queue must be as deep with many jobs as with few. So the same days repeat: [`DAYS`] jobs of a large site. `--all`
//! runs them once, ten times and a hundred times, and then a whole year with a queue of 5,000 on average. Without numbers it runs 50,000
//! and 500,000 jobs. Policies run in parallel. `--nodes` makes the machine one of nodes with 64 CPUs each; without it the machine has
//! pools.

use std::thread;
use std::time::Instant;

use multifactor2_replay::order::Policy;
use multifactor2_replay::sim::{simulate, Outcome, Plan, Scheduler, NEVER};
use multifactor2_replay::synthetic::Recipe;
use multifactor2_replay::workload::Node;
use multifactor2_replay::Workload;

/// Jobs of some days, which come again and again.
const DAYS: usize = 50_000;

/// A year.
const YEAR: usize = 5_000_000;

/// The most memory that this process has had, in MB.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.split_ascii_whitespace().next().and_then(|kb| kb.parse::<u64>().ok()).unwrap_or_default() / 1024
}

/// Seconds of the processor that this thread has had: what others do on the machine does not count.
fn processor_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace();
    // User and system time, in hundredths of a second.
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// This number of jobs, in which [`DAYS`] repeat.
fn repeated(jobs: usize) -> Workload {
    let mut workload = Recipe::large(1, jobs.min(DAYS)).make();
    let days = workload.jobs.clone();
    let (Some(first), Some(last)) = (days.first(), days.last()) else { return workload };
    // The queue runs dry before they come again, so that it is no deeper the hundredth time.
    let span = 2 * (last.submit - first.submit + 1);
    let (mut id, mut later) = (last.id, 0);
    while workload.jobs.len() < jobs {
        later += span;
        let room = jobs - workload.jobs.len();
        workload.jobs.extend(days.iter().take(room).map(|job| {
            id += 1;
            let mut job = *job;
            (job.id, job.submit, job.eligible) = (id, job.submit + later, job.eligible + later);
            job
        }));
    }
    workload
}

/// Makes pools to nodes that are alike.
fn with_nodes(mut workload: Workload) -> Workload {
    let machine = workload.machine.as_mut().expect("it has one");
    for (place, pool) in (0..).zip(&mut machine.pools) {
        let cpus = pool.cpus / pool.nodes;
        pool.cpus = cpus * pool.nodes;
        let node = Node { name: String::new(), pool: place, cpus, memory: 0, weight: 1, gres: Vec::new() };
        machine.nodes.extend((0..pool.nodes).map(|_| node.clone()));
    }
    workload
}

/// Jobs that wait while any does: on average, and the most.
#[allow(clippy::cast_precision_loss)]
fn queue(workload: &Workload, outcome: &Outcome) -> (f64, i64) {
    let started = |start: &&i64| **start != NEVER;
    let mut changes: Vec<(i64, i64)> = workload.jobs.iter().map(|job| (job.submit, 1)).collect();
    changes.extend(outcome.starts.iter().filter(started).map(|start| (*start, -1)));
    changes.sort_unstable();
    let (mut depth, mut peak, mut waited, mut contended) = (0, 0, 0, 0);
    let mut last = 0;
    for (at, change) in changes {
        if depth > 0 {
            waited += depth * (at - last);
            contended += at - last;
        }
        depth += change;
        last = at;
        peak = peak.max(depth);
    }
    (waited as f64 / contended.max(1) as f64, peak)
}

/// Replays under one policy, prints its row, and gives what n log n costs. `first`: the same of the smallest size.
#[allow(clippy::cast_precision_loss)]
fn replay(workload: &Workload, scheduler: &str, policy: &str, first: Option<f64>) -> f64 {
    let machine = workload.machine.clone().expect("it has one");
    let scheduler = Scheduler::named(scheduler, &workload.config).unwrap_or_else(|error| panic!("{error}"));
    let policy_of_name = Policy::named(policy).unwrap_or_else(|error| panic!("{error}"));
    let (begin, before) = (Instant::now(), processor_time());
    let plan = Plan { workload, machine: &machine, scheduler, policy: &policy_of_name };
    let outcome = simulate(&plan).unwrap_or_else(|error| panic!("{error}"));
    let (wall, processor) = (begin.elapsed().as_secs_f64(), processor_time() - before);
    let jobs = workload.jobs.len();
    let n_log_n = processor / (jobs as f64 * (jobs as f64).ln());
    let growth = first.map_or_else(|| "-".to_owned(), |first| format!("{:.2}", n_log_n / first));
    let (mean, peak) = queue(workload, &outcome);
    println!(
        "{jobs:>9}  {policy:<16} {processor:>8.1} s {wall:>7.1} s {:>7.1}  {growth:>7} {mean:>10.0} {peak:>7} {:>5}",
        processor / jobs as f64 * 1e6,
        peak_memory()
    );
    n_log_n
}

fn main() {
    let (mut sizes, mut policies, mut year) = (Vec::new(), Vec::new(), false);
    let mut made: fn(Workload) -> Workload = |workload| workload;
    let mut scheduler = "slurm".to_owned();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--all" => {
                sizes.extend([DAYS, 10 * DAYS, 100 * DAYS]);
                year = true;
            }
            "--year" => year = true,
            "--nodes" => made = with_nodes,
            "--scheduler" => scheduler = arguments.next().unwrap_or_default(),
            "--policy" => policies.extend(arguments.next()),
            number => sizes.push(number.parse().expect("a number of jobs")),
        }
    }
    if sizes.is_empty() && !year {
        sizes.extend([DAYS, 10 * DAYS]);
    }
    if policies.is_empty() {
        policies = ["multifactor2", "fair-tree"].map(str::to_owned).to_vec();
    }
    println!("     jobs  policy           processor      wall  us/job  n log n mean queue    peak    MB");
    let mut first: Vec<Option<f64>> = vec![None; policies.len()];
    for jobs in sizes {
        side_by_side(&made(repeated(jobs)), &scheduler, &policies, &mut first);
    }
    if year {
        println!("a year as it comes:");
        side_by_side(
            &made(Recipe::large(1, YEAR).make()),
            &scheduler,
            &policies,
            &mut vec![None; policies.len()],
        );
    }
}

fn side_by_side(workload: &Workload, scheduler: &str, policies: &[String], first: &mut [Option<f64>]) {
    thread::scope(|scope| {
        for (policy, first) in policies.iter().zip(first) {
            scope.spawn(move || {
                let cost = replay(workload, scheduler, policy, *first);
                first.get_or_insert(cost);
            });
        }
    });
}
