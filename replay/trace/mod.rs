//! Reads what sites have of their past into a [`Workload`]: sacct's output, the Standard Workload Format, or a directory that also has
//! outputs of sacctmgr and scontrol.
//!
//! A bad line is reported and left out ([`problems`]). Only a file that is none of these formats is an error. Input may be hostile: lines,
//! names and counts have bounds, and memory grows with the jobs that are kept, not with what is read.

pub mod associations;
pub mod cluster;
pub mod config;
pub mod directory;
pub mod events;
mod limits;
mod lines;
pub mod problems;
pub mod reasons;
mod sacct;
pub mod slurm_conf;
mod swf;

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use slurm_text::lines::excerpt;

use crate::workload::{Builder, TooMany, Workload};
use lines::Lines;
use problems::Problems;

pub use sacct::COLUMNS;

/// The command whose output is a trace: allocations only, sizes without units, times in seconds since 1970.
pub const SACCT: &str = "SLURM_TIME_FORMAT=%s sacct -a -D -X -P --noconvert -S 2024-01-01 -E now -o Cluster,JobIDRaw,JobID,User,Account,Partition,QOS,Submit,Eligible,Start,End,Timelimit,ReqTRES,AllocTRES,State,Priority,Reason,Flags,Constraints,Reservation,Suspended";

/// What a trace of jobs alone does not tell.
pub const MACHINE: &str = "the machine";

/// How a trace is collected by hand, file by file of a directory.
pub fn how() -> String {
    let mut text = String::from(
        "A trace is the output of this command with your dates, in a file (.gz too). Other columns are ignored, and the order \
         does not matter:\n\n  ",
    );
    text.push_str(SACCT);
    text.push_str(
        "\n\nOr a directory with any of these files (.gz too), of which only the first is needed:\n\n",
    );
    for file in directory::FILES {
        let directory::TraceFile { name, command, gives } = file;
        text.extend([format!("  {name:<20} {command}\n"), format!("  {:20} {gives}\n", "")]);
    }
    text.push_str(
        "\nWithout config.txt, partitions.txt and nodes.txt, a slurm.conf in the directory is used, with its includes.\n",
    );
    text.push_str("\nOr a file in the Standard Workload Format 2.2.\n");
    text
}

/// A file that is no trace.
#[derive(Debug)]
pub enum TraceError {
    /// It cannot be opened or read.
    Io {
        /// Which.
        file: String,
        /// Why.
        error: io::Error,
    },
    /// It is something else.
    Foreign {
        /// Which.
        file: String,
        /// What it looks like, and what to do.
        why: String,
    },
    /// There is no job in it that can be replayed.
    NoJobs {
        /// Which.
        file: String,
        /// What was wrong with those that there are.
        problems: Box<Problems>,
    },
    /// It has more of something than is taken.
    TooMany {
        /// Which.
        file: String,
        /// The line.
        line: u64,
        /// Of what.
        what: TooMany,
    },
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { file, error } => write!(f, "{file}: {error}"),
            Self::Foreign { file, why } => write!(f, "{file}: {why}"),
            Self::NoJobs { file, problems } if problems.is_empty() => {
                write!(f, "{file}: it has no jobs")
            }
            Self::NoJobs { file, problems } => {
                write!(f, "{file}: it has no job that can be replayed")?;
                for (kind, count, first) in problems.iter() {
                    write!(f, "; {count} {}", kind.text())?;
                    for problem in first.iter().take(1) {
                        write!(f, " (first: {problem})")?;
                    }
                }
                Ok(())
            }
            Self::TooMany { file, line, what } => {
                write!(f, "{file}, line {line}: more than {} {}: replay a shorter time", what.most, what.what)
            }
        }
    }
}

impl std::error::Error for TraceError {}

/// Reads a trace: a file of sacct or SWF, or a directory.
///
/// # Errors
/// It cannot be read, is something else, or has no job that can be replayed. What is wrong with single lines is in
/// [`Workload::problems`].
pub fn read(path: &Path) -> Result<Workload, TraceError> {
    if path.is_dir() {
        return directory::read(path);
    }
    let file = path.display().to_string();
    let reader = open(path).map_err(|error| TraceError::Io { file: file.clone(), error })?;
    parse(reader, &file)
}

/// The same from any reader; `file` stands for it in messages. Text only, see [`open`].
///
/// # Errors
/// As with [`read`].
pub fn parse(reader: impl BufRead, file: &str) -> Result<Workload, TraceError> {
    let mut builder = jobs(reader, file)?;
    if builder.count() == 0 {
        let problems = Box::new(std::mem::take(&mut builder.problems));
        return Err(TraceError::NoJobs { file: file.to_owned(), problems });
    }
    if builder.lacks_machine() {
        builder.miss(
            MACHINE,
            "it has as many CPUs as were ever in use at one time, which may be too few: give --procs or --partition",
        );
    }
    Ok(builder.finish())
}

/// The jobs of a file.
fn jobs(reader: impl BufRead, file: &str) -> Result<Builder, TraceError> {
    let mut lines = Lines::new(reader, file);
    let foreign = |why: String| TraceError::Foreign { file: file.to_owned(), why };
    let io = |error| TraceError::Io { file: file.to_owned(), error };
    // Whatever comes first says which format it is.
    let mut first = Problems::default();
    loop {
        let Some(line) = lines.next(&mut first).map_err(io)? else {
            return Err(foreign("the file is empty".to_owned()));
        };
        let text = line.text.trim();
        if text.is_empty() {
            continue;
        }
        let mut builder = if text.starts_with(';') || swf::is_job(text) {
            let mut reading = swf::Reading::new(Builder::new("group"), file);
            reading.line(line.number, text)?;
            while let Some(line) = lines.next(reading.problems()).map_err(io)? {
                reading.line(line.number, line.text)?;
            }
            reading.finish()
        } else if text.contains('|') {
            let mut reading = sacct::Reading::new(text, file).map_err(foreign)?;
            while let Some(line) = lines.next(reading.problems()).map_err(io)? {
                reading.line(line.number, line.text)?;
            }
            reading.finish()
        } else {
            return Err(foreign(format!(
                "the first line is neither sacct -P output nor the Standard Workload Format: {:?}. 'multifactor2 replay --how' \
                 prints the command",
                excerpt(text)
            )));
        };
        builder.problems.append(first);
        file.clone_into(&mut builder.source);
        return Ok(builder);
    }
}

/// The jobs of an export in pieces, all of sacct, in the order of their months.
fn pieces(paths: &[std::path::PathBuf]) -> Result<Builder, TraceError> {
    let mut reading: Option<sacct::Reading> = None;
    for path in paths {
        let file = path.display().to_string();
        let io = |error| TraceError::Io { file: file.clone(), error };
        let foreign = |why: String| TraceError::Foreign { file: file.clone(), why };
        let mut lines = Lines::new(open(path).map_err(io)?, &file);
        let mut first = Problems::default();
        let Some(header) = lines.next(&mut first).map_err(io)? else {
            return Err(foreign("the file is empty: remove it, and export anew".to_owned()));
        };
        match &mut reading {
            Some(reading) => reading.next_file(header.text, &file).map_err(foreign)?,
            None => reading = Some(sacct::Reading::new(header.text, &file).map_err(foreign)?),
        }
        let Some(reading) = &mut reading else { continue };
        reading.problems().append(first);
        while let Some(line) = lines.next(reading.problems()).map_err(io)? {
            reading.line(line.number, line.text)?;
        }
    }
    let mut builder = reading.map_or_else(|| Builder::new("account"), sacct::Reading::finish);
    if let Some(path) = paths.first() {
        builder.source = path.display().to_string();
    }
    Ok(builder)
}

/// Opens a file, through gzip where it is compressed.
///
/// # Errors
/// Those of the file.
pub fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let mut file = BufReader::with_capacity(1 << 16, File::open(path)?);
    if file.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
        Ok(Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(file))))
    } else {
        Ok(Box::new(file))
    }
}

/// The longest text of a file that is read as a whole: those of sacctmgr and scontrol.
const LONGEST_TEXT: u64 = 256 << 20;

/// The text of a small file, through gzip where it is compressed; bytes that are no UTF-8 are replaced.
///
/// # Errors
/// Those of the file, or it is longer than 256 MB.
pub fn text(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    open(path)?.take(LONGEST_TEXT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST_TEXT {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is longer than 256 MB"));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
