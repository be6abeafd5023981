//! How text is shown on its medium: with or without colours, how wide, in ASCII or more.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::IsTerminal;

use anstyle::{AnsiColor, Style};

use super::escape;
use super::table::{Form, Table};

/// Where text goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// With colours.
    pub colours: bool,
    /// ASCII only.
    pub ascii: bool,
    /// Columns; `None` if there is no end.
    pub width: Option<u16>,
}

impl Terminal {
    /// A file or pipe that takes everything.
    pub const PLAIN: Self = Self { colours: false, ascii: false, width: None };

    /// Standard output, as the environment describes it.
    pub fn of_stdout() -> Self {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let is_terminal = std::io::stdout().is_terminal();
        let locale = variable("LC_ALL").or_else(|| variable("LC_CTYPE")).or_else(|| variable("LANG"));
        let is_utf8 = locale.is_some_and(|locale| {
            let locale = locale.to_ascii_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        });
        let is_dumb = variable("TERM").is_some_and(|term| term == "dumb");
        Self {
            colours: is_terminal && variable("NO_COLOR").is_none() && !is_dumb,
            ascii: !is_utf8,
            width: is_terminal.then(|| {
                let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
                let columns = || variable("COLUMNS").and_then(|columns| columns.parse().ok());
                size.map(|size| size.ws_col).filter(|columns| *columns > 0).or_else(columns).unwrap_or(USUAL)
            }),
        }
    }
}

/// Columns of a terminal that does not say how many it has.
const USUAL: u16 = 80;

/// Text as it is made, with all names escaped.
#[derive(Debug)]
pub struct Page {
    /// Where it goes.
    pub terminal: Terminal,
    text: String,
    parts: Vec<Part>,
}

/// A part of a text, for a page of another kind; names are as they are.
#[derive(Clone, Debug)]
pub enum Part {
    /// The one sentence that matters most.
    Headline(String),
    /// The title of what follows.
    Title(String),
    /// A warning.
    Warning(String),
    /// Running text.
    Paragraph(String),
    /// An item of a list.
    Item(String),
    /// A table.
    Table(Table),
}

/// The most columns that running text has.
const MEASURE: usize = 100;

impl Page {
    /// An empty one.
    pub fn new(terminal: Terminal) -> Self {
        Self { terminal, text: String::new(), parts: Vec::new() }
    }

    fn styled(&mut self, style: Style, text: &str) {
        let text = escape::terminal(text, self.terminal.ascii);
        if self.terminal.colours {
            let _ = write!(self.text, "{style}{text}{style:#}");
        } else {
            self.text.push_str(&text);
        }
    }

    /// The one sentence that matters most.
    pub fn headline(&mut self, text: &str) {
        self.parts.push(Part::Headline(text.to_owned()));
        for line in self.wrapped(text, 0) {
            self.styled(Style::new().bold(), &line);
            self.text.push('\n');
        }
    }

    /// The title of a part.
    pub fn title(&mut self, text: &str) {
        self.parts.push(Part::Title(text.to_owned()));
        self.text.push('\n');
        self.styled(Style::new().bold().fg_color(Some(AnsiColor::Cyan.into())), text);
        self.text.push('\n');
    }

    /// A warning.
    pub fn warning(&mut self, text: &str) {
        self.parts.push(Part::Warning(text.to_owned()));
        for line in self.wrapped(text, 0) {
            self.styled(Style::new().fg_color(Some(AnsiColor::Yellow.into())), &line);
            self.text.push('\n');
        }
    }

    /// Running text.
    pub fn paragraph(&mut self, text: &str) {
        self.parts.push(Part::Paragraph(text.to_owned()));
        self.running(text);
    }

    /// What all of it is about, which a page of another kind has elsewhere.
    pub fn about(&mut self, text: &str) {
        self.running(text);
    }

    fn running(&mut self, text: &str) {
        for line in self.wrapped(text, 0) {
            self.styled(Style::new(), &line);
            self.text.push('\n');
        }
    }

    /// An item of a list.
    pub fn item(&mut self, text: &str) {
        self.parts.push(Part::Item(text.to_owned()));
        for (at, line) in self.wrapped(text, 2).into_iter().enumerate() {
            self.text.push_str(if at == 0 { "- " } else { "  " });
            self.styled(Style::new(), &line);
            self.text.push('\n');
        }
    }

    /// A table for people, with its header or without.
    pub fn table(&mut self, table: &Table, with_header: bool) {
        self.parts.push(Part::Table(table.clone()));
        self.ready(&table.show(Form::Columns, with_header, self.terminal));
    }

    /// What is fit to be shown already.
    pub fn ready(&mut self, text: &str) {
        self.text.push_str(text);
        if !text.ends_with('\n') && !text.is_empty() {
            self.text.push('\n');
        }
    }

    /// Breaks lines between words; a word that is too long has a separate line, because it may have to be copied. Text is escaped before it
    /// is wrapped, so that names, which users choose, cannot begin a line.
    fn wrapped(&self, text: &str, indent: usize) -> Vec<String> {
        let width = self.terminal.width.map_or(MEASURE, |width| usize::from(width).clamp(20, MEASURE));
        let options = textwrap::Options::new(width - indent)
            .break_words(false)
            .word_separator(textwrap::WordSeparator::AsciiSpace)
            .word_splitter(textwrap::WordSplitter::NoHyphenation);
        textwrap::wrap(&escape::terminal(text, self.terminal.ascii), options)
            .into_iter()
            .map(Cow::into_owned)
            .collect()
    }

    /// Its parts.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// All of it.
    pub fn finish(self) -> String {
        self.text
    }
}
