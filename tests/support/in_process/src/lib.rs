//! A small in-process host for Slurm priority plugins.
//!
//! A real cluster shows that a plugin works; it cannot show that two plugins agree to the last bit, because time
//! passes. This crate compiles a C program that takes slurmctld's place: it links the real libslurmfull, exports what
//! slurmctld would export, fills the association manager through Slurm's own code, loads a plugin through Slurm's own
//! loader, stops the clock, and checks the lock rules on every call. [`Host`] starts that program and talks to it.
//!
//! ```no_run
//! use slurm_inproc::{Association, Conf, Extended, Host, Job, Options, Plugin, Qos};
//!
//! # fn main() -> slurm_inproc::HostResult<()> {
//! let mut host = Host::start(&Options::new(Plugin::stock()))?;
//! host.configure(&Conf::new().weight_age(1000_u32).max_age(86_400_u32).decay_half_life(604_800_u32))?;
//! host.qos(&Qos::new(1_u32).name("normal"))?;
//! host.associations(&[
//!     Association::new(1_u32).account("root"),
//!     Association::new(2_u32).parent(1_u32).account("physics").shares(10_u32),
//!     Association::new(3_u32).parent(2_u32).account("physics").user("alice").uid(1001_u32),
//! ])?;
//! host.jobs(&[Job::new(1_u32).association(3_u32).user_id(1001_u32).qos(1_u32).accrue_time(2_000_000_000)])?;
//! host.init()?; // loads the plugin; its decay thread has run once when this returns
//! host.advance(43_200)?; // half a day
//! host.cycle()?; // one decay cycle, now
//! assert_eq!(host.set_priority(1)?, 500);
//! assert_eq!(host.dump_association(3)?.usage_raw, Extended::Zero);
//! host.quit()?; // unloads, frees and returns the log
//! # Ok(())
//! # }
//! ```
//!
//! The program needs the headers of exactly the installed Slurm release; [`source_directory`] says where it looks.

pub mod constants;
mod error;
mod extended;
mod host;
mod model;
mod options;
mod program;
mod reply;
mod site_factor;

pub use error::{Error, HostResult};
pub use extended::Extended;
pub use host::{Bench, Cycle, Host};
pub use model::{
    state, Amounts, Association, AssociationUsage, Conf, FactorsFilter, Job, Nice, Partition, Qos, QosUsage,
    User,
};
pub use options::{Options, Plugin};
pub use program::{build_plugin, source_directory, Program};
pub use reply::{
    AssociationRecord, Factors, FactorsObject, JobRecord, LockStatistic, QosRecord, Record, Snapshot,
};
pub use site_factor::CountingSiteFactor;
