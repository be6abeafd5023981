//! What a component of the priority function is, and one line of settings about it.

use super::measure::Ranges;
use super::tables::{Object, Own};
use super::terms::{cap, least, weight};
use super::{targets, urgency, Needs, PointsJob};
use crate::settings::{self, Settings};

/// What the points of a job depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ground<'g> {
    pub(super) job: &'g PointsJob<'g>,
    pub(super) own: &'g Own,
    pub(super) group: &'g Object,
    pub(super) qos: &'g Object,
    pub(super) partition: &'g Object,
    /// What its association has of targets in the book of its partition, where that has some.
    pub(super) book: Option<Own>,
    /// The `Service` line that holds for the job.
    pub(super) promise: Option<&'g targets::Promise>,
    /// `XFMinLimit`, in seconds.
    pub(super) min_limit: f64,
    /// What all jobs have.
    pub(super) ranges: &'g Ranges,
    /// What the urgency of a job is made of.
    pub(super) urgency: &'g urgency::Weights,
    /// `PointsCap`, of which components in percent have their part.
    pub(super) whole: f64,
}

/// A component of the priority function.
///
/// Nothing panics or gives a number that is infinite or NaN, whatever the job.
pub(super) trait Component: Sized {
    /// What a line says of its parts.
    fn of(line: &settings::Component) -> Self;

    /// What applies without a line.
    fn without_line(_settings: &Settings) -> Option<Self> {
        None
    }

    /// The facts that it uses.
    fn needs(&self, settings: &Settings) -> Needs;

    /// What is added to the weight of the component.
    fn more_weight(_ground: &Ground<'_>) -> f64 {
        0.0
    }

    /// The sum of its parts.
    fn sum(&self, ground: &Ground<'_>) -> f64;
}

/// A component, as one line has it.
#[derive(Clone, Debug)]
pub(super) struct ComponentLine<C> {
    pub(super) weight: f64,
    /// In place of the weight: the part of all points that the job has for which the component is largest.
    pub(super) percent: Option<f64>,
    pub(super) cap: f64,
    pub(super) component: C,
}

impl<C: Component> ComponentLine<C> {
    pub(super) fn of(line: &settings::Component) -> Self {
        Self {
            weight: weight(line.weight),
            percent: line.weight_percent,
            cap: cap(line.cap),
            component: C::of(line),
        }
    }

    /// What applies without a line: `Weight=1`, without a cap.
    pub(super) fn without(settings: &Settings) -> Option<Self> {
        C::without_line(settings).map(|component| Self {
            weight: 1.0,
            percent: None,
            cap: cap(0.0),
            component,
        })
    }

    /// `largest` is that of all jobs.
    #[inline]
    pub(super) fn value(&self, ground: &Ground<'_>, largest: f64) -> f64 {
        let sum = least(self.component.sum(ground), self.cap);
        match self.percent {
            None => (self.weight + C::more_weight(ground)) * sum,
            Some(percent) if largest > 0.0 => {
                percent / 100.0 * ground.whole * (sum / largest).clamp(-1.0, 1.0)
            }
            Some(_) => 0.0,
        }
    }

    /// The largest sum of this component, whatever its sign, where it counts in percent: that of others, or that of a job.
    pub(super) fn larger(&self, largest: f64, ground: &Ground<'_>) -> f64 {
        match self.percent {
            None => largest,
            Some(_) => largest.max(self.component.sum(ground).min(self.cap).abs()),
        }
    }
}
