//! Computes the priority of one job: facts from its record go through the core, and numbers go back into it.
//!
//! A submission (`priority_p_set`) and the cycle use the same code.

use std::cell::Cell;

use multifactor2_core::evaluator;
use multifactor2_core::factors::{
    increase_only, weighted_fair_share, with_points, ClusterSize, Evaluation, Priority,
};
use multifactor2_core::facts::{self, Facts};
use multifactor2_core::policy::pools::JobTickets;
use tracing::error;

use super::assoc_factor::AssocFactor;
use super::books::ByBook;
use super::config::Config;
use super::entries::Entries;
use super::explain::{self, ExplainedJob};
use super::points::{stopping, PointsEntries, PointsState};
use super::standing::{Holdings, Share, Standing};
use super::waiting::{waits, waits_still, Waits};
use crate::host::access::{Open, Write};
use crate::host::locks::{AssocLock, Levels};
use crate::host::log::Once;
use crate::host::records::{Job, Partition, Qos};
use crate::host::{log, partitions, views, Host};

/// Jobs without details, once per cycle.
pub static NO_DETAILS: Once = Once::new();

/// Priorities that do not fit, once per cycle.
pub static OVERFLOW: Once = Once::new();

/// What came of the evaluation of a job.
#[derive(Debug, Clone)]
pub struct Evaluated {
    /// The priority.
    pub priority: u32,
    /// What it came from, where it was computed.
    pub evaluation: Option<Evaluation>,
    /// Its fair-share.
    pub share: Share,
    /// User and account, where points went by these because its association is newer than the last cycle.
    pub newcomer: Option<(String, String)>,
}

/// What is known of a job besides its record.
#[derive(Debug)]
pub struct Known<'k> {
    /// Is asked for the factor of its association where that has a weight.
    pub standing: &'k mut Standing,
    /// Its tickets of the last cycle, if any, by book.
    pub tickets: ByBook<JobTickets>,
    /// The last cycle found it before closed doors.
    pub was_closed: bool,
    /// Gives it points, where the settings ask for some.
    pub points: Option<&'k PointsState>,
}

/// What the priorities of a job in each of its partitions and QOS come from.
#[derive(Debug)]
pub struct Variants<'b> {
    /// Its own.
    pub of_job: &'b Evaluation,
    /// What it has in each of its books, where it has variants or is explained.
    pub holdings: Option<Holdings<'b>>,
    /// Its points in each of its partitions and QOS.
    pub points: Option<&'b PointsEntries<'b>>,
    /// A cap keeps it from starting.
    pub is_stopped: bool,
}

/// What all jobs that are evaluated at one time have in common.
#[derive(Debug, Clone, Copy)]
pub struct Evaluator<'c> {
    /// The configuration in force.
    pub config: &'c Config,
    /// The arithmetic.
    pub core: evaluator::Evaluator<'c>,
    /// `DebugFlags=Priority` is set.
    pub explain: bool,
}

impl<'c> Evaluator<'c> {
    /// For jobs that are evaluated at `now`.
    pub fn new(host: &'static Host, config: &'c Config, now: i64) -> Self {
        let cluster = ClusterSize { cpus: host.cluster_cpus(), nodes: host.node_count() };
        let core = evaluator::Evaluator { config: &config.factors, cluster, now };
        Self { config, core, explain: log::explains() }
    }

    /// Whether a cycle gives a job a priority: one that waits and is not held; with `CALCULATE_RUNNING` one that runs.
    pub fn is_computed<A: Open>(&self, job: Job<'_, A>) -> bool {
        let state = job.state();
        job.get(|job| job.priority) != 0
            && !state.is_powering_up()
            && (state.is_pending() || self.config.flags.calculate_running())
    }

    /// Reads what the priority of a job is made of; `None` for one without details.
    #[inline]
    pub fn facts<'a>(&self, job: Job<'a>, qos: Option<facts::Qos>) -> Option<Facts<'a>> {
        let partition = job.partition();
        Some(Facts {
            job: views::job(job)?,
            size: if self.core.weighs_size() { views::size(job) } else { None },
            partition: partition.map(views::partition),
            qos,
            tres: self.tres(job, partition),
        })
    }

    /// The TRES of a job in a partition, where they have weights.
    pub fn tres<'a, A: Open>(&self, job: Job<'a, A>, partition: Option<Partition<'a>>) -> facts::Tres<'a> {
        match self.core.config.tres_weights {
            Some(_) => views::tres(job, partition),
            None => facts::Tres::default(),
        }
    }

    /// Computes the priority of a job; the caller writes it. Those of a job in several partitions or QOS are written.
    ///
    /// `tres` is a buffer. A priority that was set directly is returned as it is; 0 means that none can be computed.
    pub fn evaluate<V: Levels<Assoc: Open, Qos: Open>>(
        &self,
        job: Job<'_, Write>,
        lock: &AssocLock<'_, V>,
        tres: &mut [f64],
        known: Known<'_>,
    ) -> Evaluated {
        let Known { standing, tickets, was_closed, points } = known;
        let none =
            |priority| Evaluated { priority, evaluation: None, share: Share::default(), newcomer: None };
        let (current, qos) = (job.get(|job| job.priority), job.qos(lock).map(views::qos));
        if job.get(|job| job.direct_set_prio) != 0 && current > 0 {
            self.keep_fair_share(job, lock, qos.as_ref(), 0.0, false);
            return none(current);
        }
        let Some(facts) = self.facts(job.read_only(), qos) else {
            warn_of_missing_details(job.get(|job| job.job_id));
            self.keep_fair_share(job, lock, qos.as_ref(), 0.0, false);
            return none(0);
        };
        let may_stop = points.is_some_and(|points| points.may_stop(lock, job));
        let place = points.and_then(|points| points.node(standing, job));
        let is_new = points.is_some() && place.is_none();
        let newcomer = if is_new { PointsState::newcomer(lock, job) } else { None };
        let of = (place, newcomer.as_ref());
        let points = points.and_then(|points| points.entries(lock, job, of, self.core.now));
        let is_stopped = may_stop && points.as_ref().is_some_and(|points| points.is_stopped(lock, job));
        let then = (was_closed, may_stop, is_stopped);
        let (of_association, share) = self.of_association(job.read_only(), lock, standing, (&tickets, then));
        let mut evaluation = self.core.evaluate(&facts, of_association, tres);
        if let Some(points) = &points {
            evaluation.site = points.site_of_job();
        }
        let priority = warn_of_overflow(facts.job.id, Priority::from_sum(evaluation.sum()));
        let is_wanted = job.has_variants() || self.explain;
        let holdings = is_wanted.then(|| standing.holdings(&share));
        let variants = Variants { of_job: &evaluation, holdings, points: points.as_ref(), is_stopped };
        self.write_more(job, lock, qos.as_ref(), &variants, tres, priority);
        Evaluated { priority, evaluation: Some(evaluation), share, newcomer }
    }

    /// The same of a plain job whose facts have been read, where the settings ask for nothing else of it but the `points` that all jobs
    /// of its association have, and nothing is explained.
    pub fn evaluate_plain<V: Levels<Assoc: Open, Qos: Open>>(
        &self,
        job: Job<'_, Write>,
        lock: &AssocLock<'_, V>,
        tres: &mut [f64],
        (standing, points): (&mut Standing, Option<i32>),
    ) -> Option<(u32, Evaluation)> {
        let qos = job.qos(lock).map(views::qos);
        let facts = self.facts(job.read_only(), qos)?;
        let mut known =
            facts::AssociationFactors { assoc: self.assoc_factor(job.read_only(), lock), fair_share: 0.0 };
        if self.config.factors.weights.fair_share != 0 && job.is_accounted() {
            let waits = || waits(self.config, job.read_only(), self.core.now, false).is_some();
            known.fair_share = standing.factor_by_association(lock, job.read_only(), waits);
        }
        let mut evaluation = self.core.evaluate(&facts, known, tres);
        evaluation.site = points.map_or(evaluation.site, |points| with_points(evaluation.site, points));
        self.keep_fair_share(job, lock, qos.as_ref(), evaluation.fair_share, false);
        Some((warn_of_overflow(facts.job.id, Priority::from_sum(evaluation.sum())), evaluation))
    }

    /// The factor of a job's association, where that has a weight.
    #[inline]
    fn assoc_factor<V: Levels<Assoc: Open>>(&self, job: Job<'_>, lock: &AssocLock<'_, V>) -> f64 {
        match self.config.assoc_factor() {
            AssocFactor::None => 0.0,
            factor => job.association(lock).map_or(0.0, |association| factor.of(association)),
        }
    }

    /// What a job has of its association: its factor where that has a weight, and its fair-share, by its `tickets` of the last cycle.
    #[inline]
    fn of_association<V: Levels<Assoc: Open, Qos: Open>>(
        &self,
        job: Job<'_>,
        lock: &AssocLock<'_, V>,
        standing: &mut Standing,
        (tickets, (was_closed, may_stop, is_stopped)): (&ByBook<JobTickets>, (bool, bool, bool)),
    ) -> (facts::AssociationFactors, Share) {
        let mut known = facts::AssociationFactors { assoc: self.assoc_factor(job, lock), fair_share: 0.0 };
        let mut share = Share::default();
        if self.config.factors.weights.fair_share != 0 && job.is_accounted() {
            let now = self.core.now;
            let waits = if is_stopped {
                Waits::Stopped
            } else {
                waits_still(self.config, job, now, (was_closed, may_stop))
            };
            share = standing.fair_share(lock, job, (waits, now), tickets);
            known.fair_share = share.factor();
        }
        (known, share)
    }

    /// Writes what belongs to a job's priority: those in each of its partitions and QOS, and the factor that the scheduler reads. Explains
    /// the priority. True if a priority changed.
    pub fn write_more<V: Levels<Qos: Open>>(
        &self,
        job: Job<'_, Write>,
        lock: &AssocLock<'_, V>,
        qos: Option<&facts::Qos>,
        variants: &Variants<'_>,
        tres: &mut [f64],
        priority: u32,
    ) -> bool {
        let Variants { of_job: evaluation, holdings, points, is_stopped } = variants;
        self.keep_fair_share(job, lock, qos, evaluation.fair_share, *is_stopped);
        let (written, changed) = self.write_variants(job, lock, variants);
        if self.explain {
            self.core.weighted_tres(tres, self.tres(job, job.partition()));
            let variants: Vec<u32> = written.iter().map(Cell::get).collect();
            let id = job.get(|job| job.job_id);
            let tickets = holdings.as_ref().and_then(Holdings::explained);
            let points = points.map(PointsEntries::explain);
            let job = ExplainedJob { id, evaluation, tickets, points, tres, priority, variants: &variants };
            explain::job(self.core.config, lock, &job);
        }
        changed
    }

    /// Writes the one factor into the record that the host reads there: it compares it with `UsageThreshold`.
    #[inline]
    fn keep_fair_share<V: Levels<Qos: Open>>(
        &self,
        job: Job<'_, Write>,
        lock: &AssocLock<'_, V>,
        qos: Option<&facts::Qos>,
        weighted: f64,
        is_stopped: bool,
    ) {
        stopping::keep_fair_share(job, lock, qos, weighted, (self.config.caps_stop, is_stopped));
    }

    /// Writes the priorities of a job in each of its partitions and QOS; returns them, none where it has one of each, and
    /// whether one changed.
    fn write_variants<'a, V: Levels<Qos: Open>>(
        &self,
        job: Job<'a, Write>,
        lock: &AssocLock<'_, V>,
        variants: &Variants<'_>,
    ) -> (&'a [Cell<u32>], bool) {
        let Some(slots) = partitions::priorities(job, lock, self.core.now) else { return (&[], false) };
        let id = job.get(|job| job.job_id);
        let increase = self.config.flags.increase_only();
        let (mut at, mut changed) = (0, false);
        self.for_each_variant(job.read_only(), lock, variants, |_, _, variant| {
            let priority = warn_of_overflow(id, Priority::from_sum(variant.sum_of_variant()));
            if let Some(slot) = slots.get(at) {
                let old = slot.get();
                let new = if increase { increase_only(old, priority) } else { priority };
                changed |= old != new;
                slot.set(new);
            }
            at += 1;
        });
        (slots, changed)
    }

    /// Calls `visit` with the evaluation of the job in each of its partitions and QOS, partition by partition, and with both; no QOS stands
    /// for the one of the job.
    pub fn for_each_variant<V: Levels<Qos: Open>>(
        &self,
        job: Job<'_>,
        lock: &AssocLock<'_, V>,
        Variants { of_job, holdings, points, .. }: &Variants<'_>,
        mut visit: impl FnMut(Option<Partition<'_>>, Option<Qos<'_, V::Qos>>, Evaluation),
    ) {
        let mut buffer = self.core.scratch();
        let entries = Entries::of(job, lock, holdings.as_ref());
        let several_qos = job.qos_list(lock);
        let mut in_partition = |partition: Option<Partition<'_>>| {
            let tres = self.tres(job, partition);
            let of_partition = partition.map(views::partition);
            let variant = self.core.in_partition(of_job, of_partition.as_ref(), tres, &mut buffer);
            let weight = self.config.factors.weights.fair_share;
            let fair_share = |qos: Option<Qos<'_, V::Qos>>| {
                entries.as_ref().map_or(of_job.fair_share, |entries| {
                    weighted_fair_share(entries.factor(partition, qos), weight)
                })
            };
            let site = |qos: Option<Qos<'_, V::Qos>>| {
                points.as_ref().map_or(of_job.site, |points| points.site(partition, qos))
            };
            if let Some(list) = several_qos {
                list.for_each(|qos| {
                    let of_qos = self.core.weighted_qos_of_several(&views::qos(qos), of_job.qos);
                    let (fair_share, site) = (fair_share(Some(qos)), site(Some(qos)));
                    visit(partition, Some(qos), Evaluation { qos: of_qos, fair_share, site, ..variant });
                });
            } else {
                let (fair_share, site) = (fair_share(None), site(None));
                visit(partition, None, Evaluation { fair_share, site, ..variant });
            }
        };
        match job.partitions() {
            Some(list) => list.for_each(|partition| in_partition(Some(partition))),
            None => in_partition(job.partition()),
        }
    }
}

pub fn warn_of_missing_details(id: u32) {
    error!(
        "job {id}, and perhaps others, has no details record: its priority cannot be computed. Cancel the job; if \
         many jobs are affected, restart slurmctld, which loads them again"
    );
}

/// The priority of the job with an id, with a line in the log where it was cut.
#[inline]
pub fn warn_of_overflow(id: u32, priority: Priority) -> u32 {
    if priority.overflow && OVERFLOW.first() {
        error!(
            "the priority of job {}, and perhaps of others, exceeds 32 bits and is cut to {}: lower the PriorityWeight \
             parameters",
            id,
            priority.value
        );
    }
    priority.value
}
