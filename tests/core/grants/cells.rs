//! The cells of the definitions: 1,200 for the twelve months of 2027, in seconds of the unit.

use multifactor2_core::rules::grants::{Adjust, Grant, GrantStanding, Pace, Periods, Rule, Split};
use multifactor2_core::settings::value::Date;
use num_rational::BigRational;

use super::number;

const DAY: i64 = 86_400;

fn date(year: u16, month: u8, day: u8) -> Date {
    Date { year, month, day, hour: 0, minute: 0, second: 0 }
}

fn grant(rule: Rule) -> Grant {
    let periods = Periods::new(date(2027, 1, 1), date(2027, 12, 31), Pace::Month, &|_| 0).unwrap();
    Grant { amount: number("1200"), split: Split::Equal, rule, adjusts: Vec::new(), periods }
}

fn jsc() -> Rule {
    Rule::Carry { carry_over: number("1"), borrow: number("1"), debt_cap: Some(number("1.01")) }
}

/// In the middle of a month.
fn month(grant: &Grant, month: usize) -> i64 {
    let (begin, end) = grant.periods.span(month).unwrap();
    begin + (end - begin) / 2
}

#[track_caller]
fn stands(grant: &Grant, used: &[i128], at: i64) -> GrantStanding {
    grant.standing(used, at).expect("within the grant")
}

/// How much can be used in a month before it is beyond.
fn usable(grant: &Grant, used: &[i128], of: usize) -> i128 {
    let standing = stands(grant, used, month(grant, of));
    assert!(standing.is_within == (used.get(of - 1).copied().unwrap_or_default() < standing.beyond_from));
    standing.beyond_from
}

fn balance(grant: &Grant, used: &[i128], of: usize) -> BigRational {
    stands(grant, used, month(grant, of)).balance
}

#[test]
fn jsc_carries_a_month_and_borrows_from_the_next() {
    let grant = grant(jsc());
    assert_eq!(usable(&grant, &[], 1), 200);
    assert_eq!(balance(&grant, &[40], 1), number("60"));
    assert_eq!(stands(&grant, &[40], month(&grant, 2)).carried, number("60"));
    assert_eq!(balance(&grant, &[40, 130], 2), number("30"));
    assert_eq!(balance(&grant, &[40, 130, 0], 3), number("130"));
    assert_eq!(usable(&grant, &[40, 130, 0], 3), 230);
    assert_eq!(stands(&grant, &[40, 130, 0], month(&grant, 4)).carried, number("100"));
    assert_eq!(usable(&grant, &[40, 130, 0, 0], 4), 300);
    let fourth = stands(&grant, &[40, 130, 0, 310], month(&grant, 4));
    assert_eq!((fourth.balance, fourth.limit, fourth.is_within), (number("-110"), number("-100"), false));
    let fifth = stands(&grant, &[40, 130, 0, 310, 90], month(&grant, 5));
    assert_eq!((fifth.carried, fifth.balance, fifth.is_within), (number("-101"), number("-91"), true));
    assert_eq!(usable(&grant, &[40, 130, 0, 310], 5), 99);
    assert_eq!(usable(&grant, &[], 12), 200, "there is nothing to borrow from");
}

#[test]
fn rwth_looks_at_three_months() {
    let grant = grant(Rule::Window);
    assert_eq!(usable(&grant, &[], 1), 200);
    assert_eq!(usable(&grant, &[40], 2), 260);
    assert_eq!(usable(&grant, &[40, 130], 3), 170);
    assert_eq!(usable(&grant, &[40, 130, 0], 4), 300);
    assert!(!stands(&grant, &[40, 130, 0, 310], month(&grant, 4)).is_within);
    assert_eq!(usable(&grant, &[40, 130, 0, 310], 5), -10, "beyond from the start");
    assert_eq!(usable(&grant, &[40, 130, 0, 310, 90], 6), 210);
    assert_eq!(usable(&grant, &[], 12), 200);
    // More than six times a month, although March has left much; and twice the year.
    let adjusts = vec![Adjust { amount: number("100000"), at: month(&grant, 3), spread: false }];
    let rich = Grant { adjusts, ..grant.clone() };
    assert_eq!(usable(&rich, &[], 4), 601);
    assert_eq!(usable(&rich, &[0, 0, 202_300], 5), 101, "of twice 101,200 there are 100 left");
    assert_eq!(usable(&grant, &[2_399, 0], 3), 2, "of twice 1,200");
}

#[test]
fn nesi_loses_what_is_not_used() {
    let grant = grant(Rule::Ageing { interval: 90 * DAY });
    let (start, _) = grant.periods.whole();
    let used = [40, 130, 0, 310];
    let at = |day: i64, months: usize| stands(&grant, &used[..months], start + day * DAY).balance;
    assert_eq!(at(31, 1), number("1160"));
    assert_eq!(at(59, 2), number("1030"));
    // The largest of 170 and 90 of 365 days.
    assert_eq!(at(90, 3), number("1200") - number("1200") * number("90") / number("365"));
    assert_eq!(at(120, 4), number("720"));
    let shown = |amount: BigRational| (amount * number("1000000")).round() / number("1000000");
    assert_eq!(shown(at(90, 3)), number("904.109589"));
    assert_eq!(grant.next_change(start), Some(start + 31 * DAY));
    assert_eq!(
        grant.next_change(start + 60 * DAY),
        Some(start + 90 * DAY),
        "the third month, and the first interval"
    );
    assert_eq!(
        grant.next_change(start + 152 * DAY),
        Some(start + 180 * DAY),
        "the second interval, a day before June ends"
    );
}

#[test]
fn a_changed_amount_holds_from_the_first_period_on_and_an_adjustment_from_its_time() {
    let doubled = Grant { amount: number("2400"), ..grant(jsc()) };
    assert_eq!(balance(&doubled, &[40, 130, 0], 4), number("400"));
    let (start, end) = doubled.periods.whole();
    let mut grant = grant(jsc());
    let april = grant.periods.span(4).unwrap().0;
    grant.adjusts = vec![Adjust { amount: number("30"), at: april + DAY, spread: false }];
    assert_eq!([april, april + DAY].map(|at| grant.granted(4, at)), [number("100"), number("130")]);
    assert_eq!(grant.granted(5, end), number("100"));
    grant.adjusts = vec![Adjust { amount: number("275"), at: april, spread: true }];
    let sum = (1..=12).fold(number("0"), |sum, month| sum + grant.granted(month, end));
    assert_eq!(sum, number("1475"));
    assert_eq!(grant.granted(3, end), number("100"));
    assert_eq!(grant.granted(6, end), number("100") + number("275") * number("30") / number("275"));
    assert_eq!(grant.granted(6, start), number("100"), "not yet");
    assert_eq!(grant.total(end), number("1475"));
}

#[test]
fn what_should_be_used_grows_evenly_within_each_period() {
    let grant = grant(jsc());
    let (start, end) = grant.periods.whole();
    assert_eq!(grant.should_be(start), Some(number("0")));
    assert_eq!(grant.should_be(month(&grant, 1)), Some(number("50")));
    assert_eq!(grant.should_be(month(&grant, 4)), Some(number("350")));
    assert_eq!([start - 1, end].map(|at| grant.should_be(at)), [None, None]);
}

/// Clocks are set forward by an hour at a midnight in March, and back in October, each year, as they are in Beirut.
#[test]
fn a_midnight_that_does_not_exist_is_the_first_second_after_it_in_each_year() {
    let hour = 3600;
    // 29 March and 25 October 2026, 28 March and 31 October 2027.
    let changes = [
        1_774_742_400 - 2 * hour,
        1_792_886_400 - 3 * hour,
        1_806_192_000 - 2 * hour,
        1_824_940_800 - 3 * hour,
    ];
    let offset = |at: i64| {
        let summer = changes.iter().filter(|change| **change <= at).count() % 2 == 1;
        if summer {
            3 * hour
        } else {
            2 * hour
        }
    };
    let begins = [date(2026, 3, 29), date(2027, 3, 28)].map(|date| Periods::begin(date, &offset));
    assert_eq!(begins, [changes[0], changes[2]]);
}

#[test]
fn at_the_limit_it_is_beyond() {
    let grant = grant(jsc());
    let of = |used: i128| stands(&grant, &[used], month(&grant, 1)).is_within;
    assert_eq!([199, 200, 201].map(of), [true, false, false]);
    assert_eq!(grant.standing(&[], grant.periods.whole().1), None, "it is over");
    assert_eq!(grant.next_change(grant.periods.whole().1), None);
}
