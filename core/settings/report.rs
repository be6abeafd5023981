//! What is wrong with the configuration, where, and what the administrator should do about it.
//!
//! Errors and warnings are values: the caller decides whether they prevent a start or are only logged.

use std::fmt;
use std::sync::Arc;

use super::advice::Grade;
use crate::seldom;

/// Errors kept per load, and likewise warnings; a file that is not a configuration at all would give one per line.
pub const MAX_REPORTS: usize = 50;

/// Characters of a value that a message shows.
pub(crate) const MAX_SHOWN: usize = 80;
/// And of a path, which must be found.
const MAX_PATH: usize = 4096;

/// Where a setting was written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file's path, or `PriorityParameters`.
    pub source: Arc<str>,
    /// Line number from 1; `None` in `PriorityParameters`, which has no lines.
    pub line: Option<usize>,
}

/// Where a line with attributes is written, which is nothing that it says: two of them are always equal.
#[derive(Debug, Clone)]
pub struct WrittenAt(pub Place);

impl Default for WrittenAt {
    fn default() -> Self {
        Self(Place { source: "".into(), line: None })
    }
}

impl PartialEq for WrittenAt {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}", Shown(&self.source, MAX_PATH))?;
        self.line.map_or(Ok(()), |line| write!(f, " line {line}"))
    }
}

/// One thing that must be corrected.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Error {
    /// File and line.
    pub place: Place,
    /// The key as written; empty where the text has none.
    pub key: String,
    /// The value, or the text that could not be read; empty where it is missing.
    pub value: String,
    /// What is allowed there, as a phrase: `must be one of eligible, pending, startable`.
    pub allowed: String,
    /// What to do; empty where that is plain from what is allowed.
    pub advice: String,
}

impl fmt::Display for Error {
    /// One line, without control characters whatever the input was.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        match (self.key.as_str(), self.value.as_str()) {
            ("", text) => write!(f, "\"{}\"", Shown(text, MAX_SHOWN))?,
            (key, "") => write!(f, "{}", Shown(key, MAX_SHOWN))?,
            (key, value) => write!(f, "{}={}", Shown(key, MAX_SHOWN), Shown(value, MAX_SHOWN))?,
        }
        write!(f, ": {}", self.allowed)?;
        match self.advice.as_str() {
            "" => Ok(()),
            advice => write!(f, "; {advice}"),
        }
    }
}

/// Something that works, but probably not as meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// File and line.
    pub place: Place,
    /// The key as written.
    pub key: String,
    /// How odd it is.
    pub grade: Grade,
    /// What is odd, and what to do.
    pub advice: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}: {}", self.place, Shown(&self.key, MAX_SHOWN), self.advice)
    }
}

/// All errors of one load: the first [`MAX_REPORTS`], and how many more there were.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Errors {
    kept: Vec<Error>,
    omitted: usize,
}

impl Errors {
    /// Adds an error, or only counts it once there are [`MAX_REPORTS`].
    pub fn push(&mut self, error: Error) {
        if self.kept.len() < MAX_REPORTS {
            self.kept.push(error);
        } else {
            self.omitted += 1;
        }
    }

    /// Whether further errors are only counted.
    pub(crate) fn is_full(&self) -> bool {
        self.kept.len() >= MAX_REPORTS
    }

    /// Counts an error that is not kept.
    pub(crate) fn omit(&mut self) {
        self.omitted += 1;
    }

    /// Adds all errors of `other`.
    pub(crate) fn append(&mut self, other: Errors) {
        other.kept.into_iter().for_each(|error| self.push(error));
        self.omitted += other.omitted;
    }

    /// The errors that were kept, for a log that takes one line each.
    pub fn iter(&self) -> std::slice::Iter<'_, Error> {
        self.kept.iter()
    }

    /// How many errors were counted but not kept.
    pub fn omitted(&self) -> usize {
        self.omitted
    }

    /// Whether nothing was wrong.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Groups the errors by file and orders them by line, as a reader corrects them.
    pub(crate) fn sort(&mut self) {
        seldom::sort_by(&mut self.kept, |a, b| a.place.cmp(&b.place));
    }
}

impl<'a> IntoIterator for &'a Errors {
    type Item = &'a Error;
    type IntoIter = std::slice::Iter<'a, Error>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Errors {
    /// One error per line.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (index, error) in self.iter().enumerate() {
            write!(f, "{}{error}", if index == 0 { "" } else { "\n" })?;
        }
        match self.omitted {
            0 => Ok(()),
            more => write!(f, "\n{more} more errors are not shown"),
        }
    }
}

impl std::error::Error for Error {}
impl std::error::Error for Errors {}

/// Foreign text made fit for one line of a log: control characters escaped, long text cut.
pub(super) struct Shown<'a>(pub &'a str, pub usize);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for character in self.0.chars().take(self.1) {
            match character {
                '"' | '\'' | '\\' => write!(f, "{character}")?,
                other => write!(f, "{}", other.escape_debug())?,
            }
        }
        f.write_str(if self.0.chars().nth(self.1).is_some() { "..." } else { "" })
    }
}
