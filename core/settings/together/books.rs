//! Checks the lines of books together.

use std::collections::HashMap;

use super::error;
use crate::books::MOST_BOOKS;
use crate::settings::report::{Errors, Place};
use crate::settings::schema::Entries;
use crate::settings::table::Settings;

/// Each book once, each partition in one book, and no more books than there can be.
pub(super) fn check(entries: &Entries, settings: &Settings, errors: &mut Errors) {
    let mut books = HashMap::<String, &Place>::new();
    let mut partitions = HashMap::<&String, (&str, &Place)>::new();
    for (count, (entry, line)) in (1..).zip(entries.blocks("Book").zip(&settings.books)) {
        if count > MOST_BOOKS {
            let allowed = format!("at most {MOST_BOOKS} books are allowed");
            errors.push(error(entry, &line.name, allowed, "put several partitions in one book"));
            return;
        }
        if let Some(earlier) = books.insert(line.name.to_ascii_lowercase(), &entry.place) {
            let allowed = format!("{earlier} has a book of this name, too");
            errors.push(error(entry, &line.name, allowed, "give it another name, or merge the two lines"));
            continue;
        }
        let Some(written) = entry.attribute("Partitions") else { continue };
        for name in &line.partitions {
            if let Some((book, earlier)) = partitions.insert(name, (&line.name, &entry.place)) {
                let allowed =
                    format!("a partition can be in one book only, and {earlier} has it in {book}, too");
                errors.push(error(written, name, allowed, "remove it from one of the two"));
            }
        }
    }
}
