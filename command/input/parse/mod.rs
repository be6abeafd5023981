//! What `scontrol show assoc_mgr`, sprio, sacctmgr, squeue and sshare print where the command asks them for its own columns. What a
//! replay reads as well is in [`slurm_text`]. Any text may come: what cannot be read is left out and counted, and nothing panics.

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
