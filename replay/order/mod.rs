//! The order in which a scheduler goes through the queue.
//!
//! [`Fifo`] is the order of submission. [`Multifactor`] has priorities as the plugin computes them: usage of associations decays and is
//! charged each `PriorityCalcPeriod`, [`FairSharePolicy`] turns it into fair-share factors in each book, and the engine adds the other
//! factors.
//!
//! **To add a fair-share policy**, write a type that is a [`FairSharePolicy`], a variant of [`Policy`], and its line in [`Policy::order`].

mod books;
mod charges;
mod multifactor;
mod points;
mod standing;
mod stock;
mod tickets;
mod usage;
mod windows;

use std::fmt;
use std::path::Path;

use multifactor2_core::settings::{Errors, Settings};

use crate::workload::{Machine, Setup, Workload};

pub use multifactor::Multifactor;
pub use standing::{FairSharePolicy, Ground, Newcomer, Queued, Running};
pub use stock::Stock;
pub use tickets::Tickets;
pub use usage::Usage;

/// A job that has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Started {
    /// Its place in the workload.
    pub job: u32,
    /// The partition of the machine.
    pub partition: u16,
    /// When.
    pub at: i64,
}

/// An order of jobs, by priorities.
pub trait Order {
    /// Seconds between two calls of [`Self::cycle`]; `None` where priorities never change.
    fn period(&self) -> Option<u32>;

    /// A job comes into the queue. Pushes its priorities, one for each of its partitions.
    fn submit(&mut self, now: i64, job: u32, priorities: &mut Vec<u32>);

    /// A job starts.
    fn start(&mut self, started: Started);

    /// A job ends.
    fn end(&mut self, now: i64, job: u32);

    /// Computes all priorities. `set` takes those of a waiting job, one for each of its partitions. It must be called for every job of
    /// `waiting`, in any order.
    fn cycle(&mut self, now: i64, waiting: &[u32], set: &mut dyn FnMut(u32, &[u32]));
}

/// Who is first.
#[derive(Clone, Debug, PartialEq)]
pub enum Policy {
    /// The order of submission.
    Fifo,
    /// `priority/multifactor2`, with its settings.
    Multifactor2(Box<Settings>),
    /// `priority/multifactor` with Fair Tree.
    FairTree,
    /// `priority/multifactor` with the formula before Fair Tree (`PriorityFlags=NO_FAIR_TREE`).
    Classic,
}

/// A policy that cannot be had.
#[derive(Debug)]
pub enum PolicyError {
    /// Its settings are wrong.
    Settings(Errors),
    /// Neither a policy nor a file has that name.
    Unknown(String),
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings(errors) => {
                let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
                f.write_str(&lines.join("\n"))
            }
            Self::Unknown(name) => write!(
                f,
                "there is no policy {name:?}: fifo, fair-tree, classic, multifactor2, or a file with settings of multifactor2.conf"
            ),
        }
    }
}

impl std::error::Error for PolicyError {}

impl Policy {
    /// By its name, or a file with settings of multifactor2.
    ///
    /// # Errors
    /// There is no such policy, or its settings are wrong.
    pub fn named(name: &str) -> Result<Self, PolicyError> {
        match name {
            "fifo" => Ok(Self::Fifo),
            "fair-tree" => Ok(Self::FairTree),
            "classic" => Ok(Self::Classic),
            "multifactor2" => Ok(Self::Multifactor2(Box::default())),
            file if Path::new(file).is_file() => {
                let loaded = Settings::load(None, Path::new(file)).map_err(PolicyError::Settings)?;
                Ok(Self::Multifactor2(Box::new(loaded.settings)))
            }
            _ => Err(PolicyError::Unknown(name.to_owned())),
        }
    }

    /// What its settings ask for that a replay of a workload on a machine leaves out, in words.
    pub fn left_out(&self, workload: &Workload, machine: &Machine) -> Vec<String> {
        let Self::Multifactor2(settings) = self else { return Vec::new() };
        let always = tickets::left_out(settings).into_iter().map(str::to_owned);
        always.chain(charges::unknown(settings, workload, machine)).collect()
    }

    /// The order of jobs under this policy.
    pub fn order<'s>(&self, setup: &'s Setup<'s>) -> Box<dyn Order + 's> {
        let order = |standing: Box<dyn FairSharePolicy>| Multifactor::new(setup, standing);
        Box::new(match self {
            Self::Fifo => return Box::new(Fifo { setup }),
            Self::Multifactor2(settings) => order(Box::new(Tickets::new(settings)))
                .with_points(settings)
                .with_charges(settings)
                .with_books(settings)
                .with_windows(settings),
            Self::FairTree => order(Box::new(Stock::fair_tree())),
            Self::Classic => order(Box::new(Stock::classic(&setup.workload.config))),
        })
    }
}

/// The order of submission: all priorities are the same.
#[derive(Debug)]
pub struct Fifo<'s> {
    setup: &'s Setup<'s>,
}

impl Order for Fifo<'_> {
    fn period(&self) -> Option<u32> {
        None
    }

    fn submit(&mut self, _: i64, job: u32, priorities: &mut Vec<u32>) {
        priorities.extend(self.setup.partitions(job).iter().map(|_| 1));
    }

    fn start(&mut self, _: Started) {}

    fn end(&mut self, _: i64, _: u32) {}

    fn cycle(&mut self, _: i64, waiting: &[u32], set: &mut dyn FnMut(u32, &[u32])) {
        for job in waiting {
            let priorities: Vec<u32> = self.setup.partitions(*job).iter().map(|_| 1).collect();
            set(*job, &priorities);
        }
    }
}
