//! Reports numbers that are computed differently here than Slurm shows them, and which of the two to trust.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Addends, Model};

/// Which of two numbers holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Believe {
    /// Slurm's: the queue goes by it.
    Shown,
    /// Slurm's now, the one computed here from the next calculation on.
    ComputedFromNextCycle,
}

/// A number that differs from Slurm's.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// The addend, by the name of sprio's column, or `PRIORITY`.
    pub what: String,
    /// The partition, for a job in several.
    pub partition: Option<String>,
    /// What Slurm shows.
    pub shown: f64,
    /// What is computed here.
    pub computed: f64,
    /// Which to believe.
    pub believe: Believe,
    /// Why they may differ, and what that means.
    pub why: String,
}

impl Model<'_> {
    /// Where the numbers of a job differ from what Slurm shows. None where another time or a change was asked for.
    pub fn differences(&self, job: usize) -> Vec<Difference> {
        let mut differences = Vec::new();
        if self.recomputed {
            return differences;
        }
        let rank = &self.jobs[job];
        if let (Some((computed, priority)), Some(shown)) = (rank.computed, rank.shown) {
            self.compare(None, computed, shown, &mut differences);
            if self.config.increase_only && f64::from(priority) > computed.sum() + 1.0 {
                differences.push(Difference {
                    what: "PRIORITY".to_owned(),
                    partition: None,
                    shown: f64::from(rank.priority),
                    computed: computed.sum().floor(),
                    believe: Believe::Shown,
                    why: "PriorityFlags=INCR_ONLY keeps an earlier, higher priority.".to_owned(),
                });
            }
        }
        for entry in &rank.entries {
            if let (Some((computed, _)), Some(shown)) = (entry.computed, entry.shown) {
                self.compare(Some(&entry.partition), computed, shown, &mut differences);
            }
        }
        differences
    }

    fn compare(
        &self,
        partition: Option<&str>,
        computed: Addends,
        shown: Addends,
        into: &mut Vec<Difference>,
    ) {
        let pairs = Addends::NAMES.iter().zip(computed.signed().into_iter().zip(shown.signed()));
        for (name, (computed, shown)) in pairs {
            if (computed - shown).abs() <= self.tolerance(name, shown) {
                continue;
            }
            into.push(Difference {
                what: (*name).to_owned(),
                partition: partition.map(str::to_owned),
                shown,
                computed,
                believe: Believe::ComputedFromNextCycle,
                why: format!(
                    "Slurm's number is from its last calculation. Something has changed since, such as a weight, shares, usage or \
                     the waiting jobs. The queue uses Slurm's number until the next calculation ({} seconds apart).",
                    self.config.calc_period
                ),
            });
        }
    }

    /// How far numbers may be apart that are the same: what the plugin wrote is exact, sprio rounds and the time of the last
    /// calculation is not shown.
    fn tolerance(&self, name: &str, shown: f64) -> f64 {
        if self.snapshot.about.source == "plugin" {
            return 1e-6 * shown.abs().max(1.0);
        }
        let weights = &self.config.factors.weights;
        let more = match name {
            "AGE" => {
                let period = f64::from(self.config.calc_period);
                f64::from(weights.age) * period / f64::from(self.config.factors.max_age.max(1))
            }
            // sshare prints whole numbers of usage.
            "FAIRSHARE" => 1e-4 * f64::from(weights.fair_share),
            _ => 0.0,
        };
        1.0 + more
    }
}
