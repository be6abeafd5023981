//! The times of an export, and the months between them, in UTC.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};

/// A month, or as much of it as is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Month {
    year: i16,
    number: i8,
    /// Seconds since 1970.
    pub from: i64,
    /// The same, and no longer in it.
    pub until: i64,
}

impl Month {
    /// Its file in a trace.
    pub fn file(&self) -> String {
        format!("sacct-{:04}-{:02}.txt.gz", self.year, self.number)
    }

    /// What an export notes of it.
    pub fn line(&self) -> String {
        format!("{} {} {}", self.file(), shown(self.from), shown(self.until))
    }
}

fn zoned(at: i64) -> Zoned {
    Timestamp::from_second(at).unwrap_or(Timestamp::UNIX_EPOCH).to_zoned(TimeZone::UTC)
}

/// A time as sacct takes it.
pub fn shown(at: i64) -> String {
    zoned(at).strftime("%Y-%m-%dT%H:%M:%S").to_string()
}

/// `now`, `now-30days`, `2024-01-31` or `2024-01-31T12:00:00`; units are minutes, hours, days and weeks.
pub fn time(text: &str, now: i64) -> Option<i64> {
    if let Some(rest) = text.strip_prefix("now") {
        if rest.is_empty() {
            return Some(now);
        }
        let rest = rest.strip_prefix('-')?;
        let end = rest.find(|letter: char| !letter.is_ascii_digit())?;
        let count: i64 = rest[..end].parse().ok()?;
        let unit = match &rest[end..] {
            "minute" | "minutes" => 60,
            "hour" | "hours" => 3600,
            "day" | "days" => 86_400,
            "week" | "weeks" => 7 * 86_400,
            _ => return None,
        };
        return now.checked_sub(count.checked_mul(unit)?).filter(|at| *at >= 0);
    }
    let whole = match text.len() {
        10 => format!("{text}T00:00:00"),
        16 => format!("{text}:00"),
        _ => text.to_owned(),
    };
    let time: DateTime = whole.parse().ok()?;
    let at = time.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second();
    (0..253_402_300_800).contains(&at).then_some(at)
}

/// The months from one time to another; the first and the last may be parts.
pub fn between(start: i64, end: i64) -> Vec<Month> {
    let mut months = Vec::new();
    let mut from = start;
    while from < end {
        let date = zoned(from);
        let next = date.date().first_of_month().saturating_add(1.month());
        let next = next.to_zoned(TimeZone::UTC).map_or(end, |next| next.timestamp().as_second());
        let until = next.min(end);
        months.push(Month { year: date.year(), number: date.month(), from, until });
        from = until;
    }
    months
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_sacct_takes_them() {
        let now = 1_706_702_400;
        assert_eq!(time("now", now), Some(now));
        assert_eq!(time("now-2days", now), Some(now - 2 * 86_400));
        assert_eq!(time("2024-01-31T12:00:00", 0), Some(now));
        assert_eq!(time("2024-01-31", 0), Some(now - 12 * 3600));
        for wrong in ["", "yesterday", "now+1day", "now-2", "2024-02-30", "now-99999999999999days"] {
            assert_eq!(time(wrong, now), None, "{wrong}");
        }
    }

    #[test]
    fn months_meet() {
        let months = between(time("2023-11-15", 0).unwrap(), time("2024-02-01", 0).unwrap());
        let lines: Vec<String> = months.iter().map(Month::line).collect();
        assert_eq!(
            lines,
            [
                "sacct-2023-11.txt.gz 2023-11-15T00:00:00 2023-12-01T00:00:00",
                "sacct-2023-12.txt.gz 2023-12-01T00:00:00 2024-01-01T00:00:00",
                "sacct-2024-01.txt.gz 2024-01-01T00:00:00 2024-02-01T00:00:00"
            ]
        );
    }
}
