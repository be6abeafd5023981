//! `Distribution=strict`: at the first level where the paths of two jobs diverge, the job whose ancestor is further below its share comes
//! first. Every association has an interval within its parent's, next to those of its siblings in the order of F. So nobody below one
//! sibling comes before somebody below a better one. Usage settles on the shares.

use super::{Claim, Rule};
use crate::ties::rank;

/// The tickets of an association: `top`. A sibling that comes after it has at most `bottom`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    /// What it has itself.
    pub top: f64,
    /// What everybody below it exceeds.
    pub bottom: f64,
}

/// Ranks by F, none of which overlap; 16 bytes per active association.
#[derive(Clone, Debug, Default)]
pub struct Strict {
    /// Parent and F of the active children. Sorted once they are settled.
    claims: Vec<(usize, f64)>,
    settled: bool,
}

impl Strict {
    /// F of the active children of a parent, from the smallest.
    fn of(&self, parent: usize) -> &[(usize, f64)] {
        let begin = self.claims.partition_point(|(of, _)| *of < parent);
        let end = self.claims.partition_point(|(of, _)| *of <= parent);
        &self.claims[begin..end]
    }
}

fn order(a: &(usize, f64), b: &(usize, f64)) -> std::cmp::Ordering {
    a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
}

impl Rule for Strict {
    type Held = Interval;
    const SETTLES_ON_SHARES: bool = true;

    fn begin(&mut self, _associations: usize) {
        self.claims.clear();
        self.settled = false;
    }

    fn claim(&mut self, parent: usize, claim: Claim) {
        let claim = (parent, claim.level_fs);
        if self.settled {
            let at = self.claims.partition_point(|known| order(known, &claim).is_lt());
            self.claims.insert(at, claim);
        } else {
            self.claims.push(claim);
        }
    }

    fn settle(&mut self) {
        self.claims.sort_unstable_by(order);
        self.settled = true;
    }

    fn root(tickets: f64) -> Interval {
        Interval { top: tickets, bottom: 0.0 }
    }

    fn tickets(held: Interval) -> f64 {
        held.top
    }

    fn part(&self, parent: usize, of_parent: Interval, claim: Claim) -> Interval {
        let level_fs = claim.level_fs;
        if level_fs <= 0.0 {
            return Interval::default();
        }
        let siblings = self.of(parent);
        // The largest F of those that tie is that of all of them.
        let place = rank(level_fs);
        let tied = siblings.partition_point(|(_, other)| rank(*other) <= place);
        let level_fs = tied.checked_sub(1).map_or(0.0, |at| siblings[at].1).max(level_fs);
        let best = siblings.last().map_or(0.0, |(_, best)| *best).max(level_fs);
        let smaller = siblings.partition_point(|(_, other)| rank(*other) < place);
        let next = smaller.checked_sub(1).map_or(0.0, |at| siblings[at].1);
        // Rounding may not put anybody above the parent.
        let at = |level_fs: f64| {
            let inside = (of_parent.top - of_parent.bottom) * (level_fs / best);
            (of_parent.bottom + inside).min(of_parent.top)
        };
        Interval { top: at(level_fs), bottom: if next > 0.0 { at(next) } else { of_parent.bottom } }
    }
}
