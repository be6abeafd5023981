//! What charge rules ask of a job. All of it is told only in a release that was compared with its headers: no self-check pins it.

use std::borrow::Cow;

use multifactor2_core::rules::minimum::Run;

use super::Job;
use crate::host::access::Open;
use crate::host::constants::{JOB_NODE_FAIL, JOB_PREEMPTED, JOB_STATE_BASE};

impl<'a, A: Open> Job<'a, A> {
    /// The reservation that it runs in; empty where there is none.
    ///
    /// Of a job that was submitted to several nobody can tell: it keeps all their names, and a pass of the scheduler takes away the pointer.
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

    /// Whether it has run before. slurmctld counts a restart before it reports the end of the run that is requeued.
    pub fn is_rerun(self) -> bool {
        let restarts = if self.host.verified { self.get(|job| job.restart_cnt) } else { 0 };
        restarts > u16::from(self.state().is_pending())
    }

    /// How it ran, where it has ended for good; `None` for a job that was preempted, and one that waits again.
    pub fn run_to_its_end(self) -> Option<Run> {
        let state = self.state();
        let start = self.get(|job| job.start_time);
        let preempted = self.host.verified && self.get(|job| job.preempt_time) != 0
            || state.0 & JOB_STATE_BASE == JOB_PREEMPTED;
        if !state.is_finished() || state.is_resizing() || start == 0 || preempted {
            return None;
        }
        let suspended = |time| if self.host.verified { time } else { 0 };
        Some(Run {
            start,
            end: self.get(|job| job.end_time),
            suspended: suspended(self.get(|job| job.suspend_time)),
            before_suspension: suspended(self.get(|job| job.pre_sus_time)),
        })
    }

    /// Whether the end that slurmctld reports is that of a job which will run again because a node failed: its nodes are not being cleaned
    /// up yet.
    pub fn will_run_again(self) -> bool {
        let state = self.state();
        state.0 & JOB_STATE_BASE == JOB_NODE_FAIL && !state.is_completing()
    }
}
