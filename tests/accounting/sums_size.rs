//! The file of our own sums of usage: how large it is.

use multifactor2_accounting::raw_usage::Seen;
use multifactor2_accounting::sums::{Cycle, Names, Recipe, Sums};
use multifactor2_accounting::sums_file::{parse, text};
use multifactor2_accounting::tally::TallyPlace;
use multifactor2_accounting::tally::{Charge, Tally};

/// The first days of windows of twelve hours.
const HALF_DAY: i64 = 43_200;

/// Bytes of the file with so many users, each of whom has run in all windows, in an account for every ten of them.
fn bytes(users: u32, depth: usize) -> usize {
    let recipe = Recipe {
        metric: "gres/gpu".to_owned(),
        halflife: true,
        windows: Some((HALF_DAY, depth)),
        ..Recipe::default()
    };
    let mut sums = Sums::new(recipe, HALF_DAY, 0);
    let account = |user: u32| 2 + user / 10;
    let first = account(users) + 1;
    let id = |user: u32| first + user;
    let mut all = vec![Seen { id: 1, parent: None, raw: 1e9 }];
    all.extend((2..first).map(|id| Seen { id, parent: Some(1), raw: 1e8 / 7.0 }));
    all.extend((0..users).map(|user| Seen { id: id(user), parent: Some(account(user)), raw: 1e7 / 3.0 }));
    for (at, seen) in all.iter().enumerate() {
        sums.association(seen.id);
        let user = if seen.id < first { String::new() } else { format!("user{:05}", seen.id) };
        let account = format!("account{:05}", seen.parent.unwrap_or(seen.id));
        sums.meet(seen.id, at + 1, || Names { account, user, partition: String::new() });
    }
    for _ in 0..depth {
        let (since, mut tally) = (sums.since(), Tally::default());
        let now = since + HALF_DAY;
        tally.begin(sums.windows_at(now - 1), sums.width());
        for user in 0..users {
            // All digits of a number are there.
            let charge =
                Charge { start: since, run: 40_000.0, rate: f64::from(user + 1) / 3.0, decayed: 1e6 / 7.0 };
            for place in [TallyPlace::ALL, sums.association(id(user))] {
                tally.add(place, &charge, true);
            }
        }
        sums.settle(Cycle { now, decay: 0.99, last_reset: 0, tally: &tally }, &mut Vec::new());
    }
    sums.survey(&all, true);
    sums.remember(&all, &[]);
    let text = text(&sums, &[]);
    assert_eq!(parse(&text).unwrap().0.since(), sums.since());
    text.len()
}

#[test]
fn the_file_grows_with_associations_and_windows_and_no_more() {
    for depth in [1, 14, 100] {
        let sizes = [100, 1_000, 10_000].map(|users| bytes(users, depth));
        println!("{depth} windows: {sizes:?} bytes");
        let each = [(sizes[1] - sizes[0]) / 900, (sizes[2] - sizes[1]) / 9_000];
        // Names, ids, and two numbers beside the windows, each of 17 digits at most, and a tenth of an account.
        let most = 130 + 22 * depth;
        assert!(
            each.iter().all(|each| (50..=most).contains(each)),
            "{each:?} bytes per user, {depth} windows"
        );
        // What numbers have more digits.
        assert!(each[0].abs_diff(each[1]) <= 12 + depth, "{each:?} bytes per user, {depth} windows");
        assert!(sizes[0] <= 100 * each[0] + 30 * depth + 500, "{sizes:?} bytes");
    }
}
