//! SERV: how well a job was served so far (Maui Administrator's Guide, 5.1.2.4), and what `Service` lines promise.

use super::job::{expansion_factor, queue_time};
use super::lines::{ByName, LineKind};
use super::targets::{Curve, Promise};
use super::terms::{amount, weight, Terms};
use super::{Component, Ground, Needs};
use crate::settings::{self, Settings};

/// SERV on one line: `QueueTime` `XFactor` Bypass `StartCount`.
#[derive(Clone, Debug)]
pub(super) struct Service(Terms<4>);

impl Component for Service {
    fn of(line: &settings::Component) -> Self {
        Self(Terms::of([line.queue_time, line.xfactor, line.bypass, line.start_count]))
    }

    /// `QTWEIGHT` and `XFWEIGHT` of Maui count by themselves.
    fn without_line(settings: &Settings) -> Option<Self> {
        let counts = |line: &settings::Service| line.queue_time_weight != 0.0 || line.xfactor_weight != 0.0;
        settings.services.iter().any(counts).then(|| Self(Terms::of(Default::default())))
    }

    fn needs(&self, settings: &Settings) -> Needs {
        let by_service = |weight: fn(&settings::Service) -> f64| {
            settings.services.iter().any(|line| weight(line) != 0.0)
        };
        let xfactor = self.0.counts(1) || by_service(|line| line.xfactor_weight);
        Needs {
            wait: xfactor || self.0.counts(0) || by_service(|line| line.queue_time_weight),
            limit: xfactor,
            bypass: self.0.counts(2),
            course: self.0.counts(3),
            ..Needs::default()
        }
    }

    #[inline]
    fn sum(&self, ground: &Ground<'_>) -> f64 {
        let job = ground.job;
        let values = [
            queue_time(job.wait),
            expansion_factor(job.wait, job.limit, ground.min_limit),
            f64::from(job.bypass),
            f64::from(job.restarts),
        ];
        match ground.promise {
            Some(Promise { more, .. }) => self.0.sum_with(values, [more[0], more[1], 0.0, 0.0]),
            None => self.0.sum(values),
        }
    }
}

/// The `Service` lines.
#[derive(Clone, Debug, Default)]
pub(super) struct Promises {
    qos: ByName<u32>,
    partitions: ByName<u32>,
    all: Vec<Promise>,
}

impl Promises {
    pub(super) fn of(settings: &Settings) -> Self {
        let mut promises = Self::default();
        for (line, at) in settings.services.iter().zip(0..) {
            let kind = LineKind::from(line.kind);
            let by_name = if kind == LineKind::Qos { &mut promises.qos } else { &mut promises.partitions };
            by_name.insert(kind, &line.names, at);
            promises.all.push(Promise {
                queue_time: line.target_queue_time.map_or(0.0, |time| time.as_secs_f64() / 60.0),
                xfactor: line.target_xfactor.map_or(0.0, amount),
                more: [weight(line.queue_time_weight), weight(line.xfactor_weight)],
                growth: line.target_growth.unwrap_or(1.0),
                curve: match line.curve {
                    settings::Curve::Bounded => Curve::Bounded,
                    settings::Curve::Maui => Curve::Maui,
                },
            });
        }
        promises
    }

    /// Which line holds for a QOS.
    pub(super) fn of_qos(&self, name: &str) -> Option<u32> {
        self.qos.get(LineKind::Qos, name).copied()
    }

    /// The line that applies to a QOS without one.
    pub(super) fn of_other_qos(&self) -> Option<u32> {
        self.qos.of_others().copied()
    }

    /// Which line holds for a partition where none does for the QOS.
    pub(super) fn of_partition(&self, name: &str) -> Option<u32> {
        self.partitions.get(LineKind::Partition, name).copied()
    }

    /// The line that applies to a partition without one.
    pub(super) fn of_other_partitions(&self) -> Option<u32> {
        self.partitions.of_others().copied()
    }

    /// The line that holds for a job: that for its QOS before that for its partition.
    #[inline]
    pub(super) fn promise(&self, qos: Option<u32>, partition: Option<u32>) -> Option<&Promise> {
        self.all.get(qos.or(partition)? as usize)
    }
}
