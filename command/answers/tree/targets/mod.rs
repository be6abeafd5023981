//! `tree --targets` and `tree --windows`: how far usage is from the targets in force, measured as points measure it, and what was used in
//! each window that targets or the share tree use.
//!
//! All numbers come from the engine ([`Model::targets`]). Nothing is computed a second time here.

mod of_tree;
pub(super) mod page;
mod text;
pub mod windows;

use std::collections::HashSet;

use multifactor2_core::policy::points::{Listed, TargetStanding, Whose};
use multifactor2_core::rules::targets::{Cap, Measure};
use multifactor2_core::settings::TargetType;
use schemars::JsonSchema;
use serde::Serialize;

pub use self::text::{TARGETS, WINDOWS};
pub use self::windows::{Windows, WindowsRow};
use super::{wanted, Filter};
use crate::algorithm::Algorithm;
use crate::answers::{association_name, finite, Answer};
use crate::model::Model;

/// What is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Targets, floors, ceilings and caps.
    pub targets: bool,
    /// What was used in each window.
    pub windows: bool,
}

/// What is known of something that may be asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Known {
    /// It was not asked for.
    #[default]
    NotAsked,
    /// It is here.
    Known,
    /// There is none.
    None,
    /// It is unknown or incomplete.
    NotKnown,
}

/// The answer. Amounts are in hours of `metric`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Targets {
    /// `TargetMetric`: what usage is of.
    pub metric: String,
    /// `FSStep`: distances count in steps of this many percentage points; 0 for none.
    pub step: f64,
    /// Whether targets are known.
    pub targets_are: Known,
    /// Why there are none, or why they are not known.
    pub targets_because: Option<String>,
    /// Those of users, Unix groups, accounts, nodes of the tree, QOS and partitions. `None` if unknown or not asked for.
    pub targets: Option<Vec<TargetRow>>,
    /// Whether the usage of each window is known; `none` if no target uses windows.
    pub windows_are: Known,
    /// Why there are none, or why they are not known.
    pub windows_because: Option<String>,
    /// What was used in each window.
    pub windows: Option<Windows>,
    /// Whether the usage of each window of the share tree is known; `none` if it does not use windows.
    pub tree_windows_are: Known,
    /// Why there are none, or why they are not known.
    pub tree_windows_because: Option<String>,
    /// The usage of each window of the share tree, with `TreeUsage=window`: in hours of billing, of each association with all below it.
    pub tree_windows: Option<Windows>,
}

impl Answer for Targets {
    const NAME: &'static str = "targets";
}

/// The kind of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RowType {
    /// Points for those below it, and against those above it.
    Target,
    /// Points for those below it only.
    Floor,
    /// Points against those above it only.
    Ceiling,
    /// Jobs beyond it come last, or do not start.
    Cap,
    /// A target without a line: the part of the shares that an account or user has of its siblings.
    Share,
}

impl RowType {
    /// What tables call it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Target => "target",
            Self::Floor => "floor",
            Self::Ceiling => "ceiling",
            Self::Cap => "cap",
            Self::Share => "share",
        }
    }
}

/// What the percentage of a target refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Of {
    /// A percentage of all usage.
    All,
    /// A percentage of what the cluster could have delivered.
    Available,
    /// A percentage of what it and its siblings have used.
    Siblings,
    /// A percentage of what was used in the book.
    Book,
    /// Hours.
    Hours,
}

impl Of {
    /// What tables call it.
    pub fn word(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Available => "available",
            Self::Siblings => "siblings",
            Self::Book => "book",
            Self::Hours => "hours",
        }
    }
}

/// How a distance is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// In percentage points: target less usage.
    Difference,
    /// 1 less usage over target.
    Ratio,
}

/// One target of a user, group, account, QOS or partition.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TargetRow {
    /// `User`, `Group`, `Account`, `Parent`, `QOS` or `Partition`.
    pub kind: String,
    /// The name; of a Unix group that no line names the number; of a user in the tree with the account.
    pub name: String,
    /// The id of the association, with `Parent`.
    pub association: Option<u32>,
    /// The book whose usage counts; `None` for all usage.
    pub book: Option<String>,
    /// The kind of target.
    pub target_type: RowType,
    /// What the line says: a percentage, or hours.
    pub target: f64,
    /// Which of both.
    pub of: Of,
    /// How the distance is measured.
    pub mode: Mode,
    /// Usage is counted in windows, not by half-life.
    pub in_windows: bool,
    /// What was used.
    pub used: f64,
    /// What a percentage is of; with hours the usage of all.
    pub total: f64,
    /// The usage in percent of that; `None` if it is 0.
    pub percent: Option<f64>,
    /// How far the usage is below the target, as it counts: in whole steps with `FSStep`, times a `Weight` that is a factor, after `CapTiers`. `None` for a cap.
    pub distance: Option<f64>,
    /// The same before steps and `CapTiers`.
    pub exact: Option<f64>,
    /// The sum over the levels from the root to it, which is `FSParent` there, with `Parent` only.
    pub path: Option<f64>,
    /// What a cap allows, in hours; `None` for others, and where nothing was used that it could be a part of.
    pub allowed: Option<f64>,
    /// What it leaves, in hours; negative where more was used.
    pub left: Option<f64>,
    /// It is a cap, and all jobs that wait are beyond it.
    pub is_beyond: bool,
    /// Jobs beyond it do not start.
    pub stops: bool,
    /// The points that jobs have by this target alone, before they are rounded: with `Parent` by all levels down to it. `None` if they depend on the job.
    pub points: Option<f64>,
}

impl TargetRow {
    /// Whose it is, in words.
    pub fn whose(&self) -> String {
        let book = self.book.as_ref().map(|book| format!(", book {book}"));
        format!("{} {}{}", self.kind, self.name, book.unwrap_or_default())
    }
}

/// Why there is nothing to show.
#[derive(Clone, Debug)]
pub(super) enum Lack {
    /// There is none.
    None(String),
    /// It is not known.
    NotKnown(String),
}

impl Lack {
    fn known(self) -> (Known, Option<String>) {
        match self {
            Self::None(because) => (Known::None, Some(because)),
            Self::NotKnown(because) => (Known::NotKnown, Some(because)),
        }
    }
}

/// Answers it.
pub fn targets(model: &Model<'_>, filter: &Filter, asked: Asked) -> Targets {
    let settings = model.config.settings.as_ref();
    let mut answer = Targets {
        metric: settings.map_or_else(String::new, |settings| settings.target_metric.clone()),
        step: settings.map_or(0.0, |settings| finite(settings.fs_step)),
        targets_are: Known::NotAsked,
        targets_because: None,
        targets: None,
        windows_are: Known::NotAsked,
        windows_because: None,
        windows: None,
        tree_windows_are: Known::NotAsked,
        tree_windows_because: None,
        tree_windows: None,
    };
    let listed = listed(model, filter);
    if asked.targets {
        match &listed {
            Ok(listed) => {
                answer.targets_are = Known::Known;
                answer.targets = Some(listed.iter().map(|listed| row(model, listed)).collect());
            }
            Err(lack) => {
                (answer.targets_are, answer.targets_because) = lack.clone().known();
                answer.targets = (answer.targets_are == Known::None).then(Vec::new);
            }
        }
    }
    if asked.windows {
        match listed.and_then(|listed| windows::windows(model, &listed)) {
            Ok(windows) => (answer.windows_are, answer.windows) = (Known::Known, Some(windows)),
            Err(lack) => (answer.windows_are, answer.windows_because) = lack.known(),
        }
        match of_tree::windows(model, filter) {
            Ok(windows) => (answer.tree_windows_are, answer.tree_windows) = (Known::Known, Some(windows)),
            Err(lack) => (answer.tree_windows_are, answer.tree_windows_because) = lack.known(),
        }
    }
    answer
}

/// What those have that are asked for.
fn listed(model: &Model<'_>, filter: &Filter) -> Result<Vec<Listed>, Lack> {
    are_known(model)?;
    let shown = Shown::of(model, filter);
    let all = model.targets().unwrap_or_default();
    let listed: Vec<Listed> = all.into_iter().filter(|row| shown.has(&row.whose)).collect();
    if listed.is_empty() {
        return Err(Lack::None("The Target lines name none of those requested.".to_owned()));
    }
    Ok(listed)
}

/// Whether there are targets, and they are known.
fn are_known(model: &Model<'_>) -> Result<(), Lack> {
    let about = &model.snapshot.about;
    if model.config.algorithm != Algorithm::Multifactor2 {
        return Err(Lack::None("There are no targets: PriorityType is not priority/multifactor2.".to_owned()));
    }
    let unknown = |because: &str| Err(Lack::NotKnown(format!("Targets are not known{because}")));
    let Some(settings) = &model.config.settings else {
        return unknown(", because the settings are not.");
    };
    if settings.targets.is_empty() {
        return Err(Lack::None(
            "The settings have no targets. Target=User Name=* Percent=25 gives each user one, and Component=FS FSUser=1 gives points for it."
                .to_owned(),
        ));
    }
    if about.source != "plugin" {
        return unknown(
            ": only the plugin has the usage that they are compared with. Run this where its snapshot is readable, or use --from.",
        );
    }
    if model.at != about.time {
        return unknown(" for another time: some of their usage cannot be computed for it. Omit --at.");
    }
    if model.whole_tree().is_none() {
        return unknown(": some associations or jobs are missing here.");
    }
    Ok(())
}

/// Whom the question is about.
struct Shown {
    /// `None` for everybody.
    some: Option<HashSet<Whose>>,
}

impl Shown {
    fn of(model: &Model<'_>, filter: &Filter) -> Self {
        if *filter == Filter::default() {
            return Self { some: None };
        }
        let wanted = wanted(model, filter);
        let places = (0..wanted.len()).filter(|place| wanted[*place]);
        let whose = |place: usize| {
            let association = &model.snapshot.associations[place];
            let node = model.tree.node(place).map(Whose::Level);
            let name = if association.user.is_empty() {
                Whose::Account(association.account.to_ascii_lowercase())
            } else {
                Whose::User(association.user.clone())
            };
            [Some(name), node].into_iter().flatten()
        };
        Self { some: Some(places.flat_map(whose).collect()) }
    }

    fn has(&self, whose: &Whose) -> bool {
        self.some.as_ref().is_none_or(|some| some.contains(whose))
    }
}

/// Seconds times the metric as hours that JSON can hold; no zero with a sign.
fn hours(seconds: f64) -> f64 {
    finite(seconds / 3600.0) + 0.0
}

/// What somebody is called, and the id of the association.
fn name(model: &Model<'_>, whose: &Whose) -> (String, Option<u32>) {
    let snapshot = model.snapshot;
    match whose {
        Whose::User(name) | Whose::Account(name) | Whose::Partition(name) => (name.clone(), None),
        Whose::Group(gid) => {
            let known = snapshot.groups.iter().find(|group| group.id == *gid);
            (known.map_or_else(|| gid.to_string(), |group| group.name.clone()), None)
        }
        Whose::Qos(id) => {
            let known = snapshot.qos.iter().find(|qos| qos.id == *id);
            (known.map_or_else(|| id.to_string(), |qos| qos.name.clone()), None)
        }
        Whose::Level(node) => {
            let place = model.tree.association(*node);
            (association_name(model, place), Some(snapshot.associations[place].id))
        }
    }
}

/// What the target of a row says a part of, and the number.
fn of(listed: &Listed) -> (Of, f64) {
    match listed.target {
        Cap::Amount(hours) => (Of::Hours, hours),
        Cap::Available(percent) => (Of::Available, percent),
        Cap::Delivered(percent) if listed.is_of_level => (Of::Siblings, percent),
        Cap::Delivered(percent) if listed.book.is_some() => (Of::Book, percent),
        Cap::Delivered(percent) => (Of::All, percent),
    }
}

fn row(model: &Model<'_>, listed: &Listed) -> TargetRow {
    let (name, association) = name(model, &listed.whose);
    let (of, target) = of(listed);
    let number = |value: f64| finite(value) + 0.0;
    let mut row = TargetRow {
        kind: listed.kind.to_string(),
        name,
        association,
        book: listed.book.clone(),
        target_type: match listed.target_type {
            _ if !listed.has_line => RowType::Share,
            TargetType::Target => RowType::Target,
            TargetType::Floor => RowType::Floor,
            TargetType::Ceiling => RowType::Ceiling,
            TargetType::Cap => RowType::Cap,
        },
        target: finite(target),
        of,
        mode: match listed.measure {
            Measure::Difference => Mode::Difference,
            Measure::Ratio => Mode::Ratio,
        },
        in_windows: listed.in_windows,
        used: hours(listed.used),
        total: hours(listed.total),
        percent: listed.percent().map(number),
        distance: None,
        exact: None,
        path: None,
        allowed: None,
        left: None,
        is_beyond: false,
        stops: false,
        points: None,
    };
    match listed.standing {
        TargetStanding::Goal { distance, exact, path, points } => {
            (row.distance, row.exact) = (Some(number(distance)), Some(number(exact)));
            (row.path, row.points) = (path.map(number), points.map(number));
        }
        TargetStanding::Cap { allowed, is_beyond, stops, points } => {
            (row.allowed, row.left) = (allowed.map(hours), allowed.map(|allowed| hours(allowed - listed.used)));
            (row.is_beyond, row.stops, row.points) = (is_beyond, stops, points.map(number));
        }
    }
    row
}
