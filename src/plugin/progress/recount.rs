//! Knows whose time a reconfigure has put back into the run seconds that limits count.
//!
//! Up to 23.02 a reconfigure counts the whole requested time of all running jobs again, releases its locks, and calls `priority_p_reconfig`
//! a moment later to subtract what the jobs have used. A cycle in between already subtracts its own part. Slurm does not say when it
//! counted. But it also makes a new list of partitions each time, under the same locks and before it frees the old one. So a cycle knows by
//! the list's address that it comes after the count.

/// The last count that was noticed.
#[derive(Debug)]
pub struct Recount {
    /// Address of the partitions at the last cycle or reconfigure.
    partitions: usize,
    /// When the cycle before had run, where a cycle was the first to notice the count.
    used_until: Option<i64>,
}

impl Recount {
    /// Nothing noticed yet.
    pub const fn new() -> Self {
        Self { partitions: 0, used_until: None }
    }

    /// A start: everything that was counted so far is accounted for.
    pub fn begin(&mut self, partitions: usize) {
        *self = Self { partitions, used_until: None };
    }

    /// A cycle charges what jobs have used since `last_ran`.
    pub fn note_cycle(&mut self, partitions: usize, last_ran: i64) {
        if self.partitions != partitions {
            *self = Self { partitions, used_until: Some(last_ran) };
        }
    }

    /// Slurm says that it has counted: up to when what running jobs have used is still to be taken out. `last_ran` unless a
    /// cycle has taken out a part.
    pub fn settle(&mut self, partitions: usize, last_ran: i64) -> i64 {
        let noticed = self.used_until.filter(|_| self.partitions == partitions);
        self.begin(partitions);
        noticed.unwrap_or(last_ran)
    }
}

#[cfg(test)]
mod tests {
    use super::Recount;

    #[test]
    fn a_cycle_after_the_count_leaves_what_was_used_before_it() {
        let mut recount = Recount::new();
        recount.begin(1);
        recount.note_cycle(1, 100);
        // Counted; two cycles before Slurm says so.
        recount.note_cycle(2, 200);
        recount.note_cycle(2, 300);
        assert_eq!(recount.settle(2, 400), 200);
        // Counted and said at once, back at the first address.
        assert_eq!(recount.settle(1, 500), 500);
        recount.note_cycle(1, 500);
        assert_eq!(recount.settle(2, 600), 600);
    }

    #[test]
    fn a_reconfigure_that_failed_is_forgotten() {
        let mut recount = Recount::new();
        recount.begin(1);
        recount.note_cycle(2, 100);
        assert_eq!(recount.settle(3, 900), 900);
    }
}
