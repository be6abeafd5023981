//! What works, but hardly as meant: one rule a function, over a snapshot.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use multifactor2_core::settings::{Component, ComponentKind, Dilution, Settings};
use multifactor2_snapshot::Snapshot;

use crate::algorithm::Algorithm;
use crate::model::config::enforced;
use multifactor2_core::USE_PARENT;

/// The weights, as slurm.conf(5) has them, in the order in which `sprio -w` is asked for them.
const WEIGHTS: [&str; 6] = [
    "PriorityWeightAge",
    "PriorityWeightAssoc",
    "PriorityWeightFairshare",
    "PriorityWeightJobSize",
    "PriorityWeightPartition",
    "PriorityWeightQOS",
];

/// The file of the plugin.
const PLUGIN: &str = "priority_multifactor2.so";

/// All rules over what is in force; `local` is what `sprio -w` said.
pub fn all(snapshot: &Snapshot, local: &str) -> Vec<String> {
    let rules = [
        other_algorithm(snapshot),
        weights_are_zero(snapshot),
        fair_share_is_coarse(snapshot),
        weights_are_too_large(snapshot),
        increase_only(snapshot),
        parent_users_beside_share_users(snapshot),
        parent_users_below_the_root(snapshot),
    ];
    let mut found: Vec<String> = rules.into_iter().flatten().collect();
    found.extend(thresholds(snapshot));
    found.extend(other_weights_here(snapshot, local));
    found
}

fn weight(snapshot: &Snapshot, name: &str) -> u64 {
    snapshot.parameter(name).and_then(|value| value.trim().parse().ok()).unwrap_or(0)
}

fn has_flag(snapshot: &Snapshot, flag: &str) -> bool {
    let flags = snapshot.parameter("PriorityFlags").unwrap_or_default();
    flags.split(',').any(|known| known.trim().eq_ignore_ascii_case(flag))
}

fn is_ours(snapshot: &Snapshot) -> bool {
    Algorithm::of(snapshot) == Algorithm::Multifactor2
}

fn other_algorithm(snapshot: &Snapshot) -> Option<String> {
    match Algorithm::of(snapshot) {
        Algorithm::Basic | Algorithm::Other => Some(format!(
            "PriorityType={}: fair-share has no part in the order of jobs. Set PriorityType=priority/multifactor2 or \
             priority/multifactor",
            snapshot.about.priority_type
        )),
        _ => None,
    }
}

fn weights_are_zero(snapshot: &Snapshot) -> Option<String> {
    if matches!(Algorithm::of(snapshot), Algorithm::Basic | Algorithm::Other) {
        return None;
    }
    let by_tres = snapshot.parameter("PriorityWeightTRES").is_some_and(|value| !value.is_empty());
    let are_zero = !by_tres && WEIGHTS.iter().all(|name| weight(snapshot, name) == 0);
    are_zero.then(|| {
        "all PriorityWeight* are 0, so all jobs have the same priority and wait in the order of submission. Set at least \
         PriorityWeightFairshare (see docs/weights.md)"
            .to_owned()
    })
}

/// Priorities are whole numbers: a weight has as many values as it is large.
fn fair_share_is_coarse(snapshot: &Snapshot) -> Option<String> {
    let weight = weight(snapshot, "PriorityWeightFairshare");
    let users = snapshot.associations.iter().filter(|row| !row.user.is_empty()).count() as u64;
    // Ten for each user, so that neighbours in the ranking differ.
    let enough = (users * 10).max(1000);
    (weight > 0 && weight < enough).then(|| {
        format!(
            "PriorityWeightFairshare={weight} has at most {weight} different values for {users} users, because priorities are \
             whole numbers: those whose factors differ by less than 1/{weight} count as equal. Set {enough} or more, and the \
             other weights in proportion"
        )
    })
}

fn weights_are_too_large(snapshot: &Snapshot) -> Option<String> {
    let by_tres = snapshot.parameter("PriorityWeightTRES").unwrap_or_default();
    let by_tres = by_tres.split(',').filter_map(|pair| pair.split_once('=')?.1.trim().parse::<u64>().ok());
    let sum = by_tres.fold(0_u64, u64::saturating_add);
    let sum = WEIGHTS.iter().fold(sum, |sum, name| sum.saturating_add(weight(snapshot, name)));
    (sum > u64::from(u32::MAX)).then(|| {
        format!("the PriorityWeight* are {sum} together, and no priority can be above 4294967295: jobs at the top count as equal. Divide all of them")
    })
}

fn increase_only(snapshot: &Snapshot) -> Option<String> {
    let matters = has_flag(snapshot, "INCR_ONLY") && weight(snapshot, "PriorityWeightFairshare") > 0;
    matters.then(|| {
        "PriorityFlags=INCR_ONLY keeps each job at the highest priority that it ever had, so in time fair-share means nothing. \
         Remove INCR_ONLY"
            .to_owned()
    })
}

/// Only multifactor2 gives each of the former all tickets of the account.
fn parent_users_beside_share_users(snapshot: &Snapshot) -> Option<String> {
    let is_split = snapshot
        .settings
        .iter()
        .flatten()
        .any(|setting| setting.line.eq_ignore_ascii_case("ParentUsers=split"));
    if !is_ours(snapshot) || is_split {
        return None;
    }
    let users = || snapshot.associations.iter().filter(|row| !row.user.is_empty());
    let with_parent: HashSet<&str> =
        users().filter(|row| row.shares == USE_PARENT).map(|row| row.account.as_str()).collect();
    let mixed = users().find(|row| {
        row.shares != USE_PARENT && row.shares > 0 && with_parent.contains(row.account.as_str())
    })?;
    Some(format!(
        "account {}, and perhaps others, has users with Fairshare=parent beside users with shares of their own: each of the former \
         draws all of the account's tickets, the latter divide them. Give all the same kind, or set ParentUsers=split",
        mixed.account
    ))
}

fn parent_users_below_the_root(snapshot: &Snapshot) -> Option<String> {
    let rows = &snapshot.associations;
    let there = is_ours(snapshot)
        && rows.iter().any(|row| row.account == "root" && !row.user.is_empty() && row.shares == USE_PARENT);
    there.then(|| {
        "users with Fairshare=parent directly below the root always have fair-share 1.0: give them shares of their own, or put \
         them into an account"
            .to_owned()
    })
}

fn thresholds(snapshot: &Snapshot) -> Vec<String> {
    if !is_ours(snapshot) {
        return Vec::new();
    }
    let enforced = snapshot.qos.iter().filter(|qos| {
        qos.usage_threshold.is_some()
            && qos.flags.iter().any(|flag| flag.eq_ignore_ascii_case("EnforceUsageThreshold"))
    });
    let text = |name: &str| {
        format!(
            "QOS {name} has a UsageThreshold: slurmctld compares it with the weighted fair-share factor of a job, which is relative \
             to the best waiting user here. It has little meaning: unset it, or the flag EnforceUsageThreshold"
        )
    };
    enforced.map(|qos| text(&qos.name)).collect()
}

/// sprio divides by the weights of this host's slurm.conf.
fn other_weights_here(snapshot: &Snapshot, local: &str) -> Vec<String> {
    let mut cells = local.trim().split('|');
    let here: HashMap<&str, u64> = WEIGHTS
        .iter()
        .zip(&mut cells)
        .filter_map(|(name, value)| Some((*name, value.trim().parse().ok()?)))
        .collect();
    let mut found: Vec<String> = Vec::new();
    for name in WEIGHTS {
        let controllers = weight(snapshot, name);
        if let Some(own) = here.get(name).filter(|own| **own != controllers) {
            found.push(format!(
                "slurm.conf of this host has {name}={own}, and slurmctld goes by {controllers}: 'sprio -n' and 'sprio -w' show wrong \
                 numbers here. Copy the controller's slurm.conf"
            ));
        }
    }
    found
}

/// The plugin in a `PluginDir` of this host: slurmctld needs it, and from 23.02 on sshare.
pub fn plugin_is_there(snapshot: &Snapshot) -> Option<String> {
    let directories = snapshot.parameter("PluginDir").filter(|_| is_ours(snapshot))?;
    let is_there = directories.split(':').any(|directory| Path::new(directory).join(PLUGIN).is_file());
    (!is_there).then(|| {
        format!(
            "{PLUGIN} is not in {directories} on this host: from 23.02 on sshare does not work without it, and no slurmctld starts. \
             Install slurm-multifactor2 here too"
        )
    })
}

/// Settings that have no effect, or do not go together with what is in force.
pub fn of_settings(settings: &Settings, snapshot: Option<&Snapshot>) -> Vec<String> {
    let mut found = settings.without_effect();
    let Some(snapshot) = snapshot.filter(|snapshot| is_ours(snapshot)) else { return found };
    let dated = settings.overrides.iter().any(|line| line.from.is_some() || line.until.is_some());
    let falls = settings.dilution != Dilution::None || dated || !settings.targets.is_empty();
    if has_flag(snapshot, "INCR_ONLY") && falls {
        found.push(
            "PriorityFlags=INCR_ONLY does not let a priority fall, as it must with Dilution, with Target, and where an Override ends: \
             remove INCR_ONLY"
                .to_owned(),
        );
    }
    let usage = |line: &Component| line.component == ComponentKind::Usage;
    if !has_flag(snapshot, "CALCULATE_RUNNING") && settings.components.iter().any(usage) {
        found.push(
            "Component=USAGE counts running jobs, which get no new priorities: add CALCULATE_RUNNING to PriorityFlags, or remove the \
             line"
                .to_owned(),
        );
    }
    if let Some(enforced) = enforced(snapshot) {
        found.extend(settings.clone().take_out_unenforced(enforced).into_iter().map(str::to_owned));
    }
    found
}
