//! A small slurmctld that is any supported release: what no installed Slurm and no real library can show.
//!
//! Records are laid out by any column of `slurm-headers/layouts.tsv`, every byte between the fields filled with something;
//! exported names, struct sizes and function arguments are the release's. Each access to a record under too low a
//! lock, each lock asked for in an order that can hang, each leak, and each write to anything else than what is meant is found.
//!
//! ```no_run
//! use slurm_fakehost::{all, in_releases, Association, Job, Partition, Qos};
//!
//! #[test]
//! fn a_job_gets_a_priority() {
//!     in_releases(&all(), |slurmctld| {
//!         slurmctld.configure("priority_weight_part", 1000_u32);
//!         let root = slurmctld.add_association(&Association::default());
//!         let account = slurmctld.add_association(&Association {
//!             id: 2, parent: Some(root), account: "physics", ..Association::default()
//!         });
//!         let normal = slurmctld.add_qos(&Qos::default());
//!         let batch = slurmctld.add_partition(&Partition::default());
//!         let job = slurmctld.add_job(&Job {
//!             association: Some(account), partitions: vec![batch], qos: vec![normal], ..Job::default()
//!         });
//!         slurmctld.begin(); // dlopen, plugin_version, init, …, the first cycle
//!         let (priority, changed) = slurmctld.changes(|slurmctld| slurmctld.ask_priority(0, job));
//!         assert_eq!(priority, 500);
//!         assert!(changed.is_empty(), "{changed:?}");
//!         slurmctld.fini();
//!         slurmctld.assert_nothing_leaks();
//!     });
//! }
//! ```
//!
//! A test runs its closure once in each release, in a separate process that preloads that release's names. So the closure
//! must be written in the test function itself: by its name the test starts itself again.
//!
//! # A layout that is wrong
//!
//! [`in_shifted_layouts`] has the host keep one field some bytes from where the table, and so the plugin, has it. What the plugin
//! finds where the table says is a decoy: another number of the same size, a copy of the record or text
//! (another one with [`Record::put_decoy`], after the field was set). All
//! other fields are where the table says; where the field would fall upon one of them, that one stays.
//!
//! ```no_run
//! use slurm_fakehost::{in_shifted_layouts, one_of_each_layout, Shift};
//!
//! #[test]
//! fn a_moved_priority_is_noticed() {
//!     in_shifted_layouts(
//!         &one_of_each_layout(),
//!         |_layout| [-8, -4, 4, 8].map(|bytes| Shift { record: "job", field: "priority", bytes }).into(),
//!         |slurmctld, _shift| {
//!             // … records and `begin`, then what must have happened
//!         },
//!     );
//! }
//! ```
//!
//! # Locks
//!
//! Calls are made with the locks that slurmctld's callers hold in that release ([`callers`]; [`Slurmctld::from`] names another
//! than the usual one). See [`locks`] for how a deadlock is found without one. [`locks::take_trace`] is what the plugin asked for.

#![allow(clippy::missing_panics_doc)] // a failed assumption fails the test
#![allow(clippy::cast_ptr_alignment)] // blocks are aligned to 16, as Slurm's

pub mod callers;
mod cluster;
mod decoy;
mod exports;
mod functions;
mod layout;
mod library;
pub mod lists;
pub mod locks;
mod made;
pub mod memory;
mod packed;
mod plugin;
mod process;
mod record;
mod release;
mod slurmctld;
mod specs;

use std::io::Write as _;

pub use cluster::RUN_SECONDS;
pub use layout::{Field, Layout, RecordLayout, Shift};
pub use made::set_lowest_priority;
pub use plugin::{Plugin, Request};
pub use process::{forked, in_releases, in_shifted_layouts, plugin_file};
pub use record::{pad, Record, Value};
pub use release::{all, api, one_of_each_layout, reasons, release, table};
pub use slurm_headers::{FieldKind, ReasonNumbers, Version};
pub use slurmctld::{layout, Mcs, Slurmctld};
pub use specs::{Association, Job, Partition, Qos, COMPLETE, NICE_OFFSET, NO_VAL, PENDING, RUNNING};

/// Ends the process: a rule was broken, perhaps in a thread or behind frames of C where a panic cannot pass.
pub(crate) fn fail(why: &str) -> ! {
    let _ = write!(std::io::stderr(), "fakehost: {why}\n{}", slurmctld::log_at_failure());
    // SAFETY: ends the process.
    unsafe { libc::_exit(101) }
}
