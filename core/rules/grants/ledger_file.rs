//! Saves the ledger of grants as text, for the next process.
//!
//! | line | what |
//! |---|---|
//! | `multifactor2_grants 1` | the first: the version of the format |
//! | `ledger_of ID TIME BEFORE CORRECTED` | which ledger it is, T, before when nobody knows what was used, and T of the latest correction; `-` for never |
//! | `calendar FROM BORDER...` | when periods begin and the last one ends, and from when on usage is counted; the first one is number 0 |
//! | `ledger KIND NAME UNIT PARTITIONS BOOK CLOCK FROM PACE UNTIL CALENDAR BEGUN KEEP CHANGED STATE USED...` | the usage of a line of settings, by period, in seconds of the unit, or in millionths of them where `CLOCK`, `local` or `UTC`, has `,factors` behind it; `STATE` is `within`, `beyond`, `unknown` or `-`; `USED` is what was counted, and behind it with its sign what the accounting adds, where it was asked |
//! | `days BEGIN AMOUNT...` | the same of the latest days |
//! | `group NAME GID` | the number of a Unix group that a line names |
//! | `account NAME TIME PARENT...` | from when on an account was below which one; `%` for none, `-` where it was removed |
//! | `mark JOB STARTED TIME RAN` | a job that runs and was suspended or resized: it is counted up to that time |
//! | `ended JOB STARTED START RUN END KIND NAME UNIT PARTITIONS BOOK RATE...` | what is still to be counted of a job; `END` is `own` or `resize` |
//! | `end` | the last, without which the file is not whole |

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::str::{FromStr, SplitAsciiWhitespace};

use super::ledger::{Account, Calendar, Ledger, Mark, Piece};
use super::lines::WORDS;
use super::Periods;
use crate::rules::lines_of_file::{between, not_ours};
use crate::rules::lines_of_file::{escaped, unescaped};

const FIRST: &str = "multifactor2_grants ";
const VERSION: u32 = 1;
/// The usual length of an account's lines.
const USUAL: usize = 160;
/// How many words are the key of a sequence.
const KEY: usize = 5;

impl Ledger {
    /// What the file holds.
    pub fn text(&self) -> String {
        let mut text = format!("{FIRST}{VERSION}\nledger_of {:016x} {} ", self.id, self.since);
        let known = |time: Option<i64>| time.map_or_else(|| "-".to_owned(), |time| time.to_string());
        let corrected = known(Some(self.corrected_at).filter(|at| *at > 0));
        let _ = writeln!(text, "{} {corrected}", known(self.unknown_before));
        // Accounts are walked through once: thousands do not lie in the caches. Calendars stand before them.
        let mut calendars = Calendars::default();
        let mut lines = String::with_capacity(USUAL * self.accounts.count());
        for (ledger, account) in self.accounts.iter() {
            let state = match (account.is_unknown, account.is_beyond) {
                (true, _) => "unknown",
                (_, None) => "-",
                (_, Some(true)) => "beyond",
                (_, Some(false)) => "within",
            };
            let Account { begun, keep_until, changed, used, days, corrected, calendar, .. } = account;
            let (number, is_new) = calendars.number(calendar);
            if is_new {
                text.push_str("calendar");
                add_number(&mut text, calendar.counted_from.into());
                for border in calendar.periods.borders() {
                    add_number(&mut text, (*border).into());
                }
                text.push('\n');
            }
            lines.push_str("ledger ");
            lines.push_str(ledger);
            for number in [number.into(), i128::from(*begun), (*keep_until).into(), (*changed).into()] {
                add_number(&mut lines, number);
            }
            lines.push(' ');
            lines.push_str(state);
            for period in 0..used.len().max(corrected.len()) {
                add_number(&mut lines, used.get(period).copied().unwrap_or_default());
                if let Some(Some(added)) = corrected.get(period) {
                    let _ = write!(lines, "{added:+}");
                }
            }
            lines.push('\n');
            if !days.is_empty() {
                lines.push_str("days");
                for (begin, amount) in days {
                    add_number(&mut lines, (*begin).into());
                    add_number(&mut lines, *amount);
                }
                lines.push('\n');
            }
        }
        text.push_str(&lines);
        for (name, gid) in &self.groups {
            let _ = writeln!(text, "group {} {gid}", escaped(name));
        }
        for (name, known) in &self.lineage.all {
            let _ = write!(text, "account {}", escaped(name));
            for (from, parent) in known {
                let _ = write!(text, " {from} {}", parent.as_deref().map_or_else(|| "-".to_owned(), escaped));
            }
            text.push('\n');
        }
        for (job, Mark { started, at, ran }) in &self.marks {
            let _ = writeln!(text, "mark {job} {started} {at} {ran}");
        }
        for Piece { job, started, start, run, is_resize, rates, .. } in &self.ended {
            let end = if *is_resize { "resize" } else { "own" };
            let _ = write!(text, "ended {job} {started} {start} {run} {end}");
            for (key, rate) in rates {
                let _ = write!(text, " {key} {rate}");
            }
            text.push('\n');
        }
        text.push_str("end\n");
        text
    }

    /// What a file holds.
    ///
    /// # Errors
    /// Why it cannot be used, as a phrase.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut reader = Reader::default();
        for (line, number) in between(text, FIRST, VERSION..=VERSION)? {
            reader.line(line).ok_or_else(|| not_ours(number))?;
        }
        reader.ledger.ok_or_else(|| "a line is missing".to_owned())
    }
}

#[derive(Default)]
struct Reader {
    ledger: Option<Ledger>,
    calendars: Vec<Calendar>,
    /// The line of settings whose days may follow.
    last: Option<String>,
}

impl Reader {
    /// `None` for a line that cannot be here.
    fn line(&mut self, line: &str) -> Option<()> {
        let mut words = line.split_ascii_whitespace();
        let word = words.next()?;
        let Some(ledger) = &mut self.ledger else {
            (word == "ledger_of").then_some(())?;
            let id = u64::from_str_radix(words.next()?, 16).ok()?;
            let since = time(&mut words)?;
            let mut known = || match words.next()? {
                "-" => Some(None),
                before => Some(Some(before.parse().ok()?)),
            };
            let (unknown_before, corrected) = (known()?, known()?);
            let corrected_at = corrected.unwrap_or_default();
            self.ledger = Some(Ledger { unknown_before, corrected_at, ..Ledger::new(id, since) });
            return words.next().is_none().then_some(());
        };
        match word {
            "calendar" => {
                let counted_from = number(&mut words)?;
                let borders: Vec<i64> = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
                let is_ordered = borders.windows(2).all(|pair| pair[0] < pair[1]);
                is_ordered.then_some(())?;
                let periods = Periods::of_borders(borders);
                self.calendars.push(Calendar { counted_from, periods });
                return Some(());
            }
            "ledger" => return self.account(words),
            "days" => {
                let account = self.last.take().and_then(|of| ledger.accounts.get_mut(&of))?;
                while let Some(begin) = words.next() {
                    account.days.push_back((begin.parse().ok()?, amount(words.next()?)?));
                }
                let mut pairs = account.days.iter().zip(account.days.iter().skip(1));
                return pairs.all(|(one, other)| one.0 < other.0).then_some(());
            }
            "group" => {
                let name = unescaped(words.next()?)?;
                ledger.groups.insert(name, number(&mut words)?).is_none().then_some(())?;
            }
            "account" => {
                let name = unescaped(words.next()?)?;
                let mut known = Vec::new();
                while let Some(from) = words.next() {
                    let parent = match words.next()? {
                        "-" => None,
                        parent => Some(unescaped(parent)?),
                    };
                    known.push((from.parse().ok()?, parent));
                }
                let is_ordered = known.windows(2).all(|pair| pair[0].0 <= pair[1].0);
                (is_ordered && !known.is_empty()).then_some(())?;
                ledger.lineage.all.insert(name, known).is_none().then_some(())?;
            }
            "mark" => {
                let job = number(&mut words)?;
                let mark = Mark { started: time(&mut words)?, at: time(&mut words)?, ran: time(&mut words)? };
                ledger.marks.insert(job, mark).is_none().then_some(())?;
            }
            "ended" => {
                let mut piece = Piece {
                    job: number(&mut words)?,
                    started: time(&mut words)?,
                    start: time(&mut words)?,
                    run: time(&mut words)?,
                    is_resize: match words.next()? {
                        "own" => false,
                        "resize" => true,
                        _ => return None,
                    },
                    rates: Vec::new(),
                    is_restored: true,
                };
                let rest: Vec<&str> = words.collect();
                for group in rest.chunks(KEY + 1) {
                    let (rate, key) = group.split_last().filter(|(_, key)| key.len() == KEY)?;
                    piece.rates.push((key.join(" "), amount(rate)?));
                }
                ledger.ended.push(piece);
                return Some(());
            }
            _ => return None,
        }
        self.last = None;
        words.next().is_none().then_some(())
    }

    /// The usage of a line of settings, whose days may follow.
    fn account(&mut self, mut words: SplitAsciiWhitespace<'_>) -> Option<()> {
        let of = phrase(&mut words, WORDS)?;
        let calendar = self.calendars.get(number::<usize>(&mut words)?)?.clone();
        let (begun, keep_until, changed) = (time(&mut words)?, time(&mut words)?, time(&mut words)?);
        let (is_unknown, is_beyond) = match words.next()? {
            "unknown" => (true, None),
            "-" => (false, None),
            "beyond" => (false, Some(true)),
            "within" => (false, Some(false)),
            _ => return None,
        };
        let (mut used, mut corrected) = (Vec::new(), Vec::new());
        for word in words {
            let (own, added) =
                word.split_at(word.rfind(['+', '-']).filter(|at| *at > 0).unwrap_or(word.len()));
            used.push(amount(own)?);
            corrected.push(if added.is_empty() { None } else { Some(added.parse().ok()?) });
        }
        while let Some(None) = corrected.last() {
            corrected.pop();
        }
        let days = VecDeque::new();
        let account =
            Account { begun, keep_until, used, corrected, calendar, days, is_beyond, changed, is_unknown };
        self.ledger.as_mut()?.accounts.insert(of.clone(), account).then_some(())?;
        self.last = Some(of);
        Some(())
    }
}

fn add_number(text: &mut String, number: i128) {
    text.push(' ');
    text.push_str(itoa::Buffer::new().format(number));
}

/// Calendars by their numbers, in the order in which they come first.
#[derive(Default)]
struct Calendars<'c> {
    numbers: HashMap<&'c Calendar, u32>,
    /// Most lines have that of the one before.
    last: Option<(&'c Calendar, u32)>,
}

impl<'c> Calendars<'c> {
    /// The number of one, and whether it is new.
    fn number(&mut self, calendar: &'c Calendar) -> (u32, bool) {
        if let Some((_, number)) = self.last.filter(|(last, _)| *last == calendar) {
            return (number, false);
        }
        let next = u32::try_from(self.numbers.len()).unwrap_or_default();
        let number = *self.numbers.entry(calendar).or_insert(next);
        self.last = Some((calendar, number));
        (number, number == next)
    }
}

fn phrase(words: &mut SplitAsciiWhitespace<'_>, count: usize) -> Option<String> {
    let all: Vec<&str> = words.by_ref().take(count).collect();
    (all.len() == count).then(|| all.join(" "))
}

fn number<T: FromStr>(words: &mut SplitAsciiWhitespace<'_>) -> Option<T> {
    words.next()?.parse().ok()
}

/// A time, or seconds.
fn time(words: &mut SplitAsciiWhitespace<'_>) -> Option<i64> {
    // The end of the year 9999, with two periods behind it.
    number::<i64>(words).filter(|time| (0..=1_000_000_000_000).contains(time))
}

/// What was used, or is used in a second.
fn amount(word: &str) -> Option<i128> {
    word.parse().ok().filter(|amount| (0..=1_i128 << 100).contains(amount))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> Ledger {
        let mut ledger = Ledger::new(0xfeed, 1_800_000_000);
        ledger.unknown_before = Some(7);
        ledger.corrected_at = 1_799_999_000;
        let account = |used: &[i128], state| Account {
            begun: 5,
            keep_until: 1_900_000_000,
            used: used.to_vec(),
            corrected: used.iter().skip(1).map(|amount| Some(amount - 135)).rev().collect(),
            calendar: Calendar {
                counted_from: used.len().try_into().unwrap(),
                periods: Periods::of_borders(vec![-3, 7, 9]),
            },
            days: VecDeque::from([(1_799_900_000, 9), (1_799_990_000, 12)]),
            is_beyond: state,
            changed: 6,
            is_unknown: false,
        };
        ledger.accounts.insert(
            "Account a%20b cpu - - local 2027-01-01 month -".into(),
            account(&[40, 130, 140], Some(true)),
        );
        ledger
            .accounts
            .insert("User u node gpu - UTC,factors 2027-01-01 7days 2027-02-01".into(), account(&[], None));
        ledger.groups.insert("a b".into(), 7);
        let parents = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, above)| ((*name).to_owned(), (*above).to_owned())).collect()
        };
        ledger.lineage.note(&parents(&[("root", ""), ("a b", "root"), ("-", "-")]), 5);
        ledger.lineage.note(&parents(&[("root", ""), ("a b", "-")]), 9);
        ledger.marks.insert(9, Mark { started: 1, at: 2, ran: 1 });
        ledger.ended.push(Piece {
            job: 8,
            started: 3,
            start: 4,
            run: 5,
            is_resize: true,
            rates: vec![("Account a%20b cpu - -".into(), 64)],
            is_restored: true,
        });
        ledger
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(Ledger::parse(&sample().text()), Ok(sample()));
        assert_eq!(Ledger::parse(&Ledger::default().text()), Ok(Ledger::default()));
    }

    #[test]
    fn half_a_file_and_other_files_are_refused() {
        let text = sample().text();
        for cut in 0..text.len() {
            assert!(Ledger::parse(&text[..cut]).is_err(), "{cut}");
        }
        assert!(Ledger::parse(&text.replacen("grants 1", "grants 2", 1)).unwrap_err().contains("newer"));
    }

    /// 5,000 grants at the end of their year, each with about 1,000 CPUs.
    #[test]
    fn a_year_of_many_grants_is_below_two_megabytes() {
        let mut ledger = sample();
        let months = (0..=12).map(|month| 1_988_150_400 + month * 2_592_000).collect();
        let calendar = Calendar { counted_from: 0, periods: Periods::of_borders(months) };
        for number in 0..5000 {
            let account = Account {
                begun: 1_988_150_400,
                keep_until: 2_029_622_400,
                used: vec![2_592_000_000 + number; 12],
                days: (0..8).map(|day| (2_018_000_000 + day * 86_400, 86_400_000 + number)).collect(),
                is_beyond: Some(false),
                changed: 2_018_000_000,
                calendar: calendar.clone(),
                ..Account::default()
            };
            ledger
                .accounts
                .insert(format!("Account project{number} cpu - - local 2033-01-01 month -"), account);
        }
        let text = ledger.text();
        assert!((1_700_000..2_000_000).contains(&text.len()), "{}", text.len());
        assert_eq!(Ledger::parse(&text), Ok(ledger));
    }

    proptest! {
        #![proptest_config(multifactor2_fixtures::seeded())]

        #[test]
        fn no_text_ends_the_program(text in ".{0,200}", at in 0..300_usize, byte in any::<char>()) {
            let _ = Ledger::parse(&text);
            let mut sample = sample().text();
            if sample.is_char_boundary(at.min(sample.len())) {
                sample.insert(at.min(sample.len()), byte);
            }
            let _ = Ledger::parse(&sample);
        }
    }
}
