//! Fair start times, against replays that are cut by hand and against a model as plain as can be.

use multifactor2_replay::measures::fair_start::{fair_starts, sample, up_to};
use multifactor2_replay::measures::Spread;
use multifactor2_replay::order::Policy;
use multifactor2_replay::sim::{Outcome, Scheduler};
use multifactor2_replay::workload::{Job, Workload};
use proptest::prelude::*;

use crate::invariants::check;
use crate::made::{jobs, machine, outcome, workload};

/// All jobs of a workload with their fair starts.
fn all(workload: &Workload, scheduler: &Scheduler, policy: &Policy) -> Vec<(u32, i64)> {
    let fair = |job: u32| {
        let cut = up_to(workload, job);
        *outcome(&cut, &machine(false), scheduler.clone(), policy).starts.last().unwrap()
    };
    (0..u32::try_from(workload.jobs.len()).unwrap()).map(|job| (job, fair(job))).collect()
}

/// Starts of jobs, second by second: first jobs come, then jobs end, in the order in which they started. After each of these events
/// the queue in its order, then by EASY those behind its head that delay it by nothing. Of jobs after `last` nothing is known.
fn model(jobs: &[Job], cpus: u32, last: usize) -> Vec<Option<i64>> {
    let jobs = &jobs[..=last];
    let mut plain = Plain { jobs, cpus, starts: vec![None; jobs.len()], running: Vec::new(), known: 0 };
    let mut now = jobs[0].submit;
    while plain.starts.contains(&None) {
        while plain.known < jobs.len() && jobs[plain.known].submit == now {
            plain.known += 1;
            plain.pass(now);
        }
        let ends =
            |at: &usize| plain.starts[*at].is_some_and(|start| start + i64::from(jobs[*at].run) == now);
        for ended in plain.running.iter().copied().filter(ends).collect::<Vec<_>>() {
            plain.running.retain(|at| *at != ended);
            plain.pass(now);
        }
        now += 1;
    }
    plain.starts
}

struct Plain<'j> {
    jobs: &'j [Job],
    cpus: u32,
    starts: Vec<Option<i64>>,
    /// In the order in which they started.
    running: Vec<usize>,
    /// So many have come.
    known: usize,
}

impl Plain<'_> {
    fn free(&self) -> u32 {
        self.cpus - self.running.iter().map(|at| self.jobs[*at].cpus).sum::<u32>()
    }

    fn start(&mut self, at: usize, now: i64) {
        self.starts[at] = Some(now);
        self.running.push(at);
    }

    fn pass(&mut self, now: i64) {
        let limit = |job: &Job| i64::from(job.limit.max(job.run).max(1));
        let queue: Vec<usize> = (0..self.known).filter(|at| self.starts[*at].is_none()).collect();
        let mut queue = queue.into_iter().peekable();
        while let Some(at) = queue.next_if(|at| self.jobs[*at].cpus <= self.free()) {
            self.start(at, now);
        }
        let Some(head) = queue.next() else { return };
        let end = |at: &usize| (self.starts[*at].unwrap() + limit(&self.jobs[*at]), self.jobs[*at].cpus);
        let mut ends: Vec<(i64, u32)> = self.running.iter().map(end).collect();
        ends.sort_unstable();
        let (mut there, mut shadow) = (self.free(), now);
        for (end, cpus) in ends {
            if there >= self.jobs[head].cpus && end > shadow {
                break;
            }
            there += cpus;
            shadow = end;
        }
        let mut extra = there - self.jobs[head].cpus;
        for at in queue {
            let job = &self.jobs[at];
            if job.cpus > self.free() {
                continue;
            }
            let is_over = now + limit(job) <= shadow;
            if is_over || job.cpus <= extra {
                extra -= if is_over { 0 } else { job.cpus };
                self.start(at, now);
            }
        }
    }
}

/// In the order of submission nobody is later because of those who come after.
#[test]
fn first_come_first_served_is_fair() {
    check(60, &jobs(25), |made| {
        let workload = workload(&made, &[]);
        let found = outcome(&workload, &machine(false), Scheduler::Fcfs, &Policy::Fifo);
        let compared = fair_starts(&found, &all(&workload, &Scheduler::Fcfs, &Policy::Fifo));
        prop_assert_eq!(compared.later, 0);
        prop_assert_eq!(compared.jobs, made.len());
        Ok(())
    });
}

/// Under EASY a job behind the head may be passed. The model knows nothing of the replay.
#[test]
fn fair_starts_are_those_of_the_model() {
    check(40, &jobs(16), |made| {
        // A run of no time would end in the second in which it starts.
        let made: Vec<_> = made
            .into_iter()
            .map(|mut made| {
                made.1 = made.1.max(1);
                made
            })
            .collect();
        let workload = workload(&made, &[]);
        let fair: Vec<i64> =
            all(&workload, &Scheduler::Easy, &Policy::Fifo).into_iter().map(|(_, fair)| fair).collect();
        let expected: Vec<i64> =
            (0..made.len()).map(|last| model(&workload.jobs, 16, last)[last].unwrap()).collect();
        prop_assert_eq!(fair, expected);
        Ok(())
    });
}

/// The second job of ada comes before the first of bob. Fair-share passes it with bob's, which is unfair by this measure.
#[test]
fn who_is_passed_by_a_later_job_is_treated_unfairly() {
    // Submission in tens of seconds, run in 20 s, user a, a, b: each needs the machine.
    let made = [(0, 50, 0, 12, 0, 0), (1, 50, 0, 12, 0, 0), (2, 50, 0, 12, 1, 0)];
    let workload = workload(&made, &[("PriorityCalcPeriod", "00:00:30")]);
    let found = outcome(&workload, &machine(false), Scheduler::Fcfs, &Policy::FairTree);
    let fair = all(&workload, &Scheduler::Fcfs, &Policy::FairTree);
    let compared = fair_starts(&found, &fair);
    let begin = workload.jobs[0].submit;
    assert_eq!(found.starts, [begin, begin + 2000, begin + 1000]);
    assert_eq!(fair.iter().map(|(_, fair)| fair - begin).collect::<Vec<_>>(), [0, 1000, 1000]);
    assert_eq!((compared.jobs, compared.later), (3, 1));
    assert_eq!(compared.unfairness, Spread { count: 3, mean: 1000.0 / 3.0, p95: 1000.0, worst: 1000.0 });
}

#[test]
fn a_sample_is_that_of_its_seed() {
    let made: Vec<_> = (0..50).map(|at| (at, 10, 0, 1, at % 6, 0)).collect();
    let workload = workload(&made, &[]);
    let since = workload.jobs[20].submit;
    let (one, other) = (sample(&workload, 10, 1, since), sample(&workload, 10, 2, since));
    assert_eq!(one, sample(&workload, 10, 1, since));
    assert_ne!(one, other);
    assert!(one.len() == 10 && one.windows(2).all(|pair| pair[0] < pair[1]) && one[0] >= 20);
    assert_eq!(sample(&workload, 100, 1, since), (20..50).collect::<Vec<u32>>());
    assert_eq!(sample(&workload, 100, 1, i64::MAX), [0_u32; 0]);
}

/// Jobs that never start say nothing.
#[test]
fn jobs_without_a_start_are_left_out() {
    let never = i64::MIN;
    let outcome = Outcome { starts: vec![never, 10, 20], ..Outcome::default() };
    let compared = fair_starts(&outcome, &[(0, 5), (1, never), (2, 30)]);
    assert_eq!((compared.jobs, compared.later, compared.unfairness.worst), (1, 0, 0.0));
}
