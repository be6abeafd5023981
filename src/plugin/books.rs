//! The books that a job is in, and what it has in each: see [`multifactor2_core::books`].

use multifactor2_core::books::{BookAt, BookLines, BookSet, ClosedPartitions};
use multifactor2_core::policy::pools::JobTickets;
use rustc_hash::FxHashMap;

use super::waiting::Waits;
use crate::host::access::Open;
use crate::host::records::{Job, Partition};

/// The books of a job.
#[derive(Clone, Copy, Debug)]
pub struct JobBooks {
    /// That of the partition that it is in, or was tried in last.
    pub own: BookAt,
    /// Those of all of its partitions.
    pub all: BookSet,
    /// Those in which it takes part, if it waits.
    pub joins: BookSet,
}

impl JobBooks {
    /// That of all partitions that no line names.
    const DEFAULT: Self = Self { own: BookAt::DEFAULT, all: BookSet::DEFAULT, joins: BookSet::DEFAULT };

    /// Those of a job; `book` says in which one a partition is, and whether the job takes part there. No list of the job's may be walked at
    /// the moment.
    fn of<A: Open>(job: Job<'_, A>, mut book: impl FnMut(Partition<'_>) -> (BookAt, bool)) -> Self {
        let job = job.read_only();
        let (own, joins) = job.partition().map_or((BookAt::DEFAULT, true), &mut book);
        let none = BookSet::from_numbers([]);
        let joined = |book, joins| if joins { BookSet::one(book) } else { none };
        let mut books = Self { own, all: BookSet::one(own), joins: joined(own, joins) };
        // Where it is listed, its partition is in the list.
        if let Some(list) = job.partitions() {
            list.for_each_ro(|partition| {
                let (book, joins) = book(partition);
                books.all = books.all.and(BookSet::one(book));
                books.joins = books.joins.and(joined(book, joins));
            });
        }
        books
    }

    /// The same by the lines of settings; without any nothing of the job is read.
    pub fn by<A: Open>(lines: &BookLines, job: Job<'_, A>) -> Self {
        if lines.is_empty() {
            return Self::DEFAULT;
        }
        Self::of(job, |partition| (of_partition(lines, partition), true))
    }

    /// Those of a job that is set between two cycles: of closed partitions those that the last cycle knew. A partition that has closed
    /// since has none, and jobs do not take part there.
    pub fn now<A: Open>(lines: &BookLines, closed: &ClosedPartitions, job: Job<'_, A>, waits: Waits) -> Self {
        Self::of(job, |partition| {
            let is_closed = match waits {
                Waits::No | Waits::Stopped | Waits::Everywhere => false,
                Waits::WhereOpen => partition.is_down() == Some(true),
                Waits::Closed => true,
            };
            let book = is_closed.then(|| closed.find(&partition.text(|part| part.name))).flatten();
            book.map_or_else(|| (of_partition(lines, partition), !is_closed), |book| (book, true))
        })
    }

    /// Those that a job had in the last cycle, which found it so.
    pub fn then<A: Open>(
        lines: &BookLines,
        closed: &ClosedPartitions,
        job: Job<'_, A>,
        waits: Waits,
    ) -> Self {
        if closed.is_empty() {
            return Self::by(lines, job);
        }
        Self::of(job, |partition| {
            let name = partition.text(|part| part.name);
            let book = match waits {
                Waits::No | Waits::Stopped | Waits::Everywhere => None,
                Waits::WhereOpen => closed.find_down(&name),
                Waits::Closed => closed.find(&name),
            };
            (book.unwrap_or_else(|| lines.of_partition(&name)), true)
        })
    }
}

/// The book of a partition.
pub fn of_partition(lines: &BookLines, partition: Partition<'_>) -> BookAt {
    if lines.is_empty() {
        return BookAt::DEFAULT;
    }
    lines.of_partition(&partition.text(|part| part.name))
}

/// The first partition of a job that is in a book; the first of all where none is.
pub fn first_partition<'a>(
    (lines, closed): (&BookLines, &ClosedPartitions),
    job: Job<'a>,
    book: BookAt,
) -> Option<Partition<'a>> {
    let is_in = |partition| {
        if closed.of(book) == book {
            of_partition(lines, partition) == book
        } else {
            closed.find(&partition.text(|part| part.name)) == Some(book)
        }
    };
    let mut first = None;
    if let Some(list) = job.partitions().filter(|_| !lines.is_empty() || !closed.is_empty()) {
        list.for_each_ro(|partition| {
            if first.is_none() && is_in(partition) {
                first = Some(partition);
            }
        });
    }
    first.or_else(|| job.first_partition())
}

/// What is known of a partition.
#[derive(Clone, Copy, Debug)]
struct Found {
    of_lines: BookAt,
    is_down: bool,
    /// Where hindered jobs wait in it.
    closed: Option<BookAt>,
}

/// The books of partitions, each looked up once per hold of the locks.
#[derive(Debug, Default)]
pub struct Finder(FxHashMap<usize, Found>);

impl Finder {
    /// The locks were let go of: an address may belong to something else.
    pub fn begin_hold(&mut self) {
        self.0.clear();
    }

    /// The books of a job, which waits so. A hindered one adds its partitions to the closed ones.
    pub fn books_of(
        &mut self,
        lines: &BookLines,
        closed: &mut ClosedPartitions,
        job: Job<'_>,
        waits: Waits,
    ) -> JobBooks {
        let may_be_closed = matches!(waits, Waits::WhereOpen | Waits::Closed);
        if lines.is_empty() && !may_be_closed {
            return JobBooks::DEFAULT;
        }
        JobBooks::of(job, |partition| {
            let known = self.0.entry(partition.address()).or_insert_with(|| Found {
                of_lines: of_partition(lines, partition),
                is_down: partition.is_down() == Some(true),
                closed: None,
            });
            if waits != Waits::Closed && !(may_be_closed && known.is_down) {
                return (known.of_lines, true);
            }
            let Found { of_lines, is_down, closed: book } = known;
            let add = || closed.add(&partition.text(|part| part.name), *of_lines, *is_down);
            (*book.get_or_insert_with(add), true)
        })
    }
}

/// Something for each of some books. A single book takes no separate memory.
#[derive(Clone, Debug)]
pub struct ByBook<T> {
    first: Option<(BookAt, T)>,
    more: Vec<(BookAt, T)>,
}

impl<T> Default for ByBook<T> {
    fn default() -> Self {
        Self { first: None, more: Vec::new() }
    }
}

impl<T: Copy> ByBook<T> {
    /// Adds one.
    pub fn push(&mut self, book: BookAt, value: T) {
        if self.first.is_none() {
            self.first = Some((book, value));
        } else {
            self.more.push((book, value));
        }
    }

    /// That of a book.
    pub fn get(&self, book: BookAt) -> Option<T> {
        self.iter().find(|(known, _)| *known == book).map(|(_, value)| value)
    }

    /// That of a book, or of the first.
    pub fn get_or_first(&self, book: BookAt) -> Option<T> {
        self.get(book).or_else(|| self.first.map(|(_, value)| value))
    }

    /// All.
    pub fn iter(&self) -> impl Iterator<Item = (BookAt, T)> + '_ {
        self.first.iter().chain(&self.more).copied()
    }

    /// There are several.
    pub fn is_several(&self) -> bool {
        !self.more.is_empty()
    }
}

impl<T: Copy> FromIterator<(BookAt, T)> for ByBook<T> {
    fn from_iter<I: IntoIterator<Item = (BookAt, T)>>(all: I) -> Self {
        let mut by_book = Self::default();
        all.into_iter().for_each(|(book, value)| by_book.push(book, value));
        by_book
    }
}

/// What a job has in one book.
#[derive(Clone, Copy, Debug, Default)]
pub struct InBook {
    /// Its fair-share factor, from 0 to 1.
    pub factor: f64,
    /// Its tickets of pools.
    pub tickets: Option<JobTickets>,
}

/// The tickets of pools among what a job has.
pub fn tickets(in_books: &ByBook<InBook>) -> ByBook<JobTickets> {
    in_books.iter().filter_map(|(book, has)| Some((book, has.tickets?))).collect()
}
