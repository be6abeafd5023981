//! Assembles a snapshot from what the commands printed.
//!
//! `tree` assembles associations and `jobs` the queue. `sight` says what is hidden from the user.

mod flags;
mod jobs;
mod sight;
mod tree;

pub use flags::tells_flags_apart;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use multifactor2_snapshot::records::{About, Partition, Qos, Tres};
use multifactor2_snapshot::Snapshot;
use slurm_text::lines::{number, whole, Unread, MOST_NAMES};
use slurm_text::partitions::whole_cluster;
use slurm_text::{config, partitions, Parameters};

use super::commands::{ASSOCIATIONS, CONFIG, LOCAL_WEIGHTS, PARTITIONS, PRIORITIES, QOS, QUEUE, SHARES};
use super::parse::{associations, priorities, qos, queue, shares};
use super::settings;
use super::texts::Texts;
use super::Problem;
use crate::algorithm::Algorithm;

/// The snapshot that texts give; `conf` is what `--conf` names.
///
/// # Errors
/// If the configuration is not there, or the file is bad.
pub fn assemble(texts: &Texts, conf: Option<&Path>) -> Result<Snapshot, Problem> {
    let manifest = &texts.manifest;
    let parameters = config::parameters(texts.text(CONFIG));
    if !parameters.contains_key("PriorityType") {
        return Err(Problem::new(
            "the answer of 'scontrol show config' has no PriorityType",
            "see what that command prints; for a saved directory, save it again",
        ));
    }
    let (mut parts, mut unread_parts) = partitions::partitions(texts.text(PARTITIONS));
    parts.retain(|part| {
        let is_whole = !part.name.is_empty() && part.tier.is_some() && part.job_factor.is_some();
        if !is_whole {
            unread_parts.note(part.line);
        }
        is_whole
    });
    let mut known = associations::all(texts.text(ASSOCIATIONS));
    let (rows, unread_rows) = shares::shares(texts.text(SHARES));
    let (listed, unread_jobs) = queue::jobs(texts.text(QUEUE), manifest);
    let (sums, unread_sums) = priorities::sums(texts.text(PRIORITIES));
    let (declared, unread_qos) = qos::qos(texts.text(QOS));

    let total = whole_cluster(&parts).unwrap_or_default();
    let of = |name: &str| parameters.get(name).cloned().unwrap_or_default();
    let mut snapshot = Snapshot {
        about: About {
            time: config::time(texts.text(CONFIG)).unwrap_or(manifest.taken),
            taken: manifest.taken,
            cluster: of("ClusterName"),
            release: of("SLURM_VERSION"),
            priority_type: of("PriorityType"),
            source: "commands".to_owned(),
            cpus: amount(&total, "cpu"),
            nodes: amount(&total, "node"),
            ..About::default()
        },
        ..Snapshot::default()
    };
    snapshot.tres = tres(&parameters, &total);
    snapshot.partitions = partitions_of(parts, &snapshot.tres);
    snapshot.parameters = parameters;
    let algorithm = Algorithm::of(&snapshot);

    snapshot.associations = tree::associations(&rows, &known.associations, algorithm);
    let mut weights = Weights::of(&snapshot.parameters, texts.text(LOCAL_WEIGHTS));
    let other_weights = weights.take_out_others(&sums);
    let of_controller = Weights::of(&snapshot.parameters, "").qos;
    let part = |sum: &priorities::Sum| jobs::addend(sum.qos, weights.qos) / of_controller;
    let parts = sums.iter().filter(|sum| !sum.direct && sum.qos.0 > 0.0 && of_controller > 0.0);
    let parts: HashMap<u32, f64> = parts.map(|sum| (sum.id, part(sum))).collect();
    snapshot.about.knows_preemption =
        !declared.is_empty() && declared.iter().all(|qos| qos.preempt.is_some());
    snapshot.qos = qos_of(std::mem::take(&mut known.qos), declared, &parts, &listed);
    let left = jobs::fill(&mut snapshot, listed, &sums, &weights);

    if algorithm == Algorithm::Multifactor2 {
        snapshot.settings = settings::settings(conf, settings::parameters(&snapshot))?;
    }

    // Who competes is what sprio shows.
    for (unread, command) in [(&unread_jobs, "squeue"), (&unread_sums, "sprio")] {
        if *unread != Unread::default() {
            let because = format!("{command} printed something about jobs that cannot be read here.");
            snapshot.about.lack_queue("not_answered", &because);
        }
    }
    let mut hidden = Vec::new();
    flags::tell_apart(&mut snapshot, &mut hidden);
    if !other_weights.is_empty() {
        hidden.push(format!(
            "sprio divides by the weights of this host's slurm.conf. Those of {} are not what slurmctld has, or slurmctld has not computed \
             with them yet, so these addends are rounded (see 'multifactor2 check').",
            other_weights.join(", ")
        ));
    }
    let unread = [
        (unread_parts, "scontrol show partition"),
        (known.unread.clone(), "scontrol show assoc_mgr"),
        (unread_rows, "sshare"),
        (unread_jobs, "squeue"),
        (unread_sums, "sprio"),
        (unread_qos, "sacctmgr show qos"),
    ];
    hidden.extend(unread.iter().filter_map(|(unread, command)| unread.sentence(command)));
    sight::look(&mut snapshot, algorithm, texts, &known.users, left, &mut hidden);
    snapshot.about.hidden = hidden;
    Ok(snapshot)
}

fn amount(total: &[(String, u64)], name: &str) -> u32 {
    let found = total.iter().find(|(known, _)| known == name);
    found.map_or(0, |(_, count)| u32::try_from(*count).unwrap_or(u32::MAX))
}

/// The TRES that are accounted, with what all partitions together have and `PriorityWeightTRES`.
fn tres(parameters: &BTreeMap<String, String>, total: &[(String, u64)]) -> Vec<Tres> {
    let weights = parameters.get("PriorityWeightTRES").map(String::as_str).unwrap_or_default();
    let weights: Vec<(&str, f64)> = weights
        .split(',')
        .filter_map(|pair| {
            pair.split_once('=').and_then(|(name, weight)| Some((name.trim(), number(weight)?)))
        })
        .collect();
    let names = parameters.get("AccountingStorageTRES").map(String::as_str).unwrap_or_default();
    let names = names.split(',').map(str::trim).filter(|name| !name.is_empty()).take(MOST_NAMES);
    let row = |name: &str| Tres {
        name: name.to_owned(),
        count: total.iter().find(|(known, _)| known == name).map_or(0, |(_, count)| *count),
        weight: weights.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, weight)| *weight),
    };
    names.map(row).collect()
}

/// Amounts by the positions of the TRES.
fn by_position(tres: &[Tres], amounts: &[(String, u64)]) -> Vec<u64> {
    let of =
        |tres: &Tres| amounts.iter().find(|(name, _)| *name == tres.name).map_or(0, |(_, amount)| *amount);
    tres.iter().map(of).collect()
}

fn partitions_of(parts: Vec<partitions::Partition>, tres: &[Tres]) -> Vec<Partition> {
    let job_factor = |part: &partitions::Partition| part.job_factor.unwrap_or(0);
    let highest = parts.iter().map(job_factor).max().unwrap_or(0);
    let row = |part: partitions::Partition| Partition {
        tier: part.tier.unwrap_or(0),
        job_factor: job_factor(&part),
        job_factor_norm: portion(job_factor(&part), highest),
        max_time: part.max_time.minutes(),
        tres: by_position(tres, &part.tres),
        default_time: part.default_time.minutes(),
        name: part.name,
        state: part.state,
        billing_weights: part.billing_weights,
        qos: part.qos,
        is_default: part.is_default,
        nodes: part.node_list,
    };
    parts.into_iter().map(row).collect()
}

fn portion(of: u32, highest: u32) -> f64 {
    if highest == 0 {
        0.0
    } else {
        f64::from(of) / f64::from(highest)
    }
}

/// QOS by slurmctld's and slurmdbd's answer. Where slurmdbd was not asked, jobs tell the factor of their QOS (`parts`).
fn qos_of(
    used: Vec<associations::Used>,
    declared: Vec<qos::Declared>,
    parts: &HashMap<u32, f64>,
    listed: &[queue::Listed],
) -> Vec<Qos> {
    let highest = declared.iter().map(|qos| qos.priority).max().unwrap_or(0);
    let by_job = |name: &str| {
        let jobs = listed.iter().filter(|job| job.qos == name);
        jobs.filter_map(|job| parts.get(&job.id)).copied().next().unwrap_or(0.0)
    };
    let mut rows: Vec<Qos> = Vec::new();
    for qos in used {
        let part = if declared.is_empty() { by_job(&qos.name) } else { 0.0 };
        // With NO_NORMAL_QOS the factor is the priority itself. Else it counts as long as the priority is not 0.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates
        let priority = if part > 0.0 { (part.round() as u32).max(1) } else { 0 };
        rows.push(Qos {
            id: qos.id,
            name: qos.name,
            priority,
            priority_norm: part,
            usage_factor: 1.0,
            usage: qos.usage,
            ..Qos::default()
        });
    }
    for qos in declared {
        let at = rows.iter().position(|row| row.name == qos.name).unwrap_or_else(|| {
            rows.push(Qos { id: qos.id, name: qos.name.clone(), ..Qos::default() });
            rows.len() - 1
        });
        let row = &mut rows[at];
        row.priority = qos.priority;
        row.priority_norm = portion(qos.priority, highest);
        row.usage_factor = qos.usage_factor;
        row.usage_threshold = qos.usage_threshold;
        row.flags = qos.flags;
        row.preempt = qos.preempt.unwrap_or_default();
    }
    rows
}

/// The weights that sprio divides by: those of this host's slurm.conf.
#[derive(Clone, Copy, Debug, Default)]
struct Weights {
    age: f64,
    assoc: f64,
    fair_share: f64,
    job_size: f64,
    partition: f64,
    qos: f64,
}

impl Weights {
    /// From `sprio -w`, else the controller's.
    fn of(parameters: &BTreeMap<String, String>, local: &str) -> Self {
        let cells: Vec<f64> = local.trim().split('|').map_while(whole::<u32>).map(f64::from).collect();
        if let [age, assoc, fair_share, job_size, partition, qos, ..] = cells[..] {
            return Self { age, assoc, fair_share, job_size, partition, qos };
        }
        let find = |name: &str| parameters.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let weights = Parameters::new(|name: &str| find(name).map(|(_, value)| value.as_str())).weights();
        Self {
            age: weights.age.into(),
            assoc: weights.assoc.into(),
            fair_share: weights.fair_share.into(),
            job_size: weights.job_size.into(),
            partition: weights.partition.into(),
            qos: weights.qos.into(),
        }
    }

    /// Takes out weights that are not those of this host, as far as sprio shows it: addends of these stay rounded. Gives the names of
    /// sprio's columns.
    fn take_out_others(&mut self, sums: &[priorities::Sum]) -> Vec<&'static str> {
        type Of = fn(&priorities::Sum) -> (f64, f64);
        let all: [(&'static str, &mut f64, Of); 6] = [
            ("AGE", &mut self.age, |sum| sum.age),
            ("ASSOC", &mut self.assoc, |sum| sum.assoc),
            ("FAIRSHARE", &mut self.fair_share, |sum| sum.fair_share),
            ("JOBSIZE", &mut self.job_size, |sum| sum.job_size),
            ("PARTITION", &mut self.partition, |sum| sum.partition_addend),
            ("QOS", &mut self.qos, |sum| sum.qos),
        ];
        let mut others = Vec::new();
        for (name, weight, of) in all {
            let is_other = |sum: &priorities::Sum| !sum.direct && !jobs::is_part_of(of(sum), *weight);
            if sums.iter().any(is_other) {
                *weight = 0.0;
                others.push(name);
            }
        }
        others
    }
}
