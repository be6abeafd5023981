//! Priorities of a job that was submitted to several partitions or QOS: an array in its record. Releases differ in where it is. slurmctld
//! frees it, and indexes it by position in the partition list.
//!
//! | releases | where | entries |
//! |---|---|---|
//! | to 23.11 | `priority_array` | partitions, sorted by tier by us |
//! | 24.05 | `part_prio` | partitions, sorted when the array is made |
//! | from 24.11 | `part_prio`, later `prio_mult` | partitions × QOS, kept sorted by the host |

use std::cell::Cell;
use std::sync::atomic::{AtomicU8, Ordering};

use tracing::warn;

use super::access::{Open, Write};
use super::checks::packed;
use super::layout::{Field, JobLayout, PrioMultLayout, Ptr};
use super::lists::List;
use super::locks::{AssocLock, Levels};
use super::records::{cells, Job};
use super::Host;

const ENTRY: usize = size_of::<u32>();

/// In a release that was not compared: whether slurmctld finds them where we would write them. It stays the same slurmctld.
static FOUND: AtomicU8 = AtomicU8::new(NOT_ASKED);
const NOT_ASKED: u8 = 0;
const YES: u8 = 1;
const NO: u8 = 2;

/// They may be read and written where the table says.
fn is_known(host: &Host) -> bool {
    host.verified || FOUND.load(Ordering::Relaxed) == YES
}

/// Finds that out with a job, where it is to be found out.
fn find_out<V: Levels<Qos: Open>>(job: Job<'_, Write>, lock: &AssocLock<'_, V>) {
    if job.host().verified || FOUND.load(Ordering::Relaxed) != NOT_ASKED {
        return;
    }
    if let Some(found) = packed::finds_priorities(job, lock) {
        FOUND.store(if found { YES } else { NO }, Ordering::Relaxed);
        if !found {
            warn!(
                "cannot tell where this slurmctld keeps priorities by partition: a job in several partitions or \
                 QOS has one priority for all of them. Look for a newer slurm-multifactor2"
            );
        }
    }
}

/// The array to fill in, partition by partition and within it QOS by QOS; `None` for a job with one of each, for one
/// whose QOS slurmctld has yet to find again, and in a release that was not compared with its headers and does not say where it
/// keeps them.
/// `now` is noted in the record.
pub fn priorities<'a, V: Levels<Qos: Open>>(
    job: Job<'a, Write>,
    lock: &AssocLock<'_, V>,
    now: i64,
) -> Option<&'a [Cell<u32>]> {
    let host = job.host();
    find_out(job, lock);
    if !is_known(host) {
        return None;
    }
    let layout = &host.layout.job;
    match (layout.priority_array, layout.prio_mult) {
        (Some(array), _) => flat_array(job, array),
        (None, Some(record)) => array_in_record(job, lock, record, now),
        (None, None) => None,
    }
}

/// The priorities that were written last, in the same order, as long as partitions and QOS are still those; else `None`.
pub fn written<A: Open>(job: Job<'_, A>, count: usize) -> Option<&[Cell<u32>]> {
    let host = job.host();
    let layout = &host.layout.job;
    if !is_known(host) {
        return None;
    }
    let (array, exactly) = match (layout.priority_array, layout.prio_mult) {
        (Some(field), _) => (job.get(|_| field), false),
        (None, Some(field)) => {
            let (record, array) = (job.get(|_| field), host.layout.prio_mult.priority_array?);
            // SAFETY: null, or a `priority_mult_t` of this job, under the job lock.
            (if record.is_null() { record } else { unsafe { array.get(record) } }, true)
        }
        (None, None) => return None,
    };
    // SAFETY: null or a block of the host's allocator.
    let size = unsafe { host.allocated_size(array) };
    let fits = if exactly { size == count * ENTRY } else { size >= count * ENTRY };
    // SAFETY: a block of at least `count` entries, which nobody writes under the job lock.
    (!array.is_null() && fits).then(|| unsafe { cells(array, count) })
}

/// Sorts the partitions as the scheduler will index them, in the releases where that is our task.
fn sort_partitions(job: Job<'_, Write>) {
    if let (Some(list), Some(by_tier)) = (job.partitions(), job.host().sym.priority_sort_part_tier) {
        // SAFETY: a live list under the job write lock, and the host's own comparison.
        unsafe { (job.host().sym.list_sort)(list.raw(), by_tier) }
    }
}

fn flat_array(job: Job<'_, Write>, field: Field<JobLayout, Ptr>) -> Option<&[Cell<u32>]> {
    let host = job.host();
    let count = job.partitions()?.len();
    sort_partitions(job);
    let array = job.get(|_| field);
    // SAFETY: null or a block of the host's allocator.
    if unsafe { host.allocated_size(array) } < count * ENTRY {
        // SAFETY: only this job points to the array. One entry more, as the host expects.
        unsafe { host.free(array) };
        job.set(|_| field, host.allocate(count + 1, ENTRY));
    }
    // SAFETY: a block of at least `count` entries that only this job points to.
    Some(unsafe { cells(job.get(|_| field), count) })
}

fn array_in_record<'a, V: Levels<Qos: Open>>(
    job: Job<'a, Write>,
    lock: &AssocLock<'_, V>,
    field: Field<JobLayout, Ptr>,
    now: i64,
) -> Option<&'a [Cell<u32>]> {
    let host = job.host();
    let layout = &host.layout.prio_mult;
    let (Some(size), Some(array), Some(names), Some(updated)) =
        (layout.size, layout.priority_array, layout.priority_array_names, layout.last_update)
    else {
        return None;
    };
    let record = job.get(|_| field);
    let several_qos = job.qos_list(lock);
    if job.has_several_qos() && several_qos.is_none() {
        return None;
    }
    if job.partitions().is_none() && several_qos.is_none() {
        release(host, job, field, array, names);
        return None;
    }
    let record = if record.is_null() {
        let fresh = host.allocate(1, size);
        job.set(|_| field, fresh);
        fresh
    } else {
        record
    };
    let count = job.partitions().map_or(1, List::len) * several_qos.map_or(1, List::len);
    // SAFETY: a `priority_mult_t` (24.05: `priority_parts_t`) of this job, under the job write lock. The array
    // and the names are blocks of the host's allocator or null, and nobody else points to them.
    unsafe {
        let fits = host.allocated_size(array.get(record)) == count * ENTRY;
        if !fits || updated.get(record) < host.last_partition_update() {
            sort_partitions(job);
            host.free(array.get(record));
            array.set(record, host.allocate(count, ENTRY));
            if let (Some(list), Some(to_text)) = (job.partitions(), host.sym.part_list_to_xstr) {
                host.free(names.get(record));
                names.set(record, to_text(list.raw()).cast());
            }
            updated.set(record, now);
        }
        Some(cells(array.get(record), count))
    }
}

/// Frees the record of a job that no longer has several partitions or QOS.
fn release(
    host: &'static Host,
    job: Job<'_, Write>,
    field: Field<JobLayout, Ptr>,
    array: Field<PrioMultLayout, Ptr>,
    names: Field<PrioMultLayout, Ptr>,
) {
    let record = job.get(|_| field);
    if record.is_null() {
        return;
    }
    // SAFETY: as in `array_in_record`; the pointer in the job is cleared with it.
    unsafe {
        host.free(array.get(record));
        host.free(names.get(record));
        host.free(record);
    }
    job.set(|_| field, std::ptr::null_mut());
}
