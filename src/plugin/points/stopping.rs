//! Stops jobs beyond a cap: slurmctld itself does not start them, because of the `UsageThreshold` of their QOS.
//!
//! Every release compares `prio_factors->priority_fs` of a job with that threshold whenever it checks whether the job may start
//! (`job_limits_check` of `job_mgr.c`), if the QOS has the flag `EnforceUsageThreshold`. A job has one such number for all its partitions.
//! slurmctld treats 0 as unknown: it takes the unweighted fair-share factor of the association instead, and keeps it as the number. So the
//! number is never 0 here. A job beyond a cap has the smallest possible number, any other job at least the threshold, and factors of
//! associations are at least [`LARGEST_THRESHOLD`].

use multifactor2_core::facts::{self, Obstacle};
use multifactor2_core::policy::points::LARGEST_THRESHOLD;

use super::{PointsEntries, PointsState};
use crate::faults;
use crate::host::access::{Open, Write};
use crate::host::constants::QOS_FLAG_ENFORCE_USAGE_THRES;
use crate::host::locks::{AssocLock, Explained, Levels, Unlocked};
use crate::host::records::{Job, Qos};
use crate::host::views;
use crate::plugin::Plugin;

/// The number of a job beyond a cap: none that a compiler or processor takes for 0.
pub const STOPPED: f64 = f64::MIN_POSITIVE;

/// The thresholds by which slurmctld may stop a job.
#[derive(Clone, Copy, Debug)]
pub struct Thresholds {
    /// The largest of its QOS.
    pub largest: f64,
    /// All of its QOS have one. Without, it may start under one of them.
    pub of_all: bool,
}

impl Thresholds {
    /// Those of a job; `None` where none of its QOS has one. No list of the job's may be walked at the moment.
    pub fn of<A: Open, V: Levels<Qos: Open>>(lock: &AssocLock<'_, V>, job: Job<'_, A>) -> Option<Self> {
        if !job.host().verified {
            return None;
        }
        let Some(list) = job.qos_list(lock) else {
            return job.qos(lock).and_then(threshold).map(|largest| Self { largest, of_all: true });
        };
        let (mut largest, mut of_all) = (None, true);
        list.for_each_ro(|qos| match threshold(qos) {
            Some(threshold) => largest = Some(threshold.max(largest.unwrap_or_default())),
            None => of_all = false,
        });
        largest.map(|largest| Self { largest, of_all })
    }
}

/// The threshold of a QOS by which caps stop jobs.
pub fn threshold<A: Open>(qos: Qos<'_, A>) -> Option<f64> {
    let is_enforced = qos.get(|qos| qos.flags) & QOS_FLAG_ENFORCE_USAGE_THRES != 0;
    let threshold = views::qos(qos).usage_threshold;
    (is_enforced && threshold > 0.0 && threshold <= LARGEST_THRESHOLD).then_some(threshold)
}

/// The ids of the QOS of a job that has several; none for one that has one.
pub fn qos_of<A: Open, V: Levels<Qos: Open>>(lock: &AssocLock<'_, V>, job: Job<'_, A>) -> Vec<u32> {
    let mut ids = Vec::new();
    if let Some(list) = job.qos_list(lock) {
        list.for_each_ro(|qos| ids.push(qos.get(|qos| qos.id)));
    }
    ids
}

impl PointsState {
    /// Whether a job may be kept from starting: it waits, nobody has set its priority directly, and slurmctld looks at a threshold for it. No list of
    /// the job's may be walked at the moment.
    pub fn may_stop<A: Open, V: Levels<Qos: Open>>(&self, lock: &AssocLock<'_, V>, job: Job<'_, A>) -> bool {
        self.needs.stops
            && job.state().is_pending()
            && job.get(|job| job.direct_set_prio) == 0
            && Thresholds::of(lock, job).is_some_and(|thresholds| thresholds.of_all)
    }
}

impl PointsEntries<'_> {
    /// See [`PointsState::may_stop`].
    pub fn may_stop<A: Open, V: Levels<Qos: Open>>(&self, lock: &AssocLock<'_, V>, job: Job<'_, A>) -> bool {
        self.state.may_stop(lock, job)
    }

    /// Whether a job that [may be stopped](PointsState::may_stop) is beyond a cap in all of its partitions and QOS. No list of the job's may be walked
    /// at the moment.
    pub fn is_stopped<A: Open, V: Levels<Qos: Open>>(
        &self,
        lock: &AssocLock<'_, V>,
        job: Job<'_, A>,
    ) -> bool {
        let mut is_stopped = true;
        let qos = qos_of(lock, job);
        match job.partitions() {
            Some(list) => list.for_each_ro(|partition| is_stopped &= self.is_beyond(Some(partition), &qos)),
            None => is_stopped = self.is_beyond(None, &qos),
        }
        is_stopped
    }
}

impl Plugin {
    /// A slurmctld that starts knows the number of no job: those that were kept from starting when the one before ended still are until the
    /// first calculation. slurmctld keeps the reason of a job over a restart.
    pub(in crate::plugin) fn stop_as_before(&self, unlocked: &mut Unlocked) {
        faults::point("stop_as_before");
        let stops = self.config().is_some_and(|config| config.caps_stop);
        if !stops || self.is_passive() || !self.records_are_sound(unlocked) {
            return;
        }
        let jobs = unlocked.jobs_write();
        let lock = jobs.associations::<Explained>();
        for job in jobs.all_jobs() {
            let was_stopped = || job.read_only().obstacle() == Some(Obstacle::Threshold);
            let is_stopped = self.admits(&lock, job.read_only(), true)
                && job.state().is_pending()
                && was_stopped()
                && Thresholds::of(&lock, job).is_some_and(|thresholds| thresholds.of_all);
            if !is_stopped {
                continue;
            }
            // Older releases calculate at the start, if there is no database.
            let factors = job.factors_or_new();
            if factors.get(|f| f.priority_fs) <= 0.0 {
                factors.set(|f| f.priority_fs, STOPPED);
            }
        }
    }
}

/// Writes the number that slurmctld compares with thresholds, where a QOS of the job has one: the weighted fair-share factor, and where
/// caps stop jobs what says whether this one `is_stopped`.
pub fn keep_fair_share<V: Levels<Qos: Open>>(
    job: Job<'_, Write>,
    lock: &AssocLock<'_, V>,
    qos: Option<&facts::Qos>,
    weighted: f64,
    (caps_stop, is_stopped): (bool, bool),
) {
    if !job.host().verified {
        return;
    }
    let number = match if caps_stop { Thresholds::of(lock, job) } else { None } {
        Some(_) if is_stopped => STOPPED,
        Some(thresholds) => weighted.max(thresholds.largest),
        None if qos.is_some_and(facts::Qos::has_threshold) => weighted,
        None => return,
    };
    job.factors_or_new().set(|f| f.priority_fs, number);
}
