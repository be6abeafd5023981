//! The documented example through the model, number for number.

use multifactor2_command::model::{Model, Options};
use multifactor2_fixtures::assert_near;
use multifactor2_fixtures::example::{number, FACTORS, NUMBERS, TICKETS};
use multifactor2_snapshot::records::Job;

use crate::site;

fn computed() -> Options {
    Options { recompute: true, ..Options::default() }
}

#[test]
fn every_association_has_the_numbers_of_the_documentation() {
    let snapshot = site::example();
    let model = Model::of(&snapshot, computed());
    for (name, s, u, u_eff, f) in NUMBERS {
        let standing = model.standings[number(name)];
        assert_near(standing.shares_norm, s, name);
        assert_near(standing.usage_norm, u, name);
        assert_near(standing.usage_effective, u_eff, name);
        assert_near(standing.level_fs.unwrap(), f, name);
    }
    for (name, tickets) in TICKETS {
        let standing = model.standings[number(name)];
        assert_near(standing.tickets.unwrap(), tickets, name);
        assert!(standing.active, "{name}");
    }
    for (name, factor) in FACTORS {
        assert_near(model.standings[number(name)].factor.unwrap(), factor, name);
    }
}

#[test]
fn a_priority_is_the_sum_of_its_weighted_factors() {
    let snapshot = site::example();
    let model = Model::of(&snapshot, computed());
    // FAIRSHARE of user2 and user5, a tenth of AGE, and all of PARTITION.
    for (job, fair_share, priority) in
        [(1001, 10_000.0 * 0.246_913_580_246_9, 3569), (1002, 10_000.0, 11_100)]
    {
        let rank = &model.jobs[model.job(job).unwrap()];
        let (addends, computed) = rank.computed.unwrap();
        assert_near((addends.fair_share * 1e6).round(), (fair_share * 1e6_f64).round(), "FAIRSHARE");
        assert_near(addends.age, 100.0, "AGE");
        assert_near(addends.partition, 1000.0, "PARTITION");
        assert_near(addends.sum(), fair_share + 1100.0, "sum");
        assert_eq!((computed, rank.priority), (priority, priority));
    }
}

#[test]
fn what_slurm_shows_right_after_a_cycle_is_what_is_computed() {
    let snapshot = site::example();
    let model = Model::of(&snapshot, Options::default());
    for job in 0..model.jobs.len() {
        assert_eq!(model.differences(job), []);
    }
    assert_eq!(model.notes, Vec::<String>::new());
}

/// Three jobs share the override tickets of a partition; a fourth has none of them, as each of the three in the other partition.
#[test]
fn of_jobs_that_share_tickets_of_a_partition_none_has_any_of_them_in_another() {
    let mut snapshot = site::example();
    site::set(&mut snapshot, "Override=Partition Name=gpu Tickets=6000");
    let plain = snapshot.jobs[0].clone();
    let shares = |id| {
        let partitions = vec!["gpu".to_owned(), "main".to_owned()];
        Job { id, partition: "gpu".to_owned(), partitions, ..plain.clone() }
    };
    snapshot.jobs = vec![plain.clone(), shares(2001), shares(2002), shares(2003)];
    let model = Model::of(&snapshot, computed());
    let in_main = model.jobs[0].computed.unwrap().0.fair_share;
    assert!(in_main > 0.0);
    let mut whole = None;
    for (rank, nth) in model.jobs[1..].iter().zip([1.0, 2.0, 3.0]) {
        let [gpu, main] = [0, 1].map(|at| rank.entries[at].computed.unwrap().0.fair_share);
        assert_near(gpu - in_main, *whole.get_or_insert(gpu - in_main) / nth, "gpu");
        assert_near(main, in_main, "main");
    }
}
