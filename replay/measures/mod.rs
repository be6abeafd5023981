//! The measures of a replay.
//!
//! | measure | definition |
//! |---|---|
//! | wait | start − eligible, in seconds |
//! | time before | eligible − submit, in seconds: what a job waits for by itself, such as its begin time or another job. No policy changes it |
//! | flow | end − submit, in seconds |
//! | bounded slowdown | max(1, (wait + run) / max(10 s, run)), as Feitelson bounds it |
//! | normalised wait of a user | Σ wait / Σ CPUs·run of the user's jobs (Klusáček, Rudová 2013) |
//! | area-weighted wait | Σ wait·CPUs·run / Σ CPUs·run (Goponenko, SBAC-PAD'22) |
//! | utilisation | CPU seconds that were used / CPU seconds that there were, from the first submission to the last start |
//! | makespan | last end − first submission |
//!
//! [`fair_start`] measures the effect of later jobs: the fair start time.
//!
//! [`mod@fairness`] measures usage against shares: the share error, entitlements by water-filling, Jain's index, and lag. It covers the
//! time in which jobs waited, because nobody can be treated unfairly on a machine with free room.

pub mod fair_start;
pub mod fairness;
pub mod past;
pub mod water;

use crate::sim::{Outcome, NEVER};
use crate::workload::{Machine, Workload};

pub use fairness::{fairness, Fairness, Sample};

/// Mean, 95th percentile and largest of something.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// How many values there are.
    pub count: usize,
    /// The plain mean.
    pub mean: f64,
    /// The smallest value that at least 95 % are not above.
    pub p95: f64,
    /// The largest.
    pub worst: f64,
}

impl Spread {
    /// Of values in any order; all 0 where there are none.
    #[allow(clippy::cast_precision_loss)] // counts of jobs
    pub fn of(values: &mut [f64]) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        let count = values.len();
        let Some(worst) = values.last().copied() else { return Self::default() };
        let p95 = values[(count * 95).div_ceil(100) - 1];
        Self { count, mean: values.iter().sum::<f64>() / count as f64, p95, worst }
    }
}

/// Waits of some jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Waits {
    /// Wait in seconds.
    pub wait: Spread,
    /// Time before it could start, in seconds.
    pub before: Spread,
    /// Flow in seconds.
    pub flow: Spread,
    /// Bounded slowdown.
    pub slowdown: Spread,
    /// Σ wait / Σ CPUs·run.
    pub normalised: f64,
    /// Σ wait·CPUs·run / Σ CPUs·run, in seconds.
    pub area_weighted: f64,
    /// CPU seconds that were used.
    pub cpu_seconds: f64,
}

/// A job that has run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ran {
    before: f64,
    wait: f64,
    run: f64,
    area: f64,
}

#[derive(Clone, Debug, Default)]
struct Sums {
    befores: Vec<f64>,
    waits: Vec<f64>,
    flows: Vec<f64>,
    slowdowns: Vec<f64>,
    wait: f64,
    area: f64,
    weighted: f64,
}

impl Sums {
    fn add(&mut self, Ran { before, wait, run, area }: Ran) {
        self.befores.push(before);
        self.waits.push(wait);
        self.flows.push(before + wait + run);
        self.slowdowns.push(bounded_slowdown(wait, run));
        self.wait += wait;
        self.area += area;
        self.weighted += wait * area;
    }

    fn waits(mut self) -> Waits {
        let by_area = |sum: f64| if self.area > 0.0 { sum / self.area } else { 0.0 };
        let (normalised, area_weighted) = (by_area(self.wait), by_area(self.weighted));
        Waits {
            before: Spread::of(&mut self.befores),
            wait: Spread::of(&mut self.waits),
            flow: Spread::of(&mut self.flows),
            slowdown: Spread::of(&mut self.slowdowns),
            normalised,
            area_weighted,
            cpu_seconds: self.area,
        }
    }
}

/// max(1, (wait + run) / max(10 s, run))
pub fn bounded_slowdown(wait: f64, run: f64) -> f64 {
    f64::max(1.0, (wait + run) / run.max(10.0))
}

/// Waits of all jobs, of users and of accounts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Of all jobs.
    pub all: Waits,
    /// By place in [`Workload::users`].
    pub users: Vec<Waits>,
    /// By place in [`Workload::accounts`].
    pub accounts: Vec<Waits>,
    /// Normalised waits over users with jobs: how evenly users are treated.
    pub users_normalised: Spread,
    /// Jobs that did not start.
    pub not_started: usize,
    /// Used CPU seconds in parts of those that there were from the first submission to the last start.
    pub utilisation: f64,
    /// Seconds from the first submission to the last end.
    pub makespan: i64,
}

/// Which jobs count, so that policies are compared in the same ones.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// Jobs that were submitted before are a warm-up.
    pub since: i64,
    /// By the place of a job in [`Workload::jobs`].
    pub jobs: Vec<bool>,
}

impl Counted {
    /// Those submitted at `since` or later that have ended in all outcomes.
    pub fn of(workload: &Workload, outcomes: &[&Outcome], since: i64) -> Self {
        let ended = |job: usize| outcomes.iter().all(|outcome| outcome.end(workload, job).is_some());
        let jobs = workload.jobs.iter().enumerate().map(|(at, job)| job.submit >= since && ended(at));
        Self { since, jobs: jobs.collect() }
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.jobs.iter().filter(|counts| **counts).count()
    }
}

/// Adds up an outcome. Waits are of the jobs that count.
#[allow(clippy::cast_precision_loss)] // seconds
pub fn summary(workload: &Workload, machine: &Machine, outcome: &Outcome, counted: &Counted) -> Summary {
    let since = counted.since;
    let mut all = Sums::default();
    let mut users = vec![Sums::default(); workload.users.len()];
    let mut accounts = vec![Sums::default(); workload.accounts.len()];
    let (mut not_started, mut last_start, mut last_end) = (0, i64::MIN, i64::MIN);
    for ((job, start), counts) in workload.jobs.iter().zip(&outcome.starts).zip(&counted.jobs) {
        if job.submit < since {
            continue;
        }
        if *start == NEVER {
            not_started += 1;
            continue;
        }
        last_start = last_start.max(*start);
        last_end = last_end.max(start + i64::from(job.run));
        if !counts {
            continue;
        }
        let ran = Ran {
            before: (job.eligible - job.submit) as f64,
            wait: (start - job.eligible) as f64,
            run: f64::from(job.run),
            area: Workload::cpu_seconds(job) as f64,
        };
        all.add(ran);
        users[workload.user(job) as usize].add(ran);
        accounts[workload.account(job) as usize].add(ran);
    }
    let begin = workload.jobs.iter().map(|job| job.submit).find(|submit| *submit >= since);
    let begin = begin.unwrap_or(since);
    let used = used_until(workload, outcome, begin, last_start);
    let there = machine.cpus() as f64 * last_start.saturating_sub(begin).max(0) as f64;
    let users: Vec<Waits> = users.into_iter().map(Sums::waits).collect();
    let mut normalised: Vec<f64> =
        users.iter().filter(|waits| waits.wait.count > 0).map(|waits| waits.normalised).collect();
    Summary {
        all: all.waits(),
        accounts: accounts.into_iter().map(Sums::waits).collect(),
        users_normalised: Spread::of(&mut normalised),
        users,
        not_started,
        utilisation: if there > 0.0 { used / there } else { 0.0 },
        makespan: last_end.saturating_sub(begin).max(0),
    }
}

/// CPU seconds that jobs used between two times.
#[allow(clippy::cast_precision_loss)] // seconds
fn used_until(workload: &Workload, outcome: &Outcome, begin: i64, end: i64) -> f64 {
    let ran = workload.jobs.iter().zip(&outcome.starts).filter(|(_, start)| **start != NEVER);
    ran.map(|(job, start)| {
        let (from, to) = ((*start).max(begin), (start + i64::from(job.run)).min(end));
        f64::from(job.cpus) * (to - from).max(0) as f64
    })
    .sum()
}

/// What changes for accounts and users between two outcomes, in the order of their places: the difference of mean waits (negative
/// where the second waits less), and the order inversions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// Mean wait in the second minus that in the first, in seconds, by place in [`Workload::accounts`].
    pub mean_wait: Vec<f64>,
    /// The same by place in [`Workload::users`].
    pub mean_wait_of_users: Vec<f64>,
    /// Jobs that start earlier in the second, later, and at the same time.
    pub earlier_later_same: [u64; 3],
    /// Pairs of jobs that followed each other at the start in the first, and come in the other order in the second, in parts of all
    /// such pairs.
    pub inversions: f64,
}

/// The sum and the count of something.
#[derive(Clone, Copy, Debug, Default)]
struct Mean(f64, u64);

impl Mean {
    fn add(&mut self, value: f64) {
        *self = Self(self.0 + value, self.1 + 1);
    }

    /// 0 of nothing.
    #[allow(clippy::cast_precision_loss)] // counts of jobs
    fn value(self) -> f64 {
        self.0 / self.1.max(1) as f64
    }
}

/// Compares two outcomes of one workload, by account and user, in the jobs that count.
#[allow(clippy::cast_precision_loss)] // counts of jobs
pub fn compare(workload: &Workload, first: &Outcome, second: &Outcome, counted: &Counted) -> Comparison {
    let mut accounts = vec![Mean::default(); workload.accounts.len()];
    let mut users = vec![Mean::default(); workload.users.len()];
    let mut earlier_later_same = [0_u64; 3];
    let mut started: Vec<(i64, usize)> = Vec::new();
    for (at, job) in workload.jobs.iter().enumerate() {
        let (one, two) = (first.starts[at], second.starts[at]);
        if !counted.jobs[at] {
            continue;
        }
        accounts[workload.account(job) as usize].add((two - one) as f64);
        users[workload.user(job) as usize].add((two - one) as f64);
        earlier_later_same[match two.cmp(&one) {
            std::cmp::Ordering::Less => 0,
            std::cmp::Ordering::Greater => 1,
            std::cmp::Ordering::Equal => 2,
        }] += 1;
        started.push((one, at));
    }
    started.sort_unstable();
    let inverted = started
        .windows(2)
        .filter(|pair| pair[0].0 < pair[1].0 && second.starts[pair[0].1] > second.starts[pair[1].1]);
    let pairs = started.len().saturating_sub(1);
    Comparison {
        mean_wait: accounts.into_iter().map(Mean::value).collect(),
        mean_wait_of_users: users.into_iter().map(Mean::value).collect(),
        earlier_later_same,
        inversions: if pairs == 0 { 0.0 } else { inverted.count() as f64 / pairs as f64 },
    }
}
