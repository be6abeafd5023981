//! The measures of a policy. Each number is declared once; the tables, the page, the CSV file, jittered runs and definitions follow from
//! that.
//!
//! A new measure is a file here with its [`Measure`], and its line in `measures!`. What it needs from a replay beyond [`Policy`] it takes
//! from [`Seen`]. The JSON lists it in `others`.

use multifactor2_replay::measures::{Fairness, Summary};
use multifactor2_replay::sim::Outcome;
use multifactor2_replay::workload::Machine;
use multifactor2_replay::Workload;

use super::{Definition, Policy, Waits};
use crate::output::numbers::{number, percent, seconds, span};

/// Declares the files, in the order of the columns.
macro_rules! measures {
    ($($file:ident,)+) => {
        $(mod $file;)+

        const FILES: &[&[Measure]] = &[$($file::MEASURES,)+];
    };
}

measures! {
    waits,
    fairness,
    machine,
}

pub use fairness::{ACCOUNT_SHORTFALL, SHARE_ERROR};
pub use waits::MEAN_WAIT;

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Things.
    Count,
    /// Seconds.
    Seconds,
    /// Parts of a whole, shown as percent.
    Part,
    /// An index up to 1.
    Index,
    /// CPU hours.
    CpuHours,
    /// None.
    None,
}

impl Unit {
    /// For people.
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Count => format!("{value:.0}"),
            Self::Seconds => span(seconds(value)),
            Self::Part => percent(value),
            Self::Index => format!("{value:.3}"),
            Self::CpuHours => number(value.round()),
            Self::None => number(value),
        }
    }
}

/// What a measure is taken from.
#[derive(Clone, Copy, Debug)]
pub enum Of {
    /// Waits, which recorded jobs have as well.
    Waits(fn(&Waits) -> f64),
    /// What the answer has of the policy.
    Policy(fn(&Policy) -> f64),
    /// The replay itself.
    Replay(fn(&Seen<'_>) -> f64),
}

/// A replay as measures see it.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'s> {
    /// What was replayed.
    pub workload: &'s Workload,
    /// On what.
    pub machine: &'s Machine,
    /// What came of it.
    pub outcome: &'s Outcome,
    /// Waits of all, of users and of accounts.
    pub summary: &'s Summary,
    /// Shares and usage over time.
    pub fairness: &'s Fairness,
    /// Jobs that were submitted before are a warm-up, and do not count.
    pub since: i64,
}

/// Which of the two tables of a report has a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// That of waits and of the machine.
    Waits,
    /// That of shares.
    Shares,
}

/// A number of a policy.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// What it is called in definitions, and over jittered runs.
    pub name: &'static str,
    /// Its table in the report, and its heading there; `None` for none.
    pub text: Option<(Section, &'static str)>,
    /// Its heading on the page, and what that says of it.
    pub page: Option<(&'static str, &'static str)>,
    /// Its column in policies.csv.
    pub csv: Option<&'static str>,
    /// What it counts.
    pub unit: Unit,
    /// Where it is from.
    pub of: Of,
    /// Jittered runs tell how much of it is chance.
    pub over_runs: bool,
    /// What it means, and who describes it, where that is not said elsewhere.
    pub definition: Option<(&'static str, &'static str)>,
}

impl Measure {
    /// Shown nowhere by itself.
    const fn new(name: &'static str, unit: Unit, of: Of) -> Self {
        Self { name, text: None, page: None, csv: None, unit, of, over_runs: false, definition: None }
    }

    /// Of a policy.
    pub fn value(&self, policy: &Policy) -> f64 {
        match self.of {
            Of::Waits(of) => of(&policy.waits),
            Of::Policy(of) => of(policy),
            Of::Replay(_) => {
                let found = policy.others.iter().find(|other| other.measure == self.name);
                found.map_or(0.0, |other| other.value)
            }
        }
    }

    /// Of the waits that were recorded; `None` if these do not tell it.
    pub fn recorded(&self, waits: &Waits) -> Option<f64> {
        match self.of {
            Of::Waits(of) => Some(of(waits)),
            Of::Policy(_) | Of::Replay(_) => None,
        }
    }

    /// Of a policy, for people.
    pub fn show(&self, policy: &Policy) -> String {
        self.unit.show(self.value(policy))
    }

    /// The same of what was recorded.
    pub fn show_recorded(&self, waits: &Waits) -> String {
        self.recorded(waits).map_or_else(|| "-".to_owned(), |value| self.unit.show(value))
    }
}

/// All of them.
pub fn all() -> impl Iterator<Item = &'static Measure> {
    FILES.iter().copied().flatten()
}

/// Those that jittered runs are compared by.
pub fn over_runs() -> impl Iterator<Item = &'static Measure> {
    all().filter(|measure| measure.over_runs)
}

/// Those of a table in the report, with their headings.
pub fn in_text(section: Section) -> impl Iterator<Item = (&'static str, &'static Measure)> {
    let of = move |measure: &'static Measure| measure.text.filter(|(of, _)| *of == section).map(|(_, heading)| (heading, measure));
    all().filter_map(of)
}

/// What they mean.
pub fn definitions() -> impl Iterator<Item = Definition> {
    all().filter_map(|measure| {
        let (meaning, source) = measure.definition?;
        Some(Definition { measure: measure.name, meaning, source })
    })
}
