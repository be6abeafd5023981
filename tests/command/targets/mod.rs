//! `tree --targets` and `tree --windows`: every cell is what the model has from the specification, hidden and old facts are not guessed, and rows fit.

mod metrics;
mod names;
mod shown;

use std::collections::HashMap;

use multifactor2_command::answers::tree::targets::{targets, Asked, Known, Targets};
use multifactor2_command::answers::tree::Filter;
use multifactor2_command::model::{Model, Options};
use multifactor2_fixtures::points_model::cases::{self, ModelCase, GROUPS, METRICS, PARTITIONS, QOS};
use multifactor2_fixtures::points_model::{decayed, shown, ModelKind, ModelShown, ModelSums, ModelType};
use multifactor2_snapshot::records::{Association, Group, Partition, Qos, Usage, Window};
use multifactor2_snapshot::Snapshot;
use serde_json::Value;

use crate::outputs::{answered, Sample};
use crate::recorded;
use crate::site;

const BOTH: Asked = Asked { targets: true, windows: true };

fn usage(model: &str, of: &str, key: &str, amount: f64) -> Usage {
    Usage { model: model.to_owned(), of: of.to_owned(), key: key.to_owned(), amount }
}

fn id_of(at: usize) -> u32 {
    u32::try_from(at).unwrap() + 1
}

/// Who has used what in each window: associations, QOS, groups, partitions, all, and what there was.
fn amounts(sums: &ModelSums) -> Vec<(&'static str, String, Vec<f64>)> {
    let mut all: Vec<(&str, String, Vec<f64>)> = Vec::new();
    for (at, windows) in sums.nodes.iter().enumerate() {
        all.push(("association", id_of(at).to_string(), windows.clone()));
    }
    for (at, name) in QOS.iter().enumerate() {
        all.push(("qos", (10 + at).to_string(), sums.qos.get(*name).cloned().unwrap_or_default()));
    }
    for (name, gid) in GROUPS {
        all.push(("group", gid.to_string(), sums.groups.get(name).cloned().unwrap_or_default()));
    }
    for name in PARTITIONS {
        all.push(("partition", name.to_owned(), sums.partitions.get(name).cloned().unwrap_or_default()));
    }
    all.push(("all", String::new(), sums.total.clone()));
    all.push(("available", String::new(), sums.capacity.clone()));
    all
}

/// What the plugin writes of a case.
fn snapshot(case: &ModelCase) -> Snapshot {
    let ModelCase { settings, cluster, .. } = case;
    let first = |windows: &[f64]| windows.first().copied().unwrap_or_default();
    let mut snapshot = site::empty();
    for (at, node) in cluster.nodes.iter().enumerate() {
        let account = if node.user { &cluster.nodes[node.parent.unwrap()].name } else { &node.name };
        snapshot.associations.push(Association {
            id: id_of(at),
            parent: node.parent.map_or(0, id_of),
            account: account.clone(),
            user: if node.user { node.name.clone() } else { String::new() },
            shares: node.shares.unwrap_or(0x7FFF_FFFF),
            usage: first(&cluster.charged.nodes[at]),
            ..Association::default()
        });
    }
    let partition = |name: &str| Partition { name: name.to_owned(), ..Partition::default() };
    snapshot.partitions = PARTITIONS.iter().map(|name| partition(name)).collect();
    snapshot.qos = (10..)
        .zip(QOS)
        .map(|(id, name)| Qos {
            id,
            name: name.to_owned(),
            usage: Some(first(cluster.charged.qos.get(name).map_or(&[], Vec::as_slice))),
            ..Qos::default()
        })
        .collect();
    snapshot.groups = GROUPS.iter().map(|(name, id)| Group { name: (*name).to_owned(), id: *id }).collect();
    for (of, key, windows) in amounts(&cluster.own) {
        snapshot.usage.push(usage("halflife", of, &key, first(&windows)));
    }
    for (of, key, windows) in amounts(&cluster.windows) {
        snapshot.usage.push(usage("window", of, &key, decayed(&windows, settings.depth, settings.decay)));
        let depth = usize::try_from(settings.depth).unwrap();
        let amounts = windows.into_iter().take(depth).collect();
        let mut row = Window { of: of.to_owned(), key, amounts, ..Window::default() };
        if of == "all" {
            (row.begin, row.length, row.told) = (site::TIME - 100, 3600, settings.depth);
        }
        snapshot.windows.push(row);
    }
    settings.to_string().lines().for_each(|line| site::set(&mut snapshot, line));
    snapshot
}

fn near(found: &Value, expected: Option<f64>, what: &str) {
    let Some(expected) = expected else {
        assert!(found.is_null(), "{what}: {found}");
        return;
    };
    let found = found.as_f64().unwrap_or_else(|| panic!("{what}: {found}, not {expected}"));
    let least = 1e-9 * expected.abs().max(1.0);
    assert!((found - expected).abs() <= least, "{what}: {found}, not {expected}");
}

/// Of a row: its kind, its name or association, its type, and whether it is a cap.
type Key = (String, String, String);

fn key(row: &ModelShown) -> Key {
    let of = row.node.map_or_else(|| row.name.clone(), |node| id_of(node).to_string());
    let word = match row.line.as_ref().map(|line| line.r#type) {
        None => "share",
        Some(ModelType::Target) => "target",
        Some(ModelType::Floor) => "floor",
        Some(ModelType::Ceiling) => "ceiling",
        Some(ModelType::Cap) => "cap",
    };
    (row.kind.word().to_owned(), of, word.to_owned())
}

fn key_of(row: &Value) -> Key {
    let text = |name: &str| row[name].as_str().unwrap().to_owned();
    let of = row["association"].as_u64().map_or_else(|| text("name"), |id| id.to_string());
    (text("kind"), of, text("target_type"))
}

fn assert_row(found: &Value, row: &ModelShown, what: &str) {
    let hours = |seconds: f64| seconds / 3600.0;
    near(&found["target"], Some(row.target), &format!("{what}: target"));
    assert_eq!(found["in_windows"], row.windowed, "{what}");
    near(&found["used"], Some(hours(row.used)), &format!("{what}: used"));
    near(&found["total"], Some(hours(row.total)), &format!("{what}: total"));
    let percent = (row.total > 0.0).then(|| 100.0 * row.used / row.total);
    near(&found["percent"], percent, &format!("{what}: percent"));
    near(&found["distance"], row.distance, &format!("{what}: distance"));
    near(&found["path"], row.path, &format!("{what}: path"));
    near(&found["allowed"], row.allowed.map(hours), &format!("{what}: allowed"));
    near(&found["left"], row.allowed.map(|allowed| hours(allowed - row.used)), &format!("{what}: left"));
    let is_close = row.allowed.is_some_and(|allowed| (allowed - row.used).abs() < 1e-9 * allowed);
    if !is_close {
        assert_eq!(found["is_beyond"], row.beyond, "{what}");
        // What rounding leaves of a distance of 0 is none for one of both.
        let is_nothing = row.path.or(row.distance).is_some_and(|distance| distance.abs() < 1e-9);
        if is_nothing && found["points"].as_f64().is_none_or(|points| points.abs() < 1e-6) {
            return;
        }
        near(&found["points"], row.points, &format!("{what}: points"));
    }
}

#[test]
fn every_cell_of_targets_is_what_the_model_has() {
    let mut random = multifactor2_fixtures::random();
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for _ in 0..400 {
        let case = cases::case(&mut random);
        let snapshot = snapshot(&case);
        let model = Model::of(&snapshot, Options::default());
        let settings = case.settings.to_string();
        assert!(model.config.settings.is_some(), "{:?}\n{settings}", model.notes);
        let answer = serde_json::to_value(targets(&model, &Filter::default(), BOTH)).unwrap();
        let expected =
            if case.settings.targets.is_empty() { Vec::new() } else { shown(&case.settings, &case.cluster) };
        let rows = answer["targets"].as_array().unwrap();
        let found: HashMap<Key, &Value> = rows.iter().map(|row| (key_of(row), row)).collect();
        assert_eq!((found.len(), rows.len()), (expected.len(), expected.len()), "{settings}\n{answer:#}");
        for row in &expected {
            let found = found.get(&key(row)).unwrap_or_else(|| panic!("{row:?}\n{settings}\n{answer:#}"));
            assert_row(found, row, &format!("{row:?}\n{settings}\n{:?}", case.cluster));
            let points = row.points.map_or("none", |points| if points == 0.0 { "zero" } else { "some" });
            *seen.entry(points).or_default() += 1;
            *seen.entry(row.kind.word()).or_default() += 1;
        }
        let windowed: Vec<&ModelShown> = expected.iter().filter(|row| row.windowed).collect();
        if windowed.is_empty() {
            assert!(answer["windows"].is_null() && answer["windows_because"].is_string(), "{answer:#}");
            continue;
        }
        assert_windows(&answer, &windowed, &settings);
        *seen.entry("windows").or_default() += 1;
    }
    let kinds = ModelKind::ALL.map(ModelKind::word);
    for what in kinds.into_iter().chain(["none", "zero", "some", "windows"]) {
        assert!(seen.get(what).is_some_and(|count| *count > 40), "{what}: {seen:?}");
    }
    assert_eq!(METRICS[0], "billing");
}

fn assert_windows(answer: &Value, rows: &[&ModelShown], settings: &str) {
    let windows = &answer["windows"];
    let found = windows["rows"].as_array().unwrap_or_else(|| panic!("{answer:#}\n{settings}"));
    for row in rows {
        let (kind, of, _) = key(row);
        let word = match row.line.as_ref().map(|line| line.amount) {
            _ if row.path.is_some() => "siblings",
            Some(multifactor2_fixtures::points_model::ModelAmount::Available(_)) => "available",
            _ => "all",
        };
        let is_it = |found: &&Value| {
            let called = found["association"]
                .as_u64()
                .map_or_else(|| found["name"].as_str().unwrap().to_owned(), |id| id.to_string());
            found["kind"] == kind.as_str() && called == of && found["of"] == word
        };
        let one: Vec<&Value> = found.iter().filter(is_it).collect();
        assert_eq!(one.len(), 1, "{kind} {of} {word}: {windows:#}\n{settings}");
        let one = one[0];
        for (name, amounts) in [("used", &row.windows), ("all", &row.total_windows)] {
            let list = one[name].as_array().unwrap();
            for (age, amount) in amounts.iter().enumerate() {
                let found = list.get(age).and_then(Value::as_f64).unwrap_or_default();
                let due = amount / 3600.0;
                assert!(
                    (found - due).abs() < 1e-6,
                    "{kind} {of}, {name} {age}: {found}, not {due}\n{settings}"
                );
            }
        }
        // The sum is that of the windows.
        for (amounts, sum) in [("used", "counts"), ("all", "all_counts")] {
            let list = one[amounts].as_array().unwrap().iter().map(|amount| amount.as_f64().unwrap());
            let factors =
                windows["factors"].as_array().unwrap().iter().map(|factor| factor.as_f64().unwrap());
            let due: f64 = list.zip(factors).map(|(amount, factor)| amount * factor).sum();
            near(&one[sum], Some(due), &format!("{kind} {of}: {sum}\n{settings}"));
        }
        near(&one["counts"], Some(row.used / 3600.0), &format!("{kind} {of}\n{settings}"));
    }
}

/// A cluster of two users in two accounts, with this usage and these lines.
fn small(lines: &str, usages: &[(&str, &str, &str, f64)]) -> Snapshot {
    let mut snapshot = site::empty();
    for (id, parent, account, user, usage) in [
        (1, 0, "root", "", 1000.0),
        (2, 1, "physics", "", 350.0),
        (3, 2, "physics", "john", 350.0),
        (4, 1, "history", "", 650.0),
        (5, 4, "history", "john", 100.0),
        (6, 4, "history", "ada", 550.0),
    ] {
        snapshot.associations.push(Association {
            id,
            parent,
            account: account.to_owned(),
            user: user.to_owned(),
            shares: 1,
            usage,
            ..Association::default()
        });
    }
    snapshot.qos[1].usage = Some(250.0);
    for (model, of, key, amount) in usages {
        snapshot.usage.push(usage(model, of, key, *amount));
    }
    lines.lines().for_each(|line| site::set(&mut snapshot, line));
    snapshot
}

fn answer(snapshot: &Snapshot, asked: Asked) -> Targets {
    targets(&Model::of(snapshot, Options::default()), &Filter::default(), asked)
}

/// The table of docs/points.md.
#[test]
fn the_example_of_the_page_is_so() {
    let lines = "Component=FS Weight=100 FSUser=10 FSAccount=30 FSQOS=40\nTarget=User Name=john Percent=50\n\
                 Target=Account Name=physics Percent=25\nTarget=QOS Name=high Percent=10 Type=floor";
    let answer = answer(&small(lines, &[]), Asked { targets: true, windows: false });
    let rows: Vec<_> = answer.targets.as_ref().unwrap().iter().collect();
    let cells: Vec<_> = rows.iter().map(|row| (row.whose(), row.percent, row.distance, row.points)).collect();
    assert_eq!(
        cells,
        [
            ("User john".to_owned(), Some(45.0), Some(5.0), Some(5000.0)),
            ("Account physics".to_owned(), Some(35.0), Some(-10.0), Some(-30_000.0)),
            ("QOS high".to_owned(), Some(25.0), Some(0.0), Some(0.0)),
        ]
    );
    assert_eq!((answer.windows, answer.windows_because), (None, None));
}

/// The example of Moab's guide, by the plugin's amounts.
pub fn in_windows() -> Snapshot {
    let lines = "Component=FS FSUser=1\nTarget=User Name=ada Percent=50\nTargetUsage=window\nTargetDepth=4\nTargetDecay=0.5";
    let hours = |amounts: [f64; 4]| amounts.map(|amount| 3600.0 * amount).to_vec();
    let sums = [
        ("window", "association", "6", 3600.0 * 68.75),
        ("window", "association", "4", 3600.0 * 68.75),
        ("window", "association", "1", 3600.0 * 216.25),
    ];
    let mut snapshot = small(lines, &sums);
    let (ada, all) = (hours([60.0, 0.0, 10.0, 50.0]), hours([110.0, 125.0, 100.0, 150.0]));
    for (key, amounts) in [("6", &ada), ("4", &ada), ("1", &all)] {
        let (of, key, amounts) = ("association".to_owned(), key.to_owned(), amounts.clone());
        snapshot.windows.push(Window { of, key, amounts, ..Window::default() });
    }
    let told =
        Window { of: "all".to_owned(), amounts: all, begin: 0, length: 43_200, told: 4, ..Window::default() };
    snapshot.windows.push(told);
    snapshot
}

#[test]
fn windows_are_those_of_the_example() {
    let shown = Sample::new(&in_windows()).ask(&["tree", "--windows"]);
    assert!(answered(&shown), "{shown:?}");
    assert!(shown.out.contains("User ada: 68.75 h count, 31.7919% of all usage"), "{}", shown.out);
    let rows: Vec<Vec<&str>> = shown
        .out
        .lines()
        .map(|line| line.split_whitespace().collect())
        .skip_while(|row: &Vec<&str>| row.first() != Some(&"Window"))
        .take(5)
        .collect();
    assert_eq!(rows[0], ["Window", "Begin", "Used", "Factor", "Counts", "Percent"]);
    let cells = |row: &[&str]| [row[0], row[2], row[3], row[4], row[5]].map(str::to_owned);
    let found: Vec<[String; 5]> = rows[1..].iter().map(|row| cells(row)).collect();
    let due = [
        ["0", "60", "1", "60", "54.5455"],
        ["1", "0", "0.5", "0", "0"],
        ["2", "10", "0.25", "2.5", "10"],
        ["3", "50", "0.125", "6.25", "33.3333"],
    ];
    assert_eq!(found, due.map(|row| row.map(str::to_owned)), "{}", shown.out);
}

/// A distance of 4.9 percentage points stays in the step that it was in.
#[test]
fn distances_are_those_of_steps_and_books() {
    let lines = "Book=cards Partitions=gpu\nComponent=FS FSUser=10 FSParent=1\nTarget=User Name=john Percent=50 Book=cards\n\
                 Target=User Name=* Percent=49.9\nFSStep=5\nTarget=Parent Name=physics Percent=41";
    let mut snapshot = small(
        lines,
        &[
            ("step", "User", "john", 1.0),
            ("book cards", "association", "1", 100.0),
            ("book cards", "association", "4", 38.0),
            ("book cards", "association", "5", 38.0),
        ],
    );
    for association in &mut snapshot.associations {
        association.dominant = Some(association.usage);
    }
    let answer = answer(&snapshot, BOTH);
    let rows = answer.targets.as_ref().unwrap();
    let of = |whose: &str| {
        let row = rows.iter().find(|row| row.whose() == whose).unwrap_or_else(|| panic!("{whose}: {rows:?}"));
        let rounded = |value: Option<f64>| value.map(|value| (value * 1e6).round() / 1e6);
        (row.target, rounded(row.percent), rounded(row.exact), row.distance, row.points)
    };
    assert_eq!(of("User john"), (49.9, Some(45.0), Some(4.9), Some(5.0), Some(50.0)));
    assert_eq!(of("User ada"), (49.9, Some(55.0), Some(-5.1), Some(-5.0), Some(-50.0)));
    assert_eq!(of("User john, book cards"), (50.0, Some(38.0), Some(12.0), Some(10.0), Some(100.0)));
    // A level without a line has its part of the shares.
    assert_eq!(of("Parent physics"), (41.0, Some(35.0), Some(6.0), Some(5.0), Some(5.0)));
    assert_eq!(of("Parent history"), (50.0, Some(65.0), Some(-15.0), Some(-15.0), Some(-15.0)));
    assert_eq!(answer.step.to_bits(), 5.0_f64.to_bits());
    let shown = Sample::new(&snapshot).ask(&["tree", "--targets"]);
    let said = shown.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("Distances count in steps of 5 (FSStep)."), "{said}");
}

/// Percent, caps and other partitions make points depend on the job.
#[test]
fn points_that_depend_on_the_job_are_not_told() {
    for (fs, points) in [
        ("Component=FS FSUser=10", Some(50.0)),
        ("Component=FS WeightPercent=50 FSUser=10", None),
        ("Component=FS FSUser=10 Cap=1000", None),
        ("Component=FS FSUser=10\nComponent=FS Partition=gpu FSUser=11", None),
        ("Component=FS FSUser=10\nComponent=FS Partition=gpu FSUser=10", Some(50.0)),
        ("Component=FS FSUser=10 FSUserCap=2\nPointsWeight=3", Some(60.0)),
        ("Component=FS FSUser=10\nTarget=Account Name=physics Percent=1 Weight=2", None),
        ("Component=RES Proc=1", Some(0.0)),
    ] {
        let lines = format!("{fs}\nTarget=User Name=john Percent=50");
        let answer = answer(&small(&lines, &[]), BOTH);
        let rows = answer.targets.as_ref().unwrap();
        let john = rows.iter().find(|row| row.name == "john").unwrap();
        assert_eq!((john.distance, john.points), (Some(5.0), points), "{lines}");
    }
}

#[test]
fn what_is_not_known_is_said_and_not_guessed() {
    let lines = "Component=FS FSUser=1\nTarget=User Name=* Percent=50\nTargetUsage=window";
    let known = small(lines, &[("window", "association", "1", 10.0), ("window", "association", "6", 10.0)]);
    let because = |change: &dyn Fn(&mut Snapshot)| {
        let mut snapshot = known.clone();
        change(&mut snapshot);
        let answer = answer(&snapshot, BOTH);
        let shown = Sample::new(&snapshot).ask(&["tree", "--targets", "--windows"]);
        assert!(answered(&shown), "{shown:?}");
        let said = shown.out.split_whitespace().collect::<Vec<_>>().join(" ");
        let parsable = Sample::new(&snapshot).ask(&["tree", "--windows", "-P"]);
        if answer.windows_are == Known::NotKnown {
            let due = format!("multifactor2: {}\n", answer.windows_because.as_ref().unwrap());
            assert_eq!((parsable.status, parsable.out.as_str(), parsable.err), (3, "", due));
        } else {
            assert!(answered(&parsable) && answer.windows_are == Known::None, "{parsable:?}");
            assert_eq!(parsable.out.lines().count(), 1, "{parsable:?}");
        }
        let targets_are = match &answer.targets {
            None => Known::NotKnown,
            Some(rows) if rows.is_empty() => Known::None,
            Some(_) => Known::Known,
        };
        assert_eq!(answer.targets_are, targets_are, "{answer:?}");
        for because in [&answer.targets_because, &answer.windows_because].into_iter().flatten() {
            assert!(said.contains(because.as_str()), "{because}: {}", shown.out);
        }
        assert_eq!(answer.windows, None, "{answer:?}");
        (
            answer.targets.map(|rows| rows.len()),
            answer.targets_because.unwrap_or_default(),
            answer.windows_because.unwrap(),
        )
    };
    // A snapshot of a release that tells no windows.
    let (rows, targets_because, windows_because) = because(&|_| ());
    assert_eq!((rows, targets_because.as_str()), (Some(2), ""));
    assert!(windows_because.starts_with("The usage of each window is not known:"), "{windows_because}");
    for (change, begin) in [
        (
            &(|of: &mut Snapshot| of.about.source = "commands".to_owned()) as &dyn Fn(&mut Snapshot),
            "Targets are not known: only the plugin",
        ),
        (&|of: &mut Snapshot| of.settings = None, "Targets are not known, because the settings"),
        (&|of: &mut Snapshot| of.about.partial_tree = true, "Targets are not known: some associations"),
    ] {
        let (rows, because, _) = because(change);
        assert_eq!(rows, None, "{because}");
        assert!(because.starts_with(begin), "{because}");
    }
    for (change, begin) in [
        (
            &(|of: &mut Snapshot| of.settings = Some(Vec::new())) as &dyn Fn(&mut Snapshot),
            "The settings have no targets.",
        ),
        (
            &|of: &mut Snapshot| of.about.priority_type = "priority/multifactor".to_owned(),
            "There are no targets: PriorityType",
        ),
    ] {
        let (rows, because, _) = because(change);
        assert_eq!(rows, Some(0), "{because}");
        assert!(because.starts_with(begin), "{because}");
    }
    // Usage in windows and of books stays as it is.
    let shown = Sample::new(&known).ask(&["tree", "--targets", "--at", "+1-0"]);
    assert!(shown.out.starts_with("Targets are not known for another time:"), "{}", shown.out);
    // What Slurm's commands tell is not enough, whoever asks.
    for release in recorded::RELEASES {
        let hidden = ["multifactor2-root", "usage-ada", "users-ada", "accounts-ada", "all-ada"];
        for recording in hidden.into_iter().filter(|name| recorded::directory(release).join(name).exists()) {
            let mut snapshot = recorded::snapshot(release, recording);
            snapshot.settings = Some(Vec::new());
            lines.lines().for_each(|line| site::set(&mut snapshot, line));
            let answer = answer(&snapshot, BOTH);
            assert_eq!((answer.targets, answer.windows), (None, None), "{release} {recording}");
            let because = answer.targets_because.unwrap();
            assert!(
                because.starts_with("Targets are not known: only the plugin"),
                "{release} {recording}: {because}"
            );
        }
    }
    // The line that is named makes some.
    let line = "Target=User Name=* Percent=25\nComponent=FS FSUser=1";
    let made = answer(&small(line, &[]), BOTH).targets.unwrap();
    let points: Vec<f64> = made.iter().map(|row| row.points.unwrap().round()).collect();
    assert_eq!(points, [-30.0, -20.0]);
}
