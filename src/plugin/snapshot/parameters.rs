//! The parameters of slurm.conf that affect priorities, under the names and in the words of `scontrol show config`.
//!
//! They are read with the configuration, while nobody replaces its texts.

use std::collections::BTreeMap;

use multifactor2_core::settings::value::clock;
use multifactor2_snapshot::records::Setting;

use crate::host::constants::{
    ACCOUNTING_ENFORCE_ASSOCS, ACCOUNTING_ENFORCE_LIMITS, ACCOUNTING_ENFORCE_NO_JOBS,
    ACCOUNTING_ENFORCE_NO_STEPS, ACCOUNTING_ENFORCE_QOS, ACCOUNTING_ENFORCE_SAFE, ACCOUNTING_ENFORCE_WCKEYS,
    PRIORITY_FLAGS_ACCRUE_ALWAYS, PRIORITY_FLAGS_CALCULATE_RUNNING, PRIORITY_FLAGS_FAIR_TREE,
    PRIORITY_FLAGS_INCR_ONLY, PRIORITY_FLAGS_MAX_TRES, PRIORITY_FLAGS_NO_NORMAL_ASSOC,
    PRIORITY_FLAGS_NO_NORMAL_PART, PRIORITY_FLAGS_NO_NORMAL_QOS, PRIORITY_FLAGS_NO_NORMAL_TRES,
    PRIORITY_FLAGS_SIZE_RELATIVE, PRIVATE_DATA_ACCOUNTS, PRIVATE_DATA_EVENTS, PRIVATE_DATA_JOBS,
    PRIVATE_DATA_NODES, PRIVATE_DATA_PARTITIONS, PRIVATE_DATA_RESERVATIONS, PRIVATE_DATA_USAGE,
    PRIVATE_DATA_USERS,
};
use crate::host::layout::{ConfLayout, Field, Ptr};
use crate::host::Host;

/// What a snapshot says of the configuration.
#[derive(Clone, Debug)]
pub struct Told {
    /// `ClusterName`; empty in a release that was not compared.
    pub cluster: String,
    /// By name.
    pub parameters: BTreeMap<String, String>,
    /// Our own settings in force.
    pub settings: Vec<Setting>,
}

/// `PriorityFlags`; `NO_FAIR_TREE` is the lack of one.
const FLAGS: [(u16, &str); 9] = [
    (PRIORITY_FLAGS_ACCRUE_ALWAYS, "ACCRUE_ALWAYS"),
    (PRIORITY_FLAGS_SIZE_RELATIVE, "SMALL_RELATIVE_TO_TIME"),
    (PRIORITY_FLAGS_CALCULATE_RUNNING, "CALCULATE_RUNNING"),
    (PRIORITY_FLAGS_INCR_ONLY, "INCR_ONLY"),
    (PRIORITY_FLAGS_MAX_TRES, "MAX_TRES"),
    (PRIORITY_FLAGS_NO_NORMAL_ASSOC, "NO_NORMAL_ASSOC"),
    (PRIORITY_FLAGS_NO_NORMAL_PART, "NO_NORMAL_PART"),
    (PRIORITY_FLAGS_NO_NORMAL_QOS, "NO_NORMAL_QOS"),
    (PRIORITY_FLAGS_NO_NORMAL_TRES, "NO_NORMAL_TRES"),
];

const PRIVATE_DATA: [(u16, &str); 8] = [
    (PRIVATE_DATA_ACCOUNTS, "accounts"),
    (PRIVATE_DATA_EVENTS, "events"),
    (PRIVATE_DATA_JOBS, "jobs"),
    (PRIVATE_DATA_NODES, "nodes"),
    (PRIVATE_DATA_PARTITIONS, "partitions"),
    (PRIVATE_DATA_RESERVATIONS, "reservations"),
    (PRIVATE_DATA_USAGE, "usage"),
    (PRIVATE_DATA_USERS, "users"),
];

/// What `PrivateData` may hide that a snapshot shows.
const SHOWN: u16 = PRIVATE_DATA_ACCOUNTS
    | PRIVATE_DATA_JOBS
    | PRIVATE_DATA_PARTITIONS
    | PRIVATE_DATA_RESERVATIONS
    | PRIVATE_DATA_USAGE
    | PRIVATE_DATA_USERS;

const ENFORCE: [(u16, &str); 7] = [
    (ACCOUNTING_ENFORCE_ASSOCS, "associations"),
    (ACCOUNTING_ENFORCE_LIMITS, "limits"),
    (ACCOUNTING_ENFORCE_NO_JOBS, "nojobs"),
    (ACCOUNTING_ENFORCE_NO_STEPS, "nosteps"),
    (ACCOUNTING_ENFORCE_QOS, "qos"),
    (ACCOUNTING_ENFORCE_SAFE, "safe"),
    (ACCOUNTING_ENFORCE_WCKEYS, "wckeys"),
];

/// The words of the bits that are set.
fn words(bits: u16, all: &[(u16, &'static str)], none: &'static str) -> String {
    let words: Vec<&str> = all.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, word)| *word).collect();
    if words.is_empty() {
        none.to_owned()
    } else {
        words.join(",")
    }
}

/// As Slurm shows a length of time.
fn span(seconds: u32) -> String {
    if seconds == u32::MAX {
        "UNLIMITED".to_owned()
    } else {
        clock(u64::from(seconds))
    }
}

/// What `PrivateData` hides of what a snapshot shows; `None` for nothing.
pub fn hidden(host: &'static Host) -> Option<String> {
    let hidden = host.conf().get(|conf| conf.private_data) & SHOWN;
    (hidden != 0).then(|| words(hidden, &PRIVATE_DATA, ""))
}

impl Told {
    /// Reads `slurm_conf`, whose texts nobody replaces at the moment.
    pub fn read(host: &'static Host, settings: Vec<(String, String)>) -> Self {
        let conf = host.conf();
        let text = |pick: fn(&ConfLayout) -> Field<ConfLayout, Ptr>| match host.conf_text(pick) {
            none if none.is_empty() => "(null)".to_owned(),
            some => some,
        };
        let number = |pick: fn(&'static ConfLayout) -> Field<ConfLayout, u32>| conf.get(pick);
        let mut flags = conf.get(|conf| conf.priority_flags);
        let fair_tree = flags & PRIORITY_FLAGS_FAIR_TREE != 0;
        flags &= !PRIORITY_FLAGS_FAIR_TREE;
        let mut flags = words(flags, &FLAGS, "");
        if !fair_tree {
            flags =
                if flags.is_empty() { "NO_FAIR_TREE".to_owned() } else { format!("{flags},NO_FAIR_TREE") };
        }
        let favor_small = conf.get(|conf| conf.priority_favor_small) != 0;
        let parameters = [
            ("AccountingStorageEnforce", words(host.enforced(), &ENFORCE, "none")),
            ("PriorityCalcPeriod", span(number(|conf| conf.priority_calc_period))),
            ("PriorityDecayHalfLife", span(number(|conf| conf.priority_decay_hl))),
            ("PriorityFavorSmall", if favor_small { "Yes" } else { "No" }.to_owned()),
            ("PriorityFlags", flags),
            ("PriorityMaxAge", span(number(|conf| conf.priority_max_age))),
            ("PriorityParameters", text(|conf| conf.priority_params)),
            ("PrioritySiteFactorPlugin", text(|conf| conf.site_factor_plugin)),
            ("PriorityType", text(|conf| conf.priority_type)),
            ("PriorityUsageResetPeriod", conf.reset_period().word().to_owned()),
            ("PriorityWeightAge", number(|conf| conf.priority_weight_age).to_string()),
            ("PriorityWeightAssoc", number(|conf| conf.priority_weight_assoc).to_string()),
            ("PriorityWeightFairShare", number(|conf| conf.priority_weight_fs).to_string()),
            ("PriorityWeightJobSize", number(|conf| conf.priority_weight_js).to_string()),
            ("PriorityWeightPartition", number(|conf| conf.priority_weight_part).to_string()),
            ("PriorityWeightQOS", number(|conf| conf.priority_weight_qos).to_string()),
            ("PriorityWeightTRES", text(|conf| conf.priority_weight_tres)),
            ("PrivateData", words(conf.get(|conf| conf.private_data), &PRIVATE_DATA, "none")),
        ];
        Self {
            cluster: if host.verified { host.conf_text(|conf| conf.cluster_name) } else { String::new() },
            parameters: parameters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            settings: settings.into_iter().map(|(line, from)| Setting { line, from }).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_shown_as_slurm_shows_them() {
        for (seconds, shown) in [
            (0, "00:00:00"),
            (300, "00:05:00"),
            (86_399, "23:59:59"),
            (604_800, "7-00:00:00"),
            (u32::MAX, "UNLIMITED"),
        ] {
            assert_eq!(span(seconds), shown);
        }
    }

    #[test]
    fn bits_are_words() {
        assert_eq!(words(0, &PRIVATE_DATA, "none"), "none");
        assert_eq!(words(PRIVATE_DATA_USAGE | PRIVATE_DATA_JOBS, &PRIVATE_DATA, "none"), "jobs,usage");
    }
}
