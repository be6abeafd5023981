//! The two tables of Grid Engine's ticket policies, from real jobs, with what `sprio` says of them.

use std::time::Instant;

use multifactor2_fixtures::seed_tables::{self, Row, COLUMNS, JOBS, TABLES, USER};
use slurm_testcluster::parity::OURS;
use slurm_testcluster::policies::{change, said, seed, submit_seed, Said};
use slurm_testcluster::{Cluster, JobId, Result};

use super::{leave, Options, Told};

/// sprio prints seven decimals; P has five.
const TOLERANCE: f64 = 1e-6;

/// Widths of the columns: [`COLUMNS`], then those of `sprio`.
const WIDTHS: [usize; 11] = [6, 7, 7, 7, 5, 5, 5, 5, 4, 10, 10];

/// Shows both tables; gives the number of rows that differ.
///
/// # Errors
/// If something fails.
pub fn run(options: &Options) -> Result<usize> {
    anyhow::ensure!(
        options.priority_type == OURS,
        "{} has no ticket policies; {OURS} has",
        options.priority_type
    );
    let told = Told(Instant::now());
    told.say(&format!("Starting a private cluster with PriorityType={}", options.priority_type));
    told.say(
        "  (database, slurmdbd, slurmctld; a user in two accounts, the second with 10 override tickets)",
    );
    let cluster = seed(options.builder()?, TABLES[0].0).start()?;
    told.say(&format!("Slurm {} runs in {}", cluster.release().version, cluster.directory().display()));
    let jobs = submit_seed(&cluster, &[])?;
    for (job, (_, account)) in jobs.iter().zip(JOBS) {
        told.say(&format!("Submitted job {job} of {USER} in account {account}"));
    }
    told.say("  (they stay pending, the partition is down)");
    let mut differing = 0;
    for (at, (hierarchy, table)) in TABLES.iter().enumerate() {
        let settings = seed_tables::settings(hierarchy);
        if at > 0 {
            told.say("Other settings, and scontrol reconfigure");
            change(&cluster, &settings)?;
        }
        told.say("multifactor2.conf");
        println!();
        settings.lines().for_each(|line| println!("    {line}"));
        println!();
        told.say("Waiting for a decay cycle");
        cluster.wait_cycle()?;
        told.say("The table as Grid Engine prints it, with the tickets of DebugFlags=Priority, and what sprio says");
        println!();
        differing += print(&cluster, &jobs, table)?;
        println!();
    }
    leave(cluster, &told)?;
    Ok(differing)
}

fn line(cells: impl IntoIterator<Item = String>) -> String {
    let cells = cells.into_iter().zip(WIDTHS);
    cells.map(|(cell, width)| format!("{cell:>width$}")).collect::<Vec<_>>().join("  ")
}

/// Prints a table; gives the number of rows that are not as in the seed.
fn print(cluster: &Cluster, jobs: &[JobId], table: &[Row; 9]) -> Result<usize> {
    let said = said(cluster, jobs)?;
    let tickets = |job: &Said| job.found.o + job.found.f + job.found.s;
    let max = said.iter().map(tickets).fold(0.0, f64::max);
    let head = COLUMNS.iter().copied().chain(["FAIRSHARE", "PRIORITY"]);
    println!("{}", line(head.map(str::to_owned)));
    let mut differing = 0;
    for (row, known) in seed_tables::printed(said.iter().map(|job| job.found).collect()).iter().zip(table) {
        let of_row = said.iter().find(|job| job.found.job.to_string() == row[0]);
        let (normalised, priority, expected) = match of_row {
            Some(job) => (job.sprio.text("fairshare"), job.sprio.text("PRIORITY"), tickets(job) / max),
            None => ("", "", 0.0),
        };
        let is_near = normalised.parse().is_ok_and(|found: f64| (found - expected).abs() <= TOLERANCE);
        let agrees = row.iter().zip(known).all(|(cell, known)| cell == known) && is_near;
        differing += usize::from(!agrees);
        let cells = row.iter().cloned().chain([normalised.to_owned(), priority.to_owned()]);
        println!("{}  {}", line(cells), if agrees { "OK" } else { "DIFFERS" });
    }
    Ok(differing)
}
