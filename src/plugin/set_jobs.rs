//! Keeps what a priority came from if a submission or a change has set it since the last cycle, for `sprio`.
//!
//! Ids are consecutive, so a few of them share a block: single entries would miss the caches at every submission.

use rustc_hash::FxHashMap;

use multifactor2_core::factors::Evaluation;

/// Ids that share a place.
const BLOCK: u32 = 16;

/// What the priorities came from that were set since the last cycle, by job id.
#[derive(Debug, Default)]
pub struct SetJobs {
    blocks: FxHashMap<u32, Box<[Option<Evaluation>; BLOCK as usize]>>,
    /// How many blocks are kept before jobs that are gone are removed.
    limit: usize,
}

impl SetJobs {
    /// Blocks that are always kept: 131,072 jobs, 11 MB. To ask which of them are gone costs more than a submission.
    const FEW: usize = 8192;

    /// Notes what the priority of a job came from; what was noted before is forgotten. Where no cycle clears the notes, those of jobs
    /// that are gone are forgotten now and then; `exists` tells.
    pub fn note(&mut self, id: u32, evaluation: Evaluation, exists: impl Fn(u32) -> bool) {
        let block = self.blocks.entry(id / BLOCK).or_insert_with(|| Box::new([None; BLOCK as usize]));
        block[(id % BLOCK) as usize] = Some(evaluation);
        if self.blocks.len() > self.limit.max(Self::FEW) {
            self.forget_gone(exists);
            self.limit = 2 * self.blocks.len();
        }
    }

    /// What was noted of a job last.
    pub fn get(&self, id: u32) -> Option<&Evaluation> {
        self.blocks.get(&(id / BLOCK))?[(id % BLOCK) as usize].as_ref()
    }

    fn forget_gone(&mut self, exists: impl Fn(u32) -> bool) {
        self.blocks.retain(|number, block| {
            for (id, noted) in (number * BLOCK..).zip(block.iter_mut()) {
                *noted = noted.filter(|_| exists(id));
            }
            block.iter().any(Option::is_some)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::Cell;
    use std::collections::HashMap;

    fn aged(age: u32) -> Evaluation {
        Evaluation { age: f64::from(age), ..Evaluation::default() }
    }

    proptest! {
        #![proptest_config(multifactor2_fixtures::seeded())]

        #[test]
        fn holds_what_a_hash_map_holds(
            notes in prop::collection::vec((prop_oneof![0..40_u32, any::<u32>()], 0..1_000_000_u32), 0..400),
            others in prop::collection::vec(any::<u32>(), 0..100),
        ) {
            let (mut set_jobs, mut expected) = (SetJobs::default(), HashMap::new());
            for (id, age) in notes {
                set_jobs.note(id, aged(age), |_| true);
                expected.insert(id, aged(age));
            }
            for id in (0..60).chain(others).chain(expected.keys().copied()) {
                prop_assert_eq!(set_jobs.get(id), expected.get(&id));
            }
        }
    }

    #[test]
    fn without_cycles_notes_of_jobs_that_are_gone_are_forgotten() {
        let mut set_jobs = SetJobs::default();
        let mut most = 0;
        // Ten thousand jobs at a time, two million in all.
        for id in 0..2_000_000 {
            set_jobs.note(id, aged(id), |asked| asked + 10_000 > id);
            most = most.max(set_jobs.blocks.len());
            assert!(
                id < 9_999 || set_jobs.get(id - 9_999).is_some(),
                "a job that is still there is forgotten at {id}"
            );
        }
        assert!(most <= SetJobs::FEW + 1, "{most} blocks");
        assert!((1_990_001..2_000_000).all(|id| set_jobs.get(id) == Some(&aged(id))));
    }

    #[test]
    fn of_many_jobs_that_are_there_each_is_asked_for_a_few_times_only() {
        let (mut set_jobs, asked) = (SetJobs::default(), Cell::new(0));
        // More at a time than are always kept.
        for id in 0..400_000 {
            let exists = |job| {
                asked.set(asked.get() + 1);
                job + 80_000 > id
            };
            set_jobs.note(id, aged(id), exists);
            assert!(asked.get() <= 4 * id, "{} questions after {id} notes", asked.get());
        }
    }
}
