//! What a replay does about each fact of a trace: replayed, frozen as recorded, or left out.

use super::limits::{Explained, Limits};
use super::{goes_by_nodes, Scheduler};
use crate::trace::reasons::{self, Treatment};
use crate::workload::{Fact, Job, Machine, Setup, Workload};

/// Of a workload on a machine under a scheduler.
#[derive(Clone, Debug)]
pub struct Treatments<'p> {
    workload: &'p Workload,
    machine: &'p Machine,
    goes_by_nodes: bool,
    follows_limits: bool,
    passes_take_time: bool,
    explained: Explained,
}

impl<'p> Treatments<'p> {
    /// Finds them.
    pub fn new(workload: &'p Workload, machine: &'p Machine, scheduler: &Scheduler) -> Self {
        let setup = Setup::new(workload, machine);
        let limits = Limits::new(&setup, scheduler);
        Self {
            workload,
            machine,
            goes_by_nodes: goes_by_nodes(machine, scheduler),
            follows_limits: limits.is_some(),
            passes_take_time: matches!(scheduler, Scheduler::Slurm(parameters) if parameters.backfill_rate > 0),
            explained: limits.as_ref().map(Explained::new).unwrap_or_default(),
        }
    }

    /// What every such replay leaves out, in words.
    pub fn left_out(&self) -> impl Iterator<Item = &'static str> {
        let of_nodes = if self.goes_by_nodes {
            [
                "which CPUs and GPUs of its nodes a job gets, topology, and features of nodes",
                "licences that can run out",
            ]
        } else {
            [
                "which CPU of which node a job gets, topology, and differences between nodes",
                "memory, GPUs and licences that can run out",
            ]
        };
        let limits = if self.follows_limits {
            "limits except GrpJobs, GrpTRES, MaxJobs, MaxJobsPU, MaxJobsPA, MaxTRESPU and MaxTRESPA of associations and QOS, as \
             they are today, and MaxTime of partitions"
        } else {
            "limits of associations and QOS, and of partitions except MaxTime"
        };
        let others = [
            limits,
            if self.follows_reservations() {
                "when jobs of reservations would start otherwise, and when reservations were made"
            } else {
                "reservations of the administrator"
            },
            if self.outages() == Treatment::Replayed {
                "preemption, and jobs that end because a node fails"
            } else {
                "preemption, and nodes that fail"
            },
            "dependencies except for the recorded eligible time, holds, and priorities that were set by hand",
            "jobs that were cancelled before they started",
            if self.passes_take_time {
                "the time that slurmctld itself needs, except for how far a backfill pass gets, and its locks"
            } else {
                "the time that slurmctld itself needs, its locks, and backfill passes that run out of time"
            },
            "reactions of users to another policy",
        ];
        of_nodes.into_iter().chain(others)
    }

    /// What becomes of a fact.
    pub fn fact(&self, fact: Fact) -> Treatment {
        if fact == Fact::Reservation && self.follows_reservations() {
            return Treatment::Frozen;
        }
        let is_replayed = self.goes_by_nodes
            && match fact {
                Fact::Gpus => self.machine.gres.iter().any(|kind| kind.split(':').next() == Some("gpu")),
                // Told, whether it counts or not.
                Fact::Memory => self.workload.config.get("SelectTypeParameters").is_some(),
                Fact::Exclusive => true,
                _ => false,
            };
        if is_replayed {
            Treatment::Replayed
        } else {
            fact.treatment()
        }
    }

    /// Nodes of reservations are kept for the jobs that ran in them, which start as recorded.
    fn follows_reservations(&self) -> bool {
        self.goes_by_nodes && !self.workload.reservations.is_empty()
    }

    /// What becomes of times at which nodes were away. Where jobs run on nodes these take none then.
    pub fn outages(&self) -> Treatment {
        let is_known = |name: &str| self.machine.nodes.iter().any(|node| node.name == name);
        match self.workload.away.first() {
            Some(first) if self.goes_by_nodes && is_known(&first.node) => Treatment::Replayed,
            _ => Treatment::LeftOut,
        }
    }

    /// What becomes of that for which a job waited last. A limit is replayed where it is known and holds for the job.
    pub fn reason(&self, job: &Job) -> Treatment {
        if self.explained.has(job) {
            return Treatment::Replayed;
        }
        reasons::treatment(self.workload.reasons.name(u32::from(job.reason)))
    }
}
