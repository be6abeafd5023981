//! Charges jobs for the time that they run, and corrects run seconds after a restart.
//!
//! The charges of jobs are first collected and then posted, one association or QOS after the other: see
//! [`multifactor2_accounting::ledger`]. All of it happens under one hold of the locks. TRES usage and run seconds change only if limits
//! are enforced, as in stock priority/multifactor.

use rustc_hash::FxHashMap;

use super::explain;
use super::grants::Granting;
use super::points::NotedForPoints;
use super::posting::Collected;
use super::progress::own_usage::{Charged, Counting};
use super::rates::{JobFactors, OfJob};
use super::sync::RankedGuard;
use crate::faults;
use crate::host::access::{Open, Write};
use crate::host::locks::{AssocLock, Usage};
use crate::host::panics::attempt;
use crate::host::records::{Association, AssociationUsage, Job, Qos};
use crate::host::views;
use multifactor2_accounting::charge::{
    released_before_restart, Amounts, Elapsed, Period, Rates, END_CHARGED,
};
use multifactor2_accounting::ended::RawCharge;
use multifactor2_accounting::given_back::GivenBack;
use multifactor2_accounting::interrupted::{Ending, Interrupted};
use multifactor2_accounting::ledger::Ledger;
use multifactor2_accounting::rule_history::RulesWithin;
use multifactor2_core::decay::RunDecay;
use multifactor2_core::rules::charge_rules::ChargeFactors;
use multifactor2_core::rules::minimum::{ended_within, Run};

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

/// How a job ran that has ended and may owe something to `MinimumCharge`: a cycle looks for such where slurmctld reports no ends.
pub fn untold_run<A: Open>(job: Job<'_, A>) -> Option<Run> {
    let run = job.ended_run().filter(|_| job.state().is_finished() && job.ending() == Some(Ending::Own))?;
    // A job that waits after a requeue keeps what it held. Where it is cancelled then, it starts and ends in that second.
    let has_waited = run.end <= run.start && job.run_number() > 0;
    let is_charged = job.get(|job| job.end_time_exp) == END_CHARGED || job.get(|job| job.assoc_ptr).is_null();
    (job.tres_allocated().is_some() && !has_waited && !is_charged).then_some(run)
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

/// What is noted of jobs from one charge to a later one.
#[derive(Debug, Default)]
pub struct Noted {
    /// Run seconds that they have given back, where charge rules count for limits.
    pub given_back: GivenBack,
    /// Whose last run was cut off.
    pub interrupted: Interrupted,
    /// What points need.
    pub points: NotedForPoints,
}

/// Charges jobs, some thousand at a time; keeps its buffers in between.
#[derive(Debug)]
pub struct Charger<'o> {
    decay: RunDecay,
    collected: Collected,
    associations: Owners,
    qos: Owners,
    factors: JobFactors<'o>,
    noted: RankedGuard<'o, Noted>,
    /// Our own sums of usage, which count the same jobs: those for settings, and those of the share tree in windows.
    pub own: [Counting<'o>; 2],
    /// What is used of grants, likewise.
    granting: Granting<'o>,
}

impl<'o> Charger<'o> {
    /// With the half-life of usage as a factor per second, and the charge rules.
    pub fn new(
        decay_factor: f64,
        own: [Counting<'o>; 2],
        rules: RulesWithin<'o>,
        noted: RankedGuard<'o, Noted>,
    ) -> Self {
        Self {
            decay: RunDecay::new(decay_factor),
            collected: Collected::default(),
            associations: Owners::default(),
            qos: Owners::default(),
            factors: JobFactors::new(rules),
            noted,
            own,
            granting: Granting::Nobody,
        }
    }

    /// With grants, which count the same jobs.
    pub fn with_grants(mut self, granting: Granting<'o>) -> Self {
        self.granting = granting;
        self
    }

    /// A cycle has charged all jobs that run. Our own sums, and grants, are still to be finished.
    pub fn end_cycle(mut self) -> ([Counting<'o>; 2], Granting<'o>) {
        self.noted.given_back.end_cycle();
        (self.own, self.granting)
    }

    /// Begins to collect charges, to be posted under the same hold of the locks.
    pub fn begin<'c, 'a, 't>(&'c mut self, lock: &'a AssocLock<'t, Usage>) -> Batch<'c, 'a, 't, 'o> {
        let host = lock.host();
        let width = if host.enforces_limits() { host.tres_count() } else { 0 };
        self.collected.clear(width);
        self.associations.clear(width);
        self.qos.clear(width);
        self.factors.forget();
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
        let of_own = self.charger.own.each_ref().map(|own| own.elapsed(period, &times, elapsed));
        if period.job_ended {
            job.set(|job| job.end_time_exp, END_CHARGED);
        }
        let owners = self.owners_of(job.read_only());
        attempt(|| self.count_grants(job.read_only(), owners, period.end));
        let ending = if period.job_ended { job.ending() } else { None };
        let run = if ending == Some(Ending::Own) { job.ended_run() } else { None };
        let rates = self.rates(job, owners, &elapsed);
        let job = job.read_only();
        let id = job.get(|job| job.job_id);
        let released = self.charger.noted.given_back.charge(id, &times, &elapsed, rates.charge.limits);
        let of_usage = elapsed;
        let elapsed = Elapsed { released, ..elapsed };
        let mut amounts = elapsed.amounts(&mut self.charger.decay, &rates);
        explain::charge(id, &elapsed, &amounts);
        let plain = amounts;
        let raw = RawCharge {
            association: amounts.raw_decayed,
            qos: amounts.usage_decayed,
            undecayed_qos: amounts.usage,
        };
        let missing = run.map_or(0, |run| run.missing(self.charger.factors.minimum_at(run.end)));
        let at_end = run.filter(|_| missing > 0).map(|run| {
            let rates = self.rates_at(job, owners, rates, run.end);
            (run, rates, minimum(missing, &rates))
        });
        if let Some((run, rates, more)) = at_end {
            attempt(|| {
                self.charger.granting.count_minimum(self.lock, job, (run.end, missing), rates.factor());
            });
            explain::minimum(id, missing, &more);
            amounts.raw_decayed += more.raw_decayed;
            amounts.raw += more.raw;
        }
        let counts = owners.counts(job);
        let charge = self.charger.collected.add(job, counts, &amounts, |count| amounts.released_for(count));
        self.enter(charge, job, owners);
        let charged = Charged {
            association: owners.association,
            qos: [owners.qos, owners.qos_of_partition],
            started: times.start,
            raw,
            in_raw: true,
        };
        for (at, of_own) in of_own.into_iter().enumerate() {
            let Some(of_own) = of_own else { continue };
            let amounts = if of_own == of_usage && rates.charge == ChargeFactors::NONE {
                plain
            } else {
                let factors = self.factors_of(job, owners, &of_own);
                of_own.amounts(&mut self.charger.decay, &for_all(rates, factors))
            };
            self.charger.own[at].count(self.lock, job, &of_own, &amounts, charged);
        }
        if let Some((run, rates, more)) = at_end {
            let raw = RawCharge { association: more.raw_decayed, ..RawCharge::default() };
            for at in 0..self.charger.own.len() {
                self.count_minimum(at, job, (run, missing), &rates, Charged { raw, ..charged });
            }
        }
        if let Some(ending) = ending {
            self.charger.noted.interrupted.note(id, job.run_number(), ending);
        }
    }

    /// Counts a job that has ended in our own sums only, where slurmctld reports no ends. What is missing to its minimum is counted as
    /// [`Self::charge_minimum`] charges it, with what the job ran since the last cycle; else that time is counted, where it is `due`.
    pub fn count_end(&mut self, job: Job<'_, Write>, run: Option<Run>, due: bool, period: Period) {
        for at in 0..self.charger.own.len() {
            self.count_end_in(at, job, run, due, period);
        }
    }

    fn count_end_in(&mut self, at: usize, job: Job<'_, Write>, run: Option<Run>, due: bool, period: Period) {
        let Some(since) = self.charger.own[at].since() else { return };
        let owners = self.owners_under(job.read_only(), job.read_only().qos_until_end(self.lock));
        let charged = Charged {
            association: owners.association,
            qos: [owners.qos, owners.qos_of_partition],
            started: job.get(|job| job.start_time),
            raw: RawCharge::default(),
            in_raw: false,
        };
        if let Some(run) = run.filter(|run| ended_within(run.end, since, period.end)) {
            let missing = run.missing_since(self.charger.factors.minimum_at(run.end), since);
            if missing > 0 {
                let rates = self.rates_of_end(job, owners, run);
                let charged = Charged { in_raw: true, ..charged };
                self.count_minimum(at, job.read_only(), (run, missing), &rates, charged);
                return;
            }
        }
        let period = Period { job_ended: true, ..period };
        let times = views::times(job);
        let elapsed = Elapsed::within(period, &times).filter(|_| due);
        let elapsed = elapsed.and_then(|elapsed| self.charger.own[at].elapsed(period, &times, elapsed));
        let Some(elapsed) = elapsed else { return };
        let rates = self.rates(job, owners, &elapsed);
        let job = job.read_only();
        let amounts = elapsed.amounts(&mut self.charger.decay, &for_all(rates, rates.charge));
        self.charger.own[at].count(self.lock, job, &elapsed, &amounts, charged);
    }

    /// Counts what is missing to a minimum in our own sums, as used in the last second of the job.
    fn count_minimum(
        &mut self,
        at: usize,
        job: Job<'_>,
        (run, missing): (Run, i64),
        rates: &Rates,
        charged: Charged<'a>,
    ) {
        let second = last_second(run.end);
        let amounts = minimum(missing, &for_all(*rates, rates.charge));
        self.charger.own[at].count(self.lock, job, &second, &amounts, charged);
    }

    /// Collects what is missing to the minimum of a job that has ended, where slurmctld reports no ends. `period` is that of the cycle.
    pub fn charge_minimum(&mut self, job: Job<'_, Write>, run: Run, period: Period) {
        let missing = run.missing_since(self.charger.factors.minimum_at(run.end), period.start);
        if missing == 0 {
            return;
        }
        let owners = self.owners_of(job.read_only());
        let rates = self.rates_of_end(job, owners, run);
        let job = job.read_only();
        let more = minimum(missing, &rates);
        explain::minimum(job.get(|job| job.job_id), missing, &more);
        let amounts = Amounts { raw_decayed: more.raw_decayed, raw: more.raw, ..Amounts::default() };
        let charge = self.charger.collected.add(job, &[], &amounts, |_| 0);
        // What QOS have is not more by it.
        self.enter(charge, job, owners);
    }

    /// Counts what a job uses of grants.
    fn count_grants(&mut self, job: Job<'_>, owners: OwnersOfJob<'a>, now: i64) {
        let Charger { granting, factors, noted, .. } = &mut *self.charger;
        #[allow(clippy::cast_precision_loss)] // seconds
        granting.count(self.lock, job, now, |start, run| {
            let charge = factors.of(owners.of_job(job, &noted.interrupted), start, run as f64);
            Rates { billable: 1.0, usage_factor: owners.usage_factor(), charge }.factor()
        });
    }

    /// What charge rules say of a job for some seconds.
    fn factors_of(&mut self, job: Job<'_>, owners: OwnersOfJob<'a>, elapsed: &Elapsed) -> ChargeFactors {
        let of_job = owners.of_job(job, &self.charger.noted.interrupted);
        self.charger.factors.of(of_job, elapsed.start, elapsed.run)
    }

    /// What a second of a job counts that it ran now.
    fn rates(&mut self, job: Job<'_, Write>, owners: OwnersOfJob<'a>, elapsed: &Elapsed) -> Rates {
        Rates {
            billable: job.billable_tres(self.lock, elapsed.start),
            usage_factor: owners.usage_factor(),
            charge: self.factors_of(job.read_only(), owners, elapsed),
        }
    }

    /// What a second of a job counts that it ran when it ended.
    fn rates_of_end(&mut self, job: Job<'_, Write>, owners: OwnersOfJob<'a>, run: Run) -> Rates {
        self.rates(job, owners, &last_second(run.end))
    }

    /// The same where the other rates are known.
    fn rates_at(&mut self, job: Job<'_>, owners: OwnersOfJob<'a>, rates: Rates, end: i64) -> Rates {
        let second = last_second(end);
        Rates { charge: self.factors_of(job, owners, &second), ..rates }
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
        let usage_factor = owners.usage_factor();
        let released = |count| released_before_restart(count, usage_factor, start, last_ran);
        let counts = owners.counts(job);
        let charge = self.charger.collected.add(job, counts, &Amounts::default(), released);
        self.enter(charge, job, owners);
    }

    /// Whom the charges of a job go to.
    fn owners_of(&self, job: Job<'_>) -> OwnersOfJob<'a> {
        self.owners_under(job, job.qos(self.lock))
    }

    /// The same of a job that runs, or has run, under a QOS.
    fn owners_under(&self, job: Job<'_>, qos: Option<Qos<'a, Write>>) -> OwnersOfJob<'a> {
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

impl<'a> OwnersOfJob<'a> {
    fn usage_factor(&self) -> Option<f64> {
        self.qos.map(|qos| qos.get(|qos| qos.usage_factor))
    }

    /// What charge rules need.
    fn of_job<'j>(&self, job: Job<'j>, interrupted: &Interrupted) -> OfJob<'j>
    where
        'a: 'j,
    {
        let after_interrupted =
            !interrupted.is_empty() && interrupted.is_next(job.get(|job| job.job_id), job.run_number());
        OfJob { job, association: self.association, qos: self.qos, after_interrupted }
    }

    /// What a job consumes; nothing where TRES usage and run seconds are not counted for it.
    fn counts<'j>(&self, job: Job<'j>) -> &'j [u64] {
        let is_counted = self.association.is_some() || !job.host().qos_tres_need_association();
        job.tres_allocated().filter(|_| is_counted).unwrap_or(&[])
    }
}

/// Our own sums count all usage as raw usage of associations is counted.
fn for_all(rates: Rates, factors: ChargeFactors) -> Rates {
    Rates { charge: ChargeFactors { limits: factors.usage, ..factors }, ..rates }
}

/// What seconds count that a job did not run. They are of now, so nothing of them has decayed.
fn minimum(seconds: i64, rates: &Rates) -> Amounts {
    #[allow(clippy::cast_precision_loss)] // seconds
    let elapsed = Elapsed { start: 0, run: seconds as f64, released: 0 };
    elapsed.amounts(&mut RunDecay::new(1.0), rates)
}

/// The last second of a job that ended at a time.
fn last_second(end: i64) -> Elapsed {
    Elapsed { start: end.saturating_sub(1), run: 1.0, released: 0 }
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
