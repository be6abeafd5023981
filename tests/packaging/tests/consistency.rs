//! What is written in several places agrees: the version, licences, and the messages that the manual page explains.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(file: &str) -> String {
    fs::read_to_string(top().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The text behind `name` at the beginning of a line of the spec file.
fn tag(name: &str) -> String {
    let spec = read("packaging/slurm-multifactor2.spec");
    let line = spec.lines().find_map(|line| line.strip_prefix(name)).expect("the tag is in the spec file");
    line.trim().to_owned()
}

#[test]
fn the_version_is_that_of_the_workspace() {
    assert_eq!(tag("Version:"), env!("CARGO_PKG_VERSION"));
    assert!(
        read("packaging/slurm-multifactor2.spec").contains(&format!(" - {}-1\n", env!("CARGO_PKG_VERSION")))
    );
    assert!(read("CHANGELOG.md").contains(env!("CARGO_PKG_VERSION")));
}

/// Licences of the crates that are linked into the plugin on Linux, the alternatives of each in one order.
fn linked_licences() -> BTreeSet<BTreeSet<String>> {
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO")).args(arguments).current_dir(top()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let metadata: Value =
        serde_json::from_str(&run(&["metadata", "--locked", "--offline", "--format-version", "1"])).unwrap();
    let tree = run(&[
        "tree",
        "--locked",
        "--offline",
        "-p",
        "slurm-multifactor2",
        "-e",
        "normal",
        "--target",
        "x86_64-unknown-linux-gnu",
        "--prefix",
        "none",
        "--format",
        "{p}",
    ]);
    let linked: BTreeSet<(String, String)> = tree
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?.to_owned(), words.next()?.trim_start_matches('v').to_owned()))
        })
        .collect();
    assert!(linked.len() > 5, "{linked:?}");
    let packages = metadata["packages"].as_array().unwrap();
    packages
        .iter()
        .filter(|package| {
            let text = |key: &str| package[key].as_str().unwrap().to_owned();
            linked.contains(&(text("name"), text("version")))
        })
        .map(|package| alternatives(package["license"].as_str().expect("a crate without licence")))
        .collect()
}

fn alternatives(expression: &str) -> BTreeSet<String> {
    let plain = expression.replace(['(', ')'], "").replace('/', " OR ");
    plain.split(" OR ").map(|licence| licence.trim().to_owned()).collect()
}

#[test]
fn the_licence_of_the_rpm_names_all_that_is_linked_in() {
    let named: BTreeSet<BTreeSet<String>> = tag("License:").split(" AND ").map(alternatives).collect();
    for licence in linked_licences() {
        assert!(named.contains(&licence), "{licence:?} is not in License: of the spec file");
    }
}

/// Texts of the source as one line each: strings that continue on the next line are joined.
fn source() -> String {
    let mut text = String::new();
    let mut open = vec![top().join("src")];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap().flatten() {
            if entry.path().is_dir() {
                open.push(entry.path());
            } else {
                text.push_str(&fs::read_to_string(entry.path()).unwrap());
            }
        }
    }
    let joined = text.replace("\\\n", "");
    joined.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_manual_page_explains_messages_that_exist() {
    let page = read("packaging/man/priority_multifactor2.8").replace("\\-", "-").replace("\"\"", "\"");
    let source = source();
    // One expected part of "N bytes, 16 expected" is a constant in the source.
    for message in [
        "is not supported; ",
        "cannot tell the running Slurm release (API ",
        "the process says Slurm ",
        "its build differs from every known one",
        "not loaded by a Slurm process",
        "this slurmctld does not match ",
        "PriorityWeightFairshare is set, but slurmctld has no associations",
        "16 expected",
        "cannot read ",
        "the site factor plugin does not start",
        "which is newer than this build knows",
        "Until then jobs are ordered by submission and nothing is written",
        "to recover: usage decays from now on",
        "needs slurmdbd and is ignored",
        "cannot save ",
        "the time of the last decay cannot be saved: StateSaveLocation is /dev/null",
        "cannot start the decay thread",
        "exceeds 32 bits and is cut to ",
        " end, but only ",
        "has no details record",
        "has a UsageThreshold: ",
        "users with Fairshare=parent directly below the root",
        "internal error at ",
        "the last good settings stay in force",
        "replaces the value of ",
    ] {
        assert!(page.contains(message), "the manual page does not explain '{message}'");
        let known = message == "16 expected" || source.contains(message);
        assert!(known, "the plugin does not say '{message}' any more");
    }
}
