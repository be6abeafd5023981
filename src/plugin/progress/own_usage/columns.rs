//! What jobs add to the columns of associations: for all jobs, and for the book of the partition in which a job runs.

use std::sync::Arc;

use multifactor2_accounting::charge::Amounts;
use multifactor2_accounting::sums::{columns, Recipe};
use multifactor2_core::books::{BookAt, BookLines};
use rustc_hash::FxHashMap;

use super::counted::{Charged, Metric};
use crate::host::records::{Job, Partition};

/// Where what a job uses goes: which columns of its association.
#[derive(Debug, Default)]
pub struct Columns {
    measures: Vec<Metric>,
    /// All jobs have columns, not only those of books.
    of_all: bool,
    /// The first column of each book.
    firsts: Vec<usize>,
    books: Arc<BookLines>,
    /// By address of partitions, found once per cycle.
    known: FxHashMap<usize, BookAt>,
    used: Vec<f64>,
}

impl Columns {
    /// Those of a recipe; `at` says which TRES has a name.
    pub fn of(recipe: &Recipe, books: &Arc<BookLines>, at: impl Fn(&str) -> Option<usize>) -> Self {
        let measures = columns::measures(recipe).into_iter().map(|name| Metric::of(name, || at(name)));
        Self {
            measures: measures.collect(),
            of_all: !recipe.tres.is_empty(),
            firsts: (0..recipe.books.len()).map(|book| columns::first_of(recipe, book)).collect(),
            books: Arc::clone(books),
            ..Self::default()
        }
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        !self.of_all && self.firsts.is_empty()
    }

    /// What TRES are kept.
    pub fn tres(&self) -> &[Metric] {
        if self.of_all {
            &self.measures
        } else {
            &[]
        }
    }

    /// Calls `add` with what a job has used, from a column on. What slurmctld's raw usage does not get no book gets that is taken from
    /// it.
    pub fn each(
        &mut self,
        job: Job<'_>,
        amounts: &Amounts,
        charged: Charged<'_>,
        mut add: impl FnMut(usize, &[f64]),
    ) {
        if self.is_empty() {
            return;
        }
        self.used.clear();
        self.used.extend(self.measures.iter().map(|metric| metric.used(job, amounts)));
        if self.of_all {
            add(0, &self.used);
        }
        let book = job.partition().map_or(BookAt::DEFAULT, |partition| self.book(partition));
        let first = book.index().checked_sub(1).and_then(|at| self.firsts.get(at));
        if let Some(first) = first.filter(|_| self.of_all || charged.in_raw) {
            add(*first, &self.used);
        }
    }

    fn book(&mut self, partition: Partition<'_>) -> BookAt {
        let Self { known, books, .. } = self;
        if books.is_empty() {
            return BookAt::DEFAULT;
        }
        let find = || books.of_partition(&partition.text(|part| part.name));
        *known.entry(partition.address()).or_insert_with(find)
    }
}
