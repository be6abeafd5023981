//! The common form of all our files of lines: a first line with the version of the format, and `end` as the last, without which a file is
//! incomplete.

use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::str::Lines;

/// The last line.
pub const LAST: &str = "end";

/// The word where there is nothing.
pub const NONE: &str = "-";

/// The lines after the first, including `end`. `first` is what the first line begins with, before the version.
///
/// # Errors
/// Why the file cannot be used, as a phrase.
pub fn behind_first<'t>(text: &'t str, first: &str, known: RangeInclusive<u32>) -> Result<Lines<'t>, String> {
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
pub fn versioned<'t>(text: &'t str, first: &str, known: RangeInclusive<u32>) -> Result<Lines<'t>, String> {
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
pub fn between<'t>(
    text: &'t str,
    first: &str,
    known: RangeInclusive<u32>,
) -> Result<impl Iterator<Item = (&'t str, usize)>, String> {
    let mut lines = behind_first(text, first, known)?;
    lines.next_back();
    Ok(lines.zip(2..))
}

/// What is said of a line that cannot be there.
pub fn not_ours(number: usize) -> String {
    format!("line {number} is not valid")
}

/// A name as one word.
pub fn escaped(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._/:@+-".contains(&byte);
    match name {
        "" => "%".to_owned(),
        NONE => "%2d".to_owned(),
        _ => name.bytes().fold(String::with_capacity(name.len()), |mut text, byte| {
            if plain(byte) {
                text.push(char::from(byte));
            } else {
                let _ = write!(text, "%{byte:02x}");
            }
            text
        }),
    }
}

/// The name of such a word; `None` for another one.
pub fn unescaped(word: &str) -> Option<String> {
    if word == "%" {
        return Some(String::new());
    }
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' {
            let (digits, after) = after.split_at_checked(2)?;
            let digits = std::str::from_utf8(digits).ok().filter(|text| !text.starts_with('+'))?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = after;
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}
