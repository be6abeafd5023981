//! Why a job waits: the names and numbers of Slurm's `enum job_state_reason`, by release: `reasons.tsv`, and its Rust source.
//!
//! One number means different things in different releases, so code names reasons, and the running release says which number
//! that is. The table has every name of every release: whatever reads the headers of a tree compares all of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::table::{TableError, Version};

/// The committed table, as text.
pub const REASONS_TSV: &str = include_str!("../reasons.tsv");

/// The reasons of one release: numbers by name.
pub type ReasonNumbers = BTreeMap<String, u32>;

/// A name that has one number over a range of releases.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reason {
    /// The name in Slurm's headers.
    pub name: String,
    /// Its number.
    pub value: u32,
    /// The first release that has both.
    pub since: Version,
    /// The first one that has not; `None` where there is none so far.
    pub until: Option<Version>,
}

impl Reason {
    fn is_of(&self, release: Version) -> bool {
        self.since <= release && self.until.is_none_or(|until| release < until)
    }
}

/// The whole table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reasons {
    /// The rows, by number and release.
    pub rows: Vec<Reason>,
}

/// A name whose number differs between the table and a tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReasonChange {
    /// The name.
    pub name: String,
    /// Its number in the table.
    pub before: Option<u32>,
    /// Its number in the tree.
    pub after: Option<u32>,
}

impl std::fmt::Display for ReasonChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let number = |value: Option<u32>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
        write!(f, "{:<44}{:>5} -> {}", self.name, number(self.before), number(self.after))
    }
}

impl Reasons {
    /// The committed table.
    ///
    /// # Errors
    /// Only when `reasons.tsv` itself is damaged.
    pub fn committed() -> Result<Self, TableError> {
        Self::parse(REASONS_TSV)
    }

    /// Parses a table.
    ///
    /// # Errors
    /// The first line that does not fit, with what is allowed there.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
        let (at, header) = lines.next().unwrap_or((0, ""));
        if header != HEADER {
            return Err(fail(at, format!("the header must be '{}'", HEADER.replace('\t', " "))));
        }
        let rows = lines.map(|(at, line)| row(line).map_err(|message| fail(at, message)));
        Ok(Self { rows: rows.collect::<Result<_, _>>()? })
    }

    /// The table as text, as it is committed (without the leading comments).
    pub fn to_tsv(&self) -> String {
        let mut text = format!("{HEADER}\n");
        for Reason { name, value, since, until } in &self.rows {
            let until = until.map_or_else(|| "-".to_owned(), |until| until.to_string());
            let _ = writeln!(text, "{name}\t{value}\t{since}\t{until}");
        }
        text
    }

    /// The reasons of a release. One that is newer than all that were compared has those of the newest before it.
    pub fn of(&self, release: Version) -> ReasonNumbers {
        let rows = self.rows.iter().filter(|row| row.is_of(release));
        rows.map(|row| (row.name.clone(), row.value)).collect()
    }

    /// How the reasons of a tree differ from those that the table has for its release.
    pub fn changes(&self, release: Version, found: &ReasonNumbers) -> Vec<ReasonChange> {
        let committed = self.of(release);
        let number = |numbers: &ReasonNumbers, name: &str| numbers.get(name).copied();
        let mut names: Vec<&String> = committed.keys().chain(found.keys()).collect();
        names.sort();
        names.dedup();
        names
            .into_iter()
            .map(|name| ReasonChange {
                name: name.clone(),
                before: number(&committed, name),
                after: number(found, name),
            })
            .filter(|change| change.before != change.after)
            .collect()
    }

    /// Enters the reasons of a release, which also hold after it, before `next`: the first release that is known to have its own.
    pub fn record(&mut self, release: Version, next: Option<Version>, found: &ReasonNumbers) {
        for change in self.changes(release, found) {
            if let Some(value) = change.before {
                self.remove(&change.name, value, release, next);
            }
            if let Some(value) = change.after {
                self.insert(&change.name, value, release, next);
            }
        }
        self.rows.sort_by_key(|row| (row.value, row.since));
    }

    fn remove(&mut self, name: &str, value: u32, since: Version, next: Option<Version>) {
        let is_it = |row: &&mut Reason| row.name == name && row.value == value && row.is_of(since);
        let Some(row) = self.rows.iter_mut().find(is_it) else { return };
        let rest = next.filter(|next| row.until.is_none_or(|until| *next < until));
        let rest = rest.map(|since| Reason { since, ..row.clone() });
        row.until = Some(since);
        self.rows.extend(rest);
        self.rows.retain(|row| row.until.is_none_or(|until| row.since < until));
    }

    fn insert(&mut self, name: &str, value: u32, since: Version, until: Option<Version>) {
        let mut new = Reason { name: name.to_owned(), value, since, until };
        self.rows.retain(|row| {
            let same = row.name == name && row.value == value;
            if same && row.until == Some(new.since) {
                new.since = row.since;
                false
            } else if same && Some(row.since) == new.until {
                new.until = row.until;
                false
            } else {
                true
            }
        });
        self.rows.push(new);
    }
}

const HEADER: &str = "name\tvalue\tsince\tuntil";

fn fail(at: usize, message: impl Into<String>) -> TableError {
    TableError { file: "reasons.tsv", line: at + 1, message: message.into() }
}

fn row(line: &str) -> Result<Reason, String> {
    let [name, value, since, until] = line.split('\t').collect::<Vec<_>>()[..] else {
        return Err("four cells expected".to_owned());
    };
    let release =
        |text: &str| Version::parse(text).ok_or_else(|| format!("'{text}' is not a release such as 24.11.4"));
    let value = value.parse().map_err(|_| format!("'{value}' is not a number"))?;
    let since = release(since)?;
    let until = if until == "-" { None } else { Some(release(until)?) };
    if until.is_some_and(|until| until <= since) {
        return Err("the range ends before it begins".to_owned());
    }
    Ok(Reason { name: name.to_owned(), value, since, until })
}

/// The static `REASONS`, and `REASONS_BUILT_FOR`: those of a source tree, which go before the table in exactly that release.
/// `src/host/reasons.rs` defines the type of a row.
pub fn reasons_source(reasons: &Reasons, built_for: Option<(Version, &ReasonNumbers)>) -> String {
    let mut text = String::from("// Generated from slurm-headers/reasons.tsv by build.rs.\n");
    text.push_str("/// All reasons of all releases.\npub static REASONS: &[Reason] = &[\n");
    for Reason { name, value, since, until } in &reasons.rows {
        let until = until.map_or(u32::MAX, Version::number);
        let since = since.number();
        let _ = writeln!(
            text,
            "    Reason {{ name: {name:?}, value: {value}, since: {since:#x}, until: {until:#x} }},"
        );
    }
    text.push_str("];\n/// The release that this build was made for, with its reasons.\n");
    let built_for = built_for.map_or_else(
        || "None".to_owned(),
        |(version, numbers)| {
            let pairs: Vec<_> = numbers.iter().map(|(name, value)| (name.as_str(), *value)).collect();
            format!("Some(({:#x}, &{pairs:?}))", version.number())
        },
    );
    let _ = writeln!(text, "pub static REASONS_BUILT_FOR: Option<(u32, &[(&str, u32)])> = {built_for};");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(text: &str) -> Version {
        Version::parse(text).unwrap()
    }

    #[test]
    fn the_committed_table_survives_a_round_trip_and_each_name_and_number_is_there_once_in_a_release() {
        let reasons = Reasons::committed().unwrap();
        assert_eq!(Reasons::parse(&reasons.to_tsv()).unwrap(), reasons);
        for group in crate::Table::committed().unwrap().groups {
            for version in [group.first, group.verified] {
                let rows: Vec<&Reason> = reasons.rows.iter().filter(|row| row.is_of(version)).collect();
                let numbers = reasons.of(version);
                let values: std::collections::BTreeSet<u32> = numbers.values().copied().collect();
                assert!(numbers.len() > 190, "{version}");
                assert_eq!((numbers.len(), values.len()), (rows.len(), rows.len()), "{version}");
            }
        }
    }

    #[test]
    fn a_number_means_what_it_means_in_its_release() {
        let reasons = Reasons::committed().unwrap();
        for (version, name, expected) in [
            ("22.05.11", "WAIT_BLOCK_MAX_ERR", Some(33)),
            ("22.05.11", "FAIL_SIGNAL", None),
            ("23.02.0", "FAIL_SIGNAL", Some(33)),
            ("25.05.8", "WAIT_FRONT_END", None),
            ("25.11.0", "WAIT_NVIDIA_IMEX_CHANNELS", Some(17)),
            ("23.02.2", "WAIT_RESV_INVALID", None),
            ("23.02.3", "WAIT_RESV_INVALID", Some(199)),
            ("23.11.99", "WAIT_POWER_RESERVED", Some(77)),
            ("24.05.0", "WAIT_POWER_RESERVED", None),
            ("26.05.99", "WAIT_MPI_PORTS_BUSY", Some(220)),
        ] {
            assert_eq!(reasons.of(release(version)).get(name).copied(), expected, "{name} in {version}");
        }
    }

    #[test]
    fn a_release_is_entered_up_to_the_next_that_is_known() {
        let committed = Reasons::committed().unwrap();
        let mut reasons = committed.clone();
        let (version, next) = (release("24.11.8"), release("25.05.0"));
        let mut found = reasons.of(version);
        found.remove("WAIT_HELD");
        found.insert("WAIT_NEW".to_owned(), 8);
        assert_eq!(reasons.changes(version, &found).len(), 2);
        reasons.record(version, Some(next), &found);
        assert_eq!(reasons.of(version), found);
        assert_eq!(reasons.of(release("24.11.7")), committed.of(version));
        assert_eq!(reasons.of(next), committed.of(next));
        assert_eq!(Reasons::parse(&reasons.to_tsv()).unwrap(), reasons);
        // And back again.
        reasons.record(version, Some(next), &committed.of(version));
        assert_eq!(reasons, committed);
        // The newest, from then on.
        reasons.record(release("27.05.0"), None, &found);
        assert_eq!(reasons.of(release("27.05.0")), found);
        assert_eq!(reasons.of(release("26.05.5")), committed.of(release("26.05.5")));
    }

    #[test]
    fn damaged_lines_are_named() {
        for (line, why) in [
            ("A\t1\t20.11.0", "four cells"),
            ("A\tx\t20.11.0\t-", "'x' is not a number"),
            ("A\t1\tsoon\t-", "'soon' is not a release"),
            ("A\t1\t21.08.0\t20.11.0", "ends before it begins"),
        ] {
            let error = Reasons::parse(&format!("# a comment\n{HEADER}\n{line}\n")).unwrap_err().to_string();
            assert!(error.starts_with("reasons.tsv line 3: ") && error.contains(why), "{error}");
        }
        assert!(Reasons::parse("name\n").unwrap_err().to_string().contains("the header must be"));
    }

    #[test]
    fn the_source_has_all_rows_and_those_of_a_tree_beside_them() {
        let reasons = Reasons::committed().unwrap();
        let text = reasons_source(&reasons, None);
        assert!(text
            .contains("Reason { name: \"WAIT_FRONT_END\", value: 17, since: 0x140b00, until: 0x190500 },"));
        assert!(text.ends_with("= None;\n"));
        let numbers = ReasonNumbers::from([("WAIT_NEW".to_owned(), 5)]);
        let text = reasons_source(&reasons, Some((release("27.05.0"), &numbers)));
        assert!(text.ends_with("= Some((0x1b0500, &[(\"WAIT_NEW\", 5)]));\n"), "{text}");
    }
}
