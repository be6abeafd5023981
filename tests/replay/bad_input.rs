//! Files that are damaged, unsorted, mixed or something else: what is wrong is told with its line, and nothing crashes.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;

use flate2::write::GzEncoder;
use multifactor2_replay::trace::problems::{ProblemKind, Problems};
use multifactor2_replay::trace::{self, parse, TraceError};
use multifactor2_replay::workload::NO_TIME;
use multifactor2_replay::Workload;

const HEADER: &str = "; Version: 2.2\n; UnixStartTime: 1000\n; MaxProcs: 64\n";

fn swf(lines: &str) -> Workload {
    parse(format!("{HEADER}{lines}").as_bytes(), "jobs.swf").unwrap_or_else(|error| panic!("{error}"))
}

fn error(text: &str) -> String {
    parse(text.as_bytes(), "jobs").expect_err("it is bad").to_string()
}

#[test]
fn traps_of_the_standard_workload_format() {
    let workload = swf("2\t100\t-1 50\t4 -1 -1 8 100 -1 1 3 7 -1 1 -1 -1 -1 99 98\n\
         1 90 10 200 4 -1 -1 -1 100 -1 1 3 7 -1 1 -1 -1 -1\n\
         3 110 5 -1 4 -1 -1 4 100 -1 1 3 7 -1 1 -1 -1 -1\n\
         4 120 5 10 -1 -1 -1 -1 100 -1 1 3 7 -1 1 -1 -1 -1\n\
         5 130 5 10 100 -1 -1 100 -1 -1 1 4 8 -1 1 -1 -1 -1\n");
    let found: Vec<(u64, i64, i64, u32, u32, u32)> = workload
        .jobs
        .iter()
        .map(|job| (job.id, job.submit, job.start, job.run, job.limit, job.cpus))
        .collect();
    assert_eq!(
        found,
        [
            // Cut at its limit; 4 allocated, as nothing is requested.
            (1, 1090, 1100, 100, 100, 4),
            // Eight requested; its wait is not known.
            (2, 1100, NO_TIME, 50, 100, 8),
            // More than there are; without a limit.
            (5, 1130, 1135, 10, 10, 64),
        ]
    );
    let problems = &workload.problems;
    let kinds = [
        ProblemKind::Unsorted,
        ProblemKind::BeyondLimit,
        ProblemKind::NoRunTime,
        ProblemKind::NoCpus,
        ProblemKind::NoLimit,
    ];
    assert_eq!(kinds.map(|kind| problems.of(kind)), [1; 5]);
    assert_eq!(problems.skipped(), 2);
    assert_eq!((workload.account_word, workload.accounts.name(0)), ("group", "group7"));
    assert!(problems.to_string().contains("jobs.swf, line 6: job 3: column 4 is -1"), "{problems}");
}

#[test]
fn bad_lines_are_told_with_their_numbers() {
    let workload = swf("1 0 0 10 4 -1 -1 4 100 -1 1 3 7 -1 1 -1 -1 -1\nwhat is this\n2 5 0 10 4 -1 -1 4 nan -1 1 3 7 -1 1 -1 -1 -1\n\
         3 -1 0 10 4 -1 -1 4 100 -1 1 3 7 -1 1 -1 -1 -1\n4 9 0 10 4\n");
    assert_eq!(workload.jobs.len(), 1);
    assert_eq!(workload.problems.of(ProblemKind::BadLine), 4);
    let text = workload.problems.to_string();
    for part in [
        "4 lines that cannot be understood: skipped",
        "line 5: 3 columns",
        "line 6",
        "line 7: job 3 has no submit time",
        "line 8: 5 columns",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}

#[test]
fn a_truncated_compressed_file_gives_what_is_before() {
    let mut text = HEADER.to_owned();
    for id in 1..2000 {
        let (submit, run, user) = (id * 7, id % 91, id * 31 % 17);
        writeln!(text, "{id} {submit} 0 {run} 4 -1 -1 4 100 -1 1 {user} 7 -1 1 -1 -1 -1").unwrap();
    }
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    let bytes = encoder.finish().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("jobs.swf.gz");
    fs::write(&file, &bytes).unwrap();
    assert_eq!(trace::read(&file).unwrap().jobs.len(), 1999);
    fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let workload = trace::read(&file).unwrap();
    assert!(!workload.jobs.is_empty() && workload.jobs.len() < 1999);
    assert_eq!(workload.problems.of(ProblemKind::Truncated), 1);
}

#[test]
fn a_line_without_end_does_not_fill_memory() {
    let workload = swf(&format!(
        "1 0 0 10 4 -1 -1 4 100 -1 1 3 7 -1 1 -1 -1 -1\n{}\n2 5 0 10 4 -1 -1 4 50 -1 1 3 7 -1 1 -1 -1 -1\n",
        "1 ".repeat(100_000)
    ));
    assert_eq!((workload.jobs.len(), workload.problems.of(ProblemKind::TooLong)), (2, 1));
}

#[test]
fn foreign_files_are_refused_in_words() {
    assert_eq!(error(""), "jobs: the file is empty");
    assert!(error("#!/bin/sh\necho\n").contains("neither sacct -P output nor the Standard Workload Format"));
    assert!(error("a|b|c|d\n1|2|3|4\n").contains("names no columns of sacct"));
    assert!(error("JobID|User|Start|End|AllocTRES\n").contains("no column Submit: without submit times"));
    assert!(error("JobID|User|Submit|Start|End\n").contains("no column AllocTRES"));
    assert!(error(HEADER).contains("no job"));
    let none = parse(format!("{HEADER}1 2 3\n").as_bytes(), "jobs");
    assert!(matches!(none, Err(TraceError::NoJobs { .. })));
    let missing = trace::read(std::path::Path::new("/nonexistent/jobs")).unwrap_err().to_string();
    assert!(missing.contains("/nonexistent/jobs: "), "{missing}");
}

const COLUMNS: &str =
    "JobIDRaw|JobID|User|Account|Partition|QOS|Submit|Eligible|Start|End|Timelimit|ReqTRES|AllocTRES|State|Priority|Extra";

#[test]
fn sacct() {
    let text = format!(
        "{COLUMNS}\n\
         12|10_2|anna|bio|main|normal|2024-01-31T12:00:00|2024-01-31T12:00:05|2024-01-31T12:10:00|2024-01-31T13:10:00|02:00:00|cpu=2|billing=4,cpu=4,gres/gpu=1,mem=8000M,node=2|COMPLETED|4000|x\n\
         13|13|bert|bio|main,big|normal|1706702500|1706702500|1706702600|Unknown|1-00:00:00|cpu=8,node=1|cpu=8,node=1|RUNNING|1|x\n\
         14|14|bert|bio|main|normal|1706702500|1706702500|None|None|1-00:00:00|cpu=8,node=1||CANCELLED by 0|1|x\n\
         15.batch|15.batch||bio|||1706702500|1706702500|1706702600|1706702700||||COMPLETED||x\n\
         16|16|carl|phys|main||1706702500|1706702500|1706702600|1706710000|UNLIMITED|cpu=1|cpu=1|COMPLETED||x\n\
         17|17|carl|phys|main||tomorrow|1706702500|1706702600|1706710000|UNLIMITED|cpu=1|cpu=1|COMPLETED||x\n\
         18|18|carl\n\
         {COLUMNS}\n"
    );
    let workload = parse(text.as_bytes(), "sacct.txt").unwrap();
    assert_eq!(workload.jobs.len(), 3);
    let first = workload.jobs.iter().find(|job| job.id == 12).unwrap();
    assert_eq!(
        (first.submit, first.eligible - first.submit, first.start - first.submit),
        (1_706_702_400, 5, 600)
    );
    assert_eq!((first.cpus, first.nodes, first.gpus, first.memory), (4, 2, 1, 8000));
    assert_eq!((first.run, first.limit, first.array, first.priority), (3600, 7200, 10, 4000));
    let second = workload.jobs.iter().find(|job| job.id == 13).unwrap();
    // Up to the latest time in the file.
    assert_eq!(second.run, 7400);
    assert_eq!(workload.partition_sets[usize::from(second.partitions)].len(), 2);
    let problems = &workload.problems;
    for (kind, count) in [
        (ProblemKind::StillRunning, 1),
        (ProblemKind::NeverStarted, 1),
        (ProblemKind::Step, 1),
        (ProblemKind::NoLimit, 1),
        (ProblemKind::BadLine, 2),
        (ProblemKind::Header, 1),
    ] {
        assert_eq!(problems.of(kind), count, "{kind:?}");
    }
    assert!(
        problems.to_string().contains("sacct.txt, line 7: Submit is \"tomorrow\", not a time such as"),
        "{problems}"
    );
    // Shares are not in it.
    assert!(workload.missing.iter().any(|missing| missing.what == "shares"));
    assert_eq!(workload.machine_or_observed().unwrap().cpus(), 13);
}

/// Any bytes: a workload or an error.
#[test]
fn any_bytes_are_read() {
    let mut random = multifactor2_fixtures::random();
    let words: Vec<&str> = "1 -1 nan inf 1e300 99999999999999999999 ; | JobID Submit Start End AllocTRES cpu=4 2024-01-31T12:00:00 UNLIMITED \n \t MaxProcs: root Account parent - ' : ="
        .split(' ')
        .collect();
    for _ in 0..2000 {
        let mut text =
            ["", HEADER, COLUMNS, "Cluster - 'c'\n", "PartitionName=p Nodes=n TotalCPUs=4 TotalNodes=1\n"]
                [random.usize(..5)]
            .to_owned();
        for _ in 0..random.usize(..60) {
            text.push_str(words[random.usize(..words.len())]);
            text.push_str([" ", "|", "\n", ""][random.usize(..4)]);
        }
        let _ = parse(text.as_bytes(), "any");
        let _ = multifactor2_replay::trace::associations::parse(&text, "any", &mut Problems::default());
        let _ = multifactor2_replay::trace::cluster::machine(&text, Some(&text));
        let _ = multifactor2_replay::trace::config::Config::parse(&text).factors();
        let _ = multifactor2_replay::trace::events::changed_limits(&text, i64::MIN, i64::MAX);
        let (partitions, _) = slurm_text::partitions::partitions(&text);
        let away = multifactor2_replay::trace::events::away(&text, i64::MAX);
        let _ = multifactor2_replay::trace::events::of_partitions(&away, &partitions);
    }
}
