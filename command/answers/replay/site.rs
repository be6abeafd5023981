//! `--from`: reads the cluster of a replay as every other question reads it.

use std::path::Path;

use multifactor2_replay::trace::cluster;
use multifactor2_replay::trace::config::Config;
use multifactor2_replay::workload::{ListedAssociation, Machine, Missing, Qos, Site};
use multifactor2_replay::Workload;
use multifactor2_snapshot::{records, Snapshot};
use slurm_text::durations::Length;
use slurm_text::partitions::Partition;

use crate::error::Error;
use crate::input;
use crate::input::commands::PARTITIONS;

/// The replayed cluster becomes that of a snapshot, a saved directory or a dump; what these do not tell stays as the trace has it.
pub(super) fn take(workload: &mut Workload, path: &Path) -> Result<(), Error> {
    let (snapshot, texts) = input::read_with_texts(path, None)?;
    let about = &snapshot.about;
    if about.partial_tree {
        let why = format!("{}: it has only a part of the tree: save it as an operator", path.display());
        return Err(Error::Source(why));
    }
    // The command's own text says which nodes partitions have; a snapshot of the plugin does not.
    let machine = match texts {
        Some(texts) => cluster::machine(texts.text(PARTITIONS), None),
        None => machine(&snapshot),
    };
    let mut missing = Vec::new();
    let machine = machine.and_then(|(machine, may_share)| {
        let cpus: u64 = machine.pools.iter().map(|pool| u64::from(pool.cpus)).sum();
        // What partitions share cannot be told: a machine of all of them side by side would be larger than the cluster.
        let is_larger = may_share && (about.cpus == 0 || cpus > u64::from(about.cpus));
        if is_larger {
            missing.push(Missing {
                what: "the nodes of partitions".to_owned(),
                so: format!(
                    "{} does not show which nodes partitions share, so the machine stays that of the trace: give --slurm-conf or --partition",
                    path.display()
                ),
            });
        }
        Some(machine).filter(|machine| !is_larger && machine.check().is_ok())
    });
    workload.set_site(Site {
        associations: associations(&snapshot.associations),
        qos: snapshot.qos.iter().map(qos).collect(),
        config: config(&snapshot),
        machine,
    });
    workload.missing.append(&mut missing);
    Ok(())
}

/// An association for one partition has no separate place in a replay.
fn associations(known: &[records::Association]) -> Vec<ListedAssociation> {
    let account_of: std::collections::HashMap<u32, &str> =
        known.iter().map(|association| (association.id, association.account.as_str())).collect();
    let listed = known.iter().filter(|association| association.parent != 0 && association.partition.is_empty());
    let list = |association: &records::Association| {
        let above = account_of.get(&association.parent).copied().filter(|above| *above != "root");
        ListedAssociation {
            // Users are found by their account.
            parent: above.filter(|_| association.user.is_empty()).unwrap_or_default().to_owned(),
            account: association.account.clone(),
            user: association.user.clone(),
            shares: association.shares,
        }
    };
    listed.map(list).collect()
}

fn qos(known: &records::Qos) -> Qos {
    Qos { priority: known.priority, usage_factor: known.usage_factor, ..Qos::named(&known.name) }
}

fn config(snapshot: &Snapshot) -> Option<Config> {
    let mut config = Config::default();
    for (name, value) in &snapshot.parameters {
        config.set(name, value);
    }
    Some(config).filter(|config| !config.is_empty())
}

fn machine(snapshot: &Snapshot) -> Option<(Machine, bool)> {
    let count = |partition: &records::Partition, name: &str| {
        let place = snapshot.tres.iter().position(|tres| tres.name == name)?;
        u32::try_from(*partition.tres.get(place)?).ok()
    };
    let told = |partition: &records::Partition| Partition {
        tier: Some(partition.tier),
        job_factor: Some(partition.job_factor),
        max_time: partition.max_time.map_or(Length::Unlimited, |minutes| Length::Seconds(u64::from(minutes) * 60)),
        state: partition.state.clone(),
        billing_weights: partition.billing_weights.clone(),
        node_list: partition.nodes.clone(),
        cpus: count(partition, "cpu"),
        nodes: count(partition, "node"),
        ..Partition::of(&partition.name, slurm_text::durations::Grammar::Limit, |_| None)
    };
    let told: Vec<Partition> = snapshot.partitions.iter().map(told).collect();
    // A snapshot of the plugin does not say which nodes they have.
    cluster::of_partitions(&told, None)
}
