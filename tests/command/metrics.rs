//! `multifactor2 metrics`: the text is one that `node_exporter` takes, whatever names there are, and says what the snapshot says. What the package
//! has for Prometheus and Grafana is in `monitoring.rs`, targets and windows are in `targets/metrics`.

mod monitoring;
mod site;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use monitoring::promtool;
use multifactor2_command::answers::metrics::{self, write, Arguments, MetricsAnswer, Users};
use multifactor2_command::model::{Model, Options};
use multifactor2_snapshot::records::{About, Association, Job, Partition, Qos, Running, Usage};
use multifactor2_snapshot::Snapshot;

const HOSTILE: &str = "<script>\"\\\n\u{1b}]0;x\u{7}\u{202e}'";

fn association(id: u32, parent: u32, account: &str, user: &str, usage: f64) -> Association {
    Association {
        id,
        parent,
        account: account.into(),
        user: user.into(),
        shares: 10,
        usage,
        shares_norm: 0.5,
        usage_norm: 0.25,
        level_fs: Some(2.0),
        factor: (!user.is_empty()).then_some(0.75),
        ..Association::default()
    }
}

fn job(id: u32, association: u32, accrue: i64, priority: u32) -> Job {
    Job {
        id,
        association,
        accrue,
        priority,
        competes: priority > 0,
        partition: "gpu".into(),
        ..Job::default()
    }
}

fn of(snapshot: &Snapshot, options: &Arguments) -> MetricsAnswer {
    metrics::of(&Model::of(snapshot, Options::default()), options)
}

/// root with chem (ann, bob) and bio, which is below chem and has a user with a name that means harm.
fn snapshot() -> Snapshot {
    let mut snapshot = Snapshot {
        about: About {
            time: 1_000_000,
            taken: 1_000_060,
            cluster: "c".into(),
            source: "plugin".into(),
            ..About::default()
        },
        associations: vec![
            association(1, 0, "root", "", 100.0),
            association(2, 1, "chem", "", 90.0),
            association(3, 2, "chem", "ann", 30.0),
            association(4, 2, "chem", "bob", 50.0),
            association(5, 2, "bio", "", 10.0),
            association(6, 5, "bio", HOSTILE, 10.0),
        ],
        jobs: vec![job(1, 3, 999_000, 500), job(2, 6, 999_500, 1), job(3, 6, 990_000, 0), job(4, 4, 0, 7)],
        running: vec![Running { association: 4, count: 3, ..Running::default() }],
        partitions: vec![
            Partition { name: "gpu".into(), ..Partition::default() },
            Partition { name: "long".into(), ..Partition::default() },
        ],
        ..Snapshot::default()
    };
    for (name, value) in [
        ("PriorityDecayHalfLife", "7-00:00:00"),
        ("PriorityWeightFairShare", "100000"),
        ("PriorityWeightTRES", "(null)"),
    ] {
        snapshot.parameters.insert(name.into(), value.into());
    }
    snapshot
}

fn text(users: Option<&str>) -> String {
    let users = users.map(|text| text.parse::<Users>().unwrap());
    of(&snapshot(), &Arguments { users, ..Arguments::default() }).to_string()
}

#[test]
fn the_numbers_are_those_of_the_snapshot() {
    let text = text(Some("ann"));
    for line in [
        "multifactor2_info{cluster=\"c\",source=\"plugin\"} 1",
        "multifactor2_calculated_timestamp_seconds 1000000",
        "multifactor2_half_life_seconds 604800",
        "multifactor2_weight{factor=\"fairshare\"} 100000",
        "multifactor2_waiting_jobs 4",
        "multifactor2_competing_jobs 3",
        "multifactor2_lowest_priority_jobs 1",
        "multifactor2_running_jobs 3",
        "multifactor2_partition_waiting_jobs{partition=\"long\"} 0",
        "multifactor2_partition_oldest_wait_seconds{partition=\"gpu\"} 1000",
        "multifactor2_account_usage_billing_seconds{account=\"chem\",parent=\"root\"} 90",
        "multifactor2_account_waiting_jobs{account=\"bio\",parent=\"chem\"} 2",
        "multifactor2_account_waiting_jobs{account=\"chem\",parent=\"root\"} 4",
        "multifactor2_account_waiting_jobs{account=\"root\"} 4",
        "multifactor2_account_running_jobs{account=\"chem\",parent=\"root\"} 3",
        "multifactor2_account_highest_priority{account=\"bio\",parent=\"chem\"} 1",
        "multifactor2_user_fair_share_ratio{account=\"chem\",user=\"ann\"} 0.75",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    assert!(!text.contains("bob"), "only ann was asked for\n{text}");
}

#[test]
fn users_are_there_only_when_asked_for() {
    assert!(!text(None).contains("user="));
    let top = text(Some("top=1"));
    assert!(top.contains("user=\"bob\"") && !top.contains("user=\"ann\""), "{top}");
    for bad in ["top=0", "top=1001", "top=x", "", "a,,b"] {
        let error = bad.parse::<Users>().unwrap_err();
        assert!(error.to_string().contains("must be"), "{error}");
    }
}

/// What the parser of `node_exporter` refuses a file for, and what it would take but monitoring should not have.
fn check(text: &str) {
    assert!(text.is_empty() || text.ends_with('\n'), "the end is missing");
    let (mut described, mut series) = (BTreeMap::<&str, BTreeSet<&str>>::new(), HashSet::new());
    let mut last = "";
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# ") {
            let (what, rest) = rest.split_once(' ').unwrap();
            let (name, _) = rest.split_once(' ').unwrap();
            assert!(["HELP", "TYPE"].contains(&what), "{line}");
            assert!(described.entry(name).or_default().insert(what), "twice: {line}");
            last = name;
            continue;
        }
        let name = line.split(['{', ' ']).next().unwrap();
        assert_eq!(name, last, "not below its description: {line}");
        assert_eq!(described[name].len(), 2, "{line}");
        assert!(
            name.starts_with("multifactor2_")
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        );
        let (labels, value) = line.rsplit_once(' ').unwrap();
        let value: f64 = value.parse().unwrap_or_else(|_| panic!("no number: {line}"));
        assert!(value.is_finite(), "{line}");
        assert!(!name.ends_with("_ratio") || (0.0..=1.0).contains(&value), "{line}");
        assert!(series.insert(labels.to_owned()), "twice: {line}");
        // Pairs with quotes, in which only \\, \" and \n are escapes.
        let Some(labels) = labels[name.len()..].strip_prefix('{') else { continue };
        let mut rest = labels.strip_suffix('}').unwrap();
        let mut known = BTreeSet::new();
        while !rest.is_empty() {
            let (label, value) = rest.split_once("=\"").unwrap_or_else(|| panic!("{line}"));
            assert!(
                label.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') && known.insert(label),
                "{line}"
            );
            let mut letters = value.char_indices();
            let end = loop {
                match letters.next().unwrap_or_else(|| panic!("no end: {line}")) {
                    (at, '"') => break at,
                    (_, '\\') => assert!(matches!(letters.next(), Some((_, '\\' | '"' | 'n'))), "{line}"),
                    (_, letter) => assert!(!letter.is_control() && letter != '\u{202e}', "{line:?}"),
                }
            };
            rest = value[end + 1..].trim_start_matches(',');
        }
    }
}

#[test]
fn the_collector_takes_the_text_whatever_the_names_are() {
    let mut snapshot = snapshot();
    // The same twice, as a file from elsewhere may have it; a circle; numbers that are none.
    snapshot.associations.push(association(7, 8, "chem", "", f64::NAN));
    snapshot.associations.push(association(8, 7, HOSTILE, "", f64::INFINITY));
    snapshot.associations.push(association(9, 9, "own", "", 1.0));
    snapshot.jobs.push(Job {
        account: HOSTILE.into(),
        partition: HOSTILE.into(),
        accrue: i64::MIN,
        competes: true,
        ..Job::default()
    });
    snapshot.jobs.push(Job { association: 9, partition: "p,q=\"}".into(), ..Job::default() });
    snapshot.about.cluster = HOSTILE.into();
    snapshot.parameters.insert(format!("PriorityWeight{HOSTILE}"), "inf".into());
    let answer = of(&snapshot, &Arguments { users: Some(Users::Top(10)), ..Arguments::default() });
    let text = answer.to_string();
    let shown = r#"user="<script>\"\\\\u{a}\\u{1b}]0;x\\u{7}\\u{202e}'""#;
    assert!(text.contains(shown), "{text}");
    check(&text);
    check(&of(&Snapshot::default(), &Arguments::default()).to_string());
    promtool(&["check", "metrics"], &text);
    // JSON has the same.
    let json = serde_json::to_value(&answer).unwrap();
    assert_eq!(json["metrics"].as_array().unwrap().len(), answer.metrics.len());
}

/// The same of targets: of users, accounts, levels, QOS, partitions and books with such names.
#[test]
fn the_collector_takes_targets_whatever_the_names_are() {
    let mut snapshot = snapshot();
    snapshot.about.priority_type = "priority/multifactor2".into();
    snapshot.associations[4].account = HOSTILE.into();
    snapshot.associations[5].account = HOSTILE.into();
    snapshot.partitions[1].name = HOSTILE.into();
    snapshot.qos.push(Qos { id: 1, name: HOSTILE.into(), usage: Some(1.0), ..Qos::default() });
    snapshot.jobs.truncate(2);
    for line in [
        "Component=FS FSUser=1 FSParent=1 FSQOS=1 FSClass=1",
        "Target=User Name=* Percent=1 Type=floor",
        "Target=Account Name=* Percent=1 Type=ceiling",
        "Target=Parent Name=chem Percent=5",
        "Target=QOS Name=* Percent=1",
        "Target=Partition Name=* Percent=1 Window=yes",
    ] {
        site::set(&mut snapshot, line);
    }
    let amount =
        |of: &str, key: &str| Usage { model: "window".into(), of: of.into(), key: key.into(), amount: 9.0 };
    snapshot.usage.extend([amount("partition", HOSTILE), amount("all", "")]);
    let text = of(&snapshot, &Arguments { users: Some(Users::Top(10)), ..Arguments::default() }).to_string();
    let shown = r#"name="<script>\"\\\\u{a}\\u{1b}]0;x\\u{7}\\u{202e}'""#;
    for kind in ["User", "Account", "QOS", "Partition", "Parent"] {
        assert!(
            text.contains(&format!("multifactor2_target_ratio{{kind=\"{kind}\",{shown}")),
            "{kind}\n{text}"
        );
    }
    check(&text);
    promtool(&["check", "metrics"], &text);
}

#[test]
fn the_file_is_replaced_as_a_whole_and_everybody_can_read_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("multifactor2.prom");
    let answer = of(&snapshot(), &Arguments::default());
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let before = fs::metadata(&path).unwrap().ino();
    write(&answer, &path).unwrap();
    let after = fs::metadata(&path).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), answer.to_string());
    assert_eq!(after.permissions().mode() & 0o777, 0o644);
    assert_ne!(after.ino(), before, "another file in its place");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left beside it");
    let error = write(&answer, &directory.path().join("multifactor2.txt")).unwrap_err().to_string();
    assert!(error.contains(".prom"), "{error}");
    assert!(write(&answer, &directory.path().join("none/multifactor2.prom")).is_err());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

/// A link in the place of the file is replaced, not followed.
#[test]
fn a_link_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let (path, other) = (directory.path().join("a.prom"), directory.path().join("other"));
    fs::write(&other, "kept").unwrap();
    std::os::unix::fs::symlink(&other, &path).unwrap();
    write(&of(&snapshot(), &Arguments::default()), &path).unwrap();
    assert_eq!(fs::read_to_string(&other).unwrap(), "kept");
}

/// A thousand accounts and ten thousand users: as many series as accounts need, and not more for users.
#[test]
fn users_do_not_multiply_series() {
    let mut snapshot = Snapshot::default();
    for number in 0..1000 {
        snapshot.associations.push(association(number + 1, 0, &format!("a{number}"), "", 1.0));
    }
    for number in 0..10_000 {
        snapshot.associations.push(association(
            number + 2000,
            number % 1000 + 1,
            &format!("a{}", number % 1000),
            &format!("u{number}"),
            1.0,
        ));
    }
    let answer = of(&snapshot, &Arguments::default());
    let series: usize = answer.metrics.iter().map(|metric| metric.series.len()).sum();
    assert!(series < 1000 * 11, "{series}");
    check(&answer.to_string());
}
