//! Tables: for people in columns, for programs between bars as sshare has them (`-P`, `-p`), as CSV.

use comfy_table::{presets, CellAlignment, ContentArrangement};

use super::escape;
use super::page::Terminal;

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

    /// Whether there are rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Keeps the columns of these names, in their order.
    ///
    /// # Errors
    /// The name that there is no column of, with those that there are.
    pub fn choose(&mut self, names: &[String]) -> Result<(), String> {
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
        let mut table = comfy_table::Table::new();
        table.load_preset(presets::NOTHING);
        if let Some(width) = terminal.width {
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
        }
        let escaped = |cell: &str| escape::terminal(cell, terminal.ascii).into_owned();
        if with_header {
            table.set_header(self.header.iter().map(|(name, _)| *name));
        }
        for row in &self.rows {
            table.add_row(row.iter().map(|cell| escaped(cell)));
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
}
