//! What dilution does to shares in the long run, and to a cluster that has drained: the numbers of docs/weights.md.

use multifactor2_core::settings::Settings;
use multifactor2_core::USE_PARENT;

use crate::saturated::{error, Cluster, Jobs, Run, Time, LONG, SHORT};
use crate::simulation::{accounts, owned, EXAMPLE};

const DISTRIBUTIONS: [&str; 3] = ["tickets", "standing", "strict"];
const DILUTIONS: [&str; 3] = ["none", "user", "tree"];
const UNITS: [&str; 4] = ["job", "cpu", "billing", "committed"];
/// Those with dilution that are not refused.
const DILUTED: [(&str, &str); 5] = [
    ("tickets", "user"),
    ("tickets", "tree"),
    ("standing", "user"),
    ("standing", "tree"),
    ("strict", "user"),
];

/// The most that all users together may be away from their shares.
const ERROR: f64 = 0.03;

/// Slots of the larger machine, for most users no whole number.
const LARGE: u32 = 250;

/// Name of the parent, name, shares, whether it is a user.
type Rows<'t> = &'t [(&'t str, &'t str, u32, bool)];

const THREE: Rows = &[("", "a", 10, true), ("", "b", 30, true), ("", "c", 60, true)];
const TWO: Rows = &[("", "a", 60, true), ("", "b", 40, true)];
const EQUAL: Rows = &[("", "a", 1, true), ("", "b", 1, true)];

fn settings(distribution: &str, dilution: &str, more: &str) -> String {
    format!("Distribution={distribution} Dilution={dilution} {more}")
}

fn settle(slots: u32, jobs: Jobs, tree: Rows<'_>, settings: &str) -> Vec<(f64, f64)> {
    Run::new(Cluster { slots, jobs, time: SHORT }, &owned(tree), settings).settle()
}

fn settle_long(tree: Rows<'_>, settings: &str) -> Vec<(f64, f64)> {
    Run::new(Cluster { slots: 60, jobs: Jobs::Alike, time: LONG }, &owned(tree), settings).settle()
}

/// The cells of the row of docs/weights.md, section "With dilution", that begins with a cell.
fn row(first: &str) -> Vec<String> {
    let page = include_str!("../../docs/weights.md");
    let section = page.split("\n## ").find(|section| section.starts_with("With dilution")).unwrap();
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let row = section.lines().map(cells).find(|row| row[0] == first);
    row.unwrap_or_else(|| panic!("no row {first}"))[1..].to_vec()
}

/// A cell of numbers such as `10 : 30 : 60`, against what was found.
#[track_caller]
fn assert_cell(cell: &str, found: &[f64], within: f64) {
    let written: Vec<f64> = cell.split(':').map(|number| number.trim().parse().unwrap()).collect();
    let near = written.iter().zip(found).all(|(written, found)| (written - found).abs() <= within);
    assert!(near && written.len() == found.len(), "{cell}, not {found:?}");
}

fn percent(settled: &[(f64, f64)]) -> Vec<f64> {
    settled.iter().map(|(had, _)| 100.0 * had).collect()
}

/// Prints the first table of the section. Only `tickets` without dilution is not on the shares: it is as documented for
/// multifactor2.
#[test]
fn ten_thirty_sixty_settle_as_the_page_says() {
    for distribution in DISTRIBUTIONS {
        let mut settles = Vec::new();
        for dilution in DILUTIONS {
            let settings = settings(distribution, dilution, "");
            if let Err(errors) = Settings::parse(&settings, "test") {
                assert_eq!((distribution, dilution), ("strict", "tree"), "{errors:?}");
                settles.push(None);
                continue;
            }
            let found = settle_long(THREE, &settings);
            let on_shares = error(&found) <= ERROR;
            assert_eq!(on_shares, (distribution, dilution) != ("tickets", "none"), "{settings}: {found:?}");
            settles.push(Some(percent(&found)));
        }
        println!("`{distribution}`: {settles:.0?}");
        for (cell, found) in row(&format!("`{distribution}`")).iter().zip(settles) {
            match found {
                Some(found) => assert_cell(cell, &found, 0.6),
                None => assert_eq!(cell, "not allowed"),
            }
        }
    }
}

/// Prints the second table: the largest error of three trees, by unit. The users with the least share have 12.5 CPUs
/// each.
#[test]
fn shares_are_kept_in_every_unit() {
    let largest_error = |distribution: &str, dilution: &str, unit: &str| {
        let jobs = if unit == "job" { Jobs::Alike } else { Jobs::Mixed };
        let settings = settings(distribution, dilution, &format!("DilutionUnit={unit}"));
        [TWO, THREE, EXAMPLE]
            .map(|tree| error(&settle(LARGE, jobs, tree, &settings)))
            .into_iter()
            .fold(0.0, f64::max)
    };
    let rows = DILUTED.map(|(distribution, dilution)| {
        (
            format!("`{distribution}`, `{dilution}`"),
            UNITS.map(|unit| largest_error(distribution, dilution, unit)),
        )
    });
    for (first, [job, cpu, billing, committed]) in &rows {
        println!("| {first} | {job:.3} | {cpu:.3} | {billing:.3} | {committed:.3} |");
    }
    for (first, errors) in rows {
        assert!(errors.iter().all(|error| *error <= ERROR), "{first}: {errors:?}");
        for (cell, error) in row(&first).iter().zip(errors) {
            assert_cell(cell, &[error], 0.006);
        }
    }
}

/// A user has 36 to 3 of 60 slots. Those who run one or two jobs at a time are further from their shares, as jobs are whole.
#[test]
fn shares_are_kept_on_a_small_machine() {
    for (distribution, dilution) in DILUTED {
        for unit in UNITS {
            let settings = settings(distribution, dilution, &format!("DilutionUnit={unit}"));
            for tree in [TWO, THREE, EXAMPLE] {
                let found = |slots, jobs| error(&settle(slots, jobs, tree, &settings));
                let alike = [57, 60].map(|slots| found(slots, Jobs::Alike));
                assert!(alike.iter().all(|error| *error <= ERROR), "{settings}: {alike:?}");
                let mixed = found(60, Jobs::Mixed);
                assert!(mixed <= 0.07, "{settings}: {mixed}");
            }
        }
    }
}

/// With `user` it takes ten slots for each user. With `tree` the accounts have their halves even where each of the 20 has one and a
/// half.
#[test]
fn twenty_users_against_one() {
    let tree = accounts(&[(50, 20), (50, 1)]);
    let time = Time { half_lives: 2, ..SHORT };
    for (distribution, dilution) in DILUTED {
        let found = |slots, unit, jobs| {
            let settings = settings(distribution, dilution, &format!("DilutionUnit={unit}"));
            let found = error(&Run::new(Cluster { slots, jobs, time }, &tree, &settings).settle());
            println!("20 users against 1, {slots} slots, {settings}: {found:.3}");
            found
        };
        if dilution == "tree" {
            assert!(found(60, "job", Jobs::Alike) <= ERROR);
            assert!(found(60, "committed", Jobs::Mixed) <= ERROR);
        } else {
            assert!((found(60, "job", Jobs::Alike) - 0.1).abs() <= 0.01);
            assert!(found(410, "job", Jobs::Alike) <= ERROR);
            assert!(found(430, "job", Jobs::Alike) <= ERROR);
        }
    }
}

/// Under `tickets` it comes to rest where S²/U = n^e and U = n. Under the others F is divided by n/S, and both are 1.
#[test]
fn another_exponent_moves_tickets_away_from_the_shares() {
    for (distribution, dilution) in DILUTED {
        let settings = settings(distribution, dilution, "DilutionExponent=0.5");
        let expected = if distribution == "tickets" { "6 : 27 : 67" } else { "10 : 30 : 60" };
        assert_cell(expected, &percent(&settle(60, Jobs::Alike, THREE, &settings)), 1.0);
    }
}

/// Five slots come free at once.
#[test]
fn without_running_jobs_shares_are_not_kept() {
    for (distribution, dilution) in DILUTED {
        let settings = settings(distribution, dilution, "DilutionRunning=no");
        let found = settle_long(THREE, &settings);
        assert!(error(&found) > ERROR, "{settings}: {found:?}");
    }
}

/// Two equal users of whom one has jobs, or limits, four times as large as the other.
#[test]
fn what_is_counted_should_be_what_is_charged() {
    let found = |jobs, unit| {
        let settings = settings("tickets", "user", &format!("DilutionUnit={unit}"));
        percent(&settle(LARGE, jobs, EQUAL, &settings))
    };
    assert_cell("67 : 33", &found(Jobs::FirstIsWide, "job"), 1.5);
    for unit in ["cpu", "billing", "committed"] {
        assert_cell("50 : 50", &found(Jobs::FirstIsWide, unit), 1.5);
    }
    assert_cell("50 : 50", &found(Jobs::FirstAsksForMore, "billing"), 1.5);
    assert_cell("29 : 71", &found(Jobs::FirstAsksForMore, "committed"), 1.5);
}

/// Four users with `Fairshare=parent` have the tickets of their account each.
#[test]
fn users_with_the_shares_of_their_account() {
    let user = |name| ("A", name, USE_PARENT, true);
    let tree = [
        ("", "A", 1, false),
        user("a"),
        user("b"),
        user("c"),
        user("d"),
        ("", "B", 1, false),
        ("B", "e", 1, true),
    ];
    let of_e = |settings: &str| 100.0 * settle(60, Jobs::Alike, &tree, settings)[4].0;
    for (distribution, dilution) in DILUTED {
        let found = of_e(&settings(distribution, dilution, ""));
        let expected = if dilution == "tree" { 50.0 } else { 33.3 };
        assert!((found - expected).abs() <= 2.0, "{distribution}, {dilution}: {found}");
    }
    let split = of_e(&settings("tickets", "user", "ParentUsers=split"));
    assert!((split - 50.0).abs() <= 2.0, "{split}");
}

/// All slots are free, and two equal users have more jobs than fit. Without dilution all go to one of them.
#[test]
fn a_drained_cluster_goes_to_two_equal_users_in_halves() {
    let accounts =
        [("", "A", 1, false), ("A", "a", 1, true), ("", "B", 1, false), ("B", "b", 1, true)].as_slice();
    let one_account = [("", "A", 1, false), ("A", "a", 1, true), ("A", "b", 1, true)].as_slice();
    for tree in [EQUAL, accounts, one_account] {
        for slots in [1, 2, 61, 240] {
            let cluster = Cluster { slots, jobs: Jobs::Alike, time: SHORT };
            let started = |settings: &str| {
                let mut run = Run::new(cluster, &owned(tree), settings);
                run.pass();
                run.running()
            };
            for (distribution, dilution) in DILUTED {
                for unit in UNITS {
                    let settings = settings(distribution, dilution, &format!("DilutionUnit={unit}"));
                    let found = started(&settings);
                    assert_eq!(found.iter().sum::<u32>(), slots);
                    assert!(found[0].abs_diff(found[1]) <= 1, "{settings}: {found:?}");
                }
            }
            for distribution in DISTRIBUTIONS {
                assert!(started(&settings(distribution, "none", "")).contains(&slots));
            }
        }
    }
}
