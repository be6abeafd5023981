//! The configuration that priorities are computed with, as a snapshot has it: parameters of slurm.conf, and our own settings.

use multifactor2_core::books::BookLines;
use multifactor2_core::evaluator::FactorConfig;
use multifactor2_core::factors::{NodeCount, SizeOrder, SizePolicy, Weights};
use multifactor2_core::policy::stock;
use multifactor2_core::settings::value::{Kind, Value};
use multifactor2_core::settings::{Enforced, Settings, UsageMeasure};
use multifactor2_snapshot::Snapshot;

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

/// See the module.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)] // each is a flag of slurm.conf
pub struct Config {
    /// How priorities come about.
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
    /// Our own settings; `None` where nobody could tell.
    pub settings: Option<Settings>,
    /// Partitions with usage of their own; none where the settings are not known.
    pub books: BookLines,
    /// What could not be read, one sentence each.
    pub notes: Vec<String>,
}

/// Reads parameters; what is not there or not as it should be is noted.
struct Reader<'s> {
    snapshot: &'s Snapshot,
    notes: Vec<String>,
}

impl<'s> Reader<'s> {
    /// `None` also for what Slurm prints where there is none.
    fn text(&self, name: &str) -> Option<&'s str> {
        self.snapshot.parameter(name).map(str::trim).filter(|text| !matches!(*text, "" | "(null)" | "N/A"))
    }

    fn has(&self, name: &str, word: &str) -> bool {
        self.text(name).is_some_and(|text| text.split(',').any(|part| part.trim().eq_ignore_ascii_case(word)))
    }

    fn bad(&mut self, name: &str, text: &str) {
        self.notes.push(format!("{name}={text} cannot be read: it counts as if it were not set."));
    }

    fn number(&mut self, name: &str) -> u32 {
        let Some(text) = self.text(name) else { return 0 };
        text.parse().unwrap_or_else(|_| {
            self.bad(name, text);
            0
        })
    }

    fn seconds(&mut self, name: &str, default: u32) -> u32 {
        let Some(text) = self.text(name) else { return default };
        match Kind::Duration.read(text) {
            Some(Value::Duration(seconds)) => u32::try_from(seconds).unwrap_or(u32::MAX),
            _ if text.eq_ignore_ascii_case("UNLIMITED") || text.eq_ignore_ascii_case("INFINITE") => u32::MAX,
            _ => {
                self.bad(name, text);
                default
            }
        }
    }
}

const WEEK: u32 = 7 * 24 * 60 * 60;

impl Config {
    /// Reads what a snapshot says.
    pub fn of(snapshot: &Snapshot) -> Self {
        let mut reader = Reader { snapshot, notes: Vec::new() };
        let flag = |reader: &Reader<'_>, name| reader.has("PriorityFlags", name);
        let stock = stock_algorithm(&mut reader);
        let algorithm = Algorithm::of(snapshot);
        if snapshot.parameters.is_empty() && algorithm != Algorithm::Basic {
            reader.notes.push(
                "The parameters of slurm.conf are not known: only what Slurm itself shows can be told."
                    .to_owned(),
            );
        }
        let mut weights = Weights {
            age: reader.number("PriorityWeightAge"),
            assoc: reader.number("PriorityWeightAssoc"),
            fair_share: reader.number("PriorityWeightFairShare"),
            job_size: reader.number("PriorityWeightJobSize"),
            partition: reader.number("PriorityWeightPartition"),
            qos: reader.number("PriorityWeightQOS"),
        };
        // As slurmctld does without a database.
        let storage = reader.text("AccountingStorageType");
        if storage.is_some_and(|storage| !storage.to_ascii_lowercase().ends_with("slurmdbd")) {
            (weights.age, weights.fair_share) = (0, 0);
        }
        let preemption = match reader.text("PreemptType") {
            Some("preempt/partition_prio") => Preemption::PartitionPriority,
            Some("preempt/qos") => Preemption::Qos,
            _ => Preemption::Off,
        };
        let settings = settings_of(snapshot, algorithm, &mut reader.notes);
        Self {
            algorithm,
            factors: FactorConfig {
                weights,
                tres_weights: tres_weights(snapshot),
                max_age: reader.seconds("PriorityMaxAge", WEEK),
                size: size_policy(&reader),
                no_normal_part: flag(&reader, "NO_NORMAL_PART") || flag(&reader, "NO_NORMAL_ALL"),
                no_normal_qos: flag(&reader, "NO_NORMAL_QOS") || flag(&reader, "NO_NORMAL_ALL"),
                no_normal_tres: flag(&reader, "NO_NORMAL_TRES") || flag(&reader, "NO_NORMAL_ALL"),
            },
            stock: matches!(algorithm, Algorithm::FairTree | Algorithm::Classic).then_some(stock),
            increase_only: flag(&reader, "INCR_ONLY"),
            no_normal_assoc: flag(&reader, "NO_NORMAL_ASSOC") || flag(&reader, "NO_NORMAL_ALL"),
            calculate_running: flag(&reader, "CALCULATE_RUNNING"),
            half_life: reader.seconds("PriorityDecayHalfLife", WEEK),
            calc_period: reader.seconds("PriorityCalcPeriod", 300),
            preemption,
            preempts_by_priority: reader.has("PreemptMode", "PRIORITY"),
            preempts_within: reader.has("PreemptMode", "WITHIN"),
            het_priority: het_priority(&reader),
            books: settings.as_ref().map(BookLines::of).unwrap_or_default(),
            settings,
            notes: reader.notes,
        }
    }
}

fn settings_of(snapshot: &Snapshot, algorithm: Algorithm, notes: &mut Vec<String>) -> Option<Settings> {
    if algorithm != Algorithm::Multifactor2 {
        return None;
    }
    let Some(lines) = &snapshot.settings else {
        notes.push(
            "The settings of multifactor2.conf are not known here, so FAIRSHARE and SITE are those that Slurm shows. Give the file \
             with --conf, or a snapshot of the plugin with --from."
                .to_owned(),
        );
        return None;
    };
    let text: String = lines.iter().map(|setting| setting.line.replace('\n', " ") + "\n").collect();
    match Settings::parse(&text, "settings in force") {
        Ok(loaded) if is_untold(snapshot, &loaded.settings) => {
            notes.push(
                "What share trees go by with Book lines or UsageMeasure=dominant is known to the plugin alone, so FAIRSHARE and SITE are \
                 those that Slurm shows. A snapshot of the plugin has it."
                    .to_owned(),
            );
            None
        }
        Ok(loaded) => {
            let mut settings = loaded.settings;
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

/// What slurmctld enforces; `None` where nobody says.
pub fn enforced(snapshot: &Snapshot) -> Option<Enforced> {
    snapshot.parameter("AccountingStorageEnforce").map(Enforced::of_words)
}

/// Slurm's commands show raw usage only.
fn is_untold(snapshot: &Snapshot, settings: &Settings) -> bool {
    let needs = !settings.books.is_empty() || settings.usage_measure == UsageMeasure::Dominant;
    needs
        && snapshot.about.source != "plugin"
        && !snapshot.associations.is_empty()
        && snapshot.associations.iter().all(|association| association.dominant.is_none())
}

fn tres_weights(snapshot: &Snapshot) -> Option<Vec<f64>> {
    let weights = || snapshot.tres.iter().map(|tres| tres.weight);
    weights().any(|weight| weight.is_some()).then(|| weights().map(Option::unwrap_or_default).collect())
}

fn size_policy(reader: &Reader<'_>) -> SizePolicy {
    let favor_small = reader.has("PriorityFavorSmall", "yes");
    let order = match (reader.has("PriorityFlags", "SMALL_RELATIVE_TO_TIME"), favor_small) {
        (true, favor_small) => SizeOrder::RelativeToTime { favor_small },
        (false, true) => SizeOrder::Small,
        (false, false) => SizeOrder::Large,
    };
    // From 23.02 on active nodes count.
    SizePolicy {
        order,
        nodes: if release(reader.snapshot) < (23, 2) { NodeCount::Table } else { NodeCount::Active },
    }
}

/// Year and month of the release of slurmctld.
fn release(snapshot: &Snapshot) -> (u16, u16) {
    let mut parts = snapshot.about.release.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

fn stock_algorithm(reader: &mut Reader<'_>) -> stock::Algorithm {
    let dampening = u16::try_from(reader.number("FairShareDampeningFactor")).unwrap_or(u16::MAX);
    stock::Algorithm::of(
        reader.text("PriorityFlags").unwrap_or_default(),
        dampening.max(1),
        release(reader.snapshot),
    )
}

fn het_priority(reader: &Reader<'_>) -> Option<HetPriority> {
    let parameters = reader.text("SchedulerParameters")?;
    let value = parameters.split(',').find_map(|part| part.trim().strip_prefix("bf_hetjob_prio="))?;
    match value.to_ascii_lowercase().as_str() {
        "min" => Some(HetPriority::Min),
        "avg" => Some(HetPriority::Avg),
        "max" => Some(HetPriority::Max),
        _ => None,
    }
}
