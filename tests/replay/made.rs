//! Small workloads and machines at random, with many events at one time.

use multifactor2_core::settings::Settings;
use multifactor2_replay::order::Policy;
use multifactor2_replay::sim::{simulate, Outcome, Parameters, Plan, Scheduler};
use multifactor2_replay::workload::{Builder, Draft, Machine, Partition, Pool, Workload, NO_TIME};
use proptest::prelude::*;

/// Submit time, run time, what the limit is longer, CPUs, user, partitions.
pub type Made = (u8, u8, u8, u8, u8, u8);

pub fn jobs(most: usize) -> impl Strategy<Value = Vec<Made>> {
    prop::collection::vec((0_u8.., 0_u8..60, 0_u8..60, 1_u8..=12, 0_u8..6, 0_u8..4), 1..most)
}

/// A machine of one partition, or of three that share nodes.
pub fn machine(shared: bool) -> Machine {
    if !shared {
        return Machine::of_procs(16);
    }
    let pool = |cpus| Pool { cpus, nodes: cpus };
    Machine {
        pools: vec![pool(12), pool(4), pool(6)],
        partitions: vec![
            Partition::plain("p0", vec![0, 1]),
            Partition { tier: 2, ..Partition::plain("p1", vec![2, 1]) },
            Partition { max_time: 60 * 60, job_factor: 5, ..Partition::plain("p2", vec![0]) },
        ],
        ..Machine::default()
    }
}

/// When jobs of [`at_once`] come.
pub const NOW: i64 = 1_000_000;

/// Jobs that come together, for ten minutes each: account, the only user of which is called like it, partitions and CPUs.
pub fn at_once<'j>(jobs: impl IntoIterator<Item = (&'j str, &'j str, u32)>) -> Workload {
    let mut builder = Builder::new("account");
    for (id, (account, partitions, cpus)) in (1..).zip(jobs) {
        builder
            .add(&Draft {
                id,
                submit: NOW,
                eligible: NOW,
                start: NO_TIME,
                run: 600,
                limit: 600,
                cpus,
                nodes: 1,
                user: account,
                account,
                partitions,
                ..Draft::default()
            })
            .unwrap();
    }
    builder.finish()
}

/// Seconds of a unit of [`Made`].
const UNIT: u64 = 20;

pub fn workload(made: &[Made], config: &[(&str, &str)]) -> Workload {
    let mut builder = Builder::new("account");
    for (id, (submit, run, more, cpus, user, partitions)) in (1..).zip(made) {
        let submit = 1_000_000 + i64::from(*submit) * 10;
        let run = u64::from(*run) * UNIT;
        builder
            .add(&Draft {
                id,
                submit,
                eligible: submit,
                start: NO_TIME,
                run,
                limit: (run + u64::from(*more) * UNIT).max(1),
                cpus: u32::from(*cpus),
                nodes: 1,
                array: u32::from(*user == 5),
                user: ["a", "b", "c", "d", "e", "f"][usize::from(*user)],
                account: ["x", "y"][usize::from(*user % 2)],
                partitions: ["p0", "p1", "p2", "p0,p1"][usize::from(*partitions)],
                ..Draft::default()
            })
            .unwrap();
    }
    let mut workload = builder.finish();
    for (name, value) in config {
        workload.config.set(name, value);
    }
    workload
}

pub fn multifactor2(settings: &str) -> Policy {
    Policy::Multifactor2(Box::new(Settings::parse(settings, "test").unwrap().settings))
}

/// One of some policies.
pub fn policy(number: u8) -> Policy {
    match number % 4 {
        0 => Policy::Fifo,
        1 => multifactor2(""),
        2 => multifactor2("Distribution=standing"),
        _ => multifactor2("Dilution=user\nDilutionUnit=cpu\n"),
    }
}

pub fn schedulers() -> Vec<Scheduler> {
    vec![
        Scheduler::Fcfs,
        Scheduler::Easy,
        Scheduler::Sjbf,
        Scheduler::Conservative,
        Scheduler::Slurm(Parameters::default()),
        Scheduler::Slurm(Parameters { bf_window: 10, bf_resolution: 7, ..Parameters::default() }),
    ]
}

pub fn outcome(workload: &Workload, machine: &Machine, scheduler: Scheduler, policy: &Policy) -> Outcome {
    simulate(&Plan { workload, machine, scheduler, policy }).unwrap()
}
