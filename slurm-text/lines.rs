//! Reads lines, records of `Name=Value`, and single values in them.

use std::borrow::Cow;
use std::str::FromStr;

/// The most parameters, TRES or fields of a line that are read.
pub const MOST_NAMES: usize = 10_000;

/// The most records of one text that are read.
const MOST_RECORDS: usize = 1_000_000;

/// What could not be read of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    /// How many lines or records.
    pub count: usize,
    /// The number of the first, from 1.
    pub first: usize,
}

impl Unread {
    /// Counts a line, by its number from 1.
    pub fn note(&mut self, line: usize) {
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

/// The beginning of a text, for messages: no control characters, at most 60 characters.
pub fn excerpt(text: &str) -> String {
    text.chars().take(60).map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// `CLUSTER: name`, which the commands print with `-M`.
pub fn is_of_cluster(line: &str) -> bool {
    line.starts_with("CLUSTER: ")
}

/// A value of a column that holds a whole number.
pub fn whole<T: FromStr>(text: &str) -> Option<T> {
    text.trim().parse().ok()
}

/// A finite number.
pub fn number(text: &str) -> Option<f64> {
    text.trim().parse::<f64>().ok().filter(|number| number.is_finite())
}

/// A text, without the blanks around it; empty for what Slurm prints for none.
pub fn text(text: &str) -> &str {
    match text.trim() {
        "(null)" | "N/A" => "",
        text => text,
    }
}

/// The value after ` name=` in a line of such pairs, up to the next blank.
pub fn field<'t>(line: &'t str, name: &str) -> Option<&'t str> {
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

/// The records of `scontrol show partition` or `node`, each as one line and with the number of its first line. Without `-o` a record is
/// several lines, of which all but the first are indented, or begin with another name. `begin` is how a record begins: `PartitionName=`.
pub fn records<'t>(text: &'t str, begin: &str) -> (Vec<(usize, Cow<'t, str>)>, Unread) {
    let (mut records, mut unread) = (Vec::<(usize, Cow<'t, str>)>::new(), Unread::default());
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        if line.starts_with(begin) && records.len() < MOST_RECORDS {
            records.push((number, Cow::Borrowed(line)));
        } else if let (Some((_, record)), true) = (records.last_mut(), is_of_record(line)) {
            let record = record.to_mut();
            record.push(' ');
            record.push_str(line.trim());
        } else if !is_of_cluster(line) && !is_empty_answer(line) {
            unread.note(number);
        }
    }
    (records, unread)
}

/// `   MaxTime=1-0 Nodes=n1`. What `replay --export --anonymise` writes is not indented.
fn is_of_record(line: &str) -> bool {
    line.starts_with([' ', '\t']) || line.split(' ').next().is_some_and(|word| word.contains('='))
}

/// `No partitions in the system`, `No nodes in the system`
fn is_empty_answer(line: &str) -> bool {
    line.starts_with("No ") && line.ends_with(" in the system")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_a_whole_name() {
        let line = "PartitionName=a TotalNodes=3 Nodes=n[1-3] MaxTime=1-0";
        assert_eq!(field(line, "Nodes"), Some("n[1-3]"));
        assert_eq!(field(line, "MaxTime"), Some("1-0"));
        assert_eq!(field(line, "Time"), None);
    }

    #[test]
    fn a_record_is_one_line_however_it_was_printed() {
        let one = "PartitionName=a MaxTime=1-0 Nodes=n1\nPartitionName=b Nodes=n2\n";
        let several = "PartitionName=a\n   MaxTime=1-0 Nodes=n1\n\nPartitionName=b\n   Nodes=n2\n\n";
        let lines = |text: &str| {
            let (records, unread) = records(text, "PartitionName=");
            assert_eq!(unread, Unread::default());
            records.into_iter().map(|(_, record)| record.into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(lines(one), ["PartitionName=a MaxTime=1-0 Nodes=n1", "PartitionName=b Nodes=n2"]);
        assert_eq!(lines(one), lines(several));
        assert_eq!(lines(one), lines(&several.replace("   ", "")));
        assert!(lines("CLUSTER: c\nNo partitions in the system\n").is_empty());
        let (found, unread) = records("NodeName=n1\nnothing\n  CPUTot=3\n", "NodeName=");
        assert_eq!((found.len(), unread), (1, Unread { count: 1, first: 2 }));
    }

    #[test]
    fn messages_show_the_beginning_without_control_characters() {
        assert_eq!(excerpt("a\tb\u{1b}"), "a?b?");
        assert_eq!(excerpt(&"x".repeat(100)).len(), 60);
        assert_eq!(Unread::default().sentence("squeue"), None);
    }
}
