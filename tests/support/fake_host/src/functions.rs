//! What the plugin calls of slurmctld besides locks, lists and memory, with what each needs of its caller.

use std::ffi::{c_char, c_int, c_void, CStr};

use slurm_headers::Version;

use crate::cluster::{array, RUN_SECONDS};
use crate::locks::{pass_through, require, Level};
use crate::memory::{allocate, Arena, Owner};
use crate::record::Record;
use crate::slurmctld::{layout, shared, Mcs};
use crate::{fail, lists, memory, release};

fn note(call: impl Into<String>) {
    shared(|shared| shared.calls.push(call.into()));
}

fn text(address: *const c_char) -> String {
    if address.is_null() {
        return String::new();
    }
    // SAFETY: a terminated text, by the contract of the functions.
    unsafe { CStr::from_ptr(address) }.to_string_lossy().into_owned()
}

/// A function that the release has, but that the plugin must not call there.
fn only(function: &str, right: bool, why: &str) {
    if !right {
        fail(&format!("{function} was called in Slurm {}: {why}", layout().release));
    }
}

/// Takes for a moment what the function takes inside; up to 25.11.6 and from 26.05.0 on other locks where no users are loaded.
fn visit(function: &str, case: &str) {
    // SAFETY: an exported variable.
    let no_users = unsafe { (*crate::library::variable::<*mut u8>("assoc_mgr_user_list")).is_null() };
    let case = match (case, no_users) {
        (_, false) => case.to_owned(),
        ("always", true) => "users not loaded".to_owned(),
        (case, true) => format!("{case}, users not loaded"),
    };
    pass_through(&crate::callers::taken(function, &case, running()), function);
}

fn running() -> Version {
    layout().release
}

/// A block that the plugin is to free.
fn handed_over(bytes: &[u8], what: &str) -> *mut u8 {
    let address = allocate(Arena::Common, bytes.len(), Owner::Plugin, what, "from the host");
    // SAFETY: a fresh block of that size.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), address, bytes.len()) };
    address
}

fn handed_over_text(text: &str, what: &str) -> *mut c_char {
    handed_over(&[text.as_bytes(), b"\0"].concat(), what).cast()
}

pub(crate) unsafe extern "C" fn slurmdb_destroy_assoc_usage(usage: *mut c_void) {
    if crate::made::destroy_usage(usage.cast(), "assoc_usage") {
        return;
    }
    require("assoc", Level::Write, "slurmdb_destroy_assoc_usage");
    let usage = Record { kind: "assoc_usage", address: usage.cast() };
    for array in ["grp_used_tres_run_secs", "usage_tres_raw"] {
        memory::free(usage.get(array));
    }
    memory::free(usage.address);
}

pub(crate) unsafe extern "C" fn slurm_with_slurmdbd() -> bool {
    shared(|shared| !shared.no_database)
}

pub(crate) unsafe extern "C" fn slurm_get_log_level() -> c_int {
    shared(|shared| shared.log_level)
}

pub(crate) unsafe extern "C" fn find_job_record(id: u32) -> *mut c_void {
    require("job", Level::Read, "find_job_record");
    shared(|shared| shared.jobs.get(&id).map_or(std::ptr::null_mut(), |job| job.address.cast()))
}

pub(crate) unsafe extern "C" fn get_extra_conf_path(name: *const c_char) -> *mut c_char {
    let directory = std::env::var("FAKEHOST_DIRECTORY").unwrap_or_default();
    let path = format!("{directory}/{}/{}", std::process::id(), text(name));
    handed_over_text(&path, "configuration path")
}

pub(crate) unsafe extern "C" fn calc_job_billable_tres(job: *mut c_void, _start: i64, locked: bool) -> f64 {
    if let Some(billable) = crate::made::billable(job.cast()) {
        return billable;
    }
    // It keeps the number in the record.
    require("job", Level::Write, "calc_job_billable_tres");
    if locked {
        require("tres", Level::Read, "calc_job_billable_tres with the association manager's lock held");
    } else {
        pass_through("tres:r", "calc_job_billable_tres");
    }
    let id = Record { kind: "job", address: job.cast() }.get::<u32>("job_id");
    shared(|shared| shared.billable.get(&id).copied().unwrap_or(0.0))
}

pub(crate) unsafe extern "C" fn find_part_record(name: *const c_char) -> *mut c_void {
    only("find_part_record", running() < release(24, 5, 0), "requests with partitions end with 23.11");
    require("part", Level::Read, "find_part_record");
    // SAFETY: an exported variable.
    let parts = lists::elements(unsafe { *crate::library::variable::<*mut u8>("part_list") });
    let named = |part: &*mut u8| Record { kind: "part", address: *part }.text("name") == text(name);
    parts.into_iter().find(named).map_or(std::ptr::null_mut(), <*mut u8>::cast)
}

pub(crate) unsafe extern "C" fn priority_sort_part_tier(one: *mut c_void, other: *mut c_void) -> c_int {
    only("priority_sort_part_tier", running() < release(24, 11, 0), "the host keeps the list sorted");
    // SAFETY: addresses of two elements, each a partition.
    let [one, other] = [one, other].map(|element| unsafe { *element.cast::<usize>() });
    shared(|shared| shared.tiers[&other].cmp(&shared.tiers[&one]) as c_int)
}

pub(crate) unsafe extern "C" fn part_list_to_xstr(list: *mut c_void) -> *mut c_char {
    require("part", Level::Read, "part_list_to_xstr");
    let names: Vec<String> = lists::elements(list.cast())
        .into_iter()
        .map(|address| Record { kind: "part", address }.text("name"))
        .collect();
    handed_over_text(&names.join(","), "names of partitions")
}

pub(crate) unsafe extern "C" fn slurm_get_tres_weight_array(
    weights: *const c_char,
    count: c_int,
    fatal: bool,
) -> *mut f64 {
    if weights.is_null() {
        return std::ptr::null_mut();
    }
    if !fatal {
        fail("slurm_get_tres_weight_array: slurmctld ends where the weights are wrong");
    }
    let mut numbers = shared(|shared| shared.weights.clone());
    numbers.resize(usize::try_from(count).unwrap_or(0), 0.0);
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
    handed_over(&bytes, "weights of TRES").cast()
}

/// The entry of a list of limits in use; made where there is none.
fn used_limits(list: *mut *mut c_void, function: &str, key: &str) -> *mut c_void {
    only(function, running() >= release(24, 5, 0), "it counts no run seconds by account and user");
    require("qos", Level::Write, function);
    // SAFETY: the address of a list in a record.
    let list: *mut u8 = unsafe { *list }.cast();
    let is_it = |entry: &*mut u8| memory::block(*entry).is_some_and(|block| block.name == key);
    if let Some(known) = lists::elements(list).into_iter().find(is_it) {
        return known.cast();
    }
    let entry = Record::new("used_limits", Arena::Qos, key);
    // SAFETY: an exported variable.
    let count = unsafe { *crate::library::variable::<c_int>("slurmctld_tres_cnt") };
    let run_seconds = vec![RUN_SECONDS; usize::try_from(count).unwrap_or(0)];
    entry.set("tres_run_secs", array(Arena::Qos, "tres_run_secs", &run_seconds));
    lists::push(list, entry.address);
    entry.address.cast()
}

pub(crate) unsafe extern "C" fn acct_policy_get_acct_used_limits(
    list: *mut *mut c_void,
    account: *const c_char,
) -> *mut c_void {
    used_limits(list, "acct_policy_get_acct_used_limits", &format!("account {}", text(account)))
}

pub(crate) unsafe extern "C" fn acct_policy_get_user_used_limits(
    list: *mut *mut c_void,
    user: u32,
) -> *mut c_void {
    used_limits(list, "acct_policy_get_user_used_limits", &format!("user {user}"))
}

pub(crate) unsafe extern "C" fn validate_operator(user: u32) -> bool {
    visit("validate_operator", "always");
    note(format!("validate_operator {user}"));
    user == 0 || shared(|shared| shared.operators.contains(&user))
}

pub(crate) unsafe extern "C" fn assoc_mgr_is_user_acct_coord(
    user: u32,
    account: *const c_char,
    locked: bool,
) -> bool {
    if locked {
        fail("assoc_mgr_is_user_acct_coord with the lock held: some releases release it");
    } else {
        visit("assoc_mgr_is_user_acct_coord", "always");
    }
    shared(|shared| shared.coordinators.contains(&(user, text(account))))
}

pub(crate) unsafe extern "C" fn slurm_mcs_get_privatedata() -> c_int {
    c_int::from(shared(|shared| shared.mcs != Mcs::None))
}

pub(crate) unsafe extern "C" fn mcs_g_check_mcs_label(
    user: u32,
    label: *const c_char,
    locked: bool,
) -> c_int {
    if locked {
        fail("mcs_g_check_mcs_label with the lock held: some releases do not hand that on");
    }
    match shared(|shared| shared.mcs) {
        Mcs::Account => visit("mcs_g_check_mcs_label", "mcs/account"),
        _ => note("mcs_g_check_mcs_label"),
    }
    let shared_label = shared(|shared| shared.coordinators.contains(&(user, text(label))));
    if shared_label {
        0
    } else {
        -1
    }
}

pub(crate) unsafe extern "C" fn slurm_destroy_priority_factors_object(object: *mut c_void) {
    only(
        "slurm_destroy_priority_factors_object",
        running() < release(23, 2, 0),
        "there it is sprio's, and would free the texts, which are borrowed",
    );
    let object = Record { kind: "factors", address: object.cast() };
    for array in ["tres_weights", "priority_tres"] {
        let array: *mut u8 = object.get(array);
        if !array.is_null() {
            memory::free(array);
        }
    }
    memory::free(object.address);
}

pub(crate) unsafe extern "C" fn site_factor_init() -> c_int {
    note("site_factor_init");
    -c_int::from(shared(|shared| shared.site_factor_fails))
}

pub(crate) unsafe extern "C" fn site_factor_fini() -> c_int {
    note("site_factor_fini");
    0
}

pub(crate) unsafe extern "C" fn site_factor_reconfig() {
    note("site_factor_reconfig");
}

pub(crate) unsafe extern "C" fn site_factor_g_set(job: *mut c_void) {
    require("job", Level::Write, "site_factor_g_set");
    let job = Record { kind: "job", address: job.cast() };
    note(format!("site_factor_g_set {}", job.get::<u32>("job_id")));
}

pub(crate) unsafe extern "C" fn site_factor_g_update() {
    require("job", Level::Write, "site_factor_g_update");
    note("site_factor_g_update");
}
