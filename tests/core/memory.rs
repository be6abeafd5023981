//! What the engine takes from the heap. Apart from the other tests, because it brings a counting allocator.

use std::collections::HashMap;
use std::sync::Arc;

use allocation_counter::measure;
use multifactor2_core::books::{BookLines, Books};
use multifactor2_core::factors::{weighted_tres, Evaluation, Priority, Weights};
use multifactor2_core::policy::points::{Points, PointsJob, TargetUsage};
use multifactor2_core::policy::pools::{Extra, Names, Pools, WaitingJob, Who};
use multifactor2_core::settings::schema::{MAX_LINES, MAX_NAMES};
use multifactor2_core::settings::value::Date;
use multifactor2_core::settings::Settings;
use multifactor2_core::{FairShare, Node, NodeSpec, ShareTree};

const ASSOCIATIONS: u32 = 100_000;

fn associations() -> Vec<NodeSpec> {
    (0..ASSOCIATIONS)
        .map(|index| NodeSpec {
            parent: index.checked_sub(1).map(|before| before / 10),
            shares: 1 + index % 7,
            user: index >= ASSOCIATIONS / 10,
        })
        .collect()
}

#[test]
fn a_cycle_allocates_nothing_once_the_buffers_exist() {
    let tree = ShareTree::build(&associations());
    let (usage, waiting) = (vec![1.0; tree.len()], vec![1; tree.len()]);
    let mut fair_share = FairShare::new();
    fair_share.distribute(&tree, &usage, &waiting);

    let (mut counts, mut sum) = ([0.0; 10], 0_u64);
    let weights = Weights { fair_share: 1000, ..Weights::default() };
    let cycle = measure(|| {
        fair_share.distribute(&tree, &usage, &waiting);
        for node in tree.nodes() {
            let requested: (Option<&[u64]>, Option<&[u64]>) = (None, Some(&[5; 10]));
            let sum_of_tres = weighted_tres(&mut counts, &[100.0; 10], requested, Some(&[20; 10]), false);
            let factors = Evaluation {
                fair_share: fair_share.priority(node),
                tres: sum_of_tres,
                ..Evaluation::default()
            };
            sum += u64::from(Priority::from_sum(factors.weigh(&weights).sum()).value);
        }
    });
    assert!(sum > 0);
    assert_eq!(cycle.count_total, 0, "allocations in a cycle");
}

/// What docs/books.md says of it. The sums of usage have 8 bytes more for each column.
#[test]
fn a_book_takes_little_for_each_association() {
    let tree = Arc::new(ShareTree::build(&associations()));
    let usage = vec![1.0; tree.len()];
    let bytes = |text: &str| {
        let settings = Settings::parse(text, "test").unwrap().settings;
        let (lines, mut books) = (BookLines::of(&settings), Books::default());
        let kept = measure(|| {
            books.configure(&settings);
            books.plant(&tree, &lines, |node| (node.index() == 1).then_some("a"));
            books.clear_waiting();
            books.distribute(|_| &usage);
        });
        kept.bytes_current / i64::from(ASSOCIATIONS)
    };
    let [none, book, own] = [
        "",
        "Book=a Partitions=a\nBook=b Partitions=b\n",
        "Book=a Partitions=a Shares=a:3\nBook=b Partitions=b Shares=a:2,*:1\n",
    ]
    .map(bytes);
    // With the usage that its tree goes by.
    let each = [(book - none) / 2 + 8, (own - none) / 2 + 8];
    assert_eq!(each, [53, 90], "bytes for each association and book, without and with shares of its own");
}

/// Points of any job, one with an association newer than the tree excepted, and the usage of a cycle.
#[test]
fn points_allocate_nothing_once_the_buffers_exist() {
    let kinds = ["User", "Group", "Account", "Parent", "QOS", "Partition"];
    let lines = |attributes: &str| {
        kinds
            .map(|kind| format!("Target={kind} Name=* {attributes}\nCredential={kind} Name=* Priority=1\n"))
            .concat()
    };
    let text = "Component=CRED User=1 Group=1 Account=1 Parent=1 QOS=1 Class=1\n\
                Component=FS FSUser=1 FSGroup=1 FSAccount=1 FSParent=1 FSQOS=1 FSClass=1\n\
                Component=RES Proc=1\nComponent=SERV QueueTime=1\nComponent=TARGET TargetQueueTime=1\n\
                Service=QOS Name=* TargetQueueTime=1:00:00\n\
                Target=User Name=u7 Percent=3 Type=cap\n";
    let text = text.to_owned() + &lines("Percent=5");
    let tree = ShareTree::build(&associations());
    let mut points =
        Settings::parse(&text, "test").ok().and_then(|loaded| Points::configured(&loaded.settings)).unwrap();
    let names: Vec<(String, String)> = tree
        .nodes()
        .map(|node| {
            let of_user = |name| if tree.is_user(node) { name } else { String::new() };
            (of_user(format!("u{}", node.index() % 1000)), format!("a{}", node.index()))
        })
        .collect();
    let called = |node: Node| Names { user: &names[node.index()].0, account: &names[node.index()].1 };
    points.learn(&tree, called, &[(1, "normal")], &HashMap::new());
    let usage = TargetUsage {
        nodes: vec![1.0; tree.len()],
        qos: [(1, 5.0)].into_iter().collect(),
        groups: (0..1000).map(|gid| (gid, 1.0)).collect(),
        partitions: (0..10).map(|at| (format!("p{at}"), 1.0)).collect(),
        all: 1000.0,
        capacity: 0.0,
    };
    points.weigh(&tree, &usage, &usage);
    let mut sum = 0_i64;
    let cycle = measure(|| {
        points.weigh(&tree, &usage, &usage);
        for node in tree.nodes() {
            let (partition, qos, group) = (points.partition("p3"), points.qos(1), points.group(7));
            let job =
                PointsJob { node: Some(node), partition, qos, group, wait: 60.0, ..PointsJob::default() };
            sum += i64::from(points.value(&job));
        }
    });
    assert!(sum != 0);
    assert_eq!(cycle.count_total, 0, "allocations in a cycle");
}

#[test]
fn at_most_80_bytes_per_association_are_kept() {
    let specs = associations();
    let mut kept = None;
    let memory = measure(|| {
        let tree = ShareTree::build(&specs);
        let mut fair_share = FairShare::new();
        fair_share.distribute(&tree, &[], &[]);
        kept = Some((tree, fair_share));
    });
    let bytes = memory.bytes_current / i64::from(ASSOCIATIONS);
    println!(
        "{bytes} bytes per association, at most {} while building",
        memory.bytes_max / u64::from(ASSOCIATIONS)
    );
    assert!((1..=80).contains(&bytes), "{bytes} bytes per association");
    drop(kept);
}

/// A submission takes its value from counts and from orders of numbers: no name, place or other trait of a waiting job is kept, so none is
/// looked at, and the heap is asked for the same whatever the number of jobs.
#[test]
fn a_submission_costs_the_same_whatever_the_number_of_jobs() {
    let mut specs = vec![NodeSpec { parent: None, shares: 1, user: false }];
    specs.extend([0; 2].map(|parent| NodeSpec { parent: Some(parent), shares: 1, user: false }));
    specs.extend([1, 1, 2, 2].map(|parent| NodeSpec { parent: Some(parent), shares: 1, user: true }));
    let tree = ShareTree::build(&specs);
    let users: Vec<Node> = tree.nodes().filter(|node| tree.is_user(*node)).collect();
    let cost = |dilution: &str, jobs: u32| {
        let text = format!(
            "TicketsFunctional=100\nFunctional=User Name=* Shares=1\nDilution={dilution}\n\
             Override=Parent Name=a Tickets=9"
        );
        let settings = Settings::parse(&text, "test").unwrap().settings;
        let (mut fair_share, mut pools) = (FairShare::new(), Pools::configured(&settings).unwrap());
        pools.begin(Date::default());
        pools.learn(&tree, |_| Names { user: "u", account: "a" });
        let waiting: Vec<WaitingJob> = (0..jobs)
            .zip(users.iter().cycle())
            .map(|(id, node)| WaitingJob { node: *node, id, order: 0, size: 1.0, extra: Extra::default() })
            .collect();
        let numbers: Vec<u32> = tree.nodes().map(|node| u32::from(tree.is_user(node))).collect();
        fair_share.distribute(&tree, &[], &numbers);
        let cycle = measure(|| pools.distribute(&tree, &fair_share, &waiting, &[], &mut Vec::new()));
        let who = Who { node: users[0], extra: Extra::default(), size: 1.0, count: 1 };
        let submission = measure(|| {
            let tickets = pools.of_next(&tree, &fair_share, who);
            pools.join(&tree, &fair_share, who, tickets);
        });
        println!("{dilution}, {jobs} jobs: {} bytes stay", cycle.bytes_current);
        (cycle.bytes_current, submission.count_total, submission.bytes_total)
    };
    for dilution in ["none", "user", "tree"] {
        let (few, many) = (cost(dilution, 100), cost(dilution, 10_000));
        assert_eq!((few.1, few.2), (many.1, many.2), "{dilution}: allocations of a submission");
        // The tree keeps one number for each job and account above it.
        let kept = if dilution == "tree" { 8 * (10_000 - 100) } else { 0 };
        assert!(
            many.0 - few.0 <= kept,
            "{dilution}: {} bytes stay with few jobs, {} with many",
            few.0,
            many.0
        );
    }
}

/// As many lines as one list may have, and as many names in as few lines as can be: what a reconfigure takes at most for a list, but for the lengths of
/// names.
#[test]
fn settings_at_their_bounds_take_little() {
    let lines = |at: usize| format!("Override=User Name=user{at:06} Tickets=1000 Until=2027-01-31\n");
    let names = |line: usize| {
        let names: Vec<String> = (0..20_000).map(|at| format!("u{line}x{at:05}")).collect();
        format!("Override=User Name={} Tickets=1\n", names.join(","))
    };
    for (what, text, count, kept, most) in [
        ("lines", (0..MAX_LINES).map(lines).collect::<String>(), MAX_LINES, 300, 1200),
        ("names", (0..MAX_NAMES / 20_000).map(names).collect::<String>(), MAX_NAMES, 60, 300),
    ] {
        let (mut loaded, begun) = (None, std::time::Instant::now());
        let memory = measure(|| loaded = Settings::parse(&text, "/etc/slurm/multifactor2.conf").ok());
        let took = begun.elapsed();
        let each = |bytes: u64| bytes / count as u64;
        let (stays, at_most) = (each(u64::try_from(memory.bytes_current).unwrap()), each(memory.bytes_max));
        println!("{count} {what}: {stays} bytes each stay, {at_most} at most; {took:?}");
        assert!(stays <= kept && at_most <= most, "{what}: {stays} bytes each stay, {at_most} at most");
        // A fraction of a second where nothing else runs, optimised or not.
        assert!(took.as_secs() < 20, "{took:?}");
        assert!(loaded.is_some_and(|loaded| loaded.settings.overrides.len() * count >= count));
    }
}
