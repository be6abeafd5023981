//! The committed table against real Slurm headers, and what extraction says about headers that are
//! not as the table has them.
//!
//! Needs libclang and at least one Slurm source tree: `SLURM_SRC_DIRS` (colon separated) names
//! trees, or directories that hold trees; without it `target/slurm-src` is looked through, where
//! `slurm-headers/fetch-source.sh target/slurm-src` puts the tree of Debian's source package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use slurm_headers::{ExtractError, Mismatch, Table, Tree, Version};

/// Read in every release, and the home of the job record up to 23.11.
const SLURMCTLD_HEADER: &str = "src/slurmctld/slurmctld.h";

/// Where the job record is defined, older place first.
const JOB_HEADERS: [&str; 2] = [SLURMCTLD_HEADER, "src/common/job_record.h"];

/// The trees at hand; never none.
fn trees() -> Vec<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let named = std::env::var("SLURM_SRC_DIRS").ok().filter(|value| !value.is_empty());
    let places: Vec<PathBuf> = match &named {
        Some(paths) => std::env::split_paths(paths).collect(),
        None => vec![workspace.join("target/slurm-src")],
    };
    let is_tree = |path: &PathBuf| path.join("META").is_file();
    let mut trees = Vec::new();
    for place in &places {
        if is_tree(place) {
            trees.push(place.clone());
        } else if let Ok(entries) = fs::read_dir(place) {
            trees.extend(entries.filter_map(Result::ok).map(|entry| entry.path()).filter(is_tree));
        }
    }
    trees.sort();
    assert!(
        !trees.is_empty(),
        "no Slurm source tree in {places:?}. On Debian, from the top directory:\n    \
         slurm-headers/fetch-source.sh target/slurm-src\nElsewhere unpack a Slurm source archive and set \
         SLURM_SRC_DIRS to its directory"
    );
    trees
}

/// A copy of a tree's headers, to be altered.
struct Copy {
    directory: tempfile::TempDir,
}

impl Copy {
    fn of(tree: &Path) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::copy(tree.join("META"), directory.path().join("META")).unwrap();
        for part in ["slurm", "src"] {
            copy_headers(&tree.join(part), &directory.path().join(part));
        }
        Self { directory }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn replace(&self, file: &str, from: &str, to: &str) {
        let path = self.path().join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{file} has no '{from}' to alter");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
    }

    /// Replaces within the definition of the job record.
    fn replace_in_job(&self, from: &str, to: &str) {
        let (path, text, start) = JOB_HEADERS
            .iter()
            .find_map(|header| {
                let path = self.path().join(header);
                let text = fs::read_to_string(&path).ok()?;
                let start = text.find("struct job_record {")?;
                Some((path, text, start))
            })
            .unwrap_or_else(|| panic!("none of {JOB_HEADERS:?} defines job_record"));
        let at = start + text[start..].find(from).unwrap_or_else(|| panic!("no '{from}' in job_record"));
        fs::write(&path, [&text[..at], to, &text[at + from.len()..]].concat()).unwrap();
    }

    fn set_micro(&self, micro: u8) {
        let path = self.path().join("META");
        let lines = fs::read_to_string(&path).unwrap().lines().fold(String::new(), |text, line| {
            if line.trim_start().starts_with("Micro:") {
                format!("{text}  Micro: {micro}\n")
            } else {
                format!("{text}{line}\n")
            }
        });
        fs::write(&path, lines).unwrap();
    }
}

fn copy_headers(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let copy = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_headers(&path, &copy);
        } else if path.extension().is_some_and(|extension| extension == "h" || extension == "in") {
            fs::copy(&path, copy).unwrap();
        }
    }
}

/// Runs `layouts` on a copy of the committed table.
struct Tool {
    directory: tempfile::TempDir,
}

impl Tool {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("layouts.tsv"), slurm_headers::LAYOUTS_TSV).unwrap();
        Self { directory }
    }

    fn run(&self, command: &str, tree: &Path) -> (Option<i32>, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_layouts"))
            .args([command, "--table"])
            .arg(self.directory.path().join("layouts.tsv"))
            .arg("--slurm-src")
            .arg(tree)
            .output()
            .unwrap();
        (output.status.code(), text_of(&output))
    }

    fn table(&self) -> String {
        fs::read_to_string(self.directory.path().join("layouts.tsv")).unwrap()
    }
}

fn text_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// A micro release number behind any that exists.
const FAR_MICRO: u8 = 250;

#[test]
fn committed_layouts_equal_the_headers_of_every_tree_at_hand() {
    let table = Table::committed().unwrap();
    let mut differences = Vec::new();
    for path in trees() {
        let tree = Tree::open(&path).unwrap();
        let Some(group) = table.group_of(tree.version()) else {
            differences.push(format!("{}: Slurm {} is not in the table", path.display(), tree.name()));
            continue;
        };
        match tree.column(&table) {
            Ok(column) => {
                let changes = table.changes(&table.column(group), &column);
                differences.extend(changes.iter().map(|change| format!("{}: {change}", path.display())));
                println!("{}: Slurm {}, {} differences", path.display(), tree.name(), changes.len());
            }
            Err(error) => differences.push(format!("{}: {error}", path.display())),
        }
    }
    assert!(differences.is_empty(), "committed -> headers:\n{}", differences.join("\n"));
}

#[test]
fn a_field_inserted_behind_the_magic_number_is_reported() {
    let table = Table::committed().unwrap();
    let copy = Copy::of(&trees()[0]);
    let tree = Tree::open(copy.path()).unwrap();
    let committed = table.column(table.group_of(tree.version()).unwrap());
    assert_eq!(table.changes(&committed, &tree.column(&table).unwrap()), []);

    copy.replace_in_job("magic;", "magic;\n\tvoid *inserted;");
    let changes = table.changes(&committed, &tree.column(&table).unwrap());
    let moved = |name: &str| {
        let change = changes.iter().find(|change| change.record == "job" && change.field == name)?;
        Some(change.after? - change.before?)
    };
    assert_eq!(moved("account"), Some(8));
    assert_eq!(moved("user_id"), Some(8));
    assert_eq!(moved("(size)"), Some(8));
    assert_eq!(moved("magic"), None);
    assert!(changes.iter().all(|change| change.record == "job"), "{changes:#?}");

    let (status, text) = Tool::new().run("verify", copy.path());
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("DIFFERS") && text.contains("job.account") && text.contains("+8 bytes"), "{text}");
}

#[test]
fn a_constant_with_another_value_is_reported() {
    let copy = Copy::of(&trees()[0]);
    let header = copy.path().join("slurm/slurm.h");
    let text = fs::read_to_string(&header).unwrap();
    let line = text.lines().find(|line| line.starts_with("#define JOB_REVOKED")).unwrap();
    copy.replace("slurm/slurm.h", line, "#define JOB_REVOKED SLURM_BIT(20)");
    let error = Tree::open(copy.path()).unwrap().column(&Table::committed().unwrap()).unwrap_err();
    let ExtractError::Mismatches { mismatches, .. } = &error else { panic!("{error}") };
    let moved = Mismatch::OtherConstant { name: "JOB_REVOKED".to_owned(), expected: 1 << 19, found: 1 << 20 };
    assert_eq!(*mismatches, [moved]);
    // Tools and builds with SLURM_SRC stop at it.
    let (status, text) = Tool::new().run("verify", copy.path());
    assert!(status == Some(2) && text.contains("JOB_REVOKED: 0x80000 in constants.tsv, 0x100000"), "{text}");
}

/// It is in no header: the allocator's own file, compared as text.
#[test]
fn blocks_of_the_allocator_begin_with_the_number_that_is_looked_for() {
    let checks = include_str!("../../src/host/checks/memory.rs");
    assert!(checks.contains("const XMALLOC_MAGIC: usize = 0x42;"));
    for tree in trees() {
        let text = fs::read_to_string(tree.join("src/common/xmalloc.c")).unwrap();
        assert!(text.contains("#define XMALLOC_MAGIC 0x42"), "{}", tree.display());
    }
}

#[test]
fn every_field_that_is_gone_or_of_another_width_is_named() {
    let table = Table::committed().unwrap();
    let copy = Copy::of(&trees()[0]);
    copy.replace_in_job("priority;", "precedence;");
    copy.replace_in_job("time_t start_time;", "uint32_t start_time;");
    copy.replace_in_job("*assoc_ptr;", "assoc_ptr_by_value;");
    let error = Tree::open(copy.path()).unwrap().column(&table).unwrap_err();
    let ExtractError::Mismatches { mismatches, .. } = &error else { panic!("{error}") };
    assert_eq!(mismatches.len(), 3, "{error}");
    let text = error.to_string();
    assert!(matches!(&mismatches[0], Mismatch::NoField { field, .. } if field == "assoc_ptr"), "{text}");
    assert!(matches!(&mismatches[1], Mismatch::NoField { field, .. } if field == "priority"), "{text}");
    assert!(matches!(&mismatches[2], Mismatch::OtherKind { field, .. } if field == "start_time"), "{text}");
    assert!(text.contains("'job.start_time': the table reads kind i64 (8 bytes)"), "{text}");
    assert!(text.contains("an unsigned integer of 4 bytes"), "{text}");
}

#[test]
fn a_record_that_is_gone_is_named() {
    let table = Table::committed().unwrap();
    let copy = Copy::of(&trees()[0]);
    copy.replace(
        "src/common/assoc_mgr.h",
        "} assoc_mgr_lock_t;",
        "} renamed_lock_t;\n#define assoc_mgr_lock_t renamed_lock_t",
    );
    let error = Tree::open(copy.path()).unwrap().column(&table).unwrap_err();
    let ExtractError::Mismatches { mismatches, .. } = &error else { panic!("{error}") };
    assert!(
        matches!(&mismatches[..], [Mismatch::NoRecord { record, .. }] if record == "assoc_mgr_lock"),
        "{error}"
    );
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
    let meta = fs::read_to_string(copy.path().join("META")).unwrap();
    let meta: String = meta
        .lines()
        .map(|line| {
            if line.trim_start().starts_with("Release:") {
                "  Release: 0rc1\n".to_owned()
            } else {
                format!("{line}\n")
            }
        })
        .collect();
    fs::write(copy.path().join("META"), meta).unwrap();
    let (status, text) = Tool::new().run("add", copy.path());
    assert_eq!(status, Some(2), "{text}");
    assert!(text.contains("-0rc1 is not a release"), "{text}");
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
