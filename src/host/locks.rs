//! Slurm's locks as guards that cannot be taken in the wrong order.
//!
//! The order is: slurmctld's locks, then the association manager's, then our own. A thread that holds nothing has an [`Unlocked`]. Taking a
//! lock borrows it, so a second slurmctld lock, or one after an association lock, does not compile. An export that is called with locks
//! held gets guards that release nothing (`of_caller`). What a guard gives can be written only if its lock is held for writing: see
//! [`super::access`]. Debug builds also check the order at run time ([`super::order`]), with the locks that the caller of an export holds
//! in the running release.

use std::io;
use std::marker::PhantomData;
use std::thread::{Builder, JoinHandle};

use super::access::{Access, Closed, Open, Read, Write};
use super::layout::{AssocLayout, JobLayout, PartLayout, QosLayout};
use super::lists::List;
use super::live::Confirmed;
use super::order::{self, Entered};
use super::records::{Association, Job};
use super::Host;

/// Which of the association manager's locks a guard holds, and how. The others stay free.
pub trait Levels: 'static {
    /// Associations.
    type Assoc: Access;
    /// QOS.
    type Qos: Access;
    /// TRES.
    type Tres: Access;
}

macro_rules! levels {
    ($($(#[$doc:meta])* $name:ident: $assoc:ident, $qos:ident, $tres:ident;)*) => { $(
        $(#[$doc])*
        #[derive(Debug)]
        pub enum $name {}

        impl Levels for $name {
            type Assoc = $assoc;
            type Qos = $qos;
            type Tres = $tres;
        }
    )* };
}

levels! {
    /// What a job's factors need.
    Factors: Read, Read, Closed;
    /// What a job's factors and their explanation need.
    Explained: Read, Read, Read;
    /// What the list for `sprio` needs.
    QosOnly: Closed, Read, Closed;
    /// What the shares and usage of associations are read with.
    Shares: Read, Closed, Closed;
    /// What `sshare` shows is written.
    Shown: Write, Closed, Closed;
    /// Usage is decayed and charged.
    Usage: Write, Write, Read;
}

/// `slurmctld_lock_t` of every release; the sixth level exists from 26.05 on.
#[repr(C)]
#[derive(Clone, Copy)]
struct SlurmctldLevels([u32; 6]);

impl std::fmt::Debug for SlurmctldLevels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

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
    pub fn jobs_write(&mut self) -> JobLock<'_, Write> {
        JobLock::take(self.host)
    }

    /// Jobs for reading.
    pub fn jobs_read(&mut self) -> JobLock<'_, Read> {
        JobLock::take(self.host)
    }

    /// The association manager's, without the job lock.
    pub fn associations<V: Levels>(&mut self) -> AssocLock<'_, V> {
        AssocLock::take(self.host)
    }
}

/// Releases a lock.
#[derive(Debug)]
enum Owner<L> {
    /// We do, with the levels that were taken.
    Us(L),
    /// The caller of an export.
    Caller { _entered: Entered },
}

/// slurmctld's job lock, with nodes and partitions for reading.
#[derive(Debug)]
pub struct JobLock<'t, A: Open = Read> {
    host: &'static Host,
    owner: Owner<SlurmctldLevels>,
    thread: OnThread<'t>,
    access: PhantomData<A>,
}

impl<A: Open> JobLock<'_, A> {
    fn take(host: &'static Host) -> Self {
        // conf, job, node, part, fed, select_node
        let levels = SlurmctldLevels([0, A::LEVEL, Read::LEVEL, Read::LEVEL, 0, 0]);
        order::take_slurmctld(&levels.0);
        // SAFETY: the function of the host and levels that it knows.
        unsafe { mf2_call_slurmctld_lock(host.sym.lock_slurmctld, &raw const levels) };
        Self { host, owner: Owner::Us(levels), thread: PhantomData, access: PhantomData }
    }

    /// For an `export` that the host calls with its job lock held.
    ///
    /// # Safety
    /// That is so as long as the guard lives, and the caller holds none of the association manager's locks that are taken
    /// with it.
    pub unsafe fn of_caller(host: &'static Host, export: &'static str) -> Self {
        let owner = Owner::Caller { _entered: Entered::new(host.release, export) };
        Self { host, owner, thread: PhantomData, access: PhantomData }
    }

    /// The host.
    pub fn host(&self) -> &'static Host {
        self.host
    }

    /// The association manager's, on top of the job lock.
    pub fn associations<V: Levels>(&self) -> AssocLock<'_, V> {
        AssocLock::take(self.host)
    }

    /// The jobs.
    pub fn jobs(&self) -> Option<List<'_, JobLayout, A>> {
        // SAFETY: the job list, which lives while its lock is held.
        unsafe { List::new(self.host, *self.host.sym.job_list) }
    }

    /// All jobs, in order.
    pub fn all_jobs(&self) -> Vec<Job<'_, A>> {
        self.jobs().map_or_else(Vec::new, List::collect)
    }

    /// All partitions; the lock includes that of partitions. `None` also where the host does not offer them.
    pub fn all_partitions(&self) -> Option<List<'_, PartLayout>> {
        let list = self.host.sym.part_list?;
        // SAFETY: null or the host's list, which lives while the lock of partitions is held.
        unsafe { List::new(self.host, *list) }
    }

    /// How many there are.
    pub fn job_count(&self) -> usize {
        self.jobs().map_or(0, List::len)
    }

    /// A job by its id.
    pub fn job(&self, id: u32) -> Option<Job<'_, A>> {
        // SAFETY: null or a job that lives while the lock is held.
        unsafe { Job::new(self.host, (self.host.sym.find_job_record)(id).cast()) }
    }
}

impl<A: Open> Drop for JobLock<'_, A> {
    fn drop(&mut self) {
        if let Owner::Us(levels) = &self.owner {
            // SAFETY: releases what `take` took, on the same thread (the guard is not Send).
            unsafe { mf2_call_slurmctld_lock(self.host.sym.unlock_slurmctld, &raw const *levels) };
            order::leave_slurmctld();
        }
    }
}

/// The association manager's locks, those that `V` names.
#[derive(Debug)]
pub struct AssocLock<'t, V: Levels> {
    host: &'static Host,
    owner: Owner<[u32; 7]>,
    /// Which associations and QOS there are, as far as this hold has asked.
    confirmed: Confirmed,
    thread: OnThread<'t>,
    levels: PhantomData<V>,
}

impl<V: Levels> AssocLock<'_, V> {
    fn take(host: &'static Host) -> Self {
        // In the order of `assoc_mgr_lock_t`: assoc, file, qos, res, tres, user, wckey.
        let mut levels = [V::Assoc::LEVEL, 0, V::Qos::LEVEL, 0, V::Tres::LEVEL, 0, 0];
        order::take_assoc(&levels);
        // SAFETY: the function of the host and levels that it knows.
        unsafe { (host.sym.assoc_mgr_lock)(&raw mut levels) };
        Self {
            host,
            owner: Owner::Us(levels),
            confirmed: Confirmed::default(),
            thread: PhantomData,
            levels: PhantomData,
        }
    }

    /// For an `export` that the host calls with these locks held.
    ///
    /// # Safety
    /// That is so as long as the guard lives. Where `V` names a lock for writing, the host itself writes at this place what
    /// the plugin writes.
    pub unsafe fn of_caller(host: &'static Host, export: &'static str) -> Self {
        let owner = Owner::Caller { _entered: Entered::new(host.release, export) };
        Self { host, owner, confirmed: Confirmed::default(), thread: PhantomData, levels: PhantomData }
    }

    /// The host.
    pub fn host(&self) -> &'static Host {
        self.host
    }

    /// Name of a TRES, for people; its number where this guard does not hold the lock on TRES.
    pub fn tres_name(&self, index: usize) -> String {
        if V::Tres::LEVEL != Closed::LEVEL && index < self.host.tres_count() {
            // SAFETY: an array with one terminated name per TRES, under its lock.
            unsafe {
                let names = *self.host.sym.assoc_mgr_tres_name_array;
                if !names.is_null() && !(*names.add(index)).is_null() {
                    return std::ffi::CStr::from_ptr(*names.add(index)).to_string_lossy().into_owned();
                }
            }
        }
        index.to_string()
    }

    pub(super) fn confirmed(&self) -> &Confirmed {
        &self.confirmed
    }
}

impl<V: Levels<Assoc: Open>> AssocLock<'_, V> {
    /// The association of the root account.
    pub fn root(&self) -> Option<Association<'_, V::Assoc>> {
        // SAFETY: null or a live association while the lock is held.
        unsafe { Association::new(self.host, (*self.host.sym.assoc_mgr_root_assoc).cast()) }
    }

    /// All associations.
    pub fn all(&self) -> Option<List<'_, AssocLayout, V::Assoc>> {
        // SAFETY: null or a live list while the lock is held.
        unsafe { List::new(self.host, *self.host.sym.assoc_mgr_assoc_list) }
    }
}

impl<V: Levels<Qos: Open>> AssocLock<'_, V> {
    /// All QOS.
    pub fn qos(&self) -> Option<List<'_, QosLayout, V::Qos>> {
        // SAFETY: null or a live list while the lock is held.
        unsafe { List::new(self.host, *self.host.sym.assoc_mgr_qos_list) }
    }
}

impl<V: Levels> Drop for AssocLock<'_, V> {
    fn drop(&mut self) {
        if let Owner::Us(levels) = &mut self.owner {
            // SAFETY: releases what `take` took, on the same thread (the guard is not Send).
            unsafe { (self.host.sym.assoc_mgr_unlock)(&raw mut *levels) };
            order::leave_assoc();
        }
    }
}
