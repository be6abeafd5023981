//! The settings in force, and where each value came from.

use multifactor2_core::settings::schema::Absent;
use multifactor2_core::settings::SETTINGS;
use schemars::JsonSchema;
use serde::Serialize;

use super::Answer;
use crate::model::{Algorithm, Model};

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Settings {
    /// Parameters of slurm.conf that priorities and the queue go by.
    pub parameters: Vec<Row>,
    /// Our own settings; `None` where nobody could tell them, or another plugin is in force.
    pub settings: Option<Vec<Row>>,
}

/// A parameter or setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Where it was written: a file and a line, `slurm.conf`, `PriorityParameters`, or `default`.
    pub from: String,
}

impl Answer for Settings {
    const NAME: &'static str = "settings";
}

/// Parameters besides those that begin with `Priority`.
const OTHERS: [&str; 6] = [
    "AccountingStorageType",
    "FairShareDampeningFactor",
    "PreemptMode",
    "PreemptType",
    "PrivateData",
    "SchedulerParameters",
];

/// Answers it.
pub fn settings(model: &Model<'_>) -> Settings {
    let is_wanted = |name: &str| {
        name.to_ascii_lowercase().starts_with("priority")
            || OTHERS.iter().any(|other| other.eq_ignore_ascii_case(name))
    };
    let parameters = model.snapshot.parameters.iter().filter(|(name, _)| is_wanted(name));
    let parameters = parameters.map(|(name, value)| Row {
        name: name.clone(),
        value: value.clone(),
        from: "slurm.conf".to_owned(),
    });
    let settings =
        model.snapshot.settings.as_ref().filter(|_| model.config.algorithm == Algorithm::Multifactor2);
    let settings = settings.map(|written| {
        let mut rows: Vec<Row> = written
            .iter()
            .map(|setting| {
                let (name, value) = setting.line.split_once('=').unwrap_or((&setting.line, ""));
                Row { name: name.to_owned(), value: value.to_owned(), from: setting.from.clone() }
            })
            .collect();
        for setting in SETTINGS.iter().filter(|setting| setting.attributes.is_none()) {
            let is_written = rows.iter().any(|row| row.name.eq_ignore_ascii_case(setting.name));
            if let (false, Absent::Default(value)) = (is_written, setting.absent) {
                rows.push(Row {
                    name: setting.name.to_owned(),
                    value: value.to_owned(),
                    from: "default".to_owned(),
                });
            }
        }
        rows
    });
    Settings { parameters: parameters.collect(), settings }
}
