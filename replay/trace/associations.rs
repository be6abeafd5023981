//! Reads associations with their shares from `sacctmgr dump` or `sacctmgr -P show assoc`, and QOS from `sacctmgr -P show qos`.

use std::collections::HashMap;

use slurm_text::dump::{shares_of, Bad, DumpRow, MOST_ROWS};
use slurm_text::lines::excerpt;

use super::limits;
use super::problems::{ProblemKind, Problems};
use crate::workload::{ListedAssociation, Qos};

/// Reads either format; `file` stands for it in messages.
///
/// # Errors
/// It is neither.
pub fn parse(text: &str, file: &str, problems: &mut Problems) -> Result<Vec<ListedAssociation>, String> {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    let Some(first) = first else { return Err(format!("{file}: there are no associations in it")) };
    if first.contains('|') {
        table(text, file, problems)
    } else if first.contains(" - '") {
        Ok(dump(text, file, problems))
    } else {
        Err(format!(
            "{file}: the first line is neither of 'sacctmgr dump' nor of 'sacctmgr -P show assoc': {:?}",
            excerpt(first)
        ))
    }
}

/// `sacctmgr dump`. An association for one partition has no separate place in a replay.
fn dump(text: &str, file: &str, problems: &mut Problems) -> Vec<ListedAssociation> {
    let dump = slurm_text::dump::dump(text);
    for Bad { line, why, text } in &dump.bad {
        problems.note(ProblemKind::BadLine, file, *line as u64, || format!("{why}: {:?}", excerpt(text)));
    }
    let rows = dump.rows.into_iter().filter(|row| row.partition.is_empty());
    rows.map(|DumpRow { parent, account, user, shares, .. }| ListedAssociation {
        parent,
        account,
        user,
        shares,
    })
    .collect()
}

/// Lines of columns between bars, below their names. The parent is in a column, or else in the indentation that `tree` gives.
fn table(text: &str, file: &str, problems: &mut Problems) -> Result<Vec<ListedAssociation>, String> {
    let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let Some((_, header)) = lines.next() else { return Ok(Vec::new()) };
    let names: Vec<&str> = header.split('|').map(str::trim).collect();
    let column = |wanted: &[&str]| {
        names.iter().position(|name| wanted.iter().any(|wanted| name.eq_ignore_ascii_case(wanted)))
    };
    let (Some(account), Some(share)) =
        (column(&["Account"]), column(&["Share", "Shares", "Fairshare", "RawShares"]))
    else {
        return Err(format!(
            "{file}: there are no columns Account and Share, but {:?}: run sacctmgr -P show assoc format=Cluster,Account,User,Partition,Share,ParentName",
            excerpt(header)
        ));
    };
    let (user, parent) = (column(&["User"]), column(&["ParentName", "Par Name", "Parent"]));
    let (cluster, partition) = (column(&["Cluster"]), column(&["Partition"]));
    let mut listed = Vec::new();
    let mut first_cluster: Option<String> = None;
    // Accounts by their indentation.
    let mut above: HashMap<usize, String> = HashMap::new();
    for (number, line) in lines {
        let cells: Vec<&str> = line.split('|').collect();
        let cell = |column: Option<usize>| column.and_then(|at| cells.get(at)).map_or("", |cell| cell.trim());
        let bad = |problems: &mut Problems, why: &str| {
            problems.note(ProblemKind::BadLine, file, number, || format!("{why}: {:?}", excerpt(line)));
        };
        let name = cell(Some(account));
        if name.is_empty() || cells.len() <= share.max(account) {
            bad(problems, "too few columns, or no account");
            continue;
        }
        let of_cluster = cell(cluster);
        if first_cluster.get_or_insert_with(|| of_cluster.to_owned()) != of_cluster {
            bad(problems, "of another cluster");
            continue;
        }
        let Some(shares) = shares_of(cell(Some(share))) else {
            bad(problems, "Share is no number from 0 to 2147483647, nor parent");
            continue;
        };
        if listed.len() >= MOST_ROWS {
            bad(problems, "there are too many associations");
            break;
        }
        let indent = cells[account].len() - cells[account].trim_start().len();
        let user = cell(user);
        if !user.is_empty() {
            // An association for one partition has no place of its own in a replay.
            if cell(partition).is_empty() {
                listed.push(ListedAssociation {
                    parent: String::new(),
                    account: name.to_owned(),
                    user: user.to_owned(),
                    shares,
                });
            }
            continue;
        }
        let below = match parent {
            Some(_) => cell(parent).to_owned(),
            None => above.get(&indent.wrapping_sub(1)).cloned().unwrap_or_default(),
        };
        above.insert(indent, name.to_owned());
        if name != "root" {
            listed.push(ListedAssociation {
                parent: below,
                account: name.to_owned(),
                user: String::new(),
                shares,
            });
        }
    }
    Ok(listed)
}

/// The cell of a line below a name; empty if it is missing.
pub(super) fn cell<'t>(names: &[&str], cells: &[&'t str], wanted: &str) -> &'t str {
    let place = names.iter().position(|name| name.eq_ignore_ascii_case(wanted));
    place.and_then(|at| cells.get(at)).copied().unwrap_or_default()
}

/// Reads QOS: columns `Name`, `Priority` and `UsageFactor`, and those of limits.
pub fn qos(text: &str, file: &str, problems: &mut Problems) -> Vec<Qos> {
    let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let Some((_, header)) = lines.next() else { return Vec::new() };
    let names: Vec<&str> = header.split('|').map(str::trim).collect();
    let mut listed = Vec::new();
    for (number, line) in lines.take(crate::workload::MOST_QOS) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let cell = |wanted: &str| cell(&names, &cells, wanted);
        if cell("Name").is_empty() {
            problems.note(ProblemKind::BadLine, file, number, || {
                format!("no name of a QOS: {:?}", excerpt(line))
            });
            continue;
        }
        let factor =
            cell("UsageFactor").parse::<f64>().ok().filter(|factor| factor.is_finite() && *factor >= 0.0);
        listed.push(Qos {
            name: cell("Name").to_owned(),
            priority: cell("Priority").parse().unwrap_or_default(),
            usage_factor: factor.unwrap_or(1.0),
            limits: names
                .iter()
                .any(|name| name.eq_ignore_ascii_case("GrpJobs"))
                .then(|| limits::of_qos(cell)),
        });
    }
    listed
}
