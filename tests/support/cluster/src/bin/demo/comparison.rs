//! Documented numbers beside those that Slurm reports.

use slurm_testcluster::{Cluster, Result, Row};

use crate::example::{ACTIVE, NODES, ROOT_TICKETS};

/// Slurm prints six decimals; the documentation's own numbers are exact to as many.
const TOLERANCE: f64 = 1.1e-6;

/// Tickets are reckoned from two printed factors, and documented to four decimals.
const TICKET_TOLERANCE: f64 = 1e-3;

/// One documented number and the reported one; `None` where Slurm reports none.
struct Line {
    what: String,
    documented: f64,
    reported: Option<f64>,
    tolerance: f64,
}

impl Line {
    fn agrees(&self) -> bool {
        self.reported.is_some_and(|reported| (reported - self.documented).abs() <= self.tolerance)
    }
}

/// Prints the comparison; gives the number of lines that differ.
///
/// # Errors
/// If Slurm's tools fail.
pub fn print(cluster: &Cluster, weight: u32) -> Result<usize> {
    let shares = cluster.sshare_rows()?;
    let priorities = cluster.sprio_rows()?;
    let mut lines = associations(&shares);
    lines.extend(fairshares(&shares, &priorities, weight));

    println!("{:<44} {:>14} {:>14}", "", "documented", "Slurm reports");
    for line in &lines {
        let reported = line.reported.map_or_else(|| "nothing".to_owned(), |number| format!("{number:.6}"));
        let verdict = if line.agrees() { "OK" } else { "DIFFERS" };
        println!("{:<44} {:>14.6} {reported:>14}  {verdict}", line.what, line.documented);
    }
    Ok(lines.iter().filter(|line| !line.agrees()).count())
}

fn associations(shares: &[Row]) -> Vec<Line> {
    let mut lines = Vec::new();
    for (column, meaning, documented) in [
        ("NormShares", "S, normalised shares", (|node| node.shares) as fn(&crate::example::Node) -> f64),
        ("EffectvUsage", "effective usage", |node| node.effective_usage),
        ("LevelFS", "F, shares by usage", |node| node.factor),
    ] {
        for node in &NODES {
            let row = shares
                .iter()
                .find(|row| row.text("Account") == node.account && row.text("User") == node.user);
            lines.push(Line {
                what: format!("{:<6} {meaning} ({column})", node.name),
                documented: documented(node),
                reported: row.and_then(|row| row.number(column).ok()),
                tolerance: TOLERANCE,
            });
        }
    }
    lines
}

fn fairshares(shares: &[Row], priorities: &[Row], weight: u32) -> Vec<Line> {
    let in_job = |user: &str, column: &str| {
        priorities.iter().find(|row| row.text("USER") == user).and_then(|row| row.number(column).ok())
    };
    let all: Option<f64> = ACTIVE.iter().map(|active| in_job(active.user, "fairshare")).sum();
    let mut lines = Vec::new();
    for active in &ACTIVE {
        let mut line = |what: &str, documented, reported, tolerance| {
            lines.push(Line { what: format!("{:<6} {what}", active.user), documented, reported, tolerance });
        };
        let factor = in_job(active.user, "fairshare");
        let tickets = factor.zip(all).map(|(factor, all)| ROOT_TICKETS * factor / all);
        line("tickets of 1000 (from sprio -n)", active.tickets, tickets, TICKET_TOLERANCE);
        line("fair-share of the job (sprio -n)", active.fairshare, factor, TOLERANCE);
        let weighted = (active.fairshare * f64::from(weight)).round();
        line("FAIRSHARE of the job (sprio -l)", weighted, in_job(active.user, "FAIRSHARE"), 0.5);
        let row = shares
            .iter()
            .find(|row| row.text("Account") == active.account && row.text("User") == active.user);
        let shown = row.and_then(|row| row.number("FairShare").ok());
        line("FairShare (sshare)", active.fairshare, shown, TOLERANCE);
    }
    lines
}
