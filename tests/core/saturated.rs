//! A machine that is always full, job by job, for `Dilution=`: everybody always has jobs waiting, and each takes one hour. In every
//! cycle tickets are computed with what runs. Then jobs start, the one with most tickets first, until one does not fit.

use std::collections::VecDeque;

use multifactor2_core::decay::{decay_factor, decay_over};
use multifactor2_core::policy::pools::{Extra, JobTickets, Pools, WaitingJob, Who};
use multifactor2_core::settings::{DilutionUnit, Settings};
use multifactor2_core::FairShare;

use crate::simulation::{Machine, Tree};

const HOUR: u32 = 3600;

/// How long a simulation is, and how fine.
#[derive(Clone, Copy, Debug)]
pub struct Time {
    pub cycles_per_hour: u32,
    /// In hours.
    pub half_life: u32,
    /// How many of them it takes. Those of the second half count.
    pub half_lives: u32,
}

/// Seven days, and cycles of five minutes.
pub const LONG: Time = Time { cycles_per_hour: 12, half_life: 168, half_lives: 4 };

/// The same in short. Where usage settles depends on shares and on how many jobs run at once. The half-life matters only in that
/// usage is the mean over many jobs, and a day is 24 of them. The cycle matters only in how many slots come free at once, here a
/// quarter. Both simulations find the same to 0.01.
pub const SHORT: Time = Time { cycles_per_hour: 4, half_life: 24, half_lives: 4 };

/// What jobs are like. Where nothing else is said they have one CPU, a billing of 1 and a limit of one hour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Jobs {
    Alike,
    /// One to four CPUs, a billing from once to twice as much, limits from one to four hours.
    Mixed,
    /// Those of the first user have four CPUs.
    FirstIsWide,
    /// Those of the first user have a limit of four hours.
    FirstAsksForMore,
}

/// A machine of so many CPUs, and what is on it.
#[derive(Clone, Copy, Debug)]
pub struct Cluster {
    pub slots: u32,
    pub jobs: Jobs,
    pub time: Time,
}

#[derive(Clone, Copy, Debug)]
struct Job {
    user: usize,
    id: u32,
    cpus: u32,
    billing: f64,
    /// In minutes.
    limit: f64,
    /// In cycles.
    ran: u32,
}

/// One machine under one policy.
pub struct Run {
    cluster: Cluster,
    settings: Settings,
    machine: Machine,
    fair_share: FairShare,
    pools: Option<Pools>,
    next_id: u32,
    /// By place in the list.
    waiting: Vec<VecDeque<Job>>,
    running: Vec<Job>,
}

impl Run {
    /// An empty machine, with settings in their syntax.
    pub fn new(cluster: Cluster, rows: &Tree, settings: &str) -> Self {
        let settings = Settings::parse(settings, "test").unwrap().settings;
        let mut fair_share = FairShare::new();
        fair_share.configure(&settings);
        Self {
            cluster,
            machine: Machine::new(rows),
            fair_share,
            pools: Pools::configured(&settings),
            settings,
            next_id: 1,
            waiting: vec![VecDeque::new(); rows.len() + 1],
            running: Vec::new(),
        }
    }

    fn job(&mut self, user: usize) -> Job {
        self.next_id += 1;
        let mut job = Job { user, id: self.next_id, cpus: 1, billing: 1.0, limit: 60.0, ran: 0 };
        let is_first = self.machine.users.first() == Some(&user);
        match self.cluster.jobs {
            Jobs::Mixed => {
                job.cpus = 1 + scattered(job.id, 1) % 4;
                job.billing = f64::from(job.cpus * (100 + scattered(job.id, 2) % 101)) / 100.0;
                job.limit = f64::from(60 + scattered(job.id, 3) % 181);
            }
            Jobs::FirstIsWide if is_first => (job.cpus, job.billing) = (4, 4.0),
            Jobs::FirstAsksForMore if is_first => job.limit = 240.0,
            _ => (),
        }
        job
    }

    fn free(&self) -> u32 {
        self.cluster.slots - self.running.iter().map(|job| job.cpus).sum::<u32>()
    }

    /// In the unit of dilution.
    fn size(&self, job: &Job) -> f64 {
        let ran = 60.0 * f64::from(job.ran) / f64::from(self.cluster.time.cycles_per_hour);
        match self.settings.dilution_unit {
            DilutionUnit::Job => 1.0,
            DilutionUnit::Cpu => f64::from(job.cpus),
            DilutionUnit::Billing => job.billing,
            DilutionUnit::Committed => job.billing * (job.limit - ran),
        }
    }

    /// Everybody has more jobs than can start.
    fn submit(&mut self, free: u32) {
        for user in self.machine.users.clone() {
            let mut cpus = self.waiting[user].iter().map(|job| job.cpus).sum::<u32>();
            while cpus <= free {
                let job = self.job(user);
                cpus += job.cpus;
                self.waiting[user].push_back(job);
            }
        }
    }

    /// One pass of the scheduler over tickets that are new.
    pub fn pass(&mut self) {
        let mut free = self.free();
        if free == 0 {
            return;
        }
        self.submit(free);
        let jobs: Vec<Job> = self.waiting.iter().flatten().copied().collect();
        let tickets = self.tickets(&jobs);
        let mut order: Vec<usize> = (0..jobs.len()).collect();
        order.sort_by(|a, b| tickets[*b].total_cmp(&tickets[*a]).then(jobs[*a].id.cmp(&jobs[*b].id)));
        for job in order.into_iter().map(|at| jobs[at]) {
            if job.cpus > free {
                break;
            }
            free -= job.cpus;
            self.waiting[job.user].retain(|waiting| waiting.id != job.id);
            self.running.push(job);
        }
    }

    fn tickets(&mut self, jobs: &[Job]) -> Vec<f64> {
        self.machine.distribute(&mut self.fair_share);
        let (node, extra) = (|job: &Job| self.machine.node(job.user), Extra::default());
        let waits =
            |job: &Job| WaitingJob { node: node(job), id: job.id, order: 0, size: self.size(job), extra };
        let runs = |job: &Job| Who { node: node(job), extra, size: self.size(job), count: 1 };
        let waiting: Vec<WaitingJob> = jobs.iter().map(waits).collect();
        let running: Vec<Who> = self.running.iter().map(runs).collect();
        let Some(pools) = &mut self.pools else {
            return waiting.iter().map(|job| self.fair_share.tickets(job.node)).collect();
        };
        let mut tickets = Vec::new();
        pools.distribute(&self.machine.tree, &self.fair_share, &waiting, &running, &mut tickets);
        tickets.into_iter().map(JobTickets::total).collect()
    }

    /// Time goes on by a cycle.
    fn elapse(&mut self) {
        let Time { cycles_per_hour, half_life, .. } = self.cluster.time;
        let seconds = f64::from(HOUR / cycles_per_hour);
        self.machine.decay(decay_over(decay_factor(half_life * HOUR), seconds));
        for job in &mut self.running {
            self.machine.charge(job.user, job.billing * seconds);
            job.ran += 1;
        }
        self.running.retain(|job| job.ran < cycles_per_hour);
    }

    /// How many jobs run, by user.
    pub fn running(&self) -> Vec<u32> {
        let mut counts = vec![0; self.waiting.len()];
        for job in &self.running {
            counts[job.user] += 1;
        }
        self.machine.users.iter().map(|user| counts[*user]).collect()
    }

    /// What each user has had of all that was used, and its share.
    pub fn settle(mut self) -> Vec<(f64, f64)> {
        let Time { cycles_per_hour, half_life, half_lives } = self.cluster.time;
        // At first jobs of all ages run, so that slots come free little by little.
        for (at, user) in (0..self.cluster.slots).zip(self.machine.users.clone().into_iter().cycle()) {
            let job = self.job(user);
            if job.cpus <= self.free() {
                self.running.push(Job { ran: at % cycles_per_hour, ..job });
            }
        }
        let cycles = half_lives * half_life * cycles_per_hour;
        let mut had = vec![0.0; self.waiting.len()];
        for cycle in 0..cycles {
            self.elapse();
            self.pass();
            if cycle >= cycles / 2 {
                for job in &self.running {
                    had[job.user] += job.billing;
                }
            }
        }
        let all: f64 = had.iter().sum();
        self.machine.users.iter().map(|user| (had[*user] / all, self.machine.share(*user))).collect()
    }
}

/// A number that looks like any other, the same on every machine.
fn scattered(id: u32, which: u32) -> u32 {
    let mixed = (id ^ which << 28).wrapping_mul(0x9e37_79b9);
    (mixed ^ mixed >> 15).wrapping_mul(0x85eb_ca6b) >> 16
}

/// The sum of |usage - share|.
pub fn error(settled: &[(f64, f64)]) -> f64 {
    settled.iter().map(|(had, share)| (had - share).abs()).sum()
}
