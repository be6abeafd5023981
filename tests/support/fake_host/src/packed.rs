//! What slurmctld tells of its records: partitions and jobs as messages, in the form of each series.

use std::ffi::c_void;

use slurm_headers::Version;

use crate::lists;
use crate::locks::{require, Level};
use crate::made::zeros;
use crate::memory;
use crate::record::{Record, Value};
use crate::release;
use crate::slurmctld::{layout, shared};

/// Where a message is written: `slurm_buf`.
struct Writer {
    buffer: *mut u8,
    release: Version,
}

const NO_VAL: u32 = 0xffff_fffe;

impl Writer {
    fn of(buffer: *mut c_void) -> Self {
        Self { buffer: buffer.cast(), release: layout().release }
    }

    fn since(&self, year: u8, month: u8) -> bool {
        self.release >= release(year, month, 0)
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        // SAFETY: a buffer that `slurm_init_buf` made, with the address of its bytes, and how many are written.
        unsafe {
            let head = self.buffer.cast::<*mut u8>().add(1);
            let written = self.buffer.add(20).cast::<u32>();
            let (before, room) =
                (written.read() as usize, memory::block(head.read()).expect("a buffer").size);
            if before + bytes.len() > room {
                let larger = zeros(2 * (room + bytes.len()), "a message");
                std::ptr::copy_nonoverlapping(head.read(), larger, before);
                memory::free(head.read());
                head.write(larger);
            }
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), head.read().add(before), bytes.len());
            written.write(u32::try_from(before + bytes.len()).expect("a message"));
        }
        self
    }

    /// Something that the plugin does not ask for: not zero.
    fn other(&mut self, count: usize) -> &mut Self {
        self.bytes(&vec![0x5a; count])
    }

    fn null(&mut self, texts: usize) -> &mut Self {
        self.bytes(&vec![0; 4 * texts])
    }

    /// Another text.
    fn some(&mut self, text: &str) -> &mut Self {
        self.letters(text.as_bytes())
    }

    fn letters(&mut self, text: &[u8]) -> &mut Self {
        let length = u32::try_from(text.len() + 1).expect("a short text");
        self.bytes(&length.to_be_bytes()).bytes(text).bytes(&[0])
    }

    fn field<T: Value + Packable>(&mut self, record: Record, field: &str) -> &mut Self {
        self.bytes(record.get_real::<T>(field).big_endian().as_ref())
    }

    fn number(&mut self, record: Record, field: &str) -> &mut Self {
        self.field::<u32>(record, field)
    }

    fn short(&mut self, record: Record, field: &str) -> &mut Self {
        self.field::<u16>(record, field)
    }

    fn time(&mut self, record: Record, field: &str) -> &mut Self {
        self.field::<i64>(record, field)
    }

    /// A text; one that was moved to where none is counts as null.
    fn text(&mut self, record: Record, field: &str) -> &mut Self {
        let address: *mut u8 = record.get_real(field);
        if memory::block(address).is_none() {
            return self.null(1);
        }
        // SAFETY: a block, and texts end in it.
        self.letters(unsafe { std::ffi::CStr::from_ptr(address.cast()) }.to_bytes())
    }

    fn bitmap(&mut self, size: u32) -> &mut Self {
        if size == NO_VAL {
            return self.bytes(&size.to_be_bytes());
        }
        self.bytes(&size.to_be_bytes()).some("0xff")
    }
}

trait Packable {
    type Bytes: AsRef<[u8]>;
    fn big_endian(self) -> Self::Bytes;
}

macro_rules! packable {
    ($($type:ty)*) => { $(
        impl Packable for $type {
            type Bytes = [u8; size_of::<$type>()];
            fn big_endian(self) -> Self::Bytes {
                self.to_be_bytes()
            }
        }
    )* };
}

packable!(u16 u32 i64);

pub(crate) unsafe extern "C" fn pack_part(partition: *mut c_void, buffer: *mut c_void, _protocol: u16) {
    require("part", Level::Read, "pack_part");
    let (part, mut to) = (Record { kind: "part", address: partition.cast() }, Writer::of(buffer));
    let (v21, v22, v23, v24, v25) =
        (to.since(21, 8), to.since(22, 5), to.since(23, 2), to.since(24, 5), to.since(25, 5));
    to.text(part, "name").other(8).number(part, "max_time").other(20);
    to.other(8).other(if v23 { 8 } else { 4 }).other(8).other(if v24 { 4 } else { 2 }).other(6);
    to.short(part, "priority_job_factor").short(part, "priority_tier").short(part, "state_up").other(2);
    to.other(if v21 { 8 } else { 0 });
    to.some("accounts").null(2).some("qos").text(part, "qos_char").null(3).some("n[1-8]");
    to.null(usize::from(v22)).bitmap(8).text(part, "billing_weights_str");
    to.null(usize::from(v25)).some("cpu=8").bytes(&NO_VAL.to_be_bytes());
}

/// What the function is asked about, which must be one of slurmctld's jobs.
fn job_of(job: *mut c_void, function: &str) -> Record {
    require("job", Level::Read, function);
    let known = shared(|shared| shared.jobs.values().any(|known| known.address == job.cast()));
    assert!(known, "{function} of a record that is no job");
    Record { kind: "job", address: job.cast() }
}

/// Priorities by partition.
fn several(to: &mut Writer, job: Record) {
    let several = Record { kind: "prio_mult", address: job.get_real("prio_mult") };
    if memory::block(several.address).is_none() {
        to.null(2);
        return;
    }
    let (numbers, parts) =
        (several.get_real::<*mut u8>("priority_array"), job.get::<*mut u8>("part_ptr_list"));
    let known = memory::block(numbers).is_some() && !parts.is_null();
    let count = if known { lists::elements(parts).len() } else { 0 };
    to.bytes(&u32::try_from(count).expect("few").to_be_bytes());
    for at in 0..count {
        // SAFETY: as many as there are partitions.
        let number = unsafe { numbers.cast::<u32>().add(at).read() };
        to.bytes(&number.to_be_bytes());
    }
    to.text(several, "priority_array_names");
}

/// From 21.08 on.
pub(crate) unsafe extern "C" fn pack_job(
    job: *mut c_void,
    show: u16,
    buffer: *mut c_void,
    _protocol: u16,
    _user: u32,
    locked: bool,
) {
    require("qos", Level::Read, "pack_job, said to be locked,");
    assert!(locked && show == 0, "with the lock for QOS held, and without what is shown on demand");
    let (job, mut to) = (job_of(job, "pack_job"), Writer::of(buffer));
    if to.since(24, 11) {
        to.other(333);
        several(&mut to, job);
        to.some("cluster").some("n1");
        return;
    }
    let details = Record { kind: "details", address: job.get_real("details") };
    let (v23, v24) = (to.since(23, 2), to.since(24, 5));
    to.number(job, "array_job_id").number(job, "array_task_id").null(1).other(4).number(job, "assoc_id");
    to.some("container").null(usize::from(v23)).other(4).null(usize::from(v23));
    to.number(job, "job_id").number(job, "user_id").number(job, "group_id").number(job, "het_job_id");
    to.some("1-2").other(8).number(job, "job_state").other(2);
    if v23 {
        to.number(job, "state_reason");
    } else {
        let reason = job.get_real::<u32>("state_reason").to_be_bytes();
        to.bytes(&reason[2..]);
    }
    to.other(2).short(job, "restart_cnt").other(2).time(job, "deadline").other(12);
    to.number(details, "nice").time(details, "submit_time").time(details, "begin_time");
    to.time(details, "accrue_time").other(16).time(job, "suspend_time").time(job, "pre_sus_time").other(16);
    to.time(job, "preempt_time").number(job, "priority");
    if v24 {
        several(&mut to, job);
    }
    to.other(8)
        .some("cluster")
        .some("n1")
        .null(1)
        .some("batch")
        .text(job, "account")
        .text(job, "admin_comment");
    to.number(job, "site_factor").null(7);
}

/// From 24.11 on.
pub(crate) unsafe extern "C" fn job_record_pack_common(
    job: *mut c_void,
    for_state: bool,
    buffer: *mut c_void,
    _protocol: u16,
) {
    assert!(!for_state, "as for squeue");
    let (job, mut to) = (job_of(job, "job_record_pack_common"), Writer::of(buffer));
    let (v25, v25_11, v26) = (to.since(25, 5), to.since(25, 11), to.since(26, 5));
    if v25_11 {
        to.other(8).number(job, "job_id").other(8);
    }
    to.text(job, "account").text(job, "admin_comment").some("login").other(4);
    to.number(job, "array_job_id").number(job, "array_task_id").number(job, "assoc_id");
    to.null(1).other(2).null(1).other(8).null(2).other(8).some("a comment").null(if v26 { 4 } else { 3 });
    to.time(job, "deadline").other(12).null(2);
    // A federation knows of every other job.
    if job.get_real::<u32>("job_id") % 2 == 0 {
        to.bytes(&[0]);
    } else {
        to.bytes(&[1]).some("origin").other(8).some("active").other(8).some("viable");
    }
    to.null(1).number(job, "group_id").number(job, "het_job_id").null(1).other(4);
    if !v25_11 {
        to.number(job, "job_id");
    }
    to.number(job, "job_state").other(8).null(if v25 { 2 } else { 1 }).other(2).null(1);
    to.text(job, "mcs_label").null(1).some("name").null(1);
    to.time(job, "preempt_time").time(job, "pre_sus_time").number(job, "priority").other(17);
    to.short(job, "restart_cnt").text(job, "resv_name").null(2).number(job, "site_factor").other(2).null(1);
    to.number(job, "state_reason").time(job, "suspend_time").null(1).other(4).some("tres").null(7);
    to.number(job, "user_id").some("user").other(4).text(job, "wckey");
}

/// From 24.11 on.
pub(crate) unsafe extern "C" fn job_record_pack_details_common(
    details: *mut c_void,
    buffer: *mut c_void,
    _protocol: u16,
) {
    require("job", Level::Read, "job_record_pack_details_common");
    let (details, mut to) = (Record { kind: "details", address: details.cast() }, Writer::of(buffer));
    let v25 = to.since(25, 5);
    to.time(details, "accrue_time").time(details, "begin_time").null(1).other(12).some("afterok:1");
    to.bitmap(NO_VAL).number(details, "nice").other(if v25 { 8 } else { 6 }).time(details, "submit_time");
    to.some("/home");
}
