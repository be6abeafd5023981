//! `multifactor2 check`: what is odd in a configuration that works, and its exit codes.

#[path = "recorded.rs"]
mod recorded;

use std::fs;
use std::path::Path;

use multifactor2_command::answers::check::{check, findings, Arguments, Report};
use multifactor2_command::model::Config;
use multifactor2_command::progress::Progress;
use multifactor2_core::settings::Settings;
use multifactor2_snapshot::records::{Qos, Setting};
use multifactor2_snapshot::Snapshot;
use recorded::{snapshot, texts, RELEASES};

/// Sound: only what a test changes is found.
fn sound() -> Snapshot {
    let mut snapshot = snapshot("24.11.5", "multifactor2-root");
    snapshot.associations.retain(|row| row.account != "theory");
    snapshot
}

fn with(name: &str, value: &str) -> Vec<String> {
    let mut snapshot = sound();
    let known = snapshot.parameters.keys().find(|known| known.eq_ignore_ascii_case(name)).unwrap().clone();
    snapshot.parameters.insert(known, value.to_owned());
    findings::all(&snapshot, "")
}

#[track_caller]
fn assert_found(found: &[String], part: &str) {
    assert!(found.len() == 1 && found[0].contains(part), "{part}: {found:?}");
}

#[test]
fn nothing_is_found_where_all_is_well() {
    assert_eq!(
        findings::all(&sound(), "1000|100|100000|500|2000|3000|CPU=1000,Mem=500\n"),
        Vec::<String>::new()
    );
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
        "Charge=WCKey and Override=WCKey do nothing",
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
        let found = findings::of_settings(&settings, Some(&snapshot));
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

/// Said also where nobody could be asked what is in force.
#[test]
fn settings_without_effect() {
    let settings =
        Settings::parse("Functional=User Name=* Shares=1\nDilutionQuantum=64", "f").unwrap().settings;
    for snapshot in [None, Some(&sound())] {
        let found = findings::of_settings(&settings, snapshot);
        assert_found(&found[..1], "Functional lines change nothing with TicketsFunctional=0");
        assert_found(&found[1..], "DilutionQuantum changes nothing with Dilution=none");
    }
}

#[test]
fn all_weights_zero() {
    let mut snapshot = sound();
    for (name, value) in &mut snapshot.parameters {
        if name.starts_with("PriorityWeight") {
            *value = if name == "PriorityWeightTRES" { String::new() } else { "0".to_owned() };
        }
    }
    assert_found(&findings::all(&snapshot, ""), "all PriorityWeight* are 0");
}

#[test]
fn a_weight_too_small_to_tell_users_apart() {
    assert_found(&with("PriorityWeightFairshare", "50"), "at most 50 different values");
    assert!(with("PriorityWeightFairshare", "1000").is_empty());
}

#[test]
fn weights_that_no_priority_can_hold() {
    assert_found(&with("PriorityWeightAge", "4294967295"), "no priority can be above 4294967295");
}

#[test]
fn increase_only_and_another_algorithm() {
    assert_found(&with("PriorityFlags", "ACCRUE_ALWAYS,INCR_ONLY"), "INCR_ONLY keeps each job");
    let mut snapshot = sound();
    snapshot.about.priority_type = "priority/basic".to_owned();
    assert_found(&findings::all(&snapshot, ""), "fair-share has no part");
}

#[test]
fn parent_users_beside_share_users() {
    let mut both = snapshot("24.11.5", "multifactor2-root");
    assert_found(&findings::all(&both, ""), "account theory, and perhaps others");
    both.settings.as_mut().unwrap()[0].line = "ParentUsers=split".to_owned();
    assert!(findings::all(&both, "").is_empty());
    // Stock gives a meaning of its own to these.
    assert!(findings::all(&snapshot("24.11.5", "fair-tree-root"), "").is_empty());
}

#[test]
fn a_usage_threshold_that_is_enforced() {
    let mut snapshot = sound();
    let flags = vec!["EnforceUsageThreshold".to_owned()];
    snapshot.qos.push(Qos { name: "x".to_owned(), usage_threshold: Some(0.5), flags, ..Qos::default() });
    assert_found(&findings::all(&snapshot, ""), "QOS x has a UsageThreshold");
}

#[test]
fn another_slurm_conf_on_this_host() {
    let found = findings::all(&sound(), "1000|100|90000|500|2000|3000|CPU=1000,Mem=500\n");
    assert_found(&found, "PriorityWeightFairshare=90000, and slurmctld goes by 100000");
}

#[test]
fn a_plugin_that_is_not_there() {
    let place = tempfile::tempdir().unwrap();
    let mut snapshot = sound();
    snapshot.parameters.insert("PluginDir".to_owned(), format!("/nowhere:{}", place.path().display()));
    assert!(findings::plugin_is_there(&snapshot)
        .unwrap()
        .contains("priority_multifactor2.so is not in /nowhere:"));
    fs::write(place.path().join("priority_multifactor2.so"), "").unwrap();
    assert_eq!(findings::plugin_is_there(&snapshot), None);
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
        assert_eq!((report.exit_code(), report.errors.len()), (2, 0), "{release}: {}", report.text());
        assert_found(&report.findings, "account theory");
        let conf = place.path().join("multifactor2.conf");
        fs::write(&conf, "ActiveJobs=never\n").unwrap();
        let report = checked(&Arguments { file: Some(conf), ..Arguments::default() }, &saved);
        assert_eq!(report.exit_code(), 1, "{release}");
        assert!(
            report.text().starts_with("error: ") && report.text().contains("ActiveJobs=never: allowed are"),
            "{}",
            report.text()
        );
    }
    let report = checked(&Arguments::default(), Path::new("/nowhere"));
    assert_eq!(report.exit_code(), 1, "{}", report.text());
}

#[test]
fn exit_codes_are_0_for_nothing_1_for_errors_2_for_findings() {
    let one = || vec!["x".to_owned()];
    for (errors, findings, expected) in
        [(vec![], vec![], 0), (one(), one(), 1), (one(), vec![], 1), (vec![], one(), 2)]
    {
        assert_eq!(Report { errors, findings, notes: one() }.exit_code(), expected);
    }
}
