//! Slurm's schedulers once more, as plainly as can be: second by second, with every pass, and a search that tries every time. In one
//! partition and in the order of submission the replay has to start every job in the same second.

use multifactor2_replay::order::Policy;
use multifactor2_replay::sim::{Parameters, Scheduler};
use multifactor2_replay::workload::{Job, Workload};
use proptest::prelude::*;

use crate::invariants::check;
use crate::made::{jobs, machine, outcome, workload};

/// From, until, CPUs.
type Use = (i64, i64, u32);

struct Slow<'w> {
    jobs: &'w [Job],
    cpus: u32,
    parameters: Parameters,
    starts: Vec<i64>,
    /// Whether a limit holds a job back, by the jobs that run.
    is_held: &'w dyn Fn(usize, &[usize]) -> bool,
}

const NOT_YET: i64 = i64::MIN;

impl Slow<'_> {
    fn free(&self, now: i64) -> u32 {
        let runs = |(job, start): &(&Job, &i64)| **start != NOT_YET && now < **start + i64::from(job.run);
        self.cpus - self.jobs.iter().zip(&self.starts).filter(runs).map(|(job, _)| job.cpus).sum::<u32>()
    }

    fn is_held(&self, at: usize, now: i64) -> bool {
        let runs = |at: &usize| {
            self.starts[*at] != NOT_YET && now < self.starts[*at] + i64::from(self.jobs[*at].run)
        };
        let running: Vec<usize> = (0..self.jobs.len()).filter(runs).collect();
        (self.is_held)(at, &running)
    }

    fn queue(&self, now: i64) -> Vec<usize> {
        (0..self.jobs.len())
            .filter(|at| self.starts[*at] == NOT_YET && self.jobs[*at].submit <= now)
            .collect()
    }

    fn main(&mut self, now: i64, depth: usize) {
        for at in self.queue(now).into_iter().take(depth) {
            if self.is_held(at, now) {
                continue;
            }
            if self.jobs[at].cpus > self.free(now) {
                break;
            }
            self.starts[at] = now;
        }
    }

    /// Whether so many CPUs are free all the time.
    fn fits(&self, uses: &[Use], cpus: u32, from: i64, until: i64) -> bool {
        let times = uses.iter().map(|(begin, ..)| *begin).filter(|begin| (from..until).contains(begin));
        times.chain([from]).all(|time| {
            let taken: u32 = uses
                .iter()
                .filter(|(begin, end, _)| (*begin..*end).contains(&time))
                .map(|(.., cpus)| cpus)
                .sum();
            taken + cpus <= self.cpus
        })
    }

    /// Whether something comes or ends in the seconds after this one.
    fn changes(&self, now: i64, seconds: i64) -> bool {
        let ends = self.jobs.iter().zip(&self.starts).map(|(job, start)| start + i64::from(job.run));
        self.jobs.iter().map(|job| job.submit).chain(ends).any(|at| at > now && at <= now + seconds)
    }

    /// One pass. Says how many seconds it took.
    fn backfill(&mut self, now: i64) -> i64 {
        let (mut micros, mut since_sleep) = (0_i64, 0_i64);
        let rate = i64::from(self.parameters.backfill_rate);
        let mut uses: Vec<Use> = Vec::new();
        for (job, start) in self.jobs.iter().zip(&self.starts) {
            if *start != NOT_YET && now < *start + i64::from(job.run) {
                uses.push((now, start + i64::from(job.limit), job.cpus));
            }
        }
        if self.parameters.in_windows {
            in_windows(&mut uses);
        }
        let resolution = i64::from(self.parameters.bf_resolution);
        for at in self.queue(now).into_iter().take(self.parameters.bf_max_job_test as usize) {
            if self.is_held(at, now) {
                continue;
            }
            let Job { cpus, limit, .. } = self.jobs[at];
            if rate > 0 {
                let most = self.parameters.bf_max_time.unwrap_or(self.parameters.bf_interval);
                if micros >= i64::from(most) * 1_000_000 {
                    break;
                }
                if since_sleep >= i64::from(self.parameters.bf_yield_interval) {
                    micros += i64::from(self.parameters.bf_yield_sleep);
                    since_sleep = 0;
                    if self.changes(now, micros / 1_000_000) && !self.parameters.bf_continue {
                        break;
                    }
                }
                micros += 1_000_000 / rate;
                since_sleep += 1_000_000 / rate;
            }
            let mut times: Vec<i64> = uses.iter().map(|(_, end, _)| *end).filter(|end| *end > now).collect();
            times.push(now);
            times.sort_unstable();
            let fits = |time: &i64| self.fits(&uses, cpus, *time, time + i64::from(limit));
            let Some(begin) = times.into_iter().find(fits) else { continue };
            let end = begin + i64::from(limit);
            if begin == now {
                self.starts[at] = now;
                uses.push((now, end, cpus));
            } else if begin <= now + i64::from(self.parameters.bf_window) * 60 {
                let floor = begin.div_euclid(resolution) * resolution;
                let rounded = if self.parameters.ends_are_rounded_up {
                    (end + resolution - 1).div_euclid(resolution) * resolution
                } else {
                    (end - end.rem_euclid(resolution)).max(floor + resolution)
                };
                uses.push((begin, rounded, cpus));
            }
        }
        micros / 1_000_000
    }

    fn run(mut self) -> Vec<i64> {
        let origin = self.jobs[0].submit;
        let full = i64::from(self.parameters.sched_interval.unwrap());
        let (mut is_asked, mut last) = (false, NOT_YET / 2);
        let (mut now, mut next_backfill) = (origin, origin);
        while self.starts.contains(&NOT_YET) {
            let ended = self
                .jobs
                .iter()
                .zip(&self.starts)
                .any(|(job, start)| *start != NOT_YET && start + i64::from(job.run) == now);
            is_asked |= self.jobs.iter().any(|job| job.submit == now);
            is_asked |= ended && self.parameters.defer;
            if (now - origin) % full == 0 {
                self.main(now, usize::MAX);
                (is_asked, last) = (false, now);
            } else if is_asked && now >= last + i64::from(self.parameters.batch_sched_delay) {
                self.main(now, self.parameters.default_queue_depth as usize);
                (is_asked, last) = (false, now);
            } else if ended && !self.parameters.defer {
                self.main(now, self.parameters.default_queue_depth as usize);
            }
            if now == next_backfill {
                let lasted = self.backfill(now);
                next_backfill = now + lasted + i64::from(self.parameters.bf_interval);
            }
            now += 1;
        }
        self.starts
    }
}

/// What ends in one window ends with the last of it.
fn in_windows(uses: &mut [Use]) {
    uses.sort_unstable_by_key(|(_, end, _)| *end);
    let Some((_, first, _)) = uses.first() else { return };
    let origin = first - first % 30 + 30;
    let (mut at, mut window) = (0, 30);
    while at < uses.len() {
        let next = uses.iter().position(|(_, end, _)| *end > origin + window).unwrap_or(uses.len());
        for place in at..next {
            uses[place].1 = uses[next - 1].1;
        }
        (at, window) = (next, 2 * window);
    }
}

fn slow(workload: &Workload, cpus: u32, parameters: Parameters) -> Vec<i64> {
    slow_with(workload, cpus, parameters, &|_, _| false)
}

/// With limits: whether one holds a job back, by its place and those of the jobs that run.
pub fn slow_with(
    workload: &Workload,
    cpus: u32,
    parameters: Parameters,
    is_held: &dyn Fn(usize, &[usize]) -> bool,
) -> Vec<i64> {
    let starts = vec![NOT_YET; workload.jobs.len()];
    Slow { jobs: &workload.jobs, cpus, parameters, starts, is_held }.run()
}

/// An end asks for a pass also where nobody waits, and the next one keeps its distance: the replay once started such a job too early.
#[test]
fn a_pass_over_an_empty_queue_is_a_pass() {
    let parameters = Parameters {
        sched_interval: Some(39),
        batch_sched_delay: 8,
        bf_interval: 3,
        defer: true,
        ..Parameters::default()
    };
    let (workload, machine) = (workload(&[(0, 8, 0, 1, 0, 0), (17, 1, 0, 1, 0, 0)], &[]), machine(false));
    let fast = outcome(&workload, &machine, Scheduler::Slurm(parameters.clone()), &Policy::Fifo);
    assert_eq!(fast.starts, [1_000_000, 1_000_171]);
    assert_eq!(fast.starts, slow(&workload, 16, parameters));
}

#[test]
fn the_replay_is_the_slow_model() {
    let parameters = (
        1_u32..20,
        1_u32..70,
        0_u32..10,
        1_u32..50,
        1_u32..30,
        (1_u32..30, 1_u32..90, any::<[bool; 3]>()),
        (0_u32..6, proptest::option::of(1_u32..9), any::<bool>()),
    );
    check(150, &(jobs(40), parameters), |(mut made, numbers)| {
        for job in &mut made {
            // A job that ends in the second in which it starts is seen twice in that second.
            job.1 = job.1.max(1);
            // No arrays.
            job.4 %= 5;
        }
        let parameters = Parameters {
            default_queue_depth: numbers.0,
            sched_interval: Some(numbers.1),
            batch_sched_delay: numbers.2,
            bf_interval: numbers.3,
            bf_max_job_test: numbers.4,
            bf_window: numbers.5 .0,
            bf_resolution: numbers.5 .1,
            defer: numbers.5 .2[0],
            in_windows: numbers.5 .2[1],
            ends_are_rounded_up: numbers.5 .2[2],
            backfill_rate: numbers.6 .0,
            bf_max_time: numbers.6 .1,
            bf_yield_interval: 500_000,
            bf_continue: numbers.6 .2,
            ..Parameters::default()
        };
        let (workload, machine) = (workload(&made, &[]), machine(false));
        let fast = outcome(&workload, &machine, Scheduler::Slurm(parameters.clone()), &Policy::Fifo);
        prop_assert_eq!(fast.starts, slow(&workload, 16, parameters));
        Ok(())
    });
}
