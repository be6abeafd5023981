//! Slurm's scheduler on nodes: what runs out on them, and what a waiting job keeps of them.

use multifactor2_replay::order::Policy;
use multifactor2_replay::sim::{simulate_with, Parameters, Plan, Scheduler, Treatments, NEVER};
use multifactor2_replay::trace::reasons::Treatment;
use multifactor2_replay::workload::outages::{NodeAway, Reservation};
use multifactor2_replay::workload::{Builder, Draft, Fact, Facts, Machine, Partition, ToldNode, NO_TIME};
use multifactor2_replay::Workload;
use proptest::prelude::*;

use crate::invariants::check;
use crate::made::{outcome, policy};

/// A job: when it comes, how long it runs and may run, and what it asks for.
#[derive(Clone, Debug)]
struct Asked {
    at: i64,
    run: u64,
    limit: u64,
    cpus: u32,
    nodes: u32,
    memory: u64,
    gres: &'static str,
    spreads: bool,
    partition: &'static str,
}

/// A job of a node that comes at once and runs as long as it may.
fn asked(cpus: u32, seconds: u64) -> Asked {
    Asked {
        at: 0,
        run: seconds,
        limit: seconds,
        cpus,
        nodes: 1,
        memory: 0,
        gres: "",
        spreads: false,
        partition: "all",
    }
}

fn workload(jobs: &[Asked], select: &str) -> Workload {
    let mut builder = Builder::new("account");
    for (id, job) in (1..).zip(jobs) {
        let Asked { at, run, limit, cpus, nodes, memory, gres, spreads, partition } = job.clone();
        let submit = 1_000_000 + at;
        builder
            .add(&Draft {
                id,
                submit,
                eligible: submit,
                start: NO_TIME,
                run,
                limit,
                cpus,
                nodes,
                memory,
                gres,
                spreads,
                user: ["a", "b", "c"][usize::try_from(id % 3).unwrap()],
                account: ["x", "y"][usize::try_from(id % 2).unwrap()],
                partitions: partition,
                ..Draft::default()
            })
            .unwrap();
    }
    let mut workload = builder.finish();
    workload.config.set("SelectTypeParameters", select);
    workload
}

/// Nodes of four CPUs and 1000 MB, each with generic resources; all are in a partition, the last also in one of whole nodes.
fn machine(gres: &[&[(&str, u32)]]) -> Machine {
    let node = |(at, gres): (usize, &&[(&str, u32)])| ToldNode {
        name: format!("n{at}"),
        cpus: 4,
        memory: 1000,
        weight: 1,
        gres: gres.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect(),
        partitions: vec!["all".to_owned()],
    };
    let mut nodes: Vec<ToldNode> = gres.iter().enumerate().map(node).collect();
    nodes.last_mut().unwrap().partitions.push("whole".to_owned());
    let whole = Partition { exclusive: true, grain: 4, ..Partition::plain("whole", Vec::new()) };
    Machine::of_nodes(&nodes, vec![Partition::plain("all", Vec::new()), whole])
}

/// When each job starts, on such a machine.
fn starts_by(parameters: &Parameters, jobs: &[Asked], select: &str, gres: &[&[(&str, u32)]]) -> Vec<i64> {
    let (workload, machine) = (workload(jobs, select), machine(gres));
    let outcome = outcome(&workload, &machine, Scheduler::Slurm(parameters.clone()), &Policy::Fifo);
    outcome.starts.iter().map(|start| start - 1_000_000).collect()
}

fn starts(jobs: &[Asked], select: &str, gres: &[&[(&str, u32)]]) -> Vec<i64> {
    let parameters = Parameters { batch_sched_delay: 0, ..Parameters::default() };
    starts_by(&parameters, jobs, select, gres)
}

#[test]
fn memory_runs_out_where_it_is_counted() {
    let jobs = [(); 3].map(|()| Asked { memory: 600, ..asked(1, 300) });
    assert_eq!(starts(&jobs, "CR_Core_Memory", &[&[], &[]]), [0, 0, 300]);
    assert_eq!(starts(&jobs, "CR_Core", &[&[], &[]]), [0, 0, 0]);
    // A job that had more than a node has today has all of it.
    let large = [Asked { memory: 5000, ..asked(1, 300) }, Asked { memory: 1, ..asked(1, 300) }];
    assert_eq!(starts(&large, "CR_CPU_MEMORY", &[&[]]), [0, 300]);
}

#[test]
fn generic_resources_run_out_by_type() {
    let a100: &[(&str, u32)] = &[("gpu", 1), ("gpu:a100", 1)];
    let h100: &[(&str, u32)] = &[("gpu", 1), ("gpu:h100", 1)];
    let of = |gres| Asked { gres, ..asked(1, 300) };
    let (typed, any) = (of("gres/gpu=1,gres/gpu:a100=1"), of("gres/gpu=1"));
    assert_eq!(starts(&[typed.clone(), typed.clone()], "", &[a100, h100]), [0, 300]);
    assert_eq!(starts(&[typed.clone(), any.clone(), any.clone()], "", &[a100, h100]), [0, 0, 300]);
    // Who does not care has taken what the other needs.
    assert_eq!(starts(&[any, typed], "", &[a100, h100]), [0, 300]);
    // What no node has is not tracked.
    assert_eq!(starts(&[of("gres/lab=1"), of("gres/lab=1")], "", &[a100]), [0, 0]);
}

/// A node of which a waiting job needs half is reserved as a whole: who would run beyond that time waits, although there were CPUs enough.
#[test]
fn a_waiting_job_keeps_whole_nodes() {
    let jobs = |limit| [asked(3, 600), asked(2, 600), Asked { at: 1, ..asked(1, limit) }];
    assert_eq!(starts(&jobs(900), "", &[&[]])[2], 600);
    assert_eq!(starts(&jobs(500), "", &[&[]])[2], 30);
    // The reservation begins 40 s earlier: at a whole minute.
    assert_eq!(starts(&jobs(540), "", &[&[]])[2], 600);
    // CPUs of a pool are alike: two of four are left.
    let pools = |limit| {
        let (workload, mut machine) = (workload(&jobs(limit), ""), machine(&[&[]]));
        machine.nodes.clear();
        let parameters = Parameters { batch_sched_delay: 0, ..Parameters::default() };
        outcome(&workload, &machine, Scheduler::Slurm(parameters), &Policy::Fifo).starts[2] - 1_000_000
    };
    assert_eq!(pools(900), 30);
}

/// Up to 25.11 a job gets the node with the fewest CPUs that are enough, so that whole ones are left; later the first one.
#[test]
fn a_job_takes_the_fullest_node_or_the_first() {
    let jobs = [
        asked(4, 100),
        asked(2, 900),
        Asked { at: 200, ..asked(2, 900) },
        Asked { at: 300, ..asked(4, 900) },
    ];
    let last = |takes_the_first_node| {
        let parameters = Parameters { takes_the_first_node, batch_sched_delay: 0, ..Parameters::default() };
        starts_by(&parameters, &jobs, "", &[&[], &[]])[3]
    };
    assert_eq!((last(false), last(true)), (300, 900));
}

#[test]
fn who_had_more_nodes_than_asked_for_is_spread() {
    let halves = [asked(2, 900), asked(2, 900), asked(2, 900), asked(2, 100)];
    let with = |job: Asked| starts(&[&halves[..], &[job]].concat(), "", &[&[], &[], &[]])[4];
    assert_eq!(with(Asked { at: 1, ..asked(4, 100) }), 1);
    let four = [asked(4, 900), asked(3, 900), asked(3, 900)];
    let with = |job: Asked| starts(&[&four[..], &[job]].concat(), "", &[&[], &[], &[]])[3];
    assert_eq!(with(asked(2, 100)), 900);
    assert_eq!(with(Asked { spreads: true, ..asked(2, 100) }), 0);
    // As many CPUs on each of two nodes.
    assert_eq!(with(Asked { nodes: 2, ..asked(2, 100) }), 0);
    assert_eq!(with(Asked { nodes: 2, ..asked(4, 100) }), 900);
}

#[test]
fn whole_nodes_are_shared_with_nobody() {
    let whole = Asked { partition: "whole", ..asked(4, 300) };
    assert_eq!(starts(&[asked(1, 200), whole.clone()], "", &[&[]]), [0, 200]);
    assert_eq!(starts(&[whole, asked(1, 200)], "", &[&[]]), [0, 300]);
}

/// A node takes no other job until it has been cleaned up after one; the next one does.
#[test]
fn a_node_that_is_cleaned_up_takes_no_job() {
    let parameters = Parameters { node_release: 20_000, batch_sched_delay: 0, ..Parameters::default() };
    let jobs = [asked(3, 100), Asked { run: 100, ..asked(1, 900) }, Asked { at: 105, ..asked(1, 60) }];
    assert_eq!(starts_by(&parameters, &jobs, "", &[&[]])[2], 120);
    assert_eq!(starts_by(&parameters, &jobs, "", &[&[], &[]])[2], 105);
}

/// Events of nodes: nothing starts on one that is away, a job there goes on, and what overlaps counts once.
#[test]
fn a_node_that_is_away_takes_no_job() {
    let jobs = [asked(4, 100), Asked { at: 20, ..asked(4, 50) }, Asked { at: 210, ..asked(1, 50) }];
    let mut workload = workload(&jobs, "");
    let away = |node: &str, from: i64, until: i64| NodeAway {
        node: node.to_owned(),
        from: 1_000_000 + from,
        until: 1_000_000 + until,
        cpus: 4,
    };
    // The first node is away while its job runs, and until long after; the second for a while, twice.
    let of_second = [away("n1", 10, 150), away("n1", 100, 200)];
    let others = [away("n0", 50, 900), away("n9", 0, 9000), away("n1", 30, 30)];
    workload.away = [&of_second[..], &others[..]].concat();
    let machine = machine(&[&[], &[]]);
    let scheduler =
        Scheduler::Slurm(Parameters { batch_sched_delay: 0, looks_at_ends: true, ..Parameters::default() });
    let started = outcome(&workload, &machine, scheduler.clone(), &Policy::Fifo).starts;
    assert_eq!(started, [1_000_000, 1_000_200, 1_000_250]);
    let treatments = |workload: &Workload| Treatments::new(workload, &machine, &scheduler).outages();
    assert_eq!(treatments(&workload), Treatment::Replayed);
    // Of a machine whose nodes have other names nothing is known.
    workload.away.rotate_left(3);
    assert_eq!(treatments(&workload), Treatment::LeftOut);
}

/// Reservations: nobody else starts on their nodes if he might run into them, and their own jobs start as recorded.
#[test]
fn nodes_of_a_reservation_are_kept_for_its_jobs() {
    let long = Asked { at: 10, limit: 600, ..asked(4, 100) };
    let short = Asked { at: 20, limit: 60, ..asked(4, 50) };
    let own = Asked { at: 300, ..asked(4, 90) };
    let mut workload = workload(&[long.clone(), short, own, Asked { at: 600, ..long }], "");
    workload.reservations = vec![Reservation {
        from: 1_000_300,
        until: 1_000_500,
        nodes: vec!["n0".to_owned(), "other".to_owned()],
    }];
    workload.jobs[2].facts = Facts::default().with(Fact::Reservation, true);
    workload.jobs[2].start = 1_000_311;
    let machine = machine(&[&[]]);
    let scheduler =
        Scheduler::Slurm(Parameters { batch_sched_delay: 0, looks_at_ends: true, ..Parameters::default() });
    let started = outcome(&workload, &machine, scheduler.clone(), &Policy::Fifo).starts;
    // The short one is over before; backfill lets it go first. The long one waits for the end of the reservation.
    assert_eq!(started[1] - 1_000_000, 40);
    assert_eq!(started[2], 1_000_311);
    assert!((1_000_500..1_000_560).contains(&started[0]), "{started:?}");
    assert_eq!(started[3], started[0] + 100, "{started:?}");
    let fact = Treatments::new(&workload, &machine, &scheduler).fact(Fact::Reservation);
    assert_eq!(fact, Treatment::Frozen);
    // Without nodes that are known the job waits for its turn as all do.
    workload.reservations.clear();
    let started = outcome(&workload, &machine, scheduler, &Policy::Fifo).starts;
    assert!(started[0] < 1_000_060 && started[2] != 1_000_311, "{started:?}");
}

fn jobs() -> impl Strategy<Value = Vec<Asked>> {
    const GRES: [&str; 4] = ["", "", "gres/gpu=1", "gres/gpu=1,gres/gpu:a100=1"];
    let one = (
        0_i64..900,
        1_u64..400,
        0_u64..400,
        1_u32..=8,
        1_u32..=3,
        0_u64..1500,
        0_usize..4,
        any::<[bool; 2]>(),
    );
    let job = one.prop_map(|(at, run, more, cpus, nodes, memory, gres, [spreads, whole])| Asked {
        at,
        run,
        limit: run + more,
        cpus,
        nodes: nodes.min(cpus),
        memory,
        gres: GRES[gres],
        spreads,
        partition: if whole { "all,whole" } else { "all" },
    });
    prop::collection::vec(job, 1..40)
}

/// Nothing is taken twice, which the replay itself asserts in a test; every job that fits starts; and passes that are left out change nothing.
#[test]
fn nothing_is_taken_twice_and_skipping_changes_nothing() {
    let parameters = (1_u32..40, 1_u32..30, 1_u32..40, 1_u32..120, 0_u32..3000, any::<[bool; 6]>());
    check(200, &(jobs(), parameters, any::<u8>()), |(mut jobs, numbers, number)| {
        jobs.sort_by_key(|job| job.at);
        let gpus: &[(&str, u32)] = &[("gpu", 2), ("gpu:a100", 1)];
        let (workload, machine) = (workload(&jobs, "CR_Core_Memory"), machine(&[&[], gpus, &[], gpus]));
        let [defer, in_windows, ends_are_rounded_up, tests_from_then_on, takes_the_first_node, looks_at_ends] =
            numbers.5;
        let parameters = Parameters {
            bf_interval: numbers.0,
            bf_max_job_test: numbers.1,
            bf_window: numbers.2,
            bf_resolution: numbers.3,
            node_release: numbers.4,
            defer,
            in_windows,
            ends_are_rounded_up,
            tests_from_then_on,
            takes_the_first_node,
            looks_at_ends,
            in_half_seconds: !looks_at_ends,
            ..Parameters::default()
        };
        let policy = policy(number);
        let scheduler = Scheduler::Slurm(parameters);
        let plan = Plan { workload: &workload, machine: &machine, scheduler, policy: &policy };
        let (skipped, naive) =
            (simulate_with(&plan, true, |_| true).unwrap(), simulate_with(&plan, false, |_| true).unwrap());
        prop_assert!(
            skipped.starts.iter().filter(|start| **start == NEVER).count() as u64 == skipped.misfits
        );
        prop_assert_eq!(skipped.starts, naive.starts);
        prop_assert_eq!(skipped.partitions, naive.partitions);
        Ok(())
    });
}
