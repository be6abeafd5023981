//! URGENCY: the urgency and the POSIX priority of a job relative to all others, as Grid Engine weighs them (`sched_conf`(5),
//! `weight_urgency` and `weight_priority`; the tests have our own model of both).

use super::measure::Ranges;
use super::terms::{amount, weight, Terms};
use super::{Component, Ground, Needs, PointsJob};
use crate::settings::{self, ComponentKind, DeadlineIs, Settings};

/// URGENCY on one line: Urgency Priority.
#[derive(Clone, Debug)]
pub(super) struct Urgency(Terms<2>);

impl Component for Urgency {
    fn of(line: &settings::Component) -> Self {
        Self(Terms::of([line.urgency, line.priority]))
    }

    fn needs(&self, _settings: &Settings) -> Needs {
        let counts = self.0.counts(0) || self.0.counts(1);
        Needs { urgency: counts, course: counts, wait: counts, limit: counts, ..Needs::default() }
    }

    #[inline]
    fn sum(&self, ground: &Ground<'_>) -> f64 {
        let Ranges { urgency, priority, .. } = ground.ranges;
        self.0.sum([urgency.part(ground.urgency.of(ground.job)), priority.part(-ground.job.nice)])
    }
}

/// What the urgency of a job is made of: that of the general line, since all jobs are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Weights {
    waiting_time: f64,
    deadline: f64,
    /// The deadline is when a job has to end, not when it has to start.
    by_end: bool,
}

impl Weights {
    pub(super) fn configured(settings: &Settings) -> Self {
        let is_it = |line: &&settings::Component| {
            line.component == ComponentKind::Urgency && line.partitions.is_none()
        };
        settings.components.iter().find(is_it).map_or_else(Self::default, |line| Self {
            waiting_time: line.waiting_time.map_or(0.0, weight),
            deadline: line.deadline.map_or(0.0, weight),
            by_end: line.deadline_is == Some(DeadlineIs::End),
        })
    }

    /// `weight_waiting_time` times the seconds waited, and `weight_deadline` over the seconds that are left, at least one.
    #[inline]
    pub(super) fn of(&self, job: &PointsJob<'_>) -> f64 {
        let left = job.deadline.map(|left| if self.by_end { left } else { left - amount(job.limit) });
        self.waiting_time * amount(job.wait) + left.map_or(0.0, |left| self.deadline / left.max(1.0))
    }
}
