//! What Slurm's tools print, as rows with named columns.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

/// One line of a table, its cells by column name, blanks around them removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row(BTreeMap<String, String>);

impl Row {
    /// The text in a column, empty where the line has nothing there or the table no such column.
    pub fn text(&self, column: &str) -> &str {
        self.0.get(column).map_or("", String::as_str)
    }

    /// The number in a column.
    ///
    /// # Errors
    /// If the column is missing, blank or no number. `inf` and `nan` are numbers.
    pub fn number(&self, column: &str) -> Result<f64> {
        let text = self.0.get(column).with_context(|| format!("no column {column} in {:?}", self.0))?;
        text.parse().with_context(|| format!("{column} is '{text}', not a number, in {:?}", self.0))
    }

    /// All cells by column name.
    pub fn cells(&self) -> &BTreeMap<String, String> {
        &self.0
    }
}

/// Reads lines of cells separated by `|`, the first of them with the names of the columns.
pub fn parse_rows(text: &str) -> Vec<Row> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let columns: Vec<&str> = lines.next().unwrap_or_default().split('|').map(str::trim).collect();
    lines.map(|line| row(&columns, line)).collect()
}

pub(crate) fn row(columns: &[&str], line: &str) -> Row {
    let cells = line.split('|').map(|cell| cell.trim().to_owned());
    Row(columns.iter().map(|column| (*column).to_owned()).zip(cells).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_found_by_column() {
        let rows = parse_rows("Account|User|FairShare\n a||\n  a|user1|0.500000\n");
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[1].text("Account"), "a");
        assert!((rows[1].number("FairShare").unwrap() - 0.5).abs() < 1e-9);
        assert!(rows[0].number("FairShare").is_err());
        assert!(rows[0].number("NoSuch").is_err());
    }
}
