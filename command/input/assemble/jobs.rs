//! Assembles jobs from the records of `squeue` and the addends of `sprio`.

use std::collections::{BTreeMap, HashMap};

use multifactor2_snapshot::records::{Entry, Job, Running, Tres};
use multifactor2_snapshot::Snapshot;

use super::{by_position, Weights};
use crate::input::parse::priorities::Sum;
use crate::input::parse::queue::Listed;

/// Base states, and those that a job has while it has nodes.
const RUNNING: [&str; 4] = ["R", "S", "CF", "SO"];

/// States of jobs that wait, or will again.
const WAITING: [&str; 5] = ["PD", "RQ", "RH", "RF", "SE"];

/// Fills in jobs that wait and that run. Gives how many jobs sprio has that squeue has not.
pub(super) fn fill(snapshot: &mut Snapshot, listed: Vec<Listed>, sums: &[Sum], weights: &Weights) -> usize {
    let mut by_job: HashMap<u32, Vec<&Sum>> = HashMap::new();
    for sum in sums {
        by_job.entry(sum.id).or_default().push(sum);
    }
    let mut running: BTreeMap<(u32, String, String, String), Running> = BTreeMap::new();
    for job in listed {
        let sums = by_job.remove(&job.id).unwrap_or_default();
        if RUNNING.contains(&job.state.as_str()) {
            add(&mut running, &job, &snapshot.tres);
            continue;
        }
        // What has ended is not asked for but by its name.
        if !WAITING.contains(&job.state.as_str()) {
            continue;
        }
        let tres = by_position(&snapshot.tres, &job.tres);
        // The record has the priority of the partition that was tried last.
        let own = sums.iter().find(|sum| sum.priority == job.priority).or(sums.first()).copied();
        if let (Some(own), true) = (own, sums.len() > 1) {
            snapshot.entries.extend(sums.iter().map(|sum| entry(&job, (sum, own), weights)));
        }
        snapshot.jobs.push(waiting(job, tres, own, weights));
    }
    snapshot.running = running.into_values().collect();
    by_job.len()
}

/// An addend, with the places that its part of the weight has beyond it. The part is of the weight of this host, so it counts
/// only where both say the same.
pub(super) fn addend((rounded, part): (f64, f64), weight: f64) -> f64 {
    if part > 0.0 && is_part_of((rounded, part), weight) && weight < 1e7 {
        part * weight
    } else {
        rounded
    }
}

/// Whether a part times the weight is what is rounded. The part has seven places.
pub(super) fn is_part_of((rounded, part): (f64, f64), weight: f64) -> bool {
    (part * weight - rounded).abs() <= 0.5 + weight * 0.5e-7
}

/// `own`: what the record of the job has, which is that of one of its entries.
fn entry(job: &Listed, (sum, own): (&Sum, &Sum), weights: &Weights) -> Entry {
    Entry {
        job: job.id,
        partition: sum.partition.clone(),
        qos: job.qos.clone(),
        priority: sum.priority,
        fair_share: addend(sum.fair_share, weights.fair_share),
        partition_addend: addend(sum.partition_addend, weights.partition),
        qos_addend: addend(sum.qos, weights.qos),
        tres_addend: sum.tres,
        // sprio shows points within SITE.
        points: sum.site - own.site,
    }
}

fn waiting(listed: Listed, tres: Vec<u64>, sum: Option<&Sum>, weights: &Weights) -> Job {
    let first = listed.partitions.first().cloned().unwrap_or_default();
    let direct = sum.is_some_and(|sum| sum.direct);
    // Once the scheduler has looked at a job, NumNodes is how many nodes it would take. TRES keep how many it asks for.
    let asked = listed.tres.iter().find(|(name, amount)| name == "node" && *amount > 0);
    let nodes = asked.map_or(listed.nodes, |(_, amount)| u32::try_from(*amount).unwrap_or(u32::MAX));
    let mut job = Job {
        id: listed.id,
        array_job: listed.array,
        array_tasks: listed.tasks,
        het_job: listed.het,
        association: listed.association,
        user: listed.user,
        account: listed.account,
        group: listed.group,
        partition: sum.map_or(first, |sum| sum.partition.clone()),
        partitions: if listed.partitions.len() > 1 { listed.partitions } else { Vec::new() },
        qos: listed.qos,
        reservation: listed.reservation,
        wckey: listed.wckey,
        reason: listed.reason,
        priority: listed.priority,
        direct,
        competes: sum.is_some(),
        submit: listed.submit,
        eligible: listed.eligible,
        accrue: listed.accrue,
        start: listed.start,
        limit: listed.limit,
        nodes,
        cpus: listed.cpus_of_node.max(listed.cpus),
        size_cpus: listed.cpus,
        tmp_disk: listed.tmp_disk,
        tres,
        nice: listed.nice,
        is_computed: sum.is_some() && !direct,
        ..Job::default()
    };
    if let Some(sum) = sum.filter(|sum| !sum.direct) {
        #[allow(clippy::cast_possible_truncation)] // a whole number of 32 bits
        let site = sum.site as i64;
        job.site = site;
        job.age = addend(sum.age, weights.age);
        job.assoc = addend(sum.assoc, weights.assoc);
        job.fair_share = addend(sum.fair_share, weights.fair_share);
        job.job_size = addend(sum.job_size, weights.job_size);
        job.partition_addend = addend(sum.partition_addend, weights.partition);
        job.qos_addend = addend(sum.qos, weights.qos);
        job.tres_addend = sum.tres;
    }
    job
}

fn add(running: &mut BTreeMap<(u32, String, String, String), Running>, job: &Listed, names: &[Tres]) {
    let partition = job.partitions.first().cloned().unwrap_or_default();
    let key = (job.association, partition, job.qos.clone(), job.wckey.clone());
    let sum = running.entry(key).or_insert_with_key(|(association, partition, qos, wckey)| Running {
        association: *association,
        partition: partition.clone(),
        qos: qos.clone(),
        wckey: wckey.clone(),
        tres: vec![0; names.len()],
        ..Running::default()
    });
    sum.count = sum.count.saturating_add(1);
    sum.size += f64::from(job.cpus);
    for (total, amount) in sum.tres.iter_mut().zip(by_position(names, &job.tres)) {
        *total = total.saturating_add(amount);
    }
    #[allow(clippy::cast_precision_loss)] // as Slurm has it
    let billing =
        job.tres.iter().find(|(name, _)| name == "billing").map_or(0.0, |(_, amount)| *amount as f64);
    sum.billing += billing;
}
