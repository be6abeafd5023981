//! A machine that is always full: what everybody gets in the long run, against the shares.

use multifactor2_replay::order::Policy;
use multifactor2_replay::sim::{Scheduler, NEVER};
use multifactor2_replay::workload::{Builder, Draft, ListedAssociation, Machine, Workload, NO_TIME};

use crate::made::{multifactor2, outcome};

pub const HOUR: i64 = 3600;
const BEGIN: i64 = 1_000_000;

/// A user of an account of its own, and what it asks for in parts of the machine.
pub struct User {
    pub name: &'static str,
    pub account: &'static str,
    pub shares: u32,
    pub demand: f64,
}

/// Jobs of about an hour that come evenly. `sizes`: their CPUs, in turn.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
pub fn workload(users: &[User], cpus: u32, hours: i64, sizes: &[u32]) -> Workload {
    let mut builder = Builder::new("account");
    let mut listed = Vec::new();
    for user in users {
        let account = ListedAssociation {
            parent: "root".to_owned(),
            account: user.account.to_owned(),
            user: String::new(),
            shares: user.shares,
        };
        if !listed.contains(&account) {
            listed.push(account.clone());
        }
        listed.push(ListedAssociation {
            parent: String::new(),
            user: user.name.to_owned(),
            shares: 1,
            ..account
        });
    }
    builder.list(listed);
    let mut id = 0;
    for user in users {
        let mean = f64::from(sizes.iter().sum::<u32>()) / sizes.len() as f64;
        // A machine's worth waits from the beginning.
        let count = (f64::from(cpus) * (hours + 1) as f64 * user.demand / mean) as i64;
        for at in 0..count {
            id += 1;
            let run = 3000 + u64::from(id as u32) * 613 % 1200;
            let submit = BEGIN + (at * (hours + 1) * HOUR / count - HOUR).max(0);
            builder
                .add(&Draft {
                    id,
                    submit,
                    eligible: submit,
                    start: NO_TIME,
                    memory: 0,
                    run,
                    limit: 4500,
                    cpus: sizes[id as usize % sizes.len()],
                    nodes: 0,
                    gpus: 0,
                    priority: 0,
                    array: 0,
                    user: user.name,
                    account: user.account,
                    partitions: "",
                    qos: "",
                })
                .unwrap();
        }
    }
    let mut workload = builder.finish();
    workload.config.set("PriorityDecayHalfLife", "1-0");
    workload.config.set("PriorityCalcPeriod", "10");
    workload
}

/// What accounts had from a time to another, in parts of all.
#[allow(clippy::cast_precision_loss)]
fn parts(workload: &Workload, starts: &[i64], users: &[User], from: i64, to: i64) -> Vec<f64> {
    let mut got = vec![0.0; users.len()];
    for (job, start) in workload.jobs.iter().zip(starts).filter(|(_, start)| **start != NEVER) {
        let seconds = (start + i64::from(job.run)).min(to) - (*start).max(from);
        let name = workload.users.name(workload.user(job));
        let place = users.iter().position(|user| user.name == name).unwrap();
        got[place] += seconds.max(0) as f64 * f64::from(job.cpus);
    }
    let all: f64 = got.iter().sum();
    got.into_iter().map(|got| got / all).collect()
}

const USERS: [User; 3] = [
    User { name: "a", account: "x", shares: 10, demand: 0.4 },
    User { name: "b", account: "y", shares: 30, demand: 0.6 },
    User { name: "c", account: "z", shares: 60, demand: 0.9 },
];

fn long_run(policy: &Policy) -> Vec<f64> {
    const HOURS: i64 = 120;
    let workload = workload(&USERS, 60, HOURS, &[1]);
    let outcome = outcome(&workload, &Machine::of_procs(60), Scheduler::Fcfs, policy);
    // After two half-lives, and while everybody still asks.
    parts(&workload, &outcome.starts, &USERS, BEGIN + 48 * HOUR, BEGIN + HOURS * HOUR)
}

#[test]
fn shares_are_kept_in_the_long_run() {
    for settings in [
        "Distribution=standing",
        "Distribution=strict",
        "Dilution=user",
        "Dilution=tree",
        "Distribution=standing\nDilution=user",
        "Distribution=strict\nDilution=user",
    ] {
        let got = long_run(&multifactor2(settings));
        println!("{settings:?}: {got:.4?}");
        for (got, share) in got.iter().zip([0.1, 0.3, 0.6]) {
            assert!((got - share).abs() <= 0.01, "{settings}: {got:.4} instead of {share}");
        }
    }
}

#[test]
fn fair_tree_keeps_shares_too() {
    let got = long_run(&Policy::FairTree);
    for (got, share) in got.iter().zip([0.1, 0.3, 0.6]) {
        assert!((got - share).abs() <= 0.01, "{got:.4} instead of {share}");
    }
}

/// docs/weights.md says 2 : 20 : 78.
#[test]
fn tickets_alone_go_by_squares_of_shares() {
    let got = long_run(&multifactor2(""));
    println!("tickets alone: {got:.4?}");
    for (got, squares) in got.iter().zip([0.02, 0.20, 0.78]) {
        assert!((got - squares).abs() <= 0.02, "{got:.4} instead of {squares}");
    }
}
