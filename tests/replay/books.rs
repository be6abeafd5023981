//! Books in a replay: usage and shares of some partitions, apart from those of others.

use multifactor2_core::settings::Settings;
use multifactor2_fixtures::assert_near;
use multifactor2_replay::order::{Multifactor, Order, Started, Tickets};
use multifactor2_replay::sim::{Parameters, Scheduler};
use multifactor2_replay::synthetic::{Full, Member, Work};
use multifactor2_replay::workload::{Machine, Names, Setup, Workload};

use crate::made::{at_once, multifactor2, outcome, NOW};

/// Jobs of four CPUs, each with a user who is alone in an account, and the account and partitions of each.
fn workload(jobs: &[(&str, &str)]) -> Workload {
    let mut workload = at_once(jobs.iter().map(|(account, partitions)| (*account, *partitions, 4)));
    workload.config.set("PriorityDecayHalfLife", "0");
    workload
}

/// Partitions with nodes of their own.
fn machine(partitions: &[&str]) -> Machine {
    let mut machine = Machine::default();
    for name in partitions {
        machine.add_partition(&format!("{name}=10x4")).unwrap();
    }
    machine
}

fn order<'s>(setup: &'s Setup<'s>, lines: &str) -> Multifactor<'s> {
    let settings = Settings::parse(lines, "test").unwrap().settings;
    let tickets = Box::new(Tickets::new(&settings));
    Multifactor::new(setup, tickets).with_points(&settings).with_charges(&settings).with_books(&settings)
}

/// Fair-share factors in thousandths of those that wait after ten minutes, partition by partition. Jobs of `running` have run since the
/// beginning, in the first of their partitions.
fn factors(workload: &Workload, machine: &Machine, lines: &str, running: &[u32]) -> Vec<Vec<u32>> {
    let setup = Setup::new(workload, machine);
    let mut order = order(&setup, lines);
    for job in running {
        order.start(Started { job: *job, partition: setup.partitions(*job)[0], at: NOW });
    }
    let waiting: Vec<u32> = (0..).take(workload.jobs.len()).filter(|job| !running.contains(job)).collect();
    let mut seen = Vec::new();
    order.cycle(NOW + 600, &waiting, &mut |_, priorities| {
        seen.push(priorities.iter().map(|priority| (priority + 500) / 1000).collect());
    });
    seen
}

/// The table of docs/books.md.
#[test]
fn the_example_of_moab_has_the_factors_of_the_page() {
    let lines = "Book=one Partitions=p1 Shares=engineering:3,research:1\n\
                 Book=two Partitions=p2 Shares=engineering:50,research:25,sales:15,*:10\n\
                 Book=three Partitions=p3 Shares=research:1,sales:1\n";
    let workload =
        workload(&["engineering", "research", "sales", "admin"].map(|account| (account, "p1,p2,p3")));
    let machine = machine(&["p1", "p2", "p3"]);
    let expected = [[1000, 1000, 0], [333, 500, 1000], [0, 300, 1000], [0, 200, 0]];
    assert_eq!(factors(&workload, &machine, lines, &[]), expected);
    // Those that come between two cycles have the same.
    let setup = Setup::new(&workload, &machine);
    let mut order = order(&setup, lines);
    order.cycle(NOW, &[0, 1, 2, 3], &mut |_, _| ());
    let mut first = Vec::new();
    order.submit(NOW + 1, 1, &mut first);
    let first: Vec<u32> = first.iter().map(|priority| (priority + 500) / 1000).collect();
    assert_eq!(first, expected[1]);
}

/// What x used of the CPUs counts there and nowhere else; a job in both partitions has a factor in each.
#[test]
fn usage_of_one_book_does_not_count_in_another() {
    let jobs = [("x", "cpu"), ("x", "cpu"), ("y", "cpu,gpu"), ("x", "gpu")];
    let (workload, machine) = (workload(&jobs), machine(&["cpu", "gpu", "other"]));
    let with = factors(&workload, &machine, "Book=gpu Partitions=gpu", &[0]);
    let without = factors(&workload, &machine, "", &[0]);
    // x has used all, so that its LevelFS is a half; y has used nothing, whose is 100.
    assert_eq!(without, [vec![5], vec![1000, 1000], vec![5]]);
    assert_eq!(with, [vec![5], vec![1000, 1000], vec![1000]]);
    // Where only x waits it is the best of its book.
    let only = factors(&workload, &machine, "Book=gpu Partitions=gpu", &[0, 2]);
    assert_eq!(only, [[1000], [1000]]);
}

/// Without the jobs of the other book before it, the first of each book has all tickets.
#[test]
fn jobs_are_diluted_in_each_book_by_itself() {
    let jobs = [("x", "cpu"), ("x", "gpu"), ("x", "cpu,gpu"), ("x", "gpu")];
    let (workload, machine) = (workload(&jobs), machine(&["cpu", "gpu"]));
    let seen = factors(&workload, &machine, "Dilution=user\nBook=gpu Partitions=gpu", &[]);
    assert_eq!(seen, [vec![1000], vec![1000], vec![500, 500], vec![333]]);
    // One that runs counts in the book that it runs in.
    let seen = factors(&workload, &machine, "Dilution=user\nDilutionUnit=job\nBook=gpu Partitions=gpu", &[0]);
    assert_eq!(seen, [vec![1000], vec![1000, 500], vec![333]]);
}

/// The first job of x asks for both partitions and runs in the second, where 4 CPUs bill 12: that is three quanta, so the next job of x
/// has a quarter. It went by the first one. Nobody is charged anything.
#[test]
fn a_running_job_counts_by_the_partition_that_it_runs_in() {
    let (workload, mut machine) =
        (workload(&[("x", "cpu,gpu"), ("x", "cpu"), ("y", "cpu")]), machine(&["cpu", "gpu"]));
    machine.partitions[1].billing.cpu = 3.0;
    let setup = Setup::new(&workload, &machine);
    let lines =
        "Dilution=user\nDilutionUnit=billing\nDilutionQuantum=4\nCharge=Partition Name=cpu,gpu Factor=0";
    let mut order = order(&setup, lines);
    order.start(Started { job: 0, partition: 1, at: NOW });
    let mut seen = Vec::new();
    order.cycle(NOW + 300, &[1, 2], &mut |_, priorities| seen.push(priorities[0]));
    assert_eq!(seen, [250_000, 1_000_000]);
}

/// By hand: 600 seconds on 4 CPUs, with rules and minimums as everywhere.
#[test]
fn every_second_is_in_one_book() {
    let jobs = [("x", "cpu"), ("x", "gpu,cpu"), ("y", "long")];
    let (workload, machine) = (workload(&jobs), machine(&["cpu", "gpu", "long"]));
    let setup = Setup::new(&workload, &machine);
    let lines = "Book=gpu Partitions=gpu,long\nBook=none Partitions=none\nCharge=Partition Name=gpu Factor=3\nMinimumCharge=00:20:00";
    let mut order = order(&setup, lines);
    for (job, partition) in [(0, 0), (1, 1), (2, 2)] {
        order.start(Started { job, partition, at: NOW });
    }
    order.cycle(NOW + 300, &[], &mut |_, _| ());
    order.end(NOW + 600, 1);
    order.cycle(NOW + 600, &[], &mut |_, _| ());
    let used: Vec<f64> = order.usage_by_book().map(|usage| usage.by_node()[0]).collect();
    assert_near(used[0], 4.0 * 600.0, "the default book");
    assert_near(used[1], 4.0 * 1200.0 * 3.0 + 4.0 * 600.0, "the book gpu");
    assert_near(used[2], 0.0, "the book none");
}

/// Targets see the usage of all books.
#[test]
fn targets_go_by_what_was_used_in_all_books() {
    let jobs = [("x", "cpu"), ("y", "gpu"), ("x", "gpu"), ("y", "gpu")];
    let (workload, machine) = (workload(&jobs), machine(&["cpu", "gpu"]));
    let target = "Target=User Name=* Percent=50\nComponent=FS FSUser=1000\n";
    let seen = |lines: &str, running| factors(&workload, &machine, &format!("{target}{lines}"), running);
    // Of both, x and y have used the same, in two books.
    let of = |lines| seen(lines, &[0, 1]);
    assert_eq!(of("Book=gpu Partitions=gpu"), [[1000], [5]]);
    assert_eq!(of(""), [[1000], [1000]]);
    // x alone is 50 points above its target, y as many below.
    assert_eq!(seen("Book=gpu Partitions=gpu", &[0])[1..], [[950], [1050]]);
}

/// What the accounts one and two get of two partitions that are always full: as many CPUs each, and account one alone asks for the first,
/// where `alone`.
fn divided(lines: &str, alone: bool) -> [f64; 2] {
    const PARTITIONS: [&str; 2] = ["cpu", "gpu"];
    let tree = ["one", "two"].into_iter().flat_map(|account| {
        let user = |partition| Member::user(account, &format!("{account} {partition}"), 1, Work::hourly(0.6));
        let users = PARTITIONS.map(user);
        let count = if alone && account == "two" { 1 } else { 2 };
        [Member::account(account, 1)].into_iter().chain(users.into_iter().rev().take(count))
    });
    let full =
        Full { seed: 3, cpus: 80, hours: 60, waiting: 8, half_life: 12, period: 300, tree: tree.collect() };
    let mut workload = full.make();
    workload.partitions = Names::default();
    workload.partition_sets.clear();
    for name in PARTITIONS {
        let place = workload.partitions.intern(name);
        workload.partition_sets.push([u16::try_from(place).unwrap()].into());
    }
    for at in 0..workload.jobs.len() {
        let user = workload.users.name(workload.user(&workload.jobs[at]));
        workload.jobs[at].partitions = u16::from(user.ends_with("gpu"));
    }
    let machine = machine(&PARTITIONS);
    let policy = multifactor2(&format!("Distribution=standing\n{lines}"));
    let outcome = outcome(&workload, &machine, Scheduler::Slurm(Parameters::default()), &policy);
    let (from, to) = (full.settled(), full.end());
    assert!(Full::is_full(&workload, &outcome, from, to), "somebody is out of jobs");
    let mut had = [0.0; 2];
    for (at, (job, start)) in workload.jobs.iter().zip(&outcome.starts).enumerate() {
        let Some(end) = outcome.end(&workload, at).filter(|_| job.partitions == 1) else { continue };
        let account = usize::from(workload.accounts.name(workload.account(job)) == "two");
        #[allow(clippy::cast_precision_loss)] // seconds
        let seconds = (end.min(to) - (*start).max(from)).max(0) as f64;
        had[account] += seconds * f64::from(job.cpus);
    }
    had.map(|of| of / (had[0] + had[1]))
}

/// On a machine that is always full, what an account gets of one partition does not cost it another.
#[test]
fn each_book_settles_on_its_shares() {
    const BOOK: &str = "Book=gpu Partitions=gpu";
    for (lines, alone, first) in [
        // One has a whole partition: all else goes to the other.
        ("", true, 0.0),
        (BOOK, true, 0.5),
        (&format!("{BOOK} Shares=one:3,two:1"), true, 0.75),
        (&format!("{BOOK} Shares=one:3,two:1"), false, 0.75),
        (&format!("{BOOK} Shares=one:1,two:0"), false, 1.0),
    ] {
        let found = divided(lines, alone)[0];
        assert!((found - first).abs() <= 0.01, "{lines:?}, alone {alone}: {found}, not {first}");
    }
}
