//! Files that an answer is written to: whole or not at all.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{symlink, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use multifactor2_snapshot::format;
use tempfile::TempDir;

use crate::{recorded, replay, site};

/// A directory with what answers are made from, and another one that they are written to.
struct Written {
    directory: TempDir,
}

impl Written {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut snapshot = Vec::new();
        format::write(&site::example(), &mut snapshot).unwrap();
        fs::write(directory.path().join("snapshot"), snapshot).unwrap();
        fs::write(directory.path().join("sacct.txt"), replay::trace()).unwrap();
        symlink(recorded::directory("24.11.5").join("multifactor2-root"), directory.path().join("kept"))
            .unwrap();
        fs::create_dir(directory.path().join("out")).unwrap();
        Self { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The status, and what it says.
    fn ask(&self, words: &str) -> (Option<i32>, String) {
        self.ask_in_shell("", words)
    }

    fn ask_in_shell(&self, before: &str, words: &str) -> (Option<i32>, String) {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{before} exec \"$0\" {words}"), env!("CARGO_BIN_EXE_multifactor2")]);
        let output = shell.current_dir(self.directory.path()).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }

    /// All that is in the directory for answers, below it too.
    fn found(&self) -> Vec<String> {
        fn below(directory: &Path, found: &mut Vec<String>) {
            for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
                found.push(entry.file_name().into_string().unwrap());
                if entry.file_type().unwrap().is_dir() {
                    below(&entry.path(), found);
                }
            }
        }
        let mut found = Vec::new();
        below(&self.path("out"), &mut found);
        found
    }
}

/// One command for each option that writes; each writes more than two kilobytes.
const WRITERS: [&str; 8] = [
    "tree --from snapshot --html out/file",
    "tree --from snapshot --svg out/file",
    "what-if --from snapshot --html out/file",
    "metrics --from snapshot --out out/file.prom",
    "tree --from kept --save out/saved",
    "tree --from kept --save out/saved --anonymise",
    "replay sacct.txt --procs 8 --runs 0 --policy fifo --csv out",
    "replay sacct.txt --procs 8 --runs 0 --policy fifo --html out/file",
];

/// A limit stands for a disk that is full: what is written does not fit.
#[test]
fn of_a_file_that_does_not_fit_nothing_stays_and_the_old_one_is_as_it_was() {
    for words in WRITERS {
        let place = Written::new();
        let replaced = ["out/file", "out/file.prom", "out/series.csv"];
        let is_new = words.contains("--save");
        if !is_new {
            for name in replaced {
                fs::write(place.path(name), "old").unwrap();
            }
        }
        // In blocks of 512 bytes.
        let (status, said) = place.ask_in_shell("trap '' XFSZ; ulimit -f 1;", words);
        assert_eq!(status, Some(4), "{words}: {said}");
        assert!(said.contains("cannot be written: File too large"), "{words}: {said}");
        assert!(said.contains("make room there, or choose another"), "{words}: {said}");
        if is_new {
            assert_eq!(place.found(), Vec::<String>::new(), "{words}");
        } else {
            assert!(
                !place.found().iter().any(|name| name.starts_with(".multifactor2-")),
                "{words}: {:?}",
                place.found()
            );
            for name in replaced {
                assert_eq!(fs::read_to_string(place.path(name)).unwrap(), "old", "{words}");
            }
        }
        let (status, said) = place.ask(words);
        assert_eq!((status, said.as_str()), (Some(0), ""), "{words}");
        assert!(
            !place.found().iter().any(|name| name.starts_with(".multifactor2-")),
            "{words}: {:?}",
            place.found()
        );
    }
}

#[test]
fn a_directory_that_is_not_there_is_an_error_with_the_next_step() {
    let place = Written::new();
    for words in WRITERS.iter().filter(|words| !words.contains("--csv")) {
        let (status, said) = place.ask(&words.replace("out/", "none/"));
        assert_eq!(status, Some(4), "{words}");
        assert!(
            said.contains("No such file or directory (os error 2): make its directory"),
            "{words}: {said}"
        );
        assert!(said.contains("none/") && !said.contains(".tmp"), "{words}: {said}");
    }
    assert!(!place.path("none").exists());
}

#[test]
fn a_directory_that_was_empty_before_stays() {
    let place = Written::new();
    let (status, _) = place.ask_in_shell("trap '' XFSZ; ulimit -f 1;", "tree --from kept --save out");
    assert_eq!((status, place.found().len()), (Some(4), 0));
    assert_eq!(place.ask("tree --from kept --save out").0, Some(0));
    assert!(place.path("out/manifest.json").is_file());
}

#[test]
fn a_new_file_is_as_the_umask_says_and_an_old_one_keeps_its_mode() {
    let place = Written::new();
    let mode = |name: &str| fs::metadata(place.path(name)).unwrap().permissions().mode() & 0o777;
    for (umask, expected) in [("022", 0o644), ("077", 0o600), ("002", 0o664)] {
        let (status, said) =
            place.ask_in_shell(&format!("umask {umask};"), &format!("{}{umask}", WRITERS[0]));
        assert_eq!((status, said.as_str()), (Some(0), ""));
        assert_eq!(mode(&format!("out/file{umask}")), expected);
    }
    fs::write(place.path("out/file"), "old").unwrap();
    fs::set_permissions(place.path("out/file"), fs::Permissions::from_mode(0o640)).unwrap();
    let before = fs::metadata(place.path("out/file")).unwrap().ino();
    assert_eq!(place.ask(WRITERS[0]).0, Some(0));
    assert_eq!(mode("out/file"), 0o640);
    assert_ne!(fs::metadata(place.path("out/file")).unwrap().ino(), before, "another file in its place");
}

#[test]
fn a_link_is_replaced_and_not_followed() {
    let place = Written::new();
    fs::write(place.path("other"), "kept").unwrap();
    symlink(place.path("other"), place.path("out/file")).unwrap();
    assert_eq!(place.ask(WRITERS[0]).0, Some(0));
    assert_eq!(fs::read_to_string(place.path("other")).unwrap(), "kept");
    assert!(fs::symlink_metadata(place.path("out/file")).unwrap().is_file());
}

/// Nobody wants a file in the place of `/dev/null`.
#[test]
fn a_device_or_a_pipe_gets_the_bytes() {
    let place = Written::new();
    let (status, said) = place.ask("tree --from snapshot --html /dev/full");
    assert!(status == Some(4) && said.contains("No space left on device"), "{said}");
    assert!(!fs::metadata("/dev/full").unwrap().is_file());
    symlink("/dev/full", place.path("out/file")).unwrap();
    let (status, said) = place.ask(WRITERS[0]);
    assert!(status == Some(4) && said.contains("No space left on device"), "{said}");
    // Standard output that goes to a file is still what /dev/stdout names.
    let (status, said) = place.ask("tree --from snapshot --html /dev/stdout >> out/page");
    assert_eq!((status, said.as_str()), (Some(0), ""));
    assert!(fs::symlink_metadata("/dev/stdout").unwrap().is_symlink());
    assert!(fs::read_to_string(place.path("out/page")).unwrap().starts_with("<!DOCTYPE html>"));
    let mut bytes = Vec::new();
    let mut shell = Command::new("sh");
    shell.args([
        "-c",
        "\"$0\" tree --from snapshot --svg /dev/stdout | cat",
        env!("CARGO_BIN_EXE_multifactor2"),
    ]);
    let mut child =
        shell.current_dir(place.directory.path()).stdout(std::process::Stdio::piped()).spawn().unwrap();
    child.stdout.take().unwrap().read_to_end(&mut bytes).unwrap();
    assert!(child.wait().unwrap().success() && bytes.windows(4).any(|part| part == b"<svg"));
}

/// A script that keeps the answer on a full disk must not take it for one. Who looks at the beginning only has seen it.
#[test]
fn an_answer_that_cannot_be_printed_is_an_error() {
    let place = Written::new();
    for words in ["why 1001", "queue", "tree --json", "settings -P", "replay sacct.txt --procs 8 --json"] {
        let words =
            if words.starts_with("replay") { words.to_owned() } else { format!("{words} --from snapshot") };
        let (status, error) = place.ask(&format!("{words} > /dev/full"));
        assert_eq!(status, Some(4), "{words}: {error}");
        assert!(error.contains("standard output: ") && error.contains("No space left"), "{words}: {error}");
        let (status, error) =
            place.ask_in_shell("exec 3>&1; { ", &format!("{words}; echo $? >&3; }} | true"));
        assert_eq!((status, error.as_str()), (Some(0), ""), "{words}");
    }
}

/// `su` keeps `USER` of who was there before.
#[test]
fn who_asks_is_told_by_the_uid_and_not_by_the_environment() {
    let place = Written::new();
    let path = site::path_as("user2", place.directory.path());
    let output = Command::new(env!("CARGO_BIN_EXE_multifactor2"))
        .args(["queue", "--me", "-P", "-n", "-o", "User", "--from", "snapshot"])
        .current_dir(place.directory.path())
        .envs([("PATH", path.as_str()), ("USER", "user5"), ("LOGNAME", "user5")])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "user2", "{output:?}");
}
