//! A snapshot as a file of JSON lines. The first line says what the file is. Each kind of record has a line with its name and its columns,
//! followed by one array per record, which ends with its last value that is not the default. The last line counts the records, so that a
//! truncated file is noticed. docs/snapshot.md describes the format.

use std::fmt;
use std::io::{self, BufRead, Read, Write};

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::record::{By, Record};
use crate::records::{
    About, Association, Book, BookAssociation, Entry, Grant, Group, Job, Parameter, Partition, Qos, Running,
    Setting, TreeWindow, Tres, Usage, Window,
};
use crate::Snapshot;

/// The version of the format. It changes when a column gets another meaning; new columns and kinds do not change it.
pub const VERSION: u32 = 1;

/// What the first line calls the format.
pub const FORMAT: &str = "multifactor2-snapshot";

/// The longest line that is read, in bytes: a file may come from anywhere.
pub const LONGEST_LINE: u64 = 1 << 20;

/// The most records that are read. A file of this many short ones takes some GB of memory.
pub const MOST_RECORDS: u64 = 4_000_000;

/// The lines that are no records, written and read by hand: a macro of serde for these alone costs the plugin's build more than the rest of
/// this crate.
enum Between<'l> {
    Opening { format: &'l str, version: u32 },
    Heading { kind: &'l str, columns: Vec<&'l str> },
    Closing { records: u64 },
}

impl Serialize for Between<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut line = serializer.serialize_map(None)?;
        match self {
            Self::Opening { format, version } => {
                line.serialize_entry("format", format)?;
                line.serialize_entry("version", version)?;
            }
            Self::Heading { kind, columns } => {
                line.serialize_entry("kind", kind)?;
                line.serialize_entry("columns", columns)?;
            }
            Self::Closing { records } => line.serialize_entry("records", records)?,
        }
        line.end()
    }
}

impl<'l> Between<'l> {
    /// What a line says that has all of one kind, whatever else it has.
    fn of(line: &'l Value) -> Option<Self> {
        let text = |name: &str| line.get(name)?.as_str();
        let number = |name: &str| line.get(name)?.as_u64();
        if let (Some(format), Some(version)) = (text("format"), number("version")) {
            return Some(Self::Opening { format, version: version.try_into().ok()? });
        }
        if let (Some(kind), Some(columns)) = (text("kind"), line.get("columns")) {
            let columns = columns.as_array()?.iter().map(Value::as_str).collect::<Option<_>>()?;
            return Some(Self::Heading { kind, columns });
        }
        Some(Self::Closing { records: number("records")? })
    }
}

/// Why a file cannot be read.
#[derive(Debug)]
pub struct Problem {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong, and what to do.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for Problem {}

/// Writes a snapshot.
///
/// # Errors
/// Those of `out`.
pub fn write(snapshot: &Snapshot, out: &mut impl Write) -> io::Result<()> {
    let mut writer = Writer::begin(out)?;
    writer.all::<About>(std::iter::once(&snapshot.about))?;
    writer.all(snapshot.parameter_records())?;
    if let Some(settings) = &snapshot.settings {
        writer.heading::<Setting>()?;
        settings.iter().try_for_each(|setting| writer.record(setting))?;
    }
    writer.all::<Tres>(&snapshot.tres)?;
    writer.all::<Partition>(&snapshot.partitions)?;
    writer.all::<Qos>(&snapshot.qos)?;
    writer.all::<Association>(&snapshot.associations)?;
    writer.all::<Book>(&snapshot.books)?;
    writer.all::<BookAssociation>(&snapshot.book_associations)?;
    writer.all::<Job>(&snapshot.jobs)?;
    writer.all::<Entry>(&snapshot.entries)?;
    writer.all::<Running>(&snapshot.running)?;
    writer.all::<Usage>(&snapshot.usage)?;
    writer.all::<Window>(&snapshot.windows)?;
    writer.all::<TreeWindow>(&snapshot.tree_windows)?;
    writer.all::<Group>(&snapshot.groups)?;
    writer.all::<Grant>(&snapshot.grants)?;
    writer.end().map(drop)
}

fn line(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

/// Writes a snapshot record by record, for callers that do not have all of them at once. Kinds may come in any order.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    count: u64,
}

impl<W: Write> Writer<W> {
    /// Writes what the file is.
    ///
    /// # Errors
    /// Those of `out`, as everywhere here.
    pub fn begin(mut out: W) -> io::Result<Self> {
        line(&mut out, &Between::Opening { format: FORMAT, version: VERSION })?;
        Ok(Self { out, count: 0 })
    }

    /// Records of a kind follow. To be read with settings, a file has the heading of these, though it may have none.
    ///
    /// # Errors
    /// Those of the file.
    pub fn heading<R: Record>(&mut self) -> io::Result<()> {
        line(&mut self.out, &Between::Heading { kind: R::KIND, columns: R::COLUMNS.to_vec() })
    }

    /// Writes a record of the kind of the last heading.
    ///
    /// # Errors
    /// Those of the file.
    pub fn record<R: Record>(&mut self, record: &R) -> io::Result<()> {
        self.count += 1;
        line(&mut self.out, record)
    }

    /// Writes records with their heading; nothing where there are none.
    ///
    /// # Errors
    /// Those of the file.
    pub fn all<R: Record>(
        &mut self,
        records: impl IntoIterator<Item = impl std::borrow::Borrow<R>>,
    ) -> io::Result<()> {
        let mut records = records.into_iter().peekable();
        if records.peek().is_some() {
            self.heading::<R>()?;
        }
        records.try_for_each(|record| self.record(record.borrow()))
    }

    /// Writes that all is there.
    ///
    /// # Errors
    /// Those of the file.
    pub fn end(mut self) -> io::Result<W> {
        line(&mut self.out, &Between::Closing { records: self.count })?;
        Ok(self.out)
    }
}

/// Reads a snapshot. The input may be anything: what is too long, too much, cut or damaged is a problem, never a crash.
///
/// # Errors
/// The first thing that is wrong.
pub fn read(input: impl BufRead) -> Result<Snapshot, Problem> {
    let mut reader = Reader { input, line: 0, buffer: Vec::new() };
    let version = reader.opening()?;
    if version != VERSION {
        let what = format!(
            "this is version {version} of the format, but only version {VERSION} can be read here: use the command \
             of the release that wrote it"
        );
        return Err(reader.problem(what));
    }
    let mut snapshot = Snapshot::default();
    let mut rows: Option<Option<Rows>> = None;
    let mut count = 0;
    loop {
        if !reader.next()? {
            return Err(reader
                .problem("the end is missing: the file was truncated. Take the snapshot again".to_owned()));
        }
        if reader.buffer.first() == Some(&b'[') {
            count += 1;
            if count > MOST_RECORDS {
                return Err(reader.problem(format!("there are more than {MOST_RECORDS} records")));
            }
            let Some(rows) = &rows else {
                return Err(reader.problem("a heading is missing before this record".to_owned()));
            };
            if let Some(rows) = rows {
                (rows.take)(&mut snapshot, &rows.columns, &reader.buffer)
                    .map_err(|what| reader.problem(what))?;
            }
            continue;
        }
        let between = serde_json::from_slice(&reader.buffer).unwrap_or(Value::Null);
        match Between::of(&between) {
            Some(Between::Heading { kind, columns }) => {
                rows = Some(rows_of(kind, &columns));
                if kind == Setting::KIND {
                    snapshot.settings.get_or_insert_with(Vec::new);
                }
            }
            Some(Between::Closing { records }) if records != count => {
                let what = format!(
                    "the file has {count} records, but its end says {records}: take the snapshot again"
                );
                return Err(reader.problem(what));
            }
            Some(Between::Closing { .. }) => {
                if reader.next()? {
                    return Err(
                        reader.problem("there is more after the end: take the snapshot again".to_owned())
                    );
                }
                return Ok(snapshot);
            }
            Some(Between::Opening { .. }) | None => {
                return Err(reader.problem("this is neither a record nor a heading".to_owned()));
            }
        }
    }
}

struct Reader<I> {
    input: I,
    line: u64,
    buffer: Vec<u8>,
}

impl<I: BufRead> Reader<I> {
    fn problem(&self, what: String) -> Problem {
        Problem { line: self.line, what }
    }

    /// The next line; false at the end.
    fn next(&mut self) -> Result<bool, Problem> {
        self.line += 1;
        self.buffer.clear();
        let read = (&mut self.input).take(LONGEST_LINE).read_until(b'\n', &mut self.buffer);
        let length = read.map_err(|error| self.problem(error.to_string()))?;
        let is_whole = self.buffer.last() == Some(&b'\n');
        if !is_whole && length as u64 == LONGEST_LINE {
            return Err(self.problem(format!("the line is longer than {LONGEST_LINE} bytes")));
        }
        Ok(length > 0)
    }

    /// The version of the format.
    fn opening(&mut self) -> Result<u32, Problem> {
        self.next()?;
        match Between::of(&serde_json::from_slice(&self.buffer).unwrap_or(Value::Null)) {
            Some(Between::Opening { format: FORMAT, version }) => Ok(version),
            _ => Err(self.problem(
                "this is not a snapshot of multifactor2: give the file that Snapshot= in multifactor2.conf names"
                    .to_owned(),
            )),
        }
    }
}

/// Takes a record from a line whose columns have these numbers.
type Take = fn(&mut Snapshot, &[Option<usize>], &[u8]) -> Result<(), String>;

/// How the records below a heading are read.
struct Rows {
    /// For each column of the file its number in [`Record::COLUMNS`]; `None` for one of a newer release.
    columns: Vec<Option<usize>>,
    take: Take,
}

/// Says for each kind where its records go.
macro_rules! kinds {
    ($($kind:ident: $put:expr;)+) => {
        /// `None` for a kind of a newer release.
        fn rows_of(kind: &str, columns: &[&str]) -> Option<Rows> {
            $(if kind == $kind::KIND {
                let place = |name: &&str| $kind::COLUMNS.iter().position(|known| known == name);
                return Some(Rows {
                    columns: columns.iter().map(place).collect(),
                    take: |snapshot, columns, line| {
                        let put: fn(&mut Snapshot, $kind) = $put;
                        put(snapshot, parse(columns, line)?);
                        Ok(())
                    },
                });
            })+
            None
        }
    };
}

kinds! {
    About: |snapshot, about| snapshot.about = about;
    Parameter: |snapshot, Parameter { name, value }| drop(snapshot.parameters.insert(name, value));
    Setting: |snapshot, setting| snapshot.settings.get_or_insert_with(Vec::new).push(setting);
    Tres: |snapshot, tres| snapshot.tres.push(tres);
    Partition: |snapshot, partition| snapshot.partitions.push(partition);
    Qos: |snapshot, qos| snapshot.qos.push(qos);
    Association: |snapshot, association| snapshot.associations.push(association);
    Book: |snapshot, book| snapshot.books.push(book);
    BookAssociation: |snapshot, association| snapshot.book_associations.push(association);
    Job: |snapshot, job| snapshot.jobs.push(job);
    Entry: |snapshot, entry| snapshot.entries.push(entry);
    Running: |snapshot, running| snapshot.running.push(running);
    Usage: |snapshot, usage| snapshot.usage.push(usage);
    Window: |snapshot, window| snapshot.windows.push(window);
    TreeWindow: |snapshot, window| snapshot.tree_windows.push(window);
    Group: |snapshot, group| snapshot.groups.push(group);
    Grant: |snapshot, grant| snapshot.grants.push(grant);
}

fn parse<R: Record>(columns: &[Option<usize>], line: &[u8]) -> Result<R, String> {
    let mut deserializer = serde_json::Deserializer::from_slice(line);
    let seed = By { columns, record: R::default() };
    let record = serde::de::DeserializeSeed::deserialize(seed, &mut deserializer);
    record
        .and_then(|record| deserializer.end().map(|()| record))
        .map_err(|error| format!("{}: {error}", R::KIND))
}
