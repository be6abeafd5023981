//! Targets of accounts along the tree.

use multifactor2_core::rules::targets::{Tier, Tiers};
use multifactor2_core::USE_PARENT;
use multifactor2_fixtures::assert_near;

use super::{settings, Site};

/// The sum of a path with these distances.
fn sum(deltas: &[f64], cap: bool, multiplier: f64) -> f64 {
    let tiers = Tiers { cap, multiplier };
    deltas.iter().fold(Tier::ROOT, |tier, delta| tier.below(*delta, 1.0, tiers)).sum()
}

#[test]
fn levels_count_together() {
    for (deltas, cap, multiplier, expected) in [
        (&[10.0, 20.0, -5.0][..], false, 0.0, 25.0),
        (&[10.0, 20.0, -5.0], true, 0.0, 15.0),
        (&[10.0, 20.0, -5.0, -8.0], true, 0.0, 10.0),
        (&[-10.0, -20.0, 30.0], true, 0.0, 10.0),
        (&[0.0, 20.0], true, 0.0, 20.0),
        (&[10.0, 4.0, 8.0], true, 0.0, 18.0),
        // Halves from level to level, down and up.
        (&[8.0, 8.0, 8.0], false, 1.0, 14.0),
        (&[16.0, 4.0, 8.0], false, -1.0, 14.0),
        (&[16.0, 4.0, 8.0], true, -1.0, 10.0),
        (&[8.0, 8.0, 8.0], false, 1e9, 8.0),
        (&[8.0, 8.0, 8.0], false, -1e9, 8.0),
        (&[], true, -1.0, 0.0),
    ] {
        let found = sum(deltas, cap, multiplier);
        assert!((found - expected).abs() < 1e-6, "{deltas:?} {cap} {multiplier}: {found}, not {expected}");
    }
    assert_near(sum(&[f64::NAN, f64::INFINITY, 1.0], true, f64::NAN), 1.0, "not numbers");
}

/// Accounts a and b share 3:1, both have used 50. In a are alice and a1 with shares 1:1 and usage 10 and 40. In a1 is ann.
fn site() -> Site {
    Site::new()
        .account("root", "a", 3)
        .account("root", "b", 1)
        .user("a", "alice", 1, 10.0)
        .account("a", "a1", 1)
        .user("a1", "ann", 1, 40.0)
        .user("b", "bob", 1, 50.0)
}

/// The points of alice, ann and bob.
fn of(site: Site, lines: &str) -> [i32; 3] {
    let cluster = site.points(&format!("Component=FS FSParent=1\n{lines}"));
    [("alice", "a"), ("ann", "a1"), ("bob", "b")].map(|(user, account)| cluster.of(user, account))
}

#[test]
fn shares_are_targets_where_no_line_is() {
    // a: 75 - 50; alice: 50 - 20; a1: 50 - 80; ann and bob: 100 - 100; b: 40 - 50 by its line.
    let line = "Target=Parent Name=b Percent=40\n";
    assert_eq!(of(site(), line), [55, -5, -10]);
    assert_eq!(of(site(), &format!("{line}CapTiers=yes")), [50, -5, -10]);
    assert_eq!(of(site(), &format!("{line}TierMultiplier=1")), [40, 10, -10]);
    // -10/2 + 0, (25/2 - 30)/2 + 0, 25/2 + 30.
    assert_eq!(of(site(), &format!("{line}TierMultiplier=-1")), [43, -9, -5]);
    // A cap alone does not bring the tree.
    assert_eq!(of(site(), "Target=Parent Name=b Percent=100 Type=cap"), [0, 0, 0]);
}

#[test]
fn lines_for_levels() {
    for (lines, expected) in [
        ("Target=Parent Name=a Percent=60", [40, -20, -25]),
        ("Target=Parent Name=a Percent=60 Type=ceiling", [30, -30, -25]),
        ("Target=Parent Name=a Percent=40 Type=ceiling", [20, -40, -25]),
        ("Target=Parent Name=a Percent=40 Type=floor", [30, -30, -25]),
        ("Target=Parent Name=a Percent=60 Weight=3", [60, 0, -25]),
        ("Target=Parent Name=a,a1 Percent=60", [40, -10, -25]),
        // The weight comes after the cap of the level above: 10 * 3 + 10, -20 alone.
        ("Target=Parent Name=a Percent=60 Weight=3\nCapTiers=yes", [40, 0, -25]),
        // `*` is for accounts; users have their shares.
        ("Target=Parent Name=* Percent=50", [30, -30, 0]),
        ("Target=Parent Name=* Percent=50\nTarget=Parent Name=a1 Percent=80", [30, 0, 0]),
        // 1 - 50/100, of points of the component times 100.
        ("Target=Parent Name=a Percent=100 Mode=ratio Weight=100", [80, 20, -25]),
    ] {
        assert_eq!(of(site(), lines), expected, "{lines}");
    }
}

#[test]
fn a_member_that_uses_the_account() {
    let site = Site::new()
        .account("root", "a", 1)
        .account("root", "b", 1)
        .user("a", "alice", USE_PARENT, 30.0)
        .account("a", "a1", USE_PARENT)
        .user("a1", "ann", 1, 30.0)
        .user("b", "bob", 1, 40.0);
    // a is one level and has none below it but ann, who is alone on hers.
    assert_eq!(of(site, "Target=Parent Name=b Percent=50"), [-10, -10, 10]);
}

#[test]
fn an_account_that_nobody_has_used() {
    let site = site().account("root", "c", 4).user("c", "carl", 2, 0.0).user("c", "cora", 2, 0.0);
    let cluster = site.points("Component=FS FSParent=1\nTarget=Parent Name=a Percent=10");
    // 100 * 4/8, and half of what nobody has used.
    assert_eq!(cluster.of("carl", "c"), 100);
}

/// The path does not end at a hundred levels.
#[test]
fn deep() {
    let mut site = Site::new().account("root", "l0", 1).account("root", "beside", 1);
    for level in 1..100 {
        site = site.account(&format!("l{}", level - 1), &format!("l{level}"), 1);
    }
    let site = site.user("l99", "alice", 1, 30.0).user("beside", "bob", 1, 70.0);
    let cluster = site.points("Component=FS FSParent=1\nTarget=Parent Name=beside Percent=50");
    assert_eq!([cluster.of("alice", "l99"), cluster.of("bob", "beside")], [20, -20]);
    assert!(settings("TierMultiplier=-1000").tier_multiplier < 0.0);
}
