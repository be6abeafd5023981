//! Shows the parts of a text as a page, in the words and order of the terminal.

use serde::Serialize;

use super::{Cell, Column, HtmlRow, Page, Table};
use crate::answers::{About, Report};
use crate::error::Error;
use crate::output::page::Part;
use crate::output::table;

/// How many rows of a table are in a page; more make it slow.
const SHOWN: usize = 5000;

/// The page of an answer.
///
/// # Errors
/// The answer cannot be JSON.
pub fn page<A: Serialize>(title: &str, report: &Report<A>, parts: &[Part]) -> Result<String, Error> {
    let about: &About = &report.about;
    let mut page = Page::new(title, &about.in_words());
    if let Some(age) = about.age_in_words() {
        page = page.paragraph(&age);
    }
    let (mut caption, mut items) = (title, Vec::new());
    for part in parts {
        if !matches!(part, Part::Item(_)) {
            page = page.list(&std::mem::take(&mut items));
        }
        page = match part {
            Part::Headline(text) => page.lead(text),
            Part::Title(text) => {
                caption = text;
                page.section(text)
            }
            Part::Warning(text) => page.warning(text),
            Part::Paragraph(text) => page.paragraph(text),
            Part::Item(text) => {
                items.push(text.as_str());
                page
            }
            Part::Table(table) => of_table(page, caption, table),
        };
    }
    page = page.list(&items);
    // All of a long queue would be there twice.
    let is_long = parts.iter().any(|part| matches!(part, Part::Table(table) if table.rows().len() > SHOWN));
    if is_long {
        return Ok(page.finish());
    }
    page.data(report).map(Page::finish)
}

/// A table whose rows are named by its first column of text.
fn of_table(page: Page, caption: &str, table: &table::Table) -> Page {
    let header = table.header();
    let first = header.iter().position(|(_, is_number)| !is_number).unwrap_or(0);
    let others = || (0..header.len()).filter(|at| *at != first);
    let column = |at: usize| match header[at] {
        (name, true) => Column::number(name),
        (name, false) => Column::text(name),
    };
    let columns: Vec<Column> = std::iter::once(first).chain(others()).map(column).collect();
    let mut shown = Table::new(caption, &columns);
    for row in table.rows().iter().take(SHOWN) {
        let cell = |at: usize| {
            let text = row.get(at).map_or("", |cell| cell.trim());
            match (header[at].1, text.parse::<f64>()) {
                (_, _) if text.is_empty() || text == "-" => Cell::none(),
                (true, Ok(value)) => Cell::number(value, text),
                (true, Err(_)) => Cell::word(text),
                (false, _) => Cell::text(text),
            }
        };
        let name = row.get(first).map_or("", |cell| cell.trim());
        shown.row(others().map(cell).fold(HtmlRow::new(name), HtmlRow::cell));
    }
    let page = page.table(&shown);
    match table.rows().len().saturating_sub(SHOWN) {
        0 => page,
        more => page.paragraph(&format!("And {more} more: see them with --csv or --json.")),
    }
}
