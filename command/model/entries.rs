//! The partitions and QOS in which a job may start: one entry each if there are several.

use std::collections::HashMap;

use multifactor2_snapshot::records::{Entry, Job};
use multifactor2_snapshot::Snapshot;

/// A partition and a QOS of a job, with what Slurm shows of it there.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntryPlace<'s> {
    pub partition: &'s str,
    pub qos: &'s str,
    pub shown: Option<&'s Entry>,
}

/// The entries of all jobs.
#[derive(Debug)]
pub(super) struct Entries<'s>(HashMap<u32, Vec<&'s Entry>>);

impl<'s> Entries<'s> {
    pub fn of(snapshot: &'s Snapshot) -> Self {
        let mut of_jobs: HashMap<u32, Vec<&Entry>> = HashMap::new();
        for entry in &snapshot.entries {
            of_jobs.entry(entry.job).or_default().push(entry);
        }
        Self(of_jobs)
    }

    /// Those of a job; none if it has one partition and one QOS.
    pub fn of_job(&self, job: &'s Job) -> Vec<EntryPlace<'s>> {
        if let Some(entries) = self.0.get(&job.id) {
            let place = |entry: &&'s Entry| EntryPlace {
                partition: &entry.partition,
                qos: if entry.qos.is_empty() { &job.qos } else { &entry.qos },
                shown: Some(entry),
            };
            return entries.iter().map(place).collect();
        }
        if job.partitions.len() < 2 {
            return Vec::new();
        }
        job.partitions.iter().map(|partition| EntryPlace { partition, qos: &job.qos, shown: None }).collect()
    }
}

/// Whether a job has several QOS.
pub(super) fn several_qos(places: &[EntryPlace<'_>]) -> bool {
    places.windows(2).any(|pair| pair[0].qos != pair[1].qos)
}
