//! Translates Slurm's own `priority/multifactor`: which line keeps which behaviour, what changes on the first day, and the way back.

use std::path::Path;

use multifactor2_core::policy::stock;
use multifactor2_core::settings::files;
use multifactor2_core::settings::text::{Pair, Statement};
use multifactor2_snapshot::records::Setting;
use multifactor2_snapshot::Snapshot;
use schemars::JsonSchema;
use serde::Serialize;

use super::draft::{Draft, Item};
use super::page::Why;
use super::MigrateAnswer;
use crate::answers::check::host::makes_slurm_conf;
use crate::answers::what_if::{of_model, Changes, Group, Plugin, Settings, Weight};
use crate::error::Error;
use crate::model::{Algorithm, Model, Options};

/// How many who rise, and who fall, are named.
const NAMED: usize = 5;

/// The queue of a snapshot under stock, and under the lines of the answer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FirstDay {
    /// `PriorityWeightFairshare` that moves the queue as far as the old weight moves it now: that weight times the difference of the largest
    /// and the smallest factor of waiting jobs. The old weight where there are no two different ones.
    pub weight: u32,
    /// Kendall's tau of both orders, from 1 (the same) to -1 (the opposite); `None` if places are not known.
    pub tau: Option<f64>,
    /// How many jobs have another place; `None` if places are not known.
    pub moved: Option<usize>,
    /// The number of jobs compared.
    pub jobs: usize,
    /// Users whose jobs move forward on average, the furthest first.
    pub rise: Vec<Group>,
    /// Users whose jobs move backward on average, the furthest first.
    pub fall: Vec<Group>,
    /// Remarks on it, one sentence each.
    pub remarks: Vec<String>,
}

/// Parameters of slurm.conf that are about priorities; `None` if a file is none.
fn parameters(path: &Path) -> Option<Vec<Item>> {
    let pairs: Vec<Pair> = files::read(path)?.statements.into_iter().flat_map(Statement::into_pairs).collect();
    pairs.iter().find(|pair| makes_slurm_conf(&pair.key))?;
    let is = |pair: &Pair, names: &[&str]| names.iter().any(|name| pair.key.eq_ignore_ascii_case(name));
    let is_about = |pair: &Pair| {
        let is_of_partition = is(pair, &["PriorityJobFactor", "PriorityTier"]);
        pair.key.to_ascii_lowercase().starts_with("priority") && !is_of_partition || is(pair, &["FairShareDampeningFactor"])
    };
    let item = |pair: Pair| Item { place: pair.place, key: pair.key, value: pair.value };
    Some(pairs.into_iter().filter(is_about).map(item).collect())
}

/// Translates a slurm.conf; `None` if the file is none.
pub(super) fn translate(path: &Path) -> Option<Draft> {
    let items = parameters(path)?;
    let mut draft = Draft::default();
    // As slurmctld takes it: the last one counts.
    let find = |name: &str| items.iter().rev().find(|item| item.key.eq_ignore_ascii_case(name));
    let value = |name: &str| find(name).map_or("", |item| item.value.as_str());
    let kind = find("PriorityType");
    let flags = value("PriorityFlags").to_owned();
    let from: Vec<&Item> = kind.into_iter().chain(find("PriorityFlags")).collect();
    match kind.map_or("multifactor", |item| item.value.rsplit('/').next().unwrap_or_default()) {
        "multifactor2" => draft.note(Why::Nothing, "It is this plugin already.", &from),
        "multifactor" => {
            stock_to_ours(&mut draft, &flags, &from);
            weight(&mut draft, find("PriorityWeightFairshare"));
            let back = kind.map_or_else(|| "PriorityType=priority/multifactor".to_owned(), |item| format!("PriorityType={}", item.value));
            way_back(&mut draft, &back, find("PriorityWeightFairshare"), find("PriorityFlags"));
        }
        _ => {
            draft.slurm("PriorityType=priority/multifactor2", "", &from);
            weight(&mut draft, find("PriorityWeightFairshare"));
            way_back(&mut draft, &format!("PriorityType={}", value("PriorityType")), None, None);
        }
    }
    if let Some(item) = find("FairShareDampeningFactor") {
        draft.note(Why::Nothing, "Remove it: only classic fair-share of stock uses it.", &[item]);
    }
    for item in &items {
        if !draft.is_mentioned(item) {
            draft.note(Why::Nothing, "It stays, with the same effect.", &[item]);
        }
    }
    Some(draft)
}

/// The plugin, flags that still do something, and the order among those who wait.
fn stock_to_ours(draft: &mut Draft, flags: &str, from: &[&Item]) {
    let idle = ["NO_FAIR_TREE", "DEPTH_OBLIVIOUS", "FAIR_TREE"];
    let is_idle = |flag: &&str| idle.iter().any(|idle| flag.eq_ignore_ascii_case(idle));
    let kept: Vec<&str> = flags.split(',').map(str::trim).filter(|flag| !flag.is_empty() && !is_idle(flag)).collect();
    let is_fair_tree = matches!(stock::Algorithm::of(flags, 1, (0, 0)), stock::Algorithm::FairTree);
    draft.slurm("PriorityType=priority/multifactor2", "Restart slurmctld: a reconfigure is not enough.", from);
    if kept.len() != flags.split(',').filter(|flag| !flag.trim().is_empty()).count() {
        let remark = "Without NO_FAIR_TREE and DEPTH_OBLIVIOUS, which no longer have an effect. If nothing is left, remove the line.";
        draft.slurm(format!("PriorityFlags={}", kept.join(",")), remark, from);
    }
    if is_fair_tree {
        let remark = "Orders waiting users as Fair Tree does: an account below its share comes before one above it, whatever is \
         inside. Shares hold in the long run, as they do now.";
        draft.ours("Distribution=strict", remark, from);
    } else {
        let remark = "Users further below their share come first, in proportion. Shares hold in the long run, also in trees where \
         those of classic fair-share do not.";
        draft.ours("Distribution=standing", remark, from);
    }
    let remark = "Without this line the distribution is that of the documented formula, under which usage settles on the squares of the shares: see \
                  docs/weights.md.";
    draft.note(Why::ByHand, remark, from);
}

fn weight(draft: &mut Draft, old: Option<&Item>) {
    let remark = "The best waiting job always has a fair-share factor of 1. Start with the old weight times the difference \
     between the largest and the smallest factor of waiting jobs (sprio -hno %f | sort -n): --snapshot computes it.";
    match old {
        Some(item) => draft.note(Why::ByHand, remark, &[item]),
        None => draft.notes.push(super::Note {
            why: Why::ByHand,
            from: "PriorityWeightFairshare is not set".into(),
            remark: "It is 0 by default, so fair-share has no effect: set it, such as PriorityWeightFairshare=100000.".into(),
        }),
    }
}

fn way_back(draft: &mut Draft, kind: &str, weight: Option<&Item>, flags: Option<&Item>) {
    let mut lines = vec![kind.to_owned()];
    lines.extend([weight, flags].into_iter().flatten().map(|item| format!("{}={}", item.key, item.value)));
    draft.notes.push(super::Note {
        why: Why::ByHand,
        from: "the way back".into(),
        remark: format!(
            "In slurm.conf on all hosts: {}. Then restart slurmctld, and only then remove the package. Usage, shares and limits \
             survive both switches (docs/migration.md).",
            lines.join(", ")
        ),
    });
}

/// What a snapshot of the cluster under stock says of the first day.
///
/// # Errors
/// Shares cannot be computed from it.
pub(super) fn first_day(answer: &mut MigrateAnswer, snapshot: &Snapshot) -> Result<(), Error> {
    let now = Model::of(snapshot, Options::default());
    if now.config.algorithm == Algorithm::Multifactor2 {
        return Err("--snapshot: this cluster has priority/multifactor2 already: see multifactor2 what-if --conf".into());
    }
    let lines = answer.settings();
    let lines = lines.lines().map(|line| Setting { line: line.to_owned(), from: "above".to_owned() }).collect();
    let settings = Settings { file: "the lines above".to_owned(), lines };
    let changes = Changes { plugin: Some(Plugin::Multifactor2), settings: Some(settings), ..Changes::default() };
    let old = now.config.factors.weights.fair_share;
    let unweighted = of_model(&now, &changes)?;
    let factors = || unweighted.rows.iter().filter_map(|row| row.fair_share_before);
    let spread = factors().fold(0.0, f64::max) - factors().fold(1.0, f64::min);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a part of the old weight
    let weight = if spread > 0.0 { (f64::from(old) * spread).round().max(1.0) as u32 } else { old };
    let weights: Vec<Weight> = vec![format!("fairshare={weight}").parse()?];
    let after = of_model(&now, &Changes { weights, ..changes })?;
    let users = |sign: f64| {
        let mut users: Vec<Group> = after.users.iter().filter(|user| user.mean * sign > 0.0).cloned().collect();
        users.sort_by(|a, b| (b.mean * sign).total_cmp(&(a.mean * sign)).then_with(|| a.name.cmp(&b.name)));
        users.truncate(NAMED);
        users
    };
    answer.first_day = Some(FirstDay {
        weight,
        tau: after.tau,
        moved: after.moved,
        jobs: after.rows.len(),
        rise: users(1.0),
        fall: users(-1.0),
        remarks: after.remarks.iter().chain(after.unknown.iter().map(|unknown| &unknown.sentence)).cloned().collect(),
    });
    Ok(())
}
