//! Points in a replay: those that the trace has the facts for, and which are left out.

use multifactor2_core::settings::Settings;
use multifactor2_fixtures::assert_near;
use multifactor2_replay::order::{Multifactor, Order, Policy, Started, Tickets};
use multifactor2_replay::sim::{Parameters, Plan, Scheduler};
use multifactor2_replay::workload::Setup;
use multifactor2_replay::Workload;

use crate::made::{machine, multifactor2, outcome, workload, Made};

fn settings(text: &str) -> Settings {
    Settings::parse(text, "test").unwrap().settings
}

/// Nothing but points counts: without any weight fair-share would have one, and age makes less than 1 of this in a week.
fn only_points(made: &[Made]) -> Workload {
    workload(made, &[("PriorityWeightAge", "1"), ("PriorityDecayHalfLife", "0")])
}

/// Priorities of jobs that have waited for ten minutes, while job 0 has run.
fn priorities(workload: &Workload, text: &str) -> Vec<Vec<u32>> {
    let (machine, settings) = (machine(true), settings(text));
    let setup = Setup::new(workload, &machine);
    let mut order = Multifactor::new(&setup, Box::new(Tickets::new(&settings))).with_points(&settings);
    let now = workload.jobs[0].submit;
    let jobs: Vec<u32> = (0..).take(workload.jobs.len()).collect();
    for job in &jobs {
        order.submit(now, *job, &mut Vec::new());
    }
    order.start(Started { job: 0, partition: 0, at: now });
    let mut seen = vec![Vec::new(); jobs.len()];
    order.cycle(now + 600, &jobs[1..], &mut |job, priorities| seen[job as usize] = priorities.to_vec());
    seen
}

/// By hand: user 7 or 3, twice the account, 5 for each CPU, a point a minute, ten in p1, and 100 for each hundredth of the limit of 40 s.
#[test]
fn points_are_the_sum_of_what_the_trace_tells() {
    let text = "Credential=User Name=b Priority=7\nCredential=User Name=* Priority=3\nCredential=Account Name=y Priority=20\n\
                Component=CRED User=1 Account=2\nComponent=RES Proc=5\nComponent=SERV QueueTime=1 XFactor=100\n\
                Component=SERV Partition=p1 QueueTime=10\n";
    // Of users a, b and c in the accounts x, y and x; the last is in p0 and p1.
    let workload = only_points(&[(0, 60, 0, 1, 0, 0), (0, 2, 0, 4, 1, 0), (0, 2, 0, 2, 2, 3)]);
    let seen = priorities(&workload, text);
    let xfactor = 100 * (1 + 600 / 40);
    assert_eq!(seen[1], [7 + 2 * 20 + 5 * 4 + 10 + xfactor]);
    assert_eq!(seen[2], [3 + 5 * 2 + 10 + xfactor, 3 + 5 * 2 + 10 * 10]);
}

/// User a has used all, so a is far above the target and c far below it.
#[test]
fn targets_of_users_and_accounts_hold() {
    let workload = only_points(&[(0, 60, 0, 4, 0, 0), (0, 2, 0, 4, 0, 0), (0, 2, 0, 4, 2, 0)]);
    let target = "Target=User Name=* Percent=40\nComponent=FS FSUser=10\nCredential=User Name=* Priority=2000\nComponent=CRED User=1\n";
    let seen = priorities(&workload, target);
    assert_eq!((&seen[1], &seen[2]), (&vec![2000 - 10 * 60], &vec![2000 + 10 * 40]));
    // Where one of them cannot be measured none holds.
    let seen = priorities(&workload, &format!("{target}Target=QOS Name=fast Percent=10\n"));
    assert_eq!((&seen[1], &seen[2]), (&vec![2000], &vec![2000]));
}

#[test]
fn a_replay_goes_by_points() {
    // Everything is taken until 1200; then the last comes first.
    let made = [(0, 60, 0, 16, 0, 0), (1, 20, 0, 16, 1, 0), (2, 20, 0, 16, 2, 0)];
    let workload = only_points(&made);
    let policy = multifactor2("Credential=User Name=c Priority=1000\nComponent=CRED User=1\n");
    let starts = |policy: &Policy| {
        outcome(&workload, &machine(false), Scheduler::Slurm(Parameters::default()), policy).starts
    };
    let (with, without) = (starts(&policy), starts(&multifactor2("")));
    assert!(with[2] < with[1] && without[1] < without[2], "{with:?}, {without:?}");
}

#[test]
fn which_points_are_left_out_is_said_and_no_others() {
    let workload = only_points(&[(0, 1, 0, 1, 0, 0)]);
    let machine = machine(false);
    let left_out = |text: &str| {
        let policy = multifactor2(text);
        let plan =
            Plan { workload: &workload, machine: &machine, scheduler: Scheduler::Easy, policy: &policy };
        plan.left_out()
    };
    assert_eq!(left_out("Credential=User Name=a Priority=5\nComponent=CRED User=1\nComponent=SERV QueueTime=1\nTarget=User Name=a Percent=5\n"), [""; 0]);
    for (text, part) in [
        ("Credential=Group Name=staff Priority=5\nComponent=CRED Group=1\n", "Unix groups"),
        ("Component=RES Disk=1\n", "disk space"),
        ("Component=RES PE=1\n", "processor equivalents"),
        ("Component=SERV Bypass=1\n", "overtaken"),
        ("Component=USAGE Consumed=1\n", "running jobs"),
        ("Target=Partition Name=p0 Percent=5\n", "all targets"),
        ("Target=User Name=a Percent=5 Window=yes\n", "windows"),
        ("TargetMetric=cpu\nTarget=User Name=a Percent=5\n", "TargetMetric"),
    ] {
        let left_out = left_out(text);
        assert!(left_out.iter().any(|line| line.contains(part)), "{text}: {left_out:?}");
    }
}

/// At midnight of UTC nobody has used anything; what a job uses later counts.
#[test]
fn usage_is_reset_as_often_as_slurm_conf_says() {
    // 1970-01-12T13:46:40; a job of 20 minutes.
    let workload = workload(
        &[(0, 60, 0, 4, 0, 0), (0, 60, 0, 4, 0, 0)],
        &[("PriorityUsageResetPeriod", "DAILY"), ("PriorityDecayHalfLife", "0")],
    );
    let machine = machine(false);
    let setup = Setup::new(&workload, &machine);
    let mut order = Multifactor::new(&setup, Box::new(Tickets::new(&Settings::default())));
    let (now, midnight) = (workload.jobs[0].submit, 12 * 86_400);
    let used = |order: &Multifactor<'_>| order.usage().by_node()[0];
    order.start(Started { job: 0, partition: 0, at: now });
    order.cycle(now + 300, &[], &mut |_, _| ());
    assert_near(used(&order), 4.0 * 300.0, "usage");
    order.cycle(midnight - 300, &[], &mut |_, _| ());
    assert!(used(&order) > 4.0 * 300.0);
    order.cycle(midnight, &[], &mut |_, _| ());
    assert_near(used(&order), 4.0 * 300.0, "usage of the last period");
    order.cycle(midnight + 300, &[], &mut |_, _| ());
    assert_near(used(&order), 4.0 * 600.0, "usage");
}
