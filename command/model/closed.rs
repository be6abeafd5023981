//! Finds the books in which the jobs of a snapshot wait with `ActiveJobs=startable`. As in the plugin, reasons and partition states decide.

use std::collections::HashMap;

use multifactor2_core::books::{BookAt, ClosedPartitions};
use multifactor2_core::facts::Obstacle;
use multifactor2_core::settings::ActiveJobs;
use multifactor2_snapshot::records::Job;
use multifactor2_snapshot::Snapshot;

use super::reasons::obstacle;
use super::Config;

/// Which partitions start no jobs, and the books of those who wait before them.
#[derive(Clone, Debug, Default)]
pub struct Closed {
    /// The partitions before which hindered jobs wait.
    pub partitions: ClosedPartitions,
    /// Whether each partition that is known starts no jobs; empty if nobody asks.
    down: HashMap<String, bool>,
}

impl Closed {
    /// That of the jobs that take part.
    pub(super) fn of(snapshot: &Snapshot, config: &Config, competes: &[bool]) -> Self {
        let active = config.settings.as_ref().map(|settings| settings.active_jobs);
        if active != Some(ActiveJobs::Startable) {
            return Self::default();
        }
        let is_down = |state: &str| matches!(state, "DOWN" | "INACTIVE");
        let known = snapshot.partitions.iter().filter(|partition| !partition.state.is_empty());
        let down = known.map(|partition| (partition.name.clone(), is_down(&partition.state)));
        let mut closed = Self { partitions: ClosedPartitions::default(), down: down.collect() };
        for (job, _) in snapshot.jobs.iter().zip(competes).filter(|(_, competes)| **competes) {
            for partition in std::iter::once(&job.partition).chain(&job.partitions) {
                let is_down = closed.is_down(job, partition);
                if is_down || hindered_everywhere(job) {
                    closed.partitions.add(partition, config.books.of_partition(partition), is_down);
                }
            }
        }
        closed
    }

    /// The book in which a job is in a partition: one that takes part.
    pub fn book(&self, config: &Config, job: &Job, partition: &str) -> BookAt {
        let is_closed =
            !self.partitions.is_empty() && (hindered_everywhere(job) || self.is_down(job, partition));
        let book = is_closed.then(|| self.partitions.find(partition)).flatten();
        book.unwrap_or_else(|| config.books.of_partition(partition))
    }

    /// Whether a partition starts no jobs. Where its state is not known, what the job waits for says so if that is its only one.
    fn is_down(&self, job: &Job, partition: &str) -> bool {
        let by_reason = || job.partitions.len() < 2 && obstacle(&job.reason) == Some(Obstacle::Partition);
        self.down.get(partition).copied().unwrap_or_else(by_reason)
    }
}

/// Nodes or a reservation keep a job from starting, in whichever partition.
fn hindered_everywhere(job: &Job) -> bool {
    matches!(obstacle(&job.reason), Some(Obstacle::Nodes | Obstacle::Reservation))
}
