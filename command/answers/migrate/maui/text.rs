//! Reads maui.cfg and moab.cfg as text: parameters with or without an index, their values, and the attributes in these.

use std::sync::Arc;

use crate::answers::migrate::draft::{place, Draft, Item};

/// A parameter.
pub(super) struct Parameter {
    /// In capitals.
    pub name: String,
    /// What stands in brackets behind the name.
    pub index: Option<String>,
    /// The name with its index as written, its value and its place.
    pub item: Item,
}

/// An attribute of a value such as `FSTARGET=10 MAXJOB[USER]=5`.
pub(super) struct Attribute {
    /// In capitals.
    pub name: String,
    /// What stands in brackets behind the name, in capitals.
    pub of: String,
    /// Its name with that of the parameter, its value and its place.
    pub item: Item,
}

/// The parameters of a file in order. What is none is an error.
pub(super) fn parameters(source: &Arc<str>, text: &str, draft: &mut Draft) -> Vec<Parameter> {
    let mut parameters = Vec::new();
    let mut lines = (1..).zip(text.trim_start_matches('\u{feff}').lines());
    while let Some((number, line)) = lines.next() {
        let mut whole = without_comment(line).to_owned();
        while let Some(begun) = whole.trim_end().strip_suffix('\\') {
            let next = lines.next().map_or("", |(_, line)| without_comment(line));
            whole = format!("{begun} {next}");
        }
        let line = whole.trim();
        if line.is_empty() {
            continue;
        }
        let item = |key: &str, value: &str| Item {
            place: place(source, number),
            key: key.into(),
            value: value.trim().into(),
        };
        match parameter(line) {
            Some((name, index, value)) => {
                let key = index.map_or(name.to_owned(), |index| format!("{name}[{index}]"));
                let item = item(&key, value);
                let name = name.to_ascii_uppercase();
                parameters.push(Parameter { name, index: index.map(|index| index.trim().to_owned()), item });
            }
            None => draft.error(
                &item("", line),
                "must be NAME VALUE, NAME[INDEX] VALUE or a comment after #",
                "correct the line",
            ),
        }
    }
    parameters
}

/// Up to a `#` at the beginning, or behind a blank and not in quotes.
fn without_comment(line: &str) -> &str {
    let (mut quoted, mut blank) = (false, true);
    for (at, letter) in line.char_indices() {
        if letter == '#' && blank && !quoted {
            return &line[..at];
        }
        quoted ^= letter == '"';
        blank = letter.is_whitespace();
    }
    line
}

fn parameter(line: &str) -> Option<(&str, Option<&str>, &str)> {
    let end = line.find(|letter: char| letter.is_whitespace() || "[=".contains(letter)).unwrap_or(line.len());
    let (name, rest) = line.split_at(end);
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_.-".contains(letter);
    if name.is_empty() || !name.chars().all(plain) {
        return None;
    }
    let (index, rest) = match rest.strip_prefix('[') {
        Some(rest) => {
            let (index, rest) = rest.split_once(']')?;
            (Some(index), rest)
        }
        None => (None, rest),
    };
    let rest = rest.trim_start();
    Some((name, index, rest.strip_prefix('=').unwrap_or(rest)))
}

/// The attributes of a parameter. A word that is none is an error.
pub(super) fn attributes(parameter: &Parameter, draft: &mut Draft) -> Vec<Attribute> {
    let mut attributes = Vec::new();
    for word in words(&parameter.item.value) {
        let shown = |key: String, value: &str| Item { key, value: value.into(), ..parameter.item.clone() };
        let Some((name, value)) = word.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            let allowed = "must be attributes such as PRIORITY=100, with blanks between them";
            draft.error(&shown(parameter.item.key.clone(), &word), allowed, "correct the word");
            continue;
        };
        let name = name.trim_end_matches('+');
        let (base, of) =
            name.split_once('[').map_or((name, ""), |(base, of)| (base, of.trim_end_matches(']')));
        let item = shown(format!("{} {name}", parameter.item.key), value);
        attributes.push(Attribute { name: base.to_ascii_uppercase(), of: of.to_ascii_uppercase(), item });
    }
    attributes
}

/// Words between blanks, without quotes. In quotes there may be blanks.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for letter in text.chars() {
        match letter {
            '"' => quoted = !quoted,
            letter if letter.is_whitespace() && !quoted => words.push(String::new()),
            letter => words.last_mut().expect("there is always one").push(letter),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Seconds of `[[[days:]hours:]minutes:]seconds`, as Maui writes times.
pub(super) fn seconds(item: &Item, draft: &mut Draft) -> Option<u64> {
    let parts: Option<Vec<u64>> =
        item.value.trim().split(':').map(|part| part.parse::<u32>().ok().map(u64::from)).collect();
    let seconds = parts.filter(|parts| parts.len() <= 4).and_then(|parts| {
        let weights = [1, 60, 3600, 86_400];
        let total: u64 = parts.iter().rev().zip(weights).map(|(part, weight)| part * weight).sum();
        // What our settings can say.
        (total <= 999_999_999 * 60).then_some(total)
    });
    if seconds.is_none() {
        draft.error(
            item,
            "must be a time written as days:hours:minutes:seconds, of which the first parts can be missing",
            "",
        );
    }
    seconds
}
