//! The committed table against real Slurm headers, and what extraction says about headers that are
//! not as the table has them.
//!
//! Needs libclang and at least one Slurm source tree: `SLURM_SRC_DIRS` (colon separated) names
//! trees, or directories that hold trees; without it `target/slurm-src` is looked through, where
//! `slurm-headers/fetch-source.sh target/slurm-src` puts the tree of Debian's source package.

mod tool;
mod trees;

use std::fs;

use slurm_headers::{ExtractError, Headers, Mismatch, Reasons, Table, Tree};

use crate::tool::Tool;
use crate::trees::{trees, Copy};

#[test]
fn committed_layouts_equal_the_headers_of_every_tree_at_hand() {
    let (table, reasons) = (Table::committed().unwrap(), Reasons::committed().unwrap());
    let mut differences = Vec::new();
    for path in trees() {
        let tree = Tree::open(&path).unwrap();
        let Some(group) = table.group_of(tree.version()) else {
            differences.push(format!("{}: Slurm {} is not in the table", path.display(), tree.name()));
            continue;
        };
        match tree.headers(&table) {
            Ok(Headers { column, reasons: found }) => {
                let changes = table.changes(&table.column(group), &column);
                let others = reasons.changes(tree.version(), &found);
                differences.extend(others.iter().map(|change| format!("{}: {change}", path.display())));
                differences.extend(changes.iter().map(|change| format!("{}: {change}", path.display())));
                println!(
                    "{}: Slurm {}, {} differences",
                    path.display(),
                    tree.name(),
                    changes.len() + others.len()
                );
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
    let checks = include_str!("../../../src/host/checks/memory.rs");
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
