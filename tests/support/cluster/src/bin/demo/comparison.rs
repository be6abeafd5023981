//! Documented numbers next to those that Slurm reports.

use multifactor2_fixtures::example::{named, waiting, Association, NUMBERS, ROOT_TICKETS, TICKETS};
use slurm_testcluster::{Cluster, Result, Row};

/// Slurm prints six decimals; the documentation's own numbers are exact to as many.
const TOLERANCE: f64 = 1.1e-6;

/// Tickets are reckoned from two printed factors, and documented to four decimals.
const TICKET_TOLERANCE: f64 = 1e-3;

/// One documented number and the reported one; `None` where Slurm reports none.
struct ComparedNumber {
    what: String,
    documented: f64,
    reported: Option<f64>,
    tolerance: f64,
}

impl ComparedNumber {
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

fn associations(shares: &[Row]) -> Vec<ComparedNumber> {
    let mut lines = Vec::new();
    for (at, (column, meaning)) in [
        ("NormShares", "S, normalised shares"),
        ("EffectvUsage", "effective usage"),
        ("LevelFS", "F, shares by usage"),
    ]
    .into_iter()
    .enumerate()
    {
        for (name, s, _, u_eff, f) in NUMBERS {
            lines.push(ComparedNumber {
                what: format!("{name:<6} {meaning} ({column})"),
                documented: [s, u_eff, f][at],
                reported: share_of(shares, named(name)).and_then(|row| row.number(column).ok()),
                tolerance: TOLERANCE,
            });
        }
    }
    lines
}

/// The row of an association in what sshare prints.
fn share_of<'a>(shares: &'a [Row], of: &Association) -> Option<&'a Row> {
    shares.iter().find(|row| row.text("Account") == of.account && row.text("User") == of.user)
}

fn fairshares(shares: &[Row], priorities: &[Row], weight: u32) -> Vec<ComparedNumber> {
    let in_job = |user: &str, column: &str| {
        priorities.iter().find(|row| row.text("USER") == user).and_then(|row| row.number(column).ok())
    };
    let all: Option<f64> = waiting().map(|(user, _)| in_job(user.user, "fairshare")).sum();
    let mut lines = Vec::new();
    for (user, fairshare) in waiting() {
        let name = user.name;
        let mut line = |what: &str, documented, reported, tolerance| {
            lines.push(ComparedNumber { what: format!("{name:<6} {what}"), documented, reported, tolerance });
        };
        let factor = in_job(name, "fairshare");
        let shown = factor.zip(all).map(|(factor, all)| ROOT_TICKETS * factor / all);
        let (_, tickets) = TICKETS.into_iter().find(|row| row.0 == name).expect("who waits has tickets");
        line("tickets of 1000 (from sprio -n)", tickets, shown, TICKET_TOLERANCE);
        line("fair-share of the job (sprio -n)", fairshare, factor, TOLERANCE);
        let weighted = (fairshare * f64::from(weight)).round();
        line("FAIRSHARE of the job (sprio -l)", weighted, in_job(name, "FAIRSHARE"), 0.5);
        let shown = share_of(shares, user).and_then(|row| row.number("FairShare").ok());
        line("FairShare (sshare)", fairshare, shown, TOLERANCE);
    }
    lines
}
