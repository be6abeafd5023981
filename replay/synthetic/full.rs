//! A machine that is always full: all users always have jobs waiting, so the policy alone decides what each gets in the end.

use std::ops::RangeInclusive;

use fastrand::Rng;

use crate::sim::{Outcome, NEVER};
use crate::workload::{Builder, Draft, ListedAssociation, Machine, Workload, NO_TIME};

const HOUR: i64 = 3600;

/// What is made.
#[derive(Clone, Debug, PartialEq)]
pub struct Full {
    /// The seed.
    pub seed: u64,
    /// CPUs of the machine.
    pub cpus: u32,
    /// How long jobs come, in hours.
    pub hours: u32,
    /// Hours of everybody's work that wait from the beginning.
    pub waiting: u32,
    /// `PriorityDecayHalfLife` in hours.
    pub half_life: u32,
    /// `PriorityCalcPeriod` in seconds, in whole minutes.
    pub period: u32,
    /// Accounts and users: those above first.
    pub tree: Vec<Member>,
}

/// An account or a user.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The account above; empty directly below the root.
    pub parent: String,
    /// Its name.
    pub name: String,
    /// Raw shares.
    pub shares: u32,
    /// What it submits, where it is a user.
    pub work: Option<Work>,
}

/// What a user submits.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// What it asks for, in parts of the machine.
    pub asks: f64,
    /// CPUs of a job.
    pub cpus: RangeInclusive<u32>,
    /// Seconds that a job runs.
    pub run: RangeInclusive<u32>,
    /// Its limit, in parts of a hundred of what it runs; from 100.
    pub limit: RangeInclusive<u32>,
    /// MB of memory for each CPU.
    pub memory: RangeInclusive<u64>,
}

impl Work {
    /// Jobs of one CPU and about an hour.
    pub fn hourly(asks: f64) -> Self {
        Self { asks, cpus: 1..=1, run: 3000..=4200, limit: 125..=125, memory: 0..=0 }
    }
}

impl Full {
    /// When the first job is submitted.
    pub const BEGIN: i64 = super::EPOCH;

    /// Makes it.
    ///
    /// # Panics
    /// It asks for more jobs or users than a workload takes.
    pub fn make(&self) -> Workload {
        let mut random = Rng::with_seed(self.seed);
        let mut builder = Builder::new("account");
        builder.list(self.tree.iter().map(Member::listed).collect());
        builder.set_machine(Machine::of_procs(self.cpus));
        // Submission, a number that says who is first at one time, and the job.
        let mut drafts: Vec<(i64, u64, Draft)> = Vec::new();
        for (member, work) in self.tree.iter().filter_map(|member| Some((member, member.work.as_ref()?))) {
            let (waiting, hours) = (f64::from(self.waiting), f64::from(self.waiting + self.hours));
            let rate = work.asks * f64::from(self.cpus);
            // Hours for which what there is so far is enough.
            let mut lasts = 0.0;
            while lasts < hours {
                let cpus = random.u32(work.cpus.clone());
                let run = random.u32(work.run.clone());
                let limit = u64::from(run) * u64::from(random.u32(work.limit.clone())) / 100;
                let submit = Self::BEGIN + seconds((lasts - waiting).max(0.0));
                let draft = Draft {
                    submit,
                    eligible: submit,
                    start: NO_TIME,
                    memory: u64::from(cpus) * random.u64(work.memory.clone()),
                    run: u64::from(run),
                    limit,
                    cpus,
                    user: &member.name,
                    account: &member.parent,
                    ..Draft::default()
                };
                drafts.push((submit, random.u64(..), draft));
                lasts += f64::from(cpus) * f64::from(run) / 3600.0 / rate;
            }
        }
        drafts.sort_unstable_by_key(|(submit, place, _)| (*submit, *place));
        for (id, (_, _, draft)) in (1..).zip(drafts) {
            builder
                .add(&Draft { id, ..draft })
                .unwrap_or_else(|many| panic!("more than {} {}", many.most, many.what));
        }
        let mut workload = builder.finish();
        workload.config.set("PriorityDecayHalfLife", &format!("{}:00:00", self.half_life));
        workload.config.set("PriorityCalcPeriod", &(self.period / 60).to_string());
        workload
    }

    /// Two half-lives after the beginning, when what was before counts little.
    pub fn settled(&self) -> i64 {
        Self::BEGIN + 2 * i64::from(self.half_life) * HOUR
    }

    /// When no more jobs come.
    pub fn end(&self) -> i64 {
        Self::BEGIN + i64::from(self.hours) * HOUR
    }

    /// Whether every user had jobs waiting at every time of this stretch. Where not, a user has had less for want of jobs.
    pub fn is_full(workload: &Workload, outcome: &Outcome, from: i64, to: i64) -> bool {
        let mut changes: Vec<(u32, i64, i32)> = Vec::new();
        for (job, start) in workload.jobs.iter().zip(&outcome.starts) {
            changes.push((job.association, job.eligible, 1));
            changes.extend((*start != NEVER).then_some((job.association, *start, -1)));
        }
        changes.sort_unstable();
        changes.chunk_by(|a, b| a.0 == b.0).all(|of_user| {
            let mut waiting = 0;
            // At one time those that start come before those that are submitted.
            of_user.chunk_by(|a, b| a.1 == b.1).all(|at_once| {
                waiting += at_once.iter().map(|(_, _, change)| change).sum::<i32>();
                waiting > 0 || !(from..to).contains(&at_once[0].1)
            })
        })
    }
}

impl Member {
    /// An account directly below the root.
    pub fn account(name: &str, shares: u32) -> Self {
        Self { parent: String::new(), name: name.to_owned(), shares, work: None }
    }

    /// A user.
    pub fn user(account: &str, name: &str, shares: u32, work: Work) -> Self {
        Self { parent: account.to_owned(), name: name.to_owned(), shares, work: Some(work) }
    }

    fn listed(&self) -> ListedAssociation {
        if self.work.is_some() {
            return ListedAssociation {
                parent: String::new(),
                account: self.parent.clone(),
                user: self.name.clone(),
                shares: self.shares,
            };
        }
        let parent = if self.parent.is_empty() { "root" } else { &self.parent };
        ListedAssociation {
            parent: parent.to_owned(),
            account: self.name.clone(),
            user: String::new(),
            shares: self.shares,
        }
    }
}

#[allow(clippy::cast_possible_truncation)] // hours of a workload
fn seconds(hours: f64) -> i64 {
    (hours * 3600.0) as i64
}
