//! Jobs whose priority is from their submission or last change, not from a cycle, and what it was computed of that changes
//! by itself: `sprio` computes the same again.
//!
//! Ids come one after the other, so those of a few share a place: each by itself would miss the caches at every submission.

use rustc_hash::FxHashMap;

/// What a priority was computed of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moment {
    /// The time that the age was measured at.
    pub at: i64,
    /// The fair-share factor, 0 to 1.
    pub fair_share: f64,
}

/// Ids that share a place.
const BLOCK: u32 = 16;

/// See the module.
#[derive(Debug, Default)]
pub struct Fresh(FxHashMap<u32, [Moment; BLOCK as usize]>);

impl Fresh {
    /// No job. No clock shows that time.
    const NONE: Moment = Moment { at: i64::MIN, fair_share: 0.0 };

    /// Notes a job; what was noted before is forgotten.
    pub fn note(&mut self, id: u32, moment: Moment) {
        let block = self.0.entry(id / BLOCK).or_insert([Self::NONE; BLOCK as usize]);
        block[(id % BLOCK) as usize] = moment;
    }

    /// What was noted of a job last.
    pub fn get(&self, id: u32) -> Option<Moment> {
        let moment = self.0.get(&(id / BLOCK))?[(id % BLOCK) as usize];
        (moment.at != Self::NONE.at).then_some(moment)
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn holds_what_a_hash_map_holds(
            notes in prop::collection::vec((prop_oneof![0..40_u32, any::<u32>()], 0..1_000_000_i64), 0..400),
            others in prop::collection::vec(any::<u32>(), 0..100),
        ) {
            let (mut fresh, mut expected) = (Fresh::default(), HashMap::new());
            for (id, at) in notes {
                let moment = Moment { at, fair_share: 0.5 };
                fresh.note(id, moment);
                expected.insert(id, moment);
            }
            for id in (0..60).chain(others).chain(expected.keys().copied()) {
                prop_assert_eq!(fresh.get(id), expected.get(&id).copied());
            }
            fresh.clear();
            prop_assert!(expected.keys().all(|id| fresh.get(*id).is_none()));
        }
    }
}
