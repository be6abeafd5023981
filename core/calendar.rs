//! `PriorityUsageResetPeriod`: when all usage is set to 0, in the local calendar.
//!
//! Core has no clock and no time zone: the caller brings a [`Calendar`]. Inside slurmctld it is the C library's, elsewhere one that takes
//! the zone as a value.
//!
//! Days are counted in the calendar, not in seconds. Stock adds 24 hours to midnight, which is 23:00 of the same day when clocks are set
//! back in autumn. With daily resets it then resets in every cycle for a day.

/// A day of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Day {
    /// Such as 2026.
    pub year: i32,
    /// From 1 to 12.
    pub month: u8,
    /// Of the month, from 1.
    pub day: u8,
    /// Days since Sunday, from 0 to 6.
    pub weekday: u8,
}

/// What a time zone says of days.
pub trait Calendar {
    /// The day that a time, in seconds since 1970, falls in; `None` where the calendar does not reach so far.
    fn day(&self, at: i64) -> Option<Day>;

    /// Midnight at the beginning of the day that is `days` after the first of a month (1 to 12), in seconds since 1970; `None` if the
    /// calendar does not reach that far.
    fn midnight(&self, year: i32, month: u8, days: i32) -> Option<i64>;

    /// How many seconds local clocks are ahead of UTC at a time; `None` where the calendar does not reach so far.
    fn offset(&self, at: i64) -> Option<i64>;
}

/// `PriorityUsageResetPeriod`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResetPeriod {
    /// Never.
    #[default]
    None,
    /// Once, now.
    Now,
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
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::None, Self::Now, Self::Daily, Self::Weekly, Self::Monthly, Self::Quarterly, Self::Yearly];

    /// As slurm.conf has it and `scontrol show config` prints it.
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "NONE",
            Self::Now => "NOW",
            Self::Daily => "DAILY",
            Self::Weekly => "WEEKLY",
            Self::Monthly => "MONTHLY",
            Self::Quarterly => "QUARTERLY",
            Self::Yearly => "YEARLY",
        }
    }

    /// The period of a word, in upper or lower case; `None` for another word.
    pub fn read(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|period| period.word().eq_ignore_ascii_case(text.trim()))
    }

    /// Whether there is a reset again and again.
    pub fn repeats(self) -> bool {
        !matches!(self, Self::None | Self::Now)
    }

    /// The first reset after a time, in seconds since 1970 (`_next_reset` in `priority_multifactor.c`); `None` without resets.
    pub fn next(self, after: i64, calendar: &impl Calendar) -> Option<i64> {
        let today = calendar.day(after)?;
        let month_on = |months: u8| match today.month + months {
            later if later > 12 => calendar.midnight(today.year.checked_add(1)?, later - 12, 0),
            later => calendar.midnight(today.year, later, 0),
        };
        match self {
            Self::None | Self::Now => None,
            Self::Daily => midnight(today, 1, calendar),
            Self::Weekly => midnight(today, 7 - i32::from(today.weekday), calendar),
            Self::Monthly => month_on(1),
            Self::Quarterly => month_on(3 - (today.month - 1) % 3),
            Self::Yearly => month_on(13 - today.month),
        }
    }

    /// The same after a time that may be long ago: of the days and weeks that were missed until `now`, while slurmctld was down, only the
    /// latest counts.
    pub fn next_or_missed(self, last: i64, now: i64, calendar: &impl Calendar) -> Option<i64> {
        let next = self.next(last, calendar)?;
        let latest = match self {
            Self::Daily => midnight(calendar.day(now)?, 0, calendar)?,
            Self::Weekly => {
                let today = calendar.day(now)?;
                midnight(today, -i32::from(today.weekday), calendar)?
            }
            _ => next,
        };
        Some(next.max(latest))
    }
}

/// Midnight `days` after a day, or before it.
fn midnight(day: Day, days: i32, calendar: &impl Calendar) -> Option<i64> {
    calendar.midnight(day.year, day.month, i32::from(day.day) - 1 + days)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_are_written() {
        for period in ResetPeriod::ALL {
            assert_eq!(ResetPeriod::read(period.word()), Some(period));
        }
        assert_eq!(ResetPeriod::read(" weekly "), Some(ResetPeriod::Weekly));
        assert_eq!(ResetPeriod::read("sometimes"), None);
    }
}
