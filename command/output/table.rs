//! Tables: in columns for people, with bars as in sshare for programs (`-P`, `-p`), and as CSV.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

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

/// A column that can be asked for: its name, with `>` at its end where it has numbers, and what is in it, for the manual page.
pub type Described = (&'static str, &'static str);

/// Columns with names, and rows of text.
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

    /// With these columns.
    pub fn of<'c>(columns: impl IntoIterator<Item = &'c Described>) -> Self {
        Self::new(&columns.into_iter().map(|(name, _)| *name).collect::<Vec<_>>())
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

    /// Names of the columns, and which of them have numbers.
    pub fn header(&self) -> &[(&'static str, bool)] {
        &self.header
    }

    /// Its rows.
    pub fn rows(&self) -> &[Vec<String>] {
        &self.rows
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
            Form::Csv => self.values(with_header),
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

    /// As comma-separated values: a number that is not known is an empty cell.
    fn values(&self, with_header: bool) -> String {
        let mut known = self.clone();
        for row in &mut known.rows {
            for (cell, (_, is_number)) in row.iter_mut().zip(&self.header) {
                if *is_number && cell == "-" {
                    cell.clear();
                }
            }
        }
        known.lines(with_header, ",", "", |cell| escape::csv(cell.trim_start()))
    }

    fn columns(&self, with_header: bool, terminal: Terminal) -> String {
        let header = || self.header.iter().map(|(name, _)| Cow::Borrowed(*name));
        let cells = |row| escaped_row(row, terminal);
        let mut widths: Vec<Width> = self
            .header
            .iter()
            .map(|(name, is_number)| Width::of_header(name, *is_number, with_header))
            .collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(cells(row)) {
                width.hold(cell.width());
            }
        }
        let widths = narrowed(&widths, terminal.width);
        let mut text = String::new();
        let mut line = |cells: &mut dyn Iterator<Item = Cow<'_, str>>| {
            let cells: Vec<_> = cells.collect();
            let fitted = cells.iter().zip(&widths).zip(&self.header).map(|((cell, width), (name, _))| {
                if NAMES.contains(name) {
                    vec![cut(cell, *width, terminal.ascii)]
                } else {
                    wrapped(cell, *width)
                }
            });
            let cells: Vec<_> = fitted.collect();
            for at in 0..cells.iter().map(Vec::len).max().unwrap_or_default() {
                let begin = text.len();
                for ((lines, width), (_, is_number)) in cells.iter().zip(&widths).zip(&self.header) {
                    let cell = lines.get(at).map_or("", AsRef::as_ref);
                    let blanks = width.saturating_sub(cell.width());
                    let (before, behind) = if *is_number { (blanks, GAP) } else { (0, blanks + GAP) };
                    text.extend(std::iter::repeat_n(' ', before));
                    text.push_str(cell);
                    text.extend(std::iter::repeat_n(' ', behind));
                }
                text.truncate(text.trim_end_matches(' ').len().max(begin));
                text.push('\n');
            }
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

/// Blanks between two columns.
const GAP: usize = 2;

/// Columns of names, which are cut where they do not fit; other texts go on in the next line. Headers are cut by no terminal.
const NAMES: [&str; 6] = ["Account", "User", "Partition", "QOS", "Level", "Whose"];

/// No column of text gets narrower than this.
const NARROWEST: usize = 8;

/// How wide a column wants to be, and how narrow it may get.
struct Width {
    most: usize,
    least: usize,
    is_number: bool,
}

impl Width {
    fn of_header(name: &str, is_number: bool, is_shown: bool) -> Self {
        let longest_word = name.split(' ').map(UnicodeWidthStr::width).max().unwrap_or_default();
        let [most, least] = if is_shown { [name.width(), longest_word] } else { [0, 0] };
        Self { most, least, is_number }
    }

    /// A number in two lines reads as two numbers: none is broken, however narrow the terminal is.
    fn hold(&mut self, cell: usize) {
        self.most = self.most.max(cell);
        self.least = self.least.max(if self.is_number { cell } else { cell.min(NARROWEST) });
    }
}

/// Widths that fit into a terminal: what is too much is taken from the widest columns that can give.
fn narrowed(columns: &[Width], terminal: Option<u16>) -> Vec<usize> {
    let mut widths: Vec<usize> = columns.iter().map(|column| column.most).collect();
    let most = terminal.map_or(usize::MAX, usize::from);
    let gaps = GAP * widths.len().saturating_sub(1);
    for _ in most..widths.iter().sum::<usize>() + gaps {
        let giving = widths.iter_mut().zip(columns).filter(|(width, column)| **width > column.least);
        let Some((widest, _)) = giving.max_by_key(|(width, _)| **width) else { break };
        *widest -= 1;
    }
    widths
}

/// A name in one line of this width, with `…` in place of what does not fit; in ASCII with `+`, as Slurm's commands cut.
fn cut(cell: &str, width: usize, ascii: bool) -> Cow<'_, str> {
    if cell.width() <= width {
        return cell.into();
    }
    let mut kept = String::new();
    for letter in cell.chars() {
        if kept.width() + letter.width().unwrap_or_default() >= width {
            break;
        }
        kept.push(letter);
    }
    kept.push(if ascii { '+' } else { '…' });
    kept.into()
}

/// A cell in lines of this width: between words, and within those that are too long. What is indented stays so.
fn wrapped(cell: &str, width: usize) -> Vec<Cow<'_, str>> {
    if cell.width() <= width {
        return vec![cell.into()];
    }
    let text = cell.trim_start();
    let indent = &cell[..cell.len() - text.len()];
    let options = textwrap::Options::new(width)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .initial_indent(indent)
        .subsequent_indent(indent);
    textwrap::wrap(text, options)
}

fn escaped_row(row: &[String], terminal: Terminal) -> impl Iterator<Item = Cow<'_, str>> {
    row.iter().map(move |cell| escape::terminal(cell, terminal.ascii))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(width: Option<u16>) -> String {
        let mut table = Table::new(&["Name", "Number>", "Text"]);
        for (name, number, text) in [("ann", 7, "one two three four"), ("  ben", 77, "unbreakable\u{202e}")] {
            table.row(vec![name.to_owned(), number.to_string(), text.to_owned()]);
        }
        table.columns(true, Terminal { width, ..Terminal::PLAIN })
    }

    #[test]
    fn columns_are_as_wide_as_what_is_in_them() {
        let expected = [
            "Name   Number  Text",
            "ann         7  one two three four",
            "  ben      77  unbreakable\\u{202e}",
        ];
        assert_eq!(shown(None).lines().collect::<Vec<_>>(), expected);
        assert_eq!(shown(Some(80)), shown(None));
    }

    #[test]
    fn a_narrow_terminal_gets_more_lines_and_loses_nothing() {
        for width in 24..34 {
            let text = shown(Some(width));
            assert!(text.lines().all(|line| line.width() <= width.into()), "{width}\n{text}");
            let last: String = text.lines().map(|line| line.get(15..).unwrap_or_default()).collect();
            let last: String = last.split_whitespace().collect();
            assert_eq!(last, "Textonetwothreefourunbreakable\\u{202e}", "{width}\n{text}");
        }
        // Columns are not made so narrow that nobody can read them.
        assert_eq!(shown(Some(1)), shown(Some(23)));
    }

    #[test]
    fn no_number_is_broken_but_headers_are_between_words() {
        let mut table = Table::new(&["Of level>", "LevelFS>", "Text"]);
        table.row(vec!["100.0%".to_owned(), "0.123456789".to_owned(), "one two three four".to_owned()]);
        for width in 1..40 {
            let text = table.columns(true, Terminal { width: Some(width), ..Terminal::PLAIN });
            assert!(text.contains(" 0.123456789 "), "{width}\n{text}");
            assert!(width < 29 || text.lines().all(|line| line.width() <= width.into()), "{width}\n{text}");
        }
    }

    #[test]
    fn names_are_cut_and_stay_in_their_line() {
        let mut table = Table::new(&["Account", "User", "Text"]);
        let account = "  a-long-name-of-an-account";
        table.row(vec![
            account.to_owned(),
            "\u{6f22}\u{6f22}\u{6f22}\u{6f22}\u{6f22}\u{6f22}".to_owned(),
            "one two".to_owned(),
        ]);
        for width in 27..60 {
            for ascii in [false, true] {
                let text = table.columns(true, Terminal { width: Some(width), ascii, ..Terminal::PLAIN });
                assert!(text.lines().all(|line| line.width() <= width.into()), "{width}\n{text}");
                let row = text.lines().nth(1).unwrap();
                let end = row.find(if ascii { '+' } else { '…' });
                assert_eq!(
                    end.is_none(),
                    row.starts_with(account) && (ascii || row.contains(&"\u{6f22}".repeat(6))),
                    "{width}\n{text}"
                );
                assert!(
                    end.is_none_or(|end| account.starts_with(&row[..end]) || row.starts_with(account)),
                    "{width}\n{text}"
                );
            }
        }
        assert!(table.columns(true, Terminal { width: Some(30), ..Terminal::PLAIN }).contains("…"));
        assert!(!table.columns(true, Terminal::PLAIN).contains("…"));
        assert!(!table
            .show(Form::Parsable2, true, Terminal { width: Some(10), ..Terminal::PLAIN })
            .contains("…"));
    }

    #[test]
    fn what_is_indented_stays_so() {
        let lines = wrapped("  one two three", 7);
        assert_eq!(lines, ["  one", "  two", "  three"]);
        assert_eq!(wrapped("\u{6f22}\u{6f22}\u{6f22}", 4), ["\u{6f22}\u{6f22}", "\u{6f22}"]);
    }
}
