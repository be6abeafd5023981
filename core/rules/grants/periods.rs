//! The periods of a grant: months, quarters or some days each, in the local calendar, from local midnight to local midnight.
//!
//! If clocks are set forward over midnight, the first second after it counts; if midnight comes twice, the first one does. The only input
//! is how far local clocks are ahead of UTC.

use std::sync::Arc;

use crate::settings::value::Date;

/// How long periods are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pace {
    /// Months of the calendar.
    Month,
    /// Quarters of the calendar.
    Quarter,
    /// This number of days, from the first one on.
    Days(u32),
}

/// The borders of the periods of a grant, in seconds since 1970: one more than there are periods.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Periods(Arc<[i64]>);

/// The most periods that a grant may have.
pub(crate) const MOST: usize = 10_000;

const DAY: i64 = 86_400;

/// A day of the calendar, as the number of days since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct DayNumber(i64);

impl DayNumber {
    fn of(date: Date) -> Self {
        Self::new(i64::from(date.year), i64::from(date.month), i64::from(date.day))
    }

    /// Days since 1970 of a date of the Gregorian calendar. Years begin in March here, so that the day that some have more is their last.
    fn new(year: i64, month: i64, day: i64) -> Self {
        let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
        let era = year.div_euclid(400);
        let of_era = year.rem_euclid(400);
        let of_year = (153 * month + 2) / 5 + day - 1;
        Self(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
    }

    /// Midnight at its beginning.
    fn begins(self, offset: &impl Fn(i64) -> i64) -> i64 {
        let universal = self.0 * DAY;
        // No clock is further from UTC than a day, and none is changed twice within two.
        let [before, after] = [-DAY, DAY].map(|days| offset(universal + days));
        let is_midnight = |at: &i64| offset(*at) == universal - *at;
        let found = [before, after].map(|ahead| universal - ahead).into_iter().filter(is_midnight).min();
        found.unwrap_or_else(|| {
            let (mut from, mut to) = (universal - DAY, universal + DAY);
            while to - from > 1 {
                let middle = from + (to - from) / 2;
                if offset(middle) == before {
                    from = middle;
                } else {
                    to = middle;
                }
            }
            to
        })
    }
}

impl Periods {
    /// From the beginning of a day to the end of another, by the local calendar. `None` if there is no day, or more than [`MOST`] periods.
    pub fn new(from: Date, until: Date, pace: Pace, offset: &impl Fn(i64) -> i64) -> Option<Self> {
        let (first, end) = (DayNumber::of(from), DayNumber(DayNumber::of(until).0 + 1));
        if end <= first {
            return None;
        }
        let mut days = vec![first];
        let (mut next, mut year, mut month) = (first, i64::from(from.year), i64::from(from.month));
        loop {
            next = match pace {
                Pace::Days(days) => DayNumber(next.0 + i64::from(days.max(1))),
                Pace::Month | Pace::Quarter => {
                    month += if pace == Pace::Month { 1 } else { 3 - (month - 1) % 3 };
                    if month > 12 {
                        (year, month) = (year + 1, month - 12);
                    }
                    DayNumber::new(year, month, 1)
                }
            };
            if next >= end {
                break;
            }
            days.push(next);
            if days.len() > MOST {
                return None;
            }
        }
        days.push(end);
        Some(Self(days.into_iter().map(|day| day.begins(offset)).collect()))
    }

    /// Whether the first or the last period is shorter than others of its kind, since the grant begins or ends within it.
    pub(crate) fn are_cut(from: Date, until: Date, pace: Pace) -> bool {
        let (first, end) = (DayNumber::of(from), DayNumber(DayNumber::of(until).0 + 1));
        let begins =
            |pace: Pace, date: Date| date.day == 1 && (pace == Pace::Month || (date.month - 1) % 3 == 0);
        match pace {
            Pace::Days(days) => (end.0 - first.0) % i64::from(days.max(1)) != 0,
            pace => {
                let (year, month) = (i64::from(until.year), i64::from(until.month));
                let next = if month == 12 {
                    DayNumber::new(year + 1, 1, 1)
                } else {
                    DayNumber::new(year, month + 1, 1)
                };
                let ends = next == end && (pace == Pace::Month || month % 3 == 0);
                !(begins(pace, from) && ends)
            }
        }
    }

    /// The day of the calendar that a time is in: from its beginning to its end.
    pub(crate) fn day(at: i64, offset: &impl Fn(i64) -> i64) -> (i64, i64) {
        let mut day = DayNumber((at + offset(at)).div_euclid(DAY));
        // Of a midnight that comes twice the first one counts.
        while day.begins(offset) > at {
            day = DayNumber(day.0 - 1);
        }
        while DayNumber(day.0 + 1).begins(offset) <= at {
            day = DayNumber(day.0 + 1);
        }
        (day.begins(offset), DayNumber(day.0 + 1).begins(offset))
    }

    /// When a day begins.
    pub fn begin(date: Date, offset: &impl Fn(i64) -> i64) -> i64 {
        DayNumber::of(date).begins(offset)
    }

    /// Between these borders, which follow each other.
    pub fn of_borders(borders: Vec<i64>) -> Self {
        Self(borders.into())
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len().saturating_sub(1)
    }

    /// All borders, one more than there are periods.
    pub fn borders(&self) -> &[i64] {
        &self.0
    }

    /// From the beginning of the first to the end of the last.
    pub fn whole(&self) -> (i64, i64) {
        let first = self.0.first().copied().unwrap_or_default();
        (first, self.0.last().copied().unwrap_or(first))
    }

    /// The number of the period of a time, from 1 on; `None` outside of all.
    pub fn at(&self, time: i64) -> Option<usize> {
        let before = self.0.partition_point(|border| *border <= time);
        (1..=self.count()).contains(&before).then_some(before)
    }

    /// From the beginning of a period to its end; `None` if the period does not exist.
    pub fn span(&self, period: usize) -> Option<(i64, i64)> {
        Some((*self.0.get(period.checked_sub(1)?)?, *self.0.get(period)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(text: &str) -> Date {
        let part = |range: std::ops::Range<usize>| text[range].parse::<u16>().unwrap();
        let small = |range| u8::try_from(part(range)).unwrap();
        Date { year: part(0..4), month: small(5..7), day: small(8..10), hour: 0, minute: 0, second: 0 }
    }

    fn days(from: &str, until: &str, pace: Pace) -> Vec<i64> {
        let periods = Periods::new(date(from), date(until), pace, &|_| 0).unwrap();
        periods.borders().iter().map(|border| border / DAY - DayNumber::new(2027, 1, 1).0).collect()
    }

    #[test]
    fn days_are_numbered_as_the_calendar_has_them() {
        for (number, (year, month, day)) in [
            (0, (1970, 1, 1)),
            (11_016, (2000, 2, 29)),
            (11_017, (2000, 3, 1)),
            (20_819, (2027, 1, 1)),
            (-1, (1969, 12, 31)),
        ] {
            assert_eq!(DayNumber::new(year, month, day), DayNumber(number));
        }
    }

    #[test]
    fn months_quarters_and_days_are_cut_where_the_grant_begins_and_ends() {
        let year: Vec<i64> = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
            .into_iter()
            .scan(0, |sum, days| {
                *sum += days;
                Some(*sum)
            })
            .collect();
        assert_eq!(days("2027-01-01", "2027-12-31", Pace::Month), year);
        assert_eq!(days("2027-01-01", "2027-12-31", Pace::Quarter), [0, 90, 181, 273, 365]);
        assert_eq!(days("2027-02-15", "2027-04-02", Pace::Month), [45, 59, 90, 92]);
        assert_eq!(days("2026-12-31", "2027-01-10", Pace::Days(4)), [-1, 3, 7, 10]);
        assert_eq!(days("2027-01-01", "2027-01-01", Pace::Days(1)), [0, 1]);
        let cut = |from, until, pace| Periods::are_cut(date(from), date(until), pace);
        assert!(
            !cut("2027-01-01", "2027-12-31", Pace::Month) && !cut("2028-02-01", "2028-02-29", Pace::Month)
        );
        assert!(cut("2027-01-02", "2027-12-31", Pace::Month) && cut("2027-01-01", "2027-12-30", Pace::Month));
        assert!(
            !cut("2027-04-01", "2027-09-30", Pace::Quarter) && cut("2027-02-01", "2027-09-30", Pace::Quarter)
        );
        assert!(
            cut("2027-04-01", "2027-08-31", Pace::Quarter) && !cut("2027-01-01", "2027-01-08", Pace::Days(4))
        );
        assert!(cut("2027-01-01", "2027-01-07", Pace::Days(4)));
        assert_eq!(Periods::new(date("2027-01-02"), date("2027-01-01"), Pace::Month, &|_| 0), None);
        assert_eq!(Periods::new(date("1970-01-01"), date("9999-12-31"), Pace::Days(1), &|_| 0), None);
    }

    #[test]
    fn midnights_that_are_not_there_and_those_that_come_twice() {
        let midnight = DayNumber::new(2027, 3, 28).0 * DAY;
        let begins =
            |offset: &dyn Fn(i64) -> i64| DayNumber::new(2027, 3, 28).begins(&|at| offset(at)) - midnight;
        // Clocks go from 00:00 to 01:00, an hour ahead of UTC before.
        assert_eq!(begins(&|at| if at < midnight - 3600 { 3600 } else { 7200 }), -3600);
        // They go back from 01:00 to 00:00: midnight comes twice, and the first one counts.
        assert_eq!(begins(&|at| if at < midnight - 3600 { 7200 } else { 3600 }), -7200);
        // They go back at midnight to 23:00 of the day before: midnight comes once, an hour later.
        assert_eq!(begins(&|at| if at < midnight - 7200 { 7200 } else { 3600 }), -3600);
        // In summer and in winter, far in the East and the West.
        assert_eq!([50_400, -43_200, 20_700].map(|ahead| begins(&|_| ahead)), [-50_400, 43_200, -20_700]);
    }

    #[test]
    fn a_time_is_in_one_period_or_in_none() {
        let periods = Periods::of_borders(vec![10, 20, 35]);
        assert_eq!(
            [9, 10, 19, 20, 34, 35].map(|time| periods.at(time)),
            [None, Some(1), Some(1), Some(2), Some(2), None]
        );
        assert_eq!(
            [0, 1, 2, 3].map(|period| periods.span(period)),
            [None, Some((10, 20)), Some((20, 35)), None]
        );
        assert_eq!((Periods::default().at(0), Periods::default().count()), (None, 0));
    }
}
