//! A recorded workload, whatever it was read from: jobs, their owners, the machine, and what the source did not say.
//!
//! Five million jobs must fit into far less than 8 GB, so a job is 96 bytes, and each name is kept once.

mod associations;
mod builder;
mod facts;
mod gone;
mod gres;
mod limits;
mod machine;
mod names;
pub mod outages;
mod setup;
mod site;

pub use associations::{Association, Qos, ROOT};
/// The most QOS that are read.
pub(crate) const MOST_QOS: usize = 60_000;

pub use facts::{Fact, Facts};
pub use gres::Gres;

pub use builder::{Builder, Draft, ListedAssociation, TooMany};
pub use limits::{Limit, ListedLimits, QosLimits};
pub use machine::{BillingWeights, Machine, MachineError, Node, Partition, Pool, ToldNode};
pub use names::Names;
pub use setup::{Setup, Want};
pub use site::Site;

use crate::trace::config::Config;
use crate::trace::problems::Problems;

/// A job without a time limit.
pub const NO_LIMIT: u32 = u32::MAX;

/// A time that the source does not tell.
pub const NO_TIME: i64 = i64::MIN;

/// A job, as it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its id in the source.
    pub id: u64,
    /// When it was submitted, in seconds; since 1970 where the source says since when.
    pub submit: i64,
    /// Since when it could start; never before [`Self::submit`].
    pub eligible: i64,
    /// When it started in reality, or [`NO_TIME`].
    pub start: i64,
    /// MB of memory of the whole job, 0 where that is not known.
    pub memory: u64,
    /// Seconds that it ran, at most [`Self::limit`].
    pub run: u32,
    /// Its time limit in seconds, at least 1; [`NO_LIMIT`] for none.
    pub limit: u32,
    /// CPUs of the whole job, at least 1.
    pub cpus: u32,
    /// Nodes, 0 where that is not known.
    pub nodes: u32,
    /// GPUs of the whole job.
    pub gpus: u32,
    /// Generic resources of the whole job: a set in [`Workload::gres`].
    pub gres: u16,
    /// It has got more nodes than it asked for: it may be spread over any number of them.
    pub spreads: bool,
    /// The priority that was recorded last, 0 where that is not known.
    pub priority: u32,
    /// Whose it is: a place in [`Workload::associations`].
    pub association: u32,
    /// The array that it is a task of, 0 for none.
    pub array: u32,
    /// The partitions that it asks for: a place in [`Workload::partition_sets`].
    pub partitions: u16,
    /// A place in [`Workload::qos`].
    pub qos: u16,
    /// The line of the source that it is from, from 1; 0 for none.
    pub line: u32,
    /// Why it waited, as it was recorded last: a place in [`Workload::reasons`].
    pub reason: u16,
    /// What the accounting has of its start: a place in [`Workload::flags`].
    pub flags: u16,
    /// What decided its start besides the queue.
    pub facts: Facts,
}

/// Five million of them are 480 MB.
const _: () = assert!(size_of::<Job>() <= 96);

/// Something that the source did not tell, and what follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// What there is not.
    pub what: String,
    /// What that makes impossible, or what is taken instead.
    pub so: String,
}

/// A workload.
#[derive(Clone, Debug, Default)]
pub struct Workload {
    /// In the order of their submission.
    pub jobs: Vec<Job>,
    /// What users are called.
    pub users: Names,
    /// What accounts are called; groups, where [`Self::account_word`] says so.
    pub accounts: Names,
    /// `account`, or `group` where the source has groups of users, which need not be accounts.
    pub account_word: &'static str,
    /// The tree: [`ROOT`] first, parents before children.
    pub associations: Vec<Association>,
    /// What QOS there are; the first is that of jobs without one.
    pub qos: Vec<Qos>,
    /// Limits of associations on running jobs, as a source lists them.
    pub limits: Vec<ListedLimits>,
    /// What partitions are called that jobs ask for.
    pub partitions: Names,
    /// Sets of them, as places in [`Self::partitions`], in the order in which jobs name them.
    pub partition_sets: Vec<Box<[u16]>>,
    /// Generic resources of jobs.
    pub gres: Gres,
    /// What reasons are called; the first is none.
    pub reasons: Names,
    /// What flags of jobs are called; the first are none.
    pub flags: Names,
    /// The machine, where the source says or shows it.
    pub machine: Option<Machine>,
    /// Parameters of slurm.conf.
    pub config: Config,
    /// Times at which much of a partition was away, where the source has events.
    pub outages: Vec<outages::Outage>,
    /// When nodes were away.
    pub away: Vec<outages::NodeAway>,
    /// Reservations of the administrator.
    pub reservations: Vec<outages::Reservation>,
    /// The source has events of nodes.
    pub has_events: bool,
    /// Changes of limits while the trace was recorded, in words, each with its date.
    pub changed_limits: Vec<String>,
    /// Facts that the source has columns for.
    pub told: Facts,
    /// The file that jobs are from, as messages name it.
    pub source: String,
    /// What the source did not tell.
    pub missing: Vec<Missing>,
    /// What was wrong with it, line by line.
    pub problems: Problems,
}

impl Workload {
    /// The user of a job, as a place in [`Self::users`].
    pub fn user(&self, job: &Job) -> u32 {
        self.associations[job.association as usize].user.unwrap_or_default()
    }

    /// The account of a job, as a place in [`Self::accounts`].
    pub fn account(&self, job: &Job) -> u32 {
        self.associations[job.association as usize].account
    }

    /// What a job holds, in CPU seconds.
    pub fn cpu_seconds(job: &Job) -> u64 {
        u64::from(job.cpus) * u64::from(job.run)
    }

    /// The same with every submission up to this many seconds later, by a seed. The spread of several replays shows what depends on chance.
    #[must_use]
    pub fn jittered(&self, seed: u64, seconds: u32) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut jittered = self.clone();
        for job in &mut jittered.jobs {
            let later = i64::from(random.u32(..=seconds));
            job.submit += later;
            job.eligible += later;
        }
        jittered.jobs.sort_by_key(|job| job.submit);
        jittered
    }

    /// The machine that the source tells of, or the smallest on which the recorded jobs could have run as they did. `None` where there
    /// are neither a machine nor recorded starts.
    pub fn machine_or_observed(&self) -> Option<Machine> {
        self.machine.clone().or_else(|| Machine::observed(self))
    }
}
