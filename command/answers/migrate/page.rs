//! Reads from docs/coming-from.md what cannot be translated, so that only the page states it.

use std::sync::OnceLock;

use schemars::JsonSchema;
use serde::Serialize;

/// The page, as it is in the project.
const PAGE: &str = include_str!("../../../docs/coming-from.md");

/// Why there is no line for something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// A priority plugin cannot do it.
    Impossible,
    /// Not built yet.
    NotYet,
    /// Nothing needs to be written.
    Nothing,
    /// An administrator must decide or do it.
    ByHand,
    /// Its value cannot be read, so it is left out.
    Unreadable,
    /// Unknown here: not about priorities, or misspelt.
    Unknown,
}

struct PageRow {
    there: String,
    why: Why,
    remark: String,
}

/// What the page says of a parameter without a line: why, and the remark in the same row. The row is the first with all of these words.
pub(super) fn says(words: &[&str]) -> Option<(Why, &'static str)> {
    static ROWS: OnceLock<Vec<PageRow>> = OnceLock::new();
    let all = |row: &&PageRow| words.iter().all(|word| names(&row.there).any(|name| name == *word));
    let row = ROWS.get_or_init(rows).iter().find(all)?;
    Some((row.why, &row.remark))
}

fn rows() -> Vec<PageRow> {
    let mut there = String::new();
    let mut rows = Vec::new();
    for line in PAGE.lines().filter(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let &[_, first, whose, _, remark, _] = &cells[..] else { continue };
        if !first.is_empty() {
            first.clone_into(&mut there);
        }
        let why = match whose {
            "no" => Why::Impossible,
            "not yet" => Why::NotYet,
            "–" => Why::Nothing,
            _ => continue,
        };
        rows.push(PageRow { there: there.clone(), why, remark: plain(remark) });
    }
    rows
}

/// The words of a cell that are names of parameters.
fn names(there: &str) -> impl Iterator<Item = &str> {
    there.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'))
}

/// Without the marks of a page: backquotes, and the addresses of links.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, (link, after))) = rest
        .split_once('[')
        .and_then(|(before, rest)| Some((before, rest.split_once("](")?)))
        .and_then(|(before, (link, rest))| Some((before, (link, rest.split_once(')')?.1))))
    {
        plain += before;
        plain += link;
        rest = after;
    }
    (plain + rest).replace('`', "")
}
