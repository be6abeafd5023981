//! How much of each TRES the whole cluster has, as slurmctld has counted it.
//!
//! `set_cluster_tres` counts under the association manager's lock for TRES, held for writing, whenever nodes come, go or are configured
//! again. It counts configured nodes in any state, in every release from 20.11 on.

use std::sync::atomic::{AtomicBool, Ordering};

use multifactor2_core::facts::TresTotal;

use super::access::Open;
use super::checks::{self, Failure};
use super::layout::TresLayout;
use super::locks::{AssocLock, Levels};
use super::records::Record;

impl<V: Levels<Tres: Open>> AssocLock<'_, V> {
    /// All TRES in the order of their positions; none where slurmctld has not loaded them. For a moment all counts are 0, that of nodes
    /// too: from when slurmctld has loaded the TRES anew from its database until it has counted again.
    ///
    /// # Errors
    /// slurmctld keeps the counts elsewhere. It is asked with the first call, in which nothing was believed yet.
    pub fn tres_totals(&self) -> Result<Vec<TresTotal>, Failure> {
        static ASKED: AtomicBool = AtomicBool::new(false);
        let host = self.host();
        if !ASKED.load(Ordering::Relaxed) {
            checks::questions::about_tres(host)?;
            ASKED.store(true, Ordering::Relaxed);
        }
        let total = |(at, address): (usize, *mut u8)| {
            // SAFETY: found to be a record of that size, under its lock.
            let record: Record<'_, TresLayout> = unsafe { Record::new(host, address) }?;
            let full_name = self.tres_name(at);
            let (kind, name) = full_name.split_once('/').unwrap_or((&full_name, ""));
            let count = record.get(|tres| tres.count);
            Some(TresTotal { kind: kind.to_owned(), name: name.to_owned(), count })
        };
        let records = checks::tres_records(self)?;
        Ok(records.into_iter().enumerate().filter_map(total).collect())
    }
}
