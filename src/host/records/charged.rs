//! The facts of a job that charge rules need. They are read only in a release that was compared with its headers, because no self-check
//! covers them.

use std::borrow::Cow;

use multifactor2_accounting::interrupted::Ending;
use multifactor2_core::rules::minimum::Run;

use super::Job;
use crate::host::access::Open;
use crate::host::constants::{JOB_NODE_FAIL, JOB_PREEMPTED, JOB_REQUEUE, JOB_STATE_BASE};

impl<'a, A: Open> Job<'a, A> {
    /// The reservation that it runs in; empty for none.
    ///
    /// For a job that was submitted to several, nobody can tell: it keeps all their names, and a pass of the scheduler removes the pointer.
    pub fn reservation(self) -> Cow<'a, str> {
        if !self.host.verified || self.get(|job| job.resv_ptr).is_null() {
            return Cow::Borrowed("");
        }
        let asked_for = self.text(|job| job.resv_name);
        if asked_for.contains(',') {
            return Cow::Borrowed("");
        }
        asked_for
    }

    /// The run that it is in, or that has ended, counted from 0. slurmctld counts a restart before it reports the end of the run that is
    /// requeued.
    pub fn run_number(self) -> u32 {
        let restarts = if self.host.verified { self.get(|job| job.restart_cnt) } else { 0 };
        u32::from(restarts).saturating_sub(u32::from(self.state().is_pending()))
    }

    /// How its run ended; `None` where none did. docs/charging.md has the table of what slurmctld reports for each cause in each release.
    ///
    /// `JOB_REQUEUE` is whatever an owner, a coordinator, an administrator or a prolog asked for: slurmctld does not keep who did.
    pub fn ending(self) -> Option<Ending> {
        let state = self.state();
        let has_ended = state.is_finished() || state.is_pending() && state.is_completing();
        if !has_ended || state.is_resizing() || self.get(|job| job.start_time) == 0 {
            return None;
        }
        let base = state.0 & JOB_STATE_BASE;
        let not_launched = state.is_pending() && state.0 & JOB_REQUEUE == 0;
        let is_interrupted =
            matches!(base, JOB_PREEMPTED | JOB_NODE_FAIL) || not_launched || self.is_being_preempted();
        Some(if is_interrupted { Ending::Interrupted } else { Ending::Own })
    }

    /// Whether it has to make room for another job, and will not run on. Gang scheduling takes the time of a preemption down too, but suspends
    /// the job, which runs on later.
    fn is_being_preempted(self) -> bool {
        let preempted = if self.host.verified { self.get(|job| job.preempt_time) } else { 0 };
        preempted != 0 && self.get(|job| job.suspend_time) < preempted
    }

    /// Whether it is, or once was, suspended in this run.
    pub fn was_suspended(self) -> bool {
        self.host.verified && self.get(|job| job.suspend_time) != 0
    }

    /// How many seconds it has run until a time, since it started: without those in which it was suspended, where the release was compared with its
    /// headers.
    pub fn ran_until(self, at: i64) -> i64 {
        let start = self.get(|job| job.start_time);
        if !self.was_suspended() {
            return at.saturating_sub(start).max(0);
        }
        let (since, before) = (self.get(|job| job.suspend_time), self.get(|job| job.pre_sus_time));
        if self.state().is_suspended() {
            before
        } else {
            before.saturating_add(at.saturating_sub(since).max(0))
        }
    }

    /// How it ran, where it has ended.
    pub fn ended_run(self) -> Option<Run> {
        self.ending()?;
        let suspended = |time| if self.host.verified { time } else { 0 };
        Some(Run {
            start: self.get(|job| job.start_time),
            end: self.get(|job| job.end_time),
            suspended: suspended(self.get(|job| job.suspend_time)),
            before_suspension: suspended(self.get(|job| job.pre_sus_time)),
        })
    }
}
