//! Books: partitions with separate usage and, if wanted, separate shares (`Book` lines).
//!
//! All books have the same association tree, and an association has the same place in it ([`Node`]). Only shares, usage and waiting jobs
//! differ. Each book has its own distribution and its own best user. Partitions in no book form the default book, which is the only one
//! without `Book` lines.
//!
//! `ActiveJobs=startable` adds books: one for each partition with jobs that wait only because of the state of the partition or of nodes, or
//! because of a reservation. See [`ClosedPartitions`].

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::policy::pools::{Bearer, Named, Pools};
use crate::policy::FairShare;
use crate::settings::Settings;
use crate::tree::{at, Node, ShareTree};

/// As many lines there may be.
pub const MOST_BOOKS: usize = MOST_BOOK as usize;
const MOST_BOOK: u8 = 31;

/// As many books of closed partitions there may be, behind those of lines.
const MOST_CLOSED: usize = 32;

/// Which book is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BookAt(u8);

impl BookAt {
    /// That of all partitions that no line names.
    pub const DEFAULT: Self = Self(0);

    /// 0 for the default book, then in the order of the lines; above [`MOST_BOOKS`] for that of a closed partition.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// That of the closed partition at a place of [`ClosedPartitions`].
    fn closed(at: usize) -> Self {
        let at = at.min(MOST_CLOSED - 1);
        Self(MOST_BOOK + 1 + u8::try_from(at).unwrap_or_default())
    }

    /// Its place among the closed partitions; `None` for a book of lines.
    fn closed_at(self) -> Option<usize> {
        self.index().checked_sub(MOST_BOOKS + 1)
    }
}

/// Some books.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BookSet(u64);

impl BookSet {
    /// The default book alone.
    pub const DEFAULT: Self = Self(1);

    /// One book alone.
    pub fn one(book: BookAt) -> Self {
        Self(1 << book.0)
    }

    /// Those with these numbers, 0 for the default book.
    pub fn from_numbers(numbers: impl IntoIterator<Item = usize>) -> Self {
        let known = numbers.into_iter().filter(|number| *number <= MOST_BOOKS);
        Self(known.fold(0, |set, number| set | 1 << number))
    }

    /// These, and those.
    #[must_use]
    pub fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Whether all of those are among these.
    pub fn has_all(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// Whether a book is among these.
    pub fn has(self, book: BookAt) -> bool {
        self.has_all(Self::one(book))
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = BookAt> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let book = u8::try_from(rest.trailing_zeros()).ok().filter(|_| rest > 0)?;
            rest &= rest - 1;
            Some(BookAt(book))
        })
    }
}

/// The partitions with waiting jobs that could start if the partition or nodes were up, or a reservation over. The jobs of each partition
/// compete among themselves, by shares and usage of the partition's book, so that their order is right when it opens. Nobody else competes
/// with them.
///
/// There are at most 32 competitions, which bounds the work of a cycle: the 32nd partition and all after it share one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClosedPartitions {
    /// In the order in which they were met; from the 32nd on all with the last book.
    all: Vec<ClosedPartition>,
    by_name: FxHashMap<String, u32>,
}

/// See [`ClosedPartitions`].
#[derive(Clone, Debug, PartialEq, Eq)]
struct ClosedPartition {
    name: String,
    /// The book of lines that it is in.
    of: BookAt,
    /// It starts no jobs at all, whatever keeps single ones from starting.
    is_down: bool,
}

impl ClosedPartitions {
    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The book of a partition in which a hindered job waits; `of` is its book of lines.
    pub fn add(&mut self, partition: &str, of: BookAt, is_down: bool) -> BookAt {
        let known = self.by_name.get(partition).map(|at| *at as usize);
        let at = known.unwrap_or_else(|| {
            let at = self.all.len();
            self.by_name.insert(partition.to_owned(), u32::try_from(at).unwrap_or(u32::MAX));
            self.all.push(ClosedPartition { name: partition.to_owned(), of, is_down: false });
            at
        });
        if let Some(known) = self.all.get_mut(at) {
            known.is_down |= is_down;
        }
        BookAt::closed(at)
    }

    /// The book of a partition, where a hindered job waits there.
    pub fn find(&self, partition: &str) -> Option<BookAt> {
        self.by_name.get(partition).map(|at| BookAt::closed(*at as usize))
    }

    /// The same of one that starts no jobs at all.
    pub fn find_down(&self, partition: &str) -> Option<BookAt> {
        let at = *self.by_name.get(partition)? as usize;
        self.all.get(at).filter(|known| known.is_down).map(|_| BookAt::closed(at))
    }

    /// For a closed partition's book, the book of the lines that it takes shares and usage from; any other book is its own.
    pub fn of(&self, book: BookAt) -> BookAt {
        book.closed_at().and_then(|at| self.all.get(at)).map_or(book, |known| known.of)
    }

    /// The books, each with the partition that it is of: the first one of several.
    pub fn iter(&self) -> impl Iterator<Item = (BookAt, &str)> {
        let own = self.all.iter().take(MOST_CLOSED).enumerate();
        own.map(|(at, known)| (BookAt::closed(at), known.name.as_str()))
    }
}

/// Shares of one book's own.
#[derive(Clone, Debug, Default, PartialEq)]
struct OwnShares {
    /// By account, in small letters.
    accounts: FxHashMap<String, u32>,
    /// Shares of every other account that is a sibling of one of these.
    others: u32,
}

impl OwnShares {
    fn tree<'n>(&self, tree: &ShareTree, account: impl Fn(Node) -> Option<&'n str>) -> ShareTree {
        let named: Vec<Option<u32>> = tree
            .nodes()
            .map(|node| self.accounts.get(&account(node).filter(|_| !tree.is_user(node))?.to_lowercase()))
            .map(Option::<&u32>::copied)
            .collect();
        // Whether somebody below a node is named.
        let mut divided = vec![false; tree.len()];
        for (node, _) in tree.nodes().zip(&named).filter(|(_, shares)| shares.is_some()) {
            if let Some(parent) = tree.parent(node) {
                divided[parent.index()] = true;
            }
        }
        tree.with_shares(|node| {
            let beside = tree.parent(node).is_some_and(|parent| divided[parent.index()]);
            match at(&named, node) {
                Some(shares) => shares,
                None if beside => self.others,
                None => tree.shares(node),
            }
        })
    }
}

/// What the lines of settings say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BookLines {
    /// In their order, in small letters.
    names: Vec<String>,
    partitions: FxHashMap<String, BookAt>,
    shares: Vec<Option<OwnShares>>,
}

impl BookLines {
    /// Those of these settings.
    pub fn of(settings: &Settings) -> Self {
        let mut lines = Self::default();
        for (book, line) in (1..=MOST_BOOK).map(BookAt).zip(&settings.books) {
            lines.names.push(line.name.to_ascii_lowercase());
            let partitions = line.partitions.iter().map(|name| (name.clone(), book));
            lines.partitions.extend(partitions);
            lines.shares.push(line.shares_of_accounts().map(|shares| {
                let mut accounts: FxHashMap<String, u32> = shares.into_iter().collect();
                let others = accounts.remove("*").unwrap_or(0);
                OwnShares { accounts, others }
            }));
        }
        lines
    }

    /// There is the default book only.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Some have separate shares.
    pub fn has_shares(&self) -> bool {
        self.shares.iter().any(Option::is_some)
    }

    /// What the books are called, without the default one.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// What a book is called.
    pub fn name(&self, book: BookAt) -> &str {
        book.index().checked_sub(1).and_then(|at| self.names.get(at)).map_or("default", String::as_str)
    }

    /// The book of a partition.
    pub fn of_partition(&self, name: &str) -> BookAt {
        self.partitions.get(name).copied().unwrap_or_default()
    }
}

/// The names in `Book` lines; `exists` says which accounts there are, in small letters.
pub fn named(settings: &Settings, exists: impl Fn(&str) -> bool) -> Vec<Named<'_>> {
    let mut all = Vec::new();
    for line in &settings.books {
        let named =
            |name, of| Named { place: &line.place.0, setting: "Book", kind: line.name.clone(), name, of };
        all.extend(line.partitions.iter().map(|name| named(name, Bearer::Partition)));
        let shares = line.shares.as_deref().unwrap_or_default();
        let accounts = shares.split(',').filter_map(|entry| Some(entry.rsplit_once(':')?.0.trim()));
        let accounts = accounts.filter(|name| *name != "*");
        all.extend(accounts.map(|name| named(name, Bearer::Association(exists(&name.to_lowercase())))));
    }
    all
}

/// One book: shares, who waits, and the tickets of its last distribution.
#[derive(Clone, Debug, Default)]
pub struct Book {
    /// The associations with their shares in this book.
    pub tree: Arc<ShareTree>,
    /// The number of waiting jobs of each user, by [`Node::index`].
    pub waiting: Vec<u32>,
    /// Who has which tickets.
    pub fair_share: FairShare,
    /// What gives tickets to single jobs, where the settings ask for that.
    pub pools: Option<Pools>,
}

/// All books.
#[derive(Clone, Debug, Default)]
pub struct Books {
    default: Book,
    /// In the order of the lines.
    others: Vec<Book>,
    closed_partitions: Arc<ClosedPartitions>,
    /// In the order of these.
    closed: Vec<Book>,
}

impl Books {
    /// Takes settings that are new: what was distributed is forgotten.
    pub fn configure(&mut self, settings: &Settings) {
        self.others.resize_with(settings.books.len().min(MOST_BOOKS), Book::default);
        for book in self.iter_mut() {
            book.fair_share.configure(settings);
        }
    }

    /// Takes a tree that is new to all books; `account` is what an account of it is called.
    pub fn plant<'n>(
        &mut self,
        tree: &Arc<ShareTree>,
        lines: &BookLines,
        account: impl Fn(Node) -> Option<&'n str>,
    ) {
        self.default.tree = Arc::clone(tree);
        for (book, shares) in self.others.iter_mut().zip(&lines.shares) {
            book.tree = match shares {
                Some(shares) => Arc::new(shares.tree(tree, &account)),
                None => Arc::clone(tree),
            };
        }
    }

    /// Takes the closed partitions, each with a book that takes shares and usage from that of its lines. Nobody waits there until that is
    /// noted, and nothing is distributed.
    pub fn close(&mut self, partitions: &ClosedPartitions) {
        let book = |(book, _)| {
            let Book { tree, fair_share, pools, .. } = self.get(partitions.of(book));
            let (tree, fair_share) = (Arc::clone(tree), fair_share.clone());
            Book { waiting: vec![0; tree.len()], tree, fair_share, pools: pools.clone() }
        };
        self.closed = partitions.iter().map(book).collect();
        self.closed_partitions = Arc::new(partitions.clone());
    }

    /// The closed partitions.
    pub fn closed(&self) -> &Arc<ClosedPartitions> {
        &self.closed_partitions
    }

    /// A book; the default one in place of one that there is not.
    pub fn get(&self, book: BookAt) -> &Book {
        let found = match book.closed_at() {
            Some(at) => self.closed.get(at),
            None => book.index().checked_sub(1).and_then(|at| self.others.get(at)),
        };
        found.unwrap_or(&self.default)
    }

    /// The same to be changed.
    pub fn get_mut(&mut self, book: BookAt) -> &mut Book {
        let found = match book.closed_at() {
            Some(at) => self.closed.get_mut(at),
            None => book.index().checked_sub(1).and_then(|at| self.others.get_mut(at)),
        };
        found.unwrap_or(&mut self.default)
    }

    /// The default book and those of lines, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Book> {
        std::iter::once(&self.default).chain(&self.others)
    }

    /// The same to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Book> {
        std::iter::once(&mut self.default).chain(&mut self.others)
    }

    /// All books, those of closed partitions last.
    pub fn all(&self) -> impl Iterator<Item = (BookAt, &Book)> {
        let lines = (0..).map(BookAt).zip(self.iter());
        lines.chain((0..).map(BookAt::closed).zip(&self.closed))
    }

    /// The same to be changed.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut Book> {
        std::iter::once(&mut self.default).chain(&mut self.others).chain(&mut self.closed)
    }

    /// Nobody has waiting jobs any more, until that is noted.
    pub fn clear_waiting(&mut self) {
        for book in self.all_mut() {
            book.waiting.clear();
            book.waiting.resize(book.tree.len(), 0);
        }
    }

    /// The user at a place has waiting jobs in some books.
    pub fn note_waiting(&mut self, node: Node, books: BookSet) {
        let (lines, closed) = (self.others.len(), self.closed.len());
        let exists = |book: &BookAt| book.closed_at().map_or(book.index() <= lines, |at| at < closed);
        for book in books.iter().filter(exists) {
            if let Some(waiting) = self.get_mut(book).waiting.get_mut(node.index()) {
                *waiting = (*waiting).max(1);
            }
        }
    }

    /// The books in which the user at a place has waiting jobs.
    pub fn waiting_of(&self, node: Node) -> BookSet {
        let books = self.all().filter(|(_, book)| at(&book.waiting, node) > 0);
        books.fold(BookSet::default(), |set, (book, _)| set.and(BookSet::one(book)))
    }

    /// Distributes the tickets of every book. `usage` is what the tree of a book of lines uses, by [`Node::index`].
    pub fn distribute<'u>(&mut self, usage: impl Fn(BookAt) -> &'u [f64]) {
        for (at, book) in (0..).map(BookAt).zip(self.iter_mut()) {
            book.fair_share.distribute(&book.tree, usage(at), &book.waiting);
        }
        let mut closed = std::mem::take(&mut self.closed);
        for ((at, _), book) in self.closed_partitions.iter().zip(&mut closed) {
            let of = self.closed_partitions.of(at);
            book.fair_share.distribute(&book.tree, usage(of), &book.waiting);
            book.fair_share.stand_behind(&book.tree, &self.get(of).fair_share);
        }
        self.closed = closed;
    }
}
