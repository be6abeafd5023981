//! The order of the queue, step by step, and that it is one.

use std::cmp::Ordering;

use multifactor2_command::model::{Model, Options, Step};
use multifactor2_snapshot::records::Job;
use multifactor2_snapshot::Snapshot;
use proptest::prelude::*;

use crate::site;

/// Two jobs of the example's user2 that are alike, and the second changed.
fn two(change: impl Fn(&mut Job)) -> Snapshot {
    let mut snapshot = site::example();
    let association = snapshot.associations.iter().find(|association| association.user == "user2").unwrap();
    snapshot.jobs = [1, 2].map(|id| Job { priority: 500, ..site::job(id, association) }).to_vec();
    change(&mut snapshot.jobs[1]);
    snapshot
}

fn decides(snapshot: &Snapshot) -> (u32, Step) {
    let model = Model::of(snapshot, Options::default());
    let queue = model.queue().unwrap();
    let [a, b] = queue.slots.as_slice() else { panic!("{:?}", queue.slots) };
    assert_eq!(model.compare_slots(a, b).0, Ordering::Less);
    (model.job_of(a).id, model.compare_slots(a, b).1)
}

#[test]
fn each_step_decides_where_those_before_it_are_equal() {
    assert_eq!(decides(&two(|_| ())), (1, Step::JobId));
    assert_eq!(decides(&two(|job| job.submit -= 1)), (2, Step::SubmitTime));
    assert_eq!(decides(&two(|job| (job.submit, job.priority) = (0, 400))), (1, Step::Priority));
    let mut snapshot = two(|job| (job.partition, job.priority) = ("gpu".to_owned(), 1));
    snapshot.partitions[1].tier = 2;
    assert_eq!(decides(&snapshot), (2, Step::PriorityTier));
    snapshot.jobs[0].reservation = "week".to_owned();
    assert_eq!(decides(&snapshot), (1, Step::Reservation));
    snapshot.parameters.insert("PreemptType".to_owned(), "preempt/partition_prio".to_owned());
    assert_eq!(decides(&snapshot), (2, Step::Preemption));
    snapshot.parameters.insert("PreemptMode".to_owned(), "CANCEL,PRIORITY".to_owned());
    assert_eq!(decides(&snapshot), (1, Step::Reservation), "its priority is lower");
}

#[test]
fn tasks_of_one_array_come_in_their_order_and_before_jobs_with_a_higher_id() {
    let mut snapshot = two(|job| (job.array_job, job.array_tasks) = (1, "7".to_owned()));
    (snapshot.jobs[0].array_job, snapshot.jobs[0].array_tasks) = (1, "9".to_owned());
    assert_eq!(decides(&snapshot), (2, Step::ArrayTask));
    // What is left of the array keeps its own id, and comes behind its tasks.
    snapshot.jobs[0].array_tasks = "[10-20]".to_owned();
    assert_eq!(decides(&snapshot), (2, Step::ArrayTask));
}

#[test]
fn a_qos_that_may_preempt_another_comes_first() {
    let mut snapshot = two(|job| (job.qos, job.priority) = ("high".to_owned(), 1));
    snapshot.parameters.insert("PreemptType".to_owned(), "preempt/qos".to_owned());
    snapshot.about.knows_preemption = true;
    assert_eq!(decides(&snapshot), (1, Step::Priority));
    snapshot.qos[1].preempt = vec!["normal".to_owned()];
    assert_eq!(decides(&snapshot), (2, Step::Preemption));
}

/// `PreemptMode=WITHIN`
#[test]
fn a_job_with_a_higher_priority_may_preempt_others_of_its_qos_where_the_site_says_so() {
    let mut snapshot = two(|job| job.priority = 600);
    snapshot.parameters.insert("PreemptType".to_owned(), "preempt/qos".to_owned());
    snapshot.about.knows_preemption = true;
    assert_eq!(decides(&snapshot), (2, Step::Priority));
    snapshot.parameters.insert("PreemptMode".to_owned(), "CANCEL,WITHIN".to_owned());
    assert_eq!(decides(&snapshot), (2, Step::Preemption));
}

#[test]
fn components_of_a_heterogeneous_job_count_together_where_the_site_says_so() {
    let mut snapshot = two(|job| job.priority = 700);
    let association = snapshot.associations.iter().find(|association| association.user == "user2").unwrap();
    let (first, second) = (site::job(3, association), site::job(4, association));
    snapshot.jobs.push(Job { het_job: 3, priority: 900, ..first });
    snapshot.jobs.push(Job { het_job: 3, priority: 100, ..second });
    let order = |snapshot: &Snapshot| {
        let model = Model::of(snapshot, Options::default());
        model.queue().unwrap().slots.iter().map(|slot| model.job_of(slot).id).collect::<Vec<_>>()
    };
    assert_eq!(order(&snapshot), [3, 2, 1, 4]);
    for (rule, expected) in [("min", [2, 1, 3, 4]), ("max", [3, 4, 2, 1]), ("avg", [2, 1, 3, 4])] {
        snapshot
            .parameters
            .insert("SchedulerParameters".to_owned(), format!("bf_max_time=60,bf_hetjob_prio={rule}"));
        assert_eq!(order(&snapshot), expected, "{rule}");
    }
}

#[test]
fn held_jobs_and_those_whose_time_has_not_come_are_in_no_queue() {
    for change in [
        (|job: &mut Job| job.priority = 0) as fn(&mut Job),
        |job| job.eligible = 0,
        |job| job.eligible = site::TIME + 1,
    ] {
        let snapshot = two(change);
        let model = Model::of(&snapshot, Options::default());
        assert_eq!(model.queue().unwrap().slots.len(), 1);
    }
    let snapshot = two(|job| (job.eligible, job.competes) = (site::TIME + 1, false));
    let model = Model::of(&snapshot, Options { at: Some(site::TIME + 1), ..Options::default() });
    assert_eq!(model.queue().unwrap().slots.len(), 2, "its time has come");
    assert!(model.jobs[1].competes);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..multifactor2_fixtures::seeded() })]
    /// Without preemption the comparison is an order: of any two the queue has first the one that the comparison says, and both ways
    /// round it says the same.
    #[test]
    fn the_queue_is_in_the_order_of_the_comparison(seed: u64, recompute: bool) {
        let snapshot = site::random(site::Size { associations: 20, jobs: 40 }, seed);
        let model = Model::of(&snapshot, Options { recompute, ..Options::default() });
        let slots = model.queue().unwrap().slots.clone();
        for (at, a) in slots.iter().enumerate() {
            for b in &slots[at + 1..] {
                let (order, step) = model.compare_slots(a, b);
                prop_assert_ne!(order, Ordering::Greater);
                prop_assert_eq!(model.compare_slots(b, a), (order.reverse(), step));
            }
        }
    }
}
