//! Replays side by side, on the cores that there are.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::thread;

use multifactor2_replay::measures::fair_start;
use multifactor2_replay::sim::{simulate_with, Outcome, Plan, NEVER};
use multifactor2_replay::Workload;

use super::progress::Watch;
use crate::answers::replay::answer::{Input, Run};
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

/// Does tasks side by side, and gives what `finish` makes of each, in their order; `None` for those that were not begun when it was
/// stopped.
fn side_by_side<T: Send>(
    tasks: &[Task],
    watch: &Watch,
    finish: impl Fn(Done) -> T + Sync,
) -> Result<Vec<Option<T>>, Error> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Result<T, Error>>>> = tasks.iter().map(|_| Mutex::new(None)).collect();
    let threads = thread::available_parallelism().map_or(1, usize::from).min(tasks.len());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(task) = tasks.get(at).filter(|_| !watch.is_stopped()) else { break };
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

/// Of a jittered run only its measures are kept. One that was stopped counts for nothing.
enum Kept {
    Outcome(Outcome),
    Measures(Option<Vec<f64>>),
}

/// Replays plans, each as it is and with jitter.
///
/// # Errors
/// A plan cannot be simulated, or it was stopped before anything came of it.
pub fn replay(input: &Input, plans: &[(String, Plan)], watch: &Watch) -> Result<Vec<Run>, Error> {
    // All policies come once before any comes with jitter, so that there is something to show early.
    let mut tasks = Vec::new();
    for run in 0..=input.runs {
        for (_, plan) in plans {
            let change = match run {
                0 => Change::None,
                run => Change::Jitter(input.seed.wrapping_add(u64::from(run)), input.jitter),
            };
            tasks.push(Task { plan: plan.clone(), change });
        }
    }
    let results = side_by_side(&tasks, watch, |Done { outcome, changed }| match changed {
        None => Kept::Outcome(outcome),
        Some(_) if outcome.is_partial() => Kept::Measures(None),
        Some(jittered) => Kept::Measures(Some(input.measured(&jittered, outcome))),
    })?;
    let mut runs: Vec<Option<Run>> = plans.iter().map(|_| None).collect();
    for (at, result) in results.into_iter().enumerate() {
        let place = at % plans.len();
        match (result, &mut runs[place]) {
            (Some(Kept::Outcome(outcome)), run) => {
                let (name, plan) = &plans[place];
                let left_out = plan.left_out();
                *run = Some(Run { name: name.clone(), outcome, jittered: Vec::new(), left_out, fair: None });
            }
            (Some(Kept::Measures(Some(measures))), Some(run)) => run.jittered.push(measures),
            _ => (),
        }
    }
    let runs: Vec<Run> = runs.into_iter().flatten().collect();
    if runs.is_empty() {
        return Err("it was stopped before anything came of it".into());
    }
    Ok(runs)
}
