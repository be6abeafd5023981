//! The list of priority factors that slurmctld sends to `sprio`.
//!
//! Up to 22.05 an entry holds the factors itself and the host's destructor frees it. From 23.02 on it points to them, its texts are
//! borrowed from records that the caller's locks protect, and the list has a separate destructor.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ffi::{c_char, c_void, CString};

use super::access::Read;
use super::lists::for_each_raw;
use super::locks::{AssocLock, JobLock, QosOnly, Unlocked};
use super::order;
use super::panics::guard;
use super::records::{Job, Partition, PriorityFactors, Qos, Record};
use super::symbols::RawList;
use super::Host;

/// What an older `sprio` asks for (to 23.11): `priority_factors_request_msg_t`. Newer clients filter by themselves.
#[derive(Debug, Default)]
pub struct Request {
    jobs: Option<HashSet<u32>>,
    users: Option<HashSet<u32>>,
    partitions: Option<HashSet<usize>>,
}

/// Answers a request with what `answer` makes of the existing jobs: the list for the host.
///
/// Up to 23.11 an export gets the request and a user id, from 24.05 on only a user id. Up to 22.05 the caller holds no lock. From 23.02 on
/// it holds those for jobs, nodes and partitions and the association manager's for QOS, all for reading. A thread that waited there for
/// associations could wait for one that waits for the QOS. So `answer` gets nothing that a lock can be taken with.
///
/// # Safety
/// Called for the export with that name by its caller, with the arguments that it passed.
pub unsafe fn answer(
    host: &'static Host,
    export: &'static str,
    (first, second): (*mut c_void, u32),
    answer: impl FnOnce(&[Job<'_>], &AssocLock<'_, QosOnly>, &Request, u32) -> Reply,
) -> RawList {
    let (message, uid) = if host.layout.factors_request.size.is_some() {
        (first.cast(), second)
    } else {
        // The user id is in the lower half of the first argument's register.
        #[allow(clippy::cast_possible_truncation)]
        (std::ptr::null_mut(), first as usize as u32)
    };
    if host.list_caller_locks() {
        // SAFETY: what the caller holds.
        let (jobs, qos) =
            unsafe { (JobLock::<Read>::of_caller(host, export), AssocLock::of_caller(host, export)) };
        // SAFETY: the message lives during the call.
        let request = unsafe { Request::read(host, message) };
        return answer(&jobs.all_jobs(), &qos, &request, uid).into_raw();
    }
    // SAFETY: the caller holds nothing.
    let mut unlocked = unsafe { Unlocked::new(host, export) };
    let jobs = unlocked.jobs_read();
    // SAFETY: as above; partitions are locked with the jobs.
    let request = unsafe { Request::read(host, message) };
    // Before QOS: in these releases squeue has the lock of the list while it waits for associations (mcs/account), and
    // who has those may be waiting for QOS.
    let all = jobs.all_jobs();
    let qos = jobs.associations();
    answer(&all, &qos, &request, uid).into_raw()
}

impl Request {
    /// Reads the message at an address; null asks for everything.
    ///
    /// # Safety
    /// `message` is null or a live request, and the partition lock is held.
    unsafe fn read(host: &'static Host, message: *mut u8) -> Self {
        let layout = &host.layout.factors_request;
        if message.is_null() {
            return Request::default();
        }
        let (Some(jobs), Some(users), Some(names)) = (layout.job_id_list, layout.uid_list, layout.partitions)
        else {
            return Request::default();
        };
        // SAFETY: the fields of a live request: two lists of `uint32_t *` and a terminated text, each or null.
        unsafe {
            let partitions: *mut c_char = names.get(message).cast();
            Request {
                jobs: numbers(host, jobs.get(message).cast()),
                users: numbers(host, users.get(message).cast()),
                partitions: (!partitions.is_null())
                    .then(|| partition_addresses(host, std::ffi::CStr::from_ptr(partitions).to_bytes())),
            }
        }
    }

    /// Whether a job is wanted.
    pub fn wants(&self, job: Job<'_>) -> bool {
        let within = |set: &Option<HashSet<u32>>, value| set.as_ref().is_none_or(|set| set.contains(&value));
        within(&self.jobs, job.get(|job| job.job_id)) && within(&self.users, job.get(|job| job.user_id))
    }

    /// Whether a partition is wanted.
    pub fn wants_partition(&self, partition: Partition<'_>) -> bool {
        self.partitions.as_ref().is_none_or(|set| set.contains(&partition.address()))
    }
}

/// The numbers in a list of `uint32_t *`.
///
/// # Safety
/// `list` is null or such a list.
unsafe fn numbers(host: &'static Host, list: RawList) -> Option<HashSet<u32>> {
    if list.is_null() {
        return None;
    }
    let mut found = HashSet::new();
    for_each_raw(list, host.sym.list_for_each, &mut |element| {
        // SAFETY: an element of a list of numbers.
        found.insert(unsafe { element.cast::<u32>().read_unaligned() });
    });
    Some(found)
}

fn partition_addresses(host: &'static Host, names: &[u8]) -> HashSet<usize> {
    let Some(find_part_record) = host.sym.find_part_record else { return HashSet::new() };
    names
        .split(|byte| *byte == b',')
        .filter_map(|name| CString::new(name).ok())
        // SAFETY: a terminated name, and the partition lock is held.
        .map(|name| unsafe { find_part_record(name.as_ptr()) } as usize)
        .filter(|address| *address != 0)
        .collect()
}

/// Who asks, and what `PrivateData` lets them see.
#[derive(Debug, Clone, Copy)]
pub struct Viewer<M> {
    uid: u32,
    rule: Rule,
    is_member: M,
}

/// How it is decided what a viewer sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// Everything: nothing is private, or the viewer is at least an operator.
    All,
    /// Its own jobs: without users in accounting there are neither operators nor coordinators.
    Own,
    /// Its own jobs, and those of accounts that it coordinates.
    Coordinator,
    /// Its own jobs, and those whose MCS label the MCS plugin lets it see.
    Label,
    /// The same where the label is an account: as mcs/account, but without asking it, as it takes the association lock.
    LabelOfAccount,
}

impl<M: Fn(u32, &str) -> bool> Viewer<M> {
    /// The user with `uid`. `is_member` knows which users have an association in an account.
    pub fn new(host: &'static Host, uid: u32, is_member: M) -> Self {
        let rule = if !host.hides_jobs() || is_operator(host, uid) {
            Rule::All
        } else if host.shows_jobs_by_account() {
            Rule::LabelOfAccount
        } else {
            // SAFETY: no arguments.
            match unsafe { (host.sym.mcs_privatedata)() } {
                0 if knows_users(host) => Rule::Coordinator,
                0 => Rule::Own,
                1 => Rule::Label,
                _ => Rule::All,
            }
        };
        Self { uid, rule, is_member }
    }

    /// Those of some jobs that the user may see, see [`Viewer::sees`].
    pub fn visible<'a, 'j>(&self, jobs: &'j [Job<'a>]) -> Cow<'j, [Job<'a>]> {
        if self.rule == Rule::All {
            return Cow::Borrowed(jobs);
        }
        Cow::Owned(jobs.iter().copied().filter(|job| self.sees(*job)).collect())
    }

    /// Whether that user may see a job. None of the answers takes a lock of the association manager's but that for users, which
    /// comes after all that the caller may hold.
    fn sees(&self, job: Job<'_>) -> bool {
        let host = job.host();
        if job.get(|job| job.user_id) == self.uid {
            return true;
        }
        match self.rule {
            Rule::Coordinator => order::visit(host.release, "assoc_mgr_is_user_acct_coord", is_always),
            Rule::Label => {
                order::visit(host.release, "mcs_g_check_mcs_label", |case| !case.starts_with("mcs/account"));
            }
            Rule::All | Rule::Own | Rule::LabelOfAccount => (),
        }
        // SAFETY: texts of a live job; the last argument is ignored by releases that do not have it.
        unsafe {
            match self.rule {
                Rule::All => true,
                Rule::Own => false,
                Rule::Coordinator => (host.sym.is_user_acct_coord)(
                    *host.sym.acct_db_conn,
                    self.uid,
                    job.get(|job| job.account).cast(),
                    false,
                ),
                Rule::Label => {
                    (host.sym.mcs_check_label)(self.uid, job.get(|job| job.mcs_label).cast(), false) == 0
                }
                // Where associations are not enforced, mcs/account hides nothing.
                Rule::LabelOfAccount => {
                    job.get(|job| job.mcs_label).is_null()
                        || !host.enforces_associations()
                        || (self.is_member)(self.uid, &job.text(|job| job.mcs_label))
                }
            }
        }
    }
}

fn is_always(case: &str) -> bool {
    case == "always"
}

/// Whether accounting has users. Where it has none, slurmctld asks the database for them whenever somebody asks for one, in
/// some releases under the association lock.
fn knows_users(host: &'static Host) -> bool {
    // SAFETY: a pointer of the host that is set once.
    unsafe { !(*host.sym.assoc_mgr_user_list).is_null() }
}

/// Whether a user is at least an operator.
fn is_operator(host: &'static Host, uid: u32) -> bool {
    if !knows_users(host) {
        // SAFETY: no arguments. slurmctld runs as SlurmUser.
        return uid == 0 || uid == unsafe { libc::geteuid() };
    }
    order::visit(host.release, "validate_operator", is_always);
    // SAFETY: a user id is all that the function needs.
    unsafe { (host.sym.validate_operator)(uid) }
}

/// The list under construction.
pub struct Reply {
    host: &'static Host,
    list: RawList,
}

impl Reply {
    /// An empty reply.
    pub fn new(host: &'static Host) -> Self {
        Self { host, list: std::ptr::null_mut() }
    }

    /// Adds an entry for a job in one partition and one QOS. `fill` fills in the factors, which begin as
    /// zeros; a job whose priority was set directly has none.
    pub fn add(
        &mut self,
        job: Job<'_>,
        partition: Partition<'_>,
        qos: Option<Qos<'_>>,
        fill: impl FnOnce(PriorityFactors<'_>),
    ) {
        let host = self.host;
        let layout = &host.layout.factors_object;
        let entry = host.allocate(1, layout.size);
        // Before 23.02 a job in several partitions shows its (empty) factors even then.
        let direct = job.get(|job| job.direct_set_prio) != 0
            && (layout.prio_factors.is_some() || job.partitions().is_none());
        // SAFETY: a fresh entry of the release's size; texts are borrowed from records that the caller's locks protect
        // until the list is packed and destroyed, as in the host's own plugin.
        unsafe {
            if let Some(account) = layout.account {
                account.set(entry, job.get(|job| job.account));
            }
            if let Some(name) = layout.qos {
                name.set(entry, qos.map_or(std::ptr::null_mut(), |qos| qos.get(|qos| qos.name)));
            }
            match (layout.step_id, host.layout.job.step_id) {
                (Some(to), Some(from)) => to.set(entry, job.get(|_| from)),
                _ => {
                    if let Some(id) = layout.job_id {
                        id.set(entry, job.get(|job| job.job_id));
                    }
                }
            }
            layout.partition.set(entry, partition.get(|part| part.name));
            layout.user_id.set(entry, job.get(|job| job.user_id));
            if direct {
                layout.direct_prio.set(entry, f64::from(job.get(|job| job.priority)));
            } else if let Some(factors) = self.factors_of(entry) {
                fill(factors);
            }
        }
        self.append(entry);
    }

    /// The factors of an entry: the entry itself, or a fresh record that it points to.
    ///
    /// # Safety
    /// `entry` is a fresh entry.
    unsafe fn factors_of<'a>(&self, entry: *mut u8) -> Option<PriorityFactors<'a>> {
        let host = self.host;
        let address = host.layout.factors_object.prio_factors.map_or(entry, |pointer| {
            let fresh = host.allocate(1, host.layout.factors.size);
            // SAFETY: a field of the entry.
            unsafe { pointer.set(entry, fresh) };
            fresh
        });
        // SAFETY: a live record of the release's layout.
        unsafe { Record::new(host, address) }
    }

    fn append(&mut self, entry: *mut u8) {
        // SAFETY: a list of our own with the destructor that fits the entries.
        unsafe {
            if self.list.is_null() {
                // Newer releases still export the function for sprio's own lists; it would free the borrowed texts.
                let host_destroys = self.host.layout.factors_object.prio_factors.is_none();
                let destroy = self.host.sym.destroy_factors_object.filter(|_| host_destroys);
                let destroy = destroy.unwrap_or(destroy_entry);
                self.list = (self.host.sym.list_create)(Some(destroy));
            }
            (self.host.sym.list_append)(self.list, entry.cast());
        }
    }

    /// The list for the host, which destroys it; null where there is no entry.
    pub fn into_raw(self) -> RawList {
        let list = self.list;
        std::mem::forget(self);
        list
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if !self.list.is_null() {
            // SAFETY: the list was never handed out.
            unsafe { (self.host.sym.list_destroy)(self.list) }
        }
    }
}

/// Frees an entry of 23.02 and later: the factors and the entry, not the borrowed texts.
unsafe extern "C" fn destroy_entry(entry: *mut c_void) {
    // SAFETY: an entry made by `Reply::add`.
    guard(|| unsafe { free_entry(entry) }, || ());
}

/// # Safety
/// As [`destroy_entry`].
unsafe fn free_entry(entry: *mut c_void) {
    let Some(host) = Host::get() else { return };
    let entry: *mut u8 = entry.cast();
    if entry.is_null() {
        return;
    }
    // SAFETY: an entry made by `Reply::add`.
    unsafe {
        if let Some(pointer) = host.layout.factors_object.prio_factors {
            let address = pointer.get(entry);
            if let Some(factors) = PriorityFactors::new(host, address) {
                factors.drop_tres_arrays();
                host.free(address);
            }
        }
        host.free(entry);
    }
}
