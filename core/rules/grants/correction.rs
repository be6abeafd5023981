//! What the accounting has of grants: numbers that `multifactor2 grants --reconcile` writes and the plugin reads.
//!
//! The numbers are absolute. A line names what the plugin had counted of a period up to a time T, and what the accounting has up to the
//! same T; the plugin keeps the difference apart from its own numbers. So reading a correction again changes nothing, and the next one
//! replaces it.
//!
//! | line | what |
//! |---|---|
//! | `multifactor2_correction 1` | the first: the version of the format |
//! | `of ID TIME` | of which ledger it is, and T |
//! | `used KIND NAME UNIT PARTITIONS BOOK CLOCK FROM PACE UNTIL PERIOD COUNTED ACCOUNTED` | a period of a line of settings, from 1 on: what was counted, and what the accounting has, in seconds of the unit |
//! | `end COUNT` | the last: how many periods there are |

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::ledger::{Account, Ledger};
use super::lines::{has_factors, WORDS};
use crate::rules::lines_of_file::{not_ours, versioned};

const FIRST: &str = "multifactor2_correction ";
const VERSION: u32 = 1;

/// What its file has behind the name of the ledger's.
pub const EXTENSION: &str = "correction";

/// The most that the file may have, in bytes.
pub const MOST_BYTES: u64 = 16 << 20;

/// A period in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compared {
    /// What the plugin has counted.
    pub counted: i128,
    /// What the accounting has.
    pub accounted: i128,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Correction {
    /// The ledger's.
    pub id: u64,
    /// T.
    pub at: i64,
    /// By the line of settings, as the ledger names it, and the number of the period, from 1 on.
    pub periods: BTreeMap<(String, usize), Compared>,
}

/// Why a correction is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is the one in force, or an older one.
    Known,
    /// As a phrase.
    Because(String),
}

impl Correction {
    /// What the file holds.
    pub fn text(&self) -> String {
        let mut text = format!("{FIRST}{VERSION}\nof {:016x} {}\n", self.id, self.at);
        for ((line, period), Compared { counted, accounted }) in &self.periods {
            let _ = writeln!(text, "used {line} {period} {counted} {accounted}");
        }
        let _ = writeln!(text, "end {}", self.periods.len());
        text
    }

    /// What a file holds.
    ///
    /// # Errors
    /// Why it cannot be used, as a phrase.
    pub fn parse(text: &str) -> Result<Self, String> {
        if !text.ends_with('\n') {
            return Err("its end is missing".to_owned());
        }
        let mut correction: Option<Self> = None;
        let mut count = None;
        for (line, number) in versioned(text, FIRST, VERSION..=VERSION)?.zip(2..) {
            let words: Vec<&str> = line.split(' ').collect();
            let read = match (&words[..], &mut correction) {
                (["of", id, at], None) => {
                    u64::from_str_radix(id, 16).ok().zip(at.parse().ok()).map(|(id, at)| {
                        correction = Some(Self { id, at, ..Self::default() });
                    })
                }
                (["used", of @ .., period, counted, accounted], Some(correction))
                    if of.len() == WORDS && count.is_none() =>
                {
                    let read = || {
                        let amount = |word: &str| {
                            let amount = word.parse::<i128>().ok();
                            amount.filter(|amount| (0..=1 << 100).contains(amount))
                        };
                        let compared = Compared { counted: amount(counted)?, accounted: amount(accounted)? };
                        let period = period.parse::<usize>().ok().filter(|period| *period > 0)?;
                        Some(((of.join(" "), period), compared))
                    };
                    read()
                        .filter(|(key, compared)| correction.periods.insert(key.clone(), *compared).is_none())
                        .map(drop)
                }
                (["end", all], Some(_)) if count.is_none() => {
                    all.parse::<usize>().ok().map(|all| count = Some(all))
                }
                _ => None,
            };
            read.ok_or_else(|| not_ours(number))?;
        }
        match (correction, count) {
            (Some(correction), Some(count)) if count == correction.periods.len() => Ok(correction),
            (Some(correction), Some(count)) => {
                Err(format!("it says that it has {count} periods, but has {}", correction.periods.len()))
            }
            _ => Err("its end is missing".to_owned()),
        }
    }
}

impl Ledger {
    /// Takes a correction, whole or not at all. Says how many periods it corrects.
    ///
    /// # Errors
    /// It is not of this ledger and its past.
    pub fn correct(&mut self, correction: &Correction) -> Result<usize, Refused> {
        let because = |text: String| Err(Refused::Because(text));
        let at = correction.at;
        if correction.id != self.id {
            return because(
                "it is for another ledger, which was lost or belongs to another cluster".to_owned(),
            );
        }
        if at <= self.corrected_at {
            return Err(Refused::Known);
        }
        if at > self.since {
            return because("it is later than the last count here".to_owned());
        }
        if self.gap.after < at && at < self.gap.before {
            // It would be taken after the next restart, when nobody knows this any more.
            self.corrected_at = at;
            return because("it is from a time whose counts were lost when slurmctld ended".to_owned());
        }
        for ((line, period), compared) in &correction.periods {
            let Some(account) = self.accounts.get(line) else {
                return because(format!("it names a grant that does not exist: {line}"));
            };
            if has_factors(line) {
                return because(format!(
                    "it names a grant with Factors=yes, and the accounting does not know the factors: {line}"
                ));
            }
            if *period > account.calendar.periods.count() {
                return because(format!("it names period {period} of {line}, which does not exist"));
            }
            if account.used.get(period - 1).copied().unwrap_or_default() < compared.counted {
                return because(format!(
                    "more had been counted in period {period} of {line} than is known now"
                ));
            }
        }
        for ((line, period), Compared { counted, accounted }) in &correction.periods {
            let Some(account) = self.accounts.get_mut(line) else { continue };
            if account.corrected.len() < *period {
                account.corrected.resize(*period, None);
            }
            account.corrected[period - 1] = Some(accounted - counted);
            account.note_corrected(at);
        }
        self.corrected_at = at;
        Ok(correction.periods.len())
    }
}

impl Account {
    /// Where the accounting was asked for all periods that had begun, nothing is unknown.
    fn note_corrected(&mut self, at: i64) {
        let periods = &self.calendar.periods;
        let begun =
            periods.at(at).unwrap_or_else(|| if at < periods.whole().0 { 0 } else { periods.count() });
        if (0..begun).all(|period| self.corrected.get(period).is_some_and(Option::is_some)) {
            self.is_unknown = false;
            self.begun = self.begun.min(self.calendar.counted_from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ledger::Calendar;
    use super::super::Periods;
    use super::*;
    use proptest::prelude::*;

    const LINE_OF: &str = "Account a cpu - - UTC 2027-01-01 month -";

    fn ledger() -> Ledger {
        let mut ledger = Ledger::new(7, 100);
        let calendar = Calendar { counted_from: 10, periods: Periods::of_borders(vec![10, 50, 200]) };
        let account =
            Account { used: vec![30, 5], calendar, begun: 60, is_unknown: true, ..Account::default() };
        ledger.accounts.insert(LINE_OF.to_owned(), account);
        ledger
    }

    fn correction(at: i64, periods: &[(usize, i128, i128)]) -> Correction {
        let periods = periods.iter().map(|(period, counted, accounted)| {
            let compared = Compared { counted: *counted, accounted: *accounted };
            ((LINE_OF.to_owned(), *period), compared)
        });
        Correction { id: 7, at, periods: periods.collect() }
    }

    fn because(ledger: &mut Ledger, correction: &Correction) -> String {
        let before = ledger.accounts.clone();
        let refused = ledger.correct(correction).unwrap_err();
        assert_eq!(ledger.accounts, before, "it takes all or nothing");
        match refused {
            Refused::Because(text) => text,
            Refused::Known => "known".to_owned(),
        }
    }

    #[test]
    fn the_difference_counts_once_however_often_it_is_read() {
        let mut ledger = ledger();
        assert_eq!(ledger.correct(&correction(80, &[(1, 20, 24)])), Ok(1));
        let used = |ledger: &Ledger| ledger.accounts.get(LINE_OF).unwrap().amounts();
        assert_eq!((used(&ledger), ledger.accounts.get(LINE_OF).unwrap().is_unknown), (vec![34, 5], true));
        assert_eq!(ledger.correct(&correction(80, &[(1, 20, 24)])), Err(Refused::Known));
        // The next one is of what was counted, not of what was corrected. Periods that it does not name stay.
        assert_eq!(ledger.correct(&correction(90, &[(2, 5, 9)])), Ok(1));
        assert_eq!((used(&ledger), ledger.accounts.get(LINE_OF).unwrap().is_unknown), (vec![34, 9], false));
        assert_eq!(ledger.accounts.get(LINE_OF).unwrap().begun, 10);
        assert_eq!(ledger.correct(&correction(95, &[(1, 30, 1)])), Ok(1));
        assert_eq!(used(&ledger), [1, 9]);
        assert_eq!(Ledger::parse(&ledger.text()), Ok(ledger));
    }

    #[test]
    fn what_is_not_of_this_ledger_and_its_past_changes_nothing() {
        let mut ledger = ledger();
        let good = correction(80, &[(1, 20, 24)]);
        assert!(because(&mut ledger, &Correction { id: 8, ..good.clone() }).contains("another ledger"));
        assert!(because(&mut ledger, &correction(101, &[(1, 20, 24)])).contains("later"));
        assert!(because(&mut ledger, &correction(80, &[(1, 20, 24), (2, 6, 7)]))
            .contains("more had been counted"));
        assert!(because(&mut ledger, &correction(80, &[(1, 20, 24), (3, 0, 7)])).contains("period 3"));
        let mut other = good.clone();
        other.periods.insert(
            ("User u cpu - - UTC 2027-01-01 month -".to_owned(), 1),
            Compared { counted: 0, accounted: 0 },
        );
        assert!(because(&mut ledger, &other).contains("does not exist"));
        assert_eq!(ledger.correct(&good), Ok(1));
    }

    /// What another process had counted is lost with it, also after the next restart.
    #[test]
    fn a_correction_of_what_a_kill_has_lost_is_refused_for_good() {
        let mut ledger = Ledger { since: 70, ..ledger() }.resumed();
        ledger.since = 100;
        ledger.gap.before = 100;
        let lost = correction(80, &[(1, 20, 24)]);
        assert!(because(&mut ledger, &lost).contains("were lost"));
        let mut ledger = Ledger::parse(&ledger.text()).unwrap().resumed();
        assert_eq!(ledger.correct(&lost), Err(Refused::Known));
        assert_eq!(ledger.correct(&correction(100, &[(1, 20, 24)])), Ok(1));
    }

    #[test]
    fn what_is_written_is_read_and_half_a_file_is_refused() {
        let all = correction(80, &[(1, 20, 24), (2, 0, 0)]);
        let text = all.text();
        assert_eq!(Correction::parse(&text), Ok(all));
        for cut in 0..text.len() {
            assert!(Correction::parse(&text[..cut]).is_err(), "{cut}");
        }
        for (from, to) in [
            ("end 2", "end 3"),
            ("1 20", "0 20"),
            (" 24", " -24"),
            ("used", "use"),
            ("end 2\n", "end 2\nend 2\n"),
        ] {
            assert!(Correction::parse(&text.replacen(from, to, 1)).is_err(), "{from}");
        }
        let twice = text.replacen("end 2", &format!("used {LINE_OF} 1 20 24\nend 3"), 1);
        assert!(Correction::parse(&twice).is_err());
    }

    proptest! {
        #![proptest_config(multifactor2_fixtures::seeded())]

        #[test]
        fn no_text_ends_the_program(text in ".{0,200}", at in 0..120_usize, byte in any::<char>()) {
            let _ = Correction::parse(&text);
            let mut sample = correction(80, &[(1, 20, 24), (2, 0, 0)]).text();
            if sample.is_char_boundary(at.min(sample.len())) {
                sample.insert(at.min(sample.len()), byte);
            }
            let _ = Correction::parse(&sample);
        }
    }
}
