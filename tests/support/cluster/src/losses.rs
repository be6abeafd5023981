//! What a busy machine loses, and what a wait in vain says.
//!
//! Where the machine has no time for it, a slurmstepd does not start its job, or a command gets no answer within `MessageTimeout`. Neither says
//! anything about the plugin: such a launch is repeated once for each job, such a question as long as the test waits, and both are printed. What is lost
//! again, or never answered, fails the test.

use std::fmt::Write as _;
use std::fs;
use std::sync::PoisonError;

use anyhow::{Error, Result};

use crate::processes::last_lines;
use crate::Cluster;

/// What Slurm's commands say where nobody answers in time.
const UNANSWERED: &str = "Socket timed out on send/recv operation";

/// What [`Row::number`](crate::Row::number) says of an empty cell: sshare leaves one where slurmctld has no number.
const NOT_COMPUTED: &str = " is '', not a number";

/// Why a job waits whose launch has failed. Some releases write it with underscores.
const LAUNCH_FAILED: &str = "launch failed requeued held";

/// What slurmctld logs of it, among others.
const REQUEUED: &str = "Requeuing JobId=";

impl Cluster {
    /// The error, unless it is that nobody has answered in time, or that what is asked for is not computed yet, as right after a start.
    pub(crate) fn not_answered(&self, error: Error) -> Result<()> {
        let text = format!("{error:#}");
        if text.contains(NOT_COMPUTED) {
            return Ok(());
        }
        if !text.contains(UNANSWERED) {
            return Err(error);
        }
        eprintln!("ASKED AGAIN in Slurm {}: {error:#}", self.release().version);
        Ok(())
    }

    /// Lets jobs start again that slurmctld holds because their launch failed, each once.
    pub(crate) fn repeat_lost_launches(&self) {
        if !self.log().contains(REQUEUED) {
            return;
        }
        let waiting = self.command("squeue").args(["-h", "-a", "-r", "-t", "PD", "-o", "%A %r %R"]).text();
        for line in waiting.unwrap_or_default().lines() {
            let job = line.split_once(' ').and_then(|(job, _)| job.parse().ok());
            let Some(job) = job.filter(|_| line.replace('_', " ").contains(LAUNCH_FAILED)) else { continue };
            if self.repeated.lock().unwrap_or_else(PoisonError::into_inner).insert(job) {
                eprintln!(
                    "LAUNCHED AGAIN in Slurm {}: {line}\n{}",
                    self.release().version,
                    self.logs("slurmd-")
                );
                // They fail where the job has been cancelled meanwhile. slurmctld would let it wait for some minutes.
                let _ = self.scontrol(&["release", &job.to_string()]);
                let _ = self.scontrol(&["update", &format!("JobId={job}"), "StartTime=now"]);
            }
        }
    }

    /// Cancels batch jobs that slurmctld calls running, and that no slurmd has heard of after some seconds. A slurmctld that makes way for its
    /// successor at a reconfigure may take with it what it was about to send, under any plugin; such a job runs for minutes and does nothing.
    ///
    /// # Errors
    /// If slurmctld does not say which jobs run.
    pub fn cancel_unlaunched(&self) -> Result<()> {
        let running = self.command("squeue").args(["-h", "-a", "-r", "-t", "R", "-o", "%A %M"]).text()?;
        for line in running.lines() {
            let Some((job, ran)) = line.split_once(' ') else { continue };
            let is_late = ran.trim().strip_prefix("0:").is_none_or(|seconds| seconds > "15");
            if is_late && !self.slurmds_say(&format!("Launching batch job {job} ")) {
                eprintln!(
                    "CANCELLED in Slurm {}: job {job} runs, and no slurmd knows of it",
                    self.release().version
                );
                // It fails where the job has ended meanwhile.
                let _ = self.command("scancel").arg(job).succeeds();
            }
        }
        Ok(())
    }

    fn slurmds_say(&self, what: &str) -> bool {
        let entries = fs::read_dir(self.directory().join("log")).into_iter().flatten().flatten();
        let mut logs = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("slurmd-"));
        logs.any(|log| String::from_utf8_lossy(&fs::read(log.path()).unwrap_or_default()).contains(what))
    }

    /// The jobs with state and reason, the nodes, and the last lines of the daemons.
    pub(crate) fn situation(&self) -> String {
        let mut text = String::new();
        let asked: [(&str, &[&str]); 2] = [
            ("squeue", &["-a", "-r", "-t", "all", "-o", "%i %u %P %T (%r)"]),
            ("sinfo", &["-a", "-N", "-o", "%N %P %T (%E)"]),
        ];
        for (program, arguments) in asked {
            let said = self.command(program).args(arguments).text();
            let said = said.unwrap_or_else(|error| format!("{error:#}"));
            let _ = writeln!(text, "{program}:\n{}", last_lines(&said, 50));
        }
        text + &self.logs("slurm")
    }

    /// The last lines of each log whose name begins so.
    fn logs(&self, begin: &str) -> String {
        let entries = fs::read_dir(self.directory().join("log")).into_iter().flatten().flatten();
        let mut logs: Vec<_> = entries
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(begin))
            .map(|entry| entry.path())
            .collect();
        logs.sort();
        let end = |path: std::path::PathBuf| {
            let bytes = fs::read(&path).unwrap_or_default();
            format!("{}:\n{}\n", path.display(), last_lines(&String::from_utf8_lossy(&bytes), 15))
        };
        logs.into_iter().map(end).collect()
    }
}
