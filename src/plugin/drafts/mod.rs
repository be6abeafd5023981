//! Priorities in the making, and what they were made of. A cycle reads each job once, under the job read lock, and keeps of
//! it what its priority needs besides fair-share; when the tickets are distributed the priorities are finished without any lock,
//! and under the job write lock only the numbers are written.
//!
//! The parts stay until the next cycle: `sprio` shows what a priority came from, not what it would come from now. There may be
//! a million of them, so what many jobs have in common is kept once.

mod finishing;

use std::sync::{Arc, OnceLock};

use multifactor2_core::books::{BookAt, BookSet};
use multifactor2_core::evaluator::Evaluator as Arithmetic;
use multifactor2_core::factors::{with_points, Evaluation};
use multifactor2_core::facts;
use multifactor2_core::policy::pools::JobTickets;

pub use finishing::Finished;

use super::books::{ByBook, JobBooks};
use super::config::Config;
use super::evaluator::{warn_of_missing_details, Evaluator, NO_DETAILS};
use super::palette::{Index, Palette, NOWHERE};
use super::points::{Decided, Given};
use super::queue::{Drafted, Handed};
use super::standing::{Holdings, Standing};
use super::waiting::{AssocPlace, Waiting, Waits};
use crate::host::access::Open;
use crate::host::jobs::{Note, Seen};
use crate::host::locks::{AssocLock, Levels};
use crate::host::records::{Job, Record};
use crate::host::views;

/// One job.
#[derive(Debug, Clone, Copy)]
pub struct Draft {
    /// Where its record was.
    address: usize,
    /// Weighted, as is `tres`.
    job_size: f64,
    tres: f64,
    id: u32,
    /// The priority that the job has; once finished, the one that it gets.
    priority: u32,
    association: AssocPlace,
    /// Seconds, [`NO_AGE`] where it gains none.
    age: u32,
    partition: Index,
    qos: Index,
    /// Site factor and nice value.
    offsets: Index,
    task: Task,
    /// Where it waited.
    waits: Waits,
}

/// A million jobs are the size to design for.
const _: () = assert!(size_of::<Draft>() == 48);

/// Drafts behind the last one that was asked for among which the next is looked for, before it is looked up.
const NEAR: usize = 4;

/// A job that gains no age.
const NO_AGE: u32 = u32::MAX;

/// What is to be done for a job at the end of the cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Nothing: its priority stays as it is.
    Nothing,
    /// The number is to be written.
    Number,
    /// More than the number: priorities by partition and QOS, or a factor that the scheduler reads.
    More,
    /// It is to be evaluated as at a submission: not everything was known when it was read.
    Evaluate,
    /// Its priority was set directly; the factor that the scheduler reads is to be cleared.
    Clear,
}

impl Note for Draft {
    fn seen(&self) -> Seen {
        Seen { id: self.id, address: self.address }
    }
}

impl Draft {
    /// Whether anything is to be done.
    pub fn is_wanted(&self) -> bool {
        self.task != Task::Nothing
    }

    /// What is to be done.
    pub fn task(&self) -> Task {
        self.task
    }

    /// The priority can be finished from what was read.
    #[inline]
    fn is_complete(&self) -> bool {
        matches!(self.task, Task::Number | Task::More)
    }

    /// A cap keeps the job from starting.
    pub fn is_stopped(&self) -> bool {
        self.waits == Waits::Stopped
    }

    /// The finished priority.
    pub fn priority(&self) -> u32 {
        self.priority
    }
}

/// What the jobs of a QOS have in common.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct OfQos {
    /// The weighted factor.
    factor: f64,
    /// It has a `UsageThreshold`.
    threshold: bool,
}

impl OfQos {
    /// Of a QOS, or of none.
    fn of(core: &Arithmetic<'_>, qos: Option<facts::Qos>) -> Self {
        qos.map_or_else(Self::default, |qos| Self {
            factor: core.weighted_qos(&qos),
            threshold: qos.has_threshold(),
        })
    }
}

/// What the jobs of a partition have in common.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct OfPartition {
    /// The weighted factor.
    factor: f64,
    book: BookAt,
}

/// The drafts of one cycle.
#[derive(Debug)]
pub struct Drafts {
    config: Arc<Config>,
    waiting: Waiting,
    jobs: Vec<Draft>,
    /// By address, and the book that the job has there.
    partitions: Palette<(usize, BookAt), OfPartition>,
    /// By what jobs name: a pointer, which may be stale, and an id.
    qos: Palette<(usize, u32), OfQos>,
    offsets: Palette<(u32, u32), (u32, u32)>,
    /// The tickets of jobs, where pools give them to single jobs.
    tickets: Handed,
    /// The points of the jobs, where the settings ask for some.
    points: Given,
    /// The jobs are in the order of their ids.
    by_id: bool,
    /// Their places in that order, where they are not: worked out when somebody first asks for a job out of turn.
    index: OnceLock<Vec<u32>>,
}

impl Drafts {
    /// For about so many jobs, whose associations get places in `waiting`; with the memory of those of the cycle before.
    pub fn new(config: Arc<Config>, waiting: Waiting, before: Option<Self>, jobs: usize) -> Self {
        let mut memory = before.map(|before| before.jobs).unwrap_or_default();
        memory.clear();
        memory.reserve(jobs);
        Self {
            config,
            waiting,
            jobs: memory,
            partitions: Palette::new(),
            qos: Palette::new(),
            offsets: Palette::new(),
            tickets: Handed::default(),
            points: Given::default(),
            by_id: false,
            index: OnceLock::new(),
        }
    }

    /// The associations of the jobs.
    pub fn waiting(&self) -> &Waiting {
        &self.waiting
    }

    /// The same, to note those that have waiting jobs.
    pub fn waiting_mut(&mut self) -> &mut Waiting {
        &mut self.waiting
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.jobs.len()
    }

    /// The finished priorities, by the addresses of the records.
    pub fn numbers(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        self.jobs
            .iter()
            .filter(|draft| draft.task != Task::Clear)
            .map(|draft| (draft.address, draft.priority))
    }

    /// All drafts, in the order in which the jobs were read, which is slurmctld's own and mostly that of their records in memory; in that
    /// of their ids where tickets or points of single jobs are given, once they are finished.
    pub fn jobs(&self) -> &[Draft] {
        &self.jobs
    }

    /// To be called whenever the locks were let go of: an address may belong to something else.
    pub fn begin_hold(&mut self) {
        self.partitions.forget_keys();
        self.qos.forget_keys();
    }

    /// Reads what the priority of a job needs besides fair-share; nothing is written. `tres` is a buffer.
    pub fn add<V: Levels<Qos: Open>>(
        &mut self,
        evaluator: &Evaluator<'_>,
        lock: &AssocLock<'_, V>,
        job: Job<'_>,
        (association, book, waits): (AssocPlace, BookAt, Waits),
        tres: &mut [f64],
    ) -> Drafted {
        if !evaluator.is_computed(job) {
            return Drafted::Nothing;
        }
        let Some(facts) = views::job(job) else {
            if job.get(|job| job.direct_set_prio) != 0 {
                return self.add_to_clear(lock, job);
            }
            if NO_DETAILS.first() {
                warn_of_missing_details(job.get(|job| job.job_id));
            }
            return Drafted::Nothing;
        };
        if facts.direct {
            return self.add_to_clear(lock, job);
        }
        let more = evaluator.explain || job.has_variants();
        let age = self.add_facts(evaluator, lock, (job, &facts, more), (association, book, waits), tres);
        Drafted::Priority { nice: facts.nice, age }
    }

    /// The same of a job whose facts have been read, and which gets `more` than a number in any case. Returns its age.
    #[inline(always)]
    #[allow(clippy::inline_always)] // a tenth of the instructions of a cycle
    pub fn add_facts<V: Levels<Qos: Open>>(
        &mut self,
        evaluator: &Evaluator<'_>,
        lock: &AssocLock<'_, V>,
        (job, facts, more): (Job<'_>, &facts::Job, bool),
        (association, book, waits): (AssocPlace, BookAt, Waits),
        tres: &mut [f64],
    ) -> Option<u32> {
        let core = &evaluator.core;
        let partition = job.partition();
        let of_partition = self.partitions.place((partition.map_or(0, Record::address), book), || {
            let factor = partition.map(|partition| core.weighted_partition(&views::partition(partition)));
            OfPartition { factor: factor.unwrap_or_default(), book }
        });
        let of_qos = self.qos.place(job.named_qos(), || OfQos::of(core, job.qos(lock).map(views::qos)));
        let offsets = (facts.site, facts.nice);
        let of_offsets = self.offsets.place(offsets, || offsets);
        let task = if [of_partition, of_qos, of_offsets].contains(&NOWHERE) {
            Task::Evaluate
        } else if more || self.qos.get(of_qos).threshold {
            Task::More
        } else {
            Task::Number
        };
        let job_size = match core.weighs_size().then(|| views::size(job)) {
            Some(Some(size)) => core.weighted_size(&size),
            _ => 0.0,
        };
        let age = core.age(facts);
        self.jobs.push(Draft {
            address: job.address(),
            job_size,
            tres: core.weighted_tres(tres, evaluator.tres(job, partition)),
            id: facts.id,
            priority: facts.priority,
            association,
            age: age.unwrap_or(NO_AGE),
            partition: of_partition,
            qos: of_qos,
            offsets: of_offsets,
            task,
            waits,
        });
        age
    }

    /// Notes a job whose priority was set directly, if its QOS has a `UsageThreshold`.
    fn add_to_clear<V: Levels<Qos: Open>>(&mut self, lock: &AssocLock<'_, V>, job: Job<'_>) -> Drafted {
        if !job.qos(lock).map(views::qos).as_ref().is_some_and(facts::Qos::has_threshold) {
            return Drafted::Nothing;
        }
        self.jobs.push(Self::bare(job, Task::Clear));
        Drafted::ToClear
    }

    fn bare(job: Job<'_>, task: Task) -> Draft {
        Draft {
            address: job.address(),
            job_size: 0.0,
            tres: 0.0,
            id: job.get(|job| job.job_id),
            priority: job.get(|job| job.priority),
            association: AssocPlace::NONE,
            age: NO_AGE,
            partition: 0,
            qos: 0,
            offsets: 0,
            task,
            waits: Waits::No,
        }
    }

    /// Takes the tickets of the jobs.
    pub fn grant(&mut self, tickets: Handed) {
        self.tickets = tickets;
    }

    /// Some jobs are kept from starting, by their ids in order; others wait that were undecided.
    pub fn decide(&mut self, Decided { stopped, waiting }: &Decided) {
        for (place, books) in waiting {
            self.waiting.note(*place, *books);
        }
        for draft in &mut self.jobs {
            if stopped.binary_search(&draft.id).is_ok() {
                draft.waits = Waits::Stopped;
            }
        }
    }

    /// Takes the points of the jobs.
    pub fn take_points(&mut self, points: Given) {
        self.points = points;
    }

    /// The points that all jobs of a job's association have; `None` where points differ among them, and where the association is newer than the
    /// last cycle.
    pub fn points_there<A: Open>(&self, standing: &Standing, job: Job<'_, A>) -> Option<i32> {
        let Given::ByAssociation(points) = &self.points else { return None };
        points.get(standing.known_place(&self.waiting, job.named_association())?.index()).copied()
    }

    /// The tickets of pools that a job has in the book of its partition.
    pub fn tickets_of(&self, id: u32) -> Option<JobTickets> {
        let at = self.place_of(id)?;
        let OfPartition { book, .. } = self.partitions.get(self.jobs[at].partition);
        self.tickets.of(at, id, book)
    }

    /// `PriorityWeightFairshare`
    pub(super) fn fair_share_weight(&self) -> u32 {
        self.config.factors.weights.fair_share
    }

    /// What the priority of the draft at a place is made of; `None` where the association is none that the last distribution knew.
    fn evaluation(&self, draft: &Draft, at: usize, standing: &Standing) -> Option<Evaluation> {
        let OfPartition { factor, book } = self.partitions.get(draft.partition);
        let tickets = self.tickets.of(at, draft.id, book);
        let of_association = self.known(standing, draft.association, (book, tickets))?;
        Some(self.evaluation_from(draft, factor, of_association, self.points.of(at, draft.association)))
    }

    /// The weighted factors of an association, and of a job there in a book with these tickets.
    pub(super) fn known(
        &self,
        standing: &Standing,
        association: AssocPlace,
        of: (BookAt, Option<JobTickets>),
    ) -> Option<(f64, f64)> {
        let known = match association {
            AssocPlace::NONE => facts::AssociationFactors::default(),
            place => standing.known_at(&self.waiting, place, of)?,
        };
        Some(self.config.factors.weighted_standing(known))
    }

    /// What the priority of a draft is made of, with the factors of its partition and its association.
    #[inline(always)]
    #[allow(clippy::inline_always)] // a tenth of the instructions of a cycle
    fn evaluation_from(
        &self,
        draft: &Draft,
        partition: f64,
        (assoc, fair_share): (f64, f64),
        points: Option<i32>,
    ) -> Evaluation {
        let config = &self.config.factors;
        let age = if draft.age == NO_AGE { None } else { Some(draft.age) };
        let (site, nice) = self.offsets.get(draft.offsets);
        Evaluation {
            age: config.weighted_age(age),
            assoc,
            fair_share,
            job_size: draft.job_size,
            partition,
            qos: self.qos.get(draft.qos).factor,
            tres: draft.tres,
            site: points.map_or(site, |points| with_points(site, points)),
            nice,
        }
    }

    /// What the priority of a job came from; `None` for a job that these drafts do not have.
    pub fn evaluation_of(&self, id: u32, standing: &Standing) -> Option<Evaluation> {
        self.evaluation_after(&mut 0, id, standing)
    }

    /// The same where it is probably the one at `next`, which then is the place behind it.
    pub fn evaluation_after(&self, next: &mut usize, id: u32, standing: &Standing) -> Option<Evaluation> {
        // Some that stand between them have no draft any more.
        let near = self.jobs.iter().enumerate().skip(*next).take(NEAR);
        let at = match near.into_iter().find(|(_, draft)| draft.id == id) {
            Some((at, _)) => at,
            None => self.place_of(id)?,
        };
        *next = at + 1;
        let draft = &self.jobs[at];
        if matches!(draft.task, Task::Clear | Task::Evaluate) {
            return None;
        }
        self.evaluation(draft, at, standing)
    }

    /// What a job had in each of its books; `None` where that is not known.
    pub fn holdings<'s, A: Open>(&self, job: Job<'_, A>, standing: &'s Standing) -> Option<Holdings<'s>> {
        let id = job.get(|job| job.job_id);
        let at = self.place_of(id)?;
        let draft = &self.jobs[at];
        // Its priority came from this book, whichever partition was tried since.
        let own = self.partitions.get(draft.partition).book;
        let books = JobBooks::then(&self.config.books, &self.waiting.closed, job, draft.waits);
        let all = books.all.and(BookSet::one(own));
        let tickets = |book| self.tickets.of(at, id, book);
        standing.holdings_at(&self.waiting, draft.association, (own, all), tickets)
    }

    /// Whether a job waited before closed doors.
    pub fn was_closed(&self, id: u32) -> bool {
        !self.waiting.closed.is_empty()
            && self.place_of(id).is_some_and(|at| self.jobs[at].waits == Waits::Closed)
    }

    /// The tickets of a job, where pools give them to single jobs, in each of its books, if it is still of the same association, by
    /// address and id.
    pub fn tickets_still(&self, id: u32, (address, association): (usize, u32)) -> ByBook<JobTickets> {
        let place = if self.tickets.is_empty() { None } else { self.place_of(id) };
        let same = |at: &usize| self.waiting.at(self.jobs[*at].association) == Some((association, address));
        let Some(at) = place.filter(same) else { return ByBook::default() };
        let lines = BookSet::from_numbers(0..=self.config.books.names().len()).iter();
        let closed = self.waiting.closed.iter().map(|(book, _)| book);
        lines.chain(closed).filter_map(|book| Some((book, self.tickets.of(at, id, book)?))).collect()
    }

    fn place_of(&self, id: u32) -> Option<usize> {
        if self.by_id {
            return self.jobs.binary_search_by_key(&id, |draft| draft.id).ok();
        }
        let index = self.index.get_or_init(|| {
            let mut places: Vec<u32> = (0..).take(self.jobs.len()).collect();
            places.sort_unstable_by_key(|at| self.jobs[*at as usize].id);
            places
        });
        let found = index.binary_search_by_key(&id, |at| self.jobs[*at as usize].id).ok()?;
        Some(index[found] as usize)
    }
}
