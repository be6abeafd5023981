//! The common form of all our files of lines: a first line with the version of the format, and `end` as the last, without which a file is
//! incomplete.

use std::ops::RangeInclusive;
use std::str::Lines;

/// The last line.
pub(super) const LAST: &str = "end";

/// The lines after the first, including `end`. `first` is what the first line begins with, before the version.
///
/// # Errors
/// Why the file cannot be used, as a phrase.
pub(super) fn behind_first<'t>(
    text: &'t str,
    first: &str,
    known: RangeInclusive<u32>,
) -> Result<Lines<'t>, String> {
    let lines = versioned(text, first, known)?;
    if !text.ends_with("\nend\n") {
        return Err("its end is missing".to_owned());
    }
    Ok(lines)
}

/// The same without a look at the end.
///
/// # Errors
/// The first line is another one.
pub(super) fn versioned<'t>(
    text: &'t str,
    first: &str,
    known: RangeInclusive<u32>,
) -> Result<Lines<'t>, String> {
    let mut lines = text.lines();
    let newest = *known.end();
    match lines.next().and_then(|line| line.strip_prefix(first)?.parse::<u32>().ok()) {
        Some(version) if known.contains(&version) => (),
        Some(newer) if newer > newest => {
            return Err(format!(
                "a newer slurm-multifactor2 wrote it (version {newer}, this one knows {newest})"
            ))
        }
        _ => return Err("its first line is not from slurm-multifactor2".to_owned()),
    }
    Ok(lines)
}

/// The lines between the first and the last, each with its number.
///
/// # Errors
/// As [`behind_first`].
pub(super) fn between<'t>(
    text: &'t str,
    first: &str,
    known: RangeInclusive<u32>,
) -> Result<impl Iterator<Item = (&'t str, usize)>, String> {
    let mut lines = behind_first(text, first, known)?;
    lines.next_back();
    Ok(lines.zip(2..))
}

/// What is said of a line that cannot be there.
pub(super) fn not_ours(number: usize) -> String {
    format!("line {number} is not valid")
}
