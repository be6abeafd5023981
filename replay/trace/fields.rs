//! Single values as Slurm's commands write them.

/// The beginning of a text, for messages: no control characters, at most 60 characters.
pub fn excerpt(text: &str) -> String {
    text.chars().take(60).map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// A time: seconds since 1970, or `2024-01-31T12:00:00` in local time, which is taken as if it were universal time. `None` for
/// `None`, `Unknown` and nothing.
///
/// # Errors
/// It is something else.
pub fn time(text: &str) -> Result<Option<i64>, ()> {
    let text = text.trim();
    if text.is_empty() || ["none", "unknown", "n/a", "(null)"].iter().any(|no| text.eq_ignore_ascii_case(no))
    {
        return Ok(None);
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        // Beyond the year 9999 is no time.
        return match text.parse::<i64>() {
            Ok(0) => Ok(None),
            Ok(seconds) if seconds < 253_402_300_800 => Ok(Some(seconds)),
            _ => Err(()),
        };
    }
    let (date, clock) = text.split_once('T').ok_or(())?;
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(clock, ':')?;
    let in_range = (1..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second < 61;
    if !in_range {
        return Err(());
    }
    Ok(Some(days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second))
}

fn numbers(text: &str, between: char) -> Result<[i64; 3], ()> {
    let mut parts = text.split(between);
    let mut next = || {
        let part = parts.next().ok_or(())?;
        if part.is_empty() || part.len() > 4 || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(());
        }
        part.parse::<i64>().map_err(|_| ())
    };
    let result = [next()?, next()?, next()?];
    parts.next().is_none().then_some(result).ok_or(())
}

/// Days since 1970 of a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // A year begins in March here, so that the leap day is its last.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// A length of time: `[days-]hours:minutes:seconds`, `days-hours[:minutes[:seconds]]`, `minutes:seconds`, or minutes. `None` for
/// `UNLIMITED`, `Partition_Limit`, `INVALID` and nothing. In seconds.
///
/// # Errors
/// It is something else.
pub fn length(text: &str) -> Result<Option<u64>, ()> {
    let text = text.trim();
    let none = ["", "unlimited", "infinite", "partition_limit", "none", "invalid", "(null)"];
    if none.iter().any(|no| text.eq_ignore_ascii_case(no)) {
        return Ok(None);
    }
    let (days, clock) = match text.split_once('-') {
        Some((days, clock)) => (Some(days), clock),
        None => (None, text),
    };
    let number = |text: &str| {
        if text.is_empty() || text.len() > 9 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(());
        }
        text.parse::<u64>().map_err(|_| ())
    };
    let parts = clock.split(':').map(number).collect::<Result<Vec<u64>, ()>>()?;
    let seconds = match (days, parts.as_slice()) {
        (_, [hours, minutes, seconds]) => hours * 3600 + minutes * 60 + seconds,
        (Some(_), [hours, minutes]) => hours * 3600 + minutes * 60,
        (Some(_), [hours]) => hours * 3600,
        (None, [minutes, seconds]) => minutes * 60 + seconds,
        (None, [minutes]) => minutes * 60,
        _ => return Err(()),
    };
    Ok(Some(seconds + days.map_or(Ok(0), number)? * 86_400))
}

/// What a list of TRES says, such as `billing=4,cpu=4,gres/gpu=1,mem=16000M,node=1`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub cpus: u32,
    pub nodes: u32,
    pub gpus: u32,
    /// MB
    pub memory: u64,
}

/// Reads a list of TRES; what is not known is left out.
pub fn counts(text: &str) -> Counts {
    let mut counts = Counts::default();
    for (name, value) in text.split(',').filter_map(|part| part.split_once('=')) {
        let count =
            |value: &str| amount(value).map_or(0, |(whole, _)| u32::try_from(whole).unwrap_or(u32::MAX));
        match name.trim() {
            "cpu" => counts.cpus = count(value),
            "node" => counts.nodes = count(value),
            "gres/gpu" => counts.gpus = count(value),
            "mem" => counts.memory = megabytes(value).unwrap_or_default(),
            _ => (),
        }
    }
    counts
}

/// A whole number with a unit, of which a fraction is left out.
fn amount(text: &str) -> Option<(u64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let whole = text[..end].parse().ok()?;
    let rest = &text[end..];
    let unit = match rest.strip_prefix('.') {
        Some(fraction) => fraction.trim_start_matches(|c: char| c.is_ascii_digit()),
        None => rest,
    };
    Some((whole, unit))
}

/// Memory in MB; without a unit it is MB.
pub fn megabytes(text: &str) -> Option<u64> {
    let (whole, unit) = amount(text)?;
    let factor = match unit.chars().next().map(|c| c.to_ascii_uppercase()) {
        None | Some('M') => 1,
        Some('K') => return Some(whole / 1024),
        Some('G') => 1 << 10,
        Some('T') => 1 << 20,
        Some('P') => 1 << 30,
        Some(_) => return None,
    };
    // What is beyond 2^53 is no memory, and keeps its arithmetic exact.
    Some(whole.saturating_mul(factor).min(1 << 53))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(time("1970-01-01T00:00:00"), Ok(Some(0)));
        assert_eq!(time("2000-02-29T23:59:59"), Ok(Some(951_868_799)));
        assert_eq!(time("2024-03-01T00:00:00"), Ok(Some(1_709_251_200)));
        assert_eq!(time("1709251200"), Ok(Some(1_709_251_200)));
        assert_eq!(time("Unknown"), Ok(None));
        for bad in ["2024-03-01", "2024-13-01T00:00:00", "tomorrow", "99999999999999", "2024-3-x1T0:0:0"] {
            assert_eq!(time(bad), Err(()), "{bad}");
        }
    }

    #[test]
    fn lengths() {
        let cases =
            [("10", 600), ("10:30", 630), ("1:00:00", 3600), ("2-00:00:01", 172_801), ("1-12", 129_600)];
        for (text, seconds) in cases {
            assert_eq!(length(text), Ok(Some(seconds)), "{text}");
        }
        assert_eq!(length("UNLIMITED"), Ok(None));
        assert_eq!(length("Partition_Limit"), Ok(None));
        assert_eq!(length("1:2:3:4"), Err(()));
    }

    #[test]
    fn tres() {
        let of = counts("billing=4,cpu=4,gres/gpu=1,gres/gpu:a100=1,mem=15.50G,node=1");
        assert_eq!(of, Counts { cpus: 4, nodes: 1, gpus: 1, memory: 15 << 10 });
        assert_eq!(counts("mem=16000M").memory, 16_000);
        assert_eq!(counts("nothing"), Counts::default());
    }
}
