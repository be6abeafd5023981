//! The priority of one job: numbers out of its record, through the core, and back into it.
//!
//! The same code serves a submission (`priority_p_set`) and the cycle. The caller holds the job write lock,
//! and the association manager's read lock for associations and QOS.

use tracing::error;

use super::config::Config;
use super::draft::Drafts;
use super::explain;
use super::standing::{AssocFactor, Known, Place};
use crate::host::ahead::Touched;
use crate::host::log::Once;
use crate::host::partitions;
use crate::host::records::{Details, Job, Partition, PriorityFactors, Qos};
use crate::host::Host;
use multifactor2_core::factors::{
    age, age_part, configured_factor, increase_only, job_size_factor, tres_factors, weigh_tres, ClusterSize,
    Factors, JobSize, Priority, Weights,
};

/// Jobs without details, once per cycle.
pub static NO_DETAILS: Once = Once::new();

/// Priorities that do not fit, once per cycle.
pub static OVERFLOW: Once = Once::new();

/// What came of the evaluation of a job.
#[derive(Debug, Clone, Copy)]
pub struct Evaluated {
    /// The priority.
    pub priority: u32,
    /// The weighted factors that it came from, where it was computed.
    pub factors: Option<Factors>,
    /// A priority in one of several partitions or QOS changed.
    pub variants_changed: bool,
}

/// What all jobs of one pass have in common.
#[derive(Debug, Clone, Copy)]
pub struct Pass<'c> {
    /// The configuration in force.
    pub config: &'c Config,
    /// Size of the cluster.
    pub cluster: ClusterSize,
    /// The time that ages are measured at.
    pub now: i64,
    /// `DebugFlags=Priority` is set.
    pub explain: bool,
}

impl<'c> Pass<'c> {
    /// A pass at `now`.
    pub fn new(host: &'static Host, config: &'c Config, now: i64) -> Self {
        Self {
            config,
            cluster: ClusterSize { cpus: host.cluster_cpus(), nodes: host.node_count() },
            now,
            explain: crate::host::log::explains(),
        }
    }

    /// What the priority of a job needs besides fair-share, into the drafts; nothing is written.
    pub fn draft(&self, drafts: &mut Drafts, job: Job<'_>, association: Place, tres: &mut [f64]) {
        if !self.is_computed(job) {
            return;
        }
        if job.get(|job| job.direct_set_prio) != 0 {
            if job.qos().is_some_and(has_threshold) {
                drafts.add_to_clear(job);
            }
        } else if let Some(details) = job.details() {
            drafts.add(self, job, details, association, tres);
        } else if NO_DETAILS.first() {
            warn_of_missing_details(job);
        }
    }

    /// Whether a cycle gives a job a priority: one that waits and is not held; with `CALCULATE_RUNNING` one that runs.
    pub fn is_computed(&self, job: Job<'_>) -> bool {
        let state = job.state();
        job.get(|job| job.priority) != 0
            && !state.is_powering_up()
            && (state.is_pending() || self.config.flags.calculate_running())
    }

    /// A buffer with one entry per weighted TRES.
    pub fn scratch(&self) -> Vec<f64> {
        vec![0.0; self.config.tres_weights.as_ref().map_or(0, Vec::len)]
    }

    /// Computes the priority of a job; the caller writes it. Those of a job in several partitions or QOS are written.
    ///
    /// `fair_share` is asked for the factor of the job's association where that has a weight; `tres` is a buffer. A priority
    /// that was set directly is returned as it is; 0 means that none can be computed.
    pub fn evaluate(
        &self,
        job: Job<'_>,
        tres: &mut [f64],
        fair_share: impl FnOnce(Job<'_>) -> f64,
    ) -> Evaluated {
        let none = |priority| Evaluated { priority, factors: None, variants_changed: false };
        let (current, qos) = (job.get(|job| job.priority), job.qos());
        if job.get(|job| job.direct_set_prio) != 0 && current > 0 {
            keep_fair_share(job, qos, 0.0);
            return none(current);
        }
        let Some(details) = job.details() else {
            warn_of_missing_details(job);
            keep_fair_share(job, qos, 0.0);
            return none(0);
        };
        let mut known = Known { assoc: 0.0, fair_share: 0.0 };
        if self.config.assoc_factor() != AssocFactor::None {
            known.assoc =
                job.association().map_or(0.0, |association| self.config.assoc_factor().of(association));
        }
        if self.config.fair_share_weight() != 0 && job.is_accounted() {
            known.fair_share = fair_share(job);
        }
        let factors = self.weighted(job, details, qos, known, tres);
        let priority = round(job, factors.sum());
        let variants_changed = self.write_more(job, qos, &factors, tres, priority);
        Evaluated { priority, factors: Some(factors), variants_changed }
    }

    /// Writes what else there is beside a job's priority: those in each of its partitions and QOS and the factor that the
    /// scheduler reads; explains it. `tres` is a buffer. True where a priority changed.
    pub fn write_more(
        &self,
        job: Job<'_>,
        qos: Option<Qos<'_>>,
        factors: &Factors,
        tres: &mut [f64],
        priority: u32,
    ) -> bool {
        keep_fair_share(job, qos, factors.fair_share);
        let (variants, changed) = self.write_variants(job, factors);
        if self.explain {
            self.weighted_tres(job, job.partition(), tres);
            explain::job(self, job, factors, tres, priority, variants);
        }
        changed
    }

    /// The weighted factors of a job as they are now, those of TRES in `tres`.
    pub fn weighted(
        &self,
        job: Job<'_>,
        details: Details<'_>,
        qos: Option<Qos<'_>>,
        known: Known,
        tres: &mut [f64],
    ) -> Factors {
        let weights = &self.config.weights;
        let age = if weights.age == 0 { None } else { self.age(details) };
        Factors {
            age: age.map_or(0.0, |age| age_part(age, self.config.max_age)) * f64::from(weights.age),
            assoc: known.assoc * f64::from(weights.assoc),
            fair_share: known.fair_share * f64::from(self.config.fair_share_weight()),
            job_size: self.weighted_size(job, details),
            partition: job.partition().map_or(0.0, |part| self.weighted_partition(part)),
            qos: qos.map_or(0.0, |qos| self.weighted_qos(qos)),
            tres: self.weighted_tres(job, job.partition(), tres),
            site: job.get(|job| job.site_factor),
            nice: details.get(|details| details.nice),
        }
    }

    /// Seconds that a job has waited; `None` for one that gains no age.
    pub fn age(&self, details: Details<'_>) -> Option<u32> {
        age(self.now, details.get(|d| d.accrue_time))
    }

    /// The weighted factor of a job's size.
    pub fn weighted_size(&self, job: Job<'_>, details: Details<'_>) -> f64 {
        let weight = self.config.weights.job_size;
        if weight == 0 {
            return 0.0;
        }
        job_size_factor(&size(job, details), self.cluster, self.config.size) * f64::from(weight)
    }

    /// The weighted factors of a job's TRES in a partition, in `tres`, and their sum.
    pub fn weighted_tres(&self, job: Job<'_>, partition: Option<Partition<'_>>, tres: &mut [f64]) -> f64 {
        match &self.config.tres_weights {
            Some(weights) => self.weigh_tres_in(tres, weights, job, partition),
            None => 0.0,
        }
    }

    fn partition_factor(&self, partition: Partition<'_>) -> f64 {
        configured_factor(
            u32::from(partition.get(|part| part.priority_job_factor)),
            partition.get(|part| part.norm_priority),
            self.config.flags.no_normal_part(),
        )
    }

    fn qos_factor(&self, qos: Qos<'_>) -> f64 {
        configured_factor(
            qos.get(|qos| qos.priority),
            qos.usage().map_or(0.0, |usage| usage.get(|u| u.norm_priority)),
            self.config.flags.no_normal_qos(),
        )
    }

    /// Fills `factors` with the weighted TRES factors of a job in a partition and returns their sum.
    fn weigh_tres_in(
        &self,
        factors: &mut [f64],
        weights: &[f64],
        job: Job<'_>,
        partition: Option<Partition<'_>>,
    ) -> f64 {
        tres_factors(
            factors,
            job.tres_allocated(),
            job.tres_requested(),
            partition.and_then(Partition::tres),
            self.config.flags.no_normal_tres(),
        );
        weigh_tres(factors, weights)
    }

    /// Writes the priorities of a job in each of its partitions and QOS; returns them, empty where it has one of each, and
    /// whether one changed.
    fn write_variants<'a>(&self, job: Job<'a>, weighted: &Factors) -> (&'a [u32], bool) {
        let Some(slots) = partitions::priorities(job, self.now) else { return (&[], false) };
        let increase = self.config.flags.increase_only();
        let (mut at, mut changed) = (0, false);
        self.for_each_variant(job, weighted, |_, _, variant| {
            let priority = round(job, variant.sum_of_variant());
            if let Some(slot) = slots.get_mut(at) {
                let new = if increase { increase_only(*slot, priority) } else { priority };
                changed |= *slot != new;
                *slot = new;
            }
            at += 1;
        });
        (slots, changed)
    }

    /// Calls `visit` with the weighted factors of the job in each of its partitions and QOS, partition by partition.
    fn for_each_variant(
        &self,
        job: Job<'_>,
        weighted: &Factors,
        mut visit: impl FnMut(Option<Partition<'_>>, Option<Qos<'_>>, Factors),
    ) {
        let mut buffer = self.scratch();
        let mut in_partition = |partition: Option<Partition<'_>>| {
            let mut variant = *weighted;
            variant.partition = partition.map_or(0.0, |part| self.weighted_partition(part));
            if let Some(weights) = &self.config.tres_weights {
                variant.tres = self.weigh_tres_in(&mut buffer, weights, job, partition);
            }
            match job.qos_list() {
                Some(list) => list.for_each(|qos| {
                    visit(
                        partition,
                        Some(qos),
                        Factors { qos: self.weighted_qos_of_several(qos, weighted.qos), ..variant },
                    );
                    std::ops::ControlFlow::Continue(())
                }),
                None => visit(partition, None, variant),
            }
        };
        match job.partitions() {
            Some(list) => list.for_each(|partition| {
                in_partition(Some(partition));
                std::ops::ControlFlow::Continue(())
            }),
            None => in_partition(job.partition()),
        }
    }

    /// The weighted factor of a partition.
    pub fn weighted_partition(&self, partition: Partition<'_>) -> f64 {
        match self.config.weights.partition {
            0 => 0.0,
            weight => self.partition_factor(partition) * f64::from(weight),
        }
    }

    /// The weighted factor of a QOS.
    pub fn weighted_qos(&self, qos: Qos<'_>) -> f64 {
        match self.config.weights.qos {
            0 => 0.0,
            weight => self.qos_factor(qos) * f64::from(weight),
        }
    }

    /// The weighted factor of one QOS of several; one without a priority keeps the job's.
    fn weighted_qos_of_several(&self, qos: Qos<'_>, of_job: f64) -> f64 {
        if qos.get(|qos| qos.priority) == 0 || self.config.weights.qos == 0 {
            return of_job;
        }
        self.weighted_qos(qos)
    }

    /// Changes a copy of a job's factors to those of one partition and QOS, for `sprio`.
    pub fn adjust(
        &self,
        copy: PriorityFactors<'_>,
        job: Job<'_>,
        partition: Option<Partition<'_>>,
        qos: Option<Qos<'_>>,
    ) {
        if let Some(partition) = partition {
            copy.set(|f| f.priority_part, self.weighted_partition(partition));
            if let (Some(weights), false) =
                (&self.config.tres_weights, copy.get(|f| f.priority_tres).is_null())
            {
                self.weigh_tres_in(copy.tres_arrays(weights), weights, job, Some(partition));
            }
        }
        if let Some(qos) = qos {
            copy.set(|f| f.priority_qos, self.weighted_qos_of_several(qos, copy.get(|f| f.priority_qos)));
        }
    }
}

/// What [`Pass::draft`] touches of a job.
pub fn touched(host: &'static Host, weights: &Weights, weighs_tres: bool) -> Touched {
    let (job, details) = (&host.layout.job, &host.layout.details);
    let mut touched = Touched::new();
    touched.field(job.job_id).field(job.job_state).field(job.priority).field(job.direct_set_prio);
    touched.field(job.part_ptr).field(job.part_ptr_list).field(job.qos_ptr).field(job.site_factor);
    touched.field(job.assoc_ptr).field(job.assoc_id);
    touched.behind(&[job.details], details.nice).behind(&[job.details], details.accrue_time);
    if weights.job_size != 0 {
        touched.field(job.total_cpus).field(job.time_limit);
        touched.behind(&[job.details], details.max_cpus);
        touched.behind(&[job.details], details.min_cpus).behind(&[job.details], details.min_nodes);
    }
    if weighs_tres {
        for counts in [job.tres_alloc_cnt, job.tres_req_cnt] {
            touched.tres(&[counts], host.tres_count(), size_of::<u64>());
        }
    }
    touched
}

fn warn_of_missing_details(job: Job<'_>) {
    error!(
        "job {}, and perhaps others, has no details record: its priority cannot be computed. Cancel it; if there are many, \
         restart slurmctld, which reads them anew",
        job.get(|job| job.job_id)
    );
}

fn round(job: Job<'_>, sum: f64) -> u32 {
    warn_of_overflow(job.get(|job| job.job_id), Priority::from_sum(sum))
}

/// The priority of the job with an id, with a line in the log where it was cut.
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

/// `UsageThreshold` is set.
pub fn has_threshold(qos: Qos<'_>) -> bool {
    /// `NO_VAL`, a threshold that is not set.
    const NO_VAL: f64 = 4_294_967_294.0;
    (0.0..NO_VAL - 1.0).contains(&qos.get(|qos| qos.usage_thres))
}

/// Writes the one factor into the record that the host reads there: it compares it with `UsageThreshold`.
fn keep_fair_share(job: Job<'_>, qos: Option<Qos<'_>>, weighted: f64) {
    if job.host().verified && qos.is_some_and(has_threshold) {
        job.factors_or_new().set(|f| f.priority_fs, weighted);
    }
}

fn size(job: Job<'_>, details: Details<'_>) -> JobSize {
    JobSize {
        total_cpus: job.get(|job| job.total_cpus),
        max_cpus: details.get(|d| d.max_cpus),
        min_cpus: details.get(|d| d.min_cpus),
        min_nodes: details.get(|d| d.min_nodes),
        time_limit: job.get(|job| job.time_limit),
        partition_max_time: job.partition().map(|part| part.get(|part| part.max_time)),
    }
}

pub fn write_factors(record: PriorityFactors<'_>, weighted: &Factors) {
    record.set(|f| f.nice, weighted.nice);
    record.set(|f| f.priority_age, weighted.age);
    record.set(|f| f.priority_assoc, weighted.assoc);
    record.set(|f| f.priority_fs, weighted.fair_share);
    record.set(|f| f.priority_js, weighted.job_size);
    record.set(|f| f.priority_part, weighted.partition);
    record.set(|f| f.priority_qos, weighted.qos);
    record.set(|f| f.priority_site, weighted.site);
}
