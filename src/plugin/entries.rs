//! Fair-share of a job in each of its partitions and QOS. If its partitions are in several books, each entry has that of its book. Override
//! tickets of a partition or QOS count in its entry only.
//!
//! The job's own values are read before its partitions or QOS are walked: up to 24.11 a list of Slurm's cannot be walked from within a walk
//! over it.

use multifactor2_core::policy::pools::{JobNames, Pools};

use super::standing::Holdings;
use crate::host::access::Open;
use crate::host::locks::{AssocLock, Levels};
use crate::host::records::{Job, Partition, Qos};

/// The fair-share of a job in each of its partitions and QOS.
#[derive(Debug)]
pub struct Entries<'g, 's> {
    holdings: &'g Holdings<'s>,
    /// The partition and the QOS that the job is in or was tried in last, if override tickets need these.
    names: Option<(String, String)>,
}

impl<'g, 's> Entries<'g, 's> {
    /// `None` where all entries of the job have the same. No list of the job's may be walked at the moment.
    pub fn of<V: Levels<Qos: Open>>(
        job: Job<'_>,
        lock: &AssocLock<'_, V>,
        holdings: Option<&'g Holdings<'s>>,
    ) -> Option<Self> {
        let holdings = holdings.filter(|_| job.has_variants())?;
        let has_tickets = holdings.in_books.iter().any(|(_, has)| has.tickets.is_some());
        let own = holdings.pools(holdings.own).filter(|_| has_tickets).map(Pools::own_tickets);
        let names = own.filter(|own| own.by_entry()).map(|_| {
            let partition = job.partition().map(partition_name).unwrap_or_default();
            (partition, job.qos(lock).map(qos_name).unwrap_or_default())
        });
        (names.is_some() || holdings.in_books.is_several()).then_some(Self { holdings, names })
    }

    /// The fair-share factor in a partition, under a QOS; `None` is the one of the job.
    pub fn factor<A: Open>(&self, partition: Option<Partition<'_>>, qos: Option<Qos<'_, A>>) -> f64 {
        let partition = partition.map(partition_name);
        let holdings = self.holdings;
        let book = partition.as_deref().map_or(holdings.own, |partition| holdings.book_of(partition));
        let has = holdings.in_books.get(book).or_else(|| holdings.in_books.get(holdings.own));
        let Some(has) = has else { return 0.0 };
        let (Some((own_partition, own_qos)), Some(tickets), Some(pools)) =
            (&self.names, has.tickets, holdings.pools(book))
        else {
            return has.factor;
        };
        let qos = qos.map(qos_name);
        let entry = JobNames {
            partition: partition.as_deref().unwrap_or(own_partition),
            qos: qos.as_deref().unwrap_or(own_qos),
            ..JobNames::default()
        };
        pools.factor_now(pools.in_entry(tickets, entry))
    }
}

fn partition_name(partition: Partition<'_>) -> String {
    partition.text(|part| part.name).into_owned()
}

fn qos_name<A: Open>(qos: Qos<'_, A>) -> String {
    qos.text(|qos| qos.name).into_owned()
}
