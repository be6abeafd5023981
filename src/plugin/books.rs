//! In which books a job is, and what it has in each: see [`multifactor2_core::books`].

use multifactor2_core::books::{BookAt, BookLines, BookSet};
use multifactor2_core::policy::pools::JobTickets;
use rustc_hash::FxHashMap;

use crate::host::access::Open;
use crate::host::records::{Job, Partition};

/// The books of a job.
#[derive(Clone, Copy, Debug)]
pub struct JobBooks {
    /// That of the partition that it is in, or was tried in last.
    pub own: BookAt,
    /// Those of all of its partitions.
    pub all: BookSet,
}

impl JobBooks {
    /// Those of a job; `book` says in which one a partition is. No list of the job's may be walked at the moment.
    pub fn of<A: Open>(job: Job<'_, A>, mut book: impl FnMut(Partition<'_>) -> BookAt) -> Self {
        let job = job.read_only();
        let own = job.partition().map_or(BookAt::DEFAULT, &mut book);
        let mut all = BookSet::one(own);
        if let Some(list) = job.partitions() {
            list.for_each_ro(|partition| all = all.and(BookSet::one(book(partition))));
        }
        Self { own, all }
    }

    /// The same by the lines of settings; without any nothing of the job is read.
    pub fn by<A: Open>(lines: &BookLines, job: Job<'_, A>) -> Self {
        if lines.is_empty() {
            return Self { own: BookAt::DEFAULT, all: BookSet::DEFAULT };
        }
        Self::of(job, |partition| of_partition(lines, partition))
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
pub fn first_partition<'a>(lines: &BookLines, job: Job<'a>, book: BookAt) -> Option<Partition<'a>> {
    let mut first = None;
    if let Some(list) = job.partitions().filter(|_| !lines.is_empty()) {
        list.for_each_ro(|partition| {
            if first.is_none() && of_partition(lines, partition) == book {
                first = Some(partition);
            }
        });
    }
    first.or_else(|| job.first_partition())
}

/// The books of partitions, each looked up once per hold of the locks.
#[derive(Debug, Default)]
pub struct Finder(FxHashMap<usize, BookAt>);

impl Finder {
    /// The locks were let go of: an address may belong to something else.
    pub fn begin_hold(&mut self) {
        self.0.clear();
    }

    /// The books of a job.
    pub fn books_of(&mut self, lines: &BookLines, job: Job<'_>) -> JobBooks {
        if lines.is_empty() {
            return JobBooks::by(lines, job);
        }
        JobBooks::of(job, |partition| {
            let known = self.0.entry(partition.address());
            *known.or_insert_with(|| of_partition(lines, partition))
        })
    }
}

/// Something for each of some books. One alone takes no memory of its own.
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
