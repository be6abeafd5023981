//! Reads the Standard Workload Format 2.2: one job per line, 18 numbers, -1 for an unknown one; comments begin with a semicolon.

use slurm_text::lines::excerpt;

use super::problems::{ProblemKind, Problems};
use super::TraceError;
use crate::workload::{Builder, Draft, Machine, NO_TIME};

/// The columns of a line.
const COLUMNS: usize = 18;

/// Times beyond some 30,000 years are damage.
const LATEST: f64 = 1e12;

/// Whether a line may be a job.
pub fn is_job(line: &str) -> bool {
    let mut columns = 0;
    line.split_ascii_whitespace().all(|word| {
        columns += 1;
        word.parse::<f64>().is_ok()
    }) && columns >= 5
}

/// A file of the Standard Workload Format that is being read line by line.
pub struct Reading<'f> {
    builder: Builder,
    file: &'f str,
    /// `MaxProcs`, or else `MaxNodes`.
    max_procs: Option<u32>,
    max_nodes: Option<u32>,
    begin: i64,
    last: Option<(u64, i64, u64)>,
    has_limit: bool,
}

impl<'f> Reading<'f> {
    pub fn new(builder: Builder, file: &'f str) -> Self {
        Self { builder, file, max_procs: None, max_nodes: None, begin: 0, last: None, has_limit: false }
    }

    pub fn problems(&mut self) -> &mut Problems {
        &mut self.builder.problems
    }

    fn note(&mut self, kind: ProblemKind, line: u64, detail: impl FnOnce() -> String) {
        self.builder.problems.note(kind, self.file, line, detail);
    }

    /// Reads a line.
    pub fn line(&mut self, number: u64, text: &str) -> Result<(), TraceError> {
        let text = text.trim();
        if let Some(comment) = text.strip_prefix(';') {
            self.header(comment);
            return Ok(());
        }
        if text.is_empty() {
            return Ok(());
        }
        let Some(values) = values(text) else {
            let columns = text.split_ascii_whitespace().count();
            self.note(ProblemKind::BadLine, number, || {
                format!("{columns} columns, not {COLUMNS} numbers: {:?}", excerpt(text))
            });
            return Ok(());
        };
        self.job(number, &values)
    }

    fn header(&mut self, comment: &str) {
        let Some((key, value)) = comment.split_once(':') else { return };
        let value = value.trim();
        let count = || value.split_ascii_whitespace().next()?.parse::<u32>().ok().filter(|n| *n > 0);
        match key.trim() {
            "MaxProcs" => self.max_procs = count().or(self.max_procs),
            "MaxNodes" => self.max_nodes = count().or(self.max_nodes),
            "UnixStartTime" if self.builder.count() == 0 => {
                let begin = value.split_ascii_whitespace().next().and_then(|word| word.parse().ok());
                self.begin = begin.filter(|at| (0..253_402_300_800_i64).contains(at)).unwrap_or_default();
            }
            _ => (),
        }
    }

    fn job(&mut self, line: u64, values: &[f64; COLUMNS]) -> Result<(), TraceError> {
        let [id, submit, wait, run, allocated, _, memory, requested, limit, ..] = *values;
        let [.., user, group, _, queue, partition, _, _] = *values;
        if submit < 0.0 {
            self.note(ProblemKind::BadLine, line, || {
                format!(
                    "job {id} has no submit time (column 2 is {submit}); without it nothing can be replayed"
                )
            });
            return Ok(());
        }
        // What a job asks for, else what it got.
        let procs = if requested > 0.0 { requested } else { allocated };
        if procs < 1.0 {
            self.note(ProblemKind::NoCpus, line, || {
                format!("job {id}: columns 5 and 8 are {allocated} and {requested}")
            });
            return Ok(());
        }
        if run < 0.0 {
            self.note(ProblemKind::NoRunTime, line, || format!("job {id}: column 4 is {run}"));
            return Ok(());
        }
        let (number, submitted, ran) = (whole(id.max(0.0)), signed(submit), whole(run));
        let this = (number, submitted, ran);
        if self.last == Some(this) {
            self.note(ProblemKind::Duplicate, line, || format!("job {id}"));
            return Ok(());
        }
        self.last = Some(this);
        let limit = if limit > 0.0 {
            self.has_limit = true;
            if run > limit {
                self.note(ProblemKind::BeyondLimit, line, || format!("job {id} ran {run} s of {limit} s"));
            }
            whole(limit)
        } else {
            self.note(ProblemKind::NoLimit, line, || format!("job {id}: its run time is taken"));
            ran.max(1)
        };
        let start = if wait >= 0.0 { self.begin + submitted + signed(wait) } else { self.begin + submitted };
        let word = |prefix: &str, value: f64| {
            if value >= 0.0 {
                format!("{prefix}{}", whole(value))
            } else {
                "unknown".to_owned()
            }
        };
        let partition = match (partition >= 0.0, queue >= 0.0) {
            (true, _) => word("partition", partition),
            (false, true) => word("queue", queue),
            _ => "all".to_owned(),
        };
        let draft = Draft {
            id: number,
            line: u32::try_from(line).unwrap_or(u32::MAX),
            submit: self.begin + submitted,
            eligible: self.begin + submitted,
            start: if wait < 0.0 { NO_TIME } else { start },
            // KB per processor.
            memory: if memory > 0.0 { whole(memory * procs / 1024.0) } else { 0 },
            run: ran,
            limit,
            cpus: u32::try_from(whole(procs)).unwrap_or(u32::MAX),
            user: &word("user", user),
            account: &word("group", group),
            partitions: &partition,
            ..Draft::default()
        };
        let too_many = |what| TraceError::TooMany { file: self.file.to_owned(), line, what };
        self.builder.add(&draft).map_err(too_many)
    }

    /// The machine has as many processors as the header says; jobs that ask for more get all.
    pub fn finish(mut self) -> Builder {
        if let Some(procs) = self.max_procs.or(self.max_nodes) {
            self.builder.cap_cpus(procs);
            self.builder.set_machine(Machine::of_procs(procs));
        }
        if !self.has_limit && self.builder.count() > 0 {
            self.builder.miss("time limits", "run times serve as limits: backfill knows when jobs end");
        }
        self.builder
    }
}

/// The numbers of a line; further columns are ignored. `None` where there are too few or one is none.
fn values(text: &str) -> Option<[f64; COLUMNS]> {
    let mut values = [0.0; COLUMNS];
    let mut words = text.split_ascii_whitespace();
    for value in &mut values {
        let word: f64 = words.next()?.parse().ok()?;
        if !word.is_finite() || word.abs() > LATEST {
            return None;
        }
        *value = word;
    }
    Some(values)
}

/// A number that is not negative, without its fraction.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // in range by `values`
fn whole(value: f64) -> u64 {
    value.max(0.0) as u64
}

fn signed(value: f64) -> i64 {
    i64::try_from(whole(value)).unwrap_or(i64::MAX)
}
