//! `Distribution=standing`: F over the largest F of the siblings. The best child has its parent's whole standing. Neither the size of a
//! group nor the number of its active users matters, and usage settles on the shares.

use super::{Claim, Rule};

/// F over the best F among the siblings; 8 bytes per association.
#[derive(Clone, Debug, Default)]
pub struct ByStanding {
    /// The largest F of the active children, by parent.
    best: Vec<f64>,
}

impl Rule for ByStanding {
    type Held = f64;
    const SETTLES_ON_SHARES: bool = true;

    fn begin(&mut self, associations: usize) {
        self.best.clear();
        self.best.resize(associations, 0.0);
    }

    fn claim(&mut self, parent: usize, claim: Claim) {
        self.best[parent] = self.best[parent].max(claim.level_fs);
    }

    fn settle(&mut self) {}

    fn root(tickets: f64) -> f64 {
        tickets
    }

    fn tickets(held: f64) -> f64 {
        held
    }

    fn part(&self, parent: usize, of_parent: f64, claim: Claim) -> f64 {
        let best = self.best.get(parent).copied().unwrap_or_default().max(claim.level_fs);
        of_parent * if best > 0.0 { claim.level_fs / best } else { 0.0 }
    }
}
