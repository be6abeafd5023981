//! Every question with every option that there is: taken, and then it changes something or is read; or refused.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use clap::{Arg, CommandFactory};
use multifactor2_command::cli::Cli;
use multifactor2_command::output::Terminal;
use multifactor2_command::run::run;
use multifactor2_snapshot::format;
use tempfile::TempDir;

use crate::recorded;

/// How it is seen that an option is used.
#[derive(Clone, Copy)]
enum Seen {
    /// Something else is printed.
    Differs,
    /// What is printed has these words.
    Says(&'static str),
    /// It ends with this status, and without the option with another.
    Ends(i32),
    /// There is this file afterwards, with these words.
    Writes(&'static str, &'static str),
    /// It counts only where Slurm runs: there is this test in `live.rs`.
    Live(&'static str),
    /// It counts only on a terminal: there is this test in `outputs.rs`.
    OnTerminal(&'static str),
    /// The same with commands of a controller.
    OnController(&'static str),
}

use Seen::{Differs, Ends, Live, OnController, OnTerminal, Says, Writes};

/// A question, its words, and whether it is about a cluster: then it is that of the example.
const QUESTIONS: [(&str, &str, bool); 14] = [
    ("why", "1001", true),
    ("queue", "", true),
    ("tree", "", true),
    ("what-if", "--weight age=5000", true),
    ("recover", "user2", true),
    ("cost", "-p main", true),
    ("settings", "", true),
    ("check", "", true),
    ("metrics", "", true),
    ("migrate", "maui.cfg", false),
    ("replay", "sacct.txt --procs 8 --runs 0", false),
    ("sync", "tree.csv", true),
    ("weights", "--fp32 gpus --baseline a100 --nodes nodes.txt", false),
    ("grants", "", true),
];

/// What a proof is of: a question, or all those about a cluster, those with a table, and those of jobs that could be submitted.
const ALL: &str = "all";
const CLUSTER: &str = "cluster";
const TABLE: &str = "table";
const WITH_TABLES: [&str; 5] = ["queue", "tree", "what-if", "settings", "grants"];

/// Of a question and an option: what else is said, with which the answer is compared; the option; how it is seen.
const PROOFS: &[(&str, &str, &str, &str, Seen)] = &[
    (ALL, "--help", "", "--help", Says("Usage: ")),
    (ALL, "--version", "", "--version", Says(env!("CARGO_PKG_VERSION"))),
    (ALL, "--json", "", "--json", Says("\"schema\": \"multifactor2/")),
    (CLUSTER, "--from", "", "--from nowhere", Says("nowhere")),
    (CLUSTER, "--save", "", "--save kept", Writes("kept/snapshot", "user2")),
    (CLUSTER, "--anonymise", "", "--save kept --anonymise", Writes("kept/snapshot", "\"account3\"")),
    (CLUSTER, "--conf", "", "--conf nowhere", Says("nowhere")),
    (CLUSTER, "--cluster", "", "--cluster a,b", Says("this is not one cluster")),
    (CLUSTER, "--live", "", "--live", Live("live_asks_slurm_also_where_a_snapshot_can_be_read")),
    (
        CLUSTER,
        "--timeout",
        "",
        "--timeout 3",
        Live("slurm_is_asked_within_a_time_and_by_one_command_after_the_other"),
    ),
    ("why", "--place", "", "--place", Live("place_is_asked_for_with_place")),
    ("why", "--jobs", "", "--jobs 1001", Live("jobs_of_a_list_and_ones_own_are_answered_in_rows")),
    ("why", "--long", "", "--long", Differs),
    (TABLE, "--parsable2", "", "--parsable2", Differs),
    (TABLE, "--parsable", "", "--parsable", Differs),
    (TABLE, "--csv", "", "--csv", Differs),
    (TABLE, "--noheader", "", "--noheader", Differs),
    (
        TABLE,
        "--wide",
        "",
        "--wide",
        OnTerminal("names_are_cut_to_the_terminal_and_whole_where_that_is_asked_for"),
    ),
    (TABLE, "--format", "", "--format none", Says("give some of")),
    ("why", "--at", "", "--at +7-0", Differs),
    ("queue", "--at", "", "--at +7-0", Differs),
    ("tree", "--at", "", "--at +7-0", Differs),
    ("what-if", "--at", "", "--at +7-0", Differs),
    ("recover", "--at", "", "--at +7-0", Differs),
    ("cost", "--at", "", "--at +7-0", Differs),
    ("queue", "--user", "", "--user user2", Differs),
    ("queue", "--account", "", "--account c", Differs),
    ("queue", "--job", "", "--job 1001", Differs),
    ("queue", "--partition", "", "--partition gpu", Differs),
    ("queue", "--me", "", "--me", Differs),
    ("tree", "--user", "", "--user user2", Differs),
    ("tree", "--me", "", "--me", Differs),
    ("tree", "--account", "", "--account c", Differs),
    ("tree", "--targets", "", "--targets", Says("The settings have no targets.")),
    ("tree", "--windows", "", "--windows", Says("The settings have no targets.")),
    ("tree", "--waits", "", "--waits", OnController("every_cell_is_what_the_jobs_say")),
    ("tree", "--since", "", "--since", OnController("every_cell_is_what_the_jobs_say")),
    ("tree", "--html", "", "--html page.html", Writes("page.html", "user2")),
    ("tree", "--svg", "", "--svg tree.svg", Writes("tree.svg", "<svg")),
    ("what-if", "--shares", "", "--shares b=90", Differs),
    ("what-if", "--usage", "", "--usage user2@c=0", Differs),
    ("why", "--user", "", "--user user2 user5", Says("The first level at which they differ")),
    ("what-if", "--new-account", "", "--new-account x=30", Differs),
    ("what-if", "--new-user", "", "--new-user user4@c=1", Differs),
    ("what-if", "--job", "", "--job=1001/hold", Says("give a job and its changes")),
    ("what-if", "--half-life", "--at +7-0", "--half-life 1-0", Differs),
    ("what-if", "--weight", "", "--weight fairshare=1", Differs),
    ("what-if", "--plugin", "", "--plugin stock", Differs),
    ("what-if", "--submit", "", "--submit=-pmain", Differs),
    ("what-if", "--as", "--submit=-pmain", "--as nobody", Says("nobody")),
    ("what-if", "--without-account", "", "--without-account b", Differs),
    ("what-if", "--html", "", "--html page.html", Writes("page.html", "user2")),
    ("queue", "--html", "", "--html page.html", Writes("page.html", "user2")),
    ("why", "--html", "", "--html page.html", Writes("page.html", "user2")),
    ("recover", "--to", "", "--to 0.9", Differs),
    ("recover", "--running-on", "--json", "--running-on", Differs),
    ("cost", "--account", "", "--account nowhere", Says("nowhere")),
    ("cost", "--partition", "", "--partition gpu", Differs),
    ("cost", "--qos", "", "--qos high", Differs),
    ("cost", "--ntasks", "", "--ntasks 4", Differs),
    ("cost", "--cpus-per-task", "", "--cpus-per-task 4", Differs),
    ("cost", "--nodes", "", "--nodes 2", Differs),
    ("cost", "--mem", "", "--mem 16G", Differs),
    ("cost", "--gres", "", "--gres gpu:4", Differs),
    ("cost", "--gpus", "", "--gpus 4", Differs),
    ("cost", "--time", "", "--time 1-0", Differs),
    ("cost", "--as", "", "--as nobody", Says("nobody")),
    ("check", "--strict", "slurm.new", "--strict", Ends(2)),
    ("check", "--for", "", "--for 0.1.0", Says("0.1.0 takes these settings, too")),
    ("check", "--plugins", "", "--plugins nowhere", Says("nowhere")),
    ("check", "--slurmctld", "", "--plugins plugins --slurmctld nowhere", Says("nowhere")),
    ("metrics", "--out", "", "--out a.prom", Writes("a.prom", "multifactor2_")),
    ("metrics", "--users", "", "--users top=5", Differs),
    ("metrics", "--targets", "", "--targets 1001", Says("from 0 to 1000")),
    ("sync", "--delete", "", "--delete", Says("delete")),
    ("sync", "--check", "", "--check", Ends(2)),
    ("weights", "--fp32", "", "--fp32 nowhere", Says("nowhere")),
    ("weights", "--baseline", "", "--baseline h100", Differs),
    ("weights", "--nodes", "", "--nodes nowhere", Says("nowhere")),
    ("weights", "--partition", "", "--partition cpu", Differs),
    ("migrate", "--snapshot", "", "--snapshot nowhere", Says("only for a slurm.conf")),
    ("migrate", "--moab", "", "--moab", Differs),
    ("grants", "--reconcile", "", "--reconcile", OnController("it_refuses_what_would_not_be_true")),
    ("grants", "--all", "", "--all", OnController("the_sums_are_those_of_the_seconds_that_jobs_have_run")),
    (
        "grants",
        "--dry-run",
        "",
        "--dry-run",
        OnController("the_sums_are_those_of_the_seconds_that_jobs_have_run"),
    ),
    ("replay", "--policy", "", "--policy fifo", Differs),
    ("replay", "--how", "", "--how", Says("sacct")),
    ("replay", "--export", "", "--export kept", Writes("kept/export.txt", "sacct-")),
    (
        "replay",
        "--start",
        "",
        "--export kept --start 2024-01-31 --end 2024-02-28",
        Writes("kept/export.txt", "sacct-2024-01.txt.gz 2024-01-31"),
    ),
    (
        "replay",
        "--end",
        "",
        "--export kept --start 2024-01-31 --end 2024-02-28",
        Writes("kept/export.txt", "2024-02-28T00:00:00"),
    ),
    ("replay", "--anonymise", "", "--export kept --anonymise", Says("transactions.txt: left out")),
    ("replay", "--scheduler", "", "--scheduler fcfs", Differs),
    ("replay", "--procs", "", "--procs 16", Differs),
    ("replay", "--partition", "", "--partition main=2x8", Differs),
    ("replay", "--from", "--json", "--from snapshot", Differs),
    ("replay", "--shares", "", "--shares nowhere", Says("nowhere")),
    ("replay", "--slurm-conf", "", "--slurm-conf nowhere", Says("nowhere")),
    ("replay", "--past", "", "--past fifo", Differs),
    ("replay", "--node-release", "", "--node-release 600", Differs),
    ("replay", "--backfill-rate", "", "--backfill-rate 1", Differs),
    ("replay", "--runs", "", "--runs 1", Differs),
    ("replay", "--seed", "--runs 1 --json", "--seed 2", Differs),
    ("replay", "--fair-start", "", "--fair-start 2", Differs),
    ("replay", "--strategist", "", "--strategist ada=split", Differs),
    ("replay", "--warm-up", "", "--warm-up 1", Differs),
    ("replay", "--csv", "", "--csv tables", Writes("tables/policies.csv", "fair-tree")),
    ("replay", "--html", "", "--html page.html", Writes("page.html", "fair-tree")),
];

/// What `sync` and `weights` are about.
pub const TREE: &str = "account,parent,shares,users\na,root,50,user1\nb,root,30,user5\n";
pub const GPUS: &str = "rtx2080ti 13.4\na100 19.5\nh100 67\n";
pub const NODES: &str =
    "NodeName=g1 CPUTot=128 RealMemory=1048576 Gres=gpu:a100:4,gpu:h100:4 Partitions=gpu,gpu-long\n\
                         NodeName=c1 CPUTot=64 RealMemory=262144 Gres=(null) Partitions=cpu\n";

/// A directory with what the questions are about, and with a sacct that prints its arguments as a job.
struct OwnHost(TempDir);

impl OwnHost {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        let mut snapshot = Vec::new();
        let mut example = crate::site::example();
        example.grants.push(crate::site::grant());
        format::write(&example, &mut snapshot).unwrap();
        let sacct = crate::replay::SACCT.replace("TRACE", "sacct.txt");
        for (name, text) in [
            ("snapshot", snapshot.as_slice()),
            ("maui.cfg", b"FSWEIGHT 1\nFSUSERWEIGHT 10\nUSERCFG[ann] FSTARGET=25\n"),
            ("slurm.new", b"ClusterName=c\nPriorityType=priority/multifactor2\nPriorityWeightFairshare=100000\nAccountingStorageEnforce=qos\n"),
            ("sacct.txt", crate::replay::trace().as_bytes()),
            ("tree.csv", TREE.as_bytes()),
            ("gpus", GPUS.as_bytes()),
            ("nodes.txt", NODES.as_bytes()),
            ("sacct", sacct.as_bytes()),
            ("scontrol", b"#!/bin/sh\nexit 1\n"),
            ("sacctmgr", b"#!/bin/sh\nexit 1\n"),
        ] {
            fs::write(place.path(name), text).unwrap();
            fs::set_permissions(place.path(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        crate::site::path_as("user2", place.0.path());
        // A plugin tells the release that a directory is of.
        fs::create_dir(place.path("plugins")).unwrap();
        fs::copy(recorded::plugins().join("priority_basic.so"), place.path("plugins/priority_basic.so"))
            .unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// As a user of the example, where no Slurm is.
    fn ask(&self, words: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_multifactor2"))
            .args(words.split_whitespace())
            .current_dir(self.0.path())
            .env("PATH", format!("{}:/usr/bin:/bin", self.0.path().display()))
            .env("SLURM_CONF", self.path("slurm.conf"))
            .output()
            .unwrap()
    }
}

/// The words of a question, with where its cluster is.
fn words(question: &str, given: &str) -> String {
    let (_, own, is_of_cluster) = QUESTIONS.iter().find(|(name, ..)| *name == question).unwrap();
    let has = |word: &str| given.split(' ').any(|given| given == word);
    // What is exported is no trace that is there, and a machine is given once.
    let own = match question {
        "why" if has("--user") => "",
        "replay" if has("--export") || has("--how") => "",
        "replay" if has("--runs") => "sacct.txt --procs 8",
        "replay" if has("--procs") || has("--partition") => "sacct.txt --runs 0",
        "weights" if has("--fp32") => "--baseline a100 --nodes nodes.txt",
        "weights" if has("--baseline") => "--fp32 gpus --nodes nodes.txt",
        "weights" if has("--nodes") => "--fp32 gpus --baseline a100",
        _ => own,
    };
    let elsewhere = ["--from", "--cluster", "--plugins"].iter().any(|word| has(word));
    let from = if *is_of_cluster && !elsewhere { "--from snapshot" } else { "" };
    format!("{question} {own} {from} {given}")
}

fn long(option: &Arg) -> Option<String> {
    option.get_long().map(|long| format!("--{long}"))
}

/// The options of each question, as the parser has them.
fn taken() -> BTreeMap<String, BTreeSet<String>> {
    let mut command = Cli::command();
    command.build();
    let of = |question: &clap::Command| {
        question.get_arguments().filter(|option| !option.is_hide_set()).filter_map(long).collect()
    };
    command.get_subcommands().map(|question| (question.get_name().to_owned(), of(question))).collect()
}

fn is_of(proof: &str, question: &str) -> bool {
    match proof {
        ALL => true,
        CLUSTER => QUESTIONS.iter().any(|(name, _, is_of_cluster)| *name == question && *is_of_cluster),
        TABLE => WITH_TABLES.contains(&question),
        _ => proof == question,
    }
}

fn assert_used(question: &str, option: &str, (beside, given, seen): (&str, &str, Seen)) {
    let elsewhere = match seen {
        Live(test) => Some((include_str!("live.rs"), test)),
        OnTerminal(test) => Some((include_str!("outputs.rs"), test)),
        OnController(test) => {
            Some((concat!(include_str!("reconcile.rs"), include_str!("waits/mod.rs")), test))
        }
        _ => None,
    };
    if let Some((file, test)) = elsewhere {
        assert!(file.contains(&format!("fn {test}()")), "{question} {option}: no {test}");
        return;
    }
    let place = OwnHost::new();
    let with = words(question, &format!("{beside} {given}"));
    let output = place.ask(&with);
    let text = |output: &Output| format!("{}{}", text(&output.stdout), text(&output.stderr));
    let said = text(&output);
    assert!(option == "--help" || !said.contains("Usage: "), "multifactor2 {with}: {said}");
    match seen {
        Says(part) => assert!(said.contains(part), "multifactor2 {with}: {said}"),
        Writes(file, part) => {
            let written = fs::read_to_string(place.path(file)).unwrap_or_default();
            assert!(written.contains(part), "multifactor2 {with}: {said}\n{file}: {written}");
            return;
        }
        Ends(status) => {
            let without = OwnHost::new().ask(&words(question, beside)).status.code();
            assert_eq!(
                (output.status.code(), without == Some(status)),
                (Some(status), false),
                "multifactor2 {with}: {said}"
            );
            return;
        }
        Differs | Live(_) | OnTerminal(_) | OnController(_) => (),
    }
    let before = text(&OwnHost::new().ask(&words(question, beside)));
    assert_ne!(before, said, "multifactor2 {with}");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Once each was taken by all questions, and `replay --conf` and eleven others changed nothing.
#[test]
fn an_option_that_is_taken_is_used() {
    for (question, options) in taken() {
        for option in options {
            let proofs: Vec<_> =
                PROOFS.iter().filter(|proof| is_of(proof.0, &question) && proof.1 == option).collect();
            let [(_, _, beside, given, seen)] = proofs[..] else {
                panic!("{} proofs that {question} {option} is used: write one", proofs.len())
            };
            assert_used(&question, &option, (beside, given, *seen));
        }
    }
}

#[test]
fn an_option_of_other_questions_is_refused() {
    let taken = taken();
    let all: BTreeSet<&String> = taken.values().flatten().collect();
    let mut refused = 0;
    for (question, options) in &taken {
        for &option in all.iter().filter(|option| !options.contains(**option)) {
            let words = ["multifactor2", question, option].map(OsString::from);
            let printed = run(words, Terminal::PLAIN);
            let says = format!("unexpected argument '{option}");
            assert_eq!((printed.status, printed.out.as_str()), (1, ""), "{question} {option}");
            assert!(printed.err.contains(&says), "{question} {option}: {}", printed.err);
            refused += 1;
        }
    }
    assert!(refused > 300, "{refused}");
    for option in all.iter().filter(|option| !["--help", "--version"].contains(&option.as_str())) {
        let printed = run(["multifactor2", option.as_str(), "queue"].map(OsString::from), Terminal::PLAIN);
        assert_eq!((printed.status, printed.out.as_str()), (1, ""), "{option}");
    }
}

/// It was a report about the default settings.
#[test]
fn a_replay_says_how_it_takes_settings() {
    let site = crate::replay::Site::new();
    let printed = site.ask("@sacct.txt --procs 8 --conf @multifactor2.conf");
    assert_eq!((printed.status, printed.out.as_str()), (1, ""));
    assert!(printed.err.contains("write --policy FILE"), "{}", printed.err);
}

/// Options that are taken and would say nothing beside each other.
#[test]
fn options_that_do_not_go_together_are_refused() {
    for words in [
        "queue --json --format job",
        "queue --json --noheader",
        "queue --json --wide",
        "queue -P --wide",
        "tree --html page.html --format job",
        "tree --from snapshot --cluster a",
        "tree --from snapshot --live",
        "tree --waits",
        "tree --since 2026-01-01",
        "tree --waits --since 2026-01-01 --from snapshot",
        "tree --waits --since 2026-01-01 --at +7-0",
        "tree --waits --since 2026-01-01 --svg tree.svg",
        "tree --waits --since 2026-01-01 --targets",
        "tree --waits --since 2026-01-01 --windows",
        "tree --waits --since 2026-01-01 --save kept --anonymise",
        "check --from snapshot --plugins .",
        "check --cluster a --plugins .",
        "check --save kept --plugins .",
        "check --conf multifactor2.conf --plugins .",
        "check multifactor2.conf --plugins .",
        "check --from snapshot --slurmctld slurmctld",
        "replay sacct.txt --anonymise",
        "replay sacct.txt --start 2024-01-31",
        "replay sacct.txt --end 2024-01-31",
        "replay sacct.txt --how",
        "replay --how --json",
        "replay --export kept --policy fifo",
        "replay --export kept --json",
    ] {
        let words: Vec<OsString> =
            ["multifactor2"].into_iter().chain(words.split(' ')).map(OsString::from).collect();
        let printed = run(words.clone(), Terminal::PLAIN);
        assert_eq!((printed.status, printed.out.as_str()), (1, ""), "{words:?}");
        let is_of_parser =
            printed.err.contains("cannot be used with") || printed.err.contains("required arguments");
        assert!(is_of_parser, "{words:?}: {}", printed.err);
    }
}
