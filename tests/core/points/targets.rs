//! Distances from targets and what caps leave, of users, accounts, QOS, groups and partitions.

use multifactor2_core::policy::points::{Listed, Points, PointsJob, Request, TargetStanding, Whose};
use multifactor2_core::policy::pools::Names;
use multifactor2_core::rules::targets::{
    delta, percentage, step, Cap, Measure, Side, Totals, FARTHEST, NO_CAP,
};
use multifactor2_core::settings::{Settings, TargetKind};
use multifactor2_fixtures::assert_near;

use super::{Cluster, Site, HOUR};

#[test]
fn distances() {
    for (target, usage, side, measure, expected) in [
        (50.0, 45.0, Side::Both, Measure::Difference, 5.0),
        (50.0, 45.0, Side::Below, Measure::Difference, 5.0),
        (50.0, 45.0, Side::Above, Measure::Difference, 0.0),
        (25.0, 35.0, Side::Both, Measure::Difference, -10.0),
        (25.0, 35.0, Side::Below, Measure::Difference, 0.0),
        (25.0, 35.0, Side::Above, Measure::Difference, -10.0),
        (50.0, 45.0, Side::Both, Measure::Ratio, 0.1),
        (25.0, 35.0, Side::Both, Measure::Ratio, -0.4),
        (25.0, 35.0, Side::Below, Measure::Ratio, 0.0),
        (0.0, 35.0, Side::Both, Measure::Ratio, 0.0),
        (0.0, 35.0, Side::Both, Measure::Difference, -35.0),
        (1e-300, 100.0, Side::Both, Measure::Ratio, -FARTHEST),
        (f64::NAN, f64::INFINITY, Side::Both, Measure::Difference, -FARTHEST),
    ] {
        assert_near(
            delta(target, usage, side, measure),
            expected,
            &format!("{target} {usage} {side:?} {measure:?}"),
        );
    }
    assert_eq!((percentage(1.0, 4.0), percentage(1.0, 0.0)), (Some(25.0), None));
}

#[test]
fn rooms() {
    let totals = Totals { delivered: 1_000.0, available: 4_000.0 };
    for (cap, expected) in [
        (Cap::Delivered(20.0), 150.0),
        (Cap::Delivered(1.0), -40.0),
        (Cap::Available(20.0), 750.0),
        (Cap::Amount(1.0), 3_550.0),
    ] {
        assert_near(cap.room(50.0, totals), expected, &format!("{cap:?}"));
    }
    assert_eq!(Cap::Delivered(1.0).room(50.0, Totals::default()).to_bits(), NO_CAP.to_bits());
    assert_eq!(Cap::Available(1.0).room(50.0, Totals::default()).to_bits(), NO_CAP.to_bits());
}

/// Alice has 30 directly in `low` and 10 in `top`, bob 20 in `top`, carol 40 in `other`. `low` is below `top`.
pub fn site() -> Site {
    let mut site = Site::new()
        .account("root", "top", 1)
        .account("top", "low", 1)
        .account("root", "other", 1)
        .user("low", "alice", 1, 30.0)
        .user("top", "alice", 1, 10.0)
        .user("top", "bob", 1, 20.0)
        .user("other", "carol", 1, 40.0)
        .qos(1, 80.0)
        .qos(2, 20.0);
    site.halflife.all = 200.0;
    site.halflife.groups.extend([(500, 150.0), (777, 50.0)]);
    site.halflife.partitions.extend([("debug".to_owned(), 20.0), ("batch".to_owned(), 180.0)]);
    site.halflife.capacity = 1_000.0;
    site
}

fn points(lines: &str) -> Cluster {
    let weights =
        "Component=FS FSUser=1 FSGroup=1 FSAccount=1 FSParent=1 FSQOS=1 FSClass=1\nTargetMetric=cpu\n";
    site().points(&format!("{weights}{lines}"))
}

/// Points of the jobs of alice in `low` and in `top`, of bob and of carol.
fn of_users(lines: &str) -> [i32; 4] {
    let cluster = points(lines);
    [("alice", "low"), ("alice", "top"), ("bob", "top"), ("carol", "other")]
        .map(|(user, account)| cluster.of(user, account))
}

#[test]
fn targets_of_users_and_accounts() {
    for (lines, expected) in [
        ("Target=User Name=alice Percent=50", [10, 10, 0, 0]),
        ("Target=User Name=ALICE Percent=50", [0, 0, 0, 0]),
        ("Target=Account Name=LOW Percent=50", [20, 0, 0, 0]),
        ("Target=User Name=* Percent=30", [-10, -10, 10, -10]),
        ("Target=User Name=* Percent=30 Type=floor", [0, 0, 10, 0]),
        ("Target=User Name=* Percent=30 Type=ceiling", [-10, -10, 0, -10]),
        ("Target=User Name=* Percent=30\nTarget=User Name=bob Percent=10", [-10, -10, -10, -10]),
        ("Target=User Name=bob Percent=30 Weight=3", [0, 0, 30, 0]),
        // Without the accounts below it.
        ("Target=Account Name=top Percent=50", [0, 20, 20, 0]),
        ("Target=Account Name=* Percent=50", [20, 20, 20, 10]),
        // The weight of the component is 1.
        ("Target=Account Name=top Percent=50 Weight=2", [0, 60, 60, 0]),
        ("Target=Account Name=top Percent=50 Weight=-3\nTarget=User Name=* Percent=30", [-10, -20, -60, -10]),
        ("Target=User Name=alice Percent=10%available", [6, 6, 0, 0]),
        // Usage in windows is ten times that by half-life, of its own total.
        ("Target=User Name=bob Percent=30 Window=yes", [0, 0, 10, 0]),
        ("Target=User Name=bob Percent=30\nTargetUsage=window", [0, 0, 10, 0]),
    ] {
        assert_eq!(of_users(lines), expected, "{lines}");
    }
}

#[test]
fn targets_of_other_objects() {
    let of = |lines: &str, qos: u32, group: u32, partition: &str| {
        let cluster = points(lines);
        let (qos, group) = (cluster.points.qos(qos), cluster.points.group(group));
        let partition = cluster.points.partition(partition);
        cluster.value(&PointsJob { qos, group, partition, ..cluster.job("bob", "top") })
    };
    for (lines, expected) in [
        ("Target=QOS Name=normal Percent=50", [-30, 0]),
        ("Target=QOS Name=* Percent=50\nTarget=QOS Name=Normal Percent=10", [-70, 30]),
        ("Target=Group Name=staff Percent=50", [-25, 0]),
        ("Target=Group Name=500 Percent=50", [-25, 0]),
        ("Target=Group Name=* Percent=50", [-25, 25]),
        ("Target=Group Name=* Percent=50 Weight=1", [-50, 50]),
        ("Target=Group Name=lost Percent=50", [0, 0]),
        ("Target=Partition Name=debug Percent=50", [40, 0]),
        ("Target=Partition Name=* Percent=50", [40, -40]),
        ("Target=Partition Name=* Percent=50\nTarget=Partition Name=batch Percent=0", [40, -90]),
    ] {
        assert_eq!([of(lines, 1, 500, "debug"), of(lines, 2, 777, "batch")], expected, "{lines}");
    }
    // Those that nothing is known of have used nothing.
    assert_eq!(of("Target=Partition Name=* Percent=50", 9, 9, "new"), 50);
    assert_eq!(of("Target=Group Name=* Percent=50", 9, 9, "new"), 50);
    assert_eq!(of("Target=QOS Name=* Percent=50", 9, 9, "new"), 50);
}

#[test]
fn nothing_used_at_all() {
    let lines = "Component=FS FSUser=1 FSParent=1 FSQOS=1\nTarget=User Name=* Percent=50\n\
                 Target=Parent Name=a Percent=50\nTarget=QOS Name=* Percent=5\n";
    assert_eq!(Site::new().with("a", "alice", 0.0).points(lines).of("alice", "a"), 0);
    let cap = "Component=FS\nTarget=User Name=* Percent=0 Type=cap\n";
    assert_eq!(Site::new().with("a", "alice", 0.0).points(cap).of("alice", "a"), 0);
    assert_eq!(Site::new().with("a", "alice", 1.0).points(cap).of("alice", "a"), -1_000_000);
}

/// Whether a job of alice in `low` with a request goes beyond a cap.
fn is_capped(lines: &str, request: f64) -> bool {
    let cluster = points(&format!("{lines}\nPointsCap=123"));
    let metric = Request { metric: request / HOUR, ..Request::default() };
    let job = PointsJob {
        request: metric,
        limit: HOUR,
        partition: cluster.points.partition("debug"),
        qos: cluster.points.qos(1),
        group: cluster.points.group(500),
        ..cluster.job("alice", "low")
    };
    let value = cluster.value(&job);
    assert!([0, -123].contains(&value), "{lines}: {value}");
    assert_eq!(cluster.points.explain(&job).is_capped, value != 0, "{lines}");
    let beyond = cluster.beyond(&job);
    assert_eq!(!beyond.is_empty(), value != 0, "{lines}: {beyond:?}");
    assert!(beyond.iter().all(|cap| cap.used + cap.requested > cap.allowed && !cap.stops), "{beyond:?}");
    assert!(!cluster.points.is_stopped(&job), "{lines}");
    // With Block the same jobs are stopped, and those alone.
    let blocking = points(&format!("{}\nPointsCap=123", lines.replace("Type=cap", "Type=cap Block=yes")));
    assert_eq!(blocking.points.is_stopped(&job), value != 0, "{lines}");
    assert_eq!(blocking.value(&job), value, "{lines}");
    assert!(blocking.beyond(&job).iter().all(|cap| cap.stops), "{lines}");
    value != 0
}

#[test]
fn caps() {
    for (lines, room) in [
        ("Target=User Name=alice Percent=50 Type=cap", 10.0),
        ("Target=User Name=* Percent=50 Type=cap", 10.0),
        ("Target=Account Name=low Percent=50 Type=cap", 20.0),
        ("Target=Parent Name=top Percent=70 Type=cap", 10.0),
        ("Target=Parent Name=* Percent=70 Type=cap", 10.0),
        ("Target=Parent Name=low Percent=31 Type=cap\nTarget=Parent Name=top Percent=70 Type=cap", 1.0),
        ("Target=QOS Name=normal Percent=85 Type=cap", 5.0),
        ("Target=Group Name=staff Percent=80 Type=cap", 10.0),
        ("Target=Partition Name=debug Percent=20 Type=cap", 20.0),
        ("Target=User Name=alice Percent=5%available Type=cap", 10.0),
        ("Target=User Name=alice Amount=0.02 Type=cap", 32.0),
        ("Target=User Name=alice Amount=0.5 Type=cap Window=yes", 1_400.0),
        // The tightest holds.
        ("Target=User Name=alice Amount=0.02 Type=cap\nTarget=QOS Name=* Percent=85 Type=cap", 5.0),
    ] {
        assert!(!is_capped(lines, room - 0.01), "{lines}: room for {room}");
        assert!(is_capped(lines, room + 0.01), "{lines}: no room for more than {room}");
    }
    for lines in [
        "Target=User Name=bob Percent=1 Type=cap",
        "Target=Account Name=top Percent=1 Type=cap",
        "Target=User Name=alice Percent=100 Type=cap\nTarget=User Name=* Percent=0 Type=cap",
    ] {
        assert!(!is_capped(lines, 1.0), "{lines}");
    }
}

/// Of two caps one stops jobs; a cap of a parent holds for all below it.
#[test]
fn only_caps_with_block_stop_jobs() {
    let cluster = points(
        "Target=User Name=alice Percent=30 Type=cap\nTarget=Parent Name=top Percent=70 Type=cap Block=yes\nPointsCap=123",
    );
    let job = |metric: f64| PointsJob {
        request: Request { metric, ..Request::default() },
        limit: 1.0,
        ..cluster.job("alice", "low")
    };
    // Parents have room for 10.
    assert!(!cluster.points.is_stopped(&job(9.99)) && cluster.points.is_stopped(&job(10.01)));
    assert_eq!([cluster.value(&job(9.99)), cluster.value(&job(10.01))], [-123, -123]);
    let beyond: Vec<_> = cluster.beyond(&job(10.01)).iter().map(|cap| (cap.kind, cap.stops)).collect();
    assert_eq!(beyond, [(TargetKind::User, false), (TargetKind::Parent, true)]);
    let runs = PointsJob { elapsed: Some(1.0), ..job(1_000.0) };
    assert!(!cluster.points.is_stopped(&runs), "one that runs goes on");
}

/// A user whom a line names, and an account that is newer than the tree.
#[test]
fn who_is_newer_than_the_tree_is_stopped_by_what_is_known() {
    let cluster = points(
        "Target=User Name=alice Amount=0 Type=cap Block=yes\nTarget=Account Name=low Amount=0 Type=cap Block=yes",
    );
    let stopped = |user, account| {
        let request = Request { metric: 1.0, ..Request::default() };
        let newcomer = Some(Names { user, account });
        let job = PointsJob { newcomer, request, limit: 1.0, ..PointsJob::default() };
        cluster.points.is_stopped(&job)
    };
    assert!(stopped("alice", "new") && stopped("new", "low") && stopped("new", "LOW"));
    assert!(!stopped("new", "new") && !stopped("bob", "top"));
}

#[test]
fn nobody_is_stopped_before_usage_was_weighed() {
    let settings = Settings::parse("Target=User Name=* Amount=0 Type=cap Block=yes", "f").unwrap().settings;
    let points = Points::configured(&settings).unwrap();
    let request = Request { metric: 1.0, ..Request::default() };
    assert!(!points.is_stopped(&PointsJob { request, limit: 1.0, ..PointsJob::default() }));
}

#[test]
fn a_running_job_requests_nothing_more() {
    let cluster = points("Target=User Name=alice Percent=50 Type=cap\nPointsCap=123");
    let request = Request { metric: 1_000.0, ..Request::default() };
    let waits = PointsJob { request, limit: HOUR, ..cluster.job("alice", "low") };
    assert_eq!(cluster.value(&waits), -123);
    assert_eq!(cluster.value(&PointsJob { elapsed: Some(1.0), ..waits }), 0);
    let cluster = points("Target=User Name=alice Percent=30 Type=cap\nPointsCap=123");
    assert_eq!(cluster.value(&PointsJob { elapsed: Some(1.0), ..cluster.job("alice", "low") }), -123);
}

#[test]
fn a_cap_and_a_target_of_one_name() {
    let cluster =
        points("Target=User Name=alice Percent=50\nTarget=User Name=alice Percent=60 Type=cap\nPointsCap=99");
    let job = |metric: f64| PointsJob {
        request: Request { metric, ..Request::default() },
        limit: 1.0,
        ..cluster.job("alice", "low")
    };
    assert_eq!([cluster.value(&job(20.0)), cluster.value(&job(20.1))], [10, -99]);
}

/// Partitions and groups come with usage and go with it; who is on a line stays.
#[test]
fn objects_that_only_usage_knows() {
    let mut cluster = points("Target=Partition Name=* Percent=50\nTarget=Partition Name=debug Percent=40");
    let of = |cluster: &Cluster, name: &str| {
        let partition = cluster.points.partition(name);
        cluster.value(&PointsJob { partition, ..cluster.job("bob", "top") })
    };
    for round in 0..20 {
        let used = (0..100).map(|at| (format!("p{}", round * 100 + at), 20.0));
        cluster.site.halflife.partitions = used.collect();
        cluster.site.halflife.partitions.insert("debug".into(), 100.0);
        cluster.weigh();
        assert_eq!(of(&cluster, &format!("p{}", round * 100 + 99)), 40, "{round}");
        assert_eq!(of(&cluster, "debug"), -10, "{round}");
        assert_eq!(of(&cluster, "unknown"), 50, "{round}");
    }
    let size = format!("{:?}", cluster.points).len();
    assert!(size < 1_000_000, "it grows: {size}");
}

/// Nobody is far from a target where nothing was used at all, also of what was there to use: after a reset, and at the very start.
#[test]
fn before_anything_is_delivered_nobody_is_below_a_target_of_what_was_available() {
    let lines =
        "Component=FS FSUser=1 FSAccount=1\nTargetMetric=cpu\nTarget=User Name=* Percent=10%available\n\
                 Target=Account Name=* Percent=10%available Type=floor\n";
    let with = |delivered| {
        let mut site = Site::new().account("root", "top", 1).account("root", "other", 1);
        site = site.user("top", "alice", 1, 0.0).user("other", "bob", 1, delivered);
        site.halflife.all = delivered;
        site.halflife.capacity = 1_000.0;
        site.points(lines).of("alice", "top")
    };
    assert_eq!(with(0.0), 0);
    assert_eq!(with(1.0), 20, "once somebody has used something, who has not is far below");
}

/// One row a distance, in their order: the step of each follows from the one before.
#[test]
fn a_distance_leaves_its_step_when_it_is_a_whole_one_away() {
    let mut level = 0;
    for (distance, due) in [
        (4.9, 0),
        (5.0, 1),
        (9.9, 1),
        (10.0, 2),
        (5.1, 2),
        (5.0, 1),
        (0.1, 1),
        (0.0, 0),
        (-4.9, 0),
        (-5.0, -1),
        (-9.9, -1),
        (17.0, 3),
        (-17.0, -3),
        (-12.0, -3),
        (-10.0, -2),
        (f64::NAN, 0),
        (f64::INFINITY, 0),
        (1e300, 200_000_000_000_000),
    ] {
        level = step(level, distance, 5.0);
        assert_eq!(level, due, "{distance}");
    }
    assert_eq!([step(3, 17.0, 0.0), step(3, 17.0, -1.0), step(0, 1e15, 1e-300)], [0, 0, 0]);
}

/// What FS is under `FSStep`, of everybody who has a target, and after a restart.
#[test]
fn distances_count_in_steps() {
    for (line, of, due) in [
        // 40, 30 and 80 percent are used.
        ("Target=User Name=alice Percent=50", ("User", "alice"), 8),
        ("Target=Account Name=low Percent=44", ("Account", "low"), 12),
        ("Target=QOS Name=normal Percent=77", ("QOS", "1"), 0),
        ("Target=QOS Name=normal Percent=71", ("QOS", "1"), -8),
        ("Target=User Name=alice Percent=80 Mode=ratio Weight=1000", ("User", "alice"), 480),
        // Half of what is used in top, and top 60 percent of all.
        ("Target=Parent Name=low Percent=41", ("Parent", "low"), -16),
    ] {
        let lines = format!("{line}\nFSStep=4\n");
        let of = (of.0.to_owned(), of.1.to_owned());
        let mut cluster = points(&lines);
        let value = |cluster: &Cluster| {
            cluster.value(&PointsJob { qos: cluster.points.qos(1), ..cluster.job("alice", "low") })
        };
        assert_eq!(value(&cluster), due, "{line}");
        let kept = cluster.points.kept_steps().unwrap();
        let step = kept.get(&of).copied().unwrap_or_default();
        // A restart goes on with what was kept.
        let restarted = |cluster: &mut Cluster, step: i64| {
            let steps = kept.iter().map(|(name, step)| (name.clone(), *step));
            let steps = steps.filter(|(name, _)| *name != of).chain([(of.clone(), step)]).collect();
            cluster.points = points(&lines).points;
            cluster.points.restore_steps(&steps);
            cluster.weigh();
            let once = value(cluster);
            cluster.weigh();
            assert_eq!(value(cluster), once, "{line}: a second look changes nothing");
            once
        };
        assert_eq!(restarted(&mut cluster, step), due, "{line}");
        // From two steps above it comes to one above, and no further; from far away likewise.
        let above = restarted(&mut cluster, step + 3);
        assert!(above >= due, "{line}: {above}");
        assert_eq!(restarted(&mut cluster, step + 300), above, "{line}");
    }
}

#[test]
fn without_steps_none_are_kept() {
    assert_eq!(points("Target=User Name=alice Percent=50").points.kept_steps(), None);
}

/// What `multifactor2 tree --targets` says of each target of a site.
fn listed(cluster: &Cluster) -> Vec<Listed> {
    let usage = cluster.site.usage(&cluster.tree);
    cluster.points.listing(&cluster.tree, usage.each_ref(), &["batch", "debug"])
}

/// The points that the distance of somebody gives to all jobs alike, in all usage or in a book.
fn told(lines: &str, whose: &Whose, book: Option<&str>) -> Option<f64> {
    let mut cluster = site().points(lines);
    // What was used counts in each book.
    let [usage, _] = cluster.site.usage(&cluster.tree);
    let books = vec![usage; cluster.points.target_books().count()];
    cluster.points.weigh_books(&cluster.tree, &books);
    let rows = listed(&cluster);
    let mut rows = rows.iter().filter(|row| row.whose == *whose && row.book.as_deref() == book);
    match rows.next().unwrap_or_else(|| panic!("{lines}: {whose:?} has no row")).standing {
        TargetStanding::Goal { points, .. } => points,
        TargetStanding::Cap { .. } => panic!("{lines}: {whose:?} has a cap"),
    }
}

/// Where points depend on the job, too, they are not told.
#[test]
fn points_of_a_target_are_told_where_all_jobs_have_them() {
    let (bob, top, short) = (Whose::User("bob".to_owned()), Whose::Account("top".to_owned()), Whose::Qos(2));
    let of_all = |lines: &str, whose: &Whose| told(lines, whose, None);
    // bob has used 20 of 100, and so much QOS 2; top without those below it 30.
    let (of_bob, of_short) = ("Target=User Name=bob Percent=50", "Target=QOS Name=short Percent=50");
    let weighs = "Component=FS Weight=3 FSAccount=10 FSUser=10\nTarget=Account Name=top Percent=50 Weight=2";
    assert_eq!(of_all(weighs, &top), Some((3.0 + 2.0) * 10.0 * 20.0));
    assert_eq!(of_all(&format!("{weighs}\n{of_bob}"), &bob), None, "it depends on the account");
    // Caps are of what counts of a job in all books, and these have users, but no QOS.
    let book = "Book=cards Partitions=gpu\nTarget=User Name=carol Percent=10 Book=cards";
    let capped = "Component=FS FSUser=10 FSUserCap=2000 FSQOS=10 FSQOSCap=2000";
    assert_eq!(of_all(&format!("{capped}\n{of_bob}"), &bob), Some(300.0));
    assert_eq!(of_all(&format!("{capped}\n{of_bob}\n{book}"), &bob), None);
    assert_eq!(of_all(&format!("{capped}\n{of_short}\n{book}"), &short), Some(300.0));
    let in_book = format!("{book}\nComponent=FS Weight=3 FSAccount=10 FSUser=10\nTarget=Account Name=top Percent=50 Weight=2 Book=cards\n{of_bob}");
    assert_eq!(told(&in_book, &top, Some("cards")), Some(1000.0));
    assert_eq!(told(&in_book, &bob, None), None);
    // Without a weight there is nothing, neither above nor below zero.
    let nothing = "PointsWeight=0\nComponent=FS FSUser=10\nTarget=User Name=bob Percent=10";
    assert_eq!(of_all(nothing, &bob).map(f64::to_bits), Some(0.0_f64.to_bits()));
}

#[test]
fn a_cap_says_whether_it_is_of_usage_in_windows() {
    for (line, in_windows) in [("", false), (" Window=yes", true)] {
        for kind in ["Percent=50", "Percent=50 Type=cap"] {
            let cluster = points(&format!("Target=User Name=bob {kind}{line}"));
            let rows: Vec<bool> = listed(&cluster).iter().map(|row| row.in_windows).collect();
            assert_eq!(rows, [in_windows], "{kind}{line}");
        }
    }
}
