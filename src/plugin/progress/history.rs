//! Records when cycles ran, and which of them slurmctld's saved usage includes.

use super::saved_usage::SavedUsage;

/// Bytes of the [`Times`] of one cycle in the state file.
pub(super) const SIZE: usize = 16;

/// What the file holds of one cycle, seconds since the epoch; 0 means never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// When the last cycle ran: usage up to then is charged and decayed.
    pub last_ran: i64,
    /// When usage was last reset.
    pub last_reset: i64,
}

impl Times {
    /// From the state file.
    pub(super) fn of(bytes: [u8; SIZE]) -> Self {
        let number = u128::from_be_bytes(bytes);
        // Two halves, each a signed number.
        #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
        let (last_ran, last_reset) = ((number >> 64) as u64 as i64, number as u64 as i64);
        Self { last_ran, last_reset }
    }

    /// For the state file.
    pub(super) fn bytes(self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        bytes[..8].copy_from_slice(&self.last_ran.to_be_bytes());
        bytes[8..].copy_from_slice(&self.last_reset.to_be_bytes());
        bytes
    }
}

/// Where slurmctld's saved usage stands in the row of cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The last cycle: what usage in memory includes.
    pub newest: Times,
    /// What `saved` includes.
    pub base: Times,
    /// The usage that slurmctld had saved when the newest cycle was charged, if any.
    pub saved: Option<SavedUsage>,
}

impl History {
    /// Usage has been loaded, and includes `times`.
    pub fn loaded(times: Times, saved: Option<SavedUsage>) -> Self {
        Self { newest: times, base: times, saved }
    }

    /// What the usage includes that slurmctld has saved.
    pub fn included(&self, saved: Option<SavedUsage>) -> Times {
        if saved == self.saved {
            self.base
        } else {
            self.newest
        }
    }

    /// Whether the usage that slurmctld has saved includes the newest cycle.
    pub fn includes_newest(&self, saved: Option<SavedUsage>) -> bool {
        saved != self.saved || self.base == self.newest
    }

    /// After one more cycle, which is charged while `saved` lies there.
    #[must_use]
    pub fn after(&self, times: Times, saved: Option<SavedUsage>) -> Self {
        Self { newest: times, base: self.included(saved), saved }
    }
}
