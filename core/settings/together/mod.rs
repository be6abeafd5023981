//! Checks settings together: each is allowed alone, but a pair may not be, or one may cancel the effect of the other.

mod books;
mod charging;
mod grants;
mod points;

use std::collections::HashMap;

use super::advice::Grade;
use super::report::{Error, Errors, Place, Warning};
use super::schema::{Entries, Entry};
use super::table::{
    Dilution, DilutionUnit, Distribution, FunctionalKind, OverrideKind, Settings, SnapshotMode, TreeUsage,
    UsageMeasure,
};

/// Compares settings with each other. `entries` are those that `settings` were made from; they know the places.
pub(super) fn check_together(entries: &Entries, settings: &Settings) -> (Errors, Vec<Warning>) {
    let mut errors = Errors::default();
    pairs(entries, settings, &mut errors);
    overrides(entries, settings, &mut errors);
    functional(entries, settings, &mut errors);
    points::check(entries, settings, &mut errors);
    books::check(entries, settings, &mut errors);
    charging::check(entries, settings, &mut errors);
    grants::check(entries, settings, &mut errors);
    snapshot(entries, settings, &mut errors);
    errors.sort();
    (errors, odd(entries, settings))
}

/// A setting that is wrong because of another.
fn error(entry: &Entry, value: &str, allowed: String, advice: &str) -> Error {
    let (place, key) = (entry.place.clone(), entry.setting.name.into());
    Error { place, key, value: value.into(), allowed, advice: advice.into() }
}

/// A line names a book that there is not.
fn no_such_book(written: &Entry, settings: &Settings, errors: &mut Errors) {
    let book = written.text();
    if !settings.books.iter().any(|line| line.name.eq_ignore_ascii_case(book)) {
        let allowed = "no Book line has this name".into();
        errors.push(error(written, book, allowed, "add one, or correct the name"));
    }
}

/// Plain settings that do not go together.
fn pairs(entries: &Entries, settings: &Settings, errors: &mut Errors) {
    let distribution = || {
        let place = entries.written("Distribution").map(|entry| format!(" ({})", entry.place));
        format!("Distribution={}{}", settings.distribution, place.unwrap_or_default())
    };
    let mut refuse = |key: &str, allowed: String, advice: &str| {
        if let Some(entry) = entries.written(key) {
            errors.push(error(entry, entry.text(), allowed, advice));
        }
    };
    if settings.compensation_factor > 0.0 && settings.distribution != Distribution::Tickets {
        let allowed = format!("must be 0 with {}", distribution());
        refuse("CompensationFactor", allowed, "remove it, or set Distribution=tickets");
    }
    if settings.dilution == Dilution::Tree && settings.distribution == Distribution::Strict {
        let allowed = format!("must be none or user with {}", distribution());
        refuse("Dilution", allowed, "set Dilution=user, or another Distribution");
    }
    if settings.tree_usage == TreeUsage::Window {
        if settings.usage_measure == UsageMeasure::Dominant {
            refuse(
                "TreeUsage",
                "must be halflife with UsageMeasure=dominant".into(),
                "remove it, or set UsageMeasure=billing",
            );
        }
        if !settings.books.is_empty() {
            refuse("TreeUsage", "must be halflife with Book lines".into(), "remove it, or the Book lines");
        }
    }
    let weights = settings.functional_weight_user
        + settings.functional_weight_account
        + settings.functional_weight_department
        + settings.functional_weight_job;
    if settings.tickets_functional > 0 && weights <= 0.0 {
        let allowed =
            "must be 0 if FunctionalWeightUser, FunctionalWeightAccount, FunctionalWeightDepartment and \
                       FunctionalWeightJob are 0";
        refuse(
            "TicketsFunctional",
            allowed.into(),
            "set one of the four to more than 0, or set TicketsFunctional=0",
        );
    }
}

/// A group is named where it can read the snapshot, and nowhere else. What everybody may read is another file.
fn snapshot(entries: &Entries, settings: &Settings, errors: &mut Errors) {
    if let (Some(entry), Some(public)) = (entries.written("SnapshotPublic"), settings.public_file()) {
        if settings.snapshot_file() == Some(public) {
            let allowed = "must not be the file of Snapshot".into();
            errors.push(error(entry, entry.text(), allowed, "name another file"));
        }
    }
    let is_for_group = settings.snapshot_mode == SnapshotMode::Group;
    match (entries.written("SnapshotMode"), entries.written("SnapshotGroup"), settings.snapshot_readers()) {
        (Some(entry), _, None) if is_for_group => {
            let allowed = "must be 0600 or 0644 without SnapshotGroup".into();
            errors.push(error(
                entry,
                entry.text(),
                allowed,
                "set SnapshotGroup to the group that can read the file",
            ));
        }
        (_, Some(entry), Some(_)) if !is_for_group => {
            let allowed =
                format!("allowed with SnapshotMode=0640 only, but the mode is {}", settings.snapshot_mode);
            errors.push(error(
                entry,
                entry.text(),
                allowed,
                "set SnapshotMode=0640, or remove SnapshotGroup",
            ));
        }
        _ => (),
    }
}

/// What a line of override tickets says in itself.
fn overrides(entries: &Entries, settings: &Settings, errors: &mut Errors) {
    for (entry, line) in entries.blocks("Override").zip(&settings.overrides) {
        if let (Some(from), Some(until)) = (entry.attribute("From"), entry.attribute("Until")) {
            if line.from > line.until {
                let allowed = format!("must not be later than Until={}", until.text());
                errors.push(error(from, from.text(), allowed, "correct one of the two"));
            }
        }
        let Some(written) = entry.attribute("Name") else { continue };
        for name in &line.names {
            if name == "*" {
                let allowed = "Override takes names, not * for everybody";
                errors.push(error(written, name, allowed.into(), "write the names"));
            } else if line.kind == OverrideKind::Job && !is_job(name) {
                let allowed =
                    "with Override=Job a name must be the id of a job or of a task of a job array, such as \
                               123 or 123_4";
                errors.push(error(written, name, allowed.into(), ""));
            }
        }
    }
}

/// Whether a name is that of a job or of a task of a job array.
fn is_job(name: &str) -> bool {
    let number = |text: &str| {
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u32>().ok().filter(|_| digits)
    };
    let (job, task) = name.split_once('_').map_or((name, None), |(job, task)| (job, Some(task)));
    number(job).is_some_and(|job| job > 0) && task.is_none_or(|task| number(task).is_some())
}

/// Functional shares: of each object once.
fn functional(entries: &Entries, settings: &Settings, errors: &mut Errors) {
    let mut seen = HashMap::<(String, String), &Place>::new();
    for (entry, line) in entries.blocks("Functional").zip(&settings.functional) {
        let Some(written) = entry.attribute("Name") else { continue };
        if line.names.len() > 1 && line.names.iter().any(|name| name == "*") {
            let allowed = "must be * alone, or names without it".into();
            errors.push(error(written, written.text(), allowed, "give * a separate line"));
            continue;
        }
        for name in &line.names {
            // Slurm keeps accounts in small letters, users as they are.
            let known = match line.kind {
                FunctionalKind::User => name.clone(),
                FunctionalKind::Account | FunctionalKind::Department => name.to_lowercase(),
            };
            match seen.insert((line.kind.to_string(), known), &written.place) {
                None => (),
                Some(earlier) => {
                    let allowed = format!(
                        "only one line with Functional={} can have this name, and {earlier} has it, too",
                        line.kind
                    );
                    errors.push(error(written, name, allowed, "remove it from one of the two"));
                }
            }
        }
    }
}

/// What works, but perhaps not as meant.
fn odd(entries: &Entries, settings: &Settings) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn_as = |grade: Grade, entry: &Entry, advice: String| {
        let (place, key) = (entry.place.clone(), entry.setting.name.into());
        warnings.push(Warning { place, key, grade, advice });
    };
    let changed = |key: &'static str| {
        let by_default = |entry: &&Entry| entry.setting.default_value().as_ref() == Some(&entry.value);
        entries.written(key).filter(|entry| !by_default(entry))
    };
    let diluted = settings.dilution != Dilution::None;
    for key in ["DilutionExponent", "DilutionRunning"].iter().filter(|_| diluted) {
        if let Some(entry) = changed(key) {
            let advice = "usage settles on the shares only with DilutionExponent=1 and DilutionRunning=yes";
            warn_as(Grade::Unusual, entry, advice.into());
        }
    }
    let mut warn = |entry: &Entry, advice: String| warn_as(Grade::WithoutEffect, entry, advice);
    let useless = |cause: &str, cure: &str| format!("has no effect with {cause}: remove it, or set {cure}");
    if !diluted {
        for key in ["DilutionUnit", "DilutionQuantum", "DilutionExponent", "DilutionRunning", "DilutionCap"] {
            if let Some(entry) = changed(key) {
                warn(entry, useless("Dilution=none", "Dilution=user or tree"));
            }
        }
    } else if settings.dilution_unit != DilutionUnit::Committed {
        if let Some(entry) = changed("DilutionCap") {
            let cause = format!("DilutionUnit={}", settings.dilution_unit);
            warn(entry, useless(&cause, "DilutionUnit=committed"));
        }
    }
    if settings.usage_measure == UsageMeasure::Billing {
        if let Some(entry) = changed("DominantTRES") {
            warn(entry, useless("UsageMeasure=billing", "UsageMeasure=dominant"));
        }
    }
    if settings.tree_usage == TreeUsage::HalfLife {
        for entry in ["TreeWindow", "TreeDepth", "TreeDecay"].into_iter().filter_map(changed) {
            warn(entry, useless("TreeUsage=halflife", "TreeUsage=window"));
        }
    }
    if settings.tickets_functional == 0 {
        let plain = [
            "MaxFunctionalJobs",
            "ShareFunctionalShares",
            "FunctionalWeightUser",
            "FunctionalWeightAccount",
            "FunctionalWeightDepartment",
            "FunctionalWeightJob",
        ];
        // Of the lines the first stands for all.
        let lines = entries.blocks("Functional").take(1);
        for entry in plain.into_iter().filter_map(changed).chain(lines) {
            warn(entry, useless("TicketsFunctional=0", "TicketsFunctional to more than 0"));
        }
    }
    let odd = [points::odd, charging::odd, grants::odd].map(|odd| odd(entries, settings));
    for (entry, advice) in odd.into_iter().flatten() {
        warn(entry, advice);
    }
    warnings
}
