//! TARGET: how close a job is to its longest acceptable wait (Maui Administrator's Guide, 5.1.2.5), as `Service` lines promise it.

use super::job::{expansion_factor, queue_time};
use super::terms::{amount, least, most, Terms};
use super::{Component, Ground, Needs};
use crate::settings::{self, Settings};

/// TARGET on one line: `TargetQueueTime` `TargetXFactor`.
#[derive(Clone, Debug)]
pub(super) struct Target(Terms<2>);

/// How the value grows as the target comes near.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Curve {
    /// Our own, from nearly 0 to 1 when the target is reached: min(1, (r / (T - w + r))²) with r = T/60 and w = min(waited, T). One
    /// minute before a target of an hour it is 0.25. The unit of time does not matter.
    #[default]
    Bounded,
    /// As Maui's manual says: max(0.0001, T - waited)^-2, in minutes for the wait; 100,000,000 from the target on.
    Maui,
}

impl Curve {
    /// The value where `waited` is what it is and `target` what it should be at most, both in one unit; 0 without a target.
    #[inline]
    pub fn value(self, target: f64, waited: f64) -> f64 {
        self.of_amounts(amount(target), amount(waited))
    }

    /// The same of numbers that are amounts already.
    #[inline]
    fn of_amounts(self, target: f64, waited: f64) -> f64 {
        if target <= 0.0 {
            return 0.0;
        }
        match self {
            Self::Bounded => {
                let scale = target / 60.0;
                let part = scale / (target - least(waited, target) + scale);
                least(part * part, 1.0)
            }
            Self::Maui => {
                let left = most(target - waited, 0.0001);
                1.0 / (left * left)
            }
        }
    }
}

/// By how much more a target that is missed counts than one that is just met: min(`growth`, 1 + log2(waited / target)), 1 until then.
#[inline]
fn grown(growth: f64, target: f64, waited: f64) -> f64 {
    if growth <= 1.0 {
        return 1.0;
    }
    let (target, waited) = (amount(target), amount(waited));
    if target <= 0.0 || waited <= target {
        return 1.0;
    }
    (1.0 + (waited / target).log2()).min(growth)
}

/// What a `Service` line promises.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Promise {
    /// In minutes; 0 for none.
    pub queue_time: f64,
    /// 0 for none.
    pub xfactor: f64,
    /// What is added to the weights of queue time and expansion factor in SERV.
    pub more: [f64; 2],
    pub curve: Curve,
    /// `TargetGrowth`
    pub growth: f64,
}

impl Promise {
    #[inline]
    fn value(&self, target: f64, waited: f64) -> f64 {
        self.curve.of_amounts(amount(target), waited) * grown(self.growth, target, waited)
    }
}

impl Component for Target {
    fn of(line: &settings::Component) -> Self {
        Self(Terms::of([line.target_queue_time, line.target_xfactor]))
    }

    fn needs(&self, settings: &Settings) -> Needs {
        let lines = &settings.services;
        let xfactor = self.0.counts(1) && lines.iter().any(|line| line.target_xfactor.is_some());
        let queue_time = self.0.counts(0) && lines.iter().any(|line| line.target_queue_time.is_some());
        Needs { wait: xfactor || queue_time, limit: xfactor, ..Needs::default() }
    }

    #[inline]
    fn sum(&self, ground: &Ground<'_>) -> f64 {
        let (Some(promise), job) = (ground.promise, ground.job) else { return 0.0 };
        let expansion = expansion_factor(job.wait, job.limit, ground.min_limit);
        self.0.sum([
            promise.value(promise.queue_time, queue_time(job.wait)),
            promise.value(promise.xfactor, expansion),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::grown;

    #[test]
    fn a_missed_target_grows_by_the_logarithm_to_its_end() {
        let found = [10.0, 15.0, 30.0, 60.0, 240.0].map(|waited| grown(4.0, 15.0, waited));
        for (found, expected) in found.into_iter().zip([1.0, 1.0, 2.0, 3.0, 4.0]) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        for (growth, target) in [(1.0, 15.0), (4.0, 0.0)] {
            assert!((grown(growth, target, 1e9) - 1.0).abs() < 1e-12);
        }
    }
}
