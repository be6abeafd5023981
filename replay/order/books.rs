//! Books: separate usage and fair-share of some partitions. Without `Book` lines there is one, of all partitions.
//!
//! A job waits in the books of all partitions that it requests, and is charged to that of the partition in which it runs.

use std::sync::Arc;

use multifactor2_core::books::{self, BookAt, BookLines, BookSet};
use multifactor2_core::policy::pools::Names;
use multifactor2_core::settings::Settings;
use multifactor2_core::{Node, ShareTree};

use super::standing::FairSharePolicy;
use super::tickets::Tickets;
use super::usage::Usage;
use crate::workload::Setup;

/// One book.
pub struct Book<'s> {
    /// Who should have what.
    pub standing: Box<dyn FairSharePolicy + 's>,
    /// The associations with their shares in this book.
    pub tree: Arc<ShareTree>,
    /// What was used in its partitions.
    pub usage: Usage,
    /// Jobs that wait for its partitions, by node.
    pub waiting: Vec<u32>,
}

impl<'s> Book<'s> {
    /// Nobody has used anything. `half_life` in seconds, 0 for no decay.
    pub fn new(
        standing: Box<dyn FairSharePolicy + 's>,
        tree: Arc<ShareTree>,
        (half_life, now): (u32, i64),
    ) -> Self {
        Self { standing, usage: Usage::new(&tree, half_life, now), tree, waiting: Vec::new() }
    }
}

/// All books: see the module.
pub struct Books<'s> {
    /// The default one first.
    all: Vec<Book<'s>>,
    /// By partition of the machine; none where there is the default one only.
    of_partitions: Vec<BookAt>,
}

impl<'s> Books<'s> {
    /// One book for all partitions.
    pub fn one(book: Book<'s>) -> Self {
        Self { all: vec![book], of_partitions: Vec::new() }
    }

    /// Those of settings, if they ask for any.
    pub fn of<'n>(
        settings: &Settings,
        setup: &Setup<'_>,
        tree: &Arc<ShareTree>,
        names: impl Fn(Node) -> Names<'n>,
        since: (u32, i64),
    ) -> Option<Self> {
        let lines = BookLines::of(settings);
        if lines.is_empty() {
            return None;
        }
        let mut planted = books::Books::default();
        planted.configure(settings);
        planted.plant(tree, &lines, |node| Some(names(node).account));
        let of_partition = |name: &str| lines.of_partition(name);
        Some(Self {
            all: planted
                .iter()
                .map(|book| Book::new(Box::new(Tickets::new(settings)), Arc::clone(&book.tree), since))
                .collect(),
            of_partitions: setup.machine.partitions.iter().map(|of| of_partition(&of.name)).collect(),
        })
    }

    /// The book of a partition.
    pub fn of_partition(&self, partition: u16) -> BookAt {
        self.of_partitions.get(usize::from(partition)).copied().unwrap_or_default()
    }

    /// The books of all partitions of a job.
    pub fn of_job(&self, setup: &Setup<'_>, job: u32) -> BookSet {
        if self.of_partitions.is_empty() {
            return BookSet::DEFAULT;
        }
        let partitions = setup.partitions(job).iter();
        partitions.fold(BookSet::default(), |set, at| set.and(BookSet::one(self.of_partition(*at))))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// A book.
    pub fn get(&self, book: BookAt) -> &Book<'s> {
        &self.all[book.index()]
    }

    /// The same to be changed.
    pub fn get_mut(&mut self, book: BookAt) -> &mut Book<'s> {
        &mut self.all[book.index()]
    }

    /// All of them, the default one first.
    pub fn iter(&self) -> impl Iterator<Item = &Book<'s>> {
        self.all.iter()
    }

    /// The same to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Book<'s>> {
        self.all.iter_mut()
    }
}
