//! Finds names in settings that nothing on the cluster has. The plugin warns of them while it runs, with the same functions of the engine.

use std::collections::{HashMap, HashSet};

use multifactor2_core::books;
use multifactor2_core::policy::points::Points;
use multifactor2_core::policy::pools::{Bearer, Named, Pools, NONE_OF_THAT_NAME};
use multifactor2_core::rules::charge_rules;
use multifactor2_core::settings::advice::Advice;
use multifactor2_core::settings::Settings;

use crate::model::Model;

/// What is not looked at, one sentence each, and what is found.
#[derive(Default)]
pub(super) struct Names {
    pub found: Vec<Advice>,
    pub not_looked_at: Vec<String>,
}

/// Looks for all names in settings, as far as what could have them is known.
pub(super) fn unknown(model: &Model<'_>, settings: &Settings) -> Names {
    let snapshot = model.snapshot;
    let mut names = Names::default();
    let set = |all: &mut dyn Iterator<Item = &String>| -> HashSet<String> { all.map(|name| name.to_lowercase()).collect() };
    let accounts = set(&mut snapshot.associations.iter().map(|row| &row.account));
    let all_qos = set(&mut snapshot.qos.iter().map(|qos| &qos.name));
    let partitions: HashSet<&str> = snapshot.partitions.iter().map(|partition| partition.name.as_str()).collect();
    let knows_associations = !accounts.is_empty() && !snapshot.about.partial_tree && !snapshot.about.only_jobs;
    let knows_partitions = !partitions.is_empty() && !snapshot.is_private("partitions");
    let mut hidden: Vec<&str> = Vec::new();
    let mut look = |named: &Named<'_>| {
        let (is_known, exists, what) = match named.of {
            Bearer::Association(exists) => (knows_associations, exists, "users and accounts"),
            Bearer::Partition => (knows_partitions, partitions.contains(named.name), "partitions"),
            Bearer::Qos => (!all_qos.is_empty(), all_qos.contains(&named.name.to_lowercase()), "QOS"),
            Bearer::Group(_) => (false, true, "Unix groups of the controller"),
            Bearer::Job => return,
        };
        if !is_known && !hidden.contains(&what) {
            hidden.push(what);
        }
        if is_known && !exists {
            names.found.push(Advice::without_effect(format!("{}: {NONE_OF_THAT_NAME}", named.line())));
        }
    };
    let is_account = |name: &str| accounts.contains(name);
    books::named(settings, is_account).iter().for_each(&mut look);
    charge_rules::named(settings, is_account).for_each(|named| look(&named));
    let (shape, of_node) = (&model.tree.shape, model.names());
    if let Some(mut pools) = Pools::configured(settings) {
        pools.begin(model.date());
        pools.learn(shape, &of_node);
        pools.named().for_each(|named| look(&named));
    }
    if let Some(mut points) = Points::configured(settings) {
        points.learn(shape, &of_node, &[], &HashMap::new());
        points.named().for_each(|named| look(&named));
    }
    names.found.extend(unknown_tres(model, settings, &mut hidden));
    if !hidden.is_empty() {
        let what = hidden.join(", ");
        names.not_looked_at.push(format!("names of {what} in settings: some of these are hidden here"));
    }
    names
}

/// TRES that the cluster does not have.
fn unknown_tres(model: &Model<'_>, settings: &Settings, hidden: &mut Vec<&str>) -> Vec<Advice> {
    let metric = Some(&settings.target_metric).filter(|_| !settings.targets.is_empty());
    let metric = metric.filter(|name| !name.eq_ignore_ascii_case("billing"));
    let mut asked: Vec<(&str, String)> = metric.map(|name| ("TargetMetric", name.clone())).into_iter().collect();
    let dominant = settings.dominant_weights().unwrap_or_default();
    asked.extend(dominant.into_iter().map(|(name, _)| ("DominantTRES", name)));
    let units = settings.grants.iter().filter_map(multifactor2_core::settings::Grant::tres);
    asked.extend(units.collect::<std::collections::BTreeSet<_>>().into_iter().map(|name| ("Unit", name)));
    if asked.is_empty() {
        return Vec::new();
    }
    if model.snapshot.tres.is_empty() {
        hidden.push("TRES");
        return Vec::new();
    }
    let is_there = |name: &str| model.snapshot.tres.iter().any(|tres| tres.name.eq_ignore_ascii_case(name));
    let missing = asked.into_iter().filter(|(_, name)| !is_there(name));
    missing
        .map(|(setting, name)| {
            let hours = if setting == "Unit" { "-hours" } else { "" };
            Advice::without_effect(format!(
                "{setting}={name}{hours}: the cluster has no such TRES, so none of its usage counts: correct the \
                 name, or add the TRES to AccountingStorageTRES"
            ))
        })
        .collect()
}
