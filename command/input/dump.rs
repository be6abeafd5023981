//! Reads the tree in a file of `sacctmgr dump`, before or after a change, and nothing else.

use std::collections::HashMap;

use multifactor2_snapshot::records::{Association, Qos};
use multifactor2_snapshot::Snapshot;
use slurm_text::dump::{self, DumpRow};
use slurm_text::lines::Unread;

/// The most levels that a tree can have.
const DEEPEST: usize = 1000;

/// A snapshot that numbers the associations itself, parents first. Any text gives one.
pub fn snapshot(text: &str) -> Snapshot {
    let dump = dump::dump(text);
    let mut unread = Unread::default();
    let associations = associations(&dump.rows, &mut unread);
    dump.bad.iter().for_each(|bad| unread.note(bad.line));
    let mut snapshot = Snapshot { associations, qos: qos(dump.qos), ..Snapshot::default() };
    snapshot.about.cluster = dump.cluster;
    "files".clone_into(&mut snapshot.about.source);
    snapshot.about.lack_queue("not_asked", "a file of 'sacctmgr dump' has no jobs.");
    snapshot.about.hidden.push(
        "A file of 'sacctmgr dump' has accounts, users and shares only: usage, jobs, weights and the algorithm are unknown."
            .to_owned(),
    );
    snapshot.about.hidden.extend(unread.sentence("sacctmgr dump"));
    snapshot
}

/// The root first.
fn associations(rows: &[DumpRow], unread: &mut Unread) -> Vec<Association> {
    let root = Association { id: 1, account: "root".to_owned(), shares: 1, ..Association::default() };
    let mut associations = vec![root];
    // Ids and levels of accounts by name.
    let mut accounts = HashMap::from([("root".to_owned(), (1, 0))]);
    for row in rows {
        let Some((parent, depth)) = accounts.get(&row.parent).copied().filter(|(_, depth)| *depth < DEEPEST)
        else {
            unread.note(row.line);
            continue;
        };
        let id = u32::try_from(associations.len() + 1).unwrap_or(u32::MAX);
        if row.user.is_empty() {
            accounts.insert(row.account.to_lowercase(), (id, depth + 1));
        }
        associations.push(Association {
            id,
            parent,
            account: row.account.clone(),
            user: row.user.clone(),
            partition: row.partition.clone(),
            shares: row.shares,
            priority: row.priority,
            ..Association::default()
        });
    }
    associations
}

fn qos(rows: Vec<dump::Qos>) -> Vec<Qos> {
    let highest = rows.iter().map(|qos| qos.priority).max().unwrap_or(0);
    let norm = |priority| if highest > 0 { f64::from(priority) / f64::from(highest) } else { 0.0 };
    rows.into_iter()
        .map(|qos| Qos {
            name: qos.name,
            priority: qos.priority,
            priority_norm: norm(qos.priority),
            usage_factor: qos.usage_factor,
            usage_threshold: qos.usage_threshold,
            flags: qos.flags,
            ..Qos::default()
        })
        .collect()
}
