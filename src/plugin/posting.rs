//! Collects what jobs add to usage, by charge, and posts it to the records of associations and QOS.

use std::cell::Cell;

use multifactor2_accounting::charge::Amounts;
use multifactor2_accounting::ledger::Ledger;
use multifactor2_core::facts::NO_CONSUME;
use tracing::warn;

use crate::faults;
use crate::host::access::Write;
use crate::host::constants::TRES_ARRAY_ENERGY;
use crate::host::locks::{AssocLock, Usage};
use crate::host::log::Once;
use crate::host::long_double::Products;
use crate::host::records::{Association, Job, Qos};

/// More seconds end than were counted, once per cycle.
pub static UNDERFLOW: Once = Once::new();

/// What charges add, with decay or without.
#[derive(Debug, Default)]
pub struct Series {
    /// Wall clock seconds.
    wall: Vec<f64>,
    /// Raw usage of QOS.
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
    ($usage:expr, $collected:expr, $series:expr, $raw:expr, $charges:expr) => {{
        let (usage, series, charges): (_, &Series, &[u32]) = ($usage, $series, $charges);
        let wall = charges
            .iter()
            .fold(usage.get(|u| u.grp_used_wall), |wall, charge| wall + series.wall[*charge as usize]);
        usage.set(|u| u.grp_used_wall, wall);
        usage.add_each_ld(|u| u.usage_raw, $raw, charges);
        usage.tres_raw().add_products(&$collected.products(series), charges);
    }};
}

/// Charges by number, in the order of jobs.
#[derive(Debug, Default)]
pub struct Collected {
    /// Ids of the jobs.
    pub jobs: Vec<u32>,
    decayed: Series,
    plain: Series,
    /// Raw usage of associations.
    raw: Vec<f64>,
    /// TRES; 0 where limits are not enforced, as only then are they counted.
    pub width: usize,
    /// By charge and TRES, what the job consumes.
    counts: Vec<u64>,
    /// By charge and TRES, seconds to take from run seconds.
    released: Vec<u64>,
    /// TRES that any of the jobs consumes.
    consumed: Vec<u32>,
}

impl Collected {
    pub fn clear(&mut self, width: usize) {
        self.jobs.clear();
        self.decayed.clear();
        self.plain.clear();
        self.raw.clear();
        self.width = width;
        self.counts.clear();
        self.released.clear();
    }

    /// Adds a charge for what a job consumes; `released` says of a count of a TRES how many TRES seconds end. Returns its number.
    pub fn add(
        &mut self,
        job: Job<'_>,
        counts: &[u64],
        amounts: &Amounts,
        released: impl Fn(u64) -> u64,
    ) -> u32 {
        let number = u32::try_from(self.jobs.len()).expect("job ids have 32 bits");
        self.jobs.push(job.get(|job| job.job_id));
        self.decayed.push(amounts.wall_decayed, amounts.usage_decayed);
        self.plain.push(amounts.wall, amounts.usage);
        self.raw.push(amounts.raw_decayed);
        let begin = self.counts.len();
        self.counts.extend(
            counts.iter().take(self.width).map(|count| if *count == NO_CONSUME { 0 } else { *count }),
        );
        self.counts.resize(begin + self.width, 0);
        if let Some(energy) = self.counts[begin..].get_mut(TRES_ARRAY_ENERGY) {
            *energy = 0;
        }
        self.released.extend(self.counts[begin..].iter().map(|count| released(*count)));
        number
    }

    /// Takes note of the TRES that are consumed, once all charges are there.
    pub fn note_consumed(&mut self) {
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
    pub fn released(&self, charge: u32) -> &[u64] {
        &self.released[charge as usize * self.width..][..self.width]
    }

    pub fn post_to_qos(
        &self,
        lock: &AssocLock<'_, Usage>,
        qos: Qos<'_, Write>,
        ledger: &Ledger,
        owner: usize,
    ) {
        let Some(usage) = qos.usage() else { return };
        let series = if qos.is_undecayed() { &self.plain } else { &self.decayed };
        add!(usage, self, series, &series.usage, ledger.charges(owner));
        self.release_all(lock, ledger, owner, usage.run_seconds(), || {
            format!("QOS {}", qos.text(|qos| qos.name))
        });
    }

    pub fn post_to_association(
        &self,
        lock: &AssocLock<'_, Usage>,
        association: Association<'_, Write>,
        ledger: &Ledger,
        owner: usize,
    ) {
        faults::point("charge.association");
        let Some(usage) = association.usage() else { return };
        add!(usage, self, &self.decayed, &self.raw, ledger.charges(owner));
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
    pub fn release(
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
                    "job {}, and perhaps others: {released} seconds of TRES {} are released, but only {counted} \
                     were counted for {}; the count is set to 0. Until now, run limits may have allowed too much",
                    self.jobs[charge as usize],
                    lock.tres_name(tres),
                    name()
                );
            }
        }
    }
}
