//! The fair-share of single jobs: from pools if these give tickets to single jobs, else that of their association.

use std::sync::Arc;

use multifactor2_core::books::{Book, BookAt, BookSet};
use multifactor2_core::policy::pools::{Extra, JobTickets, Names, Pools, Who};
use multifactor2_core::{FairShare, Node, ShareTree};

use super::super::books::{ByBook, InBook, JobBooks};
use super::super::config::Config;
use super::super::queue::{Queues, Reader};
use super::super::waiting::{AssocPlace, Waiting, Waits};
use super::Standing;
use crate::host::access::Open;
use crate::host::locks::{AssocLock, Levels};
use crate::host::records::Job;
use crate::host::Host;

/// The fair-share of a job that is set now.
#[derive(Clone, Debug, Default)]
pub struct Share {
    /// The book of its partition.
    pub own: BookAt,
    /// What it has in each of its books.
    pub in_books: ByBook<InBook>,
    /// It begins to wait, and is counted for those that come next.
    pub joins: bool,
    /// It may have another factor in each of its partitions and QOS.
    pub by_entry: bool,
}

impl Share {
    /// The factor that goes into its priority.
    pub fn factor(&self) -> f64 {
        self.in_books.get(self.own).map_or(0.0, |has| has.factor)
    }
}

/// What a job has in each of its books, with what gave it.
#[derive(Clone, Debug)]
pub struct Holdings<'s> {
    standing: &'s Standing,
    /// The book of its partition.
    pub own: BookAt,
    /// By book.
    pub in_books: ByBook<InBook>,
}

impl<'s> Holdings<'s> {
    /// What gave tickets in a book.
    pub fn pools(&self, book: BookAt) -> Option<&'s Pools> {
        self.standing.books.get(book).pools.as_ref()
    }

    /// The book of a partition.
    pub fn book_of(&self, partition: &str) -> BookAt {
        let closed = self.standing.books.closed().find(partition);
        let closed = closed.filter(|book| self.in_books.get(*book).is_some());
        closed.unwrap_or_else(|| self.standing.lines.of_partition(partition))
    }

    /// The tickets that its priority came from, and those of the best.
    pub fn explained(&self) -> Option<(JobTickets, f64)> {
        let tickets = self.in_books.get(self.own)?.tickets?;
        Some((tickets, self.pools(self.own)?.max_now()))
    }
}

/// User and account of every association of a tree.
#[derive(Debug)]
pub struct NamesByNode(Vec<(String, String)>);

impl NamesByNode {
    /// What one is called.
    pub fn of(&self, node: Node) -> Names<'_> {
        self.0.get(node.index()).map_or(Names::default(), |(user, account)| Names { user, account })
    }
}

/// See [`Standing::ground`].
#[derive(Clone, Debug)]
pub struct Ground {
    tree: Arc<ShareTree>,
    /// Shares and tickets of associations, by book; those of closed partitions behind those of lines.
    pub books: Vec<(BookAt, Arc<ShareTree>, FairShare)>,
}

impl Standing {
    /// Begins to collect the jobs that get separate tickets, about this number; `None` if none do.
    pub fn begin_queues(&self, host: &Host, config: &Config, jobs: usize, now: i64) -> Option<Queues> {
        let same = self.settings.as_ref() == Some(&config.settings);
        let pools = || self.books.iter().map(|book| book.pools.clone()).collect::<Option<Vec<Pools>>>();
        let pools = same.then(pools).flatten().map(|pools| (pools, Arc::clone(&self.tree)));
        config.fair_share.then(|| Queues::begin(host, config, pools, jobs, now)).flatten()
    }

    /// The associations at all places in the `waiting` of a cycle.
    pub fn nodes(&self, waiting: &Waiting) -> Vec<Option<Node>> {
        waiting.places().map(|place| self.found_at(waiting, place).map(|(_, node)| node)).collect()
    }

    /// What tickets of single jobs are handed out by, as it is now.
    pub fn ground(&self) -> Ground {
        let books = self.books.all().map(|(at, book)| (at, Arc::clone(&book.tree), book.fair_share.clone()));
        Ground { tree: Arc::clone(&self.tree), books: books.collect() }
    }

    /// From here on these pools answer, one for each book, which have handed out tickets on that ground.
    pub fn take_pools(&mut self, pools: Vec<Pools>, ground: &Ground) {
        let of_cycle = self.of_cycle.as_deref_mut();
        let standing = if Arc::ptr_eq(&self.tree, &ground.tree) {
            Some(self)
        } else {
            // Associations have come meanwhile.
            of_cycle.filter(|of_cycle| Arc::ptr_eq(&of_cycle.tree, &ground.tree))
        };
        if let Some(standing) = standing {
            standing.books.all_mut().zip(pools).for_each(|(book, pools)| book.pools = Some(pools));
        }
    }

    /// Tells pools what the associations are called.
    pub(super) fn teach<'p, V: Levels<Assoc: Open>>(
        &self,
        lock: &AssocLock<'_, V>,
        pools: impl Iterator<Item = &'p mut Pools>,
    ) {
        let mut names = None;
        for pools in pools {
            let names = names.get_or_insert_with(|| self.names(lock));
            pools.learn(&self.tree, |node| names.of(node));
        }
    }

    /// What the associations are called.
    pub fn names<V: Levels<Assoc: Open>>(&self, lock: &AssocLock<'_, V>) -> NamesByNode {
        let mut names = vec![(String::new(), String::new()); self.tree.len()];
        self.for_each_node(lock, |association, node| {
            let user = association.text(|assoc| assoc.user).into_owned();
            names[node.index()] = (user, association.text(|assoc| assoc.acct).into_owned());
        });
        NamesByNode(names)
    }

    /// The fair-share of a job as it is now; a factor of 0 without an association. A job that `waits` makes its user take part. `known`:
    /// the tickets of a job that the last cycle knew already.
    pub fn fair_share<V: Levels<Assoc: Open, Qos: Open>>(
        &mut self,
        lock: &AssocLock<'_, V>,
        job: Job<'_>,
        (waits, now): (Waits, i64),
        known: &ByBook<JobTickets>,
    ) -> Share {
        if self.pools().is_some() {
            let (address, id) = job.named_association();
            // What is counted of those that the cycle knew is counted there.
            if let Some(of_cycle) = self.of_cycle.as_deref_mut().filter(|of| of.node(address, id).is_some()) {
                return of_cycle.fair_share(lock, job, (waits, now), known);
            }
        }
        let node = self.node_of(lock, job);
        let JobBooks { own, all, joins } = match waits {
            Waits::No | Waits::Stopped | Waits::Everywhere => JobBooks::by(&self.lines, job),
            Waits::WhereOpen | Waits::Closed => JobBooks::now(&self.lines, self.books.closed(), job, waits),
        };
        let mut share = Share { own, ..Share::default() };
        let Some(node) = node else { return share };
        if waits.is_some() {
            // For a tree that is read again before the next cycle.
            self.books.note_waiting(node, joins);
        }
        for book in all.iter() {
            let waits = waits.is_some() && joins.has(book);
            let (has, joins) = self.in_book(lock, job, (node, book), (waits, now), known.get(book));
            share.in_books.push(book, has);
            share.joins |= joins;
        }
        let by_entry = |pools: &Pools| pools.own_tickets().by_entry();
        share.by_entry = share.in_books.is_several()
            || all.iter().any(|book| self.books.get(book).pools.as_ref().is_some_and(by_entry));
        share
    }

    /// Whether all jobs of an association have the same, as far as the last cycle knows.
    pub fn is_by_association(&self) -> bool {
        self.pools().is_none() && self.lines.is_empty() && self.books.closed().is_empty()
    }

    /// The fair-share factor of a job as it is now, where all jobs of an association have the same; 0 without an association. A job that
    /// `waits` makes its user take part: it is asked only where the user does not yet.
    pub fn factor_by_association<V: Levels<Assoc: Open>>(
        &mut self,
        lock: &AssocLock<'_, V>,
        job: Job<'_>,
        waits: impl FnOnce() -> bool,
    ) -> f64 {
        let Some(node) = self.node_of(lock, job) else { return 0.0 };
        let Book { tree, waiting, fair_share, .. } = self.books.get_mut(BookAt::DEFAULT);
        let joins = !fair_share.competition().is_active(node) && waits();
        if let Some(waiting) = waiting.get_mut(node.index()).filter(|_| joins) {
            // For a tree that is read again before the next cycle.
            *waiting = (*waiting).max(1);
        }
        fair_share.submit(tree, node, joins)
    }

    /// The place in the tree of a job's association, mostly without a look at the association itself.
    #[inline]
    fn node_of<V: Levels<Assoc: Open>>(&mut self, lock: &AssocLock<'_, V>, job: Job<'_>) -> Option<Node> {
        let (address, id) = job.named_association();
        self.node(address, id).or_else(|| {
            let association = job.association(lock)?;
            self.node_now(lock, (association.address(), association.get(|assoc| assoc.id)))
        })
    }

    /// What a job has in one book, and whether it is counted there from now on.
    fn in_book<V: Levels<Assoc: Open, Qos: Open>>(
        &mut self,
        lock: &AssocLock<'_, V>,
        job: Job<'_>,
        (node, at): (Node, BookAt),
        (waits, now): (bool, i64),
        known: Option<JobTickets>,
    ) -> (InBook, bool) {
        let closed = self.pools().map(|_| Arc::clone(self.books.closed()));
        let Book { tree, fair_share, pools, .. } = self.books.get_mut(at);
        let Some((pools, settings)) = pools.as_mut().zip(self.settings.as_ref()) else {
            return (InBook { factor: fair_share.submit(tree, node, waits), tickets: None }, false);
        };
        let closed = closed.unwrap_or_default();
        let reader = Reader::new(lock.host(), pools, settings, now);
        let extra = reader.extra(pools, lock, job, (&self.lines, &closed, at));
        let who = Who { node, extra, size: reader.size(job), count: 1 };
        let tickets = known.unwrap_or_else(|| {
            if job.state().holds_resources() {
                pools.of_running(tree, fair_share, who)
            } else {
                pools.of_next(tree, fair_share, who)
            }
        });
        let joins = waits && known.is_none();
        if joins {
            fair_share.join(tree, node);
            pools.join(tree, fair_share, who, tickets);
        }
        (InBook { factor: pools.factor_now(tickets), tickets: Some(tickets) }, joins)
    }

    /// The factors of the next jobs of all associations in the default book, by node, if they must be computed: without any lock of the
    /// host's. Else none.
    pub fn factors(&self) -> Vec<f64> {
        let nodes = self.pools().into_iter().flat_map(|_| self.tree.nodes());
        nodes.map(|node| if self.tree.is_user(node) { self.factor(node) } else { 0.0 }).collect()
    }

    /// The factor of the next job of an association in the default book.
    pub(super) fn factor(&self, node: Node) -> f64 {
        self.factor_in(BookAt::DEFAULT, node, None)
    }

    /// The factor in a book of a job with these tickets of pools, or of the next of its association.
    pub(super) fn factor_in(&self, book: BookAt, node: Node, tickets: Option<JobTickets>) -> f64 {
        let Book { tree, fair_share, pools, .. } = self.books.get(book);
        let Some(pools) = pools else { return fair_share.priority(node) };
        pools.factor(tickets.unwrap_or_else(|| {
            let next = Who { node, extra: Extra::default(), size: 0.0, count: 1 };
            pools.of_next(tree, fair_share, next)
        }))
    }

    /// What gave tickets to the jobs of the last cycle in the default book, where the settings ask for that.
    pub fn pools_of_cycle(&self) -> Option<&Pools> {
        self.of_cycle.as_deref().unwrap_or(self).pools()
    }

    /// What gives tickets to single jobs in the default book, where the settings ask for that.
    pub fn pools(&self) -> Option<&Pools> {
        self.books.get(BookAt::DEFAULT).pools.as_ref()
    }

    /// What a job has that is set now.
    pub fn holdings(&self, share: &Share) -> Holdings<'_> {
        let standing = self.of_cycle.as_deref().unwrap_or(self);
        Holdings { standing, own: share.own, in_books: share.in_books.clone() }
    }

    /// What a job of the last cycle has at a place in its `waiting`; `tickets` are those of pools.
    pub fn holdings_at(
        &self,
        waiting: &Waiting,
        place: AssocPlace,
        books: (BookAt, BookSet),
        tickets: impl Fn(BookAt) -> Option<JobTickets>,
    ) -> Option<Holdings<'_>> {
        let standing = self.of_cycle.as_deref().unwrap_or(self);
        let (_, node) = standing.found_at(waiting, place)?;
        Some(standing.holdings_of_node(node, books, tickets))
    }

    /// What a job of the association with an id would have now.
    pub fn holdings_by_id(&self, id: u32, books: JobBooks) -> Option<Holdings<'_>> {
        let (_, node) = self.found_by_id(id)?;
        Some(self.holdings_of_node(node, (books.own, books.all), |_| None))
    }

    fn holdings_of_node(
        &self,
        node: Node,
        (own, all): (BookAt, BookSet),
        tickets: impl Fn(BookAt) -> Option<JobTickets>,
    ) -> Holdings<'_> {
        let has = |book| {
            let tickets = tickets(book);
            (book, InBook { factor: self.factor_in(book, node, tickets), tickets })
        };
        Holdings { standing: self, own, in_books: all.iter().map(has).collect() }
    }

    /// The books of a job, by the lines of the last cycle.
    pub fn books_of<A: Open>(&self, job: Job<'_, A>) -> JobBooks {
        JobBooks::by(&self.lines, job)
    }
}
