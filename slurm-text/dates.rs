//! Times, dates, and the calendar of a time zone.

use jiff::civil::{self, DateTime};
use jiff::{Timestamp, ToSpan};
use multifactor2_core::calendar::{Calendar, Day};
use multifactor2_core::settings::value::Date;

pub use jiff::tz::TimeZone;

/// A text that is no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoTime;

/// Beyond the year 9999 is no time.
const LATEST: i64 = 253_402_300_800;

/// A time as sacct prints it: seconds since 1970, or `2024-01-31T12:00:00` in local time, which is taken as if it were universal time,
/// as the text does not tell the zone. `None` for `None`, `Unknown` and nothing.
///
/// # Errors
/// It is something else.
pub fn time(text: &str) -> Result<Option<i64>, NoTime> {
    let text = text.trim();
    if text.is_empty() || ["none", "unknown", "n/a", "(null)"].iter().any(|no| text.eq_ignore_ascii_case(no))
    {
        return Ok(None);
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return match text.parse::<i64>() {
            Ok(0) => Ok(None),
            Ok(seconds) if seconds < LATEST => Ok(Some(seconds)),
            _ => Err(NoTime),
        };
    }
    // jiff reads more than Slurm writes.
    let is_whole = text.len() == "2024-01-31T12:00:00".len() && text.contains('T');
    let time = text.parse::<DateTime>().ok().filter(|time| is_whole && time.year() > 0).ok_or(NoTime)?;
    let time = time.to_zoned(TimeZone::UTC).map_err(|_| NoTime)?;
    Ok(Some(time.timestamp().as_second()))
}

/// A time as Slurm writes it, in universal time.
pub fn shown(at: i64) -> String {
    Timestamp::from_second(at).unwrap_or(Timestamp::UNIX_EPOCH).strftime("%Y-%m-%dT%H:%M:%S").to_string()
}

/// The date of a time in a zone, as dates of settings are compared with it.
pub fn date(at: i64, zone: &TimeZone) -> Date {
    let zoned = Timestamp::from_second(at).unwrap_or(Timestamp::UNIX_EPOCH).to_zoned(zone.clone());
    let part = |value: i8| u8::try_from(value).unwrap_or_default();
    Date {
        year: u16::try_from(zoned.year()).unwrap_or_default(),
        month: part(zoned.month()),
        day: part(zoned.day()),
        hour: part(zoned.hour()),
        minute: part(zoned.minute()),
        second: part(zoned.second()),
    }
}

/// The time of a date in a zone, in seconds since 1970; `None` for one that there is not.
pub fn seconds(date: &Date, zone: &TimeZone) -> Option<i64> {
    let part = |value: u8| i8::try_from(value).ok();
    let civil = DateTime::new(
        i16::try_from(date.year).ok()?,
        part(date.month)?,
        part(date.day)?,
        part(date.hour)?,
        part(date.minute)?,
        part(date.second)?,
        0,
    );
    Some(civil.ok()?.to_zoned(zone.clone()).ok()?.timestamp().as_second())
}

/// The calendar of a time zone.
#[derive(Clone, Copy, Debug)]
pub struct Zone<'z>(pub &'z TimeZone);

impl Calendar for Zone<'_> {
    fn day(&self, at: i64) -> Option<Day> {
        let date = Timestamp::from_second(at).ok()?.to_zoned(self.0.clone()).date();
        let part = |value: i8| u8::try_from(value).ok();
        Some(Day {
            year: date.year().into(),
            month: part(date.month())?,
            day: part(date.day())?,
            weekday: part(date.weekday().to_sunday_zero_offset())?,
        })
    }

    fn midnight(&self, year: i32, month: u8, days: i32) -> Option<i64> {
        let first = civil::Date::new(i16::try_from(year).ok()?, i8::try_from(month).ok()?, 1).ok()?;
        let date = first.checked_add(days.days()).ok()?;
        Some(date.to_zoned(self.0.clone()).ok()?.timestamp().as_second())
    }

    fn offset(&self, at: i64) -> Option<i64> {
        Some(self.0.to_offset(Timestamp::from_second(at).ok()?).seconds().into())
    }
}

#[cfg(test)]
mod tests {
    use multifactor2_core::calendar::ResetPeriod;

    use super::*;

    #[test]
    fn times_of_sacct() {
        assert_eq!(time("1970-01-01T00:00:01"), Ok(Some(1)));
        assert_eq!(time("2000-02-29T23:59:59"), Ok(Some(951_868_799)));
        assert_eq!(time("2024-03-01T00:00:00"), Ok(Some(1_709_251_200)));
        assert_eq!(time("1709251200"), Ok(Some(1_709_251_200)));
        assert_eq!([time("Unknown"), time("0"), time("")], [Ok(None); 3]);
        for bad in [
            "2024-03-01",
            "2024-13-01T00:00:00",
            "2023-02-29T00:00:00",
            "tomorrow",
            "99999999999999",
            "2024-3-x1T0:0:0",
        ] {
            assert_eq!(time(bad), Err(NoTime), "{bad}");
        }
    }

    #[test]
    fn dates_go_there_and_back() {
        for (at, text) in [
            (0, "1970-01-01T00:00:00"),
            (951_868_799, "2000-02-29T23:59:59"),
            (1_709_251_200, "2024-03-01T00:00:00"),
        ] {
            let date = date(at, &TimeZone::UTC);
            assert_eq!((date.to_string().as_str(), seconds(&date, &TimeZone::UTC)), (text, Some(at)));
        }
        let none = Date { year: 2023, month: 2, day: 29, hour: 0, minute: 0, second: 0 };
        assert_eq!(seconds(&none, &TimeZone::UTC), None);
    }

    /// The next reset after a time of day, as a date.
    fn next(period: ResetPeriod, date: &str, zone: &TimeZone) -> String {
        let date: DateTime = date.parse().unwrap();
        let now = date.to_zoned(zone.clone()).unwrap().timestamp().as_second();
        let next =
            Timestamp::from_second(period.next(now, &Zone(zone)).unwrap()).unwrap().to_zoned(zone.clone());
        next.strftime("%Y-%m-%d %H:%M").to_string()
    }

    #[test]
    fn resets_are_where_slurmctld_has_them() {
        for zone in [TimeZone::UTC, TimeZone::system(), TimeZone::fixed(jiff::tz::offset(-11))] {
            // A Wednesday.
            assert_eq!(next(ResetPeriod::Daily, "2026-12-30T15:00:00", &zone), "2026-12-31 00:00");
            assert_eq!(next(ResetPeriod::Weekly, "2026-12-30T15:00:00", &zone), "2027-01-03 00:00");
            assert_eq!(next(ResetPeriod::Weekly, "2027-01-03T00:00:00", &zone), "2027-01-10 00:00");
            assert_eq!(next(ResetPeriod::Monthly, "2026-12-30T15:00:00", &zone), "2027-01-01 00:00");
            assert_eq!(next(ResetPeriod::Quarterly, "2026-03-31T15:00:00", &zone), "2026-04-01 00:00");
            assert_eq!(next(ResetPeriod::Quarterly, "2026-10-01T00:00:00", &zone), "2027-01-01 00:00");
            assert_eq!(next(ResetPeriod::Yearly, "2026-01-01T00:00:00", &zone), "2027-01-01 00:00");
        }
        for never in [ResetPeriod::None, ResetPeriod::Now] {
            assert_eq!(never.next(0, &Zone(&TimeZone::UTC)), None);
        }
    }
}
