//! What share trees use instead of slurmctld's raw usage, from our own sums: the dominant shares of `UsageMeasure=dominant`, usage in the
//! windows of `TreeUsage=window`, and usage in the partitions of a book.
//!
//! D(n) is the largest, over the TRES listed, of weight times usage over what the cluster could have given in the same time, both with
//! half-life decay. Usage below an account is added up TRES by TRES before the largest is taken. So an account that uses a tenth of the
//! processors and a tenth of the GPUs has D = 0.1, in one job or in two, of one user or of two. D of an account is at most the sum of the D
//! below it, and at least the largest of them. Billing is the same with one column of weight 1.
//!
//! The default book has the usage of all jobs less that of jobs in books. It is never less than 0, and it is 0 where the rest is a rounding
//! error.

use multifactor2_core::rules::windows::{self, plus};
use multifactor2_core::tree::{at, Node, ShareTree};

use super::sums::{columns, Sums};
use super::tally::TallyPlace;

/// A rest that is a smaller part than this of what it was taken from is none.
const SMALLEST_REST: f64 = 1e-9;

/// What associations have used, without what is below them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measure {
    ids: Vec<u32>,
    /// For each, as many as there are weights.
    used: Vec<f64>,
    /// Of each column its weight, and what there could have been used of it.
    weights: Vec<(f64, f64)>,
}

/// The usage that the share tree of each book uses.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measures {
    /// That of the default book; `None` if it is raw usage, less that of the others.
    pub default: Option<Measure>,
    /// Those of the others.
    pub books: Vec<Measure>,
}

/// A column, and its weight with what could have been used of it.
type Weighted = (usize, (f64, f64));

impl Sums {
    /// What an association itself has used, by [column](columns), with decay.
    pub fn used(&self, id: u32) -> &[f64] {
        self.associations.get(&id).map_or(&[], |known| &self.kept[known.place.index()].columns)
    }

    /// What the cluster could have given, likewise, in the columns of all jobs.
    pub fn given(&self) -> &[f64] {
        &self.kept[TallyPlace::CAPACITY.index()].columns
    }

    /// The usage for share trees, as of the last cycle: TRES with these weights, or billing, in all books with these names. A TRES that is
    /// not kept, or that the cluster lacks, counts nothing; neither does a book that is not kept.
    pub fn measures(&self, weights: Option<&[(String, f64)]>, books: &[String]) -> Measures {
        // TRES by their numbers in the recipe.
        let weighted: Vec<Weighted> = match weights {
            None => vec![(0, (1.0, 1.0))],
            Some(weights) => weights
                .iter()
                .filter_map(|(name, weight)| {
                    let at = self.recipe.tres.iter().position(|known| known == name)?;
                    let given = self.given().get(at).copied().filter(|given| *given > 0.0)?;
                    Some((at, (*weight, given)))
                })
                .collect(),
        };
        let is_kept = weights.is_some() != self.recipe.tres.is_empty();
        let first = |book: &String| {
            let at = self.recipe.books.iter().position(|known| known == book).filter(|_| is_kept)?;
            Some(columns::first_of(&self.recipe, at))
        };
        let firsts: Vec<Option<usize>> = books.iter().map(first).collect();
        let of = |own: &[f64], first: usize, at: usize| own.get(first + at).copied().unwrap_or(0.0);
        let default = weights.map(|_| {
            self.measure(&weighted, |own, at| {
                let all = of(own, 0, at);
                rest(all, firsts.iter().flatten().map(|first| of(own, *first, at)).sum())
            })
        });
        let book = |first: &Option<usize>| match *first {
            Some(first) => self.measure(&weighted, |own, at| of(own, first, at)),
            None => Measure::default(),
        };
        Measures { default, books: firsts.iter().map(book).collect() }
    }

    /// The usage for a share tree with windows: all that is counted, each window as `decay` of the next younger one.
    pub fn measures_of_windows(&self, decay: f64) -> Measures {
        let mut measure = Measure { weights: vec![(1.0, 1.0)], ..Measure::default() };
        for (id, known) in &self.associations {
            let used = windows::usage(&self.kept[known.place.index()].windows, decay);
            if used > 0.0 {
                measure.ids.push(*id);
                measure.used.push(used);
            }
        }
        Measures { default: Some(measure), books: Vec::new() }
    }

    fn measure(&self, weighted: &[Weighted], used: impl Fn(&[f64], usize) -> f64) -> Measure {
        let weights = weighted.iter().map(|(_, weight)| *weight).collect();
        let mut measure = Measure { weights, ..Measure::default() };
        for (id, known) in &self.associations {
            let own = &self.kept[known.place.index()].columns;
            let begin = measure.used.len();
            measure.used.extend(weighted.iter().map(|(at, _)| used(own, *at)));
            if measure.used[begin..].iter().any(|amount| *amount > 0.0) {
                measure.ids.push(*id);
            } else {
                measure.used.truncate(begin);
            }
        }
        measure
    }
}

impl Measures {
    /// The usage for every book, the default one first, by [`Node::index`]. `find` says where an id is, `raw` is slurmctld's raw usage.
    pub fn by_book(
        &self,
        tree: &ShareTree,
        find: impl Fn(u32) -> Option<Node>,
        raw: &[f64],
        by_book: &mut Vec<Vec<f64>>,
    ) {
        by_book.resize_with(self.books.len() + 1, Vec::new);
        let Some((default, books)) = by_book.split_first_mut() else { return };
        for (measure, shares) in self.books.iter().zip(books.iter_mut()) {
            measure.shares(tree, &find, shares);
        }
        if let Some(measure) = &self.default {
            measure.shares(tree, &find, default);
        } else {
            let of_books = |node| books.iter().map(|shares| at(shares, node)).sum();
            default.clear();
            default.extend(tree.nodes().map(|node| rest(at(raw, node), of_books(node))));
        }
    }
}

/// The rest of a sum without others; nothing if the rest is a rounding error.
pub(super) fn rest(all: f64, others: f64) -> f64 {
    let rest = all - others;
    // False for what is no number.
    if rest > SMALLEST_REST * all {
        rest
    } else {
        0.0
    }
}

impl Measure {
    /// The dominant share of every association of a tree, or what it has used, by [`Node::index`]; `find` says where an id is.
    pub fn shares(&self, tree: &ShareTree, find: impl Fn(u32) -> Option<Node>, shares: &mut Vec<f64>) {
        shares.clear();
        shares.resize(tree.len(), 0.0);
        let width = self.weights.len();
        if width == 0 {
            return;
        }
        let mut sums = vec![0.0; tree.len() * width];
        let row = |node: Node| node.index() * width..(node.index() + 1) * width;
        for (id, used) in self.ids.iter().zip(self.used.chunks(width)) {
            if let Some(node) = find(*id).filter(|node| node.index() < tree.len()) {
                add(&mut sums[row(node)], used);
            }
        }
        // Children come behind their parents.
        for node in tree.nodes().rev() {
            let parts = sums[row(node)]
                .iter()
                .zip(&self.weights)
                .map(|(used, (weight, given))| weight * used / given);
            // Never NaN, as that is no larger than anything.
            shares[node.index()] = parts.fold(0.0, f64::max);
            if let Some(parent) = tree.parent(node) {
                let (above, below) = sums.split_at_mut(row(node).start);
                add(&mut above[row(parent)], &below[..width]);
            }
        }
    }
}

fn add(sums: &mut [f64], more: &[f64]) {
    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum = plus(*sum, *more));
}
