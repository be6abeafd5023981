//! The two tables that are known of Grid Engine's ticket policies, in a cluster: its accounts and settings, its jobs, and the tickets
//! that the plugin says they have.

use std::fs;

use anyhow::{ensure, Context, Result};
use multifactor2_fixtures::pools_model::schedule;
use multifactor2_fixtures::seed_tables::{
    self, for_the_model, printed, Found, JOBS, NO_PROJECT, PROJECT, SHARES, TABLES, USER,
};

use crate::{Account, Accounts, Builder, Cluster, Job, JobId, Row};

/// The file of the plugin's settings.
pub const FILE: &str = "multifactor2.conf";

/// A weight with which all digits of `sprio -n` are the factor's.
pub const WEIGHT: u32 = 1_000_000_000;

/// The tickets of a job, and what its factor is divided by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tickets {
    /// O
    pub overridden: f64,
    /// F
    pub functional: f64,
    /// S
    pub share_tree: f64,
    /// All of them.
    pub total: f64,
    /// The largest of all waiting jobs.
    pub max: f64,
}

/// The situation of the tables under a hierarchy. The first job has the number that it has there.
pub fn seed(builder: Builder, hierarchy: &str) -> Builder {
    let user = |account: &str| Account::new(account, 1).user(USER, SHARES);
    builder
        .accounts(&Accounts::new().account(user(NO_PROJECT)).account(user(PROJECT)))
        .file(FILE, &seed_tables::settings(hierarchy))
        .set("PriorityWeightFairshare", &WEIGHT.to_string())
        .set("DebugFlags", "Priority")
        .set("FirstJobId", &JOBS[0].0.to_string())
}

/// Submits the jobs of the tables, one after the other, with further arguments of sbatch.
///
/// # Errors
/// If sbatch refuses one.
pub fn submit_seed(cluster: &Cluster, arguments: &[&str]) -> Result<Vec<JobId>> {
    let submit = |(_, account): &(u32, &str)| {
        let job = arguments.iter().fold(Job::new(USER).account(account), |job, argument| job.arg(*argument));
        cluster.submit(&job)
    };
    JOBS.iter().map(submit).collect()
}

/// Gives the plugin other settings.
///
/// # Errors
/// If slurmctld does not take them.
pub fn change(cluster: &Cluster, settings: &str) -> Result<()> {
    fs::write(cluster.directory().join(FILE), settings)?;
    cluster.reconfigure()
}

/// What the plugin said last of the tickets of a job, under `DebugFlags=Priority`.
///
/// # Errors
/// If it said nothing, or something else.
pub fn tickets(cluster: &Cluster, job: JobId) -> Result<Tickets> {
    let begin = format!("PRIO: job {job}:");
    let log = cluster.log();
    let line = log.lines().rev().find(|line| line.contains(&begin));
    let line = line.with_context(|| format!("the log says nothing of job {job}"))?;
    let after = |text: &str| -> Result<f64> {
        let (_, rest) = line.split_once(text).with_context(|| format!("no '{text}' in '{line}'"))?;
        let number = rest.split([' ', ',', ';', ':']).next().unwrap_or_default();
        number.parse().with_context(|| format!("'{number}' after '{text}' in '{line}'"))
    };
    let total = after("tickets ")?;
    Ok(Tickets {
        overridden: after("override ")?,
        functional: after("functional ")?,
        share_tree: after("share tree ")?,
        total,
        max: after(&format!("tickets {total:.2} of "))?,
    })
}

/// What the plugin and `sprio` say of a job of the tables.
#[derive(Clone, Debug)]
pub struct Said {
    /// By the plugin.
    pub found: Found,
    /// By `sprio`.
    pub sprio: Row,
}

/// The jobs of the tables, in the order of their submission.
///
/// # Errors
/// If one is not known.
pub fn said(cluster: &Cluster, jobs: &[JobId]) -> Result<Vec<Said>> {
    ensure!(jobs.len() == JOBS.len(), "{} jobs instead of {}", jobs.len(), JOBS.len());
    let rows = cluster.sprio_rows()?;
    let of = |(job, (number, account)): (&JobId, &(u32, &'static str))| {
        let Tickets { overridden, functional, share_tree, .. } = tickets(cluster, *job)?;
        let row = rows.iter().find(|row| row.text("JOBID") == job.to_string());
        // Tickets of the job itself are among the override tickets.
        let found = Found { job: *number, account, own: 0.0, o: overridden, f: functional, s: share_tree };
        let sprio = row.with_context(|| format!("sprio does not show job {job}"))?.clone();
        Ok(Said { found, sprio })
    };
    jobs.iter().zip(&JOBS).map(of).collect()
}

/// The factors of the jobs of a table as the model has them, in the order of their submission.
pub fn expected(hierarchy: &str) -> Vec<f64> {
    let (config, tree, objects, jobs) = for_the_model(hierarchy);
    schedule(&config, &tree, &objects, &jobs).iter().map(|job| job.factor).collect()
}

/// Fails unless all cells of the table of a hierarchy are what the plugin says, and `sprio` has the factors that follow.
///
/// # Panics
/// If one differs, or something is not known.
#[track_caller]
pub fn assert_table(cluster: &Cluster, jobs: &[JobId], hierarchy: &str) {
    let said = said(cluster, jobs).unwrap();
    let table = TABLES.iter().find(|(of, _)| *of == hierarchy).expect("one of the tables").1;
    let found = printed(said.iter().map(|job| job.found).collect());
    assert_eq!(found, table.map(|row| row.map(str::to_owned)), "{hierarchy}");
    for (job, expected) in said.iter().zip(expected(hierarchy)) {
        let [factor, priority] = ["fairshare", "PRIORITY"].map(|column| job.sprio.number(column).unwrap());
        assert!((factor - expected).abs() <= 1e-6, "{hierarchy}: {job:?}, {expected} expected");
        let weighted = expected * f64::from(WEIGHT);
        assert!((priority - weighted).abs() <= 1.0, "{hierarchy}: {job:?}, {weighted} expected");
    }
}
