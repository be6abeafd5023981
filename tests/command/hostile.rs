//! Names that users choose to do harm, in every place and every output.

use multifactor2_command::output::Terminal;
use multifactor2_snapshot::Snapshot;

use crate::outputs::{Sample, METRICS, QUESTIONS};
use crate::site;

pub const NAME: &str = "<script>alert(\"x\")</script>'&\u{1b}]0;title\u{7}\nnext|\u{202e}back";

/// The example with such names everywhere; numbers keep those of one kind apart.
pub fn snapshot() -> Snapshot {
    let mut snapshot = site::example();
    snapshot.about.cluster = NAME.into();
    snapshot.about.hidden = vec![NAME.to_owned()];
    snapshot.parameters.insert("PriorityParameters".to_owned(), NAME.to_owned());
    for partition in &mut snapshot.partitions {
        partition.name += NAME;
    }
    for qos in &mut snapshot.qos {
        qos.name += NAME;
    }
    for (at, association) in snapshot.associations.iter_mut().enumerate() {
        association.account = format!("={at}{NAME}");
        if !association.user.is_empty() {
            association.user += NAME;
        }
    }
    for job in &mut snapshot.jobs {
        for text in [
            &mut job.user,
            &mut job.account,
            &mut job.partition,
            &mut job.qos,
            &mut job.reservation,
            &mut job.wckey,
            &mut job.reason,
        ] {
            *text += NAME;
        }
        (job.array_job, job.array_tasks) = (job.id, NAME.to_owned());
    }
    snapshot
}

#[test]
fn no_name_does_harm_in_any_output() {
    let sample = Sample::new(&snapshot());
    let is_bad = |character: char| character.is_control() && character != '\n' || character == '\u{202e}';
    let user2 = format!("user2{NAME}");
    let named = |word: &&'static str| if *word == "user2" { user2.clone() } else { (*word).to_owned() };
    for question in QUESTIONS.into_iter().chain([METRICS]) {
        let words: Vec<String> = question.iter().map(named).collect();
        let question: &[&str] = &words.iter().map(String::as_str).collect::<Vec<_>>();
        for options in [&[][..], &["--json"], &["-P"], &["-p"], &["--csv"]] {
            let has_table = ["queue", "tree", "settings", "what-if"].contains(&question[0]);
            if !has_table && options.iter().any(|option| *option != "--json") {
                continue;
            }
            let printed = sample.ask(&[question, options].concat());
            assert_eq!(printed.status, 0, "{question:?} {options:?}: {}", printed.err);
            assert!(!printed.out.contains(is_bad), "{question:?} {options:?}: {:?}", printed.out);
            assert!(
                !printed.out.lines().any(|line| line.starts_with("next")),
                "{question:?} {options:?}: {}",
                printed.out
            );
            if options == ["--json"] {
                assert!(!printed.out.contains(['<', '>', '&']), "{question:?}");
                let value: serde_json::Value = serde_json::from_str(&printed.out).unwrap();
                assert_eq!(value["about"]["cluster"], NAME);
            }
            if options == ["--csv"] {
                assert!(
                    !printed.out.lines().any(|line| line.starts_with(['=', '+', '-', '@'])),
                    "{}",
                    printed.out
                );
            }
        }
    }
    let ascii = Terminal { colours: false, ascii: true, width: Some(40) };
    assert!(!sample.ask_as("multifactor2", &["tree"], ascii).out.contains(is_bad));
}

#[test]
fn an_error_does_no_harm_either() {
    let sample = Sample::new(&snapshot());
    for question in
        [&["why", NAME][..], &["queue", "-j", NAME], &["queue", "-o", NAME], &["tree", "--at", NAME]]
    {
        let printed = sample.ask(question);
        assert_eq!(printed.status, 1);
        assert!(
            !printed.err.trim_end().contains(|c: char| c.is_control() || c == '\u{202e}'),
            "{:?}",
            printed.err
        );
    }
}
