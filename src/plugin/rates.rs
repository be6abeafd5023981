//! The charge rules that apply to each job.
//!
//! Thousands of jobs share a few partitions, QOS and associations. Each is looked up by name once per hold of the locks, and then by its
//! address.

use multifactor2_accounting::rule_history::RulesWithin;
use multifactor2_core::rules::charge_rules::{ChargeFactors, ChargeRules};
use rustc_hash::FxHashMap;

use crate::host::access::{Open, Write};
use crate::host::records::{Association, AssociationUsage, Job, Qos};

/// What the charge rules say of a job, looked up once for each of its partition, QOS and association.
#[derive(Debug)]
pub struct JobFactors<'r> {
    rules: RulesWithin<'r>,
    /// One for each of the rules that may count, as [`RulesWithin::mean`] numbers them; none where no line is there.
    known: Vec<Known<'r>>,
}

/// What rules need.
#[derive(Clone, Copy, Debug)]
pub struct OfJob<'a> {
    pub job: Job<'a>,
    pub association: Option<Association<'a, Write>>,
    pub qos: Option<Qos<'a, Write>>,
    /// Its last run was cut off by what its owner cannot ask for.
    pub after_interrupted: bool,
}

/// What is known of records under one hold of the locks.
#[derive(Debug)]
struct Known<'r> {
    rules: &'r ChargeRules,
    partitions: FxHashMap<usize, ChargeFactors>,
    qos: FxHashMap<usize, ChargeFactors>,
    associations: FxHashMap<usize, ChargeFactors>,
}

impl<'r> JobFactors<'r> {
    pub fn new(rules: RulesWithin<'r>) -> Self {
        let known = |rules| Known {
            rules,
            partitions: FxHashMap::default(),
            qos: FxHashMap::default(),
            associations: FxHashMap::default(),
        };
        let known = if rules.are_none() { Vec::new() } else { rules.all().map(known).collect() };
        Self { rules, known }
    }

    /// The locks were let go of.
    pub fn forget(&mut self) {
        for known in &mut self.known {
            known.partitions.clear();
            known.qos.clear();
            known.associations.clear();
        }
    }

    /// The least that a job is charged which ended at a time.
    pub fn minimum_at(&self, end: i64) -> i64 {
        self.rules.minimum_at(end)
    }

    /// What the charge of a job for some seconds is multiplied with.
    pub fn of(&mut self, of_job: OfJob<'_>, start: i64, run: f64) -> ChargeFactors {
        if self.known.is_empty() {
            return ChargeFactors::NONE;
        }
        self.rules.mean(start, run, |at| self.known[at].factors(of_job))
    }
}

impl Known<'_> {
    fn factors(&mut self, of_job: OfJob<'_>) -> ChargeFactors {
        let OfJob { job, association, qos, after_interrupted } = of_job;
        let rules = self.rules;
        let mut factors = ChargeFactors::NONE;
        if let Some(partition) = job.partition().filter(|_| !rules.partitions.is_empty()) {
            let of_it = || rules.partitions.of(&partition.text(|part| part.name));
            factors = factors.times(*self.partitions.entry(partition.address()).or_insert_with(of_it));
        }
        if let Some(qos) = qos.filter(|_| !rules.qos.is_empty()) {
            let of_it = || rules.qos.of(&qos.text(|qos| qos.name));
            factors = factors.times(*self.qos.entry(qos.address()).or_insert_with(of_it));
        }
        let by_account = !(rules.accounts.is_empty() && rules.parents.is_empty());
        if let Some(association) = association.filter(|_| by_account) {
            let of_it = || of_accounts(rules, association.read_only());
            factors = factors.times(*self.associations.entry(association.address()).or_insert_with(of_it));
        }
        if !rules.reservations.is_empty() {
            factors = factors.times(rules.reservations.of(&job.reservation()));
        }
        if !rules.wckeys.is_empty() {
            factors = factors.times(rules.wckeys.of(&job.wckey()));
        }
        if after_interrupted {
            factors = factors.times(rules.requeued);
        }
        factors
    }
}

/// Parents that lead in a circle end somewhere, too.
const DEPTH: usize = 1000;

/// Of the account that an association is in, and of all above it but the root.
fn of_accounts(rules: &ChargeRules, association: Association<'_>) -> ChargeFactors {
    let mut factors = rules.accounts.of(&association.text(|assoc| assoc.acct));
    if rules.parents.is_empty() {
        return factors;
    }
    let is_user = association.is_user();
    let mut account = if is_user { parent(association) } else { Some(association) };
    for _ in 0..DEPTH {
        let Some((it, above)) = account.and_then(|account| Some((account, parent(account)?))) else { break };
        factors = factors.times(rules.parents.of(&it.text(|assoc| assoc.acct)));
        account = Some(above);
    }
    factors
}

fn parent<A: Open>(association: Association<'_, A>) -> Option<Association<'_, A>> {
    association.usage().and_then(AssociationUsage::parent)
}
