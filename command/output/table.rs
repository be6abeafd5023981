//! Tables: for people in columns, for programs between bars as sshare has them (`-P`, `-p`), as CSV.

use std::borrow::Cow;

use comfy_table::{presets, CellAlignment, ContentArrangement};
use unicode_width::UnicodeWidthStr;

use super::escape;
use super::page::Terminal;

use crate::error::Error;

/// How a table is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// In columns, for people.
    #[default]
    Columns,
    /// `-P`: `|` between fields.
    Parsable2,
    /// `-p`: the same, and one at the end.
    Parsable,
    /// Comma-separated values.
    Csv,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Table {
    header: Vec<(&'static str, bool)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// With columns of these names; those of numbers, which are flush right, end in `>`.
    pub fn new(columns: &[&'static str]) -> Self {
        let header = columns.iter().map(|name| match name.strip_suffix('>') {
            Some(name) => (name, true),
            None => (*name, false),
        });
        Self { header: header.collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Leaves out columns that are `-` in every row, for people.
    #[must_use]
    pub fn without_unknown(mut self) -> Self {
        let is_known = |at: usize| self.rows.is_empty() || self.rows.iter().any(|row| row[at] != "-");
        let known: Vec<bool> = (0..self.header.len()).map(is_known).collect();
        let mut at = known.iter();
        self.header.retain(|_| at.next() == Some(&true));
        for row in &mut self.rows {
            let mut at = known.iter();
            row.retain(|_| at.next() == Some(&true));
        }
        self
    }

    /// Whether there are rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Keeps the columns of these names, in their order.
    ///
    /// # Errors
    /// The name that there is no column of, with those that there are.
    pub fn choose(&mut self, names: &[String]) -> Result<(), Error> {
        let find = |name: &String| {
            let found = self.header.iter().position(|(known, _)| known.eq_ignore_ascii_case(name.trim()));
            found.ok_or_else(|| {
                let known: Vec<&str> = self.header.iter().map(|(known, _)| *known).collect();
                format!("there is no column {name}: give some of {}", known.join(","))
            })
        };
        let places: Vec<usize> = names.iter().map(find).collect::<Result<_, _>>()?;
        self.header = places.iter().map(|place| self.header[*place]).collect();
        for row in &mut self.rows {
            *row = places.iter().map(|place| row.get(*place).cloned().unwrap_or_default()).collect();
        }
        Ok(())
    }

    /// As text.
    pub fn show(&self, form: Form, with_header: bool, terminal: Terminal) -> String {
        match form {
            Form::Columns => self.columns(with_header, terminal),
            Form::Parsable2 => self.lines(with_header, "|", "", |cell| escape::field(cell.trim_start())),
            Form::Parsable => self.lines(with_header, "|", "|", |cell| escape::field(cell.trim_start())),
            Form::Csv => self.lines(with_header, ",", "", |cell| escape::csv(cell.trim_start())),
        }
    }

    fn lines(&self, with_header: bool, between: &str, end: &str, escaped: impl Fn(&str) -> String) -> String {
        let mut text = String::new();
        let mut line = |cells: &mut dyn Iterator<Item = String>| {
            text.push_str(&cells.collect::<Vec<_>>().join(between));
            text.push_str(end);
            text.push('\n');
        };
        if with_header {
            line(&mut self.header.iter().map(|(name, _)| escaped(name)));
        }
        for row in &self.rows {
            line(&mut row.iter().map(|cell| escaped(cell)));
        }
        text
    }

    fn columns(&self, with_header: bool, terminal: Terminal) -> String {
        if self.rows.len() > MANY {
            return self.many_columns(with_header, terminal);
        }
        let mut table = comfy_table::Table::new();
        table.load_preset(presets::NOTHING);
        if let Some(width) = terminal.width {
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
        }
        if with_header {
            table.set_header(self.header.iter().map(|(name, _)| *name));
        }
        for row in &self.rows {
            table.add_row(escaped_row(row, terminal));
        }
        for (at, (_, is_number)) in self.header.iter().enumerate() {
            if let Some(column) = table.column_mut(at) {
                column.set_padding((0, 2));
                if *is_number {
                    column.set_cell_alignment(CellAlignment::Right);
                }
            }
        }
        let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned() + "\n").collect();
        lines.concat()
    }

    /// The same for very many rows, which are never wrapped.
    fn many_columns(&self, with_header: bool, terminal: Terminal) -> String {
        let header = || self.header.iter().map(|(name, _)| Cow::Borrowed(*name));
        let cells = |row| escaped_row(row, terminal);
        let mut widths: Vec<usize> =
            header().map(|name| if with_header { name.width() } else { 0 }).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(cells(row)) {
                *width = cell.width().max(*width);
            }
        }
        let mut text = String::new();
        let mut line = |cells: &mut dyn Iterator<Item = Cow<'_, str>>| {
            let begin = text.len();
            for ((cell, width), (_, is_number)) in cells.zip(&widths).zip(&self.header) {
                let blanks = width.saturating_sub(cell.width());
                let (before, behind) = if *is_number { (blanks, 2) } else { (0, blanks + 2) };
                text.extend(std::iter::repeat_n(' ', before));
                text.push_str(&cell);
                text.extend(std::iter::repeat_n(' ', behind));
            }
            text.truncate(text.trim_end_matches(' ').len().max(begin));
            text.push('\n');
        };
        if with_header {
            line(&mut header());
        }
        for row in &self.rows {
            line(&mut cells(row));
        }
        text
    }
}

/// From so many rows on a table is written by [`Table::many_columns`]: 100,000 rows in an eighth of the time and memory.
const MANY: usize = 2000;

fn escaped_row(row: &[String], terminal: Terminal) -> impl Iterator<Item = Cow<'_, str>> {
    row.iter().map(move |cell| escape::terminal(cell, terminal.ascii))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_rows_look_like_few() {
        let mut table = Table::new(&["Name", "Number>", "Text"]);
        for number in 0..30 {
            table.row(vec![
                format!("{}a{number}", " ".repeat(number % 3)),
                (number * 77).to_string(),
                "x\u{202e}".to_owned(),
            ]);
        }
        for with_header in [true, false] {
            let few = table.columns(with_header, Terminal::PLAIN);
            assert_eq!(table.many_columns(with_header, Terminal::PLAIN), few);
        }
    }
}
