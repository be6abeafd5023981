//! Knows which associations and QOS exist, so that no pointer of a job is followed to one that is gone.
//!
//! slurmctld loads all associations and QOS again after a failed reconfigure (from 23.11 on) and when slurmdbd comes back. It connects its
//! jobs with them later: a moment later, or when slurmdbd answers. Until then jobs point to freed memory. So a pointer is compared with the
//! lists, which the association manager's lock protects. If the lists do not have it, the job's association or QOS is the one with the id
//! that the job names, which slurmctld will use too.
//!
//! The lists are walked once and remembered as tables. A table is valid while slurmctld has the same list, because every load makes a new
//! one. If a pointer is not in the table, the list is walked again, once per hold of the lock. (slurmctld frees a removed record only after
//! taking it out of its jobs.)

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::lists::for_each_raw;
use super::symbols::RawList;
use super::Host;

/// What is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordKind {
    Association,
    Qos,
}

use RecordKind::{Association, Qos};

impl RecordKind {
    fn list(self, host: &Host) -> RawList {
        // SAFETY: globals of the host; the lock of this kind is held.
        unsafe {
            match self {
                Association => *host.sym.assoc_mgr_assoc_list,
                Qos => *host.sym.assoc_mgr_qos_list,
            }
        }
    }

    /// The id of one of its records.
    ///
    /// # Safety
    /// `record` is a live one of this kind.
    unsafe fn id(self, host: &Host, record: *mut u8) -> u32 {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Association => host.layout.assoc.id.get(record),
                Qos => host.layout.qos.id.get(record),
            }
        }
    }

    fn cache(self) -> &'static Mutex<Cache> {
        static CACHES: [Mutex<Cache>; 2] = [Mutex::new(Cache::EMPTY), Mutex::new(Cache::EMPTY)];
        &CACHES[self as usize]
    }
}

/// The table of a list, for the next holder of the lock.
struct Cache {
    /// The address of the list, to be compared.
    of: usize,
    table: Option<Arc<Table>>,
}

impl Cache {
    const EMPTY: Self = Self { of: 0, table: None };

    /// The table, if it is that of a list.
    fn of_list(&self, list: usize) -> Option<&Arc<Table>> {
        self.table.as_ref().filter(|_| self.of == list)
    }
}

/// Addresses by id. Ids grow with every record that was ever added, so a plain array serves unless they are very sparse.
#[derive(Debug, PartialEq, Eq)]
enum Table {
    Dense(Vec<usize>),
    Sparse(FxHashMap<u32, usize>),
}

impl Table {
    fn of(records: Vec<(u32, usize)>) -> Self {
        let largest = records.iter().map(|(id, _)| *id as usize).max().unwrap_or(0);
        if largest > 2 * records.len() + 65_536 {
            return Self::Sparse(records.into_iter().collect());
        }
        let mut table = vec![0; largest + 1];
        for (id, address) in records {
            table[id as usize] = address;
        }
        Self::Dense(table)
    }

    fn read(host: &Host, kind: RecordKind) -> Self {
        let list = kind.list(host);
        let mut records = Vec::new();
        if !list.is_null() {
            for_each_raw(list, host.sym.list_for_each_ro.unwrap_or(host.sym.list_for_each), &mut |record| {
                // SAFETY: an element of the host's list, under its lock.
                records.push((unsafe { kind.id(host, record) }, record as usize));
            });
        }
        Self::of(records)
    }

    /// The record with an id; 0 for none.
    fn get(&self, id: u32) -> usize {
        let found = match self {
            Self::Dense(table) => table.get(id as usize),
            Self::Sparse(map) => map.get(&id),
        };
        found.copied().unwrap_or(0)
    }

    fn addresses(&self) -> Vec<usize> {
        match self {
            Self::Dense(table) => table.iter().copied().filter(|address| *address != 0).collect(),
            Self::Sparse(map) => map.values().copied().collect(),
        }
    }

    fn has(&self, address: usize) -> bool {
        match self {
            Self::Dense(table) => table.contains(&address),
            Self::Sparse(map) => map.values().any(|known| *known == address),
        }
    }
}

/// What one hold of the association manager's lock knows of its lists.
#[derive(Debug, Default)]
pub(super) struct Confirmed {
    kinds: [Known; 2],
}

#[derive(Debug, Default)]
struct Known {
    /// The table, once it was asked for.
    table: RefCell<Option<Arc<Table>>>,
    /// It was asked for once.
    asked: Cell<bool>,
    /// The list was walked under this hold.
    renewed: Cell<bool>,
}

impl Confirmed {
    /// What `look` makes of the table of a kind, whose lock is held. Where `renew` is wanted, the list is walked first: `None`
    /// if it was under this hold already.
    fn with_table<T>(
        &self,
        host: &Host,
        kind: RecordKind,
        renew: bool,
        look: impl FnOnce(&Table) -> T,
    ) -> Option<T> {
        let known = &self.kinds[kind as usize];
        if renew && known.renewed.get() {
            return None;
        }
        let mut table = known.table.borrow_mut();
        if !renew && table.is_none() && !known.asked.replace(true) {
            // Mostly nothing else is asked under this hold: a table of its own would cost more than the look.
            let cache = kind.cache().lock();
            if let Some(table) = cache.of_list(kind.list(host) as usize) {
                return Some(look(table));
            }
        }
        if renew || table.is_none() {
            let (fetched, renewed) = fetch(host, kind, renew);
            known.renewed.set(renewed);
            *table = Some(fetched);
        }
        table.as_deref().map(look)
    }

    /// Whether a record of this kind with that id is at an address.
    pub fn is(&self, host: &Host, kind: RecordKind, address: usize, id: u32) -> bool {
        address != 0 && self.with_table(host, kind, false, |table| table.get(id) == address).unwrap_or(false)
    }

    /// The record of this kind that a pointer and an id mean: the one at the pointer if that is confirmed, else the one with the id; 0 for
    /// none.
    pub fn find(&self, host: &Host, kind: RecordKind, address: usize, id: u32) -> usize {
        if address == 0 {
            return 0;
        }
        let look = |table: &Table| table.get(id);
        match self.with_table(host, kind, false, look) {
            Some(found) if found == address => address,
            Some(found) => self.with_table(host, kind, true, look).unwrap_or(found),
            None => 0,
        }
    }

    /// The record of this kind with an id, without a pointer to confirm; 0 for none.
    pub fn of_id(&self, host: &Host, kind: RecordKind, id: u32) -> usize {
        let look = |table: &Table| table.get(id);
        let renewed = self.with_table(host, kind, true, look);
        renewed.or_else(|| self.with_table(host, kind, false, look)).unwrap_or(0)
    }

    /// Whether any record of this kind is at an address.
    pub fn has(&self, host: &Host, kind: RecordKind, address: usize) -> bool {
        let look = |table: &Table| table.has(address);
        address != 0
            && self
                .with_table(host, kind, false, look)
                .is_some_and(|found| found || self.with_table(host, kind, true, look).unwrap_or(false))
    }

    /// All QOS, whose lock is held.
    pub fn all_qos(&self, host: &Host) -> Vec<usize> {
        self.with_table(host, Qos, false, Table::addresses).unwrap_or_default()
    }
}

/// Forgets what lists held: the host may have loaded them anew while nobody looked.
pub(super) fn forget() {
    for kind in [Association, Qos] {
        *kind.cache().lock() = Cache::EMPTY;
    }
}

/// The table of the list as it is, and whether the list was walked for it.
fn fetch(host: &Host, kind: RecordKind, renew: bool) -> (Arc<Table>, bool) {
    let of = kind.list(host) as usize;
    let mut cache = kind.cache().lock();
    if let Some(table) = cache.of_list(of).filter(|_| !renew) {
        return (Arc::clone(table), false);
    }
    let table = Arc::new(Table::read(host, kind));
    *cache = Cache { of, table: Some(Arc::clone(&table)) };
    (table, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_found_dense_and_sparse() {
        for ids in [[5, 1, 9], [5, 4_000_000_000, 9]] {
            let table = Table::of(ids.iter().map(|id| (*id, 64 + *id as usize)).collect());
            for id in ids {
                assert_eq!(table.get(id), 64 + id as usize);
                assert!(table.has(64 + id as usize));
            }
            assert_eq!([table.get(7), table.get(u32::MAX)], [0, 0]);
            assert!(!table.has(71));
        }
    }
}
