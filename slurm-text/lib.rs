//! Readers of what Slurm's commands print and of what its files say, for whoever is outside slurmctld: the command and the replay read the same texts, and
//! must understand them the same way. The plugin reads slurmctld's memory instead and does not link this crate.

pub mod parameters;

pub use parameters::Parameters;
