//! What holds for all input.

use std::fmt::Write;

use multifactor2_core::policy::points::{expansion_factor, Curve, Points, PointsJob, Request, TargetUsage};
use multifactor2_core::policy::pools::Names;
use multifactor2_core::rules::targets::{delta, Cap, Measure, Side, Tier, Tiers, Totals};
use proptest::prelude::*;

use super::{settings, Site};

/// Any number, also those that are none.
fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        -1e3..1e3_f64,
        prop::sample::select(vec![
            0.0,
            -0.0,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::MAX,
            f64::MIN_POSITIVE,
            f64::from(u32::MAX),
            1e9
        ]),
    ]
}

prop_compose! {
    fn any_request()(numbers in prop::array::uniform6(any_number())) -> Request {
        let [nodes, cpus, memory, disk, equivalents, metric] = numbers;
        Request { nodes, cpus, memory, disk, equivalents, metric }
    }
}

prop_compose! {
    fn any_job()(
        request in any_request(),
        limit in any_number(),
        wait in any_number(),
        bypass in any::<u32>(),
        elapsed in prop::option::of(any_number()),
    ) -> PointsJob<'static> {
        PointsJob { request, limit, wait, bypass, elapsed, ..PointsJob::default() }
    }
}

fn any_weight() -> impl Strategy<Value = f64> {
    prop_oneof![-1e9..1e9_f64, prop::sample::select(vec![0.0, 1e9, -1e9, 1e-9])]
}

/// Lines with every part of every component, by these weights.
fn all_components(weights: &[f64]) -> String {
    let parts = [
        ("CRED", "User Group Account Parent QOS Class"),
        ("FS", "FSUser FSGroup FSAccount FSParent FSQOS FSClass"),
        ("RES", "Node Proc Mem Swap Disk PS PE WallTime"),
        ("SERV", "QueueTime XFactor Bypass"),
        ("TARGET", "TargetQueueTime TargetXFactor"),
        ("USAGE", "Consumed Remaining Percent ExecutionTime"),
    ];
    let mut weights = weights.iter().cycle();
    let mut next = || weights.next().copied().unwrap_or_default();
    let mut text = String::new();
    for (component, parts) in parts {
        write!(text, "Component={component} Weight={} Cap={}", next(), next()).unwrap();
        for part in parts.split(' ') {
            write!(text, " {part}={} {part}Cap={}", next(), next()).unwrap();
        }
        text += "\n";
    }
    text
}

const LINES: &str = "\
    Credential=User Name=* Priority=-1000000000\nCredential=Parent Name=* Priority=1000000000\n\
    Target=User Name=* Percent=1000000 Weight=1000000000\nTarget=Account Name=* Percent=0.000001 Mode=ratio Weight=1000000000\n\
    Target=Parent Name=* Percent=1000000 Weight=-1000000000\nTarget=QOS Name=* Percent=1\nTarget=Group Name=* Percent=1\n\
    Target=Partition Name=* Percent=1\nTarget=User Name=* Percent=3 Type=cap\n\
    Service=QOS Name=* TargetQueueTime=1 TargetXFactor=0.000001 Curve=maui QueueTimeWeight=1000000000\n";

proptest! {
    #![proptest_config(multifactor2_fixtures::seeded())]

    #[test]
    fn never_beyond_the_cap_and_always_a_number(
        weights in prop::collection::vec(any_weight(), 7..60),
        cap in 0..=i32::MAX,
        weight in any_weight(),
        usage in prop::collection::vec(any_number(), 0..12),
        multiplier in -1000.0..1000.0_f64,
        job in any_job(),
    ) {
        let lines = all_components(&weights)
            + LINES
            + &format!("PointsCap={cap}\nPointsWeight={weight}\nTierMultiplier={multiplier}\n");
        let mut cluster = Site::new().with("a", "alice", 1.0).with("b", "bob", 2.0).points(&lines);
        let key = |at: usize| u32::try_from(at).unwrap();
        let used = TargetUsage {
            nodes: usage.clone(),
            qos: usage.iter().enumerate().map(|(at, used)| (key(at), *used)).collect(),
            groups: usage.iter().enumerate().map(|(at, used)| (key(at), *used)).collect(),
            partitions: usage.iter().map(|used| (used.to_string(), *used)).collect(),
            all: usage.first().copied().unwrap_or_default(),
            capacity: usage.last().copied().unwrap_or_default(),
        };
        cluster.points.weigh(&cluster.tree, &used, &used);
        let names = Names { user: "alice", account: "new" };
        for job in [
            job,
            PointsJob { qos: cluster.points.qos(1), group: cluster.points.group(2), ..job },
            PointsJob { node: cluster.job("alice", "a").node, ..job },
            PointsJob { newcomer: Some(names), ..job },
        ] {
            let parts = cluster.points.explain(&job);
            prop_assert!((-cap..=cap).contains(&cluster.value(&job)));
            for part in [parts.cred, parts.fs, parts.res, parts.serv, parts.target, parts.usage] {
                prop_assert!(part.is_finite(), "{parts:?}");
            }
        }
    }

    /// Who waits longer never has less by what goes by the wait, with weights that are not negative.
    #[test]
    fn waiting_never_harms(
        weights in prop::collection::vec(0.0..1e6_f64, 5),
        wait in 0.0..1e7_f64, more in 0.0..1e7_f64, limit in 0.0..1e7_f64,
        target in 1_u32..1_000_000, curve in prop::sample::select(vec!["bounded", "maui"]),
    ) {
        let lines = format!(
            "Component=SERV QueueTime={} XFactor={} XFactorCap={}\nComponent=TARGET TargetQueueTime={} TargetXFactor={}\n\
             Service=QOS Name=* TargetQueueTime={target} TargetXFactor=3 Curve={curve}\nPointsCap=2147483647",
            weights[0], weights[1], weights[2], weights[3], weights[4],
        );
        let points = Points::configured(&settings(&lines)).unwrap();
        let job = PointsJob { wait, limit, ..PointsJob::default() };
        let later = points.value(&PointsJob { wait: wait + more, ..job });
        prop_assert!(points.value(&job) <= later);
        // And a longer limit is never a larger expansion factor.
        prop_assert!(expansion_factor(wait, limit + more, 0.0) <= expansion_factor(wait, limit, 0.0));
    }

    #[test]
    fn the_bounded_curve_is_between_0_and_1_and_rises(target in any_number(), waited in any_number(), more in 0.0..1e9_f64) {
        for curve in [Curve::Bounded, Curve::Maui] {
            let value = curve.value(target, waited);
            prop_assert!((0.0..=1.000_001e8).contains(&value), "{value}");
            prop_assert!(curve.value(target, waited.max(0.0) + more) >= curve.value(target, waited.max(0.0)));
        }
        prop_assert!(Curve::Bounded.value(target, waited) <= 1.0);
    }

    #[test]
    fn more_usage_is_never_better(
        target in any_number(), usage in 0.0..1e9_f64, more in 0.0..1e9_f64,
        totals in prop::array::uniform2(0.0..1e9_f64),
    ) {
        for side in [Side::Both, Side::Below, Side::Above] {
            for measure in [Measure::Difference, Measure::Ratio] {
                let (less, more) = (delta(target, usage, side, measure), delta(target, usage + more, side, measure));
                prop_assert!(less.is_finite() && more.is_finite() && more <= less);
            }
        }
        let totals = Totals { delivered: totals[0], available: totals[1] };
        for cap in [Cap::Delivered(target), Cap::Available(target), Cap::Amount(target)] {
            let (before, after) = (cap.room(usage, totals), cap.room(usage + more, totals));
            prop_assert!(!before.is_nan() && after <= before);
        }
    }

    #[test]
    fn levels_give_a_number(deltas in prop::collection::vec(any_number(), 0..50), cap in any::<bool>(), multiplier in any_number()) {
        let tiers = Tiers { cap, multiplier };
        let sum = deltas.iter().fold(Tier::ROOT, |tier, delta| tier.below(*delta, 1.0, tiers)).sum();
        prop_assert!(sum.is_finite());
    }
}
