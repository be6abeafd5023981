//! What reaches the host from the names that its process exports: calls of functions, lines of the log, and signals.

use std::ffi::{c_char, c_int, c_void, CStr};

use crate::library::enter;
use crate::slurmctld::{layout, shared};
use crate::{fail, functions, lists, locks, made, memory, packed};

unsafe extern "C" fn to_log(level: c_int, line: *const c_char) {
    // SAFETY: a terminated line.
    let line = unsafe { CStr::from_ptr(line) }.to_string_lossy().into_owned();
    shared(|shared| shared.log.push((level, line)));
}

/// Enters the functions for all exported names.
pub(crate) fn enter_functions() {
    macro_rules! enter_all {
        ($($module:ident: $($name:ident)*;)*) => { $( $( enter(stringify!($name), $module::$name as *const c_void); )* )* };
    }
    enter("to_log", to_log as *const c_void);
    enter_all! {
        locks: assoc_mgr_lock assoc_mgr_unlock lock_slurmctld unlock_slurmctld lock_state_files unlock_state_files
            slurm_conf_lock slurm_conf_unlock;
        lists: slurm_list_append slurm_list_count slurm_list_create slurm_list_destroy slurm_list_for_each
            slurm_list_iterator_create slurm_list_iterator_destroy slurm_list_next slurm_list_sort;
        memory: slurm_xcalloc slurm_xfree slurm_xsize;
        functions: slurmdb_destroy_assoc_usage slurm_with_slurmdbd find_job_record get_extra_conf_path
            calc_job_billable_tres find_part_record priority_sort_part_tier slurm_get_tres_weight_array
            acct_policy_get_acct_used_limits acct_policy_get_user_used_limits validate_operator
            slurm_mcs_get_privatedata slurm_destroy_priority_factors_object site_factor_g_set site_factor_g_update
            site_factor_init site_factor_fini site_factor_reconfig slurm_get_log_level
            assoc_mgr_is_user_acct_coord mcs_g_check_mcs_label part_list_to_xstr;
        made: slurmdb_destroy_qos_usage slurmdb_destroy_tres_rec slurmdb_unpack_assoc_usage slurmdb_unpack_qos_usage
            slurmdb_unpack_tres_rec slurmdb_unpack_assoc_rec slurmdb_destroy_assoc_rec slurmdb_unpack_qos_rec
            slurmdb_destroy_qos_rec slurm_init_buf slurm_free_buf set_job_prio job_end_time_reset;
        packed: pack_part pack_job job_record_pack_common job_record_pack_details_common;
    }
    enter("slurm_list_for_each_ro", lists::slurm_list_for_each_ro as *const c_void);
}

/// Says which record was read or written under too low a lock, instead of a plain crash.
pub(crate) fn watch_signals() {
    unsafe extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
        // SAFETY: the kernel's description of the fault.
        let address = unsafe { (*info).si_addr() } as usize;
        let held = locks::held();
        let what = match memory::arena_of(address) {
            Some((arena, access)) => {
                let record = memory::block_around(address).map_or_else(
                    || "no block".to_owned(),
                    |(block, at, live)| {
                        let field = layout().records.get(&block.kind).map(|record| record.describe(at));
                        let state = if live { "" } else { ", which is freed" };
                        format!("{} of {} {}{state}", field.unwrap_or_default(), block.kind, block.name)
                    },
                );
                format!("{record} was touched in arena {arena:?}, where {access:?} is allowed")
            }
            None => format!("memory at {address:#x} that nobody has"),
        };
        fail(&format!("signal {signal}: {what}; the thread holds the locks '{held}'"));
    }
    // SAFETY: a handler with the signature that SA_SIGINFO asks for; it ends the process.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_fault as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
        for signal in [libc::SIGSEGV, libc::SIGBUS] {
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}
