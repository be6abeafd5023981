//! Other names change no number.

use multifactor2_command::answers::tree::targets::{TargetRow, Targets, WindowsRow};
use multifactor2_command::input::anonymise::anonymise;
use multifactor2_fixtures::points_model::cases;
use multifactor2_snapshot::records::{Grant, Window};

use super::{answer, small, snapshot, BOTH};
use crate::site;

/// Of a row all but names.
fn numbers(answer: &Targets) -> Vec<String> {
    let rows = answer.targets.iter().flatten().map(|row| {
        let row =
            TargetRow { name: String::new(), book: row.book.as_ref().map(|_| String::new()), ..row.clone() };
        format!("{row:?}")
    });
    let windows = answer.windows.iter().flat_map(|windows| &windows.rows);
    let windows = windows.map(|row| format!("{:?}", WindowsRow { name: String::new(), ..row.clone() }));
    let mut all: Vec<String> = rows.chain(windows).collect();
    all.sort();
    all
}

#[test]
fn other_names_change_no_number_and_none_is_left() {
    let mut random = multifactor2_fixtures::random();
    for _ in 0..100 {
        let case = cases::case(&mut random);
        let plain = snapshot(&case);
        let other = anonymise(&plain);
        assert_eq!(numbers(&answer(&other, BOTH)), numbers(&answer(&plain, BOTH)), "{}", case.settings);
    }
    let lines =
        "Book=cards Partitions=gpu\nComponent=FS FSUser=10 FSParent=1 FSAccount=1 WCAccuracy=1\nFSStep=5\n\
                 Target=User Name=john Percent=50 Book=Cards\nTarget=Account Name=HISTORY Percent=20\n\
                 Target=Parent Name=physics Percent=41\nTarget=Partition Name=gpu Percent=90 Window=yes";
    let mut plain = small(
        lines,
        &[
            ("step", "User", "john", 1.0),
            ("step", "User@cards", "john", 2.0),
            ("step", "Account", "history", -9.0),
            ("step", "Parent", "physics", 1.0),
            ("step", "Parent", "history ada", -6.0),
            ("step", "Partition", "gpu", 3.0),
            ("accuracy", "user", "ada", 70.0),
            ("book cards", "association", "1", 100.0),
            ("book cards", "association", "5", 38.0),
            ("window", "partition", "gpu", 50.0),
            ("window", "all", "", 100.0),
        ],
    );
    plain.grants.push(Grant {
        partitions: vec!["gpu".to_owned()],
        book: "cards".to_owned(),
        ..site::grant()
    });
    plain.grants[0].name = "physics".to_owned();
    plain.grants[0].place = "/etc/site-of-physics/multifactor2.conf line 3".to_owned();
    plain.windows.push(Window {
        of: "partition".to_owned(),
        key: "gpu".to_owned(),
        amounts: vec![50.0],
        ..Window::default()
    });
    plain.windows.push(Window {
        of: "all".to_owned(),
        amounts: vec![100.0],
        length: 60,
        told: 14,
        ..Window::default()
    });
    let other = anonymise(&plain);
    let told = answer(&plain, BOTH);
    assert_eq!(told.windows.as_ref().map(|windows| windows.rows.len()), Some(1));
    assert_eq!(numbers(&answer(&other, BOTH)), numbers(&told));
    let text = format!("{other:?}").to_lowercase();
    for name in ["john", "ada", "physics", "history", "cards", "\"gpu\"", "site-of"] {
        assert!(!text.contains(name), "{name} is in {text}");
    }
}
