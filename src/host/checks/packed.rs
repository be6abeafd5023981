//! Checks what slurmctld itself reads in records that are in use: it writes them into the messages for `scontrol show` and `squeue`, and
//! these must hold what we read.
//!
//! This proves the value and not the offset: a moved field is noticed only where its value differs. The form of a message is the same in
//! all releases of a series. If a function is missing, nothing is proved and nothing is refused.

use super::failure::{failure, Failure, Found};
use super::memory::{block_size, ends_in_block};
use crate::host::access::{Open, Write};
use crate::host::constants::NO_VAL;
use crate::host::layout::{Ptr, BUFFER_HEAD};
use crate::host::lists::List;
use crate::host::locks::{AssocLock, Levels};
use crate::host::records::{Details, Job};
use crate::host::symbols::{V21_08, V22_05, V23_02, V24_05, V24_11, V25_05, V25_11, V26_05};
use crate::host::Host;

/// A message that the host has written.
struct Packed {
    host: &'static Host,
    what: &'static str,
    bytes: Vec<u8>,
    at: usize,
    wrong: Option<&'static str>,
}

impl Packed {
    /// What `pack` writes into a buffer, for this protocol version.
    fn by(host: &'static Host, what: &'static str, pack: impl FnOnce(*mut std::ffi::c_void, u16)) -> Self {
        const ROOM: u32 = 16_384;
        // SAFETY: a buffer of the host's, which it makes larger where it must, and which is freed here.
        let bytes = unsafe {
            let buffer = (host.sym.init_buf)(ROOM);
            let protocol = u16::try_from((host.sym.api_version)() >> 16 << 8).unwrap_or(0);
            pack(buffer, protocol);
            let head = BUFFER_HEAD.get(buffer.cast());
            // Behind what was written lies what nobody has written; it is not read.
            let length = block_size(head as usize).unwrap_or(0);
            let mut bytes = vec![0; length];
            std::ptr::copy_nonoverlapping(head, bytes.as_mut_ptr(), length);
            (host.sym.free_buf)(buffer);
            bytes
        };
        Self { host, what, bytes, at: 0, wrong: None }
    }

    fn skip(&mut self, count: usize) -> &mut Self {
        self.at = self.at.saturating_add(count);
        self
    }

    fn take(&mut self, count: usize) -> &[u8] {
        let from = self.at;
        self.at = from.saturating_add(count);
        self.bytes.get(from..self.at).unwrap_or_default()
    }

    fn is(&mut self, field: &'static str, right: bool) -> &mut Self {
        if !right {
            self.wrong.get_or_insert(field);
        }
        self
    }

    fn short(&mut self, field: &'static str, value: u16) -> &mut Self {
        let right = self.take(2) == value.to_be_bytes();
        self.is(field, right)
    }

    fn number(&mut self, field: &'static str, value: u32) -> &mut Self {
        let right = self.take(4) == value.to_be_bytes();
        self.is(field, right)
    }

    fn time(&mut self, field: &'static str, value: i64) -> &mut Self {
        let right = self.take(8) == value.to_be_bytes();
        self.is(field, right)
    }

    fn count(&mut self) -> usize {
        self.take(4).try_into().map_or(0, u32::from_be_bytes) as usize
    }

    /// This number of texts, whatever they are.
    fn texts(&mut self, count: usize) -> &mut Self {
        for _ in 0..count {
            let length = self.count();
            self.skip(length);
        }
        self
    }

    /// A text, which is null in a message where it is null in the record.
    fn text(&mut self, field: &'static str, text: Ptr) -> &mut Self {
        let length = self.count();
        let found = self.take(length).to_vec();
        let right = match found.split_last() {
            None => text.is_null(),
            Some((0, letters)) => {
                ends_in_block(text as usize)
                    // SAFETY: a terminated text.
                    && unsafe { std::ffi::CStr::from_ptr(text.cast()) }.to_bytes() == letters
            }
            Some(_) => false,
        };
        self.is(field, right)
    }

    /// A bitmap: its size, and where there is one, a text.
    fn bitmap(&mut self) -> &mut Self {
        if self.count() == NO_VAL as usize {
            return self;
        }
        self.texts(1)
    }

    fn result(&self) -> Result<(), Failure> {
        match self.wrong {
            None => Ok(()),
            Some(field) => {
                let told =
                    format!("slurmctld reports another {field} of {} than the plugin reads", self.what);
                Err(failure(self.host, Found::Told(told)))
            }
        }
    }
}

/// Compares a partition of slurmctld's with what it tells of it, under the lock for partitions.
///
/// # Errors
/// What is different.
pub fn check_partition(host: &'static Host, partition: *mut u8) -> Result<(), Failure> {
    let Some(pack) = host.sym.pack_part else { return Ok(()) };
    let layout = &host.layout.part;
    // SAFETY: a partition of slurmctld's, under its lock, as for `scontrol show partition`. A mark of the default partition is set in it, which
    // is set already.
    let mut packed = Packed::by(host, "a partition", |buffer, protocol| unsafe {
        pack(partition.cast(), buffer, protocol);
    });
    // SAFETY: a block of the size of a partition.
    let (name, limit, weights, factor, tier, state, qos, billing) = unsafe {
        (
            layout.name.get(partition),
            layout.max_time.get(partition),
            layout.norm_priority.get(partition),
            layout.priority_job_factor.get(partition),
            layout.priority_tier.get(partition),
            layout.state_up.get(partition),
            layout.qos_char.get(partition),
            layout.billing_weights_str.get(partition),
        )
    };
    let release = host.release;
    // CPU binding, grace time
    packed.text("name", name).skip(8).number("time limit", limit);
    // default time, most and fewest nodes, nodes, CPUs; memory, CPUs of a node, from 23.02 on of a socket, memory
    packed.skip(20).skip(8).skip(if release >= V23_02 { 8 } else { 4 }).skip(8);
    // flags; sharing, overtime, preemption
    packed.skip(if release >= V24_05 { 4 } else { 2 }).skip(6);
    packed.short("job factor", factor).short("tier", tier).short("state", state);
    // consumable resources; from 21.08 on times to save power
    packed.skip(2).skip(if release >= V21_08 { 8 } else { 0 });
    packed.texts(4).text("QOS", qos).texts(4).texts(usize::from(release >= V22_05));
    packed.bitmap().text("billing weights", billing);
    // A job factor by the largest, each of 16 bits, or not computed. What else lies there is hardly ever in this range.
    packed.is("priority", weights == 0.0 || (1.0 / 65_536.0..65_536.0).contains(&weights));
    packed.result()
}

/// Compares a job of slurmctld's, whose details are known, with what it tells of it, under the locks for jobs and QOS.
///
/// # Errors
/// What is different.
pub fn check_job(job: Job<'_>) -> Result<(), Failure> {
    let host = job.host();
    let Some(details) = job.details() else { return Ok(()) };
    let record = job.as_ptr().cast();
    match (host.sym.pack_job, host.sym.pack_job_record, host.sym.pack_job_details) {
        (_, Some(pack_record), Some(pack_details)) if host.release >= V24_11 => {
            // SAFETY: a job of slurmctld's, under its lock, as for squeue.
            let packed = Packed::by(host, "a job", |buffer, protocol| unsafe {
                pack_record(record, false, buffer, protocol);
            });
            compare_record(packed, job)?;
            // SAFETY: its details.
            let packed = Packed::by(host, "a job", |buffer, protocol| unsafe {
                pack_details(details.as_ptr().cast(), buffer, protocol);
            });
            compare_details(packed, details)
        }
        // Of a whole job array it notes which tasks wait.
        (Some(pack), ..) if host.release >= V21_08 && host.release < V24_11 && !is_whole_array(job) => {
            // SAFETY: as above; the lock for QOS is held.
            let packed = Packed::by(host, "a job", |buffer, protocol| unsafe {
                pack(record, 0, buffer, protocol, 0, true);
            });
            compare_job(packed, job, details)
        }
        _ => Ok(()),
    }
}

fn is_whole_array(job: Job<'_>) -> bool {
    job.get(|job| job.array_job_id) == job.get(|job| job.job_id) && job.get(|job| job.array_task_id) == NO_VAL
}

/// Whether slurmctld finds priorities by partition where we would write them. Such are put there, it is made to tell of the job as to
/// squeue, and they are taken away again, all under the job write lock; `None` where that job is none to try it with.
///
/// The lock for QOS is held. From 24.05 on: before, it tells nobody.
pub fn finds_priorities<V: Levels<Qos: Open>>(job: Job<'_, Write>, _qos: &AssocLock<'_, V>) -> Option<bool> {
    /// Larger than the record, so that it could be taken for any other.
    const ROOM: usize = 4096;
    const NAMES: &[u8] = b"multifactor2-probe\0";
    let (host, layout) = (job.host(), &job.host().layout);
    let (Some(field), Some(array), Some(names), Some(pack)) = (
        layout.job.prio_mult,
        layout.prio_mult.priority_array,
        layout.prio_mult.priority_array_names,
        host.sym.pack_job,
    ) else {
        return Some(false);
    };
    let count = job.partitions().map_or(0, List::len);
    if !job.get(|_| field).is_null() || job.get(|job| job.details).is_null() {
        return None;
    }
    let values: Vec<u32> = (0x1234_5678..).take(count).collect();
    // SAFETY: fresh blocks of these sizes, in a record that nobody else can look at.
    let packed = unsafe {
        let (record, text) = (host.allocate(1, ROOM), host.allocate(1, NAMES.len()));
        let numbers = host.allocate(count.max(1), size_of::<u32>());
        std::ptr::copy_nonoverlapping(NAMES.as_ptr(), text, NAMES.len());
        std::ptr::copy_nonoverlapping(values.as_ptr(), numbers.cast(), count);
        // Of a job in several QOS only, slurmctld tells the names alone.
        array.set(record, if count == 0 { std::ptr::null_mut() } else { numbers });
        names.set(record, text);
        job.set(|_| field, record);
        let packed = Packed::by(host, "a job", |buffer, protocol| {
            pack(job.as_ptr().cast(), 0, buffer, protocol, 0, true);
        });
        job.set(|_| field, std::ptr::null_mut());
        for block in [numbers, text, record] {
            host.free(block);
        }
        packed
    };
    let number = |number: usize| u32::try_from(number).unwrap_or(0).to_be_bytes();
    let told: Vec<u8> = number(count)
        .into_iter()
        .chain(values.into_iter().flat_map(u32::to_be_bytes))
        .chain(number(NAMES.len()))
        .chain(NAMES.iter().copied())
        .collect();
    Some(packed.bytes.windows(told.len()).any(|window| window == told))
}

/// 21.08 to 24.05.
fn compare_job(mut packed: Packed, job: Job<'_>, details: Details<'_>) -> Result<(), Failure> {
    let release = job.host().release;
    packed
        .number("array id", job.get(|job| job.array_job_id))
        .number("array task", job.get(|job| job.array_task_id));
    // tasks that wait, how many may run; container, from 23.02 on its id; delay of booting; from 23.02 on a node that failed
    packed.texts(1).skip(4).number("association", job.get(|job| job.assoc_id));
    packed.texts(if release >= V23_02 { 2 } else { 1 }).skip(4).texts(usize::from(release >= V23_02));
    packed
        .number("id", job.get(|job| job.job_id))
        .number("user", job.get(|job| job.user_id))
        .number("group", job.get(|job| job.group_id))
        .number("heterogeneous job", job.get(|job| job.het_job_id));
    // components; offset, profile
    packed.texts(1).skip(8).number("state", job.state().0).skip(2);
    let reason = job.get(|job| job.state_reason);
    if release >= V23_02 {
        packed.number("reason", reason);
    } else {
        let lower = u16::try_from(reason & 0xffff).unwrap_or(0);
        packed.short("reason", lower);
    }
    // power, reboot; what is shown, deadline, session, limits of time, of which one is computed
    packed
        .skip(2)
        .short("number of restarts", job.get(|job| job.restart_cnt))
        .skip(2)
        .time("deadline", job.get(|job| job.deadline))
        .skip(4 + 4 + 4);
    packed
        .number("nice value", details.get(|details| details.nice))
        .time("submit time", details.get(|details| details.submit_time))
        .time("begin time", details.get(|details| details.begin_time))
        .time("accrue time", details.get(|details| details.accrue_time));
    // start and end, computed; times of resizing and scheduling
    packed
        .skip(16)
        .time("suspend time", job.get(|job| job.suspend_time))
        .time("time before suspension", job.get(|job| job.pre_sus_time))
        .skip(16)
        .time("preempt time", job.get(|job| job.preempt_time))
        .number("priority", job.get(|job| job.priority));
    if release >= V24_05 {
        // priorities by partition, and their names
        let priorities = packed.count();
        packed.skip(4 * priorities).texts(1);
    }
    // billable TRES; cluster, nodes, planned nodes, partition
    packed
        .skip(8)
        .texts(4)
        .text("account", job.get(|job| job.account))
        .text("comment", job.get(|job| job.admin_comment))
        .number("site factor", job.get(|job| job.site_factor));
    packed.result()
}

/// From 24.11 on, without details.
fn compare_record(mut packed: Packed, job: Job<'_>) -> Result<(), Failure> {
    let release = job.host().release;
    if release >= V25_11 {
        // the id with that of a step
        packed.skip(8).number("id", job.get(|job| job.job_id)).skip(8);
    }
    packed.text("account", job.get(|job| job.account)).text("comment", job.get(|job| job.admin_comment));
    // node and session of the submission
    packed
        .texts(1)
        .skip(4)
        .number("array id", job.get(|job| job.array_job_id))
        .number("array task", job.get(|job| job.array_task_id))
        .number("association", job.get(|job| job.assoc_id));
    // features, batch, host, flags, two of burst buffers, billable TRES; comment, container, its id, from 26.05 on its kind, CPUs by TRES
    packed.texts(1).skip(2).texts(1).skip(8).texts(2).skip(8).texts(if release >= V26_05 { 5 } else { 4 });
    // deadline, delay of booting, two exit codes; extra, a node that failed; what a federation knows of it
    packed.time("deadline", job.get(|job| job.deadline)).skip(4 + 4 + 4).texts(2);
    if packed.take(1) == [1] {
        packed.texts(1).skip(8).texts(1).skip(8).texts(1);
    }
    packed
        .texts(1)
        .number("group", job.get(|job| job.group_id))
        .number("heterogeneous job", job.get(|job| job.het_job_id))
        .texts(1)
        .skip(4);
    if release < V25_11 {
        packed.number("id", job.get(|job| job.job_id));
    }
    // time of scheduling; licences, from 25.05 on those that it has; mail: kind, user
    packed
        .number("state", job.state().0)
        .skip(8)
        .texts(if release >= V25_05 { 2 } else { 1 })
        .skip(2)
        .texts(1);
    // memory by TRES, name, network
    packed
        .text("MCS label", job.get(|job| job.mcs_label))
        .texts(3)
        .time("preempt time", job.get(|job| job.preempt_time))
        .time("time before suspension", job.get(|job| job.pre_sus_time))
        .number("priority", job.get(|job| job.priority));
    // profile, reboot, switches, time of resizing
    packed
        .skip(4 + 1 + 4 + 8)
        .short("number of restarts", job.get(|job| job.restart_cnt))
        .text("reservation", job.get(|job| job.resv_name));
    // ports, SELinux; protocol, description of the state
    packed
        .texts(2)
        .number("site factor", job.get(|job| job.site_factor))
        .skip(2)
        .texts(1)
        .number("reason", job.get(|job| job.state_reason))
        .time("suspend time", job.get(|job| job.suspend_time));
    // comment; shortest time; eight of TRES; name of the user; switches
    packed.texts(1).skip(4).texts(8).number("user", job.get(|job| job.user_id)).texts(1).skip(4);
    packed.text("wckey", job.get(|job| job.wckey));
    packed.result()
}

/// From 24.11 on.
fn compare_details(mut packed: Packed, details: Details<'_>) -> Result<(), Failure> {
    packed
        .time("accrue time", details.get(|details| details.accrue_time))
        .time("begin time", details.get(|details| details.begin_time));
    // features of clusters, three of frequency, dependency, sizes
    packed.texts(1).skip(12).texts(1).bitmap().number("nice value", details.get(|details| details.nice));
    // tasks by node and TRES, requeue, from 25.05 on segments
    packed.skip(if packed.host.release >= V25_05 { 8 } else { 6 });
    packed.time("submit time", details.get(|details| details.submit_time)).result()
}
