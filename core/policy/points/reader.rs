//! Turns the request of a job into the facts that points depend on.

use super::{JobState, Needs, PointsJob, Request};
use crate::facts::{Course, Request as Requested, TresTotal};
use crate::settings::{QueueTimeSince, Settings};

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
    course: Course,
    /// When it was read.
    now: i64,
    holds: bool,
}

impl Facts {
    /// Of a job of which nothing is known.
    pub fn unknown() -> Self {
        Self { group: u32::MAX, ..Self::default() }
    }

    /// The job as the engine takes it, as far as that is known here.
    #[inline(always)]
    #[allow(clippy::inline_always)] // it is large, and parts of it are replaced
    pub fn job<'n>(&self) -> PointsJob<'n> {
        PointsJob {
            request: self.request,
            limit: self.limit,
            wait: self.wait,
            elapsed: self.elapsed,
            restarts: self.course.restarts,
            deadline: (self.course.deadline > 0)
                .then(|| signed(self.course.deadline.saturating_sub(self.now))),
            nice: signed(self.course.nice),
            state: match (self.holds, self.course.suspended) {
                (false, _) => JobState::Pending,
                (true, false) => JobState::Running,
                (true, true) => JobState::Suspended,
            },
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
    /// `QueueTimeSince=submit`
    since_submit: bool,
    /// `CALCULATE_RUNNING`: what running jobs have used counts.
    pub counts_running: bool,
}

impl Reader {
    /// For the TRES of the cluster, by settings; running jobs are not counted.
    pub fn new(all: &[TresTotal], settings: &Settings) -> Self {
        let counts = |total: &TresTotal| match total.kind.as_str() {
            "cpu" | "mem" | "gres" => total.count > 0,
            _ => false,
        };
        let totals = all.iter().enumerate().filter(|(_, total)| counts(total));
        Self {
            totals: totals.map(|(at, total)| (at, number(total.count))).collect(),
            cpus: all.iter().find(|total| total.is_called("cpu")).map_or(0.0, |total| number(total.count)),
            metric: all.iter().position(|total| total.is_called(&settings.target_metric)),
            since_submit: settings.queue_time_since == QueueTimeSince::Submit,
            counts_running: false,
        }
    }

    /// Whether the cluster has the TRES that targets count.
    pub fn has_metric(&self) -> bool {
        self.metric.is_some()
    }

    /// Reads a job at a time.
    #[inline(always)]
    #[allow(clippy::inline_always)] // what it gives is large, and only read
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
        let since = if self.since_submit { asked.submit_time } else { asked.accrue_time };
        // The wait of a job that runs is over.
        let until = if asked.holds { asked.start_time.min(now) } else { now };
        Facts {
            id,
            group: asked.group.unwrap_or(u32::MAX),
            request,
            limit: number(asked.limit),
            wait: if since == 0 { 0.0 } else { seconds(since, until) },
            elapsed: (asked.holds && self.counts_running).then(|| seconds(asked.start_time, now)),
            course: asked.course,
            now,
            holds: asked.holds,
        }
    }
}

/// An amount or seconds as a number.
#[allow(clippy::cast_precision_loss)] // amounts and seconds
pub fn number(count: u64) -> f64 {
    count as f64
}

#[allow(clippy::cast_precision_loss)] // times and nice values
fn signed(count: i64) -> f64 {
    count as f64
}

fn seconds(from: i64, to: i64) -> f64 {
    signed(to.saturating_sub(from).max(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> Requested<'static> {
        Requested {
            nodes: 2,
            cpus: 8,
            memory: 4000,
            tmp_disk: 50,
            tres: &[8, 4000, 3],
            group: Some(7),
            limit: 3600,
            accrue_time: 900,
            submit_time: 400,
            start_time: 950,
            holds: false,
            course: Course { restarts: 2, deadline: 1300, nice: -5, suspended: false },
        }
    }

    fn totals() -> [TresTotal; 3] {
        [("cpu", 16), ("mem", 40_000), ("node", 6)].map(|(kind, count)| TresTotal {
            kind: kind.to_owned(),
            name: String::new(),
            count,
        })
    }

    fn reader() -> Reader {
        of("TargetMetric=node")
    }

    fn of(settings: &str) -> Reader {
        Reader::new(&totals(), &Settings::parse(settings, "test").unwrap().settings)
    }

    #[test]
    fn a_cluster_may_lack_what_targets_count() {
        assert!(reader().has_metric());
        assert!(!of("TargetMetric=gres/gpu").has_metric());
    }

    #[test]
    fn every_fact_of_a_job_that_waits_reaches_the_engine() {
        let needs = Needs { equivalents: true, caps: true, ..Needs::default() };
        let facts = reader().facts(needs, 5, &asked(), 1000);
        let request =
            Request { nodes: 2.0, cpus: 8.0, memory: 4000.0, disk: 100.0, equivalents: 8.0, metric: 3.0 };
        assert_eq!((facts.id, facts.group), (5, 7));
        let expected = PointsJob {
            request,
            limit: 3600.0,
            wait: 100.0,
            restarts: 2,
            deadline: Some(300.0),
            nice: -5.0,
            ..PointsJob::default()
        };
        assert_eq!(facts.job(), expected);
        let none = Requested { course: Course::default(), ..asked() };
        assert_eq!(reader().facts(needs, 5, &none, 1000).job().deadline, None);
    }

    #[test]
    fn a_job_that_runs_has_waited_until_it_began_and_is_in_the_usage_already() {
        let needs = Needs { caps: true, ..Needs::default() };
        let asked = Requested { holds: true, ..asked() };
        let facts = Reader { counts_running: true, ..reader() }.facts(needs, 5, &asked, 1000);
        assert_eq!((facts.wait, facts.elapsed, facts.request.metric), (50.0, Some(50.0), 0.0));
        assert_eq!((facts.job().elapsed, facts.job().state), (Some(50.0), JobState::Running));
        let suspended = Requested { course: Course { suspended: true, ..asked.course }, ..asked };
        assert_eq!(reader().facts(needs, 5, &suspended, 1000).job().state, JobState::Suspended);
        let facts = reader().facts(needs, 5, &asked, 1000);
        assert_eq!(facts.elapsed, None, "only where running jobs are counted");
    }

    /// `JOBPRIOEXCEPTIONS ALL` of Moab: a job that was submitted ten minutes ago and gains age since 100 seconds.
    #[test]
    fn the_wait_may_count_since_the_submission() {
        let facts = of("QueueTimeSince=submit").facts(Needs::default(), 5, &asked(), 1000);
        assert_eq!(facts.job().wait.to_bits(), 600.0_f64.to_bits());
        let dependent = Requested { accrue_time: 0, ..asked() };
        let wait = |reader: Reader| reader.facts(Needs::default(), 5, &dependent, 1000).job().wait.to_bits();
        assert_eq!([of("QueueTimeSince=submit"), reader()].map(wait), [600.0_f64, 0.0].map(f64::to_bits));
    }

    #[test]
    fn what_nobody_needs_is_not_counted() {
        let facts = reader().facts(Needs::default(), 5, &asked(), 1000);
        assert_eq!((facts.request.equivalents, facts.request.metric), (0.0, 0.0));
    }
}
