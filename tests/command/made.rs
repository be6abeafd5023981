//! What is made from the program, and the examples in its help.

use std::fs;
use std::os::unix::fs::{symlink, PermissionsExt as _};
use std::path::Path;
use std::process::Command;

use clap::CommandFactory;
use multifactor2_command::{cli::Cli, made};
use multifactor2_snapshot::format;

use crate::recorded;

#[test]
fn the_page_has_the_questions_that_there_are() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (path, text) = made::page_of_questions(&root).unwrap();
    let found = fs::read_to_string(root.join(path)).unwrap();
    assert!(found == text, "{path} is not what the command says now: run 'make docs'");
}

/// All that a package installs with the command, under each of its names; the same bytes each time.
#[test]
fn generate_writes_manual_pages_completions_and_schemas() {
    let directory = tempfile::tempdir().unwrap();
    let generate = |name: &str| {
        let share = directory.path().join(name);
        let status =
            Command::new(env!("CARGO_BIN_EXE_multifactor2")).arg("generate").arg(&share).status().unwrap();
        assert!(status.success());
        share
    };
    let share = generate("one");
    let same = Command::new("diff").arg("-r").arg(&share).arg(generate("other")).status().unwrap();
    assert!(same.success());
    let read = |name: &str| fs::read_to_string(share.join(name)).unwrap_or_else(|_| panic!("no {name}"));
    for name in ["multifactor2", "swhy"] {
        for file in [
            format!("man/man1/{name}.1"),
            format!("zsh/site-functions/_{name}"),
            format!("fish/vendor_completions.d/{name}.fish"),
        ] {
            assert!(!read(&file).is_empty(), "{file}");
        }
        let completed = share.join("bash-completion/completions").join(name);
        assert!(Command::new("bash").arg("-n").arg(completed).status().unwrap().success(), "{name}");
    }
    let command = Cli::command();
    let pages = read("man/man1/multifactor2.1").replace('\\', "");
    for question in command.get_subcommands().map(clap::Command::get_name) {
        read(&format!("man/man1/multifactor2-{question}.1"));
        read(&format!("slurm-multifactor2/schema/{question}.json"));
        assert!(pages.contains(&format!("multifactor2-{question}(1)")), "{question}");
    }
    for question in
        command.get_subcommands().filter(|of| of.get_arguments().any(|option| option.get_id() == "format"))
    {
        let page = read(&format!("man/man1/multifactor2-{}.1", question.get_name()));
        assert!(page.contains(".SH COLUMNS"), "{}: give COLUMNS", question.get_name());
    }
    assert!(!read("bash-completion/completions/multifactor2").contains("generate"));
    // Every column that a table has is in the manual page.
    let saved = directory.path().join("snapshot");
    let mut file = fs::File::create(&saved).unwrap();
    format::write(&recorded::snapshot("24.11.5", "multifactor2-root"), &mut file).unwrap();
    let all_groups = "position,addends,tickets,points";
    for (question, words) in [
        ("queue", vec![]),
        ("queue", vec!["-o", all_groups]),
        ("tree", vec![]),
        ("settings", vec![]),
        ("what-if", vec!["--weight", "fairshare=1"]),
    ] {
        let page = read(&format!("man/man1/multifactor2-{question}.1"));
        let columns = page.split(".SH COLUMNS").nth(1).unwrap_or_else(|| panic!("{question}: {page}"));
        let output = Command::new(env!("CARGO_BIN_EXE_multifactor2"))
            .args([question, "-P", "--from"])
            .arg(&saved)
            .args(&words)
            .output()
            .unwrap();
        let shown = String::from_utf8(output.stdout.clone()).unwrap();
        let header = shown.lines().next().unwrap_or_else(|| panic!("{question}: {output:?}"));
        assert!(header.split('|').count() >= 3, "{header}");
        for column in header.split('|') {
            let described = format!(".TP\n\\fB{column}\\fR\n");
            let (_, meaning) =
                columns.split_once(&described).unwrap_or_else(|| panic!("{column}: {columns}"));
            assert!(meaning.lines().next().unwrap().ends_with('.'), "{column}");
        }
    }
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let failed =
        Command::new(env!("CARGO_BIN_EXE_multifactor2")).arg("generate").arg(&file).output().unwrap();
    assert_eq!(failed.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&failed.stderr).contains(&file.display().to_string()), "{failed:?}");
}

#[test]
fn every_example_in_the_help_works() {
    // As they stand there: the command itself, in a directory with the files that they name.
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &[u8]| fs::write(directory.path().join(name), text).unwrap();
    let mut snapshot = Vec::new();
    let mut example = crate::site::example();
    example.grants.push(crate::site::grant());
    format::write(&example, &mut snapshot).unwrap();
    write("snapshot", &snapshot);
    write("maui.cfg", b"FSWEIGHT 1\nFSUSERWEIGHT 10\nUSERCFG[ann] FSTARGET=25\n");
    write("site.cfg", b"FSWEIGHT 1\nACCOUNTCFG[chem] FSTARGET=25\n");
    write("multifactor2.conf", b"ActiveJobs=pending\n");
    fs::create_dir(directory.path().join("new")).unwrap();
    write(
        "new/slurm.conf",
        b"ClusterName=c\nPriorityType=priority/multifactor2\nPriorityWeightFairshare=100000\n",
    );
    write("sacct.txt", crate::replay::trace().as_bytes());
    for (name, text) in [
        ("tree.csv", crate::options::TREE),
        ("gpus", crate::options::GPUS),
        ("nodes.txt", crate::options::NODES),
    ] {
        write(name, text.as_bytes());
    }
    symlink(recorded::directory("24.11.5").join("multifactor2-root"), directory.path().join("saved"))
        .unwrap();
    recorded::texts("24.11.5", "fair-tree-root").save(&directory.path().join("stock")).unwrap();
    fs::create_dir(directory.path().join("qconf")).unwrap();
    write("qconf/sstree", b"id=0\nname=Root\ntype=0\nshares=1\nchildnodes=NONE\n");
    write("tree.yaml", b"- account: b\n  shares: 30\n");
    let path = crate::site::path_as("user2", directory.path());
    // Nodes are asked for with a command of Slurm's.
    let asking = directory.path().join("asking");
    fs::create_dir(&asking).unwrap();
    fs::write(asking.join("scontrol"), "#!/bin/sh\nexec cat nodes.txt\n").unwrap();
    fs::set_permissions(asking.join("scontrol"), fs::Permissions::from_mode(0o755)).unwrap();
    let path_with_slurm = format!("{}:{path}", asking.display());
    let names_file = |word: &str| [".html", ".svg", ".prom"].iter().any(|end| word.ends_with(end));
    let mut examples = 0;
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/command.md")).unwrap();
    for question in Cli::command().get_subcommands() {
        let help = question.get_after_help().map(ToString::to_string).unwrap_or_default();
        let of_help = help.lines().filter_map(|line| line.trim().strip_prefix("multifactor2 "));
        // Not of a snapshot: tests/command/reconcile.rs and tests/command/waits.
        let of_help = of_help.filter(|line| !line.contains("--reconcile") && !line.contains("--waits"));
        // Those of the page stand between backquotes.
        let name = question.get_name();
        let of_page: Vec<&str> = page
            .split('`')
            .filter_map(|part| part.strip_prefix("multifactor2 "))
            .filter(|line| {
                line.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ') || rest.is_empty())
            })
            .filter(|line| !line.contains("JOB") && !line.contains("--waits"))
            .collect();
        assert!(
            !of_page.is_empty() && page.contains(&format!("| `{name}` |")),
            "docs/command.md lacks {name}"
        );
        for line in of_help.chain(of_page) {
            let mut command = Command::new(env!("CARGO_BIN_EXE_multifactor2"));
            command.args(shlex::split(line).unwrap()).current_dir(directory.path()).env("PATH", &path);
            if name == "weights" {
                command.env("PATH", &path_with_slurm);
            }
            if !["check", "migrate", "replay", "weights"].contains(&question.get_name()) {
                command.args(["--from", "snapshot"]);
            }
            let output = command.output().unwrap();
            let error = String::from_utf8_lossy(&output.stderr);
            // What is on this machine may be odd.
            let may_differ = question.get_name() == "check" || line.contains("--check");
            let is_fine = output.status.success() || may_differ && output.status.code() == Some(2);
            assert!(is_fine && error.is_empty(), "multifactor2 {line}: {error}");
            let written: Vec<&str> = line.split(' ').filter(|word| names_file(word)).collect();
            assert_eq!(output.stdout.is_empty(), !written.is_empty(), "multifactor2 {line}");
            for file in written {
                assert!(directory.path().join(file).is_file(), "multifactor2 {line}");
            }
            examples += 1;
        }
    }
    assert!(examples > 20, "{examples}");
}
