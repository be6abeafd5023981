//! A snapshot as a file: JSON lines. The first line says what the file is. Each kind of record has a line with its name and its columns,
//! followed by one array a record. The last line counts them, so that half a file is noticed. docs/snapshot.md describes it.

use std::fmt;
use std::io::{self, BufRead, Read, Write};

use serde::{Deserialize, Serialize};

use crate::records::{
    About, Association, Book, BookAssociation, By, Entry, Group, Job, Parameter, Partition, Qos, Record,
    Running, Setting, Tres, Usage,
};
use crate::Snapshot;

/// The version of the format. It changes when a column gets another meaning; new columns and kinds do not change it.
pub const VERSION: u32 = 1;

/// What the first line calls the format.
pub const FORMAT: &str = "multifactor2-snapshot";

/// The longest line that is read, in bytes: a file may come from anywhere.
pub const LONGEST_LINE: u64 = 1 << 20;

/// The most records that are read.
pub const MOST_RECORDS: u64 = 20_000_000;

#[derive(Serialize, Deserialize)]
struct Opening {
    format: String,
    version: u32,
}

#[derive(Serialize, Deserialize)]
struct Heading {
    kind: String,
    columns: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Closing {
    records: u64,
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
    line(out, &Opening { format: FORMAT.to_owned(), version: VERSION })?;
    let mut count = 0;
    let mut writer = Writer { out, count: &mut count };
    writer.all::<About>(std::iter::once(&snapshot.about))?;
    writer.all(snapshot.parameter_records())?;
    if let Some(settings) = &snapshot.settings {
        writer.heading::<Setting>()?;
        writer.rows::<Setting>(settings)?;
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
    writer.all::<Group>(&snapshot.groups)?;
    line(out, &Closing { records: count })
}

fn line(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

struct Writer<'w, W> {
    out: &'w mut W,
    count: &'w mut u64,
}

impl<W: Write> Writer<'_, W> {
    fn heading<R: Record>(&mut self) -> io::Result<()> {
        let columns = R::COLUMNS.iter().map(|column| (*column).to_owned()).collect();
        line(self.out, &Heading { kind: R::KIND.to_owned(), columns })
    }

    fn rows<R: Record>(
        &mut self,
        rows: impl IntoIterator<Item = impl std::borrow::Borrow<R>>,
    ) -> io::Result<()> {
        for row in rows {
            line(self.out, row.borrow())?;
            *self.count += 1;
        }
        Ok(())
    }

    /// Nothing where there is nothing.
    fn all<R: Record>(
        &mut self,
        rows: impl IntoIterator<Item = impl std::borrow::Borrow<R>>,
    ) -> io::Result<()> {
        let mut rows = rows.into_iter().peekable();
        if rows.peek().is_some() {
            self.heading::<R>()?;
            self.rows(rows)?;
        }
        Ok(())
    }
}

/// Reads a snapshot. The input may be anything: what is too long, too much, cut or damaged is a problem, never a crash.
///
/// # Errors
/// The first thing that is wrong.
pub fn read(input: impl BufRead) -> Result<Snapshot, Problem> {
    let mut reader = Reader { input, line: 0, buffer: Vec::new() };
    let opening: Opening = reader.opening()?;
    if opening.version != VERSION {
        let what = format!(
            "this is version {} of the format, and version {VERSION} can be read here: use the command of the release that wrote it",
            opening.version
        );
        return Err(reader.problem(what));
    }
    let mut snapshot = Snapshot::default();
    let (mut kind, mut columns) = (String::new(), Vec::new());
    let mut count = 0;
    loop {
        if !reader.next()? {
            return Err(
                reader.problem("the end is missing: the file was cut. Take the snapshot again".to_owned())
            );
        }
        if reader.buffer.first() == Some(&b'[') {
            count += 1;
            if count > MOST_RECORDS {
                return Err(reader.problem(format!("there are more than {MOST_RECORDS} records")));
            }
            snapshot.take(&kind, &columns, &reader.buffer).map_err(|what| reader.problem(what))?;
        } else if let Ok(heading) = serde_json::from_slice::<Heading>(&reader.buffer) {
            columns = heading.columns;
            kind = heading.kind;
            if kind == Setting::KIND {
                snapshot.settings.get_or_insert_with(Vec::new);
            }
        } else if let Ok(Closing { records }) = serde_json::from_slice(&reader.buffer) {
            if records != count {
                let what =
                    format!("the file has {count} records and says {records}: take the snapshot again");
                return Err(reader.problem(what));
            }
            return Ok(snapshot);
        } else {
            return Err(reader.problem("this is neither a record nor the heading of some".to_owned()));
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

    fn opening(&mut self) -> Result<Opening, Problem> {
        self.next()?;
        let opening = serde_json::from_slice::<Opening>(&self.buffer).ok();
        opening.filter(|opening| opening.format == FORMAT).ok_or_else(|| {
            self.problem("this is no snapshot of multifactor2: give the file that Snapshot= in multifactor2.conf names".to_owned())
        })
    }
}

fn parse<R: Record>(names: &[String], line: &[u8]) -> Result<R, String> {
    let columns: Vec<Option<usize>> =
        names.iter().map(|name| R::COLUMNS.iter().position(|known| known == name)).collect();
    let mut deserializer = serde_json::Deserializer::from_slice(line);
    let seed = By { columns: &columns, record: R::default() };
    let record = serde::de::DeserializeSeed::deserialize(seed, &mut deserializer);
    record
        .and_then(|record| deserializer.end().map(|()| record))
        .map_err(|error| format!("{}: {error}", R::KIND))
}

impl Snapshot {
    fn take(&mut self, kind: &str, names: &[String], line: &[u8]) -> Result<(), String> {
        match kind {
            About::KIND => self.about = parse(names, line)?,
            Parameter::KIND => {
                let Parameter { name, value } = parse(names, line)?;
                self.parameters.insert(name, value);
            }
            Setting::KIND => self.settings.get_or_insert_with(Vec::new).push(parse(names, line)?),
            Tres::KIND => self.tres.push(parse(names, line)?),
            Partition::KIND => self.partitions.push(parse(names, line)?),
            Qos::KIND => self.qos.push(parse(names, line)?),
            Association::KIND => self.associations.push(parse(names, line)?),
            Book::KIND => self.books.push(parse(names, line)?),
            BookAssociation::KIND => self.book_associations.push(parse(names, line)?),
            Job::KIND => self.jobs.push(parse(names, line)?),
            Entry::KIND => self.entries.push(parse(names, line)?),
            Running::KIND => self.running.push(parse(names, line)?),
            Usage::KIND => self.usage.push(parse(names, line)?),
            Group::KIND => self.groups.push(parse(names, line)?),
            // Of a newer release.
            _ => (),
        }
        Ok(())
    }
}
