//! Computes the billing of a job: its TRES weighted with `TRESBillingWeights` of the partition, added up as slurmctld does
//! (`assoc_mgr_tres_weighted` in `src/common/assoc_mgr.c`, the same from Slurm 20.11 to 26.05 except for `MAX_TRES_GRES`).

use multifactor2_core::facts;
use multifactor2_snapshot::records::Partition;
use multifactor2_snapshot::Snapshot;
use schemars::JsonSchema;
use serde::Serialize;
use slurm_text::{lines, tres};

/// How the weighted TRES become one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// The partition has no `TRESBillingWeights`: the number of CPUs.
    Cpus,
    /// The sum of all.
    Sum,
    /// `PriorityFlags=MAX_TRES`: the largest one that belongs to nodes (CPUs, memory, nodes, GRES), and all others.
    Max,
    /// `PriorityFlags=MAX_TRES_GRES`: the largest of CPUs, memory and nodes, all GRES, and all others.
    MaxAndGres,
}

/// A TRES in the bill.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Billed {
    /// Such as `cpu` or `gres/gpu`.
    pub name: String,
    /// How much the job asks for; memory in MB.
    pub count: f64,
    /// Its weight; per MB for memory.
    pub weight: f64,
    /// The product.
    pub billing: f64,
    /// It counts; not so where a rule takes the largest and this is not it.
    pub counts: bool,
}

/// What a job is billed for each second that it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Bill {
    /// The rule.
    pub rule: Rule,
    /// TRES that are asked for or have a weight.
    pub tres: Vec<Billed>,
    /// The sum: usage for each second.
    pub billing: f64,
    /// Entries of `TRESBillingWeights` that cannot be read.
    pub unread: Vec<String>,
}

/// Writes what a job is billed among its TRES, where billing is one.
pub fn write(snapshot: &Snapshot, partition: Option<&Partition>, amounts: &mut [u64]) {
    let billing = bill(snapshot, partition, amounts).billing;
    let place = snapshot.tres.iter().position(|tres| tres.name.eq_ignore_ascii_case("billing"));
    if let Some(amount) = place.and_then(|place| amounts.get_mut(place)) {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // as slurmctld does
        let whole = billing.max(0.0) as u64;
        *amount = whole;
    }
}

/// The bill of a job in a partition.
pub fn bill(snapshot: &Snapshot, partition: Option<&Partition>, amounts: &[u64]) -> Bill {
    let written = partition.map_or("", |partition| lines::text(&partition.billing_weights));
    let rule = rule(snapshot, written);
    let (mut weights, mut unread) = (vec![0.0; snapshot.tres.len()], Vec::new());
    if rule == Rule::Cpus {
        for (weight, tres) in weights.iter_mut().zip(&snapshot.tres) {
            *weight = if tres.name == "cpu" { 1.0 } else { 0.0 };
        }
    }
    for read in tres::billing_weights(written) {
        let place = |name: &str| snapshot.tres.iter().position(|tres| tres.name.eq_ignore_ascii_case(name));
        match read.map(|(name, weight)| (place(name), name, weight)) {
            Ok((Some(at), _, weight)) => weights[at] = weight,
            Ok((None, unread_part, _)) | Err(unread_part) => unread.push(unread_part.to_owned()),
        }
    }
    let row = |(at, weight): (usize, f64)| {
        let count = f64_of(amounts.get(at).copied().map_or(0, facts::amount));
        Billed { name: snapshot.tres[at].name.clone(), count, weight, billing: count * weight, counts: true }
    };
    let mut rows: Vec<Billed> = weights.into_iter().enumerate().map(row).collect();
    rows.retain(|row| row.name != "billing");
    if matches!(rule, Rule::Max | Rule::MaxAndGres) {
        keep_largest(&mut rows, rule);
    }
    let billing = rows.iter().filter(|row| row.counts).map(|row| row.billing).sum();
    rows.retain(|row| row.count != 0.0 || row.weight != 0.0);
    Bill { rule, tres: rows, billing, unread }
}

fn rule(snapshot: &Snapshot, written: &str) -> Rule {
    let flags = snapshot.parameter("PriorityFlags").unwrap_or_default().to_ascii_uppercase();
    if written.is_empty() {
        Rule::Cpus
    } else if flags.contains("MAX_TRES_GRES") {
        Rule::MaxAndGres
    } else if flags.contains("MAX_TRES") {
        Rule::Max
    } else {
        Rule::Sum
    }
}

/// Of those that belong to nodes only the largest counts.
fn keep_largest(rows: &mut [Billed], rule: Rule) {
    let is_of_node = |row: &Billed| {
        matches!(row.name.as_str(), "cpu" | "mem" | "node")
            || rule == Rule::Max && row.name.to_ascii_lowercase().starts_with("gres/")
    };
    let mut largest: Option<usize> = None;
    for at in 0..rows.len() {
        if !is_of_node(&rows[at]) {
            continue;
        }
        rows[at].counts = false;
        // At least 0, as slurmctld begins there.
        if rows[at].billing > largest.map_or(0.0, |largest| rows[largest].billing) {
            largest = Some(at);
        }
    }
    if let Some(largest) = largest {
        rows[largest].counts = true;
    }
}

#[allow(clippy::cast_precision_loss)] // as slurmctld does
fn f64_of(count: u64) -> f64 {
    count as f64
}
