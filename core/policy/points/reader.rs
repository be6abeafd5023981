//! From what a job asks for to what points go by.

use super::{Needs, PointsJob, Request};
use crate::facts::{Request as Requested, TresTotal};

/// What is known of one job besides its association, partition and QOS.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Facts {
    /// Its id.
    pub id: u32,
    /// Its Unix group.
    pub group: u32,
    request: Request,
    limit: f64,
    wait: f64,
    elapsed: Option<f64>,
}

impl Facts {
    /// Of a job of which nothing is known.
    pub fn unknown(id: u32) -> Self {
        Self { id, ..Self::default() }
    }

    /// The job as the engine takes it, as far as that is known here.
    pub fn job<'n>(&self) -> PointsJob<'n> {
        PointsJob {
            request: self.request,
            limit: self.limit,
            wait: self.wait,
            elapsed: self.elapsed,
            ..PointsJob::default()
        }
    }
}

/// What the cluster has, by the positions of TRES.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reader {
    /// Of those that count for processor equivalents.
    totals: Vec<(usize, f64)>,
    cpus: f64,
    /// `TargetMetric`; `None` where the cluster has no such TRES.
    metric: Option<usize>,
    /// `CALCULATE_RUNNING`: what running jobs have used counts.
    pub counts_running: bool,
}

impl Reader {
    /// For the TRES of the cluster, and the one that targets count; running jobs are not counted.
    pub fn new(all: &[TresTotal], metric: &str) -> Self {
        let counts = |total: &TresTotal| match total.kind.as_str() {
            "cpu" | "mem" | "gres" => total.count > 0,
            _ => false,
        };
        let totals = all.iter().enumerate().filter(|(_, total)| counts(total));
        Self {
            totals: totals.map(|(at, total)| (at, number(total.count))).collect(),
            cpus: all.iter().find(|total| total.is_called("cpu")).map_or(0.0, |total| number(total.count)),
            metric: all.iter().position(|total| total.is_called(metric)),
            counts_running: false,
        }
    }

    /// Whether the cluster has the TRES that targets count.
    pub fn has_metric(&self) -> bool {
        self.metric.is_some()
    }

    /// Reads a job at a time.
    pub fn facts(&self, needs: Needs, id: u32, asked: &Requested<'_>, now: i64) -> Facts {
        let mut request = Request {
            nodes: number(asked.nodes),
            cpus: number(asked.cpus),
            memory: number(asked.memory),
            disk: f64::from(asked.tmp_disk) * number(asked.nodes),
            ..Request::default()
        };
        if needs.equivalents {
            let part = |(at, total): &(usize, f64)| number(asked.of_tres(*at)) / total;
            request.equivalents = self.totals.iter().map(part).fold(0.0, f64::max) * self.cpus;
        }
        // What a running job has asked for is in the usage already.
        if let Some(metric) = self.metric.filter(|_| needs.caps && !asked.holds) {
            request.metric = number(asked.of_tres(metric));
        }
        // The wait of a job that runs is over.
        let until = if asked.holds { asked.start_time.min(now) } else { now };
        Facts {
            id,
            group: asked.group.unwrap_or(u32::MAX),
            request,
            limit: number(asked.limit),
            wait: if asked.accrue_time == 0 { 0.0 } else { seconds(asked.accrue_time, until) },
            elapsed: (asked.holds && self.counts_running).then(|| seconds(asked.start_time, now)),
        }
    }
}

/// An amount or seconds as a number.
#[allow(clippy::cast_precision_loss)] // amounts and seconds
pub fn number(count: u64) -> f64 {
    count as f64
}

#[allow(clippy::cast_precision_loss)]
fn seconds(from: i64, to: i64) -> f64 {
    to.saturating_sub(from).max(0) as f64
}
