//! Reads single values: which kinds exist, what each allows, and what it gives.
//!
//! Every kind is a pure function from text to value, so that all settings accept and reject the same notations.

use std::collections::HashSet;
use std::fmt;

/// Bytes that a value may have which lists no names.
pub const MAX_VALUE: usize = 4096;
/// Bytes that a name in a list may have: as many as Slurm's database keeps of one.
pub const MAX_NAME: usize = 255;

/// What a value must look like.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// One of these words, in any case.
    Choice(&'static [Word]),
    /// A whole number in this inclusive range.
    Integer {
        /// Smallest value.
        min: i64,
        /// Largest value.
        max: i64,
    },
    /// A finite decimal number in this inclusive range; `f64::INFINITY` as `max` leaves it open.
    Decimal {
        /// Smallest value.
        min: f64,
        /// Largest value.
        max: f64,
    },
    /// A finite decimal number of more than 0.
    PositiveDecimal,
    /// 0, or a finite decimal number of at least `min`.
    ZeroOrDecimal {
        /// Smallest value besides 0.
        min: f64,
    },
    /// A switch.
    YesNo,
    /// A time span in the notations of Slurm's time limits.
    Duration,
    /// Such a time span of more than 0.
    PositiveDuration,
    /// A calendar date, with a time of day where given.
    Date,
    /// The same, but a date without a time of day means the last second of that day.
    EndDate,
    /// Names separated by commas.
    Names,
    /// `name:number` separated by commas, each number in the inclusive range.
    Weights {
        /// Smallest number.
        min: f64,
        /// Largest number.
        max: f64,
    },
    /// Anything that the function accepts.
    Text {
        /// What that is, as a noun phrase.
        allowed: &'static str,
        /// It lists names.
        is_list: bool,
        /// The test.
        accepts: fn(&str) -> bool,
    },
}

/// A word that is a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    /// The word as the table spells it.
    pub text: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

/// A value that was read.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// The word as the table spells it.
    Choice(&'static str),
    /// A whole number.
    Integer(i64),
    /// A finite number.
    Decimal(f64),
    /// A switch.
    YesNo(bool),
    /// Seconds.
    Duration(u64),
    /// A calendar date and time of day.
    Date(Date),
    /// At least one name, none empty, each once.
    Names(Vec<String>),
    /// At least one name with its finite number, each name once.
    Weights(Vec<(String, f64)>),
    /// Accepted text.
    Text(String),
}

/// A date and time of day without a time zone, in that of the controller's clock. Dates are ordered by time, so that they can be compared
/// with the parts of the current local time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    /// Gregorian year, 1970 to 9999.
    pub year: u16,
    /// 1 to 12.
    pub month: u8,
    /// 1 to the last day of the month.
    pub day: u8,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59; 0 where not given.
    pub second: u8,
}

impl fmt::Display for Date {
    /// As [`Kind::Date`] reads it.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Date { year, month, day, hour, minute, second } = self;
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
    }
}

/// What a date without a time of day means: hour, minute and second.
const DAY_BEGINS: [u64; 3] = [0, 0, 0];
const DAY_ENDS: [u64; 3] = [23, 59, 59];

const SPANS: &str =
    "a time written as minutes, minutes:seconds, hours:minutes:seconds or days-hours[:minutes[:seconds]]";
const DATES: &str = "a date YYYY-MM-DD[Thh:mm[:ss]] from 1970 on";

const YES: [&str; 3] = ["yes", "true", "1"];
const NO: [&str; 3] = ["no", "false", "0"];

impl Kind {
    /// Reads a value; `None` where the text is not allowed.
    pub fn read(&self, text: &str) -> Option<Value> {
        let is_one_of = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
        match *self {
            Kind::Choice(words) => words
                .iter()
                .find(|word| word.text.eq_ignore_ascii_case(text))
                .map(|word| Value::Choice(word.text)),
            Kind::Integer { min, max } => {
                text.parse().ok().filter(|number| (min..=max).contains(number)).map(Value::Integer)
            }
            Kind::Decimal { min, max } => decimal(text, min, max).map(Value::Decimal),
            Kind::PositiveDecimal => {
                decimal(text, 0.0, f64::INFINITY).filter(|number| *number > 0.0).map(Value::Decimal)
            }
            Kind::ZeroOrDecimal { min } => decimal(text, 0.0, f64::INFINITY)
                .filter(|number| *number == 0.0 || *number >= min)
                .map(Value::Decimal),
            Kind::YesNo if is_one_of(&YES) => Some(Value::YesNo(true)),
            Kind::YesNo => is_one_of(&NO).then_some(Value::YesNo(false)),
            Kind::Duration => duration(text).map(Value::Duration),
            Kind::PositiveDuration => duration(text).filter(|seconds| *seconds > 0).map(Value::Duration),
            Kind::Date => date(text, DAY_BEGINS).map(Value::Date),
            Kind::EndDate => date(text, DAY_ENDS).map(Value::Date),
            Kind::Names => names(text).map(Value::Names),
            Kind::Weights { min, max } => weights(text, min, max).map(Value::Weights),
            Kind::Text { accepts, .. } => accepts(text).then(|| Value::Text(text.into())),
        }
    }

    /// What [`Kind::read`] accepts, as a noun phrase: `one of eligible, pending, startable`.
    pub fn allowed(&self) -> String {
        let range = |min: f64, max: f64| {
            if max.is_finite() {
                format!("from {min} to {max}")
            } else {
                format!("of {min} or more")
            }
        };
        match self {
            Kind::Choice(words) => {
                let words: Vec<_> = words.iter().map(|word| word.text).collect();
                format!("one of {}", words.join(", "))
            }
            Kind::Integer { min, max } => format!("a whole number from {min} to {max}"),
            Kind::Decimal { min, max } => format!("a number {}", range(*min, *max)),
            Kind::PositiveDecimal => "a number above 0".into(),
            Kind::ZeroOrDecimal { min } => format!("0, or a number of {min} or more"),
            Kind::YesNo => format!("one of {}, {}", YES.join(", "), NO.join(", ")),
            Kind::Duration => SPANS.into(),
            Kind::PositiveDuration => format!("{SPANS}, longer than 0 seconds"),
            Kind::Date => DATES.into(),
            Kind::EndDate => format!("{DATES} (without a time, the end of that day)"),
            Kind::Names => "names separated by commas, each once and at most 255 bytes long".into(),
            Kind::Weights { min, max } => {
                format!(
                    "name:number pairs separated by commas, each name once and at most 255 bytes long, each number {}",
                    range(*min, *max)
                )
            }
            Kind::Text { allowed, .. } => (*allowed).into(),
        }
    }
}

fn decimal(text: &str, min: f64, max: f64) -> Option<f64> {
    text.parse::<f64>().ok().filter(|number| number.is_finite() && (min..=max).contains(number))
}

/// Seconds of a span written as Slurm writes time limits. A bare number is minutes; parts may exceed 59.
fn duration(text: &str) -> Option<u64> {
    let (days, clock) = match text.split_once('-') {
        Some((days, clock)) => (Some(digits(days)?), clock),
        None => (None, text),
    };
    let parts = clock.split(':').map(digits).collect::<Option<Vec<u64>>>()?;
    let (hours, minutes, seconds) = match (days, parts.as_slice()) {
        (None, &[minutes]) => (0, minutes, 0),
        (None, &[minutes, seconds]) => (0, minutes, seconds),
        (Some(_), &[hours]) => (hours, 0, 0),
        (Some(_), &[hours, minutes]) => (hours, minutes, 0),
        (_, &[hours, minutes, seconds]) => (hours, minutes, seconds),
        _ => return None,
    };
    // `digits` gives less than 10^9, so nothing here comes near 2^64.
    Some(days.unwrap_or(0) * 86_400 + hours * 3_600 + minutes * 60 + seconds)
}

/// Seconds as Slurm writes a length of time: `days-hours:minutes:seconds`, without zero days. [`Kind::Duration`] reads the same seconds
/// back.
pub fn clock(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let clock = format!("{:02}:{:02}:{:02}", rest / 3_600, rest / 60 % 60, rest % 60);
    if days > 0 {
        format!("{days}-{clock}")
    } else {
        clock
    }
}

/// A number of one to nine decimal digits, without a sign.
fn digits(text: &str) -> Option<u64> {
    let plain = (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

/// A date; without a time of day, `time` of that day.
fn date(text: &str, time: [u64; 3]) -> Option<Date> {
    let (day, clock) = text.split_once(['T', 't']).map_or((text, None), |(day, clock)| (day, Some(clock)));
    let fields = |text: &str, separator, widths: &[usize]| {
        let parts: Vec<&str> = text.split(separator).collect();
        let fits =
            parts.len() <= widths.len() && parts.iter().zip(widths).all(|(part, &width)| part.len() == width);
        fits.then(|| parts.into_iter().map(digits).collect::<Option<Vec<u64>>>()).flatten()
    };
    let &[year, month, day] = fields(day, '-', &[4, 2, 2])?.as_slice() else { return None };
    let (hour, minute, second) = match clock.map(|clock| fields(clock, ':', &[2, 2, 2])) {
        None => time.into(),
        Some(clock) => match *clock?.as_slice() {
            [hour, minute] => (hour, minute, 0),
            [hour, minute, second] => (hour, minute, second),
            _ => return None,
        },
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last_day = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    let valid = year >= 1970 && (1..=last_day).contains(&day) && hour < 24 && minute < 60 && second < 60;
    let small = |number: u64| u8::try_from(number).ok();
    if !valid {
        return None;
    }
    Some(Date {
        year: u16::try_from(year).ok()?,
        month: small(month)?,
        day: small(day)?,
        hour: small(hour)?,
        minute: small(minute)?,
        second: small(second)?,
    })
}

fn names(text: &str) -> Option<Vec<String>> {
    let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
    are_names(names.iter()).then_some(names)
}

fn weights(text: &str, min: f64, max: f64) -> Option<Vec<(String, f64)>> {
    let weight = |part: &str| {
        let (name, number) = part.rsplit_once(':')?;
        Some((name.trim().to_owned(), decimal(number.trim(), min, max)?))
    };
    let weights = text.split(',').map(weight).collect::<Option<Vec<_>>>()?;
    are_names(weights.iter().map(|(name, _)| name)).then_some(weights)
}

/// Whether no name is empty or too long, and each occurs once.
fn are_names<'a>(mut names: impl Iterator<Item = &'a String>) -> bool {
    let mut seen = HashSet::new();
    names.all(|name| (1..=MAX_NAME).contains(&name.len()) && seen.insert(name))
}
