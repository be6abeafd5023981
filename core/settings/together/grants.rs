//! Checks lines of grants together.

use std::collections::HashMap;

use super::{error, no_such_book};
use crate::rules::grants::{Key, Pace, Periods, MOST_PERIODS};
use crate::settings::report::{Errors, Place};
use crate::settings::schema::{Entries, Entry};
use crate::settings::table::grants::pace;
use crate::settings::table::{Adjust, Grant, GrantBeyond, GrantPreset, GrantRule, GrantSplit, Settings};
use crate::settings::value::Date;

/// Finds lines that are wrong in themselves, or together with others.
pub(super) fn check(entries: &Entries, settings: &Settings, errors: &mut Errors) {
    for (entry, line) in entries.blocks("Grant").zip(&settings.grants) {
        names(entry, &line.names, errors);
        in_book(entry, line.book.as_deref(), line.partitions.is_some(), settings, errors);
        grant(entry, line, errors);
    }
    overlaps(entries, settings, errors);
    for (entry, line) in entries.blocks("Adjust").zip(&settings.adjusts) {
        names(entry, &line.names, errors);
        in_book(entry, line.book.as_deref(), line.partitions.is_some(), settings, errors);
    }
}

fn names(entry: &Entry, names: &[String], errors: &mut Errors) {
    let Some(written) = entry.attribute("Name") else { return };
    if names.iter().any(|name| name == "*") {
        let allowed = format!("{} takes names, not * for all", entry.setting.name);
        errors.push(error(written, "*", allowed, "write the names"));
    }
}

fn in_book(
    entry: &Entry,
    book: Option<&str>,
    has_partitions: bool,
    settings: &Settings,
    errors: &mut Errors,
) {
    let (Some(book), Some(written)) = (book, entry.attribute("Book")) else { return };
    if has_partitions {
        let allowed = "a line can have Partition or Book, not both".into();
        errors.push(error(written, book, allowed, "remove one of the two"));
    }
    no_such_book(written, settings, errors);
}

/// What a grant says in itself.
fn grant(entry: &Entry, line: &Grant, errors: &mut Errors) {
    let day_begins = |date: Date| (date.hour, date.minute, date.second) == (0, 0, 0);
    let day_ends = |date: Date| (date.hour, date.minute, date.second) == (23, 59, 59);
    for (key, is_day) in [("From", day_begins(line.from)), ("Until", day_ends(line.until))] {
        if let Some(written) = entry.attribute(key).filter(|_| !is_day) {
            let allowed = "must be a day without a time".into();
            errors.push(error(written, written.text(), allowed, "remove the time"));
        }
    }
    if let (Some(from), Some(until)) = (entry.attribute("From"), entry.attribute("Until")) {
        if line.from > line.until {
            let allowed = format!("must not be later than Until={}", until.text());
            errors.push(error(from, from.text(), allowed, "correct one of the two"));
            return;
        }
    }
    let rule = line.rule();
    for (key, of) in [
        ("CarryOver", GrantRule::Carry),
        ("Borrow", GrantRule::Carry),
        ("DebtCap", GrantRule::Carry),
        ("Interval", GrantRule::Ageing),
    ] {
        if let Some(written) = entry.attribute(key).filter(|_| rule != of) {
            let allowed = format!("{key} is allowed with Rule={of} only");
            errors.push(error(written, written.text(), allowed, &format!("remove it, or set Rule={of}")));
        }
    }
    let Some(periods) = Periods::new(line.from, line.until, line.pace(), &|_| 0) else {
        let allowed = format!("a grant can have at most {MOST_PERIODS} periods");
        errors.push(error(entry, entry.text(), allowed, "make Pace longer, or split the line in two"));
        return;
    };
    let is_cut = Periods::are_cut(line.from, line.until, line.pace());
    if is_cut && line.split.unwrap_or(GrantSplit::Equal) == GrantSplit::Equal && rule != GrantRule::Ageing {
        let place = entry.attribute("Split").or(entry.attribute("Pace")).or(entry.attribute("From"));
        let entry = place.unwrap_or(entry);
        let allowed = "with Split=equal the first and the last period must be whole".into();
        errors.push(error(entry, entry.text(), allowed, "set Split=days, or change From or Until"));
    }
    match (entry.attribute("Used"), entry.attribute("UsedUntil")) {
        (Some(used), None) => {
            let allowed = "UsedUntil is missing on the line".into();
            errors.push(error(used, used.text(), allowed, "add UsedUntil=..., the date when Used ends"));
        }
        (None, Some(until)) => {
            let allowed = "allowed with Used only".into();
            errors.push(error(until, until.text(), allowed, "add Used=..., or remove it"));
        }
        (Some(used), Some(_))
            if line.used.iter().flat_map(|text| text.split(',')).count() > periods.count() =>
        {
            let allowed = format!("can have at most {} numbers, one for each period", periods.count());
            errors.push(error(used, used.text(), allowed, "remove the rest"));
        }
        _ => (),
    }
}

/// What makes a grant one with others of a name: that, its unit and its partitions.
fn of_grant(settings: &Settings, line: &Grant, name: &str) -> Option<String> {
    let filter = (line.partitions.as_ref(), line.book.as_deref());
    Some(Key::of(settings, (line.kind, name), &line.tres()?, filter).text())
}

/// What lines have, or have not.
type Has = fn(&Grant) -> bool;

/// Lines of a sequence that hold at the same time, or differ in what all of them share.
fn overlaps(entries: &Entries, settings: &Settings, errors: &mut Errors) {
    let mut seen: HashMap<String, Vec<(&Grant, &Place)>> = HashMap::new();
    for (entry, line) in entries.blocks("Grant").zip(&settings.grants) {
        for name in &line.names {
            let Some(key) = of_grant(settings, line, name) else { continue };
            let of = seen.entry(key).or_default();
            for (key, has) in [("TimeZone", Grant::is_universal as Has), ("Factors", Grant::has_factors)] {
                if let Some((_, place)) = of.iter().find(|(other, _)| has(other) != has(line)) {
                    let allowed = format!("{place} has another {key} for {}={name}", line.kind);
                    errors.push(error(entry, entry.text(), allowed, "make them equal"));
                }
            }
            let meets = |other: &Grant| line.from <= other.until && other.from <= line.until;
            if let Some((_, place)) = of.iter().find(|(other, _)| meets(other)) {
                let allowed = format!(
                    "{}={name} can have one line at a time, and that in {place} covers some of these days, too",
                    line.kind
                );
                errors.push(error(entry, entry.text(), allowed, "let one begin after the other ends"));
            }
            of.push((line, &entry.place));
        }
    }
}

/// What works, but perhaps not as meant.
pub(super) fn odd<'e>(entries: &'e Entries, settings: &Settings) -> Vec<(&'e Entry, String)> {
    let mut odd = Vec::new();
    for (entry, line) in entries.blocks("Grant").zip(&settings.grants) {
        let numbers = line.used.iter().flat_map(|text| text.split(',')).count();
        let periods =
            Periods::new(line.from, line.until, line.pace(), &|_| 0).map_or(0, |periods| periods.count());
        if let Some(used) = entry.attribute("Used").filter(|_| numbers == 1 && periods > 1) {
            let advice = "counts as used in the period of UsedUntil: write one number for each period since From, if more is known";
            odd.push((used, advice.to_owned()));
        }
    }
    for (entry, line) in entries.blocks("Adjust").zip(&settings.adjusts) {
        let finds = |name: &String| settings.grants.iter().any(|grant| is_of(settings, line, name, grant));
        for name in line.names.iter().filter(|name| !finds(name)) {
            let advice = format!(
                "has no effect for {name}: no Grant={} line with this unit, partitions and book covers {}. Add one, or \
                 correct the line",
                line.kind, line.at
            );
            odd.push((entry, advice));
        }
    }
    let uses = settings.grants.iter().any(|line| line.beyond.is_none_or(|beyond| beyond == GrantBeyond::Low));
    if let Some(cap) = entries.written("PointsCap").filter(|_| uses && settings.points_cap == 0) {
        odd.push((
            cap,
            "gives jobs beyond a grant the same points as all others: set another number, or Beyond=share"
                .to_owned(),
        ));
    }
    odd
}

/// Whether a line changes a grant.
fn is_of(settings: &Settings, line: &Adjust, name: &str, grant: &Grant) -> bool {
    let filter = (line.partitions.as_ref(), line.book.as_deref());
    let wanted = line.tres().map(|tres| Key::of(settings, (line.kind, name), &tres, filter).text());
    let holds = grant.from <= line.at && line.at <= grant.until;
    holds && grant.names.iter().any(|name| of_grant(settings, grant, name) == wanted)
}

impl Grant {
    /// How long its periods are.
    pub(crate) fn pace(&self) -> Pace {
        let of_preset = if self.preset == Some(GrantPreset::Nhr) { Pace::Quarter } else { Pace::Month };
        self.pace.as_deref().and_then(pace).unwrap_or(of_preset)
    }

    /// What may be used in a period.
    pub(crate) fn rule(&self) -> GrantRule {
        self.rule.unwrap_or(match self.preset {
            None | Some(GrantPreset::Jsc | GrantPreset::Nhr) => GrantRule::Carry,
            Some(GrantPreset::Rwth) => GrantRule::Window,
            Some(GrantPreset::Nesi) => GrantRule::Ageing,
        })
    }
}
