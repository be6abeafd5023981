//! Groups lines of settings into sequences: lines of one name, unit and filter, one after the other in time.

use std::collections::HashMap;

use num_bigint::BigInt;

use super::effects::Filters;
use super::periods::{Pace, Periods};
use super::{Adjust, Exact, Grant, Rule, Split};
use crate::seldom;
use crate::settings::table::grants::exact;
use crate::settings::value::Date;
use crate::settings::{self, GrantBeyond, GrantKind, GrantOutside, GrantPreset, GrantRule, Settings};

/// Seconds of an hour.
const HOUR: i64 = 3600;
/// Seconds of a day.
const DAY: i64 = 86_400;

/// How many words name a line in the ledger, as [`Line::ledger`].
pub(super) const WORDS: usize = 9;

/// Behind the clock, where usage is multiplied with factors: it is another ledger.
const FACTORS: &str = ",factors";

/// Whether usage is multiplied with factors that is kept under a name.
pub fn has_factors(ledger: &str) -> bool {
    Key::read(ledger)
        .is_some_and(|(_, rest)| rest.split(' ').next().is_some_and(|clock| clock.ends_with(FACTORS)))
}

/// Whose grants they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Of what.
    pub kind: GrantKind,
    /// Its name: that of an account or QOS in small letters.
    pub name: String,
    /// The TRES whose hours are granted, in small letters.
    pub unit: String,
    /// The partitions that it is for, in their order; `None` for all.
    pub partitions: Option<Vec<String>>,
    /// The book that these are of.
    pub book: Option<String>,
}

/// A line.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// What it grants. Amounts are in [parts](Sequence::parts) of seconds of the unit.
    pub grant: Grant,
    /// The rule in the words of the settings.
    pub rule: GrantRule,
    /// The rule is that of a center.
    pub preset: Option<GrantPreset>,
    /// What happens to jobs beyond it.
    pub beyond: GrantBeyond,
    /// Points for jobs within it.
    pub within: f64,
    /// What was used before it is counted: by period, in whole parts.
    pub used_before: Vec<i128>,
    /// From when on it is counted; earlier usage is what the line says.
    pub counted_from: Option<i64>,
    /// What its usage is kept under: another one where the file says another beginning, pace or clock.
    pub ledger: String,
    /// Where it is written.
    pub place: settings::WrittenAt,
}

/// The lines of one name, unit and filter.
#[derive(Clone, Debug, PartialEq)]
pub struct Sequence {
    /// Whose.
    pub key: Key,
    /// In the order of their time.
    pub lines: Vec<Line>,
    /// What holds when none does.
    pub outside: GrantOutside,
    /// Days are those of UTC.
    pub is_universal: bool,
    /// Usage is multiplied as slurmctld charges it.
    pub has_factors: bool,
}

/// All grants.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sequences {
    /// In the order in which their first lines are written.
    pub all: Vec<Sequence>,
    filters: Filters,
    /// All units, each once.
    units: Vec<String>,
    /// Which of them each sequence has.
    unit_of: Vec<usize>,
}

impl Key {
    /// That of a name on a line with a unit, and with partitions or a book.
    pub(crate) fn of(
        settings: &Settings,
        (kind, name): (GrantKind, &str),
        unit: &str,
        (partitions, book): (Option<&Vec<String>>, Option<&str>),
    ) -> Self {
        let name = match kind {
            // As Slurm keeps them.
            GrantKind::Account | GrantKind::Qos => name.to_lowercase(),
            GrantKind::User | GrantKind::Group | GrantKind::WcKey => name.to_owned(),
        };
        let of_book = book.map(|book| {
            let lines = settings.books.iter().filter(|line| line.name.eq_ignore_ascii_case(book));
            lines.flat_map(|line| line.partitions.clone()).collect()
        });
        let partitions = of_book.or_else(|| partitions.cloned()).map(|mut partitions: Vec<String>| {
            seldom::sort_by(&mut partitions, Ord::cmp);
            partitions
        });
        Self { kind, name, unit: unit.to_owned(), partitions, book: book.map(str::to_lowercase) }
    }

    /// The same as a text, with no blanks but those between five words.
    pub fn text(&self) -> String {
        use crate::rules::lines_of_file::escaped;
        let partitions =
            self.partitions.as_ref().map_or_else(|| "-".to_owned(), |names| escaped(&names.join(",")));
        let book = self.book.as_deref().map_or_else(|| "-".to_owned(), escaped);
        format!("{} {} {} {partitions} {book}", self.kind, escaped(&self.name), escaped(&self.unit))
    }

    /// That of a text, with what follows its five words.
    pub fn read(text: &str) -> Option<(Self, &str)> {
        use crate::rules::lines_of_file::unescaped;
        let mut words = text.splitn(6, ' ');
        let kind = GrantKind::read(words.next()?)?;
        let (name, unit) = (unescaped(words.next()?)?, unescaped(words.next()?)?);
        let partitions = match words.next()? {
            "-" => None,
            names => Some(unescaped(names)?.split(',').map(str::to_owned).collect()),
        };
        let book = match words.next()? {
            "-" => None,
            book => Some(unescaped(book)?),
        };
        Some((Self { kind, name, unit, partitions, book }, words.next().unwrap_or_default()))
    }

    /// Whether jobs in a partition count.
    pub fn has_partition(&self, name: &str) -> bool {
        self.partitions.as_ref().is_none_or(|all| all.iter().any(|one| one == name))
    }

    /// In words: `account climate`, `user ada in partition gpu`.
    pub fn in_words(&self) -> String {
        let kind = match self.kind {
            GrantKind::Account => "account",
            GrantKind::User => "user",
            GrantKind::Group => "Unix group",
            GrantKind::Qos => "QOS",
            GrantKind::WcKey => "wckey",
        };
        let filter = match (&self.book, &self.partitions) {
            (Some(book), _) => format!(" in book {book}"),
            (None, Some(names)) if names.len() == 1 => format!(" in partition {}", names[0]),
            (None, Some(names)) => format!(" in partitions {}", names.join(",")),
            (None, None) => String::new(),
        };
        format!("{kind} {}{filter}", self.name)
    }
}

/// How many parts a second of a unit has if it is multiplied by factors: the products are rounded to a part, for each second. So what is
/// counted and granted stays exact.
const PARTS: i64 = 1_000_000;

fn parts(has_factors: bool) -> i64 {
    if has_factors {
        PARTS
    } else {
        1
    }
}

impl Line {
    /// From when on, and until when, what is used of it is counted.
    pub(crate) fn counted(&self) -> (i64, i64) {
        let (first, last) = self.grant.periods.whole();
        (first.max(self.counted_from.unwrap_or(first)), last)
    }
}

impl Sequence {
    /// In how many parts each second of the unit is counted.
    pub fn parts(&self) -> i64 {
        parts(self.has_factors)
    }

    /// The parts that a second of a job with `count` of the unit counts, times the factor of the job if factors count.
    pub fn rate(&self, count: i128, factor: impl FnOnce() -> f64) -> i128 {
        /// Far more than a job can use: sums over thousands of years stay numbers that are read again.
        const MOST: f64 = 1_152_921_504_606_846_976.0; // 2^60
        if !self.has_factors || count == 0 {
            return count;
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
        // within bounds; exact up to 2^53
        let rate = (count as f64 * factor() * PARTS as f64).round().clamp(0.0, MOST) as i128;
        rate
    }

    /// The line that holds at a time.
    pub fn line(&self, at: i64) -> Option<&Line> {
        self.line_number(at).map(|number| &self.lines[number])
    }

    /// The same by its number.
    pub(crate) fn line_number(&self, at: i64) -> Option<usize> {
        let holds = |line: &Line| {
            let (first, end) = line.grant.periods.whole();
            (first..end).contains(&at)
        };
        self.lines.iter().position(holds)
    }
}

/// What is worked out once for many lines.
struct Calendar<O> {
    offset: O,
    known: HashMap<(Date, Date, Pace, bool), Option<Periods>>,
}

impl<O: Fn(i64) -> i64> Calendar<O> {
    fn offset(&self, is_universal: bool) -> impl Fn(i64) -> i64 + '_ {
        move |at| if is_universal { 0 } else { (self.offset)(at) }
    }

    fn periods(&mut self, line: &settings::Grant, is_universal: bool) -> Option<Periods> {
        let key = (line.from, line.until, line.pace(), is_universal);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let new = Periods::new(line.from, line.until, line.pace(), &self.offset(is_universal));
        self.known.insert(key, new.clone());
        new
    }
}

impl Sequences {
    /// Those of settings. `offset` says how many seconds local clocks are ahead of UTC at a time.
    pub fn of(settings: &Settings, offset: impl Fn(i64) -> i64) -> Self {
        let mut calendar = Calendar { offset, known: HashMap::new() };
        let mut all: Vec<Sequence> = Vec::new();
        let mut known: HashMap<String, usize> = HashMap::new();
        for line in &settings.grants {
            let Some(unit) = line.tres() else { continue };
            let is_universal = line.is_universal();
            let Some(periods) = calendar.periods(line, is_universal) else { continue };
            for name in &line.names {
                let key = Key::of(
                    settings,
                    (line.kind, name),
                    &unit,
                    (line.partitions.as_ref(), line.book.as_deref()),
                );
                let compiled = compile(line, &key, periods.clone(), &calendar.offset(is_universal));
                let at = *known.entry(key.text()).or_insert_with(|| {
                    all.push(Sequence {
                        key,
                        lines: Vec::new(),
                        outside: GrantOutside::Beyond,
                        is_universal,
                        has_factors: line.has_factors(),
                    });
                    all.len() - 1
                });
                let sequence = &mut all[at];
                if let Some(GrantOutside::None) = line.outside {
                    sequence.outside = GrantOutside::None;
                }
                sequence.lines.push(compiled);
            }
        }
        for line in &settings.adjusts {
            let (Some(unit), Some(amount)) = (line.tres(), exact(&line.amount)) else {
                continue;
            };
            for name in &line.names {
                let of = (line.kind, name.as_str());
                let key = Key::of(settings, of, &unit, (line.partitions.as_ref(), line.book.as_deref()));
                let Some(sequence) = known.get(&key.text()).map(|at| &mut all[*at]) else { continue };
                let at = time(line.at, &calendar.offset(sequence.is_universal));
                let Some(number) = sequence.line_number(at) else { continue };
                let adjust = Adjust {
                    amount: in_parts(&amount, sequence.has_factors),
                    at,
                    spread: line.spread == Some(true),
                };
                sequence.lines[number].grant.adjusts.push(adjust);
            }
        }
        for sequence in &mut all {
            seldom::sort_by_key(&mut sequence.lines, |line| line.grant.periods.whole());
        }
        Self::new(all)
    }

    fn new(all: Vec<Sequence>) -> Self {
        let mut units: Vec<String> = Vec::new();
        let unit_of = all.iter().map(|sequence| {
            let unit = &sequence.key.unit;
            units.iter().position(|known| known == unit).unwrap_or_else(|| {
                units.push(unit.clone());
                units.len() - 1
            })
        });
        let unit_of = unit_of.collect();
        Self { filters: Filters::of(all.iter().map(|sequence| &sequence.key)), all, units, unit_of }
    }

    /// All units, each once.
    pub fn units(&self) -> &[String] {
        &self.units
    }

    /// Which of the units the sequence at a place has.
    pub fn unit_of(&self, place: usize) -> usize {
        self.unit_of.get(place).copied().unwrap_or_default()
    }

    /// The partitions that they are for.
    pub(super) fn filters(&self) -> &Filters {
        &self.filters
    }

    /// Which of them a job is in is said by its association alone.
    pub fn are_by_association(&self) -> bool {
        let is_so =
            |key: &Key| matches!(key.kind, GrantKind::Account | GrantKind::User) && key.partitions.is_none();
        self.all.iter().all(|sequence| is_so(&sequence.key))
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

/// A date by a clock, with its time of day.
fn time(date: Date, offset: &impl Fn(i64) -> i64) -> i64 {
    let of_day = i64::from(date.hour) * HOUR + i64::from(date.minute) * 60 + i64::from(date.second);
    Periods::begin(date, offset) + of_day
}

/// Hours of a unit in parts of its seconds.
fn in_parts(amount: &Exact, has_factors: bool) -> Exact {
    amount * Exact::from_integer((HOUR * parts(has_factors)).into())
}

fn compile(line: &settings::Grant, key: &Key, periods: Periods, offset: &impl Fn(i64) -> i64) -> Line {
    let times =
        |text: &Option<String>, of_preset: Option<Exact>| text.as_deref().and_then(exact).or(of_preset);
    let one = || Exact::from_integer(1.into());
    let is = |preset| line.preset == Some(preset);
    let rule = match line.rule() {
        GrantRule::Carry => Rule::Carry {
            carry_over: times(&line.carry_over, (is(GrantPreset::Jsc) || is(GrantPreset::Nhr)).then(one))
                .unwrap_or_default(),
            borrow: times(&line.borrow, is(GrantPreset::Jsc).then(one)).unwrap_or_default(),
            debt_cap: times(&line.debt_cap, is(GrantPreset::Jsc).then(|| Exact::new(101.into(), 100.into()))),
        },
        GrantRule::Window => Rule::Window,
        GrantRule::Ageing => Rule::Ageing { interval: line.interval.unwrap_or(90) * DAY },
    };
    let counted_from = line.used_until.map(|until| Periods::begin(until, offset));
    let used = line.used.as_deref().unwrap_or_default();
    let used: Vec<i128> = used
        .split(',')
        .filter_map(|number| exact(number.trim()))
        .map(|hours| rounded(&in_parts(&hours, line.has_factors())))
        .collect();
    let used_before = match (&used[..], counted_from) {
        // The period that the last second of it is in.
        ([one], Some(until)) => {
            let period = periods.at(until - 1).unwrap_or(1);
            std::iter::repeat_n(0, period - 1).chain([*one]).collect()
        }
        _ => used,
    };
    let day = |date: Date| format!("{:04}-{:02}-{:02}", date.year, date.month, date.day);
    let ledger = format!(
        "{} {}{} {} {} {}",
        key.text(),
        if line.is_universal() { "UTC" } else { "local" },
        if line.has_factors() { FACTORS } else { "" },
        day(line.from),
        match line.pace() {
            Pace::Month => "month".to_owned(),
            Pace::Quarter => "quarter".to_owned(),
            Pace::Days(days) => format!("{days}days"),
        },
        line.used_until.map_or_else(|| "-".to_owned(), day),
    );
    Line {
        grant: Grant {
            amount: exact(&line.amount)
                .map(|amount| in_parts(&amount, line.has_factors()))
                .unwrap_or_default(),
            split: line.split.unwrap_or(Split::Equal),
            rule,
            adjusts: Vec::new(),
            periods,
        },
        rule: line.rule(),
        preset: line.preset,
        beyond: line.beyond.unwrap_or(GrantBeyond::Low),
        within: line.within.unwrap_or_default(),
        used_before,
        counted_from,
        ledger,
        place: line.place.clone(),
    }
}

/// The nearest whole number, halves up.
fn rounded(amount: &Exact) -> i128 {
    let half = Exact::new(BigInt::from(1), BigInt::from(2));
    super::whole(&(amount + half).floor())
}
