//! The plugin's own locks, and the parts of its thread.
//!
//! All of them come after the host's. A thread that holds one takes only two kinds of the host's: that of the state files, which is the
//! innermost, and those inside the host's lists, while it walks one. Among each other they are taken in the order of [`Rank`]. Debug builds
//! check both.

use std::ops::{Deref, DerefMut};

pub use parking_lot::{Condvar, Mutex};
pub use std::thread::JoinHandle;

use crate::host::order;

/// The order in which one thread may hold several of them.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub enum Rank {
    /// What is noted of jobs from one charge to a later one.
    Noted,
    /// The last good settings.
    Settings,
    /// Who has which fair-share, and what priorities came from.
    Origins,
    /// Our own sums of usage.
    OwnUsage,
    /// Those of the share tree in windows.
    TreeUsage,
    /// Jobs that have ended, for our own sums.
    Ends,
    /// The same for those of the share tree.
    TreeEnds,
    /// What is used of grants.
    Grants,
    /// The state file.
    Journal,
    /// The times of the last cycle.
    Times,
    /// What a reconfigure has counted anew.
    Recount,
    /// Whether slurmctld's records are as they should be.
    Health,
}

/// One of the plugin's own locks.
#[derive(Debug)]
pub struct Ranked<T> {
    rank: Rank,
    mutex: Mutex<T>,
}

/// Such a lock, held.
#[derive(Debug)]
pub struct RankedGuard<'a, T> {
    guard: parking_lot::MutexGuard<'a, T>,
    _held: order::Own,
}

impl<T> Ranked<T> {
    /// A lock and its place in the order.
    pub fn new(rank: Rank, value: T) -> Self {
        Self { rank, mutex: Mutex::new(value) }
    }

    /// Takes it.
    pub fn lock(&self) -> RankedGuard<'_, T> {
        let held = order::take_own(self.rank as u8);
        RankedGuard { guard: self.mutex.lock(), _held: held }
    }
}

impl<T> Deref for RankedGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for RankedGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}
