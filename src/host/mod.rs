//! The boundary to Slurm: all `unsafe` code of the plugin is in this module and in the thin exports.
//!
//! The running release, the layout of its records, its functions, locks, lists, memory and log are found here once ([`Host::establish`])
//! and offered as safe types. Nothing here knows what fair-share is.

// Slurm aligns every field naturally and its allocator every block to 16 bytes.
#![allow(clippy::cast_ptr_alignment)]

pub mod access;
pub mod callers;
pub mod checks;
pub mod clock;
mod conf;
pub mod constants;
pub mod groups;
pub mod jobs;
pub mod known_jobs;
pub mod layout;
pub mod lists;
mod live;
mod loaded;
pub mod locks;
pub mod log;
pub mod long_double;
mod memory;
pub mod order;
pub mod panics;
pub mod partitions;
pub mod prefetch;
pub mod reasons;
pub mod records;
pub mod reply;
pub mod symbols;
#[cfg(feature = "test-overrides")]
mod test_overrides;
mod tres;
pub mod version;
pub mod views;

use std::ffi::{CStr, OsStr};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use once_cell::sync::OnceCell;

use constants::{
    ACCOUNTING_ENFORCE_ASSOCS, ACCOUNTING_ENFORCE_LIMITS, ACCOUNTING_ENFORCE_QOS, ACCOUNTING_ENFORCE_WCKEYS,
    PRIVATE_DATA_JOBS,
};
use layout::{Layout, Release};
use reasons::Obstacles;
use symbols::{find, Symbols, V20_11_6, V23_02, V23_02_3, V23_11_6, V24_05};

/// The running Slurm. It is established once per process and stays: init and fini may alternate.
#[derive(Debug)]
pub struct Host {
    /// The running release.
    pub release: Release,
    /// Where its records keep their fields.
    pub layout: Layout,
    /// False where the release is newer than the headers that the layout was compared with.
    pub verified: bool,
    /// What does not look as the layout says, in a release that this build does not know.
    misfit: OnceCell<checks::Failure>,
    obstacles: Obstacles,
    /// What a submission reads of most jobs.
    submitted: OnceCell<prefetch::Touched>,
    sym: Symbols,
}

// SAFETY: function addresses and the addresses of the host's globals; access to what they lead to is
// governed by the lock guards.
unsafe impl Send for Host {}
// SAFETY: as above.
unsafe impl Sync for Host {}

static HOST: OnceCell<&'static Host> = OnceCell::new();

/// Why the host cannot be used. The text says what to do.
#[derive(Debug)]
pub enum HostError {
    /// No layout for this release.
    Version(version::Mismatch),
    /// Not a Slurm process at all.
    NoSlurm,
    /// Functions or variables that this release should have; the program, where that is not slurmctld.
    Missing(Release, Vec<&'static str>, Option<String>),
    /// The kernel does not let us look whether a record is there.
    Blind(checks::Blind),
    /// The same in slurmctld of a release that this build does not know.
    Newer(Release, Vec<&'static str>),
    /// A record does not look as the table says.
    Check(checks::Failure),
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(mismatch) => mismatch.fmt(f),
            Self::NoSlurm => f.write_str("not loaded by a Slurm process"),
            Self::Missing(release, names, Some(program)) => {
                write!(f, "Slurm {release} lacks {}: {}", names.join(", "), version::Stranger(program))
            }
            Self::Missing(release, names, None) => write!(
                f,
                "slurmctld {release} lacks {}; its build differs from every known one. Set \
                 PriorityType=priority/multifactor and report the release and its packager",
                names.join(", ")
            ),
            Self::Blind(reason) => reason.fmt(f),
            Self::Newer(release, names) => write!(
                f,
                "slurmctld {release} lacks {}; this build does not know that release. Look for a newer slurm-multifactor2, or set \
                 PriorityType=priority/multifactor",
                names.join(", ")
            ),
            Self::Check(failure) => failure.fmt(f),
        }
    }
}

impl std::error::Error for HostError {}

/// True in slurmctld, false in every other process that loads priority plugins (sshare).
pub fn in_slurmctld() -> bool {
    !find(c"lock_slurmctld").is_null() || !find(c"cluster_cpus").is_null()
}

/// How a release of Slurm wants to be served, where releases differ.
impl Host {
    /// The decay thread starts in `priority_p_thread_start`, not in `init`.
    pub fn has_thread_start(&self) -> bool {
        self.release >= V23_11_6
    }

    /// slurmctld can be asked what calls one of our functions. Where init starts the decay thread and a backup takes over, the thread may come
    /// before slurmctld has looked our functions up: up to 22.05 it waits there itself, from 23.02 on it would jump to nothing.
    pub fn has_taken_functions(&self) -> bool {
        self.release < V23_02 || self.has_thread_start() || loaded::is_taken(c"priority_p_set")
    }

    /// Initial priorities without a database are set in `priority_p_recover`, not in `init`.
    pub fn has_recover(&self) -> bool {
        self.release >= V23_02
    }

    /// slurmctld counts the run seconds of each account and user within a QOS.
    pub fn counts_run_seconds_of_users(&self) -> bool {
        self.release >= V24_05
    }

    /// Job sizes are measured against active nodes instead of the whole node table.
    pub fn counts_active_nodes(&self) -> bool {
        self.release >= V23_02
    }

    /// The site factor plugin must load, and loads first.
    pub fn site_factor_first(&self) -> bool {
        self.release >= V23_02_3
    }

    /// After a restart the run seconds of a partition's QOS are corrected, too (an omission before).
    pub fn corrects_partition_qos(&self) -> bool {
        self.release >= V20_11_6
    }

    /// TRES that a QOS counts are left alone for a job without association.
    pub fn qos_tres_need_association(&self) -> bool {
        self.release >= V24_05
    }

    /// The caller of `priority_p_get_priority_factors_list` holds the job lock.
    pub fn list_caller_locks(&self) -> bool {
        self.release >= V23_02
    }
}

impl Host {
    /// The host, once [`Host::establish`] has succeeded.
    pub fn get() -> Option<&'static Self> {
        HOST.get().copied()
    }

    /// Finds and checks the host. In slurmctld only. A release that this build does not know is not refused where it does not look
    /// as the layout says, but has a [`Host::misfit`]: a site that updates Slurm must be able to start it.
    ///
    /// # Errors
    /// Why it cannot be used; nothing has been written anywhere then.
    pub fn establish() -> Result<&'static Self, HostError> {
        // It stays the same slurmctld. After a failed reconfigure, which comes here again, another thread of its own is loading
        // associations, and the root might be gone while it is looked at.
        if let Some(host) = HOST.get() {
            return Ok(host);
        }
        let host = Self::find()?;
        checks::can_look().map_err(HostError::Blind)?;
        match checks::check_at_start(host) {
            Err(failure) if host.verified => return Err(HostError::Check(failure)),
            Err(failure) => drop(host.misfit.set(failure)),
            Ok(()) => {}
        }
        Ok(HOST.get_or_init(|| host))
    }

    /// What does not look as the layout says, in a release that this build does not know: nothing but functions of slurmctld's may
    /// be used, and a job's record where slurmctld itself has said where its fields are.
    pub fn misfit(&self) -> Option<&checks::Failure> {
        self.misfit.get()
    }

    fn find() -> Result<&'static Self, HostError> {
        let evidence = version::gather().ok_or(HostError::NoSlurm)?;
        let found = version::choose(&evidence).map_err(HostError::Version)?;
        let sym = Symbols::find(found.release).map_err(|names| match version::stranger() {
            None if !found.verified => HostError::Newer(found.release, names),
            stranger => HostError::Missing(found.release, names, stranger),
        })?;
        // Never freed: records keep a reference, and a process that refuses us ends.
        Ok(Box::leak(Box::new(Self {
            release: found.release,
            layout: *found.layout,
            verified: found.verified,
            misfit: OnceCell::new(),
            submitted: OnceCell::new(),
            obstacles: Obstacles::of(found.release),
            sym,
        })))
    }

    /// Forgets which associations and QOS there are: before init, slurmctld may have loaded all of them anew.
    pub fn forget_lists(&self) {
        live::forget();
    }

    /// Fetches what a submission will read of most jobs.
    pub fn fetch_submitted<A: access::Open>(&self, job: records::Job<'_, A>) {
        self.submitted.get_or_init(|| views::submitted_job(self)).fetch(job);
    }

    /// Number of TRES that the cluster knows.
    pub fn tres_count(&self) -> usize {
        // SAFETY: an `int` of the host.
        usize::try_from(unsafe { *self.sym.slurmctld_tres_cnt }).unwrap_or(0)
    }

    /// CPUs of the cluster.
    pub fn cluster_cpus(&self) -> u32 {
        // SAFETY: a `uint32_t` of the host.
        unsafe { *self.sym.cluster_cpus }
    }

    /// Nodes that job sizes are measured against.
    pub fn node_count(&self) -> u32 {
        let address = match self.sym.active_node_record_count {
            Some(active) if self.counts_active_nodes() => active,
            _ => self.sym.node_record_count,
        };
        // SAFETY: an `int` of the host.
        u32::try_from(unsafe { *address }).unwrap_or(0)
    }

    /// `AccountingStorageEnforce` has `limits`.
    pub fn enforces_limits(&self) -> bool {
        self.enforced() & ACCOUNTING_ENFORCE_LIMITS != 0
    }

    /// `AccountingStorageEnforce` has `associations`.
    pub fn enforces_associations(&self) -> bool {
        self.enforced() & ACCOUNTING_ENFORCE_ASSOCS != 0
    }

    /// `AccountingStorageEnforce` has `qos`: users may submit to their own QOS only.
    pub fn enforces_qos(&self) -> bool {
        self.enforced() & ACCOUNTING_ENFORCE_QOS != 0
    }

    /// `AccountingStorageEnforce` has `wckeys`: users may name their own keys only.
    pub fn enforces_wckeys(&self) -> bool {
        self.enforced() & ACCOUNTING_ENFORCE_WCKEYS != 0
    }

    /// `PrivateData` hides jobs.
    pub fn hides_jobs(&'static self) -> bool {
        self.conf().get(|conf| conf.private_data) & PRIVATE_DATA_JOBS != 0
    }

    /// Why a job waits, as squeue shows it; empty where the release does not tell.
    pub fn reason(&self, number: u32) -> String {
        let name = self.sym.job_state_reason_string.or(self.sym.job_reason_string);
        // SAFETY: a number; the text that comes back is a constant, or for an unknown one a buffer of the function's own.
        let text = name.map_or(std::ptr::null(), |name| unsafe { name(number) });
        if text.is_null() {
            return String::new();
        }
        // SAFETY: terminated, see above.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }

    /// `AccountingStorageEnforce`, as bits.
    pub fn enforced(&self) -> u16 {
        // SAFETY: a `uint16_t` of the host.
        unsafe { *self.sym.accounting_enforce }
    }

    /// The MCS plugin decides who sees a job, and does so by the accounts that a user has associations in (mcs/account). Its own
    /// answer takes the association manager's lock for associations.
    pub fn shows_jobs_by_account(&'static self) -> bool {
        // SAFETY: no arguments.
        self.hides_jobs()
            && unsafe { (self.sym.mcs_privatedata)() } == 1
            && loaded::is_loaded("mcs_account.so")
    }

    /// Accounting goes through slurmdbd.
    pub fn has_database(&self) -> bool {
        // SAFETY: no arguments.
        unsafe { (self.sym.slurm_with_slurmdbd)() }
    }

    /// Where the list of partitions is, to be compared only; 0 where the release does not tell.
    pub fn partitions_address<A: access::Open>(&self, _jobs: &locks::JobLock<'_, A>) -> usize {
        // SAFETY: a pointer of the host that changes under the job write lock.
        self.sym.part_list.map_or(0, |list| unsafe { *list } as usize)
    }

    /// When a partition last changed.
    pub fn last_partition_update(&self) -> i64 {
        // SAFETY: a `time_t` of the host; read under the partition lock.
        unsafe { *self.sym.last_part_update }
    }

    /// Tells clients that job records changed.
    pub fn note_job_update(&self, _jobs: &locks::JobLock<'_, access::Write>, now: i64) {
        // SAFETY: a `time_t` of the host, written under the job write lock as the host does.
        unsafe { *self.sym.last_job_update = now }
    }

    /// Path of a file in the directory of slurm.conf.
    pub fn conf_path(&self, file: &CStr) -> PathBuf {
        // SAFETY: a terminated name; the path that comes back is ours to free.
        unsafe {
            let path = (self.sym.extra_conf_path)(file.as_ptr());
            if path.is_null() {
                return PathBuf::from(OsStr::from_bytes(file.to_bytes()));
            }
            let copy = PathBuf::from(OsStr::from_bytes(CStr::from_ptr(path).to_bytes()));
            self.free(path.cast());
            copy
        }
    }

    /// Keeps slurmctld from copying or writing state files while `body` writes ours, where the release exports that lock.
    pub fn with_state_files_locked<T>(&self, body: impl FnOnce() -> T) -> T {
        struct Unlock(Option<unsafe extern "C" fn()>);
        impl Drop for Unlock {
            fn drop(&mut self) {
                if let Some(unlock) = self.0 {
                    // SAFETY: counterpart of the lock taken below, on the same thread.
                    unsafe { unlock() }
                }
            }
        }
        let (lock, unlock) = match (self.sym.lock_state_files, self.sym.unlock_state_files) {
            (Some(lock), Some(unlock)) => (Some(lock), Some(unlock)),
            _ => (None, None),
        };
        if let Some(lock) = lock {
            // SAFETY: no arguments; released by the guard.
            unsafe { lock() }
        }
        let _unlock = Unlock(unlock);
        body()
    }

    /// Starts the site factor plugin; false where it could not be loaded.
    pub fn start_site_factor(&self) -> bool {
        let init = self.sym.site_factor_g_init.or(self.sym.site_factor_plugin_init);
        // SAFETY: no arguments.
        init.is_none_or(|init| unsafe { init() } == 0)
    }

    /// Whether slurm.conf names a site factor plugin that does anything. It is loaded once, so that is asked once.
    pub fn has_site_factor(&'static self) -> bool {
        let name = self.conf_text(|conf| conf.site_factor_plugin);
        !matches!(name.trim_start_matches("site_factor/"), "" | "none")
    }

    /// Stops the site factor plugin.
    pub fn stop_site_factor(&self) {
        if let Some(fini) = self.sym.site_factor_g_fini.or(self.sym.site_factor_plugin_fini) {
            // SAFETY: no arguments.
            unsafe { fini() };
        }
    }

    /// Tells the site factor plugin of a new configuration, in the releases that do.
    pub fn reconfigure_site_factor(&self) {
        if let Some(reconfig) = self.sym.site_factor_g_reconfig {
            // SAFETY: no arguments.
            unsafe { reconfig() };
        }
    }

    /// Lets the site factor plugin set a new job's factor.
    pub fn set_site_factor(&self, job: records::Job<'_, access::Write>) {
        // SAFETY: a live job.
        unsafe { (self.sym.site_factor_g_set)(job.as_ptr().cast()) }
    }

    /// Lets the site factor plugin update all jobs.
    pub fn update_site_factors(&self, _jobs: &locks::JobLock<'_, access::Write>) {
        // SAFETY: no arguments; the job write lock is held.
        unsafe { (self.sym.site_factor_g_update)() }
    }
}
