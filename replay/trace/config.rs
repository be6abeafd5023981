//! Reads parameters of slurm.conf, as `scontrol show config` prints them or as the file has them.

use std::collections::BTreeMap;

use multifactor2_core::evaluator::FactorConfig;
use multifactor2_core::factors::Weights;
use slurm_text::Parameters;

/// Parameters by their names in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    values: BTreeMap<String, String>,
}

/// Nodes of a replay are all active: they count as in the releases from 23.02 on.
const NEWEST: (u16, u16) = (u16::MAX, 0);

impl Config {
    /// What `scontrol show config` printed.
    pub fn parse(text: &str) -> Self {
        let mut config = Self::default();
        for (name, value) in slurm_text::config::parameters(text) {
            config.set(&name, &value);
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
        self.parameters().text(name)
    }

    /// A number; `None` where it is not set or none.
    pub fn number(&self, name: &str) -> Option<u32> {
        self.get(name)?.split_ascii_whitespace().next()?.parse().ok()
    }

    /// `PriorityFlags` has a flag.
    pub fn has_flag(&self, flag: &str) -> bool {
        self.parameters().has_flag(flag)
    }

    /// `PriorityDecayHalfLife` in seconds; 0 means no decay.
    pub fn half_life(&self) -> u32 {
        self.parameters().half_life()
    }

    /// `PriorityCalcPeriod` in seconds, at least 1.
    pub fn calc_period(&self) -> u32 {
        self.parameters().calc_period()
    }

    /// What the factors of jobs are computed with. Where no weight is left, fair-share alone has one: 1,000,000.
    pub fn factors(&self) -> FactorConfig {
        let mut factors = read_factors(&mut self.parameters());
        if factors.weights == Weights::default() {
            factors.weights.fair_share = 1_000_000;
        }
        factors
    }

    /// What of the parameters of priorities cannot be read, one sentence each.
    pub fn problems(&self) -> Vec<String> {
        let mut parameters = self.parameters();
        read_factors(&mut parameters);
        parameters.half_life();
        parameters.calc_period();
        parameters.problems
    }

    fn parameters<'c>(&'c self) -> Parameters<impl Fn(&str) -> Option<&'c str>> {
        Parameters::new(|name: &str| self.values.get(&name.to_ascii_lowercase()).map(String::as_str))
    }
}

/// What the factors of jobs are computed with, as it is written.
fn read_factors<'c>(parameters: &mut Parameters<impl Fn(&str) -> Option<&'c str>>) -> FactorConfig {
    let tres_weights = parameters.tres_weights(&TRES);
    parameters.factors(NEWEST, tres_weights)
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
        assert_eq!(
            (factors.weights.fair_share, factors.weights.age, factors.max_age),
            (5000, 100, slurm_text::parameters::WEEK)
        );
        assert_eq!(factors.tres_weights, Some(vec![10.0, 0.0, 0.0, 20.0]));
        assert!(factors.no_normal_part && !factors.no_normal_qos);
        assert_eq!(config.get("AccountingStorageUser"), None);
        assert_eq!(Config::parse("PriorityDecayHalfLife=0").half_life(), 0);
        let all = Config::parse("PriorityFlags=NO_NORMAL_ALL").factors();
        assert!(all.no_normal_part && all.no_normal_qos && all.no_normal_tres);
        assert_eq!(Config::default().factors().weights.fair_share, 1_000_000);
    }
}
