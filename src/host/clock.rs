//! Time of day and the local calendar, from libc as in the host: usage resets happen at local midnight.

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

    /// Midnight at the beginning of the day that `time` falls in; `None` where the C library cannot tell.
    pub fn midnight_before(time: i64) -> Option<Self> {
        let Self(mut tm) = Self::at(time)?;
        (tm.tm_hour, tm.tm_min, tm.tm_sec) = (0, 0, 0);
        Some(Self(tm))
    }

    /// Days since Sunday (0 to 6).
    pub fn weekday(self) -> u8 {
        u8::try_from(self.0.tm_wday).unwrap_or(0)
    }

    /// Month (0 to 11).
    pub fn month(self) -> u8 {
        u8::try_from(self.0.tm_mon).unwrap_or(0)
    }

    /// The day so many days later, or earlier.
    #[must_use]
    pub fn plus_days(mut self, days: i32) -> Self {
        self.0.tm_mday += days;
        self
    }

    /// The first day of a month of the same year, `month` counted from 0; 12 is January of the next year.
    #[must_use]
    pub fn first_of(mut self, month: u8) -> Self {
        self.0.tm_mday = 1;
        self.0.tm_mon = i32::from(month % 12);
        self.0.tm_year += i32::from(month / 12);
        self
    }

    /// As seconds since the epoch; daylight saving time is worked out anew, as Slurm's own `slurm_mktime` does.
    pub fn seconds(self) -> i64 {
        let mut tm = self.0;
        tm.tm_isdst = -1;
        // SAFETY: a live structure, which mktime may normalise.
        unsafe { libc::mktime(&raw mut tm) }
    }
}
