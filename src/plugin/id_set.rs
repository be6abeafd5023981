//! A set of job ids that is filled at every submission. Ids come one after the other, so 512 of them share a cache line:
//! in a hash set of single ids every insertion would miss the caches.

use rustc_hash::FxHashMap;

const WORD: u32 = u64::BITS;
const WORDS: u32 = 8;

/// See the module.
#[derive(Debug, Default)]
pub struct IdSet(FxHashMap<u32, [u64; WORDS as usize]>);

impl IdSet {
    /// Adds an id.
    pub fn insert(&mut self, id: u32) {
        let (block, word, bit) = place(id);
        self.0.entry(block).or_default()[word] |= bit;
    }

    /// Whether an id is in the set.
    pub fn contains(&self, id: u32) -> bool {
        let (block, word, bit) = place(id);
        self.0.get(&block).is_some_and(|words| words[word] & bit != 0)
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// Block, word within it and bit within that.
fn place(id: u32) -> (u32, usize, u64) {
    let word = id / WORD;
    (word / WORDS, (word % WORDS) as usize, 1 << (id % WORD))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    proptest! {
        #[test]
        fn holds_what_a_hash_set_holds(
            ids in prop::collection::vec(prop_oneof![0..2000_u32, any::<u32>()], 0..300),
            others in prop::collection::vec(prop_oneof![0..2000_u32, any::<u32>()], 0..300),
        ) {
            let mut set = IdSet::default();
            for id in &ids {
                set.insert(*id);
            }
            let expected: HashSet<u32> = ids.into_iter().collect();
            for id in expected.iter().chain(&others) {
                prop_assert_eq!(set.contains(*id), expected.contains(id));
            }
            set.clear();
            prop_assert!(expected.iter().all(|id| !set.contains(*id)));
        }
    }
}
