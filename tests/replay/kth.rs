//! KTH-SP2: the published means and maxima of EASY, of EASY with shortest jobs first, and of FCFS.
//!
//! The trace is that of the Parallel Workloads Archive (Lars Malinowsky; Feitelson, Tsafrir, Krakov, JPDC 2014) in the filtering of
//! Gaussier, Glesser, Reis, Trystram (SC'15). `MULTIFACTOR2_TRACES` names the directory where it is.

use std::path::PathBuf;

use multifactor2_replay::order::Policy;
use multifactor2_replay::sim::{simulate, Plan, Scheduler};
use multifactor2_replay::{trace, Workload};

/// The trace; `None`, which is noted, where it is not there.
fn workload(test: &str) -> Option<Workload> {
    let directory = std::env::var_os("MULTIFACTOR2_TRACES");
    let file = directory.map(|directory| PathBuf::from(directory).join("KTH-SP2-filtered.swf.gz"));
    let Some(file) = file.filter(|file| file.is_file()) else {
        slurm_testcluster::skip(
            test,
            "needs KTH-SP2-filtered.swf.gz in the directory that MULTIFACTOR2_TRACES names",
        );
        return None;
    };
    Some(trace::read(&file).unwrap_or_else(|error| panic!("{error}")))
}

/// Mean and largest flow, mean and largest bounded slowdown, mean wait.
fn row(workload: &Workload, scheduler: Scheduler) -> [f64; 5] {
    let machine = workload.machine.as_ref().unwrap();
    let plan = Plan { workload, machine, scheduler, policy: &Policy::Fifo };
    let outcome = simulate(&plan).unwrap();
    let mut row = [0.0_f64; 5];
    #[allow(clippy::cast_precision_loss)]
    for (job, start) in workload.jobs.iter().zip(&outcome.starts) {
        let (wait, run) = ((start - job.submit) as f64, f64::from(job.run));
        let slowdown = f64::max(1.0, (wait + run) / run.max(10.0));
        row[0] += wait + run;
        row[1] = row[1].max(wait + run);
        row[2] += slowdown;
        row[3] = row[3].max(slowdown);
        row[4] += wait;
    }
    #[allow(clippy::cast_precision_loss)]
    let jobs = workload.jobs.len() as f64;
    [row[0] / jobs, row[1], row[2] / jobs, row[3], row[4] / jobs]
}

#[track_caller]
fn assert_within(found: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((found - expected).abs() <= tolerance, "{what}: {found}, not {expected}");
}

#[test]
fn easy() {
    let Some(workload) = workload("kth_easy") else { return };
    assert_eq!(workload.jobs.len(), 28_481);
    let [flow, most_flow, slowdown, most_slowdown, wait] = row(&workload, Scheduler::Easy);
    println!("{flow} {most_flow} {slowdown} {most_slowdown} {wait}");
    assert_within(flow, 15_696.768, 0.0005, "mean flow of the independent model");
    assert_within(flow, 15_696.798, 0.1, "mean flow as published");
    assert_within(slowdown, 92.5745, 0.00005, "mean slowdown of the independent model");
    assert_within(wait, 6836.84, 0.005, "mean wait of the independent model");
    assert_within(most_flow, 309_231.0, 0.0, "largest flow");
    assert_within(most_slowdown, 14_805.2, 0.0, "largest slowdown");
}

#[test]
fn easy_with_the_shortest_first() {
    let Some(workload) = workload("kth_sjbf") else { return };
    let [flow, most_flow, slowdown, most_slowdown, wait] = row(&workload, Scheduler::Sjbf);
    println!("{flow} {most_flow} {slowdown} {most_slowdown} {wait}");
    assert_within(flow, 14_764.002_67, 0.000_005, "mean flow");
    assert_within(slowdown, 69.405_40, 0.000_005, "mean slowdown");
    assert_within(most_flow, 372_238.0, 0.0, "largest flow");
    assert_within(most_slowdown, 14_805.2, 0.0, "largest slowdown");
    assert_within(wait, 5904.08, 0.005, "mean wait");
}

#[test]
fn first_come_first_served() {
    let Some(workload) = workload("kth_fcfs") else { return };
    let [flow, most_flow, slowdown, most_slowdown, wait] = row(&workload, Scheduler::Fcfs);
    println!("{flow} {most_flow} {slowdown} {most_slowdown} {wait}");
    assert_within(flow, 362_636.3, 0.05, "mean flow");
    assert_within(most_flow, 1_125_465.0, 0.0, "largest flow");
    assert_within(slowdown, 6814.97, 0.005, "mean slowdown");
    assert_within(most_slowdown, 93_994.0, 0.5, "largest slowdown");
    assert_within(wait, 353_776.0, 0.5, "mean wait");
}
