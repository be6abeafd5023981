//! Checks the layout by questions to the host about our own records: what it writes into them, or makes of their contents, shows where its
//! fields are, to the byte.
//!
//! No record in use is touched. The functions do one simple thing each and are the same in every release from 20.11 to 26.05. So is the
//! form of the messages.

use std::ffi::c_void;

use super::accounting;
use super::asking::{self, PinAnswer as Told};
use super::memory::{block_size, first_number};
use super::messages::{array_at, Message, Unpacked, NONE, TRES};
use super::{failure, Failure, JOB_MAGIC};
use crate::host::constants::NICE_OFFSET;
use crate::host::layout::{Field, JobLayout};
use crate::host::lists::for_each_raw;
use crate::host::Host;

/// A job record of ours, larger than any, to be handed to the host.
struct Scratch {
    memory: Vec<u128>,
}

impl Scratch {
    fn filled_with(layout: &'static JobLayout, byte: u8) -> Self {
        let words = (2 * layout.size + 4096).div_ceil(16);
        let mut scratch = Self { memory: vec![u128::from_ne_bytes([byte; 16]); words] };
        // Debug builds of Slurm look at it.
        scratch.put(layout.magic, JOB_MAGIC);
        scratch
    }

    fn record(&mut self) -> *mut u8 {
        self.memory.as_mut_ptr().cast()
    }

    fn put<T: Copy>(&mut self, field: Field<JobLayout, T>, value: T) {
        // SAFETY: twice as large as a record of this layout.
        unsafe { field.set(self.record(), value) }
    }

    /// The offsets at which the host changes something, and what it answers.
    fn changes<T>(&mut self, ask: impl FnOnce(*mut c_void) -> T) -> (Vec<usize>, T) {
        let before = self.bytes().to_vec();
        let answer = ask(self.record().cast());
        let changed = before.iter().zip(self.bytes()).enumerate().filter(|(_, (was, is))| was != is);
        (changed.map(|(at, _)| at).collect(), answer)
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: its own memory.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().cast(), 16 * self.memory.len()) }
    }

    fn get<T: Copy>(&mut self, field: Field<JobLayout, T>) -> T {
        // SAFETY: as in `put`.
        unsafe { field.get(self.record()) }
    }
}

/// Where the host keeps what is written into jobs: the priority, and when they are expected to end. And what that depends on:
/// the state, start and limit.
///
/// # Errors
/// What is elsewhere.
pub fn about_jobs(host: &'static Host) -> Result<(), Failure> {
    /// Running; no field is zero.
    const ALL: u8 = 1;
    const COMPLETE: u32 = 3;
    const START: i64 = 1_234_567_890;
    const MINUTES: u32 = 0x1234;
    let layout = &host.layout.job;
    let wrong = |what: &str| Err(failure(host, format!("slurmctld keeps {what} of a job elsewhere")));

    let mut job = Scratch::filled_with(layout, ALL);
    let priority = layout.priority.offset();
    if job.changes(|job| asking::ask(host, job, Told::Nothing)).0
        != (priority..priority + 4).collect::<Vec<_>>()
    {
        return wrong("the priority");
    }
    let mut job = Scratch::filled_with(layout, ALL);
    job.put(layout.job_state, COMPLETE);
    if !job.changes(|job| asking::ask(host, job, Told::Nothing)).0.is_empty() {
        return wrong("the state");
    }

    let end = START + 60 * i64::from(MINUTES);
    let mut job = Scratch::filled_with(layout, 0);
    job.put(layout.start_time, START);
    job.put(layout.time_limit, MINUTES);
    // SAFETY: a record that only this thread knows; the function reads start, limit and another time of it.
    let (changed, ()) = job.changes(|job| unsafe { (host.sym.job_end_time_reset)(job) });
    let ends = [layout.end_time, layout.end_time_exp];
    let elsewhere =
        changed.iter().any(|at| !ends.iter().any(|field| (field.offset()..field.offset() + 8).contains(at)));
    let apart = ends[0].offset().abs_diff(ends[1].offset()) >= 8;
    if elsewhere || !apart || ends.iter().any(|field| job.get(*field) != end) {
        return wrong("start, limit or end");
    }
    Ok(())
}

/// Where the host keeps whether a priority was set directly, and the nice value: it lowers the lowest priority that it knows of
/// only where the former is 0, and adds the latter first. That number goes down by one, as with every job that is submitted; it matters
/// to `priority/basic` alone. False where nothing can be learned now: nothing is lower than 0.
///
/// Asked under the job lock, which protects that number too.
///
/// # Errors
/// What is elsewhere.
pub fn about_direct_priorities(host: &'static Host) -> Result<bool, Failure> {
    const NICER: u32 = 1000;
    let layout = &host.layout.job;
    let wrong = |what: &str| Err(failure(host, format!("slurmctld keeps {what} of a job elsewhere")));
    // All that could be taken for a nice value is none.
    let mut details = vec![[NICE_OFFSET; 4]; host.layout.details.size.div_ceil(16) + 16];
    let details: *mut u8 = details.as_mut_ptr().cast();
    // SAFETY: larger than a record of this layout.
    unsafe { host.layout.details.nice.set(details, NICE_OFFSET - NICER) }

    let mut job = Scratch::filled_with(layout, 0);
    job.put(layout.details, details);
    let lowest = |job: &mut Scratch, answer| {
        asking::ask(host, job.record().cast(), answer)?;
        asking::ask(host, job.record().cast(), Told::Nothing)
    };
    let Some(before) = lowest(&mut job, Told::Nothing).filter(|lowest| *lowest > 0) else {
        return Ok(false);
    };
    // What a nice value of -1000 makes one less than the lowest.
    if lowest(&mut job, Told::Above(NICER)) != Some(before - 1) {
        return wrong("the details or the nice value");
    }
    for byte in 0..2 {
        job.put(layout.direct_set_prio, 1 << (8 * byte));
        if lowest(&mut job, Told::Above(NICER)) != Some(before - 1) {
            return wrong("the direct priority flag");
        }
    }
    Ok(true)
}

/// Where the host keeps what a job has allocated. Asked when the place of a job's partition is certain: the function follows that
/// pointer.
///
/// # Errors
/// That it is elsewhere.
pub fn about_allocations(host: &'static Host) -> Result<(), Failure> {
    const CPUS: u32 = 7777;
    let layout = &host.layout.job;
    // Without a partition the function asks only whether there is an array. Part of an address is none.
    for array in [0x10_usize, 0x10 << 56] {
        let mut job = Scratch::filled_with(layout, 0);
        job.put(layout.total_cpus, CPUS);
        job.put(layout.tres_alloc_cnt, array as *mut u8);
        // SAFETY: a record that only this thread knows, in no partition; 0 makes the function compute.
        let (_, billable) = job.changes(|job| unsafe { (host.sym.calc_job_billable_tres)(job, 0, true) });
        #[allow(clippy::float_cmp)] // a whole number
        if billable != f64::from(CPUS) {
            let what = "slurmctld keeps the CPUs or the allocated TRES of a job elsewhere";
            return Err(failure(host, what.to_owned()));
        }
    }
    Ok(())
}

fn no_message(host: &'static Host, what: &str) -> Failure {
    failure(host, format!("slurmctld does not read the usage of {what} as expected"))
}

/// Where the host keeps what is decayed, charged and published, and the associations and QOS themselves.
///
/// # Errors
/// The first field that is elsewhere.
pub fn about_usage(host: &'static Host) -> Result<(), Failure> {
    about_usage_of_associations(host)?;
    about_usage_of_qos(host)?;
    accounting::about_associations(host)?;
    accounting::about_qos(host)
}

fn about_usage_of_associations(host: &'static Host) -> Result<(), Failure> {
    let mut message = Message::default();
    message.number(11).array([21, 22, 23]).array([31, 32, 33]).double(41.5).double(0.625).number(12);
    message.double(0.375).long_double(51.0).long_double(52.0).long_double(53.0);
    message.long_doubles([61.0, 62.0, 63.0]).number(13).number(14).long_double(54.0).number(NONE);
    let record = message.unpack(host, host.sym.unpack_assoc_usage);
    let layout = &host.layout.assoc_usage;
    if record.is_null() {
        return Err(no_message(host, "an association"));
    }
    let what = "the usage of an association";
    let mut answer = Unpacked { host, what, record, wrong: None };
    if answer.has_size(layout.size) {
        answer
            .array("the run seconds", layout.grp_used_tres_run_secs, [31, 32, 33])
            .double("grp_used_wall", layout.grp_used_wall, 41.5)
            .double("fs_factor", layout.fs_factor, 0.625)
            .double("shares_norm", layout.shares_norm, 0.375)
            .long_double("usage_efctv", layout.usage_efctv, 51.0)
            .long_double("usage_norm", layout.usage_norm, 52.0)
            .long_double("usage_raw", layout.usage_raw, 53.0)
            .long_doubles("usage_tres_raw", layout.usage_tres_raw, [61.0, 62.0, 63.0])
            .long_double("level_fs", layout.level_fs, 54.0);
    }
    // SAFETY: made by the host for us.
    unsafe { (host.sym.slurmdb_destroy_assoc_usage)(record.cast()) };
    answer.result()
}

fn about_usage_of_qos(host: &'static Host) -> Result<(), Failure> {
    let mut message = Message::default();
    message.number(11).number(12).number(13).array([21, 22, 23]).array([31, 32, 33]).double(41.5);
    message.double(0.625).long_double(51.0).long_doubles([61.0, 62.0, 63.0]);
    // A user, then an account.
    message
        .number(1)
        .number(14)
        .text("")
        .number(15)
        .number(16)
        .array([71, 72, 73])
        .array([81, 82, 83])
        .number(17);
    message
        .number(1)
        .number(14)
        .text("a")
        .number(15)
        .number(16)
        .array([74, 75, 76])
        .array([84, 85, 86])
        .number(17);
    let record = message.unpack(host, host.sym.unpack_qos_usage);
    let layout = &host.layout.qos_usage;
    if record.is_null() {
        return Err(no_message(host, "a QOS"));
    }
    let what = "the usage of a QOS";
    let mut answer = Unpacked { host, what, record, wrong: None };
    if answer.has_size(layout.size) {
        // SAFETY: a record of that size.
        let (users, accounts) =
            unsafe { (layout.user_limit_list.get(record), layout.acct_limit_list.get(record)) };
        answer
            .array("the run seconds", layout.grp_used_tres_run_secs, [31, 32, 33])
            .double("grp_used_wall", layout.grp_used_wall, 41.5)
            .double("norm_priority", layout.norm_priority, 0.625)
            .long_double("usage_raw", layout.usage_raw, 51.0)
            .long_doubles("usage_tres_raw", layout.usage_tres_raw, [61.0, 62.0, 63.0])
            .is("the limits of users", run_seconds_in(host, users) == [[81, 82, 83]])
            .is("the limits of accounts", run_seconds_in(host, accounts) == [[84, 85, 86]]);
    }
    // SAFETY: made by the host for us.
    unsafe { (host.sym.slurmdb_destroy_qos_usage)(record.cast()) };
    answer.result()
}

/// Where the host keeps how much there is of a TRES.
///
/// # Errors
/// That it is elsewhere.
pub fn about_tres(host: &'static Host) -> Result<(), Failure> {
    const COUNT: u64 = 0x1234_5678_9abc_def0;
    let mut message = Message::default();
    message.long_number(1).long_number(COUNT).number(1001).text("gpu").text("gres");
    let record = message.unpack(host, host.sym.unpack_tres);
    let layout = &host.layout.tres;
    if record.is_null() {
        return Err(failure(host, "slurmctld does not read a TRES as expected".to_owned()));
    }
    // SAFETY: read only where it is a record of that size.
    let right =
        block_size(record as usize) == Some(layout.size) && unsafe { layout.count.get(record) } == COUNT;
    // SAFETY: made by the host for us.
    unsafe { (host.sym.destroy_tres)(record.cast()) };
    let mut answer = Unpacked { host, what: "a TRES", record, wrong: None };
    answer.is("the count", right).result()
}

/// The run seconds in a list of limits in use.
fn run_seconds_in(host: &Host, list: *mut u8) -> Vec<[u64; TRES]> {
    let mut found = Vec::new();
    if is_list(host, list as usize) {
        for_each_raw(list.cast(), host.sym.list_for_each, &mut |limits| {
            let layout = &host.layout.used_limits;
            if block_size(limits as usize) == Some(layout.size) {
                // SAFETY: a block of that size.
                found.extend(array_at(unsafe { layout.tres_run_secs.get(limits) } as usize));
            }
        });
    }
    found
}

/// Whether there is one of the host's lists at an address: it begins as one does that we make.
pub fn is_list(host: &Host, address: usize) -> bool {
    // SAFETY: an empty list without a destructor, which is destroyed again.
    let begin = unsafe {
        let list = (host.sym.list_create)(None);
        let begin = first_number(list as usize);
        (host.sym.list_destroy)(list);
        begin
    };
    block_size(address).is_some() && first_number(address) == begin
}
