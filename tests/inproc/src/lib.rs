//! A small in-process host for Slurm priority plugins.
//!
//! A real cluster shows that a plugin works; it cannot show that two plugins agree to the last bit, because time
//! passes. This crate compiles a C program that takes slurmctld's place: it links the real libslurmfull, exports what
//! slurmctld would export, fills the association manager through Slurm's own code, loads a plugin through Slurm's own
//! loader, stops the clock, and checks the lock rules on every call. [`Host`] starts that program and talks to it.
//!
//! The program needs the headers of exactly the installed Slurm release: `SLURM_SRC` names the unpacked source.

mod extended;
mod host;
mod model;
mod program;
mod reply;

pub use extended::Extended;
pub use host::{Bench, Cycle, Error, Host, HostResult, Options, Plugin};
pub use model::{
    state, Amounts, Association, AssociationUsage, Conf, FactorsFilter, Job, Nice, Partition, Qos, QosUsage,
    User,
};
pub use program::{build_plugin, source_directory, Program};
pub use reply::{AssociationRecord, Factors, FactorsObject, JobRecord, LockStatistic, QosRecord, Record};
