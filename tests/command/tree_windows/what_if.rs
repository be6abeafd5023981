//! Changes where the share tree goes by windows, or begins to.

use clap::Parser;
use multifactor2_command::answers::what_if::{self, apply, Changes, Settings};
use multifactor2_command::model::{Model, Options};
use multifactor2_fixtures::assert_near;
use multifactor2_snapshot::records::Setting;
use multifactor2_snapshot::Snapshot;

use super::{golden, Windowed, DAY};
use crate::site;

#[derive(Parser)]
#[command(no_binary_name = true)]
struct AskedChanges {
    #[command(flatten)]
    changes: Changes,
}

fn change(words: &[&str]) -> Changes {
    AskedChanges::try_parse_from(words).unwrap().changes
}

fn conf(lines: &str) -> Changes {
    let lines =
        lines.lines().map(|line| Setting { line: line.to_owned(), from: "file line 1".to_owned() }).collect();
    Changes { settings: Some(Settings { file: "file".to_owned(), lines }), ..Changes::default() }
}

fn changed(snapshot: &Snapshot, changes: &Changes) -> Result<(Snapshot, Vec<String>), String> {
    let model = Model::of(snapshot, Options { recompute: true, ..Options::default() });
    apply(&model, changes).map(|edited| (edited.snapshot, edited.remarks)).map_err(|error| error.to_string())
}

/// The part of all usage that ann has, of the changed snapshot at a time.
fn part(snapshot: &Snapshot, time: i64) -> f64 {
    let model = Model::of(snapshot, Options { at: Some(time), recompute: true });
    assert!(model.shares.is_computed(), "{:?}", model.notes);
    model.standings[2].usage_norm
}

const LATER: [i64; 4] = [0, DAY, 2 * DAY, 5 * DAY];

fn assert_is(snapshot: &Snapshot, windowed: &Windowed, what: &str) {
    for time in LATER.map(|later| site::TIME + later) {
        assert_near(part(snapshot, time), windowed.part(time), &format!("{what} at {time}"));
    }
}

#[test]
fn other_depths_and_decays_are_computed() {
    let snapshot = golden().snapshot();
    for (depth, decay) in [(4, 0.9), (2, 0.5), (3, 1.0), (1, 0.0), (9, 0.8)] {
        let lines = format!("TreeUsage=window\nTreeWindow=1-0\nTreeDepth={depth}\nTreeDecay={decay}");
        let (after, remarks) = changed(&snapshot, &conf(&lines)).unwrap();
        assert_is(&after, &Windowed { depth, decay, ..golden() }, &lines);
        assert_eq!(remarks.iter().any(|remark| remark.contains("is not kept")), depth > 4, "{remarks:?}");
    }
    // Days become two of twelve hours; of today two thirds have not passed: 8 hours are in the first half.
    let lines = "TreeUsage=window\nTreeWindow=12:00:00\nTreeDepth=8\nTreeDecay=0.5";
    let (after, remarks) = changed(&snapshot, &conf(lines)).unwrap();
    assert!(remarks.iter().any(|remark| remark.contains("spread evenly")), "{remarks:?}");
    let halves = |hours: &[f64]| -> Vec<f64> {
        let earlier = hours[1..].iter().flat_map(|hours| [hours / 2.0; 2]);
        std::iter::once(hours[0]).chain(earlier).collect()
    };
    let (ann, ben) = (halves(&[60.0, 0.0, 10.0, 50.0]), halves(&[50.0, 125.0, 90.0, 100.0]));
    assert_is(&after, &Windowed::new(DAY / 2, 8, 0.5, [&ann, &ben]), lines);
}

#[test]
fn what_is_not_told_is_refused() {
    let mut snapshot = golden().snapshot();
    snapshot.tree_windows[0].told = 2;
    snapshot.tree_windows.iter_mut().for_each(|row| row.amounts.truncate(2));
    let two = "TreeUsage=window\nTreeWindow=1-0\nTreeDepth=2\nTreeDecay=0.9";
    let (after, _) = changed(&snapshot, &conf(two)).unwrap();
    assert_is(&after, &Windowed { depth: 2, decay: 0.9, ..golden() }, two);
    for lines in
        ["TreeUsage=window\nTreeWindow=1-0\nTreeDepth=3", "TreeUsage=window\nTreeWindow=2-0\nTreeDepth=1"]
    {
        let error = changed(&snapshot, &conf(lines)).unwrap_err();
        assert!(error.contains("the snapshot has 2 of the"), "{error}");
    }
    snapshot.tree_windows.clear();
    let error = changed(&snapshot, &conf(two)).unwrap_err();
    assert!(error.contains("the snapshot has none of the 2 windows"), "{error}");
    // Slurm's commands tell none, and RawUsage is not what is in them.
    "commands".clone_into(&mut snapshot.about.source);
    snapshot.associations.iter_mut().for_each(|one| one.dominant = None);
    assert!(changed(&snapshot, &conf(two)).is_err());
}

#[test]
fn windows_begin_with_raw_usage_and_end_with_it() {
    let mut plain = golden().snapshot();
    plain.settings = Some(Vec::new());
    plain.tree_windows.clear();
    plain.associations.iter_mut().for_each(|one| one.dominant = None);
    let lines = "TreeUsage=window\nTreeWindow=1-0\nTreeDepth=4\nTreeDecay=0.5";
    let (after, remarks) = changed(&plain, &conf(lines)).unwrap();
    assert!(remarks.iter().any(|remark| remark.contains("starts with the present RawUsage")), "{remarks:?}");
    let hours = [3e6, 1e6].map(|seconds| [seconds / 3600.0]);
    assert_is(&after, &Windowed::new(DAY, 4, 0.5, [&hours[0], &hours[1]]), "begun");
    let (after, remarks) = changed(&golden().snapshot(), &conf("Distribution=tickets")).unwrap();
    assert_near(part(&after, site::TIME), 0.75, "RawUsage");
    assert!(
        remarks.iter().any(|remark| remark.starts_with("Shares no longer use windows of usage")),
        "{remarks:?}"
    );
    // Slurm's own plugin goes by RawUsage.
    let (after, _) = changed(&golden().snapshot(), &change(&["--plugin", "stock"])).unwrap();
    assert_near(part(&after, site::TIME), 0.75, "stock");
}

#[test]
fn usage_can_be_nothing_or_more_in_the_current_window() {
    let snapshot = golden().snapshot();
    let (after, _) = changed(&snapshot, &change(&["--usage", "ann@chem=+40h"])).unwrap();
    let mut more = golden();
    more.users[0][0].1 += 40.0 * 3600.0;
    assert_is(&after, &more, "more");
    assert_near(after.associations[2].usage, 3e6 + 144_000.0, "RawUsage");
    for words in ["ann@chem=0", "chem=0"] {
        let (after, _) = changed(&snapshot, &change(&["--usage", words])).unwrap();
        let mut none = golden();
        none.users[0].clear();
        assert_is(&after, &none, words);
        assert_near(after.associations[0].dominant.unwrap(), (216.25 - 68.75) * 3600.0, "root");
    }
    for words in ["ann@chem=100h", "ann@chem=-1h"] {
        let error = changed(&snapshot, &change(&["--usage", words])).unwrap_err();
        assert!(error.contains("with TreeUsage=window shares use windows"), "{error}");
    }
    // An account less is its usage less.
    let (after, _) = changed(&snapshot, &change(&["--without-account", "bio"])).unwrap();
    assert_near(part(&after, site::TIME), 1.0, "alone");
    assert_near(part(&after, site::TIME + DAY), 1.0, "alone later");
    // Another half-life is RawUsage's.
    let (after, remarks) = changed(&snapshot, &change(&["--half-life", "1-0"])).unwrap();
    assert_is(&after, &golden(), "half-life");
    assert!(remarks.iter().any(|remark| remark.contains("this changes only RawUsage")), "{remarks:?}");
}

#[test]
fn shares_and_weights_go_with_windows() {
    let snapshot = golden().snapshot();
    let answer = what_if::what_if(&snapshot, None, &change(&["--shares", "bio=3"])).unwrap();
    // Tickets are as shares times LevelFS, which is share over U.
    let ben = answer.rows.iter().find(|row| row.user == "ben").unwrap();
    let (ann, part) = (68.75 / 216.25, 1.0 - 68.75 / 216.25);
    let tickets: [f64; 2] = [0.25 * 0.25 / ann, 0.75 * 0.75 / part];
    assert_near(ben.fair_share_after.unwrap(), tickets[1] / tickets[0].max(tickets[1]), "ben");
    assert!(what_if::what_if(&snapshot, None, &change(&["--weight", "fairshare=5"])).is_ok());
}
