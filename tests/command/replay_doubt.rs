//! A replay that does not know something says nothing of those whom it concerns: hidden limits, outages, a past that is another.

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

use crate::replay::{make_true, trace, Site};

const NOON: i64 = 1_706_702_400;
const HOUR: i64 = 3600;
const HEADER: &str =
    "JobIDRaw|User|Account|Partition|QOS|Submit|Eligible|Start|End|Timelimit|ReqTRES|AllocTRES|State|Priority|Reason|Flags\n";

/// A job as it was.
struct Was {
    user: &'static str,
    submit: i64,
    start: i64,
    run: i64,
    reason: &'static str,
}

fn sacct(jobs: &[Was]) -> String {
    let mut text = HEADER.to_owned();
    for (id, Was { user, submit, start, run, reason }) in (1..).zip(jobs) {
        let (submit, start) = (NOON + submit, NOON + start);
        let _ = writeln!(
            text,
            "{id}|{user}|of-{user}|main|normal|{submit}|{submit}|{start}|{}|02:00:00|cpu=1|cpu=1|COMPLETED|1|{reason}|SchedMain",
            start + run
        );
    }
    text
}

/// On 64 CPUs: a user who may run three jobs at a time submits 120 each day for six days, another one is never held up.
fn limited(reason: &'static str) -> Vec<Was> {
    let mut jobs = Vec::new();
    for day in 0..6 {
        let begin = day * 48 * HOUR;
        for job in 0..120 {
            // Three at a time, an hour each.
            let start = begin + job / 3 * HOUR;
            let reason = if job < 3 { "None" } else { reason };
            jobs.push(Was { user: "heavy", submit: begin, start, run: HOUR, reason });
        }
        for job in 0..40 {
            let submit = begin + job * HOUR;
            jobs.push(Was { user: "light", submit, start: submit + 10, run: HOUR, reason: "None" });
        }
    }
    jobs.sort_by_key(|job| job.submit);
    jobs
}

fn answer(site: &Site, words: &str) -> Value {
    let printed = site.ask(&format!("{words} --json"));
    assert_eq!(printed.status, 0, "{}", printed.err);
    serde_json::from_str::<Value>(&printed.out).unwrap()["answer"].take()
}

fn unsaid<'v>(answer: &'v Value, of: &str, name: &str) -> Option<&'v Value> {
    answer["unsaid"].as_array().unwrap().iter().find(|one| one["of"] == of && one["name"] == name)
}

#[test]
fn a_hidden_limit_without_a_reason_is_a_misfit() {
    let site = Site::new();
    fs::write(site.path("hidden.txt"), sacct(&limited("None"))).unwrap();
    let words = "@hidden.txt --procs 64 --policy fair-tree --policy fifo --warm-up 0 --runs 2";
    let answer = answer(&site, words);
    let why = unsaid(&answer, "user", "heavy").expect("nothing is said of the limited user")["why"].clone();
    assert!(
        why.as_str().unwrap().contains("the reason is not known, because the trace has no node events"),
        "{why}"
    );
    assert!(unsaid(&answer, "user", "light").is_none(), "{}", answer["unsaid"]);
    let text = site.ask(words).out;
    let text = text.replace("\n  ", " ").replace('\n', " ");
    assert!(text.contains("No verdict on user heavy (720 jobs): its replayed past waits"), "{text}");
    assert!(text.starts_with("No policy can be recommended:"), "{text}");
    // Of the other user the past is right, and the order of submission within one second is no difference of policies.
    for of in ["accounts", "users", "partitions"] {
        for change in answer["comparisons"][0][of].as_array().unwrap() {
            assert_eq!(change["is_told"], false, "{change}");
        }
    }
}

#[test]
fn a_limit_that_is_a_reason_is_named_with_it() {
    let site = Site::new();
    fs::write(site.path("limited.txt"), sacct(&limited("QOSMaxJobsPerUserLimit"))).unwrap();
    let answer = answer(&site, "@limited.txt --procs 64 --policy fair-tree --policy fifo --warm-up 0");
    let heavy = unsaid(&answer, "user", "heavy").unwrap();
    assert_eq!(
        (heavy["reason"].as_str(), heavy["jobs"].as_u64()),
        (Some("QOSMaxJobsPerUserLimit"), Some(720))
    );
    assert!(
        heavy["why"].as_str().unwrap().starts_with("702 of its jobs last waited for QOSMaxJobsPerUserLimit"),
        "{heavy}"
    );
    let facts = answer["facts"].as_array().unwrap();
    let row = facts.iter().find(|row| row["fact"] == "waits for QOSMaxJobsPerUserLimit").unwrap();
    assert_eq!(
        (row["jobs"].as_u64(), row["treatment"].as_str(), row["cpu_hours"].as_f64()),
        (Some(702), Some("left out"), Some(702.0))
    );
    let refused = facts.iter().find(|row| row["fact"] == "jobs that were refused").unwrap();
    assert_eq!((refused["jobs"].as_u64(), refused["treatment"].as_str()), (None, Some("not known")));
}

/// Nothing ran for ten hours: with events of the nodes it is an outage, without them nobody knows.
#[test]
fn an_outage_is_one_where_events_say_so() {
    let site = Site::new();
    let mut jobs = Vec::new();
    for hour in 0..60 {
        let submit = hour * HOUR;
        let back = 30 * HOUR;
        let start = if (20 * HOUR..back).contains(&submit) { back } else { submit + 5 };
        jobs.push(Was { user: "ada", submit, start, run: 600, reason: "Resources" });
    }
    // One whose recorded start is none.
    jobs.push(Was { user: "bob", submit: 50 * HOUR, start: 49 * HOUR, run: 600, reason: "Resources" });
    fs::create_dir(site.path("out")).unwrap();
    let write = |name: &str, text: &str| fs::write(site.path("out").join(name), text).unwrap();
    write("sacct.txt", &sacct(&jobs));
    write(
        "partitions.txt",
        "PartitionName=main\n   Nodes=n[1-4] MaxTime=UNLIMITED\n   State=UP TotalCPUs=16 TotalNodes=4\n",
    );
    let words = "@out --policy fair-tree --policy fifo --warm-up 0";
    let why = |answer: &Value| unsaid(answer, "user", "ada").unwrap()["why"].as_str().unwrap().to_owned();
    let without = why(&answer(&site, words));
    assert!(without.contains("because the trace has no node events"), "{without}");
    let events = |node: &str| {
        format!(
            "Cluster|NodeName|TimeStart|TimeEnd|State|TRES\nc|{node}|{}|{}|DOWN|cpu=4\n",
            NOON + 20 * HOUR,
            NOON + 30 * HOUR
        )
    };
    write("events.txt", &events("n3"));
    let with = why(&answer(&site, words));
    assert!(with.contains("an outage, which 10 of its jobs met"), "{with}");
    // A node of another partition explains nothing.
    write("events.txt", &events("n9"));
    let other = why(&answer(&site, words));
    assert!(other.ends_with("the reason is not known"), "{other}");
    write("transactions.txt", &format!("Time|Action|Info\n{}|Modify QOS|max_jobs_per_user=3\n", NOON + HOUR));
    let missing = answer(&site, words)["missing"].to_string();
    assert!(missing.contains("Modify QOS changed max_jobs_per_user"), "{missing}");
}

/// Where the past is known, a difference is told that is larger than chance, and no other.
#[test]
fn differences_beyond_chance_and_the_past_are_told() {
    let site = Site::new();
    make_true(&site, "sacct.txt", "--procs 8 --past fair-tree --policy fair-tree");
    let words = "@sacct.txt --procs 8 --past fair-tree --policy fair-tree --policy fifo --warm-up 0 --runs 6";
    let answer = answer(&site, words);
    assert_eq!(
        (answer["past"]["error"].as_f64(), answer["past"]["deviation"].as_f64()),
        (Some(0.0), Some(0.0))
    );
    assert_eq!(
        (answer["past"]["source"].as_str(), answer["trace"]["runs"].as_u64()),
        (Some("--past"), Some(6))
    );
    assert_eq!(answer["unsaid"].as_array().unwrap().len(), 0);
    let mut told = 0;
    for of in ["accounts", "users", "partitions"] {
        for change in answer["comparisons"][0][of].as_array().unwrap() {
            let number = |name: &str| change[name].as_f64().unwrap();
            let larger = number("longer").abs() > number("chance").max(number("error"));
            // It also has to be so over the runs.
            let is_told = change["is_told"].as_bool().unwrap();
            assert!(larger || !is_told, "{change}");
            told += usize::from(is_told);
        }
    }
    assert!(told > 0, "{}", answer["comparisons"][0]);
    // The same policy under another name gives no difference.
    fs::write(site.path("same.conf"), "ActiveJobs=eligible\n").unwrap();
    let same = site.ask("@sacct.txt --procs 8 --past multifactor2 --policy multifactor2 --policy @same.conf --warm-up 0 --runs 2");
    let text = same.out.replace("\n  ", " ").replace('\n', " ");
    assert!(text.contains("No account has a difference that is certain."), "{text}");
}

/// The policy of the past is that of slurm.conf, and a guess is said to be one.
#[test]
fn the_past_is_what_slurm_conf_says() {
    let site = Site::new();
    fs::create_dir(site.path("past")).unwrap();
    fs::write(site.path("past").join("sacct.txt"), trace()).unwrap();
    for (config, policy, source) in [
        ("PriorityType = priority/basic\n", "fifo", "PriorityType"),
        (
            "PriorityType = priority/multifactor\nPriorityFlags = NO_FAIR_TREE\n",
            "classic",
            "PriorityType and PriorityFlags",
        ),
        ("PriorityType = priority/multifactor\n", "fair-tree", "PriorityType"),
        ("ClusterName = x\n", "fair-tree", ""),
    ] {
        fs::write(site.path("past").join("config.txt"), config).unwrap();
        let answer = answer(&site, "@past --procs 8 --policy multifactor2");
        assert_eq!(
            (answer["past"]["policy"].as_str(), answer["past"]["source"].as_str()),
            (Some(policy), Some(source))
        );
        assert_eq!(answer["policies"][0]["name"], policy);
        let text =
            site.ask("@past --procs 8 --policy multifactor2").out.replace("\n  ", " ").replace('\n', " ");
        assert_eq!(
            text.contains("(assumed, because the trace does not name it: see --past)"),
            source.is_empty(),
            "{text}"
        );
    }
}

/// An export in months is one trace: a job that ran over the turn of a month counts once, with its end.
#[test]
fn months_are_one_trace() {
    let site = Site::new();
    fs::create_dir(site.path("months")).unwrap();
    let job = |id: u32, end: &str, state: &str| {
        format!(
            "{id}|ada|a|main|normal|{NOON}|{NOON}|{}|{end}|02:00:00|cpu=1|cpu=1|{state}|1|None|SchedMain\n",
            NOON + 60
        )
    };
    let end = (NOON + 660).to_string();
    let write = |name: &str, rows: String| {
        fs::write(site.path("months").join(name), HEADER.to_owned() + &rows).unwrap();
    };
    write("sacct-2024-01.txt", job(1, &end, "COMPLETED") + &job(2, "Unknown", "RUNNING"));
    write("sacct-2024-02.txt", job(2, &end, "COMPLETED") + &job(3, &end, "COMPLETED"));
    let answer = answer(&site, "@months --procs 8 --policy fifo");
    assert_eq!(answer["trace"]["jobs"], 3);
    assert!(
        answer["problems"].to_string().contains("sacct-2024-02.txt, line 2: job 2"),
        "{}",
        answer["problems"]
    );
    fs::write(site.path("months").join("sacct-2024-03.txt"), "JobIDRaw|Submit|Start|End|AllocTRES\n")
        .unwrap();
    let other = site.ask("@months --procs 8 --policy fifo");
    assert!(other.status == 3 && other.err.contains("its columns are not those of"), "{}", other.err);
}
