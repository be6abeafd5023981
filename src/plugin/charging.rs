//! Charging jobs for the time that they run, and the correction of run seconds after a restart.
//!
//! What jobs add is collected first and then posted, one association or QOS after the other: see
//! [`multifactor2_core::rules::ledger`]. All of it happens under one hold of the locks. TRES usage and run seconds move only
//! where limits are enforced, as in stock priority/multifactor.

use rustc_hash::FxHashMap;

use super::explain;
use super::posting::Collected;
use super::progress::own_usage::{Charged, Counting};
use crate::faults;
use crate::host::access::{Open, Write};
use crate::host::locks::{AssocLock, Usage};
use crate::host::panics::attempt;
use crate::host::records::{Association, AssociationUsage, Job, Qos};
use crate::host::views;
use multifactor2_core::decay::RunDecay;
use multifactor2_core::rules::charge::{released_before_restart, Amounts, Elapsed, Period, END_CHARGED};
use multifactor2_core::rules::ledger::Ledger;

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

/// Whether a job has ended after a time, and [`super::Plugin::job_end`] does not know: where limits are not enforced, slurmctld asks for
/// no last charge. Its usage leaves it at that; our own sums do not.
pub fn has_ended_untold<A: Open>(job: Job<'_, A>, after: i64) -> bool {
    let state = job.state();
    (state.is_finished() || state.is_completing())
        && !state.is_pending()
        && job.get(|job| job.start_time) != 0
        && job.get(|job| job.end_time) > after
        && job.get(|job| job.end_time_exp) != END_CHARGED
        && !job.get(|job| job.assoc_ptr).is_null()
        // That of a partition that was removed is none.
        && job.partition().is_some()
}

/// Charges jobs, some thousand at a time; keeps its buffers in between.
#[derive(Debug)]
pub struct Charger<'o> {
    decay: RunDecay,
    collected: Collected,
    associations: Owners,
    qos: Owners,
    /// Our own sums of usage, which count the same jobs.
    pub own: Counting<'o>,
}

impl<'o> Charger<'o> {
    /// With the half-life of usage as a factor per second.
    pub fn new(decay_factor: f64, own: Counting<'o>) -> Self {
        Self {
            decay: RunDecay::new(decay_factor),
            collected: Collected::default(),
            associations: Owners::default(),
            qos: Owners::default(),
            own,
        }
    }

    /// Begins to collect charges, to be posted under the same hold of the locks.
    pub fn begin<'c, 'a, 't>(&'c mut self, lock: &'a AssocLock<'t, Usage>) -> Batch<'c, 'a, 't, 'o> {
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
pub struct Batch<'c, 'a, 't, 'o> {
    lock: &'a AssocLock<'t, Usage>,
    charger: &'c mut Charger<'o>,
    /// By their numbers among the owners.
    associations: Vec<Association<'a, Write>>,
    qos: Vec<Qos<'a, Write>>,
}

impl<'a> Batch<'_, 'a, '_, '_> {
    /// Collects what a job adds in a period; after its last charge (`period.job_ended`) it is marked and not charged again.
    pub fn charge(&mut self, job: Job<'_, Write>, period: Period) {
        faults::point("charge");
        let times = views::times(job);
        let Some(elapsed) = Elapsed::within(period, &times) else { return };
        let of_own = self.charger.own.elapsed(period, &times, elapsed);
        if period.job_ended {
            job.set(|job| job.end_time_exp, END_CHARGED);
        }
        let owners = self.owners_of(job.read_only());
        let usage_factor = owners.qos.map(|qos| qos.get(|qos| qos.usage_factor));
        let billable = job.billable_tres(self.lock, elapsed.start);
        let amounts = elapsed.amounts(&mut self.charger.decay, billable, usage_factor);
        explain::charge(job.get(|job| job.job_id), &elapsed, &amounts);
        let job = job.read_only();
        let counts = owners.counts(job);
        let charge = self.charger.collected.add(job, counts, &amounts, |count| amounts.released_for(count));
        self.enter(charge, job, owners);
        let of_usage = elapsed;
        if let Some(elapsed) = of_own {
            let charged = Charged {
                association: owners.association,
                qos: [owners.qos, owners.qos_of_partition],
                started: times.start,
                raw: (amounts.usage_decayed, amounts.usage),
                in_raw: true,
            };
            let amounts = if elapsed == of_usage {
                amounts
            } else {
                elapsed.amounts(&mut self.charger.decay, billable, usage_factor)
            };
            self.charger.own.count(self.lock, job, &elapsed, &amounts, charged);
        }
    }

    /// Counts what a job that has ended used in a period, in our own sums only.
    pub fn count_end(&mut self, job: Job<'_, Write>, period: Period) {
        let period = Period { job_ended: true, ..period };
        let times = views::times(job);
        let elapsed = Elapsed::within(period, &times);
        let Some(elapsed) = elapsed.and_then(|elapsed| self.charger.own.elapsed(period, &times, elapsed))
        else {
            return;
        };
        let owners = self.owners_of(job.read_only());
        let usage_factor = owners.qos.map(|qos| qos.get(|qos| qos.usage_factor));
        let billable = job.billable_tres(self.lock, elapsed.start);
        let amounts = elapsed.amounts(&mut self.charger.decay, billable, usage_factor);
        let charged = Charged {
            association: owners.association,
            qos: [owners.qos, owners.qos_of_partition],
            started: times.start,
            raw: (0.0, 0.0),
            in_raw: false,
        };
        self.charger.own.count(self.lock, job.read_only(), &elapsed, &amounts, charged);
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
        let mut owners = self.owners_of(job);
        owners.qos_of_partition = owners.qos_of_partition.filter(|_| job.host().corrects_partition_qos());
        let usage_factor = owners.qos.map(|qos| qos.get(|qos| qos.usage_factor));
        let released = |count| released_before_restart(count, usage_factor, start, last_ran);
        let counts = owners.counts(job);
        let charge = self.charger.collected.add(job, counts, &Amounts::default(), released);
        self.enter(charge, job, owners);
    }

    /// Whom the charges of a job go to.
    fn owners_of(&self, job: Job<'_>) -> OwnersOfJob<'a> {
        let qos = job.qos(self.lock);
        let of_partition = job.partition().and_then(|partition| partition.qos(self.lock));
        OwnersOfJob {
            association: job.association(self.lock),
            qos,
            qos_of_partition: of_partition.filter(|of_partition| Some(*of_partition) != qos),
        }
    }

    /// Enters a charge for all to whom it goes.
    fn enter(&mut self, charge: u32, job: Job<'_>, owners: OwnersOfJob<'a>) {
        let association = owners.association;
        for qos in [owners.qos, owners.qos_of_partition].into_iter().flatten() {
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

/// Whom the charges of a job go to.
#[derive(Clone, Copy)]
struct OwnersOfJob<'a> {
    association: Option<Association<'a, Write>>,
    qos: Option<Qos<'a, Write>>,
    /// That of the job's partition, where it is not the job's own.
    qos_of_partition: Option<Qos<'a, Write>>,
}

impl OwnersOfJob<'_> {
    /// What a job consumes; nothing where TRES usage and run seconds are not counted for it.
    fn counts<'j>(&self, job: Job<'j>) -> &'j [u64] {
        let is_counted = self.association.is_some() || !job.host().qos_tres_need_association();
        job.tres_allocated().filter(|_| is_counted).unwrap_or(&[])
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
