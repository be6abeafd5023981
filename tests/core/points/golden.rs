//! The numbers that the manuals print, and those of the issue.

use multifactor2_core::policy::points::{expansion_factor, processor_equivalents, Curve, PointsJob};
use multifactor2_fixtures::assert_near;

use super::{value, waited, Site, HOUR};

/// Maui Administrator's Guide, 5.1.2.2: a user at 45 of 50, an account at 35 of 25, a QOS at 25 of at least 10.
fn fair_share(mode: &str) -> i32 {
    let lines = "Component=FS Weight=100 FSUser=10 FSGroup=20 FSAccount=30 FSQOS=40 FSClass=0\n\
                 Target=User Name=john Percent=50 MODE\n\
                 Target=Account Name=physics Percent=25 MODE\n\
                 Target=QOS Name=normal Percent=10 Type=floor MODE\n";
    let site = Site::new()
        .with("physics", "john", 35.0)
        .with("maths", "john", 10.0)
        .with("maths", "paul", 55.0)
        .qos(1, 25.0);
    let cluster = site.points(&lines.replace("MODE", mode));
    let qos = cluster.points.qos(1);
    cluster.value(&PointsJob { qos, ..cluster.job("john", "physics") })
}

#[test]
fn fair_share_by_difference() {
    assert_eq!(fair_share(""), -25_000);
}

#[test]
fn fair_share_by_ratio() {
    assert_eq!(fair_share("Mode=ratio"), -1_100);
}

#[test]
fn expansion_factors() {
    let table = [(1.0, [2.0, 3.0, 5.0, 9.0, 17.0]), (4.0, [1.25, 1.5, 2.0, 3.0, 5.0])];
    for (limit, row) in table {
        for (waited_hours, expected) in [1.0, 2.0, 4.0, 8.0, 16.0].into_iter().zip(row) {
            let found = expansion_factor(waited_hours * HOUR, limit * HOUR, 0.0);
            assert_near(found, expected, &format!("{limit} {waited_hours}"));
            let points = value("Component=SERV XFactor=100", &waited(waited_hours * HOUR, limit * HOUR));
            assert_near(f64::from(points), expected * 100.0, &format!("{limit} {waited_hours}"));
        }
    }
    // The manual's way where the limit is shorter than the least: the code of Maui gives 2.2.
    assert_near(expansion_factor(600.0, 60.0, 300.0), 3.0, "shorter than the least");
    assert_near(expansion_factor(10.0, 0.0, 0.0), 11.0, "no limit at all");
}

#[test]
fn equivalents() {
    // A quarter of the processors and half the memory of 128 processors.
    assert_near(processor_equivalents([(32.0, 128.0), (50.0, 100.0)], 128.0), 64.0, "Maui 5.1.2.3");
    // Two processors and 768 MB of a hundred nodes with four processors and 1 GB.
    assert_near(processor_equivalents([(2.0, 400.0), (768.0, 102_400.0)], 400.0), 3.0, "Maui 3.2.1.7");
    assert_near(processor_equivalents([(2.0, 400.0), (8.0, 0.0)], 400.0), 2.0, "a total of 0");
    assert_near(processor_equivalents([], 400.0), 0.0, "nothing");
}

#[test]
fn curve_of_maui() {
    for (waited, expected) in [(0.0, 2.777_8e-4), (30.0, 1.111_1e-3), (50.0, 0.01), (59.0, 1.0), (60.0, 1e8)]
    {
        let found = Curve::Maui.value(60.0, waited);
        assert!((found / expected - 1.0).abs() < 1e-4, "{waited}: {found}, not {expected}");
    }
    assert_near(Curve::Maui.value(60.0, 1e6), 1e8, "long after");
    assert_near(Curve::Maui.value(0.0, 10.0), 0.0, "no target");
}

#[test]
fn bounded_curve() {
    let quarter = Curve::Bounded.value(60.0, 59.0);
    assert_near(quarter, 0.25, "a minute before an hour");
    assert_near(Curve::Bounded.value(3600.0, 3540.0), quarter, "in seconds");
    assert_near(Curve::Bounded.value(60.0, 0.0), 1.0 / 3721.0, "at the beginning");
    for waited in [60.0, 61.0, 1e9] {
        assert_near(Curve::Bounded.value(60.0, waited), 1.0, "from the target on");
    }
    assert_near(Curve::Bounded.value(0.0, 10.0), 0.0, "no target");
}

#[test]
fn target_component() {
    let lines = "Component=TARGET TargetQueueTime=1000000 TargetXFactor=1000\nPointsCap=2000000000\n\
                 Service=QOS Name=* TargetQueueTime=01:00:00 Curve=maui\n";
    for (minutes, expected) in [(0.0, 278), (30.0, 1_111), (50.0, 10_000), (59.0, 1_000_000)] {
        assert_eq!(value(lines, &waited(minutes * 60.0, HOUR)), expected, "{minutes}");
    }
    assert_eq!(value(lines, &waited(HOUR, HOUR)), 2_000_000_000, "beyond the cap");
    // XFactor 2 of 3: 3/60 = 0.05, (0.05 / 1.05)².
    let lines = "Component=TARGET TargetXFactor=1000000\nService=Partition Name=* TargetXFactor=3";
    assert_eq!(value(lines, &waited(HOUR, HOUR)), 2_268);
    assert_eq!(value(lines, &waited(2.0 * HOUR, HOUR)), 1_000_000);
}

/// The example of Maui's 5.1.2.1.
#[test]
fn credentials() {
    let cluster = Site::new().with("a", "john", 0.0).with("a", "paul", 0.0).with("a", "ringo", 0.0).points(
        "Component=CRED User=1 Group=1\n\
         Credential=User Name=john Priority=2000\n\
         Credential=User Name=paul Priority=-1000\n\
         Credential=Group Name=staff Priority=10000\n",
    );
    let group = cluster.points.group(500);
    for (user, expected) in [("john", 2_000), ("paul", -1_000), ("ringo", 0)] {
        assert_eq!(cluster.of(user, "a"), expected);
        assert_eq!(cluster.value(&PointsJob { group, ..cluster.job(user, "a") }), expected + 10_000);
    }
}
