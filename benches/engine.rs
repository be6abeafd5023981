//! Building a share tree and distributing tickets over it, per number of associations; tickets of single jobs, per policy.
#![allow(missing_docs)] // criterion_group makes a public function without documentation

use std::collections::HashMap;
use std::hint::black_box;

use criterion::{criterion_group, criterion_main, BenchmarkId, Criterion, Throughput};
use multifactor2_core::policy::points::{Points, PointsJob, Request, TargetUsage};
use multifactor2_core::policy::pools::{order, Extra, Names, Pools, WaitingJob};
use multifactor2_core::settings::value::Date;
use multifactor2_core::settings::Settings;
use multifactor2_core::{FairShare, Node, NodeSpec, ShareTree};

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

/// Accounts of nine users each.
struct Users {
    tree: ShareTree,
    /// Of users and accounts, by position.
    names: Vec<(String, String)>,
    usage: Vec<f64>,
    waiting: Vec<u32>,
}

impl Users {
    fn new() -> Self {
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
        Self { tree, names, usage, waiting }
    }

    fn names(&self, node: Node) -> Names<'_> {
        let (user, account) = &self.names[node.index()];
        Names { user, account }
    }

    /// The user of a number.
    fn user(&self, at: u32) -> Node {
        let at = 1 + ACCOUNTS + at % (ACCOUNTS * USERS);
        self.tree.position(at as usize).expect("every association is in the tree")
    }
}

/// Numbers that look random.
fn random() -> impl FnMut() -> u32 {
    let mut random = 1_u32;
    move || {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        random >> 8
    }
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
    let users = Users::new();
    let mut fair_share = FairShare::new();
    fair_share.distribute(&users.tree, &users.usage, &users.waiting);
    let mut random = random();
    let jobs: Vec<WaitingJob> = (1..=JOBS)
        .map(|id| {
            let random = random();
            let order = order(0x8000_0000, Some(random >> 8));
            WaitingJob { node: users.user(random), id, order, size: 1.0, extra: Extra::default() }
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
        pools.learn(&users.tree, |node| users.names(node));
        let mut tickets = Vec::new();
        group.bench_function(*name, |bench| {
            bench.iter(|| pools.distribute(&users.tree, &fair_share, black_box(&jobs), &[], &mut tickets));
        });
    }
    group.finish();
}

/// Points of single jobs: of 100,000 jobs, each by itself; and what a cycle does before.
fn points(criterion: &mut Criterion) {
    let credentials = "Component=CRED User=1 Group=1 Account=1 Parent=1 QOS=1 Class=1\n\
                       Credential=User Name=u1,u2,u3 Priority=2000\nCredential=Account Name=* Priority=100\n\
                       Credential=Parent Name=a1,a2 Priority=10\nCredential=QOS Name=* Priority=7\n";
    let targets = "Component=FS FSUser=10 FSGroup=10 FSAccount=10 FSParent=10 FSQOS=10 FSClass=10\n\
                   Target=User Name=* Percent=1\nTarget=Account Name=* Percent=5\nTarget=Parent Name=a1,a2 Percent=9\n\
                   Target=QOS Name=* Percent=10 Type=floor\nTarget=Partition Name=* Percent=50\n\
                   Target=Group Name=* Percent=3\nTarget=User Name=u7 Percent=3 Type=ceiling\n";
    let cap = "Target=User Name=* Amount=1000000 Type=cap\nTarget=Account Name=* Amount=2000000 Type=cap\n";
    let resources = "Component=RES Node=1 Proc=1 Mem=1 Swap=1 Disk=1 PS=1 PE=1 WallTime=1 Cap=1000000\n";
    let service = "Component=SERV QueueTime=1 XFactor=10 XFactorCap=50 Bypass=1\n";
    let target = "Component=TARGET TargetQueueTime=1000 TargetXFactor=1000\n\
                  Service=QOS Name=short TargetQueueTime=00:15:00 TargetXFactor=3\n\
                  Service=QOS Name=* TargetQueueTime=1-0 TargetXFactor=10 Curve=maui\n";
    let usage = "Component=USAGE Consumed=1 Remaining=1 Percent=1 ExecutionTime=1\n";
    let all = [credentials, targets, cap, resources, service, target, usage].concat();
    let users = Users::new();
    let sums = TargetUsage {
        nodes: users.usage.clone(),
        qos: [(1, 5e5), (2, 1e5)].into_iter().collect(),
        groups: (0..100).map(|gid| (gid, 1e3)).collect(),
        partitions: ["p0", "p1", "p2"].map(|name| (name.to_owned(), 1e5)).into_iter().collect(),
        all: 1e6,
        capacity: 1e7,
    };
    let mut group = criterion.benchmark_group("points");
    group.throughput(Throughput::Elements(JOBS.into()));
    for (name, lines) in [("queue time", service), ("credentials", credentials), ("all", &all)] {
        let mut points = Settings::parse(lines, name)
            .ok()
            .and_then(|loaded| Points::configured(&loaded.settings))
            .expect(name);
        points.learn(&users.tree, |node| users.names(node), &[(1, "normal"), (2, "short")], &HashMap::new());
        points.weigh(&users.tree, &sums, &sums);
        let mut random = random();
        let jobs: Vec<PointsJob<'_>> = (0..JOBS)
            .map(|_| PointsJob {
                node: Some(users.user(random())),
                partition: points.partition(["p0", "p1", "p2"][random() as usize % 3]),
                qos: points.qos(1 + random() % 2),
                group: points.group(random() % 100),
                request: Request {
                    nodes: 2.0,
                    cpus: f64::from(random() % 1000),
                    memory: f64::from(random() % 100_000),
                    disk: 0.0,
                    equivalents: f64::from(random() % 2000),
                    metric: f64::from(random() % 1000),
                },
                limit: f64::from(random() % 100_000),
                wait: f64::from(random() % 100_000),
                bypass: random() % 10,
                ..PointsJob::default()
            })
            .collect();
        group.bench_function(name, |bench| {
            bench.iter(|| jobs.iter().map(|job| i64::from(points.value(black_box(job)))).sum::<i64>());
        });
        if name == "all" {
            group.bench_function("weigh", |bench| bench.iter(|| points.weigh(&users.tree, &sums, &sums)));
        }
    }
    group.finish();
}

criterion_group!(benches, build, distribute, points, pools);
criterion_main!(benches);
