//! Charge rules, minimums and books in a replay, and what of them is left out.

use multifactor2_replay::sim::{Plan, Scheduler};

use crate::made::{machine, multifactor2, workload};

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
    for (text, part) in [
        ("Charge=Partition Name=p0 Factor=0.5", "Charge lines"),
        ("MinimumCharge=00:10:00", "MinimumCharge"),
        ("Book=a Partitions=p0", "Book"),
        ("Charge=Reservation Name=r Factor=0", "reservations"),
        ("Charge=WCKey Name=w Factor=2", "wckeys"),
        ("Charge=Requeued Factor=0.5", "runs once"),
        ("UsageMeasure=dominant", "UsageMeasure"),
        ("ActiveJobs=startable", "ActiveJobs"),
        ("ActiveJobs=pending", "ActiveJobs"),
    ] {
        let left_out = left_out(text);
        assert!(matches!(left_out.as_slice(), [line] if line.contains(part)), "{text}: {left_out:?}");
    }
}
