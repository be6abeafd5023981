//! One release's offsets, comparing two releases, and entering a release into the table.
//!
//! A column is what extraction yields and what a group of the table holds, so that "does this tree
//! match what we committed" and "what moved since the release before" are the same comparison.

use std::fmt;

use crate::reasons::ReasonNumbers;
use crate::table::{Group, Table, Version};

/// The offsets of one release.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// The release.
    pub version: Version,
    /// The number of the candidate, where it is one of that release.
    pub candidate: Option<u8>,
    /// Byte offset (or the record's size) by record and field, in the order of the table that the
    /// column belongs to; `None` where the release lacks it.
    pub offsets: Vec<Vec<Option<usize>>>,
}

/// What is read from the headers of a tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Headers {
    /// The offsets of the table's fields.
    pub column: Column,
    /// The reasons for which jobs wait.
    pub reasons: ReasonNumbers,
}

/// One field whose offset (or one record whose size) differs between two columns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// The record's name in the table.
    pub record: String,
    /// The field's newest C name, or `(size)`.
    pub field: String,
    /// Offset in the first column.
    pub before: Option<usize>,
    /// Offset in the second column.
    pub after: Option<usize>,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<44}", format!("{}.{}", self.record, self.field))?;
        match (self.before, self.after) {
            (Some(before), Some(after)) => {
                let sign = if after < before { '-' } else { '+' };
                write!(f, "{before:>5} -> {after:<5} {sign}{} bytes", after.abs_diff(before))
            }
            (None, Some(after)) => write!(f, "    - -> {after:<5} new"),
            (Some(before), None) => write!(f, "{before:>5} -> -     gone"),
            (None, None) => write!(f, "absent in both"),
        }
    }
}

/// What entering a column into a table did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recorded {
    /// The release lies in the verified range of this group already, and is equal.
    Known(usize),
    /// Equal to this group, whose range now reaches to the release.
    Extended(usize),
    /// A new group, at this index.
    Added(usize),
    /// The group at this index was a candidate's, and is now the release's, or that of another candidate.
    Replaced(usize),
}

/// A release in the verified range of a group differs from the committed column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contradiction {
    /// The group.
    pub group: Group,
    /// Committed to extracted.
    pub changes: Vec<Change>,
}

impl Table {
    /// The column of the group at this index.
    ///
    /// # Panics
    /// If there is no such group.
    pub fn column(&self, group: usize) -> Column {
        Column {
            version: self.groups[group].first,
            candidate: self.groups[group].candidate,
            offsets: self
                .records
                .iter()
                .map(|record| record.fields.iter().map(|field| field.offsets[group]).collect())
                .collect(),
        }
    }

    /// Index of the group that a release belongs to: the last one of its major release that begins
    /// at or before it. `None` for a major release that the table does not know, and for a micro
    /// release before the first known one.
    pub fn group_of(&self, version: Version) -> Option<usize> {
        self.groups.iter().rposition(|group| group.first <= version && same_major(group.first, version))
    }

    /// Index of the last group before a release, of whatever major release.
    pub fn group_before(&self, version: Version) -> Option<usize> {
        self.groups.iter().rposition(|group| group.first < version)
    }

    /// What differs between two columns of this table, in its order.
    pub fn changes(&self, before: &Column, after: &Column) -> Vec<Change> {
        let mut changes = Vec::new();
        for (record, (before, after)) in self.records.iter().zip(before.offsets.iter().zip(&after.offsets)) {
            for (field, (&before, &after)) in record.fields.iter().zip(before.iter().zip(after)) {
                if before != after {
                    let (record, field) = (record.name.clone(), field.c_names[0].clone());
                    changes.push(Change { record, field, before, after });
                }
            }
        }
        changes
    }

    /// Whether a candidate may be entered: no release of its series is there yet.
    pub fn takes_candidate(&self, version: Version) -> bool {
        let mut series = self.groups.iter().filter(|group| same_major(group.first, version));
        series.all(|group| group.candidate.is_some())
    }

    /// Enters a release: extends the verified range of the group that it equals, or adds a group
    /// that begins with it. The first release of a series takes the place of its candidate, whatever the layout.
    ///
    /// # Errors
    /// If a release that was verified before differs now; the table is left as it was.
    pub fn record(&mut self, column: &Column) -> Result<Recorded, Contradiction> {
        let version = column.version;
        if let Some(at) =
            self.groups.iter().position(|group| group.candidate.is_some() && same_major(group.first, version))
        {
            self.remove(at);
            self.insert(at, column);
            return Ok(Recorded::Replaced(at));
        }
        if let Some(at) = self.group_of(version) {
            let changes = self.changes(&self.column(at), column);
            let group = &mut self.groups[at];
            return match (changes.is_empty(), version <= group.verified) {
                (true, true) => Ok(Recorded::Known(at)),
                (true, false) => {
                    group.verified = version;
                    Ok(Recorded::Extended(at))
                }
                (false, true) => Err(Contradiction { group: *group, changes }),
                (false, false) => Ok(self.insert(at + 1, column)),
            };
        }
        // Before every group of its major release, or of a major release that is not there yet.
        let next = self.groups.iter().position(|group| group.first > version).unwrap_or(self.groups.len());
        match self.groups.get(next).copied() {
            Some(group)
                if same_major(group.first, version)
                    && self.changes(&self.column(next), column).is_empty() =>
            {
                self.groups[next].first = version;
                Ok(Recorded::Extended(next))
            }
            _ => Ok(self.insert(next, column)),
        }
    }

    fn remove(&mut self, at: usize) {
        self.groups.remove(at);
        for field in self.records.iter_mut().flat_map(|record| &mut record.fields) {
            field.offsets.remove(at);
        }
    }

    fn insert(&mut self, at: usize, column: &Column) -> Recorded {
        let (version, candidate) = (column.version, column.candidate);
        self.groups.insert(at, Group { first: version, verified: version, candidate });
        let fields = self.records.iter_mut().flat_map(|record| &mut record.fields);
        for (field, &offset) in fields.zip(column.offsets.iter().flatten()) {
            field.offsets.insert(at, offset);
        }
        Recorded::Added(at)
    }
}

fn same_major(one: Version, other: Version) -> bool {
    (one.year, one.month) == (other.year, other.month)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(text: &str) -> Version {
        Version::parse(text).unwrap()
    }

    /// The committed column of a release, under another release's number.
    fn renamed(table: &Table, from: &str, to: &str) -> Column {
        let mut column = table.column(table.group_of(release(from)).unwrap());
        column.version = release(to);
        column.candidate = None;
        column
    }

    #[test]
    fn a_release_belongs_to_the_last_group_of_its_major_that_begins_before_it() {
        let table = Table::committed().unwrap();
        let first = |text| table.group_of(release(text)).map(|at| table.groups[at].first.to_string());
        assert_eq!(first("24.11.0").as_deref(), Some("24.11.0"));
        assert_eq!(first("24.11.3").as_deref(), Some("24.11.1"));
        assert_eq!(first("24.11.200").as_deref(), Some("24.11.4"));
        assert_eq!(first("25.08.0"), None);
        assert_eq!(first("20.02.7"), None);
    }

    #[test]
    fn an_equal_release_raises_verified_and_a_known_one_changes_nothing() {
        let committed = Table::committed().unwrap();
        let mut table = committed.clone();
        assert_eq!(table.record(&renamed(&committed, "23.02.0", "23.02.1")), Ok(Recorded::Known(3)));
        assert_eq!(table, committed);
        assert_eq!(table.record(&renamed(&committed, "26.05.5", "26.05.9")), Ok(Recorded::Extended(13)));
        assert_eq!(table.groups[13].verified, release("26.05.9"));
        assert_eq!(table.groups[13].first, release("26.05.5"));
    }

    #[test]
    fn a_different_release_becomes_a_group_of_its_own() {
        let committed = Table::committed().unwrap();
        let mut table = committed.clone();
        assert_eq!(table.record(&renamed(&committed, "25.11.0", "26.05.9")), Ok(Recorded::Added(14)));
        assert_eq!(table.record(&renamed(&committed, "25.11.0", "27.05.0")), Ok(Recorded::Added(16)));
        assert_eq!(table.record(&renamed(&committed, "20.11.0", "20.02.7")), Ok(Recorded::Added(0)));
        let reread = Table::parse(&table.to_tsv()).unwrap();
        assert_eq!(reread, table);
        assert_eq!(reread.column(17).offsets, committed.column(11).offsets);
        assert_eq!(reread.column(1).offsets, committed.column(0).offsets);
    }

    /// What happens on the day of a release, with whichever layout.
    #[test]
    fn a_candidate_has_a_group_until_its_release_takes_the_place() {
        let mut table = Table::committed().unwrap();
        let (layout, other) = (renamed(&table, "26.05.0", "31.05.0"), renamed(&table, "25.11.0", "31.05.0"));
        let candidate = |number| Column { candidate: Some(number), ..layout.clone() };
        assert!(table.takes_candidate(release("31.05.0")));
        assert!(!table.takes_candidate(release("26.05.0")), "its series has releases");
        assert_eq!(table.record(&candidate(1)), Ok(Recorded::Added(15)));
        assert_eq!(table.groups[15].compared(), "31.05.0-0rc1");
        assert_eq!(Table::parse(&table.to_tsv()).unwrap(), table);
        assert_eq!(table.record(&candidate(2)), Ok(Recorded::Replaced(15)));
        assert_eq!(table.groups[15].compared(), "31.05.0-0rc2");
        for release in [&layout, &other] {
            let mut table = table.clone();
            assert_eq!(table.record(release), Ok(Recorded::Replaced(15)));
            assert_eq!((table.groups.len(), table.groups[15].compared().as_str()), (16, "31.05.0"));
            assert_eq!(table.column(15), *release);
            assert!(!table.takes_candidate(release.version));
        }
    }

    #[test]
    fn an_earlier_micro_release_that_is_equal_begins_the_group() {
        let mut table = Table::committed().unwrap();
        let column = renamed(&table, "26.05.0", "27.05.2");
        table.record(&column).unwrap();
        let earlier = Column { version: release("27.05.1"), ..column };
        assert_eq!(table.record(&earlier), Ok(Recorded::Extended(15)));
        let expected = Group { first: release("27.05.1"), verified: release("27.05.2"), candidate: None };
        assert_eq!(table.groups[15], expected);
    }

    #[test]
    fn a_verified_release_that_differs_is_refused() {
        let committed = Table::committed().unwrap();
        let mut table = committed.clone();
        let refusal = table.record(&renamed(&committed, "24.11.1", "24.11.5")).unwrap_err();
        assert_eq!(table, committed);
        assert_eq!(refusal.group.first, release("24.11.4"));
        let lines: Vec<String> = refusal.changes.iter().map(Change::to_string).collect();
        assert!(
            lines
                .iter()
                .any(|line| line.starts_with("job.(size) ") && line.ends_with("1160 -> 1152  -8 bytes")),
            "{lines:#?}"
        );
        assert!(!lines.iter().any(|line| line.starts_with("job.details")), "{lines:#?}");
    }

    #[test]
    fn the_sizes_that_are_checked_at_run_time_tell_every_two_groups_apart() {
        let table = Table::committed().unwrap();
        let sizes = |group: usize| {
            let checked = ["conf", "job", "details", "part", "assoc"];
            checked.map(|name| {
                table.records.iter().find(|record| record.name == name).unwrap().fields[0].offsets[group]
            })
        };
        for group in 0..table.groups.len() {
            for other in 0..group {
                let (one, two) = (table.groups[other].first, table.groups[group].first);
                assert_ne!(sizes(other), sizes(group), "{one} and {two} have equal sizes");
            }
        }
    }
}
