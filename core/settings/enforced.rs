//! Lines that depend on what slurmctld enforces (`AccountingStorageEnforce`).
//!
//! Without `wckeys` slurmctld checks no wckey, and any user can name any key. Such a line would let users choose their own price, so it has
//! no effect. Without `qos` any user can submit to any QOS. Such lines stay, because QOS give priority in stock Slurm too. Without `limits`
//! slurmctld tells nobody that a run has ended, nor how.

use std::collections::BTreeSet;

use super::advice::Advice;
use super::table::{ChargeKind, GrantKind, OverrideKind, Settings};

/// What `AccountingStorageEnforce` has of what lines rest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enforced {
    /// `wckeys`
    pub wckeys: bool,
    /// `limits`, which `safe` implies.
    pub limits: bool,
    /// `qos`
    pub qos: bool,
}

impl Enforced {
    /// Of the words of the parameter.
    pub fn of_words(words: &str) -> Self {
        let words = in_full(words);
        let has = |wanted| words.contains(wanted);
        Self { wckeys: has("wckeys"), limits: has("limits"), qos: has("qos") }
    }
}

/// `AccountingStorageEnforce` with all that its words imply, as `scontrol show config` prints it: slurm.conf may have `safe` alone, or a
/// number.
pub fn in_full(words: &str) -> BTreeSet<&'static str> {
    let implied = |word: &str| -> &'static [&'static str] {
        match word.trim().to_ascii_lowercase().as_str() {
            "associations" | "1" => &["associations"],
            "limits" | "2" => &["associations", "limits"],
            "safe" => &["associations", "limits", "safe"],
            "qos" => &["associations", "qos"],
            "wckeys" => &["associations", "wckeys"],
            "all" => &["associations", "limits", "qos", "safe", "wckeys"],
            "nojobs" => &["nojobs", "nosteps"],
            "nosteps" => &["nosteps"],
            _ => &[],
        }
    };
    words.split(',').flat_map(implied).copied().collect()
}

impl Settings {
    /// Takes out the lines that can have no effect; what an administrator should know of these and of others that have less effect.
    pub fn take_out_unenforced(&mut self, enforced: Enforced) -> Vec<Advice> {
        let mut found = Vec::new();
        let count =
            |settings: &Self| settings.charges.len() + settings.overrides.len() + settings.grants.len();
        let lines = count(self);
        if !enforced.wckeys {
            self.charges.retain(|line| line.kind != ChargeKind::WcKey);
            self.overrides.retain(|line| line.kind != OverrideKind::WcKey);
            self.grants.retain(|line| line.kind != GrantKind::WcKey);
        }
        if count(self) != lines {
            found.push(Advice::without_effect(
                "Charge=WCKey, Override=WCKey and Grant=WCKey do nothing, because without wckeys in \
                 AccountingStorageEnforce any user can use any wckey: set AccountingStorageEnforce=...,wckeys and \
                 TrackWCKey=yes and restart slurmctld, or remove the lines",
            ));
        }
        let by_qos = self.charges.iter().any(|line| line.kind == ChargeKind::Qos)
            || self.overrides.iter().any(|line| line.kind == OverrideKind::Qos)
            || self.grants.iter().any(|line| line.kind == GrantKind::Qos);
        if by_qos && !enforced.qos {
            found.push(Advice::wrong(
                "Charge=QOS, Override=QOS and Grant=QOS are open to every user, because without qos in \
                 AccountingStorageEnforce any user can submit to any QOS: set AccountingStorageEnforce=...,qos and \
                 restart slurmctld",
            ));
        }
        if enforced.limits {
            return found;
        }
        let lines = self.charges.len();
        self.charges.retain(|line| line.kind != ChargeKind::Requeued);
        if self.charges.len() != lines {
            found.push(Advice::without_effect(
                "Charge=Requeued does nothing, because without limits in AccountingStorageEnforce slurmctld does not \
                 tell the plugin how a run ended: set AccountingStorageEnforce=...,limits and restart slurmctld, or \
                 remove the line",
            ));
        }
        if !self.grants.is_empty() {
            self.grants.clear();
            self.adjusts.clear();
            found.push(Advice::without_effect(
                "Grant does nothing, because without limits in AccountingStorageEnforce slurmctld does not tell the \
                 plugin that a job ended: set AccountingStorageEnforce=...,limits and restart slurmctld, or remove \
                 the lines",
            ));
        }
        if !self.minimum_charge.is_zero() {
            found.push(Advice::wrong(
                "MinimumCharge misses runs that are requeued, because without limits in AccountingStorageEnforce \
                 slurmctld does not tell the plugin that they ended: set AccountingStorageEnforce=...,limits and \
                 restart slurmctld",
            ));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &str = "Charge=WCKey Name=a Factor=0\nOverride=WCKey Name=a Tickets=5\nCharge=Requeued Factor=0.5\nCharge=QOS Name=q Factor=2\n\
                       Override=User Name=u Tickets=7\nMinimumCharge=10:00";

    #[test]
    fn what_is_not_enforced_has_no_effect_and_is_told() {
        for (words, charges, overrides, told) in [
            ("associations,limits,qos,wckeys", 3, 2, vec![]),
            ("associations,limits,wckeys", 3, 2, vec!["Charge=QOS,"]),
            ("ALL", 3, 2, vec![]),
            ("associations,qos,safe", 2, 1, vec!["Charge=WCKey,"]),
            ("wckeys,qos", 2, 2, vec!["Charge=Requeued", "MinimumCharge"]),
            ("none", 1, 1, vec!["Charge=WCKey,", "Charge=QOS,", "Charge=Requeued", "MinimumCharge"]),
        ] {
            let mut settings = Settings::parse(ALL, "f").unwrap().settings;
            let found = settings.take_out_unenforced(Enforced::of_words(words));
            let beginnings: Vec<&str> =
                found.iter().map(|advice| advice.text.split(' ').next().unwrap_or_default()).collect();
            assert_eq!((settings.charges.len(), settings.overrides.len()), (charges, overrides), "{words}");
            assert_eq!(beginnings, told, "{words}");
        }
    }

    #[test]
    fn nothing_is_said_of_other_settings() {
        for text in ["", "Charge=Account Name=q Factor=2\nOverride=User Name=u Tickets=7"] {
            let mut settings = Settings::parse(text, "f").unwrap().settings;
            let before = settings.clone();
            assert!(settings.take_out_unenforced(Enforced::of_words("none")).is_empty());
            assert_eq!(settings.to_string(), before.to_string());
        }
    }
}
