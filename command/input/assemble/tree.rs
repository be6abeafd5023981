//! Assembles associations: numbers from `sshare`, parents and raw usage from `show assoc_mgr`.

use std::collections::{HashMap, HashSet};

use multifactor2_snapshot::records::Association;

use crate::algorithm::Algorithm;
use crate::input::parse::associations::Known;
use crate::input::parse::shares::Share;

/// All that can be seen, a parent before those below it. A parent that cannot be seen is 0.
pub(super) fn associations(rows: &[Share], known: &[Known], algorithm: Algorithm) -> Vec<Association> {
    let by_id: HashMap<u32, &Known> = known.iter().map(|known| (known.id, known)).collect();
    let mut found: Vec<Association> = if rows.is_empty() {
        known.iter().map(without_sshare).collect()
    } else {
        let parents = by_depth(rows);
        rows.iter()
            .zip(parents)
            .map(|(row, parent)| with_sshare(row, parent, by_id.get(&row.id).copied(), algorithm))
            .collect()
    };
    parents(&mut found, &by_id);
    let highest = found.iter().map(|row| row.priority).max().unwrap_or(0);
    for row in &mut found {
        row.priority_norm = super::portion(row.priority, highest);
    }
    in_order(found)
}

/// Ids of parents by how far names are indented; 0 for those that have none above them.
fn by_depth(rows: &[Share]) -> Vec<u32> {
    let mut open: Vec<u32> = Vec::new();
    let parent = |row: &Share| {
        open.truncate(row.depth);
        let parent = open.last().copied().unwrap_or(0);
        // Only accounts have something below them.
        if row.user.is_empty() {
            open.push(row.id);
        }
        parent
    };
    rows.iter().map(parent).collect()
}

fn with_sshare(row: &Share, parent: u32, known: Option<&Known>, algorithm: Algorithm) -> Association {
    let is_user = !row.user.is_empty();
    let has_factors = algorithm != Algorithm::Basic;
    #[allow(clippy::cast_precision_loss)] // as Slurm has it
    let whole = row.usage as f64;
    // To two places; but not from before or after a cycle that ran between the two commands.
    let usage = known.map(|known| known.usage).filter(|usage| (usage - whole).abs() <= 1.0).unwrap_or(whole);
    Association {
        id: row.id,
        parent,
        account: row.account.clone(),
        user: row.user.clone(),
        partition: row.partition.clone(),
        shares: row.shares.or(known.map(|known| known.shares)).unwrap_or(1),
        priority: known.map_or(0, |known| known.priority),
        usage,
        shares_norm: row.shares_norm.unwrap_or(0.0),
        usage_norm: row.usage_norm.unwrap_or(0.0),
        usage_effective: row.usage_effective.unwrap_or(0.0),
        // Classic fair-share has none, and prints zeros.
        level_fs: row.level_fs.filter(|_| has_factors && algorithm != Algorithm::Classic),
        factor: row.factor.filter(|_| has_factors && is_user),
        is_default: known.is_some_and(|known| known.is_default),
        ..Association::default()
    }
}

/// Shares and usage only: factors have two places there, too few to tell anything by.
fn without_sshare(known: &Known) -> Association {
    Association {
        id: known.id,
        parent: 0,
        account: known.account.clone(),
        user: known.user.clone(),
        partition: known.partition.clone(),
        shares: known.shares,
        priority: known.priority,
        usage: known.usage,
        is_default: known.is_default,
        ..Association::default()
    }
}

/// Parents as slurmctld knows them, where it told.
fn parents(found: &mut [Association], known: &HashMap<u32, &Known>) {
    let accounts: HashMap<String, u32> =
        found.iter().filter(|row| row.user.is_empty()).map(|row| (row.account.clone(), row.id)).collect();
    let here: HashSet<u32> = found.iter().map(|row| row.id).collect();
    for row in found {
        let of_user = accounts.get(&row.account).copied().filter(|_| !row.user.is_empty());
        let told = known.get(&row.id).and_then(|known| known.parent);
        row.parent = of_user.or(told).unwrap_or(row.parent);
        if !here.contains(&row.parent) || row.parent == row.id {
            row.parent = 0;
        }
    }
}

/// Each after its parent; what is its own ancestor, or is there twice, is left out.
fn in_order(found: Vec<Association>) -> Vec<Association> {
    let mut below: HashMap<u32, Vec<usize>> = HashMap::new();
    for (at, row) in found.iter().enumerate() {
        below.entry(row.parent).or_default().push(at);
    }
    let mut open: Vec<usize> = below.remove(&0).unwrap_or_default();
    open.reverse();
    let mut rows: Vec<Option<Association>> = found.into_iter().map(Some).collect();
    let mut ordered = Vec::with_capacity(rows.len());
    while let Some(at) = open.pop() {
        let Some(row) = rows[at].take() else { continue };
        // Of two with one id only the first has something below it.
        open.extend(below.remove(&row.id).unwrap_or_default().into_iter().rev());
        ordered.push(row);
    }
    ordered
}
