//! Usage in Slurm's records: half-life decay, resets, charging jobs and the correction after a restart.
//!
//! The arithmetic is the engine's; here it is applied to the `long double` fields of associations (up to
//! the root) and QOS, under the association manager's write lock. TRES usage and run seconds move only
//! where limits are enforced, as in stock priority/multifactor.

use std::ops::ControlFlow;

use tracing::warn;

use super::explain;
use crate::engine::charge::{
    released_before_restart, Amounts, Elapsed, JobTimes, Period, END_CHARGED, NO_CONSUME,
};
use crate::engine::decay::RunDecay;
use crate::faults;
use crate::host::ahead::Touched;
use crate::host::locks::AssocLock;
use crate::host::log::Once;
use crate::host::long_double::{self, Amount};
use crate::host::records::{Association, AssociationUsage, Job, Qos, QosUsage};
use crate::host::Host;

/// More seconds end than were counted, once per cycle.
pub static UNDERFLOW: Once = Once::new();

/// Index of the energy TRES, which is measured and not charged by time.
const ENERGY: usize = 2;

/// Scales the usage of an association or a QOS, whose records have the same fields.
macro_rules! scale {
    ($usage:expr, $factor:expr) => {{
        let usage = $usage;
        usage.scale_ld(|u| u.usage_raw, $factor);
        usage.tres_raw().scale($factor);
        usage.set(|u| u.grp_used_wall, usage.get(|u| u.grp_used_wall) * $factor);
    }};
}

/// Sets it to zero.
macro_rules! clear {
    ($usage:expr) => {{
        let usage = $usage;
        usage.set_ld(|u| u.usage_raw, 0.0);
        usage.tres_raw().clear();
        usage.set(|u| u.grp_used_wall, 0.0);
    }};
}

/// Adds wall clock seconds and raw usage to it.
macro_rules! add {
    ($usage:expr, $wall:expr, $raw:expr) => {{
        let usage = $usage;
        usage.set(|u| u.grp_used_wall, usage.get(|u| u.grp_used_wall) + $wall);
        usage.add_ld(|u| u.usage_raw, $raw);
    }};
}

/// Multiplies all usage by `factor`. QOS with the flag `NoDecay` keep theirs.
pub fn decay(lock: &AssocLock<'_>, factor: f64) {
    if let Some(associations) = lock.all() {
        associations.for_each_ahead(&touched_by_decay(lock.host()), |association| {
            faults::point("decay.association");
            let usage = association.usage();
            if let Some(usage) = usage {
                scale!(usage, factor);
            }
            if let Some(leaf) = association.leaf_usage().filter(|leaf| Some(*leaf) != usage) {
                scale!(leaf, factor);
            }
        });
    }
    if let Some(list) = lock.qos() {
        list.for_each_ro(|qos| {
            if let Some(usage) = qos.usage().filter(|_| !qos.is_undecayed()) {
                scale!(usage, factor);
            }
            ControlFlow::Continue(())
        });
    }
}

/// What [`decay`] touches of an association.
fn touched_by_decay(host: &'static Host) -> Touched {
    let (assoc, usage) = (&host.layout.assoc, &host.layout.assoc_usage);
    let mut touched = Touched::new();
    if let Some(leaf) = assoc.leaf_usage {
        touched.field(leaf);
    }
    touched.behind(&[assoc.usage], usage.usage_raw).behind(&[assoc.usage], usage.grp_used_wall);
    touched.tres(&[assoc.usage, usage.usage_tres_raw], host.tres_count(), long_double::BYTES);
    touched
}

/// Sets all usage to zero, as every `PriorityUsageResetPeriod` does.
pub fn reset(lock: &AssocLock<'_>) {
    if let Some(associations) = lock.all() {
        associations.for_each_ro(|association| {
            faults::point("reset.association");
            if let Some(usage) = association.usage() {
                clear!(usage);
            }
            association.drop_leaf_usage();
            ControlFlow::Continue(())
        });
    }
    if let Some(list) = lock.qos() {
        list.for_each_ro(|qos| {
            if let Some(usage) = qos.usage() {
                clear!(usage);
            }
            ControlFlow::Continue(())
        });
    }
}

/// Whether a cycle charges a job: it holds resources and accounting knows it.
///
/// Pending jobs are not charged under `CALCULATE_RUNNING` either (stock adds wall time for those whose
/// expected start has passed).
pub fn is_chargeable(job: Job<'_>) -> bool {
    let state = job.state();
    !state.is_pending()
        && !state.is_finished()
        && !state.is_completing()
        && !state.is_powering_up()
        && job.get(|job| job.start_time) != 0
        && !job.get(|job| job.assoc_ptr).is_null()
}

/// What [`is_chargeable`] and [`Charger::charge`] touch of a job and of its association; those above it serve many jobs.
pub fn touched(host: &'static Host) -> Touched {
    let (job, usage) = (&host.layout.job, &host.layout.assoc_usage);
    let count = host.tres_count();
    let mut touched = Touched::new();
    touched
        .field(job.job_id)
        .field(job.job_state)
        .field(job.start_time)
        .field(job.end_time)
        .field(job.end_time_exp);
    touched.field(job.time_limit).field(job.qos_ptr).field(job.part_ptr);
    touched.tres(&[job.tres_alloc_cnt], count, size_of::<u64>());
    let path = [job.assoc_ptr, host.layout.assoc.usage];
    touched.behind(&path, usage.usage_raw).behind(&path, usage.grp_used_wall);
    touched.behind(&path, usage.parent_assoc_ptr);
    touched.tres(&[path[0], path[1], usage.usage_tres_raw], count, long_double::BYTES);
    touched.tres(&[path[0], path[1], usage.grp_used_tres_run_secs], count, size_of::<u64>());
    touched
}

/// Charges jobs, one after the other.
#[derive(Debug)]
pub struct Charger {
    decay: RunDecay,
    held: Held,
}

impl Charger {
    /// With the half-life of usage as a factor per second.
    pub fn new(decay_factor: f64) -> Self {
        Self { decay: RunDecay::new(decay_factor), held: Held::default() }
    }

    /// Charges a job for a period; after its last charge (`period.job_ended`) it is marked and not charged again.
    /// Needs the job lock, and the association manager's for writing associations and QOS and reading TRES.
    pub fn charge(&mut self, _lock: &AssocLock<'_>, job: Job<'_>, period: Period) {
        faults::point("charge");
        let state = job.state();
        let times = JobTimes {
            start: job.get(|job| job.start_time),
            end: job.get(|job| job.end_time),
            expected_end: job.get(|job| job.end_time_exp),
            limit: job.get(|job| job.time_limit),
            over: state.is_finished() || state.is_completing() || state.is_resizing(),
        };
        let Some(elapsed) = Elapsed::within(period, &times) else { return };
        if period.job_ended {
            job.set(|job| job.end_time_exp, END_CHARGED);
        }
        let qos = job.qos();
        let usage_factor = qos.map(|qos| qos.get(|qos| qos.usage_factor));
        let amounts = elapsed.amounts(&mut self.decay, job.billable_tres(elapsed.start), usage_factor);
        explain::charge(job, &elapsed, &amounts);

        let held = &mut self.held;
        held.take(job, |count| amounts.released_for(count));
        for qos in [qos, partition_qos(job)].into_iter().flatten() {
            charge_qos(qos, job, held, &amounts);
        }
        for association in ancestry(job) {
            faults::point("charge.association");
            let Some(usage) = association.usage() else { continue };
            add!(usage, amounts.wall_decayed, amounts.usage_decayed);
            usage.tres_raw().add_products(amounts.wall_decayed, &held.amounts);
            held.release(job, usage.run_seconds(), || {
                format!("association {}", association.get(|assoc| assoc.id))
            });
        }
    }
}

fn charge_qos(qos: Qos<'_>, job: Job<'_>, held: &Held, amounts: &Amounts) {
    let Some(usage) = qos.usage() else { return };
    let (wall, raw) = if qos.is_undecayed() {
        (amounts.wall, amounts.usage)
    } else {
        (amounts.wall_decayed, amounts.usage_decayed)
    };
    add!(usage, wall, raw);
    if job.association().is_some() || !job.host().qos_tres_need_association() {
        usage.tres_raw().add_products(wall, &held.amounts);
        release_in_qos(qos, usage, job, held);
    }
}

fn release_in_qos(qos: Qos<'_>, usage: QosUsage<'_>, job: Job<'_>, held: &Held) {
    let name = || qos.text(|qos| qos.name);
    held.release(job, usage.run_seconds(), || format!("QOS {}", name()));
    if held.released.is_empty() {
        return;
    }
    let Some(association) = job.association() else { return };
    let [of_account, of_user] = usage.run_seconds_of(association, job.get(|job| job.user_id));
    held.release(job, of_account, || format!("QOS {} and its account", name()));
    held.release(job, of_user, || format!("QOS {} and its user", name()));
}

/// Takes the time that running jobs had used when the last cycle ran out of the run seconds that limits count.
///
/// When slurmctld starts (and up to 23.02 when it reconfigures) it adds the whole requested time of every running
/// job again. Needs the locks of [`Charger::charge`].
pub fn forget_time_before_restart(_lock: &AssocLock<'_>, job: Job<'_>, last_ran: i64) {
    let start = job.get(|job| job.start_time);
    if job.get(|job| job.end_time_exp) == END_CHARGED || !job.state().is_running() || start > last_ran {
        return;
    }
    let qos = job.qos();
    let usage_factor = qos.map(|qos| qos.get(|qos| qos.usage_factor));
    let mut held = Held::default();
    held.take(job, |count| released_before_restart(count, usage_factor, start, last_ran));
    let of_partition = partition_qos(job).filter(|_| job.host().corrects_partition_qos());
    for qos in [qos, of_partition].into_iter().flatten() {
        if let Some(usage) = qos.usage() {
            release_in_qos(qos, usage, job, &held);
        }
    }
    for association in ancestry(job) {
        if let Some(usage) = association.usage() {
            held.release(job, usage.run_seconds(), || {
                format!("association {}", association.get(|assoc| assoc.id))
            });
        }
    }
}

/// The QOS of a job's partition, where it is not the job's own.
fn partition_qos(job: Job<'_>) -> Option<Qos<'_>> {
    let of_partition = job.partition()?.qos()?;
    (Some(of_partition) != job.qos()).then_some(of_partition)
}

/// A job's association and all above it, to the root. Parents that lead in a circle end somewhere, too.
fn ancestry(job: Job<'_>) -> impl Iterator<Item = Association<'_>> {
    /// More than any tree is deep.
    const LEVELS: usize = 65_536;
    std::iter::successors(job.association(), |association| {
        association.usage().and_then(AssociationUsage::parent)
    })
    .take(LEVELS)
}

/// What a job holds, for what is counted by TRES.
#[derive(Debug, Default)]
struct Held {
    /// What it consumes, where limits are enforced; only then are TRES counted.
    amounts: Vec<Amount>,
    /// Seconds of every TRES to take from run seconds; empty where there are none.
    released: Vec<u64>,
}

impl Held {
    /// Takes what a job holds; `released` says of a count of a TRES how many TRES seconds end.
    fn take(&mut self, job: Job<'_>, released: impl Fn(u64) -> u64) {
        let counts = job.tres_allocated().filter(|_| job.host().enforces_limits()).unwrap_or(&[]);
        let amounts = counts.iter().enumerate().map(|(tres, count)| Amount { tres, count: *count });
        let is_consumed =
            |amount: &Amount| amount.tres != ENERGY && amount.count != 0 && amount.count != NO_CONSUME;
        self.amounts.clear();
        self.amounts.extend(amounts.filter(is_consumed));
        self.released.clear();
        self.released.resize(counts.len(), 0);
        for amount in &self.amounts {
            self.released[amount.tres] = released(amount.count);
        }
    }

    /// Takes what is released from run seconds, which must not fall below zero.
    fn release(&self, job: Job<'_>, run_seconds: &mut [u64], owner: impl Fn() -> String) {
        let mut short = false;
        for (left, released) in run_seconds.iter_mut().zip(&self.released) {
            let (rest, wrapped) = left.overflowing_sub(*released);
            *left = rest;
            short |= wrapped;
        }
        if short {
            self.make_good(job, run_seconds, &owner);
        }
    }

    /// Sets to zero what has fallen below it.
    #[cold]
    fn make_good(&self, job: Job<'_>, run_seconds: &mut [u64], owner: &dyn Fn() -> String) {
        for (tres, (left, released)) in run_seconds.iter_mut().zip(&self.released).enumerate() {
            let counted = left.wrapping_add(*released);
            if counted >= *released {
                continue;
            }
            *left = 0;
            if UNDERFLOW.first() {
                warn!(
                    "job {}, and perhaps others: {released} seconds of TRES {} end, but only {counted} were counted for {}; \
                     the count is set to 0. Run limits may have admitted too much until now",
                    job.get(|job| job.job_id),
                    job.host().tres_name(tres),
                    owner()
                );
            }
        }
    }
}
