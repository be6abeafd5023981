//! How long a pass of backfill lasts, and where it breaks off.
//!
//! No accounting has this. It depends on how many jobs this slurmctld tests in a second, which its `sdiag` reports. With that number a pass
//! works for `bf_yield_interval`, sleeps for `bf_yield_sleep`, and so on. While it works it holds the locks of jobs, so a submission or an
//! end during that time is seen in the next sleep. Without `bf_continue` the pass ends after a sleep in which something changed. After
//! `bf_max_time` it ends in any case (`_attempt_backfill` and `_yield_locks` of `backfill.c`, the same from 20.11 to 26.05). The next pass
//! comes `bf_interval` after the end of one. Here all starts of a pass happen at its begin.

use super::parameters::Parameters;
use crate::sim::world::World;

/// Microseconds in a second.
const SECOND: u64 = 1_000_000;

/// The clock of a pass, in microseconds.
#[derive(Debug, Default)]
pub struct Pace {
    /// What a test takes; 0: nothing, and no pass breaks off.
    test: u64,
    interval: u64,
    sleep: u64,
    longest: u64,
    goes_on_after_changes: bool,
    /// Since the pass began, and work since the last sleep.
    elapsed: u64,
    worked: u64,
}

impl Pace {
    pub fn new(parameters: &Parameters) -> Self {
        Self {
            test: SECOND.checked_div(u64::from(parameters.backfill_rate)).unwrap_or_default(),
            interval: u64::from(parameters.bf_yield_interval),
            sleep: u64::from(parameters.bf_yield_sleep),
            longest: u64::from(parameters.bf_max_time.unwrap_or(parameters.bf_interval)) * SECOND,
            goes_on_after_changes: parameters.bf_continue,
            ..Self::default()
        }
    }

    /// Whether passes take time. Then how long one lasts counts, also where it starts nobody.
    pub fn counts(&self) -> bool {
        self.test > 0
    }

    /// A pass begins.
    pub fn begin(&mut self) {
        (self.elapsed, self.worked) = (0, 0);
    }

    /// Whether the pass tests another job; if so, the time of that test has gone.
    pub fn goes_on(&mut self, world: &World<'_>) -> bool {
        if !self.counts() {
            return true;
        }
        if self.elapsed >= self.longest {
            return false;
        }
        if self.worked >= self.interval {
            self.worked = 0;
            self.elapsed += self.sleep;
            let has_changed = world.next_change().is_some_and(|at| at <= world.now + self.lasted());
            if has_changed && !self.goes_on_after_changes {
                return false;
            }
        }
        self.worked += self.test;
        self.elapsed += self.test;
        true
    }

    /// Whole seconds from the begin of the pass until now.
    pub fn lasted(&self) -> i64 {
        i64::try_from(self.elapsed / SECOND).unwrap_or(i64::MAX)
    }
}
