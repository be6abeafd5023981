//! The table of layouts: parsing `layouts.tsv` and writing it back.

use std::fmt::{self, Write as _};

/// A Slurm release number, `major` being `year.month`, for example 24.11.4.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Version {
    /// Year of the major release, two digits (20 to 255).
    pub year: u8,
    /// Month of the major release (1 to 12).
    pub month: u8,
    /// Micro release.
    pub micro: u8,
}

impl Version {
    /// Parses `24.11.4`; `24.11` means `24.11.0`. A suffix such as `-0rc1` is not accepted.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let mut number = || parts.next().map(str::parse::<u8>);
        let year = number()?.ok()?;
        let month = number()?.ok()?;
        let micro = number().unwrap_or(Ok(0)).ok()?;
        parts.next().is_none().then_some(Self { year, month, micro })
    }

    /// The number that Slurm calls `SLURM_VERSION_NUMBER`: `year << 16 | month << 8 | micro`.
    pub fn number(self) -> u32 {
        u32::from(self.year) << 16 | u32::from(self.month) << 8 | u32::from(self.micro)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}.{:02}.{}", self.year, self.month, self.micro)
    }
}

/// How the plugin reads a field. The width is part of the contract: a release that changes the
/// width of a field needs a new kind, not only a new offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldKind {
    /// The size of the record itself.
    Size,
    /// `uint16_t`
    U16,
    /// `uint32_t`, an enumeration or an `int` of four bytes
    U32,
    /// `uint64_t`
    U64,
    /// `time_t`
    I64,
    /// `double`
    F64,
    /// `long double`, 16 bytes: 80 bits used on x86-64, IEEE binary128 on aarch64
    LongDouble,
    /// Any pointer
    Ptr,
    /// `slurm_step_id_t`, 24 bytes where it is embedded in a record that the plugin copies
    Step,
}

impl FieldKind {
    /// Name in the table, Rust marker type in the generated source, bytes (0 for a size).
    const ALL: [(FieldKind, &'static str, &'static str, usize); 9] = [
        (FieldKind::Size, "size", "usize", 0),
        (FieldKind::U16, "u16", "u16", 2),
        (FieldKind::U32, "u32", "u32", 4),
        (FieldKind::U64, "u64", "u64", 8),
        (FieldKind::I64, "i64", "i64", 8),
        (FieldKind::F64, "f64", "f64", 8),
        (FieldKind::LongDouble, "ld", "LongDouble", 16),
        (FieldKind::Ptr, "ptr", "Ptr", 8),
        (FieldKind::Step, "step", "StepId", 24),
    ];

    fn row(self) -> &'static (FieldKind, &'static str, &'static str, usize) {
        // Every variant is in ALL; the unit test `every_kind_is_listed` holds that.
        Self::ALL.iter().find(|row| row.0 == self).unwrap_or(&Self::ALL[0])
    }

    /// The name of the kind in the table.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// The Rust type that the generated source names for it.
    pub fn rust_type(self) -> &'static str {
        self.row().2
    }

    /// Width in bytes; 0 for [`Kind::Size`].
    pub fn bytes(self) -> usize {
        self.row().3
    }

    fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|row| row.1 == name).map(|row| row.0)
    }
}

/// One row of the table: a field of a record and its offset in every group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// Names in Slurm's headers, newest first.
    pub c_names: Vec<String>,
    /// How it is read.
    pub kind: FieldKind,
    /// True where some release lacks it.
    pub optional: bool,
    /// Byte offset (or the record's size) by group; `None` where the release lacks it.
    pub offsets: Vec<Option<usize>>,
}

impl Field {
    /// The name in the generated source: the newest C name, or `size`.
    pub fn rust_name(&self) -> &str {
        match self.kind {
            FieldKind::Size => "size",
            _ => &self.c_names[0],
        }
    }
}

/// A record of Slurm's, with the rows that belong to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// Name in the generated source.
    pub name: String,
    /// Type names in Slurm's headers, newest first. A tag without typedef is written without `struct`.
    pub c_types: Vec<String>,
    /// Its fields; the first is the size.
    pub fields: Vec<Field>,
}

/// A group of releases with identical layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Group {
    /// The first release with this layout; the group ends where the next one begins.
    pub first: Version,
    /// The newest release whose headers were compared with this column.
    pub verified: Version,
    /// The number of the release candidate whose headers these are, as long as the release itself is not there: the layout
    /// is provisional, because candidates have had other ones than their release (26.05.0-0rc1). `None` for every other group.
    pub candidate: Option<u8>,
}

impl Group {
    /// What was compared last, as Slurm calls itself: `24.11.7`, or `26.11.0-0rc1` for a candidate.
    pub fn compared(self) -> String {
        let candidate = self.candidate.map_or_else(String::new, |number| format!("{CANDIDATE}{number}"));
        format!("{}{candidate}", self.verified)
    }
}

/// What stands between the release and the number of a candidate.
const CANDIDATE: &str = "-0rc";

/// The whole table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// The groups, oldest first.
    pub groups: Vec<Group>,
    /// The records.
    pub records: Vec<Record>,
}

/// What is wrong with a table, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableError {
    /// The file of this crate.
    pub file: &'static str,
    /// Line number, from 1; 0 where the table as a whole is meant.
    pub line: usize,
    /// What is wrong and what is allowed.
    pub message: String,
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} line {}: {}", self.file, self.line, self.message)
    }
}

impl std::error::Error for TableError {}

/// Columns before the first group: record, C type, C field, kind.
const LEADING: usize = 4;

impl Table {
    /// The committed table.
    ///
    /// # Errors
    /// Only when `layouts.tsv` itself is damaged.
    pub fn committed() -> Result<Self, TableError> {
        Self::parse(crate::LAYOUTS_TSV)
    }

    /// Parses the text of a table.
    ///
    /// # Errors
    /// The first line that does not fit, with what is allowed there.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let mut lines = text
            .lines()
            .enumerate()
            .map(|(at, line)| (at + 1, line))
            .filter(|(_, line)| !line.starts_with('#') && !line.trim().is_empty());
        let mut header = || lines.next().ok_or_else(|| fail(0, "two header lines expected"));
        let first = versions(header()?, Version::parse)?;
        let verified = versions(header()?, compared)?;
        if first.len() != verified.len() || !first.windows(2).all(|pair| pair[0] < pair[1]) {
            return Err(fail(0, "the two header lines must name the same groups, oldest first"));
        }
        let groups = first
            .into_iter()
            .zip(verified)
            .map(|(first, (verified, candidate))| Group { first, verified, candidate })
            .collect::<Vec<_>>();
        let mut records: Vec<Record> = Vec::new();
        for (at, line) in lines {
            let cells: Vec<&str> = line.split('\t').collect();
            if cells.len() != LEADING + groups.len() {
                return Err(fail(at, format!("{} cells expected", LEADING + groups.len())));
            }
            let field = field(at, &cells)?;
            let known = records.last_mut().filter(|record| record.name == cells[0]);
            match (known, field.kind) {
                (None, FieldKind::Size) => records.push(Record {
                    name: cells[0].to_owned(),
                    c_types: names(cells[1]),
                    fields: vec![field],
                }),
                (Some(record), kind) if kind != FieldKind::Size => record.fields.push(field),
                _ => return Err(fail(at, "a record begins with its one (size) row")),
            }
        }
        Ok(Self { groups, records })
    }

    /// The table as text, as it is committed (without the leading comments).
    pub fn to_tsv(&self) -> String {
        let versions =
            |name: fn(&Group) -> String| self.groups.iter().map(name).collect::<Vec<_>>().join("\t");
        let mut text = format!(
            "record\tc_type\tc_field\tkind\t{}\n(verified)\t-\t-\tthrough\t{}\n",
            versions(|group| group.first.to_string()),
            versions(|group| group.compared())
        );
        for record in &self.records {
            for field in &record.fields {
                let cells: Vec<String> = field
                    .offsets
                    .iter()
                    .map(|offset| offset.map_or_else(|| "-".to_owned(), |at| at.to_string()))
                    .collect();
                let _ = writeln!(
                    text,
                    "{}\t{}\t{}\t{}{}\t{}",
                    record.name,
                    record.c_types.join("|"),
                    field.c_names.join("|"),
                    field.kind.name(),
                    if field.optional { "?" } else { "" },
                    cells.join("\t")
                );
            }
        }
        text
    }
}

fn fail(line: usize, message: impl Into<String>) -> TableError {
    TableError { file: "layouts.tsv", line, message: message.into() }
}

fn names(cell: &str) -> Vec<String> {
    cell.split('|').map(str::to_owned).collect()
}

fn versions<T>((at, line): (usize, &str), parse: fn(&str) -> Option<T>) -> Result<Vec<T>, TableError> {
    line.split('\t')
        .skip(LEADING)
        .map(|cell| parse(cell).ok_or_else(|| fail(at, format!("'{cell}' is not a release such as 24.11.4"))))
        .collect()
}

/// Reads what [`Group::compared`] writes.
fn compared(cell: &str) -> Option<(Version, Option<u8>)> {
    match cell.split_once(CANDIDATE) {
        None => Some((Version::parse(cell)?, None)),
        Some((release, number)) => Some((Version::parse(release)?, Some(number.parse().ok()?))),
    }
}

fn field(at: usize, cells: &[&str]) -> Result<Field, TableError> {
    let (name, optional) = match cells[3].strip_suffix('?') {
        Some(name) => (name, true),
        None => (cells[3], false),
    };
    let kind = FieldKind::parse(name).ok_or_else(|| {
        let allowed: Vec<&str> = FieldKind::ALL.iter().map(|row| row.1).collect();
        fail(at, format!("kind '{name}' is not one of {}", allowed.join(", ")))
    })?;
    let offsets = cells[LEADING..]
        .iter()
        .map(|cell| match *cell {
            "-" if optional => Ok(None),
            number => number.parse().map(Some).map_err(|_| {
                fail(at, format!("'{number}' is not an offset (and '-' needs a kind with '?')"))
            }),
        })
        .collect::<Result<_, _>>()?;
    Ok(Field { c_names: names(cells[2]), kind, optional, offsets })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_listed() {
        for (kind, name, ..) in FieldKind::ALL {
            assert_eq!(FieldKind::parse(name), Some(kind));
            assert_eq!(kind.name(), name);
        }
    }

    #[test]
    fn the_committed_table_survives_a_round_trip() {
        let table = Table::committed().unwrap();
        assert_eq!(Table::parse(&table.to_tsv()).unwrap(), table);
        assert_eq!(table.groups.len(), 15);
    }

    /// A candidate has the number of its release: a later group would never be chosen.
    #[test]
    fn only_the_last_group_can_be_a_candidates() {
        let table = Table::committed().unwrap();
        let (_, before) = table.groups.split_last().unwrap();
        assert!(before.iter().all(|group| group.candidate.is_none()));
    }

    #[test]
    fn versions_parse_and_number_as_slurm_numbers_them() {
        assert_eq!(Version::parse("26.05.3").unwrap().number(), 0x1a_05_03);
        assert_eq!(Version::parse("22.05"), Version::parse("22.05.0"));
        assert_eq!(Version::parse("22.05.8.1"), None);
        assert_eq!(Version::parse("22.05.0rc1"), None);
        assert_eq!(Version::parse("22.05.8").unwrap().to_string(), "22.05.8");
    }

    #[test]
    fn errors_name_the_line() {
        let text = "record\tt\tf\tkind\t20.11.0\n(verified)\t-\t-\tthrough\t20.11.9\njob\tjob_record_t\t(size)\tsize\tx\n";
        let error = Table::parse(text).unwrap_err();
        assert_eq!(error.line, 3);
        assert!(error.to_string().contains("'x' is not an offset"));
    }
}
