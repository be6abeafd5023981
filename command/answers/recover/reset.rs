//! `PriorityUsageResetPeriod`: when slurmctld sets all usage to 0 the next time (`_next_reset` in `priority_multifactor.c`).

use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use schemars::JsonSchema;
use serde::Serialize;

/// How often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Period {
    /// At the beginning of each day.
    Daily,
    /// At the beginning of each Sunday.
    Weekly,
    /// At the beginning of each month.
    Monthly,
    /// At the beginning of January, April, July and October.
    Quarterly,
    /// At the beginning of each year.
    Yearly,
}

impl Period {
    /// As `scontrol show config` writes it; `None` for `NONE` and `NOW`, which resets once.
    pub fn read(text: &str) -> Option<Self> {
        match text.trim().to_ascii_uppercase().as_str() {
            "DAILY" => Some(Self::Daily),
            "WEEKLY" => Some(Self::Weekly),
            "MONTHLY" => Some(Self::Monthly),
            "QUARTERLY" => Some(Self::Quarterly),
            "YEARLY" => Some(Self::Yearly),
            _ => None,
        }
    }

    /// In words, as in "reset ...".
    pub fn described(self) -> &'static str {
        match self {
            Self::Daily => "each day",
            Self::Weekly => "each Sunday",
            Self::Monthly => "each month",
            Self::Quarterly => "each quarter",
            Self::Yearly => "each year",
        }
    }

    /// The first reset after a time, in the zone of who asks.
    pub fn next(self, after: i64) -> Option<i64> {
        let zone = TimeZone::system();
        let today = Timestamp::from_second(after).ok()?.to_zoned(zone.clone()).date();
        let month = |year: i16, month: i8| Date::new(year, month, 1).ok();
        let months_on = |count: i8| match today.month() + count {
            later if later > 12 => month(today.year().checked_add(1)?, later - 12),
            later => month(today.year(), later),
        };
        let date = match self {
            Self::Daily => today.tomorrow().ok()?,
            Self::Weekly if today.weekday() == Weekday::Sunday => today.checked_add(7.days()).ok()?,
            Self::Weekly => today.nth_weekday(1, Weekday::Sunday).ok()?,
            Self::Monthly => months_on(1)?,
            Self::Quarterly => months_on(3 - (today.month() - 1) % 3)?,
            Self::Yearly => month(today.year().checked_add(1)?, 1)?,
        };
        Some(date.to_zoned(zone).ok()?.timestamp().as_second())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The next reset after a time of day, as a date.
    fn next(period: Period, date: &str) -> String {
        let date: jiff::civil::DateTime = date.parse().unwrap();
        let zone = TimeZone::system();
        let now = date.to_zoned(zone.clone()).unwrap().timestamp().as_second();
        let next = Timestamp::from_second(period.next(now).unwrap()).unwrap().to_zoned(zone);
        next.strftime("%Y-%m-%d %H:%M").to_string()
    }

    #[test]
    fn resets_are_where_slurmctld_has_them() {
        // A Wednesday.
        assert_eq!(next(Period::Daily, "2026-12-30T15:00:00"), "2026-12-31 00:00");
        assert_eq!(next(Period::Weekly, "2026-12-30T15:00:00"), "2027-01-03 00:00");
        assert_eq!(next(Period::Weekly, "2027-01-03T00:00:00"), "2027-01-10 00:00");
        assert_eq!(next(Period::Monthly, "2026-12-30T15:00:00"), "2027-01-01 00:00");
        assert_eq!(next(Period::Quarterly, "2026-03-31T15:00:00"), "2026-04-01 00:00");
        assert_eq!(next(Period::Quarterly, "2026-10-01T00:00:00"), "2027-01-01 00:00");
        assert_eq!(next(Period::Yearly, "2026-01-01T00:00:00"), "2027-01-01 00:00");
        assert_eq!((Period::read("NONE"), Period::read("now")), (None, None));
        assert_eq!(Period::read("Weekly"), Some(Period::Weekly));
    }
}
