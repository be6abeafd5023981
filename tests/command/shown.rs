//! What pages show of the command is what it prints: each block that begins with `$ multifactor2` or `$ swhy` is run on the cluster of the tutorial.

use std::fs;
use std::process::Command;

use multifactor2_fixtures::project::{is_writing, made, read, top};
use multifactor2_snapshot::{format, Snapshot};

use crate::site;

/// The pages, and how many commands each shows at least.
const PAGES: [(&str, usize); 4] =
    [("README.md", 1), ("docs/tutorial.md", 8), ("docs/users.md", 3), ("docs/command.md", 1)];

/// The cluster that they are asked of, from the top of the project.
const CLUSTER: &str = "docs/tutorial.snapshot";

/// The documented example, with a second job of user5 and one that waits for a limit of its user.
pub fn cluster() -> Snapshot {
    let mut snapshot = site::example();
    let of = |user: &str| snapshot.associations.iter().find(|one| one.user == user).unwrap();
    let mut second = site::job(1003, of("user5"));
    second.submit = site::TIME - 3600;
    (second.eligible, second.accrue) = (second.submit, second.submit);
    second.cpus = 16;
    let mut limited = site::job(1004, of("user2"));
    "QOSMaxJobsPerUserLimit".clone_into(&mut limited.reason);
    snapshot.jobs.extend([second, limited]);
    "Resources".clone_into(&mut snapshot.jobs[1].reason);
    "tutorial".clone_into(&mut snapshot.about.cluster);
    env!("CARGO_PKG_VERSION").clone_into(&mut snapshot.about.plugin);
    site::show(&mut snapshot);
    snapshot
}

#[test]
fn the_cluster_of_the_tutorial_is_the_documented_example() {
    let mut bytes = Vec::new();
    format::write(&cluster(), &mut bytes).unwrap();
    made(CLUSTER, &bytes);
}

/// A command that a page shows, and what it says that it prints.
struct Shown {
    line: String,
    output: String,
}

/// Indented blocks: `$ COMMAND`, and what it prints until the next command or the end of the block.
fn shown(page: &str) -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    let mut open = false;
    for line in page.lines() {
        let Some(inside) = line.strip_prefix("    ").or(line.is_empty().then_some("")) else {
            open = false;
            continue;
        };
        if let Some(command) = inside.strip_prefix("$ ") {
            open = command.starts_with("multifactor2 ") || command.starts_with("swhy");
            if open {
                all.push(Shown { line: command.to_owned(), output: String::new() });
            }
        } else if let Some(last) = all.last_mut().filter(|_| open) {
            last.output += inside;
            last.output.push('\n');
        }
    }
    for one in &mut all {
        one.output.truncate(one.output.trim_end().len());
    }
    all
}

/// Commands that pages name without what they print: in indented lines, and between backquotes.
#[test]
fn pages_name_commands_that_work() {
    let is_one =
        |line: &&str| line.starts_with("multifactor2 ") || *line == "swhy" || line.starts_with("swhy ");
    // They need a file, or say what this machine has.
    let is_other = |line: &str| ["migrate", "check", "--save", "JOB"].iter().any(|word| line.contains(word));
    let mut named = 0;
    for (path, _) in &PAGES[..3] {
        let page = read(path);
        let lines = page.lines().filter_map(|line| line.strip_prefix("    "));
        for line in lines.chain(page.split('`')).filter(is_one).filter(|line| !is_other(line)) {
            assert!(!printed(line).is_empty(), "{path}: {line}");
            named += 1;
        }
    }
    assert!(named > 10, "{named}");
}

/// What it prints to user2; behind `| head -N` the first lines of it.
fn printed(line: &str) -> String {
    if let Some((line, lines)) = line.split_once(" | head -") {
        let lines: Vec<_> = printed(line).lines().take(lines.parse().unwrap()).map(str::to_owned).collect();
        return lines.join("\n").trim_end().to_owned();
    }
    let directory = tempfile::tempdir().unwrap();
    let words = shlex::split(line).unwrap();
    let words = words[1..]
        .iter()
        .map(|word| word.replace("tutorial.snapshot", top().join(CLUSTER).to_str().unwrap()));
    let mut command = Command::new(env!("CARGO_BIN_EXE_multifactor2"));
    if line.starts_with("swhy") {
        command.arg("why");
    }
    command
        .args(words)
        .env("TZ", "UTC")
        .env("LANG", "C.UTF-8")
        .env("PATH", site::path_as("user2", directory.path()));
    if !line.contains("--from") {
        command.arg("--from").arg(top().join(CLUSTER));
    }
    let output = command.output().unwrap();
    assert!(output.stderr.is_empty(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

#[test]
fn pages_show_what_is_printed() {
    let (write, mut differs) = (is_writing(), Vec::new());
    for (path, least) in PAGES {
        let file = top().join(path);
        let mut page = read(path);
        let all = shown(&page);
        assert!(write || all.len() >= least, "{path} shows {}", all.len());
        for Shown { line, output } in all {
            let now = printed(&line);
            if now == output {
                continue;
            }
            differs.push(format!("{path}: {line}\n{now}\n"));
            let block = |text: &str| {
                let lines = format!("$ {line}\n{text}");
                let lines = lines.lines().map(|line| format!("    {line}").trim_end().to_owned() + "\n");
                lines.collect::<String>()
            };
            page = page.replacen(&block(&output), &block(&now), 1);
        }
        if write {
            fs::write(&file, page).unwrap();
        }
    }
    assert!(write || differs.is_empty(), "run 'make docs':\n{}", differs.join("\n"));
}
