//! How much a configuration may say, and that what is said of it in the log is short.

use std::fs;

use multifactor2_core::settings::files::MAX_BYTES;
use multifactor2_core::settings::schema::{MAX_LINES, MAX_NAMES};
use multifactor2_core::settings::text::MAX_LINE;
use multifactor2_core::settings::value::{MAX_NAME, MAX_VALUE};
use multifactor2_core::settings::{FileFound, Settings};

/// What is wrong with a text.
fn errors(text: &str) -> Vec<String> {
    match Settings::parse(text, "/etc/f") {
        Ok(_) => Vec::new(),
        Err(errors) => errors.iter().map(ToString::to_string).collect(),
    }
}

/// One error that begins like this, and is short.
fn assert_refused(text: &str, begins: &str, allowed: &str) {
    let errors = errors(text);
    assert_eq!(errors.len(), 1, "{errors:.500?}");
    assert!(errors[0].starts_with(begins) && errors[0].contains(allowed), "{:.500}", errors[0]);
    assert!(errors[0].len() < 500, "{} bytes", errors[0].len());
}

#[test]
fn as_many_lines_of_a_list_as_are_allowed_and_no_more() {
    let lines = |count: usize| "Override=User Name=u Tickets=1\n".repeat(count);
    assert_eq!(errors(&lines(MAX_LINES)), [""; 0]);
    let place = format!("/etc/f line {}: Override=User: ", MAX_LINES + 1);
    assert_refused(
        &lines(MAX_LINES + 3),
        &place,
        "at most 100000 lines with Override are allowed; put names",
    );
    // Each list by itself.
    let text = lines(MAX_LINES) + "Charge=Partition Name=p Factor=0\nCredential=User Name=u Priority=1\n";
    assert_eq!(errors(&text), [""; 0]);
}

#[test]
fn as_many_names_in_all_lines_of_a_list_as_are_allowed_and_no_more() {
    let names = |from: usize, to: usize| (from..to).map(|at| format!("u{at}")).collect::<Vec<_>>().join(",");
    let line = |from, to| format!("Override=User Name={} Tickets=1\n", names(from, to));
    let (half, most) = (MAX_NAMES / 2, MAX_NAMES);
    assert_eq!(errors(&(line(0, half) + &line(half, most))), [""; 0]);
    assert_refused(
        &(line(0, half) + &line(half, most + 1)),
        "/etc/f line 2: Override=User: ",
        "at most 200000 names are allowed in all lines with Override; remove names",
    );
}

#[test]
fn lines_names_and_values_have_their_lengths() {
    let named = |length: usize| format!("Override=User Name={} Tickets=1", "n".repeat(length));
    assert_eq!(errors(&named(MAX_NAME)), [""; 0]);
    for length in [MAX_NAME + 1, 100_000] {
        assert_refused(&named(length), "/etc/f line 1: Name=nnn", "each once and at most 255 bytes long");
    }
    let book = |length: usize| format!("Book=a Partitions=p Shares={}:1", "n".repeat(length));
    assert_eq!(errors(&book(MAX_NAME)), [""; 0]);
    assert_refused(&book(MAX_NAME + 1), "/etc/f line 1: Shares=nnn", "must be account:shares pairs");

    let shares =
        |length: usize| format!("TicketsFunctional=1\nFunctional=User Name=* Shares={:0>length$}", 7);
    assert_eq!(errors(&shares(MAX_VALUE)), [""; 0]);
    assert_refused(
        &shares(MAX_VALUE + 1),
        "/etc/f line 2: Shares=000",
        "a value can have at most 4096 bytes",
    );

    let line = |length: usize| {
        let text = "ActiveJobs=pending";
        text.to_owned() + &" ".repeat(length - text.len())
    };
    assert_eq!(errors(&line(MAX_LINE)), [""; 0]);
    assert_refused(
        &line(MAX_LINE + 1),
        "/etc/f line 1: \"ActiveJobs=pending",
        "a line can have at most 1 MiB; write several",
    );
    // What continues a line counts, a comment does not, and the next line is read.
    let continued = "ActiveJobs=pending \\\n".to_owned()
        + &(" ".repeat(1000) + "\\\n").repeat(MAX_LINE / 1000 + 1)
        + "\nX=1";
    let found = errors(&continued);
    assert_eq!(found.len(), 2, "{found:.500?}");
    assert!(found[0].contains("1 MiB") && found[1].contains("X=1: unknown key"), "{found:.500?}");
    assert_eq!(errors(&("# ".to_owned() + &"c".repeat(MAX_LINE))), [""; 0]);
}

#[test]
fn all_files_together_have_no_more_bytes_than_one_may_have() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let half = usize::try_from(MAX_BYTES / 2).unwrap();
    let main = "Include half\nInclude rest\n";
    fs::write(at("main"), main).unwrap();
    fs::write(at("half"), "#\n".repeat(half / 2)).unwrap();
    for (over, is_good) in [(0, true), (1, false)] {
        fs::write(at("rest"), "#".repeat(half - main.len() + over)).unwrap();
        let loaded = Settings::load(None, &at("main"));
        assert_eq!(loaded.is_ok(), is_good, "{over}");
        if let Err(errors) = loaded {
            let place = format!(
                "{} line 2: Include=rest: all files together can have at most 16 MiB",
                at("main").display()
            );
            assert!(errors.to_string().starts_with(&place), "{errors}");
        }
    }
}

#[test]
fn what_the_log_says_of_many_settings_is_short() {
    let lines = |from: usize, to: usize| {
        (from..to)
            .map(|at| format!("Override=User Name=u{at},{} Tickets=1\n", "n".repeat(200)))
            .collect::<Vec<_>>()
            .concat()
    };
    let settings = |text: &str| Settings::parse(text, "f").unwrap().settings;
    let many = settings(&("Distribution=strict\n".to_owned() + &lines(0, 5000)));
    let summary = many.summary();
    assert!(summary.starts_with("Distribution=strict; Override=User Name=u0,nnn"), "{summary}");
    assert!(summary.ends_with("...; and 4985 more") && summary.len() < 4000, "{summary}");
    let changes = many.changes_since(&settings(&lines(0, 10))).unwrap();
    assert!(
        changes.starts_with("now: Distribution=strict; ") && changes.ends_with("; and 4975 more"),
        "{changes}"
    );
    let changes = settings("").changes_since(&many).unwrap();
    assert!(changes.starts_with("no longer: Distribution=strict; ") && changes.len() < 4000, "{changes}");
}

#[test]
fn changes_are_what_is_new_and_what_is_gone() {
    let settings = |text: &str| Settings::parse(text, "f").unwrap().settings;
    let before = settings("ActiveJobs=pending\nDistribution=standing\nOverride=User Name=a Tickets=1\nOverride=User Name=a Tickets=1");
    let after =
        settings("Override=User Name=a Tickets=1 # here\nDistribution=strict\nOverride=Job Name=7 Tickets=2");
    assert_eq!(
        after.changes_since(&before).as_deref(),
        Some(
            "now: Distribution=strict; Override=Job Name=7 Tickets=2. no longer: ActiveJobs=pending; \
             Distribution=standing; Override=User Name=a Tickets=1"
        )
    );
    assert_eq!(before.changes_since(&before), None);
    let turned = |one: &str, other: &str| {
        settings(&format!("Override=User Name={one} Tickets=1\nOverride=User Name={other} Tickets=1"))
    };
    assert_eq!(turned("a", "b").changes_since(&turned("b", "a")).as_deref(), Some("the order of lines"));
    assert_eq!(
        (settings("").summary(), settings("ActiveJobs=pending").summary()),
        (String::new(), "ActiveJobs=pending".into())
    );
}

#[test]
fn a_file_that_is_missing_or_empty_is_known_as_such() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("multifactor2.conf");
    let found = || Settings::load(Some("ActiveJobs=pending"), &file).unwrap().file;
    assert_eq!(found(), FileFound::Missing);
    for (text, expected) in [
        ("", FileFound::Empty),
        ("# nothing\n\n", FileFound::Empty),
        ("ActiveJobs=eligible", FileFound::Used),
    ] {
        fs::write(&file, text).unwrap();
        assert_eq!(found(), expected, "{text}");
    }
}
