//! What jobs are charged besides their billing: charge rules and `MinimumCharge`, as far as a trace has the facts for them.
//!
//! A trace has the partition, QOS and account of a job. It has neither reservations nor wckeys, and each job runs once. [`left_out`] says
//! which of these gaps matter.

use multifactor2_core::books;
use multifactor2_core::policy::pools::{Bearer, Named};
use multifactor2_core::rules::charge_rules::{self, ChargeRules};
use multifactor2_core::settings::{ActiveJobs, ChargeKind, OverrideKind, Settings, UsageMeasure};

use crate::workload::{Machine, Setup, Workload};

/// What the charge rules of the settings make of the usage of a job.
#[derive(Debug, Default)]
pub struct Charges {
    factors: Option<Factors>,
    /// Seconds that a job is charged at least.
    minimum: i64,
}

/// What usage is multiplied with.
#[derive(Debug)]
struct Factors {
    /// By partition of the machine.
    partitions: Vec<f64>,
    /// By [`crate::workload::Job::qos`].
    qos: Vec<f64>,
    /// By [`crate::workload::Job::association`]: of its account, and of all accounts above.
    associations: Vec<f64>,
}

impl Charges {
    /// Those that settings ask for.
    pub fn of(settings: &Settings, setup: &Setup<'_>) -> Self {
        let rules = ChargeRules::of(settings);
        let factors = (!rules.are_none()).then(|| Factors::of(&rules, setup));
        Self { factors, minimum: rules.minimum }
    }

    /// What usage of a job in a partition is multiplied with.
    pub fn factor(&self, setup: &Setup<'_>, job: u32, partition: u16) -> f64 {
        let Some(factors) = &self.factors else { return 1.0 };
        let job = setup.job(job);
        factors.partitions[usize::from(partition)]
            * factors.qos[usize::from(job.qos)]
            * factors.associations[job.association as usize]
    }

    /// Seconds that a job is charged at least.
    pub fn minimum(&self) -> i64 {
        self.minimum
    }
}

impl Factors {
    fn of(rules: &ChargeRules, setup: &Setup<'_>) -> Self {
        let workload = setup.workload;
        // Accounts are before what is below them. The root is nobody's parent.
        let mut above: Vec<f64> = Vec::with_capacity(workload.associations.len());
        let mut associations = Vec::with_capacity(workload.associations.len());
        for of in &workload.associations {
            let account = workload.accounts.name(of.account);
            let mut parents = of.parent.map_or(1.0, |parent| above[parent as usize]);
            if of.parent.is_some() && of.user.is_none() {
                parents *= rules.parents.of(account).usage;
            }
            above.push(parents);
            associations.push(rules.accounts.of(account).usage * parents);
        }
        Self {
            partitions: setup
                .machine
                .partitions
                .iter()
                .map(|partition| rules.partitions.of(&partition.name).usage)
                .collect(),
            qos: workload.qos.iter().map(|qos| rules.qos.of(&qos.name).usage).collect(),
            associations,
        }
    }
}

/// What settings ask for that is left out.
pub fn left_out(settings: &Settings) -> Vec<&'static str> {
    let charges = |kind: ChargeKind| settings.charges.iter().any(|line| line.kind == kind);
    let asked = [
        (charges(ChargeKind::Reservation), "Charge=Reservation: the trace has no reservations"),
        (charges(ChargeKind::WcKey), "Charge=WCKey: the trace has no wckeys"),
        (charges(ChargeKind::Requeued), "Charge=Requeued: every job runs once"),
        (
            settings.charges.iter().any(|line| line.week_hours().is_some()),
            "Charge with Days or Hours: the trace does not have the time zone of the cluster",
        ),
        (
            settings.usage_measure == UsageMeasure::Dominant,
            "UsageMeasure=dominant: usage is billing, because memory and GPUs of the cluster are not known",
        ),
        (
            settings.overrides.iter().any(|line| line.kind == OverrideKind::Partition),
            "Override=Partition: a job in several partitions has the tickets of the first in all, or in all of a book",
        ),
        (
            settings.active_jobs != ActiveJobs::Eligible,
            "ActiveJobs: as with eligible, because the trace does not say why jobs wait",
        ),
    ];
    asked.into_iter().filter(|(asked, _)| *asked).map(|(_, what)| what).collect()
}

/// Names in `Charge` and `Book` lines that nothing of a workload and its machine has, so that they change nothing.
pub fn unknown(settings: &Settings, workload: &Workload, machine: &Machine) -> Vec<String> {
    let has_account = |name: &str| workload.accounts.iter().any(|known| known.to_lowercase() == name);
    let has_partition = |name: &str| machine.partitions.iter().any(|known| known.name == name);
    let has_qos = |name: &str| workload.qos.iter().any(|known| known.name.eq_ignore_ascii_case(name));
    let of = |Named { setting, kind, name, of, .. }: Named<'_>| {
        let what = match of {
            Bearer::Partition if !has_partition(name) => "the machine of the replay has no partition",
            Bearer::Qos if !has_qos(name) => "the trace has no QOS",
            Bearer::Association(false) => "the trace has no account",
            _ => return None,
        };
        Some(format!("{setting}={kind}: {what} {name}"))
    };
    charge_rules::named(settings, has_account)
        .chain(books::named(settings, has_account))
        .filter_map(of)
        .collect()
}
