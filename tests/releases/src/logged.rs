//! What slurmctld's log says of passes of its schedulers, with `SlurmctldDebug=debug2` and `DebugFlags=Backfill`: a line for each thing that
//! happened, as `tests/replay/passes.rs` reads it.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;

use slurm_text::{dates, hosts};

/// What is kept of jobs while the log is read.
#[derive(Debug, Default)]
struct Log {
    told: String,
    /// Nodes of running jobs.
    nodes: BTreeMap<u64, Vec<u32>>,
    /// Jobs that have ended on a node that has not been cleaned up.
    ending: BTreeMap<u32, VecDeque<u64>>,
    /// The job that backfill tested last, and where tasks were laid out last.
    tested: u64,
    layout: String,
    started: u64,
}

/// The lines of a log, in the order of the log.
pub fn passes(log: &str) -> String {
    let mut read = Log::default();
    for line in log.lines() {
        let Some((time, text)) = line.strip_prefix('[').and_then(|line| line.split_once("] ")) else {
            continue;
        };
        let time = time.split('.').next().unwrap_or_default();
        if let Ok(Some(second)) = dates::time(time) {
            read.line(second, text);
        }
    }
    read.told
}

impl Log {
    fn line(&mut self, second: i64, text: &str) {
        if let Some(job) = number_after(text, "_job_complete: JobId=").filter(|_| text.ends_with(" done")) {
            let _ = writeln!(self.told, "{second} end {job}");
            for node in self.nodes.remove(&job).unwrap_or_default() {
                self.ending.entry(node).or_default().push_back(job);
            }
        } else if let Some(node) = number_after(text, "node_did_resp n") {
            let node = u32::try_from(node).unwrap_or_default().saturating_sub(1);
            if self.ending.get_mut(&node).and_then(VecDeque::pop_front).is_some() {
                let _ = writeln!(self.told, "{second} clean {node}");
            }
        } else if text.contains("_attempt_backfill: beginning") {
            let _ = writeln!(self.told, "{second} backfill");
        } else if text.contains("Running job scheduler for default depth") {
            let _ = writeln!(self.told, "{second} main some");
        } else if text.contains("Running job scheduler for full queue") {
            let _ = writeln!(self.told, "{second} main all");
        } else if let Some(job) = number_after(text, "_slurm_rpc_submit_batch_job: JobId=") {
            let _ = writeln!(self.told, "{second} submit {job}");
        } else if let Some(job) = number_after(text, "BACKFILL: test for JobId=") {
            self.tested = job;
        } else if let Some((_, rest)) =
            text.split_once(" hosts ").filter(|_| text.contains("laying out the "))
        {
            rest.split(' ').next().unwrap_or_default().clone_into(&mut self.layout);
        } else if text.contains("Jobs backfilled since boot") && self.started != self.tested {
            // Later releases do not say which job has been started.
            self.start(second, self.tested, &self.layout.clone());
        } else if let Some((job, rest)) = number_and_rest(text, "Started JobId=") {
            self.started = job;
            self.start(second, job, rest.rsplit(' ').next().unwrap_or_default());
        } else if let Some((job, rest)) = number_and_rest(text, "sched: Allocate JobId=") {
            let nodes = rest.split_whitespace().find_map(|word| word.strip_prefix("NodeList="));
            self.start(second, job, nodes.unwrap_or_default());
        }
    }

    fn start(&mut self, second: i64, job: u64, nodes: &str) {
        let number = |name: String| name.strip_prefix('n')?.parse::<u32>().ok()?.checked_sub(1);
        let mut nodes: Vec<u32> =
            hosts::names(nodes).unwrap_or_default().into_iter().filter_map(number).collect();
        nodes.sort_unstable();
        let shown: Vec<String> = nodes.iter().map(u32::to_string).collect();
        let _ = writeln!(self.told, "{second} start {job} {}", shown.join(","));
        self.nodes.insert(job, nodes);
    }
}

fn number_after(text: &str, mark: &str) -> Option<u64> {
    number_and_rest(text, mark).map(|(number, _)| number)
}

fn number_and_rest<'t>(text: &'t str, mark: &str) -> Option<(u64, &'t str)> {
    let (_, rest) = text.split_once(mark)?;
    let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    Some((rest[..end].parse().ok()?, &rest[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines as 22.05 and 26.05 write them.
    #[test]
    fn a_log_becomes_lines() {
        let log = "\
            [2026-11-27T18:10:30.100] _slurm_rpc_submit_batch_job: JobId=147 InitPrio=5 usec=385\n\
            [2026-11-27T18:10:32.072] sched/backfill: _attempt_backfill: beginning\n\
            [2026-11-27T18:10:32.073] sched/backfill: _attempt_backfill: BACKFILL: test for JobId=147 Prio=5 Partition=main\n\
            [2026-11-27T18:10:32.073] sched/backfill: _start_job: Started JobId=147 in main on n[15,17]\n\
            [2026-11-27T18:10:32.073] sched/backfill: _start_job: BACKFILL: Jobs backfilled since boot: 154\n\
            [2026-11-27T18:10:33.000] debug:  sched: Running job scheduler for default depth.\n\
            [2026-11-27T18:10:33.000] sched: Allocate JobId=193 NodeList=n5 #CPUs=4 Partition=main\n\
            [2026-11-27T18:10:45.219] _job_complete: JobId=147 done\n\
            [2026-11-27T18:10:45.224] debug2: node_did_resp n15\n\
            [2026-11-27T18:10:46.000] sched/backfill: _attempt_backfill: BACKFILL: test for JobId=200 Prio=5 Partition=main\n\
            [2026-11-27T18:10:46.000] debug:  laying out the 3 tasks on 1 hosts n4 dist 8192\n\
            [2026-11-27T18:10:46.000] sched/backfill: _start_job: BACKFILL: Jobs backfilled since boot: 155\n\
            no time\n";
        let told = passes(log);
        let words: Vec<&str> = told.lines().map(|line| line.split_once(' ').unwrap().1).collect();
        let expected = [
            "submit 147",
            "backfill",
            "start 147 14,16",
            "main some",
            "start 193 4",
            "end 147",
            "clean 14",
            "start 200 3",
        ];
        assert_eq!(words, expected);
    }
}
