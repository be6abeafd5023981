//! The configuration that priorities are computed with, from a snapshot: parameters of slurm.conf, and our own settings.

use multifactor2_core::books::BookLines;
use multifactor2_core::evaluator::FactorConfig;
use multifactor2_core::policy::stock;
use multifactor2_core::settings::{Enforced, Errors, Settings};
use multifactor2_snapshot::Snapshot;
use slurm_text::Parameters;

use crate::algorithm::Algorithm;

/// Who may push whose jobs aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preemption {
    /// Nobody.
    Off,
    /// `PreemptType=preempt/partition_prio`
    PartitionPriority,
    /// `PreemptType=preempt/qos`
    Qos,
}

/// `bf_hetjob_prio` of `SchedulerParameters`: which priority all components of a heterogeneous job count with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HetPriority {
    /// The smallest.
    Min,
    /// The mean.
    Avg,
    /// The largest.
    Max,
}

/// What a snapshot says of slurm.conf and of our own settings.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)] // each is a flag of slurm.conf
pub struct Config {
    /// How priorities are computed.
    pub algorithm: Algorithm,
    /// What the factors of jobs are computed with.
    pub factors: FactorConfig,
    /// `PriorityFlags=INCR_ONLY`
    pub increase_only: bool,
    /// `PriorityFlags=NO_NORMAL_ASSOC`
    pub no_normal_assoc: bool,
    /// `PriorityFlags=CALCULATE_RUNNING`
    pub calculate_running: bool,
    /// The algorithm of `priority/multifactor`, where that is in force.
    pub stock: Option<stock::Algorithm>,
    /// `PriorityDecayHalfLife` in seconds; 0 for no decay.
    pub half_life: u32,
    /// `PriorityCalcPeriod` in seconds.
    pub calc_period: u32,
    /// `PreemptType`
    pub preemption: Preemption,
    /// `PreemptMode` has `PRIORITY`.
    pub preempts_by_priority: bool,
    /// `PreemptMode` has `WITHIN`.
    pub preempts_within: bool,
    /// `bf_hetjob_prio`
    pub het_priority: Option<HetPriority>,
    /// Our own settings; `None` if nobody could tell.
    pub settings: Option<Settings>,
    /// Partitions with usage of their own; none if the settings are not known.
    pub books: BookLines,
    /// What could not be read, one sentence each.
    pub notes: Vec<String>,
}

impl Config {
    /// Reads what a snapshot says.
    pub fn of(snapshot: &Snapshot) -> Self {
        let mut parameters = Parameters::new(|name: &str| snapshot.parameter(name));
        let mut notes = Vec::new();
        let release = release(snapshot);
        let dampening = u16::try_from(parameters.number("FairShareDampeningFactor")).unwrap_or(u16::MAX);
        let stock = stock::Algorithm::of(
            parameters.text("PriorityFlags").unwrap_or_default(),
            dampening.max(1),
            release,
        );
        let algorithm = Algorithm::of(snapshot);
        if snapshot.parameters.is_empty() && algorithm != Algorithm::Basic {
            notes.push(
                "The parameters of slurm.conf are not known, so the answer has only what Slurm itself shows."
                    .to_owned(),
            );
        }
        let preemption = match parameters.text("PreemptType") {
            Some("preempt/partition_prio") => Preemption::PartitionPriority,
            Some("preempt/qos") => Preemption::Qos,
            _ => Preemption::Off,
        };
        let settings = settings_of(snapshot, algorithm, &mut notes);
        Self {
            algorithm,
            factors: parameters.factors(release, tres_weights(snapshot)),
            stock: matches!(algorithm, Algorithm::FairTree | Algorithm::Classic).then_some(stock),
            increase_only: parameters.has_flag("INCR_ONLY"),
            no_normal_assoc: parameters.has_flag("NO_NORMAL_ASSOC"),
            calculate_running: parameters.has_flag("CALCULATE_RUNNING"),
            half_life: parameters.half_life(),
            calc_period: parameters.calc_period(),
            preemption,
            preempts_by_priority: parameters.has("PreemptMode", "PRIORITY"),
            preempts_within: parameters.has("PreemptMode", "WITHIN"),
            het_priority: het_priority(parameters.text("SchedulerParameters")),
            books: settings.as_ref().map(BookLines::of).unwrap_or_default(),
            settings,
            notes: [notes, parameters.problems].concat(),
        }
    }
}

/// The settings that a snapshot has, as they are written; `None` if it has none of ours.
pub fn written(snapshot: &Snapshot) -> Option<Result<Settings, Errors>> {
    let lines = snapshot.settings.as_ref().filter(|_| Algorithm::of(snapshot) == Algorithm::Multifactor2)?;
    let text: String = lines.iter().map(|setting| setting.line.replace('\n', " ") + "\n").collect();
    Some(Settings::parse(&text, "settings in force").map(|loaded| loaded.settings))
}

fn settings_of(snapshot: &Snapshot, algorithm: Algorithm, notes: &mut Vec<String>) -> Option<Settings> {
    if algorithm != Algorithm::Multifactor2 {
        return None;
    }
    let Some(written) = written(snapshot) else {
        notes.push(
            "The settings of multifactor2.conf are not known here, so FAIRSHARE and SITE are those that Slurm shows. Give the file \
             with --conf, or a snapshot of the plugin with --from."
                .to_owned(),
        );
        return None;
    };
    match written {
        Ok(settings) if is_untold(snapshot, &settings) => {
            notes.push(
                "Only the plugin knows the usage of share trees with Book lines, UsageMeasure=dominant or TreeUsage=window, so FAIRSHARE \
                 and SITE are those that Slurm shows. A snapshot of the plugin has it."
                    .to_owned(),
            );
            None
        }
        Ok(mut settings) => {
            let problems = enforced(snapshot).map(|enforced| settings.take_out_unenforced(enforced));
            notes.extend(problems.into_iter().flatten().map(|problem| format!("{problem}.")));
            Some(settings)
        }
        Err(errors) => {
            notes.push(format!(
                "The settings in force cannot be read ({errors}), so FAIRSHARE and SITE are those that Slurm shows. Use the command \
                 of the release that runs."
            ));
            None
        }
    }
}

/// What slurmctld enforces; `None` if nobody says.
pub fn enforced(snapshot: &Snapshot) -> Option<Enforced> {
    snapshot.parameter("AccountingStorageEnforce").map(Enforced::of_words)
}

/// Slurm's commands show raw usage only.
fn is_untold(snapshot: &Snapshot, settings: &Settings) -> bool {
    let needs = !settings.books.is_empty() || settings.counts_for_tree();
    needs
        && snapshot.about.source != "plugin"
        && !snapshot.associations.is_empty()
        && snapshot.associations.iter().all(|association| association.dominant.is_none())
}

fn tres_weights(snapshot: &Snapshot) -> Option<Vec<f64>> {
    let weights = || snapshot.tres.iter().map(|tres| tres.weight);
    weights().any(|weight| weight.is_some()).then(|| weights().map(Option::unwrap_or_default).collect())
}

/// Year and month of the release of slurmctld.
fn release(snapshot: &Snapshot) -> (u16, u16) {
    let mut parts = snapshot.about.release.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

fn het_priority(scheduler_parameters: Option<&str>) -> Option<HetPriority> {
    let value =
        scheduler_parameters?.split(',').find_map(|part| part.trim().strip_prefix("bf_hetjob_prio="))?;
    match value.to_ascii_lowercase().as_str() {
        "min" => Some(HetPriority::Min),
        "avg" => Some(HetPriority::Avg),
        "max" => Some(HetPriority::Max),
        _ => None,
    }
}
