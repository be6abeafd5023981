//! The settings in force, and where each value came from.

use multifactor2_core::settings::schema::Absent;
use multifactor2_core::settings::SETTINGS;
use schemars::JsonSchema;
use serde::Serialize;

use super::{About, Answer, Ask};
use crate::error::Error;
use crate::model::{Algorithm, Model, Options};
use crate::options::{OfCluster, Printed};
use crate::output::show::{close, for_programs, printout, Show};
use crate::output::{Described, Form, Page, Printout, Schema, Table, Terminal};
use crate::progress::Progress;

/// Show parameters and settings in force, and where each value comes from
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  multifactor2 settings\n  multifactor2 settings -P -n")]
#[group(skip)]
#[allow(missing_docs, clippy::doc_markdown)] // shown as help
pub struct Arguments {
    #[command(flatten)]
    pub printed: Printed,
    #[command(flatten)]
    pub of: OfCluster,
}

impl Ask for Arguments {
    const ANSWERS: &'static str = "parameters and settings in force, and where each is written";
    const EXAMPLE: &'static str = "multifactor2 settings";
    const COLUMNS: &'static [&'static [Described]] = &[COLUMNS];

    fn schemas() -> Vec<Schema> {
        vec![Settings::schema()]
    }

    fn ask(&self, terminal: Terminal) -> Result<Printout, Error> {
        let progress = Progress::begin();
        let snapshot = self.of.snapshot(&progress)?;
        let model = Model::of(&snapshot, Options::default());
        printout(&model, settings(&model), self.of.form, &self.printed, terminal)
    }
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Settings {
    /// Parameters of slurm.conf that affect priorities and the queue.
    pub parameters: Vec<SettingRow>,
    /// Our own settings; `None` if unknown, or if another plugin is in force.
    pub settings: Option<Vec<SettingRow>>,
}

/// A parameter or setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SettingRow {
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
    let parameters = parameters.map(|(name, value)| SettingRow {
        name: name.clone(),
        value: value.clone(),
        from: "slurm.conf".to_owned(),
    });
    let settings =
        model.snapshot.settings.as_ref().filter(|_| model.config.algorithm == Algorithm::Multifactor2);
    let settings = settings.map(|written| {
        let mut rows: Vec<SettingRow> = written
            .iter()
            .map(|setting| {
                let (name, value) = setting.line.split_once('=').unwrap_or((&setting.line, ""));
                SettingRow { name: name.to_owned(), value: value.to_owned(), from: setting.from.clone() }
            })
            .collect();
        for setting in SETTINGS.iter().filter(|setting| setting.attributes.is_none()) {
            let is_written = rows.iter().any(|row| row.name.eq_ignore_ascii_case(setting.name));
            if let (false, Absent::Default(value)) = (is_written, setting.absent) {
                rows.push(SettingRow {
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

/// The columns of the table.
const COLUMNS: &[Described] = &[
    ("Name", "The setting, or the parameter of slurm.conf"),
    ("Value", "Its value in force"),
    ("From", "Where it was written: a file and a line, slurm.conf, PriorityParameters, SnapshotPublic, or default"),
];

impl Show for Settings {
    fn show(&self, about: &About, printed: &Printed, terminal: Terminal) -> Result<String, Error> {
        let mut table = Table::of(COLUMNS);
        for row in self.settings.iter().flatten().chain(&self.parameters) {
            table.row(vec![row.name.clone(), row.value.clone(), row.from.clone()]);
        }
        let (table, text) = for_programs(table, printed, terminal)?;
        if let Some(text) = text {
            return Ok(text);
        }
        let mut page = Page::new(terminal);
        page.headline("Parameters and settings in force on the controller, and where each is set.");
        page.ready("\n");
        page.ready(&table.show(Form::Columns, !printed.noheader, terminal));
        close(&mut page, about);
        Ok(page.finish())
    }
}
