//! Reads what qconf prints: a name and a value on each line, continued with a backslash.

use std::sync::Arc;

use crate::answers::migrate::draft::{place, Draft, Item};

/// Lines with their numbers, and without continuations and comments.
pub(super) fn lines(text: &str) -> Vec<(usize, String)> {
    let mut whole = Vec::new();
    let mut lines = (1..).zip(text.trim_start_matches('\u{feff}').lines());
    while let Some((number, line)) = lines.next() {
        let mut line = line.to_owned();
        while let Some(begun) = line.trim_end().strip_suffix('\\') {
            let next = lines.next().map_or("", |(_, line)| line.trim_start());
            // Lists go on behind a comma.
            let between = if begun.trim_end().ends_with(',') { "" } else { " " };
            line = format!("{}{between}{next}", begun.trim_end());
        }
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            whole.push((number, line.to_owned()));
        }
    }
    whole
}

/// `name value` of each line.
pub(super) fn pairs(source: &Arc<str>, text: &str, draft: &mut Draft) -> Vec<Item> {
    let mut pairs = Vec::new();
    for (number, line) in lines(text) {
        let item = |key: &str, value: &str| Item {
            place: place(source, number),
            key: key.into(),
            value: value.trim().into(),
        };
        let (key, value) = line.split_once(char::is_whitespace).unwrap_or((&line, ""));
        if key.chars().all(|letter| letter.is_ascii_alphanumeric() || "_.-".contains(letter))
            && !value.is_empty()
        {
            pairs.push(item(key, value));
        } else {
            draft.error(
                &item("", &line),
                "a line must be a name and a value, as qconf prints them",
                "correct the line",
            );
        }
    }
    pairs
}

/// Several objects one after the other: each begins with `name`.
pub(super) fn blocks(source: &Arc<str>, text: &str, draft: &mut Draft) -> Vec<Vec<Item>> {
    let mut blocks: Vec<Vec<Item>> = Vec::new();
    for item in pairs(source, text, draft) {
        match blocks.last_mut() {
            _ if item.key == "name" => blocks.push(vec![item]),
            Some(block) => block.push(item),
            None => draft.error(&item, "an object must begin with name", "save what qconf prints, unchanged"),
        }
    }
    blocks
}
