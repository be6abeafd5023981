//! How long a replay takes, and how that grows: `cargo run --release -p multifactor2-replay --example sizes [-- JOBS…] [--scheduler
//! NAME] [--policy NAME] [--all]`. Without numbers 50,000 and 500,000 jobs of a large site; `--all` adds 5,000,000, about a year.

use std::time::Instant;

use multifactor2_replay::order::Policy;
use multifactor2_replay::sim::{simulate, Plan, Scheduler, NEVER};
use multifactor2_replay::synthetic::Recipe;

/// The most memory that this process has had, in MB.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.split_ascii_whitespace().next().and_then(|kb| kb.parse::<u64>().ok()).unwrap_or_default() / 1024
}

/// Seconds of the processor that this process has had: what others do on the machine does not count.
fn processor_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace();
    // User and system time, in hundredths of a second.
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

#[allow(clippy::cast_precision_loss)]
fn main() {
    let mut sizes = Vec::new();
    let (mut scheduler, mut policy) = ("slurm".to_owned(), "multifactor2".to_owned());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--all" => sizes.extend([50_000, 500_000, 5_000_000]),
            "--scheduler" => scheduler = arguments.next().unwrap_or_default(),
            "--policy" => policy = arguments.next().unwrap_or_default(),
            number => sizes.push(number.parse().expect("a number of jobs")),
        }
    }
    if sizes.is_empty() {
        sizes.extend([50_000, 500_000]);
    }
    let policy = Policy::named(&policy).unwrap_or_else(|error| panic!("{error}"));
    println!("      jobs     made   processor       wall  us/job  n log n  passes  mean queue   peak  mean wait   MB");
    let mut first: Option<f64> = None;
    for jobs in sizes {
        let begin = Instant::now();
        let workload = Recipe::large(1, jobs).make();
        let made = begin.elapsed().as_secs_f64();
        let machine = workload.machine.clone().expect("it has one");
        let scheduler =
            Scheduler::named(&scheduler, &workload.config).unwrap_or_else(|error| panic!("{error}"));
        let (begin, before) = (Instant::now(), processor_time());
        let plan = Plan { workload: &workload, machine: &machine, scheduler, policy: &policy };
        let outcome = simulate(&plan).unwrap_or_else(|error| panic!("{error}"));
        let (wall, replayed) = (begin.elapsed().as_secs_f64(), processor_time() - before);
        let waits: f64 = workload
            .jobs
            .iter()
            .zip(&outcome.starts)
            .filter(|(_, start)| **start != NEVER)
            .map(|(job, start)| (start - job.submit) as f64)
            .sum();
        let span = (workload.jobs[jobs - 1].submit - workload.jobs[0].submit).max(1) as f64;
        let mut changes: Vec<(i64, i64)> = workload.jobs.iter().map(|job| (job.submit, 1)).collect();
        changes.extend(outcome.starts.iter().filter(|start| **start != NEVER).map(|start| (*start, -1)));
        changes.sort_unstable();
        let (mut depth, mut peak) = (0, 0);
        for (_, change) in changes {
            depth += change;
            peak = peak.max(depth);
        }
        let n_log_n = replayed / (jobs as f64 * (jobs as f64).ln());
        let growth = n_log_n / *first.get_or_insert(n_log_n);
        println!(
            "{jobs:>10} {made:>7.1}s {replayed:>10.1}s {wall:>9.1}s {:>7.1} {growth:>7.2}x {:>7} {:>11.0} {peak:>6} {:>9.0}s {:>5}",
            replayed / jobs as f64 * 1e6,
            outcome.passes,
            waits / span,
            waits / jobs as f64,
            peak_memory()
        );
    }
}
