//! `layouts`: compares Slurm source trees with the committed table, and enters new releases.
//!
//! The one command that a new Slurm release needs; `docs/new-release.md` says when.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lexopt::prelude::*;
use slurm_headers::{Change, Column, Group, Headers, ReasonChange, Reasons, Recorded, Table, Tree, Version};

const USAGE: &str = "\
Usage: layouts verify --slurm-src TREE...  compare each tree with the committed column of its release
       layouts add --slurm-src TREE...     enter each tree's release into the table, say what moved
       layouts show --slurm-src TREE...    print each tree's column
       layouts show --release 24.11.4      print the committed column of a release

TREE is an unpacked Slurm source directory; it need not be configured.
  --table FILE   the table to read and write (default: layouts.tsv beside this tool's sources); that of the
                 reasons for which jobs wait, reasons.tsv, is beside it

Exit status: 0 as committed or done, 1 a tree differs from the table, 2 anything else went wrong.";

const DEFAULT_TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/layouts.tsv");

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    match Arguments::parse().and_then(|arguments| run(&arguments)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("layouts: {error}");
            ExitCode::from(2)
        }
    }
}

struct Arguments {
    command: String,
    trees: Vec<PathBuf>,
    release: Option<Version>,
    table: PathBuf,
}

impl Arguments {
    fn parse() -> Result<Self, Failure> {
        let mut parser = lexopt::Parser::from_env();
        let (mut command, mut trees, mut release) = (None, Vec::new(), None);
        let mut table = PathBuf::from(DEFAULT_TABLE);
        while let Some(argument) = parser.next()? {
            match argument {
                Long("slurm-src") => trees.extend(parser.values()?.map(PathBuf::from)),
                Long("table") => table = parser.value()?.into(),
                Long("release") => {
                    let text = parser.value()?.string()?;
                    let version = Version::parse(&text);
                    release =
                        Some(version.ok_or_else(|| format!("'{text}' is not a release such as 24.11.4"))?);
                }
                Short('h') | Long("help") => {
                    println!("{USAGE}");
                    std::process::exit(0);
                }
                Value(value) if command.is_none() => command = Some(value.string()?),
                other => return Err(format!("{}\n{USAGE}", other.unexpected()).into()),
            }
        }
        let command = command.ok_or_else(|| format!("which command?\n{USAGE}"))?;
        if trees.is_empty() && (release.is_none() || command != "show") {
            return Err(format!("--slurm-src TREE is missing\n{USAGE}").into());
        }
        Ok(Self { command, trees, release, table })
    }
}

/// False where a tree differs from the table.
fn run(arguments: &Arguments) -> Result<bool, Failure> {
    let text = fs::read_to_string(&arguments.table)
        .map_err(|error| format!("{}: {error} (--table FILE names another)", arguments.table.display()))?;
    let reasons_file = arguments.table.with_file_name("reasons.tsv");
    let reasons_text = fs::read_to_string(&reasons_file)
        .map_err(|error| format!("{}: {error} (it belongs to the table)", reasons_file.display()))?;
    let mut table = Table::parse(&text)?;
    let mut reasons = Reasons::parse(&reasons_text)?;
    let mut equal = true;
    match arguments.command.as_str() {
        "show" => {
            if let Some(version) = arguments.release {
                let group = table.group_of(version).ok_or_else(|| unknown(&table, version))?;
                show(&table, &Column { version, ..table.column(group) });
            }
            for tree in &arguments.trees {
                show(&table, &Tree::open(tree)?.column(&table)?);
            }
        }
        "verify" => {
            let mut unreadable = 0;
            for path in &arguments.trees {
                match Tree::open(path).map_err(Failure::from).and_then(|tree| verify(&table, &reasons, &tree))
                {
                    Ok(as_committed) => equal &= as_committed,
                    Err(error) => {
                        eprintln!("layouts: {error}");
                        unreadable += 1;
                    }
                }
            }
            if unreadable > 0 {
                return Err(format!("{unreadable} of {} trees not compared", arguments.trees.len()).into());
            }
        }
        "add" => {
            for tree in &arguments.trees {
                equal &= add(&mut table, &mut reasons, &Tree::open(tree)?)?;
            }
            write_table(&arguments.table, &text, &table.to_tsv())?;
            write_table(&reasons_file, &reasons_text, &reasons.to_tsv())?;
        }
        other => return Err(format!("no command '{other}'\n{USAGE}").into()),
    }
    Ok(equal)
}

fn unknown(table: &Table, version: Version) -> String {
    let newest = table.groups.last().map(|group| group.compared()).unwrap_or_default();
    format!("Slurm {version} is of no release that the table knows (newest: {newest})")
}

fn show(table: &Table, column: &Column) {
    println!("Slurm {}", column.version);
    for (record, offsets) in table.records.iter().zip(&column.offsets) {
        for (field, offset) in record.fields.iter().zip(offsets) {
            let offset = offset.map_or_else(|| "-".to_owned(), |offset| offset.to_string());
            println!(
                "{:<44}{:<5}{offset:>5}",
                format!("{}.{}", record.name, field.c_names[0]),
                field.kind.name()
            );
        }
    }
}

fn verify(table: &Table, reasons: &Reasons, tree: &Tree) -> Result<bool, Failure> {
    let Headers { column, reasons: found } = tree.headers(table)?;
    let Some(at) = table.group_of(tree.version()) else {
        println!("Slurm {}: {}. `layouts add` enters it", tree.name(), unknown(table, tree.version()));
        return Ok(false);
    };
    let group = table.groups[at];
    let changes = table.changes(&table.column(at), &column);
    let other_reasons = reasons.changes(tree.version(), &found);
    if changes.is_empty() && other_reasons.is_empty() {
        let beyond = if tree.version() > group.verified || tree.candidate() != group.candidate {
            format!(", which was verified through {} so far; `layouts add` notes it", group.compared())
        } else {
            String::new()
        };
        println!("Slurm {}: equal to group {}{beyond}", tree.name(), group.first);
        return Ok(true);
    }
    println!(
        "Slurm {}: DIFFERS from group {} (verified through {}); committed -> headers of this tree:",
        tree.name(),
        group.first,
        group.compared()
    );
    print_changes(&changes);
    print_reasons(&other_reasons);
    Ok(false)
}

fn add(table: &mut Table, reasons: &mut Reasons, tree: &Tree) -> Result<bool, Failure> {
    let is_first_candidate = tree.candidate().is_some() && table.takes_candidate(tree.version());
    if tree.is_prerelease() && !is_first_candidate {
        let name = tree.name();
        return Err(format!(
            "Slurm {name} is not a release; its layouts may still move. `layouts verify` and `layouts show` \
             read it, and a build with SLURM_SRC supports it. Only a candidate of a series that has no release yet is entered"
        )
        .into());
    }
    let Headers { column, reasons: found } = tree.headers(table)?;
    let version = tree.version();
    let other_reasons = reasons.changes(version, &found);
    let before = table.clone();
    let group = table.group_of(version).map(|at| table.groups[at]);
    let is_settled = |group: &Group| version <= group.verified && group.candidate.is_none();
    if let Some(group) = group.filter(|group| is_settled(group) && !other_reasons.is_empty()) {
        println!(
            "Slurm {}: not entered. Its reasons for which jobs wait differ from those of group {}, which was verified \
             through {} before:",
            tree.name(),
            group.first,
            group.verified
        );
        print_reasons(&other_reasons);
        return Ok(false);
    }
    match table.record(&column) {
        Ok(Recorded::Known(at)) => {
            println!("Slurm {}: already verified, equal to group {}", tree.name(), table.groups[at].first);
        }
        Ok(Recorded::Extended(at)) => {
            let group = table.groups[at];
            println!("Slurm {}: group {} now verified through {}", tree.name(), group.first, group.verified);
        }
        Ok(Recorded::Added(at)) => {
            println!("Slurm {}: new group", tree.name());
            if let Some(before) = at.checked_sub(1) {
                println!("Since {}:", table.groups[before].verified);
                let changes = table.changes(&table.column(before), &column);
                print_changes(&changes);
                if changes.is_empty() {
                    println!("  nothing that the plugin uses moved");
                }
            }
        }
        Ok(Recorded::Replaced(at)) => {
            let changes = before.changes(&before.column(at), &column);
            let moved = if changes.is_empty() { "as there; nothing moved" } else { "with other offsets:" };
            println!("Slurm {}: in the place of {}, {moved}", tree.name(), before.groups[at].compared());
            print_changes(&changes);
        }
        Err(contradiction) => {
            println!(
                "Slurm {}: not entered. It differs from group {}, which was verified through {} before; either \
                 this tree is patched (build with SLURM_SRC for it) or the table is wrong. Committed -> headers \
                 of this tree:",
                tree.name(),
                contradiction.group.first,
                contradiction.group.verified
            );
            print_changes(&contradiction.changes);
            return Ok(false);
        }
    }
    let next = table.groups.iter().map(|group| group.first).find(|first| *first > version);
    reasons.record(version, next, &found);
    print_reasons(&other_reasons);
    Ok(true)
}

fn print_changes(changes: &[Change]) {
    for change in changes {
        println!("  {change}");
    }
}

fn print_reasons(changes: &[ReasonChange]) {
    if !changes.is_empty() {
        println!("Reasons for which jobs wait, reasons.tsv -> headers of this tree:");
    }
    for change in changes {
        println!("  {change}");
    }
}

/// Replaces a table, keeping the comments at its head; atomically, so that an interruption
/// leaves the old one.
fn write_table(path: &Path, old: &str, table: &str) -> Result<(), Failure> {
    let comments = old.lines().take_while(|line| line.starts_with('#')).map(|line| format!("{line}\n"));
    let new: String = comments.chain([table.to_owned()]).collect();
    if new == old {
        return Ok(());
    }
    let scratch = path.with_extension("tsv.new");
    fs::write(&scratch, new)
        .and_then(|()| fs::rename(&scratch, path))
        .map_err(|error| format!("{}: {error}", path.display()))?;
    println!("{} written", path.display());
    Ok(())
}
