//! The C interface that slurmctld looks up: one line each, behind the panic wall.
//!
//! It exports the union of what all supported releases require; extra symbols are ignored. The method of [`Plugin`](crate::plugin::Plugin)
//! that answers a call says which lock the host holds at that call.

#![allow(non_upper_case_globals)] // the names are Slurm's

use std::ffi::{c_int, c_void, CStr};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::faults;
use crate::host::access::Write;
use crate::host::checks::asking;
use crate::host::locks::{AssocLock, JobLock, Unlocked};
use crate::host::panics::{guard, install_hook};
use crate::host::records::{Association, Job};
use crate::host::symbols::RawList;
use crate::host::{in_slurmctld, log, long_double, reply, version, Host, HostError};
use crate::identity::{NAME, PRIORITY_TYPE};
use crate::plugin::{after, PLUGIN};
use multifactor2_core::competition::fair_share_factor;

const SLURM_SUCCESS: c_int = 0;
const SLURM_ERROR: c_int = -1;

/// What the plugin calls itself.
#[no_mangle]
pub static plugin_name: [u8; NAME.count_bytes() + 1] = bytes(NAME);

/// The `PriorityType` that it serves.
#[no_mangle]
pub static plugin_type: [u8; PRIORITY_TYPE.count_bytes() + 1] = bytes(PRIORITY_TYPE);

/// The release that it serves: 0, which no host accepts, until the constructor has found out which one runs.
#[no_mangle]
pub static plugin_version: AtomicU32 = AtomicU32::new(0);

/// A text with its end, as Slurm wants it: not a pointer.
const fn bytes<const SIZE: usize>(text: &CStr) -> [u8; SIZE] {
    let text = text.to_bytes_with_nul();
    let mut bytes = [0; SIZE];
    let mut at = 0;
    while at < text.len() {
        bytes[at] = text[at];
        at += 1;
    }
    bytes
}

/// Runs when the object is loaded, before the host looks at `plugin_version`.
#[used]
#[link_section = ".init_array"]
static CONSTRUCTOR: extern "C" fn() = announce_version;

extern "C" fn announce_version() {
    guard(
        || {
            faults::point("constructor");
            let Some(evidence) = version::gather() else { return };
            match version::choose(&evidence) {
                Ok(found) => plugin_version.store(found.release.0, Ordering::Relaxed),
                Err(mismatch) => log::error_line(&format!("priority/multifactor2: {mismatch}")),
            }
        },
        || (),
    );
}

/// Called once after loading, and again after fini. 0 for success.
#[no_mangle]
pub extern "C" fn init() -> c_int {
    // sshare loads priority plugins, too: there is nothing to set up and nothing to say.
    if !in_slurmctld() {
        return SLURM_SUCCESS;
    }
    log::install();
    install_hook();
    guard(
        || {
            faults::point("init");
            match Host::establish() {
                Ok(host) => {
                    // Up to 22.05 the only caller that comes this far, slurmctld's main thread, holds nothing; the others in the
                    // table load a plugin that is loaded already.
                    let export = if host.has_recover() { "init" } else { "" };
                    // SAFETY: the host calls without association locks. From 23.02 on it holds its configuration, job, node and
                    // partition locks for writing unless it takes over: there the plugin takes none of them.
                    let unlocked = unsafe { Unlocked::new(host, export) };
                    PLUGIN.start(unlocked).map_or(SLURM_ERROR, |()| SLURM_SUCCESS)
                }
                Err(problem @ HostError::Newer(..)) => {
                    PLUGIN.start_without_host(&problem);
                    SLURM_SUCCESS
                }
                Err(problem) => {
                    log::error_line(&format!("priority/multifactor2: {problem}"));
                    SLURM_ERROR
                }
            }
        },
        || SLURM_ERROR,
    )
}

/// Called before unloading. The return value is not looked at (and does not exist from 25.11 on).
#[no_mangle]
pub extern "C" fn fini() -> c_int {
    if in_slurmctld() {
        guard(
            || {
                faults::point("fini");
                PLUGIN.stop();
            },
            || (),
        );
    }
    SLURM_SUCCESS
}

/// The job that the host passed with its job write lock held; nothing where init has not succeeded.
///
/// # Safety
/// `address` is null or a live job for the duration of the call, and the lock is held.
unsafe fn job_of_caller<'a>(
    address: *mut c_void,
    export: &'static str,
) -> Option<(JobLock<'a, Write>, Job<'a, Write>)> {
    let host = Host::get()?;
    // SAFETY: the caller's promise.
    unsafe { Job::new(host, address.cast()).map(|job| (JobLock::of_caller(host, export), job)) }
}

/// The priority of a job.
///
/// # Safety
/// Called by slurmctld with a live job and the job write lock.
#[no_mangle]
pub unsafe extern "C" fn priority_p_set(last_priority: u32, job: *mut c_void) -> u32 {
    if let Some(answer) = asking::answer(last_priority) {
        return answer;
    }
    let address = job as usize;
    // SAFETY: the host's promise.
    let job = unsafe { job_of_caller(job, "priority_p_set") };
    let Some((jobs, job)) = job else {
        return guard(|| PLUGIN.keep_unread(last_priority, address), || after(last_priority));
    };
    guard(
        || {
            faults::point("set");
            PLUGIN.set(&jobs, last_priority, job)
        },
        // After a fault the job keeps what it has.
        || guard(|| PLUGIN.keep(last_priority, job), || after(last_priority)),
    )
}

/// A new configuration; true where the host has counted limits in use anew (up to 23.02).
#[no_mangle]
pub extern "C" fn priority_p_reconfig(association_limits_cleared: bool) {
    guard(
        || {
            faults::point("reconfig");
            if let Some(host) = Host::get() {
                // SAFETY: who calls with true holds no lock. Who calls with false (scontrol setdebugflags, a change of
                // FairShareDampeningFactor) holds the configuration and job locks, and gets no token.
                let unlocked = association_limits_cleared.then(|| unsafe { Unlocked::new(host, "") });
                PLUGIN.reconfigure(host, unlocked);
            }
        },
        || (),
    );
}

/// What sshare shows of one association.
///
/// # Safety
/// Called by slurmctld with a live association and the association lock.
#[no_mangle]
pub unsafe extern "C" fn priority_p_set_assoc_usage(association: *mut c_void) {
    guard(
        || {
            faults::point("set_assoc_usage");
            let Some(host) = Host::get() else { return };
            // SAFETY: the host's promise, for the duration of the call; it writes there itself under its read lock. (Up to 22.05 one caller, the UsageThreshold of a QOS, may
            // come without the lock, but only for an effective usage of NO_VAL, which this plugin never leaves.)
            let (lock, association) = unsafe {
                (
                    AssocLock::of_caller(host, "priority_p_set_assoc_usage"),
                    Association::new(host, association.cast()),
                )
            };
            if let Some(association) = association {
                PLUGIN.set_association_usage(&lock, association);
            }
        },
        || (),
    );
}

/// Charges a job for the last time.
///
/// # Safety
/// Called by slurmctld with a live job and the job write lock.
#[no_mangle]
pub unsafe extern "C" fn priority_p_job_end(job: *mut c_void) {
    // SAFETY: the host's promise.
    let job = unsafe { job_of_caller(job, "priority_p_job_end") };
    guard(
        || {
            faults::point("job_end");
            if let Some((jobs, job)) = &job {
                PLUGIN.job_end(jobs, *job);
            }
        },
        || (),
    );
}

/// What sprio shows. Up to 23.11 the arguments are a request and a user id, from 24.05 on only a user id.
///
/// # Safety
/// Called by slurmctld with a live request or null, or with a number.
#[no_mangle]
pub unsafe extern "C" fn priority_p_get_priority_factors_list(first: *mut c_void, second: u32) -> RawList {
    const LIST: &str = "priority_p_get_priority_factors_list";
    guard(
        || {
            faults::point("factors_list");
            // Where nothing of slurmctld's may be read, the request is not, either.
            let Some(host) = Host::get().filter(|host| host.misfit().is_none()) else {
                return std::ptr::null_mut();
            };
            // SAFETY: the host's promise.
            unsafe {
                reply::answer(host, LIST, (first, second), |jobs, qos, request, uid| {
                    PLUGIN.factors_list(jobs, qos, request, uid)
                })
            }
        },
        std::ptr::null_mut,
    )
}

/// Sets initial priorities without a database (from 23.02 on). The result is added to the lowest priority.
#[no_mangle]
pub extern "C" fn priority_p_recover(_boost: u32) -> u32 {
    guard(
        || {
            faults::point("recover");
            if let Some(host) = Host::get() {
                // SAFETY: called without job and association locks.
                PLUGIN.set_initial_priorities(&mut unsafe { Unlocked::new(host, "priority_p_recover") });
            }
        },
        || (),
    );
    0
}

/// Starts the decay thread (from 23.11.6 on). The result is not looked at.
#[no_mangle]
pub extern "C" fn priority_p_thread_start() -> c_int {
    guard(
        || {
            faults::point("thread_start");
            PLUGIN.thread_start();
        },
        || (),
    );
    SLURM_SUCCESS
}

/// How the platform passes two `long double` by value, said with types that Rust has.
#[cfg(target_arch = "x86_64")]
mod two_long_doubles {
    /// In memory, one behind the other, aligned to 16: as one struct of that size.
    #[repr(C, align(16))]
    pub struct Arguments([u8; 32]);

    impl Arguments {
        /// The two values.
        pub fn split(&self) -> [[u8; 16]; 2] {
            let (first, second) = self.0.split_at(16);
            [first, second].map(|half| {
                let mut bytes = [0; 16];
                bytes.copy_from_slice(half);
                bytes
            })
        }
    }
}

/// `F = S / U_eff`, for sshare up to 25.05 with `NO_FAIR_TREE` and for the `UsageThreshold` of a QOS.
///
/// # Safety
/// Called with two `long double`: effective usage and normalised shares.
#[cfg(target_arch = "x86_64")]
#[no_mangle]
pub extern "C" fn priority_p_calc_fs_factor(arguments: two_long_doubles::Arguments) -> f64 {
    calc_fs_factor(arguments.split())
}

/// `F = S / U_eff`, for sshare up to 25.05 with `NO_FAIR_TREE` and for the `UsageThreshold` of a QOS.
///
/// On aarch64 a `long double` is passed as a 128-bit vector would be.
#[cfg(target_arch = "aarch64")]
#[allow(improper_ctypes_definitions)] // the vector type stands for a binary128 in the same register
#[no_mangle]
pub extern "C" fn priority_p_calc_fs_factor(
    usage_effective: core::arch::aarch64::uint8x16_t,
    shares_norm: core::arch::aarch64::uint8x16_t,
) -> f64 {
    calc_fs_factor([usage_effective, shares_norm].map(long_double::from_vector))
}

fn calc_fs_factor(arguments: [[u8; 16]; 2]) -> f64 {
    /// `NO_VAL`, with which Slurm marks an effective usage that is not computed.
    const NO_VAL: f64 = 4_294_967_294.0;
    let [usage_effective, shares_norm] = arguments.map(|bytes| long_double::value(&bytes));
    let least = PLUGIN.least_factor();
    if (usage_effective - NO_VAL).abs() < 1e-5 {
        return least;
    }
    guard(
        || {
            faults::point("calc_fs_factor");
            fair_share_factor(shares_norm, usage_effective).max(least)
        },
        || least,
    )
}
