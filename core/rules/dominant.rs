//! Dominant shares: which part of the cluster somebody has used, of the TRES of which that is the largest.
//!
//! D(n) is the largest, over the TRES listed, of weight times usage over what the cluster could have given in the same time, both with
//! half-life decay. What is below an account is added up TRES by TRES, and the largest taken then: an account that uses a tenth of the
//! processors and a tenth of the GPUs has D = 0.1, in one job or in two, of one user or of two. So D of an account is at most the sum of the D
//! below it, and at least the largest of them.

use super::sums::Sums;
use super::tally::Place;
use super::windows::plus;
use crate::tree::{Node, ShareTree};

/// What associations have used of some TRES, without what is below them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dominant {
    ids: Vec<u32>,
    /// For each, as many as there are TRES.
    used: Vec<f64>,
    /// Of each TRES its weight, and what there could have been used of it.
    tres: Vec<(f64, f64)>,
}

impl Sums {
    /// What an association itself has used, by [`Recipe::tres`](super::sums::Recipe::tres), with decay.
    pub fn used(&self, id: u32) -> &[f64] {
        self.associations.get(&id).map_or(&[], |known| &self.kept[known.place.index()].tres)
    }

    /// What the cluster could have given, likewise.
    pub fn given(&self) -> &[f64] {
        &self.kept[Place::CAPACITY.index()].tres
    }

    /// What associations have used of the TRES with these weights, as the last cycle left it. A TRES that is not kept, or that the cluster
    /// has none of, counts nothing.
    pub fn dominant(&self, weights: &[(String, f64)]) -> Dominant {
        let (columns, tres): (Vec<usize>, Vec<(f64, f64)>) = weights
            .iter()
            .filter_map(|(name, weight)| {
                let at = self.recipe.tres.iter().position(|known| known == name)?;
                let given = self.given().get(at).copied().filter(|given| *given > 0.0)?;
                Some((at, (*weight, given)))
            })
            .unzip();
        let mut dominant = Dominant { tres, ..Dominant::default() };
        for (id, known) in &self.associations {
            let own = &self.kept[known.place.index()].tres;
            if own.iter().any(|amount| *amount > 0.0) {
                dominant.ids.push(*id);
                dominant.used.extend(columns.iter().map(|at| own.get(*at).copied().unwrap_or(0.0)));
            }
        }
        dominant
    }
}

impl Dominant {
    /// D of every association of a tree, by [`Node::index`]; `find` says where an id is.
    pub fn shares(&self, tree: &ShareTree, find: impl Fn(u32) -> Option<Node>, shares: &mut Vec<f64>) {
        shares.clear();
        shares.resize(tree.len(), 0.0);
        let width = self.tres.len();
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
            let parts =
                sums[row(node)].iter().zip(&self.tres).map(|(used, (weight, given))| weight * used / given);
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
