//! Random grants, with adjustments, amounts that change, cut periods, and usage of any size, against the model.

use multifactor2_core::rules::grants::{Adjust, Grant, Pace, Periods, Rule, Split};
use multifactor2_core::settings::value::Date;
use num_bigint::BigInt;
use num_rational::BigRational;
use proptest::prelude::*;

use super::model::{standing, ModelAdjust, ModelGrant, ModelRule};
use super::model_of_days::midnight_by_search;

fn part(count: i64, of: i64) -> BigRational {
    BigRational::new(BigInt::from(count), BigInt::from(of))
}

/// A rule, ours and the model's.
fn rule() -> impl Strategy<Value = (Rule, ModelRule)> {
    let hundredths = || (0_i64..250).prop_map(|count| part(count, 100));
    prop_oneof![
        (hundredths(), hundredths(), prop::option::of(hundredths())).prop_map(
            |(carry_over, borrow, debt_cap)| {
                let ours = Rule::Carry {
                    carry_over: carry_over.clone(),
                    borrow: borrow.clone(),
                    debt_cap: debt_cap.clone(),
                };
                (ours, ModelRule::Carry { carry_over, borrow, debt_cap })
            }
        ),
        Just((Rule::Window, ModelRule::Window)),
        (1_i64..40).prop_map(|days| {
            let interval = days * 86_400;
            (Rule::Ageing { interval }, ModelRule::Ageing { interval_seconds: interval })
        }),
    ]
}

proptest! {
    #![proptest_config(multifactor2_fixtures::seeded())]

    #[test]
    fn standings_are_those_of_the_model(
        (ours, theirs) in rule(), amount in 0_i64..1_000_000, of in 1_i64..1000, by_days in any::<bool>(),
        lengths in prop::collection::vec(1_i64..3_000_000, 1..14),
        adjusts in prop::collection::vec((-50_000_i64..50_000, 0_i64..40_000_000, any::<bool>()), 0..4),
        used in prop::collection::vec(0_i64..400_000, 0..14), at in -100_i64..42_000_000,
    ) {
        let begin = 1_798_761_600;
        let borders: Vec<i64> = std::iter::once(begin)
            .chain(lengths.iter().scan(begin, |at, length| {
                *at += length;
                Some(*at)
            }))
            .collect();
        let amount = part(amount, of);
        let (last, at) = (borders[borders.len() - 1], begin + at);
        let adjusts: Vec<(BigRational, i64, bool)> = adjusts
            .into_iter()
            .map(|(amount, after, spread)| (part(amount, of), begin + after, spread))
            .filter(|(_, at, _)| *at < last)
            .collect();
        let grant = Grant {
            amount: amount.clone(),
            split: if by_days { Split::Days } else { Split::Equal },
            rule: ours,
            adjusts: adjusts
                .iter()
                .map(|(amount, at, spread)| Adjust { amount: amount.clone(), at: *at, spread: *spread })
                .collect(),
            periods: Periods::of_borders(borders.clone()),
        };
        let model = ModelGrant {
            amount,
            by_days,
            rule: theirs,
            adjusts: adjusts
                .into_iter()
                .map(|(amount, at, spread)| ModelAdjust { amount, at, spread })
                .collect(),
            borders,
        };
        let mut used: Vec<i128> = used.into_iter().map(i128::from).take(lengths.len()).collect();
        used.resize(lengths.len(), 0);
        let (found, expected) = (grant.standing(&used, at), standing(&model, &used, at));
        prop_assert_eq!(found.is_some(), expected.is_some());
        if let (Some(found), Some(expected)) = (found, expected) {
            prop_assert_eq!(found.period, expected.period);
            prop_assert_eq!(&found.granted, &expected.granted);
            prop_assert_eq!(&found.carried, &expected.carried);
            prop_assert_eq!(&found.balance, &expected.balance);
            prop_assert_eq!(&found.limit, &expected.limit);
            prop_assert_eq!(found.is_within, expected.is_within);
            // The number from which on it is beyond is exactly that.
            for more in [-1, 0, 1] {
                let own = found.beyond_from.saturating_add(more);
                if (0..1 << 80).contains(&own) {
                    used[found.period - 1] = own;
                    prop_assert_eq!(standing(&model, &used, at).unwrap().is_within, more < 0);
                }
            }
        }
    }

    /// With clocks that are changed once in the middle, also at midnight.
    #[test]
    fn borders_are_the_first_seconds_of_local_days(
        year in 1990_u16..2040, month in 1_u8..=12, day in 1_u8..=28, length in 1_i64..500, pace in 0_u32..4,
        ahead in -48_i64..57, jump in prop_oneof![Just(-4_i64), Just(-2), Just(0), Just(2), Just(4)], turn in 0_i64..40_000,
    ) {
        let first = civil(year, month, day);
        // In quarters of an hour, near a midnight half of the time.
        let turn = (first + turn * 900) / if turn % 2 == 0 { 1 } else { 86_400 } * if turn % 2 == 0 { 1 } else { 86_400 } - ahead * 900;
        let offset = move |at: i64| if at < turn { ahead * 900 } else { (ahead + jump) * 900 };
        let until = date_of(first + (length - 1) * 86_400);
        let pace = match pace {
            0 => Pace::Month,
            1 => Pace::Quarter,
            days => Pace::Days(days * 3),
        };
        let from = Date { year, month, day, hour: 0, minute: 0, second: 0 };
        let periods = Periods::new(from, until, pace, &offset).unwrap();
        let borders = periods.borders();
        prop_assert!(borders.windows(2).all(|pair| pair[0] < pair[1]));
        let dates: Vec<i64> = (0..=length).map(|days| first + days * 86_400).collect();
        let begins: Vec<i64> = dates
            .iter()
            .enumerate()
            .filter(|(at, midnight)| {
                let date = date_of(**midnight);
                let is_border = match pace {
                    Pace::Month => date.day == 1,
                    Pace::Quarter => date.day == 1 && (date.month - 1) % 3 == 0,
                    Pace::Days(days) => *at % days as usize == 0,
                };
                *at == 0 || *at == dates.len() - 1 || is_border
            })
            .map(|(_, midnight)| {
                let date = date_of(*midnight);
                midnight_by_search(date.year.into(), date.month, date.day, &offset)
            })
            .collect();
        prop_assert_eq!(borders, &begins[..]);
    }
}

/// Midnight of a date in UTC, by counting years and months.
fn civil(year: u16, month: u8, day: u8) -> i64 {
    let leap = |year: u16| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let years: i64 = (1970..year).map(|year| if leap(year) { 366 } else { 365 }).sum();
    let months: i64 = (1..month).map(|month| length_of(year, month)).sum();
    (years + months + i64::from(day) - 1) * 86_400
}

fn length_of(year: u16, month: u8) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn date_of(midnight: i64) -> Date {
    let (mut year, mut month, mut left) = (1970, 1, midnight / 86_400);
    while left >= length_of(year, month) {
        left -= length_of(year, month);
        (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    }
    Date { year, month, day: u8::try_from(left + 1).unwrap(), hour: 0, minute: 0, second: 0 }
}
