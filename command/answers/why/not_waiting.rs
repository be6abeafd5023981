//! Explains a job that does not wait: it runs, it has ended, or slurmctld does not know it.

use std::fmt::Write as _;

use super::{ReasonKind, Why};
use crate::error::Error;
use crate::input::parse::queue::Listed;
use crate::input::texts::Texts;
use crate::input::{commands, parse, Problem};
use crate::model::order::{PartialQueue, WholeQueue};
use crate::model::reasons;
use crate::model::Model;
use crate::output::numbers::time;

/// What squeue calls states, in short.
const ENDED: [(&str, &str); 11] = [
    ("BF", "its node failed to boot"),
    ("CA", "it was cancelled"),
    ("CD", "it completed"),
    ("DL", "it missed its deadline"),
    ("F", "it failed"),
    ("NF", "its node failed"),
    ("OOM", "it ran out of memory"),
    ("PR", "it was preempted"),
    ("RV", "another cluster runs it"),
    ("TO", "its time limit was reached"),
    ("LF", "its launch failed"),
];

/// The answer for a job that does not wait.
///
/// # Errors
/// Slurm did not tell of one, or was not asked.
pub(super) fn why(
    model: &Model<'_>,
    queue: &Result<WholeQueue, PartialQueue>,
    texts: Option<&Texts>,
    name: &str,
) -> Result<Why, Error> {
    let no_such_job = || crate::answers::queue::no_such_job(name);
    let texts = texts.ok_or_else(no_such_job)?;
    answered(model, texts)?;
    let (listed, _) = parse::queue::jobs(texts.text(commands::QUEUE), &texts.manifest);
    let Some(job) = listed.iter().find(|job| job.is_called(name)) else {
        let was_asked = texts.manifest.is_of_some_jobs();
        return Err(if was_asked { unknown(model, name).into() } else { no_such_job().into() });
    };
    let sentence = sentence(model, queue.as_ref().ok(), job, name);
    let kind = if is_running(job) { ReasonKind::Runs } else { ReasonKind::Ended };
    Ok(Why {
        job: name.to_owned(),
        id: job.id,
        user: job.user.clone(),
        account: job.account.clone(),
        kind,
        sentence,
        details: Vec::new(),
        reason: reasons::explain(&job.reason),
        limits: Vec::new(),
        caps: Vec::new(),
        grants: Vec::new(),
        places: Vec::new(),
        unknown: None,
        priority: job.priority,
        terms: Vec::new(),
        lacks: None,
        book: None,
        path: Vec::new(),
        fair_share: None,
        cost_of_own_usage: None,
        levers: Vec::new(),
        next: if kind == ReasonKind::Ended { vec![format!("See 'sacct -j {name}'.")] } else { Vec::new() },
        differences: Vec::new(),
    })
}

/// Whether squeue has said anything.
///
/// # Errors
/// It has not: why, and what to do.
pub(super) fn answered(model: &Model<'_>, texts: &Texts) -> Result<(), Error> {
    if model.snapshot.about.asked != 0 {
        // The snapshot of the plugin has the jobs.
        return Ok(());
    }
    let Some(why) = texts.manifest.failed.get(commands::QUEUE) else { return Ok(()) };
    Err(Problem::new(
        format!("squeue gave no answer ({why}), so nothing is known about the job"),
        "see 'scontrol ping' and 'sdiag', and try again later, perhaps with a longer --timeout",
    )
    .into())
}

fn is_running(job: &Listed) -> bool {
    matches!(job.state.as_str(), "R" | "S" | "CF" | "SO" | "CG" | "ST" | "SI")
}

fn sentence(model: &Model<'_>, queue: Option<&WholeQueue>, job: &Listed, name: &str) -> String {
    if !is_running(job) {
        let how = ENDED.iter().find(|(state, _)| *state == job.state).map_or_else(
            || format!("squeue says {}", job.state),
            |(_, how)| (*how).to_owned(),
        );
        return format!("Job {name} ended at {}: {how}.", time(job.end));
    }
    let verb = match job.state.as_str() {
        "S" | "ST" => "is suspended; it started at",
        "CG" => "is completing; it started at",
        "CF" => "has been configuring its nodes since",
        _ => "has been running since",
    };
    let partition = job.partitions.first().map_or("", String::as_str);
    let mut text =
        format!("Job {name} {verb} {} in partition {partition}, with priority {}.", time(job.start), job.priority);
    // Who waited then and is before it now; not who came later.
    if let Some(queue) = queue {
        let above = queue.slots.iter().filter(|slot| {
            let other = model.job_of(slot);
            model.partition_of(slot) == partition && slot.priority > job.priority && other.eligible <= job.start
        });
        let above = above.count();
        if above > 0 {
            let (jobs, wait, have) = if above == 1 { ("job", "waits", "has") } else { ("jobs", "wait", "have") };
            let _ = write!(
                text,
                " {above} {jobs} that waited in its partition when it started still {wait} and {have} a higher priority now: it \
                 was started in a gap, or their priority rose since."
            );
        }
    }
    text
}

fn unknown(model: &Model<'_>, name: &str) -> String {
    let hidden = if model.snapshot.is_private("jobs") { ", or PrivateData=jobs hides it from you" } else { "" };
    format!("slurmctld does not know job {name}{hidden}. It forgets ended jobs after MinJobAge: see 'sacct -j {name}'")
}
