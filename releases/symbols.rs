//! What the plugin needs of slurmctld and libslurmfull, by release: name, need and type. The plugin makes pointers of the rows, the
//! command looks for the names in files.

use crate::Release;

/// 20.11.6
pub const V20_11_6: Release = Release::new(20, 11, 6);
/// 21.08.0
pub const V21_08: Release = Release::new(21, 8, 0);
/// 22.05.0
pub const V22_05: Release = Release::new(22, 5, 0);
/// 23.02.0
pub const V23_02: Release = Release::new(23, 2, 0);
/// 23.02.3
pub const V23_02_3: Release = Release::new(23, 2, 3);
/// 23.11.0
pub const V23_11: Release = Release::new(23, 11, 0);
/// 23.11.6
pub const V23_11_6: Release = Release::new(23, 11, 6);
/// 24.05.0
pub const V24_05: Release = Release::new(24, 5, 0);
/// 24.11.0
pub const V24_11: Release = Release::new(24, 11, 0);

/// 25.05.0
pub const V25_05: Release = Release::new(25, 5, 0);
/// 25.11.0
pub const V25_11: Release = Release::new(25, 11, 0);
/// 26.05.0
pub const V26_05: Release = Release::new(26, 5, 0);

/// Gives every row to a macro: documentation, field, name, need, type. The types are those where it is called.
#[macro_export]
macro_rules! host_symbols {
    ($with:ident) => {
        $with! {
            /// Takes the association manager's locks, levels in the order of `assoc_mgr_lock_t`.
            assoc_mgr_lock: "assoc_mgr_lock", needed, unsafe extern "C" fn(*mut [u32; 7]);
            /// Releases them.
            assoc_mgr_unlock: "assoc_mgr_unlock", needed, unsafe extern "C" fn(*mut [u32; 7]);
            /// slurmctld's own locks, called through the shim (argument by value).
            lock_slurmctld: "lock_slurmctld", needed, *mut c_void;
            /// slurmctld's own locks, called through the shim (argument by value).
            unlock_slurmctld: "unlock_slurmctld", needed, *mut c_void;
            /// Serialises access to the state directory; not exported by every release.
            lock_state_files: "lock_state_files", optional, unsafe extern "C" fn();
            /// Counterpart of `lock_state_files`.
            unlock_state_files: "unlock_state_files", optional, unsafe extern "C" fn();

            /// Appends to a list (the return value of releases before 23.02 is ignored).
            list_append: "slurm_list_append", needed, unsafe extern "C" fn(RawList, *mut c_void);
            /// Number of elements.
            list_count: "slurm_list_count", needed, unsafe extern "C" fn(RawList) -> c_int;
            /// A new list; the destructor may be absent.
            list_create: "slurm_list_create", needed, unsafe extern "C" fn(Option<ListDestructor>) -> RawList;
            /// Destroys a list and, through its destructor, its elements.
            list_destroy: "slurm_list_destroy", needed, unsafe extern "C" fn(RawList);
            /// Visits every element under the list's own write lock (a mutex before 22.05).
            list_for_each: "slurm_list_for_each", needed, unsafe extern "C" fn(RawList, ListVisitor, *mut c_void) -> c_int;
            /// Visits every element under the list's own read lock; exists from 22.05 on.
            list_for_each_ro: "slurm_list_for_each_ro", optional, unsafe extern "C" fn(RawList, ListVisitor, *mut c_void) -> c_int;
            /// An iterator, which the host keeps valid while elements come and go.
            list_iterator_create: "slurm_list_iterator_create", needed, unsafe extern "C" fn(RawList) -> *mut c_void;
            /// Frees an iterator.
            list_iterator_destroy: "slurm_list_iterator_destroy", needed, unsafe extern "C" fn(*mut c_void);
            /// The next element, null at the end.
            list_next: "slurm_list_next", needed, unsafe extern "C" fn(*mut c_void) -> *mut c_void;
            /// Sorts a list.
            list_sort: "slurm_list_sort", needed, unsafe extern "C" fn(RawList, *mut c_void);

            /// Zeroed memory that the host may free: count, size, clear, try, file, line, function.
            xcalloc: "slurm_xcalloc", needed, unsafe extern "C" fn(usize, usize, bool, bool, *const c_char, c_int, *const c_char) -> *mut c_void;
            /// Frees such memory and sets the pointer to null.
            xfree: "slurm_xfree", needed, unsafe extern "C" fn(*mut *mut c_void);
            /// The size that a block was allocated with.
            xsize: "slurm_xsize", needed, unsafe extern "C" fn(*mut c_void) -> usize;

            /// The highest level that is logged anywhere.
            get_log_level: "slurm_get_log_level", needed, unsafe extern "C" fn() -> c_int;

            /// Association of the root account; null without a database.
            assoc_mgr_root_assoc: "assoc_mgr_root_assoc", needed, *mut *mut c_void;
            /// All associations.
            assoc_mgr_assoc_list: "assoc_mgr_assoc_list", needed, *mut RawList;
            /// All QOS.
            assoc_mgr_qos_list: "assoc_mgr_qos_list", needed, *mut RawList;
            /// All users that accounting knows; null where there is no database.
            assoc_mgr_user_list: "assoc_mgr_user_list", needed, *mut RawList;
            /// Names of the TRES.
            assoc_mgr_tres_name_array: "assoc_mgr_tres_name_array", needed, *mut *mut *mut c_char;
            /// The TRES, in the order of their positions.
            assoc_mgr_tres_array: "assoc_mgr_tres_array", needed, *mut *mut *mut u8;
            /// Frees an association's usage record.
            slurmdb_destroy_assoc_usage: "slurmdb_destroy_assoc_usage", needed, unsafe extern "C" fn(*mut c_void);
            /// Frees a QOS' usage record.
            slurmdb_destroy_qos_usage: "slurmdb_destroy_qos_usage", needed, unsafe extern "C" fn(*mut c_void);
            /// Makes an association's usage record from a message: record, protocol version, buffer.
            unpack_assoc_usage: "slurmdb_unpack_assoc_usage", needed, unsafe extern "C" fn(*mut *mut c_void, u16, *mut c_void) -> c_int;
            /// Makes a QOS' usage record from a message.
            unpack_qos_usage: "slurmdb_unpack_qos_usage", needed, unsafe extern "C" fn(*mut *mut c_void, u16, *mut c_void) -> c_int;
            /// Makes a TRES from a message.
            unpack_tres: "slurmdb_unpack_tres_rec", needed, unsafe extern "C" fn(*mut *mut c_void, u16, *mut c_void) -> c_int;
            /// Frees a TRES.
            destroy_tres: "slurmdb_destroy_tres_rec", needed, unsafe extern "C" fn(*mut c_void);
            /// Makes an association from a message.
            unpack_assoc: "slurmdb_unpack_assoc_rec", needed, unsafe extern "C" fn(*mut *mut c_void, u16, *mut c_void) -> c_int;
            /// Frees an association.
            destroy_assoc: "slurmdb_destroy_assoc_rec", needed, unsafe extern "C" fn(*mut c_void);
            /// Makes a QOS from a message.
            unpack_qos: "slurmdb_unpack_qos_rec", needed, unsafe extern "C" fn(*mut *mut c_void, u16, *mut c_void) -> c_int;
            /// Frees a QOS.
            destroy_qos: "slurmdb_destroy_qos_rec", needed, unsafe extern "C" fn(*mut c_void);
            /// A buffer for messages, of so many bytes.
            init_buf: "slurm_init_buf", needed, unsafe extern "C" fn(u32) -> *mut c_void;
            /// Frees it.
            free_buf: "slurm_free_buf", needed, unsafe extern "C" fn(*mut c_void);
            /// `API_CURRENT` and more: its upper half counts major releases.
            api_version: "slurm_api_version", needed, unsafe extern "C" fn() -> c_long;
            /// True where accounting goes through slurmdbd.
            slurm_with_slurmdbd: "slurm_with_slurmdbd", needed, unsafe extern "C" fn() -> bool;
            /// Whether a user coordinates an account; the argument `is_locked` exists from 23.11.6 on.
            is_user_acct_coord: "assoc_mgr_is_user_acct_coord", needed, unsafe extern "C" fn(*mut c_void, u32, *const c_char, bool) -> bool;

            /// The jobs.
            job_list: "job_list", needed, *mut RawList;
            /// A job by its id, null where there is none.
            find_job_record: "find_job_record", needed, unsafe extern "C" fn(u32) -> *mut c_void;
            /// Asks for the priority of a job that is not finished, and writes it.
            set_job_prio: "set_job_prio", needed, unsafe extern "C" fn(*mut c_void);
            /// Works out when a job ends, and writes it.
            job_end_time_reset: "job_end_time_reset", needed, unsafe extern "C" fn(*mut c_void);
            /// When a job record last changed; clients are sent news when it moves.
            last_job_update: "last_job_update", needed, *mut i64;
            /// When a partition last changed.
            last_part_update: "last_part_update", needed, *mut i64;
            /// CPUs of the cluster.
            cluster_cpus: "cluster_cpus", needed, *mut u32;
            /// Entries of the node table.
            node_record_count: "node_record_count", needed, *mut c_int;
            /// Nodes that exist; from 23.02 on the table has gaps.
            active_node_record_count: "active_node_record_count", since(V23_02), *mut c_int;
            /// Number of TRES.
            slurmctld_tres_cnt: "slurmctld_tres_cnt", needed, *mut c_int;
            /// `AccountingStorageEnforce`
            accounting_enforce: "accounting_enforce", needed, *mut u16;
            /// Path of a file beside slurm.conf, to be freed with xfree.
            extra_conf_path: "get_extra_conf_path", needed, unsafe extern "C" fn(*const c_char) -> *mut c_char;
            /// Connection to the database, handed through.
            acct_db_conn: "acct_db_conn", needed, *mut *mut c_void;
            /// The configuration, an object whose layout depends on the release.
            slurm_conf: "slurm_conf", needed, *mut u8;
            /// Keeps other threads from replacing the configuration; returns its address.
            conf_lock: "slurm_conf_lock", needed, unsafe extern "C" fn() -> *mut c_void;
            /// Counterpart of `conf_lock`.
            conf_unlock: "slurm_conf_unlock", needed, unsafe extern "C" fn();

            /// Billable TRES of a job: job, start of the period, association lock held. Writes the job's cached value.
            calc_job_billable_tres: "calc_job_billable_tres", needed, unsafe extern "C" fn(*mut c_void, i64, bool) -> f64;
            /// The partitions; a reconfigure makes a new list.
            part_list: "part_list", optional, *mut RawList;
            /// Partition by name; used for sprio's filters, which end with 23.11.
            find_part_record: "find_part_record", until(V24_05), unsafe extern "C" fn(*const c_char) -> *mut c_void;
            /// Writes a partition into a message: partition, buffer, protocol version.
            pack_part: "pack_part", optional, unsafe extern "C" fn(*mut c_void, *mut c_void, u16);
            /// Writes a job into a message: job, what to show, buffer, protocol version, user, whether the lock for QOS is held; before
            /// 21.08 it takes that lock, and from 24.11 on other functions do for all but what they leave out.
            pack_job: "pack_job", optional, unsafe extern "C" fn(*mut c_void, u16, *mut c_void, u16, u32, bool);
            /// Writes what a job's record holds: job, whether it is for a state file, buffer, protocol version.
            pack_job_record: "job_record_pack_common", optional, unsafe extern "C" fn(*mut c_void, bool, *mut c_void, u16);
            /// Writes what its details hold: details, buffer, protocol version.
            pack_job_details: "job_record_pack_details_common", optional, unsafe extern "C" fn(*mut c_void, *mut c_void, u16);
            /// Sorts partitions by tier; from 24.11 on the host keeps the list sorted.
            priority_sort_part_tier: "priority_sort_part_tier", until(V24_11), *mut c_void;
            /// Names of a list of partitions, comma separated, to be freed with xfree.
            part_list_to_xstr: "part_list_to_xstr", since(V24_05), unsafe extern "C" fn(RawList) -> *mut c_char;
            /// Weights of `PriorityWeightTRES`: text, count, fatal on error; to be freed with xfree.
            tres_weight_array: "slurm_get_tres_weight_array", needed, unsafe extern "C" fn(*const c_char, c_int, bool) -> *mut f64;
            /// Limits in use by an account within a QOS; makes the entry where there is none.
            acct_used_limits: "acct_policy_get_acct_used_limits", since(V24_05), unsafe extern "C" fn(*mut RawList, *const c_char) -> *mut c_void;
            /// Limits in use by a user within a QOS; makes the entry where there is none.
            user_used_limits: "acct_policy_get_user_used_limits", since(V24_05), unsafe extern "C" fn(*mut RawList, u32) -> *mut c_void;

            /// Why a job waits, as squeue shows it; releases before 24.05.
            job_reason_string: "slurm_job_reason_string", optional, unsafe extern "C" fn(u32) -> *const c_char;
            /// The same from 24.05 on.
            job_state_reason_string: "slurm_job_state_reason_string", optional, unsafe extern "C" fn(u32) -> *const c_char;

            /// True where a user is at least an operator.
            validate_operator: "validate_operator", needed, unsafe extern "C" fn(u32) -> bool;
            /// 1 where the MCS plugin decides what is private.
            mcs_privatedata: "slurm_mcs_get_privatedata", needed, unsafe extern "C" fn() -> c_int;
            /// 0 where a user may see a label; the argument `assoc_locked` exists from 22.05 on.
            mcs_check_label: "mcs_g_check_mcs_label", needed, unsafe extern "C" fn(u32, *const c_char, bool) -> c_int;

            /// Starts the site factor plugin, releases before 23.02.
            site_factor_plugin_init: "site_factor_plugin_init", until(V23_02), unsafe extern "C" fn() -> c_int;
            /// Stops it, releases before 23.02.
            site_factor_plugin_fini: "site_factor_plugin_fini", until(V23_02), unsafe extern "C" fn() -> c_int;
            /// Starts the site factor plugin, from 23.02 on.
            site_factor_g_init: "site_factor_g_init", since(V23_02), unsafe extern "C" fn() -> c_int;
            /// Stops it, from 23.02 on.
            site_factor_g_fini: "site_factor_g_fini", since(V23_02), unsafe extern "C" fn() -> c_int;
            /// Tells it of a new configuration; releases before 24.05.
            site_factor_g_reconfig: "site_factor_g_reconfig", until(V24_05), unsafe extern "C" fn();
            /// Lets it set a new job's site factor.
            site_factor_g_set: "site_factor_g_set", needed, unsafe extern "C" fn(*mut c_void);
            /// Lets it update all jobs, once per cycle.
            site_factor_g_update: "site_factor_g_update", needed, unsafe extern "C" fn();

            /// Frees a list entry of sprio's list, releases before 23.02.
            destroy_factors_object: "slurm_destroy_priority_factors_object", until(V23_02), ListDestructor;
        }
    };
}

/// The functions of the table alone.
macro_rules! names {
    ($( $(#[$doc:meta])* $field:ident: $name:literal, $need:ident $(($from:expr))?, $kind:ty; )*) => {
        /// The names that a release must have, in slurmctld or in libslurmfull.
        pub fn required(release: Release) -> Vec<&'static str> {
            let mut names = Vec::new();
            $( if $crate::is_required!($need $(($from))?, release) {
                names.push($name);
            } )*
            names
        }
    };
}

/// Whether a release must have what a row needs.
#[macro_export]
macro_rules! is_required {
    (needed, $release:ident) => {
        true
    };
    (optional, $release:ident) => {
        false
    };
    (since($from:expr), $release:ident) => {
        $release >= $from
    };
    (until($from:expr), $release:ident) => {
        $release < $from
    };
}

host_symbols!(names);
