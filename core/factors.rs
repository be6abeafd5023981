//! The factors of a job's priority besides fair-share, and their sum: the same floating point operations in
//! the same order as stock priority/multifactor, because the last bit decides between two neighbouring
//! priorities.
//!
//! Where the C code is undefined or divides zero by zero, which on x86-64 ends in priority 4294967295, the
//! result here is defined and said with each function.

use crate::facts::{JobSize, NO_CONSUME};
use crate::ties::settled;

/// What is stored for a nice value or a site factor of 0 (`NICE_OFFSET`).
pub const NICE_OFFSET: u32 = 0x8000_0000;

/// How long a job has waited in parts of `PriorityMaxAge`, from 0 to 1.
///
/// `now` and `accrue_time` (since when it gains age, 0 if it does not) are seconds since 1970, `max_age` is
/// in seconds. 1 for a job that gains age if `max_age` is 0.
pub fn age_factor(now: i64, accrue_time: i64, max_age: u32) -> f64 {
    age(now, accrue_time).map_or(0.0, |age| age_part(age, max_age))
}

/// How many seconds a job has waited, as [`age_factor`] counts them; `None` for one that does not gain age.
#[inline]
pub fn age(now: i64, accrue_time: i64) -> Option<u32> {
    (accrue_time != 0).then(|| u32::try_from(now.saturating_sub(accrue_time).max(0)).unwrap_or(u32::MAX))
}

/// The factor of a job that has waited for `age` seconds and gains age, see [`age_factor`].
pub(crate) fn age_part(age: u32, max_age: u32) -> f64 {
    if age < max_age {
        f64::from(age) / f64::from(max_age)
    } else {
        1.0
    }
}

/// The factor of a partition, QOS or association: its normalised priority, or with the flag `NO_NORMAL_*` the
/// configured one. 0 if none is configured.
pub fn configured_factor(configured: u32, normalised: f64, no_normal: bool) -> f64 {
    match (configured, no_normal) {
        (0, _) => 0.0,
        (_, true) => f64::from(configured),
        (_, false) => normalised,
    }
}

/// The cluster that a job's size is measured against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterSize {
    /// CPUs of all nodes.
    pub cpus: u32,
    /// Nodes, counted as [`NodeCount`] says.
    pub nodes: u32,
}

/// Which jobs have the larger job size factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeOrder {
    /// Those with more nodes and CPUs.
    Large,
    /// Those with fewer (`PriorityFavorSmall`).
    Small,
    /// Those with more CPUs per minute of their time limit (`SMALL_RELATIVE_TO_TIME`), or with fewer.
    RelativeToTime {
        /// `PriorityFavorSmall` is set, too.
        favor_small: bool,
    },
}

/// The node count that a Slurm release measures with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeCount {
    /// Up to 22.05: all slots of the node table. A job with more nodes than the cluster counts as the
    /// smallest, a wrapped subtraction.
    Table,
    /// From 23.02: active nodes. A job with more nodes counts as the largest; no factor in an empty cluster.
    Active,
}

/// How job sizes become factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizePolicy {
    /// Which jobs to prefer.
    pub order: SizeOrder,
    /// What [`ClusterSize::nodes`] counts.
    pub nodes: NodeCount,
}

/// The job size factor, from 0 to 1.
///
/// 0 where stock divides zero by zero: up to 22.05, a cluster without nodes or CPUs.
#[inline]
pub fn job_size_factor(job: &JobSize, cluster: ClusterSize, policy: SizePolicy) -> f64 {
    if policy.nodes == NodeCount::Active && (cluster.nodes == 0 || cluster.cpus == 0) {
        return 0.0;
    }
    let factor = match policy.order {
        SizeOrder::Large => large(job, cluster),
        SizeOrder::Small => small(job, cluster, policy.nodes),
        SizeOrder::RelativeToTime { favor_small } => {
            let factor = relative_to_time(job, cluster);
            if favor_small {
                1.0 - factor
            } else {
                factor
            }
        }
    };
    if factor.is_nan() {
        0.0
    } else {
        factor.clamp(0.0, 1.0)
    }
}

fn large(job: &JobSize, cluster: ClusterSize) -> f64 {
    let of_nodes = f64::from(job.min_nodes) / f64::from(cluster.nodes);
    let cpus = job.cpus();
    if cpus == 0 {
        of_nodes
    } else {
        (of_nodes + f64::from(cpus) / f64::from(cluster.cpus)) / 2.0
    }
}

fn small(job: &JobSize, cluster: ClusterSize, count: NodeCount) -> f64 {
    let of_nodes = if count == NodeCount::Active && cluster.nodes <= job.min_nodes {
        0.0
    } else {
        f64::from(cluster.nodes.wrapping_sub(job.min_nodes)) / f64::from(cluster.nodes)
    };
    let cpus = job.cpus();
    if cpus == 0 {
        of_nodes
    } else {
        // Wraps in every release: a job with more CPUs than the cluster counts as the smallest.
        (of_nodes + f64::from(cluster.cpus.wrapping_sub(cpus)) / f64::from(cluster.cpus)) / 2.0
    }
}

fn relative_to_time(job: &JobSize, cluster: ClusterSize) -> f64 {
    let average_cpus = f64::from(job.min_nodes) * f64::from(cluster.cpus) / f64::from(cluster.nodes);
    let cpus = f64::from(job.cpus());
    // Not `max`, which would hide the NaN of an empty cluster.
    let size = if cpus > average_cpus { cpus } else { average_cpus };
    size / f64::from(job.minutes()) / f64::from(cluster.cpus)
}

/// Fills `products` with the TRES factors of a job in a partition, each multiplied by its weight (`PriorityWeightTRES`), and returns their
/// sum. A factor is the part of the partition's TRES that the job has allocated, or else asks for; with `NO_NORMAL_TRES` (`no_normal`) the
/// plain count.
///
/// 0 for a TRES that the partition does not have, and for one without a weight. Slices shorter than `weights` are taken to be filled with 0.
#[inline]
pub fn weighted_tres(
    products: &mut [f64],
    weights: &[f64],
    (allocated, requested): (Option<&[u64]>, Option<&[u64]>),
    partition: Option<&[u64]>,
    no_normal: bool,
) -> f64 {
    let [allocated, requested, partition] = [allocated, requested, partition].map(Option::unwrap_or_default);
    let mut sum = 0.0;
    for (tres, (product, weight)) in products.iter_mut().zip(weights).enumerate() {
        *product = 0.0;
        if *weight == 0.0 {
            continue;
        }
        let value = match allocated.get(tres) {
            Some(value) if *value != NO_CONSUME => *value,
            _ => requested.get(tres).copied().unwrap_or(0),
        };
        let of = if no_normal { 1 } else { partition.get(tres).copied().unwrap_or(0) };
        if of != 0 {
            *product = as_f64(value) / as_f64(of) * weight;
            sum += *product;
        }
    }
    sum
}

/// The weights of slurm.conf, `PriorityWeightAge` and so on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // each is the weight of the factor of the same name
pub struct Weights {
    pub age: u32,
    pub assoc: u32,
    pub fair_share: u32,
    pub job_size: u32,
    pub partition: u32,
    pub qos: u32,
}

/// What a fair-share factor adds to a priority. It is [`settled`]: a priority is rounded down, and factors that are equal on paper must not
/// give two neighbouring ones, such as 1000 and 999.9999999999999.
pub fn weighted_fair_share(factor: f64, weight: u32) -> f64 {
    settled(factor * f64::from(weight))
}

/// What a job's priority is made of: its factors, before or after [`Self::weigh`], in the order of addition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evaluation {
    /// [`age_factor`].
    pub age: f64,
    /// The association's priority.
    pub assoc: f64,
    /// [`FairShare::priority`](crate::FairShare::priority).
    pub fair_share: f64,
    /// [`job_size_factor`].
    pub job_size: f64,
    /// The partition's priority.
    pub partition: f64,
    /// The QOS' priority.
    pub qos: f64,
    /// The result of [`weighted_tres`], weighted from the beginning.
    pub tres: f64,
    /// Site factor, shifted by [`NICE_OFFSET`].
    pub site: u32,
    /// Nice value, shifted by [`NICE_OFFSET`].
    pub nice: u32,
}

impl Default for Evaluation {
    fn default() -> Self {
        Self {
            age: 0.0,
            assoc: 0.0,
            fair_share: 0.0,
            job_size: 0.0,
            partition: 0.0,
            qos: 0.0,
            tres: 0.0,
            site: NICE_OFFSET,
            nice: NICE_OFFSET,
        }
    }
}

impl Evaluation {
    /// The weighted factors.
    #[must_use]
    pub fn weigh(self, weights: &Weights) -> Self {
        Self {
            age: self.age * f64::from(weights.age),
            assoc: self.assoc * f64::from(weights.assoc),
            fair_share: weighted_fair_share(self.fair_share, weights.fair_share),
            job_size: self.job_size * f64::from(weights.job_size),
            partition: self.partition * f64::from(weights.partition),
            qos: self.qos * f64::from(weights.qos),
            ..self
        }
    }

    /// The sum of weighted factors, for the priority of the job itself: one by one in stock's order, because the last bit decides
    /// between two neighbouring priorities.
    pub fn sum(&self) -> f64 {
        self.age
            + self.assoc
            + self.fair_share
            + self.job_size
            + self.partition
            + self.qos
            + self.tres
            + unshift(self.site)
            - unshift(self.nice)
    }

    /// The sum of weighted factors, for the priority of a job in one of several partitions or QOSes: `self`
    /// has the factors of that partition and QOS. The same terms as in [`Self::sum`], but the partition's
    /// comes last, as in stock, which can make a difference in the last bit.
    pub fn sum_of_variant(&self) -> f64 {
        let others = self.age
            + self.assoc
            + self.fair_share
            + self.job_size
            + self.qos
            + self.tres
            + unshift(self.site)
            - unshift(self.nice);
        self.partition + others
    }
}

/// A site factor or nice value as a signed number.
pub fn unshift(stored: u32) -> f64 {
    f64::from(stored) - f64::from(NICE_OFFSET)
}

/// A site factor with points added, both as they are stored: within what `scontrol` can set, ±(2^31 − 1).
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // in range by the bounds
pub fn with_points(site: u32, points: i32) -> u32 {
    const LARGEST: i64 = i32::MAX as i64;
    let sum = i64::from(site) - i64::from(NICE_OFFSET) + i64::from(points);
    (sum.clamp(-LARGEST, LARGEST) + i64::from(NICE_OFFSET)) as u32
}

/// A job's priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priority {
    /// From 1 (0 is for held jobs) to 2^32 − 1.
    pub value: u32,
    /// The sum did not fit and was cut: worth a line in the log.
    pub overflow: bool,
}

impl Priority {
    /// Rounds a sum of factors down. 1 for NaN.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // in range by the checks
    pub fn from_sum(sum: f64) -> Self {
        let overflow = sum >= f64::from(u32::MAX) + 1.0;
        let value = if overflow {
            u32::MAX
        } else if sum >= 1.0 {
            sum as u32
        } else {
            1
        };
        Self { value, overflow }
    }
}

/// The priority that a job keeps under `INCR_ONLY`.
pub fn increase_only(old: u32, new: u32) -> u32 {
    old.max(new)
}

/// A TRES count as a number, in C's precision.
#[allow(clippy::cast_precision_loss)]
fn as_f64(count: u64) -> f64 {
    count as f64
}
