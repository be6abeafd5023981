//! Which users, groups and so on the names in lines mean, and whether they exist.

use std::collections::HashMap;
use std::sync::Arc;

use super::lines::LineKind;
use super::Needs;
use crate::policy::pools::{Bearer, Named};
use crate::settings::{GrantKind, Place, Settings};

/// Names on one line.
#[derive(Clone, Debug)]
struct NamedLine {
    place: Place,
    setting: &'static str,
    /// What follows the setting.
    word: String,
    kind: LineKind,
    /// Without `*`.
    names: Vec<String>,
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub(super) struct NamedLines {
    lines: Arc<[NamedLine]>,
    /// The numbers of groups that are known, by name.
    groups: HashMap<String, u32>,
}

impl NamedLines {
    pub(super) fn of(settings: &Settings) -> Self {
        let mut lines = Vec::new();
        let mut add = |place: &Place, setting, word: String, kind: LineKind, names: &[String]| {
            let names = names.iter().filter(|name| *name != "*").cloned().collect();
            lines.push(NamedLine { place: place.clone(), setting, word, kind, names });
        };
        for line in &settings.components {
            let partitions = line.partitions.as_deref().unwrap_or_default();
            add(&line.place.0, "Component", line.component.to_string(), LineKind::Partition, partitions);
        }
        for line in &settings.credentials {
            add(&line.place.0, "Credential", line.kind.to_string(), line.kind.into(), &line.names);
        }
        for line in &settings.services {
            add(&line.place.0, "Service", line.kind.to_string(), line.kind.into(), &line.names);
        }
        for line in &settings.targets {
            add(&line.place.0, "Target", line.kind.to_string(), line.kind.into(), &line.names);
        }
        for line in &settings.grants {
            let (place, word) = (&line.place.0, || line.kind.to_string());
            let kind = match line.kind {
                GrantKind::Account => Some(LineKind::Parent),
                GrantKind::User => Some(LineKind::User),
                GrantKind::Group => Some(LineKind::Group),
                GrantKind::Qos => Some(LineKind::Qos),
                GrantKind::WcKey => None,
            };
            if let Some(kind) = kind {
                add(place, "Grant", word(), kind, &line.names);
            }
            if let Some(partitions) = &line.partitions {
                add(place, "Grant", word(), LineKind::Partition, partitions);
            }
        }
        Self { lines: lines.into(), groups: HashMap::new() }
    }

    /// The names of one kind.
    pub(super) fn of_kind(&self, kind: LineKind) -> impl Iterator<Item = &str> {
        self.lines
            .iter()
            .filter(move |line| line.kind == kind)
            .flat_map(|line| &line.names)
            .map(String::as_str)
    }

    /// Each group once.
    pub(super) fn groups(&self) -> impl Iterator<Item = &str> {
        let mut seen = std::collections::HashSet::new();
        self.of_kind(LineKind::Group).filter(move |name| seen.insert(*name))
    }

    /// Takes the numbers of groups.
    pub(super) fn learn_groups(&mut self, groups: &HashMap<String, u32>) {
        let number = |name: &str| groups.get(name).copied().or_else(|| name.parse().ok());
        self.groups = self.groups().filter_map(|name| Some((name.to_owned(), number(name)?))).collect();
    }

    /// The numbers of the groups that are known, in the order of the lines.
    pub(super) fn numbers(&self) -> impl Iterator<Item = (&str, u32)> {
        self.groups().filter_map(|name| Some((name, *self.groups.get(name)?)))
    }

    /// What all partitions need to know.
    pub(super) fn needs(&self, settings: &Settings) -> Needs {
        let has = |kind| self.lines.iter().any(|line| line.kind == kind && line.setting != "Component");
        let window = settings.target_usage == crate::settings::TargetUsage::Window;
        let by_window = |line: &crate::settings::Target| line.window.unwrap_or(window);
        let targets = &settings.targets;
        let of_all = || targets.iter().filter(|line| line.book.is_none());
        let ours = |line: &crate::settings::Target| {
            let kind = LineKind::from(line.kind);
            let metric = settings.target_metric.eq_ignore_ascii_case("billing");
            !metric || kind == LineKind::Group || kind == LineKind::Partition
        };
        let caps = targets.iter().any(|line| line.target_type == crate::settings::TargetType::Cap);
        let in_tree = of_all().any(|line| {
            LineKind::from(line.kind) == LineKind::Parent
                && line.target_type != crate::settings::TargetType::Cap
        });
        Needs {
            groups: has(LineKind::Group),
            qos: has(LineKind::Qos),
            targets: !targets.is_empty(),
            own_halflife: of_all().any(|line| !by_window(line) && ours(line))
                // Levels without a line go by the usage of the settings.
                || in_tree && !window && !settings.target_metric.eq_ignore_ascii_case("billing"),
            windows: of_all().any(by_window) || in_tree && window,
            capacity: targets.iter().any(|line| line.percentage().is_some_and(|(_, available)| available)),
            caps,
            limit: caps,
            stops: settings.caps_stop(),
            ..Needs::default()
        }
    }

    /// All of them; `has` tells whether there is a user or account of a name.
    pub(super) fn all<'s>(
        &'s self,
        has: impl Fn(LineKind, &str) -> bool + Copy + 's,
    ) -> impl Iterator<Item = Named<'s>> {
        self.lines.iter().flat_map(move |line| {
            line.names.iter().map(move |name| Named {
                place: &line.place,
                setting: line.setting,
                kind: line.word.clone(),
                name,
                of: match line.kind {
                    LineKind::User | LineKind::Account | LineKind::Parent => {
                        Bearer::Association(has(line.kind, name))
                    }
                    LineKind::Group => Bearer::Group(self.groups.contains_key(name)),
                    LineKind::Qos => Bearer::Qos,
                    LineKind::Partition => Bearer::Partition,
                },
            })
        })
    }
}
