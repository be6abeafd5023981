//! Our own sums of usage: against adding up job by job, with decay, resets, other windows, and through their file.

#![allow(clippy::float_cmp)] // sums of whole seconds are exact

use std::collections::HashMap;

use multifactor2_accounting::ended::{Ended, RawCharge};
use multifactor2_accounting::raw_usage::Seen;
use multifactor2_accounting::sums::{Cycle, Model, Names, Readings, Recipe, SeenQos, Sums};
use multifactor2_accounting::sums_file::{parse, text};
use multifactor2_accounting::tally::TallyPlace;
use multifactor2_accounting::tally::{Charge, Tally};
use proptest::prelude::*;

const WINDOWS: Model = Model::Windows { decay: 0.5 };

fn recipe() -> Recipe {
    Recipe { metric: "cpu".to_owned(), halflife: true, windows: Some((100, 4)), ..Recipe::default() }
}

/// Root, two accounts, and a user of each.
fn tree(raw: [f64; 5]) -> Vec<Seen> {
    let parents = [None, Some(1), Some(1), Some(2), Some(3)];
    (1..).zip(parents).zip(raw).map(|((id, parent), raw)| Seen { id, parent, raw }).collect()
}

fn qos(raw: f64) -> Vec<SeenQos> {
    vec![
        SeenQos { id: 1, name: "normal".to_owned(), decays: true, raw },
        SeenQos { id: 2, name: "kept".to_owned(), decays: false, raw },
    ]
}

/// What a job of one user adds.
fn charge(sums: &mut Sums, tally: &mut Tally, user: u32, charge: &Charge) {
    tally.add(TallyPlace::ALL, charge, true);
    let place = sums.association(user);
    tally.add(place, charge, true);
    for id in [1, 2] {
        let (place, decays) = sums.qos(id);
        tally.add(place, charge, decays);
    }
    let place = sums.group(100 + user);
    tally.add(place, charge, true);
    let place = sums.partition("batch");
    tally.add(place, charge, true);
}

/// A cycle in which jobs of users have run for all of it.
fn cycle(sums: &mut Sums, now: i64, decay: f64, running: &[(u32, f64)], ended: &mut Vec<Ended>) {
    let mut tally = Tally::default();
    tally.begin(sums.windows_at(now), 0);
    for (user, rate) in running {
        #[allow(clippy::cast_precision_loss)]
        let run = (now - sums.since()) as f64;
        let one = Charge { start: sums.since(), run, rate: *rate, decayed: run * rate * decay };
        charge(sums, &mut tally, *user, &one);
    }
    sums.settle(Cycle { now, decay, last_reset: 0, tally: &tally }, ended);
    sums.survey(&tree([1.0; 5]), true);
    sums.survey_qos(&qos(0.0));
}

fn ended(job: u32, user: u32, start: i64, run: f64, rate: f64) -> Ended {
    Ended {
        job,
        started: start,
        charge: Charge { start, run, rate, decayed: run * rate },
        raw: Some(RawCharge { association: run * rate, qos: run * rate, undecayed_qos: run * rate }),
        association: Some(user),
        qos: [Some(1), Some(2)],
        group: Some(100 + user),
        partition: Some("batch".to_owned()),
        ..Ended::default()
    }
}

/// Usage of the root, both accounts and both users.
fn associations(readings: &Readings) -> [f64; 5] {
    [1, 2, 3, 4, 5].map(|id| readings.associations.get(&id).copied().unwrap_or(0.0))
}

#[test]
fn a_job_counts_for_everybody_it_belongs_to() {
    let mut sums = Sums::new(recipe(), 1000, 0);
    let mut jobs = vec![ended(1, 5, 1010, 20.0, 2.0)];
    cycle(&mut sums, 1100, 1.0, &[(4, 3.0)], &mut jobs);
    assert!(jobs.is_empty());
    for model in [Model::HalfLife, Model::Windows { decay: 1.0 }] {
        let readings = sums.readings(model);
        assert_eq!(associations(&readings), [340.0, 300.0, 40.0, 300.0, 40.0], "{model:?}");
        assert_eq!((readings.all, readings.of_tree, readings.partitions["batch"]), (340.0, 340.0, 340.0));
        assert_eq!((readings.groups[&104], readings.groups[&105]), (300.0, 40.0));
        assert_eq!((readings.qos[&1], readings.qos[&2]), (340.0, 340.0));
    }
    // The current window has begun just now.
    assert_eq!(sums.readings(WINDOWS).all, 170.0);
}

/// The file of Maui's guide: within each kind all add up to the total.
#[test]
fn the_sums_of_each_kind_are_the_total() {
    let mut sums = Sums::new(Recipe { windows: Some((1000, 4)), ..recipe() }, 0, 0);
    // User, group, account and QOS of jobs; thousands.
    let jobs = [
        (1, 1, 1, 1, 50.0),
        (1, 1, 1, 2, 100.0),
        (2, 1, 1, 2, 150.0),
        (3, 1, 2, 2, 50.0),
        (3, 2, 2, 2, 150.0),
        (4, 2, 3, 3, 100.0),
    ];
    let mut tally = Tally::default();
    tally.begin(sums.windows_at(1000), 0);
    for (user, group, account, qos, amount) in jobs {
        let charge = Charge { start: 0, run: 1000.0, rate: amount, decayed: 0.0 };
        let places = [TallyPlace::ALL, sums.association(10 + user), sums.group(group), sums.qos(qos).0];
        for place in places {
            tally.add(place, &charge, true);
        }
        let seen = [Seen { id: 10 + user, parent: Some(account), raw: 0.0 }];
        sums.remember(&seen, &[]);
    }
    let tree: Vec<Seen> = (1..=3)
        .map(|id| Seen { id, parent: Some(99), raw: 0.0 })
        .chain([(11, 1), (12, 1), (13, 2), (14, 3)].map(|(id, above)| Seen {
            id,
            parent: Some(above),
            raw: 0.0,
        }))
        .chain([Seen { id: 99, parent: None, raw: 0.0 }])
        .collect();
    sums.settle(Cycle { now: 999, decay: 1.0, last_reset: 0, tally: &tally }, &mut Vec::new());
    sums.survey(&tree, true);
    let readings = sums.readings(Model::Windows { decay: 1.0 });
    let of = |ids: &[u32]| ids.iter().map(|id| readings.associations[id] / 1000.0).collect::<Vec<_>>();
    assert_eq!(readings.all, 600_000.0);
    assert_eq!(of(&[11, 12, 13, 14]), [150.0, 150.0, 200.0, 100.0]);
    assert_eq!(of(&[1, 2, 3, 99]), [300.0, 200.0, 100.0, 600.0]);
    assert_eq!([1, 2].map(|gid| readings.groups[&gid]), [350_000.0, 250_000.0]);
    assert_eq!([1, 2, 3].map(|id| readings.qos[&id]), [50_000.0, 450_000.0, 100_000.0]);
}

#[test]
fn what_a_job_used_after_the_time_of_a_cycle_comes_with_the_next() {
    let mut sums = Sums::new(recipe(), 1000, 0);
    let mut jobs = vec![ended(1, 4, 1090, 30.0, 1.0)];
    cycle(&mut sums, 1100, 1.0, &[], &mut jobs);
    assert_eq!((sums.readings(Model::HalfLife).all, jobs.len()), (10.0, 1));
    assert_eq!((jobs[0].charge.start, jobs[0].charge.run), (1100, 20.0));
    cycle(&mut sums, 1200, 1.0, &[], &mut jobs);
    assert_eq!((sums.readings(Model::HalfLife).all, jobs.len()), (30.0, 0));
    // The clock is set back: nothing waits until it is there again.
    let mut jobs = vec![ended(2, 4, 1190, 30.0, 1.0)];
    cycle(&mut sums, 700, 1.0, &[], &mut jobs);
    assert_eq!((sums.readings(Model::HalfLife).all, jobs.len(), sums.since()), (60.0, 0, 700));
}

#[test]
fn a_reset_takes_from_all_above_and_from_no_total() {
    let mut sums = Sums::new(recipe(), 1000, 0);
    cycle(&mut sums, 1100, 1.0, &[(4, 3.0), (5, 2.0)], &mut Vec::new());
    sums.remember(&tree([500.0, 300.0, 200.0, 300.0, 200.0]), &qos(500.0));
    // User 4 is reset between the ends of two jobs.
    let mut jobs =
        vec![ended(1, 4, 1100, 10.0, 1.0), ended(2, 4, 1110, 7.0, 1.0), ended(3, 5, 1100, 1.0, 1.0)];
    sums.reset_as_slurmctld(&tree([208.0, 7.0, 201.0, 7.0, 201.0]), &qos(518.0), &mut jobs);
    cycle(&mut sums, 1200, 1.0, &[], &mut jobs);
    let readings = sums.readings(Model::HalfLife);
    assert_eq!(associations(&readings), [208.0, 7.0, 201.0, 7.0, 201.0]);
    assert_eq!((readings.all, readings.groups[&104], readings.partitions["batch"]), (518.0, 317.0, 518.0));
    assert_eq!(readings.qos[&1], 518.0);
    // A QOS, and then an account.
    sums.remember(&tree([208.0, 7.0, 201.0, 7.0, 201.0]), &qos(518.0));
    let mut reset = qos(518.0);
    reset[1].raw = 0.0;
    sums.reset_as_slurmctld(&tree([201.0, 0.0, 201.0, 0.0, 201.0]), &reset, &mut []);
    let readings = sums.readings(Model::HalfLife);
    assert_eq!(associations(&readings), [201.0, 0.0, 201.0, 0.0, 201.0]);
    assert_eq!((readings.qos[&1], readings.qos[&2], readings.all), (518.0, 0.0, 518.0));
    // What is not comparable resets nothing.
    sums.forget_raw_usage();
    sums.reset_as_slurmctld(&tree([0.0; 5]), &qos(0.0), &mut []);
    assert_eq!(sums.readings(Model::HalfLife).of_tree, 201.0);
    // All of it.
    let mut tally = Tally::default();
    tally.begin(sums.windows_at(1300), 0);
    sums.settle(Cycle { now: 1300, decay: 1.0, last_reset: 1300, tally: &tally }, &mut Vec::new());
    assert_eq!((sums.readings(Model::HalfLife).all, sums.readings(WINDOWS).all), (0.0, 0.0));
    // Each reset once, also where slurmctld does it again after a kill; a time to come is none.
    let mut settle = |now, last_reset| {
        let place = sums.partition("batch");
        tally.begin(sums.windows_at(now), 0);
        tally.add(place, &Charge { start: now, run: 1.0, rate: 1.0, decayed: 1.0 }, true);
        sums.settle(Cycle { now, decay: 1.0, last_reset, tally: &tally }, &mut Vec::new());
        sums.readings(Model::HalfLife).partitions["batch"]
    };
    let day = 86_400;
    let found = [(1400, 1300), (1500, 1000), (1600, 1500), (1700, 9 * day), (1800, 1600), (1900, 1600)]
        .map(|(now, reset)| settle(now, reset));
    assert_eq!(found, [1.0, 2.0, 1.0, 1.0, 1.0, 2.0]);
}

/// What the later job has used stays, as far as slurmctld's number goes.
#[test]
fn a_reset_of_a_qos_between_the_ends_of_two_jobs_takes_what_came_before() {
    let mut sums = Sums::new(recipe(), 1000, 0);
    cycle(&mut sums, 1100, 1.0, &[(4, 0.5)], &mut Vec::new());
    sums.remember(&tree([50.0, 50.0, 0.0, 50.0, 0.0]), &qos(50.0));
    let mut jobs = vec![ended(1, 4, 1100, 80.0, 1.0), ended(2, 4, 1190, 7.0, 1.0)];
    let used = 50.0 + 80.0 + 7.0;
    sums.reset_as_slurmctld(&tree([used, used, 0.0, used, 0.0]), &qos(9.0), &mut jobs);
    cycle(&mut sums, 1200, 1.0, &[], &mut jobs);
    let readings = sums.readings(Model::HalfLife);
    assert_eq!((readings.qos[&1], readings.qos[&2], readings.all), (7.0, 7.0, used));
}

/// slurmctld gives an id again, and a job that is requeued keeps its own.
#[test]
fn a_run_is_told_by_its_id_and_its_start() {
    let job = ended(7, 4, 1000, 5.0, 1.0);
    assert!(job.is_run(7, 1000));
    assert!(!job.is_run(7, 1005) && !job.is_run(8, 1000));
}

/// A file of sums that is older than that has nothing in its windows.
#[test]
fn windows_cover_their_length_as_often_as_they_count() {
    assert_eq!(recipe().covers(), Some(400));
    assert_eq!(Recipe { windows: None, ..recipe() }.covers(), None);
}

/// As `sacctmgr modify account root set RawUsage=0` does. slurmctld waits for it; a look at every job for each association takes minutes.
#[test]
fn a_reset_of_a_whole_tree_looks_at_each_job_once() {
    const COUNT: u32 = 30_000;
    let mut sums = Sums::new(recipe(), 1000, 0);
    let all = |raw: f64| -> Vec<Seen> {
        let below = (1..=COUNT).map(|id| Seen { id, parent: Some(0), raw });
        std::iter::once(Seen { id: 0, parent: None, raw: raw * f64::from(COUNT) }).chain(below).collect()
    };
    sums.remember(&all(10.0), &[]);
    let mut jobs: Vec<Ended> = (1..=COUNT).map(|id| ended(id, id, 1000, 5.0, 1.0)).collect();
    let begun = std::time::Instant::now();
    sums.reset_as_slurmctld(&all(0.0), &[], &mut jobs);
    assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
    assert!(jobs.iter().all(|ended| ended.association.is_none()));
}

/// Every database has a QOS: none at all means that slurmctld has not loaded them, as with a database that is down.
#[test]
fn while_no_qos_is_loaded_their_usage_stays() {
    let mut sums = Sums::new(recipe(), 1000, 0);
    cycle(&mut sums, 1100, 1.0, &[(4, 3.0)], &mut Vec::new());
    let before = sums.readings(WINDOWS);
    assert_eq!(before.qos[&2], 150.0);
    sums.survey_qos(&[]);
    sums.remember(&[], &[]);
    assert_eq!(sums.readings(WINDOWS), before);
    sums.survey_qos(&qos(0.0)[..1]);
    assert_eq!(sums.readings(WINDOWS).qos.get(&2), None);
}

#[test]
fn an_id_that_means_another_starts_empty() {
    let names = |user: &str| Names { user: user.to_owned(), ..Names::default() };
    let mut sums = Sums::new(recipe(), 1000, 0);
    sums.association(4);
    sums.meet(4, 64, || names("alice"));
    cycle(&mut sums, 1100, 1.0, &[(4, 3.0)], &mut Vec::new());
    sums.meet(4, 64, || panic!("known"));
    sums.meet(4, 128, || names("alice"));
    assert_eq!(associations(&sums.readings(WINDOWS))[3], 150.0);
    sums.meet(4, 64, || names("bob"));
    assert_eq!(associations(&sums.readings(WINDOWS)), [0.0; 5]);
    // A QOS.
    let mut other = qos(0.0);
    other[0].name = "other".to_owned();
    sums.survey_qos(&other);
    let readings = sums.readings(Model::HalfLife);
    assert_eq!((readings.qos[&1], readings.qos[&2]), (0.0, 300.0));
}

#[test]
fn what_is_removed_goes_to_the_account_above_and_what_is_moved_takes_its_usage_with_it() {
    let filled = || {
        let mut sums = Sums::new(recipe(), 1000, 0);
        cycle(&mut sums, 1100, 1.0, &[(4, 3.0), (5, 2.0)], &mut Vec::new());
        sums
    };
    let without = |ids: &[u32]| {
        let mut tree = tree([1.0; 5]);
        tree.retain(|seen| !ids.contains(&seen.id));
        tree
    };
    let mut sums = filled();
    sums.survey(&without(&[4]), true);
    assert_eq!(associations(&sums.readings(Model::HalfLife)), [500.0, 300.0, 200.0, 0.0, 200.0]);
    let mut sums = filled();
    sums.survey(&without(&[2, 4]), true);
    assert_eq!(associations(&sums.readings(Model::HalfLife)), [500.0, 0.0, 200.0, 0.0, 200.0]);
    let mut sums = filled();
    sums.survey(&without(&[4]), false);
    assert_eq!(associations(&sums.readings(Model::HalfLife)), [200.0, 0.0, 200.0, 0.0, 200.0]);
    let mut moved = tree([1.0; 5]);
    moved[3].parent = Some(3);
    let mut sums = filled();
    sums.survey(&moved, true);
    assert_eq!(associations(&sums.readings(Model::HalfLife)), [500.0, 0.0, 500.0, 300.0, 200.0]);
}

/// With columns, too: those of who has none stay empty, although each cycle has some.
#[test]
fn groups_and_partitions_that_nobody_has_used_for_long_are_forgotten() {
    for tres in [vec![], vec!["gres/gpu".to_owned()]] {
        let mut sums = Sums::new(Recipe { tres, ..recipe() }, 1000, 0);
        let settle = |sums: &mut Sums, now: i64, decay: f64, users: &[(u32, f64)]| {
            let mut tally = Tally::default();
            tally.begin(sums.windows_at(now), sums.width());
            for (user, rate) in users {
                let one = Charge { start: sums.since(), run: 100.0, rate: *rate, decayed: 100.0 * rate };
                charge(sums, &mut tally, *user, &one);
                let place = sums.association(*user);
                tally.add_columns(place, 0, &vec![*rate; sums.width()]);
            }
            sums.settle(Cycle { now, decay, last_reset: 0, tally: &tally }, &mut Vec::new());
            let readings = sums.readings(Model::HalfLife);
            (
                readings.groups.contains_key(&104),
                readings.groups.contains_key(&105),
                readings.partitions.len(),
            )
        };
        assert_eq!(settle(&mut sums, 1100, 1.0, &[(4, 1.0), (5, 1.0)]), (true, true, 1));
        // All of it has decayed, but the windows still have it.
        assert_eq!(settle(&mut sums, 1200, 1e-9, &[(5, 1.0)]), (true, true, 1));
        for now in (1300..2000).step_by(100) {
            settle(&mut sums, now, 1.0, &[(5, 1.0)]);
        }
        assert_eq!(settle(&mut sums, 2000, 1.0, &[(5, 1.0)]), (false, true, 1));
        for now in (2100..3000).step_by(100) {
            settle(&mut sums, now, 1e-3, &[]);
        }
        assert_eq!(settle(&mut sums, 3000, 1.0, &[]), (false, false, 0));
    }
}

#[test]
fn another_recipe_keeps_what_it_can() {
    let mut sums = Sums::new(recipe(), 1000, 0);
    cycle(&mut sums, 1150, 1.0, &[(4, 2.0)], &mut Vec::new());
    let reading = |sums: &Sums, decay| sums.readings(Model::Windows { decay }).all;
    assert_eq!([reading(&sums, 1.0), reading(&sums, 0.0)], [300.0, 100.0]);
    sums.follow(&Recipe { windows: Some((50, 3)), ..recipe() }, []);
    assert_eq!([reading(&sums, 1.0), reading(&sums, 0.0)], [200.0, 0.0]);
    sums.follow(&Recipe { windows: None, ..recipe() }, []);
    assert_eq!((sums.readings(Model::HalfLife).all, reading(&sums, 1.0)), (300.0, 0.0));
    sums.follow(&Recipe { halflife: false, ..recipe() }, []);
    assert_eq!(sums.readings(Model::HalfLife).all, 0.0);
    let mut sums = Sums::new(recipe(), 1000, 0);
    cycle(&mut sums, 1150, 1.0, &[(4, 2.0)], &mut Vec::new());
    sums.follow(&Recipe { metric: "node".to_owned(), ..recipe() }, []);
    assert_eq!((reading(&sums, 1.0), sums.since()), (0.0, 1150));
}

#[test]
fn names_of_any_letters_are_read_back() {
    let strange = ["", "-", "%", "a b", "a\"b'", "line\nbreak\r\n", "ü%20", "end", "0"];
    let mut sums = Sums::new(Recipe { metric: "gres/a b".to_owned(), ..recipe() }, 1000, 0);
    for (id, name) in (1..).zip(strange) {
        let (account, user) = (name.to_owned(), strange[9 - id as usize].to_owned());
        sums.association(id);
        sums.meet(id, 64, || Names { account, user, partition: name.to_owned() });
        let place = sums.partition(name);
        let mut tally = Tally::default();
        tally.begin(sums.windows_at(1000), 0);
        tally.add(place, &Charge { start: 990, run: 10.0, rate: f64::from(id), decayed: 1.0 }, true);
        sums.settle(Cycle { now: 1000, decay: 1.0, last_reset: 0, tally: &tally }, &mut Vec::new());
    }
    let mut jobs = vec![ended(7, 4, 1, 1.0 / 3.0, 1e-300)];
    jobs[0].partition = Some("a b".to_owned());
    let written = text(&sums, &jobs);
    let (read, found) = parse(&written).unwrap();
    assert_eq!(text(&read, &found), written);
    assert_eq!(read.readings(WINDOWS), sums.readings(WINDOWS));
    assert_eq!(found[0], Ended { raw: None, ..jobs.remove(0) });
    let mut other = read.clone();
    other.meet(2, 1, || Names { account: "-".to_owned(), user: "end".to_owned(), partition: "-".to_owned() });
    assert_eq!(other.recipe().metric, "gres/a b");
}

/// Between the cycle of a file and its reading the clock may still be behind.
#[test]
fn windows_that_the_clock_fell_behind_are_read_back() {
    let mut sums = Sums::new(recipe(), 1300, 0);
    cycle(&mut sums, 1350, 1.0, &[(4, 1.0)], &mut Vec::new());
    cycle(&mut sums, 1150, 1.0, &[], &mut Vec::new());
    let (mut read, _) = parse(&text(&sums, &[])).unwrap();
    for sums in [&mut sums, &mut read] {
        cycle(sums, 1380, 1.0, &[], &mut Vec::new());
        assert_eq!(sums.readings(WINDOWS).all, 50.0, "all of it is in the current window");
    }
}

/// Older versions read a file without steps.
#[test]
fn steps_of_distances_are_read_back() {
    let of = |kind: &str, name: &str| (kind.to_owned(), name.to_owned());
    let mut sums = Sums::new(Recipe { steps: true, ..recipe() }, 1000, 0);
    assert!(text(&sums, &[]).starts_with("multifactor2_usage 1\n"), "there are none yet");
    sums.steps =
        [(of("User", "ada l"), 3), (of("Parent", "physics ada"), -7), (of("QOS", "1"), i64::MIN)].into();
    let written = text(&sums, &[]);
    assert!(written.starts_with("multifactor2_usage 4\n"), "{written}");
    let (mut read, _) = parse(&written).unwrap();
    assert_eq!((&read.steps, text(&read, &[])), (&sums.steps, written.clone()));
    let twice = written.replace("step User", "step QOS 1 5\nstep User");
    assert!(parse(&twice).is_err() && parse(&written.replace(" 3\n", " 3.5\n")).is_err());
    read.follow(&recipe(), []);
    assert!(read.steps.is_empty(), "settings without FSStep");
}

#[test]
fn a_file_that_is_not_whole_says_why() {
    let mut sums = Sums::new(recipe(), 1000, 0);
    cycle(&mut sums, 1100, 1.0, &[(4, 3.0)], &mut Vec::new());
    let good = text(&sums, &[ended(1, 4, 1090, 30.0, 1.0)]);
    assert!(parse(&good).is_ok());
    for cut in 0..good.len() {
        assert!(parse(&good[..cut]).is_err(), "{cut}");
    }
    for (from, to, why) in [
        ("multifactor2_usage 1", "multifactor2_usage 5", "newer"),
        ("multifactor2_usage 1", "multifactor3", "first line"),
        ("since 1100 0", "since -1 0", "line 2"),
        ("since 1100 0", "since 1100 253402300800", "line 2"),
        ("since 1100 0", "since 1100 0\nsince 1100 0", "line 3"),
        ("recipe cpu yes 100 4", "recipe cpu yes 0 4", "line 3"),
        ("recipe cpu yes 100 4", "recipe cpu yes - 4", "line 3"),
        ("recipe cpu yes 100 4", "recipe cpu yes 100 0", "line 3"),
        ("all 300", "all NaN", "line 4"),
        ("all 300", "all -1", "line 4"),
        ("all 300 0 300", "all 300 0 300 3 4 5", "line 4"),
        ("capacity 0\n", "", "missing"),
        ("capacity 0\n", "capacity 0\ncapacity 0\n", "line 6"),
        ("capacity 0\n", "capacity 0\nend\n", "line 7"),
        ("group 104", "group 104 1\ngroup 104", "line"),
    ] {
        let bad = good.replacen(from, to, 1);
        assert_ne!(bad, good, "{from}");
        let problem = parse(&bad).unwrap_err();
        assert!(problem.contains(why), "{to}: {problem}");
    }
}

/// Jobs that start, end, and run through cycles.
#[derive(Clone, Debug)]
enum Event {
    Run(u8),
    Start(u8, u8),
    End,
    Cycle,
    Reset(u8),
    Windows(u8),
    File,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0..90_u8).prop_map(Event::Run),
        3 => (0..2_u8, 1..9_u8).prop_map(|(user, rate)| Event::Start(user, rate)),
        2 => Just(Event::End),
        4 => Just(Event::Cycle),
        1 => (0..2_u8).prop_map(Event::Reset),
        1 => (1..6_u8).prop_map(Event::Windows),
        1 => Just(Event::File),
    ]
}

const OVER: f64 = 0.999;

/// Every second that every job has run, one by one.
#[derive(Default)]
struct Naive {
    /// By user, second: amount.
    seconds: Vec<HashMap<i64, f64>>,
    halflife: Vec<f64>,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..multifactor2_fixtures::seeded() })]

    #[test]
    fn sums_are_what_ran(events in prop::collection::vec(event(), 1..60)) {
        let mut sums = Sums::new(recipe(), 10_000, 0);
        let (mut depth, mut now, mut last) = (4, 10_000_i64, 10_000_i64);
        let mut naive = Naive { seconds: vec![HashMap::new(); 2], halflife: vec![0.0; 2] };
        let mut running: Vec<(i64, usize, f64)> = Vec::new();
        let mut jobs: Vec<Ended> = Vec::new();
        let mut raw = [0.0; 2];
        let mut next = 0;
        let seen = |raw: [f64; 2]| tree([raw[0] + raw[1], raw[0], raw[1], raw[0], raw[1]]);
        for event in events.iter().chain([&Event::Cycle]) {
            match event {
                Event::Run(seconds) => {
                    for second in now..now + i64::from(*seconds) {
                        for (_, user, rate) in &running {
                            *naive.seconds[*user].entry(second).or_default() += rate;
                        }
                    }
                    now += i64::from(*seconds);
                }
                Event::Start(user, rate) => running.push((now, usize::from(*user), f64::from(*rate))),
                Event::End => {
                    if running.is_empty() { continue; }
                    let (start, user, rate) = running.remove(0);
                    let start = start.max(last);
                    #[allow(clippy::cast_precision_loss)]
                    let run = (now - start) as f64;
                    next += 1;
                    jobs.push(ended(next, 4 + u32::try_from(user).unwrap(), start, run, rate));
                    raw[user] += run * rate;
                }
                Event::Reset(user) => {
                    let user = usize::from(*user);
                    raw[user] = 0.0;
                    let of_user: HashMap<i64, f64> = running.iter().filter(|(_, of, _)| *of == user)
                        .flat_map(|(start, _, rate)| ((*start).max(last)..now).map(|second| (second, *rate)))
                        .fold(HashMap::new(), |mut sums, (second, rate)| {
                            *sums.entry(second).or_default() += rate;
                            sums
                        });
                    naive.seconds[user] = of_user;
                    naive.halflife[user] = 0.0;
                    // What a cycle cannot see: that of somebody who had nothing yet.
                    for job in jobs.iter_mut().filter(|job| job.association == Some(4 + u32::try_from(user).unwrap())) {
                        job.raw = Some(RawCharge {
                            association: job.charge.decayed,
                            qos: job.charge.decayed,
                            undecayed_qos: job.charge.decayed,
                        });
                    }
                    let known = sums.readings(Model::HalfLife).associations.get(&(4 + u32::try_from(user).unwrap())).copied();
                    if known.unwrap_or(0.0) == 0.0 {
                        jobs.iter_mut().filter(|job| job.association == Some(4 + u32::try_from(user).unwrap()))
                            .for_each(|job| job.association = None);
                    }
                }
                Event::Windows(count) => {
                    depth = usize::from(*count);
                    sums.follow(&Recipe { windows: Some((100, depth)), ..recipe() }, []);
                    let oldest = last.div_euclid(100) - i64::from(*count) + 1;
                    for seconds in &mut naive.seconds {
                        seconds.retain(|second, _| second.div_euclid(100) >= oldest || *second >= last);
                    }
                }
                Event::File => {
                    let (read, _) = parse(&text(&sums, &jobs)).unwrap();
                    sums = read;
                }
                Event::Cycle => {
                    sums.reset_as_slurmctld(&seen(raw), &[], &mut jobs);
                    for (user, id) in [(0_usize, 4_u32), (1, 5)] {
                        let of_ended: f64 = jobs.iter().filter(|job| job.association == Some(id))
                            .map(|job| job.charge.decayed).sum();
                        let mut of_running = 0.0;
                        for (start, _, rate) in running.iter().filter(|(_, of, _)| *of == user) {
                            #[allow(clippy::cast_precision_loss)]
                            let run = (now - (*start).max(last)) as f64;
                            of_running += run * rate * OVER;
                        }
                        naive.halflife[user] = (naive.halflife[user] + of_ended) * OVER + of_running;
                        raw[user] = raw[user] * OVER + of_running;
                    }
                    let mut tally = Tally::default();
                    tally.begin(sums.windows_at(now), 0);
                    for (start, user, rate) in &running {
                        let start = (*start).max(last);
                        #[allow(clippy::cast_precision_loss)]
                        let run = (now - start) as f64;
                        let one = Charge { start, run, rate: *rate, decayed: run * rate * OVER };
                        charge(&mut sums, &mut tally, 4 + u32::try_from(*user).unwrap(), &one);
                    }
                    sums.settle(Cycle { now, decay: OVER, last_reset: 0, tally: &tally }, &mut jobs);
                    sums.survey(&seen(raw), true);
                    sums.remember(&seen(raw), &[]);
                    prop_assert!(jobs.is_empty());
                    last = now;
                    let halflife = sums.readings(Model::HalfLife);
                    let windows = sums.readings(WINDOWS);
                    for (user, id) in [(0_usize, 4_u32), (1, 5)] {
                        let found = halflife.associations.get(&id).copied().unwrap_or(0.0);
                        prop_assert!((found - naive.halflife[user]).abs() <= 1e-9 * (1.0 + found), "{} {}", found, naive.halflife[user]);
                        prop_assert!((found - raw[user]).abs() <= 1e-9 * (1.0 + found), "raw {} {}", found, raw[user]);
                        let expected: f64 = naive.seconds[user].iter().map(|(second, amount)| {
                            let age = usize::try_from(now.div_euclid(100) - second.div_euclid(100)).unwrap();
                            if age < depth { amount * 0.5_f64.powi(i32::try_from(age).unwrap()) } else { 0.0 }
                        }).sum();
                        // What is dropped stays dropped.
                        let oldest = now.div_euclid(100) - i64::try_from(depth).unwrap() + 1;
                        naive.seconds[user].retain(|second, _| second.div_euclid(100) >= oldest);
                        let found = windows.associations.get(&id).copied().unwrap_or(0.0);
                        prop_assert!((found - expected).abs() <= 1e-9 * (1.0 + expected), "windows {} {}", found, expected);
                    }
                }
            }
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(multifactor2_usage 1\n)?(since 1 0\n)?(recipe cpu yes 100 4 0\n)?(all 0\n)?(capacity 0\n)?([a-z]{0,5}( [-0-9a-z.%]{0,6}){0,8}\n){0,5}(end\n)?") {
        if let Ok((sums, jobs)) = parse(&text) {
            let written = multifactor2_accounting::sums_file::text(&sums, &jobs);
            let (again, jobs) = parse(&written).unwrap();
            prop_assert_eq!(multifactor2_accounting::sums_file::text(&again, &jobs), written);
        }
    }
}

/// At the end of a job its charge has lost by decay what it would have lost until then, but for a QOS that keeps its usage.
#[test]
fn a_qos_without_decay_keeps_all_of_a_job_that_has_ended() {
    let mut sums = Sums::new(Recipe { windows: None, ..recipe() }, 1000, 0);
    sums.survey_qos(&qos(0.0));
    let charge = Charge { start: 1010, run: 20.0, rate: 2.0, decayed: 30.0 };
    let mut jobs = vec![Ended { charge, ..ended(1, 5, 1010, 20.0, 2.0) }];
    cycle(&mut sums, 1100, 0.5, &[], &mut jobs);
    let readings = sums.readings(Model::HalfLife);
    assert_eq!((readings.qos[&1], readings.qos[&2]), (15.0, 40.0));
    assert_eq!((readings.all, readings.partitions["batch"]), (15.0, 15.0));
}

/// Its partition, group or QOS may be gone when a job ends: then nobody is charged in their place.
#[test]
fn what_an_ended_job_has_no_more_is_charged_to_nobody() {
    let mut sums = Sums::new(recipe(), 1000, 0);
    let gone = Ended { partition: None, group: None, qos: [None, Some(1)], ..ended(1, 5, 1010, 20.0, 2.0) };
    cycle(&mut sums, 1100, 1.0, &[], &mut vec![gone]);
    let readings = sums.readings(Model::HalfLife);
    assert_eq!((readings.all, readings.qos[&1]), (40.0, 40.0));
    assert!(readings.partitions.is_empty() && readings.groups.is_empty(), "{readings:?}");
    assert_eq!(readings.qos.get(&2).copied().unwrap_or_default(), 0.0);
}

#[test]
fn a_qos_without_decay_has_all_of_a_job_that_has_ended() {
    let recipe = Recipe { metric: "cpu".to_owned(), halflife: true, ..Recipe::default() };
    let mut sums = Sums::new(recipe, 1000, 0);
    let qos = |id, name: &str, decays| SeenQos { id, name: name.to_owned(), decays, raw: 0.0 };
    let qos = vec![qos(1, "normal", true), qos(2, "kept", false)];
    sums.survey_qos(&qos);
    let mut ended = vec![Ended {
        job: 7,
        started: 1010,
        // 20 seconds of 2, of which 30 are left after decay until the job ended.
        charge: Charge { start: 1010, run: 20.0, rate: 2.0, decayed: 30.0 },
        qos: [Some(1), Some(2)],
        ..Ended::default()
    }];
    for (now, expected) in [(1100, (15.0, 40.0)), (1200, (7.5, 40.0))] {
        // What the host says of them is known from the cycle before on.
        for known in &qos {
            sums.qos(known.id);
        }
        sums.survey_qos(&qos);
        let mut tally = Tally::default();
        tally.begin(sums.windows_at(now), 0);
        sums.settle(Cycle { now, decay: 0.5, last_reset: 0, tally: &tally }, &mut ended);
        sums.survey_qos(&qos);
        let readings = sums.readings(Model::HalfLife);
        assert_eq!((readings.qos[&1], readings.qos[&2]), expected, "at {now}");
    }
}
