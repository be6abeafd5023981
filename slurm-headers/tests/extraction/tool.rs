//! The `layouts` command on a copy of the committed table.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use slurm_headers::{ExtractError, Reasons, Table, Tree, Version};

use crate::trees::{trees, Copy, FAR_MICRO, SLURMCTLD_HEADER};

/// Runs `layouts` on a copy of the committed table.
pub struct Tool {
    directory: tempfile::TempDir,
}

impl Tool {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("layouts.tsv"), slurm_headers::LAYOUTS_TSV).unwrap();
        fs::write(directory.path().join("reasons.tsv"), slurm_headers::REASONS_TSV).unwrap();
        Self { directory }
    }

    pub fn run(&self, command: &str, tree: &Path) -> (Option<i32>, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_layouts"))
            .args([command, "--table"])
            .arg(self.directory.path().join("layouts.tsv"))
            .arg("--slurm-src")
            .arg(tree)
            .output()
            .unwrap();
        (output.status.code(), text_of(&output))
    }

    pub fn table(&self) -> String {
        fs::read_to_string(self.directory.path().join("layouts.tsv")).unwrap()
    }

    pub fn reasons(&self) -> String {
        fs::read_to_string(self.directory.path().join("reasons.tsv")).unwrap()
    }
}

fn text_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn adding_an_equal_micro_release_raises_verified_and_keeps_the_rest_of_the_file() {
    let committed = Table::committed().unwrap();
    // A later micro release than any belongs to the last group of its major release.
    let later = |version| Version { micro: FAR_MICRO, ..version };
    let path = trees()
        .into_iter()
        .find(|path| {
            let version = Tree::open(path).unwrap().version();
            committed.group_of(version).is_some_and(|group| committed.group_of(later(version)) == Some(group))
        })
        .expect("one of the trees must be of the last group of its major release");
    let copy = Copy::of(&path);
    copy.set_micro(FAR_MICRO);
    let version = Tree::open(copy.path()).unwrap().version();
    let group = committed.groups[committed.group_of(version).unwrap()];
    let tool = Tool::new();
    let (status, text) = tool.run("add", copy.path());
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains(&format!("now verified through {version}")), "{text}");
    let expected = slurm_headers::LAYOUTS_TSV.replacen(&group.verified.to_string(), &version.to_string(), 1);
    assert_eq!(tool.table(), expected);

    let (status, text) = tool.run("add", copy.path());
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("already verified"), "{text}");
    assert_eq!(tool.table(), expected);
}

#[test]
fn adding_a_moved_micro_release_makes_a_group_and_says_what_moved() {
    let copy = Copy::of(&trees()[0]);
    copy.set_micro(FAR_MICRO);
    copy.replace_in_job("magic;", "magic;\n\tvoid *inserted;");
    let tool = Tool::new();
    let (status, text) = tool.run("add", copy.path());
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("new group") && text.contains("+8 bytes"), "{text}");
    let table = Table::parse(&tool.table()).unwrap();
    let version = Tree::open(copy.path()).unwrap().version();
    let group = table.groups[table.group_of(version).unwrap()];
    assert_eq!((group.first, group.verified), (version, version));
    assert_eq!(table.groups.len(), Table::committed().unwrap().groups.len() + 1);
    assert_eq!(tool.run("verify", copy.path()).0, Some(0));
}

#[test]
fn a_later_micro_release_with_another_reason_is_entered_with_it() {
    let copy = Copy::of(&trees()[0]);
    copy.rename_reason("WAIT_LICENSES", "WAIT_SOMETHING_ELSE");
    let tool = Tool::new();
    for command in ["verify", "add"] {
        let (status, text) = tool.run(command, copy.path());
        assert_eq!(status, Some(1), "{text}");
        assert!(text.contains("WAIT_LICENSES") && text.contains("10 -> -"), "{text}");
    }
    assert_eq!(tool.reasons(), slurm_headers::REASONS_TSV);

    copy.set_micro(FAR_MICRO);
    let (status, text) = tool.run("add", copy.path());
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("WAIT_SOMETHING_ELSE") && text.contains("- -> 10"), "{text}");
    let reasons = Reasons::parse(&tool.reasons()).unwrap();
    let version = Tree::open(copy.path()).unwrap().version();
    let before = Version { micro: version.micro - 1, ..version };
    assert_eq!(reasons.of(version).get("WAIT_SOMETHING_ELSE"), Some(&10));
    assert_eq!(reasons.of(version).get("WAIT_LICENSES"), None);
    assert_eq!(reasons.of(before).get("WAIT_LICENSES"), Some(&10));
    assert_eq!(tool.run("verify", copy.path()).0, Some(0));
}

#[test]
fn a_verified_release_with_other_headers_is_not_entered() {
    let copy = Copy::of(&trees()[0]);
    copy.replace_in_job("magic;", "magic;\n\tvoid *inserted;");
    let tool = Tool::new();
    let (status, text) = tool.run("add", copy.path());
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("not entered"), "{text}");
    assert_eq!(tool.table(), slurm_headers::LAYOUTS_TSV);
}

#[test]
fn a_prerelease_is_not_entered() {
    let copy = Copy::of(&trees()[0]);
    copy.set_meta("Release:", "0rc1");
    let (status, text) = Tool::new().run("add", copy.path());
    assert_eq!(status, Some(2), "{text}");
    assert!(text.contains("-0rc1 is not a release"), "{text}");
}

#[test]
fn a_candidate_of_a_new_series_is_entered_until_its_release_takes_the_place() {
    let copy = Copy::of(&trees()[0]);
    for (key, value) in [("Major:", "31"), ("Minor:", "5"), ("Micro:", "0"), ("Release:", "0pre1")] {
        copy.set_meta(key, value);
    }
    let tool = Tool::new();
    let (status, text) = tool.run("add", copy.path());
    assert_eq!(status, Some(2), "a state of development: {text}");

    copy.set_meta("Release:", "0rc1");
    let (status, text) = tool.run("add", copy.path());
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("Slurm 31.05.0-0rc1: new group"), "{text}");
    let last = || Table::parse(&tool.table()).unwrap().groups.last().unwrap().compared();
    assert_eq!(last(), "31.05.0-0rc1");
    let groups = Table::parse(&tool.table()).unwrap().groups.len();
    let (status, text) = tool.run("verify", copy.path());
    assert_eq!(status, Some(0), "{text}");
    assert!(!text.contains("notes it"), "{text}");

    copy.set_meta("Release:", "1");
    let (status, text) = tool.run("verify", copy.path());
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("verified through 31.05.0-0rc1 so far; `layouts add` notes it"), "{text}");
    copy.replace_in_job("magic;", "magic;\n\tvoid *inserted;");
    copy.rename_reason("WAIT_LICENSES", "WAIT_SOMETHING_ELSE");
    let (status, text) = tool.run("add", copy.path());
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("in the place of 31.05.0-0rc1, with other offsets:"), "{text}");
    assert!(text.contains("+8 bytes") && text.contains("WAIT_SOMETHING_ELSE"), "{text}");
    assert_eq!((last().as_str(), Table::parse(&tool.table()).unwrap().groups.len()), ("31.05.0", groups));
    assert_eq!(tool.run("verify", copy.path()).0, Some(0));

    copy.set_meta("Release:", "0rc2");
    let (status, text) = tool.run("add", copy.path());
    assert_eq!(status, Some(2), "its release is there: {text}");
}

#[test]
fn what_is_no_tree_is_refused_naming_the_missing_file() {
    let empty = tempfile::tempdir().unwrap();
    let error = Tree::open(empty.path()).unwrap_err().to_string();
    assert!(error.contains("not a Slurm source tree: META is missing"), "{error}");

    let nowhere = empty.path().join("nowhere");
    let error = Tree::open(&nowhere).unwrap_err().to_string();
    assert!(error.starts_with(&format!("{}: No such file", nowhere.display())), "{error}");

    let copy = Copy::of(&trees()[0]);
    fs::remove_file(copy.path().join(SLURMCTLD_HEADER)).unwrap();
    let error = Tree::open(copy.path()).unwrap_err().to_string();
    assert!(error.contains(&format!("{SLURMCTLD_HEADER} is missing")), "{error}");

    fs::write(copy.path().join(SLURMCTLD_HEADER), "").unwrap();
    fs::write(copy.path().join("META"), "  Major: 22\n  Minor: may\n").unwrap();
    let error = Tree::open(copy.path()).unwrap_err().to_string();
    assert!(error.contains("no usable 'Minor:' line"), "{error}");
}

#[test]
fn headers_that_do_not_compile_are_an_error_with_clangs_words() {
    let copy = Copy::of(&trees()[0]);
    copy.replace_in_job("magic;", "magic\n");
    let error = Tree::open(copy.path()).unwrap().column(&Table::committed().unwrap()).unwrap_err();
    assert!(matches!(error, ExtractError::Headers { .. }), "{error}");
    assert!(error.to_string().contains("expected ';'"), "{error}");
}

#[test]
fn a_missing_libclang_is_an_error_that_names_the_package() {
    let tree = &trees()[0];
    let nowhere = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_layouts"))
        .args(["verify", "--slurm-src"])
        .arg(tree)
        .env("LIBCLANG_PATH", nowhere.path())
        .output()
        .unwrap();
    let text = text_of(&output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("libclang-dev") && text.contains("clang-devel"), "{text}");
    assert!(!text.contains("panicked"), "{text}");
}

#[test]
fn a_release_prints_its_committed_column() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_layouts")).args(["show", "--release", "24.11.5"]).output().unwrap();
    let text = text_of(&output);
    let line = text.lines().find(|line| line.starts_with("job.prio_mult ")).unwrap();
    assert!(line.ends_with(" 688"), "{line}");
    assert!(Version::parse("24.11.5").is_some_and(|version| text.starts_with(&format!("Slurm {version}\n"))));
}
