//! Weekdays and hours of the local clock in which a line of settings counts (`Days`, `Hours`).
//!
//! A second counts by its local time and date: an hour is missing when clocks are set forward, and comes twice when they are set back. Core
//! knows no time zone: the caller says how far local clocks are ahead of UTC.

/// Seconds of a day.
const DAY: i64 = 86_400;

/// Weekdays in the order of the calendar of C: Sunday is 0.
const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/// What the local clock shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LocalTime {
    /// Days since Sunday, from 0 to 6.
    weekday: usize,
    /// Seconds since 00:00 by the clock.
    second: i64,
}

impl LocalTime {
    /// At a time in seconds since 1970, with clocks `offset` seconds ahead of UTC.
    pub(crate) fn at(time: i64, offset: i64) -> Self {
        let local = time.saturating_add(offset);
        // The first of January 1970 was a Thursday.
        let weekday = (local.div_euclid(DAY) + 4).rem_euclid(7);
        Self { weekday: usize::try_from(weekday).unwrap_or_default(), second: local.rem_euclid(DAY) }
    }
}

/// Some weekdays, and some hours of each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeekHours {
    days: [bool; 7],
    /// From and to, in seconds of the day. With `from` behind `to` it is what is not in between.
    hours: (i64, i64),
}

impl WeekHours {
    /// As settings write them; all days, and all hours, where nothing is written. `None` where something else is written.
    pub(crate) fn read(days: Option<&str>, hours: Option<&str>) -> Option<Self> {
        Some(Self {
            days: days.map_or(Some([true; 7]), read_days)?,
            hours: hours.map_or(Some((0, DAY)), read_hours)?,
        })
    }

    /// Whether a local time is among them: the weekday **and** the clock.
    pub(crate) fn has(&self, local: LocalTime) -> bool {
        let (from, to) = self.hours;
        let fits = if from < to {
            (from..to).contains(&local.second)
        } else {
            local.second >= from || local.second < to
        };
        fits && self.days.get(local.weekday).is_some_and(|day| *day)
    }
}

/// `Sat,Sun`, `Mon-Fri`: weekdays and spans of them, each day once.
pub(crate) fn read_days(text: &str) -> Option<[bool; 7]> {
    let find = |word: &str| WEEKDAYS.iter().position(|day| day.eq_ignore_ascii_case(word.trim()));
    let mut days = [false; 7];
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (find(first)?, find(last)?);
        let mut day = first;
        loop {
            if std::mem::replace(&mut days[day], true) {
                return None;
            }
            if day == last {
                break;
            }
            day = (day + 1) % 7;
        }
    }
    Some(days)
}

/// `18:00-06:00`: two times of the clock that differ, the second one up to 24:00.
pub(crate) fn read_hours(text: &str) -> Option<(i64, i64)> {
    let (from, to) = text.split_once('-')?;
    let clock = |text: &str| {
        let (hour, minute) = text.trim().split_once(':')?;
        let number = |text: &str| {
            let is_plain = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
            is_plain.then(|| text.parse::<i64>().ok()).flatten()
        };
        let (hour, minute) = (number(hour)?, number(minute)?);
        (minute < 60).then_some(hour * 3600 + minute * 60)
    };
    let (from, to) = (clock(from)?, clock(to)?);
    ((0..DAY).contains(&from) && (0..=DAY).contains(&to) && from != to).then_some((from, to))
}

/// Divides the time from `from` to `to` where the local clock reaches a border of any of these hours, or midnight. Gives the end of each
/// part, with a clock time within it. Adjacent parts in which the same of the hours count are merged.
///
/// `offset` says how many seconds local clocks are ahead of UTC; if it cannot, UTC counts. It changes at most once between two borders.
pub(crate) fn parts(
    hours: &[WeekHours],
    (from, to): (i64, i64),
    offset: impl Fn(i64) -> Option<i64>,
) -> Vec<(i64, LocalTime)> {
    let offset = |at| offset(at).unwrap_or_default();
    let mut borders: Vec<i64> = hours.iter().flat_map(|hours| [hours.hours.0, hours.hours.1]).collect();
    borders.push(DAY);
    crate::seldom::sort_by(&mut borders, Ord::cmp);
    let counts = |local| hours.iter().map(|hours| hours.has(local)).collect::<Vec<_>>();
    let mut parts: Vec<(i64, LocalTime)> = Vec::new();
    let (mut at, mut last) = (from, None);
    while at < to {
        let ahead = offset(at);
        let local = LocalTime::at(at, ahead);
        let border = borders.iter().find(|border| **border > local.second).copied().unwrap_or(DAY);
        let mut until = at.saturating_add(border - local.second).min(to);
        if offset(until) != ahead {
            until = change(at, until, |time| offset(time) != ahead);
        }
        let now = counts(local);
        match parts.last_mut().filter(|_| last.as_ref() == Some(&now)) {
            Some(part) => part.0 = until,
            None => parts.push((until, local)),
        }
        (at, last) = (until, Some(now));
    }
    parts
}

/// The first second after `from` for which something holds, which does at `to`.
fn change(mut from: i64, mut to: i64, holds: impl Fn(i64) -> bool) -> i64 {
    while to - from > 1 {
        let middle = from + (to - from) / 2;
        if holds(middle) {
            to = middle;
        } else {
            from = middle;
        }
    }
    to
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Midnight before a Monday, in UTC: 2026-11-23.
    const MONDAY: i64 = 1_795_392_000;

    fn read(days: &str, hours: &str) -> WeekHours {
        WeekHours::read(
            Some(days).filter(|text| !text.is_empty()),
            Some(hours).filter(|text| !text.is_empty()),
        )
        .unwrap()
    }

    fn seconds(hours: &[WeekHours], from: i64, to: i64, offset: impl Fn(i64) -> Option<i64>) -> Vec<i64> {
        let mut at = from;
        let mut sums = vec![0; hours.len()];
        for (until, local) in parts(hours, (from, to), offset) {
            for (sum, hours) in sums.iter_mut().zip(hours) {
                *sum += if hours.has(local) { until - at } else { 0 };
            }
            at = until;
        }
        assert_eq!(at, to.max(from));
        sums
    }

    #[test]
    fn what_is_allowed_is_read_and_nothing_else() {
        assert_eq!(read_days("sat, SUN"), Some([true, false, false, false, false, false, true]));
        assert_eq!(read_days("Fri-Mon"), Some([true, true, false, false, false, true, true]));
        for bad in ["", "Sat,", "Sat,Sat", "Mon-Wed,Tue", "Saturday", "Mon-", "1", "Sun-Sat,Sun"] {
            assert_eq!(read_days(bad), None, "{bad}");
        }
        assert_eq!(read_hours("18:00-06:00"), Some((64_800, 21_600)));
        assert_eq!(read_hours("00:00-24:00"), Some((0, DAY)));
        for bad in
            ["", "18-6", "18:00", "24:00-06:00", "06:00-24:01", "06:00-06:00", "6:00-07:00", "06:60-07:00"]
        {
            assert_eq!(read_hours(bad), None, "{bad}");
        }
    }

    #[test]
    fn hours_over_midnight_are_the_two_ends_of_each_of_the_days() {
        let nights = read("Mon-Fri", "18:00-06:00");
        let week = seconds(&[nights, read("Sat,Sun", "")], MONDAY, MONDAY + 7 * DAY, |_| Some(0));
        assert_eq!(week, [5 * 12 * 3600, 2 * DAY]);
        // The night before Saturday ends at midnight, that before Monday begins there.
        let has = |at| nights.has(LocalTime::at(MONDAY + at, 0));
        assert!(has(0) && has(21_599) && !has(21_600) && !has(64_799) && has(5 * DAY - 1));
        assert!(!has(5 * DAY) && !has(-1));
    }

    #[test]
    fn an_hour_that_is_missing_counts_nothing_and_one_that_comes_twice_counts_twice() {
        let night = read("", "02:00-03:00");
        // Clocks go from 02:00 to 03:00 two hours after midnight, and back at the end of what was 03:00.
        let forward = |at: i64| Some(if at < MONDAY + 7200 { 0 } else { 3600 });
        assert_eq!(seconds(&[night], MONDAY, MONDAY + DAY, forward), [0]);
        let back = |at: i64| Some(if at < MONDAY + 3 * 3600 { 0 } else { -3600 });
        assert_eq!(seconds(&[night], MONDAY, MONDAY + DAY, back), [7200]);
    }

    proptest! {
        #![proptest_config(multifactor2_fixtures::seeded())]

        /// Against a look at every second.
        #[test]
        fn parts_are_as_every_second_says(
            days in prop::collection::vec((0_usize..7, 0_usize..7, 0_i64..1440, 0_i64..=1440), 1..4),
            start in -200_000_i64..200_000, length in 0_i64..9000, turn in 0_i64..9000, jump in -2_i64..3,
        ) {
            let hours: Vec<WeekHours> = days
                .into_iter()
                .filter(|(_, _, from, to)| from != to)
                .map(|(first, last, from, to)| WeekHours {
                    days: read_days(&format!("{}-{}", WEEKDAYS[first], WEEKDAYS[last])).unwrap(),
                    hours: (from * 60, to * 60),
                })
                .collect();
            let (from, turn) = (MONDAY + start, MONDAY + start + turn);
            let offset = |at: i64| Some(if at < turn { 7200 } else { 7200 + jump * 1800 });
            let expected: Vec<i64> = hours
                .iter()
                .map(|hours| (from..from + length).filter(|at| hours.has(LocalTime::at(*at, offset(*at).unwrap()))).count())
                .map(|count| i64::try_from(count).unwrap())
                .collect();
            prop_assert_eq!(seconds(&hours, from, from + length, offset), expected);
        }
    }
}
