//! How far a replay of the past is from the past: the policy that the cluster had, replayed, against the recorded starts.
//!
//! The error of a job is its replayed start − its recorded start. For a group of jobs (an account, a user, a partition, a class of size,
//! all), a [`Band`] has the mean of the errors and its standard error, from a bootstrap over blocks of time. Waits within one week are
//! correlated, so a week is drawn as a whole. Blocks are weeks, or a tenth of the trace if it is shorter than [`LEAST_WEEKS`] of them.
//!
//! What a replay says of another policy is worth no more than this: a difference that does not exceed [`Band::worst`] may be the replay's.
//! A group is a misfit if its mean error is more than [`MISFIT`] of what was recorded: something that the replay does not know decided its
//! waits. Even if its standard error suggests that one week alone caused this, it stays a misfit: the record is what it is.

use crate::sim::{Outcome, Treatments};
use crate::trace::reasons::Treatment;
use crate::workload::{Workload, NO_TIME};

use super::Counted;

const WEEK: i64 = 7 * 86_400;

/// With this many weeks or more, blocks are weeks.
pub const LEAST_WEEKS: i64 = 4;

/// Blocks of a trace that is shorter.
const BLOCKS: i64 = 10;

/// With fewer blocks that have jobs nothing is known of the error.
pub const LEAST_BLOCKS: usize = 4;

/// Draws of the bootstrap.
const DRAWS: usize = 200;

/// Of what was recorded, at least: less is no misfit.
pub const MISFIT: f64 = 0.25;

/// Seconds, at least: less is no misfit.
pub const MISFIT_SECONDS: f64 = 60.0;

/// Parts of CPU hours: with more jobs that waited for what the replay leaves out, nothing is said of a group.
pub const MOST_LEFT_OUT: f64 = 0.05;

/// What jobs of a group have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupKind {
    /// Their account.
    Account,
    /// Their user.
    User,
    /// The partitions that they ask for.
    Partition,
    /// A class of CPUs, each up to four times the one before.
    Size,
}

impl GroupKind {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Account => "account",
            Self::User => "user",
            Self::Partition => "partition",
            Self::Size => "size",
        }
    }
}

/// Jobs with something in common.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// What they have in common.
    pub kind: GroupKind,
    /// Its name.
    pub name: String,
}

/// All groups of a workload, and those of each job.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    /// Accounts by their places, then users, sets of partitions, classes of size.
    pub all: Vec<Group>,
    users: usize,
    partitions: usize,
    sizes: usize,
}

/// The class of a number of CPUs: 1; 2 to 4; 5 to 16; and so on.
fn class(cpus: u32) -> usize {
    (0..16).find(|class| u64::from(cpus) <= 1 << (2 * class)).unwrap_or(16)
}

fn class_name(class: usize) -> String {
    match class {
        0 => "1 CPU".to_owned(),
        class => format!("{} to {} CPUs", (1_u64 << (2 * (class - 1))) + 1, 1_u64 << (2 * class)),
    }
}

impl Groups {
    /// Of a workload.
    pub fn of(workload: &Workload) -> Self {
        let of = |kind: GroupKind| move |name: &str| Group { kind, name: name.to_owned() };
        let mut all: Vec<Group> = workload.accounts.iter().map(of(GroupKind::Account)).collect();
        let users = all.len();
        all.extend(workload.users.iter().map(of(GroupKind::User)));
        let partitions = all.len();
        all.extend(workload.partition_sets.iter().map(|set| {
            let names: Vec<&str> =
                set.iter().map(|name| workload.partitions.name(u32::from(*name))).collect();
            Group { kind: GroupKind::Partition, name: names.join(",") }
        }));
        let sizes = all.len();
        all.extend((0..=16).map(|size| Group { kind: GroupKind::Size, name: class_name(size) }));
        Self { all, users, partitions, sizes }
    }

    /// The places of the groups of a job.
    pub fn of_job(&self, workload: &Workload, job: usize) -> [usize; 4] {
        let job = &workload.jobs[job];
        [
            workload.account(job) as usize,
            self.users + workload.user(job) as usize,
            self.partitions + usize::from(job.partitions),
            self.sizes + class(job.cpus),
        ]
    }

    /// The mean wait of each group in the jobs that count, and of all of them; not a number where there are none.
    #[allow(clippy::cast_precision_loss)] // seconds
    pub fn mean_waits(&self, workload: &Workload, outcome: &Outcome, counted: &Counted) -> (f64, Vec<f64>) {
        let mut sums = vec![(0.0, 0_u32); self.all.len()];
        let mut whole = (0.0, 0_u32);
        for (at, job) in workload.jobs.iter().enumerate().filter(|(at, _)| counted.jobs[*at]) {
            let wait = (outcome.starts[at] - job.eligible) as f64;
            whole = (whole.0 + wait, whole.1 + 1);
            for group in self.of_job(workload, at) {
                sums[group] = (sums[group].0 + wait, sums[group].1 + 1);
            }
        }
        let mean = |(sum, count): (f64, u32)| sum / f64::from(count);
        (mean(whole), sums.into_iter().map(mean).collect())
    }
}

/// How far the replayed past of a group is from its record.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Band {
    /// Jobs with a recorded start.
    pub jobs: usize,
    /// Their CPU seconds.
    pub cpu_seconds: f64,
    /// Their mean wait as recorded, in seconds.
    pub recorded: f64,
    /// The mean error in seconds: replayed − recorded.
    pub error: f64,
    /// Its standard error; `None` where there are too few blocks.
    pub deviation: Option<f64>,
}

impl Band {
    /// The largest error within two standard errors, in seconds; without bound where that is not known.
    pub fn worst(&self) -> f64 {
        self.deviation.map_or(f64::INFINITY, |deviation| self.error.abs() + 2.0 * deviation)
    }

    /// Something decided its waits that the replay does not know.
    pub fn is_misfit(&self) -> bool {
        self.error.abs() > (MISFIT * self.recorded).max(MISFIT_SECONDS)
    }
}

/// What a block of time says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Block {
    /// When it begins.
    pub begin: i64,
    /// Jobs that became eligible in it.
    pub jobs: usize,
    /// Their mean wait as recorded, in seconds.
    pub recorded: f64,
    /// Their mean error in seconds.
    pub error: f64,
}

/// Why nothing is said of a group.
#[derive(Clone, Debug, PartialEq)]
pub enum Silence {
    /// Some of its jobs waited for something that the replay leaves out, most of them for `reason`.
    LeftOut {
        /// The word of most of them.
        reason: String,
        /// With that word.
        jobs: usize,
        /// The part of its CPU hours of all such jobs.
        part: f64,
    },
    /// Its replayed past is not its past, and some of its waiting jobs met an outage.
    Outage {
        /// Those of them.
        jobs: usize,
    },
    /// Its replayed past is not its past, and nobody knows why.
    NotKnown,
}

/// The past, replayed.
#[derive(Clone, Debug, Default)]
pub struct Past {
    /// Of all jobs.
    pub whole: Band,
    /// By place in [`Groups::all`].
    pub groups: Vec<Band>,
    /// Blocks of time with jobs.
    pub blocks: Vec<Block>,
    /// Why nothing is said of a group, by place.
    pub silences: Vec<(usize, Silence)>,
}

/// Sums of a group in a block.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    block: u32,
    jobs: u32,
    error: f64,
}

#[derive(Clone, Debug, Default)]
struct Sums {
    jobs: usize,
    cpu_seconds: f64,
    recorded: f64,
    /// In the order of time, those with jobs.
    blocks: Vec<Sum>,
}

impl Sums {
    fn add(&mut self, block: u32, error: f64, recorded: f64, cpu_seconds: f64) {
        self.jobs += 1;
        self.cpu_seconds += cpu_seconds;
        self.recorded += recorded;
        match self.blocks.last_mut().filter(|last| last.block == block) {
            Some(last) => *last = Sum { block, jobs: last.jobs + 1, error: last.error + error },
            None => self.blocks.push(Sum { block, jobs: 1, error }),
        }
    }

    #[allow(clippy::cast_precision_loss)] // counts of jobs
    fn band(&self) -> Band {
        let jobs = self.jobs.max(1) as f64;
        Band {
            jobs: self.jobs,
            cpu_seconds: self.cpu_seconds,
            recorded: self.recorded / jobs,
            error: self.blocks.iter().map(|block| block.error).sum::<f64>() / jobs,
            deviation: bootstrap(&self.blocks),
        }
    }
}

/// The standard deviation of the mean error over draws of as many blocks as there are.
fn bootstrap(blocks: &[Sum]) -> Option<f64> {
    if blocks.len() < LEAST_BLOCKS {
        return None;
    }
    let mut random = fastrand::Rng::with_seed(1);
    let mut means = Vec::with_capacity(DRAWS);
    for _ in 0..DRAWS {
        let (mut error, mut jobs) = (0.0, 0.0);
        for _ in blocks {
            let drawn = blocks[random.usize(..blocks.len())];
            error += drawn.error;
            jobs += f64::from(drawn.jobs);
        }
        means.push(error / jobs);
    }
    #[allow(clippy::cast_precision_loss)] // a few hundred
    let count = DRAWS as f64;
    let mean = means.iter().sum::<f64>() / count;
    let squares: f64 = means.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (count - 1.0)).sqrt())
}

/// Compares the past, replayed, with the record, in the jobs that count and have a recorded start. `None` where none has one.
#[allow(clippy::cast_precision_loss)] // seconds
pub fn past(
    workload: &Workload,
    groups: &Groups,
    outcome: &Outcome,
    counted: &Counted,
    treatments: &Treatments<'_>,
) -> Option<Past> {
    let recorded = |at: &usize| counted.jobs[*at] && workload.jobs[*at].start != NO_TIME;
    let mut order: Vec<usize> = (0..workload.jobs.len()).filter(recorded).collect();
    order.sort_by_key(|at| workload.jobs[*at].eligible);
    let (first, last) = (workload.jobs[*order.first()?].eligible, workload.jobs[*order.last()?].eligible);
    let span = last - first + 1;
    let length = if span >= LEAST_WEEKS * WEEK { WEEK } else { (span / BLOCKS).max(1) };
    let mut whole = Sums::default();
    let mut sums: Vec<Sums> = groups.all.iter().map(|_| Sums::default()).collect();
    let mut blocks: Vec<Block> = Vec::new();
    let mut reasons: Vec<Reasons> = groups.all.iter().map(|_| Reasons::default()).collect();
    for at in order {
        let job = &workload.jobs[at];
        let block = (job.eligible - first) / length;
        let (error, wait) = ((outcome.starts[at] - job.start) as f64, (job.start - job.eligible) as f64);
        let area = Workload::cpu_seconds(job) as f64;
        let number = u32::try_from(block).unwrap_or(u32::MAX);
        whole.add(number, error, wait, area);
        let begin = first + block * length;
        if blocks.last().is_none_or(|last| last.begin != begin) {
            blocks.push(Block { begin, ..Block::default() });
        }
        if let Some(last) = blocks.last_mut() {
            *last = Block {
                jobs: last.jobs + 1,
                recorded: last.recorded + wait,
                error: last.error + error,
                ..*last
            };
        }
        let left_out = treatments.reason(job) == Treatment::LeftOut;
        let out = workload.meets_outage(job);
        for group in groups.of_job(workload, at) {
            sums[group].add(number, error, wait, area);
            reasons[group].add(job.reason, left_out, area, out);
        }
    }
    for block in &mut blocks {
        let jobs = block.jobs as f64;
        (block.recorded, block.error) = (block.recorded / jobs, block.error / jobs);
    }
    let bands: Vec<Band> = sums.iter().map(Sums::band).collect();
    let silences = bands.iter().zip(&reasons).enumerate().filter_map(|(at, (band, reasons))| {
        // Of a class of size no verdict is given.
        let named = groups.all[at].kind != GroupKind::Size;
        Some((at, reasons.silence(workload, band).filter(|_| named)?))
    });
    let silences = silences.collect();
    Some(Past { whole: whole.band(), groups: bands, blocks, silences })
}

/// Why jobs of a group waited.
#[derive(Clone, Debug, Default)]
struct Reasons {
    /// CPU seconds of those whose reason the replay leaves out, and jobs by reason.
    area: f64,
    jobs: Vec<(u16, usize)>,
    outages: usize,
}

impl Reasons {
    fn add(&mut self, reason: u16, left_out: bool, area: f64, out: bool) {
        self.outages += usize::from(out);
        if !left_out {
            return;
        }
        self.area += area;
        match self.jobs.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, jobs)) => *jobs += 1,
            None => self.jobs.push((reason, 1)),
        }
    }

    fn silence(&self, workload: &Workload, band: &Band) -> Option<Silence> {
        if self.area > MOST_LEFT_OUT * band.cpu_seconds {
            let (reason, jobs) = self.jobs.iter().max_by_key(|(_, jobs)| *jobs)?;
            let reason = workload.reasons.name(u32::from(*reason)).to_owned();
            return Some(Silence::LeftOut { reason, jobs: *jobs, part: self.area / band.cpu_seconds });
        }
        if !band.is_misfit() {
            return None;
        }
        // A tenth of its jobs: else the outage is not why all others waited.
        if self.outages * 10 >= band.jobs && self.outages > 0 {
            return Some(Silence::Outage { jobs: self.outages });
        }
        Some(Silence::NotKnown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_size() {
        assert_eq!([1, 2, 4, 5, 16, 17, 64, u32::MAX].map(class), [0, 1, 1, 2, 2, 3, 3, 16]);
        assert_eq!([0, 1, 2].map(class_name), ["1 CPU", "2 to 4 CPUs", "5 to 16 CPUs"]);
    }

    /// Of equal blocks nothing is left to chance; the error of unequal ones is that of their means.
    #[test]
    fn the_bootstrap_is_near_the_formula() {
        let of = |errors: &[f64]| -> Vec<Sum> {
            (0..).zip(errors).map(|(block, error)| Sum { block, jobs: 10, error: 10.0 * error }).collect()
        };
        assert_eq!(bootstrap(&of(&[5.0; 3])), None, "too few");
        assert_eq!(bootstrap(&of(&[5.0; 6])), Some(0.0));
        let errors = [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0];
        // The standard deviation of the mean of 8 of these, without the correction of a sample: 22.91 / √8.
        let found = bootstrap(&of(&errors)).unwrap();
        assert!((found - 8.1).abs() < 1.2, "{found}");
    }

    #[test]
    fn a_misfit_is_large() {
        let band =
            |recorded, error, deviation| Band { jobs: 100, cpu_seconds: 1.0, recorded, error, deviation };
        assert!(band(1000.0, -300.0, Some(50.0)).is_misfit());
        assert!(band(1000.0, -300.0, None).is_misfit());
        assert!(!band(1000.0, -200.0, Some(10.0)).is_misfit(), "less than a quarter");
        assert!(!band(10.0, 50.0, Some(1.0)).is_misfit(), "less than a minute");
        assert!((band(1000.0, -300.0, Some(50.0)).worst() - 400.0).abs() < 1e-9);
        assert!(band(1000.0, -300.0, None).worst().is_infinite());
    }
}
