//! How far a replay can be trusted: its past against the record, what it cannot judge, and what it did about each fact of the trace.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use slurm_text::limits::field;

use multifactor2_replay::measures::past::{Band, Groups, Past as OfReplay, Silence};
use multifactor2_replay::sim::Treatments;
use multifactor2_replay::trace::reasons::Treatment;
use multifactor2_replay::workload::{Fact, NO_TIME};
use multifactor2_replay::Workload;

use super::measures::MEAN_WAIT;
use super::{Measured, PastPolicy};
use crate::output::numbers::percent;

/// The policy that the cluster had, replayed, against the record. Times are in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Past {
    /// The policy.
    pub policy: String,
    /// Where that is known from; empty if it is assumed.
    pub source: String,
    /// Jobs with a recorded start that are counted.
    pub jobs: usize,
    /// Their mean wait as recorded.
    pub recorded: f64,
    /// How much longer it is in the replay.
    pub error: f64,
    /// The standard error of that over blocks of time; absent if there are too few.
    pub deviation: Option<f64>,
    /// Something decided the waits that the replay does not know.
    pub is_misfit: bool,
    /// Accounts, users, partitions and classes of size with such jobs.
    pub groups: Vec<PastGroup>,
    /// How much larger measures are in the replay than of the recorded starts.
    pub measures: Vec<Measured>,
    /// Blocks of time, by when jobs became eligible: a week each, or less where the trace is shorter than four.
    pub blocks: Vec<PastBlock>,
}

/// A group of jobs in the past.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PastGroup {
    /// `account`, `user`, `partition` or `size`.
    pub of: String,
    /// Its name.
    pub name: String,
    /// Its jobs.
    pub jobs: usize,
    /// Their CPU hours.
    pub cpu_hours: f64,
    /// Their mean wait as recorded.
    pub recorded: f64,
    /// How much longer it is in the replay.
    pub error: f64,
    /// The standard error of that; absent if there are too few blocks.
    pub deviation: Option<f64>,
}

/// A block of time in the past.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PastBlock {
    /// When it begins.
    pub begin: i64,
    /// Jobs that became eligible in it.
    pub jobs: usize,
    /// Their mean wait as recorded.
    pub recorded: f64,
    /// How much longer it is in the replay.
    pub error: f64,
}

/// A group of jobs without a verdict.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Unsaid {
    /// `account`, `user` or `partition`.
    pub of: String,
    /// Its name.
    pub name: String,
    /// Its jobs.
    pub jobs: usize,
    /// Their CPU hours.
    pub cpu_hours: f64,
    /// The reason in the accounting, where that is why.
    pub reason: Option<String>,
    /// Why, in words.
    pub why: String,
}

/// What decided the starts of jobs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FactRow {
    /// What.
    pub fact: String,
    /// The column or file that has it.
    pub source: String,
    /// Jobs concerned; absent if the trace does not have it.
    pub jobs: Option<usize>,
    /// Their CPU hours.
    pub cpu_hours: Option<f64>,
    /// `replayed`, `frozen as recorded`, `left out` or `not known`.
    pub treatment: String,
}

impl Past {
    /// How far a measure may be off because the replay is not the cluster; `None` if that is not known.
    pub fn error_of(&self, measure: &str) -> Option<f64> {
        if measure == MEAN_WAIT.name {
            return self.deviation.map(|deviation| self.error.abs() + 2.0 * deviation);
        }
        self.measures.iter().find(|error| error.measure == measure).map(|error| error.value.abs())
    }

    /// Of a comparison.
    pub fn new(policy: &PastPolicy, groups: &Groups, past: &OfReplay, measures: Vec<Measured>) -> Self {
        let Band { jobs, recorded, error, deviation, .. } = past.whole;
        let of_groups = groups.all.iter().zip(&past.groups).filter(|(_, band)| band.jobs > 0);
        Self {
            policy: policy.name.clone(),
            source: policy.source.clone(),
            jobs,
            recorded,
            error,
            deviation,
            is_misfit: past.whole.is_misfit(),
            measures,
            groups: of_groups
                .map(|(group, band)| PastGroup {
                    of: group.kind.name().to_owned(),
                    name: group.name.clone(),
                    jobs: band.jobs,
                    cpu_hours: band.cpu_seconds / 3600.0,
                    recorded: band.recorded,
                    error: band.error,
                    deviation: band.deviation,
                })
                .collect(),
            blocks: past
                .blocks
                .iter()
                .map(|block| PastBlock {
                    begin: block.begin,
                    jobs: block.jobs,
                    recorded: block.recorded,
                    error: block.error,
                })
                .collect(),
        }
    }
}

/// Of whom nothing is said, those with the most CPU hours first.
pub fn unsaid(workload: &Workload, groups: &Groups, past: &OfReplay) -> Vec<Unsaid> {
    let mut unsaid: Vec<Unsaid> = past
        .silences
        .iter()
        .map(|(at, silence)| {
            let (group, band) = (&groups.all[*at], &past.groups[*at]);
            let misfit = format!("its replayed past waits {} its record", against(band));
            let (reason, why) = match silence {
                Silence::LeftOut { reason, jobs, part } => (
                    Some(reason.clone()),
                    format!(
                        "{jobs} of its jobs last waited for {reason}; {} of its CPU hours waited for such reasons, which the \
                         replay leaves out",
                        percent(*part)
                    ),
                ),
                Silence::Outage { jobs } => (None, format!("{misfit}: an outage, which {jobs} of its jobs met")),
                Silence::NotKnown if !workload.has_events => {
                    (None, format!("{misfit}: the reason is not known, because the trace has no node events"))
                }
                Silence::NotKnown => (None, format!("{misfit}: the reason is not known")),
            };
            Unsaid {
                of: group.kind.name().to_owned(),
                name: group.name.clone(),
                jobs: band.jobs,
                cpu_hours: band.cpu_seconds / 3600.0,
                reason,
                why,
            }
        })
        .collect();
    unsaid.sort_by(|one, other| {
        (other.of == "partition", other.of == "account")
            .cmp(&(one.of == "partition", one.of == "account"))
            .then(other.cpu_hours.total_cmp(&one.cpu_hours))
            .then_with(|| one.name.cmp(&other.name))
    });
    unsaid
}

/// How a replayed wait compares with the recorded one, in words.
fn against(band: &Band) -> String {
    let part = band.error / band.recorded.max(1.0);
    if band.recorded < 1.0 || part > 2.0 {
        return "many times as long as".to_owned();
    }
    format!("{} {} than", percent(part.abs()), if part < 0.0 { "less" } else { "more" })
}

/// The largest number of reasons with separate rows.
const REASONS: usize = 12;

/// What decided the starts of jobs, and what became of it.
pub fn facts(workload: &Workload, treatments: &Treatments<'_>) -> Vec<FactRow> {
    let row = |fact: &str, source: &str, count: Option<(usize, f64)>, treatment: &str| FactRow {
        fact: fact.to_owned(),
        source: source.to_owned(),
        jobs: count.map(|(jobs, _)| jobs),
        cpu_hours: count.map(|(_, area)| area / 3600.0),
        treatment: treatment.to_owned(),
    };
    let mut rows = vec![row(
        "submissions, sizes, time limits, run times",
        "sacct",
        Some(sum(workload, |_| true)),
        Treatment::Replayed.text(),
    )];
    for fact in Fact::ALL {
        let count = workload.told.has(*fact).then(|| sum(workload, |at| workload.jobs[at].facts.has(*fact)));
        let treated = || treatments.fact(*fact).text();
        let treatment = if count.is_some() { treated() } else { "not known" };
        rows.push(row(fact.name(), fact.column(), count, treatment));
    }
    // By reason, those with the most jobs first: a limit may be known for some of them, and not for others.
    let mut reasons: BTreeMap<(u16, Treatment), (usize, f64)> = BTreeMap::new();
    for job in &workload.jobs {
        let count = reasons.entry((job.reason, treatments.reason(job))).or_default();
        #[allow(clippy::cast_precision_loss)] // CPU seconds
        let area = Workload::cpu_seconds(job) as f64;
        *count = (count.0 + 1, count.1 + area);
    }
    reasons.retain(|(reason, treatment), _| {
        *treatment != Treatment::Replayed || field(workload.reasons.name((*reason).into())).is_some()
    });
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, (jobs, _))| std::cmp::Reverse(*jobs));
    for ((reason, treatment), count) in reasons.into_iter().take(REASONS) {
        let name = workload.reasons.name(reason.into());
        rows.push(row(&format!("waits for {name}"), "Reason", Some(count), treatment.text()));
    }
    let has_starts = workload.jobs.iter().any(|job| job.start != NO_TIME);
    if has_starts && workload.reasons.len() < 2 {
        rows.push(row("why jobs waited", "Reason", None, "not known"));
    }
    let out = workload.has_events.then(|| sum(workload, |at| workload.meets_outage(&workload.jobs[at])));
    rows.push(row(
        "outages of a tenth of a partition, for an hour of a wait",
        "events.txt",
        out,
        if out.is_some() { treatments.outages().text() } else { "not known" },
    ));
    rows.push(row("jobs that were refused", "nowhere", None, "not known"));
    rows
}

#[allow(clippy::cast_precision_loss)] // CPU seconds
fn sum(workload: &Workload, counts: impl Fn(usize) -> bool) -> (usize, f64) {
    let jobs = workload.jobs.iter().enumerate().filter(|(at, _)| counts(*at));
    jobs.fold((0, 0.0), |(jobs, area), (_, job)| (jobs + 1, area + Workload::cpu_seconds(job) as f64))
}
