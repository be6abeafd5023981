//! The accounting of `priority/multifactor2`: what jobs are charged, the sums of usage that Slurm does not keep, and the files in which
//! they, other counts and the last good settings are kept from one slurmctld to the next.
//!
//! Only the plugin needs this. As in `multifactor2_core`, whose rules it applies, everything works on plain values and knows nothing of
//! Slurm's records, locks or log.
//!
//! **A charge.** A job of 4 billable CPUs has run for three minutes of a cycle of five. It adds:
//!
//! ```
//! use multifactor2_core::decay::RunDecay;
//! use multifactor2_accounting::charge::{Elapsed, JobTimes, Period, Rates};
//!
//! let job = JobTimes { start: 1_020, end: 0, expected_end: 4_620, limit: 60, over: false };
//! let period = Period { start: 900, end: 1_200, job_ended: false };
//! let elapsed = Elapsed::within(period, &job).unwrap();
//! let rates = Rates { billable: 4.0, ..Rates::default() };
//! // Without a half-life.
//! let amounts = elapsed.amounts(&mut RunDecay::new(1.0), &rates);
//! assert_eq!((amounts.wall, amounts.raw), (180.0, 720.0));
//! ```

#![forbid(unsafe_code)]
// What says `pub` can be used by other crates.
#![warn(unreachable_pub)]

pub mod accuracy;
pub mod bypass;
pub mod charge;
pub mod ended;
pub mod given_back;
pub mod interrupted;
pub mod kept_points;
pub mod kept_settings;
pub mod ledger;
pub mod measures;
pub mod raw_usage;
pub mod rule_history;
pub mod sums;
pub mod sums_file;
pub mod tally;
