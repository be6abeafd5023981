//! Reads Slurm's key=value style: lines, comments, continuation, quotes. It does not know what the keys mean.
//!
//! The rules are those of slurm.conf: an unescaped `#` begins a comment (inside quotes too), a backslash at the end of a line continues it,
//! `\x` is a literal `x`. Beyond slurm.conf, `\"` is a literal quote inside quotes and `\ ` a literal blank, so that every value without a
//! line break or NUL can be written.

use super::report::{Error, Errors, Place, MAX_SHOWN};
use std::fmt;
use std::sync::Arc;

/// Bytes that a line may have, with the lines that continue it and without comments.
pub const MAX_LINE: usize = 1 << 20;

/// One `Key=Value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// Where the pair begins.
    pub place: Place,
    /// The key as written.
    pub key: String,
    /// The value without quotes and escapes.
    pub value: String,
}

impl fmt::Display for Pair {
    /// The pair so that [`parse`] gives it back, for values without line breaks and NUL.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&written(&self.key, &self.value))
    }
}

/// A key and its value so that [`parse`] gives them back, for values without line breaks and NUL.
pub fn written(key: &str, value: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || "_.,:+*/-".contains(c);
    if !value.is_empty() && value.chars().all(bare) {
        return format!("{key}={value}");
    }
    let mut text = format!("{key}=\"");
    for character in value.chars() {
        if matches!(character, '\\' | '"' | '#') {
            text.push('\\');
        }
        text.push(character);
    }
    text + "\""
}

/// What one line (with its continuations) says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Statement {
    /// `Include <path>`, not followed yet.
    Include {
        /// Where it is written.
        place: Place,
        /// The path as written.
        path: String,
    },
    /// One or more pairs.
    Pairs {
        /// The pairs in their order; never empty.
        pairs: Vec<Pair>,
        /// False where the rest of the line could not be read.
        complete: bool,
    },
}

impl Statement {
    /// Its pairs; none of an `Include`.
    pub fn into_pairs(self) -> Vec<Pair> {
        match self {
            Self::Pairs { pairs, .. } => pairs,
            Self::Include { .. } => Vec::new(),
        }
    }
}

/// A configuration text taken apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// What could be read, in the order of the text.
    pub statements: Vec<Statement>,
    /// What could not.
    pub errors: Errors,
}

/// Takes a configuration text apart. `source` names it in messages. Pure: `Include` is reported, not followed.
pub fn parse(text: &str, source: &str) -> Document {
    let mut document = Document::default();
    let Document { statements, errors } = &mut document;
    parse_each(text, source, errors, &mut |statement| statements.push(statement));
    document
}

/// The same, one statement after the other: a long text is never there as a whole in pieces.
pub(crate) fn parse_each(text: &str, source: &str, errors: &mut Errors, take: &mut dyn FnMut(Statement)) {
    let source: Arc<str> = source.into();
    let mut line = TextLine::default();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (number, physical) in (1..).zip(text.split('\n')) {
        let continued = line.extend(number, physical);
        if !continued {
            statement(&source, &line, errors, take);
            line.clear();
        }
    }
    statement(&source, &line, errors, take);
}

/// Takes the value of `PriorityParameters=` apart: `Key=Value` separated by commas, without quotes and escapes.
/// Empty text and `(null)`, as Slurm prints an unset string, hold nothing.
pub fn parse_list(text: &str, source: &str) -> Document {
    let place = Place { source: source.into(), line: None };
    let mut document = Document::default();
    if text.trim() == "(null)" {
        return document;
    }
    for piece in text.split(',').map(str::trim).filter(|piece| !piece.is_empty()) {
        match piece.split_once('=').map(|(key, value)| (key.trim(), value.trim())) {
            Some((key, value)) if !key.is_empty() && !value.is_empty() => {
                let pair = Pair { place: place.clone(), key: key.into(), value: value.into() };
                document.statements.push(Statement::Pairs { pairs: vec![pair], complete: true });
            }
            _ => document.errors.push(Error {
                place: place.clone(),
                key: String::new(),
                value: piece.into(),
                allowed: "must be Key=Value, with commas between several".into(),
                advice: "correct PriorityParameters in slurm.conf; a value with commas belongs in \
                         multifactor2.conf"
                    .into(),
            }),
        }
    }
    document
}

/// What a line says, if anything.
fn statement(source: &Arc<str>, line: &TextLine, errors: &mut Errors, take: &mut dyn FnMut(Statement)) {
    let mut scanner = Scanner { text: &line.text, at: 0 };
    scanner.skip_space();
    let place = |at| Place { source: Arc::clone(source), line: Some(line.number_at(at)) };
    let start = scanner.at;
    if line.is_too_long {
        let fault = Fault::new("", scanner.rest(), "a line can have at most 1 MiB")
            .advise("write several lines, each with some of the names");
        errors.push(fault.at(place(start)));
    } else if let Some(nul) = line.text.find('\0') {
        let fault = Fault::new("", &line.text[..nul], "must be text without NUL bytes")
            .advise("the file is damaged or not a text file; write it again");
        errors.push(fault.at(place(nul)));
    } else if scanner.skip_include() {
        match scanner.path() {
            Ok(path) => take(Statement::Include { place: place(start), path }),
            Err(fault) => errors.push(fault.at(place(start))),
        }
    } else {
        let (mut pairs, mut complete) = (Vec::new(), true);
        while complete && !scanner.at_end() {
            let start = scanner.at;
            match scanner.pair() {
                Ok((key, value)) => pairs.push(Pair { place: place(start), key, value }),
                Err(fault) => {
                    errors.push(fault.at(place(start)));
                    complete = false;
                }
            }
            scanner.skip_space();
        }
        if !pairs.is_empty() {
            take(Statement::Pairs { pairs, complete });
        }
    }
}

/// A line with its continuations joined, comments removed and escapes still in place.
#[derive(Default)]
struct TextLine {
    text: String,
    /// Offset in `text` where each physical line begins, and its number.
    starts: Vec<(usize, usize)>,
    /// It has more than [`MAX_LINE`]; what is there of it is its beginning.
    is_too_long: bool,
}

impl TextLine {
    /// Appends a physical line and tells whether the next one continues it.
    fn extend(&mut self, number: usize, physical: &str) -> bool {
        let body = without_comment(physical);
        let trimmed = body.trim_end_matches(is_space);
        let backslashes = trimmed.len() - trimmed.trim_end_matches('\\').len();
        let continued = backslashes % 2 == 1;
        let more = if continued { &trimmed[..trimmed.len() - 1] } else { body };
        let has_room = self.text.len() + more.len() <= MAX_LINE;
        if has_room && !self.is_too_long {
            self.starts.push((self.text.len(), number));
            self.text.push_str(more);
        } else if !self.is_too_long {
            self.is_too_long = true;
            self.starts.push((self.text.len(), number));
            self.text.extend(more.chars().take(200));
        }
        continued
    }

    fn clear(&mut self) {
        self.text.clear();
        self.starts.clear();
        self.is_too_long = false;
    }

    fn number_at(&self, offset: usize) -> usize {
        let after = self.starts.partition_point(|&(start, _)| start <= offset);
        after.checked_sub(1).map_or(1, |index| self.starts[index].1)
    }
}

fn without_comment(line: &str) -> &str {
    let mut escaped = false;
    for (offset, byte) in line.bytes().enumerate() {
        match byte {
            b'#' if !escaped => return &line[..offset],
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    line
}

/// White space as the C library's `isspace` has it; Slurm's own files are split by it.
fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n' | '\x0b' | '\x0c')
}

/// A syntax error whose place is not known yet.
struct Fault {
    key: String,
    value: String,
    allowed: &'static str,
    advice: &'static str,
}

impl Fault {
    fn new(key: &str, value: &str, allowed: &'static str) -> Self {
        // No more than a message shows.
        let value = value.chars().take(MAX_SHOWN + 1).collect();
        Fault { key: key.into(), value, allowed, advice: "correct the line" }
    }

    fn advise(self, advice: &'static str) -> Self {
        Fault { advice, ..self }
    }

    fn at(self, place: Place) -> Error {
        let Fault { key, value, allowed, advice } = self;
        Error { place, key, value, allowed: allowed.into(), advice: advice.into() }
    }
}

/// Reads along one [`TextLine`].
struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn at_end(&self) -> bool {
        self.at == self.text.len()
    }

    fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start_matches(is_space).len();
    }

    fn next(&mut self) -> Option<char> {
        let character = self.rest().chars().next()?;
        self.at += character.len_utf8();
        Some(character)
    }

    /// The text up to the next blank, for messages.
    fn word(&self) -> &'a str {
        self.rest().split(is_space).next().unwrap_or_default()
    }

    /// Skips the word `Include` where the line begins with it; `Include=` is not that word.
    fn skip_include(&mut self) -> bool {
        let found = self.word().eq_ignore_ascii_case("include");
        self.at += if found { "include".len() } else { 0 };
        found
    }

    fn path(&mut self) -> Result<String, Fault> {
        const ALLOWED: &str = "must be Include <path>, with one path and nothing else on the line";
        self.skip_space();
        let rest = self.rest();
        let path = self.value("Include")?;
        self.skip_space();
        if path.is_empty() || !self.at_end() {
            return Err(
                Fault::new("Include", rest, ALLOWED).advise("put a path with blanks in double quotes")
            );
        }
        Ok(path)
    }

    fn pair(&mut self) -> Result<(String, String), Fault> {
        let is_key = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let word = self.word();
        let key = &word[..word.find(|c| !is_key(c)).unwrap_or(word.len())];
        self.at += key.len();
        self.skip_space();
        match self.next() {
            Some('=') if key.eq_ignore_ascii_case("include") => {
                Err(Fault::new(key, self.rest(), "must be Include <path>").advise("remove the ="))
            }
            Some('=') if !key.is_empty() => {
                self.skip_space();
                Ok((key.into(), self.value(key)?))
            }
            _ => Err(Fault::new("", word, "must be Key=Value, Include <path> or a comment after #")
                .advise("correct the line, and put a value with blanks in double quotes")),
        }
    }

    fn value(&mut self, key: &str) -> Result<String, Fault> {
        let rest = self.rest();
        if rest.is_empty() {
            return Err(Fault::new(key, "", "a value is missing").advise("give one, or remove the key"));
        }
        let mut value = String::new();
        if !rest.starts_with('"') {
            while !self.at_end() && !self.rest().starts_with(is_space) {
                value.extend(self.literal());
            }
            return Ok(value);
        }
        self.at += 1;
        while !self.rest().starts_with('"') {
            if self.at_end() {
                return Err(Fault::new(key, rest, "a value in double quotes must end on the same line")
                    .advise("add the closing quote, and write # in a value as \\#"));
            }
            value.extend(self.literal());
        }
        self.at += 1;
        if self.at_end() || self.rest().starts_with(is_space) {
            return Ok(value);
        }
        Err(Fault::new(key, rest, "a closing quote must be followed by a blank or the end of the line")
            .advise("put the whole value in quotes, and write a quote in it as \\\""))
    }

    /// The next character, or the one behind a backslash.
    fn literal(&mut self) -> Option<char> {
        match self.next() {
            Some('\\') => self.next(),
            other => other,
        }
    }
}
