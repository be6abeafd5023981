//! Compares the text of settings with a table of known ones.
//!
//! A plain setting stands alone, and several may share a line; the last one wins. A block begins its line and takes all other pairs of the
//! line as its attributes; blocks add up. The table alone decides: a new setting is a new row.

use super::advice::Grade;
use super::report::{Error, Errors, Place, Warning, MAX_REPORTS, MAX_SHOWN};
use super::text::{Document, Pair, Statement};
use super::value::{Kind, Value, MAX_VALUE};
use std::fmt;

/// Lines that one list setting, such as `Override`, may have.
pub const MAX_LINES: usize = 100_000;
/// Names that all lines of one list setting may have together.
pub const MAX_NAMES: usize = 200_000;

/// One row of a table of settings, or one attribute of a block.
#[derive(Debug)]
pub struct Setting {
    /// The key; its case does not matter.
    pub name: &'static str,
    /// What its value must look like.
    pub kind: Kind,
    /// What applies if it is not written.
    pub absent: Absent,
    /// A value to show: the default, where there is one. Empty for an attribute that another one stands for.
    pub example: &'static str,
    /// What it is for, in whole sentences for the administrator.
    pub meaning: &'static str,
    /// `None` for a plain setting or attribute, the attributes for a block.
    pub attributes: Option<&'static [Setting]>,
    /// The word behind the key of its block that an attribute goes with; `None` where it goes with all.
    pub with: Option<&'static str>,
    /// The pages describe it. Another one does where they do not.
    pub is_described: bool,
}

/// What holds where a setting is not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    /// This value.
    Default(&'static str),
    /// Nothing.
    Unset,
    /// An error: an attribute that its block cannot do without.
    Error,
}

impl Setting {
    /// Its value lists names, and so may be as long as a line.
    fn is_list(&self) -> bool {
        matches!(self.kind, Kind::Names | Kind::Weights { .. } | Kind::Text { is_list: true, .. })
    }

    /// The value that holds where the setting is not written.
    pub fn default_value(&self) -> Option<Value> {
        match self.absent {
            Absent::Default(text) => self.kind.read(text),
            Absent::Unset | Absent::Error => None,
        }
    }
}

impl fmt::Display for Setting {
    /// A line for listings: name, default, what is allowed, meaning; attributes follow, indented.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {} ({}", self.name, self.meaning, self.kind.allowed())?;
        match self.absent {
            Absent::Default(text) => write!(f, "; default {text})")?,
            Absent::Unset => f.write_str(")")?,
            Absent::Error => f.write_str("; required)")?,
        }
        self.attributes.unwrap_or_default().iter().try_for_each(|attribute| write!(f, "\n    {attribute}"))
    }
}

/// A setting that was written, with a value that is allowed.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Where.
    pub place: Place,
    /// Its row in the table.
    pub setting: &'static Setting,
    /// The value; of a block, the one behind the block's own key.
    pub value: Value,
    /// The value as it was written.
    text: String,
    /// The attributes of a block, each at most once.
    attributes: Vec<Entry>,
}

impl Entry {
    /// The value as it was written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// An attribute where it was written.
    pub(crate) fn attribute(&self, name: &str) -> Option<&Entry> {
        self.attributes.iter().find(|entry| entry.setting.name == name)
    }

    /// An attribute's value: as written, else its default.
    pub fn value_of(&self, attribute: &str) -> Option<Value> {
        value_of(&self.attributes, self.setting.attributes.unwrap_or_default(), attribute)
    }
}

impl fmt::Display for Entry {
    /// The entry so that it is read again as it was: `Key=Value`, for a block with its attributes.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (place, key) = (self.place.clone(), self.setting.name.to_owned());
        write!(f, "{}", Pair { place, key, value: self.text.clone() })?;
        self.attributes.iter().try_for_each(|attribute| write!(f, " {attribute}"))
    }
}

/// All that was written, checked against a table.
#[derive(Debug, Clone)]
pub struct Entries {
    table: &'static [Setting],
    /// At most one per row of the table.
    plain: Vec<Entry>,
    blocks: Vec<Entry>,
}

impl Entries {
    /// Nothing was written: every setting has its default.
    pub fn none(table: &'static [Setting]) -> Self {
        Entries { table, plain: Vec::new(), blocks: Vec::new() }
    }

    /// A plain setting where it was written last.
    pub(crate) fn written(&self, name: &str) -> Option<&Entry> {
        self.plain.iter().find(|entry| entry.setting.name == name)
    }

    /// A plain setting's value: as written last, else its default.
    pub fn value_of(&self, name: &str) -> Option<Value> {
        value_of(&self.plain, self.table, name)
    }

    /// All blocks of this name, in the order in which they were written.
    pub fn blocks<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Entry> {
        self.blocks.iter().filter(move |entry| entry.setting.name == name)
    }
}

impl fmt::Display for Entries {
    /// One entry a line, with its place in a comment.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut entries = self.plain.iter().chain(&self.blocks);
        entries.try_for_each(|entry| writeln!(f, "{entry} # {}", entry.place))
    }
}

fn value_of(entries: &[Entry], table: &'static [Setting], name: &str) -> Option<Value> {
    match entries.iter().find(|entry| entry.setting.name == name) {
        Some(entry) => Some(entry.value.clone()),
        None => table.iter().find(|setting| setting.name == name)?.default_value(),
    }
}

/// Compares a document with a table.
///
/// # Errors
/// Everything wrong with the document, its syntax errors included, by file and line.
pub fn check(document: Document, table: &'static [Setting]) -> Result<(Entries, Vec<Warning>), Errors> {
    let mut checker = Checker::new(table);
    document.statements.into_iter().for_each(|statement| checker.take(statement));
    checker.finish(document.errors)
}

/// Compares statements with a table, one after the other.
pub(crate) struct Checker {
    entries: Entries,
    check: Check,
}

impl Checker {
    /// Nothing has been written so far.
    pub(crate) fn new(table: &'static [Setting]) -> Self {
        Self { entries: Entries::none(table), check: Check::default() }
    }

    /// The next statement.
    pub(crate) fn take(&mut self, statement: Statement) {
        match statement {
            Statement::Include { place, path } => self.check.errors.push(Error {
                place,
                key: "Include".into(),
                value: path,
                allowed: "Include is allowed in files only".into(),
                advice: "write the settings here instead".into(),
            }),
            Statement::Pairs { pairs, complete } => self.check.line(&mut self.entries, &pairs, complete),
        }
    }

    /// All that was written; `syntax` are the errors of what is no statement.
    ///
    /// # Errors
    /// Everything wrong, by file and line.
    pub(crate) fn finish(self, mut syntax: Errors) -> Result<(Entries, Vec<Warning>), Errors> {
        let Self { entries, check: Check { errors, warnings, .. } } = self;
        syntax.append(errors);
        if syntax.is_empty() {
            return Ok((entries, warnings));
        }
        syntax.sort();
        Err(syntax)
    }
}

/// Collects what is wrong while statements are compared.
#[derive(Default)]
struct Check {
    errors: Errors,
    warnings: Vec<Warning>,
    /// Lines and names so far, by list setting.
    counts: Vec<(&'static str, usize, usize)>,
}

impl Check {
    fn line(&mut self, entries: &mut Entries, pairs: &[Pair], complete: bool) {
        for (index, pair) in pairs.iter().enumerate() {
            match find(entries.table, &pair.key) {
                None => {
                    self.unknown(entries.table.iter(), pair);
                    // What follows a misspelt block key are its attributes: they would only add noise.
                    if nearest(
                        &pair.key,
                        entries.table.iter().filter(|s| s.attributes.is_some()).map(|s| s.name),
                    )
                    .is_some()
                    {
                        return;
                    }
                }
                Some(Setting { attributes: None, .. }) => {
                    self.insert(&mut entries.plain, entries.table, pair);
                }
                Some(setting) if pair.place.line.is_none() => {
                    self.refuse(
                        pair,
                        "allowed in multifactor2.conf only",
                        format!("move {} there", setting.name),
                    );
                }
                Some(setting) if index > 0 => {
                    let advice = "begin a new line with it".into();
                    self.refuse(
                        pair,
                        &format!("{} is allowed at the beginning of a line only", setting.name),
                        advice,
                    );
                    return;
                }
                Some(setting) => {
                    if self.has_room(setting, pair, &pairs[1..]) {
                        entries.blocks.extend(self.block(setting, pair, &pairs[1..], complete));
                    }
                    return;
                }
            }
        }
    }

    /// Counts a line of a list setting; false where there are too many, which is an error once.
    fn has_room(&mut self, setting: &'static Setting, head: &Pair, rest: &[Pair]) -> bool {
        let known = setting.attributes.unwrap_or_default();
        let lists = rest.iter().filter(|pair| find(known, &pair.key).is_some_and(Setting::is_list));
        let more: usize = lists.map(|pair| 1 + pair.value.matches(',').count()).sum();
        let at = self.counts.iter().position(|(name, ..)| *name == setting.name).unwrap_or_else(|| {
            self.counts.push((setting.name, 0, 0));
            self.counts.len() - 1
        });
        let (_, lines, names) = &mut self.counts[at];
        let before = *lines <= MAX_LINES && *names <= MAX_NAMES;
        (*lines, *names) = (*lines + 1, *names + more);
        let (lines, names) = (*lines, *names);
        if before && lines > MAX_LINES {
            let allowed = format!("at most {MAX_LINES} lines with {} are allowed", setting.name);
            self.refuse(head, &allowed, "put names with the same values on one line".into());
        } else if before && names > MAX_NAMES {
            let allowed = format!("at most {MAX_NAMES} names are allowed in all lines with {}", setting.name);
            self.refuse(head, &allowed, "remove names, or name an account instead".into());
        }
        lines <= MAX_LINES && names <= MAX_NAMES
    }

    fn block(
        &mut self,
        setting: &'static Setting,
        head: &Pair,
        rest: &[Pair],
        complete: bool,
    ) -> Option<Entry> {
        let known = setting.attributes.unwrap_or_default();
        let value = self.value(setting, head);
        let goes = |attribute: &Setting| match (attribute.with, &value) {
            (Some(with), Some(Value::Choice(word))) => with == *word,
            _ => true,
        };
        let mut attributes = Vec::with_capacity(rest.len().min(known.len()));
        for pair in rest {
            match find(known, &pair.key) {
                None => self.unknown(known.iter().filter(|setting| goes(setting)), pair),
                Some(attribute) if !goes(attribute) => {
                    let with = attribute.with.unwrap_or_default();
                    let allowed = format!("{} is allowed with {}={with} only", attribute.name, setting.name);
                    self.refuse(pair, &allowed, format!("move it to a line with {}={with}", setting.name));
                }
                Some(_) => self.insert(&mut attributes, known, pair),
            }
        }
        let written =
            |attribute: &Setting| rest.iter().any(|pair| pair.key.eq_ignore_ascii_case(attribute.name));
        for attribute in known.iter().filter(|a| complete && a.absent == Absent::Error && !written(a)) {
            let allowed = format!("{} is missing on the line", attribute.name);
            self.refuse(head, &allowed, format!("add {}=..., {}", attribute.name, attribute.kind.allowed()));
        }
        Some(Entry {
            place: head.place.clone(),
            setting,
            value: value?,
            text: head.value.clone(),
            attributes,
        })
    }

    /// Reads a pair into `entries`, replacing what stands there under the same key.
    fn insert(&mut self, entries: &mut Vec<Entry>, table: &'static [Setting], pair: &Pair) {
        let Some(setting) = find(table, &pair.key) else { return self.unknown(table.iter(), pair) };
        let Some(value) = self.value(setting, pair) else { return };
        let (place, text) = (pair.place.clone(), pair.value.clone());
        let entry = Entry { place, setting, value, text, attributes: Vec::new() };
        let Some(earlier) = entries.iter_mut().find(|entry| std::ptr::eq(entry.setting, setting)) else {
            return entries.push(entry);
        };
        if self.warnings.len() < MAX_REPORTS {
            let advice = format!("replaces the value of {}; remove one of the two", earlier.place);
            self.warnings.push(Warning {
                place: pair.place.clone(),
                key: pair.key.clone(),
                grade: Grade::WithoutEffect,
                advice,
            });
        }
        *earlier = entry;
    }

    fn value(&mut self, setting: &Setting, pair: &Pair) -> Option<Value> {
        if pair.value.len() > MAX_VALUE && !setting.is_list() {
            let allowed = format!("a value can have at most {MAX_VALUE} bytes");
            self.refuse(pair, &allowed, "shorten it".into());
            return None;
        }
        let value = setting.kind.read(&pair.value);
        if value.is_none() {
            let meant = match setting.kind {
                Kind::Choice(words) => nearest(&pair.value, words.iter().map(|word| word.text)),
                _ => None,
            };
            let remedy = match setting.absent {
                Absent::Default(text) => format!("correct it, or remove it to use the default {text}"),
                Absent::Unset | Absent::Error => String::new(),
            };
            self.refuse(pair, &format!("must be {}", setting.kind.allowed()), did_you_mean(meant, remedy));
        }
        value
    }

    fn unknown<'t>(&mut self, table: impl Iterator<Item = &'t Setting> + Clone, pair: &Pair) {
        if self.errors.is_full() {
            return self.errors.omit();
        }
        let described = table.clone().filter(|setting| setting.is_described);
        let known = described.map(|setting| setting.name).collect::<Vec<_>>().join(", ");
        let meant = nearest(&pair.key, table.map(|setting| setting.name));
        self.refuse(
            pair,
            &format!("unknown key; known keys are {known}"),
            did_you_mean(meant, "correct the key, or remove it".into()),
        );
    }

    fn refuse(&mut self, pair: &Pair, allowed: &str, advice: String) {
        if self.errors.is_full() {
            return self.errors.omit();
        }
        // No more than a message shows.
        let shown = |text: &str| text.chars().take(MAX_SHOWN + 1).collect();
        let (place, key, value) = (pair.place.clone(), shown(&pair.key), shown(&pair.value));
        self.errors.push(Error { place, key, value, allowed: allowed.into(), advice });
    }
}

fn find(table: &'static [Setting], key: &str) -> Option<&'static Setting> {
    table.iter().find(|setting| setting.name.eq_ignore_ascii_case(key))
}

/// A guess before the remedy, if there is one.
fn did_you_mean(word: Option<&str>, remedy: String) -> String {
    match word {
        None => remedy,
        Some(word) if remedy.is_empty() => format!("did you mean {word}?"),
        Some(word) => format!("did you mean {word}? Otherwise {remedy}"),
    }
}

/// The known word that `word` was probably meant to be: at most a third of it mistyped.
fn nearest(word: &str, known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    // Longer than any known word could be mistyped; also bounds the work for garbage.
    if word.len() > 64 {
        return None;
    }
    let word = word.to_ascii_lowercase();
    known
        .map(|candidate| (strsim::osa_distance(&word, &candidate.to_ascii_lowercase()), candidate))
        .filter(|&(distance, candidate)| distance <= 1.max(candidate.len() / 3))
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}
