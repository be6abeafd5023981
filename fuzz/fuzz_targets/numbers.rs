//! One job and one period: what is charged, and what priority comes out.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use multifactor2_accounting::charge::{released_before_restart, Amounts, Elapsed, JobTimes, Period, Rates};
use multifactor2_core::rules::charge_rules::ChargeFactors;
use multifactor2_core::decay::{decay_factor, decay_over, RunDecay};
use multifactor2_core::facts::JobSize;
use multifactor2_core::factors::{
    age_factor, configured_factor, increase_only, job_size_factor, weighted_tres, ClusterSize, Evaluation,
    NodeCount, Priority, SizeOrder, SizePolicy, Weights,
};

#[derive(Arbitrary, Debug)]
struct Input {
    times: [i64; 6],
    limit: u32,
    over: bool,
    ended: bool,
    half_life: u32,
    billable: f64,
    charge: [f64; 2],
    usage_factor: Option<f64>,
    words: [u32; 16],
    normalised: f64,
    tres: Vec<(u64, u64, u64, f64)>,
    order: u8,
    factors: [f64; 5],
}

fuzz_target!(|input: Input| {
    let [begin, end, start, job_end, expected_end, accrue] = input.times;
    let factor = decay_factor(input.half_life);
    assert!((0.0..=1.0).contains(&decay_over(factor, end.saturating_sub(begin) as f64)));
    let job = JobTimes { start, end: job_end, expected_end, limit: input.limit, over: input.over };
    let period = Period { start: begin, end, job_ended: input.ended };
    if let Some(elapsed) = Elapsed::within(period, &job) {
        assert!(elapsed.run >= 0.0 && elapsed.run.is_finite());
        if end >= begin {
            assert!(elapsed.run <= end.saturating_sub(begin) as f64, "more than the period");
        }
        // Products of some lines.
        let of = |factor: f64| if factor.is_finite() { factor.abs() % 1e9 } else { 1.0 };
        let charge = ChargeFactors { usage: of(input.charge[0]), limits: of(input.charge[1]) };
        let rates = Rates { billable: input.billable, usage_factor: input.usage_factor, charge };
        let amounts = elapsed.amounts(&mut RunDecay::new(factor), &rates);
        let Amounts { wall, wall_decayed, usage, usage_decayed, raw, raw_decayed, .. } = amounts;
        let all = [wall, wall_decayed, usage, usage_decayed, raw, raw_decayed];
        assert!(all.iter().all(|amount| amount.is_finite()), "{amounts:?}");
        assert!(amounts.wall >= 0.0 && amounts.wall_decayed <= amounts.wall * (1.0 + 1e-12));
        assert!(input.billable < 0.0 || (amounts.usage >= 0.0 && amounts.usage_decayed >= 0.0));
        let _ = amounts.released_for(u64::from(input.words[0]));
        let _ = released_before_restart(u64::from(input.words[1]), input.usage_factor, start, begin);
    }

    let w = input.words;
    assert!((0.0..=1.0).contains(&age_factor(end, accrue, w[0])));
    let order = match input.order % 4 {
        0 => SizeOrder::RelativeToTime { favor_small: false },
        1 => SizeOrder::RelativeToTime { favor_small: true },
        2 => SizeOrder::Small,
        _ => SizeOrder::Large,
    };
    let nodes = if input.order & 4 == 0 { NodeCount::Active } else { NodeCount::Table };
    let size = JobSize {
        total_cpus: w[1],
        max_cpus: w[2],
        min_cpus: w[3],
        min_nodes: w[4],
        time_limit: w[5],
        partition_max_time: (w[6] & 1 == 0).then_some(w[7]),
    };
    let job_size =
        job_size_factor(&size, ClusterSize { cpus: w[8], nodes: w[9] }, SizePolicy { order, nodes });
    assert!(job_size.is_finite());
    let mut tres = vec![0.0; input.tres.len()];
    let column = |pick: fn(&(u64, u64, u64, f64)) -> u64| input.tres.iter().map(pick).collect::<Vec<_>>();
    let (allocated, requested, partition) = (column(|t| t.0), column(|t| t.1), column(|t| t.2));
    let weights: Vec<f64> = input.tres.iter().map(|t| t.3).collect();
    let counts = (Some(allocated.as_slice()), Some(requested.as_slice()));
    let sum_of_tres = weighted_tres(&mut tres, &weights, counts, Some(&partition), input.order & 8 == 0);
    let weights_of = Weights {
        age: w[10],
        assoc: w[11],
        fair_share: w[12],
        job_size: w[13],
        partition: w[14],
        qos: w[15],
    };
    let [age, assoc, fair_share, partition, qos] = input.factors;
    let factors = Evaluation {
        age,
        assoc,
        fair_share,
        partition: configured_factor(w[0], partition, input.order & 16 == 0),
        qos,
        job_size,
        tres: sum_of_tres,
        site: w[1],
        nice: w[2],
    };
    let weighted = factors.weigh(&weights_of);
    let priority = Priority::from_sum(weighted.sum());
    assert!(priority.value >= 1);
    assert!(increase_only(w[3], priority.value) >= w[3]);
    let _ = Priority::from_sum(input.normalised);
});
