//! Runs replays in parallel on the available cores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use multifactor2_replay::measures::fair_start;
use multifactor2_replay::sim::{simulate_with, Outcome, Plan, NEVER};
use multifactor2_replay::Workload;

use super::progress::Watch;
use crate::answers::replay::answer::{spread, Input, Jittered, Run};
use crate::error::Error;

/// A replay.
pub struct Task<'t> {
    /// What is replayed.
    pub plan: Plan<'t>,
    /// What is made of the trace first.
    pub change: Change,
}

/// What is made of a trace before it is replayed.
#[derive(Clone, Copy)]
pub enum Change {
    /// Nothing.
    None,
    /// Seed and seconds of jitter.
    Jitter(u64, u32),
    /// Without what was submitted after this job.
    UpTo(u32),
}

/// What came of a task.
pub struct Done {
    /// The starts.
    pub outcome: Outcome,
    /// The workload, where something was made of it.
    pub changed: Option<Workload>,
}

impl Task<'_> {
    fn run(&self, watch: &Watch) -> Result<Done, Error> {
        let changed = match self.change {
            Change::None => None,
            Change::Jitter(seed, seconds) => Some(self.plan.workload.jittered(seed, seconds)),
            Change::UpTo(job) => Some(fair_start::up_to(self.plan.workload, job)),
        };
        let plan = Plan { workload: changed.as_ref().unwrap_or(self.plan.workload), ..self.plan.clone() };
        let mut before = 0.0;
        #[allow(clippy::cast_precision_loss)] // counts of jobs
        let outcome = simulate_with(&plan, true, |progress| {
            let part = progress.submitted as f64 / progress.jobs.max(1) as f64;
            watch.add(part - before);
            before = part;
            !watch.is_stopped()
        });
        watch.add(1.0 - before);
        let outcome = outcome.map_err(|error| error.to_string())?;
        Ok(Done { outcome, changed })
    }
}

/// Does tasks side by side, and gives what `finish` makes of each, in their order; `None` for those that were not done when it was
/// stopped.
fn side_by_side<T: Send>(
    tasks: &[Task],
    watch: &Watch,
    finish: impl Fn(Done) -> T + Sync,
) -> Result<Vec<Option<T>>, Error> {
    side_by_side_until(tasks, watch, None, finish)
}

/// The same, and none is done after a time.
fn side_by_side_until<T: Send>(
    tasks: &[Task],
    watch: &Watch,
    until: Option<Instant>,
    finish: impl Fn(Done) -> T + Sync,
) -> Result<Vec<Option<T>>, Error> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Result<T, Error>>>> = tasks.iter().map(|_| Mutex::new(None)).collect();
    let threads = thread::available_parallelism().map_or(1, usize::from).min(tasks.len());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let is_over = || watch.is_stopped() || until.is_some_and(|until| Instant::now() >= until);
                let Some(task) = tasks.get(at).filter(|_| !is_over()) else { break };
                let result = task.run(watch).map(&finish);
                if let Ok(mut place) = results[at].lock() {
                    *place = Some(result);
                }
            });
        }
    });
    results.into_iter().map(|result| result.into_inner().ok().flatten().transpose()).collect()
}

/// The outcomes of tasks.
///
/// # Errors
/// A plan cannot be simulated.
pub fn outcomes(tasks: &[Task], watch: &Watch) -> Result<Vec<Option<Done>>, Error> {
    side_by_side(tasks, watch, |done| done)
}

/// When jobs start if nothing is submitted after them, under each plan; none of a plan that was stopped.
///
/// # Errors
/// A plan cannot be simulated.
pub fn fair_starts(
    jobs: &[u32],
    plans: &[(String, Plan)],
    watch: &Watch,
) -> Result<Vec<Vec<(u32, i64)>>, Error> {
    let of_plan = |(_, plan): &(String, Plan<'_>)| {
        let tasks: Vec<Task> =
            jobs.iter().map(|job| Task { plan: plan.clone(), change: Change::UpTo(*job) }).collect();
        let starts =
            side_by_side(&tasks, watch, |done| done.outcome.starts.last().copied().unwrap_or(NEVER))?;
        let starts: Option<Vec<i64>> = starts.into_iter().collect();
        let starts = starts.filter(|_| !watch.is_stopped()).unwrap_or_default();
        Ok(jobs.iter().copied().zip(starts).collect())
    };
    plans.iter().map(of_plan).collect()
}

/// How many jittered runs there are.
#[derive(Clone, Copy, Debug)]
pub struct HowMany {
    /// So many, where that is asked for.
    pub exactly: Option<u32>,
    /// No run begins after so long.
    pub at_most: Duration,
}

/// Runs where nothing else is asked for, and what may be added while chance is too large.
pub const RUNS: u32 = 10;
const MOST_RUNS: u32 = 40;

/// Replays plans, each as it is and with jitter. Without a number there are [`RUNS`], and up to 40 while the standard error of the difference of
/// mean waits between the first plan and another is above a fifth of that difference. Also says whether time was up before.
///
/// # Errors
/// A plan cannot be simulated, or it was stopped before anything came of it.
pub fn replay(
    input: &Input,
    plans: &[(String, Plan)],
    watch: &Watch,
    many: HowMany,
) -> Result<(Vec<Run>, bool), Error> {
    let began = Instant::now();
    // All policies come once before any comes with jitter, so that there is something to show early.
    let tasks: Vec<Task> = plans.iter().map(|(_, plan)| Task { plan: plan.clone(), change: Change::None }).collect();
    let results = side_by_side(&tasks, watch, |done| done.outcome)?;
    let mut runs: Vec<Run> = Vec::new();
    for ((name, plan), outcome) in plans.iter().zip(results) {
        if let Some(outcome) = outcome {
            let left_out = plan.left_out();
            runs.push(Run { name: name.clone(), outcome, jittered: Vec::new(), left_out, fair: None });
        }
    }
    if runs.is_empty() {
        return Err("it was stopped before anything came of it".into());
    }
    let mut done = 0;
    let mut wanted = many.exactly.unwrap_or(RUNS);
    while done < wanted && runs.len() == plans.len() && began.elapsed() < many.at_most {
        let last = wanted.min(done + RUNS);
        watch.expect((last - done) as usize * plans.len());
        let mut tasks = Vec::new();
        for run in done + 1..=last {
            for (_, plan) in plans {
                let seed = input.seed.wrapping_add(u64::from(run));
                tasks.push(Task { plan: plan.clone(), change: Change::Jitter(seed, input.jitter) });
            }
        }
        let results =
            side_by_side_until(&tasks, watch, Some(began + many.at_most), |Done { outcome, changed }| {
                // Of a run only its measures are kept. One that was stopped counts for nothing.
                changed.filter(|_| !outcome.is_partial()).map(|jittered| input.measured(&jittered, outcome))
            })?;
        let mut results = results.into_iter().map(Option::flatten);
        for _ in done..last {
            // One counts only where all policies have it: they are compared run by run.
            let row: Option<Vec<Jittered>> = plans.iter().map(|_| results.next().flatten()).collect::<Vec<_>>().into_iter().collect();
            for (run, jittered) in runs.iter_mut().zip(row.into_iter().flatten()) {
                run.jittered.push(jittered);
            }
        }
        done = last;
        if watch.is_stopped() {
            break;
        }
        if many.exactly.is_none() && done == wanted && wanted < MOST_RUNS && !is_settled(&runs) {
            wanted += RUNS;
        }
    }
    let is_cut = runs[0].jittered.len() < wanted as usize && !watch.is_stopped() && began.elapsed() >= many.at_most;
    Ok((runs, is_cut))
}

/// Whether the differences of mean waits from the first policy are known to a fifth of themselves.
#[allow(clippy::cast_precision_loss)] // a handful of runs
fn is_settled(runs: &[Run]) -> bool {
    let first = &runs[0].jittered;
    runs[1..].iter().all(|run| {
        let differences: Vec<f64> = run.jittered.iter().zip(first).map(|(one, other)| one.wait - other.wait).collect();
        let (mean, deviation) = spread(&differences);
        deviation / (differences.len().max(1) as f64).sqrt() <= mean.abs() / 5.0
    })
}
