//! Parameters of slurm.conf, as `scontrol show config` prints them or as the file has them.

use std::collections::BTreeMap;

use multifactor2_core::evaluator::FactorConfig;
use multifactor2_core::factors::{NodeCount, SizeOrder, SizePolicy, Weights};

use super::fields::length;

/// Parameters by their names in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    values: BTreeMap<String, String>,
}

/// The longest value that is kept.
const LONGEST: usize = 16_384;

/// Seven days, `PriorityDecayHalfLife` and `PriorityMaxAge` where they are not set.
const WEEK: u32 = 7 * 86_400;

impl Config {
    /// Reads lines `Name = Value`; what is no such line is ignored, as `scontrol` prints headings between them.
    pub fn parse(text: &str) -> Self {
        let mut config = Self::default();
        for line in text.lines() {
            let line = line.trim();
            let Some((name, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) else {
                continue;
            };
            let (name, value) = (name.trim(), value.trim());
            if !name.is_empty() && name.len() < 100 && value.len() <= LONGEST && !name.contains(' ') {
                config.set(name, value);
            }
        }
        config
    }

    /// Sets a parameter.
    pub fn set(&mut self, name: &str, value: &str) {
        self.values.insert(name.to_ascii_lowercase(), value.to_owned());
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// A parameter; `None` where it is not set.
    pub fn get(&self, name: &str) -> Option<&str> {
        let value = self.values.get(&name.to_ascii_lowercase())?.as_str();
        (!value.is_empty() && value != "(null)" && value != "N/A").then_some(value)
    }

    /// A number; `None` where it is not set or none.
    pub fn number(&self, name: &str) -> Option<u32> {
        self.get(name)?.split_ascii_whitespace().next()?.parse().ok()
    }

    /// A length of time in seconds, which is unlimited where `None`.
    fn seconds(&self, name: &str, default: u32) -> Option<u32> {
        match self.get(name).map(|text| length(text.trim_end_matches(" sec").trim())) {
            None | Some(Err(())) => Some(default),
            Some(Ok(None)) => None,
            Some(Ok(Some(seconds))) => Some(u32::try_from(seconds).unwrap_or(u32::MAX)),
        }
    }

    /// `PriorityFlags` has a flag.
    pub fn has_flag(&self, flag: &str) -> bool {
        let flags = self.get("PriorityFlags").unwrap_or_default();
        flags.split(',').any(|word| word.trim().eq_ignore_ascii_case(flag))
    }

    /// `PriorityDecayHalfLife` in seconds; 0 means no decay.
    pub fn half_life(&self) -> u32 {
        self.seconds("PriorityDecayHalfLife", WEEK).unwrap_or_default()
    }

    /// `PriorityCalcPeriod` in seconds, at least 1.
    pub fn calc_period(&self) -> u32 {
        self.seconds("PriorityCalcPeriod", 300).unwrap_or(300).max(1)
    }

    /// What the factors of jobs are computed with. Where no weight is set at all, fair-share alone has one: 1,000,000.
    pub fn factors(&self) -> FactorConfig {
        let weight = |name: &str| self.number(&format!("PriorityWeight{name}")).unwrap_or_default();
        let mut weights = Weights {
            age: weight("Age"),
            assoc: weight("Assoc"),
            fair_share: weight("FairShare"),
            job_size: weight("JobSize"),
            partition: weight("Partition"),
            qos: weight("QOS"),
        };
        if weights == Weights::default() {
            weights.fair_share = 1_000_000;
        }
        let favor_small = self
            .get("PriorityFavorSmall")
            .is_some_and(|text| ["yes", "true", "1"].iter().any(|yes| text.eq_ignore_ascii_case(yes)));
        let order = if self.has_flag("SMALL_RELATIVE_TO_TIME") {
            SizeOrder::RelativeToTime { favor_small }
        } else if favor_small {
            SizeOrder::Small
        } else {
            SizeOrder::Large
        };
        FactorConfig {
            weights,
            tres_weights: self.tres_weights(),
            max_age: self.seconds("PriorityMaxAge", WEEK).unwrap_or(u32::MAX),
            size: SizePolicy { order, nodes: NodeCount::Active },
            no_normal_part: self.has_flag("NO_NORMAL_PART"),
            no_normal_qos: self.has_flag("NO_NORMAL_QOS"),
            no_normal_tres: self.has_flag("NO_NORMAL_TRES"),
        }
    }

    /// `PriorityWeightTRES` by the places of [`TRES`]; `None` where it is not set.
    fn tres_weights(&self) -> Option<Vec<f64>> {
        let text = self.get("PriorityWeightTRES")?;
        let mut weights = vec![0.0; TRES.len()];
        for (name, value) in text.split(',').filter_map(|part| part.split_once('=')) {
            let place = TRES.iter().position(|tres| tres.eq_ignore_ascii_case(name.trim()));
            let value = value.trim().parse::<f64>().ok().filter(|value| value.is_finite());
            if let (Some(place), Some(value)) = (place, value) {
                weights[place] = value;
            }
        }
        Some(weights)
    }
}

/// The TRES that a replay knows: those of a job in this order.
pub const TRES: [&str; 4] = ["cpu", "mem", "node", "gres/gpu"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_scontrol_prints() {
        let text = "Configuration data as of 2024-01-31T12:00:00\nPriorityDecayHalfLife   = 14-00:00:00\nPriorityCalcPeriod      = 00:10:00\n\
             PriorityWeightFairShare = 5000\nPriorityWeightAge       = 100\nPriorityFlags           = SMALL_RELATIVE_TO_TIME,NO_NORMAL_PART\n\
             PriorityWeightTRES      = CPU=10,GRES/gpu=20\nPriorityFavorSmall      = No\nAccountingStorageUser   = N/A\n\nSlurmctld(primary) at host is UP\n";
        let config = Config::parse(text);
        assert_eq!((config.half_life(), config.calc_period()), (14 * 86_400, 600));
        let factors = config.factors();
        assert_eq!((factors.weights.fair_share, factors.weights.age, factors.max_age), (5000, 100, WEEK));
        assert_eq!(factors.tres_weights, Some(vec![10.0, 0.0, 0.0, 20.0]));
        assert!(factors.no_normal_part && !factors.no_normal_qos);
        assert_eq!(config.get("AccountingStorageUser"), None);
        assert_eq!(Config::parse("PriorityDecayHalfLife=0").half_life(), 0);
        assert_eq!(Config::default().factors().weights.fair_share, 1_000_000);
    }
}
