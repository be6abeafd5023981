//! Collects an answer while it is written: lines of three kinds, and notes.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;

use multifactor2_core::settings::text;
use multifactor2_core::settings::Place;
use schemars::JsonSchema;
use serde::Serialize;

use super::page::{self, Why};
use crate::output::escape::is_treacherous;

/// What to do with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Use {
    /// Take it as it is.
    Take,
    /// Another way to the same: take one of the two.
    Instead,
    /// A part of a line that is there, such as that of a partition.
    AddTo,
}

/// A line of a file, or a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DraftLine {
    /// As it is to be written.
    pub text: String,
    /// What to do with it.
    #[serde(rename = "use")]
    pub how: Use,
    /// What there is to know; often empty.
    pub remark: String,
    /// What it came from, with its place.
    pub from: Vec<String>,
}

/// Something without a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Note {
    /// Why there is none.
    pub why: Why,
    /// What it is about, with its place.
    pub from: String,
    /// The reason, and what to do.
    pub remark: String,
}

/// What was read: a parameter or attribute, and where.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub place: Place,
    /// The name of the parameter, for messages.
    pub key: String,
    /// Its value.
    pub value: String,
}

impl Item {
    /// As messages and comments show it.
    pub fn shown(&self) -> String {
        let what = format!("{} {}", self.key, self.value);
        format!("{}: {}", self.place, what.trim())
    }
}

/// Lines of one kind. What comes from several places is one line.
#[derive(Default)]
pub(super) struct Lines {
    pub all: Vec<DraftLine>,
    by_text: HashMap<String, usize>,
}

impl Lines {
    fn add(&mut self, text: String, how: Use, remark: &str, from: &[&Item]) {
        let from = from.iter().map(|item| item.shown());
        if let Some(at) = self.by_text.get(&text) {
            self.all[*at].from.extend(from);
            return;
        }
        self.by_text.insert(text.clone(), self.all.len());
        self.all.push(DraftLine { text, how, remark: remark.into(), from: from.collect() });
    }

    /// Whether there is a line.
    pub fn has(&self, text: &str) -> bool {
        self.by_text.contains_key(text)
    }
}

#[derive(Default)]
pub(super) struct Draft {
    pub ours: Lines,
    pub slurm: Lines,
    pub sacctmgr: Lines,
    /// Words of parameters of slurm.conf that are lists, such as `PriorityFlags`.
    lists: Vec<(&'static str, Vec<String>, DraftLine)>,
    pub notes: Vec<Note>,
    /// The places that something says something of.
    mentioned: BTreeSet<Place>,
}

impl Draft {
    fn mention(&mut self, from: &[&Item]) {
        self.mentioned.extend(from.iter().map(|item| item.place.clone()));
    }

    /// Whether something says something of it.
    pub fn is_mentioned(&self, item: &Item) -> bool {
        self.mentioned.contains(&item.place)
    }

    /// A note of each of these that nothing says anything of.
    pub fn rest(&mut self, items: &[Item]) {
        for item in items {
            if !self.mentioned.contains(&item.place) {
                self.note(Why::Nothing, "This changes nothing here.", &[item]);
            }
        }
    }

    /// Puts another draft behind this one.
    pub fn append(&mut self, other: Draft) {
        for (lines, others) in [
            (&mut self.ours, other.ours),
            (&mut self.slurm, other.slurm),
            (&mut self.sacctmgr, other.sacctmgr),
        ] {
            for line in others.all {
                lines.by_text.insert(line.text.clone(), lines.all.len());
                lines.all.push(line);
            }
        }
        for (key, words, line) in other.lists {
            for word in words {
                self.list(key, &word, &line.remark, &line.from);
            }
        }
        self.notes.extend(other.notes);
        self.mentioned.extend(other.mentioned);
    }

    /// All lines of slurm.conf, lists last.
    pub fn slurm_lines(&mut self) -> Vec<DraftLine> {
        let mut lines = std::mem::take(&mut self.slurm.all);
        for (key, words, line) in std::mem::take(&mut self.lists) {
            lines.push(DraftLine { text: format!("{key}={}", words.join(",")), ..line });
        }
        lines
    }

    pub fn ours(&mut self, text: impl Into<String>, remark: &str, from: &[&Item]) {
        self.mention(from);
        self.ours.add(text.into(), Use::Take, remark, from);
    }

    /// A line of ours that is another way to what is written already.
    pub fn ours_instead(&mut self, text: impl Into<String>, remark: &str, from: &[&Item]) {
        self.mention(from);
        self.ours.add(text.into(), Use::Instead, remark, from);
    }

    pub fn slurm(&mut self, text: impl Into<String>, remark: &str, from: &[&Item]) {
        self.mention(from);
        self.slurm.add(text.into(), Use::Take, remark, from);
    }

    /// One more word in a parameter with a list, such as `PriorityFlags`.
    pub fn slurm_list(&mut self, key: &'static str, word: &str, remark: &str, from: &[&Item]) {
        self.mention(from);
        let from: Vec<String> = from.iter().map(|item| item.shown()).collect();
        self.list(key, word, remark, &from);
    }

    fn list(&mut self, key: &'static str, word: &str, remark: &str, from: &[String]) {
        let at = self.lists.iter().position(|(known, ..)| *known == key).unwrap_or_else(|| {
            let line =
                DraftLine { text: String::new(), how: Use::Take, remark: String::new(), from: Vec::new() };
            self.lists.push((key, Vec::new(), line));
            self.lists.len() - 1
        });
        let (_, words, line) = &mut self.lists[at];
        if !words.iter().any(|known| known == word) {
            words.push(word.to_owned());
            if !line.remark.contains(remark) {
                line.remark = format!("{} {remark}", line.remark).trim().into();
            }
        }
        for from in from {
            if line.from.last() != Some(from) {
                line.from.push(from.clone());
            }
        }
    }

    /// A part of the line of a partition.
    pub fn partition(&mut self, name: &str, rest: &str, remark: &str, from: &[&Item]) {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "_.-".contains(letter);
        if name.is_empty() || !name.chars().all(plain) {
            let remark =
                "a partition of Slurm cannot have this name: give it another, and write the line by hand";
            self.note(Why::ByHand, remark, from);
            return;
        }
        self.mention(from);
        self.slurm.add(format!("PartitionName={name} {rest}"), Use::AddTo, remark, from);
    }

    /// A command of sacctmgr, from words that are quoted for the shell where they need it.
    pub fn sacctmgr(&mut self, how: Use, words: &[&str], remark: &str, from: &[&Item]) {
        let mut text = "sacctmgr -i".to_owned();
        for word in words {
            let _ = write!(text, " {}", quoted(word));
        }
        self.mention(from);
        self.sacctmgr.add(text, how, remark, from);
    }

    pub fn note(&mut self, why: Why, remark: &str, from: &[&Item]) {
        self.mention(from);
        let from = from.iter().map(|item| item.shown()).collect::<Vec<_>>().join(", ");
        self.notes.push(Note { why, from, remark: remark.into() });
    }

    /// A note with what the page says of a parameter. False where it says nothing.
    pub fn page(&mut self, words: &[&str], from: &Item) -> bool {
        let Some((why, remark)) = page::says(words) else { return false };
        let remark = match (remark, why) {
            ("", Why::NotYet) => "Not built yet.",
            ("", _) => "Nothing to write.",
            (remark, _) => remark,
        };
        self.note(why, remark, &[from]);
        true
    }

    pub fn unknown(&mut self, item: &Item) {
        self.note(
            Why::Unknown,
            "Unknown here: not about priorities and shares, or misspelt.",
            &[item],
        );
    }

    /// Something that cannot be read: it is left out, and all else is translated. Without `advice` what is allowed says enough.
    pub fn error(&mut self, item: &Item, allowed: impl Into<String>, advice: &str) {
        let allowed: String = allowed.into();
        let remark = if advice.is_empty() { allowed } else { format!("{allowed}; {advice}") };
        self.note(Why::Unreadable, &remark, &[item]);
    }

    /// A number within a range; else an error.
    pub fn number(&mut self, item: &Item, text: &str, min: f64, max: f64) -> Option<f64> {
        let number = text.trim().parse::<f64>().ok().filter(|number| (min..=max).contains(number));
        if number.is_none() {
            self.error(item, format!("must be a number from {min} to {max}"), "");
        }
        // No minus before nothing.
        number.map(|number| number + 0.0)
    }

    /// A whole number within a range; else an error.
    pub fn integer(&mut self, item: &Item, text: &str, min: i64, max: i64) -> Option<i64> {
        let number = text.trim().parse::<i64>().ok().filter(|number| (min..=max).contains(number));
        if number.is_none() {
            self.error(item, format!("must be a whole number from {min} to {max}"), "");
        }
        number
    }

    /// Yes or no, in any of the words that these schedulers take; else an error.
    pub fn yes_no(&mut self, item: &Item) -> Option<bool> {
        match item.value.to_ascii_uppercase().as_str() {
            "TRUE" | "ON" | "YES" | "1" | "T" | "Y" => Some(true),
            "FALSE" | "OFF" | "NO" | "0" | "F" | "N" => Some(false),
            _ => {
                self.error(item, "must be TRUE or FALSE", "");
                None
            }
        }
    }

    /// Whether a text can be a name; else an error. A name is pasted into terminals: nothing in it may steer one. `*` would be everybody.
    pub fn name(&mut self, item: &Item, name: &str) -> bool {
        let good = !matches!(name.trim(), "" | "*") && name.len() <= 200 && !name.chars().any(is_treacherous);
        if !good {
            let shown = Item { value: name.into(), ..item.clone() };
            let allowed = "a name must have 1 to 200 bytes, none of them a control or direction character, and must \
                           not be *";
            self.error(&shown, allowed, "correct the name");
        }
        good
    }
}

/// A word of a command, such that a shell gives it on as it is, whatever it is.
pub(in crate::answers) fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_.,:+/=@%-".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Whether sacctmgr takes a name as one name, and not as an option, a list or a keyword.
pub(super) fn is_name_of_sacctmgr(name: &str) -> bool {
    !name.starts_with('-')
        && name.trim() == name
        && !name.contains([',', '=', '[', ']', '"', '\'', '\\', '+'])
}

/// `Name=` with names separated by commas. None where one of them has a comma itself, or blanks around it.
pub(super) fn names_written(names: &[&str]) -> Option<String> {
    let good = |name: &&str| !name.contains(',') && name.trim() == *name && !name.is_empty() && *name != "*";
    (names.iter().all(good) || names == ["*"]).then(|| text::written("Name", &names.join(",")))
}

/// A number that was computed, to a thousandth.
pub(super) fn rounded(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}

/// Seconds as `hours:minutes:seconds`, or `days-hours:minutes:seconds` from a day on.
pub(super) fn clock(seconds: u64) -> String {
    let clock = format!("{:02}:{:02}:{:02}", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    match seconds / 86_400 {
        0 => clock,
        days => format!("{days}-{clock}"),
    }
}

/// A place in a file.
pub(super) fn place(source: &Arc<str>, line: usize) -> Place {
    Place { source: Arc::clone(source), line: Some(line) }
}
