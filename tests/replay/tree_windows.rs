//! A share tree that goes by windows, in a replay: what counts is what jobs ran in each window, second by second.

#![allow(clippy::cast_precision_loss)] // seconds

use multifactor2_core::settings::Settings;
use multifactor2_core::ShareTree;
use multifactor2_fixtures::assert_near;
use multifactor2_replay::order::{Multifactor, Order, Policy, Started, Tickets};
use multifactor2_replay::workload::{Machine, Setup, Workload};

use crate::made::{at_once, multifactor2, NOW};

fn settings(text: &str) -> Settings {
    Settings::parse(text, "test").unwrap().settings
}

/// A job of so many CPUs of each of these accounts, all with a user.
fn workload(jobs: &[(&str, u32)]) -> Workload {
    at_once(jobs.iter().map(|(account, cpus)| (*account, "p", *cpus)))
}

fn machine() -> Machine {
    let mut machine = Machine::default();
    machine.add_partition("p=100x64").unwrap();
    machine
}

fn order<'s>(setup: &'s Setup<'s>, settings: &Settings) -> Multifactor<'s> {
    let tickets = Box::new(Tickets::new(settings));
    Multifactor::new(setup, tickets).with_charges(settings).with_books(settings).with_windows(settings)
}

/// What counts of seconds at a time, each with what it counts in itself: window by window of its number since 1970.
fn counts(seconds: &[(i64, f64)], now: i64, (length, depth, decay): (i64, i64, f64)) -> f64 {
    let of = |(second, rate): &(i64, f64)| {
        let age = now.div_euclid(length) - second.div_euclid(length);
        if age < depth {
            rate * decay.powf(age as f64)
        } else {
            0.0
        }
    };
    seconds.iter().map(of).sum()
}

#[test]
fn every_second_counts_in_its_window() {
    let mut random = multifactor2_fixtures::random();
    for _ in 0..40 {
        let (length, depth, decay) =
            (random.i64(60..1500), random.i64(1..6), [0.0, 0.5, 0.8, 1.0][random.usize(0..4)]);
        let minimum = [0, 120][random.usize(0..2)];
        let lines = format!(
            "TreeUsage=window\nTreeWindow=0-00:00:{length}\nTreeDepth={depth}\nTreeDecay={decay}\nMinimumCharge=0-00:00:{minimum}\nCharge=Account Name=x Factor=3"
        );
        let accounts = ["x", "y", "x", "y", "z", "x"];
        let jobs: Vec<(&str, u32)> = accounts.iter().map(|account| (*account, random.u32(1..20))).collect();
        let (workload, machine, settings) = (workload(&jobs), machine(), settings(&lines));
        let setup = Setup::new(&workload, &machine);
        let mut order = order(&setup, &settings);
        // When each starts and ends, in order; a cycle every 300 seconds or when it comes.
        let runs: Vec<(i64, i64)> = jobs
            .iter()
            .map(|_| {
                let start = random.i64(0..4000);
                (start, start + random.i64(0..3000))
            })
            .collect();
        let mut used: Vec<Vec<(i64, f64)>> = vec![Vec::new(); jobs.len()];
        let mut last = 0;
        for now in 0..8000 {
            for (job, (start, end)) in (0..).zip(&runs) {
                if *start == now {
                    order.start(Started { job, partition: 0, at: NOW + now });
                }
                if *end == now {
                    order.end(NOW + now, job);
                }
            }
            if now % 300 == 0 || now - last > 500 {
                order.cycle(NOW + now, &[], &mut |_, _| ());
                last = now;
                let tree = ShareTree::build(&workload.node_specs());
                let mut all = 0.0;
                let found = order.usage().counted();
                for (job, used) in workload.jobs.iter().zip(&mut used) {
                    let place = usize::try_from(job.id - 1).unwrap();
                    let (start, end) = runs[place];
                    let rate = f64::from(jobs[place].1) * if jobs[place].0 == "x" { 3.0 } else { 1.0 };
                    used.clear();
                    used.extend((start..end.min(now)).map(|second| (NOW + second, rate)));
                    if end <= now {
                        used.push((NOW + end, rate * (minimum - (end - start)).max(0) as f64));
                    }
                    all += counts(used, NOW + now, (length, depth, decay));
                }
                let close = |found: f64, expected: f64, what: &str| {
                    assert!(
                        (found - expected).abs() <= 1e-9 * expected.max(1.0),
                        "{what} at {now}: {found}, not {expected}\n{lines}"
                    );
                };
                close(found[0], all, "all");
                let of_user = |job: usize| {
                    let node = tree.position(workload.jobs[job].association as usize).unwrap();
                    found[node.index()]
                };
                let z = counts(&used[4], NOW + now, (length, depth, decay));
                close(of_user(4), z, "z");
            }
        }
    }
}

/// By hand: x has used the first window, y the second. With a half for each older one the factor of x is that of y's usage over its own.
#[test]
fn factors_go_by_windows_and_not_by_half_life() {
    let jobs = [("x", 4), ("y", 4), ("x", 1), ("y", 1)];
    let (mut workload, machine) = (workload(&jobs), machine());
    workload.config.set("PriorityDecayHalfLife", "0");
    let setup = Setup::new(&workload, &machine);
    let seen = |lines: &str| {
        let settings = settings(lines);
        let mut order = order(&setup, &settings);
        order.start(Started { job: 0, partition: 0, at: NOW });
        order.cycle(NOW + 1000, &[2, 3], &mut |_, _| ());
        order.end(NOW + 1000, 0);
        order.start(Started { job: 1, partition: 0, at: NOW + 1000 });
        let mut seen = Vec::new();
        order.cycle(NOW + 2000 - 1, &[2, 3], &mut |_, priorities| seen.push(priorities[0]));
        assert_near(order.usage().by_node()[0], 4.0 * 1999.0, "usage that decays");
        seen
    };
    // 4000 of x count 2000, 3996 of y all.
    let found = seen("TreeUsage=window\nTreeWindow=0-00:00:1000\nTreeDepth=3\nTreeDecay=0.5");
    assert_eq!(found, [1_000_000, 500_500]);
    assert_eq!(seen("")[1], 1_000_000);
    // Only the current window counts: x has used nothing.
    let found = seen("TreeUsage=window\nTreeWindow=0-00:00:1000\nTreeDepth=1");
    assert_eq!(found, [1_000_000, 5_000]);
}

#[test]
fn a_reset_empties_windows_and_nothing_is_left_out() {
    let (mut workload, machine) = (workload(&[("x", 4)]), machine());
    workload.config.set("PriorityUsageResetPeriod", "DAILY");
    let policy = multifactor2("TreeUsage=window");
    assert_eq!(policy.left_out(&workload, &machine), [""; 0]);
    let Policy::Multifactor2(settings) = &policy else { unreachable!() };
    let setup = Setup::new(&workload, &machine);
    let mut order = order(&setup, settings);
    order.start(Started { job: 0, partition: 0, at: NOW });
    order.end(NOW + 600, 0);
    order.cycle(NOW + 600, &[], &mut |_, _| ());
    assert_near(order.usage().counted()[0], 2400.0, "before");
    order.cycle(NOW + 86_400, &[], &mut |_, _| ());
    assert_near(order.usage().counted()[0], 0.0, "after");
}
