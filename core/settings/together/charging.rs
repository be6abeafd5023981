//! Checks lines of charging together.

use super::error;
use crate::settings::report::Errors;
use crate::settings::schema::{Entries, Entry};
use crate::settings::table::{ChargeKind, Settings};

/// Lines that are wrong in themselves.
pub(super) fn check(entries: &Entries, settings: &Settings, errors: &mut Errors) {
    for (entry, line) in entries.blocks("Charge").zip(&settings.charges) {
        match (entry.attribute("Name"), line.kind) {
            (Some(written), ChargeKind::Requeued) => {
                let allowed = "Charge=Requeued takes no Name, because it is for all jobs".into();
                errors.push(error(written, written.text(), allowed, "remove it"));
            }
            (None, kind) if kind != ChargeKind::Requeued => {
                let allowed = "Name is missing on the line".into();
                errors.push(error(entry, entry.text(), allowed, "add Name=..."));
            }
            (Some(written), _) if line.names.iter().flatten().any(|name| name == "*") => {
                let allowed = "Charge takes names, not * for all".into();
                errors.push(error(written, "*", allowed, "write the names"));
            }
            _ => (),
        }
    }
}

/// What works, but perhaps not as meant.
pub(super) fn odd<'e>(entries: &'e Entries, settings: &Settings) -> Vec<(&'e Entry, String)> {
    let lines = entries.blocks("Charge").zip(&settings.charges);
    #[allow(clippy::float_cmp)] // exactly 1 changes nothing
    let idle = lines.filter(|(_, line)| line.factor == 1.0);
    idle.map(|(entry, _)| (entry, "has no effect with Factor=1: remove it, or set another Factor".into()))
        .collect()
}
