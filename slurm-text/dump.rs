//! Reads a file of `sacctmgr dump`: accounts, users and their shares, and in dumps of 26.05 QOS.

use std::collections::HashSet;

use multifactor2_core::USE_PARENT;

use crate::lines::{number, whole};

/// The most rows that are read.
pub const MOST_ROWS: usize = 2_000_000;

/// An account or a user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DumpRow {
    /// Its line, from 1.
    pub line: usize,
    /// The account above, `root` below the root. Of a user it is `account`.
    pub parent: String,
    /// The account; of a user the one that it is in.
    pub account: String,
    /// The user; empty for an account.
    pub user: String,
    /// Its partition; empty for all.
    pub partition: String,
    /// Raw shares; [`USE_PARENT`] for `parent`.
    pub shares: u32,
    /// `Priority`
    pub priority: u32,
}

/// A QOS.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Qos {
    /// Its name.
    pub name: String,
    /// `Priority`
    pub priority: u32,
    /// `UsageFactor`
    pub usage_factor: f64,
    /// `UsageThreshold`, where it is set.
    pub usage_threshold: Option<f64>,
    /// `Flags`
    pub flags: Vec<String>,
}

/// A line that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bad<'t> {
    /// Its number, from 1.
    pub line: usize,
    /// Why.
    pub why: &'static str,
    /// The line.
    pub text: &'t str,
}

/// What a file says of its first cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dump<'t> {
    /// `Cluster - 'name'`
    pub cluster: String,
    /// Accounts and users in the order of the file, in which parents come first. The root is not one of them.
    pub rows: Vec<DumpRow>,
    /// QOS.
    pub qos: Vec<Qos>,
    /// What was left out.
    pub bad: Vec<Bad<'t>>,
}

/// Whether a text looks like such a file.
pub fn is_dump(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with("Cluster - '"))
}

/// All lines.
pub fn dump(text: &str) -> Dump<'_> {
    let mut dump = Dump::default();
    // Accounts by name, which the file has once each; slurmdbd knows them in lower case.
    let mut accounts = HashSet::from(["root".to_owned()]);
    let mut parent = Some("root".to_owned());
    let mut clusters = 0;
    for (line, text) in (1..).zip(text.lines().map(str::trim)) {
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let mut bad = |why| dump.bad.push(Bad { line, why, text });
        let Some((kind, name, rest)) = entry(text) else {
            bad("no line of sacctmgr dump");
            continue;
        };
        match kind {
            "Cluster" if clusters > 0 => {
                bad("a second cluster: its associations and all that follow are left out");
                break;
            }
            "Cluster" => {
                clusters += 1;
                name.clone_into(&mut dump.cluster);
            }
            "QOS" => dump.qos.push(qos(name, rest)),
            "Parent" => {
                let name = name.to_lowercase();
                parent = accounts.contains(&name).then_some(name);
                if parent.is_none() {
                    bad("a parent that is not above in the file");
                }
            }
            "Account" | "User" if dump.rows.len() >= MOST_ROWS => {
                bad("there are too many associations");
                break;
            }
            "Account" | "User" => {
                let Some(parent) = &parent else {
                    bad("the account above it was left out");
                    continue;
                };
                let Some(shares) = shares(rest) else {
                    bad("Fairshare is no number from 0 to 2147483647, nor parent");
                    continue;
                };
                let mut row = DumpRow {
                    line,
                    parent: parent.clone(),
                    partition: value(rest, "Partition").unwrap_or_default().to_owned(),
                    shares,
                    priority: value(rest, "Priority").and_then(whole).unwrap_or(0),
                    ..DumpRow::default()
                };
                if kind == "User" {
                    (row.account, row.user) = (parent.clone(), name.to_owned());
                } else {
                    name.clone_into(&mut row.account);
                    accounts.insert(name.to_lowercase());
                }
                dump.rows.push(row);
            }
            _ => bad("neither Cluster, Parent, Account, User nor QOS"),
        }
    }
    dump
}

fn qos(name: &str, rest: &str) -> Qos {
    let flags = value(rest, "Flags").into_iter().flat_map(|flags| flags.split(','));
    Qos {
        name: name.to_owned(),
        priority: value(rest, "Priority").and_then(whole).unwrap_or(0),
        usage_factor: value(rest, "UsageFactor").and_then(number).unwrap_or(1.0),
        usage_threshold: value(rest, "UsageThreshold").and_then(number),
        flags: flags.map(str::to_owned).collect(),
    }
}

/// `Fairshare`, 1 where it is not given.
fn shares(rest: &str) -> Option<u32> {
    value(rest, "Fairshare").or_else(|| value(rest, "Shares")).map_or(Some(1), shares_of)
}

/// Raw shares as sacctmgr writes them.
pub fn shares_of(text: &str) -> Option<u32> {
    if text.trim().eq_ignore_ascii_case("parent") {
        return Some(USE_PARENT);
    }
    whole(text).filter(|shares| *shares <= USE_PARENT)
}

/// `Kind - 'name'` and what follows.
fn entry(line: &str) -> Option<(&str, &str, &str)> {
    let (kind, rest) = line.split_once(" - '")?;
    let (name, rest) = rest.split_once('\'')?;
    Some((kind.trim(), name, rest))
}

/// The value of `:Name=value` or `:Name='value'`.
fn value<'t>(rest: &'t str, name: &str) -> Option<&'t str> {
    let mut rest = rest;
    while let Some((_, after)) = rest.split_once(':') {
        let (key, value) = after.split_once('=')?;
        let (value, next) = match value.strip_prefix('\'') {
            Some(quoted) => quoted.split_once('\'')?,
            None => value.split_at(value.find(':').unwrap_or(value.len())),
        };
        if key.eq_ignore_ascii_case(name) {
            return Some(value);
        }
        rest = next;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# a comment\nQOS - 'normal':Priority=3:UsageFactor=0.5:Flags=DenyOnLimit,NoDecay\nCluster - 'c':Fairshare=1\nParent - 'root'\n\
        User - 'root':Fairshare=1\nAccount - 'a':Description='x:Fairshare=9':Fairshare=40\nParent - 'a'\nAccount - 'b':Shares=parent\n\
        User - 'u':Partition='p':Fairshare=7:Priority=2\nUser - 'v':Fairshare=-1\nParent - 'gone'\nUser - 'w'\nnonsense\nX - 'y'\nCluster - 'd'\nAccount - 'z'\n";

    #[test]
    fn rows_know_what_is_above() {
        let dump = dump(FILE);
        assert!(is_dump(FILE) && !is_dump("JobID|"));
        assert_eq!(dump.cluster, "c");
        let rows: Vec<_> = dump
            .rows
            .iter()
            .map(|row| (row.parent.as_str(), row.account.as_str(), row.user.as_str(), row.shares))
            .collect();
        assert_eq!(
            rows,
            [
                ("root", "root", "root", 1),
                ("root", "a", "", 40),
                ("a", "b", "", USE_PARENT),
                ("a", "a", "u", 7)
            ]
        );
        assert_eq!((dump.rows[3].partition.as_str(), dump.rows[3].priority, dump.rows[3].line), ("p", 2, 9));
        let [qos] = &dump.qos[..] else { panic!("{:?}", dump.qos) };
        assert_eq!(
            (qos.name.as_str(), qos.priority, qos.usage_factor, qos.flags.len()),
            ("normal", 3, 0.5, 2)
        );
        let bad: Vec<_> = dump.bad.iter().map(|bad| bad.line).collect();
        assert_eq!(bad, [10, 11, 12, 13, 14, 15]);
    }
}
