//! When usage is reset: `PriorityUsageResetPeriod` in the local calendar.
//!
//! Days are counted in the calendar, not in seconds: where stock adds 24 hours to midnight it arrives at 23:00 of the
//! same day when clocks are set back in autumn, and with daily resets it then resets in every cycle for a day.

use crate::host::clock::Local;
use crate::host::constants;

/// `PriorityUsageResetPeriod`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// Never.
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

impl Period {
    /// The period that `slurm_conf.priority_reset_period` stands for. Slurm checks the value.
    pub fn of(number: u16) -> Self {
        match number {
            constants::PRIORITY_RESET_NOW => Self::Now,
            constants::PRIORITY_RESET_DAILY => Self::Daily,
            constants::PRIORITY_RESET_WEEKLY => Self::Weekly,
            constants::PRIORITY_RESET_MONTHLY => Self::Monthly,
            constants::PRIORITY_RESET_QUARTERLY => Self::Quarterly,
            constants::PRIORITY_RESET_YEARLY => Self::Yearly,
            _ => Self::None,
        }
    }

    /// The first reset after `last`, seconds since the epoch; `None` where there is none. Days and weeks that
    /// were missed while slurmctld was down are skipped up to the latest one before `now`.
    pub fn next(self, last: i64, now: i64) -> Option<i64> {
        let day = Local::midnight_before(last)?;
        Some(match self {
            Self::None | Self::Now => return None,
            Self::Daily => day.plus_days(1).seconds().max(today(now)?.seconds()),
            Self::Weekly => {
                let today = today(now)?;
                let next = day.plus_days(7 - i32::from(day.weekday()));
                next.seconds().max(today.plus_days(-i32::from(today.weekday())).seconds())
            }
            Self::Monthly => day.first_of(day.month() + 1).seconds(),
            Self::Quarterly => day.first_of(day.month() / 3 * 3 + 3).seconds(),
            Self::Yearly => day.first_of(12).seconds(),
        })
    }
}

fn today(now: i64) -> Option<Local> {
    Local::midnight_before(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 24 * 60 * 60;

    /// Around noon of 2026-11-21, a Saturday, in most time zones. The expectations hold in all of them.
    const NOW: i64 = 1_795_262_400;

    fn today() -> Local {
        Local::midnight_before(NOW).unwrap()
    }

    #[test]
    fn next_reset_of_every_period() {
        let midnight = today().seconds();
        assert_eq!(Period::None.next(NOW, NOW), None);
        assert_eq!(Period::Now.next(NOW, NOW), None);
        assert_eq!(Period::Daily.next(NOW, NOW), Some(midnight + DAY));
        let to_sunday = i64::from(7 - today().weekday());
        assert_eq!(Period::Weekly.next(NOW, NOW), Some(midnight + to_sunday * DAY));
        assert_eq!(Period::Monthly.next(NOW, NOW), Some(today().first_of(11).seconds()));
        assert_eq!(Period::Quarterly.next(NOW, NOW), Some(today().first_of(12).seconds()));
        assert_eq!(Period::Yearly.next(NOW, NOW), Some(today().first_of(12).seconds()));
    }

    #[test]
    fn quarters_begin_in_january_april_july_and_october() {
        for month in 0..12 {
            let next = Period::Quarterly.next(today().first_of(month).seconds(), NOW).unwrap();
            assert_eq!(next, today().first_of(month / 3 * 3 + 3).seconds(), "after month {month}");
        }
    }

    #[test]
    fn resets_missed_while_down_happen_once() {
        let midnight = today().seconds();
        for days in 1..5 {
            // Within a few days of each other no clock change interferes at this time of the year.
            assert_eq!(Period::Daily.next(midnight - days * DAY, NOW), Some(midnight));
        }
        let week = 7 * DAY;
        let next = Period::Weekly.next(NOW - 3 * week, NOW).unwrap();
        assert!(next <= NOW && next > NOW - week);
    }
}
