//! Facts in, numbers out: what the priority of a job is made of, factor by factor.

use crate::factors::{
    age, age_part, configured_factor, job_size_factor, weighted_fair_share, weighted_tres, ClusterSize,
    Evaluation, SizePolicy, Weights,
};
use crate::facts::{AssociationFactors, Facts, Job, JobSize, Partition, Qos, Tres};

/// What the factors of jobs are computed with, from slurm.conf.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::struct_excessive_bools)] // each is a flag of slurm.conf
pub struct FactorConfig {
    /// The `PriorityWeight*` parameters; age and fair-share are 0 without slurmdbd.
    pub weights: Weights,
    /// `PriorityWeightTRES`, one weight per TRES.
    pub tres_weights: Option<Vec<f64>>,
    /// `PriorityMaxAge` in seconds.
    pub max_age: u32,
    /// How job sizes become factors.
    pub size: SizePolicy,
    /// `PriorityFlags=NO_NORMAL_PART`
    pub no_normal_part: bool,
    /// `PriorityFlags=NO_NORMAL_QOS`
    pub no_normal_qos: bool,
    /// `PriorityFlags=NO_NORMAL_TRES`
    pub no_normal_tres: bool,
}

impl FactorConfig {
    /// The weighted factor of the time that a job has waited.
    #[inline]
    pub fn weighted_age(&self, age: Option<u32>) -> f64 {
        match (self.weights.age, age) {
            (0, _) | (_, None) => 0.0,
            (weight, Some(age)) => age_part(age, self.max_age) * f64::from(weight),
        }
    }

    /// The weighted factor of what a job's association is and has, as [`Evaluation::assoc`] and
    /// [`Evaluation::fair_share`].
    pub fn weighted_standing(&self, standing: AssociationFactors) -> (f64, f64) {
        let weights = &self.weights;
        (
            standing.assoc * f64::from(weights.assoc),
            weighted_fair_share(standing.fair_share, weights.fair_share),
        )
    }
}

/// Facts in, weighted factors out. One serves all jobs that are evaluated at one time.
#[derive(Clone, Copy, Debug)]
pub struct Evaluator<'c> {
    /// The configuration in force.
    pub config: &'c FactorConfig,
    /// Size of the cluster.
    pub cluster: ClusterSize,
    /// The time that ages are measured at, in seconds since 1970.
    pub now: i64,
}

impl Evaluator<'_> {
    /// A buffer with one entry per weighted TRES.
    pub fn scratch(&self) -> Vec<f64> {
        vec![0.0; self.config.tres_weights.as_ref().map_or(0, Vec::len)]
    }

    /// Seconds that a job has waited; `None` for one that gains no age.
    #[inline]
    pub fn age(&self, job: &Job) -> Option<u32> {
        age(self.now, job.accrue_time)
    }

    /// Whether the sizes of jobs matter.
    pub fn weighs_size(&self) -> bool {
        self.config.weights.job_size != 0
    }

    /// The weighted factor of a job's size.
    #[inline]
    pub fn weighted_size(&self, size: &JobSize) -> f64 {
        match self.config.weights.job_size {
            0 => 0.0,
            weight => job_size_factor(size, self.cluster, self.config.size) * f64::from(weight),
        }
    }

    /// The weighted factor of a partition.
    pub fn weighted_partition(&self, partition: &Partition) -> f64 {
        let (factor, normalised) = (partition.priority_job_factor, partition.norm_priority);
        match self.config.weights.partition {
            0 => 0.0,
            weight => configured_factor(factor, normalised, self.config.no_normal_part) * f64::from(weight),
        }
    }

    /// The weighted factor of a QOS.
    pub fn weighted_qos(&self, qos: &Qos) -> f64 {
        match self.config.weights.qos {
            0 => 0.0,
            weight => {
                configured_factor(qos.priority, qos.norm_priority, self.config.no_normal_qos)
                    * f64::from(weight)
            }
        }
    }

    /// The weighted factor of one QOS of several; one without a priority keeps the job's.
    pub fn weighted_qos_of_several(&self, qos: &Qos, of_job: f64) -> f64 {
        if qos.priority == 0 || self.config.weights.qos == 0 {
            of_job
        } else {
            self.weighted_qos(qos)
        }
    }

    /// The weighted factors of a job's TRES, in `factors`, and their sum. Without weights `factors` stays as it is.
    #[inline]
    pub fn weighted_tres(&self, factors: &mut [f64], tres: Tres<'_>) -> f64 {
        let Some(weights) = &self.config.tres_weights else { return 0.0 };
        let counts = (tres.allocated, tres.requested);
        weighted_tres(factors, weights, counts, tres.of_partition, self.config.no_normal_tres)
    }

    /// All weighted factors of a job, those of its TRES in `tres`.
    #[inline]
    pub fn evaluate(&self, facts: &Facts<'_>, standing: AssociationFactors, tres: &mut [f64]) -> Evaluation {
        let (assoc, fair_share) = self.config.weighted_standing(standing);
        Evaluation {
            age: self.config.weighted_age(self.age(&facts.job)),
            assoc,
            fair_share,
            job_size: facts.size.map_or(0.0, |size| self.weighted_size(&size)),
            partition: facts.partition.map_or(0.0, |partition| self.weighted_partition(&partition)),
            qos: facts.qos.map_or(0.0, |qos| self.weighted_qos(&qos)),
            tres: self.weighted_tres(tres, facts.tres),
            site: facts.job.site,
            nice: facts.job.nice,
        }
    }

    /// The same in one of several partitions; what the QOS adds stays.
    #[must_use]
    pub fn in_partition(
        &self,
        of_job: &Evaluation,
        partition: Option<&Partition>,
        counts: Tres<'_>,
        tres: &mut [f64],
    ) -> Evaluation {
        Evaluation {
            partition: partition.map_or(0.0, |partition| self.weighted_partition(partition)),
            tres: self.weighted_tres(tres, counts),
            ..*of_job
        }
    }
}
