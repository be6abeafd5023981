//! Windows of the share tree: every number is what windows that are counted by their own numbers give, and what is not told is not guessed.

#![allow(clippy::cast_precision_loss)] // seconds of days

mod later;
mod what_if;

use multifactor2_command::answers::tree::targets::{targets, Asked, Known};
use multifactor2_command::answers::tree::{tree, Filter};
use multifactor2_command::answers::{cost, why};
use multifactor2_command::input::anonymise::anonymise;
use multifactor2_command::model::{Model, Options};
use multifactor2_command::output::Terminal;
use multifactor2_fixtures::assert_near;
use multifactor2_snapshot::records::{Association, TreeWindow};
use multifactor2_snapshot::Snapshot;
use serde_json::Value;

use crate::outputs::{answered, conforms, schema, Sample};
use crate::site;

const DAY: i64 = 86_400;

/// Who used what in windows that are known by their numbers since 1970.
#[derive(Clone, Debug)]
struct Windowed {
    length: i64,
    depth: i64,
    decay: f64,
    /// Of ann in chem and of ben in bio: the number of a window, and the seconds in it.
    users: [Vec<(i64, f64)>; 2],
}

impl Windowed {
    /// In hours, the current window first, at the time of the snapshots.
    fn new(length: i64, depth: i64, decay: f64, hours: [&[f64]; 2]) -> Self {
        let newest = site::TIME.div_euclid(length);
        let of =
            |hours: &[f64]| (0..).zip(hours).map(|(age, hours)| (newest - age, hours * 3600.0)).collect();
        Self { length, depth, decay, users: hours.map(of) }
    }

    /// What counts at a time.
    fn counts(&self, time: i64) -> [f64; 2] {
        let now = time.div_euclid(self.length);
        self.users.clone().map(|of| {
            of.iter()
                .filter(|(number, _)| now - number < self.depth)
                .map(|(number, seconds)| self.decay.powf((now - number) as f64) * seconds)
                .sum()
        })
    }

    /// The part of all that ann has at a time.
    fn part(&self, time: i64) -> f64 {
        let [ann, ben] = self.counts(time);
        if ann + ben > 0.0 {
            ann / (ann + ben)
        } else {
            0.0
        }
    }

    /// The factors of both at a time: both wait, and have the same shares, so tickets are as 1 / U, of which at least a hundredth of the share
    /// counts.
    fn factors(&self, time: i64) -> [f64; 2] {
        let [ann, ben] = self.counts(time);
        let of = |usage: f64| 1.0 / if ann + ben > 0.0 { (usage / (ann + ben)).max(0.005) } else { 0.005 };
        let (ann, ben) = (of(ann), of(ben));
        [ann / ann.max(ben), ben / ann.max(ben)]
    }

    /// What the plugin writes. `RawUsage` is something else.
    fn snapshot(&self) -> Snapshot {
        let mut snapshot = site::empty();
        let newest = site::TIME.div_euclid(self.length);
        for line in [
            "TreeUsage=window".to_owned(),
            format!("TreeWindow={}", minutes(self.length)),
            format!("TreeDepth={}", self.depth),
        ] {
            site::set(&mut snapshot, &line);
        }
        site::set(&mut snapshot, &format!("TreeDecay={}", self.decay));
        let [ann, ben] = self.counts(site::TIME);
        for (id, parent, account, user, usage, counts) in [
            (1, 0, "root", "", 4e6, ann + ben),
            (2, 1, "chem", "", 3e6, ann),
            (3, 2, "chem", "ann", 3e6, ann),
            (4, 1, "bio", "", 1e6, ben),
            (5, 4, "bio", "ben", 1e6, ben),
        ] {
            let (account, user) = (account.to_owned(), user.to_owned());
            let dominant = Some(counts);
            snapshot.associations.push(Association {
                id,
                parent,
                account,
                user,
                usage,
                dominant,
                shares: 1,
                ..Association::default()
            });
        }
        for (id, users) in [(1, &[0, 1][..]), (2, &[0]), (3, &[0]), (4, &[1]), (5, &[1])] {
            let amount = |age: i64| {
                let all = users.iter().flat_map(|user| &self.users[*user]);
                all.filter(|(number, _)| *number == newest - age).map(|(_, seconds)| seconds).sum()
            };
            let mut amounts: Vec<f64> = (0..self.depth).map(amount).collect();
            while amounts.last() == Some(&0.0) {
                amounts.pop();
            }
            let mut row = TreeWindow { association: id, amounts, ..TreeWindow::default() };
            if id == 1 {
                (row.begin, row.length) = (newest * self.length, self.length);
                row.told = u32::try_from(self.depth).unwrap();
            }
            if id == 1 || !row.amounts.is_empty() {
                snapshot.tree_windows.push(row);
            }
        }
        for (id, place) in [(1001, 2), (1002, 4)] {
            let association = snapshot.associations[place].clone();
            snapshot.jobs.push(site::job(id, &association));
        }
        site::show(&mut snapshot);
        snapshot
    }
}

fn minutes(seconds: i64) -> String {
    format!("0-00:{:02}:{:02}", seconds / 60, seconds % 60)
}

/// The example of Moab's guide: ann has 68.75 of 216.25 hours.
fn golden() -> Windowed {
    Windowed::new(DAY, 4, 0.5, [&[60.0, 0.0, 10.0, 50.0], &[50.0, 125.0, 90.0, 100.0]])
}

fn by_chance(random: &mut fastrand::Rng) -> Windowed {
    let depth = random.i64(1..8);
    let length = [600, 3600, DAY][random.usize(0..3)];
    let mut hours = || -> Vec<f64> {
        (0..depth).map(|_| if random.bool() { random.f64() * 100.0 } else { 0.0 }).collect()
    };
    let (ann, ben) = (hours(), hours());
    Windowed::new(length, depth, [0.0, 0.5, 0.8, 1.0][random.usize(0..4)], [&ann, &ben])
}

fn said(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn ann_has_31_79_percent_of_all_usage_in_windows_and_three_quarters_of_raw_usage() {
    let snapshot = golden().snapshot();
    let model = Model::of(&snapshot, Options::default());
    assert_eq!(model.notes, [""; 0]);
    let answer = tree(&model, &Filter::default());
    let ann = &answer.rows[2];
    assert_near(ann.usage_norm, 68.75 / 216.25, "U");
    assert_near(ann.level_fs.unwrap(), 0.5 / (68.75 / 216.25), "LevelFS");
    assert_near(ann.window_usage.unwrap(), 68.75 * 3600.0, "windows");
    assert_near(ann.usage, 3e6, "RawUsage");
    assert_near(answer.rows[4].factor.unwrap(), golden().factors(site::TIME)[1], "factor");
    let site = Sample::new(&snapshot);
    let shown = site.ask(&["tree"]);
    assert!(answered(&shown), "{shown:?}");
    assert!(said(&shown.out).contains("use WindowUsage (TreeUsage=window), not RawUsage."), "{}", shown.out);
    let cells = site.ask(&["tree", "-P", "-n", "-u", "ann", "-o", "User,RawUsage,WindowUsage,NormUsage"]).out;
    assert_eq!(cells.lines().last(), Some("ann|3000000|247500|0.317919"), "{cells}");
    let page = site.written(&["tree"], "--html");
    assert!(page.contains("WindowUsage") && page.contains("247500"));
    // Bars go by what counts: bio has 68.21 % of the usage.
    assert!(page.contains("width=\"68.21%\""), "{page}");
    let json: Value = serde_json::from_str(&site.ask(&["tree", "--json"]).out).unwrap();
    conforms(&json, &schema("tree"), &schema("tree"), "tree").unwrap();
    // Nobody else has the column.
    let plain = Sample::new(&site::example());
    assert!(
        !plain.ask(&["tree", "-P"]).out.contains("WindowUsage")
            && !plain.written(&["tree"], "--html").contains("WindowUsage")
    );
}

#[test]
fn the_windows_of_the_tree_are_listed() {
    let snapshot = golden().snapshot();
    let site = Sample::new(&snapshot);
    let shown = site.ask(&["tree", "--windows"]);
    let text = said(&shown.out);
    for part in [
        "The share tree uses windows (TreeUsage=window). Each row includes all below it.",
        "Windows of 1-00:00:00, of which 4 count. Amounts are in hours of billing;",
        "Tree ann in chem: 68.75 h count, 31.7919% of all usage",
        "Tree root: 216.25 h count, 100% of all usage",
    ] {
        assert!(text.contains(part), "{part}: {}", shown.out);
    }
    assert!(!text.contains("no targets"), "{}", shown.out);
    let table = site
        .ask(&[
            "tree",
            "--windows",
            "-P",
            "-n",
            "-u",
            "ann",
            "-o",
            "kind,name,window,used,all,factor,counts,percent",
        ])
        .out;
    let ann: Vec<&str> = table.lines().filter(|line| line.contains("ann")).collect();
    assert_eq!(
        ann,
        [
            "Tree|ann in chem|0|60|110|1|60|54.5455",
            "Tree|ann in chem|1|0|125|0.5|0|0",
            "Tree|ann in chem|2|10|100|0.25|2.5|10",
            "Tree|ann in chem|3|50|150|0.125|6.25|33.3333",
            "Tree|ann in chem|sum|-|-|-|68.75|31.7919",
        ]
    );
    let page = site.written(&["tree"], "--html");
    assert!(page.contains("Windows of the share tree") && page.contains("31.7919"), "{page}");
    let json: Value = serde_json::from_str(&site.ask(&["tree", "--windows", "--json"]).out).unwrap();
    conforms(&json, &schema("targets"), &schema("targets"), "targets").unwrap();
    let windows = &json["answer"]["tree_windows"];
    let begin = site::TIME.div_euclid(DAY) * DAY;
    assert_eq!((windows["begin"].as_i64(), windows["depth"].as_i64()), (Some(begin), Some(4)), "{json}");
    for words in [
        &["tree"][..],
        &["tree", "--windows"],
        &["why", "1002"],
        &["why", "--long", "1002"],
        &["recover", "ben"],
    ] {
        let terminal = Terminal { width: Some(80), ..Terminal::PLAIN };
        let shown = site.ask_as("multifactor2", words, terminal);
        assert!(answered(&shown), "{shown:?}");
        let widest = shown.out.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(80) || words == ["tree"], "{}", shown.out);
    }
}

#[test]
fn windows_that_are_not_told_are_not_shown() {
    let asked = Asked { windows: true, ..Asked::default() };
    let of =
        |snapshot: &Snapshot| targets(&Model::of(snapshot, Options::default()), &Filter::default(), asked);
    // Told of two: the sum has all.
    let mut snapshot = golden().snapshot();
    snapshot.tree_windows[0].told = 2;
    snapshot.tree_windows.iter_mut().for_each(|row| row.amounts.truncate(2));
    let answer = of(&snapshot);
    let windows = answer.tree_windows.unwrap();
    assert_near(windows.rows[0].counts, 216.25, "sum");
    assert_eq!((windows.told, windows.factors.len()), (2, 2));
    assert!(said(&Sample::new(&snapshot).ask(&["tree", "--windows"]).out)
        .contains("The snapshot has the latest 2;"));
    // None: the sum is still in the tree.
    snapshot.tree_windows.clear();
    let answer = of(&snapshot);
    assert_eq!((answer.tree_windows_are, answer.tree_windows), (Known::NotKnown, None));
    let rows = tree(&Model::of(&snapshot, Options::default()), &Filter::default()).rows;
    assert_near(rows[2].usage_norm, 68.75 / 216.25, "U");
    let parsable = Sample::new(&snapshot).ask(&["tree", "--windows", "-P"]);
    assert_eq!((parsable.status, parsable.out.as_str()), (3, ""), "{parsable:?}");
    // A tree that goes by something else has none.
    let answer = of(&site::example());
    assert_eq!((answer.tree_windows_are, answer.tree_windows), (Known::None, None));
    // Slurm's commands tell RawUsage only.
    "commands".clone_into(&mut snapshot.about.source);
    snapshot.associations.iter_mut().for_each(|one| one.dominant = None);
    let model = Model::of(&snapshot, Options::default());
    assert!(model.notes[0].contains("or TreeUsage=window, so FAIRSHARE"), "{:?}", model.notes);
    assert!(model.config.settings.is_none() && !model.shares.is_computed());
    assert_eq!(of(&snapshot).tree_windows_are, Known::NotKnown);
}

/// The plugin has not counted yet: what `RawUsage` is goes into the current window.
#[test]
fn before_the_first_calculation_raw_usage_counts() {
    let mut snapshot = golden().snapshot();
    snapshot.tree_windows.clear();
    snapshot.associations.iter_mut().for_each(|one| one.dominant = None);
    let rows = tree(&Model::of(&snapshot, Options::default()), &Filter::default()).rows;
    assert_near(rows[2].usage_norm, 0.75, "U");
}

#[test]
fn why_says_that_it_is_usage_of_windows() {
    let snapshot = golden().snapshot();
    let model = Model::of(&snapshot, Options::default());
    let answer = why::why(&model, "1002").unwrap();
    assert!(
        answer.details.iter().any(|detail| {
            detail.starts_with(
            "Usage of ben in bio in 4 windows of 1-00:00:00, each weighted 0.5 of the next newer one, lowers "
        )
        }),
        "{:?}",
        answer.details
    );
    assert!(answer.levers.iter().all(|lever| !lever.what.contains("decays")), "{:?}", answer.levers);
    let ben = answer.path.last().unwrap();
    assert_near(ben.window_usage.unwrap(), (216.25 - 68.75) * 3600.0, "windows");
    assert_near(ben.usage, 1e6, "RawUsage");
    let shown = said(&Sample::new(&snapshot).ask(&["why", "--long", "1002"]).out);
    assert!(shown.contains("Usage is that of the share windows (TreeUsage=window), not RawUsage"), "{shown}");
    assert!(shown.contains("147.5 h") && !shown.contains("277.8 h"), "{shown}");
    let cost = cost::of_options(&model, None, &"-A bio -p main -c 2 -t 60".parse().unwrap(), "ben").unwrap();
    assert!(
        cost.remarks
            .iter()
            .any(|remark| remark.starts_with("This assumes that all of it is used in the current window")),
        "{cost:?}"
    );
    let used = cost.usage.unwrap();
    let mut more = golden();
    more.users[1][0].1 += used;
    assert_near(cost.accounts[0].factor_after.unwrap(), more.factors(site::TIME)[1], "after");
}

#[test]
fn other_names_change_no_number() {
    let snapshot = golden().snapshot();
    let other = anonymise(&snapshot);
    assert_eq!(other.tree_windows, snapshot.tree_windows);
    let numbers = |snapshot: &Snapshot| {
        let rows = tree(&Model::of(snapshot, Options::default()), &Filter::default()).rows;
        rows.iter()
            .map(|row| (row.usage_norm.to_bits(), row.window_usage.map(f64::to_bits)))
            .collect::<Vec<_>>()
    };
    assert_eq!(numbers(&other), numbers(&snapshot));
}

/// Whatever a snapshot says, an answer or an error comes of it.
#[test]
fn numbers_that_cannot_be_do_no_harm() {
    let mut random = multifactor2_fixtures::random();
    for _ in 0..60 {
        let mut snapshot = by_chance(&mut random).snapshot();
        for row in &mut snapshot.tree_windows {
            match random.u8(0..6) {
                0 => row.amounts = vec![f64::MAX; 9],
                1 => row.begin = [i64::MIN, -1, i64::MAX][random.usize(0..3)],
                2 => row.told = [0, 1, u32::MAX][random.usize(0..3)],
                3 => row.association = random.u32(0..9),
                4 => row.length = [0, -1, i64::MAX][random.usize(0..3)],
                _ => (),
            }
        }
        if random.bool() {
            site::set(&mut snapshot, "TreeWindow=100000-0");
        }
        let site = Sample::new(&snapshot);
        for words in [
            &["tree", "--json"][..],
            &["tree", "--windows"],
            &["recover", "ben"],
            &["why", "--long", "1002"],
            &["why", "--user", "ann", "ben"],
            &["what-if", "--usage", "ann@chem=+1h"],
            &["tree", "--at", "+1-0"],
            &["cost", "1001"],
        ] {
            let shown = site.ask(words);
            assert!(!shown.out.is_empty() || !shown.err.is_empty(), "{words:?}");
            assert!(!shown.out.contains("NaN"), "{words:?}: {}", shown.out);
        }
    }
}
