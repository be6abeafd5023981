//! Charge rules and minimums in a replay, and what of charging is left out.

use multifactor2_core::decay::{decay_factor, decay_over, run_decay};
use multifactor2_core::settings::Settings;
use multifactor2_core::ShareTree;
use multifactor2_fixtures::assert_near;
use multifactor2_replay::order::{Multifactor, Order, Started, Tickets};
use multifactor2_replay::sim::{Plan, Scheduler};
use multifactor2_replay::synthetic::{Full, Member, Work};
use multifactor2_replay::workload::{BillingWeights, ListedAssociation, Qos, Setup};
use multifactor2_replay::Workload;

use crate::made::{machine, multifactor2, outcome, workload, Made};

/// An order under settings, where nothing is known but what is charged.
fn order<'s>(setup: &'s Setup<'s>, settings: &Settings) -> Multifactor<'s> {
    Multifactor::new(setup, Box::new(Tickets::new(settings))).with_charges(settings)
}

fn settings(text: &str) -> Settings {
    Settings::parse(text, "test").unwrap().settings
}

/// Usage of the association at a place.
fn used(workload: &Workload, order: &Multifactor<'_>, place: u32) -> f64 {
    let tree = ShareTree::build(&workload.node_specs());
    order.usage().by_node()[tree.position(place as usize).unwrap().index()]
}

/// Users a, b and c in the accounts x, y and x, each with a job of four CPUs.
const JOBS: [Made; 3] = [(0, 60, 0, 4, 0, 0), (0, 60, 0, 4, 1, 1), (0, 60, 0, 4, 2, 1)];

/// Account x is below `physics`, y is beside it, and job 1 has the QOS `low`, whose own usage factor is 0.5.
fn nested(config: &[(&str, &str)]) -> Workload {
    let mut workload = workload(&JOBS, config);
    let listed = |parent: &str, account: &str| ListedAssociation {
        parent: parent.to_owned(),
        account: account.to_owned(),
        user: String::new(),
        shares: 1,
    };
    workload.set_associations(vec![listed("root", "physics"), listed("physics", "x"), listed("root", "y")]);
    workload.qos.push(Qos { usage_factor: 0.5, ..Qos::named("low") });
    workload.jobs[1].qos = u16::try_from(workload.qos.len() - 1).unwrap();
    workload
}

/// By hand: 300 seconds on 4 CPUs are 1200. Factors of partition, QOS, account and all accounts above multiply; the root is nobody's
/// parent; a line for limits counts, too; other names count nothing.
#[test]
fn usage_is_multiplied_with_the_factors_of_all_lines_that_fit() {
    let workload = nested(&[("PriorityDecayHalfLife", "0")]);
    let lines = "Charge=Partition Name=p1 Factor=0.1\nCharge=QOS Name=LOW Factor=3 Scope=limits\n\
                 Charge=Account Name=x Factor=2\nCharge=Parent Name=physics,x Factor=5\nCharge=Parent Name=root Factor=100\n\
                 Charge=Account Name=physics Factor=100\nCharge=Reservation Name=r Factor=100\nCharge=Requeued Factor=100\n";
    let machine = machine(true);
    let setup = Setup::new(&workload, &machine);
    let mut order = order(&setup, &settings(lines));
    let now = workload.jobs[0].submit;
    for (job, partition) in [(0, 0), (1, 1), (2, 1)] {
        order.start(Started { job, partition, at: now });
    }
    // A cycle charges what runs, and the end what ran since.
    order.cycle(now + 100, &[], &mut |_, _| ());
    for job in 0..3 {
        order.end(now + 300, job);
    }
    let expected = [1200.0 * 2.0 * 25.0, 1200.0 * 0.1 * 0.5 * 3.0, 1200.0 * 0.1 * 2.0 * 25.0];
    for (job, expected) in workload.jobs.iter().zip(expected) {
        assert_near(used(&workload, &order, job.association), expected, "usage");
    }
    assert_near(used(&workload, &order, 0), expected.iter().sum(), "usage of the root");
}

/// By hand, with a minimum of 600 seconds: one that ran 100 seconds over a cycle is charged 500 more at its end, one of no seconds 600, one
/// that ran longer nothing. What is added has not decayed, and factors hold for it.
#[test]
fn a_short_job_is_charged_the_minimum_at_its_end() {
    let workload = nested(&[("PriorityDecayHalfLife", "01:00:00")]);
    let machine = machine(true);
    let setup = Setup::new(&workload, &machine);
    let mut order = order(&setup, &settings("MinimumCharge=00:10:00\nCharge=Account Name=x Factor=2\n"));
    let now = workload.jobs[0].submit;
    let factor = decay_factor(3600);
    order.start(Started { job: 0, partition: 0, at: now });
    order.start(Started { job: 2, partition: 1, at: now });
    order.cycle(now + 60, &[], &mut |_, _| ());
    order.end(now + 100, 0);
    order.start(Started { job: 1, partition: 1, at: now + 100 });
    order.end(now + 100, 1);
    let of = |job: usize| used(&workload, &order, workload.jobs[job].association);
    assert_near(of(0), 8.0 * (run_decay(60.0, factor) + run_decay(40.0, factor) + 500.0), "a short job");
    assert_near(of(1), 4.0 * 0.5 * 600.0, "a job of no seconds");
    let mut expected = 8.0 * run_decay(60.0, factor);
    assert_near(of(2), expected, "one that runs");
    order.cycle(now + 660, &[], &mut |_, _| ());
    order.end(now + 700, 2);
    expected =
        expected * decay_over(factor, 600.0) + 8.0 * (run_decay(600.0, factor) + run_decay(40.0, factor));
    assert_near(used(&workload, &order, workload.jobs[2].association), expected, "a long job");
}

/// The parts of a machine that is always full which two accounts with equal shares get; users run so many seconds.
fn divided(lines: &str, runs: [u32; 2]) -> [f64; 2] {
    let tree = [("one", runs[0]), ("two", runs[1])].into_iter().flat_map(|(account, run)| {
        let work = Work { run: run..=run, ..Work::hourly(1.2) };
        [Member::account(account, 1), Member::user(account, &format!("of {account}"), 1, work)]
    });
    let full =
        Full { seed: 7, cpus: 40, hours: 60, waiting: 8, half_life: 12, period: 300, tree: tree.collect() };
    let workload = full.make();
    let machine = workload.machine.clone().unwrap();
    let policy = multifactor2(&format!("Distribution=standing\n{lines}"));
    let outcome = outcome(&workload, &machine, Scheduler::Fcfs, &policy);
    let (from, to) = (full.settled(), full.end());
    assert!(Full::is_full(&workload, &outcome, from, to), "somebody is out of jobs");
    let mut had = [0.0; 2];
    for (at, (job, start)) in workload.jobs.iter().zip(&outcome.starts).enumerate() {
        let Some(end) = outcome.end(&workload, at) else { continue };
        #[allow(clippy::cast_precision_loss)] // seconds
        let seconds = (end.min(to) - (*start).max(from)).max(0) as f64;
        let account = usize::from(workload.accounts.name(workload.account(job)) == "two");
        had[account] += seconds * BillingWeights::CPUS.of(job);
    }
    had.map(|of| of / (had[0] + had[1]))
}

/// Usage after charges settles on the shares, so hours go by the inverse of what they are charged.
#[test]
fn who_is_charged_less_gets_more_in_the_long_run() {
    for (lines, runs, first) in [
        ("", [1800, 1800], 1.0 / 2.0),
        ("Charge=Account Name=one Factor=0.5\n", [1800, 1800], 2.0 / 3.0),
        ("Charge=Account Name=two Factor=3\n", [1800, 1800], 3.0 / 4.0),
        // A job of ten minutes is charged as one of twenty.
        ("", [600, 1800], 1.0 / 2.0),
        ("MinimumCharge=00:20:00\n", [600, 1800], 1.0 / 3.0),
    ] {
        let found = divided(lines, runs)[0];
        assert!((found - first).abs() <= 0.01, "{lines:?}: {found}, not {first}");
    }
}

#[test]
fn what_is_left_out_of_charging_is_said_and_nothing_else() {
    let workload = workload(&[(0, 1, 0, 1, 0, 0)], &[]);
    let machine = machine(true);
    let left_out = |text: &str| {
        let policy = multifactor2(text);
        Plan { workload: &workload, machine: &machine, scheduler: Scheduler::Easy, policy: &policy }
            .left_out()
    };
    assert_eq!(left_out(""), [""; 0]);
    assert_eq!(
        left_out("Charge=Partition Name=p0 Factor=0.5\nMinimumCharge=00:10:00\nBook=a Partitions=p0"),
        [""; 0]
    );
    for (text, part) in [
        ("Charge=Reservation Name=r Factor=0", "reservations"),
        ("Charge=WCKey Name=w Factor=2", "wckeys"),
        ("Charge=Requeued Factor=0.5", "runs once"),
        ("UsageMeasure=dominant", "UsageMeasure"),
        ("Override=Partition Name=p0 Tickets=5", "Override=Partition"),
        (
            "Charge=Partition Name=p0,other Factor=2",
            "Charge=Partition: the machine of the replay has no partition other",
        ),
        ("Charge=QOS Name=other Factor=2", "Charge=QOS: the trace has no QOS other"),
        ("Charge=Parent Name=X,other Factor=2", "Charge=Parent: the trace has no account other"),
        ("Book=a Partitions=p0,other", "Book=a: the machine of the replay has no partition other"),
        ("Book=a Partitions=p0 Shares=x:1,other:2,*:1", "Book=a: the trace has no account other"),
        ("ActiveJobs=startable", "ActiveJobs"),
        ("ActiveJobs=pending", "ActiveJobs"),
    ] {
        let left_out = left_out(text);
        assert!(matches!(left_out.as_slice(), [line] if line.contains(part)), "{text}: {left_out:?}");
    }
}
