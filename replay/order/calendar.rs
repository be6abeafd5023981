//! Dates, without a time zone: a trace does not tell which one the cluster is in, so midnight is that of UTC.

use multifactor2_core::settings::value::Date;

/// The date of a time, as dates of `Override=` are compared with it.
pub fn date(now: i64) -> Date {
    let (days, clock) = (now.div_euclid(86_400), now.rem_euclid(86_400));
    // A year begins in March here, so that the leap day is its last.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march = (5 * of_year + 2) / 153;
    let month = if march < 10 { march + 3 } else { march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    let small = |value: i64| u8::try_from(value).unwrap_or_default();
    Date {
        year: u16::try_from(year).unwrap_or(u16::MAX),
        month: small(month),
        day: small(of_year - (153 * march + 2) / 5 + 1),
        hour: small(clock / 3600),
        minute: small(clock / 60 % 60),
        second: small(clock % 60),
    }
}

/// `PriorityUsageResetPeriod`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetPeriod {
    /// At midnight.
    Daily,
    /// At midnight before Sunday.
    Weekly,
    /// On the first of a month.
    Monthly,
    /// On the first of January, April, July and October.
    Quarterly,
    /// On the first of January.
    Yearly,
}

impl ResetPeriod {
    /// As slurm.conf has it; `None` for `NONE`, and for `NOW`, which is once and over.
    pub fn of(value: &str) -> Option<Self> {
        [
            ("DAILY", Self::Daily),
            ("WEEKLY", Self::Weekly),
            ("MONTHLY", Self::Monthly),
            ("QUARTERLY", Self::Quarterly),
            ("YEARLY", Self::Yearly),
        ]
        .into_iter()
        .find_map(|(name, period)| name.eq_ignore_ascii_case(value).then_some(period))
    }

    /// The number of the period that a time is in: usage is reset where it is another one than before.
    pub fn number(self, now: i64) -> i64 {
        let days = now.div_euclid(86_400);
        let date = date(now);
        let (year, month) = (i64::from(date.year), i64::from(date.month) - 1);
        match self {
            Self::Daily => days,
            // 1970-01-01 was a Thursday.
            Self::Weekly => (days + 4).div_euclid(7),
            Self::Monthly => year * 12 + month,
            Self::Quarterly => year * 4 + month / 3,
            Self::Yearly => year,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(date(0).to_string(), "1970-01-01T00:00:00");
        assert_eq!(date(951_868_799).to_string(), "2000-02-29T23:59:59");
        assert_eq!(date(1_709_251_200).to_string(), "2024-03-01T00:00:00");
    }

    /// Days of 2024: 1 January is a Monday, 31 March a Sunday.
    #[test]
    fn periods_begin_at_midnight() {
        let day = |day: i64| 1_704_067_200 + (day - 1) * 86_400;
        for (period, begins) in [
            (ResetPeriod::Daily, 2),
            (ResetPeriod::Weekly, 7),
            (ResetPeriod::Monthly, 32),
            (ResetPeriod::Quarterly, 92),
            (ResetPeriod::Yearly, 367),
        ] {
            let number = period.number(day(begins));
            assert_eq!(period.number(day(begins) - 1), number - 1, "{period:?}");
            assert_eq!(period.number(day(begins + 1) - 1), number, "{period:?}");
        }
        assert_eq!(ResetPeriod::of("weekly"), Some(ResetPeriod::Weekly));
        assert_eq!([ResetPeriod::of("NONE"), ResetPeriod::of("NOW")], [None; 2]);
    }
}
