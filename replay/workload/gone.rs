//! Jobs of partitions that no longer exist.

use std::collections::BTreeMap;

use super::{Machine, Workload};
use crate::trace::problems::ProblemKind;

/// What jobs of one set of partitions come to.
#[derive(Default)]
struct GoneJobs {
    jobs: u64,
    cpu_seconds: u64,
    /// Of the first of them.
    line: u32,
}

impl Workload {
    /// Takes out jobs of which all partitions are gone: they could never start, whatever the policy. Each set of partitions is a problem, with
    /// its jobs and CPU hours. A machine of one partition takes all jobs.
    pub fn leave_out_gone(&mut self, machine: &Machine) {
        if machine.partitions.len() == 1 {
            return;
        }
        let is_there = |name: &u16| {
            let name = self.partitions.name(u32::from(*name));
            machine.partitions.iter().any(|partition| partition.name == name)
        };
        let is_gone: Vec<bool> = self.partition_sets.iter().map(|set| !set.iter().any(is_there)).collect();
        if !is_gone.contains(&true) {
            return;
        }
        let mut gone: BTreeMap<u16, GoneJobs> = BTreeMap::new();
        self.jobs.retain(|job| {
            let keeps = !is_gone[usize::from(job.partitions)];
            if !keeps {
                let of = gone
                    .entry(job.partitions)
                    .or_insert_with(|| GoneJobs { line: job.line, ..GoneJobs::default() });
                of.jobs += 1;
                of.cpu_seconds += Self::cpu_seconds(job);
            }
            keeps
        });
        for (set, of) in gone {
            let names = self.partition_sets[usize::from(set)]
                .iter()
                .map(|name| self.partitions.name(u32::from(*name)));
            let names: Vec<&str> = names.collect();
            let hours = of.cpu_seconds / 3600;
            self.problems.note_many(
                ProblemKind::GonePartition,
                &self.source,
                u64::from(of.line),
                of.jobs,
                || format!("partition {}: {} jobs, {hours} CPU hours", names.join(","), of.jobs),
            );
        }
    }
}
