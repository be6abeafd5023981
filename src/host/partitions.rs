//! Priorities of a job that was submitted to several partitions or QOS: an array in its record, which
//! every release keeps elsewhere, frees by itself and indexes by position in the partition list.
//!
//! | releases | where | entries |
//! |---|---|---|
//! | to 23.11 | `priority_array` | partitions, sorted by tier by us |
//! | 24.05 | `part_prio` | partitions, sorted when the array is made |
//! | from 24.11 | `part_prio`, later `prio_mult` | partitions × QOS, kept sorted by the host |

use std::slice;

use super::layout::{Field, Ptr};
use super::records::Job;
use super::Host;

const ENTRY: usize = size_of::<u32>();

/// The array to fill in, partition by partition and within it QOS by QOS; `None` for a job with one of each, for one
/// whose QOS slurmctld has yet to find again, and in a release that was not compared with its headers.
/// The job write lock and the partition lock are held. `now` is noted in the record.
pub fn priorities(job: Job<'_>, now: i64) -> Option<&mut [u32]> {
    let host = job.host();
    // No self-check tells where a pointer is kept that is null until it is set.
    if !host.verified {
        return None;
    }
    let layout = &host.layout.job;
    match (layout.priority_array, layout.prio_mult) {
        (Some(array), _) => flat_array(job, array),
        (None, Some(record)) => array_in_record(job, record, now),
        (None, None) => None,
    }
}

/// Sorts the partitions as the scheduler will index them, in the releases where that is our task.
fn sort_partitions(job: Job<'_>) {
    if let (Some(list), Some(by_tier)) = (job.partitions(), job.host().sym.priority_sort_part_tier) {
        // SAFETY: a live list under the job write lock, and the host's own comparison.
        unsafe { (job.host().sym.list_sort)(list.raw(), by_tier) }
    }
}

fn flat_array(job: Job<'_>, field: Field<Ptr>) -> Option<&mut [u32]> {
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
    Some(entries(job.get(|_| field), count))
}

fn array_in_record(job: Job<'_>, field: Field<Ptr>, now: i64) -> Option<&mut [u32]> {
    let host = job.host();
    let layout = &host.layout.prio_mult;
    let (Some(size), Some(array), Some(names), Some(updated)) =
        (layout.size, layout.priority_array, layout.priority_array_names, layout.last_update)
    else {
        return None;
    };
    let record = job.get(|_| field);
    if job.has_stale_qos_list() {
        return None;
    }
    if job.partitions().is_none() && job.qos_list().is_none() {
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
    let count = job.partitions().map_or(1, super::lists::List::len)
        * job.qos_list().map_or(1, super::lists::List::len);
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
        Some(entries(array.get(record), count))
    }
}

/// Frees the record of a job that no longer has several partitions or QOS.
fn release(host: &'static Host, job: Job<'_>, field: Field<Ptr>, array: Field<Ptr>, names: Field<Ptr>) {
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

fn entries<'a>(array: *mut u8, count: usize) -> &'a mut [u32] {
    if array.is_null() || count == 0 {
        return &mut [];
    }
    // SAFETY: a block of at least `count` entries that only this job points to; the job write lock is held.
    unsafe { slice::from_raw_parts_mut(array.cast(), count) }
}
