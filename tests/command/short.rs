//! The short answer to `why`: a dozen lines of a usual terminal, for any job.

use multifactor2_command::output::Terminal;
use multifactor2_command::run::run;
use multifactor2_snapshot::{format, Snapshot};
use unicode_width::UnicodeWidthStr;

use crate::{hostile, recorded, site};

fn short(snapshot: &Snapshot, width: u16) -> Vec<(String, String)> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("snapshot");
    let mut bytes = Vec::new();
    format::write(snapshot, &mut bytes).unwrap();
    std::fs::write(&file, bytes).unwrap();
    let terminal = Terminal { width: Some(width), ..Terminal::PLAIN };
    let answer = |id: u32| {
        let words = ["multifactor2", "why", &id.to_string(), "--from"].map(std::ffi::OsString::from);
        let printed = run(words.into_iter().chain([file.clone().into_os_string()]), terminal);
        assert_eq!(printed.status, 0, "{id}: {}", printed.err);
        (id.to_string(), printed.out)
    };
    snapshot.jobs.iter().map(|job| answer(job.id)).collect()
}

#[test]
fn a_short_answer_has_at_most_twelve_lines_of_eighty_columns() {
    let mut snapshots = Vec::new();
    for release in recorded::RELEASES {
        for case in
            ["multifactor2-root", "fair-tree-root", "classic-root", "jobs-ada", "usage-ada", "all-kurt"]
        {
            snapshots.push((format!("{release} {case}"), recorded::snapshot(release, case)));
        }
    }
    snapshots.push(("the example".to_owned(), site::example()));
    let mut seen = 0;
    for (name, snapshot) in &snapshots {
        for (job, text) in short(snapshot, 80) {
            let lines: Vec<&str> = text.lines().collect();
            assert!(lines.len() <= 12, "{name}, job {job}: {} lines\n{text}", lines.len());
            assert!(lines.iter().all(|line| line.width() <= 80), "{name}, job {job}\n{text}");
            seen += 1;
        }
    }
    assert!(seen > 200, "{seen}");
}

/// What it says is what the long answer says: the number, the sum, the place.
#[test]
fn a_short_answer_says_what_the_long_one_says() {
    use multifactor2_command::answers::why::of_job;
    use multifactor2_command::model::{Model, Options};
    for release in recorded::RELEASES {
        let snapshot = recorded::snapshot(release, "multifactor2-root");
        let model = Model::of(&snapshot, Options::default());
        let queue = model.queue();
        for ((job, text), at) in short(&snapshot, 200).into_iter().zip(0..) {
            let why = of_job(&model, &queue, at);
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(text.contains(&why.sentence), "{release} {job}: {text}");
            if !why.terms.is_empty() {
                assert!(text.contains(&format!("Priority {}: ", why.priority)), "{release} {job}: {text}");
                for term in why.terms.iter().filter(|term| term.product.abs() >= 0.5) {
                    let said = format!(" {} {:.0}", term.name, term.product.abs());
                    assert!(text.contains(&said), "{release} {job}: {said} in {text}");
                }
            }
            let rank = why.places.first().map(|place| place.rank);
            assert!(
                rank.is_none() || text.contains("first of") || text.contains(" of "),
                "{release} {job}: {text}"
            );
            assert!(why.next.first().is_none_or(|next| text.contains(next)), "{release} {job}: {text}");
        }
    }
}

#[test]
fn names_of_users_do_no_harm_in_a_short_answer() {
    for (job, text) in short(&hostile::snapshot(), 80) {
        assert!(
            !text.contains('\u{1b}') && !text.contains('\u{7}') && !text.contains('\u{202e}'),
            "{job}: {text}"
        );
    }
}
