//! What is asked of a Slurm that runs: as little as the question needs, and within its time. A snapshot of the plugin comes first, where it can
//! be read and believed. Slurm is the recorded answers of 24.11.5, given by commands that note how they are called.

use std::fs;
use std::os::unix::fs::{symlink, PermissionsExt};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use multifactor2_command::input::assemble;
use multifactor2_command::input::commands::{CONFIG, PARTITIONS, QOS, QUEUE};
use multifactor2_command::model::{Model, Options};
use multifactor2_snapshot::records::Setting;
use multifactor2_snapshot::{format, Snapshot};
use tempfile::TempDir;

use crate::recorded;

/// Notes its call and how many run, waits as long as `NAME.wait` says, and prints what there is.
const COMMAND: &str = r#"#!/bin/sh
name=${0##*/}
echo "$name $*" >> "$SITE/calls"
mkdir "$SITE/now/$$"; ls "$SITE/now" | wc -l >> "$SITE/beside"
sleep "$(cat "$SITE/$name.wait" 2>/dev/null || echo 0.05)"
rmdir "$SITE/now/$$"
text() { cat "$SITE/$1.txt"; }
only() {
  [ -n "$jobs" ] || { cat; return; }
  awk -F'|' -v "jobs=$jobs" 'BEGIN { n = split(jobs, all, ","); for (i = 1; i <= n; i++) { split(all[i], of, "+"); wanted[of[1] + of[2]] } }
    $1 in wanted || (NF > 20 && $2 in wanted)'
}
jobs= last= mark= end=
for word in "$@"; do
  [ "$last" != -j ] || jobs=$word
  case $word in *UserName:*) mark=${word##*UserName:}; mark=${mark%%,*};; esac
  last=$word
done
case "$name $*" in
*"show config") text config;;
*"show partition") text partitions;;
*"show assoc_mgr"*) text associations;;
sshare*) text shares;;
squeue*) case $* in *EndTime:*) end="1795395999|";; esac
  text queue | only | sed "s/^/$end/" | sed "s/|q7x2kd|/$mark/g" | grep . || { echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1; };;
sprio*) text priorities | only;;
sacctmgr*) text qos;;
*) exit 1;;
esac
"#;

/// A host with commands of Slurm, and a directory for what the plugin writes.
pub struct Site {
    directory: TempDir,
}

/// What the command printed, and how it called Slurm.
pub struct Said {
    pub out: String,
    pub err: String,
    pub calls: Vec<String>,
}

impl Said {
    fn asked(&self, program: &str) -> Vec<&str> {
        self.calls.iter().map(String::as_str).filter(|call| call.starts_with(program)).collect()
    }
}

impl Site {
    pub fn new() -> Self {
        let site = Self { directory: tempfile::tempdir().unwrap() };
        fs::set_permissions(site.path(""), fs::Permissions::from_mode(0o755)).unwrap();
        for directory in ["now", "spool"] {
            fs::create_dir(site.path(directory)).unwrap();
            fs::set_permissions(site.path(directory), fs::Permissions::from_mode(0o755)).unwrap();
        }
        for name in ["scontrol", "squeue", "sprio", "sshare", "sacctmgr"] {
            fs::write(site.path(name), COMMAND).unwrap();
            fs::set_permissions(site.path(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        for (name, text) in recorded::texts("24.11.5", "multifactor2-root").texts {
            fs::write(site.path(&format!("{name}.txt")), text).unwrap();
        }
        // Files of a test belong to who runs it.
        let owner = rustix::process::geteuid().as_raw();
        site.change(CONFIG, "= root(0)", &format!("= owner({owner})"));
        site.write("multifactor2.conf", &format!("Snapshot={}\n", site.path("spool/snapshot").display()));
        site
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Another word in a recorded answer.
    pub fn change(&self, name: &str, from: &str, to: &str) {
        let path = self.path(&format!("{name}.txt"));
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{name}: {from}");
        fs::write(path, text.replace(from, to)).unwrap();
    }

    /// What the plugin would write, so many seconds ago.
    pub fn save(&self, age: i64, edit: impl FnOnce(&mut Snapshot)) {
        let mut snapshot = assemble(&recorded::texts("24.11.5", "multifactor2-root"), None).unwrap();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let now = i64::try_from(now).unwrap();
        let later = now - age - snapshot.about.time;
        (snapshot.about.time, snapshot.about.taken) = (now - age, now - age);
        for job in &mut snapshot.jobs {
            for time in [&mut job.submit, &mut job.eligible, &mut job.accrue, &mut job.start] {
                *time += if *time == 0 { 0 } else { later };
            }
        }
        "plugin".clone_into(&mut snapshot.about.source);
        snapshot.about.knows_preemption = false;
        snapshot.partitions.iter_mut().for_each(|partition| partition.nodes.clear());
        edit(&mut snapshot);
        let mut bytes = Vec::new();
        format::write(&snapshot, &mut bytes).unwrap();
        fs::write(self.path("spool/snapshot"), bytes).unwrap();
        fs::set_permissions(self.path("spool/snapshot"), fs::Permissions::from_mode(0o644)).unwrap();
    }

    pub fn ask(&self, words: &str) -> Said {
        self.said(self.command().args(words.split(' ')))
    }

    /// The command of this host, without a question.
    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_multifactor2"));
        command
            .env("PATH", format!("{}:/usr/bin:/bin", self.directory.path().display()))
            .env("SLURM_CONF", self.path("slurm.conf"))
            .env("SITE", self.directory.path());
        command
    }

    /// What a command prints.
    pub fn said(&self, command: &mut Command) -> Said {
        let _ = fs::remove_file(self.path("calls"));
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let calls = fs::read_to_string(self.path("calls")).unwrap_or_default();
        Said {
            out: text(output.stdout),
            err: text(output.stderr),
            calls: calls.lines().map(str::to_owned).collect(),
        }
    }

    /// The answer to `why`, as JSON.
    fn why(&self, words: &str) -> (serde_json::Value, Said) {
        let said = self.ask(&format!("why {words} --json"));
        let answer = serde_json::from_str(&said.out)
            .unwrap_or_else(|error| panic!("{error}: {}{}", said.out, said.err));
        (answer, said)
    }
}

#[test]
fn why_asks_for_its_job_alone() {
    let site = Site::new();
    let (answer, said) = site.why("6");
    assert!(said.asked("squeue")[0].ends_with(" -j 6"), "{:?}", said.calls);
    assert!(said.asked("sprio")[0].ends_with(" -j 6"), "{:?}", said.calls);
    assert_eq!((said.asked("squeue").len(), said.asked("sprio").len()), (1, 1), "{:?}", said.calls);
    let answer = &answer["answer"];
    assert_eq!((&answer["priority"], answer["places"].as_array().unwrap().len()), (&10434.into(), 0));
    assert_eq!(answer["unknown"]["kind"], "not_asked");
    assert!(said.asked("scontrol").iter().any(|call| call.contains("assoc_mgr") && call.contains(" users=")));
    // How many compete was not asked.
    assert!(answer["path"].as_array().unwrap().iter().all(|level| level["competing"].is_null()), "{answer}");
    let text = site.ask("why 6").out;
    assert!(text.contains("--place asks for all."), "{text}");
    // Of two, which comes first is known without the others.
    let both = site.ask("why 6 17");
    assert!(
        both.asked("squeue")[0].ends_with(" -j 6,17") && both.out.contains("Job 16+1 comes before job 6"),
        "{}",
        both.out
    );
}

#[test]
fn place_is_asked_for_with_place() {
    let site = Site::new();
    let (answer, said) = site.why("6 --place");
    assert!(!said.calls.iter().any(|call| call.contains(" -j ")), "{:?}", said.calls);
    let snapshot = assemble(&recorded::texts("24.11.5", "multifactor2-root"), None).unwrap();
    let model = Model::of(&snapshot, Options::default());
    let queue = model.queue().unwrap_or_else(|partial| panic!("{:?}", partial.why));
    let (at, _) = queue.places(model.job(6).unwrap()).next().unwrap();
    assert_eq!(answer["answer"]["places"][0]["position"], at + 1);
    assert!(answer["answer"]["unknown"].is_null());
}

/// What is kept of an answer about one job does not become one about all.
#[test]
fn a_saved_answer_about_one_job_has_no_places() {
    let site = Site::new();
    let saved = site.path("saved");
    site.ask(&format!("why 6 --save {}", saved.display()));
    for words in ["why 6", "queue"] {
        let said = site.ask(&format!("{words} --json --from {}", saved.display()));
        let answer: serde_json::Value = serde_json::from_str(&said.out).unwrap();
        assert_eq!(answer["answer"]["unknown"]["kind"], "not_asked", "{words}: {}", said.out);
    }
}

#[test]
fn a_job_that_slurmctld_does_not_know_is_said_to() {
    let said = Site::new().ask("why 4711");
    assert!(
        said.err.contains("slurmctld does not know job 4711") && said.err.contains("sacct -j 4711"),
        "{}",
        said.err
    );
    let said = Site::new().ask("why main");
    assert!(said.err.contains("main is no job") && said.calls.is_empty(), "{} {:?}", said.err, said.calls);
}

/// No two at a time, and none after the time is over.
#[test]
fn slurm_is_asked_within_a_time_and_by_one_command_after_the_other() {
    let site = Site::new();
    site.ask("check");
    let beside = fs::read_to_string(site.path("beside")).unwrap();
    assert!(beside.lines().count() > 5 && beside.lines().all(|line| line.trim() == "1"), "{beside}");
    site.write("sprio.wait", "30");
    let start = Instant::now();
    let said = site.ask("queue --timeout 3");
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert!(said.out.contains("sprio gave no answer"), "{}", said.out);
    assert!(said.out.contains("no answer in 2 s"), "{}", said.out);
}

#[test]
fn a_snapshot_comes_first_and_costs_nothing_that_grows_with_jobs() {
    let site = Site::new();
    site.save(40, |_| ());
    let (answer, said) = site.why("6");
    assert!(said.asked("sprio").is_empty() && said.asked("sshare").is_empty(), "{:?}", said.calls);
    assert!(said.asked("squeue").iter().all(|call| call.ends_with(" -j 6")), "{:?}", said.calls);
    let age = answer["about"]["age"].as_i64().unwrap();
    assert!((40..45).contains(&age), "{age}");
    let live = site.why("6 --live --place").0;
    for part in ["position", "rank", "of", "competing", "sharing"] {
        let (from, live) = (&answer["answer"]["places"][0][part], &live["answer"]["places"][0][part]);
        assert!(!live.is_null() && from == live, "{part}: {from} {live}");
    }
    assert!(live["about"]["age"].is_null());
    let text = site.ask("queue");
    assert!(text.out.starts_with("From the snapshot of the plugin, 4"), "{}", text.out);
    assert!(text.asked("squeue").is_empty() && text.asked("sprio").is_empty(), "{:?}", text.calls);
    // A table for programs begins with its heading.
    assert!(site.ask("queue -P").out.starts_with("Position|"), "{}", site.ask("queue -P").out);
}

#[test]
fn live_asks_slurm_also_where_a_snapshot_can_be_read() {
    let site = Site::new();
    site.save(40, |_| ());
    assert_eq!(site.ask("queue --live").asked("sprio").len(), 1);
}

/// Under preempt/qos slurmdbd says what a snapshot has not.
#[test]
fn a_snapshot_gets_preemption_from_slurmdbd() {
    let site = Site::new();
    site.save(40, |snapshot| {
        snapshot.parameters.insert("PreemptType".to_owned(), "preempt/qos".to_owned());
    });
    let config = fs::read_to_string(site.path("config.txt")).unwrap();
    let line = config.lines().find(|line| line.starts_with("PreemptType ")).unwrap();
    site.change(CONFIG, line, "PreemptType             = preempt/qos");
    let unsaid = site.why("6").0;
    assert_eq!(unsaid["answer"]["unknown"]["kind"], "not_asked", "an old column: {unsaid}");
    let qos = fs::read_to_string(site.path("qos.txt")).unwrap();
    let with = |line: &str| {
        let (rest, name) = line.rsplit_once('|').unwrap();
        format!("{rest}|{}|{name}\n", if name == "Name" { "Preempt" } else { "" })
    };
    site.write(&format!("{QOS}.txt"), &qos.lines().map(with).collect::<String>());
    assert!(site.why("6").0["answer"]["unknown"].is_null());
}

/// Who could write it could say anything; what is old or of elsewhere is not the truth of now.
/// Who asks cannot see how large the cluster is: partitions overlap in part. The file for everybody says it, and the settings in force.
#[test]
fn the_file_for_everybody_tells_what_slurm_does_not() {
    const UNKNOWN: &str = "The size of the cluster is not known, so JOBSIZE is what Slurm shows.";
    let site = Site::new();
    site.change(PARTITIONS, "Nodes=n1 ", "Nodes=n[2,5] ");
    let public = site.path("spool/public");
    let setting = format!("SnapshotPublic={}", public.display());
    site.write("multifactor2.conf", &setting);
    // As slurm.conf has it.
    let parameters = "ActiveJobs=pending";
    let save = |age: i64, lines: &[&str], withheld: u32| {
        site.save(age, |snapshot| {
            "public".clone_into(&mut snapshot.about.source);
            "0.2.0".clone_into(&mut snapshot.about.plugin);
            snapshot.about.withheld = withheld;
            (snapshot.jobs, snapshot.associations, snapshot.entries) = Default::default();
            let line = |line: &&str| Setting { line: (*line).to_owned(), from: String::new() };
            snapshot.settings = Some(lines.iter().map(line).collect());
        });
        fs::rename(site.path("spool/snapshot"), &public).unwrap();
    };
    let change = "what-if --weight jobsize=5000";
    let before = site.ask(change);
    assert!(before.out.contains(UNKNOWN), "{} {}", before.out, before.err);
    save(100, &[parameters, &setting], 0);
    let after = site.ask(change);
    assert!(after.out.contains("job 19") || after.out.contains(" 19 "), "{} {}", after.out, after.err);
    assert!(!after.out.contains(UNKNOWN), "{}", after.out);
    assert_eq!(before.calls.len(), after.calls.len(), "nothing more is asked of slurmctld");
    // Of the settings that slurmctld has in force, those that this host does not know are taken; where some are withheld, one is named.
    let is_strict =
        |text: &str| text.lines().any(|line| line.starts_with("Distribution ") && line.contains(" strict "));
    let known = site.ask("settings");
    assert!(!is_strict(&known.out), "{}", known.out);
    save(100, &[parameters, &setting, "Distribution=strict"], 0);
    let in_force = site.ask("settings");
    assert!(
        is_strict(&in_force.out) && !in_force.out.contains("differ from those of this host"),
        "{}",
        in_force.out
    );
    save(100, &[parameters, &setting, "Distribution=strict"], 1);
    let differs = site.ask("settings");
    assert!(differs.out.contains("differ from those of this host: Distribution=strict."), "{}", differs.out);
    save(100, &[parameters, &setting], 1);
    assert!(!site.ask("settings").out.contains("differ from those of this host"));
    // What cannot be believed is not used.
    save(10_000, &[parameters, &setting], 0);
    let old = site.ask(change);
    assert!(old.out.contains(UNKNOWN) && old.out.contains("is 10000 s old"), "{} {}", old.out, old.err);
    save(100, &[parameters, &setting], 0);
    fs::set_permissions(&public, fs::Permissions::from_mode(0o666)).unwrap();
    assert!(site.ask(change).out.contains(UNKNOWN));
    assert!(site.ask("queue").out.contains("correct owner and mode"));
    let wrong = site.ask(&format!("queue --from {}", public.display()));
    assert!(wrong.err.contains("this is the file for everybody") && wrong.out.is_empty(), "{}", wrong.err);
}

#[test]
fn a_snapshot_that_cannot_be_believed_is_not_used_and_that_is_said() {
    let site = Site::new();
    let assert_live = |why: &str| {
        let said = site.ask("queue");
        assert!(!said.asked("sprio").is_empty(), "{why}: {:?}", said.calls);
        let out = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(out.contains("is not used: ") && out.contains(why), "{why}: {out}");
    };
    let mode =
        |name: &str, mode| fs::set_permissions(site.path(name), fs::Permissions::from_mode(mode)).unwrap();
    site.save(40, |_| ());
    mode("spool/snapshot", 0o664);
    assert_live("others can write it");
    mode("spool/snapshot", 0o644);
    mode("spool", 0o777);
    assert_live("others can write it");
    mode("spool", 0o755);
    fs::rename(site.path("spool/snapshot"), site.path("spool/other")).unwrap();
    symlink("other", site.path("spool/snapshot")).unwrap();
    assert_live("symbolic link");
    fs::remove_file(site.path("spool/snapshot")).unwrap();
    // Two periods of 300 s and a minute.
    site.save(670, |_| ());
    assert_live("s old, and may be 660 s old");
    site.save(40, |snapshot| "elsewhere".clone_into(&mut snapshot.about.cluster));
    assert_live("it is of cluster elsewhere, not of test");
    site.write("spool/snapshot", "{}\n");
    assert_live("this is not a snapshot of multifactor2");
    // Where there is none, there is nothing to say.
    fs::remove_file(site.path("spool/snapshot")).unwrap();
    let said = site.ask("queue");
    assert!(!said.out.contains("is not used") && !said.asked("sprio").is_empty(), "{}", said.out);
}

#[test]
fn a_job_that_a_snapshot_has_not_as_it_stands_is_asked_for() {
    let site = Site::new();
    // It has come since.
    site.save(40, |snapshot| snapshot.jobs.retain(|job| job.id != 6));
    let (answer, said) = site.why("6");
    assert_eq!(said.asked("sprio").len(), 1, "{:?}", said.calls);
    assert_eq!(
        (&answer["answer"]["priority"], &answer["about"]["age"]),
        (&10434.into(), &serde_json::Value::Null)
    );
    // One of two runs now.
    site.save(40, |_| ());
    let before = fs::read_to_string(site.path("queue.txt")).unwrap();
    let line = before.lines().find(|line| line.starts_with("6|")).unwrap();
    site.change(QUEUE, line, &line.replacen("|PD|", "|R|", 1));
    let said = site.ask("why -j 6,17");
    assert!(
        said.out.contains("Job 6 has been running since") && !said.out.contains("From the snapshot"),
        "{}",
        said.out
    );
    site.write("queue.txt", &before);
    // It has ended since.
    let queue = fs::read_to_string(site.path("queue.txt")).unwrap();
    let others = queue.lines().filter(|line| !line.starts_with("6|")).map(|line| format!("{line}\n"));
    site.write(&format!("{QUEUE}.txt"), &others.collect::<String>());
    assert!(site.ask("why 6").err.contains("slurmctld does not know job 6"));
}

#[test]
fn a_job_whose_priority_was_changed_since_has_no_place() {
    let site = Site::new();
    site.save(40, |snapshot| {
        snapshot.jobs.iter_mut().filter(|job| job.id == 6).for_each(|job| job.priority = 9999);
    });
    let (answer, _) = site.why("6");
    let unknown = &answer["answer"]["unknown"];
    let sentence = unknown["sentence"].as_str().unwrap();
    assert!(sentence.contains("has priority 10434 now, but had 9999 in the snapshot"), "{unknown}");
    assert_eq!(answer["answer"]["places"].as_array().unwrap().len(), 0);
    // AGE alone may have grown: 1000 in a hundred days is nothing in 40 s.
    site.save(40, |snapshot| {
        snapshot.jobs.iter_mut().filter(|job| job.id == 6).for_each(|job| job.priority = 10433);
    });
    assert!(site.why("6").0["answer"]["unknown"].is_null());
    site.write("squeue.wait", "30");
    let (answer, _) = site.why("6 --timeout 3");
    assert_eq!(answer["answer"]["unknown"]["kind"], "not_answered", "{answer}");
}

#[test]
fn jobs_of_a_list_and_ones_own_are_answered_in_rows() {
    let site = Site::new();
    let said = site.ask("why -j 6,16+1,9_[1-2,4-5]");
    assert!(said.asked("squeue")[0].ends_with(" -j 6,16+1,9"), "{:?}", said.calls);
    let rows: Vec<&str> = said.out.lines().filter(|line| line.contains("PartitionDown")).collect();
    assert!(
        rows.len() == 3 && rows[0].starts_with("6 ") && rows[1].starts_with("16+1 "),
        "{}{}",
        said.out,
        said.err
    );
    assert!(said.out.contains("--place asks for all"), "{}", said.out);
    // The user who asks has none.
    let said = site.ask("why");
    assert!(said.asked("squeue")[0].contains(" -u "), "{:?}", said.calls);
    assert!(said.out.starts_with("None of your jobs waits.") && !said.out.contains("known"), "{}", said.out);
    crate::site::path_as("ada", site.directory.path());
    let said = site.ask("why --place");
    let ada = recorded::texts("24.11.5", "multifactor2-root");
    let waits = |line: &&str| line.contains("|ada|q7x2kd|") && line.contains("|PD|");
    let waiting: Vec<&str> = ada.text(QUEUE).lines().filter(waits).collect();
    let is_shown = |line: &&str| {
        let id = line.split('|').next().unwrap_or_default();
        said.out.lines().any(|row| row.starts_with(&format!("{id} ")))
    };
    assert!(waiting.len() > 3 && waiting.iter().all(is_shown), "{}", said.out);
    assert!(said.out.starts_with(&format!("{} jobs. ", waiting.len())), "{}", said.out);
}

/// One of a list may be gone; that squeue said nothing is another thing.
#[test]
fn jobs_that_are_not_known_and_a_squeue_that_is_silent_are_told_apart() {
    let site = Site::new();
    let said = site.ask("why -j 6,4711");
    assert!(
        said.out.contains("4711") && said.out.contains("slurmctld does not know it"),
        "{}{}",
        said.out,
        said.err
    );
    site.write("squeue.wait", "30");
    for words in ["why 6 --timeout 3", "why 6 17 --timeout 3", "why --timeout 3", "why -j 6,7 --timeout 3"] {
        let said = site.ask(words);
        assert!(
            said.out.is_empty() && said.err.contains("squeue gave no answer"),
            "{words}: {}{}",
            said.out,
            said.err
        );
    }
}

/// Where the limit is, how much of it is used, and by whom: live, and beside a snapshot.
#[test]
fn a_limit_is_told_with_what_is_used_of_it() {
    let site = Site::new();
    let queue = fs::read_to_string(site.path("queue.txt")).unwrap();
    let line = queue.lines().find(|line| line.starts_with("6|")).unwrap();
    site.change(QUEUE, line, &line.replace("|PartitionDown|", "|AssocGrpCpuLimit|"));
    let associations = fs::read_to_string(site.path("associations.txt")).unwrap();
    let chem = associations.lines().find(|line| line.contains("Account=chem UserName= ")).unwrap();
    let before = chem.split(" GrpTRES=cpu=").nth(1).unwrap().split(',').next().unwrap();
    let used = before.trim_start_matches("N(").trim_end_matches(')');
    let limited = chem.replace(&format!(" GrpTRES=cpu={before},"), &format!(" GrpTRES=cpu=4({used}),"));
    site.change("associations", chem, &limited);
    let assert_told = |words: &str| {
        let (answer, said) = site.why(words);
        let limits = &answer["answer"]["limits"];
        assert_eq!(
            (limits.as_array().unwrap().len(), &limits[0]["name"]),
            (1, &"GrpTRES=cpu".into()),
            "{limits}"
        );
        assert_eq!((&limits[0]["of"], &limits[0]["limit"]), (&"account chem".into(), &4.0.into()));
        assert_eq!(limits[0]["used"].as_f64().unwrap().to_string(), used);
        said
    };
    assert_told("6");
    let text = site.ask("why 6").out;
    assert!(text.contains(&format!("Limit GrpTRES=cpu of account chem: 4, {used} used")), "{text}");
    // All below the account are told only where all were asked for.
    let (whole, _) = site.why("6 --place");
    let most = whole["answer"]["limits"][0]["most"].as_array().unwrap().clone();
    assert!(most.iter().all(|by| by["used"].as_f64().unwrap() > 0.0), "{most:?}");
    site.save(40, |snapshot| {
        assert_ne!(snapshot.jobs.iter().find(|job| job.id == 6).unwrap().reason, "AssocGrpCpuLimit");
    });
    let said = assert_told("6");
    assert!(said.asked("sprio").is_empty() && said.asked("sshare").is_empty(), "{:?}", said.calls);
    // Without an answer nothing is said of a limit.
    fs::remove_file(site.path("spool/snapshot")).unwrap();
    site.write("associations.txt", "");
    let (answer, _) = site.why("6 --long");
    assert_eq!(answer["answer"]["limits"].as_array().unwrap().len(), 0);
    assert!(answer["answer"]["details"].to_string().contains("shows no limit of that kind now"), "{answer}");
}

/// A job that is no longer waiting has an answer, too.
#[test]
fn a_job_that_runs_or_has_ended_is_said_to() {
    let site = Site::new();
    let line = |state: &str| {
        let queue = recorded::texts("24.11.5", "multifactor2-root").text(QUEUE).to_owned();
        let line = queue.lines().find(|line| line.starts_with("6|")).unwrap().to_owned();
        line.replacen("|PD|", &format!("|{state}|"), 1).replacen(
            "|N/A|UNLIMITED|",
            "|1795395170|UNLIMITED|",
            1,
        ) + "\n"
    };
    site.write("queue.txt", &line("R"));
    let (answer, _) = site.why("6");
    let sentence = answer["answer"]["sentence"].as_str().unwrap().to_owned();
    assert_eq!(answer["answer"]["kind"], "runs");
    assert!(
        sentence.contains("has been running since 20") && sentence.contains("with priority 10434"),
        "{sentence}"
    );
    site.write("queue.txt", &line("TO"));
    let said = site.ask("why 6");
    assert!(
        said.out.contains("Job 6 ended at 20") && said.out.contains("its time limit was reached"),
        "{}",
        said.out
    );
    assert!(said.out.contains("sacct -j 6"), "{}", said.out);
    // A snapshot of before says otherwise.
    site.save(40, |_| ());
    assert!(site.ask("why 6").out.contains("ended at"));
}
