//! How slurmctld ended by itself, and in whose code.

use std::fmt;

use anyhow::Result;
use slurm_testcluster::{stacks, Cluster};

/// Libraries in which whoever called them ends.
const BELOW: [&str; 4] = ["libc.", "libpthread", "libm.", "ld-linux"];

/// One end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Death {
    /// Its exit status or signal.
    how: String,
    /// The last `fatal` line of the log, with which it gave up.
    gave_up: Option<String>,
    /// Function and file of the frames of the thread that crashed, the innermost first; empty without a core.
    frames: Vec<String>,
}

impl Death {
    /// That of the cluster's slurmctld; `None` while it lives.
    ///
    /// # Errors
    /// If gdb does not read its core.
    pub fn of(cluster: &Cluster) -> Result<Option<Self>> {
        let Some(how) = cluster.controller_ended()? else { return Ok(None) };
        let frames = stacks::of_core(cluster)?.unwrap_or_default();
        let log = cluster.log();
        let fatal =
            log.lines().rfind(|line| line.contains("fatal: ")).filter(|_| how.starts_with("exit status"));
        let gave_up = fatal.and_then(|line| line.split_once("fatal: ")).map(|(_, why)| why.to_owned());
        Ok(Some(Self { how, gave_up, frames }))
    }

    /// Whether Slurm ended it on purpose.
    pub fn is_a_refusal(&self) -> bool {
        self.gave_up.is_some()
    }

    /// The function that crashed; none without a core.
    fn place(&self) -> Option<&str> {
        let above = |frame: &&String| !BELOW.iter().any(|library| frame.contains(library));
        self.frames.iter().find(above).map(String::as_str)
    }

    /// Whether stock's slurmctld ended the same way, and nothing of ours had a part in this one. Who finds the heap broken need
    /// not have broken it, so that an allocator that gives up proves nothing.
    pub fn is_slurms(&self, under_stock: &[Self]) -> bool {
        let same = |other: &Self| match (self.place(), other.place()) {
            (Some(place), Some(others)) => place == others,
            (None, None) => self.gave_up.is_some() && self.gave_up == other.gave_up,
            _ => false,
        };
        let suspicious =
            |frame: &String| frame.contains("priority_multifactor2") || frame.starts_with("abort ");
        !self.frames.iter().any(suspicious) && under_stock.iter().any(same)
    }
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.how)?;
        match (&self.gave_up, self.frames.is_empty()) {
            (Some(why), _) => write!(f, ": fatal: {why}"),
            (None, true) => write!(f, ", no core"),
            (None, false) => {
                let inner: Vec<&str> = self.frames.iter().map(String::as_str).take(12).collect();
                write!(f, " in {}", inner.join(" < "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Death;

    fn crash(frames: &[&str]) -> Death {
        let frames = frames.iter().map(|&frame| frame.to_owned()).collect();
        Death { how: "signal: 11 (SIGSEGV) (core dumped)".to_owned(), gave_up: None, frames }
    }

    fn refusal(why: &str) -> Death {
        Death { how: "exit status: 1".to_owned(), gave_up: Some(why.to_owned()), frames: Vec::new() }
    }

    #[test]
    fn a_crash_is_slurms_where_stock_has_it_too_and_no_frame_is_ours() {
        let here = crash(&["0x7f01 libc.so.6", "xfree libslurmfull.so", "main slurmctld"]);
        let stock = [crash(&["xfree libslurmfull.so", "decay priority_multifactor.so"])];
        assert!(here.is_slurms(&stock));
        assert!(!crash(&["abort libc.so.6", "xfree libslurmfull.so"]).is_slurms(&stock));
        assert!(!here.is_slurms(&[]));
        assert!(!crash(&["xfree libslurmfull.so", "cycle priority_multifactor2.so"]).is_slurms(&stock));
        assert!(!crash(&["list_find libslurmfull.so"]).is_slurms(&stock));
    }

    #[test]
    fn without_a_core_a_crash_is_nobodys_and_a_refusal_is_slurms_with_the_same_words() {
        assert!(!crash(&[]).is_slurms(&[crash(&[])]));
        assert!(refusal("no such plugin").is_slurms(&[refusal("no such plugin")]));
        assert!(!refusal("priority plugin").is_slurms(&[refusal("no such plugin")]));
        assert!(!crash(&[]).is_a_refusal() && refusal("x").is_a_refusal());
    }
}
