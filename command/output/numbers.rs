//! Formats numbers, spans and times for people.

use jiff::tz::TimeZone;
use jiff::Timestamp;
use multifactor2_core::settings::value::clock;

/// A number with as many digits as matter: six of them, without those that are zero at the end.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        // As sshare has it.
        return if value == f64::INFINITY { "inf" } else { "-" }.to_owned();
    }
    let magnitude = value.abs();
    let digits = match magnitude {
        // The root's share under Fair Tree is 2^-32, which sshare prints as 0.
        m if !(1e-9..100_000.0).contains(&m) => 0,
        m if m >= 100.0 => 2,
        m if m >= 1.0 => 4,
        m if m >= 1e-4 => 6,
        _ => return format!("{value:.3e}"),
    };
    trimmed(&format!("{value:.digits$}"))
}

/// A weighted addend: two digits.
pub fn addend(value: f64) -> String {
    trimmed(&format!("{value:.2}"))
}

/// A part from 0 to 1 as percent.
pub fn percent(part: f64) -> String {
    format!("{:.1}%", 100.0 * part)
}

fn trimmed(text: &str) -> String {
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text };
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

/// Raw usage with its unit, in hours where it is large.
pub fn usage(seconds: f64) -> String {
    if seconds.abs() >= 3600.0 {
        format!("{} h", trimmed(&format!("{:.1}", seconds / 3600.0)))
    } else {
        format!("{} s", trimmed(&format!("{seconds:.1}")))
    }
}

/// A span in whole seconds.
#[allow(clippy::cast_possible_truncation)] // no span is that long
pub fn seconds(value: f64) -> i64 {
    value.round() as i64
}

/// Seconds as Slurm writes spans: `days-hours:minutes:seconds`.
pub fn span(seconds: i64) -> String {
    format!("{}{}", if seconds < 0 { "-" } else { "" }, clock(seconds.unsigned_abs()))
}

/// A time in the user's zone; `-` for none.
pub fn time(seconds: i64) -> String {
    match Timestamp::from_second(seconds) {
        Ok(time) if seconds != 0 => {
            time.to_zoned(TimeZone::system()).strftime("%Y-%m-%dT%H:%M:%S").to_string()
        }
        _ => "-".to_owned(),
    }
}

/// 1st, 2nd, 3rd, 4th.
pub fn ordinal(number: usize) -> String {
    let ending = match (number % 10, number % 100) {
        (1, rest) if rest != 11 => "st",
        (2, rest) if rest != 12 => "nd",
        (3, rest) if rest != 13 => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

/// A count with its noun.
pub fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_matter() {
        let shown = [0.0, 1.0, 0.25, 198.019_801_98, 1e-7, 1_234_567.8, f64::NAN, -0.000_1].map(number);
        assert_eq!(shown, ["0", "1", "0.25", "198.02", "1.000e-7", "1234568", "-", "-0.0001"]);
        assert_eq!(
            [1, 2, 3, 4, 11, 12, 13, 21, 102].map(ordinal),
            ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd"]
        );
        assert_eq!([59, 86_400 + 61, -1].map(span), ["00:00:59", "1-00:01:01", "-00:00:01"]);
        assert_eq!([usage(10.0), usage(7200.0)], ["10 s", "2 h"]);
    }
}
