//! Fair-share of associations and jobs by the algorithm in force. Only this module knows which algorithms exist.

use std::collections::{BTreeMap, HashMap};

use multifactor2_core::books::{Book, BookAt, BookSet, Books};
use multifactor2_core::factors::age;
use multifactor2_core::policy::pools::{order, Extra, JobTickets, Measure, Pools, QueuedJob, Role, Who};
use multifactor2_core::policy::stock::{self, Shown};
use multifactor2_core::settings::Settings;
use multifactor2_core::{FairShare, Node, ShareTree};
use multifactor2_snapshot::records::{Association, Job, Running};
use multifactor2_snapshot::Snapshot;

use super::facts::{shifted, ByName, Looks};
use super::{Algorithm, Config, Tree, WholeTree};

/// Who asks for shares: what the engine is given besides usage. It stays the same where only usage changes.
#[derive(Debug, Default)]
pub struct Competitors {
    /// The shares of each book, users with jobs that compete in it, and what gives tickets to single jobs, before it has given any.
    books: Books,
    /// By book; none if tickets are not by job.
    queues: Vec<(BookAt, WaitingJobs)>,
}

/// The jobs of a book.
#[derive(Debug, Default)]
struct WaitingJobs {
    /// In the order of their ids, and the place of each in the snapshot.
    queued: Vec<QueuedJob>,
    places: Vec<usize>,
    running: Vec<Who>,
}

/// The fair-share of all, in every book.
#[derive(Debug, Default)]
pub struct Shares {
    /// By book, the default one first, those of closed partitions last.
    books: Vec<(BookAt, InBook)>,
    competitors: Competitors,
}

/// The fair-share in one book.
#[derive(Debug, Default)]
pub struct InBook {
    /// Under multifactor2.
    book: Option<Book>,
    /// Under Fair Tree and classic, by node.
    stock: Option<Vec<Shown>>,
    /// Where pools give tickets to single jobs: those of each job of this book, by its place in the snapshot.
    tickets: HashMap<usize, JobTickets>,
}

/// Where an association stands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ShownStanding {
    /// Raw shares.
    pub shares: u32,
    /// Raw usage at the time of the model; in a book what its share tree goes by.
    pub usage: f64,
    /// S
    pub shares_norm: f64,
    /// U
    pub usage_norm: f64,
    /// Effective usage.
    pub usage_effective: f64,
    /// F; `None` if there is none.
    pub level_fs: Option<f64>,
    /// T; prospective where it is not active. `None` if there are no tickets, or they are not known.
    pub tickets: Option<f64>,
    /// The part of its parent's tickets, from 0 to 1.
    pub level_share: Option<f64>,
    /// It, or something below it, has jobs that compete.
    pub active: bool,
    /// The fair-share factor of its jobs, of users only.
    pub factor: Option<f64>,
}

impl Competitors {
    /// Collects the jobs of a snapshot.
    pub(super) fn of(looks: &Looks<'_>, competes: &[bool]) -> Self {
        let (snapshot, tree, lines) = (looks.snapshot, looks.tree, &looks.config.books);
        let node = |job: &Job| tree.by_id(job.association).and_then(|association| tree.node(association));
        let mut books = Books::default();
        if let Some(settings) = &looks.config.settings {
            books.configure(settings);
        }
        let names = tree.names(snapshot);
        books.plant(&tree.shape, lines, |node| Some(names(node).account));
        books.clear_waiting();
        books.close(&looks.closed.partitions);
        for (job, competes) in snapshot.jobs.iter().zip(competes) {
            if let Some(node) = node(job).filter(|_| *competes) {
                books.note_waiting(node, looks.books_of(job));
            }
        }
        let mut queues = Vec::new();
        if let Some((settings, pools)) =
            looks.config.settings.as_ref().and_then(|settings| Some((settings, Pools::configured(settings)?)))
        {
            for at in BookSet::from_numbers(0..=lines.names().len()).iter() {
                let mut pools = pools.clone();
                pools.begin(looks.date());
                pools.learn(&tree.shape, &names);
                queues.push((at, WaitingJobs::of(looks, competes, (settings, &mut pools, at), node)));
                // Those before closed doors go by the same names.
                let closed = looks.closed.partitions.iter().map(|(book, _)| book);
                for closed in closed.filter(|book| looks.closed.partitions.of(*book) == at) {
                    let queue = WaitingJobs::of(looks, competes, (settings, &mut pools, closed), node);
                    queues.push((closed, queue));
                }
                books.get_mut(at).pools = Some(pools);
            }
        }
        Self { books, queues }
    }
}

impl WaitingJobs {
    fn of(
        looks: &Looks<'_>,
        competes: &[bool],
        (settings, pools, book): (&Settings, &mut Pools, BookAt),
        node: impl Fn(&Job) -> Option<Node>,
    ) -> Self {
        let (snapshot, tree) = (looks.snapshot, looks.tree);
        let (measure, by_name) = (Measure::of(settings), ByName::of(snapshot));
        let of_book = |place: &usize| looks.books_of(&snapshot.jobs[*place]).has(book);
        let mut places: Vec<usize> = (0..snapshot.jobs.len()).filter(of_book).collect();
        places.sort_by_key(|place| snapshot.jobs[*place].id);
        let queued = places.iter().map(|place| {
            let job = &snapshot.jobs[*place];
            if job.priority == 0 || job.direct {
                return QueuedJob::none(job.id);
            }
            QueuedJob {
                id: job.id,
                leader: Some(job.het_job).filter(|leader| *leader != 0 && *leader != job.id),
                node: node(job),
                extra: pools.extra(looks.names(job, book)),
                role: if competes[*place] { Role::Waits } else { Role::Idle },
                order: order(shifted(job.nice), age(looks.at, job.accrue)),
                size: measure.size(looks.size_facts(job, by_name.partition(&job.partition))),
            }
        });
        let queued = queued.collect();
        let mut alike: BTreeMap<(Node, Extra), Who> = BTreeMap::new();
        let runs_here = |running: &&Running| looks.config.books.of_partition(&running.partition) == book;
        for running in snapshot.running.iter().filter(runs_here) {
            let association = tree.by_id(running.association).and_then(|association| tree.node(association));
            let Some(node) = association else { continue };
            let extra: Extra = pools.extra(Looks::names_of_running(running));
            let who = alike.entry((node, extra)).or_insert(Who { node, extra, size: 0.0, count: 0 });
            who.count = who.count.saturating_add(running.count);
            who.size += running.size;
        }
        // One order for all runs, so that sums are the same.
        Self { queued, places, running: alike.into_values().collect() }
    }
}

impl Shares {
    /// Computes fair-share in every book; nothing where the tree is not whole.
    pub(super) fn compute(config: &Config, tree: Option<WholeTree<'_>>, competitors: Competitors) -> Self {
        let mut shares = Self { books: Vec::new(), competitors };
        let lines = BookSet::from_numbers(0..=config.books.names().len()).iter();
        let closed = shares.competitors.books.closed().iter().map(|(book, _)| book);
        for at in lines.chain(closed).collect::<Vec<_>>() {
            let in_book = tree.map_or_else(InBook::default, |tree| {
                shares.with_usage(config, tree, at, tree.measured(shares.of_lines(at)))
            });
            shares.books.push((at, in_book));
        }
        shares
    }

    /// The books, the default one first, those of closed partitions last.
    pub fn books(&self) -> impl Iterator<Item = BookAt> + '_ {
        self.books.iter().map(|(book, _)| *book)
    }

    /// The book of lines whose shares and usage a book uses.
    pub fn of_lines(&self, book: BookAt) -> BookAt {
        self.competitors.books.closed().of(book)
    }

    /// That of a book with other usage, which [`WholeTree::measured_with`] gives.
    #[must_use]
    pub fn with_usage(&self, config: &Config, tree: WholeTree<'_>, at: BookAt, measured: &[f64]) -> InBook {
        if config.settings.is_none() || config.algorithm != Algorithm::Multifactor2 {
            let stock = config.stock.map(|algorithm| stock::standings(&tree.shape, measured, algorithm));
            return InBook { stock, ..InBook::default() };
        }
        let mut book = self.competitors.books.get(at).clone();
        book.fair_share.distribute(&book.tree, measured, &book.waiting);
        let of = self.of_lines(at);
        let open = (of != at).then(|| self.in_book(of).book.as_ref()).flatten();
        if let Some(open) = open {
            book.fair_share.stand_behind(&book.tree, &open.fair_share);
            book.pools.clone_from(&open.pools);
        }
        let mut tickets = HashMap::new();
        let queue_of =
            |book| self.competitors.queues.iter().find(|(of, _)| *of == book).map(|(_, queue)| queue);
        if let (Some(pools), Some(queue), Some(lines)) = (&mut book.pools, queue_of(at), queue_of(of)) {
            let mut queued = queue.queued.clone();
            let of_queued = pools.hand_out(&book.tree, &book.fair_share, &mut queued, &lines.running);
            if let Some((open, by)) = open.and_then(|open| Some((open.pools.as_ref()?, &open.fair_share))) {
                pools.stand_behind(&book.tree, (open, by), &queued);
            }
            tickets = queue.places.iter().copied().zip(of_queued).collect();
        }
        InBook { book: Some(book), stock: None, tickets }
    }

    /// That of a book; of the default one in place of one that there is not.
    pub fn in_book(&self, book: BookAt) -> &InBook {
        let found = self.books.iter().find(|(known, _)| *known == book);
        &found.unwrap_or(&self.books[0]).1
    }

    /// Whether fair-share is computed here, not taken from what Slurm shows.
    pub fn is_computed(&self) -> bool {
        self.books.iter().all(|(_, book)| book.book.is_some() || book.stock.is_some())
    }

    /// Where each association of a snapshot stands in a book, in its order. What is not computed here is as Slurm shows it.
    pub(super) fn standings(&self, snapshot: &Snapshot, tree: &Tree, at: BookAt) -> Vec<ShownStanding> {
        let in_book = self.in_book(at);
        let waiting = &self.competitors.books.get(at).waiting;
        let mut active: Vec<bool> = waiting.iter().map(|jobs| *jobs > 0).collect();
        for node in tree.shape.nodes().rev() {
            if let (true, Some(parent)) = (active[node.index()], tree.shape.parent(node)) {
                active[parent.index()] = true;
            }
        }
        let usage_of = |node: Node| match self.of_lines(at) {
            BookAt::DEFAULT => tree.usage[node.index()],
            at => tree.measured(at)[node.index()],
        };
        let of_one = |(place, association): (usize, &Association)| {
            let node = tree.node(place);
            let usage = node.map_or(association.usage, usage_of);
            match (&in_book.book, &in_book.stock, node) {
                (Some(book), _, Some(node)) => in_book.standing(book, node, usage),
                (_, Some(stock), Some(node)) => {
                    of_stock(&stock[node.index()], association, usage, active[node.index()])
                }
                _ => shown(association, usage),
            }
        };
        snapshot.associations.iter().enumerate().map(of_one).collect()
    }
}

impl InBook {
    /// Under multifactor2, where the settings are known.
    pub fn fair_share(&self) -> Option<&FairShare> {
        self.book.as_ref().map(|book| &book.fair_share)
    }

    /// The associations with the shares of the book.
    pub fn shape<'a>(&'a self, tree: &'a Tree) -> &'a ShareTree {
        self.book.as_ref().map_or(&tree.shape, |book| &book.tree)
    }

    /// What gives tickets to single jobs, where the settings ask for that.
    pub fn pools(&self) -> Option<&Pools> {
        self.book.as_ref()?.pools.as_ref()
    }

    /// The tickets of a job, by its place in the snapshot, where pools give them to single jobs.
    pub fn tickets_of_job(&self, job: usize) -> Option<JobTickets> {
        self.pools()?;
        Some(self.tickets.get(&job).copied().unwrap_or_default())
    }

    /// The fair-share factor of a job of an association; `None` if it is not computed here.
    pub fn factor_of_job(&self, job: usize, node: Option<Node>) -> Option<f64> {
        if let Some(stock) = &self.stock {
            return Some(node.and_then(|node| stock[node.index()].factor).unwrap_or_default());
        }
        let fair_share = self.fair_share()?;
        Some(match (self.pools(), node) {
            (_, None) => 0.0,
            (Some(pools), Some(_)) => pools.factor(self.tickets_of_job(job).unwrap_or_default()),
            (None, Some(node)) => fair_share.priority(node),
        })
    }

    /// The factor that the next job of a user gets.
    pub fn factor_of_next(&self, node: Node) -> Option<f64> {
        if let Some(stock) = &self.stock {
            return stock[node.index()].factor;
        }
        let book = self.book.as_ref()?;
        Some(match &book.pools {
            None => book.fair_share.priority(node),
            Some(pools) => {
                let next = Who { node, extra: Extra::default(), size: 0.0, count: 1 };
                pools.factor(pools.of_next(&book.tree, &book.fair_share, next))
            }
        })
    }

    fn standing(&self, Book { tree, fair_share, .. }: &Book, node: Node, usage: f64) -> ShownStanding {
        let competition = fair_share.competition();
        ShownStanding {
            shares: tree.shares(node),
            usage,
            shares_norm: tree.shares_norm(node),
            usage_norm: competition.usage_norm(node),
            usage_effective: competition.usage_effective(tree, node),
            level_fs: Some(competition.level_fs(tree, node)),
            tickets: Some(fair_share.tickets(node)),
            level_share: Some(fair_share.level_share(tree, node)),
            active: competition.is_active(node),
            factor: if tree.is_user(node) { self.factor_of_next(node) } else { None },
        }
    }
}

fn of_stock(shown: &Shown, association: &Association, usage: f64, active: bool) -> ShownStanding {
    ShownStanding {
        shares: association.shares,
        usage,
        shares_norm: shown.norm_shares,
        // That of the root, which Slurm does not show.
        usage_norm: shown.norm_usage.unwrap_or(1.0),
        usage_effective: shown.effectv_usage,
        level_fs: shown.level_fs,
        tickets: None,
        level_share: None,
        active,
        factor: shown.factor,
    }
}

fn shown(association: &Association, usage: f64) -> ShownStanding {
    ShownStanding {
        shares: association.shares,
        usage,
        shares_norm: association.shares_norm,
        usage_norm: association.usage_norm,
        usage_effective: association.usage_effective,
        level_fs: association.level_fs,
        tickets: association.tickets,
        level_share: None,
        active: association.active.unwrap_or_default(),
        factor: association.factor,
    }
}
