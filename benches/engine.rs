//! Building a share tree and distributing tickets over it, per number of associations; tickets of single jobs, per policy.
#![allow(missing_docs)] // criterion_group makes a public function without documentation

use std::hint::black_box;

use criterion::{criterion_group, criterion_main, BenchmarkId, Criterion, Throughput};
use multifactor2_core::policy::pools::{order, Extra, Names, Pools, WaitingJob};
use multifactor2_core::settings::value::Date;
use multifactor2_core::settings::Settings;
use multifactor2_core::{FairShare, NodeSpec, ShareTree};

const SIZES: [u32; 3] = [1_000, 10_000, 100_000];

/// Accounts in levels of ten, the last nine tenths of the associations being users.
fn associations(count: u32) -> Vec<NodeSpec> {
    (0..count)
        .map(|index| NodeSpec {
            parent: index.checked_sub(1).map(|before| before / 10),
            shares: 1 + index % 7,
            user: index >= count / 10,
        })
        .collect()
}

/// Usage that adds up along the tree, by position.
fn usage(nodes: &[NodeSpec], tree: &ShareTree) -> Vec<f64> {
    let mut by_input: Vec<f64> = (0_u32..).zip(nodes).map(|(index, _)| f64::from(index % 1013)).collect();
    for index in (1..nodes.len()).rev() {
        by_input[(index - 1) / 10] += by_input[index];
    }
    let mut by_position = vec![0.0; tree.len()];
    for (input, usage) in by_input.into_iter().enumerate() {
        by_position[tree.position(input).expect("every association is in the tree").index()] = usage;
    }
    by_position
}

fn build(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("build");
    for size in SIZES {
        let nodes = associations(size);
        group.throughput(Throughput::Elements(size.into()));
        group.bench_function(BenchmarkId::from_parameter(size), |bench| {
            bench.iter(|| ShareTree::build(black_box(&nodes)));
        });
    }
    group.finish();
}

fn distribute(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("distribute");
    for size in SIZES {
        let nodes = associations(size);
        let tree = ShareTree::build(&nodes);
        let usage = usage(&nodes, &tree);
        let waiting: Vec<u32> = (0..size).map(|position| u32::from(position % 3 == 0)).collect();
        let mut fair_share = FairShare::new();
        group.throughput(Throughput::Elements(size.into()));
        group.bench_function(BenchmarkId::from_parameter(size), |bench| {
            bench.iter(|| fair_share.distribute(&tree, black_box(&usage), black_box(&waiting)));
        });
    }
    group.finish();
}

/// Accounts of nine users each: as many as have a thousand users.
const ACCOUNTS: u32 = 111;
const USERS: u32 = 9;
const JOBS: u32 = 100_000;

fn lines(kind: &str, count: u32, attributes: &str) -> String {
    let line = |at| format!("Override={kind} Name={}{at} {attributes}", kind[..1].to_lowercase());
    (0..count).map(line).collect::<Vec<_>>().join("\n") + "\n"
}

/// Tickets of single jobs: as in a cycle with 100,000 waiting jobs of 1,000 users.
fn pools(criterion: &mut Criterion) {
    let functional = "TicketsFunctional=10000\nFunctional=User Name=* Shares=RawShares\n";
    let some = lines("Account", 5, "Tickets=500") + &lines("User", 20, "Tickets=50");
    let everybody = lines("User", ACCOUNTS * USERS, "Tickets=100");
    let parent = "Override=Parent Name=root Tickets=100000\n";
    let cases = [
        ("user", "Dilution=user\n".to_owned()),
        ("tree", "Dilution=tree\n".to_owned()),
        ("all", format!("Dilution=tree\n{functional}{some}")),
        ("functional", functional.to_owned()),
        ("functional, all ranked", format!("{functional}MaxFunctionalJobs=1000000\n")),
        (
            "functional, all ranked, not shared",
            format!("{functional}MaxFunctionalJobs=1000000\nShareFunctionalShares=no\n"),
        ),
        ("override, everybody", everybody.clone()),
        ("override, everybody and the root", everybody + parent),
        (
            "override, everybody, accounts and the root",
            lines("User", ACCOUNTS * USERS, "Tickets=100")
                + &lines("Account", ACCOUNTS, "Tickets=500")
                + parent,
        ),
    ];
    let root = NodeSpec { parent: None, shares: 1, user: false };
    let account = |at: u32| NodeSpec { parent: Some(0), shares: 1 + at % 7, user: false };
    let user = |at: u32| NodeSpec { parent: Some(1 + at % ACCOUNTS), shares: 1 + at % 5, user: true };
    let nodes: Vec<NodeSpec> = std::iter::once(root)
        .chain((0..ACCOUNTS).map(account))
        .chain((0..ACCOUNTS * USERS).map(user))
        .collect();
    let tree = ShareTree::build(&nodes);
    let mut names = vec![(String::new(), String::new()); tree.len()];
    let mut usage = vec![0.0; tree.len()];
    let mut waiting = vec![0; tree.len()];
    let place = |at: u32| tree.position(at as usize).expect("every association is in the tree").index();
    for at in 0..ACCOUNTS {
        names[place(1 + at)].1 = format!("a{at}");
    }
    names[place(0)].1 = "root".into();
    for at in 0..ACCOUNTS * USERS {
        let node = place(1 + ACCOUNTS + at);
        names[node] = (format!("u{at}"), format!("a{}", at % ACCOUNTS));
        waiting[node] = 1;
        for node in [node, place(1 + at % ACCOUNTS), place(0)] {
            usage[node] += f64::from(at * 7919 % 1013);
        }
    }
    let mut fair_share = FairShare::new();
    fair_share.distribute(&tree, &usage, &waiting);
    let mut random = 1_u32;
    let jobs: Vec<WaitingJob> = (1..=JOBS)
        .map(|id| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let user = 1 + ACCOUNTS + (random >> 8) % (ACCOUNTS * USERS);
            let order = order(0x8000_0000, Some(random >> 16));
            let node = tree.position(user as usize).expect("every association is in the tree");
            WaitingJob { node, id, order, size: 1.0, extra: Extra::default() }
        })
        .collect();
    let mut group = criterion.benchmark_group("pools");
    group.sample_size(10);
    group.throughput(Throughput::Elements(JOBS.into()));
    for (name, conf) in &cases {
        let mut pools = Settings::parse(conf, name)
            .ok()
            .and_then(|loaded| Pools::configured(&loaded.settings))
            .expect(name);
        pools.begin(Date { year: 2026, month: 1, day: 1, hour: 0, minute: 0, second: 0 });
        pools.learn(&tree, |node| {
            let (user, account) = &names[node.index()];
            Names { user, account }
        });
        let mut tickets = Vec::new();
        group.bench_function(*name, |bench| {
            bench.iter(|| pools.distribute(&tree, &fair_share, black_box(&jobs), &[], &mut tickets));
        });
    }
    group.finish();
}

criterion_group!(benches, build, distribute, pools);
criterion_main!(benches);
