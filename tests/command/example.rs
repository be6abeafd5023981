//! The documented example through the model, number for number.

use multifactor2_command::model::{Model, Options};
use multifactor2_fixtures::assert_near;
use multifactor2_fixtures::example::{number, FACTORS, NUMBERS, TICKETS};

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
