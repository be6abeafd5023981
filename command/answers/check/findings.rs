//! Finds what is odd in the state that slurmctld reports: one function per rule, over a snapshot. Rules that need the configuration alone
//! are in `settings::advice` of the engine, because the plugin uses them too.

use std::collections::HashSet;

use multifactor2_core::settings::advice::{Advice, Beside, Thresholds};
use multifactor2_core::settings::enforced::in_full;
use multifactor2_core::settings::Settings;
use multifactor2_core::USE_PARENT;
use multifactor2_snapshot::Snapshot;
use slurm_text::Parameters;

use crate::algorithm::Algorithm;
use crate::model::config::enforced;

/// The weights, as slurm.conf(5) has them, in the order in which `sprio -w` is asked for them.
pub(super) const WEIGHTS: [&str; 6] = [
    "PriorityWeightAge",
    "PriorityWeightAssoc",
    "PriorityWeightFairshare",
    "PriorityWeightJobSize",
    "PriorityWeightPartition",
    "PriorityWeightQOS",
];

/// All rules over the configuration in force and, if known, our own settings.
pub fn all(snapshot: &Snapshot, settings: Option<&Settings>) -> Vec<Advice> {
    let mut found = Vec::new();
    let computes = !matches!(Algorithm::of(snapshot), Algorithm::Basic | Algorithm::Other);
    let settings = settings.filter(|_| is_ours(snapshot));
    match (beside(snapshot).filter(|_| computes), settings) {
        (Some(beside), Some(settings)) => found.extend(settings.advice(Some(&beside))),
        (Some(beside), None) => found.extend(beside.advice(false, false)),
        (None, _) => found.extend(other_algorithm(snapshot)),
    }
    if let Some((enforced, settings)) = enforced(snapshot).zip(settings) {
        let idle = settings.clone().take_out_unenforced(enforced);
        found.extend(idle);
    }
    let rules = [
        fair_share_is_coarse(snapshot),
        weights_are_too_large(snapshot),
        dampening(snapshot),
        nothing_is_enforced(snapshot),
        strict_order(snapshot),
        parent_users_beside_share_users(snapshot, settings),
        parent_users_below_the_root(snapshot),
    ];
    found.extend(rules.into_iter().flatten());
    found.extend(thresholds(snapshot, settings));
    found
}

/// What slurm.conf says; `None` if that is not known.
fn beside(snapshot: &Snapshot) -> Option<Beside> {
    if snapshot.parameters.is_empty() {
        return None;
    }
    let mut parameters = Parameters::new(|name: &str| snapshot.parameter(name));
    let reset = parameters.text("PriorityUsageResetPeriod").unwrap_or("NONE");
    // Weights as they are written, whatever slurmctld takes of them.
    let weights = Parameters::new(|name: &str| snapshot.parameter(name).filter(|_| name != "AccountingStorageType")).weights();
    Some(Beside {
        has_tickets: is_ours(snapshot),
        weights,
        weighs_tres: parameters.text("PriorityWeightTRES").is_some(),
        max_age: parameters.factors((0, 0), None).max_age,
        half_life: parameters.half_life(),
        resets: !reset.eq_ignore_ascii_case("NONE"),
        calc_period: parameters.calc_period(),
        increase_only: parameters.has_flag("INCR_ONLY"),
        calculate_running: parameters.has_flag("CALCULATE_RUNNING"),
        no_fair_tree: parameters.has_flag("NO_FAIR_TREE") || parameters.has_flag("DEPTH_OBLIVIOUS"),
    })
}

pub(super) fn weight(snapshot: &Snapshot, name: &str) -> u64 {
    snapshot.parameter(name).and_then(|value| value.trim().parse().ok()).unwrap_or(0)
}

pub(super) fn is_ours(snapshot: &Snapshot) -> bool {
    Algorithm::of(snapshot) == Algorithm::Multifactor2
}

fn other_algorithm(snapshot: &Snapshot) -> Option<Advice> {
    let is_another = matches!(Algorithm::of(snapshot), Algorithm::Basic | Algorithm::Other);
    (is_another && !snapshot.about.priority_type.is_empty()).then(|| {
        Advice::wrong(format!(
            "PriorityType={}: fair-share does not affect the order of jobs. Set PriorityType=priority/multifactor2 or \
             priority/multifactor",
            snapshot.about.priority_type
        ))
    })
}

/// Priorities are whole numbers: a weight has as many values as it is large.
fn fair_share_is_coarse(snapshot: &Snapshot) -> Option<Advice> {
    let weight = weight(snapshot, "PriorityWeightFairshare");
    let users = snapshot.associations.iter().filter(|row| !row.user.is_empty()).count() as u64;
    // Ten for each user, so that neighbours in the ranking differ.
    let enough = (users * 10).max(1000);
    (weight > 0 && weight < enough).then(|| {
        Advice::wrong(format!(
            "PriorityWeightFairshare={weight} gives at most {weight} different values for {users} users, because priorities are \
             whole numbers: factors that differ by less than 1/{weight} are equal. Set {enough} or more, and scale the other \
             weights"
        ))
    })
}

fn weights_are_too_large(snapshot: &Snapshot) -> Option<Advice> {
    let by_tres = snapshot.parameter("PriorityWeightTRES").unwrap_or_default();
    let by_tres = by_tres.split(',').filter_map(|pair| pair.split_once('=')?.1.trim().parse::<u64>().ok());
    let sum = by_tres.fold(0_u64, u64::saturating_add);
    let sum = WEIGHTS.iter().fold(sum, |sum, name| sum.saturating_add(weight(snapshot, name)));
    (sum > u64::from(u32::MAX)).then(|| {
        Advice::wrong(format!(
            "the PriorityWeight* add up to {sum}, but no priority can exceed 4294967295: the top jobs become equal. Divide all weights"
        ))
    })
}

fn dampening(snapshot: &Snapshot) -> Option<Advice> {
    let factor = snapshot.parameter("FairShareDampeningFactor").and_then(|value| value.trim().parse::<u16>().ok())?;
    let counts = Algorithm::of(snapshot) == Algorithm::Classic;
    (factor > 1 && !counts).then(|| {
        Advice::without_effect(format!(
            "FairShareDampeningFactor={factor} affects only classic fair-share (NO_FAIR_TREE): remove it"
        ))
    })
}

fn nothing_is_enforced(snapshot: &Snapshot) -> Option<Advice> {
    let storage = snapshot.parameter("AccountingStorageType").map(str::trim).unwrap_or_default();
    if !storage.is_empty() && !storage.to_ascii_lowercase().ends_with("slurmdbd") {
        return Some(Advice::wrong(format!(
            "AccountingStorageType={storage}: without slurmdbd there are no associations and no fair-share. Set \
             AccountingStorageType=accounting_storage/slurmdbd"
        )));
    }
    if snapshot.parameters.is_empty() {
        return None;
    }
    let words = in_full(snapshot.parameter("AccountingStorageEnforce").unwrap_or_default());
    if !words.contains("associations") {
        return Some(Advice::wrong(
            "AccountingStorageEnforce is not set: a job can name an account to which its user does not belong, and then nobody is \
             charged. Set AccountingStorageEnforce=associations,limits,qos",
        ));
    }
    (!words.contains("limits")).then(|| {
        Advice::unusual(
            "AccountingStorageEnforce has no 'limits': limits of accounts, users and QOS are not enforced. Add limits, unless \
             this is intended",
        )
    })
}

fn strict_order(snapshot: &Snapshot) -> Option<Advice> {
    let scheduler = snapshot.parameter("SchedulerType")?.trim();
    scheduler.ends_with("builtin").then(|| {
        Advice::unusual(format!(
            "SchedulerType={scheduler} starts jobs of a partition strictly in order: a large job at the top keeps nodes idle \
             until it starts. Set SchedulerType=sched/backfill"
        ))
    })
}

/// Only multifactor2 gives each of the former all tickets of the account.
fn parent_users_beside_share_users(snapshot: &Snapshot, settings: Option<&Settings>) -> Option<Advice> {
    use multifactor2_core::settings::ParentUsers;
    let is_split = settings.is_some_and(|settings| settings.parent_users == ParentUsers::Split);
    if !is_ours(snapshot) || is_split {
        return None;
    }
    let users = || snapshot.associations.iter().filter(|row| !row.user.is_empty());
    let with_parent: HashSet<&str> =
        users().filter(|row| row.shares == USE_PARENT).map(|row| row.account.as_str()).collect();
    let mixed = users().find(|row| {
        row.shares != USE_PARENT && row.shares > 0 && with_parent.contains(row.account.as_str())
    })?;
    Some(Advice::wrong(format!(
        "account {}, and perhaps others, has users with Fairshare=parent and users with their own shares: each of \
         the former gets all of the account's tickets, while the latter divide them. Give all users the same kind \
         of shares, or set ParentUsers=split",
        mixed.account
    )))
}

fn parent_users_below_the_root(snapshot: &Snapshot) -> Option<Advice> {
    let rows = &snapshot.associations;
    let there = is_ours(snapshot)
        && rows.iter().any(|row| row.account == "root" && !row.user.is_empty() && row.shares == USE_PARENT);
    there.then(|| {
        Advice::unusual(
            "users with Fairshare=parent directly below the root draw on the tickets of the whole cluster: without \
             ParentUsers=split, each gets all of them and always has fair-share 1.0. Give these users shares, or move \
             them into an account with shares",
        )
    })
}

fn thresholds(snapshot: &Snapshot, settings: Option<&Settings>) -> Vec<Advice> {
    if !is_ours(snapshot) {
        return Vec::new();
    }
    let caps_stop = settings.is_some_and(Settings::caps_stop);
    let mut thresholds = Thresholds::default();
    for qos in &snapshot.qos {
        let is_enforced = qos.flags.iter().any(|flag| flag.eq_ignore_ascii_case("EnforceUsageThreshold"));
        thresholds.take(&qos.name, is_enforced, qos.usage_threshold, caps_stop);
    }
    thresholds.advice()
}
