//! Reads the output of `scontrol show assoc_mgr`, sprio, sacctmgr, squeue and sshare in the columns that the command requests. What replays
//! read too is in [`slurm_text`]. The input may be any text: what cannot be read is left out and counted, and nothing panics.

pub mod associations;
pub mod limits;
pub mod priorities;
pub mod qos;
pub mod queue;
pub mod shares;

use slurm_text::lines::whole;

/// Seconds since 1970; 0 for none.
fn time(text: &str) -> i64 {
    whole(text).unwrap_or(0)
}
