//! Collects what is wrong with a source, line by line: reported, counted, never fatal.

use std::collections::BTreeMap;
use std::fmt;

/// How many of each kind are kept with their lines; all are counted.
const KEPT: usize = 5;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProblemKind {
    /// The line cannot be understood.
    BadLine,
    /// The file ends in the middle.
    Truncated,
    /// The line is longer than any real one.
    TooLong,
    /// A second header within a file.
    Header,
    /// A step of a job.
    Step,
    /// A job that is in the source already.
    Duplicate,
    /// A job of another cluster.
    OtherCluster,
    /// A submission before 1990 or in the future.
    ImpossibleTime,
    /// A job that ends before it starts.
    EndBeforeStart,
    /// A job that starts before its submission.
    StartBeforeSubmit,
    /// A job of which all partitions are gone.
    GonePartition,
    /// A job that has not started.
    NeverStarted,
    /// A job without CPUs.
    NoCpus,
    /// A job of which nobody knows how long it ran.
    NoRunTime,
    /// A job that still ran.
    StillRunning,
    /// A job without a time limit.
    NoLimit,
    /// A job that ran longer than its limit.
    BeyondLimit,
    /// A job that comes after one that was submitted later.
    Unsorted,
    /// An association that jobs have and the list has not.
    UnlistedAssociation,
}

impl ProblemKind {
    /// What it is, and what becomes of it.
    pub fn text(self) -> &'static str {
        match self {
            Self::BadLine => "lines that cannot be understood: skipped",
            Self::Truncated => "the file ends in the middle of a line or of its compressed data: the part before is used",
            Self::TooLong => "lines longer than 65536 bytes: skipped",
            Self::Header => "lines that repeat the names of columns: skipped",
            Self::Step => "job steps: skipped, because their jobs are counted (sacct -X leaves them out)",
            Self::Duplicate => "jobs with the id, submission and start of another job: skipped; where that one still ran, its end is taken",
            Self::OtherCluster => "jobs of another cluster than the first job's: skipped",
            Self::ImpossibleTime => "jobs that were submitted before 1990 or in the future: skipped",
            Self::EndBeforeStart => "jobs that end before they start: skipped",
            Self::StartBeforeSubmit => "jobs that start before they are submitted: replayed without their recorded start",
            Self::GonePartition => "jobs whose partitions do not exist: not replayed, so their usage is missing",
            Self::NeverStarted => "jobs that never started: skipped, so the queue is shorter than it was",
            Self::NoCpus => "jobs without CPUs: skipped",
            Self::NoRunTime => "jobs without a run time: skipped",
            Self::StillRunning => "jobs that still ran at the end: they run up to the last time in the file",
            Self::NoLimit => "jobs without a time limit: they get that of their partition, or else a year; if the source has no \
             limits at all, backfill knows all run times",
            Self::BeyondLimit => "jobs that ran beyond their limit: their run time is cut there",
            Self::Unsorted => "jobs that come after one that was submitted later: sorted",
            Self::UnlistedAssociation => "associations of jobs that are missing from the list of associations: added with one share",
        }
    }

    /// Whether its lines are left out.
    pub fn is_skipped(self) -> bool {
        !matches!(
            self,
            Self::StillRunning
                | Self::NoLimit
                | Self::BeyondLimit
                | Self::StartBeforeSubmit
                | Self::Unsorted
                | Self::UnlistedAssociation
                | Self::Truncated
        )
    }
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// What is wrong.
    pub kind: ProblemKind,
    /// The value, and what is allowed; may be empty.
    pub detail: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, line {}", self.file, self.line)?;
        if !self.detail.is_empty() {
            write!(f, ": {}", self.detail)?;
        }
        Ok(())
    }
}

/// All of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    first: BTreeMap<ProblemKind, Vec<Problem>>,
    counts: BTreeMap<ProblemKind, u64>,
}

impl Problems {
    /// Notes one.
    pub fn note(&mut self, kind: ProblemKind, file: &str, line: u64, detail: impl FnOnce() -> String) {
        *self.counts.entry(kind).or_default() += 1;
        let first = self.first.entry(kind).or_default();
        if first.len() < KEPT {
            first.push(Problem { file: file.to_owned(), line, kind, detail: detail() });
        }
    }

    /// Notes one that stands for many, at the line of the first.
    pub fn note_many(
        &mut self,
        kind: ProblemKind,
        file: &str,
        line: u64,
        many: u64,
        detail: impl FnOnce() -> String,
    ) {
        self.note(kind, file, line, detail);
        self.count(kind, many.saturating_sub(1));
    }

    /// Counts some that have no lines.
    pub fn count(&mut self, kind: ProblemKind, many: u64) {
        *self.counts.entry(kind).or_default() += many;
    }

    /// How many there are of a kind.
    pub fn of(&self, kind: ProblemKind) -> u64 {
        self.counts.get(&kind).copied().unwrap_or_default()
    }

    /// How many lines were left out.
    pub fn skipped(&self) -> u64 {
        self.counts.iter().filter(|(kind, _)| kind.is_skipped()).map(|(_, count)| count).sum()
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Kinds with their counts, and the first of each with their lines.
    pub fn iter(&self) -> impl Iterator<Item = (ProblemKind, u64, &[Problem])> {
        self.counts.iter().map(|(kind, count)| {
            let first = self.first.get(kind).map_or(&[][..], Vec::as_slice);
            (*kind, *count, first)
        })
    }

    /// Takes those of another source, too.
    pub fn append(&mut self, other: Self) {
        for (kind, count) in other.counts {
            *self.counts.entry(kind).or_default() += count;
        }
        for (kind, problems) in other.first {
            let first = self.first.entry(kind).or_default();
            let room = KEPT.saturating_sub(first.len());
            first.extend(problems.into_iter().take(room));
        }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (kind, count, first) in self.iter() {
            writeln!(f, "{count} {}", kind.text())?;
            for problem in first {
                writeln!(f, "  {problem}")?;
            }
            if !first.is_empty() && count > first.len() as u64 {
                writeln!(f, "  and {} more", count - first.len() as u64)?;
            }
        }
        Ok(())
    }
}
