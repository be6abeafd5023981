//! What is measured in the in-process hosts. Stock and ours take turns, round by round, so that a noisy neighbour
//! hits both, and each finds the caches as the other has left them.

use std::time::Duration;

use anyhow::Result;
use slurm_inproc::{Bench, Cycle, Host};

use crate::hosts::{Pair, PERIOD};
use crate::process::{forget_peak, memory};
use crate::report::Report;
use crate::samples::{Beside, MeasureRow, Samples, Scene};

/// Smallest ratios that were aimed at: where jobs lie in the order of memory, and where they do not.
const GOAL_CYCLE: [f64; 2] = [2.0, 6.0];
const GOAL_IDLE: [f64; 2] = [2.5, 6.0];
const GOAL_LIST: [f64; 2] = [0.8, 1.0];
const GOAL_SUBMISSION: [f64; 2] = [1.5, 1.1];

/// The same for all.
const GOAL_JOB_LOCK: f64 = 4.0;
const GOAL_ASSOC_LOCK: f64 = 1.0;
const GOAL_SUBMISSION_IN_CACHES: f64 = 1.5;
const GOAL_CHARGING: f64 = 2.0;
const GOAL_GROWTH: f64 = 1.3;

fn of([in_order, scattered]: [f64; 2], scene: &Scene) -> f64 {
    if scene.is_in_order() {
        in_order
    } else {
        scattered
    }
}

/// Samples of both.
#[derive(Debug, Default)]
struct Both {
    stock: Samples,
    ours: Samples,
}

impl Both {
    fn push(&mut self, (stock, ours): (f64, f64)) {
        self.stock.push(stock);
        self.ours.push(ours);
    }

    fn row(self, measure: &'static str, scene: &Scene, unit: &'static str, goal: f64) -> MeasureRow {
        let goal = Some(goal).filter(|goal| *goal > 0.0);
        MeasureRow {
            measure,
            scene: scene.clone(),
            unit,
            beside: Beside::Stock,
            stock: self.stock,
            ours: self.ours,
            goal,
        }
    }
}

/// A time in milliseconds.
pub fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Nanoseconds of processor time for each job.
pub fn per_job(bench: &[Bench]) -> f64 {
    let jobs: u64 = bench.iter().map(|bench| bench.jobs).sum();
    let cpu: Duration = bench.iter().map(|bench| bench.cpu).sum();
    #[expect(clippy::cast_precision_loss, reason = "far fewer jobs than 2^52")]
    let jobs = jobs.max(1) as f64;
    cpu.as_secs_f64() * 1e9 / jobs
}

/// A cycle after the usual time.
pub fn next_cycle(host: &mut Host) -> Result<Cycle> {
    host.advance(PERIOD)?;
    Ok(host.cycle()?)
}

/// Milliseconds for which the decay thread held a lock for writing in one cycle: in all, and the longest time.
pub fn held(host: &mut Host) -> Result<[(f64, f64); 2]> {
    host.locks(true)?;
    next_cycle(host)?;
    let statistics = host.locks(true)?;
    Ok(["job", "assoc_mgr.assoc"].map(|name| {
        let found = statistics.iter().find(|lock| lock.decay_thread && lock.write && lock.name == name);
        found.map_or((0.0, 0.0), |lock| (milliseconds(lock.total), milliseconds(lock.longest)))
    }))
}

/// Loads both plugins and lets the first cycles, which fill buffers, pass.
fn begin(pair: &mut Pair) -> Result<()> {
    pair.both(|host| {
        host.check_locks(false)?;
        host.init()?;
        next_cycle(host)?;
        next_cycle(host)
    })?;
    Ok(())
}

/// Processor time of cycles.
fn cycles(pair: &mut Pair, scene: &Scene, (rounds, goal): (usize, f64), report: &mut Report) -> Result<()> {
    let mut cycle = Both::default();
    for _ in 0..rounds {
        cycle.push(pair.both(|host| Ok(milliseconds(next_cycle(host)?.cpu)))?);
    }
    report.add(cycle.row("cycle, CPU", scene, "ms", goal));
    Ok(())
}

fn locks(pair: &mut Pair, scene: &Scene, rounds: usize, report: &mut Report) -> Result<()> {
    let (mut job, mut job_longest, mut assoc) = (Both::default(), Both::default(), Both::default());
    pair.both(|host| Ok(host.check_locks(true)?))?;
    for _ in 0..rounds {
        let (stock, ours) = pair.both(held)?;
        job.push((stock[0].0, ours[0].0));
        job_longest.push((stock[0].1, ours[0].1));
        assoc.push((stock[1].0, ours[1].0));
    }
    pair.both(|host| Ok(host.check_locks(false)?))?;
    report.add(job.row("job write lock held", scene, "ms", GOAL_JOB_LOCK));
    report.add(job_longest.row("job write lock, longest", scene, "ms", 0.0));
    report.add(assoc.row("association write lock held", scene, "ms", GOAL_ASSOC_LOCK));
    Ok(())
}

/// All that is measured on pending jobs. Returns the milliseconds in which two loops touch what a cycle touches of each job, and do nothing else.
pub fn pending(scene: &Scene, rounds: usize, report: &mut Report) -> Result<f64> {
    let mut pair = Pair::pending(scene)?;
    begin(&mut pair)?;
    cycles(&mut pair, scene, (rounds, of(GOAL_CYCLE, scene)), report)?;
    let (mut idle, mut list) = (Both::default(), Both::default());
    let (mut submission, mut from_memory) = (Both::default(), Both::default());
    for _ in 0..rounds {
        idle.push(pair.both(|host| Ok(milliseconds(host.cycle()?.cpu)))?);
    }
    report.add(idle.row("cycle without changes, CPU", scene, "ms", of(GOAL_IDLE, scene)));
    let mut lines = Samples::default();
    for _ in 0..rounds {
        // The other host has the caches in between, as in the rows.
        let (_, each) = pair.both(|host| Ok(per_job(&host.bench_lines(1, scene.tres)?)))?;
        lines.push(each * f64::from(scene.jobs) / 1e6);
    }
    locks(&mut pair, scene, rounds, report)?;
    // Before submissions store the factors: as after a cycle, they are computed for the list.
    for _ in 0..rounds {
        list.push(pair.both(|host| Ok(per_job(&host.bench_factors()?)))?);
    }
    report.add(list.row("list for sprio, per job", scene, "ns", of(GOAL_LIST, scene)));
    for _ in 0..rounds {
        submission.push(pair.both(|host| Ok(per_job(&host.bench_set(1, true)?)))?);
        from_memory.push(pair.both(|host| Ok(per_job(&host.bench_set(1, false)?)))?);
    }
    // slurmctld has just made the record of a job that is submitted.
    let goal = of(GOAL_SUBMISSION, scene);
    report.add(submission.row(
        "priority_p_set, record in the caches",
        scene,
        "ns",
        GOAL_SUBMISSION_IN_CACHES,
    ));
    report.add(from_memory.row("priority_p_set, one record after the other", scene, "ns", goal));
    pair.quit()?;
    Ok(lines.median())
}

/// Cycles in which running jobs are charged.
pub fn running(scene: &Scene, rounds: usize, report: &mut Report) -> Result<()> {
    let mut pair = Pair::running(scene)?;
    begin(&mut pair)?;
    let mut cycle = Both::default();
    for _ in 0..rounds {
        cycle.push(pair.both(|host| Ok(milliseconds(next_cycle(host)?.cpu)))?);
    }
    report.add(cycle.row("cycle with running jobs, CPU", scene, "ms", GOAL_CHARGING));
    let (mut job, mut assoc) = (Both::default(), Both::default());
    pair.both(|host| Ok(host.check_locks(true)?))?;
    for _ in 0..rounds {
        let (stock, ours) = pair.both(held)?;
        job.push((stock[0].0, ours[0].0));
        assoc.push((stock[1].0, ours[1].0));
    }
    report.add(job.row("running: job write lock held", scene, "ms", 0.0));
    report.add(assoc.row("running: association write lock held", scene, "ms", 0.0));
    pair.quit()
}

/// Memory that our plugin has added to its host.
#[derive(Debug, Clone, Copy)]
pub struct Added {
    /// After some cycles.
    pub kept: f64,
    /// At most, during them.
    pub peak: f64,
}

/// Cycles for the growth, and what memory ours takes.
pub fn growth(scene: &Scene, rounds: usize, report: &mut Report) -> Result<Added> {
    let mut pair = Pair::pending(scene)?;
    let process = pair.ours.process();
    forget_peak(process)?;
    let before = memory(process)?;
    begin(&mut pair)?;
    let after = memory(process)?;
    cycles(&mut pair, scene, (rounds, GOAL_GROWTH), report)?;
    pair.quit()?;
    Ok(Added { kept: after.now - before.now, peak: after.peak - before.now })
}
