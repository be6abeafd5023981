//! The parameters of slurm.conf, as `scontrol show config` prints them or as the file has them, and the factors that they configure.

use multifactor2_core::evaluator::FactorConfig;
use multifactor2_core::factors::{NodeCount, SizeOrder, SizePolicy, Weights};

use crate::durations::Grammar;
use crate::lines;

/// `PriorityDecayHalfLife` and `PriorityMaxAge` where they are not set, in seconds.
pub const WEEK: u32 = 7 * 86_400;

/// `PriorityCalcPeriod` where it is not set, in seconds.
const CALC_PERIOD: u32 = 300;

/// Reads parameters by name, wherever they are kept. What cannot be read counts as not set and is told in [`Self::problems`].
pub struct Parameters<F> {
    lookup: F,
    /// What could not be read, one sentence each.
    pub problems: Vec<String>,
}

impl<'t, F: Fn(&str) -> Option<&'t str>> Parameters<F> {
    /// Those that `lookup` finds by their names, in whatever case it takes them.
    pub fn new(lookup: F) -> Self {
        Self { lookup, problems: Vec::new() }
    }

    /// A text; `None` also for what Slurm prints for none.
    pub fn text(&self, name: &str) -> Option<&'t str> {
        (self.lookup)(name).map(lines::text).filter(|text| !text.is_empty())
    }

    /// Whether a list, separated by commas, has a word, in upper or lower case.
    pub fn has(&self, name: &str, word: &str) -> bool {
        self.text(name).is_some_and(|text| text.split(',').any(|part| part.trim().eq_ignore_ascii_case(word)))
    }

    /// Whether `PriorityFlags` has a flag. `NO_NORMAL_ALL` stands for all four of its kind.
    pub fn has_flag(&self, flag: &str) -> bool {
        self.has("PriorityFlags", flag)
            || flag.starts_with("NO_NORMAL_") && self.has("PriorityFlags", "NO_NORMAL_ALL")
    }

    /// A number; 0 where it is not set.
    pub fn number(&mut self, name: &str) -> u32 {
        let Some(text) = self.text(name) else { return 0 };
        text.parse().unwrap_or_else(|_| {
            self.bad(name, text);
            0
        })
    }

    /// A length of time in seconds, `u32::MAX` for one without end: a bare number is minutes, as in slurm.conf.
    fn seconds(&mut self, name: &str, default: u32) -> u32 {
        let Some(text) = self.text(name) else { return default };
        let Some(length) = Grammar::Conf.read(text) else {
            self.bad(name, text);
            return default;
        };
        length.seconds().and_then(|seconds| u32::try_from(seconds).ok()).unwrap_or(u32::MAX)
    }

    /// `PriorityDecayHalfLife` in seconds; 0 for no decay, which `UNLIMITED` comes to as well.
    pub fn half_life(&mut self) -> u32 {
        match self.seconds("PriorityDecayHalfLife", WEEK) {
            u32::MAX => 0,
            seconds => seconds,
        }
    }

    /// `PriorityCalcPeriod` in seconds, at least 1.
    pub fn calc_period(&mut self) -> u32 {
        match self.seconds("PriorityCalcPeriod", CALC_PERIOD) {
            u32::MAX => CALC_PERIOD,
            seconds => seconds.max(1),
        }
    }

    /// What the factors of jobs are computed with, in a slurmctld of `release` (year and month), with these weights of TRES.
    pub fn factors(&mut self, release: (u16, u16), tres_weights: Option<Vec<f64>>) -> FactorConfig {
        FactorConfig {
            weights: self.weights(),
            tres_weights,
            max_age: self.seconds("PriorityMaxAge", WEEK),
            size: self.size_policy(release),
            no_normal_part: self.has_flag("NO_NORMAL_PART"),
            no_normal_qos: self.has_flag("NO_NORMAL_QOS"),
            no_normal_tres: self.has_flag("NO_NORMAL_TRES"),
        }
    }

    /// `PriorityWeight*`. Without slurmdbd slurmctld takes those of age and fair-share for 0.
    pub fn weights(&mut self) -> Weights {
        let mut weights = Weights {
            age: self.number("PriorityWeightAge"),
            assoc: self.number("PriorityWeightAssoc"),
            fair_share: self.number("PriorityWeightFairShare"),
            job_size: self.number("PriorityWeightJobSize"),
            partition: self.number("PriorityWeightPartition"),
            qos: self.number("PriorityWeightQOS"),
        };
        let storage = self.text("AccountingStorageType");
        if storage.is_some_and(|storage| !storage.to_ascii_lowercase().ends_with("slurmdbd")) {
            (weights.age, weights.fair_share) = (0, 0);
        }
        weights
    }

    /// `PriorityWeightTRES` in the order of `tres`; `None` where it is not set. A TRES that is not one of them has no weight here.
    pub fn tres_weights(&mut self, tres: &[&str]) -> Option<Vec<f64>> {
        let text = self.text("PriorityWeightTRES")?;
        let mut weights = vec![0.0; tres.len()];
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let named = part.split_once('=').map(|(name, value)| (name.trim(), value.trim().parse::<f64>()));
            match named {
                Some((name, Ok(weight))) if weight.is_finite() => {
                    if let Some(place) = tres.iter().position(|tres| tres.eq_ignore_ascii_case(name)) {
                        weights[place] = weight;
                    }
                }
                _ => self.bad("PriorityWeightTRES", part),
            }
        }
        Some(weights)
    }

    /// `PriorityFavorSmall` and `SMALL_RELATIVE_TO_TIME`; of a cluster's nodes the active ones count from 23.02 on.
    fn size_policy(&self, release: (u16, u16)) -> SizePolicy {
        // scontrol prints Yes or No; slurm.conf takes these words, too.
        let favor_small = ["yes", "up", "true", "1"].iter().any(|yes| self.has("PriorityFavorSmall", yes));
        let order = match (self.has_flag("SMALL_RELATIVE_TO_TIME"), favor_small) {
            (true, favor_small) => SizeOrder::RelativeToTime { favor_small },
            (false, true) => SizeOrder::Small,
            (false, false) => SizeOrder::Large,
        };
        SizePolicy { order, nodes: if release < (23, 2) { NodeCount::Table } else { NodeCount::Active } }
    }

    fn bad(&mut self, name: &str, text: &str) {
        self.problems.push(format!("{name}={text} cannot be read: it counts as if it were not set."));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parameters as a list of names and values.
    fn parameters<'t>(list: &'t [(&'t str, &'t str)]) -> Parameters<impl Fn(&str) -> Option<&'t str>> {
        Parameters::new(|name: &str| {
            list.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
        })
    }

    #[test]
    fn one_flag_stands_for_four() {
        let factors = parameters(&[("PriorityFlags", "NO_NORMAL_ALL")]).factors((24, 11), None);
        assert!(factors.no_normal_part && factors.no_normal_qos && factors.no_normal_tres);
        let factors = parameters(&[("PriorityFlags", "no_normal_qos")]).factors((24, 11), None);
        assert!(!factors.no_normal_part && factors.no_normal_qos && !factors.no_normal_tres);
    }

    #[test]
    fn what_cannot_be_read_is_told_and_counts_as_not_set() {
        let list = [
            ("PriorityWeightAge", "many"),
            ("PriorityMaxAge", "a week"),
            ("PriorityWeightTRES", "cpu=2,mem=x,license/a=3"),
        ];
        let mut parameters = parameters(&list);
        let tres_weights = parameters.tres_weights(&["cpu", "mem"]);
        assert_eq!(tres_weights, Some(vec![2.0, 0.0]));
        let factors = parameters.factors((24, 11), tres_weights);
        assert_eq!((factors.weights.age, factors.max_age), (0, WEEK));
        let told: Vec<_> =
            parameters.problems.iter().map(|told| told.split(' ').next().unwrap_or_default()).collect();
        assert_eq!(told, ["PriorityWeightTRES=mem=x", "PriorityWeightAge=many", "PriorityMaxAge=a"]);
    }

    #[test]
    fn times_are_those_of_slurm_conf() {
        let mut of = parameters(&[("PriorityDecayHalfLife", "14-00:00:00"), ("PriorityCalcPeriod", "10")]);
        assert_eq!((of.half_life(), of.calc_period()), (14 * 86_400, 600));
        let mut of =
            parameters(&[("PriorityDecayHalfLife", "UNLIMITED"), ("PriorityCalcPeriod", "00:00:00")]);
        assert_eq!((of.half_life(), of.calc_period()), (0, 1));
        let mut of = parameters(&[("PriorityMaxAge", "infinite"), ("PriorityDecayHalfLife", "N/A")]);
        assert_eq!((of.factors((20, 11), None).max_age, of.half_life()), (u32::MAX, WEEK));
    }

    #[test]
    fn without_slurmdbd_age_and_fair_share_weigh_nothing() {
        let list = [("PriorityWeightAge", "1"), ("PriorityWeightFairShare", "2"), ("PriorityWeightQOS", "3")];
        let with = |storage| [&list[..], &[("AccountingStorageType", storage)]].concat();
        let weights = parameters(&with("accounting_storage/slurmdbd")).factors((24, 11), None).weights;
        assert_eq!((weights.age, weights.fair_share, weights.qos), (1, 2, 3));
        let weights = parameters(&with("accounting_storage/none")).factors((24, 11), None).weights;
        assert_eq!((weights.age, weights.fair_share, weights.qos), (0, 0, 3));
    }

    #[test]
    fn sizes_count_as_the_release_counts_them() {
        let of = |list: &[(&str, &str)], release| parameters(list).factors(release, None).size;
        assert_eq!(of(&[], (22, 5)), SizePolicy { order: SizeOrder::Large, nodes: NodeCount::Table });
        let small = [("PriorityFavorSmall", "Yes")];
        assert_eq!(of(&small, (23, 2)), SizePolicy { order: SizeOrder::Small, nodes: NodeCount::Active });
        let relative = [("PriorityFlags", "MAX_TRES,SMALL_RELATIVE_TO_TIME")];
        let order = SizeOrder::RelativeToTime { favor_small: false };
        assert_eq!(of(&relative, (24, 11)), SizePolicy { order, nodes: NodeCount::Active });
    }
}
