//! Usage by book: sums, their file, and what becomes of a book that is removed.

use multifactor2_accounting::ended::Ended;
use multifactor2_accounting::raw_usage::Seen;
use multifactor2_accounting::sums::{Cycle, Recipe, Sums};
use multifactor2_accounting::sums_file::{parse, text};
use multifactor2_accounting::tally::{Charge, Tally, TallyPlace};
use multifactor2_core::{NodeSpec, ShareTree};

/// Of equal shares: the place of each one's parent, and whether it is a user.
fn tree(all: &[(Option<u32>, bool)]) -> ShareTree {
    let node = |&(parent, user): &(Option<u32>, bool)| NodeSpec { parent, shares: 1, user };
    ShareTree::build(&all.iter().map(node).collect::<Vec<_>>())
}

fn recipe(tres: &[&str], books: &[&str]) -> Recipe {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Recipe { metric: "billing".to_owned(), tres: owned(tres), books: owned(books), ..Recipe::default() }
}

/// A cycle in which associations, by id, have used so much from a column on.
fn cycle(
    sums: &mut Sums,
    now: i64,
    decay: f64,
    last_reset: i64,
    used: &[(u32, usize, Vec<f64>)],
    ended: &mut Vec<Ended>,
) {
    let mut tally = Tally::default();
    tally.begin(None, sums.width());
    for (id, from, amounts) in used {
        let place = sums.association(*id);
        tally.add_columns(place, *from, amounts);
    }
    sums.settle(Cycle { now, decay, last_reset, tally: &tally }, ended);
}

#[test]
fn the_default_book_is_raw_usage_less_all_books() {
    let mut sums = Sums::new(recipe(&[], &["a", "b"]), 1000, 0);
    cycle(
        &mut sums,
        1100,
        1.0,
        0,
        &[(4, 0, vec![3.0]), (4, 1, vec![1.0]), (5, 1, vec![2.5])],
        &mut Vec::new(),
    );
    assert_eq!((sums.used(4), sums.used(5)), (&[3.0, 1.0][..], &[0.0, 2.5][..]));
    let tree = tree(&[(None, false), (Some(0), false), (Some(1), true), (Some(1), true)]);
    let find = |id: u32| tree.position(id as usize - 2);
    let mut by_book = Vec::new();
    let names = ["a", "b", "unknown"].map(str::to_owned);
    sums.measures(None, &names).by_book(&tree, find, &[10.0, 10.0, 7.0, 3.0], &mut by_book);
    assert_eq!(
        by_book,
        [vec![3.5, 3.5, 3.0, 0.5], vec![3.0, 3.0, 3.0, 0.0], vec![3.5, 3.5, 1.0, 2.5], vec![0.0; 4]]
    );
    // Rounding is no usage, and less than nothing is nothing.
    sums.measures(None, &names).by_book(&tree, find, &[6.5, 6.5 + 1e-12, 4.0, 2.0], &mut by_book);
    assert_eq!(by_book[0], [0.0; 4]);
}

#[test]
fn dominant_shares_of_books() {
    let mut sums = Sums::new(recipe(&["cpu", "gres/gpu"], &["a"]), 1000, 0);
    let used = [(2, 0, vec![30.0, 4.0]), (2, 2, vec![10.0, 4.0]), (3, 0, vec![20.0, 0.0])];
    cycle(&mut sums, 1100, 1.0, 0, &used, &mut Vec::new());
    let mut tally = Tally::default();
    tally.begin(None, sums.width());
    tally.add_columns(TallyPlace::CAPACITY, 0, &[100.0, 10.0]);
    sums.settle(Cycle { now: 1200, decay: 1.0, last_reset: 0, tally: &tally }, &mut Vec::new());
    let weights = ["cpu", "gres/gpu"].map(|name| (name.to_owned(), 1.0));
    let tree = tree(&[(None, false), (Some(0), true), (Some(0), true)]);
    let mut by_book = Vec::new();
    let measures = sums.measures(Some(&weights), &["a".to_owned()]);
    measures.by_book(&tree, |id| tree.position(id as usize - 1), &[9e9; 3], &mut by_book);
    // Outside of the book are 20 and 20 processors; in it 10, and 4 of 10 GPUs.
    assert_eq!(by_book, [vec![0.4, 0.2, 0.2], vec![0.4, 0.4, 0.0]]);
}

#[test]
fn a_removed_book_is_kept_for_a_half_life() {
    let mut sums = Sums::new(recipe(&[], &["a", "b"]), 1000, 0);
    let mut waits = vec![Ended {
        association: Some(4),
        charge: Charge { start: 1150, run: 100.0, rate: 1.0, decayed: 100.0 },
        columns: vec![7.0],
        ..Ended::default()
    }];
    cycle(&mut sums, 1100, 1.0, 0, &[(4, 0, vec![16.0, 8.0])], &mut Vec::new());
    assert!(sums.follow(&recipe(&[], &["b"]), &mut waits).is_empty());
    assert_eq!((sums.used(4), &waits[0].columns[..]), (&[8.0, 16.0][..], &[0.0, 7.0][..]));
    // Saved, with what waits.
    let written = text(&sums, &waits);
    assert!(written.contains("\nbooks b\nremoved a billing 1\n"), "{written}");
    let (read, jobs) = parse(&written).unwrap();
    assert_eq!((text(&read, &jobs), jobs), (written, waits.clone()));
    let mut sums = read;
    cycle(&mut sums, 1200, 0.75, 0, &[(4, 0, vec![1.0])], &mut waits);
    assert_eq!(sums.used(4), [7.0, 0.75 * (16.0 + 3.5)], "half of the job had run until the cycle");
    // Added again it goes on, a new one starts empty.
    let mut again = sums.clone();
    assert_eq!(again.follow(&recipe(&[], &["c", "b", "a"]), &mut waits), ["c"]);
    assert_eq!(again.used(4), [0.0, 7.0, 14.625]);
    // After a half-life it does not.
    cycle(&mut sums, 1300, 0.6, 0, &[], &mut waits.clone());
    assert_eq!(sums.width(), 1);
    assert_eq!(sums.follow(&recipe(&[], &["b", "a"]), []), ["a"]);
}

#[test]
fn without_half_life_a_removed_book_is_kept_until_a_reset() {
    let mut sums = Sums::new(recipe(&[], &["a"]), 1000, 0);
    cycle(&mut sums, 1100, 1.0, 0, &[(4, 0, vec![16.0])], &mut Vec::new());
    sums.follow(&recipe(&[], &[]), []);
    for now in 1..100 {
        cycle(&mut sums, 1100 + now, 1.0, 0, &[], &mut Vec::new());
    }
    assert!(sums.has_books() && !sums.is_needless());
    cycle(&mut sums, 1300, 1.0, 1250, &[], &mut Vec::new());
    assert!(!sums.has_books() && sums.is_needless());
    assert_eq!(sums.follow(&recipe(&[], &["a"]), []), ["a"]);
}

/// What a reset, a removal, a move and a new association of the same id do to the metric, they do to books.
#[test]
fn resets_and_removals_are_those_of_all_usage() {
    let seen = |id: u32, parent: u32, raw: f64| Seen { id, parent: (parent > 0).then_some(parent), raw };
    let mut sums = Sums::new(recipe(&[], &["a"]), 1000, 0);
    let more = [(4, 0, vec![3.0]), (5, 0, vec![2.0]), (6, 0, vec![1.0])];
    cycle(&mut sums, 1100, 1.0, 0, &more, &mut Vec::new());
    let all = [seen(1, 0, 6.0), seen(2, 1, 6.0), seen(4, 2, 3.0), seen(5, 2, 2.0), seen(6, 2, 1.0)];
    sums.survey(&all, true);
    sums.remember(&all, &[]);
    // One is reset, then one removed, whose usage goes to the account.
    sums.reset_as_slurmctld(
        &[seen(1, 0, 3.0), seen(2, 1, 3.0), seen(4, 2, 0.0), seen(5, 2, 2.0), seen(6, 2, 1.0)],
        &[],
        &mut [],
    );
    assert_eq!((sums.used(4), sums.used(5), sums.used(6)), (&[][..], &[2.0][..], &[1.0][..]));
    sums.survey(&[seen(1, 0, 3.0), seen(2, 1, 3.0), seen(4, 2, 0.0), seen(6, 2, 1.0)], true);
    assert_eq!((sums.used(5), sums.used(2)), (&[][..], &[2.0][..]));
    let names = |name: &str| {
        let user = name.to_owned();
        move || multifactor2_accounting::sums::Names { user, ..Default::default() }
    };
    sums.meet(6, 1, names("old"));
    assert_eq!(sums.used(6), [1.0]);
    sums.meet(6, 2, names("new"));
    assert!(sums.used(6).is_empty(), "the id means somebody else");
}

#[test]
fn the_file_has_books() {
    let mut sums = Sums::new(recipe(&["cpu"], &["a", "b%"]), 1000, 0);
    cycle(&mut sums, 1100, 1.0, 0, &[(4, 0, vec![3.0, 0.1, 2.0])], &mut Vec::new());
    let written = text(&sums, &[]);
    assert!(written.starts_with("multifactor2_usage 3\n"), "{written}");
    assert_eq!(text(&parse(&written).unwrap().0, &[]), written);
    sums.follow(&recipe(&["cpu"], &["a"]), []);
    let written = text(&sums, &[]);
    assert_eq!(text(&parse(&written).unwrap().0, &[]), written);
    for (from, to) in [
        ("books a\n", "books a a\n"),
        ("books a\n", "books\n"),
        ("books a\n", ""),
        ("books a\n", "books a\nbooks b\n"),
        ("removed b%25 cpu 1", "removed b%25 cpu 1.5"),
        ("removed b%25 cpu 1", "removed b%25 cpu"),
        ("removed b%25 cpu 1", "removed a cpu 1"),
        ("removed b%25 cpu 1\n", "removed b%25 cpu 1\nremoved b%25 cpu 1\n"),
        ("removed b%25 cpu 1\n", "removed b%25 cpu 1\ntres mem\n"),
    ] {
        let bad = written.replacen(from, to, 1);
        assert_ne!(bad, written, "{from}");
        assert!(parse(&bad).is_err(), "{to}");
    }
}

/// Switching what usage is measured by starts books empty, and says so.
#[test]
fn another_measure_starts_empty() {
    let mut sums = Sums::new(recipe(&[], &["a"]), 1000, 0);
    cycle(&mut sums, 1100, 1.0, 0, &[(4, 0, vec![3.0])], &mut Vec::new());
    assert_eq!(sums.follow(&recipe(&["cpu"], &["a"]), []), ["a"]);
    assert_eq!((sums.used(4), sums.width()), (&[0.0, 0.0][..], 2));
}
