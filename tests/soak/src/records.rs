//! What users have used, by the records of slurmdbd and by what slurmctld believes.

use std::collections::HashMap;

use anyhow::{Context, Result};
use slurm_testcluster::{parse_rows, Cluster};

/// CPU seconds that a user's jobs have used until now. Where slurmctld believes that a job still runs whose end the database
/// knows, the longer time counts: it is charged for that.
pub fn used(cluster: &Cluster, user: &str) -> Result<f64> {
    let mut seconds = believed_to_run(cluster, user)?;
    let mut by_job: HashMap<u32, f64> = HashMap::new();
    for job in sacct(cluster, user)? {
        *by_job.entry(job.id).or_default() += job.seconds;
    }
    for (id, recorded) in by_job {
        let longest = seconds.entry(id).or_default();
        *longest = longest.max(recorded);
    }
    Ok(seconds.values().sum())
}

/// Whether a job of the user runs, by the records.
pub fn runs(cluster: &Cluster, user: &str) -> Result<bool> {
    Ok(sacct(cluster, user)?.iter().any(|job| job.running))
}

/// Whether slurmctld believes that a job of the user runs. The records may have one that was forgotten by a kill and never
/// ends.
pub fn is_believed_to_run(cluster: &Cluster, user: &str) -> Result<bool> {
    Ok(!believed_to_run(cluster, user)?.is_empty())
}

/// CPU seconds by the records alone; `None` while one of them has no end.
pub fn recorded(cluster: &Cluster, user: &str) -> Result<Option<f64>> {
    let jobs = sacct(cluster, user)?;
    let open = jobs.is_empty() || jobs.iter().any(|job| !job.over);
    Ok((!open).then(|| jobs.iter().map(|job| job.seconds).sum()))
}

/// A job as the database knows it.
struct Used {
    id: u32,
    running: bool,
    over: bool,
    /// CPU seconds.
    seconds: f64,
}

fn sacct(cluster: &Cluster, user: &str) -> Result<Vec<Used>> {
    let text = cluster
        .command("sacct")
        .args(["-D", "-X", "-P", "-S", "now-1day", "-u", user, "-o", "jobid,state,end,elapsedraw,alloccpus"])
        .text()?;
    parse_rows(&text)
        .iter()
        .map(|row| {
            Ok(Used {
                id: row.text("JobID").parse()?,
                running: row.text("State") == "RUNNING",
                over: row.text("End") != "Unknown",
                seconds: row.number("ElapsedRaw")? * row.number("AllocCPUS")?,
            })
        })
        .collect()
}

/// CPU seconds of the jobs that slurmctld believes to run, by job; each has one CPU.
fn believed_to_run(cluster: &Cluster, user: &str) -> Result<HashMap<u32, f64>> {
    let text = cluster
        .command("squeue")
        .args(["-h", "-t", "running", "-u", user, "-o", "%A|%M"])
        .user(user)?
        .text()?;
    text.lines()
        .map(|line| {
            let (id, time) = line.split_once('|').context("squeue prints id and time")?;
            // [days-][hours:]minutes:seconds
            let seconds = time
                .split(['-', ':'])
                .rev()
                .zip([1.0, 60.0, 3600.0, 86_400.0])
                .try_fold(0.0, |sum, (part, unit)| {
                    Ok::<f64, anyhow::Error>(sum + part.parse::<f64>()? * unit)
                })?;
            Ok((id.trim().parse()?, seconds))
        })
        .collect()
}
