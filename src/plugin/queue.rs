//! The jobs that get separate tickets, if the settings ask for more than the share tree (see [`multifactor2_core::policy::pools`]). A cycle
//! collects them job by job and hands them to the pools when the tickets of associations are distributed.

use std::collections::HashMap;
use std::sync::Arc;

use multifactor2_core::books::{BookAt, BookLines, BookSet, ClosedPartitions};
use multifactor2_core::policy::pools::{
    comment_tickets, order, Change, Extra, JobNames, JobTickets, Measure, OwnTickets, Pools, QueuedJob, Role,
    SizeFacts, Who,
};
use multifactor2_core::settings::Settings;
use multifactor2_core::{FairShare, Node, ShareTree};
use tracing::warn;

use super::books::first_partition;
use super::config::Config;
use super::waiting::AssocPlace;
use crate::host::access::Open;
use crate::host::clock::Local;
use crate::host::constants::{INFINITE, TRES_ARRAY_BILLING, TRES_ARRAY_CPU};
use crate::host::locks::{AssocLock, Levels};
use crate::host::log::Once;
use crate::host::panics::attempt;
use crate::host::records::Job;
use crate::host::Host;

/// What is read of a job for the pools.
#[derive(Debug, Clone, Copy)]
pub struct Reader {
    own: OwnTickets,
    measure: Measure,
    now: i64,
}

impl Reader {
    /// For the pools of these settings. Texts that no self-check pins are read only in releases that were compared.
    pub fn new(host: &Host, pools: &Pools, settings: &Settings, now: i64) -> Self {
        let mut own = pools.own_tickets();
        own.wckey &= host.verified;
        own.admin_comment &= host.verified;
        Self { own, measure: Measure::of(settings), now }
    }

    /// For sizes alone.
    pub fn of_sizes(settings: &Settings, now: i64) -> Self {
        Self { own: OwnTickets::default(), measure: Measure::of(settings), now }
    }

    /// All jobs are of one size, and have what their associations have.
    fn reads_nothing(&self) -> bool {
        self.measure.is_by_job() && self.own.none()
    }

    /// The size of a job: of one that holds resources what it has, of any other what it requests.
    pub fn size<A: Open>(&self, job: Job<'_, A>) -> f64 {
        if self.measure.is_by_job() {
            return 1.0;
        }
        let holds = job.state().holds_resources();
        let tres = if holds { job.tres_allocated() } else { job.tres_requested() };
        let count = |at: usize| tres.and_then(|tres| tres.get(at)).copied().unwrap_or_default();
        #[allow(clippy::cast_precision_loss)] // seconds that a job may run
        let minutes_left = match job.limit_in_minutes() {
            INFINITE => None,
            _ if holds => Some((job.get(|job| job.end_time) - self.now) as f64 / 60.0),
            minutes => Some(f64::from(minutes)),
        };
        let facts =
            SizeFacts { cpus: count(TRES_ARRAY_CPU), billing: count(TRES_ARRAY_BILLING), minutes_left };
        self.measure.size(facts)
    }

    /// What a job has besides what its association has, in a book.
    pub fn extra<A: Open, V: Levels<Qos: Open>>(
        &self,
        pools: &mut Pools,
        lock: &AssocLock<'_, V>,
        job: Job<'_, A>,
        (lines, closed, book): (&BookLines, &ClosedPartitions, BookAt),
    ) -> Extra {
        if self.own.none() {
            return Extra::default();
        }
        let job = job.read_only();
        let partition = if self.own.partition { first_partition((lines, closed), job, book) } else { None };
        let partition = partition.map(|partition| partition.text(|part| part.name));
        let qos = if self.own.qos { job.qos(lock) } else { None };
        let qos = qos.map(|qos| qos.text(|qos| qos.name));
        let wckey = self.own.wckey.then(|| job.wckey());
        pools.extra(JobNames {
            partition: partition.as_deref().unwrap_or_default(),
            qos: qos.as_deref().unwrap_or_default(),
            wckey: wckey.as_deref().unwrap_or_default(),
            id: job.get(|job| job.job_id),
            array: if self.own.id { job.array() } else { None },
            own: if self.own.admin_comment { tickets_in_comment(job) } else { 0 },
        })
    }
}

/// The tickets that the `AdminComment` of a job gives it, where the settings ask for that.
pub fn tickets_of_comment(settings: &Settings, job: Job<'_>) -> u32 {
    if settings.admin_comment_tickets && job.host().verified {
        tickets_in_comment(job)
    } else {
        0
    }
}

/// Comments that say something else of tickets than what is understood, once per cycle.
pub static BAD_COMMENT: Once = Once::new();

fn tickets_in_comment(job: Job<'_>) -> u32 {
    match comment_tickets(&job.admin_comment()) {
        Ok(tickets) => tickets.unwrap_or_default(),
        Err(word) => {
            if BAD_COMMENT.first() {
                warn!(
                    "the AdminComment of job {}, and perhaps of others, says {word:?}, which is ignored: write \
                     tickets=N once, where N is a whole number from 0 to 1000000",
                    job.get(|job| job.job_id)
                );
            }
            0
        }
    }
}

/// What became of a job that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drafted {
    /// There is nothing to be done for it.
    Nothing,
    /// It has a draft that only says what is to be cleared.
    ToClear,
    /// It has a draft of its priority.
    Priority {
        /// Its nice value, shifted.
        nice: u32,
        /// Since how many seconds it gains age.
        age: Option<u32>,
    },
}

/// The tickets of the jobs of a cycle.
#[derive(Debug)]
pub enum Handed {
    /// Of every draft, in the order of their ids.
    All(Vec<JobTickets>),
    /// By book, of the jobs in it with their ids, in the order of these.
    ByBook(Vec<Vec<(u32, JobTickets)>>),
}

impl Default for Handed {
    fn default() -> Self {
        Self::All(Vec::new())
    }
}

impl Handed {
    /// None yet, by book.
    fn by_book() -> Self {
        Self::ByBook(Vec::new())
    }

    /// Takes those of the jobs in a book.
    fn take(&mut self, book: BookAt, jobs: &[QueuedJob], tickets: Vec<JobTickets>) {
        if let Self::ByBook(by_book) = self {
            by_book.resize_with(by_book.len().max(book.index() + 1), Vec::new);
            by_book[book.index()] = jobs.iter().map(|job| job.id).zip(tickets).collect();
        }
    }

    /// Pools give no tickets to single jobs.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::All(all) if all.is_empty())
    }

    /// Those of a job in a book, whose draft is at a place.
    pub fn of(&self, at: usize, id: u32, book: BookAt) -> Option<JobTickets> {
        match self {
            Self::All(all) => all.get(at).copied(),
            Self::ByBook(by_book) => {
                let jobs = by_book.get(book.index())?;
                jobs.binary_search_by_key(&id, |(id, _)| *id).ok().map(|at| jobs[at].1)
            }
        }
    }
}

/// The queues of all books.
#[derive(Debug)]
pub struct Queues {
    by_book: Vec<BookQueue>,
    /// Those before closed doors, by the order of the closed partitions.
    closed: Vec<ClosedQueue>,
    lines: Arc<BookLines>,
    /// The tree that the pools have known.
    pub known: Option<Arc<ShareTree>>,
    /// The pools have learnt what associations there are, or what lines are in force.
    pub is_taught: bool,
}

impl Queues {
    /// Begins to collect about this number of jobs; `None` if the share tree alone gives tickets. `pools` are those of the cycle before,
    /// with the tree that they know.
    pub fn begin(
        host: &Host,
        config: &Config,
        pools: Option<(Vec<Pools>, Arc<ShareTree>)>,
        jobs: usize,
        now: i64,
    ) -> Option<Self> {
        let (pools, known) = pools.unzip();
        let count = config.books.names().len() + 1;
        let pools = match pools.filter(|pools| pools.len() == count) {
            Some(pools) => pools,
            None => vec![Pools::configured(&config.settings)?; count],
        };
        let begin = |(pools, book)| BookQueue::begin(host, &config.settings, pools, (book, jobs), now);
        let by_book = pools.into_iter().zip(BookSet::from_numbers(0..count).iter()).map(begin).collect();
        let lines = Arc::clone(&config.books);
        Some(Self { by_book, closed: Vec::new(), lines, known, is_taught: false })
    }

    /// Lines of `Override=` that take effect with this cycle, or end.
    pub fn changes(&self) -> &[Change] {
        self.by_book.first().map_or(&[], |queue| &queue.changes)
    }

    /// The pools of all books.
    pub fn pools(&mut self) -> impl Iterator<Item = &mut Pools> {
        self.by_book.iter_mut().map(|queue| &mut queue.pools)
    }

    /// A job holds resources.
    pub fn note_running<A: Open, V: Levels<Qos: Open>>(
        &mut self,
        lock: &AssocLock<'_, V>,
        job: Job<'_, A>,
        (place, book): (AssocPlace, BookAt),
    ) {
        if let Some(queue) = self.by_book.get_mut(book.index()) {
            queue.note_running(lock, job, place, &self.lines);
        }
    }

    /// A job has got a draft. It `waits` in its books, or its user only might.
    pub fn note<A: Open, V: Levels<Qos: Open>>(
        &mut self,
        lock: &AssocLock<'_, V>,
        job: Job<'_, A>,
        (place, books, closed): (AssocPlace, BookSet, &ClosedPartitions),
        drafted: Drafted,
        waits: bool,
    ) {
        for book in books.iter() {
            let of = closed.of(book);
            let Some(queue) = self.by_book.get_mut(of.index()) else { continue };
            let lines = (&*self.lines, closed, book);
            let Some(job) = queue.read(lock, job, (place, lines), drafted, waits) else { continue };
            if of == book {
                queue.jobs.push(job);
                continue;
            }
            let known = self.closed.iter().position(|queue| queue.book == book);
            let at = known.unwrap_or_else(|| {
                self.closed.push(ClosedQueue { book, of, jobs: Vec::new() });
                self.closed.len() - 1
            });
            self.closed[at].jobs.push(job);
        }
    }

    /// The same of a plain job, where there is one book.
    #[inline]
    pub fn note_plain<V: Levels<Qos: Open>>(
        &mut self,
        lock: &AssocLock<'_, V>,
        job: Job<'_>,
        place: AssocPlace,
        drafted: Drafted,
        waits: bool,
    ) {
        let Some(queue) = self.by_book.first_mut() else { return };
        let queued = match drafted {
            Drafted::Priority { nice, age } if queue.reader.reads_nothing() => {
                Some((place, queued_job(job, (nice, age), waits, (Extra::default(), 1.0))))
            }
            drafted => {
                let book = (&*self.lines, &ClosedPartitions::default(), BookAt::DEFAULT);
                queue.read(lock, job, (place, book), drafted, waits)
            }
        };
        queue.jobs.extend(queued);
    }

    /// Some jobs are kept from starting, by their ids in order.
    pub fn stop(&mut self, stopped: &[u32]) {
        let closed = self.closed.iter_mut().flat_map(|queue| &mut queue.jobs);
        let jobs = self.by_book.iter_mut().flat_map(|queue| &mut queue.jobs).chain(closed);
        for (_, job) in jobs.filter(|(_, job)| stopped.binary_search(&job.id).is_ok()) {
            job.role = Role::Idle;
        }
    }

    /// Finds the associations of all jobs. No more jobs come.
    pub fn find(&mut self, node: impl Fn(AssocPlace) -> Option<Node>) {
        for queue in &mut self.by_book {
            find(&mut queue.jobs, &node);
            queue.alike = queue.running(&node);
        }
        self.closed.iter_mut().for_each(|queue| find(&mut queue.jobs, &node));
    }

    /// Hands out the tickets; `books` are the tree and the tickets of associations of each, those of closed partitions last. Returns the
    /// pools in their order.
    pub fn hand_out(self, books: &[(BookAt, Arc<ShareTree>, FairShare)]) -> (Vec<Pools>, Handed) {
        let is_one = self.by_book.len() == 1 && self.closed.is_empty();
        let (mut pools, mut handed) = (Vec::new(), Handed::by_book());
        let (mut open, mut closed) = (Vec::new(), self.closed);
        for (queue, (book, tree, fair_share)) in self.by_book.into_iter().zip(books) {
            let BookQueue { pools: mut of_book, jobs, alike, .. } = queue;
            let mut jobs = queued(jobs);
            let tickets = of_book.hand_out(tree, fair_share, &mut jobs, &alike);
            pools.push(of_book);
            if is_one {
                return (pools, Handed::All(tickets));
            }
            handed.take(*book, &jobs, tickets);
            open.push(alike);
        }
        for (book, tree, fair_share) in books.iter().skip(open.len()) {
            // It has one for every closed partition.
            let queue = closed.iter_mut().find(|queue| queue.book == *book);
            let (of, jobs) = queue
                .map_or((BookAt::DEFAULT, Vec::new()), |queue| (queue.of, std::mem::take(&mut queue.jobs)));
            let mut jobs = queued(jobs);
            // What runs is known to the book of lines, as are names and override tickets.
            let mut of_book = pools[of.index()].clone();
            let tickets = of_book.hand_out(tree, fair_share, &mut jobs, &open[of.index()]);
            of_book.stand_behind(tree, (&pools[of.index()], &books[of.index()].2), &jobs);
            pools.push(of_book);
            handed.take(*book, &jobs, tickets);
        }
        (pools, handed)
    }
}

/// Finds the associations of jobs, and puts these in order.
fn find(jobs: &mut [(AssocPlace, QueuedJob)], node: impl Fn(AssocPlace) -> Option<Node>) {
    jobs.sort_unstable_by_key(|(_, job)| job.id);
    for (place, job) in jobs {
        job.node = node(*place);
    }
}

fn queued(jobs: Vec<(AssocPlace, QueuedJob)>) -> Vec<QueuedJob> {
    jobs.into_iter().map(|(_, job)| job).collect()
}

/// The waiting jobs of a closed partition. Its pools come from the book of lines that it belongs to.
#[derive(Debug)]
struct ClosedQueue {
    book: BookAt,
    of: BookAt,
    jobs: Vec<(AssocPlace, QueuedJob)>,
}

/// A job as the pools take it, whose association is to be found yet.
#[inline]
fn queued_job<A: Open>(
    job: Job<'_, A>,
    (nice, age): (u32, Option<u32>),
    waits: bool,
    (extra, size): (Extra, f64),
) -> QueuedJob {
    let id = job.get(|job| job.job_id);
    QueuedJob {
        id,
        leader: job.het_leader().filter(|leader| *leader != id),
        node: None,
        extra,
        role: match (job.state().is_pending(), waits) {
            (true, true) => Role::Waits,
            (true, false) => Role::Idle,
            (false, _) => Role::Runs,
        },
        order: order(nice, age),
        size,
    }
}

/// Of one book: its jobs, in the order in which they were read.
#[derive(Debug)]
struct BookQueue {
    pools: Pools,
    reader: Reader,
    book: BookAt,
    changes: Vec<Change>,
    /// One for every draft of a job in the book, with the place of its association.
    jobs: Vec<(AssocPlace, QueuedJob)>,
    running: Vec<(AssocPlace, Extra, f64)>,
    /// Those that run, alike ones together.
    alike: Vec<Who>,
}

impl BookQueue {
    /// Begins to collect about this number of jobs.
    fn begin(
        host: &Host,
        settings: &Settings,
        mut pools: Pools,
        (book, jobs): (BookAt, usize),
        now: i64,
    ) -> Self {
        let changes = Local::at(now).map(|now| pools.begin(now.date())).unwrap_or_default();
        let reader = Reader::new(host, &pools, settings, now);
        Self {
            pools,
            reader,
            book,
            changes,
            // Which jobs are in which book is not known yet.
            jobs: Vec::with_capacity(if book == BookAt::DEFAULT { jobs } else { 0 }),
            running: Vec::new(),
            alike: Vec::new(),
        }
    }

    /// A job holds resources.
    fn note_running<A: Open, V: Levels<Qos: Open>>(
        &mut self,
        lock: &AssocLock<'_, V>,
        job: Job<'_, A>,
        place: AssocPlace,
        lines: &BookLines,
    ) {
        let book = (lines, &ClosedPartitions::default(), self.book);
        let extra = self.reader.extra(&mut self.pools, lock, job, book);
        self.running.push((place, extra, self.reader.size(job)));
    }

    /// What the pools need of a job that has got a draft. It `waits`, or its user only might.
    fn read<A: Open, V: Levels<Qos: Open>>(
        &mut self,
        lock: &AssocLock<'_, V>,
        job: Job<'_, A>,
        (place, book): (AssocPlace, (&BookLines, &ClosedPartitions, BookAt)),
        drafted: Drafted,
        waits: bool,
    ) -> Option<(AssocPlace, QueuedJob)> {
        let id = job.get(|job| job.job_id);
        let queued = match drafted {
            Drafted::Nothing => return None,
            Drafted::ToClear => None,
            // One for every draft, whatever happens.
            Drafted::Priority { nice, age } => attempt(|| {
                let extra = self.reader.extra(&mut self.pools, lock, job, book);
                queued_job(job, (nice, age), waits, (extra, self.reader.size(job)))
            }),
        };
        let place = if queued.is_some() { place } else { AssocPlace::NONE };
        Some((place, queued.unwrap_or_else(|| QueuedJob::none(id))))
    }

    /// Those that run, alike ones together.
    fn running(&self, node: impl Fn(AssocPlace) -> Option<Node>) -> Vec<Who> {
        let mut alike: HashMap<(Node, Extra), Who> = HashMap::new();
        for (place, extra, size) in &self.running {
            let Some(node) = node(*place) else { continue };
            let who = alike.entry((node, *extra)).or_insert(Who { node, extra: *extra, size: 0.0, count: 0 });
            who.size += size;
            who.count += 1;
        }
        let mut running: Vec<Who> = alike.into_values().collect();
        // One order for all runs, so that sums are the same.
        running.sort_unstable_by_key(|who| (who.node, who.extra));
        running
    }
}
