//! Slurm's records, read and written through the layout of the running release.
//!
//! A [`Record`] is an address that the host promised to be a record of one type while a lock is held
//! (`'a`). From there on access is safe to write: the field says its own offset and type. Who may
//! write what is decided by the lock guards in [`super::locks`]; the records do not check it.

use std::borrow::Cow;
use std::ffi::{c_char, CStr};
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::{fmt, slice};

use super::constants::{
    JOB_COMPLETING, JOB_PENDING, JOB_POWER_UP_NODE, JOB_RESIZING, JOB_REVOKED, JOB_RUNNING, JOB_STATE_BASE,
    JOB_SUSPENDED, QOS_FLAG_NO_DECAY,
};
use super::layout::{
    AssocLayout, AssocUsageLayout, DetailsLayout, FactorsLayout, Field, JobLayout, Layout, LongDouble,
    PartLayout, Ptr, QosLayout, QosUsageLayout,
};
use super::lists::List;
use super::live::{self, Kind};
use super::long_double::LongDoubles;
use super::Host;

/// Ties a record type to its part of the layout.
pub trait RecordLayout: Sized + 'static {
    /// The part of the layout.
    fn of(layout: &'static Layout) -> &'static Self;

    /// Whether what a pointer of a record leads to may be read; false for one that may be stale.
    fn may_follow(record: Record<'_, Self>, pointer: Field<Ptr>) -> bool {
        let _ = (record, pointer);
        true
    }
}

macro_rules! record_layouts {
    ($($type:ident $field:ident;)*) => { $(
        impl RecordLayout for $type {
            fn of(layout: &'static Layout) -> &'static Self {
                &layout.$field
            }
        }
    )* };
}

record_layouts! {
    DetailsLayout details;
    PartLayout part;
    AssocLayout assoc;
    AssocUsageLayout assoc_usage;
    QosLayout qos;
    QosUsageLayout qos_usage;
    FactorsLayout factors;
}

impl RecordLayout for JobLayout {
    fn of(layout: &'static Layout) -> &'static Self {
        &layout.job
    }

    fn may_follow(job: Job<'_>, pointer: Field<Ptr>) -> bool {
        pointer.offset() != job.layout().assoc_ptr.offset() || job.has_live_association()
    }
}

/// A live record of the host.
pub struct Record<'a, L> {
    host: &'static Host,
    address: *mut u8,
    lock: PhantomData<&'a L>,
}

impl<L> Clone for Record<'_, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L> Copy for Record<'_, L> {}

impl<L> PartialEq for Record<'_, L> {
    /// Two records are the same where their addresses are.
    fn eq(&self, other: &Self) -> bool {
        self.address == other.address
    }
}

impl<L> fmt::Debug for Record<'_, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:p}", self.address)
    }
}

/// `job_record_t`
pub type Job<'a> = Record<'a, JobLayout>;
/// `job_details_t`
pub type Details<'a> = Record<'a, DetailsLayout>;
/// `part_record_t`
pub type Partition<'a> = Record<'a, PartLayout>;
/// `slurmdb_assoc_rec_t`
pub type Association<'a> = Record<'a, AssocLayout>;
/// `slurmdb_assoc_usage_t`
pub type AssociationUsage<'a> = Record<'a, AssocUsageLayout>;
/// `slurmdb_qos_rec_t`
pub type Qos<'a> = Record<'a, QosLayout>;
/// `slurmdb_qos_usage_t`
pub type QosUsage<'a> = Record<'a, QosUsageLayout>;
/// What `job_record_t.prio_factors` points to.
pub type PriorityFactors<'a> = Record<'a, FactorsLayout>;

impl<'a, L: RecordLayout> Record<'a, L> {
    /// The record at `address`; `None` where that is null.
    ///
    /// # Safety
    /// `address` is null or a live record of the type `L` for the whole of `'a`.
    pub(crate) unsafe fn new(host: &'static Host, address: *mut u8) -> Option<Self> {
        (!address.is_null()).then_some(Self { host, address, lock: PhantomData })
    }

    /// The host that the record belongs to.
    pub fn host(self) -> &'static Host {
        self.host
    }

    /// The address, which says whether two records are the same one.
    pub fn address(self) -> usize {
        self.address as usize
    }

    pub(super) fn as_ptr(self) -> *mut u8 {
        self.address
    }

    fn layout(self) -> &'static L {
        L::of(self.host.layout)
    }

    /// Reads a field.
    pub fn get<T: Copy>(self, pick: impl FnOnce(&'static L) -> Field<T>) -> T {
        // SAFETY: a live record by the promise made to `new`, and the field is one of its type.
        unsafe { pick(self.layout()).get(self.address) }
    }

    /// Writes a field.
    pub fn set<T: Copy>(self, pick: impl FnOnce(&'static L) -> Field<T>, value: T) {
        // SAFETY: as in `get`; the lock guard that handed out the record covers writing.
        unsafe { pick(self.layout()).set(self.address, value) }
    }

    /// Reads a `long double`, rounded to double.
    pub fn get_ld(self, pick: impl FnOnce(&'static L) -> Field<LongDouble>) -> f64 {
        // SAFETY: as in `get`.
        unsafe { pick(self.layout()).get_ld(self.address) }
    }

    /// Writes a `long double`.
    pub fn set_ld(self, pick: impl FnOnce(&'static L) -> Field<LongDouble>, value: f64) {
        // SAFETY: as in `set`.
        unsafe { pick(self.layout()).set_ld(self.address, value) }
    }

    /// Adds those of the values that `which` names to a `long double`, one after the other and in its own precision.
    pub fn add_each_ld(
        self,
        pick: impl FnOnce(&'static L) -> Field<LongDouble>,
        values: &[f64],
        which: &[u32],
    ) {
        // SAFETY: as in `set`.
        unsafe { pick(self.layout()).add_each_ld(self.address, values, which) }
    }

    /// Multiplies a `long double` in its own precision.
    pub fn scale_ld(self, pick: impl FnOnce(&'static L) -> Field<LongDouble>, factor: f64) {
        // SAFETY: as in `set`.
        unsafe { pick(self.layout()).scale_ld(self.address, factor) }
    }

    /// The record that a pointer field leads to.
    fn follow<M: RecordLayout>(self, pick: impl FnOnce(&'static L) -> Field<Ptr>) -> Option<Record<'a, M>> {
        // SAFETY: the methods of this module name the right type for each pointer; what a live record points
        // to lives as long as it does, under the locks that the host holds or our guards take.
        unsafe { Record::new(self.host, self.get(pick)) }
    }

    /// The text that a pointer field leads to, empty where it is null.
    pub fn text(self, pick: impl FnOnce(&'static L) -> Field<Ptr>) -> Cow<'a, str> {
        let text: *mut c_char = self.get(pick).cast();
        if text.is_null() {
            return Cow::Borrowed("");
        }
        // SAFETY: Slurm's strings are terminated and live as long as their record.
        unsafe { CStr::from_ptr(text) }.to_string_lossy()
    }

    /// An array with one `T` per TRES that a pointer field leads to.
    fn per_tres<T>(self, pick: impl FnOnce(&'static L) -> Field<Ptr>) -> Option<&'a [T]> {
        let first: *mut T = self.get(pick).cast();
        if first.is_null() {
            return None;
        }
        // SAFETY: these arrays have one entry per TRES in every release, and the lock is held for `'a`.
        Some(unsafe { slice::from_raw_parts(first, self.host.tres_count()) })
    }

    /// As `per_tres`, for writing.
    ///
    /// # Safety
    /// Nobody else has a reference into the array.
    unsafe fn per_tres_mut<T>(self, pick: impl FnOnce(&'static L) -> Field<Ptr>) -> &'a mut [T] {
        let first: *mut T = self.get(pick).cast();
        if first.is_null() {
            return &mut [];
        }
        // SAFETY: as in `per_tres`, exclusive by the caller's promise.
        unsafe { slice::from_raw_parts_mut(first, self.host.tres_count()) }
    }
}

/// `job_record_t.job_state`: the base state and its flags. The values are the same in every release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobState(pub u32);

impl JobState {
    /// Waiting for resources.
    pub fn is_pending(self) -> bool {
        self.0 & JOB_STATE_BASE == JOB_PENDING
    }

    /// Has resources and uses them.
    pub fn is_running(self) -> bool {
        self.0 & JOB_STATE_BASE == JOB_RUNNING
    }

    /// Has ended, for whatever reason.
    pub fn is_finished(self) -> bool {
        self.0 & JOB_STATE_BASE > JOB_SUSPENDED
    }

    /// Its nodes are being cleaned up.
    pub fn is_completing(self) -> bool {
        self.0 & JOB_COMPLETING != 0
    }

    /// Its size is being changed.
    pub fn is_resizing(self) -> bool {
        self.0 & JOB_RESIZING != 0
    }

    /// Waits for its nodes to boot.
    pub fn is_powering_up(self) -> bool {
        self.0 & JOB_POWER_UP_NODE != 0
    }

    /// Runs on another cluster of the federation.
    pub fn is_revoked(self) -> bool {
        self.0 & JOB_REVOKED != 0
    }
}

impl<'a> Job<'a> {
    /// Base state and flags.
    pub fn state(self) -> JobState {
        JobState(self.get(|job| job.job_state))
    }

    /// The association; `None` where accounting does not know the job. The association lock is held: without it nothing is
    /// known to be live, and nothing is found.
    pub fn association(self) -> Option<Association<'a>> {
        let (address, id) = self.named_association();
        // SAFETY: in the list of associations, whose lock is held.
        unsafe { Record::new(self.host, live::find(self.host, Kind::Association, address, id) as *mut u8) }
    }

    /// Whether accounting knows the job.
    pub fn is_accounted(self) -> bool {
        !self.get(|job| job.assoc_ptr).is_null()
    }

    /// Address and id of the association, which may be gone.
    pub fn named_association(self) -> (usize, u32) {
        (self.get(|job| job.assoc_ptr) as usize, self.get(|job| job.assoc_id))
    }

    /// Whether the pointer to the association is what the list of associations has.
    fn has_live_association(self) -> bool {
        let (address, id) = self.named_association();
        live::is(self.host, Kind::Association, address, id)
    }

    /// What the job asked for; absent once Slurm has dropped it.
    pub fn details(self) -> Option<Details<'a>> {
        self.follow(|job| job.details)
    }

    /// The partition that it is in or was tried in last.
    pub fn partition(self) -> Option<Partition<'a>> {
        self.follow(|job| job.part_ptr)
    }

    /// True for a job that was submitted to several partitions or QOS.
    pub fn has_variants(self) -> bool {
        self.has_several_qos() || !self.get(|job| job.part_ptr_list).is_null()
    }

    /// All partitions of a job that was submitted to several.
    pub fn partitions(self) -> Option<List<'a, PartLayout>> {
        // SAFETY: a list of partitions that lives as long as the job.
        unsafe { List::new(self.host(), self.get(|job| job.part_ptr_list).cast()) }
    }

    /// Address and id of the QOS, which may be gone.
    pub fn named_qos(self) -> (usize, u32) {
        (self.get(|job| job.qos_ptr) as usize, self.get(|job| job.qos_id))
    }

    /// The QOS it runs under. The QOS lock is held: without it none is known to be live, and none is found.
    pub fn qos(self) -> Option<Qos<'a>> {
        let address = self.get(|job| job.qos_ptr) as usize;
        // Of several QOS the scheduler notes by the pointer alone which one it tries.
        let tried = self.has_several_qos() && live::has(self.host, Kind::Qos, address);
        let found = if tried {
            address
        } else {
            live::find(self.host, Kind::Qos, address, self.get(|job| job.qos_id))
        };
        // SAFETY: in the list of QOS, whose lock is held.
        unsafe { Record::new(self.host, found as *mut u8) }
    }

    /// Submitted to several QOS of which one is gone: until slurmctld has connected the job with what it loaded anew.
    pub(super) fn has_stale_qos_list(self) -> bool {
        self.has_several_qos() && self.qos_list().is_none()
    }

    pub(super) fn has_several_qos(self) -> bool {
        self.layout().qos_list.is_some_and(|list| !self.get(|_| list).is_null())
    }

    /// All QOS of a job that was submitted to several; from 24.11 on. `None` also where one of them is gone. The QOS lock
    /// is held.
    pub fn qos_list(self) -> Option<List<'a, QosLayout>> {
        let field = self.layout().qos_list?;
        // SAFETY: a list of QOS that lives as long as the job. Of those that may be gone only the address is looked at.
        let list: List<'a, QosLayout> = unsafe { List::new(self.host, self.get(|_| field).cast()) }?;
        let mut all_live = true;
        list.for_each_ro(|qos| {
            all_live &= live::has(self.host, Kind::Qos, qos.address());
            ControlFlow::Continue(())
        });
        all_live.then_some(list)
    }

    /// TRES that it holds.
    pub fn tres_allocated(self) -> Option<&'a [u64]> {
        self.per_tres(|job| job.tres_alloc_cnt)
    }

    /// TRES that it asked for.
    pub fn tres_requested(self) -> Option<&'a [u64]> {
        self.per_tres(|job| job.tres_req_cnt)
    }

    /// The factors shown by sprio, where they have been computed.
    pub fn factors(self) -> Option<PriorityFactors<'a>> {
        self.follow(|job| job.prio_factors)
    }

    /// The factors shown by sprio, allocated where there are none.
    pub fn factors_or_new(self) -> PriorityFactors<'a> {
        self.factors().unwrap_or_else(|| {
            let address = self.host().allocate(1, self.host().layout.factors.size);
            self.set(|job| job.prio_factors, address);
            Record { host: self.host(), address, lock: PhantomData }
        })
    }

    /// Billable TRES, from the host, which caches the value in the record: the job write lock and the association
    /// manager's lock are held by the caller.
    pub fn billable_tres(self, start_of_period: i64) -> f64 {
        // SAFETY: a live job, and the association lock is held.
        unsafe { (self.host().sym.calc_job_billable_tres)(self.as_ptr().cast(), start_of_period, true) }
    }
}

impl<'a> Partition<'a> {
    /// The partition's own QOS, by its name where the pointer leads to one that is gone. The QOS lock is held.
    pub fn qos(self) -> Option<Qos<'a>> {
        let address = self.get(|part| part.qos_ptr) as usize;
        // SAFETY: in the list of QOS, whose lock is held.
        let qos = |address: usize| unsafe { Record::<QosLayout>::new(self.host, address as *mut u8) };
        if address == 0 || live::has(self.host, Kind::Qos, address) {
            return qos(address);
        }
        let name = self.text(|part| part.qos_char);
        live::all_qos(self.host).into_iter().filter_map(qos).find(|qos| qos.text(|qos| qos.name) == name)
    }

    /// TRES of the partition.
    pub fn tres(self) -> Option<&'a [u64]> {
        self.per_tres(|part| part.tres_cnt)
    }
}

impl<'a> Association<'a> {
    /// Its usage record, which is never absent in slurmctld.
    pub fn usage(self) -> Option<AssociationUsage<'a>> {
        self.follow(|assoc| assoc.usage)
    }

    /// Usage charged to the association itself; from 22.05 on. Often the same record as [`Association::usage`].
    pub fn leaf_usage(self) -> Option<AssociationUsage<'a>> {
        let field = self.layout().leaf_usage?;
        self.follow(|_| field)
    }

    /// Frees the leaf usage where it is a record of its own, as a reset of the usage does.
    pub fn drop_leaf_usage(self) {
        let (Some(field), Some(leaf)) = (self.layout().leaf_usage, self.leaf_usage()) else { return };
        if self.usage().is_some_and(|usage| usage == leaf) {
            return;
        }
        // SAFETY: a usage record that only this association points to; the pointer is cleared with it.
        unsafe { (self.host().sym.slurmdb_destroy_assoc_usage)(leaf.as_ptr().cast()) };
        self.set(|_| field, std::ptr::null_mut());
    }

    /// True for a leaf of the tree, an association with a user.
    pub fn is_user(self) -> bool {
        !self.get(|assoc| assoc.user).is_null()
    }
}

impl<'a> AssociationUsage<'a> {
    /// The parent in the tree.
    pub fn parent(self) -> Option<Association<'a>> {
        self.follow(|usage| usage.parent_assoc_ptr)
    }

    /// Raw usage by TRES.
    pub fn tres_raw(self) -> LongDoubles<'a> {
        // SAFETY: one long double per TRES, under the association lock.
        unsafe { LongDoubles::of(self.layout().usage_tres_raw, self.as_ptr(), self.host().tres_count()) }
    }

    /// TRES seconds of running jobs that count against run-minute limits.
    pub fn run_seconds(self) -> &'a mut [u64] {
        // SAFETY: one entry per TRES; the association write lock is held and no other slice is kept.
        unsafe { self.per_tres_mut(|usage| usage.grp_used_tres_run_secs) }
    }
}

impl<'a> Qos<'a> {
    /// Its usage record.
    pub fn usage(self) -> Option<QosUsage<'a>> {
        self.follow(|qos| qos.usage)
    }

    /// `QOS_FLAG_NO_DECAY`
    pub fn is_undecayed(self) -> bool {
        self.get(|qos| qos.flags) & QOS_FLAG_NO_DECAY != 0
    }
}

impl<'a> QosUsage<'a> {
    /// Raw usage by TRES.
    pub fn tres_raw(self) -> LongDoubles<'a> {
        // SAFETY: one long double per TRES, under the QOS lock.
        unsafe { LongDoubles::of(self.layout().usage_tres_raw, self.as_ptr(), self.host().tres_count()) }
    }

    /// TRES seconds of running jobs that count against run-minute limits.
    pub fn run_seconds(self) -> &'a mut [u64] {
        // SAFETY: one entry per TRES; the QOS write lock is held and no other slice is kept.
        unsafe { self.per_tres_mut(|usage| usage.grp_used_tres_run_secs) }
    }

    /// Run seconds that count against the limits of one account and one user within the QOS; from 24.05 on.
    pub fn run_seconds_of(self, association: Association<'_>, user_id: u32) -> [&'a mut [u64]; 2] {
        let host = self.host();
        // The functions are older than what they are needed for here: before 24.05 slurmctld counts nothing there.
        let functions = host.sym.acct_used_limits.zip(host.sym.user_used_limits);
        let Some((by_account, by_user)) = functions.filter(|_| host.counts_run_seconds_of_users()) else {
            return [&mut [], &mut []];
        };
        let layout = self.layout();
        let name: *mut c_char = association.get(|assoc| assoc.acct).cast();
        // SAFETY: the functions take the address of a list pointer inside the record, make the entry where there
        // is none and return it; the QOS write lock is held.
        let entries = unsafe {
            [
                by_account(layout.acct_limit_list.address(self.as_ptr()).cast(), name),
                by_user(layout.user_limit_list.address(self.as_ptr()).cast(), user_id),
            ]
        };
        entries.map(|entry| {
            if entry.is_null() {
                return &mut [][..];
            }
            // SAFETY: a live `slurmdb_used_limits_t`, whose array has one entry per TRES.
            unsafe {
                let first: *mut u64 = host.layout.used_limits.tres_run_secs.get(entry.cast()).cast();
                if first.is_null() {
                    &mut [][..]
                } else {
                    slice::from_raw_parts_mut(first, host.tres_count())
                }
            }
        })
    }
}

impl<'a> PriorityFactors<'a> {
    /// Weighted TRES factors, one per TRES, and their weights: allocated as the host expects to free them.
    pub fn tres_arrays(self, weights: &[f64]) -> &'a mut [f64] {
        let host = self.host();
        let count = weights.len();
        let kept = usize::try_from(self.get(|factors| factors.tres_cnt)).unwrap_or(0);
        let present = !self.get(|factors| factors.priority_tres).is_null()
            && !self.get(|factors| factors.tres_weights).is_null();
        if !present || kept != count {
            self.drop_tres_arrays();
            self.set(|factors| factors.priority_tres, host.allocate(count, size_of::<f64>()));
            self.set(|factors| factors.tres_weights, host.allocate(count, size_of::<f64>()));
            self.set(|factors| factors.tres_cnt, u32::try_from(count).unwrap_or(0));
        }
        let array = |pick: fn(&'static FactorsLayout) -> Field<Ptr>| {
            // SAFETY: `count` doubles, allocated above or in an earlier cycle with the same count; this job's
            // factors are reached by nobody else under the job write lock.
            unsafe { slice::from_raw_parts_mut(self.get(pick).cast::<f64>(), count) }
        };
        array(|factors| factors.tres_weights).copy_from_slice(weights);
        array(|factors| factors.priority_tres)
    }

    /// Frees the TRES arrays.
    pub fn drop_tres_arrays(self) {
        let arrays: [fn(&'static FactorsLayout) -> Field<Ptr>; 2] = [|f| f.priority_tres, |f| f.tres_weights];
        for pick in arrays {
            // SAFETY: arrays of the host's allocator that only this record points to.
            unsafe { self.host().free(self.get(pick)) };
            self.set(pick, std::ptr::null_mut());
        }
        self.set(|factors| factors.tres_cnt, 0);
    }
}
