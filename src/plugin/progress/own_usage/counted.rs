//! What our own sums count of a job, and whom it is charged to.

use multifactor2_accounting::charge::{Amounts, Elapsed};
use multifactor2_accounting::ended::RawCharge;
use multifactor2_accounting::tally::Charge;
use multifactor2_core::facts::amount;

use crate::host::access::Write;
use crate::host::records::{Association, Job, Qos};

/// What is counted of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metric {
    /// What it is billed.
    Billing,
    /// A TRES, by its position, where the cluster has it.
    Tres(Option<usize>),
}

impl Metric {
    /// The one with a name; `is_at` says which TRES that is.
    pub fn of(name: &str, is_at: impl FnOnce() -> Option<usize>) -> Self {
        if name.eq_ignore_ascii_case("billing") {
            Self::Billing
        } else {
            Self::Tres(is_at())
        }
    }

    /// What a job has used of it.
    pub fn charge(self, job: Job<'_>, elapsed: &Elapsed, amounts: &Amounts) -> Charge {
        let (count, plain, decayed) = match self {
            Self::Billing => (1.0, amounts.usage, amounts.usage_decayed),
            Self::Tres(at) => {
                let count = count_of(job, at);
                (count, amounts.wall, amounts.wall_decayed * count)
            }
        };
        let rate = if elapsed.run > 0.0 { plain / elapsed.run * count } else { 0.0 };
        Charge { start: elapsed.start, run: elapsed.run, rate, decayed }.finite()
    }

    /// The same as it counts with half-life decay.
    pub fn used(self, job: Job<'_>, amounts: &Amounts) -> f64 {
        match self {
            Self::Billing => amounts.usage_decayed,
            Self::Tres(at) => amounts.wall_decayed * count_of(job, at),
        }
    }
}

/// How much a job has of the TRES at a position.
fn count_of(job: Job<'_>, at: Option<usize>) -> f64 {
    let count = at.and_then(|at| job.tres_allocated()?.get(at).copied()).map_or(0, amount);
    #[allow(clippy::cast_precision_loss)] // exact up to 2^53 of a TRES
    let count = count as f64;
    count
}

/// Whom a job is charged to, and how.
#[derive(Clone, Copy, Debug)]
pub struct Charged<'a> {
    /// Its association.
    pub association: Option<Association<'a, Write>>,
    /// Its QOS, and that of its partition.
    pub qos: [Option<Qos<'a, Write>>; 2],
    /// When it started.
    pub started: i64,
    /// What slurmctld's raw usage is charged for it.
    pub raw: RawCharge,
    /// slurmctld's raw usage has what is counted now, or had it before a restart.
    pub in_raw: bool,
}

impl Charged<'_> {
    /// Its Unix group.
    pub fn group(job: Job<'_>) -> Option<u32> {
        // Where it is pinned by the headers of the release only.
        job.host().verified.then(|| job.get(|job| job.group_id))
    }
}
