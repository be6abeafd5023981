//! `multifactor2 check`: what is odd in a configuration that works, and its exit codes.

#[path = "support/configurations.rs"]
mod configurations;
#[path = "recorded.rs"]
mod recorded;

use std::fs;
use std::path::{Path, PathBuf};

use configurations::{Case, BASE, CASES};
use multifactor2_command::answers::check::{check, findings, here, Arguments, Report};
use multifactor2_command::input::commands::CONFIG;
use multifactor2_command::model::Config;
use multifactor2_command::progress::Progress;
use multifactor2_core::settings::advice::{Advice, Grade};
use multifactor2_core::settings::Settings;
use multifactor2_snapshot::records::{Qos, Setting};
use multifactor2_snapshot::Snapshot;
use recorded::{snapshot, texts, RELEASES};

/// Sound: only what a test changes is found.
fn sound() -> Snapshot {
    let mut snapshot = snapshot("24.11.5", "multifactor2-root");
    snapshot.associations.retain(|row| row.account != "theory");
    snapshot.parameters.insert("PriorityDecayHalfLife".to_owned(), "7-00:00:00".to_owned());
    snapshot
}

fn texts_of(found: &[Advice]) -> Vec<String> {
    found.iter().map(|advice| advice.text.clone()).collect()
}

#[track_caller]
fn assert_found(found: &[String], part: &str) {
    assert!(found.len() == 1 && found[0].contains(part), "{part}: {found:?}");
}

/// Any user names any key where slurmctld does not look, so lines by key count for nobody; the model computes as the plugin does.
#[test]
fn lines_that_rest_on_what_is_not_enforced() {
    const LINES: [&str; 4] = [
        "Charge=WCKey Name=urgent Factor=0",
        "Override=WCKey Name=urgent Tickets=100000",
        "Charge=Requeued Factor=0.1",
        "MinimumCharge=10:00",
    ];
    const SAID: [&str; 3] = [
        "Charge=WCKey, Override=WCKey and Grant=WCKey do nothing",
        "Charge=Requeued does nothing",
        "MinimumCharge misses runs",
    ];
    for (words, said, [charges, overrides]) in [
        ("associations,limits,qos,safe,wckeys", &SAID[..0], [2, 1]),
        ("associations,limits", &SAID[..1], [1, 0]),
        ("associations,wckeys", &SAID[1..], [1, 1]),
        ("none", &SAID[..], [0, 0]),
    ] {
        let mut snapshot = sound();
        snapshot.parameters.insert("AccountingStorageEnforce".to_owned(), words.to_owned());
        let settings = Settings::parse(&LINES.join("\n"), "file").unwrap().settings;
        let found = texts_of(&findings::all(&snapshot, Some(&settings)));
        let found: Vec<_> =
            found.iter().filter(|found| !found.starts_with("AccountingStorageEnforce")).collect();
        assert_eq!(found.len(), said.len(), "{words}: {found:?}");
        assert!(found.iter().zip(said).all(|(found, said)| found.starts_with(said)), "{words}: {found:?}");

        let from = String::new();
        snapshot.settings =
            Some(LINES.map(|line| Setting { line: line.to_owned(), from: from.clone() }).into());
        let config = Config::of(&snapshot);
        let notes = config.notes.iter().filter(|note| SAID.iter().any(|said| note.starts_with(said))).count();
        assert_eq!(notes, said.len(), "{words}: {:?}", config.notes);
        let settings = config.settings.unwrap();
        assert_eq!([settings.charges.len(), settings.overrides.len()], [charges, overrides], "{words}");
    }
}

/// The texts of a release with a configuration of the table in place of its own, and the file of the settings.
fn saved(release: &str, case: &Case, place: &Path) -> (PathBuf, PathBuf) {
    let mut texts = texts(release, "multifactor2-root");
    let config = texts.texts.get_mut(CONFIG).unwrap();
    let mut set = |name: &str, value: &str| {
        let is_it = |line: &str| {
            line.split_once('=').is_some_and(|(known, _)| known.trim().eq_ignore_ascii_case(name))
        };
        let lines = config.lines().filter(|line| !is_it(line)).map(|line| format!("{line}\n"));
        *config = lines.collect::<String>() + &format!("{name} = {value}\n");
    };
    set("PriorityWeightTRES", "");
    let written = case.slurm.lines().filter_map(|line| line.split_once('='));
    for (name, value) in BASE.into_iter().chain(written) {
        set(name, value);
    }
    // An account here mixes two kinds of users, which a test of its own is about.
    let conf = if case.slurm.contains("PriorityType")
        || case.ours.contains("ParentUsers")
        || case.ours.contains("Distribution")
    {
        case.ours.to_owned()
    } else {
        format!("ParentUsers=split\n{}", case.ours)
    };
    let (saved, file) = (place.join("saved"), place.join("multifactor2.conf"));
    texts.save(&saved).unwrap();
    fs::write(&file, conf).unwrap();
    (saved, file)
}

#[test]
fn a_table_of_configurations() {
    for release in RELEASES {
        for case in &CASES {
            let place = tempfile::tempdir().unwrap();
            let (saved, file) = saved(release, case, place.path());
            let arguments = Arguments { file: Some(file), ..Arguments::default() };
            let report = checked(&arguments, &saved);
            let what = format!("{release}, {:?}, {:?}: {}", case.slurm, case.ours, report.text());
            assert_eq!(report.errors, Vec::<String>::new(), "{what}");
            let found: Vec<(String, &str)> = report
                .text()
                .lines()
                .filter_map(|line| line.split_once(": "))
                .filter(|(grade, sentence)| {
                    ["wrong", "without effect", "unusual"].contains(grade)
                        && !sentence.starts_with("account theory")
                })
                .map(|(grade, sentence)| (grade.to_owned(), &*sentence.to_owned().leak()))
                .collect();
            assert_eq!(found.len(), case.found.len(), "{what}");
            for (grade, part) in case.found {
                assert!(
                    found.iter().any(|(of, sentence)| of == grade && sentence.contains(part)),
                    "{part}: {what}"
                );
            }
            let worst = case.found.iter().any(|(grade, _)| *grade != "unusual");
            let is_mixed = report.text().contains("account theory");
            assert_eq!(report.exit_code(false), if worst || is_mixed { 2 } else { 0 }, "{what}");
            assert_eq!(
                report.exit_code(true),
                if case.found.is_empty() && !is_mixed { 0 } else { 2 },
                "{what}"
            );
        }
    }
}

#[test]
fn parent_users_beside_share_users() {
    let mut both = snapshot("24.11.5", "multifactor2-root");
    both.parameters.insert("PriorityDecayHalfLife".to_owned(), "7-00:00:00".to_owned());
    let settings = |text: &str| Settings::parse(text, "f").unwrap().settings;
    let found = |snapshot: &Snapshot, text: &str| texts_of(&findings::all(snapshot, Some(&settings(text))));
    assert_found(&found(&both, ""), "account theory, and perhaps others");
    assert!(found(&both, "ParentUsers=split").is_empty());
    // Stock gives a meaning of its own to these.
    both.about.priority_type = "priority/multifactor".to_owned();
    assert!(found(&both, "").is_empty());
}

#[test]
fn a_usage_threshold_that_is_enforced() {
    let mut snapshot = sound();
    let flags = vec!["EnforceUsageThreshold".to_owned()];
    snapshot.qos.push(Qos { name: "x".to_owned(), usage_threshold: Some(0.5), flags, ..Qos::default() });
    assert_found(&texts_of(&findings::all(&snapshot, None)), "QOS x has a UsageThreshold");
}

/// Where something is hidden, names are not looked for, and that is said.
#[test]
fn names_are_looked_for_where_all_can_be_seen() {
    let place = tempfile::tempdir().unwrap();
    for (case, hidden) in [("usage-ada", "users and accounts"), ("all-ada", "users and accounts")] {
        let saved = place.path().join(case);
        texts("24.11.5", case).save(&saved).unwrap();
        let conf = place.path().join("multifactor2.conf");
        fs::write(&conf, "Override=User Name=nobody Tickets=5\n").unwrap();
        let report = checked(&Arguments { file: Some(conf), ..Arguments::default() }, &saved);
        let text = report.text();
        assert!(!text.contains("this name does not exist"), "{case}: {text}");
        assert!(text.contains(&format!("not looked at: names of {hidden}")), "{case}: {text}");
    }
}

/// What an older version would refuse, by the table of keys.
#[test]
fn an_older_version_refuses_later_keys() {
    let place = tempfile::tempdir().unwrap();
    let conf = place.path().join("multifactor2.conf");
    fs::write(&conf, "ActiveJobs=startable\nOverride=User Name=ada Tickets=5\n").unwrap();
    let with = |version: &str| {
        let version = Some(version.to_owned());
        check(
            &Arguments { file: Some(conf.clone()), older: version, ..Arguments::default() },
            &Progress::begin(),
        )
        .0
    };
    let old = with("0.1.0");
    assert_eq!((old.exit_code(false), old.findings.len()), (2, 2), "{}", old.text());
    for part in [
        "multifactor2.conf line 1: ActiveJobs=startable: 0.1.0 refuses it",
        "line 2: Override: 0.1.0 refuses it, because it is new in 0.2.0",
    ] {
        assert!(old.text().contains(part), "{part}: {}", old.text());
    }
    assert!(with("0.2.0").text().contains("ok: 0.2.0 takes these settings, too"));
    let unknown = with("7");
    assert_eq!(unknown.exit_code(false), 1);
    assert!(unknown.text().contains("error: --for 7: known versions are 0.1.0, 0.2.0"), "{}", unknown.text());
}

#[test]
fn a_plugin_that_is_not_there() {
    let place = tempfile::tempdir().unwrap();
    let mut snapshot = sound();
    snapshot.parameters.insert("PluginDir".to_owned(), format!("/nowhere:{}", place.path().display()));
    let found = here::plugin_is_there(&snapshot).unwrap();
    assert!(
        found.grade == Grade::Wrong && found.text.contains("priority_multifactor2.so is not in /nowhere:")
    );
    fs::write(place.path().join("priority_multifactor2.so"), "").unwrap();
    assert_eq!(here::plugin_is_there(&snapshot), None);
}

fn checked(arguments: &Arguments, from: &Path) -> Report {
    let mut arguments = arguments.clone();
    arguments.of.input.from = Some(from.to_owned());
    check(&arguments, &Progress::begin()).0
}

#[test]
fn a_saved_directory_is_checked_without_this_host() {
    for release in RELEASES {
        let place = tempfile::tempdir().unwrap();
        let saved = place.path().join("saved");
        texts(release, "multifactor2-root").save(&saved).unwrap();
        let report = checked(&Arguments::default(), &saved);
        assert_eq!((report.exit_code(false), report.errors.len()), (2, 0), "{release}: {}", report.text());
        assert!(report.text().contains("wrong: account theory"), "{}", report.text());
        let conf = place.path().join("multifactor2.conf");
        fs::write(&conf, "ActiveJobs=never\n").unwrap();
        let report = checked(&Arguments { file: Some(conf), ..Arguments::default() }, &saved);
        assert_eq!(report.exit_code(false), 2, "{release}");
        assert!(
            report.text().starts_with("wrong: ") && report.text().contains("ActiveJobs=never: must be"),
            "{}",
            report.text()
        );
    }
    let report = checked(&Arguments::default(), Path::new("/nowhere"));
    assert_eq!(report.exit_code(false), 1, "{}", report.text());
}
