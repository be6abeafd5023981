//! What a model follows: books and closed partitions, usage that targets count, and what is not known.

use multifactor2_command::model::{Model, Options};
use multifactor2_core::books::BookAt;
use multifactor2_fixtures::assert_near;
use multifactor2_snapshot::records::{Book, BookAssociation, Usage};
use multifactor2_snapshot::Snapshot;

use crate::site;

fn recomputed(snapshot: &Snapshot) -> Model<'_> {
    Model::of(snapshot, Options { recompute: true, ..Options::default() })
}

/// The example with two books. Nobody has used anything in `cards`; in `large` user5 alone has.
fn in_books() -> Snapshot {
    let mut snapshot = site::example();
    for (name, partition) in [("cards", "gpu"), ("large", "main")] {
        site::set(&mut snapshot, &format!("Book={name} Partitions={partition}"));
        let partitions = vec![partition.to_owned()];
        snapshot.books.push(Book { name: name.to_owned(), partitions, ..Book::default() });
    }
    let user5 = snapshot.associations.iter().find(|one| one.user == "user5").unwrap();
    let above: Vec<u32> = std::iter::successors(Some(user5), |one| {
        snapshot.associations.iter().find(|above| above.id == one.parent)
    })
    .map(|one| one.id)
    .collect();
    for association in above {
        let book = "large".to_owned();
        snapshot.book_associations.push(BookAssociation {
            book,
            association,
            usage: 1e6,
            ..BookAssociation::default()
        });
    }
    snapshot
}

#[test]
fn a_book_has_a_name_where_there_are_books() {
    let plain = site::example();
    assert_eq!(recomputed(&plain).book_name(BookAt::DEFAULT), None);
    let snapshot = in_books();
    let model = recomputed(&snapshot);
    assert_eq!(
        ["gpu", "main"].map(|name| model.book_name(model.book_of(name))),
        [Some("cards"), Some("large")]
    );
}

/// user2 and user5 wait. Where only user5 has used something user2 is ahead; where nobody has, their shares decide.
#[test]
fn a_job_has_the_factor_of_the_book_of_its_partition() {
    let mut snapshot = in_books();
    let factors = |snapshot: &Snapshot| {
        let model = recomputed(snapshot);
        [0, 1].map(|job| model.jobs[job].factor.unwrap())
    };
    let [user2, user5] = factors(&snapshot);
    assert!(user2 > 0.999 && user5 < 0.2, "{user2} {user5}");
    for job in &mut snapshot.jobs {
        "gpu".clone_into(&mut job.partition);
    }
    // 40 to 60.
    let [user2, user5] = factors(&snapshot);
    assert_near(user2, 2.0 / 3.0, "user2");
    assert_near(user5, 1.0, "user5");
}

/// `ActiveJobs=startable`: those who wait before a partition that is down compete there by themselves.
#[test]
fn a_job_before_a_closed_partition_is_in_a_book_of_it() {
    let mut snapshot = site::example();
    site::set(&mut snapshot, "ActiveJobs=startable");
    "gpu".clone_into(&mut snapshot.jobs[1].partition);
    let open = recomputed(&snapshot);
    assert_eq!([0, 1].map(|job| open.book_in(job, "gpu")), [BookAt::DEFAULT; 2]);
    drop(open);
    snapshot.partitions[1].state = "DOWN".to_owned();
    "PartitionDown".clone_into(&mut snapshot.jobs[1].reason);
    let model = recomputed(&snapshot);
    let closed = model.book_in(1, "gpu");
    assert_ne!(closed, BookAt::DEFAULT);
    assert_eq!((model.closed_partition(closed), model.book_in(0, "main")), (Some("gpu"), BookAt::DEFAULT));
    // The best has what it would have if it alone could start: of 1000 tickets 802, as in the documented example.
    assert_eq!(model.jobs[0].factor, Some(1.0));
    assert_near(model.jobs[1].factor.unwrap(), 81.0 / 101.0, "user5");
}

/// Others can start in the same partition, which is up.
#[test]
fn who_waits_for_nodes_or_a_reservation_competes_apart_from_those_who_can_start() {
    let mut snapshot = site::example();
    site::set(&mut snapshot, "ActiveJobs=startable");
    for reason in ["ReqNodeNotAvail, UnavailableNodes:n[1-4]", "Reservation"] {
        reason.clone_into(&mut snapshot.jobs[1].reason);
        let model = recomputed(&snapshot);
        let apart = model.book_in(1, "main");
        assert_eq!(model.closed_partition(apart), Some("main"), "{reason}");
        assert_eq!(model.book_in(0, "main"), BookAt::DEFAULT, "{reason}");
    }
}

/// As Slurm's commands leave it out where nobody asks for partitions.
#[test]
fn where_the_state_of_a_partition_is_not_known_the_reason_of_a_job_tells_it() {
    let mut snapshot = site::example();
    site::set(&mut snapshot, "ActiveJobs=startable");
    snapshot.partitions.iter_mut().for_each(|partition| partition.state.clear());
    "gpu".clone_into(&mut snapshot.jobs[1].partition);
    "PartitionDown".clone_into(&mut snapshot.jobs[1].reason);
    let model = recomputed(&snapshot);
    assert_eq!(model.closed_partition(model.book_in(1, "gpu")), Some("gpu"));
    assert_eq!(model.book_in(0, "main"), BookAt::DEFAULT);
    drop(model);
    // Of several it does not say which one is down.
    snapshot.jobs[1].partitions = ["gpu", "main"].map(str::to_owned).to_vec();
    let model = recomputed(&snapshot);
    assert_eq!(["gpu", "main"].map(|partition| model.book_in(1, partition)), [BookAt::DEFAULT; 2]);
}

/// In a week, which is the half-life.
#[test]
fn usage_of_a_book_decays_as_all_other_usage_does() {
    let snapshot = in_books();
    let at = Some(snapshot.about.time + 7 * 86_400);
    let model = Model::of(&snapshot, Options { at, ..Options::default() });
    let root = model.standings_in(model.book_of("main"))[0];
    assert!((root.usage / 1e6 - 0.5).abs() < 1e-3, "{} of 1e6", root.usage);
}

/// In the book of the graphics cards nobody has used anything, and user5 is alone there.
#[test]
fn a_job_in_several_partitions_has_the_factor_of_each_of_their_books() {
    let mut snapshot = in_books();
    snapshot.jobs[1].partitions = ["main", "gpu"].map(str::to_owned).to_vec();
    let model = recomputed(&snapshot);
    let factors: Vec<f64> =
        model.jobs[1].entries.iter().map(|entry| entry.computed.unwrap().0.fair_share / 10_000.0).collect();
    assert!(factors[0] < 0.2, "{factors:?}");
    assert_near(factors[1], 1.0, "in gpu");
}

/// Of 1000 in all user2 has 300, where the target is half: 20 percent too few.
#[test]
fn targets_of_users_go_by_the_usage_of_their_association() {
    let mut snapshot = site::example();
    for line in ["Component=FS Weight=100 FSUser=10", "Target=User Name=user2 Percent=50", "TargetMetric=cpu"]
    {
        site::set(&mut snapshot, line);
    }
    let points = |snapshot: &Snapshot| recomputed(snapshot).jobs[0].points.map(|points| points.fs);
    // The plugin counts, and nobody has used anything yet: that is known.
    assert!(snapshot.usage.is_empty());
    assert_eq!(points(&snapshot), Some(0.0));
    for one in &snapshot.associations {
        let amount = match (&*one.account, &*one.user) {
            ("root", _) => 1000.0,
            ("a" | "c", "") | (_, "user2") => 300.0,
            _ => 0.0,
        };
        let (model, of, key) = ("halflife".to_owned(), "association".to_owned(), one.id.to_string());
        snapshot.usage.push(Usage { model, of, key, amount });
    }
    assert_eq!(points(&snapshot), Some(20_000.0));
}

/// What the plugin wrote is exact. What Slurm's commands print is rounded, and was computed some time ago.
#[test]
fn numbers_differ_by_more_than_how_they_are_printed() {
    let mut snapshot = site::example();
    let differences = |snapshot: &Snapshot| {
        let model = Model::of(snapshot, Options::default());
        let all = model.differences(0);
        all.into_iter().map(|difference| difference.what).collect::<Vec<_>>()
    };
    assert!(differences(&snapshot).is_empty());
    // A millionth is rounding.
    let millionth = 1e-6 * snapshot.jobs[0].fair_share;
    snapshot.jobs[0].fair_share += 0.5 * millionth;
    assert!(differences(&snapshot).is_empty());
    snapshot.jobs[0].fair_share += millionth;
    assert_eq!(differences(&snapshot), ["FAIRSHARE"]);
    "commands".clone_into(&mut snapshot.about.source);
    // One, and a ten-thousandth of the weight of fair-share, which is 10,000.
    snapshot.jobs[0].fair_share += 1.9;
    assert!(differences(&snapshot).is_empty());
    snapshot.jobs[0].fair_share += 0.2;
    assert_eq!(differences(&snapshot), ["FAIRSHARE"]);
    // One, and what a job gains by age from one calculation to the next: 1000 in a week, so 0.496 in five minutes.
    snapshot.jobs[1].age += 1.4;
    let of_other = Model::of(&snapshot, Options::default()).differences(1);
    assert!(of_other.is_empty(), "{of_other:?}");
    snapshot.jobs[1].age += 0.2;
    let of_other = Model::of(&snapshot, Options::default()).differences(1);
    assert_eq!(of_other.iter().map(|difference| difference.what.as_str()).collect::<Vec<_>>(), ["AGE"]);
}

/// Without a weight of fair-share nothing about it needs to be known.
#[test]
fn what_has_no_weight_need_not_be_known() {
    let mut snapshot = site::example();
    snapshot.about.partial_tree = true;
    snapshot.jobs[0].is_computed = false;
    assert!(recomputed(&snapshot).jobs[0].computed.is_none());
    snapshot.parameters.insert("PriorityWeightFairShare".to_owned(), "0".to_owned());
    assert!(recomputed(&snapshot).jobs[0].computed.is_some());
}

#[test]
fn who_waits_unseen_makes_tickets_unknown() {
    let mut snapshot = site::example();
    snapshot.about.partial_queue = true;
    let model = recomputed(&snapshot);
    assert_eq!(model.jobs[0].factor, None);
    assert!(
        model.notes[0].contains("Tickets depend on all waiting jobs, and some are hidden"),
        "{:?}",
        model.notes
    );
}
