//! The time of day and the local calendar, from libc as in the host: usage resets happen at local midnight.

use multifactor2_core::calendar::{Calendar, Day};
use multifactor2_core::settings::value::Date;

/// Seconds since the epoch.
pub fn now() -> i64 {
    // SAFETY: a null argument is allowed.
    unsafe { libc::time(std::ptr::null_mut()) }
}

/// Broken-down local time.
#[derive(Clone, Copy)]
pub struct Local(libc::tm);

impl std::fmt::Debug for Local {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tm = &self.0;
        write!(f, "{:04}-{:02}-{:02}", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday)
    }
}

impl Local {
    /// A moment; `None` where the C library cannot tell.
    pub fn at(time: i64) -> Option<Self> {
        // SAFETY: zero is a valid value of every member; localtime_r fills it in.
        let mut tm: libc::tm = unsafe { std::mem::zeroed() };
        // SAFETY: two live pointers.
        if unsafe { libc::localtime_r(&raw const time, &raw mut tm) }.is_null() {
            return None;
        }
        Some(Self(tm))
    }

    /// Date and time of day, as settings have them.
    pub fn date(self) -> Date {
        let part = |part: libc::c_int| u8::try_from(part).unwrap_or(0);
        Date {
            year: u16::try_from(self.0.tm_year + 1900).unwrap_or(u16::MAX),
            month: part(self.0.tm_mon + 1),
            day: part(self.0.tm_mday),
            hour: part(self.0.tm_hour),
            minute: part(self.0.tm_min),
            second: part(self.0.tm_sec),
        }
    }
}

/// The calendar of the time zone that this process runs in.
#[derive(Clone, Copy, Debug)]
pub struct LocalCalendar;

impl Calendar for LocalCalendar {
    fn day(&self, at: i64) -> Option<Day> {
        let Local(tm) = Local::at(at)?;
        let part = |part: libc::c_int| u8::try_from(part).ok();
        Some(Day {
            year: tm.tm_year.checked_add(1900)?,
            month: part(tm.tm_mon + 1)?,
            day: part(tm.tm_mday)?,
            weekday: part(tm.tm_wday)?,
        })
    }

    fn midnight(&self, year: i32, month: u8, days: i32) -> Option<i64> {
        // SAFETY: zero is a valid value of every member.
        let mut tm: libc::tm = unsafe { std::mem::zeroed() };
        (tm.tm_year, tm.tm_mon) = (year.checked_sub(1900)?, i32::from(month) - 1);
        tm.tm_mday = days.checked_add(1)?;
        // Daylight saving time is worked out anew, as Slurm's own `slurm_mktime` does.
        tm.tm_isdst = -1;
        // SAFETY: a live structure, which mktime may normalise.
        Some(unsafe { libc::mktime(&raw mut tm) })
    }

    fn offset(&self, at: i64) -> Option<i64> {
        Local::at(at).map(|Local(tm)| tm.tm_gmtoff)
    }
}

#[cfg(test)]
mod tests {
    use multifactor2_core::calendar::ResetPeriod;

    use super::*;

    const DAY: i64 = 24 * 60 * 60;

    /// Around noon of 2026-11-21, a Saturday, in most time zones. The expectations hold in all of them.
    const NOW: i64 = 1_795_262_400;

    fn next(period: ResetPeriod, last: i64) -> Option<i64> {
        period.next_or_missed(last, NOW, &LocalCalendar)
    }

    fn today() -> Day {
        LocalCalendar.day(NOW).unwrap()
    }

    fn midnight(year: i32, month: u8, day: u8) -> i64 {
        LocalCalendar.midnight(year, month, i32::from(day) - 1).unwrap()
    }

    #[test]
    fn next_reset_of_every_period() {
        let (today, to_sunday) = (today(), i64::from(7 - today().weekday));
        assert_eq!((today.year, today.month), (2026, 11));
        let day = midnight(2026, 11, today.day);
        assert_eq!([ResetPeriod::None, ResetPeriod::Now].map(|period| next(period, NOW)), [None; 2]);
        assert_eq!(next(ResetPeriod::Daily, NOW), Some(day + DAY));
        assert_eq!(next(ResetPeriod::Weekly, NOW), Some(day + to_sunday * DAY));
        assert_eq!(next(ResetPeriod::Monthly, NOW), Some(midnight(2026, 12, 1)));
        assert_eq!(next(ResetPeriod::Quarterly, NOW), Some(midnight(2027, 1, 1)));
        assert_eq!(next(ResetPeriod::Yearly, NOW), Some(midnight(2027, 1, 1)));
    }

    #[test]
    fn quarters_begin_in_january_april_july_and_october() {
        let begins = [4, 4, 4, 7, 7, 7, 10, 10, 10, 13, 13, 13];
        for (month, begin) in (1..).zip(begins) {
            let next = next(ResetPeriod::Quarterly, midnight(2026, month, 1)).unwrap();
            let expected = if begin == 13 { midnight(2027, 1, 1) } else { midnight(2026, begin, 1) };
            assert_eq!(next, expected, "after month {month}");
        }
    }

    #[test]
    fn resets_missed_while_down_happen_once() {
        let day = midnight(2026, 11, today().day);
        for days in 1..5 {
            // Within a few days of each other no clock change interferes at this time of the year.
            assert_eq!(next(ResetPeriod::Daily, day - days * DAY), Some(day));
        }
        let week = 7 * DAY;
        let next = next(ResetPeriod::Weekly, NOW - 3 * week).unwrap();
        assert!(next <= NOW && next > NOW - week);
        assert_eq!(LocalCalendar.day(next).unwrap().weekday, 0);
    }
}
