//! Jobs as a machine sees them: in which of its partitions, with how many CPUs, for how long.

use super::{Job, Machine, Workload, NO_LIMIT};

/// What a job without any limit is planned with: a year, as in Slurm.
const YEAR: u32 = 365 * 86_400;

/// A workload on a machine.
#[derive(Debug)]
pub struct Setup<'s> {
    /// The workload.
    pub workload: &'s Workload,
    /// The machine.
    pub machine: &'s Machine,
    /// Partitions of the machine, by [`Job::partitions`].
    sets: Vec<Box<[u16]>>,
    capacities: Vec<u64>,
}

impl<'s> Setup<'s> {
    /// Finds the partitions of all jobs.
    pub fn new(workload: &'s Workload, machine: &'s Machine) -> Self {
        let place = |name: &str| {
            let found = machine.partitions.iter().position(|partition| partition.name == name);
            found.and_then(|place| u16::try_from(place).ok())
        };
        let of_set = |set: &[u16]| -> Box<[u16]> {
            if machine.partitions.len() == 1 {
                return [0].into();
            }
            set.iter().filter_map(|name| place(workload.partitions.name(u32::from(*name)))).collect()
        };
        Self {
            workload,
            machine,
            sets: workload.partition_sets.iter().map(|set| of_set(set)).collect(),
            capacities: machine.partitions.iter().map(|partition| machine.cpus_of(partition)).collect(),
        }
    }

    /// A job.
    pub fn job(&self, job: u32) -> &'s Job {
        &self.workload.jobs[job as usize]
    }

    /// The partitions of the machine that a job asks for.
    pub fn partitions(&self, job: u32) -> &[u16] {
        &self.sets[usize::from(self.job(job).partitions)]
    }

    /// How many CPUs a job takes in a partition.
    pub fn cpus(&self, job: u32, partition: u16) -> u32 {
        let cpus = self.job(job).cpus;
        match self.machine.partitions[usize::from(partition)].grain {
            0 | 1 => cpus,
            grain => cpus.checked_next_multiple_of(grain).unwrap_or(cpus),
        }
    }

    /// Whether a job can start at all in a partition.
    pub fn fits(&self, job: u32, partition: u16) -> bool {
        u64::from(self.cpus(job, partition)) <= self.capacities[usize::from(partition)]
    }

    /// How long a scheduler has to reckon with a job in a partition, in seconds: its limit, at most that of the partition, and never less
    /// than it runs, as the run was recorded.
    pub fn planned(&self, job: u32, partition: u16) -> i64 {
        let job = self.job(job);
        let most = self.machine.partitions[usize::from(partition)].max_time;
        let planned = match (job.limit, most) {
            (NO_LIMIT, NO_LIMIT) => YEAR,
            (limit, most) => limit.min(most),
        };
        i64::from(planned.max(job.run).max(1))
    }

    /// What a job counts per second in a partition.
    pub fn billing(&self, job: u32, partition: u16) -> f64 {
        self.machine.partitions[usize::from(partition)].billing.of(self.job(job))
    }
}
