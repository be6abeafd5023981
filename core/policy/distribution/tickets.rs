//! `Distribution=tickets`: in proportion to S·F, as the documented `priority/multifactor2` does. Usage settles where S²/U is equal,
//! which is not on the shares.

use super::{Claim, Rule};
use crate::ties::Sum;

/// S·F over that of all active siblings; 16 bytes per association.
#[derive(Clone, Debug, Default)]
pub struct Tickets {
    /// Sum of S·F of the active children, by parent.
    demand: Vec<Sum>,
}

impl Rule for Tickets {
    type Held = f64;
    const SETTLES_ON_SHARES: bool = false;

    fn begin(&mut self, associations: usize) {
        self.demand.clear();
        self.demand.resize(associations, Sum::default());
    }

    fn claim(&mut self, parent: usize, claim: Claim) {
        self.demand[parent].add(weight(claim));
    }

    fn settle(&mut self) {}

    fn root(tickets: f64) -> f64 {
        tickets
    }

    fn tickets(held: f64) -> f64 {
        held
    }

    fn part(&self, parent: usize, of_parent: f64, claim: Claim) -> f64 {
        let weight = weight(claim);
        let mut demand = self.demand.get(parent).copied().unwrap_or_default();
        if !claim.active {
            demand.add(weight);
        }
        let demand = demand.get();
        of_parent * if demand > 0.0 { weight / demand } else { 0.0 }
    }

    fn divided(held: f64, among: f64) -> f64 {
        held / among
    }
}

fn weight(claim: Claim) -> f64 {
    claim.shares * claim.level_fs
}
