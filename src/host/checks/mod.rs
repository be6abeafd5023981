//! Self-checks before anything is trusted: does the running Slurm match the chosen layout?
//!
//! A patched Slurm may have its fields elsewhere, even if its records keep their sizes. Three things tell:
//!
//! - sizes and magic numbers of blocks, and known texts ([`check_at_start`]);
//! - what the host itself writes into our records, or makes of them ([`questions`]): this shows to the byte where the fields are that we
//!   write;
//! - values of jobs, associations, QOS and partitions that are known in another way ([`records`]).
//!
//! Memory is first read through the kernel, so that a wrong layout gives an error message and not a segmentation fault. A pointer to a
//! record that is gone is no failure, but it proves nothing either.

mod accounting;
pub mod asking;
mod failure;
mod memory;
mod messages;
pub(super) mod packed;
pub mod questions;
mod records;

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use super::access::Open;
use super::constants::{DETAILS_MAGIC, JOB_MAGIC, PART_MAGIC};
use super::locks::{AssocLock, Levels};
use super::records::Job;
use super::Host;
use failure::failure;
pub use failure::{Cause, Failure, Found};
use memory::{block_size, symbol_size, text_of_length};
pub use memory::{can_look, Blind};
use records::Tallies;

/// What can be checked when the plugin starts: configuration, root association, and records that the host makes for us; from
/// 23.02 on there are no jobs yet.
///
/// # Errors
/// The first check that failed.
pub fn check_at_start(host: &'static Host) -> Result<(), Failure> {
    let fail = |found| Err(failure(host, found));
    if let Some(size) = symbol_size(host.sym.slurm_conf.cast()) {
        if size != host.layout.conf.size {
            return fail(Found::Configuration { found: size, expected: host.layout.conf.size });
        }
    }
    let own_type = crate::identity::PRIORITY_TYPE;
    let read_back = host.at_conf_text(
        |conf| conf.priority_type,
        |address| text_of_length(address, own_type.to_bytes().len()),
    );
    if read_back.as_deref() != Some(own_type.to_bytes()) {
        return fail(Found::PluginType);
    }
    // SAFETY: a global of the host; only its address is used until it is checked.
    let root: *mut u8 = unsafe { *host.sym.assoc_mgr_root_assoc }.cast();
    if !root.is_null() {
        block(host, "the root association", root, host.layout.assoc.size)?;
        // SAFETY: a block of the size of an association.
        let (account, usage) =
            unsafe { (host.layout.assoc.acct.get(root), host.layout.assoc.usage.get(root)) };
        if text_of_length(account as usize, 4).as_deref() != Some(b"root") {
            return fail(Found::RootName);
        }
        block(host, "its usage record", usage, host.layout.assoc_usage.size)?;
    }
    questions::about_usage(host)
}

/// Checks that `address` is a block of the host's allocator with exactly `size` bytes.
fn block(host: &'static Host, what: &'static str, address: *mut u8, size: usize) -> Result<(), Failure> {
    match block_size(address as usize) {
        None => Err(failure(host, Found::NoBlock(what))),
        Some(found) if found != size => Err(failure(host, Found::Size { what, found, expected: size })),
        Some(_) => Ok(()),
    }
}

/// Checks what a record begins with.
fn magic(host: &'static Host, what: &'static str, found: u32, expected: u32) -> Result<(), Failure> {
    if found == expected {
        return Ok(());
    }
    Err(failure(host, Found::Magic { what, found, expected }))
}

/// Checks the record of a job itself, and nothing that it leads to.
fn job_record(job: Job<'_>) -> Result<(), Failure> {
    let host = job.host();
    block(host, "a job record", job.as_ptr(), host.layout.job.size)?;
    magic(host, "a job record", job.get(|job| job.magic), JOB_MAGIC)
}

/// The addresses of all TRES, in the order of their positions; none where slurmctld has not loaded them. Each is a block of the size that
/// the layout says.
///
/// # Errors
/// One is not.
pub fn tres_records<V: Levels<Tres: Open>>(lock: &AssocLock<'_, V>) -> Result<Vec<*mut u8>, Failure> {
    let host = lock.host();
    // SAFETY: a pointer of the host's, which the lock on TRES protects.
    let array = unsafe { *host.sym.assoc_mgr_tres_array };
    if array.is_null() {
        return Ok(Vec::new());
    }
    let Some(size) = block_size(array as usize) else {
        return Err(failure(host, Found::NoArray("the TRES", 0)));
    };
    // The database may have taken some away since slurmctld has counted them.
    let count = host.tres_count().min(size / size_of::<*mut u8>());
    // SAFETY: a block of the host's with so many pointers, under its lock.
    let records = unsafe { std::slice::from_raw_parts(array, count) }.to_vec();
    records.iter().try_for_each(|record| block(host, "a TRES", *record, host.layout.tres.size))?;
    Ok(records)
}

/// What was found out about the records of this process, once for all: it stays the same slurmctld, whatever becomes of its
/// records. Nobody waits for anybody here; two threads may check the same.
#[derive(Debug)]
pub struct Inspector {
    /// The host has answered what it was asked about jobs.
    asked: AtomicBool,
    /// So has it about priorities that were set directly, and nice values.
    asked_direct: AtomicBool,
    /// So has it about what running jobs hold.
    asked_allocations: AtomicBool,
    /// The record of a job itself is not as the layout says: nothing of one is read any more to answer with.
    refuted: AtomicBool,
    /// Associations and QOS are as the layout says.
    lists: AtomicBool,
    surveyed: AtomicBool,
    /// How many jobs of each kind are.
    kinds: [AtomicU8; Self::KINDS],
    tallies: Tallies,
}

impl Default for Inspector {
    fn default() -> Self {
        Self::new()
    }
}

impl Inspector {
    const KINDS: usize = 128;
    /// So many jobs of each kind are checked.
    const EACH: u8 = 3;

    /// Nothing is known yet.
    pub const fn new() -> Self {
        Self {
            asked: AtomicBool::new(false),
            asked_direct: AtomicBool::new(false),
            asked_allocations: AtomicBool::new(false),
            refuted: AtomicBool::new(false),
            lists: AtomicBool::new(false),
            surveyed: AtomicBool::new(false),
            kinds: [const { AtomicU8::new(0) }; Self::KINDS],
            tallies: Tallies::new(),
        }
    }

    /// Enough jobs like this one are as the layout says. Cheap: it is asked for every job.
    #[inline]
    pub fn knows(&self, job: Job<'_>) -> bool {
        self.kinds[kind_of(job)].load(Ordering::Relaxed) >= Self::EACH
    }

    /// The same of a plain job ([`Job::is_plain`]).
    #[inline]
    pub fn knows_plain(&self, job: Job<'_>) -> bool {
        self.kinds[kind(WAITS, [job.is_accounted(), false, false, has_qos(job), has_partition(job)])]
            .load(Ordering::Relaxed)
            >= Self::EACH
    }

    /// One job like this is; so nothing of it need be feared, but it may be the only one.
    pub fn has_seen(&self, job: Job<'_>) -> bool {
        self.kinds[kind_of(job)].load(Ordering::Relaxed) > 0
    }

    /// All jobs that there were at one time were looked at.
    pub fn has_surveyed(&self) -> bool {
        self.surveyed.load(Ordering::Relaxed)
    }

    /// All jobs have been looked at.
    pub fn note_survey(&self) {
        self.surveyed.store(true, Ordering::Relaxed);
    }

    /// Something was wrong: all jobs are to be looked at again, and what was wrong is to be so again.
    pub fn look_again(&self) {
        self.surveyed.store(false, Ordering::Relaxed);
        self.kinds.iter().for_each(|kind| kind.store(0, Ordering::Relaxed));
        self.tallies.look_again();
    }

    /// The plugin starts, or a cycle has met nothing that was wrong.
    pub fn note_sound(&self) {
        self.refuted.store(false, Ordering::Relaxed);
    }

    /// Nothing in the records of jobs can be read: they are not as the layout says.
    pub fn has_refuted_jobs(&self) -> bool {
        self.refuted.load(Ordering::Relaxed)
    }

    /// The priority that a job has, where its own record is as the layout says, whatever it leads to is not: size and number of
    /// the record, and slurmctld itself, which was asked where it keeps priorities.
    pub fn priority_of<A: Open>(&self, job: Job<'_, A>) -> Option<u32> {
        let job = job.read_only();
        if self.has_refuted_jobs() || job_record(job).is_err() || self.ask_about_jobs(job.host()).is_err() {
            return None;
        }
        Some(job.get(|job| job.priority))
    }

    fn ask_about_jobs(&self, host: &'static Host) -> Result<(), Failure> {
        if !self.asked.load(Ordering::Relaxed) {
            questions::about_jobs(host).inspect_err(|_| self.refuted.store(true, Ordering::Relaxed))?;
            self.asked.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Associations and QOS were found as the layout says.
    pub fn knows_lists(&self) -> bool {
        self.lists.load(Ordering::Relaxed)
    }

    /// Checks all associations and QOS.
    ///
    /// # Errors
    /// The first check that failed.
    pub fn check_lists<V: Levels<Assoc: Open, Qos: Open>>(
        &self,
        lock: &AssocLock<'_, V>,
    ) -> Result<(), Failure> {
        if !self.knows_lists() {
            records::check_lists(lock)?;
            self.lists.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Checks a job and what it leads to, before anything of it is used. `listed` where the job is in slurmctld's list and in its table of ids, as all are but those that are just made;
    /// `loading` while slurmctld loads the plugin (up to 22.05, without a database): it would wait for itself if it were asked then.
    ///
    /// # Errors
    /// The first check that failed.
    pub fn check_job<V: Levels<Assoc: Open, Qos: Open>>(
        &self,
        lock: &AssocLock<'_, V>,
        job: Job<'_>,
        listed: bool,
        loading: bool,
    ) -> Result<(), Failure> {
        let host = job.host();
        self.check_lists(lock)?;
        let sound = records::check_job(lock, job, listed, &self.tallies)
            .inspect_err(|failure| self.note_failure(job, &failure.found))?;
        if !loading {
            self.ask_about_jobs(host)?;
        }
        if !loading && sound.details && !self.asked_direct.load(Ordering::Relaxed) {
            let learned = questions::about_direct_priorities(host)?;
            self.asked_direct.store(learned, Ordering::Relaxed);
        }
        if sound.partition && !self.asked_allocations.load(Ordering::Relaxed) {
            questions::about_allocations(host)?;
            self.asked_allocations.store(true, Ordering::Relaxed);
        }
        if sound.complete {
            // While the host could not be asked, never enough: what is written stays to be checked.
            let most = if loading { Self::EACH - 1 } else { Self::EACH };
            let count = &self.kinds[kind_of(job)];
            let known = count.load(Ordering::Relaxed);
            count.store(known.saturating_add(1).min(most).max(known), Ordering::Relaxed);
        }
        Ok(())
    }
}

impl Inspector {
    fn note_failure(&self, job: Job<'_>, found: &Found) {
        if *found == Found::NotById || job_record(job).is_err() {
            self.refuted.store(true, Ordering::Relaxed);
        }
    }
}

/// The state of a job that waits, as kinds have it.
const WAITS: usize = 0;

/// Which of the pointers in its record a job has, and whether it waits or runs.
#[inline]
fn kind_of(job: Job<'_>) -> usize {
    let state = job.state();
    let state = match (state.is_pending(), state.is_finished()) {
        (true, _) => WAITS,
        (false, false) => 1,
        (false, true) => 2,
    };
    let several = (job.has_variants(), job.has_several_qos());
    kind(state, [job.is_accounted(), several.0, several.1, has_qos(job), has_partition(job)])
}

#[inline]
fn kind(state: usize, has: [bool; 5]) -> usize {
    has.iter().fold(state, |kind, has| kind << 1 | usize::from(*has))
}

#[inline]
fn has_qos(job: Job<'_>) -> bool {
    !job.get(|job| job.qos_ptr).is_null()
}

#[inline]
fn has_partition(job: Job<'_>) -> bool {
    !job.get(|job| job.part_ptr).is_null()
}
