//! Saves our own sums of usage as text, for the next process.
//!
//! | line | what |
//! |---|---|
//! | `multifactor2_usage 4` | the first: the version of the format; 3 where there are no steps, 2 where there are no books either, 1 where there is no `tres`: nothing then that older ones do not know |
//! | `since TIME RESET` | up to when everything is counted, and when all usage was reset last |
//! | `recipe METRIC HALFLIFE LENGTH DEPTH NEWEST` | what is kept: `yes` or `no`; windows with the number of the current one, or `- - -` |
//! | `tres NAME...` | the TRES whose usage is kept, too |
//! | `books NAME...` | the books whose usage is kept: of each TRES, or else billing |
//! | `removed BOOK NAME LEFT` | a TRES, or billing, of a book that was removed, and the part of its usage that is left |
//! | `all SUM`, `capacity SUM` | what all jobs used, and what the cluster could have given |
//! | `association ID PARENT RAW ACCOUNT USER PARTITION SUM` | its own usage; slurmctld's raw usage at that time |
//! | `used ID AMOUNT...` | what the association on a line before has used: of each TRES, of each book, of each that was removed, in the order of the lines; `-`: what the cluster could have given |
//! | `qos ID RAW DECAYS NAME SUM` | |
//! | `group GID SUM`, `partition NAME SUM` | |
//! | `step KIND NAME NUMBER` | in which step the distance from a target is, with `FSStep` |
//! | `ended JOB STARTED START RUN RATE DECAYED ASSOCIATION QOS QOS GROUP PARTITION AMOUNT...` | what is still to be counted of a job, with as many amounts as `used` has, or none |
//! | `end` | the last, without which the file is not whole |
//!
//! A sum is the decaying usage, followed by the windows, the current one first. `-` stands for what does not exist. In names, everything
//! but letters, digits and `._/:@+-` is written as `%` and two hexadecimal digits per byte; `%` alone is an empty name. Numbers read back
//! exactly.

use std::fmt::Write as _;
use std::str::{FromStr, SplitAsciiWhitespace};

use multifactor2_core::rules::lines_of_file::{behind_first, escaped, not_ours, unescaped, LAST, NONE};
use multifactor2_core::rules::windows::Windows;
use multifactor2_core::seldom;

use super::ended::Ended;
use super::sums::columns::{self, Column};
use super::sums::{Association, Kept, Names, Qos, Recipe, Sums};
use super::tally::{is_amount, Charge, TallyPlace};

const FIRST: &str = "multifactor2_usage ";
const VERSION: u32 = 4;
const WITHOUT_STEPS: u32 = 3;
const WITHOUT_BOOKS: u32 = 2;
const OLDEST: u32 = 1;

/// The end of the year 9999. What is later is not a time.
const LATEST: i64 = 253_402_300_799;

/// What the file holds.
pub fn text(sums: &Sums, ended: &[Ended]) -> String {
    let Recipe { metric, halflife, tres, books, .. } = &sums.recipe;
    let version = match (sums.has_books(), tres.is_empty()) {
        _ if !sums.steps.is_empty() => VERSION,
        (true, _) => WITHOUT_STEPS,
        (false, false) => WITHOUT_BOOKS,
        (false, true) => OLDEST,
    };
    let mut text = format!("{FIRST}{version}\nsince {} {}\n", sums.since, sums.last_reset);
    let _ = write!(text, "recipe {} {} ", escaped(metric), yes_no(*halflife));
    let _ = match &sums.windows {
        Some(windows) => writeln!(text, "{} {} {}", windows.length(), windows.depth(), windows.newest()),
        None => writeln!(text, "{NONE} {NONE} {NONE}"),
    };
    for (word, names) in [("tres", tres), ("books", books)] {
        if !names.is_empty() {
            let names: Vec<String> = names.iter().map(|name| escaped(name)).collect();
            let _ = writeln!(text, "{word} {}", names.join(" "));
        }
    }
    for Column { book, of, left } in sums.columns.iter().skip(columns::count(&sums.recipe)) {
        let book = book.as_deref().unwrap_or_default();
        let _ = writeln!(text, "removed {} {} {}", escaped(book), escaped(of), Number(*left));
    }
    let width = sums.columns.len();
    let used = |text: &mut String, id: Option<u32>, place: TallyPlace| {
        let amounts = &sums.kept[place.index()].columns;
        if width > 0 && !amounts.is_empty() {
            let _ = writeln!(text, "used {}{}", or_none(id), all_of(amounts, width));
        }
    };
    let sum = |text: &mut String, place: TallyPlace| {
        let kept = &sums.kept[place.index()];
        let _ = write!(text, " {}", Number(kept.halflife));
        let count = kept.windows.iter().rposition(|amount| *amount != 0.0).map_or(0, |last| last + 1);
        for amount in &kept.windows[..count] {
            let _ = write!(text, " {}", Number(*amount));
        }
        text.push('\n');
    };
    for (word, place) in [("all", TallyPlace::ALL), ("capacity", TallyPlace::CAPACITY)] {
        text.push_str(word);
        sum(&mut text, place);
    }
    used(&mut text, None, TallyPlace::CAPACITY);
    for (id, known) in sorted(&sums.associations) {
        let Association { place, names, parent, raw, .. } = known;
        if names.is_none() && raw.is_none() && sums.kept[place.index()] == Kept::default() {
            continue;
        }
        let _ = write!(text, "association {id} {} {}", or_none(*parent), or_none(known_amount(*raw)));
        match names {
            Some(Names { account, user, partition }) => {
                for name in [account, user, partition] {
                    let _ = write!(text, " {}", escaped(name));
                }
            }
            None => text.push_str(" - - -"),
        }
        sum(&mut text, *place);
        used(&mut text, Some(*id), *place);
    }
    for (id, known) in sorted(&sums.qos) {
        let name = known.name.as_deref().map(escaped);
        let (raw, decays) = (or_none(known_amount(known.raw)), yes_no(known.decays));
        let _ = write!(text, "qos {id} {raw} {decays} {}", or_none(name));
        sum(&mut text, known.place);
    }
    for (gid, place) in sorted(&sums.groups) {
        let _ = write!(text, "group {gid}");
        sum(&mut text, *place);
    }
    for (name, place) in sorted(&sums.partitions) {
        let _ = write!(text, "partition {}", escaped(name));
        sum(&mut text, *place);
    }
    for ((kind, name), step) in &sums.steps {
        let _ = writeln!(text, "step {} {} {step}", escaped(kind), escaped(name));
    }
    for Ended { job, started, charge, association, qos, group, partition, columns: used, .. } in ended {
        let Charge { start, run, rate, decayed } = charge;
        let _ = writeln!(
            text,
            "ended {job} {started} {start} {run:?} {rate:?} {decayed:?} {} {} {} {} {}{}",
            or_none(*association),
            or_none(qos[0]),
            or_none(qos[1]),
            or_none(*group),
            or_none(partition.as_deref().map(escaped)),
            all_of(used, if used.is_empty() { 0 } else { width }),
        );
    }
    text.push_str(LAST);
    text.push('\n');
    text
}

/// `count` amounts, each after a blank.
fn all_of(amounts: &[f64], count: usize) -> String {
    let amounts = amounts.iter().copied().chain(std::iter::repeat(0.0));
    amounts.take(count).fold(String::new(), |mut text, amount| {
        let _ = write!(text, " {}", Number(amount));
        text
    })
}

/// A number, so that it reads back as it was.
struct Number(f64);

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Seconds times counts, as most are, in a tenth of the time.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // compared below
        let whole = self.0 as u64;
        #[allow(clippy::float_cmp, clippy::cast_precision_loss)]
        if whole < 1 << 53 && whole as f64 == self.0 {
            write!(f, "{whole}")
        } else {
            write!(f, "{:?}", self.0)
        }
    }
}

/// Raw usage of slurmctld's as it can be read back: with negative `TRESBillingWeights` it may be less than nothing.
fn known_amount(raw: Option<f64>) -> Option<Number> {
    raw.filter(|raw| is_amount(*raw)).map(Number)
}

fn yes_no(value: bool) -> &'static str {
    if value {
        "yes"
    } else {
        "no"
    }
}

fn or_none(value: Option<impl ToString>) -> String {
    value.map_or_else(|| NONE.to_owned(), |value| value.to_string())
}

/// In an order that does not change from file to file.
fn sorted<K: Ord, V>(map: &rustc_hash::FxHashMap<K, V>) -> Vec<(&K, &V)> {
    let mut all: Vec<_> = map.iter().collect();
    seldom::sort_by(&mut all, |(a, _), (b, _)| a.cmp(b));
    all
}

/// What a file holds.
///
/// # Errors
/// Why it cannot be used, as a phrase.
pub fn parse(text: &str) -> Result<(Sums, Vec<Ended>), String> {
    let mut reader = Reader::default();
    for (line, number) in behind_first(text, FIRST, OLDEST..=VERSION)?.zip(2..) {
        reader.line(line).ok_or_else(|| not_ours(number))?;
    }
    reader.finish().ok_or_else(|| "a line is missing".to_owned())
}

/// What was read so far.
#[derive(Default)]
struct Reader {
    since: Option<(i64, i64)>,
    sums: Option<Sums>,
    /// `all` and `capacity`.
    totals: [bool; 2],
    ended: Vec<Ended>,
    has_ended: bool,
}

impl Reader {
    /// `None` for a line that cannot be here.
    fn line(&mut self, line: &str) -> Option<()> {
        let mut words = Words(line.split_ascii_whitespace());
        if self.has_ended {
            return None;
        }
        match (words.text()?, &mut self.sums) {
            ("since", None) if self.since.is_none() => {
                self.since = Some((words.time()?, words.time()?));
            }
            ("recipe", None) => self.sums = Some(words.recipe(self.since?)?),
            ("tres", Some(sums)) if self.totals == [false; 2] && sums.columns.is_empty() => {
                sums.recipe.tres = words.names()?;
                sums.columns = columns::of(&sums.recipe);
            }
            ("books", Some(sums))
                if self.totals == [false; 2] && sums.columns.len() == sums.recipe.tres.len() =>
            {
                sums.recipe.books = words.names()?;
                sums.columns = columns::of(&sums.recipe);
            }
            ("removed", Some(sums)) if self.totals == [false; 2] => words.removed(sums)?,
            ("used", Some(sums)) => words.used(sums)?,
            ("all", Some(sums)) if !std::mem::replace(&mut self.totals[0], true) => {
                words.sum(sums, TallyPlace::ALL)?;
            }
            ("capacity", Some(sums)) if !std::mem::replace(&mut self.totals[1], true) => {
                words.sum(sums, TallyPlace::CAPACITY)?;
            }
            ("association", Some(sums)) => words.association(sums)?,
            ("qos", Some(sums)) => words.qos(sums)?,
            ("group", Some(sums)) => {
                let gid = words.number()?;
                let place = sums.new_place();
                words.sum(sums, place)?;
                sums.groups.insert(gid, place).is_none().then_some(())?;
            }
            ("partition", Some(sums)) => {
                let name = words.name()?;
                let place = sums.new_place();
                words.sum(sums, place)?;
                sums.partitions.insert(name, place).is_none().then_some(())?;
            }
            ("step", Some(sums)) => {
                let (of, step) = ((words.name()?, words.name()?), words.number()?);
                sums.steps.insert(of, step).is_none().then_some(())?;
                sums.recipe.steps = true;
            }
            ("ended", Some(sums)) => self.ended.push(words.ended(sums.columns.len())?),
            (LAST, Some(_)) => self.has_ended = true,
            _ => return None,
        }
        words.0.next().is_none().then_some(())
    }

    fn finish(self) -> Option<(Sums, Vec<Ended>)> {
        (self.has_ended && self.totals == [true; 2]).then_some(())?;
        Some((self.sums?, self.ended))
    }
}

/// What is left of a line.
struct Words<'a>(SplitAsciiWhitespace<'a>);

impl<'a> Words<'a> {
    fn text(&mut self) -> Option<&'a str> {
        self.0.next()
    }

    fn name(&mut self) -> Option<String> {
        self.text().and_then(unescaped)
    }

    fn number<T: FromStr>(&mut self) -> Option<T> {
        self.text()?.parse().ok()
    }

    fn time(&mut self) -> Option<i64> {
        self.number().filter(|time| (0..=LATEST).contains(time))
    }

    /// One that may be missing; `None` if it is wrong.
    #[allow(clippy::option_option)]
    fn optional<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        let mut ahead = self.0.clone();
        if ahead.next()? == NONE {
            self.0 = ahead;
            Some(None)
        } else {
            read(self).map(Some)
        }
    }

    fn amount(&mut self) -> Option<f64> {
        self.number().filter(|amount| is_amount(*amount))
    }

    /// The rest of the line: names, each once.
    fn names(&mut self) -> Option<Vec<String>> {
        let mut names: Vec<String> = Vec::new();
        while self.0.clone().next().is_some() {
            names.push(self.name().filter(|name| !names.contains(name))?);
        }
        (!names.is_empty()).then_some(names)
    }

    fn removed(&mut self, sums: &mut Sums) -> Option<()> {
        let (book, of) = (self.name()?, self.name()?);
        let left = self.amount().filter(|left| *left <= 1.0)?;
        let column = Column { book: Some(book), of, left };
        let is_known = |known: &Column| (&known.book, &known.of) == (&column.book, &column.of);
        (!sums.columns.iter().any(is_known)).then(|| sums.columns.push(column))
    }

    /// The rest of the line: `count` amounts.
    fn amounts(&mut self, count: usize) -> Option<Vec<f64>> {
        (0..count).map(|_| self.amount()).collect()
    }

    fn used(&mut self, sums: &mut Sums) -> Option<()> {
        let place = match self.optional(Self::number::<u32>)? {
            None => TallyPlace::CAPACITY,
            Some(id) => sums.associations.get(&id)?.place,
        };
        let amounts = self.amounts(sums.columns.len()).filter(|amounts| !amounts.is_empty())?;
        let kept = &mut sums.kept[place.index()].columns;
        kept.is_empty().then(|| *kept = amounts)
    }

    fn flag(&mut self) -> Option<bool> {
        match self.text()? {
            "yes" => Some(true),
            "no" => Some(false),
            _ => None,
        }
    }

    fn recipe(&mut self, (since, last_reset): (i64, i64)) -> Option<Sums> {
        let (metric, halflife) = (self.name()?, self.flag()?);
        let length = self.optional(|words| words.number::<i64>().filter(|length| *length > 0))?;
        let depth = self
            .optional(|words| words.number::<usize>().filter(|depth| (1..=Windows::MOST).contains(depth)))?;
        let newest = self.optional(Self::number::<i64>)?;
        let windows = match (length, depth, newest) {
            (Some(length), Some(depth), Some(newest)) => Some((length, depth, newest)),
            (None, None, None) => None,
            _ => return None,
        };
        let windows_of_it = windows.map(|(length, depth, _)| (length, depth));
        let recipe = Recipe { metric, halflife, windows: windows_of_it, ..Recipe::default() };
        let mut sums = Sums::new(recipe, since, last_reset);
        sums.windows =
            windows.map(|(length, depth, newest)| Windows::new(length, depth, since).with_newest(newest));
        Some(sums)
    }

    /// The rest of the line.
    fn sum(&mut self, sums: &mut Sums, place: TallyPlace) -> Option<()> {
        let halflife = self.amount()?;
        let depth = sums.windows.map_or(0, |windows| windows.depth());
        let mut windows = Vec::new();
        while self.0.clone().next().is_some() {
            windows.push(self.amount()?);
        }
        (windows.len() <= depth).then_some(())?;
        sums.kept[place.index()] = Kept { halflife, windows, columns: Vec::new() };
        Some(())
    }

    fn association(&mut self, sums: &mut Sums) -> Option<()> {
        let id = self.number::<u32>()?;
        let (parent, raw) = (self.optional(Self::number)?, self.optional(Self::amount)?);
        let mut name = || self.optional(Self::name);
        let names = match (name()?, name()?, name()?) {
            (Some(account), Some(user), Some(partition)) => Some(Names { account, user, partition }),
            (None, None, None) => None,
            _ => return None,
        };
        let place = sums.new_place();
        self.sum(sums, place)?;
        let new = Association { place, names, parent, raw, address: 0 };
        sums.associations.insert(id, new).is_none().then_some(())
    }

    fn qos(&mut self, sums: &mut Sums) -> Option<()> {
        let (id, raw) = (self.number::<u32>()?, self.optional(Self::amount)?);
        let (decays, name) = (self.flag()?, self.optional(Self::name)?);
        let place = sums.new_place();
        self.sum(sums, place)?;
        sums.qos.insert(id, Qos { place, name, raw, decays }).is_none().then_some(())
    }

    fn ended(&mut self, columns: usize) -> Option<Ended> {
        let ended = Ended {
            job: self.number()?,
            started: self.number()?,
            charge: Charge {
                start: self.number()?,
                run: self.amount()?,
                rate: self.amount()?,
                decayed: self.amount()?,
            },
            raw: None,
            association: self.optional(Self::number)?,
            qos: [self.optional(Self::number)?, self.optional(Self::number)?],
            group: self.optional(Self::number)?,
            partition: self.optional(Self::name)?,
            columns: Vec::new(),
        };
        let has_amounts = self.0.clone().next().is_some();
        Some(Ended { columns: if has_amounts { self.amounts(columns)? } else { Vec::new() }, ..ended })
    }
}
