//! The plugin's own settings, which stock Slurm has no place for.
//!
//! They come from `PriorityParameters=` in slurm.conf and from `multifactor2.conf` in the same directory, in Slurm's key=value style.
//! [`text`] reads the style and [`files`] follows `Include`. [`schema`] compares the text with a table of known settings, [`value`] reads
//! single values, [`declare`] turns one declaration per setting into table and struct, and [`table`] holds those declarations. `loading`
//! gives the result, which the plugin saves for the next process. `together` and `effects` compare settings with each other, [`advice`] with
//! slurm.conf, and `enforced` with what slurmctld enforces. `shown` formats them for a line of the log.
//!
//! Every problem is a value ([`report`]) that names file, line, value and what is allowed. Nothing here logs or knows Slurm's types.

pub mod advice;
pub mod declare;
mod effects;
pub mod enforced;
pub mod files;
mod loading;
mod public;
pub mod report;
pub mod schema;
mod shown;
pub mod since;
pub mod table;
pub mod text;
mod together;
pub mod value;

pub use declare::Term;
pub use enforced::Enforced;
pub use loading::{FileFound, Loaded, Outcome, SettingsKeeper, PARAMETERS};
pub use report::{Error, Errors, Place, Warning, WrittenAt};
pub use table::{
    ActiveJobs, Charge, ChargeKind, ChargeScope, Component, ComponentKind, CredentialKind, Curve, Dilution,
    DilutionUnit, FairShareScale, Functional, FunctionalKind, Grant, GrantBeyond, GrantKind, GrantOutside,
    GrantSplit, Override, OverrideKind, ParentUsers, ServiceKind, Settings, SnapshotMode, Target, TargetKind,
    TargetMode, TargetType, TargetUsage, TreeUsage, UsageMeasure, SETTINGS,
};
pub(crate) use table::{Book, DeadlineIs, Distribution, GrantPreset, GrantRule, QueueTimeSince, Service};
