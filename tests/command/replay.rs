//! `multifactor2 replay`: a trace under several policies, in every form.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use multifactor2_command::input::assemble;
use multifactor2_command::input::commands::{CONFIG, PARTITIONS};
use multifactor2_command::output::Printout;
use multifactor2_command::output::Terminal;
use multifactor2_command::run::run;
use multifactor2_snapshot::{format, Snapshot};
use serde_json::Value;
use tempfile::TempDir;

use crate::outputs::{answered, conforms, schema};
use crate::recorded;

/// A trace of two accounts on a machine that is too small, as sacct prints it.
pub fn trace() -> String {
    let mut text = String::from(
        "JobIDRaw|User|Account|Partition|QOS|Submit|Eligible|Start|End|Timelimit|ReqTRES|AllocTRES|State|Priority\n",
    );
    let users = [("ada", "physics"), ("bob", "physics"), ("eve", "<b>chem</b>")];
    for (id, (user, account)) in (0..300_u64).zip(users.into_iter().cycle()) {
        let submit = 1_706_702_400 + id * 400;
        let start = submit + 100 * (id % 7);
        let end = start + 600 + 700 * (id % 5);
        let _ = writeln!(
            text,
            "{}|{user}|{account}|main|normal|{submit}|{submit}|{start}|{end}|120|cpu=4|cpu=4|COMPLETED|1",
            id + 1
        );
    }
    text
}

/// sacct, as a script: it has the columns of a trace in TRACE, and prints those that it is asked for, divided as it is told, as a header and
/// rows. It keeps what it was asked in the file `asked`.
pub const SACCT: &str = r#"#!/bin/sh
[ "$1" = --helpformat ] && { head -n 1 'TRACE' | tr '|' ' '; exit; }
printf '%s\n' "$SLURM_TIME_FORMAT $*" >> "$(dirname "$0")/asked"
while [ $# -gt 0 ]; do
	case $1 in
	--delimiter=*) between=${1#--delimiter=} ;;
	-o) shift; columns=$1 ;;
	esac
	shift
done
awk -F'|' -v columns="$columns" -v between="$between" '
	NR == 1 { for (i = 1; i <= NF; i++) place[$i] = i; count = split(columns, names, ",") }
	{ line = ""; for (i = 1; i <= count; i++) line = line (i > 1 ? between : "") (place[names[i]] ? $place[names[i]] : ""); print line }
' 'TRACE'
"#;

/// Makes the recorded starts of a trace those of a replay, so that its past is known: the policy and the machine are in `words`.
pub fn make_true(site: &Site, name: &str, words: &str) {
    let printed = site.ask(&format!("@{name} {words} --warm-up 0 --csv @truth"));
    assert_eq!(printed.status, 0, "{}", printed.err);
    let jobs = fs::read_to_string(site.path("truth").join("jobs.csv")).unwrap();
    let starts: std::collections::HashMap<&str, i64> = jobs
        .lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            (cells[0], cells[9].parse().unwrap())
        })
        .collect();
    let text = fs::read_to_string(site.path(name)).unwrap();
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split('|').collect();
    let place = |wanted: &str| header.iter().position(|column| *column == wanted).unwrap();
    let (id, begin, end) = (place("JobIDRaw"), place("Start"), place("End"));
    let mut truth = header.join("|") + "\n";
    for line in lines {
        let mut cells: Vec<String> = line.split('|').map(str::to_owned).collect();
        let run = cells[end].parse::<i64>().unwrap() - cells[begin].parse::<i64>().unwrap();
        let start = starts[&*cells[id]];
        (cells[begin], cells[end]) = (start.to_string(), (start + run).to_string());
        truth += &(cells.join("|") + "\n");
    }
    fs::write(site.path(name), truth).unwrap();
}

pub struct Site(TempDir);

impl Site {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("sacct.txt"), trace()).unwrap();
        fs::write(directory.path().join("multifactor2.conf"), "Distribution=standing\n").unwrap();
        Self(directory)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Asks with words, of which those with @ are files of the site; without jittered runs, which take time, unless they are asked for.
    pub fn ask(&self, words: &str) -> Printout {
        let has = |word: &str| words.split(' ').any(|one| one == word);
        let own = if has("--runs") || has("--export") || has("--how") { "" } else { " --runs 0" };
        let words = &format!("{words}{own}");
        let mut arguments = vec![OsString::from("multifactor2"), "replay".into()];
        for word in words.split(' ') {
            match word.strip_prefix('@') {
                Some(name) => arguments.push(self.path(name).into()),
                None => arguments.push(word.into()),
            }
        }
        run(arguments, Terminal::PLAIN)
    }
}

fn failed(printed: &Printout, status: u8) -> bool {
    printed.status == status && printed.out.is_empty() && printed.err.starts_with("multifactor2: ")
}

#[test]
fn a_trace_under_several_policies() {
    let site = Site::new();
    let printed = site.ask(
        "@sacct.txt --procs 8 --policy fair-tree --policy @multifactor2.conf --policy fifo --runs 2 --strategist ada=split --strategist ada=honest --fair-start 5 --csv @csv --html @page.html",
    );
    assert!(answered(&printed), "{}", printed.err);
    for part in [
        "Under fair-tree jobs wait",
        "as recorded",
        "By account",
        "physics",
        "From fair-tree to fifo",
        "2 runs",
        "Gains of users who game the policy",
        "honest",
        "Jobs delayed by jobs submitted after them",
        "What every replay leaves out",
        "time for a warm-up",
        "shares",
    ] {
        assert!(printed.out.contains(part), "{part:?} is not in\n{}", printed.out);
    }
    for file in
        ["policies", "accounts", "series", "fairness", "changes", "runs", "gaming", "fair_start", "jobs"]
    {
        let text = fs::read_to_string(site.path("csv").join(format!("{file}.csv"))).unwrap();
        let columns = |line: &str| line.split(',').count();
        let mut lines = text.lines();
        let header = columns(lines.next().unwrap());
        assert!(text.lines().count() > 1, "{file}");
        assert!(lines.all(|line| columns(line) == header), "{file}");
    }
    let page = fs::read_to_string(site.path("page.html")).unwrap();
    assert!(page.contains("Content-Security-Policy") && page.contains("Share against usage over time"));
    assert!(!page.contains("<b>chem") && !page.contains("http://") && !page.contains("https://"));
}

/// The first lines say which policy to choose, what it costs and whom: the same as the tables.
#[test]
fn the_first_lines_say_which_policy_to_choose_and_who_pays() {
    let site = Site::new();
    make_true(&site, "sacct.txt", "--procs 8 --past fair-tree --policy fair-tree");
    let words = "@sacct.txt --procs 8 --past fair-tree --policy fair-tree --policy fifo --warm-up 0 --runs 4";
    let printed = site.ask(words);
    let text = printed.out.replace("\n  ", " ").replace('\n', " ");
    let value: Value = serde_json::from_str(&site.ask(&format!("{words} --json")).out).unwrap();
    let (policies, comparison) = (&value["answer"]["policies"], &value["answer"]["comparisons"][0]);
    let of = |at: usize, path: &str| policies[at].pointer(path).unwrap().as_f64().unwrap();
    let has = |part: &str| assert!(text.contains(part), "{part:?} is not in\n{}", printed.out);
    assert!(of(0, "/account_shortfall") < of(1, "/account_shortfall"), "{}", printed.out);
    has(&format!(
        "account shortfall {:.1}% against {:.1}%",
        100.0 * of(1, "/account_shortfall"),
        100.0 * of(0, "/account_shortfall")
    ));
    has("Under fair-tree, the past policy, replayed jobs wait");
    has("Differences of mean waits up to 00:00:00 are not reported.");
    let told: Vec<&Value> = comparison["accounts"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|change| change["is_told"] == true)
        .collect();
    assert!(!told.is_empty(), "{comparison}");
    for change in told {
        let is_longer = change["longer"].as_f64().unwrap() > 0.0;
        has(&format!(
            "{}{} waits ",
            if is_longer { "Who pays: " } else { "Who gains: " },
            change["name"].as_str().unwrap()
        ));
    }
    // What chance does not tell apart is not said to be better.
    let printed = site.ask(
        "@sacct.txt --procs 1000 --past fair-tree --policy fair-tree --policy fifo --runs 2 --warm-up 0",
    );
    assert!(printed.out.starts_with("No policy can be recommended:"), "{}", printed.out);
}

#[test]
fn json_is_as_its_schema_says() {
    let site = Site::new();
    let words = "@sacct.txt --procs 8 --runs 1 --strategist ada=burst --fair-start 3 --json";
    let printed = site.ask(words);
    assert!(answered(&printed), "{}", printed.err);
    let value: Value = serde_json::from_str(&printed.out).unwrap();
    let schema = schema("replay");
    conforms(&value, &schema, &schema, "replay").unwrap();
    assert_eq!(value["schema"], "multifactor2/replay");
    assert_eq!(value["answer"]["policies"][0]["name"], "fair-tree");
    assert_eq!(value["answer"]["policies"][1]["name"], "multifactor2");
    assert_eq!(value["answer"]["policies"][1]["fair_start"]["jobs"], 3);
    assert!(value["answer"]["gaming"][0]["by_entitlement"].is_number());
    // The same seed gives the same bytes.
    assert_eq!(site.ask(words), printed);
    assert_ne!(site.ask(&format!("{words} --seed 7")).out, printed.out);
}

/// It takes a replay for each job, so it is only there where it is asked for, and the report says so.
#[test]
fn fair_starts_are_left_out_unless_asked_for() {
    let site = Site::new();
    let printed = site.ask("@sacct.txt --procs 8 --policy fifo");
    assert!(answered(&printed) && printed.out.contains("--fair-start 100"), "{}", printed.out);
    let value: Value =
        serde_json::from_str(&site.ask("@sacct.txt --procs 8 --policy fifo --json").out).unwrap();
    assert!(value["answer"]["policies"][0]["fair_start"].is_null());
    // Nobody is passed in the order of submission, without backfill.
    let words = "@sacct.txt --procs 8 --past fifo --policy fifo --scheduler fcfs --fair-start 1000 --json";
    let value: Value = serde_json::from_str(&site.ask(words).out).unwrap();
    let found = &value["answer"]["policies"][0]["fair_start"];
    assert_eq!((found["jobs"].as_u64(), found["later"].as_u64()), (Some(300), Some(0)));
}

#[test]
fn parts_add_up() {
    let site = Site::new();
    let printed = site.ask("@sacct.txt --procs 8 --policy fair-tree --json");
    let value: Value = serde_json::from_str(&printed.out).unwrap();
    let policy = &value["answer"]["policies"][0];
    let accounts = policy["accounts"].as_array().unwrap();
    let sum = |key: &str| accounts.iter().map(|account| account[key].as_f64().unwrap()).sum::<f64>();
    for key in ["usage", "entitled", "share"] {
        assert!((sum(key) - 1.0).abs() < 1e-9, "{key}: {}", sum(key));
    }
    let short = |account: &Value| {
        (account["entitled"].as_f64().unwrap() - account["usage"].as_f64().unwrap()).max(0.0)
    };
    let shortfall: f64 = accounts.iter().map(short).sum();
    assert!(shortfall > 0.0 && (policy["account_shortfall"].as_f64().unwrap() - shortfall).abs() < 1e-12);
    assert!((sum("jobs") - policy["waits"]["jobs"].as_f64().unwrap()).abs() < 0.5);
}

#[test]
fn what_is_wrong_is_said() {
    let site = Site::new();
    for (words, part, status) in [
        ("@missing.txt", "missing.txt", 3),
        ("@sacct.txt --policy nonsense", "there is no policy", 1),
        ("@sacct.txt --policy fifo --policy fifo", "given twice", 1),
        ("@sacct.txt --scheduler nonsense", "fcfs, easy", 1),
        ("@sacct.txt --procs 0", "--procs 0", 1),
        ("@sacct.txt --partition gpu", "NAME=NODESxCPUS", 1),
        ("@sacct.txt --shares @sacct.txt", "sacct.txt", 3),
        ("@sacct.txt --strategist ada", "USER=STRATEGY", 1),
        ("@sacct.txt --strategist ada=nap", "second-account", 1),
        ("@sacct.txt --strategist nobody=split", "no job of a user", 1),
        ("@multifactor2.conf", "replay --how", 3),
        ("--export @sacct.txt", "sacct.txt", 4),
    ] {
        let printed = site.ask(words);
        assert!(failed(&printed, status) && printed.err.contains(part), "{words}: {printed:?}");
    }
    assert!(site.ask("--how").out.contains("sacct -a -D -X -P"));
}

/// Bug: 584 jobs with --begin made the mean wait as recorded another one, and the replay seem far from it.
#[test]
fn a_job_waits_from_the_time_at_which_it_may_start() {
    let site = Site::new();
    // Every second job may start a day after its submission, and starts ten minutes after that.
    let mut text = trace().lines().next().unwrap().to_owned() + "\n";
    for id in 0..100_i64 {
        let submit = 1_706_702_400 + 4000 * id;
        let eligible = submit + if id % 2 == 0 { 86_400 } else { 0 };
        let (start, end) = (eligible + 600, eligible + 1200);
        let _ = writeln!(
            text,
            "{}|ada|physics|main|normal|{submit}|{eligible}|{start}|{end}|60|cpu=4|cpu=4|COMPLETED|1",
            id + 1
        );
    }
    fs::write(site.path("begin.txt"), text).unwrap();
    let words = "@begin.txt --procs 1000 --past fifo --policy fifo --warm-up 0 --csv @csv";
    let value: Value = serde_json::from_str(&site.ask(&format!("{words} --json")).out).unwrap();
    let recorded = &value["answer"]["trace"]["recorded"];
    assert_eq!(
        (recorded["wait"]["mean"].as_f64(), recorded["before"]["mean"].as_f64()),
        (Some(600.0), Some(43_200.0))
    );
    let waits = &value["answer"]["policies"][0]["waits"];
    assert!(waits["wait"]["mean"].as_f64().unwrap() < 60.0, "{waits}");
    assert_eq!(waits["before"]["mean"], 43_200.0);
    let printed = site.ask(words);
    assert!(printed.out.contains("Before") && printed.out.contains("12:00:00"), "{}", printed.out);

    // Anybody can check each job with sacct.
    let jobs = fs::read_to_string(site.path("csv").join("jobs.csv")).unwrap();
    let mut lines = jobs.lines();
    assert_eq!(
        lines.next(),
        Some(
            "job,user,account,partition,submit,eligible,recorded_start,reason,flags,start fifo,priority fifo"
        )
    );
    let first: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!(first[..9], ["1", "ada", "physics", "main", "1706702400", "1706788800", "1706789400", "", ""]);
    let start: i64 = first[9].parse().unwrap();
    assert!((1_706_788_800..1_706_788_860).contains(&start) && first[10].parse::<u32>().is_ok(), "{first:?}");
    assert_eq!(jobs.lines().count(), 101);
}

/// Bug: its lines were joined by \u{a}.
#[test]
fn a_trace_without_a_job_is_told_on_one_line() {
    let site = Site::new();
    let header = trace().lines().next().unwrap().to_owned();
    fs::write(site.path("none.txt"), header + "\nwhat is this\n1|ada\n").unwrap();
    let printed = site.ask("@none.txt");
    assert!(failed(&printed, 3) && !printed.err.contains("\\u{"), "{}", printed.err);
    assert!(printed.err.contains("2 lines that cannot be understood: skipped (first: "), "{}", printed.err);
}

#[test]
fn a_trace_of_partitions_that_are_gone_is_told() {
    let site = Site::new();
    let printed = site.ask("@sacct.txt --partition other=8 --partition more=8");
    assert!(failed(&printed, 1) && printed.err.contains("partition main: 300 jobs"), "{}", printed.err);
    let max_job_bf = "SchedulerParameters=max_job_bf=50\nNodeName=n1 CPUs=8\nPartitionName=main Nodes=ALL\n";
    fs::write(site.path("old.conf"), max_job_bf).unwrap();
    let printed = site.ask("@sacct.txt --slurm-conf @old.conf");
    assert!(failed(&printed, 1) && printed.err.contains("write bf_max_job_test"), "{}", printed.err);
}

/// On a terminal, which `script` of util-linux makes: a bar says how far it is, and Ctrl-C ends with a report of what there is.
#[test]
fn on_a_terminal_there_is_a_bar_and_ctrl_c_ends_with_what_there_is() {
    use std::io::{ErrorKind, Read, Write};
    use std::process::{Command, Stdio};
    let site = Site::new();
    // As much work as takes minutes: a queue that only grows.
    let mut text = trace();
    for id in 1000..40_000_u64 {
        let submit = 1_706_900_000 + id;
        let _ = writeln!(
            text,
            "{id}|ada|physics|main|normal|{submit}|{submit}|{submit}|{}|120|cpu=4|cpu=4|COMPLETED|1",
            submit + 3000
        );
    }
    fs::write(site.path("sacct.txt"), text).unwrap();
    let command = format!(
        "{} replay {} --procs 8 --scheduler conservative --policy fair-tree",
        env!("CARGO_BIN_EXE_multifactor2"),
        site.path("sacct.txt").display()
    );
    let started = Command::new("script")
        .args(["--quiet", "--return", "--command", &command, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut script = match started {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            slurm_testcluster::skip("replay", "script of util-linux is not installed");
            return;
        }
        started => started.unwrap(),
    };
    let (mut keys, mut screen) = (script.stdin.take().unwrap(), script.stdout.take().unwrap());
    let (mut shown, mut part) = (String::new(), [0; 4096]);
    while !shown.contains("s left (Ctrl-C: stop and report)") {
        let read = screen.read(&mut part).unwrap();
        assert!(read > 0, "it has ended: {shown}");
        shown.push_str(&String::from_utf8_lossy(&part[..read]));
    }
    assert!(shown.contains("\r[") && shown.contains(" %, "), "{shown}");
    keys.write_all(b"\x03").unwrap();
    keys.flush().unwrap();
    let mut report = String::new();
    screen.read_to_string(&mut report).unwrap();
    assert_eq!(script.wait().unwrap().code(), Some(130), "{report}");
    let report = report.replace("\r\n", " ");
    assert!(report.contains("This replay was stopped early."), "{report}");
    assert!(report.contains("Under fair-tree jobs wait") && !report.contains("measures choose"), "{report}");
    assert!(report.contains("\r\x1b[K"), "the bar is taken away: {report}");
}

/// Slurm's commands, as scripts that print what they would.
fn commands(site: &Site) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let directory = site.path("bin");
    fs::create_dir(&directory).unwrap();
    let sacct = site.path("sacct.txt").display().to_string();
    for (name, script) in [
        ("sacct", SACCT.replace("TRACE", &sacct).replace("#!/bin/sh\n", "")),
        (
            "sacctmgr",
            "case \"$*\" in *'show qos'*) echo 'Name|Priority|UsageFactor'; echo 'normal|0|1.0';; *) echo 'Cluster|Account|User|Partition|Share|ParentName'; echo 'secret|root|||1|'; echo 'secret|physics|||60|root'; echo 'secret|<b>chem</b>|||40|root';; esac".to_owned(),
        ),
        (
            "scontrol",
            "case $2 in config) printf 'ClusterName = secret\nPriorityWeightFairShare = 1000\nSlurmUser = secret(1)\n';; \
             partition) printf 'PartitionName=main\n   AllowAccounts=secret Nodes=secret[1-2] MaxTime=UNLIMITED\n   State=UP TotalCPUs=8 TotalNodes=2\n';; \
             *) echo 'slurm_load_node error: no' >&2; exit 1;; esac".to_owned(),
        ),
    ] {
        let path = directory.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    directory
}

#[test]
fn an_export_can_be_replayed_and_tells_no_names() {
    let site = Site::new();
    let path = format!("{}:/usr/bin:/bin", commands(&site).display());
    let export = |name: &str, more: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_multifactor2"));
        command
            .args(["replay", "--start", "2024-01-31", "--end", "2024-02-02", "--export"])
            .arg(site.path(name))
            .args(more);
        let output = command.env("PATH", &path).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let told = export("plain", &[]);
    assert!(told.contains("nodes.txt: missing") && told.contains("slurm_load_node error"), "{told}");
    export("anonymous", &["--anonymise"]);
    let (plain, anonymous) = (site.ask("@plain --json"), site.ask("@anonymous --json"));
    assert!(answered(&plain) && answered(&anonymous), "{} {}", plain.err, anonymous.err);
    for entry in fs::read_dir(site.path("anonymous")).unwrap() {
        let text = multifactor2_replay::trace::text(&entry.unwrap().path()).unwrap();
        for name in ["secret", "ada", "bob", "eve", "physics", "chem", "main"] {
            assert!(!text.contains(name), "{name} is in\n{text}");
        }
    }
    // Under other names all is the same.
    let of = |printed: &Printout| -> Value {
        let value: Value = serde_json::from_str(&printed.out).unwrap();
        value["answer"]["policies"][0]["waits"].clone()
    };
    assert_eq!(of(&plain), of(&anonymous));
    // The same again asks for nothing that is there; other names are given in a single run.
    let asked = || fs::read_to_string(site.path("bin").join("asked")).unwrap().lines().count();
    let before = asked();
    export("plain", &[]);
    assert_eq!(asked(), before);
    fs::remove_file(site.path("plain").join("sacct-2024-01.txt.gz")).unwrap();
    export("plain", &[]);
    assert_eq!(asked(), before + 1);
    let printed = site.ask("--export @anonymous --anonymise --start 2024-01-31 --end 2024-02-02");
    assert!(failed(&printed, 4) && printed.err.contains("in a single run"), "{printed:?}");
    fs::create_dir(site.path("other")).unwrap();
    fs::write(site.path("other").join("mine"), "").unwrap();
    let printed = site.ask("--export @other");
    assert!(failed(&printed, 4) && printed.err.contains("it is not empty"), "{printed:?}");
    let first = fs::read_to_string(site.path("bin").join("asked")).unwrap();
    assert!(first.starts_with("%s -a -D -X -P --noconvert --delimiter=\u{1f}"), "{first}");
}

#[test]
fn a_slurm_conf_tells_weights_and_the_machine() {
    let site = Site::new();
    let text = "PriorityWeightFairshare=1000\nPriorityWeightAge=10\nPriorityDecayHalfLife=2-0\nPriorityCalcPeriod=5\nPriorityWeightTRES=CPU=10\n\
         SchedulerParameters=bf_interval=60\nNodeName=n[1-4] CPUs=4\nPartitionName=main Nodes=ALL Default=YES\n";
    fs::write(site.path("slurm.conf"), text).unwrap();
    let value = |printed: &Printout| -> Value {
        assert!(answered(printed), "{}", printed.err);
        serde_json::from_str(&printed.out).unwrap()
    };
    // In the directory of the trace, and by its name.
    let beside = value(&site.ask(&format!("{} --json", site.path("").display())));
    let named = value(&site.ask("@sacct.txt --slurm-conf @slurm.conf --json"));
    for printed in [&beside, &named] {
        let answer = &printed["answer"];
        assert_eq!(answer["trace"]["cpus"], 16, "{answer}");
        assert!(!answer.to_string().contains("config.txt"), "{answer}");
    }
    assert_eq!(beside["answer"]["policies"], named["answer"]["policies"]);
    let unknown = site.ask("@sacct.txt --slurm-conf @none");
    assert!(failed(&unknown, 3) && unknown.err.contains("there is no such file"), "{}", unknown.err);
}

/// One account sends more short jobs than fit, another that has the same share sends long ones, and fewer than it might.
#[test]
fn two_choices_are_named_where_each_is_best_by_one_measure() {
    let site = Site::new();
    let mut text = trace().lines().next().unwrap().to_owned() + "\n";
    for id in 0..4400_u64 {
        let is_long = id % 14 == 13;
        let (user, account) = if is_long { ("eve", "chem") } else { ("ada", "physics") };
        let (submit, run) = (1_706_702_400 + 27 * id, if is_long { 1500 } else { 300 });
        let end = submit + run;
        let _ = writeln!(
            text,
            "{}|{user}|{account}|main|normal|{submit}|{submit}|{submit}|{end}|60|cpu=4|cpu=4|COMPLETED|1",
            id + 1
        );
    }
    fs::write(site.path("uneven.txt"), text).unwrap();
    make_true(&site, "uneven.txt", "--procs 40 --scheduler fcfs --past fair-tree --policy fair-tree");
    let words = "@uneven.txt --procs 40 --scheduler fcfs --past fair-tree --policy fair-tree --policy fifo --warm-up 0 --runs 3";
    let printed = site.ask(words);
    let value: Value = serde_json::from_str(&site.ask(&format!("{words} --json")).out).unwrap();
    let of = |at: usize, path: &str| value["answer"]["policies"][at].pointer(path).unwrap().as_f64().unwrap();
    assert!(
        of(0, "/account_shortfall") < 0.98 * of(1, "/account_shortfall")
            && of(1, "/waits/wait/mean") < 0.98 * of(0, "/waits/wait/mean"),
        "{}",
        printed.out
    );
    let text = printed.out.replace('\n', " ");
    assert!(
        text.contains("Choose fair-tree if accounts should get what their shares entitle them to"),
        "{text}"
    );
    assert!(text.contains("Choose fifo if waits should be short on average"), "{text}");
}

/// The machine, shares, QOS and parameters of `--from` are those that files of the trace would tell.
#[test]
fn a_cluster_from_elsewhere_is_as_if_it_stood_in_the_trace() {
    for release in recorded::RELEASES {
        let (site, texts) = (Site::new(), recorded::texts(release, "multifactor2-root"));
        let snapshot = assemble(&texts, None).unwrap();
        let mut jobs = trace();
        // Whose shares the cluster has.
        for (ours, theirs) in [("<b>chem</b>", "c"), ("physics", "b")] {
            jobs = jobs.replace(ours, theirs);
        }
        fs::write(site.path("sacct.txt"), &jobs).unwrap();
        texts.save(&site.path("saved")).unwrap();
        fs::create_dir(site.path("trace")).unwrap();
        let mut associations = String::from("Account|User|Share|ParentName\n");
        let name_of = |id: u32| snapshot.associations.iter().find(|of| of.id == id).map(|of| &of.account);
        for of in snapshot.associations.iter().filter(|of| of.partition.is_empty()) {
            let parent = name_of(of.parent).filter(|_| of.user.is_empty()).map_or("", String::as_str);
            let _ = writeln!(associations, "{}|{}|{}|{parent}", of.account, of.user, of.shares);
        }
        let mut qos = String::from("Name|Priority|UsageFactor\n");
        for of in &snapshot.qos {
            let _ = writeln!(qos, "{}|{}|{}", of.name, of.priority, of.usage_factor);
        }
        for (name, text) in [
            ("sacct.txt", &*jobs),
            ("config.txt", texts.text(CONFIG)),
            ("partitions.txt", texts.text(PARTITIONS)),
            ("associations.txt", &associations),
            ("qos.txt", &qos),
        ] {
            fs::write(site.path("trace").join(name), text).unwrap();
        }
        let ask = |words: &str| -> Value {
            let printed = site.ask(&format!("{words} --json"));
            assert_eq!(printed.status, 0, "{release}: {}", printed.err);
            let mut document: Value = serde_json::from_str(&printed.out).unwrap();
            let mut answer = document["answer"].take();
            answer["trace"].as_object_mut().unwrap().remove("name").unwrap();
            answer
        };
        let (plain, inside) = (ask("@sacct.txt --procs 8"), ask("@trace"));
        assert_ne!(plain["policies"], inside["policies"], "{release}");
        assert_eq!(inside, ask("@sacct.txt --from @saved"), "{release}");
        let mut bytes = Vec::new();
        format::write(&snapshot, &mut bytes).unwrap();
        fs::write(site.path("snapshot"), bytes).unwrap();
        assert_eq!(inside, ask("@sacct.txt --from @snapshot"), "{release}");
    }
}

/// A snapshot of the plugin does not tell which nodes partitions have; a machine of all of them would be larger than the cluster.
#[test]
fn a_machine_that_a_snapshot_cannot_tell_is_not_guessed() {
    let (site, mut snapshot) = (Site::new(), recorded::snapshot("24.11.5", "multifactor2-root"));
    let mut ask = |change: &dyn Fn(&mut Snapshot)| {
        change(&mut snapshot);
        let mut bytes = Vec::new();
        format::write(&snapshot, &mut bytes).unwrap();
        fs::write(site.path("snapshot"), bytes).unwrap();
        site.ask("@sacct.txt --from @snapshot")
    };
    let shared =
        ask(&|snapshot| snapshot.partitions.iter_mut().for_each(|partition| partition.nodes.clear()));
    assert_eq!(shared.status, 0, "{}", shared.err);
    assert!(shared.out.contains("does not show which nodes partitions share"), "{}", shared.out);
    let apart = ask(&|snapshot| snapshot.partitions.truncate(1));
    assert!(!apart.out.contains("which nodes partitions share"), "{}", apart.out);
    assert_ne!(shared.out, apart.out);
    let hidden = ask(&|snapshot| snapshot.about.partial_tree = true);
    assert_eq!((hidden.status, hidden.out.as_str()), (3, ""));
    assert!(hidden.err.contains("only a part of the tree"), "{}", hidden.err);
}
