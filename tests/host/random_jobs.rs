//! Random weights, flags, partitions and jobs.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::subsequence;
use slurm_inproc::constants::{
    INFINITE, JOB_STATE_BASE, NO_VAL, PRIORITY_FLAGS_ACCRUE_ALWAYS, PRIORITY_FLAGS_CALCULATE_RUNNING,
    PRIORITY_FLAGS_FAIR_TREE, PRIORITY_FLAGS_INCR_ONLY, PRIORITY_FLAGS_NO_NORMAL_ASSOC,
    PRIORITY_FLAGS_NO_NORMAL_PART, PRIORITY_FLAGS_NO_NORMAL_QOS, PRIORITY_FLAGS_NO_NORMAL_TRES,
    PRIORITY_FLAGS_SIZE_RELATIVE,
};
use slurm_inproc::{state, Conf, Job, Nice};

use crate::setup::NOW;

/// Partitions in the order in which a job may name them.
const PARTITIONS: [&str; 4] = ["batch", "fast", "long", "billed"];

fn weight() -> impl Strategy<Value = u32> {
    prop_oneof![1 => Just(0_u32), 2 => 1..5000_u32, 1 => 1..50_000_000_u32]
}

/// Flags that change how factors are made: relative sizes, running jobs, increasing only, raw values, submission.
fn flags() -> impl Strategy<Value = u16> {
    let flags = vec![
        PRIORITY_FLAGS_ACCRUE_ALWAYS,
        PRIORITY_FLAGS_SIZE_RELATIVE,
        PRIORITY_FLAGS_CALCULATE_RUNNING,
        PRIORITY_FLAGS_INCR_ONLY,
        PRIORITY_FLAGS_NO_NORMAL_ASSOC,
        PRIORITY_FLAGS_NO_NORMAL_PART,
        PRIORITY_FLAGS_NO_NORMAL_QOS,
        PRIORITY_FLAGS_NO_NORMAL_TRES,
    ];
    subsequence(flags, 0..=4).prop_map(|bits| bits.into_iter().sum::<u16>() | PRIORITY_FLAGS_FAIR_TREE)
}

pub fn conf() -> impl Strategy<Value = Conf> {
    let weights = (weight(), weight(), weight(), weight(), weight());
    let tres = prop_oneof![
        Just(""),
        Just("cpu=1000,mem=500,node=10"),
        Just("CPU=0.5,billing=3"),
        Just("mem=200000")
    ];
    let age = prop_oneof![Just(1_u32), 1..1_000_000_u32];
    (weights, tres, flags(), any::<bool>(), age).prop_map(
        |((age, assoc, size, part, qos), tres, flags, small, max_age)| {
            Conf::new()
                .weight_age(age)
                .weight_association(assoc)
                .weight_job_size(size)
                .weight_partition(part)
                .weight_qos(qos)
                .weight_tres(tres)
                .flags(flags)
                .favor_small(u16::from(small))
                .max_age(max_age)
        },
    )
}

/// A time around the clock's, or none.
fn time() -> impl Strategy<Value = i64> {
    prop_oneof![1 => Just(0_i64), 4 => -200_000..2000_i64].prop_map(|offset| {
        if offset == 0 {
            0
        } else {
            NOW + offset
        }
    })
}

fn shifted() -> impl Strategy<Value = i64> {
    prop_oneof![4 => Just(0_i64), 3 => -10_000..10_000_i64, 1 => -2_147_483_000..2_147_483_000_i64]
}

type Base = (u32, u32, Vec<usize>, u32, u32, bool);

type Size = (u32, u32, u32, u32, Vec<u64>, Option<Vec<u64>>);

fn base() -> impl Strategy<Value = Base> {
    let states = prop_oneof![
        8 => Just(state::PENDING),
        1 => Just(state::RUNNING),
        1 => Just(state::PENDING | state::COMPLETING),
        1 => Just(state::RUNNING | state::CONFIGURING),
        1 => Just(state::RUNNING | state::POWER_UP_NODE),
        1 => Just(state::PENDING | state::REVOKED),
        1 => Just(state::SUSPENDED)
    ];
    let priority = prop_oneof![8 => Just(1_u32), 1 => Just(0_u32), 2 => 2..100_000_u32];
    let partitions = prop_oneof![2 => subsequence(vec![0_usize, 1, 2, 3], 1..=1), 1 => subsequence(vec![0_usize, 1, 2, 3], 2..=4).prop_shuffle()];
    (
        prop_oneof![9 => 4..=6_u32, 1 => Just(0_u32)],
        0..=5_u32,
        partitions,
        states,
        priority,
        prop::bool::weighted(0.1),
    )
}

fn size() -> impl Strategy<Value = Size> {
    let counts = || vec(prop_oneof![Just(0_u64), 1..300_u64], 5);
    let max_cpus = prop_oneof![2 => Just(NO_VAL), 1 => 1..400_u32];
    let limit = prop_oneof![1..5000_u32, Just(INFINITE), Just(NO_VAL)];
    (0..300_u32, max_cpus, 0..30_u32, limit, counts(), prop::option::weighted(0.2, counts()))
}

pub fn job() -> impl Strategy<Value = Job> {
    (base(), size(), (time(), time(), time()), shifted(), shifted()).prop_map(
        |(base, size, times, nice, site)| {
            let (association, qos, partitions, state, priority, direct) = base;
            let (cpus, max_cpus, nodes, limit, requested, allocated) = size;
            let amounts = |counts: Vec<u64>| (1_u32..).zip(counts).collect::<Vec<_>>();
            let mut job = Job::new(1_u32)
                .association(association)
                .user_id(1000 + association)
                .account(if association == 6 { "chemistry" } else { "physics" })
                .qos(qos)
                .partitions(partitions.iter().map(|at| PARTITIONS[*at].to_owned()).collect::<Vec<_>>())
                .state(state)
                .priority(priority)
                .direct_set_priority(direct)
                .nice(Nice(nice))
                .site_factor(Nice(site))
                .accrue_time(times.0)
                .begin_time(times.1)
                .submit_time(times.2)
                .min_cpus(cpus)
                .max_cpus(max_cpus)
                .min_nodes(nodes)
                .time_limit(limit)
                .tres_requested(amounts(requested));
            if state & JOB_STATE_BASE != state::PENDING {
                job = job.start_time(NOW - 5).total_cpus(cpus).end_time_expected(NOW + 90_000);
            }
            if let Some(allocated) = allocated {
                job = job.tres_allocated(amounts(allocated));
            }
            job
        },
    )
}
