//! Priorities as stock computes them, and what is defined where stock is not.
#![allow(clippy::float_cmp)] // equality to the bit is what is promised

use multifactor2_core::factors::{
    age_factor, configured_factor, increase_only, job_size_factor, unshift, weighted_tres, ClusterSize,
    Evaluation, NodeCount, Priority, SizeOrder, SizePolicy, Weights, NICE_OFFSET,
};
use multifactor2_core::facts::NO_CONSUME;
use multifactor2_core::facts::{JobSize, NO_VAL};
use proptest::prelude::*;

const DAY: u32 = 24 * 60 * 60;
const NOW: i64 = 1_700_000_000;

#[test]
fn age_grows_to_one() {
    assert_eq!(age_factor(NOW, NOW - 3600, 7 * DAY), 3600.0 / 604_800.0);
    assert_eq!(age_factor(NOW, NOW - 7 * i64::from(DAY) + 1, 7 * DAY), 604_799.0 / 604_800.0);
    assert_eq!(age_factor(NOW, NOW - 7 * i64::from(DAY), 7 * DAY), 1.0);
    assert_eq!(age_factor(NOW, 1, 7 * DAY), 1.0);
}

#[test]
fn job_that_gains_no_age() {
    assert_eq!(age_factor(NOW, 0, 7 * DAY), 0.0);
    assert_eq!(age_factor(NOW, 0, 0), 0.0);
}

/// Slurm 1d90cd35ff: a clock behind the accrue time made the age wrap or vanish.
#[test]
fn age_before_the_accrue_time_is_zero() {
    assert_eq!(age_factor(NOW, NOW + 3600, 7 * DAY), 0.0);
    assert_eq!(age_factor(NOW, NOW, 7 * DAY), 0.0);
}

#[test]
fn any_age_is_one_without_a_maximum() {
    assert_eq!(age_factor(NOW, NOW - 1, 0), 1.0);
    assert_eq!(age_factor(NOW, NOW, 0), 1.0, "not 0/0");
}

const CLUSTER: ClusterSize = ClusterSize { cpus: 1000, nodes: 100 };
const JOB: JobSize = JobSize {
    total_cpus: 0,
    max_cpus: NO_VAL,
    min_cpus: 30,
    min_nodes: 2,
    time_limit: 60,
    partition_max_time: Some(1440),
};

fn policy(order: SizeOrder, nodes: NodeCount) -> SizePolicy {
    SizePolicy { order, nodes }
}

fn size(job: JobSize, order: SizeOrder) -> f64 {
    let factor = job_size_factor(&job, CLUSTER, policy(order, NodeCount::Active));
    assert_eq!(factor, job_size_factor(&job, CLUSTER, policy(order, NodeCount::Table)));
    factor
}

#[test]
fn large_jobs_first() {
    assert_eq!(size(JOB, SizeOrder::Large), (0.02 + 0.03) / 2.0);
    assert_eq!(size(JobSize { min_cpus: 0, ..JOB }, SizeOrder::Large), 0.02);
    assert_eq!(size(JobSize { min_nodes: 500, min_cpus: 5000, ..JOB }, SizeOrder::Large), 1.0);
}

#[test]
fn cpus_are_those_of_the_scheduler_then_the_most_then_the_fewest() {
    let job = JobSize { total_cpus: 10, max_cpus: 20, ..JOB };
    assert_eq!(size(job, SizeOrder::Large), (0.02 + 0.01) / 2.0);
    assert_eq!(size(JobSize { total_cpus: 0, ..job }, SizeOrder::Large), (0.02 + 0.02) / 2.0);
    assert_eq!(size(JobSize { total_cpus: 0, max_cpus: 0, ..job }, SizeOrder::Large), 0.02);
}

#[test]
fn small_jobs_first() {
    assert_eq!(size(JOB, SizeOrder::Small), (0.98 + 0.97) / 2.0);
    assert_eq!(size(JobSize { min_cpus: 0, ..JOB }, SizeOrder::Small), 0.98);
}

#[test]
fn small_jobs_first_with_more_nodes_than_the_cluster() {
    let job = JobSize { min_nodes: 101, min_cpus: 500, ..JOB };
    let factor = |nodes| job_size_factor(&job, CLUSTER, policy(SizeOrder::Small, nodes));
    // 100 − 101 wraps to 4294967295 nodes; from 23.02 on, it is none.
    assert_eq!(factor(NodeCount::Table), 1.0);
    assert_eq!(factor(NodeCount::Active), 0.25);
    let job = JobSize { min_nodes: 100, min_cpus: 1001, ..JOB };
    assert_eq!(job_size_factor(&job, CLUSTER, policy(SizeOrder::Small, NodeCount::Active)), 1.0);
}

#[test]
fn size_relative_to_time() {
    let relative = SizeOrder::RelativeToTime { favor_small: false };
    assert_eq!(size(JOB, relative), 30.0 / 60.0 / 1000.0);
    assert_eq!(size(JobSize { min_nodes: 5, ..JOB }, relative), 50.0 / 60.0 / 1000.0);
    assert_eq!(size(JobSize { time_limit: NO_VAL, ..JOB }, relative), 30.0 / 1440.0 / 1000.0);
    let no_limit = JobSize { time_limit: NO_VAL, partition_max_time: None, ..JOB };
    assert_eq!(size(no_limit, relative), 30.0 / 1000.0);
    assert_eq!(size(JobSize { time_limit: 0, ..JOB }, relative), 1.0);

    let small = SizeOrder::RelativeToTime { favor_small: true };
    assert_eq!(size(JOB, small), 1.0 - 30.0 / 60.0 / 1000.0);
    assert_eq!(size(JobSize { time_limit: 0, ..JOB }, small), 0.0);
}

#[test]
fn size_in_an_empty_cluster() {
    let empty = ClusterSize { cpus: 0, nodes: 0 };
    for favor_small in [false, true] {
        let relative = SizeOrder::RelativeToTime { favor_small };
        assert_eq!(job_size_factor(&JOB, empty, policy(relative, NodeCount::Table)), 0.0, "0/0 in stock");
    }
    for order in [SizeOrder::Large, SizeOrder::Small] {
        for empty in [empty, ClusterSize { cpus: 0, nodes: 5 }, ClusterSize { cpus: 5, nodes: 0 }] {
            assert_eq!(job_size_factor(&JOB, empty, policy(order, NodeCount::Active)), 0.0, "{empty:?}");
        }
        assert_eq!(job_size_factor(&JOB, empty, policy(order, NodeCount::Table)), 1.0, "n/0 in stock");
    }
}

#[test]
fn tres_allocated_before_requested_relative_to_the_partition() {
    let mut factors = [f64::NAN; 5];
    let allocated = [4, NO_CONSUME, 0, 7, 1];
    let requested = [8, 50, 9, 9, 1];
    let partition = [16, 200, 10, 0, 3];
    let mut factors_of = |allocated, requested, partition, no_normal| {
        weighted_tres(&mut factors, &[1.0; 5], (allocated, requested), partition, no_normal);
        factors
    };
    let (some_allocated, some_requested): (Option<&[u64]>, Option<&[u64]>) =
        (Some(&allocated), Some(&requested));
    let some_partition: Option<&[u64]> = Some(&partition);
    let part = factors_of(some_allocated, some_requested, some_partition, false);
    assert_eq!(part, [0.25, 0.25, 0.0, 0.0, 1.0 / 3.0]);
    assert_eq!(factors_of(None, some_requested, some_partition, false), [0.5, 0.25, 0.9, 0.0, 1.0 / 3.0]);
    assert_eq!(factors_of(some_allocated, some_requested, some_partition, true), [4.0, 50.0, 0.0, 7.0, 1.0]);
    assert_eq!(factors_of(some_allocated, some_requested, None, false), [0.0; 5]);
    assert_eq!(factors_of(None, None, Some(&partition[..2]), true), [0.0; 5]);
}

#[test]
fn tres_are_weighted_in_place_and_summed_in_order() {
    let mut products = [f64::NAN; 3];
    let counts: (Option<&[u64]>, Option<&[u64]>) = (None, Some(&[1, 2, 3]));
    let sum = weighted_tres(&mut products, &[1000.0, 0.0, 0.7], counts, Some(&[10, 10, 10]), false);
    assert_eq!(products, [0.1 * 1000.0, 0.0, 0.3 * 0.7]);
    assert_eq!(sum, 0.1 * 1000.0 + 0.3 * 0.7);
}

#[test]
fn configured_factors() {
    assert_eq!(configured_factor(50, 0.5, false), 0.5);
    assert_eq!(configured_factor(50, 0.5, true), 50.0);
    assert_eq!(configured_factor(0, 0.5, false), 0.0);
}

#[test]
fn weighted_factors_site_and_nice_add_up() {
    let factors = Evaluation {
        age: 0.5,
        assoc: 0.25,
        fair_share: 1.0,
        job_size: 0.125,
        partition: 1.0,
        qos: 0.5,
        tres: 12.5,
        site: NICE_OFFSET + 7,
        nice: NICE_OFFSET - 100,
    };
    let weights =
        Weights { age: 1000, assoc: 100, fair_share: 10_000, job_size: 8, partition: 50, qos: 2000 };
    let weighted = factors.weigh(&weights);
    let expected = 500.0 + 25.0 + 10_000.0 + 1.0 + 50.0 + 1000.0 + 12.5 + 7.0 + 100.0;
    assert_eq!(weighted.sum(), expected);
    assert_eq!(weighted.sum_of_variant(), expected);
    assert_eq!(Priority::from_sum(weighted.sum()), Priority { value: 11_695, overflow: false });
}

#[test]
fn order_of_the_sum_is_kept_to_the_last_bit() {
    let factors = Evaluation { age: 0.1, partition: 0.3, qos: 0.2, tres: 0.7, ..Evaluation::default() };
    assert_eq!(factors.sum(), 0.1 + 0.3 + 0.2 + 0.7);
    assert_eq!(factors.sum_of_variant(), 0.3 + (0.1 + 0.2 + 0.7));
}

#[test]
fn shifted_numbers_are_signed() {
    assert_eq!(unshift(0), -2_147_483_648.0);
    assert_eq!(unshift(NICE_OFFSET), 0.0);
    assert_eq!(unshift(u32::MAX), 2_147_483_647.0);
}

/// Slurm 2f9bc0ed66: sums beyond 32 bits wrapped around to small priorities.
#[test]
fn priority_does_not_overflow() {
    assert_eq!(Priority::from_sum(4_294_967_295.9), Priority { value: u32::MAX, overflow: false });
    assert_eq!(Priority::from_sum(4_294_967_296.0), Priority { value: u32::MAX, overflow: true });
    assert_eq!(Priority::from_sum(f64::INFINITY), Priority { value: u32::MAX, overflow: true });
}

#[test]
fn priority_is_at_least_one() {
    for sum in [0.0, 0.999, -1e12, f64::NEG_INFINITY, f64::NAN] {
        assert_eq!(Priority::from_sum(sum), Priority { value: 1, overflow: false }, "{sum}");
    }
    assert_eq!(Priority::from_sum(1.999).value, 1);
}

#[test]
fn priority_that_only_increases() {
    assert_eq!((increase_only(5, 7), increase_only(7, 5)), (7, 7));
}

proptest! {
    #![proptest_config(multifactor2_fixtures::seeded())]

    #[test]
    fn job_size_is_always_a_factor(
        counts: [u32; 5], partition_max_time: Option<u32>, cpus: u32, nodes: u32, form in 0..4, table: bool,
    ) {
        let [total_cpus, max_cpus, min_cpus, min_nodes, time_limit] = counts;
        let job = JobSize { total_cpus, max_cpus, min_cpus, min_nodes, time_limit, partition_max_time };
        let order = match form {
            0 => SizeOrder::Large,
            1 => SizeOrder::Small,
            _ => SizeOrder::RelativeToTime { favor_small: form == 2 },
        };
        let count = if table { NodeCount::Table } else { NodeCount::Active };
        for (cpus, nodes) in [(cpus, nodes), (0, nodes), (cpus, 0)] {
            let cluster = ClusterSize { cpus, nodes };
            let factor = job_size_factor(&job, cluster, policy(order, count));
            prop_assert!((0.0..=1.0).contains(&factor), "{}", factor);
        }
    }

    #[test]
    fn age_is_always_a_factor(now: i64, accrue_time: i64, max_age: u32) {
        prop_assert!((0.0..=1.0).contains(&age_factor(now, accrue_time, max_age)));
    }

    #[test]
    fn priority_is_never_that_of_a_held_job(sum: f64) {
        prop_assert!(Priority::from_sum(sum).value > 0);
    }
}
