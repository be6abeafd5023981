//! Runs a workload on a machine: events in the order of time, a scheduler that decides which jobs start, and an order of jobs.
//!
//! At any one time submissions come before ends, ends before a recomputation of priorities, and passes of the scheduler last. A pass knows
//! only what a real scheduler knows: time limits, never how long a job will run.
//!
//! Slurm's scheduler assigns nodes if they are known: CPUs, memory and generic resources of each run out. The others take CPUs of pools.
//! [`Treatments::left_out`] has what is left out.

mod allocation;
mod limits;
mod nodes;
mod one_pass;
mod profile;
mod published;
mod recorded;
mod slurm;
mod treatments;
mod world;

use std::fmt;

use multifactor2_core::calendar::ResetPeriod;

use crate::order::{Order, Policy};
use crate::workload::{Machine, MachineError, Setup, Workload};

pub use one_pass::{Pass, Passes, Runs};
pub use slurm::Parameters;
pub use treatments::Treatments;

use limits::Limits;
use nodes::Nodes;
use world::{Delays, World};

/// A job that did not start.
pub const NEVER: i64 = i64::MIN;

/// Which scheduler.
#[derive(Clone, Debug, PartialEq)]
pub enum Scheduler {
    /// In order; the first job of a partition that does not fit stops all behind it.
    Fcfs,
    /// The first job that does not fit gets a reservation, and others may start if they do not delay it.
    Easy,
    /// The same, where those others are looked at by requested time, shortest first.
    Sjbf,
    /// Every job gets a reservation at its submission, which is never moved to a later time.
    Conservative,
    /// Slurm's main scheduler and its backfill, with `SchedulerParameters`.
    Slurm(Parameters),
}

impl Scheduler {
    /// By its name; `slurm` has the parameters of a configuration.
    ///
    /// # Errors
    /// There is none of that name, or slurmctld does not start with the configuration.
    pub fn named(name: &str, config: &crate::trace::config::Config) -> Result<Self, String> {
        match name {
            "fcfs" => Ok(Self::Fcfs),
            "easy" => Ok(Self::Easy),
            "sjbf" => Ok(Self::Sjbf),
            "conservative" => Ok(Self::Conservative),
            "slurm" => Parameters::of(config).map(Self::Slurm),
            _ => Err(format!("there is no scheduler {name:?}: fcfs, easy, sjbf, conservative or slurm")),
        }
    }
}

/// What is simulated.
#[derive(Clone, Debug)]
pub struct Plan<'p> {
    /// The jobs.
    pub workload: &'p Workload,
    /// The machine.
    pub machine: &'p Machine,
    /// The scheduler.
    pub scheduler: Scheduler,
    /// Which job is first.
    pub policy: &'p Policy,
}

impl Plan<'_> {
    /// What this replay leaves out that its input asks for, besides what every replay does ([`Treatments::left_out`]).
    pub fn left_out(&self) -> Vec<String> {
        let mut left_out = self.policy.left_out(self.workload, self.machine);
        if let Scheduler::Slurm(parameters) = &self.scheduler {
            let of_pace = parameters.of_pace.iter().filter(|_| parameters.backfill_rate == 0);
            left_out.extend(
                parameters.ignored.iter().chain(of_pace).map(|word| format!("SchedulerParameters={word}")),
            );
        }
        left_out.extend(limits::left_out(self.workload, self.machine, &self.scheduler));
        let config = &self.workload.config;
        let by_cpus = |word: &str| word.to_ascii_lowercase().starts_with("cpu=");
        for (name, value) in [
            (
                "the time zone of the cluster: midnight is UTC in PriorityUsageResetPeriod",
                config
                    .get("PriorityUsageResetPeriod")
                    .filter(|value| ResetPeriod::read(value).is_some_and(ResetPeriod::repeats)),
            ),
            ("PreemptType", config.get("PreemptType").filter(|value| !value.ends_with("/none"))),
            ("PriorityWeightAssoc", config.get("PriorityWeightAssoc").filter(|value| *value != "0")),
            (
                "all TRES except CPUs and nodes in PriorityWeightTRES",
                config.get("PriorityWeightTRES").filter(|value| !value.split(',').all(by_cpus)),
            ),
        ] {
            left_out.extend(value.map(|value| format!("{name}={value}")));
        }
        if config.has_flag("CALCULATE_RUNNING") {
            left_out.push("PriorityFlags=CALCULATE_RUNNING".to_owned());
        }
        left_out
    }
}

/// How far a simulation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Jobs that have been submitted so far.
    pub submitted: usize,
    /// Jobs in all.
    pub jobs: usize,
    /// The time in the simulation.
    pub now: i64,
}

/// What came of it, by the place of a job in [`Workload::jobs`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// When each job started, or [`NEVER`].
    pub starts: Vec<i64>,
    /// In which partition of the machine.
    pub partitions: Vec<u16>,
    /// With which priority each job started.
    pub priorities: Vec<u32>,
    /// Jobs that are too large for each of their partitions. They never start.
    pub misfits: u64,
    /// The time at which it was stopped before its end.
    pub stopped_at: Option<i64>,
    /// Passes of the scheduler that were made.
    pub passes: u64,
}

impl Outcome {
    /// It was stopped before its end.
    pub fn is_partial(&self) -> bool {
        self.stopped_at.is_some()
    }

    /// When a job ended; `None` where it has not.
    pub fn end(&self, workload: &Workload, job: usize) -> Option<i64> {
        let start = self.starts[job];
        let end = (start != NEVER).then(|| start + i64::from(workload.jobs[job].run))?;
        self.stopped_at.is_none_or(|stopped| end <= stopped).then_some(end)
    }
}

/// A plan that cannot be simulated.
#[derive(Debug)]
pub enum PlanError {
    /// The machine is none.
    Machine(MachineError),
    /// There are more jobs than 2^32 - 1.
    TooManyJobs,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Machine(error) => error.fmt(f),
            Self::TooManyJobs => f.write_str("there are more jobs than can be simulated"),
        }
    }
}

impl std::error::Error for PlanError {}

/// Simulates a plan.
///
/// # Errors
/// The machine cannot be simulated, or there are too many jobs.
pub fn simulate(plan: &Plan<'_>) -> Result<Outcome, PlanError> {
    simulate_with(plan, true, |_| true)
}

/// The same, telling from time to time how far it is; ends early where `go_on` says no. `skip`: leave out passes in which nothing can
/// have changed. The result is the same without, and tests compare both.
///
/// # Errors
/// As with [`simulate`].
pub fn simulate_with(
    plan: &Plan<'_>,
    skip: bool,
    go_on: impl FnMut(Progress) -> bool,
) -> Result<Outcome, PlanError> {
    plan.machine.check().map_err(PlanError::Machine)?;
    if u32::try_from(plan.workload.jobs.len()).is_err() {
        return Err(PlanError::TooManyJobs);
    }
    let setup = setup(plan.workload, plan.machine, &plan.scheduler);
    let order = plan.policy.order(&setup);
    Ok(run(&setup, &plan.scheduler, order, skip, go_on))
}

/// The workload on the machine, as a scheduler sees it: Slurm's uses nodes if they are known.
pub fn setup<'s>(workload: &'s Workload, machine: &'s Machine, scheduler: &Scheduler) -> Setup<'s> {
    if !goes_by_nodes(machine, scheduler) {
        return Setup::new(workload, machine);
    }
    let nodes = Nodes::new(machine);
    Setup::on_nodes(workload, machine, |setup, want, partition| {
        nodes::can_ever(setup, &nodes, want, partition)
    })
}

/// Whether a scheduler uses the nodes of a machine instead of the CPUs of its pools.
pub fn goes_by_nodes(machine: &Machine, scheduler: &Scheduler) -> bool {
    matches!(scheduler, Scheduler::Slurm(_)) && !machine.nodes.is_empty()
}

/// Simulates with any order of jobs.
pub fn run(
    setup: &Setup<'_>,
    scheduler: &Scheduler,
    order: Box<dyn Order + '_>,
    skip: bool,
    go_on: impl FnMut(Progress) -> bool,
) -> Outcome {
    let goes_by_nodes = goes_by_nodes(setup.machine, scheduler);
    let delays = match scheduler {
        Scheduler::Slurm(parameters) => Delays::of(parameters, goes_by_nodes),
        _ => Delays::default(),
    };
    let nodes = goes_by_nodes.then(|| Nodes::new(setup.machine));
    let limits = Limits::new(setup, scheduler);
    let mut scheduler: Box<dyn Schedules> = match scheduler {
        Scheduler::Fcfs => Box::new(published::Published::new(published::Backfill::None)),
        Scheduler::Easy => Box::new(published::Published::new(published::Backfill::InOrder)),
        Scheduler::Sjbf => Box::new(published::Published::new(published::Backfill::ShortestFirst)),
        Scheduler::Conservative => Box::new(published::Conservative::default()),
        Scheduler::Slurm(parameters) => {
            Box::new(slurm::Slurm::new(parameters.clone(), skip, nodes.is_some()))
        }
    };
    World::new(setup, order, delays, nodes, limits).run(&mut *scheduler, go_on)
}

/// What a scheduler is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// A job has come into the queue.
    Submitted(u32),
    /// A job has ended, or its nodes have been cleaned up.
    Ended,
    /// Priorities are others; `moved`: the queue has another order.
    Recomputed {
        /// See above.
        moved: bool,
    },
}

/// A scheduler.
trait Schedules {
    /// Something happened; who looks at once may start jobs.
    fn note(&mut self, event: Event, world: &mut World<'_>);

    /// When it looks next, without an event; at or after the present.
    fn due(&self) -> Option<i64>;

    /// Looks.
    fn look(&mut self, world: &mut World<'_>);
}
