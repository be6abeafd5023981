//! Fair-share of a job in each of its partitions and QOS: where override tickets go by these, they count in their own entry only.
//!
//! What the job has by itself is read before its partitions or QOS are walked: up to 24.11 a list of Slurm's cannot be walked
//! from within a walk over it.

use multifactor2_core::policy::pools::JobNames;

use super::standing::Granted;
use crate::host::access::Open;
use crate::host::locks::{AssocLock, Levels};
use crate::host::records::{Job, Partition, Qos};

/// See the module.
#[derive(Debug)]
pub struct Entries<'s> {
    granted: Granted<'s>,
    /// The partition and the QOS that the job is in or was tried in last.
    partition: String,
    qos: String,
}

impl<'s> Entries<'s> {
    /// `None` where all entries of the job have the same. No list of the job's may be walked at the moment.
    pub fn of<V: Levels<Qos: Open>>(
        job: Job<'_>,
        lock: &AssocLock<'_, V>,
        granted: Option<Granted<'s>>,
    ) -> Option<Self> {
        let granted = granted?;
        let own = granted.pools.own_tickets();
        if !job.has_variants() || !(own.partition || own.qos) {
            return None;
        }
        let partition = job.partition().map(partition_name).unwrap_or_default();
        Some(Self { granted, partition, qos: job.qos(lock).map(qos_name).unwrap_or_default() })
    }

    /// The fair-share factor in a partition, under a QOS; `None` is the one of the job.
    pub fn factor<A: Open>(&self, partition: Option<Partition<'_>>, qos: Option<Qos<'_, A>>) -> f64 {
        let (partition, qos) = (partition.map(partition_name), qos.map(qos_name));
        let entry = JobNames {
            partition: partition.as_deref().unwrap_or(&self.partition),
            qos: qos.as_deref().unwrap_or(&self.qos),
            ..JobNames::default()
        };
        let Granted { pools, tickets } = self.granted;
        pools.factor_now(pools.in_entry(tickets, entry))
    }
}

fn partition_name(partition: Partition<'_>) -> String {
    partition.text(|part| part.name).into_owned()
}

fn qos_name<A: Open>(qos: Qos<'_, A>) -> String {
    qos.text(|qos| qos.name).into_owned()
}
