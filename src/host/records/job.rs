//! Jobs, and the records that they point to.
//!
//! A job may point to an association or a QOS that is gone. Such a pointer is followed only under the association manager's lock, which
//! knows what exists (see [`super::super::live`]).

use std::marker::PhantomData;

use multifactor2_core::facts::Obstacle;

use super::{Association, Details, Job, Partition, PriorityFactors, Qos, Record};
use crate::host::access::{Open, Write};
use crate::host::constants::{
    INFINITE, JOB_COMPLETING, JOB_PENDING, JOB_POWER_UP_NODE, JOB_RESIZING, JOB_REVOKED, JOB_RUNNING,
    JOB_STATE_BASE, JOB_SUSPENDED, NO_VAL, PARTITION_SCHED, PARTITION_SUBMIT,
};
use crate::host::layout::{PartLayout, QosLayout};
use crate::host::lists::List;
use crate::host::live::RecordKind;
use crate::host::locks::{AssocLock, Levels};

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

    /// Holds resources and is not about to give them back: running, its nodes booting, or suspended.
    pub fn holds_resources(self) -> bool {
        let base = self.0 & JOB_STATE_BASE;
        (base == JOB_RUNNING || base == JOB_SUSPENDED) && !self.is_completing()
    }

    /// Has resources and does not use them.
    pub fn is_suspended(self) -> bool {
        self.0 & JOB_STATE_BASE == JOB_SUSPENDED
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

impl<'a, A: Open> Job<'a, A> {
    /// Base state and flags.
    pub fn state(self) -> JobState {
        JobState(self.get(|job| job.job_state))
    }

    /// Why slurmctld has left it waiting, if free nodes do not help against that: a limit, a hold, another job, a partition that is
    /// down. The reason is of the last partition and moment in which it was tried.
    pub fn obstacle(self) -> Option<Obstacle> {
        self.host.obstacles.of_reason(self.get(|job| job.state_reason))
    }

    /// slurmctld has not said yet why it waits, as after every submission and change.
    pub fn is_without_reason(self) -> bool {
        self.get(|job| job.state_reason) == WAIT_NO_REASON
    }

    /// The association; `None` where accounting does not know the job.
    pub fn association<'l, V: Levels<Assoc: Open>>(
        self,
        lock: &'l AssocLock<'_, V>,
    ) -> Option<Association<'l, V::Assoc>> {
        let (address, id) = self.named_association();
        let found = lock.confirmed().find(self.host, RecordKind::Association, address, id);
        // SAFETY: in the list of associations, whose lock is held.
        unsafe { Record::new(self.host, found as *mut u8) }
    }

    /// Whether accounting knows the job.
    pub fn is_accounted(self) -> bool {
        !self.get(|job| job.assoc_ptr).is_null()
    }

    /// Address and id of the association, which may be gone.
    pub fn named_association(self) -> (usize, u32) {
        (self.get(|job| job.assoc_ptr) as usize, self.get(|job| job.assoc_id))
    }

    /// What the job asked for; absent once Slurm has dropped it.
    pub fn details(self) -> Option<Details<'a, A>> {
        self.follow(|job| job.details)
    }

    /// The partition that it is in or was tried in last.
    pub fn partition(self) -> Option<Partition<'a>> {
        self.read_only().follow(|job| job.part_ptr)
    }

    /// Whether it is as nearly all are that wait: pending and nothing else, not held, in one partition and one QOS, with a priority that
    /// is computed.
    #[inline]
    pub fn is_plain(self) -> bool {
        self.get(|job| job.job_state) == JOB_PENDING
            && self.get(|job| job.priority) != 0
            && self.get(|job| job.direct_set_prio) == 0
            && !self.has_variants()
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

    /// Its partition; the first of several.
    pub fn first_partition(self) -> Option<Partition<'a>> {
        let Some(list) = self.partitions() else { return self.partition() };
        let mut first = None;
        list.for_each_ro(|partition| {
            first.get_or_insert(partition);
        });
        first
    }

    /// Address and id of the QOS, which may be gone.
    pub fn named_qos(self) -> (usize, u32) {
        (self.get(|job| job.qos_ptr) as usize, self.get(|job| job.qos_id))
    }

    /// The QOS it runs under.
    pub fn qos<'l, V: Levels<Qos: Open>>(self, lock: &'l AssocLock<'_, V>) -> Option<Qos<'l, V::Qos>> {
        let (address, id) = self.named_qos();
        let confirmed = lock.confirmed();
        // Of several QOS the scheduler notes by the pointer alone which one it tries.
        let tried = self.has_several_qos() && confirmed.has(self.host, RecordKind::Qos, address);
        let found = if tried { address } else { confirmed.find(self.host, RecordKind::Qos, address, id) };
        // SAFETY: in the list of QOS, whose lock is held.
        unsafe { Record::new(self.host, found as *mut u8) }
    }

    /// The QOS that an ended job has run under. slurmctld gives no pointer to it to jobs that had ended before it started: it is found by its id then.
    pub fn qos_until_end<'l, V: Levels<Qos: Open>>(
        self,
        lock: &'l AssocLock<'_, V>,
    ) -> Option<Qos<'l, V::Qos>> {
        let (address, id) = self.named_qos();
        if address != 0 {
            return self.qos(lock);
        }
        let found = lock.confirmed().of_id(self.host, RecordKind::Qos, id);
        // SAFETY: in the list of QOS, whose lock is held.
        unsafe { Record::new(self.host, found as *mut u8) }
    }

    pub(in crate::host) fn has_several_qos(self) -> bool {
        self.layout().qos_list.is_some_and(|list| !self.get(|_| list).is_null())
    }

    /// All QOS of a job that was submitted to several; from 24.11 on. `None` also where one of them is gone, until slurmctld
    /// has connected the job with what it loaded anew.
    pub fn qos_list<'l, V: Levels<Qos: Open>>(
        self,
        lock: &'l AssocLock<'_, V>,
    ) -> Option<List<'l, QosLayout, V::Qos>>
    where
        'a: 'l,
    {
        let field = self.layout().qos_list?;
        // SAFETY: a list of QOS that lives as long as the job. Of those that may be gone only the address is looked at.
        let list: List<'l, QosLayout, V::Qos> = unsafe { List::new(self.host, self.get(|_| field).cast()) }?;
        let mut all_live = true;
        list.for_each_ro(|qos| all_live &= lock.confirmed().has(self.host, RecordKind::Qos, qos.address()));
        all_live.then_some(list)
    }

    /// Its time limit in minutes or, without one, the longest of its partition; `INFINITE` if neither has one.
    pub fn limit_in_minutes(self) -> u32 {
        match self.get(|job| job.time_limit) {
            NO_VAL => self.partition().map_or(INFINITE, |partition| partition.get(|part| part.max_time)),
            limit => limit,
        }
    }

    /// TRES that it holds.
    pub fn tres_allocated(self) -> Option<&'a [u64]> {
        self.per_tres(|job| job.tres_alloc_cnt)
    }

    /// TRES that it asked for.
    pub fn tres_requested(self) -> Option<&'a [u64]> {
        self.per_tres(|job| job.tres_req_cnt)
    }
}

impl<'a> Job<'a, Write> {
    /// The factors shown by sprio, allocated where there are none.
    pub fn factors_or_new(self) -> PriorityFactors<'a> {
        self.follow(|job| job.prio_factors).unwrap_or_else(|| {
            let address = self.host.allocate(1, self.host.layout.factors.size);
            self.set(|job| job.prio_factors, address);
            Record { host: self.host, address, lock: PhantomData }
        })
    }

    /// Billable TRES, from the host, which caches the value in the record, and looks at associations.
    pub fn billable_tres<V: Levels<Assoc: Open>>(
        self,
        _lock: &AssocLock<'_, V>,
        start_of_period: i64,
    ) -> f64 {
        // SAFETY: a live job, and the association lock is held.
        unsafe { (self.host.sym.calc_job_billable_tres)(self.as_ptr().cast(), start_of_period, true) }
    }
}

/// `WAIT_NO_REASON`, the first of its enumeration in every release.
const WAIT_NO_REASON: u32 = 0;

impl<'a> Partition<'a> {
    /// It starts no jobs: `State=DOWN` or `INACTIVE`. `None` where that cannot be told: in a release that was not compared with its
    /// headers, and where the field has what no state has.
    pub fn is_down(self) -> Option<bool> {
        let state = self.get(|part| part.state_up);
        let is_state = state & !(PARTITION_SUBMIT | PARTITION_SCHED) == 0;
        (self.host.verified && is_state).then_some(state & PARTITION_SCHED == 0)
    }

    /// The partition's own QOS, by its name where the pointer leads to one that is gone.
    pub fn qos<'l, V: Levels<Qos: Open>>(self, lock: &'l AssocLock<'_, V>) -> Option<Qos<'l, V::Qos>> {
        let address = self.get(|part| part.qos_ptr) as usize;
        // SAFETY: in the list of QOS, whose lock is held.
        let qos = |address: usize| unsafe { Qos::<V::Qos>::new(self.host, address as *mut u8) };
        if address == 0 || lock.confirmed().has(self.host, RecordKind::Qos, address) {
            return qos(address);
        }
        let name = self.text(|part| part.qos_char);
        let all = lock.confirmed().all_qos(self.host);
        all.into_iter().filter_map(qos).find(|qos| qos.text(|qos| qos.name) == name)
    }

    /// TRES of the partition.
    pub fn tres(self) -> Option<&'a [u64]> {
        self.per_tres(|part| part.tres_cnt)
    }
}
