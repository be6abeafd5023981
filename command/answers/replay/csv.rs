//! Writes the tables of the answer as comma-separated values, one file each.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use multifactor2_replay::sim::NEVER;
use multifactor2_replay::workload::NO_TIME;
use multifactor2_replay::Workload;

use crate::answers::replay::answer::{measures, Policy, Replay, Run};
use crate::error::Error;
use crate::files;
use crate::output::escape::csv;
use crate::output::{Form, Table, Terminal};

/// Writes them to a directory, which is created if it does not exist.
///
/// # Errors
/// A file cannot be written.
pub fn write(answer: &Replay, directory: &Path) -> Result<(), Error> {
    fs::create_dir_all(directory).map_err(|error| Error::of_output(directory, &error))?;
    for (name, table) in [
        ("policies.csv", policies(answer)),
        ("accounts.csv", accounts(answer)),
        ("series.csv", series(answer)),
        ("fairness.csv", fairness(answer)),
        ("changes.csv", changes(answer)),
        ("runs.csv", runs(answer)),
        ("gaming.csv", gaming(answer)),
        ("fair_start.csv", fair_start(answer)),
        ("past.csv", past(answer)),
        ("facts.csv", facts(answer)),
        ("unsaid.csv", unsaid(answer)),
    ] {
        let text = table.show(Form::Csv, true, Terminal::PLAIN);
        files::write(&directory.join(name), text.as_bytes(), None)?;
    }
    Ok(())
}

/// Writes jobs.csv: each job as it was recorded, with its start and its priority there under each policy, so that anybody can check it with
/// sacct. Times are in seconds since 1970; what is not known, or has not happened, is empty.
///
/// # Errors
/// The file cannot be written.
pub fn jobs(directory: &Path, workload: &Workload, runs: &[Run]) -> Result<(), Error> {
    fs::create_dir_all(directory).map_err(|error| Error::of_output(directory, &error))?;
    files::write_with(&directory.join("jobs.csv"), None, |mut file| write_jobs(&mut file, workload, runs))
}

fn write_jobs(file: &mut impl Write, workload: &Workload, runs: &[Run]) -> io::Result<()> {
    write!(file, "job,user,account,partition,submit,eligible,recorded_start,reason,flags")?;
    for run in runs {
        write!(file, ",{},{}", csv(&format!("start {}", run.name)), csv(&format!("priority {}", run.name)))?;
    }
    writeln!(file)?;
    for (at, job) in workload.jobs.iter().enumerate() {
        let set = &workload.partition_sets[usize::from(job.partitions)];
        let partitions: Vec<&str> = set.iter().map(|name| workload.partitions.name(u32::from(*name))).collect();
        let start = |start: i64, none: i64| if start == none { String::new() } else { start.to_string() };
        write!(
            file,
            "{},{},{},{},{},{},{},{},{}",
            job.id,
            csv(workload.users.name(workload.user(job))),
            csv(workload.accounts.name(workload.account(job))),
            csv(&partitions.join(",")),
            job.submit,
            job.eligible,
            start(job.start, NO_TIME),
            csv(workload.reasons.name(u32::from(job.reason))),
            csv(workload.flags.name(u32::from(job.flags))),
        )?;
        for run in runs {
            let started = start(run.outcome.starts[at], NEVER);
            let priority = if started.is_empty() { String::new() } else { run.outcome.priorities[at].to_string() };
            write!(file, ",{started},{priority}")?;
        }
        writeln!(file)?;
    }
    Ok(())
}

fn policies(answer: &Replay) -> Table {
    let in_file = || measures::all().filter_map(|measure| Some((measure.csv?, measure)));
    let columns: Vec<&str> = ["policy"].into_iter().chain(in_file().map(|(column, _)| column)).collect();
    let mut table = Table::new(&columns);
    for policy in &answer.policies {
        let values = in_file().map(|(_, measure)| measure.value(policy).to_string());
        table.row([policy.name.clone()].into_iter().chain(values).collect());
    }
    table
}

fn accounts(answer: &Replay) -> Table {
    let mut table = Table::new(&[
        "policy",
        "account",
        "parent",
        "share",
        "entitled",
        "usage",
        "jobs",
        "wait_mean_s",
        "wait_p0_s",
        "wait_p5_s",
        "wait_p25_s",
        "wait_p50_s",
        "wait_p75_s",
        "wait_p95_s",
        "wait_p100_s",
        "normalised_wait",
        "lag_cpu_hours",
    ]);
    for Policy { name, accounts, .. } in &answer.policies {
        for account in accounts {
            let mut row = vec![name.clone(), account.name.clone(), account.parent.clone()];
            row.extend([account.share, account.entitled, account.usage].map(|part| part.to_string()));
            row.extend([account.jobs.to_string(), account.mean_wait.to_string()]);
            row.extend(account.wait_quantiles.map(|wait| wait.to_string()));
            row.push(account.normalised.to_string());
            row.push(account.lag.map_or_else(String::new, |lag| lag.to_string()));
            table.row(row);
        }
    }
    table
}

fn series(answer: &Replay) -> Table {
    let mut table = Table::new(&["policy", "begin", "account", "share", "usage"]);
    for Policy { name, series, .. } in &answer.policies {
        for account in &series.accounts {
            for (begin, usage) in series.begins.iter().zip(&account.usage) {
                table.row(vec![
                    name.clone(),
                    begin.to_string(),
                    account.name.clone(),
                    account.share.to_string(),
                    usage.to_string(),
                ]);
            }
        }
    }
    table
}

fn fairness(answer: &Replay) -> Table {
    let mut table = Table::new(&["policy", "begin", "contended", "share_error", "jain"]);
    for Policy { name, series, .. } in &answer.policies {
        for (at, begin) in series.begins.iter().enumerate() {
            table.row(vec![
                name.clone(),
                begin.to_string(),
                series.contended[at].to_string(),
                series.share_error[at].to_string(),
                series.jain[at].map_or_else(String::new, |jain| jain.to_string()),
            ]);
        }
    }
    table
}

fn changes(answer: &Replay) -> Table {
    let mut table = Table::new(&["from", "to", "of", "name", "jobs", "wait_before_s", "longer_s", "chance_s", "error_s", "told"]);
    for comparison in &answer.comparisons {
        for (of, changes) in [
            ("account", &comparison.accounts),
            ("user", &comparison.users),
            ("partition", &comparison.partitions),
        ] {
            for change in changes {
                table.row(vec![
                    comparison.from.clone(),
                    comparison.to.clone(),
                    of.to_owned(),
                    change.name.clone(),
                    change.jobs.to_string(),
                    change.before.to_string(),
                    change.longer.to_string(),
                    or_empty(change.chance),
                    or_empty(change.error),
                    change.is_told.to_string(),
                ]);
            }
        }
    }
    table
}

fn or_empty(number: Option<f64>) -> String {
    number.map_or_else(String::new, |number| number.to_string())
}

fn past(answer: &Replay) -> Table {
    let mut table = Table::new(&["of", "name", "jobs", "cpu_hours", "recorded_s", "error_s", "deviation_s"]);
    for group in answer.past.iter().flat_map(|past| &past.groups) {
        table.row(vec![
            group.of.clone(),
            group.name.clone(),
            group.jobs.to_string(),
            group.cpu_hours.to_string(),
            group.recorded.to_string(),
            group.error.to_string(),
            or_empty(group.deviation),
        ]);
    }
    for block in answer.past.iter().flat_map(|past| &past.blocks) {
        table.row(vec![
            "from".to_owned(),
            block.begin.to_string(),
            block.jobs.to_string(),
            String::new(),
            block.recorded.to_string(),
            block.error.to_string(),
            String::new(),
        ]);
    }
    table
}

fn facts(answer: &Replay) -> Table {
    let mut table = Table::new(&["fact", "source", "jobs", "cpu_hours", "here"]);
    for fact in &answer.facts {
        table.row(vec![
            fact.fact.clone(),
            fact.source.clone(),
            fact.jobs.map_or_else(String::new, |jobs| jobs.to_string()),
            or_empty(fact.cpu_hours),
            fact.treatment.clone(),
        ]);
    }
    table
}

fn unsaid(answer: &Replay) -> Table {
    let mut table = Table::new(&["of", "name", "jobs", "cpu_hours", "reason", "why"]);
    for unsaid in &answer.unsaid {
        table.row(vec![
            unsaid.of.clone(),
            unsaid.name.clone(),
            unsaid.jobs.to_string(),
            unsaid.cpu_hours.to_string(),
            unsaid.reason.clone().unwrap_or_default(),
            unsaid.why.clone(),
        ]);
    }
    table
}

fn runs(answer: &Replay) -> Table {
    let mut table = Table::new(&["policy", "measure", "runs", "mean", "deviation", "least", "most"]);
    for Policy { name, runs, .. } in &answer.policies {
        for run in runs {
            let mut row = vec![name.clone(), run.measure.clone(), run.runs.to_string()];
            row.extend([run.mean, run.deviation, run.least, run.most].map(|number| number.to_string()));
            table.row(row);
        }
    }
    table
}

fn fair_start(answer: &Replay) -> Table {
    let mut table = Table::new(&[
        "policy",
        "jobs",
        "later",
        "unfairness_mean_s",
        "unfairness_p95_s",
        "unfairness_worst_s",
    ]);
    for policy in &answer.policies {
        let Some(fair) = &policy.fair_start else { continue };
        let mut row = vec![policy.name.clone(), fair.jobs.to_string(), fair.later.to_string()];
        let of = fair.unfairness;
        row.extend([of.mean, of.p95, of.worst].map(|number| number.to_string()));
        table.row(row);
    }
    table
}

fn gaming(answer: &Replay) -> Table {
    let mut table =
        Table::new(&["user", "strategy", "policy", "gain", "honest", "deviation", "told", "by_entitlement", "both_waited_s"]);
    for row in &answer.gaming {
        table.row(vec![
            row.user.clone(),
            row.strategy.clone(),
            row.policy.clone(),
            or_empty(row.gain),
            or_empty(row.honest),
            or_empty(row.deviation),
            row.is_told.to_string(),
            or_empty(row.by_entitlement),
            row.seconds.to_string(),
        ]);
    }
    table
}
