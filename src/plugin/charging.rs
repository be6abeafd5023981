//! Charging jobs for the time that they run, and the correction of run seconds after a restart.
//!
//! What jobs add is collected first and then posted, one association or QOS after the other: see
//! [`multifactor2_core::rules::ledger`]. All of it happens under one hold of the locks. TRES usage and run seconds move only
//! where limits are enforced, as in stock priority/multifactor.

use std::cell::Cell;

use rustc_hash::FxHashMap;
use tracing::warn;

use super::explain;
use crate::faults;
use crate::host::access::{Open, Write};
use crate::host::locks::{AssocLock, Usage};
use crate::host::log::Once;
use crate::host::long_double::Products;
use crate::host::panics::attempt;
use crate::host::records::{Association, AssociationUsage, Job, Qos};
use crate::host::views;
use multifactor2_core::decay::RunDecay;
use multifactor2_core::rules::charge::{
    released_before_restart, Amounts, Elapsed, Period, END_CHARGED, NO_CONSUME,
};
use multifactor2_core::rules::ledger::Ledger;

/// More seconds end than were counted, once per cycle.
pub static UNDERFLOW: Once = Once::new();

/// Index of the energy TRES, which is measured and not charged by time.
const ENERGY: usize = crate::host::constants::TRES_ARRAY_ENERGY;

/// Whether a cycle charges a job: it holds resources and accounting knows it.
///
/// Pending jobs are not charged under `CALCULATE_RUNNING` either (stock adds wall time for those whose
/// expected start has passed).
pub fn is_chargeable<A: Open>(job: Job<'_, A>) -> bool {
    let state = job.state();
    !state.is_pending()
        && !state.is_finished()
        && !state.is_completing()
        && !state.is_powering_up()
        && job.get(|job| job.start_time) != 0
        && !job.get(|job| job.assoc_ptr).is_null()
}

/// Charges jobs, some thousand at a time; keeps its buffers in between.
#[derive(Debug)]
pub struct Charger {
    decay: RunDecay,
    collected: Collected,
    associations: Owners,
    qos: Owners,
}

impl Charger {
    /// With the half-life of usage as a factor per second.
    pub fn new(decay_factor: f64) -> Self {
        Self {
            decay: RunDecay::new(decay_factor),
            collected: Collected::default(),
            associations: Owners::default(),
            qos: Owners::default(),
        }
    }

    /// Begins to collect charges, to be posted under the same hold of the locks.
    pub fn begin<'a, 't>(&mut self, lock: &'a AssocLock<'t, Usage>) -> Batch<'_, 'a, 't> {
        let host = lock.host();
        let width = if host.enforces_limits() { host.tres_count() } else { 0 };
        self.collected.clear(width);
        self.associations.clear(width);
        self.qos.clear(width);
        Batch { lock, charger: self, associations: Vec::new(), qos: Vec::new() }
    }
}

/// Charges that are collected under one hold of the locks, and whom they go to.
#[derive(Debug)]
pub struct Batch<'c, 'a, 't> {
    lock: &'a AssocLock<'t, Usage>,
    charger: &'c mut Charger,
    /// By their numbers among the owners.
    associations: Vec<Association<'a, Write>>,
    qos: Vec<Qos<'a, Write>>,
}

impl<'a> Batch<'_, 'a, '_> {
    /// Collects what a job adds in a period; after its last charge (`period.job_ended`) it is marked and not charged again.
    pub fn charge(&mut self, job: Job<'_, Write>, period: Period) {
        faults::point("charge");
        let Some(elapsed) = Elapsed::within(period, &views::times(job)) else { return };
        if period.job_ended {
            job.set(|job| job.end_time_exp, END_CHARGED);
        }
        let usage_factor = job.qos(self.lock).map(|qos| qos.get(|qos| qos.usage_factor));
        let billable = job.billable_tres(self.lock, elapsed.start);
        let amounts = elapsed.amounts(&mut self.charger.decay, billable, usage_factor);
        explain::charge(job.get(|job| job.job_id), &elapsed, &amounts);
        let job = job.read_only();
        let counts = self.counts(job);
        let charge = self.charger.collected.add(job, counts, &amounts, |count| amounts.released_for(count));
        self.enter(charge, job, self.partition_qos(job));
    }

    /// Collects the time that a running job had used when the last cycle ran, to be taken out of the run seconds that
    /// limits count.
    ///
    /// When slurmctld starts (and up to 23.02 when it reconfigures) it adds the whole requested time of every running
    /// job again.
    pub fn forget_time_before_restart(&mut self, job: Job<'_>, last_ran: i64) {
        let start = job.get(|job| job.start_time);
        if job.get(|job| job.end_time_exp) == END_CHARGED || !job.state().is_running() || start > last_ran {
            return;
        }
        let usage_factor = job.qos(self.lock).map(|qos| qos.get(|qos| qos.usage_factor));
        let released = |count| released_before_restart(count, usage_factor, start, last_ran);
        let counts = self.counts(job);
        let charge = self.charger.collected.add(job, counts, &Amounts::default(), released);
        self.enter(charge, job, self.partition_qos(job).filter(|_| job.host().corrects_partition_qos()));
    }

    /// What a job consumes; nothing where TRES usage and run seconds are not counted for it.
    fn counts<'j>(&self, job: Job<'j>) -> &'j [u64] {
        let is_counted = job.association(self.lock).is_some() || !job.host().qos_tres_need_association();
        job.tres_allocated().filter(|_| is_counted).unwrap_or(&[])
    }

    /// The QOS of a job's partition, where it is not the job's own.
    fn partition_qos(&self, job: Job<'_>) -> Option<Qos<'a, Write>> {
        let of_partition = job.partition()?.qos(self.lock)?;
        (Some(of_partition) != job.qos(self.lock)).then_some(of_partition)
    }

    /// Enters a charge for all to whom it goes.
    fn enter(&mut self, charge: u32, job: Job<'_>, of_partition: Option<Qos<'a, Write>>) {
        let association = job.association(self.lock);
        for qos in [job.qos(self.lock), of_partition].into_iter().flatten() {
            let collected = &self.charger.collected;
            let owner = self.charger.qos.number(qos.address()).unwrap_or_else(|| {
                self.qos.push(qos);
                self.charger.qos.add(qos.address(), None)
            });
            self.charger.qos.ledger.enter(owner, charge, collected.released(charge));
            let (Some(usage), Some(association)) = (qos.usage(), association) else { continue };
            if collected.width == 0 {
                continue;
            }
            let name = || qos.text(|qos| qos.name);
            let [of_account, of_user] =
                usage.run_seconds_of(association.read_only(), job.get(|job| job.user_id));
            collected.release(self.lock, charge, of_account, || format!("QOS {} and its account", name()));
            collected.release(self.lock, charge, of_user, || format!("QOS {} and its user", name()));
        }
        if let Some(association) = association {
            let owner = self.owner(association);
            let collected = &self.charger.collected;
            self.charger.associations.ledger.enter(owner, charge, collected.released(charge));
        }
    }

    /// The number of an association, which it gets after all above it.
    fn owner(&mut self, association: Association<'a, Write>) -> u32 {
        let owners = &mut self.charger.associations;
        if let Some(owner) = owners.number(association.address()) {
            return owner;
        }
        let mut new = vec![association];
        let mut above = None;
        for parent in std::iter::successors(parent(association), |association| parent(*association)) {
            above = owners.number(parent.address());
            // Parents that lead in a circle end somewhere, too.
            if above.is_some() || new.contains(&parent) {
                break;
            }
            new.push(parent);
        }
        for association in new.into_iter().rev() {
            self.associations.push(association);
            above = Some(owners.add(association.address(), above));
        }
        above.unwrap_or_default()
    }

    /// Posts what was collected. A panic costs the association or the QOS at which it happens.
    pub fn post(mut self) {
        let Charger {
            collected,
            associations: Owners { ledger, .. },
            qos: Owners { ledger: of_qos, .. },
            ..
        } = self.charger;
        if collected.jobs.is_empty() {
            return;
        }
        collected.note_consumed();
        of_qos.sort();
        for (owner, qos) in self.qos.iter().enumerate() {
            attempt(|| collected.post_to_qos(self.lock, *qos, of_qos, owner));
        }
        ledger.sort();
        // From the users up: of several that are short of run seconds, the lowest is named.
        self.associations.reverse();
        let last = self.associations.len().saturating_sub(1);
        views::posted_associations(self.lock.host()).walk(&self.associations, |at, association| {
            attempt(|| collected.post_to_association(self.lock, association, ledger, last - at));
        });
    }
}

fn parent(association: Association<'_, Write>) -> Option<Association<'_, Write>> {
    association.usage().and_then(AssociationUsage::parent)
}

/// Owners of usage, of one kind.
#[derive(Debug, Default)]
struct Owners {
    ledger: Ledger,
    /// Numbers in the ledger by address.
    known: FxHashMap<usize, u32>,
}

impl Owners {
    fn clear(&mut self, width: usize) {
        self.ledger.clear(width);
        self.known.clear();
    }

    fn number(&self, address: usize) -> Option<u32> {
        self.known.get(&address).copied()
    }

    fn add(&mut self, address: usize, above: Option<u32>) -> u32 {
        let number = self.ledger.add_owner(above);
        self.known.insert(address, number);
        number
    }
}

/// What charges add, with decay or without.
#[derive(Debug, Default)]
struct Series {
    /// Wall clock seconds.
    wall: Vec<f64>,
    /// Raw usage.
    usage: Vec<f64>,
}

impl Series {
    fn clear(&mut self) {
        self.wall.clear();
        self.usage.clear();
    }

    fn push(&mut self, wall: f64, usage: f64) {
        self.wall.push(wall);
        self.usage.push(usage);
    }
}

/// Adds charges to the usage of an association or a QOS, whose records have the same fields.
macro_rules! add {
    ($usage:expr, $collected:expr, $series:expr, $charges:expr) => {{
        let (usage, series, charges): (_, &Series, &[u32]) = ($usage, $series, $charges);
        let wall = charges
            .iter()
            .fold(usage.get(|u| u.grp_used_wall), |wall, charge| wall + series.wall[*charge as usize]);
        usage.set(|u| u.grp_used_wall, wall);
        usage.add_each_ld(|u| u.usage_raw, &series.usage, charges);
        usage.tres_raw().add_products(&$collected.products(series), charges);
    }};
}

/// Charges by number, in the order of jobs.
#[derive(Debug, Default)]
struct Collected {
    /// Ids of the jobs.
    jobs: Vec<u32>,
    decayed: Series,
    plain: Series,
    /// TRES; 0 where limits are not enforced, as only then are they counted.
    width: usize,
    /// By charge and TRES, what the job consumes.
    counts: Vec<u64>,
    /// By charge and TRES, seconds to take from run seconds.
    released: Vec<u64>,
    /// TRES that any of the jobs consumes.
    consumed: Vec<u32>,
}

impl Collected {
    fn clear(&mut self, width: usize) {
        self.jobs.clear();
        self.decayed.clear();
        self.plain.clear();
        self.width = width;
        self.counts.clear();
        self.released.clear();
    }

    /// Adds a charge for what a job consumes; `released` says of a count of a TRES how many TRES seconds end. Returns its number.
    fn add(&mut self, job: Job<'_>, counts: &[u64], amounts: &Amounts, released: impl Fn(u64) -> u64) -> u32 {
        let number = u32::try_from(self.jobs.len()).expect("job ids have 32 bits");
        self.jobs.push(job.get(|job| job.job_id));
        self.decayed.push(amounts.wall_decayed, amounts.usage_decayed);
        self.plain.push(amounts.wall, amounts.usage);
        let begin = self.counts.len();
        self.counts.extend(
            counts.iter().take(self.width).map(|count| if *count == NO_CONSUME { 0 } else { *count }),
        );
        self.counts.resize(begin + self.width, 0);
        if let Some(energy) = self.counts[begin..].get_mut(ENERGY) {
            *energy = 0;
        }
        self.released.extend(self.counts[begin..].iter().map(|count| released(*count)));
        number
    }

    /// Takes note of the TRES that are consumed, once all charges are there.
    fn note_consumed(&mut self) {
        let mut any = vec![0; self.width];
        for counts in self.counts.chunks_exact(self.width.max(1)) {
            for (any, count) in any.iter_mut().zip(counts) {
                *any |= count;
            }
        }
        self.consumed.clear();
        self.consumed.extend((0..).zip(any).filter(|(_, any)| *any != 0).map(|(tres, _)| tres));
    }

    fn products<'s>(&'s self, series: &'s Series) -> Products<'s> {
        Products { factors: &series.wall, counts: &self.counts, width: self.width, tres: &self.consumed }
    }

    /// Seconds that a charge releases, by TRES.
    fn released(&self, charge: u32) -> &[u64] {
        &self.released[charge as usize * self.width..][..self.width]
    }

    fn post_to_qos(&self, lock: &AssocLock<'_, Usage>, qos: Qos<'_, Write>, ledger: &Ledger, owner: usize) {
        let Some(usage) = qos.usage() else { return };
        let series = if qos.is_undecayed() { &self.plain } else { &self.decayed };
        add!(usage, self, series, ledger.charges(owner));
        self.release_all(lock, ledger, owner, usage.run_seconds(), || {
            format!("QOS {}", qos.text(|qos| qos.name))
        });
    }

    fn post_to_association(
        &self,
        lock: &AssocLock<'_, Usage>,
        association: Association<'_, Write>,
        ledger: &Ledger,
        owner: usize,
    ) {
        faults::point("charge.association");
        let Some(usage) = association.usage() else { return };
        add!(usage, self, &self.decayed, ledger.charges(owner));
        self.release_all(lock, ledger, owner, usage.run_seconds(), || {
            format!("association {}", association.get(|assoc| assoc.id))
        });
    }

    /// Takes what all charges of an owner release from its run seconds, which must not fall below zero at any of them.
    fn release_all(
        &self,
        lock: &AssocLock<'_, Usage>,
        ledger: &Ledger,
        owner: usize,
        run_seconds: &[Cell<u64>],
        name: impl Fn() -> String,
    ) {
        let sums = ledger.released(owner);
        let enough =
            |sums: &&[u64]| run_seconds.iter().zip(*sums).all(|(left, released)| left.get() >= *released);
        if let Some(sums) = sums.filter(enough) {
            for (left, released) in run_seconds.iter().zip(sums) {
                left.set(left.get() - released);
            }
            return;
        }
        for charge in ledger.charges(owner) {
            self.release(lock, *charge, run_seconds, &name);
        }
    }

    /// Takes what one charge releases.
    fn release(
        &self,
        lock: &AssocLock<'_, Usage>,
        charge: u32,
        run_seconds: &[Cell<u64>],
        name: impl Fn() -> String,
    ) {
        for (tres, (left, released)) in run_seconds.iter().zip(self.released(charge)).enumerate() {
            if let Some(rest) = left.get().checked_sub(*released) {
                left.set(rest);
                continue;
            }
            let counted = left.take();
            if UNDERFLOW.first() {
                warn!(
                    "job {}, and perhaps others: {released} seconds of TRES {} end, but only {counted} were counted for {}; \
                     the count is set to 0. Run limits may have admitted too much until now",
                    self.jobs[charge as usize],
                    lock.tres_name(tres),
                    name()
                );
            }
        }
    }
}
