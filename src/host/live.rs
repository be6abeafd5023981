//! Which associations and QOS there are, so that no pointer of a job is followed to one that is gone.
//!
//! slurmctld loads all associations and QOS anew after a failed reconfigure (from 23.11 on) and when slurmdbd comes back, and
//! connects its jobs with them later: a moment later, or when slurmdbd answers. Until then jobs point to memory that was
//! freed. So a pointer is compared with the lists, which the lock of the association manager protects, and where it is not
//! what they have, the job's association or QOS is the one with the id that the job names, as slurmctld will see it, too.
//!
//! The lists are walked once and remembered as tables. A table is used as long as slurmctld has the same list, which it
//! replaces whenever it loads one anew; where a pointer is not in it, the list is walked again, once per hold of the lock.
//! (One that was removed by an administrator is freed only after slurmctld has taken it out of its jobs.)

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::layout::Field;
use super::lists::for_each_raw;
use super::symbols::RawList;
use super::Host;

/// What is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Association,
    Qos,
}

use Kind::{Association, Qos};

impl Kind {
    fn list(self, host: &Host) -> RawList {
        // SAFETY: globals of the host; the lock of this kind is held.
        unsafe {
            match self {
                Association => *host.sym.assoc_mgr_assoc_list,
                Qos => *host.sym.assoc_mgr_qos_list,
            }
        }
    }

    fn id(self, host: &Host) -> Field<u32> {
        match self {
            Association => host.layout.assoc.id,
            Qos => host.layout.qos.id,
        }
    }

    fn cache(self) -> &'static Mutex<Cache> {
        static CACHES: [Mutex<Cache>; 2] = [Mutex::new(Cache::EMPTY), Mutex::new(Cache::EMPTY)];
        &CACHES[self as usize]
    }
}

/// The table of a list, for whoever takes the lock next.
struct Cache {
    /// The address of the list, to be compared.
    of: usize,
    table: Option<Arc<Table>>,
}

impl Cache {
    const EMPTY: Self = Self { of: 0, table: None };
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

    fn read(host: &Host, kind: Kind) -> Self {
        let (list, id) = (kind.list(host), kind.id(host));
        let mut records = Vec::new();
        if !list.is_null() {
            for_each_raw(list, host.sym.list_for_each_ro.unwrap_or(host.sym.list_for_each), &mut |record| {
                // SAFETY: an element of the host's list, under its lock.
                records.push((unsafe { id.get(record) }, record as usize));
                ControlFlow::Continue(())
            });
        }
        Self::of(records)
    }

    /// The record with an id; 0 where there is none.
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

/// What this thread knows of one kind.
#[derive(Clone, Copy)]
struct Known {
    /// The lock of this kind is held.
    held: bool,
    /// The list was walked under this hold.
    renewed: bool,
    /// The table, which belongs to this hold (`Arc::into_raw`); null until it is asked for.
    table: *const Table,
}

impl Known {
    const NOTHING: Self = Self { held: false, renewed: false, table: std::ptr::null() };

    fn drop_table(self) {
        if !self.table.is_null() {
            // SAFETY: made by `into_raw`, and given back once: the caller forgets it.
            drop(unsafe { Arc::from_raw(self.table) });
        }
    }
}

thread_local! {
    static KNOWN: [Cell<Known>; 2] = const { [Cell::new(Known::NOTHING), Cell::new(Known::NOTHING)] };
}

/// As long as it lives, this thread holds locks of the association manager, and pointers to what they protect can be
/// confirmed.
#[derive(Debug)]
pub(super) struct Hold {
    before: [Known; 2],
    thread: PhantomData<*mut ()>,
}

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.held { "held" } else { "not held" })
    }
}

impl Hold {
    /// This thread has come to hold the lock on associations, on QOS or both.
    pub fn begin(associations: bool, qos: bool) -> Self {
        let begin = |held| Known { held, ..Known::NOTHING };
        let before =
            KNOWN.with(|known| [known[0].replace(begin(associations)), known[1].replace(begin(qos))]);
        Self { before, thread: PhantomData }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        KNOWN.with(|known| {
            for (known, before) in known.iter().zip(self.before) {
                known.replace(before).drop_table();
            }
        });
    }
}

/// Forgets what lists held: the host may have loaded them anew while nobody looked.
pub(super) fn forget() {
    for kind in [Association, Qos] {
        *kind.cache().lock() = Cache::EMPTY;
    }
}

/// Calls `look` with the table of a kind; `None` where this thread holds no lock under which that could be told. Where
/// `renew` is wanted, `None` also if the list was walked under this hold already.
fn with_table<T>(host: &Host, kind: Kind, renew: bool, look: impl FnOnce(&Table) -> T) -> Option<T> {
    KNOWN.with(|all| {
        let cell = &all[kind as usize];
        let known = cell.get();
        if !known.held || (renew && known.renewed) {
            return None;
        }
        if known.table.is_null() || renew {
            let (table, renewed) = fetch(host, kind, renew);
            cell.set(Known { held: true, renewed, table: Arc::into_raw(table) });
            known.drop_table();
        }
        // SAFETY: a table that this hold owns, and `look` cannot end it.
        Some(look(unsafe { &*cell.get().table }))
    })
}

/// The table of the list as it is, and whether the list was walked for it.
fn fetch(host: &Host, kind: Kind, renew: bool) -> (Arc<Table>, bool) {
    let of = kind.list(host) as usize;
    let mut cache = kind.cache().lock();
    match &cache.table {
        Some(table) if cache.of == of && !renew => (Arc::clone(table), false),
        _ => {
            let table = Arc::new(Table::read(host, kind));
            *cache = Cache { of, table: Some(Arc::clone(&table)) };
            (table, true)
        }
    }
}

/// Whether a record of this kind with that id is at an address.
pub(super) fn is(host: &Host, kind: Kind, address: usize, id: u32) -> bool {
    address != 0 && with_table(host, kind, false, |table| table.get(id) == address).unwrap_or(false)
}

/// The record of this kind that a pointer and an id mean: the one at the pointer where that is confirmed, else the one with
/// the id; 0 where there is none.
pub(super) fn find(host: &Host, kind: Kind, address: usize, id: u32) -> usize {
    if address == 0 {
        return 0;
    }
    let look = |table: &Table| table.get(id);
    match with_table(host, kind, false, look) {
        Some(found) if found == address => address,
        Some(found) => with_table(host, kind, true, look).unwrap_or(found),
        None => 0,
    }
}

/// Whether any record of this kind is at an address.
pub(super) fn has(host: &Host, kind: Kind, address: usize) -> bool {
    let look = |table: &Table| table.has(address);
    address != 0
        && with_table(host, kind, false, look)
            .is_some_and(|found| found || with_table(host, kind, true, look).unwrap_or(false))
}

/// All QOS; none where their lock is not held.
pub(super) fn all_qos(host: &Host) -> Vec<usize> {
    with_table(host, Qos, false, Table::addresses).unwrap_or_default()
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
