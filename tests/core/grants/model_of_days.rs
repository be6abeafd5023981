//! Local midnights, found by looking at every hour: a model of where periods begin.

/// The first second whose local date is the given one or later: local midnight, or what comes first after it where
/// the clocks skip it. `offset` says how many seconds the local clocks are ahead of UTC at a second.
///
/// It walks hour by hour from two days before the UTC midnight of the date. An hour at whose end the date is reached is
/// walked second by second. So is one in which the offset changes: the date can begin in it and be taken back.
/// Two changes of the offset in the same hour that cancel each other are not seen.
///
/// # Panics
///
/// If there is no such date, or if the local clocks are days away from UTC.
pub fn midnight_by_search(year: i32, month: u8, day: u8, offset: &dyn Fn(i64) -> i64) -> i64 {
    let wanted = days_since_1970(year, month, day);
    let is_reached = |second: i64| (second + offset(second)).div_euclid(86_400) >= wanted;

    let mut hour = (wanted - 2) * 86_400;
    assert!(!is_reached(hour), "the date is not reached two days before");
    for _ in 0..4 * 24 {
        let next = hour + 3600;
        if is_reached(next) || offset(hour) != offset(next) {
            for second in hour..=next {
                if is_reached(second) {
                    return second;
                }
            }
        }
        hour = next;
    }
    panic!("the date is not reached two days after");
}

/// The days from 1 January 1970 to a date, negative before. Counted year by year and month by month.
fn days_since_1970(year: i32, month: u8, day: u8) -> i64 {
    assert!((1..=12).contains(&month), "there is no month {month}");
    assert!(
        (1..=days_of_month(year, month)).contains(&i64::from(day)),
        "there is no day {day} in month {month}"
    );

    let mut days = 0;
    for passed in 1970..year {
        days += days_of_year(passed);
    }
    for ahead in year..1970 {
        days -= days_of_year(ahead);
    }
    for passed in 1..month {
        days += days_of_month(year, passed);
    }
    days + i64::from(day) - 1
}

/// How many days a year has.
fn days_of_year(year: i32) -> i64 {
    (1..=12).map(|month| days_of_month(year, month)).sum()
}

/// How many days a month has.
fn days_of_month(year: i32, month: u8) -> i64 {
    let is_leap_year = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if is_leap_year => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}
