//! Calls into the plugin.

use super::{Cycle, Host};
use crate::error::HostResult;
use crate::model::FactorsFilter;
use crate::reply::FactorsObject;

#[expect(clippy::missing_errors_doc, reason = "each fails as `request` does")]
impl Host {
    /// Load the plugin and wait until its decay thread has completed its first cycle. Works again after `fini`.
    pub fn init(&mut self) -> HostResult<Cycle> {
        Self::cycle_of(&self.request("init")?)
    }

    /// Load the plugin where it starts no decay thread (without slurmdbd, or outside slurmctld).
    pub fn init_without_thread(&mut self) -> HostResult<()> {
        self.request("init wait=0").map(drop)
    }

    /// Unload the plugin.
    pub fn fini(&mut self) -> HostResult<()> {
        self.request("fini").map(drop)
    }

    /// Run one decay cycle now, at the clock's time, and wait for its end.
    pub fn cycle(&mut self) -> HostResult<Cycle> {
        Self::cycle_of(&self.request("cycle")?)
    }

    /// Start one decay cycle and do not wait: what follows happens beside it. Give the answer to `finish_cycle`.
    pub fn start_cycle(&mut self) -> HostResult<Cycle> {
        Self::cycle_of(&self.request("cycle wait=0")?)
    }

    /// Start one decay cycle that stops before the n-th lock, from 1, that its thread takes while it holds none. The answer is
    /// for `finish_cycle`, and says whether there was such a lock; if so, what follows comes in between, until `go_on`.
    pub fn start_cycle_until(&mut self, lock: u32) -> HostResult<(Cycle, bool)> {
        self.start_cycle_until_lock(lock, "")
    }

    /// The same, counting also the moments after it has let go of all of them.
    pub fn start_cycle_until_free(&mut self, moment: u32) -> HostResult<(Cycle, bool)> {
        self.start_cycle_until_lock(moment, "after=1")
    }

    /// The same, counting also the locks that its thread takes on top of others.
    pub fn start_cycle_until_any(&mut self, lock: u32) -> HostResult<(Cycle, bool)> {
        self.start_cycle_until_lock(lock, "inside=1")
    }

    fn start_cycle_until_lock(&mut self, lock: u32, more: &str) -> HostResult<(Cycle, bool)> {
        self.request(&format!("stop at={lock} {more}"))?;
        let before = self.start_cycle()?;
        let reached = self.is_stopped(before.completed)?;
        Ok((before, reached))
    }

    /// Let a stopped cycle go on to the n-th lock from there, or to its end.
    pub fn stop_again(&mut self, before: Cycle, lock: u32) -> HostResult<bool> {
        self.request(&format!("stop at={lock} inside=1"))?;
        self.is_stopped(before.completed)
    }

    /// Wait until the first cycle after `init_without_thread` has stopped.
    pub fn wait_until_stopped(&mut self) -> HostResult<bool> {
        self.is_stopped(0)
    }

    fn is_stopped(&mut self, completed: u32) -> HostResult<bool> {
        let reached: u32 = self.one(&format!("stop seen={completed}"))?.get("reached")?;
        Ok(reached == 1)
    }

    /// Let a stopped cycle go on.
    pub fn go_on(&mut self) -> HostResult<()> {
        self.request("stop").map(drop)
    }

    /// Wait for the end of the cycle that `start_cycle` has started.
    pub fn finish_cycle(&mut self, before: Cycle) -> HostResult<Cycle> {
        Self::cycle_of(&self.request(&format!("await seen={}", before.completed))?)
    }

    /// Compute a job's priority as at submission and store it in the job.
    pub fn set_priority(&mut self, job: u32) -> HostResult<u32> {
        self.one(&format!("set id={job}"))?.get("value")
    }

    /// Compute a job's priority from a last priority, without storing it.
    pub fn try_priority(&mut self, job: u32, last: u32) -> HostResult<u32> {
        self.one(&format!("set id={job} last={last} store=0"))?.get("value")
    }

    /// Tell the plugin that a job has ended.
    pub fn job_end(&mut self, job: u32) -> HostResult<()> {
        self.request(&format!("jobend id={job}")).map(drop)
    }

    /// Tell the plugin that the settings have changed.
    pub fn reconfigure(&mut self, assoc_clear: bool) -> HostResult<()> {
        self.request(&format!("reconfig assoc_clear={}", u8::from(assoc_clear))).map(drop)
    }

    /// Have the plugin set one association's normalised and effective usage.
    pub fn set_association_usage(&mut self, id: u32) -> HostResult<()> {
        self.request(&format!("setusage id={id}")).map(drop)
    }

    /// The plugin's fair-share factor of an effective usage and normalised shares.
    pub fn fairshare_factor(&mut self, usage_efctv: f64, shares_norm: f64) -> HostResult<f64> {
        self.one(&format!("fsfactor efctv={usage_efctv:?} shares={shares_norm:?}"))?.double("value")
    }

    /// What `sprio` would get.
    pub fn factors(&mut self, filter: &FactorsFilter) -> HostResult<Vec<FactorsObject>> {
        self.records(&filter.line())
    }
}
