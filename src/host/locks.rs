//! Slurm's locks as guards that cannot be taken in the wrong order.
//!
//! The order is: slurmctld's locks, then the association manager's, then our own. A thread that holds
//! nothing has an [`Unlocked`]; taking a lock borrows it, so a second slurmctld lock, or one after an
//! association lock, does not compile. An export that is called with locks held gets a [`Caller`],
//! which can only add what may still be taken. Debug builds also check the order at run time ([`super::order`]), with what
//! the caller of an export holds in the running release.

use std::io;
use std::marker::PhantomData;
use std::thread::{Builder, JoinHandle};

use super::constants::{READ_LOCK, WRITE_LOCK};
use super::layout::{AssocLayout, JobLayout, QosLayout};
use super::lists::List;
use super::live::Hold;
use super::order::{self, Entered};
use super::records::{Association, Job};
use super::Host;

const READ: u32 = READ_LOCK;
const WRITE: u32 = WRITE_LOCK;

/// Which of the association manager's locks to take. The others stay free.
#[derive(Clone, Copy, Debug, Default)]
pub struct AssocLevels {
    assoc: u32,
    qos: u32,
    tres: u32,
}

impl AssocLevels {
    /// Associations, QOS and TRES for reading: what a job's factors and their explanation need.
    pub const READ: Self = Self { assoc: READ, qos: READ, tres: READ };
    /// Associations and QOS for reading: what a job's factors need without explanation.
    pub const READ_FACTORS: Self = Self { assoc: READ, qos: READ, tres: 0 };
    /// QOS for reading: what the list for `sprio` needs where its caller holds no lock.
    pub const READ_QOS: Self = Self { assoc: 0, qos: READ, tres: 0 };
    /// Associations for writing.
    pub const WRITE_ASSOC: Self = Self { assoc: WRITE, qos: 0, tres: 0 };
    /// Associations and QOS for writing, TRES for reading: what charging and decay need.
    pub const WRITE_USAGE: Self = Self { assoc: WRITE, qos: WRITE, tres: READ };

    /// In the order of `assoc_mgr_lock_t`: assoc, file, qos, res, tres, user, wckey.
    fn raw(self) -> [u32; 7] {
        [self.assoc, 0, self.qos, 0, self.tres, 0, 0]
    }
}

/// `slurmctld_lock_t` of every release; the sixth level exists from 26.05 on.
#[repr(C)]
#[derive(Clone, Copy)]
struct SlurmctldLevels([u32; 6]);

extern "C" {
    fn mf2_call_slurmctld_lock(function: *mut std::ffi::c_void, levels: *const SlurmctldLevels);
}

/// Ties a guard to what it was borrowed from, and to its thread: a lock is released by the thread that took it.
type OnThread<'t> = PhantomData<*mut &'t ()>;

/// Held by a thread that holds no lock of the host.
#[derive(Debug)]
pub struct Unlocked {
    host: &'static Host,
    thread: OnThread<'static>,
    _entered: Entered,
}

/// Starts a thread that holds no lock of the host.
///
/// # Errors
/// The system has no thread to give.
pub fn spawn(
    host: &'static Host,
    name: &str,
    body: impl FnOnce(Unlocked) + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    Builder::new().name(name.to_owned()).spawn(move || {
        body(Unlocked { host, thread: PhantomData, _entered: Entered::new(host.release, "") });
    })
}

/// Held by an export that the host calls with slurmctld's job lock held.
#[derive(Debug)]
pub struct Caller {
    host: &'static Host,
    thread: OnThread<'static>,
    _entered: Entered,
}

/// Held by an export that the host calls with the job, node and partition locks and the association manager's QOS lock, all
/// for reading. It can take nothing more: whoever waits for associations there waits for one who may be waiting for the QOS.
#[derive(Debug)]
pub struct ListCaller {
    host: &'static Host,
    thread: OnThread<'static>,
    _entered: Entered,
    _hold: Hold,
}

/// slurmctld's job lock, with nodes and partitions for reading.
#[derive(Debug)]
pub struct JobLock<'t> {
    host: &'static Host,
    levels: SlurmctldLevels,
    thread: OnThread<'t>,
}

/// The association manager's lock.
#[derive(Debug)]
pub struct AssocLock<'t> {
    host: &'static Host,
    raw: [u32; 7],
    /// Of a caller, who lets go of it itself.
    of_caller: Option<Entered>,
    /// Ends before the lock does.
    hold: Option<Hold>,
    thread: OnThread<'t>,
}

impl std::fmt::Debug for SlurmctldLevels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl Unlocked {
    /// For an `export` that the host calls without locks.
    ///
    /// # Safety
    /// This thread holds none of the locks that the token can take.
    pub unsafe fn new(host: &'static Host, export: &'static str) -> Self {
        Self { host, thread: PhantomData, _entered: Entered::new(host.release, export) }
    }

    /// The host.
    pub fn host(&self) -> &'static Host {
        self.host
    }

    /// Jobs for writing.
    pub fn jobs_write(&mut self) -> JobLock<'_> {
        JobLock::take(self.host, WRITE)
    }

    /// Jobs for reading.
    pub fn jobs_read(&mut self) -> JobLock<'_> {
        JobLock::take(self.host, READ)
    }

    /// Associations, without the job lock.
    pub fn associations(&mut self, levels: AssocLevels) -> AssocLock<'_> {
        AssocLock::take(self.host, levels)
    }
}

impl Caller {
    /// For an `export` that the host calls with its job lock, and without the association manager's.
    ///
    /// # Safety
    /// That is so.
    pub unsafe fn new(host: &'static Host, export: &'static str) -> Self {
        Self { host, thread: PhantomData, _entered: Entered::new(host.release, export) }
    }

    /// The host.
    pub fn host(&self) -> &'static Host {
        self.host
    }

    /// Whether there is a job with an id.
    pub fn has_job(&self, id: u32) -> bool {
        // SAFETY: an id is all that the function needs, and the caller holds the job lock.
        unsafe { !(self.host.sym.find_job_record)(id).is_null() }
    }

    /// Associations, under the caller's job lock.
    pub fn associations(&self, levels: AssocLevels) -> AssocLock<'_> {
        AssocLock::take(self.host, levels)
    }
}

impl ListCaller {
    /// For an `export` that the host calls with its job lock and the association manager's for QOS.
    ///
    /// # Safety
    /// That is so.
    pub unsafe fn new(host: &'static Host, export: &'static str) -> Self {
        Self {
            host,
            thread: PhantomData,
            _entered: Entered::new(host.release, export),
            _hold: Hold::begin(false, true),
        }
    }

    /// The host.
    pub fn host(&self) -> &'static Host {
        self.host
    }

    /// The jobs.
    pub fn jobs(&self) -> Option<List<'_, JobLayout>> {
        // SAFETY: the job list, which lives while its lock is held.
        unsafe { List::new(self.host, *self.host.sym.job_list) }
    }
}

impl JobLock<'_> {
    fn take(host: &'static Host, job: u32) -> Self {
        // conf, job, node, part, fed, select_node
        let levels = SlurmctldLevels([0, job, READ, READ, 0, 0]);
        order::take_slurmctld(&levels.0);
        // SAFETY: the function of the host and levels that it knows.
        unsafe { mf2_call_slurmctld_lock(host.sym.lock_slurmctld, &raw const levels) };
        Self { host, levels, thread: PhantomData }
    }

    /// The host.
    pub fn host(&self) -> &'static Host {
        self.host
    }

    /// Associations, on top of the job lock.
    pub fn associations(&self, levels: AssocLevels) -> AssocLock<'_> {
        AssocLock::take(self.host, levels)
    }

    /// The jobs.
    pub fn jobs(&self) -> Option<List<'_, JobLayout>> {
        // SAFETY: the job list, which lives while its lock is held.
        unsafe { List::new(self.host, *self.host.sym.job_list) }
    }

    /// All jobs, in order.
    pub fn all_jobs(&self) -> Vec<Job<'_>> {
        self.jobs().map_or_else(Vec::new, List::collect)
    }

    /// How many there are.
    pub fn job_count(&self) -> usize {
        self.jobs().map_or(0, List::len)
    }

    /// A job by its id.
    pub fn job(&self, id: u32) -> Option<Job<'_>> {
        // SAFETY: null or a job that lives while the lock is held.
        unsafe { Job::new(self.host, (self.host.sym.find_job_record)(id).cast()) }
    }
}

impl Drop for JobLock<'_> {
    fn drop(&mut self) {
        // SAFETY: releases what `take` took, on the same thread (the guard is not Send).
        unsafe { mf2_call_slurmctld_lock(self.host.sym.unlock_slurmctld, &raw const self.levels) };
        order::leave_slurmctld();
    }
}

impl AssocLock<'_> {
    fn take(host: &'static Host, levels: AssocLevels) -> Self {
        let mut raw = levels.raw();
        order::take_assoc(&raw);
        // SAFETY: the function of the host and levels that it knows.
        unsafe { (host.sym.assoc_mgr_lock)(&raw mut raw) };
        let hold = Some(Hold::begin(levels.assoc != 0, levels.qos != 0));
        Self { host, raw, of_caller: None, hold, thread: PhantomData }
    }

    /// The host.
    pub fn host(&self) -> &'static Host {
        self.host
    }

    /// For an `export` that the host calls with the association lock held.
    ///
    /// # Safety
    /// That is so for the whole of `'t`.
    pub unsafe fn of_caller(host: &'static Host, export: &'static str) -> Self {
        let entered = Some(Entered::new(host.release, export));
        let hold = Some(Hold::begin(true, false));
        Self { host, raw: [0; 7], of_caller: entered, hold, thread: PhantomData }
    }

    /// The association of the root account.
    pub fn root(&self) -> Option<Association<'_>> {
        // SAFETY: null or a live association while the lock is held.
        unsafe { Association::new(self.host, (*self.host.sym.assoc_mgr_root_assoc).cast()) }
    }

    /// All associations.
    pub fn all(&self) -> Option<List<'_, AssocLayout>> {
        // SAFETY: null or a live list while the lock is held.
        unsafe { List::new(self.host, *self.host.sym.assoc_mgr_assoc_list) }
    }

    /// All QOS.
    pub fn qos(&self) -> Option<List<'_, QosLayout>> {
        // SAFETY: null or a live list while the lock is held.
        unsafe { List::new(self.host, *self.host.sym.assoc_mgr_qos_list) }
    }
}

impl Drop for AssocLock<'_> {
    fn drop(&mut self) {
        self.hold = None;
        if self.of_caller.is_none() {
            // SAFETY: releases what `take` took, on the same thread (the guard is not Send).
            unsafe { (self.host.sym.assoc_mgr_unlock)(&raw mut self.raw) };
            order::leave_assoc();
        }
    }
}
