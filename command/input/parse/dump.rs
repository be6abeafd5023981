//! A file of `sacctmgr dump`: the tree with its shares, before a change or after.

use multifactor2_snapshot::records::{Association, Qos};

use super::shares::PARENT;
use super::{number, whole, Unread};

/// The most levels that a tree can have.
const DEEPEST: usize = 1000;

/// The cluster, and its associations with numbers of their own, parents first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dump {
    /// `Cluster - 'name'`
    pub cluster: String,
    /// The root first.
    pub associations: Vec<Association>,
    /// QOS, which dumps of 26.05 have.
    pub qos: Vec<Qos>,
    /// What could not be read.
    pub unread: Unread,
}

/// Whether a text looks like such a file.
pub fn is_dump(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with("Cluster - '"))
}

/// All lines.
pub fn dump(text: &str) -> Dump {
    let mut dump = Dump::default();
    dump.associations.push(Association {
        id: 1,
        account: "root".to_owned(),
        shares: 1,
        ..Association::default()
    });
    let mut depths = vec![0];
    // The account that lines below are of: its place in the list.
    let mut above = Some(0);
    // Accounts by name, which the file has once each.
    let mut accounts = std::collections::HashMap::from([("root".to_owned(), 0)]);
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some((kind, name, rest)) = entry(line) else {
            dump.unread.note(number);
            continue;
        };
        match (kind, above) {
            ("QOS", _) => dump.qos.push(Qos {
                name,
                priority: value(rest, "Priority").and_then(|priority| whole(&priority)).unwrap_or(0),
                usage_factor: value(rest, "UsageFactor")
                    .and_then(|factor| self::number(&factor))
                    .unwrap_or(1.0),
                usage_threshold: value(rest, "UsageThreshold").and_then(|threshold| self::number(&threshold)),
                flags: value(rest, "Flags")
                    .map(|flags| flags.split(',').map(str::to_owned).collect())
                    .unwrap_or_default(),
                ..Qos::default()
            }),
            ("Cluster", _) => name.clone_into(&mut dump.cluster),
            ("Parent", _) => {
                above = accounts.get(&*name.to_lowercase()).copied();
                if above.is_none() {
                    dump.unread.note(number);
                }
            }
            ("Account" | "User", Some(parent)) if depths[parent] < DEEPEST => {
                let at = dump.associations.len();
                let is_user = kind == "User";
                let row = Association {
                    id: u32::try_from(at + 1).unwrap_or(u32::MAX),
                    parent: dump.associations[parent].id,
                    account: if is_user { dump.associations[parent].account.clone() } else { name.clone() },
                    user: if is_user { name.clone() } else { String::new() },
                    partition: value(rest, "Partition").unwrap_or_default(),
                    shares: value(rest, "Fairshare").map_or(1, |shares| shares_of(&shares)),
                    priority: value(rest, "Priority").and_then(|priority| whole(&priority)).unwrap_or(0),
                    ..Association::default()
                };
                if !is_user {
                    accounts.insert(name, at);
                }
                depths.push(depths[parent] + 1);
                dump.associations.push(row);
            }
            _ => dump.unread.note(number),
        }
    }
    let highest = dump.qos.iter().map(|qos| qos.priority).max().unwrap_or(0);
    for qos in dump.qos.iter_mut().filter(|_| highest > 0) {
        qos.priority_norm = f64::from(qos.priority) / f64::from(highest);
    }
    dump
}

fn shares_of(text: &str) -> u32 {
    if text.eq_ignore_ascii_case("parent") {
        PARENT
    } else {
        whole(text).unwrap_or(1)
    }
}

/// `Kind - 'name'` and what follows.
fn entry(line: &str) -> Option<(&str, String, &str)> {
    let (kind, rest) = line.split_once(" - '")?;
    let (name, rest) = rest.split_once('\'')?;
    Some((kind, name.to_owned(), rest))
}

/// The value of `:Name=value` or `:Name='value'`.
fn value(rest: &str, name: &str) -> Option<String> {
    let mut rest = rest;
    while let Some((_, after)) = rest.split_once(':') {
        let (key, value) = after.split_once('=')?;
        let (value, next) = match value.strip_prefix('\'') {
            Some(quoted) => quoted.split_once('\'')?,
            None => value.split_at(value.find(':').unwrap_or(value.len())),
        };
        if key.eq_ignore_ascii_case(name) {
            return Some(value.to_owned());
        }
        rest = next;
    }
    None
}
