//! What Slurm's commands print, taken apart. Any text may come: what cannot be read is left out and counted, and nothing panics.

pub mod associations;
pub mod config;
pub mod dump;
pub mod partitions;
pub mod priorities;
pub mod qos;
pub mod queue;
pub mod shares;

/// The most parameters, TRES or fields of a line that are read.
pub(crate) const MOST_NAMES: usize = 10_000;

/// What could not be read of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    /// How many lines or records.
    pub count: usize,
    /// The number of the first, from 1.
    pub first: usize,
}

impl Unread {
    pub(crate) fn note(&mut self, line: usize) {
        if self.count == 0 {
            self.first = line;
        }
        self.count += 1;
    }

    /// A sentence about it, where there is something.
    pub fn sentence(&self, command: &str) -> Option<String> {
        let Self { count, first } = self;
        (*count > 0).then(|| {
            format!("{command}: {count} of its lines cannot be read (the first is {first}); what they say is missing.")
        })
    }
}

/// `CLUSTER: name`, which the commands print with `-M`.
pub(crate) fn is_of_cluster(line: &str) -> bool {
    line.starts_with("CLUSTER: ")
}

/// A number without sign, of a column that holds one.
pub(crate) fn whole<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.trim().parse().ok()
}

/// A finite number.
pub(crate) fn number(text: &str) -> Option<f64> {
    text.trim().parse::<f64>().ok().filter(|number| number.is_finite())
}

/// Seconds since 1970; 0 for none.
pub(crate) fn time(text: &str) -> i64 {
    whole(text).unwrap_or(0)
}

/// What Slurm prints for no text.
pub(crate) fn text(text: &str) -> String {
    match text.trim() {
        "(null)" | "N/A" => String::new(),
        text => text.to_owned(),
    }
}

/// Minutes of `days-hours:minutes:seconds`, with as many parts as there are, rounded up; `None` where there is no limit.
pub(crate) fn minutes(text: &str) -> Option<u32> {
    seconds(text).and_then(|seconds| u32::try_from(seconds.div_ceil(60)).ok())
}

/// Seconds of the same.
pub(crate) fn seconds(text: &str) -> Option<u64> {
    let text = text.trim();
    let (days, clock) = match text.split_once('-') {
        Some((days, clock)) => (whole::<u64>(days)?, clock),
        None => (0, text),
    };
    let parts = clock.split(':').map(whole::<u64>).collect::<Option<Vec<_>>>()?;
    let seconds = match (parts.as_slice(), clock.len() < text.len()) {
        ([hours], true) => hours.checked_mul(3600)?,
        ([hours, minutes, seconds], _) => {
            hours.checked_mul(3600)?.checked_add(minutes.checked_mul(60)?)?.checked_add(*seconds)?
        }
        ([hours, minutes], true) => hours.checked_mul(3600)?.checked_add(minutes.checked_mul(60)?)?,
        ([minutes, seconds], false) => minutes.checked_mul(60)?.checked_add(*seconds)?,
        _ => return None,
    };
    days.checked_mul(86_400)?.checked_add(seconds)
}

/// `cpu=2,mem=1000M,gres/gpu=1`: names and amounts, memory in MB.
pub(crate) fn tres(text: &str) -> Vec<(&str, u64)> {
    let pairs = text.split(',').take(MOST_NAMES).filter_map(|part| {
        let (name, amount) = part.split_once('=')?;
        Some((name.trim(), amount_of(name.trim(), amount.trim())?))
    });
    pairs.collect()
}

/// An amount with a unit of 1024.
fn amount_of(name: &str, amount: &str) -> Option<u64> {
    const UNITS: &str = "KMGTPE";
    let end = amount.trim_end_matches(|last: char| last.is_ascii_alphabetic());
    let unit = amount[end.len()..].chars().next().map(|unit| unit.to_ascii_uppercase());
    let power = match unit {
        Some(unit) => 1 + i32::try_from(UNITS.find(unit)?).ok()?,
        None => 0,
    };
    // Memory without a unit is in MB.
    let less = if name == "mem" && power > 0 { 2 } else { 0 };
    let amount = number(end)? * 1024_f64.powi(power - less);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // checked
    (0.0..=9e18).contains(&amount).then(|| amount.round() as u64)
}

/// The value after ` name=` in a line of such pairs, up to the next blank.
pub(crate) fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let mut from = 0;
    while let Some(at) = line[from..].find(name) {
        let (start, end) = (from + at, from + at + name.len());
        let begins = start == 0 || line.as_bytes()[start - 1] == b' ';
        if begins && line.as_bytes().get(end) == Some(&b'=') {
            return Some(line[end + 1..].split(' ').next().unwrap_or_default());
        }
        from = end;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_as_many_parts_as_slurm_prints() {
        for (text, expected) in [
            ("00:05", Some(1)),
            ("10:00", Some(10)),
            ("1:00:00", Some(60)),
            ("1-00:00:00", Some(1440)),
            ("1-02:04:00", Some(1564)),
            ("2-0", Some(2880)),
            ("UNLIMITED", None),
            ("N/A", None),
            ("", None),
            ("1:2:3:4", None),
            ("99999999999999999999-0", None),
            ("18446744073709551615-0", None),
        ] {
            assert_eq!(minutes(text), expected, "{text}");
        }
    }

    #[test]
    fn amounts_have_units_of_1024() {
        assert_eq!(tres("cpu=2,mem=1000M,node=1"), [("cpu", 2), ("mem", 1000), ("node", 1)]);
        assert_eq!(tres("mem=1.50G,gres/gpu:a100=2"), [("mem", 1536), ("gres/gpu:a100", 2)]);
        assert_eq!(tres("mem=2T,mem=7,mem=512K"), [("mem", 2 << 20), ("mem", 7), ("mem", 1)]);
        assert!(tres("N/A").is_empty() && tres("cpu=x,mem=-1,mem=infE,mem=9E9E").is_empty());
    }

    #[test]
    fn a_field_is_a_whole_name() {
        let line = "PartitionName=a TotalNodes=3 Nodes=n[1-3] MaxTime=1-0";
        assert_eq!(field(line, "Nodes"), Some("n[1-3]"));
        assert_eq!(field(line, "MaxTime"), Some("1-0"));
        assert_eq!(field(line, "Time"), None);
    }
}
