//! Snapshots as files: what was written is read, by older and newer releases too, and a file from anywhere is no danger.

mod page;
mod random;

use multifactor2_snapshot::format::{read, write, Problem, Writer, FORMAT, LONGEST_LINE, MOST_RECORDS};
use multifactor2_snapshot::records::{About, Association, Group, Job, Record, Setting, Usage};
use multifactor2_snapshot::Snapshot;

const OPENING: &str = "{\"format\":\"multifactor2-snapshot\",\"version\":1}\n";

fn text(snapshot: &Snapshot) -> String {
    let mut file = Vec::new();
    write(snapshot, &mut file).expect("memory");
    String::from_utf8(file).expect("JSON")
}

fn problem(file: &str) -> Problem {
    read(file.as_bytes()).expect_err(file)
}

fn small() -> Snapshot {
    let job = |id| Job { id, priority: 7, age: 0.1 + 0.2, ..Job::default() };
    Snapshot { jobs: vec![job(1), job(2)], settings: Some(Vec::new()), ..Snapshot::default() }
}

#[test]
fn a_file_begins_with_what_it_is_and_ends_with_how_much_it_has() {
    let text = text(&small());
    assert!(text.starts_with(OPENING), "{text}");
    assert!(text.ends_with("{\"records\":3}\n"), "{text}");
}

#[test]
fn rows_end_with_their_last_value_that_is_not_as_by_default() {
    let text = text(&small());
    assert!(text.lines().any(|line| line == "[]"), "about: {text}");
    let row = text.lines().find(|line| line.starts_with("[2,7,")).expect("the second job");
    assert!(row.ends_with(",0.30000000000000004]"), "{row}");
    assert_eq!(read(text.as_bytes()).expect("whole"), small());
}

#[test]
fn settings_that_are_all_as_by_default_are_not_settings_that_nobody_knows() {
    for settings in [None, Some(Vec::new()), Some(vec![Setting { line: "A=b".into(), from: "f:1".into() }])] {
        let snapshot = Snapshot { settings, ..Snapshot::default() };
        assert_eq!(read(text(&snapshot).as_bytes()).expect("whole"), snapshot);
    }
}

#[test]
fn numbers_that_are_none_are_read_as_by_default() {
    let job = Job { id: 1, age: f64::NAN, qos_addend: f64::INFINITY, tres_addend: 2.0, ..Job::default() };
    let snapshot = Snapshot { jobs: vec![job], ..Snapshot::default() };
    let again = read(text(&snapshot).as_bytes()).expect("whole");
    assert_eq!(again.jobs, [Job { id: 1, tres_addend: 2.0, ..Job::default() }]);
    let association =
        Association { id: 1, level_fs: Some(f64::INFINITY), tickets: Some(1.0), ..Default::default() };
    let snapshot = Snapshot { associations: vec![association], ..Snapshot::default() };
    assert_eq!(read(text(&snapshot).as_bytes()).expect("whole").associations[0].level_fs, None);
}

/// They were written and not read back, so that no line for a Unix group counted in what the command computed.
#[test]
fn groups_are_read() {
    let groups = vec![Group { name: "laser".to_owned(), id: 500 }];
    let snapshot = Snapshot { groups, ..small() };
    assert_eq!(read(text(&snapshot).as_bytes()).expect("whole"), snapshot);
}

#[test]
fn record_by_record_it_is_the_same_file() {
    let whole = small();
    let mut writer = Writer::begin(Vec::new()).expect("memory");
    writer.all::<About>([&whole.about]).expect("memory");
    writer.heading::<Setting>().expect("memory");
    writer.heading::<Job>().expect("memory");
    whole.jobs.iter().for_each(|job| writer.record(job).expect("memory"));
    assert_eq!(String::from_utf8(writer.end().expect("memory")).expect("JSON"), text(&whole));
}

#[test]
fn a_file_that_was_cut_anywhere_is_a_problem() {
    let whole = text(&small());
    for end in 0..whole.len() - 1 {
        let problem = problem(&whole[..end]);
        assert!(!problem.what.is_empty() && problem.line > 0, "{problem}");
    }
    // The last line break alone is not missed.
    assert_eq!(read(whole.trim_end().as_bytes()).expect("whole"), small());
    let lines: Vec<&str> = whole.lines().collect();
    for left_out in 1..lines.len() - 1 {
        let rest: Vec<&str> =
            lines.iter().enumerate().filter(|(at, _)| *at != left_out).map(|(_, line)| *line).collect();
        if lines[left_out].starts_with('[') {
            let problem = problem(&rest.join("\n"));
            assert!(problem.what.contains("take the snapshot again"), "{problem}");
        }
    }
    assert!(problem(&format!("{whole}{whole}")).what.contains("more after the end"));
}

#[test]
fn other_files_are_named_as_such() {
    for other in [
        "",
        "\n",
        "JobId|User\n1|a\n",
        "{\"format\":\"x\",\"version\":1}\n",
        "[1]\n",
        "{}\n",
        "null\n",
        "\u{0}",
    ] {
        let problem = problem(other);
        assert!(problem.what.contains("this is not a snapshot of multifactor2"), "{problem}");
        assert_eq!(problem.line, 1);
    }
    assert!(read(&[0xff_u8, 0xfe, 0][..]).is_err());
}

#[test]
fn a_newer_version_says_which_command_reads_it() {
    let newer = text(&small()).replace("\"version\":1", "\"version\":2");
    let problem = problem(&newer);
    assert!(
        problem.what.contains("version 2") && problem.what.contains("the release that wrote it"),
        "{problem}"
    );
}

#[test]
fn unknown_kinds_and_columns_are_passed_over_and_missing_ones_are_as_by_default() {
    let file = format!(
        "{OPENING}{{\"kind\":\"weather\",\"columns\":[\"rain\"],\"since\":2030}}\n[1.5]\n[{{\"a\":[]}}]\n\
         {{\"kind\":\"job\",\"columns\":[\"mood\",\"priority\",\"id\",\"user\"]}}\n[[\"good\"],5,9,\"eve\"]\n[{{}},6]\n[]\n\
         {{\"records\":5,\"sum\":1}}\n"
    );
    let jobs = read(file.as_bytes()).expect("newer").jobs;
    let eve = Job { id: 9, priority: 5, user: "eve".to_owned(), ..Job::default() };
    assert_eq!(jobs, [eve, Job { priority: 6, ..Job::default() }, Job::default()]);
}

#[test]
fn what_is_wrong_with_a_record_is_said_with_its_line_and_kind() {
    for (row, expected) in [
        ("[\"one\"]", "job: invalid type: string \"one\", expected u32"),
        ("[-1]", "job: invalid value"),
        ("[1,2,3]", "job: there are more values than the 2 columns"),
        ("[1,2] [3]", "job: trailing characters"),
        ("[1,", "job: EOF"),
        ("[1 2]", "job: expected"),
    ] {
        let file = format!(
            "{OPENING}{{\"kind\":\"job\",\"columns\":[\"id\",\"priority\"]}}\n{row}\n{{\"records\":1}}\n"
        );
        let problem = problem(&file);
        assert_eq!(problem.line, 3);
        assert!(problem.what.starts_with(expected), "{row}: {problem}");
    }
    for (line, expected) in
        [("[1]", "heading is missing"), ("{\"a\":1}", "neither"), ("", "neither"), ("x", "neither")]
    {
        assert!(problem(&format!("{OPENING}{line}\n")).what.contains(expected), "{line}");
    }
}

#[test]
fn there_are_limits() {
    let long = "x".repeat(usize::try_from(LONGEST_LINE).expect("small"));
    let file = format!("{OPENING}{{\"kind\":\"job\",\"columns\":[\"user\"]}}\n[\"{long}\"]\n");
    assert!(problem(&file).what.contains("longer than"), "a line");
    // As many as can be, of a kind that nobody keeps, so that the test needs no memory.
    let begin = format!("{OPENING}{{\"kind\":\"weather\",\"columns\":[]}}\n");
    let rows = std::io::Read::take(std::io::repeat(0), 0);
    assert_eq!(std::io::read_to_string(rows).expect("nothing"), "");
    let mut all = begin.into_bytes();
    for _ in 0..=MOST_RECORDS {
        all.extend_from_slice(b"[]\n");
    }
    let problem = read(all.as_slice()).expect_err("too many");
    assert!(problem.what.contains("more than 4000000 records"), "{problem}");
    // Deeply nested values of unknown columns do not use the stack up.
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let file = format!("{OPENING}{{\"kind\":\"job\",\"columns\":[\"mood\"]}}\n[{deep}]\n");
    assert!(read(file.as_bytes()).is_err());
}

#[test]
fn no_column_is_there_twice() {
    fn check<R: Record>() {
        let mut columns = R::COLUMNS.to_vec();
        columns.sort_unstable();
        columns.dedup();
        assert_eq!(columns.len(), R::COLUMNS.len(), "{}", R::KIND);
    }
    check::<Job>();
    check::<Association>();
    check::<Usage>();
    assert_eq!(FORMAT, "multifactor2-snapshot");
}
