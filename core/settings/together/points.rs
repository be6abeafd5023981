//! Checks lines of points together.

use std::collections::HashMap;
use std::fmt::Display;

use super::{error, no_such_book};
use crate::policy::points::JobState;
use crate::settings::report::{Errors, Place};
use crate::settings::schema::{Entries, Entry};
use crate::settings::table::{
    Component, ComponentKind, CredentialKind, Curve, Service, ServiceKind, Settings, Target, TargetKind,
    TargetMode, TargetType, TargetUsage,
};

/// Finds lines that are wrong in themselves, or together with others.
pub(super) fn check(entries: &Entries, settings: &Settings, errors: &mut Errors) {
    components(entries, settings, errors);
    let mut names = Names::new(errors);
    for (entry, line) in entries.blocks("Credential").zip(&settings.credentials) {
        let is_exact =
            matches!(line.kind, CredentialKind::User | CredentialKind::Group | CredentialKind::Partition);
        names.take(entry, line.kind, "", is_exact, &line.names);
        if let Some(weight) = entry.attribute("ClassWeight").filter(|_| line.kind != CredentialKind::Group) {
            let allowed = "ClassWeight is allowed with Credential=Group only".into();
            names.errors.push(error(weight, weight.text(), allowed, "remove it, or write Credential=Group"));
        }
    }
    let mut names = Names::new(errors);
    for (entry, line) in entries.blocks("Service").zip(&settings.services) {
        names.take(entry, line.kind, "", line.kind == ServiceKind::Partition, &line.names);
        let growth = entry.attribute("TargetGrowth");
        if let Some(growth) = growth.filter(|_| line.curve == Curve::Maui) {
            let allowed = "TargetGrowth is allowed with Curve=bounded only".into();
            names.errors.push(error(growth, growth.text(), allowed, "remove it, or remove Curve=maui"));
        }
    }
    let mut names = Names::new(errors);
    for (entry, line) in entries.blocks("Target").zip(&settings.targets) {
        let cap = if line.target_type == TargetType::Cap { " Type=cap" } else { "" };
        let book =
            line.book.as_ref().map_or_else(String::new, |book| format!(" Book={}", book.to_lowercase()));
        let what = format!("{cap}{book}");
        let is_exact = matches!(line.kind, TargetKind::User | TargetKind::Group | TargetKind::Partition);
        names.take(entry, line.kind, &what, is_exact, &line.names);
        target(entry, line, settings, names.errors);
        in_book(entry, line, settings, names.errors);
    }
}

fn components(entries: &Entries, settings: &Settings, errors: &mut Errors) {
    let mut seen = HashMap::<(String, String), &Place>::new();
    for (entry, line) in entries.blocks("Component").zip(&settings.components) {
        if let Some(limit) = entry.attribute("XFMinLimit").filter(|_| line.component != ComponentKind::Serv) {
            let allowed = "XFMinLimit is allowed with Component=SERV only".into();
            errors.push(error(limit, limit.text(), allowed, "move it to a line with Component=SERV"));
        }
        component(entry, line, errors);
        let all = vec![String::new()];
        for partition in line.partitions.as_ref().unwrap_or(&all) {
            let Some(earlier) = seen.insert((line.component.to_string(), partition.clone()), &entry.place)
            else {
                continue;
            };
            let of =
                if partition.is_empty() { "all partitions".into() } else { format!("Partition={partition}") };
            let allowed = format!("a component can have one line for {of}, and {earlier} has one, too");
            errors.push(error(entry, entry.text(), allowed, "merge the two lines"));
        }
    }
}

/// Attributes that only some components have, or that exclude each other.
fn component(entry: &Entry, line: &Component, errors: &mut Errors) {
    for key in ["WaitingTime", "Deadline", "DeadlineIs"] {
        let Some(written) = entry.attribute(key) else { continue };
        if line.component != ComponentKind::Urgency || line.partitions.is_some() {
            let allowed = format!("{key} is allowed with Component=URGENCY and without Partition only");
            let advice =
                "move it to a line with Component=URGENCY and no Partition, because the urgency of all jobs \
                          is compared";
            errors.push(error(written, written.text(), allowed, advice));
        }
    }
    if let Some(states) = entry.attribute("States") {
        let is_state = |name: &str| JobState::ALL.iter().any(|(_, state)| state.eq_ignore_ascii_case(name));
        if line.component != ComponentKind::Attr {
            let allowed = "States is allowed with Component=ATTR only".into();
            errors.push(error(states, states.text(), allowed, "move it to a line with Component=ATTR"));
        } else if let Some((name, _)) = line.states.iter().flatten().find(|(name, _)| !is_state(name)) {
            let allowed = "must be one of the states PENDING, RUNNING and SUSPENDED".into();
            errors.push(error(states, name, allowed, "correct the name"));
        }
    }
    if let (Some(_), Some(percent)) = (entry.attribute("Weight"), entry.attribute("WeightPercent")) {
        let allowed = "a line can have Weight or WeightPercent, not both".into();
        errors.push(error(percent, percent.text(), allowed, "remove one of the two"));
    }
}

/// The names on lines of one key.
struct Names<'e> {
    errors: &'e mut Errors,
    seen: HashMap<(String, String), Place>,
}

impl<'e> Names<'e> {
    fn new(errors: &'e mut Errors) -> Self {
        Self { errors, seen: HashMap::new() }
    }

    /// Takes those of a line. Slurm keeps accounts and QOS in small letters, others as they are.
    fn take(&mut self, entry: &Entry, kind: impl Display, what: &str, is_exact: bool, names: &[String]) {
        let Some(written) = entry.attribute("Name") else { return };
        if names.len() > 1 && names.iter().any(|name| name == "*") {
            let allowed = "must be * alone, or names without it".into();
            self.errors.push(error(written, written.text(), allowed, "give * a separate line"));
            return;
        }
        let key = entry.setting.name;
        for name in names {
            let known = if is_exact { name.clone() } else { name.to_lowercase() };
            let place = written.place.clone();
            if let Some(earlier) = self.seen.insert((format!("{kind}{what}"), known), place) {
                let allowed = format!(
                    "only one line with {key}={kind}{what} can have this name, and {earlier} has it, too"
                );
                self.errors.push(error(written, name, allowed, "remove it from one of the two"));
            }
        }
    }
}

/// What a target says in itself.
fn target(entry: &Entry, line: &Target, settings: &Settings, errors: &mut Errors) {
    let is_cap = line.target_type == TargetType::Cap;
    match (entry.attribute("Percent"), entry.attribute("Amount")) {
        (None, None) => {
            let allowed = if is_cap { "Percent or Amount is missing" } else { "Percent is missing" };
            errors.push(error(entry, entry.text(), format!("{allowed} on the line"), "add Percent=..."));
        }
        (Some(_), Some(amount)) => {
            let allowed = "a line can have Percent or Amount, not both".into();
            errors.push(error(amount, amount.text(), allowed, "remove one of the two"));
        }
        (None, Some(amount)) if !is_cap => {
            let allowed = "Amount is allowed with Type=cap only".into();
            errors.push(error(amount, amount.text(), allowed, "write Percent=, or add Type=cap"));
        }
        _ => (),
    }
    if let Some(block) = entry.attribute("Block").filter(|_| line.block && !is_cap) {
        let allowed = "Block=yes is allowed with Type=cap only".into();
        errors.push(error(block, block.text(), allowed, "add Type=cap, or remove Block"));
    }
    let Some(written) = entry.attribute("Percent") else { return };
    let Some((percent, available)) = line.percentage() else { return };
    if available && settings.target_metric.eq_ignore_ascii_case("billing") {
        let allowed =
            "must be a plain number with TargetMetric=billing, because partitions bill differently".into();
        let advice = "remove %available, or set TargetMetric to a TRES such as cpu";
        errors.push(error(written, written.text(), allowed, advice));
    }
    if available && line.kind == TargetKind::Parent && !is_cap {
        let allowed = "must be a plain number with Target=Parent, which is compared with its siblings".into();
        errors.push(error(written, written.text(), allowed, "remove %available, or write Target=Account"));
    }
    if percent == 0.0 && line.mode == TargetMode::Ratio && !is_cap {
        let allowed = "must be more than 0 with Mode=ratio".into();
        errors.push(error(written, written.text(), allowed, "correct it, or remove Mode=ratio"));
    }
}

/// What a target in a book says.
fn in_book(entry: &Entry, line: &Target, settings: &Settings, errors: &mut Errors) {
    let (Some(book), Some(written)) = (&line.book, entry.attribute("Book")) else { return };
    no_such_book(written, settings, errors);
    let mut refuse = |allowed: &str, advice: &str| errors.push(error(written, book, allowed.into(), advice));
    if !matches!(line.kind, TargetKind::User | TargetKind::Account | TargetKind::Parent) {
        refuse(
            "Book is allowed with Target=User, Account and Parent only",
            "remove it: the usage of others is not kept by book",
        );
    }
    if line.window.unwrap_or(settings.target_usage == TargetUsage::Window) {
        refuse("the usage of a book is kept with half-life decay only", "set Window=no");
    }
    if line.percentage().is_some_and(|(_, available)| available) {
        refuse(
            "must be a plain number with Book, because what a book could have given is not counted",
            "remove %available",
        );
    }
    let metric = settings.target_metric.as_str();
    match settings.dominant_weights() {
        None if !metric.eq_ignore_ascii_case("billing") => {
            refuse(
                "the usage of a book is kept as billing",
                "set TargetMetric=billing, or UsageMeasure=dominant with the TRES in DominantTRES",
            );
        }
        Some(weights) if !weights.iter().any(|(tres, _)| tres.eq_ignore_ascii_case(metric)) => {
            refuse(
                "the usage of a book is kept by the TRES of DominantTRES",
                "set TargetMetric to one of them",
            );
        }
        _ => (),
    }
}

/// What works, but perhaps not as meant: the entry, and what to do.
pub(super) fn odd<'e>(entries: &'e Entries, settings: &Settings) -> Vec<(&'e Entry, String)> {
    let mut odd = Vec::new();
    let component = |kind| settings.components.iter().any(|line| line.component == kind);
    let first = |key: &'static str| entries.blocks(key).next();
    let mut lacks = |key: &'static str, kind: ComponentKind, wanted: bool| {
        if let Some(entry) = first(key).filter(|_| wanted && !component(kind)) {
            let advice =
                format!("has no effect without a Component={kind} line: add one with weights, or remove it");
            odd.push((entry, advice));
        }
    };
    lacks("Credential", ComponentKind::Cred, true);
    let distances = settings.targets.iter().any(|line| line.target_type != TargetType::Cap);
    lacks("Target", ComponentKind::Fs, distances);
    let service = |line: &Service| line.target_queue_time.is_some() || line.target_xfactor.is_some();
    lacks("Service", ComponentKind::Target, settings.services.iter().any(service));
    for (entry, line) in entries.blocks("Component").zip(&settings.components) {
        if let Some(swap) = entry.attribute("Swap").filter(|_| line.swap.weight != 0.0) {
            odd.push((swap, "has no effect: Slurm does not know the swap space of a job; remove it".into()));
        }
    }
    for (entry, line) in entries.blocks("Target").zip(&settings.targets) {
        if line.target_type == TargetType::Cap {
            for key in ["Weight", "Mode"] {
                if let Some(entry) = entry.attribute(key) {
                    odd.push((entry, "has no effect with Type=cap: remove it".into()));
                }
            }
        }
    }
    let windows = settings
        .targets
        .iter()
        .any(|line| line.window.unwrap_or(settings.target_usage == TargetUsage::Window));
    let tiers = settings.targets.iter().any(|line| line.kind == TargetKind::Parent);
    let mut useless = |keys: &[&'static str], advice: &str| {
        let by_default = |entry: &&Entry| entry.setting.default_value().as_ref() == Some(&entry.value);
        let written = keys.iter().filter_map(|key| entries.written(key));
        for entry in written.filter(|entry| !by_default(entry)) {
            odd.push((entry, advice.into()));
        }
    };
    if !windows {
        let advice = "has no effect because no target uses windows: remove it, or set TargetUsage=window";
        useless(&["TargetWindow", "TargetDepth", "TargetDecay"], advice);
    }
    if !tiers {
        useless(&["CapTiers", "TierMultiplier"], "has no effect without a Target=Parent line: remove it");
    }
    if settings.targets.is_empty() {
        useless(&["TargetUsage", "TargetMetric", "FSStep"], "has no effect without a Target line: remove it");
    }
    odd
}
