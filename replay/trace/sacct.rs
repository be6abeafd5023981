//! Reads output of `sacct -P`: a line that names the columns, then one allocation per line. Columns may come in any order, and unneeded
//! ones are ignored.

use std::collections::hash_map::Entry;
use std::time::{SystemTime, UNIX_EPOCH};

use rustc_hash::FxHashMap;
use slurm_text::dates::time;
use slurm_text::durations::Grammar;
use slurm_text::lines::excerpt;
use slurm_text::tres;

use super::problems::{ProblemKind, Problems};
use super::TraceError;
use crate::workload::{Builder, Draft, Fact, Facts, NO_LIMIT, NO_TIME};

/// The columns that are looked at: their names, and what cannot be said without them (nothing: they are needed).
pub const COLUMNS: [(&str, &str); 30] = [
    ("JobIDRaw", "ids of jobs are made up"),
    ("JobID", "each task of an array is a separate job"),
    ("User", "all jobs are of one user, and no fairness between users can be measured"),
    ("Account", "all jobs are of one account, and no policy of shares can be compared"),
    ("Partition", "all jobs are in one partition"),
    ("QOS", "no job has a QOS"),
    ("Submit", ""),
    ("Eligible", "all jobs could start when they were submitted, even those with dependencies"),
    ("Start", ""),
    ("End", ""),
    ("Timelimit", "run times serve as time limits: backfill knows when jobs end"),
    ("TimelimitRaw", ""),
    ("ReqTRES", ""),
    ("AllocTRES", ""),
    ("AllocCPUS", ""),
    ("NCPUS", ""),
    ("ReqCPUS", ""),
    ("NNodes", ""),
    ("State", ""),
    ("Priority", ""),
    ("Cluster", ""),
    ("Reason", "why a job waited is not known"),
    ("Flags", "which scheduler started a job is not known"),
    ("Constraints", ""),
    ("Reservation", ""),
    ("Suspended", ""),
    ("Licenses", ""),
    ("Exclusive", ""),
    ("OverSubscribe", ""),
    // Made by --export of SubmitLine.
    ("Dependency", ""),
];

const COUNT: usize = COLUMNS.len();

/// A column by its place in [`COLUMNS`].
macro_rules! columns {
    ($($name:ident = $at:literal;)*) => { $(const $name: usize = $at;)* };
}

columns! {
    JOB_ID_RAW = 0; JOB_ID = 1; USER = 2; ACCOUNT = 3; PARTITION = 4; QOS = 5; SUBMIT = 6; ELIGIBLE = 7; START = 8; END = 9;
    TIME_LIMIT = 10; TIME_LIMIT_RAW = 11; REQ_TRES = 12; ALLOC_TRES = 13; ALLOC_CPUS = 14; NCPUS = 15; REQ_CPUS = 16; NNODES = 17;
    STATE = 18; PRIORITY = 19; CLUSTER = 20; REASON = 21; FLAGS = 22;
    CONSTRAINTS = 23; RESERVATION = 24; SUSPENDED = 25; LICENSES = 26; EXCLUSIVE = 27; OVERSUBSCRIBE = 28; DEPENDENCY = 29;
}

/// Slurm's first release is of 2002; a time before 1990 is none.
const EARLIEST: i64 = 631_152_000;

/// Times without a zone may be ahead of this clock by it.
const DAY: i64 = 86_400;

/// A file of sacct that is being read line by line.
pub struct Reading {
    builder: Builder,
    file: String,
    header: String,
    /// Where in a line a column is.
    places: [Option<usize>; COUNT],
    width: usize,
    /// Jobs by id, submission and start, with their places: exports of months overlap.
    known: FxHashMap<(u64, i64, i64), usize>,
    /// Jobs by id and submission that have not started, in a line each: another line may have the start.
    waiting: FxHashMap<(u64, i64), (u64, String)>,
    /// Nothing can have been submitted later.
    now: i64,
    /// The cluster of the first job, where there is a column for it.
    cluster: String,
    /// The latest time in the file.
    latest: i64,
    running: Vec<usize>,
    has_limit: bool,
    made_up: u64,
}

impl Reading {
    /// By the line that names the columns.
    ///
    /// # Errors
    /// It does not, or a column is missing without which nothing can be replayed.
    pub fn new(header: &str, file: &str) -> Result<Self, String> {
        let places = places(header);
        if places.iter().filter(|place| place.is_some()).count() < 3 {
            return Err(format!(
                "the first line names no columns of sacct: {:?}. Run sacct without -n; 'multifactor2 replay --how' prints the command",
                excerpt(header)
            ));
        }
        let needs = |name: &str, why: &str| {
            format!("there is no column {name}: {why}; 'multifactor2 replay --how' prints the command")
        };
        if places[SUBMIT].is_none() {
            return Err(needs("Submit", "without submit times nothing can be replayed"));
        }
        for (at, name) in [(START, "Start"), (END, "End")] {
            if places[at].is_none() {
                return Err(needs(name, "without it run times are not known"));
            }
        }
        if [REQ_TRES, ALLOC_TRES, ALLOC_CPUS, NCPUS, REQ_CPUS].iter().all(|at| places[*at].is_none()) {
            return Err(needs("AllocTRES", "without the sizes of jobs nothing can be replayed"));
        }
        let mut builder = Builder::new("account");
        let has_raw_limit = places[TIME_LIMIT_RAW].is_some();
        for (at, (name, so)) in COLUMNS.iter().enumerate() {
            let instead = at == TIME_LIMIT && has_raw_limit || at == JOB_ID_RAW && places[JOB_ID].is_some();
            if places[at].is_none() && !so.is_empty() && !instead {
                builder.miss(format!("the column {name}"), *so);
            }
        }
        let has = |at: usize| places[at].is_some();
        builder.told = Facts::default()
            .with(Fact::Before, has(ELIGIBLE))
            .with(Fact::Dependency, has(DEPENDENCY))
            .with(Fact::Suspended, has(SUSPENDED))
            .with(Fact::Reservation, has(RESERVATION))
            .with(Fact::Constraints, has(CONSTRAINTS))
            .with(Fact::Licenses, has(LICENSES))
            .with(Fact::Exclusive, has(EXCLUSIVE) || has(OVERSUBSCRIBE))
            .with(Fact::Het, has(JOB_ID))
            .with(Fact::Preempted, has(STATE))
            .with(Fact::Gpus, has(ALLOC_TRES) || has(REQ_TRES))
            .with(Fact::Memory, has(ALLOC_TRES) || has(REQ_TRES));
        Ok(Self {
            builder,
            file: file.to_owned(),
            header: header.trim().to_owned(),
            places,
            width: width(&places),
            known: FxHashMap::default(),
            waiting: FxHashMap::default(),
            now: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(i64::MAX, |now| i64::try_from(now.as_secs()).unwrap_or(i64::MAX)),
            cluster: String::new(),
            latest: i64::MIN,
            running: Vec::new(),
            has_limit: false,
            made_up: 0,
        })
    }

    /// Goes on in another file of the same export, by its line that names the columns.
    ///
    /// # Errors
    /// They are not those of the first file.
    pub fn next_file(&mut self, header: &str, file: &str) -> Result<(), String> {
        let places = places(header);
        if COLUMNS.iter().enumerate().any(|(at, _)| places[at].is_some() != self.places[at].is_some()) {
            return Err(format!(
                "its columns are not those of {}: {:?}. Export both anew",
                self.file,
                excerpt(header)
            ));
        }
        (self.places, self.width) = (places, width(&places));
        header.trim().clone_into(&mut self.header);
        file.clone_into(&mut self.file);
        Ok(())
    }

    pub fn problems(&mut self) -> &mut Problems {
        &mut self.builder.problems
    }

    fn note(&mut self, kind: ProblemKind, line: u64, detail: impl FnOnce() -> String) {
        self.builder.problems.note(kind, &self.file, line, detail);
    }

    /// Reads a line.
    pub fn line(&mut self, number: u64, text: &str) -> Result<(), TraceError> {
        if text.trim().is_empty() {
            return Ok(());
        }
        if text.trim() == self.header {
            self.note(ProblemKind::Header, number, String::new);
            return Ok(());
        }
        let mut cells: [&str; COUNT] = [""; COUNT];
        let mut width = 0;
        for (at, cell) in text.split('|').enumerate() {
            width = at + 1;
            if let Some(column) = self.places.iter().position(|place| *place == Some(at)) {
                cells[column] = cell.trim();
            }
        }
        if width < self.width {
            let needed = self.width;
            self.note(ProblemKind::BadLine, number, || {
                format!("{width} columns, at least {needed} are needed: {:?}", excerpt(text))
            });
            return Ok(());
        }
        match self.job(number, &cells) {
            Ok(result) => result,
            Err((column, allowed)) => {
                let cell = excerpt(cells[column]);
                let name = COLUMNS[column].0;
                self.note(ProblemKind::BadLine, number, || format!("{name} is {cell:?}, not {allowed}"));
                Ok(())
            }
        }
    }

    /// Adds a job; a column that cannot be understood comes back with what it should be.
    fn job(
        &mut self,
        line: u64,
        cells: &[&str; COUNT],
    ) -> Result<Result<(), TraceError>, (usize, &'static str)> {
        const TIME: &str = "a time such as 2024-01-31T12:00:00 or seconds since 1970";
        let name = if cells[JOB_ID_RAW].is_empty() { cells[JOB_ID] } else { cells[JOB_ID_RAW] };
        if name.contains('.') {
            self.note(ProblemKind::Step, line, || excerpt(name));
            return Ok(Ok(()));
        }
        if self.is_of_another_cluster(line, name, cells[CLUSTER]) {
            return Ok(Ok(()));
        }
        let (id, array) = self.ids(cells)?;
        let at = |column: usize| time(cells[column]).map_err(|_| (column, TIME));
        let (submit, start, end) = (at(SUBMIT)?, at(START)?, at(END)?);
        let Some(submit) = submit else { return Err((SUBMIT, TIME)) };
        let eligible = at(ELIGIBLE)?.unwrap_or(submit);
        if submit < EARLIEST || submit > self.now.saturating_add(DAY) {
            self.note(ProblemKind::ImpossibleTime, line, || {
                format!("job {name}: Submit is {}", excerpt(cells[SUBMIT]))
            });
            return Ok(Ok(()));
        }
        let state = cells[STATE];
        // With -D a run that was requeued has a line, with its end.
        let waits = state.starts_with("PENDING") || state.starts_with("REQUEUED") && end.is_none();
        let allocated = counts(cells[ALLOC_TRES]);
        let was_cancelled = allocated == Counts::default() && state.starts_with("CANCELLED");
        let begun = start.filter(|start| !(waits || was_cancelled && end.is_some_and(|end| end <= *start)));
        if let Some((start, end)) = begun.zip(end).filter(|(start, end)| end < start) {
            self.note(ProblemKind::EndBeforeStart, line, || format!("job {name}: from {start} to {end}"));
            return Ok(Ok(()));
        }
        self.latest = self.latest.max(submit).max(start.unwrap_or(submit)).max(end.unwrap_or(submit));
        let Some(start) = begun else {
            self.waiting.insert((id, submit), (line, format!("job {name} ({})", excerpt(state))));
            return Ok(Ok(()));
        };
        let (size, cpus) = size(cells, allocated);
        if cpus == 0 {
            self.note(ProblemKind::NoCpus, line, || format!("job {name}"));
            return Ok(Ok(()));
        }
        let run = end.map(|end| u64::try_from(end.saturating_sub(start)).unwrap_or_default());
        match self.known.entry((id, submit, start)) {
            Entry::Occupied(known) => {
                let place = *known.get();
                // One export had it running, the next one has its end.
                if let (Some(run), Some(at)) =
                    (run, self.running.iter().position(|running| *running == place))
                {
                    self.running.swap_remove(at);
                    self.builder.ran(place, run);
                }
                self.note(ProblemKind::Duplicate, line, || format!("job {name}"));
                return Ok(Ok(()));
            }
            Entry::Vacant(new) => new.insert(self.builder.count()),
        };
        self.waiting.remove(&(id, submit));
        if start < submit {
            self.note(ProblemKind::StartBeforeSubmit, line, || {
                format!("job {name}: submitted {submit}, started {start}")
            });
        }
        let limit = self.limit(line, name, cells, run)?;
        if run.is_none() {
            self.running.push(self.builder.count());
            self.note(ProblemKind::StillRunning, line, || format!("job {name}"));
        }
        let draft = Draft {
            id,
            line: u32::try_from(line).unwrap_or(u32::MAX),
            submit,
            eligible: if start >= submit { eligible.min(start) } else { eligible },
            start: if start >= submit { start } else { NO_TIME },
            memory: size.memory,
            run: run.unwrap_or_default(),
            limit,
            cpus,
            nodes: if size.nodes == 0 { number(cells[NNODES]) } else { size.nodes },
            gpus: size.gpus,
            // What it asked for: which kind it got is the scheduler's choice.
            gres: if cells[REQ_TRES].contains("gres/") { cells[REQ_TRES] } else { cells[ALLOC_TRES] },
            spreads: allocated.nodes > counts(cells[REQ_TRES]).nodes && !cells[REQ_TRES].is_empty(),
            priority: number(cells[PRIORITY]),
            array,
            user: or_unknown(cells[USER]),
            account: or_unknown(cells[ACCOUNT]),
            partitions: if cells[PARTITION].is_empty() { "all" } else { cells[PARTITION] },
            qos: cells[QOS],
            reason: cells[REASON],
            flags: cells[FLAGS],
            facts: facts(cells, size),
        };
        let added = self.builder.add(&draft);
        Ok(added.map_err(|what| TraceError::TooMany { file: self.file.clone(), line, what }))
    }

    /// Whether a job is of another cluster than the first one.
    fn is_of_another_cluster(&mut self, line: u64, name: &str, cluster: &str) -> bool {
        if self.cluster.is_empty() {
            cluster.clone_into(&mut self.cluster);
        }
        let differs = !cluster.is_empty() && cluster != self.cluster;
        if differs {
            let first = self.cluster.clone();
            self.note(ProblemKind::OtherCluster, line, || {
                format!("job {name} of {}; those of {} are replayed", excerpt(cluster), excerpt(&first))
            });
        }
        differs
    }

    /// The id of a job, and that of the array that it is a task of.
    fn ids(&mut self, cells: &[&str; COUNT]) -> Result<(u64, u32), (usize, &'static str)> {
        let shown = cells[JOB_ID];
        let of_array = shown.split_once('_').and_then(|(array, _)| array.parse().ok());
        let raw = cells[JOB_ID_RAW];
        let id = if !raw.is_empty() {
            raw.parse().map_err(|_| (JOB_ID_RAW, "the id of a job"))?
        } else if shown.is_empty() {
            if self.places[JOB_ID_RAW].is_some() || self.places[JOB_ID].is_some() {
                return Err((JOB_ID, "the id of a job"));
            }
            self.made_up += 1;
            self.made_up
        } else {
            let end = shown.find(|c: char| !c.is_ascii_digit()).unwrap_or(shown.len());
            shown[..end].parse().map_err(|_| (JOB_ID, "the id of a job"))?
        };
        Ok((id, of_array.unwrap_or_default()))
    }

    /// The time limit of a job in seconds.
    fn limit(
        &mut self,
        line: u64,
        name: &str,
        cells: &[&str; COUNT],
        run: Option<u64>,
    ) -> Result<u64, (usize, &'static str)> {
        let column = if cells[TIME_LIMIT].is_empty() { TIME_LIMIT_RAW } else { TIME_LIMIT };
        // `TimelimitRaw` has minutes.
        let limit = Grammar::Limit.read(cells[column]).or_else(|| Grammar::Conf.read(cells[column]));
        let limit = limit.ok_or((column, "a time limit such as 1-00:00:00"))?;
        match limit.seconds().filter(|limit| *limit > 0) {
            Some(limit) => {
                self.has_limit = true;
                if run.is_some_and(|run| run > limit) {
                    self.note(ProblemKind::BeyondLimit, line, || {
                        format!("job {name} ran {} s of {limit} s", run.unwrap_or_default())
                    });
                }
                Ok(limit)
            }
            None if self.places[TIME_LIMIT].is_none() && self.places[TIME_LIMIT_RAW].is_none() => {
                Ok(run.unwrap_or(u64::from(NO_LIMIT)))
            }
            None => {
                self.note(ProblemKind::NoLimit, line, || format!("job {name}"));
                Ok(u64::from(NO_LIMIT))
            }
        }
    }

    /// No more lines come.
    pub fn finish(mut self) -> Builder {
        let mut waiting: Vec<(u64, String)> = std::mem::take(&mut self.waiting).into_values().collect();
        waiting.sort_unstable();
        for (line, detail) in waiting {
            self.note(ProblemKind::NeverStarted, line, || detail);
        }
        self.builder.run_until(&self.running, self.latest);
        self.builder
    }
}

/// Where a line that names the columns has each of them.
fn places(header: &str) -> [Option<usize>; COUNT] {
    let names: Vec<&str> = header.split('|').map(str::trim).collect();
    COLUMNS.map(|(column, _)| names.iter().position(|name| name.eq_ignore_ascii_case(column)))
}

/// How many columns a line has at least.
fn width(places: &[Option<usize>; COUNT]) -> usize {
    places.iter().flatten().max().map_or(0, |last| last + 1)
}

/// What a list of TRES says, such as `billing=4,cpu=4,gres/gpu=1,mem=16000M,node=1`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    cpus: u32,
    nodes: u32,
    gpus: u32,
    /// MB
    memory: u64,
}

/// Reads a list of TRES; what is not known is left out.
fn counts(text: &str) -> Counts {
    let mut counts = Counts::default();
    let mut of_types = 0_u32;
    for (name, amount) in tres::list(text) {
        let count = u32::try_from(amount).unwrap_or(u32::MAX);
        match name {
            "cpu" => counts.cpus = count,
            "node" => counts.nodes = count,
            "gres/gpu" => counts.gpus = count,
            // Sites that track types of GPUs alone have no sum.
            name if name.starts_with("gres/gpu:") => of_types = of_types.saturating_add(count),
            // What is beyond 2^53 is no memory, and keeps its arithmetic exact.
            "mem" => counts.memory = amount.min(1 << 53),
            _ => (),
        }
    }
    if counts.gpus == 0 {
        counts.gpus = of_types;
    }
    counts
}

/// What a job holds: what it got, or else asked for; and its CPUs.
fn size(cells: &[&str; COUNT], allocated: Counts) -> (Counts, u32) {
    let size = if allocated == Counts::default() { counts(cells[REQ_TRES]) } else { allocated };
    let cpus = [size.cpus, number(cells[ALLOC_CPUS]), number(cells[NCPUS]), number(cells[REQ_CPUS])];
    (size, cpus.into_iter().find(|cpus| *cpus > 0).unwrap_or_default())
}

/// What decided the start of a job besides the queue.
fn facts(cells: &[&str; COUNT], size: Counts) -> Facts {
    let says = |at: usize| !["", "None", "none", "(null)", "N/A", "0", "00:00:00", "NO"].contains(&cells[at]);
    Facts::default()
        .with(Fact::Dependency, says(DEPENDENCY))
        .with(Fact::Suspended, says(SUSPENDED))
        .with(Fact::Reservation, says(RESERVATION))
        .with(Fact::Constraints, says(CONSTRAINTS))
        .with(Fact::Licenses, says(LICENSES))
        .with(Fact::Exclusive, says(EXCLUSIVE))
        .with(Fact::Het, cells[JOB_ID].contains('+'))
        .with(Fact::Preempted, cells[STATE].starts_with("PREEMPTED"))
        .with(Fact::Gpus, size.gpus > 0)
        .with(Fact::Memory, size.memory > 0)
}

/// A number, 0 where there is none.
fn number(text: &str) -> u32 {
    text.parse().unwrap_or_default()
}

fn or_unknown(text: &str) -> &str {
    if text.is_empty() {
        "unknown"
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_jobs() {
        let of = counts("billing=4,cpu=4,gres/gpu=1,gres/gpu:a100=1,mem=15.50G,node=1");
        assert_eq!(of, Counts { cpus: 4, nodes: 1, gpus: 1, memory: 15_872 });
        assert_eq!(counts("cpu=4,gres/gpu:a100=2,gres/gpu:h100=1").gpus, 3);
        assert_eq!(counts("mem=16000M").memory, 16_000);
        assert_eq!(counts("nothing"), Counts::default());
    }
}
