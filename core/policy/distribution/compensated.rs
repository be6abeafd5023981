//! `CompensationFactor` with `Distribution=tickets`: limits a node to a multiple of what the shares alone give, and leaves the rest to the
//! siblings. Grid Engine slows users who return after a long absence in this way. It cuts once, so the result may still exceed the
//! multiple.
//!
//! An association is compensated if T/T(root) exceeds C times the product, from the root down, of its shares over those of the active
//! siblings. Its S·F is then divided by the factor of this excess, once for all siblings of a level. S·F is proportional to shares times F,
//! so this amounts to a ceiling on F for the whole level.

use super::{Claim, Rule};

/// S·F, braked where it is more than a multiple of S; 40 bytes per active association.
#[derive(Clone, Debug, Default)]
pub(crate) struct Compensated {
    /// C, at least 1.
    factor: f64,
    claims: Vec<Sibling>,
    settled: bool,
}

/// A sibling that takes part, after those of its parent with smaller F.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sibling {
    parent: usize,
    level_fs: f64,
    shares: f64,
    /// Sums of shares and of shares times F up to here.
    shares_so_far: f64,
    demand_so_far: f64,
}

/// What an association holds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Held {
    tickets: f64,
    /// What the shares alone would give, over the tickets.
    target: f64,
}

impl Compensated {
    /// With this `CompensationFactor`.
    pub(crate) fn new(factor: f64) -> Self {
        Self { factor, ..Self::default() }
    }

    /// The active children of a parent by F.
    fn of(&self, parent: usize) -> &[Sibling] {
        let begin = self.claims.partition_point(|sibling| sibling.parent < parent);
        let end = self.claims.partition_point(|sibling| sibling.parent <= parent);
        &self.claims[begin..end]
    }

    /// Sums up from a place on, to the end of its level.
    fn sum_up(&mut self, from: usize) {
        let mut last = from.checked_sub(1).map(|at| self.claims[at]);
        let parent = self.claims.get(from).map(|sibling| sibling.parent);
        for sibling in &mut self.claims[from..] {
            if self.settled && Some(sibling.parent) != parent {
                break;
            }
            let (shares, demand) = match last {
                Some(last) if last.parent == sibling.parent => (last.shares_so_far, last.demand_so_far),
                _ => (0.0, 0.0),
            };
            sibling.shares_so_far = shares + sibling.shares;
            sibling.demand_so_far = demand + sibling.shares * sibling.level_fs;
            last = Some(*sibling);
        }
    }
}

fn order(a: &Sibling, b: &Sibling) -> std::cmp::Ordering {
    // By shares too, so that the sums do not depend on the order of siblings.
    let by_level_fs = a.level_fs.total_cmp(&b.level_fs);
    a.parent.cmp(&b.parent).then(by_level_fs).then(a.shares.total_cmp(&b.shares))
}

impl Rule for Compensated {
    type Held = Held;
    const SETTLES_ON_SHARES: bool = false;

    fn begin(&mut self, _associations: usize) {
        self.claims.clear();
        self.settled = false;
    }

    fn claim(&mut self, parent: usize, claim: Claim) {
        let sibling = Sibling {
            parent,
            level_fs: claim.level_fs,
            shares: claim.shares,
            shares_so_far: 0.0,
            demand_so_far: 0.0,
        };
        if self.settled {
            let at = self.claims.partition_point(|known| order(known, &sibling).is_lt());
            self.claims.insert(at, sibling);
            self.sum_up(at);
        } else {
            self.claims.push(sibling);
        }
    }

    fn settle(&mut self) {
        self.claims.sort_unstable_by(order);
        self.sum_up(0);
        self.settled = true;
    }

    fn root(tickets: f64) -> Held {
        Held { tickets, target: 1.0 }
    }

    fn whole(held: Held) -> Held {
        Held { tickets: 1.0, ..held }
    }

    fn tickets(held: Held) -> f64 {
        held.tickets
    }

    fn part(&self, parent: usize, of_parent: Held, claim: Claim) -> Held {
        let siblings = self.of(parent);
        let (of_siblings, own) = (siblings.last(), if claim.active { 0.0 } else { claim.shares });
        let shares = of_siblings.map_or(0.0, |last| last.shares_so_far) + own;
        let demand = of_siblings.map_or(0.0, |last| last.demand_so_far) + own * claim.level_fs;
        if demand <= 0.0 || claim.level_fs <= 0.0 || claim.shares <= 0.0 {
            return Held::default();
        }
        let ceiling = self.factor * of_parent.target * demand / shares;
        // Those below the ceiling keep what they claim.
        let below = siblings.partition_point(|sibling| sibling.level_fs <= ceiling);
        let below = below.checked_sub(1).map(|at| siblings[at]);
        let kept = below.map_or(0.0, |last| last.demand_so_far);
        let above = shares - own - below.map_or(0.0, |last| last.shares_so_far);
        let cut = kept + ceiling * above.max(0.0) + own * claim.level_fs.min(ceiling);
        // Nothing is known of the parent before the first cycle.
        if cut <= 0.0 {
            return Held::default();
        }
        let part = claim.shares * claim.level_fs.min(ceiling) / cut;
        let by_shares = claim.shares / shares;
        Held { tickets: of_parent.tickets * part, target: of_parent.target * by_shares / part }
    }

    fn divided(held: Held, among: f64) -> Held {
        Held { tickets: held.tickets / among, ..held }
    }
}
