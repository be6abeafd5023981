//! `multifactor2 metrics`: shares, usage, targets and queues for the textfile collector of Prometheus' `node_exporter`.
//!
//! Series are by account, for the users that were asked for, and for a limited number of targets. A series per job, or per user and
//! partition, is more than a Prometheus should keep. The file follows the collector's rules: it is named `*.prom` and replaced as a whole,
//! samples have no time, each name is described once, and no series appears twice, as the collector would reject the file. [`text`] writes
//! it.

mod targets;
mod text;
mod users;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use multifactor2_snapshot::records::{Association, Grant, Job};
use multifactor2_snapshot::Snapshot;
use schemars::JsonSchema;
use serde::Serialize;
use slurm_text::durations::{Grammar, Length};

use super::{About, Answer as _, Ask};
use crate::error::Error;
use crate::model::grants::is_beyond;
use crate::model::{Model, Options};
use crate::options::{OfCluster, Printed};
use crate::output::show::{printout, Show};
use crate::output::{Printout, Schema, Terminal};
use crate::progress::Progress;

pub use text::write;
pub use users::{Users, MOST_USERS};

/// How deep a tree may be: what goes on longer is a circle.
const DEEPEST: usize = 1000;

/// What the help says besides.
const HELP: &str = "\
The file is replaced atomically and has mode 0644. It has users and their targets only with --users. Run this every five \
minutes. The package has a Grafana dashboard and alerts.

Examples:
  multifactor2 metrics
  multifactor2 metrics --out multifactor2.prom
  multifactor2 metrics --users top=20
  multifactor2 metrics --targets 200";

/// Write shares, usage, targets and queues for the textfile collector of Prometheus node_exporter
#[derive(Clone, Debug, Default, clap::Args)]
#[command(after_help = HELP)]
#[group(skip)]
#[allow(clippy::doc_markdown)] // shown as help
pub struct Arguments {
    /// Output file NAME.prom in the directory of the textfile collector [default: standard output]
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub out: Option<PathBuf>,
    /// Users to include: names separated by commas, or top=N for the N with the largest usage
    #[arg(long, value_name = "NAMES|top=N")]
    pub users: Option<Users>,
    /// Include at most this many targets of each type, those farthest from their target first [default: 50]
    #[arg(long, value_name = "N", value_parser = targets::most)]
    pub targets: Option<usize>,
    #[command(flatten)]
    #[allow(missing_docs)] // it would be shown
    pub of: OfCluster,
}

impl Ask for Arguments {
    const ANSWERS: &'static str = "shares, usage, targets and queues for Prometheus ([monitoring.md](monitoring.md))";
    const EXAMPLE: &'static str = "multifactor2 metrics --out multifactor2.prom";

    fn schemas() -> Vec<Schema> {
        vec![MetricsAnswer::schema()]
    }

    fn ask(&self, terminal: Terminal) -> Result<Printout, Error> {
        let progress = Progress::begin();
        let snapshot = self.of.snapshot(&progress)?;
        let model = Model::of(&snapshot, Options::default());
        let metrics = of(&model, self);
        if let Some(path) = &self.out {
            write(&metrics, path)?;
            return Ok(Printout::default());
        }
        printout(&model, metrics, self.of.form, &Printed::default(), terminal)
    }
}

impl Show for MetricsAnswer {
    fn show(&self, _: &About, _: &Printed, _: Terminal) -> Result<String, Error> {
        Ok(self.to_string())
    }
}

/// All that is written.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MetricsAnswer {
    /// In the order in which they are written.
    pub metrics: Vec<Metric>,
}

impl super::Answer for MetricsAnswer {
    const NAME: &'static str = "metrics";
}

/// A metric: a gauge each. Usage decays, so it is no counter either.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// What it is, with its unit.
    pub help: &'static str,
    /// Its series.
    pub series: Vec<Series>,
}

/// A series of a metric.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Series {
    /// Names and values.
    pub labels: BTreeMap<&'static str, String>,
    /// Always finite.
    pub value: f64,
}

macro_rules! metrics {
    ($($name:ident: $help:literal,)+) => {
        /// Every metric that there can be, with its name without the prefix.
        const KNOWN: &[(&str, &str, &str)] =
            &[$((stringify!($name), concat!("multifactor2_", stringify!($name)), $help)),+];
    };
}

metrics! {
    info: "Cluster, release of Slurm, priority plugin and its version, and where the numbers come from; always 1.",
    calculated_timestamp_seconds: "When priorities were last calculated, or Slurm was asked.",
    is_partial: "1 if PrivateData hides something from the caller, else 0.",
    half_life_seconds: "PriorityDecayHalfLife; 0 for none.",
    weight: "PriorityWeight parameters, by factor.",
    waiting_jobs: "Waiting jobs, including held ones.",
    competing_jobs: "Waiting jobs that compete for the next nodes.",
    lowest_priority_jobs: "Competing jobs with priority 1, which have no order among them.",
    running_jobs: "Running jobs.",
    partition_waiting_jobs: "Waiting jobs by the partition that gives them their priority.",
    partition_oldest_wait_seconds: "The longest wait of a competing job since it began to gain age.",
    account_shares: "Raw shares of an account; none for Fairshare=parent.",
    account_shares_ratio: "Normalised shares of an account, from 0 to 1.",
    account_usage_ratio: "Normalised usage of an account, from 0 to 1.",
    account_usage_billing_seconds: "Decayed usage of an account and of all below it: billing times seconds.",
    account_level_fs: "Shares over usage of an account, as LevelFS of sshare.",
    account_tickets: "Tickets of an account in the last calculation.",
    account_waiting_jobs: "Waiting jobs of an account and of all below it.",
    account_competing_jobs: "Waiting jobs that compete, of an account and of all below it.",
    account_running_jobs: "Running jobs of an account and of all below it.",
    account_oldest_wait_seconds: "The longest wait of a competing job of an account and of all below it since it began to gain age.",
    account_highest_priority: "The highest priority of a waiting job of an account and of all below it.",
    grant_used_seconds: "Usage of a grant in this period: seconds of the unit.",
    grant_left_seconds: "What is left of it; negative if more was used.",
    grant_should_be_seconds: "Usage of the whole grant that is due by now.",
    grant_used_all_seconds: "Usage of the whole grant.",
    grant_is_beyond: "1 if jobs are beyond the grant, else 0.",
    grant_is_unknown: "1 if the usage of the grant is not known, else 0.",
    targets_are_unknown: "1 if the distances from targets are unknown or incomplete, else 0.",
    targets: "Targets, floors, ceilings and caps in force.",
    targets_missed: "Caps that are exceeded, floors with usage below them and ceilings with usage above them.",
    targets_omitted: "Targets without their own series.",
    targets_omitted_missed: "Missed targets without their own series.",
    target_ratio: "Value of a Target line: a part of the usage that the label 'of' names, from 0 to 1.",
    target_usage_ratio: "Usage, as a part of the same.",
    target_used_seconds: "Usage: seconds of TargetMetric.",
    target_allowed_seconds: "What a cap allows: seconds of TargetMetric.",
    target_left_seconds: "What is left of it; negative if more was used.",
    target_distance: "How far usage is below the target: percentage points, or with mode ratio parts of the target; negative above it.",
    target_points: "Points that jobs get from this target alone, unrounded; none if they depend on the job.",
    target_is_missed: "1 if usage is beyond the cap, below the floor or above the ceiling, else 0.",
    target_competing_jobs: "Competing jobs of the target's user, group, account, QOS or partition.",
    windows_are_unknown: "1 if the usage of each window is not known, else 0.",
    windows_begin_timestamp_seconds: "When the current window began.",
    windows_length_seconds: "TargetWindow.",
    windows_depth: "TargetDepth: how many windows count.",
    window_used_seconds: "Usage in all windows, each times its factor: seconds of TargetMetric.",
    window_usage_ratio: "The same, as a part of the usage that it is compared with.",
    window_current_used_seconds: "Usage in the current window: seconds of TargetMetric.",
    user_shares_ratio: "Normalised shares of a user in an account, from 0 to 1.",
    user_usage_ratio: "Normalised usage of a user in an account, from 0 to 1.",
    user_usage_billing_seconds: "Decayed usage of a user in an account: billing times seconds.",
    user_fair_share_ratio: "The fair-share factor of a user in an account, from 0 to 1.",
    user_waiting_jobs: "Waiting jobs of a user in an account.",
    user_running_jobs: "Running jobs of a user in an account.",
}

/// The names of all metrics.
pub fn names() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|(_, name, _)| *name)
}

type Labels = BTreeMap<&'static str, String>;

/// Series while they are collected: of each metric by its labels.
#[derive(Default)]
struct Collected(BTreeMap<&'static str, BTreeMap<Labels, f64>>);

impl Collected {
    /// Adds a number. Two of one series cannot be: the first stays.
    fn add(&mut self, metric: &'static str, labels: &[(&'static str, &str)], value: f64) {
        // An empty label is none.
        let labels = labels.iter().filter(|(_, value)| !value.is_empty());
        let labels = labels.map(|(name, value)| (*name, text::shown(value))).collect();
        if value.is_finite() {
            self.0.entry(metric).or_default().entry(labels).or_insert(value);
        }
    }
}

/// What jobs an association has, with all below it.
#[derive(Clone, Copy, Default)]
struct Jobs {
    waiting: u64,
    competing: u64,
    running: u64,
    oldest_wait: i64,
    highest: u32,
}

impl Jobs {
    fn with(self, other: Self) -> Self {
        Self {
            waiting: self.waiting + other.waiting,
            competing: self.competing + other.competing,
            running: self.running + other.running,
            oldest_wait: self.oldest_wait.max(other.oldest_wait),
            highest: self.highest.max(other.highest),
        }
    }

    /// The waiting tasks of a job array are one job, as in the calculation.
    fn of(job: &Job, now: i64) -> Self {
        let wait = if job.competes && job.accrue > 0 { now.saturating_sub(job.accrue).max(0) } else { 0 };
        Self {
            waiting: 1,
            competing: u64::from(job.competes),
            running: 0,
            oldest_wait: wait,
            highest: job.priority,
        }
    }
}

/// The metrics of a snapshot.
pub fn of(model: &Model<'_>, options: &Arguments) -> MetricsAnswer {
    let snapshot = model.snapshot;
    let mut collected = Collected::default();
    let about = &snapshot.about;
    let info = [
        ("cluster", about.cluster.as_str()),
        ("plugin_version", &about.plugin),
        ("priority_type", &about.priority_type),
        ("release", &about.release),
        ("source", &about.source),
    ];
    collected.add("info", &info, 1.0);
    let now = if about.time > 0 { about.time } else { about.taken };
    collected.add("calculated_timestamp_seconds", &[], float(now));
    collected.add("is_partial", &[], f64::from(u8::from(about.partial_tree || about.partial_queue)));
    parameters(snapshot, &mut collected);
    queue(snapshot, now, &mut collected);
    let users = Users::names(options.users.as_ref(), snapshot);
    associations(snapshot, now, &users, &mut collected);
    targets::add(model, &users, options.targets.unwrap_or(targets::USUAL), &mut collected);
    snapshot.grants.iter().for_each(|grant| of_grant(grant, &mut collected));
    let metrics = KNOWN.iter().filter_map(|(short, name, help)| {
        let series = collected.0.remove(short)?;
        let series = series.into_iter().map(|(labels, value)| Series { labels, value }).collect();
        Some(Metric { name, help, series })
    });
    MetricsAnswer { metrics: metrics.collect() }
}

fn parameters(snapshot: &Snapshot, collected: &mut Collected) {
    let half_life = snapshot.parameter("PriorityDecayHalfLife").and_then(|text| Grammar::Clock.read(text));
    if let Some(seconds) = half_life.and_then(Length::seconds).and_then(|seconds| i64::try_from(seconds).ok())
    {
        collected.add("half_life_seconds", &[], float(seconds));
    }
    for (name, value) in &snapshot.parameters {
        let factor = name.to_ascii_lowercase();
        let Some(factor) = factor.strip_prefix("priorityweight").filter(|factor| *factor != "tres") else {
            continue;
        };
        if let Ok(weight) = value.parse() {
            collected.add("weight", &[("factor", factor)], weight);
        }
    }
}

fn queue(snapshot: &Snapshot, now: i64, collected: &mut Collected) {
    let mut all = Jobs::default();
    let mut partitions = BTreeMap::<&str, Jobs>::new();
    for partition in &snapshot.partitions {
        partitions.entry(&partition.name).or_default();
    }
    let mut lowest = 0_u32;
    for job in &snapshot.jobs {
        let own = Jobs::of(job, now);
        all = all.with(own);
        let entry = partitions.entry(&job.partition).or_default();
        *entry = entry.with(own);
        lowest += u32::from(job.competes && job.priority == 1);
    }
    let running: u64 = snapshot.running.iter().map(|running| u64::from(running.count)).sum();
    collected.add("waiting_jobs", &[], count(all.waiting));
    collected.add("competing_jobs", &[], count(all.competing));
    collected.add("lowest_priority_jobs", &[], f64::from(lowest));
    collected.add("running_jobs", &[], count(running));
    for (partition, jobs) in partitions {
        collected.add("partition_waiting_jobs", &[("partition", partition)], count(jobs.waiting));
        collected.add("partition_oldest_wait_seconds", &[("partition", partition)], float(jobs.oldest_wait));
    }
}

fn associations(snapshot: &Snapshot, now: i64, users: &BTreeSet<&str>, collected: &mut Collected) {
    let by_id: HashMap<u32, usize> =
        snapshot.associations.iter().enumerate().map(|(at, association)| (association.id, at)).collect();
    let by_name: HashMap<(&str, &str), usize> = snapshot
        .associations
        .iter()
        .enumerate()
        .filter(|(_, association)| association.partition.is_empty())
        .map(|(at, association)| ((association.account.as_str(), association.user.as_str()), at))
        .collect();
    let mut own = vec![Jobs::default(); snapshot.associations.len()];
    for job in &snapshot.jobs {
        let names = [(job.account.as_str(), job.user.as_str()), (job.account.as_str(), "")];
        let at = by_id.get(&job.association).or_else(|| names.iter().find_map(|name| by_name.get(name)));
        if let Some(at) = at {
            own[*at] = own[*at].with(Jobs::of(job, now));
        }
    }
    for running in &snapshot.running {
        if let Some(at) = by_id.get(&running.association) {
            own[*at].running += u64::from(running.count);
        }
    }
    let mut below = own.clone();
    for (at, jobs) in own.iter().enumerate() {
        let parent = |at: usize| by_id.get(&snapshot.associations[at].parent).copied();
        let above = std::iter::successors(parent(at), |at| parent(*at)).take(DEEPEST);
        for above in above.take_while(|above| *above != at) {
            below[above] = below[above].with(*jobs);
        }
    }
    for (association, jobs) in snapshot.associations.iter().zip(&below) {
        if association.user.is_empty() {
            account(snapshot, &by_id, association, *jobs, collected);
        }
    }
    for (association, jobs) in snapshot.associations.iter().zip(&own) {
        if !association.user.is_empty() && users.contains(association.user.as_str()) {
            user(association, *jobs, collected);
        }
    }
}

fn account(
    snapshot: &Snapshot,
    by_id: &HashMap<u32, usize>,
    association: &Association,
    jobs: Jobs,
    collected: &mut Collected,
) {
    let parent = by_id.get(&association.parent).map_or("", |at| snapshot.associations[*at].account.as_str());
    let labels = [("account", association.account.as_str()), ("parent", parent)];
    let mut add = |metric, value| collected.add(metric, &labels, value);
    if association.shares != i32::MAX.unsigned_abs() {
        add("account_shares", f64::from(association.shares));
    }
    add("account_shares_ratio", association.shares_norm);
    add("account_usage_ratio", association.usage_norm);
    add("account_usage_billing_seconds", association.usage);
    for (metric, value) in
        [("account_level_fs", association.level_fs), ("account_tickets", association.tickets)]
    {
        if let Some(value) = value {
            add(metric, value);
        }
    }
    add("account_waiting_jobs", count(jobs.waiting));
    add("account_competing_jobs", count(jobs.competing));
    add("account_running_jobs", count(jobs.running));
    add("account_oldest_wait_seconds", float(jobs.oldest_wait));
    if jobs.waiting > 0 {
        add("account_highest_priority", f64::from(jobs.highest));
    }
}

/// Numbers of a grant only where they are known.
fn of_grant(grant: &Grant, collected: &mut Collected) {
    let partitions = grant.partitions.join(",");
    let labels = [
        ("kind", grant.kind.as_str()),
        ("name", grant.name.as_str()),
        ("partitions", partitions.as_str()),
        ("unit", grant.unit.as_str()),
    ];
    let mut add = |metric, value| collected.add(metric, &labels, value);
    let is_unknown = grant.state == "unknown";
    add("grant_is_unknown", f64::from(u8::from(is_unknown)));
    add("grant_is_beyond", f64::from(u8::from(is_beyond(grant))));
    if !is_unknown && grant.period > 0 {
        add("grant_used_seconds", grant.used);
        add("grant_left_seconds", grant.left);
        add("grant_should_be_seconds", grant.should_be);
        add("grant_used_all_seconds", grant.used_all);
    }
}

fn user(association: &Association, jobs: Jobs, collected: &mut Collected) {
    let labels = [
        ("account", association.account.as_str()),
        ("partition", &association.partition),
        ("user", &association.user),
    ];
    let mut add = |metric, value| collected.add(metric, &labels, value);
    add("user_shares_ratio", association.shares_norm);
    add("user_usage_ratio", association.usage_norm);
    add("user_usage_billing_seconds", association.usage);
    if let Some(factor) = association.factor {
        add("user_fair_share_ratio", factor);
    }
    add("user_waiting_jobs", count(jobs.waiting));
    add("user_running_jobs", count(jobs.running));
}

#[allow(clippy::cast_precision_loss)] // counts and times are far below 2^53
fn count(number: u64) -> f64 {
    number as f64
}

#[allow(clippy::cast_precision_loss)] // as above
fn float(number: i64) -> f64 {
    number as f64
}
