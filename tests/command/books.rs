//! Books where a name or a number of them is changed: `--anonymise` and `--usage`.

use clap::Parser;
use multifactor2_command::answers::what_if::{apply, Changes};
use multifactor2_command::input::anonymise::anonymise;
use multifactor2_command::model::{Model, Options, ShownStanding};
use multifactor2_fixtures::assert_near;
use multifactor2_snapshot::records::{Book, BookAssociation, Group, Usage};
use multifactor2_snapshot::Snapshot;

use crate::site;

#[derive(Parser)]
#[command(no_binary_name = true)]
struct AskedChanges {
    #[command(flatten)]
    changes: Changes,
}

/// The example, of which two fifths of all usage were in partition `gpu`, which has a book. One job waits there.
fn in_books() -> Snapshot {
    let mut snapshot = site::example();
    site::set(&mut snapshot, "Book=cards Partitions=gpu Shares=c:7,*:1");
    snapshot.books.push(Book {
        name: "cards".to_owned(),
        partitions: vec!["gpu".to_owned()],
        ..Book::default()
    });
    for association in &mut snapshot.associations {
        let usage = 0.4 * association.usage;
        association.dominant = Some(association.usage - usage);
        let (book, association) = ("cards".to_owned(), association.id);
        snapshot.book_associations.push(BookAssociation {
            book,
            association,
            usage,
            ..BookAssociation::default()
        });
    }
    "gpu".clone_into(&mut snapshot.jobs[1].partition);
    site::show(&mut snapshot);
    snapshot
}

fn computed(snapshot: &Snapshot) -> Model<'_> {
    Model::of(snapshot, Options { recompute: true, ..Options::default() })
}

fn changed(snapshot: &Snapshot, words: &[&str]) -> Result<Snapshot, String> {
    let changes = AskedChanges::try_parse_from(words).unwrap().changes;
    apply(&computed(snapshot), &changes).map(|edited| edited.snapshot).map_err(|error| error.to_string())
}

/// Usage of all, and what the share trees of the default book and of the other one go by.
fn usage(snapshot: &Snapshot, account: &str, user: &str) -> [f64; 3] {
    let one =
        snapshot.associations.iter().find(|one| (&*one.account, &*one.user) == (account, user)).unwrap();
    let in_book = snapshot.book_associations.iter().find(|record| record.association == one.id).unwrap();
    [one.usage, one.dominant.unwrap(), in_book.usage]
}

/// What is said of each book in the tree holds for what is above and beside as well.
fn assert_usage(snapshot: &Snapshot, before: &Snapshot, less: [f64; 3]) {
    for (account, user) in [("c", "user2"), ("c", ""), ("a", ""), ("root", "")] {
        let (now, old) = (usage(snapshot, account, user), usage(before, account, user));
        for at in 0..3 {
            assert_near(now[at], old[at] - less[at], &format!("{account} {user}, {at}"));
        }
    }
    for (account, user) in [("c", "user3"), ("b", ""), ("d", ""), ("f", "user5")] {
        let bits = |snapshot| usage(snapshot, account, user).map(f64::to_bits);
        assert_eq!(bits(snapshot), bits(before), "{account} {user}");
    }
}

#[test]
fn usage_that_is_set_to_nothing_is_gone_from_every_book() {
    let before = in_books();
    let own = usage(&before, "c", "user2");
    assert!(own.iter().all(|usage| *usage > 0.0), "{own:?}");
    for word in ["user2@c=0", "user2@c=-1000000d"] {
        let after = changed(&before, &[&format!("--usage={word}")]).unwrap();
        assert_usage(&after, &before, own);
    }
    // Of an account, with all below it.
    let after = changed(&before, &["--usage", "c=0"]).unwrap();
    for (account, user) in [("c", "user2"), ("c", "user3"), ("c", "")] {
        for usage in usage(&after, account, user) {
            assert_near(usage, 0.0, account);
        }
    }
    let (of_c, of_a) = (usage(&before, "c", ""), usage(&before, "a", ""));
    (0..3).for_each(|at| assert_near(usage(&after, "a", "")[at], of_a[at] - of_c[at], "a"));
}

#[test]
fn other_usage_is_added_to_and_taken_from_the_default_book() {
    let before = in_books();
    let after = changed(&before, &["--usage", "user2@c=+1000h"]).unwrap();
    assert_usage(&after, &before, [-3_600_000.0, -3_600_000.0, 0.0]);
    let tenth = 0.1 * usage(&before, "c", "user2")[0];
    let after = changed(&before, &[&format!("--usage=user2@c=-{tenth}")]).unwrap();
    assert_usage(&after, &before, [tenth, tenth, 0.0]);
}

/// Else those above would lose in the default book what the user does not have there.
#[test]
fn more_than_the_default_book_has_cannot_be_taken() {
    let before = in_books();
    let nine_tenths = 0.9 * usage(&before, "c", "user2")[0];
    for word in [format!("user2@c=-{nine_tenths}"), "user2@c=1".to_owned()] {
        let error = changed(&before, &[&format!("--usage={word}")]).unwrap_err();
        assert!(error.contains("in the default book") && error.contains("or give 0"), "{error}");
    }
}

#[test]
fn other_names_change_no_number_of_books_and_groups() {
    let mut plain = in_books();
    plain.groups.push(Group { name: "laser".to_owned(), id: 500 });
    plain.usage.push(Usage {
        model: "halflife".to_owned(),
        of: "group".to_owned(),
        key: "500".to_owned(),
        amount: 300.0,
    });
    plain.usage.push(Usage {
        model: "halflife".to_owned(),
        of: "all".to_owned(),
        amount: 1000.0,
        ..Usage::default()
    });
    plain.jobs[0].group = Some(500);
    site::set(&mut plain, "Component=FS Weight=100 FSGroup=10");
    site::set(&mut plain, "Target=Group Name=laser Percent=50");
    site::set(&mut plain, "Component=CRED Group=1");
    site::set(&mut plain, "Credential=Group Name=laser,unheard Priority=777");
    let other = anonymise(&plain);
    let text = format!("{other:?}");
    for name in ["cards", "laser", "unheard", "\"gpu\"", "c:7"] {
        assert!(!text.contains(name), "{name} is in {text}");
    }
    let (before, after) = (computed(&plain), computed(&other));
    assert_eq!(after.notes, before.notes);
    for book in 0..2 {
        let standings = |model: &Model<'_>| -> Vec<ShownStanding> {
            model.standings_in(model.book_of(&model.snapshot.partitions[book].name)).to_vec()
        };
        assert_eq!(standings(&after), standings(&before), "book {book}");
    }
    assert_ne!(before.standings_in(before.book_of("gpu")), before.standings, "the books differ");
    assert!(before.jobs[0].points.unwrap().total > 777, "{:?}", before.jobs[0].points);
    for (other, plain) in after.jobs.iter().zip(&before.jobs) {
        assert_eq!(
            (other.points, other.priority, other.factor),
            (plain.points, plain.priority, plain.factor)
        );
    }
}
