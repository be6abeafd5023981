//! Complete private Slurm clusters on one machine, for tests.
//!
//! A cluster has its own database server, slurmdbd, slurmctld and, where jobs shall run, slurmds, all of the
//! installed Slurm, in one temporary directory, on loopback, on free ports. It is usable
//! in less than a second, any number can run side by side, root is not needed, and
//! nothing is left of it however the test ends (see `keeper`).
//!
//! ```no_run
//! use slurm_testcluster::{Account, Accounts, Cluster, Job};
//!
//! # fn main() -> slurm_testcluster::Result<()> {
//! let tree = Accounts::new().account(Account::new("physics", 40).user("ada", 1).user("emmy", 1));
//! let mut cluster = Cluster::builder()
//!     .priority_type("priority/multifactor")
//!     .accounts(&tree)
//!     .usage(&[("physics", "ada", 3600.0)])
//!     .start()?;
//! let job = cluster.submit(&Job::new("emmy").account("physics"))?;
//! cluster.wait_cycle()?;
//! println!("{job}: {}", cluster.sprio_rows()?[0].number("FAIRSHARE")?);
//! println!("{}", cluster.share("physics", "ada")?.number("EffectvUsage")?);
//! cluster.set("PriorityWeightAge", "1000")?;
//! cluster.reconfigure()?;
//! # Ok(())
//! # }
//! ```

mod accounts;
mod backup;
mod builder;
mod call;
mod cluster;
mod config;
mod controller;
pub mod database;
pub mod example;
mod job;
mod keeper;
mod losses;
pub mod parity;
pub mod points;
pub mod policies;
mod processes;
mod release;
mod rows;
mod skip;
pub mod stacks;
mod surroundings;
mod systemd;
pub mod targets;
mod usage;

pub use accounts::{Account, Accounts, Shares, User};
pub use anyhow::Result;
pub use builder::Builder;
pub use call::Call;
pub use cluster::{Cluster, JobId};
pub use controller::Mode;
pub use job::Job;
pub use processes::last_lines;
pub use release::Release;
pub use rows::{parse_rows, Row};
pub use skip::skip;
pub use slurm_headers::Version;
